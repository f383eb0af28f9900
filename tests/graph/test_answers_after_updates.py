"""Answers to questions that were asked before the thread was written to by hand."""

from __future__ import annotations

import asyncio
import operator
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver as LangGraphSaver
from tests.durability.savers import KINDS, Kind, Place, new_place

from plait.checkpoint.memory import InMemorySaver
from plait.engine.loop import Loop
from plait.errors import ConfigError, UnknownInterruptError, UnusedAnswerWarning
from plait.func import entrypoint, task
from plait.graph import END, START, StateGraph
from plait.testing.processes import fork
from plait.types import Command, Send, StateUpdate, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    n: int
    log: Annotated[list[str], operator.add]


class Number(TypedDict, total=False):
    n: int


class Out(TypedDict):
    log: Annotated[list[str], operator.add]


def line(*nodes: Any, **options: Any) -> Any:
    """A graph of nodes one after the other."""
    builder: Any = StateGraph(State, output_schema=Out)
    names = [f"n{i}" for i in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node)
    for before, after in zip([START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder.compile(**options)


def quiet(state: State) -> State:
    return {}


def ask(state: State) -> State:
    return {"log": [interrupt("sure?")]}


@task
def asks(question: str) -> str:
    return interrupt(question)


def by_task(state: State) -> State:
    return {"log": [asks("sure?").result()]}


def calling(*graphs: Any) -> Callable[[State], State]:
    """A node that runs graphs, one after the other, each on a state of its own."""

    def node(state: State) -> State:
        return {"log": [each for graph in graphs for each in graph.invoke({"log": []})["log"]]}

    return node


@task
def calls_in_a_task() -> list[str]:
    return line(quiet, ask).invoke({"log": []})["log"]


def graph_in_task(state: State) -> State:
    return {"log": calls_in_a_task().result()}


async def awaiting(state: State) -> State:
    return {"log": (await line(quiet, ask).ainvoke({"log": []}))["log"]}


def ahead() -> Any:
    """A graph in which the node that asks starts before its super-step."""

    began = Event()

    def slow(state: State) -> State:
        assert began.wait(10)
        return {}

    def early(state: Any) -> State:
        began.set()
        return ask(state)

    builder: Any = StateGraph(State, output_schema=Out)
    builder.add_node("slow", slow, writes=["log"]).add_node("quick", quiet, writes=[])
    builder.add_node("early", early, input_schema=Number, writes=["log"])
    builder.add_edge(START, "slow").add_edge(START, "quick").add_edge("quick", "early")
    return builder.compile(schedule="eager")


def remembering() -> Any:
    """A node that runs a graph with memory until it has asked, which it does when it runs again."""
    once_more = line(quiet, lambda s: ask(s) if s["log"] else {"log": ["ran"]}, checkpointer=True)
    builder: Any = StateGraph(State, output_schema=Out)
    builder.add_node("node", lambda state: {"log": once_more.invoke({"log": []})["log"][1:]})
    builder.add_edge(START, "node")
    builder.add_conditional_edges("node", lambda state: END if state["log"] else "node")
    return builder.compile()


PLACES: dict[str, Callable[[], Any]] = {
    "the node": lambda: ask,
    "a graph that is a node": lambda: line(ask),
    "a later step of it": lambda: line(quiet, quiet, ask),
    "a graph that a node calls": lambda: calling(line(quiet, ask)),
    "the second that it calls": lambda: calling(line(quiet), line(quiet, ask)),
    "a graph in a graph": lambda: line(quiet, line(quiet, ask)),
    "a graph that a node of a graph calls": lambda: line(quiet, calling(line(quiet, ask))),
    "a graph that keeps nothing": lambda: calling(line(quiet, ask, checkpointer=False)),
    "a graph in one that keeps nothing": lambda: calling(line(line(ask), checkpointer=False)),
    "a task": lambda: by_task,
    "a task in a graph": lambda: line(quiet, by_task),
    "a graph in a task": lambda: graph_in_task,
    "a graph that runs ahead": ahead,
    "a graph with memory": lambda: line(quiet, ask, checkpointer=True),
    "a graph with memory and a past": remembering,
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Callable[[], Any]:
    """What makes a node in which something asks."""
    return PLACES[request.param]


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    """No answer is lost without a test that says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedAnswerWarning)
        yield


def built(node: Any, saver: Any = None) -> Any:
    return line(node, checkpointer=saver or InMemorySaver())


def questions(graph: Any) -> list[str]:
    """The ids of what waits for an answer."""
    return [question.id for question in graph.get_state(THREAD).interrupts]


# --- the question in the same place ---------------------------------------------------------------


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_an_answer_reaches_the_question_in_the_same_place(place: Any, durability: Any) -> None:
    graph = built(place())
    graph.invoke({"log": []}, THREAD, durability=durability)
    graph.update_state(THREAD, {"n": 1})
    assert graph.invoke(Command(resume="yes"), THREAD, durability=durability)["log"] == ["yes"]


def test_so_it_does_at_the_config_of_the_update(place: Any) -> None:
    graph = built(place())
    graph.invoke({"log": []}, THREAD)
    by_hand = graph.update_state(THREAD, {"n": 1})
    assert graph.invoke(Command(resume="yes"), by_hand)["log"] == ["yes"]


@pytest.mark.filterwarnings("ignore::plait.errors.WeakDurabilityWarning")
def test_so_it_does_on_a_saver_of_somebody_else(place: Any) -> None:
    graph = built(place(), LangGraphSaver())
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"n": 1})
    assert graph.invoke(Command(resume="yes"), THREAD)["log"] == ["yes"]


def test_so_does_one_by_the_id_that_the_person_was_shown(place: Any) -> None:
    graph = built(place())
    [asked] = graph.invoke({"log": []}, THREAD)["__interrupt__"]
    graph.update_state(THREAD, {"n": 1})
    graph.update_state(THREAD, {"n": 2})
    assert graph.invoke(Command(resume={asked.id: "yes"}), THREAD)["log"] == ["yes"]


@pytest.mark.parametrize("place", [*PLACES.values(), lambda: awaiting])
def test_so_it_does_in_an_event_loop(place: Any) -> None:
    async def story() -> Any:
        graph = built(place())
        await graph.ainvoke({"log": []}, THREAD)
        await graph.aupdate_state(THREAD, {"n": 1})
        return await graph.ainvoke(Command(resume="yes"), THREAD)

    assert asyncio.run(story())["log"] == ["yes"]


@pytest.fixture(params=KINDS)
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A new and empty database: a SQLite file, then one of a Postgres server."""
    kind: Kind = request.param
    server = request.getfixturevalue("postgres_server") if kind == "postgres" else None
    with new_place(kind, tmp_path, server) as place:
        yield place


def test_so_it_does_where_each_step_is_in_another_process(place: Any, db: Place) -> None:
    def step(work: Callable[[Any], Any]) -> str:
        def child(tell: Callable[[str], None]) -> None:
            with db.open() as saver:
                tell(str(work(built(place(), saver))))

        process = fork(child)
        told = process.hear()
        process.wait()
        return told

    step(lambda graph: graph.invoke({"log": []}, THREAD))
    step(lambda graph: graph.update_state(THREAD, {"n": 1}))
    step(lambda graph: graph.invoke(Command(resume="yes"), THREAD))
    assert step(lambda graph: graph.get_state(THREAD).values["log"]) == "['yes']"


def test_a_task_of_an_entrypoint() -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def work(given: str) -> str:
        return f"{given}: {asks('sure?').result()}, {asks('really?').result()}"

    work.invoke("cake", THREAD)
    work.update_state(THREAD, None)
    asked = work.invoke(Command(resume="yes"), THREAD)["__interrupt__"]
    assert [question.value for question in asked] == ["really?"]
    assert work.invoke(Command(resume="no"), THREAD) == "cake: yes, no"


def test_questions_one_after_the_other_in_one_task() -> None:
    def both(state: State) -> State:
        return {"log": [interrupt("sure?"), interrupt("really?")]}

    graph = built(line(quiet, both))
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"n": 1})
    [asked] = graph.invoke(Command(resume="yes"), THREAD)["__interrupt__"]
    assert asked.value == "really?"
    graph.update_state(THREAD, {"n": 2})
    with pytest.warns(UnusedAnswerWarning):  # what was answered before the update is asked again
        [asked] = graph.invoke(Command(resume="no"), THREAD)["__interrupt__"]
    assert asked.value == "sure?"
    assert graph.invoke(Command(resume="yes"), THREAD)["log"] == ["yes", "no"]


def test_a_task_that_has_asked_again_is_answered_by_its_newer_question() -> None:
    graph = built(line(quiet, ask))
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"n": 1})
    [newer] = graph.invoke(None, THREAD)["__interrupt__"]
    graph.update_state(THREAD, {"n": 2})
    with pytest.raises(UnknownInterruptError, match=newer.id):
        graph.invoke(Command(resume={"0" * 32: "yes"}), THREAD)
    assert graph.invoke(Command(resume="yes"), THREAD)["log"] == ["yes"]


# --- many questions -------------------------------------------------------------------------------


def fan_out(asking: Any) -> Any:
    """A graph that asks about three things beside each other."""
    builder: Any = StateGraph(State, output_schema=Out).add_node("each", asking)
    sends = [Send("each", {"n": n}) for n in range(3)]
    return builder.add_conditional_edges(START, lambda state: sends, ["each"]).compile()


def about(state: State) -> State:
    return {"log": [f"{state['n']} {interrupt(state['n'])}"]}


def about_by_task(state: State) -> State:
    called = [asks(str(n)) for n in range(3)]
    return {"log": [f"{n} {each.result()}" for n, each in enumerate(called)]}


MANY: dict[str, Callable[[], Any]] = {
    "sends": lambda: fan_out(about),
    "sends of graphs": lambda: fan_out(line(quiet, about)),
    "calls of graphs": lambda: fan_out(
        lambda state: line(quiet, about).invoke({"n": state["n"], "log": []})
    ),
    "two deep": lambda: line(quiet, fan_out(line(quiet, about))),
    "tasks": lambda: about_by_task,
    "tasks in a graph": lambda: line(quiet, about_by_task),
}


@pytest.mark.parametrize("node", MANY.values(), ids=MANY)
def test_answers_by_id_reach_each_its_own(node: Any) -> None:
    graph = built(node())
    asked = graph.invoke({"log": []}, THREAD)["__interrupt__"]
    graph.update_state(THREAD, {"n": 7})
    with pytest.raises(UnknownInterruptError, match="multiple pending"):
        graph.invoke(Command(resume="to whom?"), THREAD)
    answers = {question.id: f"said {question.value}" for question in reversed(asked)}
    told = graph.invoke(Command(resume=answers), THREAD)
    assert told["log"] == ["0 said 0", "1 said 1", "2 said 2"]


@pytest.mark.parametrize("node", MANY.values(), ids=MANY)
def test_one_of_them_is_answered_and_the_others_ask_again(node: Any) -> None:
    graph = built(node())
    asked = graph.invoke({"log": []}, THREAD)["__interrupt__"]
    graph.update_state(THREAD, {"n": 7})
    [second] = [question.id for question in asked if str(question.value) == "1"]
    again = graph.invoke(Command(resume={second: "said 1"}), THREAD)["__interrupt__"]
    assert sorted(str(question.value) for question in again) == ["0", "2"]
    answers = {question.id: f"said {question.value}" for question in again}
    told = graph.invoke(Command(resume=answers), THREAD)
    assert told["log"] == ["0 said 0", "1 said 1", "2 said 2"]


def test_an_answer_may_be_taken_after_the_node_has_stopped_at_another_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped, takes = Event(), Loop._asked

    def told(loop: Loop, which: Any, *rest: Any) -> None:
        takes(loop, which, *rest)
        if which.parent is None:
            stopped.set()

    monkeypatch.setattr(Loop, "_asked", told)

    @task
    def late(question: str) -> str:
        assert stopped.wait(30)
        return interrupt(question)

    def both(state: State) -> State:
        second, first = late("second?"), asks("first?")
        return {"log": [first.result(), second.result()]}

    graph = built(both)
    ids = {each.value: each.id for each in graph.invoke({"log": []}, THREAD)["__interrupt__"]}
    graph.update_state(THREAD, {"n": 7})
    stopped.clear()
    [left] = graph.invoke(Command(resume={ids["second?"]: "two"}), THREAD)["__interrupt__"]
    assert left.value == "first?"
    assert graph.invoke(Command(resume={left.id: "one"}), THREAD)["log"] == ["one", "two"]


class Files(TypedDict, total=False):
    files: list[str]
    log: Annotated[list[str], operator.add]


class File(TypedDict):
    name: str
    log: Annotated[list[str], operator.add]


def delete(state: Any) -> Any:
    return {"log": [f"{state['name']} {interrupt(state['name'])}"]}


def deleting(node: Any) -> Any:
    """A graph that asks about each file of its state."""

    def each(state: Files) -> list[Send]:
        return [Send("delete", {"name": name}) for name in state.get("files", ())]

    builder: Any = StateGraph(Files).add_node("plan", lambda state: {}).add_node("delete", node)
    builder.add_edge(START, "plan").add_conditional_edges("plan", each, ["delete"])
    return builder.compile(checkpointer=InMemorySaver())


def deleting_graph() -> Any:
    builder: Any = StateGraph(File, output_schema=Out).add_node("delete", delete)
    return builder.add_edge(START, "delete").compile()


@pytest.mark.parametrize("node", [delete, deleting_graph()], ids=["node", "graph"])
def test_an_answer_follows_a_send_whose_position_has_changed(node: Any) -> None:
    graph = deleting(node)
    asked = graph.invoke({"files": ["a", "b", "c"]}, THREAD)["__interrupt__"]
    ids = {question.value: question.id for question in asked}
    graph.update_state(THREAD, {"files": ["x", "c", "b"]})
    with pytest.raises(UnknownInterruptError, match=ids["a"]):
        graph.invoke(Command(resume={ids["a"]: "yes"}), THREAD)
    told = graph.invoke(Command(resume={ids["b"]: "yes", ids["c"]: "no"}), THREAD)
    assert told["log"] == ["c no", "b yes"]
    assert [question.value for question in told["__interrupt__"]] == ["x"]


def test_an_answer_reaches_the_only_send_whatever_it_says_now() -> None:
    graph = deleting(delete)
    graph.invoke({"files": ["a"]}, THREAD)
    graph.update_state(THREAD, {"files": ["b"]})
    assert graph.invoke(Command(resume="yes"), THREAD)["log"] == ["b yes"]


def test_an_answer_to_the_only_send_is_for_none_of_those_that_stand_there_now() -> None:
    graph = deleting(delete)
    (asked,) = graph.invoke({"files": ["a"]}, THREAD)["__interrupt__"]
    graph.update_state(THREAD, {"files": ["b", "c"]})
    with pytest.raises(UnknownInterruptError, match=asked.id):
        graph.invoke(Command(resume={asked.id: "yes"}), THREAD)


def test_one_that_is_left_takes_a_bare_answer() -> None:
    graph = built(fan_out(line(quiet, about)))
    asked = graph.invoke({"log": []}, THREAD)["__interrupt__"]
    graph.invoke(Command(resume={question.id: "x" for question in asked[:2]}), THREAD)
    graph.update_state(THREAD, {"n": 7})
    again = graph.invoke(Command(resume="mine"), THREAD)["__interrupt__"]
    assert [question.value for question in again] == [0, 1]  # their tasks begin anew
    told = graph.invoke(Command(resume={question.id: "x" for question in again}), THREAD)
    assert told["log"] == ["0 x", "1 x", "2 mine"]


# --- another question -----------------------------------------------------------------------------


def by_label(state: State) -> State:
    return {"log": [interrupt("sure?", key=f"about {state.get('n')}")]}


def by_argument(state: State) -> State:
    return {"log": [asks(f"about {state.get('n')}").result()]}


def by_way(state: State) -> State:
    """Which node asks depends on the state."""
    builder: Any = StateGraph(State, output_schema=Out)
    builder.add_node("short", ask).add_node("long", quiet).add_node("late", ask)
    builder.add_conditional_edges(
        START, lambda state: "long" if state.get("n") else "short", ["short", "long"]
    ).add_edge("long", "late")
    return builder.compile().invoke({"n": state.get("n", 0), "log": []})


def by_step(state: State) -> State:
    """In which round the same node asks depends on the state."""
    builder: Any = StateGraph(State, output_schema=Out)
    builder.add_node("count", lambda state: {"n": state["n"] - 1}).add_node("ask", ask)
    builder.add_edge(START, "count")
    builder.add_conditional_edges(
        "count", lambda state: "count" if state["n"] > 0 else "ask", ["count", "ask"]
    )
    return builder.compile().invoke({"n": state.get("n", 0), "log": []})


def by_send(state: State) -> State:
    """What is asked about at some position depends on the state."""
    builder: Any = StateGraph(State, output_schema=Out).add_node("each", ask)
    builder.add_conditional_edges(START, lambda state: [Send("each", state)], ["each"])
    return builder.compile().invoke({"n": state.get("n", 0), "log": []})


OTHERS: dict[str, Any] = {
    "label": line(by_label),
    "argument": by_argument,
    "way": by_way,
    "step": by_step,
    "send": by_send,
}


@pytest.mark.parametrize("node", OTHERS.values(), ids=OTHERS)
def test_an_answer_never_reaches_another_question_and_that_is_told(node: Any) -> None:
    graph = built(node)
    graph.invoke({"log": [], "n": 0}, THREAD)
    [old] = questions(graph)
    graph.update_state(THREAD, {"n": 2})
    lost = (
        rf"question {old} has reached nobody: it was asked inside task 'n0'.* question, \w{{32}}:"
    )
    with pytest.warns(UnusedAnswerWarning, match=lost):
        told = graph.invoke(Command(resume="lost"), THREAD)
    [asked] = told["__interrupt__"]
    assert graph.invoke(Command(resume={asked.id: "yes"}), THREAD)["log"] == ["yes"]


def test_an_answer_that_was_taken_is_not_called_lost_when_the_task_fails_and_goes_on() -> None:
    failing = [True]

    def flaky(state: State) -> State:
        if failing:
            raise ValueError(failing.pop())
        return {"log": [interrupt("and now?")]}

    graph = built(line(ask, flaky))
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"n": 1})
    with pytest.raises(ValueError, match="True"):
        graph.invoke(Command(resume="yes"), THREAD)
    [asked] = graph.invoke(None, THREAD)["__interrupt__"]
    assert asked.value == "and now?"
    assert graph.invoke(Command(resume="done"), THREAD)["log"] == ["yes", "done"]


def test_an_answer_is_taken_where_the_state_of_a_graph_inside_was_written_to() -> None:
    graph = line(line(quiet, calling(line(quiet, ask))), checkpointer=InMemorySaver())
    graph.invoke({"log": []}, THREAD)
    inside = graph.get_state(THREAD, subgraphs=True).tasks[0].state.config
    graph.update_state(inside, {"n": 1})
    assert graph.invoke(Command(resume="yes"), THREAD)["log"] == ["yes"]


# --- what waits besides questions -----------------------------------------------------------------


def test_a_deferred_node_still_waits_after_an_update() -> None:
    def note(name: str) -> Any:
        return lambda state: {"log": [name]}

    builder: Any = StateGraph(State)
    for name in ("a", "b", "c", "last"):
        builder.add_node(name, note(name), defer=name == "last")
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("a", "last").add_edge("b", "c")
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["c"])
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"log": ["by hand"]}, as_node="c")
    assert graph.get_state(THREAD).next == ("last",)
    assert graph.invoke(None, THREAD)["log"] == ["a", "b", "by hand", "last"]


def test_a_super_step_without_an_update_is_refused_and_nothing_is_written() -> None:
    graph = line(quiet, checkpointer=InMemorySaver())
    update = StateUpdate({"log": ["x"]}, "n0")
    with pytest.raises(ConfigError, match="each super-step needs at least one StateUpdate"):
        graph.bulk_update_state(THREAD, [[update], []])
    assert graph.get_state(THREAD).created_at is None


def test_the_state_lists_all_questions_of_tasks_beside_each_other() -> None:
    @task
    def ask(number: int) -> object:
        return interrupt({"number": number})

    @entrypoint(checkpointer=InMemorySaver())
    def flow(count: int) -> list[object]:
        return [call.result() for call in [ask(number) for number in range(count)]]

    told = flow.invoke(3, THREAD)["__interrupt__"]
    shown = flow.get_state(THREAD).interrupts
    assert [question.value["number"] for question in shown] == [0, 1, 2]
    assert list(shown) == told
    flow.invoke(Command(resume={shown[0].id: "a"}), THREAD)
    left = flow.get_state(THREAD).interrupts
    assert [question.id for question in left] == [question.id for question in shown[1:]]
    assert flow.invoke(Command(resume={q.id: "b" for q in left}), THREAD) == ["a", "b", "b"]


def test_so_it_does_of_tasks_that_an_error_handler_called() -> None:
    """LangGraph loses these questions: the thread can never go on."""

    @task
    def ask(number: int) -> int:
        return interrupt(number)

    def fails(state: Number) -> None:
        raise ValueError

    def ask_instead(state: Number) -> Number:
        return {"n": sum(call.result() for call in [ask(1), ask(2)])}

    builder = StateGraph(Number).add_edge(START, "fails")
    builder.add_node("fails", fails, error_handler=ask_instead)
    graph = builder.compile(InMemorySaver())
    told = graph.invoke({"n": 0}, THREAD)["__interrupt__"]
    shown = graph.get_state(THREAD).interrupts
    assert [question.value for question in shown] == [1, 2]
    assert list(shown) == told
    assert graph.invoke(Command(resume={q.id: q.value * 10 for q in shown}), THREAD) == {"n": 30}
