"""A function with `@entrypoint` is renamed while its threads wait."""

import operator
from typing import Annotated, Any, TypedDict

import pytest

from plait import deploy, interrupt
from plait.errors import InvalidGraphError, UnknownNodeError
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.types import Command

from .conftest import Caller


class Count(TypedDict):
    n: Annotated[int, operator.add]


class Work:
    """One workflow under any name, and how often its task ran."""

    def __init__(self, saver: Any) -> None:
        self.saver = saver
        self.fetched = 0

    def under(self, name: str, *former: str) -> Any:
        @task
        def fetch(topic: str) -> str:
            self.fetched += 1
            return topic.upper()

        def workflow(topic: str, *, previous: str | None = None) -> str:
            return f"{fetch(topic).result()} {interrupt('send it?')} {previous}"

        workflow.__name__ = name
        return entrypoint(self.saver, renamed_from=former)(workflow)


def test_a_workflow_that_waits_goes_on_under_its_new_name(saver: Any, caller: Caller) -> None:
    work = Work(saver)
    before, after = work.under("letter"), work.under("mail", "note", "letter")
    caller.invoke(before, "hi")
    caller.invoke(before, Command(resume="once"))
    (asked,) = caller.invoke(before, "ho")["__interrupt__"]
    (thread,) = deploy.check(after, saver).threads
    assert [finding.what for finding in thread.findings] == [
        "the task of node 'letter' goes on as 'mail'"
    ]
    state = caller.state(after)
    assert (state.next, [each.id for each in state.interrupts]) == (("mail",), [asked.id])
    assert caller.invoke(after, Command(resume={asked.id: "yes"})) == "HO yes HI once None"
    assert work.fetched == 2
    assert caller.invoke(work.under("mail"), "hm")["__interrupt__"]


def test_a_workflow_whose_new_name_is_not_declared_is_told_how(saver: Any, caller: Caller) -> None:
    work = Work(saver)
    caller.invoke(work.under("letter"), "hi")
    with pytest.raises(UnknownNodeError, match=r"renamed_from='letter' \(of add_node, or of @e"):
        caller.invoke(work.under("mail"), Command(resume="yes"))


def test_the_memory_of_a_graph_inside_stays(saver: Any, caller: Caller) -> None:
    counting = StateGraph(Count).add_node("count", lambda state: {"n": 1})
    inner: Any = counting.add_edge(START, "count").compile(checkpointer=True)

    def letter(topic: str) -> int:
        return inner.invoke({"n": 0})["n"]

    assert caller.invoke(entrypoint(saver)(letter), "hi") == 1
    letter.__name__ = "mail"
    assert caller.invoke(entrypoint(saver, renamed_from="letter")(letter), "ho") == 2


@pytest.mark.parametrize("former", ["", "mail", 3])
def test_a_former_name_that_is_none_is_refused(former: Any) -> None:
    def mail(topic: str) -> str:
        return topic

    with pytest.raises(InvalidGraphError):
        entrypoint(renamed_from=[former])(mail)
