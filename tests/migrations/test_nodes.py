"""Threads go on under new names of nodes: nothing is asked, run or lost twice."""

from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from plait import START, Command, Send, StateGraph, interrupt, task
from plait.errors import (
    InvalidGraphError,
    InvalidUpdateError,
    MigrationError,
    UnknownNodeError,
    UnknownNodeWarning,
)

from .conftest import THREAD, Caller


class State(TypedDict, total=False):
    log: Annotated[list[str], add]


def asks(times: int = 1) -> Any:
    def ask(state: State) -> State:
        return {"log": [interrupt(f"question {n}") for n in range(times)]}

    return ask


def says(word: str, ran: list[str] | None = None) -> Any:
    def say(state: State) -> State:
        if ran is not None:
            ran.append(word)
        return {"log": [word]}

    return say


def test_an_answer_given_to_an_old_interrupt_id_reaches_the_renamed_node(
    saver: Any, caller: Caller
) -> None:
    old = StateGraph(State).add_node("draft", asks(2)).add_edge(START, "draft")
    asked = caller.invoke(old.compile(checkpointer=saver), {"log": []})["__interrupt__"]
    new = StateGraph(State).add_node("plan", asks(2), renamed_from="draft").add_edge(START, "plan")
    graph = new.compile(checkpointer=saver)
    standing = caller.state(graph)
    assert standing.next == ("plan",)
    assert [each.id for each in standing.interrupts] == [each.id for each in asked]
    asked = caller.invoke(graph, Command(resume={asked[0].id: "first"}))["__interrupt__"]
    assert asked[0].value == "question 1"
    assert caller.invoke(graph, Command(resume={asked[0].id: "second"})) == {
        "log": ["first", "second"]
    }
    assert caller.state(graph).next == ()


def test_a_node_renamed_twice_while_it_waits_keeps_its_question(saver: Any, caller: Caller) -> None:
    asked: list[str] = []
    for name, former in (("a", ()), ("b", "a"), ("c", ("a", "b"))):
        builder = StateGraph(State).add_node(name, asks(), renamed_from=former)
        graph = builder.add_edge(START, name).compile(checkpointer=saver)
        if name == "a":
            caller.invoke(graph, {"log": []})
        asked.append(caller.state(graph).interrupts[0].id)
    assert len(set(asked)) == 1
    assert caller.invoke(graph, Command(resume="yes"))["log"] == ["yes"]


def fan(
    saver: Any, names: tuple[str, str, str], former: tuple[str, str, str], ran: list[str]
) -> Any:
    """Two nodes beside each other, one of which asks, and a join after them."""
    builder = StateGraph(State)
    actions = (asks(), says("side", ran), says("end", ran))
    for name, action, before in zip(names, actions, former, strict=True):
        builder.add_node(name, action, renamed_from=[before] if before != name else ())
    builder.add_edge(START, names[0]).add_edge(START, names[1]).add_edge(list(names[:2]), names[2])
    return builder.compile(checkpointer=saver)


def test_an_acknowledged_task_never_runs_again_after_its_node_was_renamed(
    saver: Any, caller: Caller
) -> None:
    ran: list[str] = []
    before = ("ask", "side", "end")
    caller.invoke(fan(saver, before, before, ran), {"log": []})
    assert ran == ["side"]
    graph = fan(saver, ("question", "beside", "finish"), before, ran)
    assert caller.invoke(graph, Command(resume="yes"))["log"] == ["yes", "side", "end"]
    assert ran == ["side", "end"]


def test_a_join_that_has_seen_one_of_its_nodes_fires_under_new_names(
    saver: Any, caller: Caller
) -> None:
    def graph(a: str, b: str, c: str, end: str, **former: str) -> Any:
        builder = StateGraph(State)
        for name, action in ((a, says("a")), (b, says("b")), (c, asks()), (end, says("end"))):
            builder.add_node(name, action, renamed_from=former.get(name, ()))
        builder.add_edge(START, a).add_edge(START, b).add_edge(b, c).add_edge([a, c], end)
        return builder.compile(checkpointer=saver)

    caller.invoke(graph("a+", "b", "c", "d"), {"log": []})  # `a+` has written to the join
    renamed = graph("one", "two", "three", "four", one="a+", two="b", three="c", four="d")
    assert caller.invoke(renamed, Command(resume="yes"))["log"] == ["a", "b", "yes", "end"]


def test_sends_that_wait_go_to_the_renamed_node_and_finished_ones_stay(
    saver: Any, caller: Caller
) -> None:
    ran: list[int] = []

    def work(given: dict[str, Any]) -> State:
        ran.append(given["n"])
        return {"log": [f"{given['n']}{interrupt('?') if given['n'] == 1 else ''}"]}

    def graph(name: str, former: Any = ()) -> Any:
        builder = StateGraph(State).add_node("spread", says("spread"))
        builder.add_node(name, work, renamed_from=former).add_edge(START, "spread")
        sends = [Send(name, {"n": n}) for n in range(3)]
        builder.add_conditional_edges("spread", lambda state: sends)
        return builder.compile(checkpointer=saver)

    asked = caller.invoke(graph("work"), {"log": []})["__interrupt__"]
    assert sorted(ran) == [0, 1, 2]
    renamed = graph("job", "work")
    assert caller.state(renamed).interrupts[0].id == asked[0].id
    assert caller.invoke(renamed, Command(resume="!"))["log"] == ["spread", "0", "1!", "2"]
    assert sorted(ran) == [0, 1, 1, 2]


def test_a_deferred_node_runs_last_under_its_new_name(saver: Any, caller: Caller) -> None:
    def graph(late: str, former: Any = ()) -> Any:
        builder = StateGraph(State).add_node("ask", asks()).add_node("more", says("more"))
        builder.add_node(late, says("late"), defer=True, renamed_from=former)
        builder.add_edge(START, "ask").add_edge(START, late).add_edge("ask", "more")
        return builder.compile(checkpointer=saver)

    caller.invoke(graph("late"), {"log": []})
    assert caller.invoke(graph("last", "late"), Command(resume="yes"))["log"] == [
        "yes", "more", "late",
    ]  # fmt: skip


def test_where_a_caller_steered_to_is_followed_under_the_new_name(
    saver: Any, caller: Caller
) -> None:
    def graph(other: str, former: Any = ()) -> Any:
        builder = StateGraph(State).add_node("ask", asks())
        builder.add_node(other, asks(), renamed_from=former).add_edge(START, "ask")
        return builder.compile(checkpointer=saver)

    caller.invoke(graph("other"), {"log": []})
    asked = caller.invoke(graph("other"), Command(goto="other"))["__interrupt__"]
    assert len(asked) == 2
    renamed = graph("another", "other")
    assert {each.id for each in caller.state(renamed).interrupts} == {each.id for each in asked}
    answers = {each.id: str(at) for at, each in enumerate(asked)}
    assert sorted(caller.invoke(renamed, Command(resume=answers))["log"]) == ["0", "1"]


def test_recorded_calls_of_a_renamed_node_are_not_made_again(saver: Any, caller: Caller) -> None:
    calls: list[str] = []

    @task
    def fetch(what: str) -> str:
        calls.append(what)
        return what.upper()

    def work(state: State) -> State:
        fetched = fetch("page").result()
        return {"log": [fetched, interrupt("ok?")]}

    def graph(name: str, former: Any = ()) -> Any:
        builder = StateGraph(State).add_node(name, work, renamed_from=former)
        return builder.add_edge(START, name).compile(checkpointer=saver)

    caller.invoke(graph("work"), {"log": []})
    result = caller.invoke(graph("job", "work"), Command(resume="yes"))
    assert result["log"] == ["PAGE", "yes"]
    assert calls == ["page"]


@pytest.mark.parametrize("depth", [1, 2])
def test_a_subgraph_that_waits_inside_a_renamed_node_goes_on_where_it_was(
    saver: Any, caller: Caller, depth: int
) -> None:
    ran: list[str] = []

    def graph(suffix: str) -> Any:
        inner: Any = None
        for level in range(depth + 1):
            former = {"renamed_from": f"n{level}"} if suffix else {}
            builder = StateGraph(State)
            if inner is None:
                builder.add_node("first", says("first", ran)).add_edge(START, "first")
                builder.add_node(f"n{level}{suffix}", asks(), **former)
                builder.add_edge("first", f"n{level}{suffix}")
            else:
                builder.add_node(f"n{level}{suffix}", inner, **former)
                builder.add_edge(START, f"n{level}{suffix}")
            inner = builder.compile(checkpointer=saver if level == depth else None)
        return inner

    asked = caller.invoke(graph(""), {"log": []})["__interrupt__"]
    renamed = graph("x")
    standing = caller.state(renamed, subgraphs=True)
    deepest = standing
    for _ in range(depth):
        deepest = deepest.tasks[0].state
    assert deepest.next == ("n0x",)
    assert deepest.interrupts[0].id == asked[0].id
    assert caller.invoke(renamed, Command(resume="yes"))["log"] == ["first", "yes"]
    assert ran == ["first"]


def test_a_graph_with_memory_remembers_under_the_new_name_of_its_node(
    saver: Any, caller: Caller
) -> None:
    def graph(name: str, former: Any = ()) -> Any:
        inner = StateGraph(State).add_node("say", says("inner")).add_edge(START, "say")
        builder = StateGraph(State)
        remember = inner.compile(checkpointer=True)
        builder.add_node(name, remember, renamed_from=former)
        return builder.add_edge(START, name).compile(checkpointer=saver)

    def inside(graph: Any) -> Any:
        address = {**THREAD["configurable"], "checkpoint_ns": "talk"}
        return caller.state(graph, {"configurable": address}).values["log"]

    caller.invoke(graph("talk"), {"log": ["a"]})
    once = inside(graph("talk"))
    renamed = graph("chat", "talk")
    caller.invoke(renamed, {"log": ["b"]})
    assert len(inside(renamed)) > len(once)
    assert inside(renamed)[: len(once)] == once


def test_a_memory_inside_a_renamed_graph_remembers_too(saver: Any, caller: Caller) -> None:
    def graph(name: str, former: Any = ()) -> Any:
        inner = StateGraph(State).add_node("say", says("inner")).add_edge(START, "say")
        around = StateGraph(State).add_node("talk", inner.compile(checkpointer=True))
        builder = StateGraph(State)
        builder.add_node(name, around.add_edge(START, "talk").compile(), renamed_from=former)
        return builder.add_edge(START, name).compile(checkpointer=saver)

    def remembered(graph: Any) -> Any:
        address = {**THREAD["configurable"], "checkpoint_ns": "room|talk"}
        return caller.state(graph, {"configurable": address}).values["log"]

    caller.invoke(graph("room"), {"log": ["a"]})
    once = remembered(graph("room"))
    renamed = graph("hall", "room")
    caller.invoke(renamed, {"log": ["b"]})
    assert remembered(renamed)[: len(once)] == once
    assert len(remembered(renamed)) > len(once)


def test_a_fork_of_an_old_checkpoint_runs_under_new_names(saver: Any, caller: Caller) -> None:
    def graph(suffix: str) -> Any:
        builder = StateGraph(State)
        for word in ("a", "b", "c"):
            builder.add_node(word + suffix, says(word), renamed_from=[word] if suffix else ())
        builder.add_edge(START, f"a{suffix}").add_edge(f"a{suffix}", f"b{suffix}")
        builder.add_edge(f"b{suffix}", f"c{suffix}")
        return builder.compile(checkpointer=saver)

    caller.invoke(graph(""), {"log": []})
    renamed = graph("2")
    history = list(renamed.get_state_history(THREAD))
    assert [each.next for each in history] == [(), ("c2",), ("b2",), ("a2",), ("__start__",)]
    assert caller.invoke(renamed, None, history[1].config)["log"] == ["a", "b", "c"]
    forked = caller.update(renamed, history[2].config, {"log": ["by hand"]})
    assert caller.state(renamed, forked).next == ("b2",)
    assert caller.invoke(renamed, None, forked)["log"] == ["a", "by hand", "b", "c"]


def test_update_state_speaks_for_the_renamed_node_that_ran_last(saver: Any, caller: Caller) -> None:
    def graph(name: str, former: Any = ()) -> Any:
        builder = StateGraph(State).add_node(name, says("a"), renamed_from=former)
        builder.add_node("b", says("b")).add_edge(START, name).add_edge(name, "b")
        return builder.compile(checkpointer=saver, interrupt_after=[name])

    caller.invoke(graph("a"), {"log": []})
    renamed = graph("first", "a")
    with pytest.raises(InvalidUpdateError, match="It is called 'first' today"):
        caller.update(renamed, THREAD, {"log": []}, as_node="a")
    caller.update(renamed, THREAD, {"log": ["by hand"]})
    assert caller.state(renamed).next == ("b",)
    assert caller.invoke(renamed, None)["log"] == ["a", "by hand", "b"]


def test_exit_durability_resumes_under_new_names(saver: Any, caller: Caller) -> None:
    ran: list[str] = []
    before = ("ask", "side", "end")
    caller.invoke(fan(saver, before, before, ran), {"log": []}, durability="exit")
    graph = fan(saver, ("question", "beside", "finish"), before, ran)
    result = caller.invoke(graph, Command(resume="yes"), durability="exit")
    assert result["log"] == ["yes", "side", "end"]
    assert ran == ["side", "end"]


def test_a_node_that_failed_is_tried_again_under_its_new_name(saver: Any, caller: Caller) -> None:
    ran: list[str] = []

    def fails(state: State) -> State:
        ran.append("fetch")
        if len(ran) < 3:
            raise OSError("no network")
        return {"log": ["done"]}

    def graph(name: str, former: Any = ()) -> Any:
        builder = StateGraph(State).add_node("first", says("first", ran)).add_edge(START, "first")
        builder.add_node(name, fails, renamed_from=former).add_edge("first", name)
        return builder.compile(checkpointer=saver)

    with pytest.raises(OSError, match="no network"):
        caller.invoke(graph("fetch"), {"log": []})
    renamed = graph("load", "fetch")
    assert "no network" in caller.state(renamed).tasks[0].error
    assert caller.invoke(renamed, None)["log"] == ["first", "done"]
    assert ran == ["first", "fetch", "fetch"]


def test_two_waiting_nodes_that_became_one_are_an_error(saver: Any, caller: Caller) -> None:
    builder = StateGraph(State).add_node("a", asks()).add_node("b", asks())
    old = builder.add_edge(START, "a").add_edge(START, "b").compile(checkpointer=saver)
    caller.invoke(old, {"log": []})
    merged = StateGraph(State).add_node("c", asks(), renamed_from=["a", "b"]).add_edge(START, "c")
    with pytest.raises(MigrationError, match=r"'a' and 'b' are both about to run.*'order-7'"):
        caller.invoke(merged.compile(checkpointer=saver), None)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"a": "b", "b": ()}, "there is a node 'b' today"),
        ({"a": "old", "b": "old"}, "both declared as renamed from 'old'"),
        ({"a": ""}, "not empty"),
    ],
)
def test_a_declaration_that_could_mean_two_nodes_is_refused(
    declared: dict[str, Any], message: str
) -> None:
    def build() -> None:
        builder = StateGraph(State)
        for name, former in declared.items():
            builder.add_node(name, says(name), renamed_from=former).add_edge(START, name)
        builder.compile()

    with pytest.raises(InvalidGraphError, match=message):
        build()


def test_whoever_uses_the_old_name_of_a_node_is_told_the_one_of_today(
    saver: Any, caller: Caller
) -> None:
    builder = StateGraph(State).add_node("go", lambda state: Command(goto="draft"))
    builder.add_node("plan", says("plan"), renamed_from="draft").add_edge(START, "go")
    graph = builder.compile(checkpointer=saver)
    today = "'draft'.*It is called 'plan' today"
    with pytest.raises(UnknownNodeError, match=f"Node 'go' routes to {today}"):
        caller.invoke(graph, {"log": []})
    with pytest.raises(UnknownNodeError, match=today):
        caller.invoke(graph, Command(goto="draft"))
    with pytest.raises(InvalidUpdateError, match=r"draft.*It is called 'plan' today"):
        caller.update(graph, THREAD, {"log": []}, as_node="draft")
    with (
        pytest.warns(UnknownNodeWarning, match=today),
        pytest.raises(UnknownNodeError),
    ):
        caller.invoke(graph, {"log": []}, interrupt_before=["draft"])
