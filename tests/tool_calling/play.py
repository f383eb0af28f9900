"""One agent's turn with approvals, played in an order that a seed decides; and its replay.

    python -m tests.tool_calling.play --seed 17

A model's message calls two to six tools at once. Some ask a person before they run, some do not.
What differs from seed to seed: the calls, how long each takes before it asks and while it runs, who
is answered when and how, whether an operator changes a call's arguments while it waits, and how
the tools are run (`WAYS`): with decorators (one has a handler of its own), all in one task, each in
a task of its own, or each in a task of the simulated driver; or behind the middleware, in one task.

The log of what ran is kept outside of the state. `play` checks it against the answers.
"""

from __future__ import annotations

import argparse
import asyncio
import warnings
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Annotated, Any

from plait.agents.middleware import HumanInTheLoopMiddleware
from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import SimEnv, simulate
from plait.errors import UnknownInterruptError, UnusedAnswerWarning
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage, ToolMessage
from plait.prebuilt import ToolNode
from plait.tool_calling import human_in_the_loop, human_in_the_loop_async
from plait.tools import InjectedToolCallId, tool
from plait.types import Command, Send, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}
WAYS = ("one task", "a task each", "simulated", "middleware")
REPLAY = "python -m tests.tool_calling.play --seed {seed}"


@dataclass
class Turn:
    """What happens in one seed."""

    seed: int
    chance: Random
    calls: dict[str, dict[str, Any]]
    """By id: the calls as the model (and then an operator) wrote them."""
    ran: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    """(call id, tool, amount) of everything that ran."""
    allowed: dict[str, tuple[str, int] | None] = field(
        default_factory=dict[str, tuple[str, int] | None]
    )
    """By call id: what may run, as it was answered; None if nothing may."""

    @property
    def way(self) -> str:
        return WAYS[self.seed % len(WAYS)]

    @property
    def gated(self) -> list[str]:
        return [id for id, call in self.calls.items() if call["name"] != "look"]


def turn_of(seed: int) -> Turn:
    """The turn that a seed stands for. Amounts tell its calls apart."""
    chance = Random(seed)
    calls = {
        f"c{place}": {
            "name": chance.choice(["pay", "send", "look"]),
            "args": {"amount": 10 * place + chance.randrange(10)},
            "id": f"c{place}",
            "type": "tool_call",
        }
        for place in range(chance.randint(2, 6))
    }
    return Turn(seed, chance, calls)


# --- the stage: tools and graph of one way, which all its turns share -----------------------------


class Stage:
    """The tools and the graph of one way of running them. `turn` is the one that is played."""

    def __init__(self, way: str) -> None:
        self.turn: Any = None
        self.way = way
        options: Any = {} if way == "simulated" else {"awrap_tool_call": self.delayed}
        self.middleware = HumanInTheLoopMiddleware(
            {"pay": True, "send": True}, interrupt_mode="per_call", edit_notice=None
        )
        builder: Any = StateGraph(MessagesState)
        builder.add_node("tools", ToolNode(self.tools(), journal=way == "middleware", **options))
        if way in ("one task", "middleware"):
            builder.add_edge(START, "tools")
        else:
            builder.add_conditional_edges(START, each_call, ["tools"])
        self.graph = builder.compile()

    def tools(self) -> list[Any]:
        """`pay` and `send` ask first; `look` does not. Each notes that it ran."""

        @tool
        def look(amount: int, call: Annotated[str, InjectedToolCallId]) -> str:
            """Look."""
            return self.note("look", call, amount)

        def send(amount: int, call: Annotated[str, InjectedToolCallId]) -> str:
            """Send."""
            return self.note("send", call, amount)

        if self.way == "simulated":

            @human_in_the_loop
            def pay(amount: int, call: Annotated[str, InjectedToolCallId]) -> str:
                """Pay."""
                return self.note("pay", call, amount)

            return [pay, human_in_the_loop(handler=in_person)(send), look]

        @tool("pay")
        async def slow_pay(amount: int, call: Annotated[str, InjectedToolCallId]) -> str:
            """Pay."""
            await self.ticks()
            return self.note("pay", call, amount)

        if self.way == "middleware":
            return [slow_pay, send, look]
        by_handler = human_in_the_loop_async(handler=in_person_async)
        return [human_in_the_loop_async(slow_pay), by_handler(send), look]

    def note(self, name: str, call: str, amount: int) -> str:
        self.turn.ran.append((call, name, amount))
        return f"{name} {amount}"

    async def delayed(self, request: Any, execute: Any) -> Any:
        await self.ticks()
        if self.way == "middleware":
            return await self.middleware.awrap_tool_call(request, execute)
        return await execute(request)

    async def ticks(self) -> None:
        """A delay: others go on meanwhile."""
        for _ in range(self.turn.chance.randrange(5)):
            await asyncio.sleep(0)


def each_call(state: Any) -> list[Send]:
    return [Send("tools", [call]) for call in state["messages"][-1].tool_calls]


def in_person(params: Any) -> Any:
    """A handler of one's own: the question and the answer have another form."""
    said = interrupt(question_about(params))
    return params["tool"].invoke(params["tool_call_args"]) if said == "yes" else said


async def in_person_async(params: Any) -> Any:
    said = interrupt(question_about(params))
    return await params["tool"].ainvoke(params["tool_call_args"]) if said == "yes" else said


def question_about(params: Any) -> Any:
    return {"may": [params["tool_call_name"], params["tool_call_args"]]}


STAGES = cache(Stage)
LOOP = cache(asyncio.Runner)


class Runner:
    """Runs the graph in the turn's own thread; gives the questions that wait afterwards."""

    def __init__(self, turn: Turn) -> None:
        self.stage, self.env, self.chance = STAGES(turn.way), SimEnv(), turn.chance
        self.stage.turn, self.graph = turn, self.stage.graph
        self.graph.checkpointer = InMemorySaver()

    def __call__(self, given: Any) -> list[Any]:
        if self.stage.way == "simulated":
            simulate(self.graph, given, CONFIG, seed=self.chance.getrandbits(32), env=self.env)
        else:
            LOOP().run(self.graph.ainvoke(given, CONFIG))
        return list(self.graph.get_state(CONFIG).interrupts)


# --- the person ----------------------------------------------------------------------------------


def asked(question: Any) -> tuple[str, int]:
    """Which tool a question is about, and the amount it shows."""
    value = question.value
    if "may" in value:
        name, args = value["may"]
        return name, args["amount"]
    if "tool_call_id" in value:
        return value["name"], value["args"]["amount"]
    request = value["action_request"]
    return request["action"], request["args"]["amount"]


def owner(question: Any, turn: Turn) -> str:
    """The call that a question is about."""
    (id,) = (
        id
        for id, call in turn.calls.items()
        if (call["name"], call["args"]["amount"]) == asked(question)
    )
    return id


def owns(question: Any, turn: Turn) -> bool:
    """Whether a call of the turn is just as the question shows it."""
    shown = asked(question)
    return any((one["name"], one["args"]["amount"]) == shown for one in turn.calls.values())


def answer(question: Any, turn: Turn) -> Any:
    """What the person says; notes what may run because of it."""
    name, amount = asked(question)
    id, kind = owner(question, turn), turn.chance.choice(["yes", "no", "other"])
    if "may" in question.value and kind == "other":
        kind = "no"  # the handler of its own knows no edits
    more = amount + 1000 if kind == "other" else amount
    turn.allowed[id] = None if kind == "no" else (name, more)
    return said(question, kind, {"amount": more}, f"no to {id}")


def said(question: Any, kind: str, args: Any, no: str) -> Any:
    """A decision in the form that the question wants."""
    if "may" in question.value:
        return "yes" if kind == "yes" else no
    if "tool_call_id" in question.value:
        action = {"name": question.value["name"], "args": args}
        return {
            "yes": {"type": "approve"},
            "no": {"type": "respond", "message": no},
            "other": {"type": "edit", "edited_action": action},
        }[kind]
    return {
        "yes": {"type": "accept"},
        "no": {"type": "response", "args": no},
        "other": {"type": "edit", "args": args},
    }[kind]


# --- one seed ------------------------------------------------------------------------------------


def play(seed: int) -> Turn:
    """Play the turn of a seed.

    Raises:
        AssertionError: something ran that was not approved as it ran, or ran twice.
    """
    turn = turn_of(seed)
    run = Runner(turn)
    pending = run({"messages": [message_of(turn)]})
    assert sorted(owner(each, turn) for each in pending) == turn.gated, "all surface at once"
    if pending and turn.chance.random() < 0.3:
        pending = changed(turn, run, pending)
    ids = {question.id for question in pending}
    assert len(ids) == len(pending), "each has an id of its own"
    while pending:
        some = [each for each in pending if turn.chance.random() < 0.5] or pending[:1]
        turn.chance.shuffle(some)
        pending = run(Command(resume={each.id: answer(each, turn) for each in some}))
        ids -= {each.id for each in some}
        assert {each.id for each in pending} == ids, "questions keep their ids"
    check(turn, run.graph.get_state(CONFIG).values["messages"])
    return turn


def message_of(turn: Turn) -> AIMessage:
    return AIMessage("", id="ai", tool_calls=list(turn.calls.values()))


def changed(turn: Turn, run: Runner, pending: list[Any]) -> list[Any]:
    """An operator raises the amounts of some calls while all wait. Answers given before count for
    the calls that are as they were; the others are asked about again. Where each call is a task of
    its own, questions about the others are gone, and who answers one is told so before anything
    runs; else he is warned of those that nobody asks any more, and of no other."""
    late = {each.id: said(each, "yes", None, "") for each in pending}
    for id in turn.chance.sample(turn.gated, turn.chance.randint(1, len(turn.gated))):
        call = turn.calls[id]
        turn.calls[id] = {**call, "args": {"amount": call["args"]["amount"] + 500}}
    same = {owner(each, turn) for each in pending if owns(each, turn)}
    for id in same:
        turn.allowed[id] = (turn.calls[id]["name"], turn.calls[id]["args"]["amount"])
    run.graph.update_state(CONFIG, {"messages": [message_of(turn)]}, as_node=START)
    gone = {each.id for each in pending if not owns(each, turn)}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UnusedAnswerWarning)
        try:
            again = run(Command(resume=late))
        except UnknownInterruptError as error:
            unknown = set(error.interrupt_ids)
            assert unknown <= gone, "calls as they were keep their questions"
            standing = {id: late[id] for id in error.pending_ids}
            again = run(Command(resume=standing) if standing else None)
        else:
            assert all(any(id in str(each.message) for each in told) for id in gone)
    assert not any(id in str(each.message) for each in told for id in late.keys() - gone)
    ran = {each[0] for each in turn.ran if each[1] != "look"}
    assert ran == same, "nothing runs on old answers but what is as it was"
    asked_again = sorted(owner(each, turn) for each in again)
    assert asked_again == [id for id in turn.gated if id not in same], "the others are asked again"
    return again


def check(turn: Turn, messages: list[Any]) -> None:
    """What ran is what was allowed, once; and every call got the result that belongs to it."""
    ran = {id: (name, amount) for id, name, amount in turn.ran if name != "look"}
    assert ran == {id: what for id, what in turn.allowed.items() if what is not None}, turn.ran
    gated = [each for each in turn.ran if each[1] != "look"]
    assert len(gated) == len(ran), f"ran twice: {gated}"
    results = {
        each.tool_call_id: each.content for each in messages if isinstance(each, ToolMessage)
    }
    for id, call in turn.calls.items():
        allowed = turn.allowed.get(id, (call["name"], call["args"]["amount"]))
        expected = f"no to {id}" if allowed is None else f"{allowed[0]} {allowed[1]}"
        assert results[id] == expected, (id, results[id], expected)


def main() -> None:
    """Play one seed and tell what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    turn = play(parser.parse_args().seed)
    print(f"tools run: {turn.way}")
    for id, call in turn.calls.items():
        ran = [each[1:] for each in turn.ran if each[0] == id]
        print(
            f"{id} {call['name']} {call['args']} -> {turn.allowed.get(id, 'not asked')} ran {ran}"
        )


if __name__ == "__main__":
    main()
