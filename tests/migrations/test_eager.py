"""What ran ahead of its super-step (eager schedule) does not run again under another name."""

import threading
from operator import add
from typing import Annotated, Any, TypedDict

from plait import START, Command, Send, StateGraph, interrupt

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


def test_a_chain_of_sends_that_ran_ahead_is_found_under_its_new_names(
    saver: Any, caller: Caller
) -> None:
    ran: list[str] = []
    ahead = threading.Event()

    def ask(state: Slow) -> Slow:
        ahead.wait(10)
        return {"slow": [interrupt("?")]}

    def graph(suffix: str) -> Any:
        def node(name: str, following: str) -> Any:
            def code(item: Any) -> Any:
                ran.append(name)
                if not following:
                    ahead.set()
                goto = [Send(following + suffix, 1)] if following else []
                return Command(update={"quick": [name]}, goto=goto)

            return code

        builder = StateGraph(State)
        chain = {"first": "second", "second": "third", "third": ""}
        for name, following in chain.items():
            options: Any = {"renamed_from": name} if suffix else {}
            ends = (following + suffix,) if following else ()
            code = node(name, following)
            builder.add_node(name + suffix, code, writes=["quick"], destinations=ends, **options)
        former: Any = {"renamed_from": "ask"} if suffix else {}
        builder.add_node(f"ask{suffix}", ask, writes=["slow"], **former)
        builder.add_edge(START, f"ask{suffix}").add_edge(START, f"first{suffix}")
        return builder.compile(checkpointer=saver, schedule="eager")

    caller.invoke(graph(""), {"slow": [], "quick": []})
    assert ran == ["first", "second", "third"]
    result = caller.invoke(graph("_2"), Command(resume="yes"))
    assert result == {"slow": ["yes"], "quick": ["first", "second", "third"]}
    assert ran == ["first", "second", "third"]
