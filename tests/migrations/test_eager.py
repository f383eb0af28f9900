"""What ran ahead of its super-step (eager schedule) does not run again under another name."""

import threading
from operator import add
from typing import Annotated, Any, TypedDict

from plait import START, Command, StateGraph, interrupt

from .conftest import Caller


class State(TypedDict, total=False):
    slow: Annotated[list[str], add]
    quick: Annotated[list[str], add]


class Quick(TypedDict, total=False):
    quick: Annotated[list[str], add]


class Slow(TypedDict, total=False):
    slow: Annotated[list[str], add]


def test_a_task_that_finished_ahead_is_found_under_its_new_name(saver: Any, caller: Caller) -> None:
    ran: list[str] = []
    ahead = threading.Event()

    def ask(state: Slow) -> Slow:
        ahead.wait(10)  # the quick branch is two steps further by then
        return {"slow": [interrupt("?")]}

    def first(state: Quick) -> Quick:
        ran.append("first")
        return {"quick": ["first"]}

    def second(state: Quick) -> Quick:
        ran.append("second")
        ahead.set()
        return {"quick": ["second"]}

    def graph(suffix: str) -> Any:
        builder = StateGraph(State)
        for action, writes in ((ask, "slow"), (first, "quick"), (second, "quick")):
            name = action.__name__
            former = {"renamed_from": name} if suffix else {}
            builder.add_node(name + suffix, action, writes=[writes], **former)
        builder.add_edge(START, f"ask{suffix}").add_edge(START, f"first{suffix}")
        builder.add_edge(f"first{suffix}", f"second{suffix}")
        return builder.compile(checkpointer=saver, schedule="eager")

    caller.invoke(graph(""), {"slow": [], "quick": []})
    assert ran == ["first", "second"]
    result = caller.invoke(graph("_2"), Command(resume="yes"))
    assert result == {"slow": ["yes"], "quick": ["first", "second"]}
    assert ran == ["first", "second"]
