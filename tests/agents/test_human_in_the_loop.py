"""HumanInTheLoopMiddleware: a decision reaches its own call, holds for nothing else, and lasts."""

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.agents import create_agent
from plait.agents.middleware import (
    HumanInTheLoopMiddleware,
    ToolCallLimitMiddleware,
    after_model,
    before_agent,
    wrap_tool_call,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import (
    ApprovalMismatchError,
    ConfigError,
    InvalidDecisionError,
    InvalidPolicyError,
    ToolInputError,
)
from plait.messages import AIMessage, ToolMessage
from plait.testing.models import ScriptedChatModel
from plait.tools import InjectedToolCallId, tool
from plait.types import Command

USER: Any = {"messages": [("user", "hi")]}
THREAD: Any = {"configurable": {"thread_id": "1"}}
APPROVE = {"type": "approve"}


def call(name: str, id: str = "1", **args: Any) -> Any:
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def asking(*calls: Any) -> AIMessage:
    return AIMessage("", tool_calls=list(calls))


def edit(name: str, **args: Any) -> Any:
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def decide(*decisions: Any) -> Any:
    return Command(resume={"decisions": list(decisions)})


class Shop:
    """An agent that pays money back, and the books of what it paid."""

    def __init__(
        self, *script: Any, more: Any = (), behind: Any = (), saver: Any = None, **options: Any
    ) -> None:
        self.paid: list[tuple[int, int]] = []
        lock = threading.Lock()

        def refund(order: int, euro: int) -> str:
            """Pay money back."""
            with lock:
                self.paid.append((order, euro))
            return f"{order}: {euro}"

        def look(order: int) -> str:
            """Look at an order."""
            return f"order {order}"

        gate = HumanInTheLoopMiddleware({"refund": True, "look": False}, **options)
        self.agent = create_agent(
            ScriptedChatModel([*script, "done"]),
            [refund, look],
            middleware=[*more, gate, *behind],
            checkpointer=saver or InMemorySaver(),
        )

    def ask(self, given: Any = USER) -> Any:
        return self.agent.invoke(given, THREAD)

    def told(self) -> list[str]:
        """What the model was told in answer to its calls."""
        messages = self.agent.get_state(THREAD).values["messages"]
        return [one.text for one in messages if one.type == "tool"]


class Second(HumanInTheLoopMiddleware):
    """Another person; who stands last in the list is asked first."""


# --- what an approval holds for ------------------------------------------------------------------


def changing(**args: Any) -> Any:
    def change(state: Any, runtime: Any) -> Any:
        last = state["messages"][-1]
        if not getattr(last, "tool_calls", ()):
            return None
        return {"messages": [AIMessage("", id=last.id, tool_calls=[call("refund", **args)])]}

    return after_model(change)


def test_a_call_that_middleware_changed_after_its_approval_does_not_run() -> None:
    shop = Shop(asking(call("refund", order=1, euro=5)), more=[changing(order=1, euro=5000)])
    shop.ask()
    with pytest.raises(ApprovalMismatchError, match="5000"):
        shop.ask(decide(APPROVE))
    assert shop.paid == []


def test_a_call_that_an_outer_wrapper_changed_does_not_run() -> None:
    def greedy(request: Any, handler: Any) -> Any:
        args = {**request.tool_call["args"], "euro": 5000}
        return handler(request.override(tool_call={**request.tool_call, "args": args}))

    shop = Shop(asking(call("refund", order=1, euro=5)), more=[wrap_tool_call(greedy)])
    shop.ask()
    with pytest.raises(ApprovalMismatchError):
        shop.ask(decide(APPROVE))
    assert shop.paid == []


def test_a_call_that_was_changed_by_hand_while_the_person_thought_is_asked_about_anew() -> None:
    shop = Shop(asking(call("refund", order=1, euro=5)))
    shop.ask()
    last = shop.agent.get_state(THREAD).values["messages"][-1]
    changed = AIMessage("", id=last.id, tool_calls=[call("refund", order=1, euro=5000)])
    shop.agent.update_state(THREAD, {"messages": [changed]}, as_node="model")
    (asked,) = shop.ask(None)["__interrupt__"]
    assert asked.value["action_requests"][0]["args"] == {"order": 1, "euro": 5000}
    shop.ask(decide({"type": "reject"}))
    assert shop.paid == []


def test_an_approval_does_not_last_until_the_next_message_with_the_same_call_id() -> None:
    same = asking(call("refund", order=1, euro=5)), asking(call("refund", order=1, euro=5))
    shop = Shop(*same)
    shop.ask()
    (again,) = shop.ask(decide(APPROVE))["__interrupt__"]
    assert again.value["action_requests"][0]["name"] == "refund"
    assert shop.paid == [(1, 5)]
    shop.ask(decide({"type": "reject", "message": "once is enough"}))
    assert shop.paid == [(1, 5)]


def test_a_call_of_a_free_tool_may_reuse_the_id_of_a_decided_one() -> None:
    shop = Shop(asking(call("refund", order=1, euro=5)), asking(call("look", order=1)))
    shop.ask()
    shop.ask(decide(APPROVE))
    assert shop.told() == ["1: 5", "order 1"]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_a_call_that_a_hook_makes_is_asked_about_before_it_runs(mode: Any) -> None:
    @before_agent(can_jump_to=["tools"])
    def first(state: Any, runtime: Any) -> Any:
        return {"messages": [asking(call("refund", order=1, euro=5))], "jump_to": "tools"}

    shop = Shop(more=[first], interrupt_mode=mode)
    assert len(shop.ask()["__interrupt__"]) == 1
    assert shop.paid == []
    shop.ask(decide(APPROVE) if mode == "batched" else Command(resume=APPROVE))
    assert shop.paid == [(1, 5)]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize("equal", [False, True])
def test_what_was_approved_runs_once_where_a_hook_makes_several_calls(
    mode: Any, equal: bool
) -> None:
    made = [call("refund", str(n), order=1 if equal else n, euro=5) for n in range(3)]

    @before_agent(can_jump_to=["tools"])
    def first(state: Any, runtime: Any) -> Any:
        return {"messages": [asking(*made)], "jump_to": "tools"}

    shop = Shop(more=[first], interrupt_mode=mode)
    result = shop.ask()
    while "__interrupt__" in result:
        one = result["__interrupt__"][0]
        result = shop.ask(
            Command(resume={one.id: {"decisions": [APPROVE]} if mode == "batched" else APPROVE})
        )
    assert sorted(shop.paid) == sorted((one["args"]["order"], 5) for one in made)


def test_two_calls_with_one_id_get_the_decision_that_was_made_about_each() -> None:
    twins = asking(call("refund", order=1, euro=5), call("refund", order=2, euro=6))
    shop = Shop(twins)
    shop.ask()
    shop.ask(decide(APPROVE, edit("refund", order=2, euro=1)))
    assert sorted(shop.paid) == [(1, 5), (2, 1)]


# --- every answer reaches its own call -----------------------------------------------------------

DECISIONS = st.sampled_from(["approve", "edit", "reject", "respond"])


def decision_about(kind: str, order: int) -> Any:
    if kind == "edit":
        return edit("refund", order=order, euro=1000 + order)
    return {"type": kind, "message": f"about {order}"} if kind in ("reject", "respond") else APPROVE


def expected(kinds: list[str]) -> tuple[list[tuple[int, int]], list[str]]:
    paid = [(n, n) for n, kind in enumerate(kinds) if kind == "approve"]
    paid += [(n, 1000 + n) for n, kind in enumerate(kinds) if kind == "edit"]
    ends = {
        "approve": "{0}: {0}",
        "edit": "{0}: 100{0}",
        "reject": "reason: about {0}",
        "respond": "about {0}",
    }
    return sorted(paid), sorted(ends[kind].format(n) for n, kind in enumerate(kinds))


def check(shop: Shop, kinds: list[str]) -> None:
    paid, ends = expected(kinds)
    assert sorted(shop.paid) == paid
    told = shop.told()
    assert len(told) == len(ends)
    for end in ends:
        assert sum(one.endswith(end) for one in told) >= 1


def calls_of(kinds: list[str]) -> Any:
    return asking(*(call("refund", str(n), order=n, euro=n) for n in range(len(kinds))))


@settings(max_examples=60, deadline=None)
@given(st.lists(DECISIONS, min_size=1, max_size=6))
def test_decisions_made_at_once_reach_their_own_calls(kinds: list[str]) -> None:
    shop = Shop(calls_of(kinds), edit_notice=None)
    shop.ask()
    shop.ask(decide(*(decision_about(kind, n) for n, kind in enumerate(kinds))))
    check(shop, kinds)


@settings(max_examples=60, deadline=None)
@given(st.lists(DECISIONS, min_size=1, max_size=6), st.integers())
def test_decisions_made_one_by_one_in_any_order_reach_their_own_calls(
    kinds: list[str], seed: int
) -> None:
    chance = random.Random(seed)
    shop = Shop(calls_of(kinds), edit_notice=None, interrupt_mode="per_call")
    result = shop.ask()
    while "__interrupt__" in result:
        waiting = list(result["__interrupt__"])
        chosen = chance.sample(waiting, chance.randint(1, len(waiting)))
        answers: dict[str, Any] = {}
        for one in chosen:
            order = one.value["args"]["order"]
            answers[one.id] = decision_about(kinds[order], order)
        result = shop.ask(Command(resume=answers))
    check(shop, kinds)


# --- answers that are none -----------------------------------------------------------------------


def test_nobody_is_asked_about_calls_that_a_limit_has_refused() -> None:
    limit = ToolCallLimitMiddleware(tool_name="refund", run_limit=1)
    both = asking(call("refund", "1", order=1, euro=1), call("refund", "2", order=2, euro=2))
    shop = Shop(both, behind=[limit])
    (asked,) = shop.ask()["__interrupt__"]
    assert [one["args"]["order"] for one in asked.value["action_requests"]] == [1]
    assert "__interrupt__" not in shop.ask(decide({"type": "reject"}))
    messages = shop.agent.get_state(THREAD).values["messages"]
    answered = [one.tool_call_id for one in messages if one.type == "tool"]
    assert sorted(answered) == ["1", "2"], "each call has one answer"
    assert shop.paid == []


def test_a_person_is_asked_before_a_limit_that_stands_before_the_question() -> None:
    limit = ToolCallLimitMiddleware(tool_name="refund", run_limit=1)
    both = asking(call("refund", "1", order=1, euro=1), call("refund", "2", order=2, euro=2))
    shop = Shop(both, more=[limit])
    (asked,) = shop.ask()["__interrupt__"]
    assert len(asked.value["action_requests"]) == 2
    shop.ask(decide(APPROVE, APPROVE))
    assert shop.paid == [(1, 1)]


def test_what_one_person_has_refused_no_other_is_asked_about() -> None:
    shop = Shop(asking(call("refund", order=1, euro=1)), behind=[Second({"refund": True})])
    shop.ask()
    assert "__interrupt__" not in shop.ask(decide({"type": "reject"}))
    assert shop.paid == []
    assert len(shop.told()) == 1


def test_a_person_who_is_asked_as_a_call_starts_is_so_whatever_another_has_decided() -> None:
    each = Second({"refund": True}, interrupt_mode="per_call")
    shop = Shop(asking(call("refund", order=1, euro=5)), behind=[each])
    shop.ask()
    (asked,) = shop.ask(decide(APPROVE))["__interrupt__"]
    assert (asked.value["type"], asked.value["args"]) == ("tool_approval", {"order": 1, "euro": 5})
    assert shop.paid == []
    shop.ask(Command(resume=APPROVE))
    assert shop.paid == [(1, 5)]


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_what_one_person_puts_in_place_the_one_behind_takes_for_decided(flavor: str) -> None:
    each = Second({"refund": True}, interrupt_mode="per_call")
    shop = Shop(asking(call("refund", order=1, euro=5)), more=[each])

    def ask(given: Any) -> Any:
        if flavor == "async":
            return asyncio.run(shop.agent.ainvoke(given, THREAD))
        return shop.ask(given)

    ask(USER)
    ask(decide(APPROVE))
    ask(Command(resume=edit("refund", order=1, euro=4)))
    assert shop.paid == [(1, 4)]


def test_what_is_put_in_place_of_a_call_is_known_in_a_thread_of_a_wrapper_too() -> None:
    @wrap_tool_call
    def apart(request: Any, handler: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(handler, request).result()

    shop = Shop(asking(call("refund", order=1, euro=5)), behind=[apart, Second({"refund": True})])
    shop.ask()
    shop.ask(decide(APPROVE))
    shop.ask(decide(edit("refund", order=1, euro=4)))
    assert shop.paid == [(1, 4)]


def test_what_two_persons_decide_about_two_tools_holds_for_both() -> None:
    calls = call("refund", "1", order=1, euro=5), call("look", "2", order=2)
    shop = Shop(asking(*calls), behind=[Second({"look": True})])
    for wanted in ("look", "refund"):
        (asked,) = shop.ask(decide(APPROVE) if wanted == "refund" else USER)["__interrupt__"]
        assert [one["name"] for one in asked.value["action_requests"]] == [wanted]
    assert "__interrupt__" not in shop.ask(decide(APPROVE))
    assert shop.told() == ["1: 5", "order 2"]


def test_the_notice_of_an_edit_stands_before_the_answer_to_its_call_alone() -> None:
    @tool
    def both(what: str, id: Annotated[str, InjectedToolCallId]) -> Any:
        """Answer this call, and tell of another."""
        told = [ToolMessage("late", tool_call_id="old"), ToolMessage(what, tool_call_id=id)]
        return Command(update={"messages": told})

    agent = create_agent(
        ScriptedChatModel([asking(call("both", what="a")), "done"]),
        [both],
        middleware=[HumanInTheLoopMiddleware({"both": True}, edit_notice="Changed.")],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(USER, THREAD)
    messages = agent.invoke(decide(edit("both", what="b")), THREAD)["messages"]
    told = {one.tool_call_id: one.text for one in messages if one.type == "tool"}
    assert told["old"] == "late"
    assert told["1"].startswith("Changed. Executed instead: both")


def test_a_call_that_its_policy_lets_through_is_looked_at_once() -> None:
    """The state, and with it what `when` says, may have changed by the time that it starts."""
    said = iter([False, True])
    free: Any = {"allowed_decisions": ["approve"], "when": lambda request: next(said)}
    shop = Shop(asking(call("look", order=1)), behind=[Second({"look": free})])
    assert "__interrupt__" not in shop.ask()
    assert shop.told() == ["order 1"]


def test_what_was_put_in_place_is_forgotten_with_the_next_message() -> None:
    free: Any = {"allowed_decisions": ["edit"], "when": lambda one: one.tool_call["id"] == "1"}
    turns = asking(call("look", "1", order=1)), "so", asking(call("look", "2", order=2))
    shop = Shop(*turns, behind=[Second({"look": free})])
    shop.ask()
    kept: list[Any] = []
    for then in (decide(edit("look", order=3)), USER):
        shop.ask(then)
        kept.append(shop.agent.get_state(THREAD).values["hitl_edited_tool_calls"])
    assert kept == [{"1": {"name": "look", "args": {"order": 3}}}, {}]
    assert shop.told()[-1] == "order 2"


def test_an_answer_that_decides_nothing_leaves_the_question_open() -> None:
    shop = Shop(asking(call("refund", order=1, euro=5)))
    shop.ask()
    for wrong in (Command(resume="yes"), decide(), decide({"type": "maybe"})):
        with pytest.raises(InvalidDecisionError):
            shop.ask(wrong)
    shop.ask(decide(APPROVE))
    assert shop.paid == [(1, 5)]


def test_an_edit_to_a_tool_that_does_not_exist_names_the_tools() -> None:
    shop = Shop(asking(call("refund", order=1, euro=5)))
    shop.ask()
    with pytest.raises(InvalidDecisionError, match=r"'refnd'.*refund"):
        shop.ask(decide(edit("refnd", order=1, euro=5)))
    assert shop.paid == []


def test_a_call_without_an_id_cannot_be_decided_about() -> None:
    shop = Shop(asking({**call("refund", order=1, euro=5), "id": None}), interrupt_mode="per_call")
    with pytest.raises(ToolInputError, match="no ID"):
        shop.ask()


def test_policies_that_nobody_could_answer_are_refused_at_once() -> None:
    for decisions in ([], "approve"):
        with pytest.raises(InvalidPolicyError, match="opens no decision"):
            HumanInTheLoopMiddleware({"refund": {"allowed_decisions": decisions}})  # type: ignore[typeddict-item]
    with pytest.raises(ConfigError, match="'batched' or 'per_call'"):
        HumanInTheLoopMiddleware({}, interrupt_mode="sometimes")  # type: ignore[arg-type]


# --- later, elsewhere ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_an_agent_made_anew_over_the_same_file_takes_the_decision(mode: Any, tmp_path: Any) -> None:
    path = str(tmp_path / "threads.sqlite")
    message = asking(call("refund", "1", order=1, euro=5), call("refund", "2", order=2, euro=6))
    with SqliteSaver.from_conn_string(path) as saver:
        Shop(message, saver=saver, interrupt_mode=mode).ask()
    with SqliteSaver.from_conn_string(path) as saver:
        shop = Shop(saver=saver, interrupt_mode=mode)
        answer = decide(APPROVE, {"type": "reject"})
        if mode == "per_call":
            waiting = shop.agent.get_state(THREAD).interrupts
            said = {1: APPROVE, 2: {"type": "reject"}}
            answer = Command(resume={one.id: said[one.value["args"]["order"]] for one in waiting})
        shop.ask(answer)
        assert shop.paid == [(1, 5)]


async def test_async_runs_ask_and_bind_as_sync_ones_do() -> None:
    shop = Shop(asking(call("refund", order=1, euro=5)), more=[changing(order=1, euro=5000)])
    await shop.agent.ainvoke(USER, THREAD)
    with pytest.raises(ApprovalMismatchError):
        await shop.agent.ainvoke(decide(APPROVE), THREAD)
    shop = Shop(asking(call("refund", order=1, euro=5)), interrupt_mode="per_call")
    await shop.agent.ainvoke(USER, THREAD)
    result = await shop.agent.ainvoke(Command(resume=APPROVE), THREAD)
    assert (shop.paid, result["messages"][-1].text) == ([(1, 5)], "done")
