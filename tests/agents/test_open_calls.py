"""create_agent on threads whose run stopped between a tool call and its result: it goes on."""

import asyncio
import operator
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import pytest
from tests.agents.scripted import THREAD, call, calls

from plait.agents import create_agent
from plait.agents.middleware import (
    AgentState,
    HumanInTheLoopMiddleware,
    after_model,
    wrap_model_call,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.messages import HumanMessage
from plait.testing.models import ScriptedChatModel

AGAIN: Any = {"messages": "are you there?"}
ONE_BY_ONE: Any = {**THREAD, "max_concurrency": 1}
"""The tools of a step one after the other, so that what was done before one failed is known."""

Savers = Callable[[], AbstractContextManager[Any]]


@pytest.fixture(params=["memory", "sqlite"])
def savers(request: pytest.FixtureRequest, tmp_path: Path) -> Savers:
    """Makes a saver of one place each time; over a file each has connections of its own."""
    memory = InMemorySaver()
    file = str(tmp_path / "threads.sqlite")
    if request.param == "memory":
        return lambda: nullcontext(memory)
    return lambda: SqliteSaver.from_conn_string(file)


def note(n: int) -> str:
    """Take a note."""
    return f"noted {n}"


def fail(n: int) -> str:
    """Fail."""
    raise ConnectionError("down")


def broken_rules(messages: list[Any]) -> list[str]:
    """What OpenAI would refuse a history for: each call is answered right after its message."""
    broken: list[str] = []
    open_ids: list[str] = []
    for message in messages:
        if message.type == "tool":
            if message.tool_call_id not in open_ids:
                broken.append(f"an answer without a call: {message.tool_call_id}")
            else:
                open_ids.remove(message.tool_call_id)
            continue
        broken += [f"no answer right after the call {one}" for one in open_ids]
        open_ids = [one["id"] for one in getattr(message, "tool_calls", ())]
    return broken + [f"no answer at the end: {one}" for one in open_ids]


def shapes(messages: list[Any]) -> list[tuple[str, str]]:
    return [(one.type, one.text.split(":")[0]) for one in messages]


REPAIRED = [
    ("human", "hi"),
    ("ai", ""),
    ("tool", "noted 1"),
    ("tool", "Interrupted"),
    ("human", "are you there?"),
]


def test_what_finished_keeps_its_result_and_the_rest_is_told_as_interrupted(savers: Savers) -> None:
    model = ScriptedChatModel([calls(call("note", n=1), call("fail", "2", n=2)), "yes", "still"])
    with savers() as saver:
        agent = create_agent(model, [note, fail], checkpointer=saver)
        with pytest.raises(ConnectionError):
            agent.invoke({"messages": "hi"}, ONE_BY_ONE)
    with savers() as saver:
        agent = create_agent(model, [note, fail], checkpointer=saver)
        state = agent.invoke(AGAIN, THREAD)
        assert shapes(state["messages"]) == [*REPAIRED, ("ai", "yes")]
        assert [one.status for one in state["messages"] if one.type == "tool"] == [
            "success",
            "error",
        ]
        assert shapes(model.calls[-1].messages) == REPAIRED
        assert agent.get_state(THREAD).next == ()
        after = agent.invoke({"messages": "and now?"}, THREAD)
    assert after["messages"][:6] == state["messages"], "it is repaired once"
    assert not any(broken_rules(one.messages) for one in model.calls)


async def test_a_run_that_is_cancelled_in_a_tool_leaves_a_thread_that_goes_on(
    savers: Savers,
) -> None:
    began = asyncio.Event()

    async def hangs(n: int) -> str:
        """Wait for ever."""
        began.set()
        await asyncio.Event().wait()
        return "never"

    model = ScriptedChatModel([calls(call("hangs", n=1), call("hangs", "2", n=2)), "yes"])
    with savers() as saver:
        agent = create_agent(model, [hangs], checkpointer=saver)
        running = asyncio.create_task(agent.ainvoke({"messages": "hi"}, THREAD))
        await began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    with savers() as saver:
        state = await create_agent(model, [hangs], checkpointer=saver).ainvoke(AGAIN, THREAD)
    told = [("tool", "Interrupted"), ("tool", "Interrupted")]
    assert shapes(state["messages"]) == [*REPAIRED[:2], *told, REPAIRED[4], ("ai", "yes")]
    assert broken_rules(model.calls[-1].messages) == []


def test_a_message_in_the_place_of_a_decision_goes_on_without_it() -> None:
    model = ScriptedChatModel([calls(call("note", n=1)), "as you like"])
    person = HumanInTheLoopMiddleware(interrupt_on={"note": True})
    agent = create_agent(model, [note], middleware=[person], checkpointer=InMemorySaver())
    assert "__interrupt__" in agent.invoke({"messages": "hi"}, THREAD)
    state = agent.invoke({"messages": "never mind"}, THREAD)
    assert [one.type for one in state["messages"]] == ["human", "ai", "tool", "human", "ai"]
    assert agent.get_state(THREAD).interrupts == ()
    assert broken_rules(model.calls[-1].messages) == []


def test_wrappers_of_model_calls_see_the_repaired_history() -> None:
    seen: list[list[str]] = []

    @wrap_model_call
    def look(request: Any, handler: Any) -> Any:
        seen.append([one.type for one in request.messages])
        return handler(request)

    agent = create_agent(ScriptedChatModel(["yes"]), [note], middleware=[look])
    given: Any = [HumanMessage("hi"), calls(call("note", n=1)), HumanMessage("well?")]
    state = agent.invoke({"messages": given})
    assert seen == [["human", "ai", "tool", "human"]]
    assert [one.type for one in state["messages"]] == ["human", "ai", "tool", "human", "ai"]


def test_a_hook_that_sends_the_model_back_leaves_no_call_open() -> None:
    @after_model(can_jump_to=["model"])
    def once_more(state: Any, runtime: Any) -> Any:
        again = {"messages": [HumanMessage("Think first.")], "jump_to": "model"}
        return again if len(state["messages"]) == 2 else None

    model = ScriptedChatModel([calls(call("note", n=1)), "I thought."])
    agent = create_agent(model, [note], middleware=[once_more])
    state = agent.invoke({"messages": "hi"})
    assert shapes(state["messages"])[2:] == [
        ("tool", "Interrupted"),
        ("human", "Think first."),
        ("ai", "I thought."),
    ]


def test_a_state_with_another_reducer_is_repaired_for_the_model_alone() -> None:
    class Growing(AgentState):
        messages: Annotated[list[Any], operator.add]  # pyright: ignore[reportIncompatibleVariableOverride]

    model = ScriptedChatModel(["yes"])
    agent = create_agent(model, [note], state_schema=Growing)
    given: Any = [HumanMessage("hi"), calls(call("note", n=1)), HumanMessage("well?")]
    state = agent.invoke({"messages": given})
    assert [one.type for one in state["messages"]] == ["human", "ai", "human", "ai"]
    assert [one.type for one in model.calls[0].messages] == ["human", "ai", "tool", "human"]


def test_an_agent_that_does_not_repair_its_history_hands_it_on_as_it_is() -> None:
    model = ScriptedChatModel([calls(call("fail", n=1)), "yes"])
    saver = InMemorySaver()
    agent = create_agent(model, [fail], checkpointer=saver, repair_history=False)
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": "hi"}, THREAD)
    state = agent.invoke(AGAIN, THREAD)
    assert [one.type for one in model.calls[-1].messages] == ["human", "ai", "human"]
    assert [one.type for one in state["messages"]] == ["human", "ai", "human", "ai"]
