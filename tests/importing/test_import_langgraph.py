"""`import_langgraph`: real databases of LangGraph's, read as data, go on as plait's threads."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from langgraph.channels.delta import DeltaChannel as PeerDeltaChannel
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver as PeerSaver
from tests.differential.normal import Normaliser
from tests.postgres.server import Server

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.serde import GLOBAL
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError, StorageError, UnusedAnswerWarning
from plait.importing import import_langgraph
from plait.importing.threads import PEER_ID
from plait.testing import FaultySaver, InjectedCrash, InjectedFailure

from . import apps
from .apps import LANGGRAPH, PLAIT

AT: Any = {"configurable": {"thread_id": "t"}}
SCRIPT = Path(sys.executable).with_name("plait")

Make = Callable[[Any, Any], Any]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "langgraph.db"


@contextmanager
def peer(source: Path, make: Make) -> Iterator[Any]:
    """A graph of LangGraph's over its own saver."""
    with PeerSaver.from_conn_string(str(source)) as saver:
        yield make(LANGGRAPH, saver)


def told(graph: Any, subgraphs: bool = False) -> list[Any]:
    """All that a program can see of a thread, comparable between libraries."""
    found = list(graph.get_state_history(AT))
    if subgraphs:
        found.append(graph.get_state(AT, subgraphs=True))
    walk = Normaliser()
    return [walk.plain(_without_ids(each)) for each in found]


def _without_ids(snapshot: Any) -> Any:
    kept = {key: value for key, value in snapshot.metadata.items() if key != PEER_ID}
    tasks = tuple(_task(each) for each in snapshot.tasks)
    return snapshot._replace(metadata=kept, tasks=tasks)


def _task(task: Any) -> Any:
    inside = task.state
    error = None if task.error is None else "an error"
    if hasattr(inside, "metadata"):
        return task._replace(state=_without_ids(inside), error=error)
    return task._replace(state=None, error=error)


INPUT: Any = {"items": ["in"]}
TOO_DEEP = '{"a": ' + "[" * 2000 + "]" * 2000 + "}"
MAKERS: list[Make] = [apps.asker, apps.fan, apps.own_and_inner, apps.pluses]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_an_imported_thread_shows_what_the_peer_shows(source: Path, make: Make) -> None:
    with peer(source, make) as graph:
        graph.invoke(INPUT, AT)
        right = told(graph, subgraphs=True)
    saver = InMemorySaver()
    (moved,) = import_langgraph(source, saver).threads
    assert (moved.outcome, moved.problem, moved.notes) == ("imported", "", [])
    assert told(make(PLAIT, saver), subgraphs=True) == right


def test_answers_reach_the_questions_that_were_asked_before_the_move(source: Path) -> None:
    """The first question of two was answered there, the second one is answered here."""
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
        graph.invoke(LANGGRAPH.Command(resume="one"), AT)
        right = told(graph)
    saver = InMemorySaver()
    import_langgraph(source, saver)
    moved = apps.asker(PLAIT, saver)
    assert told(moved) == right
    done = moved.invoke(PLAIT.Command(resume="two"), AT)
    with peer(source, apps.asker) as graph:
        assert done == graph.invoke(LANGGRAPH.Command(resume="two"), AT)


def test_questions_keep_their_ids_until_a_run_goes_on_and_are_answered_one_by_one(
    source: Path,
) -> None:
    with peer(source, apps.fan) as graph:
        asked = graph.invoke(INPUT, AT)["__interrupt__"]
    saver = InMemorySaver()
    import_langgraph(source, saver)
    moved = apps.fan(PLAIT, saver)
    assert {each.id for each in moved.get_state(AT).interrupts} == {each.id for each in asked}
    ids = {each.value: each.id for each in asked}
    moved.invoke(PLAIT.Command(resume={ids["y"]: "Y"}), AT)
    (left,) = moved.get_state(AT).interrupts
    assert left.value == "x"
    found = moved.invoke(PLAIT.Command(resume={left.id: "X"}), AT)
    assert found == {"items": ["in", "go", "x", "X", "y", "Y", "late"]}
    order = [each.metadata["step"] for each in moved.get_state_history(AT)]
    assert order == sorted(order, reverse=True)


def test_an_answer_to_an_inner_question_never_reaches_an_outer_one(source: Path) -> None:
    with peer(source, apps.own_and_inner) as graph:
        graph.invoke(INPUT, AT)
    saver = InMemorySaver()
    import_langgraph(source, saver)
    moved = apps.own_and_inner(PLAIT, saver)
    asked = moved.invoke(PLAIT.Command(resume="in"), AT)["__interrupt__"]
    assert [each.value for each in asked] == ["own?"]
    assert moved.invoke(PLAIT.Command(resume="out"), AT) == {"items": ["in", "in", "out"]}


@pytest.mark.parametrize("order", [(1, 2), (2, 1)], ids=str)
@pytest.mark.parametrize("answered", [0, 1])
def test_an_answer_reaches_the_tool_call_that_asked_whichever_asks_first_now(
    source: Path, answered: int, order: tuple[int, int]
) -> None:
    """LangGraph keeps the question of one call, and not of which. What it was told before the move
    may have been for another one: that is asked again."""
    with peer(source, apps.buys) as graph:
        graph.invoke({"messages": []}, AT)
        for _ in range(answered):
            graph.invoke(LANGGRAPH.Command(resume="no"), AT)
        (question,) = graph.get_state(AT).interrupts
    saver = InMemorySaver()
    import_langgraph(source, saver)
    number = question.value["number"]
    run: Any = {"input": PLAIT.Command(resume={question.id: f"yes, {number}"}), "config": AT}
    (left,) = apps.buys(PLAIT, saver, order).invoke(**run)["__interrupt__"]
    other = left.value["number"]
    run["input"] = PLAIT.Command(resume=f"yes, {other}")
    *_, first, second = apps.buys(PLAIT, saver, order).invoke(**run)["messages"]
    assert (first.content, second.content) == ("1 yes, 1", "2 yes, 2")


def test_answers_reach_the_calls_that_asked_and_never_who_made_the_calls(source: Path) -> None:
    with peer(source, apps.asks_in_calls) as graph:
        graph.invoke(2, AT)
    saver = InMemorySaver()
    import_langgraph(source, saver)
    moved, heard, done = apps.asks_in_calls(PLAIT, saver), list[Any](), None
    while waiting := moved.get_state(AT).interrupts:
        last = waiting[-1]
        heard.append(last.value)
        done = moved.invoke(PLAIT.Command(resume={last.id: f"{len(heard)}"}), AT)
    answers = [str(1 + heard.index({"number": number})) for number in (0, 1)]
    assert heard[2:] == ["on?", "on?", "sure?"]
    assert done == [f"0 {answers[0]}", f"1 {answers[1]}", "3", "4", "5"]


def test_an_answer_reaches_no_call_that_is_made_again_and_asks_the_same(source: Path) -> None:
    with peer(source, apps.asks_in_calls) as graph:
        graph.invoke(0, AT)
        graph.invoke(LANGGRAPH.Command(resume="no"), AT)
    saver = InMemorySaver()
    import_langgraph(source, saver)
    moved = apps.asks_in_calls(PLAIT, saver)
    with pytest.warns(UnusedAnswerWarning):
        moved.invoke(PLAIT.Command(resume="yes"), AT)
    for answer in ("no", "yes"):
        moved.invoke(PLAIT.Command(resume=answer), AT)
    assert moved.invoke(PLAIT.Command(resume="sure"), AT) == ["no", "yes", "sure"]


def test_a_question_that_was_answered_there_waits_no_more(source: Path) -> None:
    with peer(source, apps.sends) as graph:
        ids = {each.value: each.id for each in graph.invoke(INPUT, AT)["__interrupt__"]}
        graph.invoke(LANGGRAPH.Command(resume={ids["x"]: "X"}), AT)
    saver = InMemorySaver()
    import_langgraph(source, saver)
    moved = apps.sends(PLAIT, saver)
    assert [each.value for each in moved.get_state(AT).interrupts] == ["y"]
    assert moved.invoke(PLAIT.Command(resume="Y"), AT) == {"items": ["in", "X", "Y"]}


def test_what_had_ended_beside_a_failed_node_is_not_run_again(source: Path) -> None:
    with peer(source, apps.fails) as graph:
        with pytest.raises(ValueError, match="boom"):
            graph.invoke(INPUT, AT)
        right = told(graph)
    saver = InMemorySaver()
    import_langgraph(source, saver)
    moved = apps.fails(PLAIT, saver)
    assert told(moved) == right
    errors = {each.name: str(each.error) for each in moved.get_state(AT).tasks if each.error}
    assert errors["bad"] == "ValueError: 'boom'", "LangGraph may have stopped others beside it"
    assert moved.invoke(None, AT) == {"items": ["in", "mended", "good", "late"]}


def test_an_entrypoint_keeps_its_memory_and_says_which_calls_are_made_again(source: Path) -> None:
    with peer(source, apps.workflow) as graph:
        graph.invoke(3, AT)
        assert graph.invoke(LANGGRAPH.Command(resume=1), AT) == 10
        graph.invoke(5, AT)
    saver = InMemorySaver()
    (thread,) = import_langgraph(source, saver).threads
    assert thread.notes[0].startswith("1 results of @task calls are left behind")
    moved = apps.workflow(PLAIT, saver)
    assert [each.value for each in moved.get_state(AT).interrupts] == ["more?"]
    assert moved.invoke(PLAIT.Command(resume=2), AT) == 25 + 10 + 2


def test_a_long_conversation_becomes_smaller_and_stays_equal(source: Path) -> None:
    with peer(source, apps.chat) as graph:
        for turn in range(100):
            graph.invoke({"messages": [LANGGRAPH.HumanMessage(f"turn {turn}", id=f"h{turn}")]}, AT)
        right = Normaliser().plain(graph.get_state(AT).values)
    saver = InMemorySaver()
    calls: list[Any] = []
    report = import_langgraph(source, saver, progress=calls.append)
    moved = apps.chat(PLAIT, saver)
    values = moved.get_state(AT).values
    assert len(values["messages"]) == 300
    assert Normaliser().plain(values) == right
    assert report.threads[0].checkpoints == 300
    assert report.before.bytes > 30 * report.after.bytes
    assert len(calls) > 4
    moved.invoke({"messages": [PLAIT.HumanMessage("more", id="more")]}, AT)
    assert moved.get_state(AT).values["messages"][-1].content == "found"


def test_a_class_that_nobody_registered_refuses_its_thread_and_no_other(source: Path) -> None:
    with peer(source, apps.typed) as graph:
        graph.invoke(INPUT, AT)
    with peer(source, apps.chat) as graph:
        graph.invoke({"messages": ["hi"]}, {"configurable": {"thread_id": "u"}})
    saver = InMemorySaver()
    refused, other = import_langgraph(source, saver).threads
    assert (refused.outcome, other.outcome) == ("refused", "imported")
    assert "Thread 't', key " in refused.problem
    assert "plait.checkpoint.serde.register(" in refused.problem
    assert saver.get_tuple(AT) is None
    assert list(saver.list(AT)) == []


@pytest.mark.parametrize("by", ["graph", "registry"])
def test_classes_that_the_graph_names_or_that_are_registered_come_back(
    source: Path, by: str
) -> None:
    with peer(source, apps.typed) as graph:
        graph.invoke(INPUT, AT)
        right = graph.get_state(AT).values
    saver = InMemorySaver()
    moved = apps.typed(PLAIT, saver)
    if by == "graph":
        (thread,) = import_langgraph(source, saver, graph=moved).threads
    else:
        with registered(apps.Order, apps.Customer):
            (thread,) = import_langgraph(source, saver).threads
    assert thread.outcome == "imported", thread.problem
    assert moved.get_state(AT).values == right


@contextmanager
def registered(*classes: type) -> Iterator[None]:
    """Classes that are known for a while."""
    for cls in classes:
        GLOBAL.register(cls)
    try:
        yield
    finally:
        for cls in classes:
            entry = GLOBAL._types.pop(cls)
            del GLOBAL._names[entry.name]


class Parcel:
    """A class that LangGraph can only pickle, and with it the whole checkpoint in a file."""

    def __init__(self, weight: Any) -> None:
        self.weight = weight


class Letter(Parcel):
    """Another one."""


def test_checkpoints_that_were_pickled_as_a_whole_lose_no_more_than_what_is_not_known(
    source: Path,
) -> None:
    conn = sqlite3.connect(source, check_same_thread=False)
    saver = PeerSaver(conn, serde=JsonPlusSerializer(pickle_fallback=True))
    graph = apps.fan(LANGGRAPH, saver)
    for thread, item in [
        ("parcel", Parcel(np.float32(1.5))),
        ("letter", Letter(1)),
        ("plain", "text"),
        ("message", (Parcel(2), LANGGRAPH.HumanMessage("hi", id="1"))),
    ]:
        graph.invoke({"items": [item]}, {"configurable": {"thread_id": thread}})
    kinds = {kind for (kind,) in conn.execute("SELECT DISTINCT type FROM checkpoints")}
    assert "pickle" in kinds
    conn.close()
    with registered(Parcel), SqliteSaver(source.with_name("plait.db")) as saver:
        threads = {each.thread_id: each for each in import_langgraph(source, saver).threads}
        refused = threads.pop("letter")
        assert refused.outcome == "refused"
        assert "key '__start__'" in str(refused.problem)
        assert "register(Letter)" in str(refused.problem)
        assert {each.problem for each in threads.values()} == {""}
        moved = apps.fan(PLAIT, saver)

        def items(thread: str) -> Any:
            return moved.get_state({"configurable": {"thread_id": thread}}).values["items"]

        assert items("plain") == ["text", "go"]
        assert (type(items("parcel")[0]), items("parcel")[0].weight) == (Parcel, np.float32(1.5))
        ((parcel, message), _) = items("message")
        assert (parcel.weight, message) == (2, PLAIT.HumanMessage("hi", id="1"))


def written_before_format_4(source: Path) -> None:
    """As LangGraph stored it then: what was sent lies nowhere but among the tasks' writes."""
    serde = JsonPlusSerializer()
    with sqlite3.connect(source) as conn:
        rows = conn.execute("SELECT rowid, type, checkpoint FROM checkpoints").fetchall()
        for row, kind, data in rows:
            checkpoint = serde.loads_typed((kind, data))
            checkpoint["v"] = 3
            versions, seen = checkpoint["channel_versions"], checkpoint["versions_seen"]
            for held in (checkpoint["channel_values"], versions, *seen.values()):
                held.pop("__pregel_tasks", None)
            conn.execute(
                "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE rowid = ?",
                (*serde.dumps_typed(checkpoint), row),
            )
    conn.close()


def test_what_was_sent_before_format_4_is_found_among_the_writes(source: Path) -> None:
    with peer(source, apps.fan) as graph:
        graph.invoke(INPUT, AT)
        right = told(graph, subgraphs=True)
    written_before_format_4(source)
    saver = InMemorySaver()
    (moved,) = import_langgraph(source, saver).threads
    assert (moved.outcome, moved.problem) == ("imported", "")
    assert "older format" in moved.notes[0]
    graph = apps.fan(PLAIT, saver)
    assert told(graph, subgraphs=True) == right
    answers = {each.id: each.value + "!" for each in graph.get_state(AT).interrupts}
    done = graph.invoke(PLAIT.Command(resume=answers), AT)
    assert done == {"items": ["in", "go", "x", "x!", "y", "y!", "late"]}


def test_a_graph_made_by_hand_keeps_its_values_and_says_that_nothing_waits(source: Path) -> None:
    with peer(source, apps.by_hand) as graph:
        graph.invoke(1, AT, interrupt_before=["second"])
    saver = InMemorySaver()
    (moved,) = import_langgraph(source, saver).threads
    assert moved.outcome == "imported"
    assert "made by hand: what was to run next is not known" in moved.notes[0]
    assert apps.by_hand(PLAIT, saver).get_state(AT).next == ()


def updates_of(every: int) -> Any:
    """LangGraph's channel that stores a list's updates, and the list now and then."""

    def add(items: list[Any], updates: Any) -> list[Any]:
        return [*items, *(item for update in updates for item in update)]

    return PeerDeltaChannel(add, snapshot_frequency=every)


def test_a_thread_of_a_delta_channel_is_imported_once_its_value_was_written(source: Path) -> None:
    with peer(source, partial(apps.deltas, channel=updates_of(100))) as graph:
        graph.invoke(INPUT, AT)
    (refused,) = import_langgraph(source, InMemorySaver()).threads
    assert refused.outcome == "refused"
    assert "an ordinary reducer in the old program, and write its value once" in refused.problem
    with peer(source, apps.deltas) as graph:
        graph.update_state(AT, {"items": ["more"]})
    saver = InMemorySaver()
    (moved,) = import_langgraph(source, saver).threads
    assert (moved.outcome, moved.problem) == ("imported", "")
    assert moved.notes == [
        "4 older checkpoints are without a value of key 'items': it was a DeltaChannel, of which "
        "LangGraph stores the updates"
    ]
    graph = apps.deltas(PLAIT, saver)
    assert graph.get_state(AT).values == {"items": ["in", "a", "b", "c", "more"]}


@pytest.mark.parametrize("asks", ["after", "in"])
def test_a_delta_channel_of_a_graph_inside_matters_only_while_that_goes_on(
    source: Path, asks: str
) -> None:
    with peer(source, partial(apps.deltas_inside, channel=updates_of(100), asks=asks)) as graph:
        graph.invoke(INPUT, AT)
    saver = InMemorySaver()
    (moved,) = import_langgraph(source, saver).threads
    if asks == "in":
        assert (moved.outcome, "namespace 'inner:" in moved.problem) == ("refused", True)
        return
    assert (moved.outcome, moved.problem) == ("imported", "")
    graph = apps.deltas_inside(PLAIT, saver)
    assert graph.invoke(PLAIT.Command(resume="yes"), AT)["items"][-3:] == ["a", "b", "yes"]


def test_a_delta_channel_that_was_stored_whole_is_imported_as_it_is(source: Path) -> None:
    with peer(source, partial(apps.deltas, channel=updates_of(2))) as graph:
        graph.invoke(INPUT, AT)
        right = graph.get_state(AT).values
    saver = InMemorySaver()
    (moved,) = import_langgraph(source, saver).threads
    assert (moved.outcome, moved.problem) == ("imported", "")
    assert apps.deltas(PLAIT, saver).get_state(AT).values == right
    assert right == {"items": ["in", "a", "b", "c"]}


def test_a_module_that_was_renamed_is_found_under_its_new_name(source: Path) -> None:
    with PeerSaver.from_conn_string(str(source)) as saver:
        apps.typed(LANGGRAPH, saver).invoke(INPUT, AT)
        for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
            for id, data in saver.conn.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                old = apps.__name__.encode()
                renamed = (data or b"").replace(old, b"X" * len(old))
                saver.conn.execute(
                    f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (renamed, id)
                )
        saver.conn.commit()
    saver = InMemorySaver()
    graph = apps.typed(PLAIT, saver)
    (refused,) = import_langgraph(source, saver, graph=graph).threads
    assert refused.outcome == "refused"
    today = {"X" * len(apps.__name__): apps.__name__}
    (moved,) = import_langgraph(source, saver, graph=graph, modules=today).threads
    assert moved.outcome == "imported"
    assert graph.get_state(AT).values["order"] == apps.Order(7, ["tea"])


def test_repeating_adds_what_is_new_and_leaves_alone_what_has_gone_on(source: Path) -> None:
    saver = InMemorySaver()
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
        assert import_langgraph(source, saver).threads[0].outcome == "imported"
        assert import_langgraph(source, saver).threads[0].outcome == "present"
        for answer in ("one", "two"):
            graph.invoke(LANGGRAPH.Command(resume=answer), AT)
        right = told(graph)
    (again,) = import_langgraph(source, saver).threads
    assert (again.outcome, again.checkpoints) == ("imported", 3)
    moved = apps.asker(PLAIT, saver)
    assert told(moved) == right
    moved.update_state(AT, {"items": ["here"]})
    (left,) = import_langgraph(source, saver).threads
    assert left.outcome == "moved on"
    assert moved.get_state(AT).values["items"][-1] == "here"


def answered(graph: Any, question: str, answer: str, lib: Any = LANGGRAPH) -> None:
    """Answer one of the questions that a thread waits with."""
    asked = {each.value: each.id for each in graph.get_state(AT).interrupts}
    graph.invoke(lib.Command(resume={asked[question]: answer}), AT)


@pytest.mark.parametrize("memory", [True, False], ids=["memory", "sqlite"])
def test_repeating_adds_answers_that_led_to_no_new_checkpoint(source: Path, memory: bool) -> None:
    saver = InMemorySaver() if memory else SqliteSaver(source.with_name("plait.db"))
    moved = apps.asks_twice(PLAIT, saver)
    with peer(source, apps.asks_twice) as graph:
        graph.invoke(INPUT, AT)
        import_langgraph(source, saver)
        for question in ("name?", "sure?"):
            answered(graph, question, "there")
            (again,) = import_langgraph(source, saver).threads
            assert (again.outcome, again.checkpoints) == ("imported", 0)
            assert told(moved) == told(graph)
            assert import_langgraph(source, saver).threads[0].outcome == "present"
    answered(moved, "age?", "here", PLAIT)
    assert moved.get_state(AT).values == {"items": ["in", "there", "there", "here"]}


def test_repeating_adds_answers_to_the_questions_of_graphs_inside(source: Path) -> None:
    saver = InMemorySaver()
    moved = apps.asker(PLAIT, saver)
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
        import_langgraph(source, saver)
        graph.invoke(LANGGRAPH.Command(resume="one"), AT)
        (again,) = import_langgraph(source, saver).threads
        assert (again.outcome, again.checkpoints) == ("imported", 0)
        assert told(moved, subgraphs=True) == told(graph, subgraphs=True)
        done = moved.invoke(PLAIT.Command(resume="two"), AT)
        assert done == graph.invoke(LANGGRAPH.Command(resume="two"), AT)


@pytest.mark.parametrize("make", [apps.asks_twice, apps.asker])
def test_a_thread_that_was_answered_here_is_left_alone_whatever_happened_there(
    source: Path, make: Make
) -> None:
    saver = InMemorySaver()
    with peer(source, make) as graph:
        graph.invoke(INPUT, AT)
        import_langgraph(source, saver)
        moved = make(PLAIT, saver)
        first = moved.get_state(AT).interrupts[0]
        moved.invoke(PLAIT.Command(resume={first.id: "here"}), AT)
        right = told(moved, subgraphs=True)
        assert import_langgraph(source, saver).threads[0].outcome == "moved on"
        graph.invoke(LANGGRAPH.Command(resume={first.id: "there"}), AT)
        (left,) = import_langgraph(source, saver).threads
        assert (left.outcome, left.problem) == (
            "moved on",
            "it has gone on here since it was imported",
        )
    assert told(moved, subgraphs=True) == right


def test_repeating_adds_how_a_task_has_failed_since(source: Path) -> None:
    saver = InMemorySaver()
    with peer(source, apps.fails_otherwise) as graph:
        for failure in (1, 2):
            with pytest.raises(ValueError, match=f"failure {failure}"):
                graph.invoke(INPUT if failure == 1 else None, AT)
            assert import_langgraph(source, saver).threads[0].outcome == "imported"
            errors = [task.error for task in apps.fails(PLAIT, saver).get_state(AT).tasks]
            assert f"failure {failure}" in repr(errors)


def test_a_thread_that_was_pruned_here_is_not_imported_again(source: Path) -> None:
    saver = InMemorySaver()
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
        for answer in ("one", "two"):
            graph.invoke(LANGGRAPH.Command(resume=answer), AT)
    import_langgraph(source, saver)
    saver.prune(["t"], strategy="keep_latest")
    assert import_langgraph(source, saver).threads[0].outcome == "present"
    assert len(list(saver.list(AT))) == 1


def test_an_import_that_was_cut_off_anywhere_is_taken_up_again(source: Path) -> None:
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
        right = told(graph, subgraphs=True)
    for point in range(1, 100):
        inner = InMemorySaver()
        faulty = FaultySaver(inner, at=point, fault="crash")
        with suppress(InjectedCrash):
            import_langgraph(source, faulty)
        import_langgraph(source, FaultySaver(inner), threads=["t"])
        assert told(apps.asker(PLAIT, inner), subgraphs=True) == right, f"cut off at {point}"
        if not faulty.failed:
            break
    assert point > 8


def test_an_import_of_what_is_new_that_was_cut_off_anywhere_is_taken_up_again(
    source: Path,
) -> None:
    first = source.with_name("first.db")
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
    first.write_bytes(source.read_bytes())
    with peer(source, apps.asker) as graph:
        graph.invoke(LANGGRAPH.Command(resume="one"), AT)
        right = told(graph, subgraphs=True)
    for point in range(1, 100):
        inner = InMemorySaver()
        import_langgraph(first, inner)
        faulty = FaultySaver(inner, at=point, fault="crash")
        with suppress(InjectedCrash):
            import_langgraph(source, faulty)
        import_langgraph(source, FaultySaver(inner))
        assert told(apps.asker(PLAIT, inner), subgraphs=True) == right, f"cut off at {point}"
        if not faulty.failed:
            break
    assert point > 8


def test_a_dry_run_tells_what_a_run_would_and_writes_nothing(source: Path) -> None:
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
    bytes_before = source.read_bytes()
    dry = import_langgraph(source, dry_run=True)
    saver = InMemorySaver()
    assert dry.threads == import_langgraph(source, saver).threads
    assert source.read_bytes() == bytes_before
    with pytest.raises(ConfigError, match="dry_run=True"):
        import_langgraph(source)


def test_a_database_that_is_none_of_langgraphs_is_refused(tmp_path: Path) -> None:
    with SqliteSaver(tmp_path / "plait.db") as saver:
        apps.asker(PLAIT, saver).invoke(INPUT, AT)
        for path in (tmp_path / "plait.db", tmp_path / "nowhere.db"):
            with pytest.raises(ConfigError):
                import_langgraph(path, saver)
        (tmp_path / "text").write_text("no database " * 100)
        with pytest.raises(StorageError):
            import_langgraph(tmp_path / "text", saver)


def test_metadata_that_are_nested_too_deeply_refuse_their_thread_and_no_other(source: Path) -> None:
    with peer(source, apps.deltas) as graph:
        graph.invoke(INPUT, AT)
        graph.invoke(INPUT, {"configurable": {"thread_id": "u"}})
    with sqlite3.connect(source) as conn:
        conn.execute("UPDATE checkpoints SET metadata = ? WHERE thread_id = 't'", (TOO_DEEP,))
    conn.close()
    refused, other = import_langgraph(source, InMemorySaver()).threads
    assert (refused.outcome, other.outcome) == ("refused", "imported")
    assert "Thread 't': checkpoint" in refused.problem


def test_a_storage_that_fails_leaves_no_half_a_thread(source: Path) -> None:
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
    inner = InMemorySaver()
    with pytest.raises(InjectedFailure):
        import_langgraph(source, FaultySaver(inner, at=8))
    assert import_langgraph(source, inner).threads[0].outcome == "imported"


def test_from_postgres_to_postgres(postgres_server: Server) -> None:
    from langgraph.checkpoint.postgres import PostgresSaver as PeerPostgres

    with postgres_server.database() as old, postgres_server.database() as new:
        with PeerPostgres.from_conn_string(old) as peer_saver:
            peer_saver.setup()
            graph = apps.asker(LANGGRAPH, peer_saver)
            graph.invoke(INPUT, AT)
            graph.invoke(LANGGRAPH.Command(resume="one"), AT)
            right = told(graph, subgraphs=True)
            chats = apps.chat(LANGGRAPH, peer_saver)
            at: Any = {"configurable": {"thread_id": "u"}}
            for turn in range(40):
                chats.invoke({"messages": [LANGGRAPH.HumanMessage("hi", id=f"h{turn}")]}, at)
            said = Normaliser().plain(chats.get_state(at).values)
        with PostgresSaver(new) as saver:
            report = import_langgraph(old, saver)
            assert [each.outcome for each in report.threads] == ["imported", "imported"]
            assert report.before.bytes > 3 * report.after.bytes
            moved = apps.asker(PLAIT, saver)
            assert told(moved, subgraphs=True) == right
            assert Normaliser().plain(apps.chat(PLAIT, saver).get_state(at).values) == said
            done = moved.invoke(PLAIT.Command(resume="two"), AT)
            assert done["items"][-5:] == ["one", "two", 1, 2, "end"]
            assert [each.outcome for each in import_langgraph(old, saver).threads] == [
                "moved on",
                "present",
            ]
        with pytest.raises(ConfigError, match="checkpoint_blobs"):
            import_langgraph(new, InMemorySaver())


def test_an_older_database_of_postgres_does_without_paths_and_a_shallow_one_is_named(
    postgres_server: Server,
) -> None:
    from langgraph.checkpoint.postgres import PostgresSaver as PeerPostgres
    from langgraph.checkpoint.postgres.shallow import ShallowPostgresSaver

    with postgres_server.database() as old:
        with PeerPostgres.from_conn_string(old) as peer_saver:
            peer_saver.setup()
            apps.deltas(LANGGRAPH, peer_saver).invoke(INPUT, AT)
        with psycopg.connect(old, autocommit=True) as conn:
            conn.execute("ALTER TABLE checkpoint_writes DROP COLUMN task_path")
        saver = InMemorySaver()
        assert [each.problem for each in import_langgraph(old, saver).threads] == [""]
        assert apps.deltas(PLAIT, saver).get_state(AT).values["items"] == ["in", "a", "b", "c"]
        with psycopg.connect(old, autocommit=True) as conn:
            conn.execute("UPDATE checkpoints SET metadata = %s", (TOO_DEEP,))
        (refused,) = import_langgraph(old, InMemorySaver()).threads
        assert (refused.outcome, "cannot be read" in refused.problem) == ("refused", True)
    with postgres_server.database() as old:
        with psycopg.connect(old, autocommit=True) as conn:
            for statement in ShallowPostgresSaver.MIGRATIONS[:4]:
                conn.execute(statement)
        with pytest.raises(ConfigError, match="ShallowPostgresSaver, which cannot be imported"):
            import_langgraph(old, InMemorySaver())


def plait(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_makes_the_tables_in_a_new_database(
    source: Path, postgres_server: Server
) -> None:
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
    with postgres_server.database() as new:
        with psycopg.connect(new, autocommit=True) as conn:
            conn.execute("CREATE TABLE invoices (id int)")  # those of others disturb nobody
        dry = plait("import-langgraph", source, "--db", new, "--dry-run")
        assert dry.returncode == 0, dry.stderr
        assert "no tables of plait" in plait("threads", "list", "--db", new).stderr
        done = plait("import-langgraph", source, "--db", new)
        assert done.returncode == 0, done.stderr
        assert "1 answer" in plait("threads", "list", "--db", new).stdout


def test_the_command_encrypts_what_it_imports_where_a_key_is_set(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
    monkeypatch.setenv("PLAIT_AES_KEY", "1=" + "07" * 32)
    target = tmp_path / "plait.db"
    assert plait("import-langgraph", source, "--db", target).returncode == 0
    assert "1 answer" in plait("threads", "list", "--db", target).stdout
    monkeypatch.delenv("PLAIT_AES_KEY")
    assert "unreadable" in plait("threads", "list", "--db", target).stdout


def test_the_command_imports_tells_and_says_by_its_exit_code_how_it_went(
    source: Path, tmp_path: Path
) -> None:
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
    with peer(source, apps.typed) as graph:
        graph.invoke(INPUT, {"configurable": {"thread_id": "u"}})

    target = tmp_path / "plait.db"
    dry = plait("import-langgraph", source, "--dry-run", "--json")
    assert (dry.returncode, target.exists()) == (1, False), dry.stderr
    assert [each["outcome"] for each in json.loads(dry.stdout)["threads"]] == [
        "imported",
        "refused",
    ]
    done = plait("import-langgraph", source, "--db", target, "--thread", "t")
    assert done.returncode == 0, done.stderr
    assert "1 of 1 threads imported" in done.stdout
    assert "rows and" in done.stdout
    listed = plait("threads", "list", "--db", target).stdout
    assert "1 answer" in listed
    assert plait("import-langgraph", source, "--db", source).returncode == 2
    assert plait("import-langgraph", source).returncode == 2


@pytest.mark.parametrize("target", ["", ":memory:"])
def test_the_command_imports_into_no_database_that_is_gone_at_its_end(
    source: Path, target: str
) -> None:
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
    ran = plait("import-langgraph", source, "--db", target)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "forgets" in ran.stderr


def test_the_command_counts_a_thread_that_is_named_twice_once(source: Path, tmp_path: Path) -> None:
    with peer(source, apps.asker) as graph:
        graph.invoke(INPUT, AT)
    twice = ("--thread", "t", "--thread", "t")
    done = plait("import-langgraph", source, "--db", tmp_path / "plait.db", *twice)
    assert "1 of 1 threads imported" in done.stdout
