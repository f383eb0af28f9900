"""Retention over real graphs: what is kept still works, what is gone takes no bytes."""

from __future__ import annotations

import asyncio
import gc
import operator
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.base import empty_checkpoint
from plait.checkpoint.base.plans import run_plan
from plait.checkpoint.log import pruning, retention
from plait.checkpoint.log.records import DICT_PATCH, LIST_PATCH, MANIFEST
from plait.checkpoint.log.requests import ListLanes, ListValues, ReadLane, ReadValues
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.checkpoint.serde.envelope import COMPRESSED
from plait.checkpoint.sqlite import SqliteSaver
from plait.drivers.env import run_env
from plait.drivers.sim import SimEnv
from plait.errors import ConfigError, CorruptCheckpointError, ThreadBusyError
from plait.graph import START, StateGraph
from plait.testing import FaultySaver, InjectedCrash
from plait.types import Command, interrupt


class State(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]


class Tender:
    """The methods of a saver by their sync or async names."""

    def __init__(self, saver: Any, flavor: str) -> None:
        self.saver = saver
        self.flavor = flavor

    def __getattr__(self, name: str) -> Any:
        if self.flavor == "sync":
            return getattr(self.saver, name)
        method = getattr(self.saver, f"a{name}")
        return lambda *args, **options: asyncio.run(method(*args, **options))


@pytest.fixture(params=["memory-sync", "memory-async", "sqlite-sync", "sqlite-async"])
def tender(request: Any, tmp_path: Path) -> Iterator[Tender]:
    kind, _, flavor = request.param.partition("-")
    if kind == "memory":
        yield Tender(InMemorySaver(), flavor)
        return
    with SqliteSaver(tmp_path / "log.db") as saver:
        yield Tender(saver, flavor)


def thread(name: str = "t", **more: Any) -> Any:
    return {"configurable": {"thread_id": name, **more}}


def chat(saver: Any) -> Any:
    """Each call appends what it is told, and an answer."""
    builder = StateGraph(State)
    builder.add_node("answer", lambda state: {"items": [f"re: {state['items'][-1]}"]})
    return builder.add_edge(START, "answer").compile(checkpointer=saver)


def nesting(saver: Any) -> Any:
    """A graph inside a node, which asks; what it asks is answered by the next call."""
    inner = StateGraph(State)
    inner.add_node("ask", lambda state: {"items": [interrupt("more?")]})
    outer = StateGraph(State)
    outer.add_node("inner", inner.add_edge(START, "ask").compile())
    return outer.add_edge(START, "inner").compile(checkpointer=saver)


def lanes(saver: Any, name: str = "t") -> list[str]:
    def plan() -> Any:
        return (yield ListLanes(name))

    return sorted(lane.ns for lane in saver.run(plan()))


def test_a_pruned_thread_goes_on_and_its_kept_history_is_whole(tender: Tender) -> None:
    graph = chat(tender.saver)
    for n in range(30):
        graph.invoke({"items": [n]}, thread())
    history = list(graph.get_state_history(thread()))
    before = tender.usage("t").total
    tender.prune(["t"], keep_last=5)
    kept = list(graph.get_state_history(thread()))
    assert [each.values for each in kept] == [each.values for each in history[:5]]
    assert [each.next for each in kept] == [each.next for each in history[:5]]
    assert tender.usage("t").total < before
    assert graph.invoke({"items": ["x"]}, thread())["items"][-2:] == ["x", "re: x"]
    old = graph.invoke(None, kept[-1].config)
    assert old["items"] == kept[-1].values["items"] or kept[-1].next


def kinds_of(saver: Any, name: str = "t") -> Counter[int]:
    """How many records of each kind hold the values of a thread."""
    found: Counter[int] = Counter()
    for lane in saver.execute(ListLanes(name)):
        versions = saver.execute(ListValues(lane.lane))
        records = saver.execute(ReadValues(lane.lane, versions))
        found.update(record[4] & ~COMPRESSED for record in records)
    return found


class Shelf(TypedDict, total=False):
    books: list[str]
    loans: dict[str, str]


@pytest.mark.parametrize("keep", [1, 3, 45])
def test_what_changes_in_places_keeps_the_pieces_that_it_is_made_of(
    tender: Tender, keep: int
) -> None:
    def lend(state: Shelf) -> Shelf:
        *books, number = state["books"]
        return {
            "books": [*books, str(int(number) + 1)],
            "loans": {**state["loans"], f"reader {int(number) % 7}": number},
        }

    builder: Any = StateGraph(Shelf).add_node(lend).add_edge(START, "lend")
    graph = builder.compile(checkpointer=tender.saver)
    books = [f"{n} {'x' * 60}" for n in range(60)]
    graph.invoke({"books": [*books, "0"], "loans": {text: text for text in books}}, thread())
    for _ in range(45):
        graph.invoke({}, thread())
    made = kinds_of(tender.saver)
    assert all(made[kind] for kind in (MANIFEST, LIST_PATCH, DICT_PATCH))
    history = [each.values for each in graph.get_state_history(thread())]
    tender.prune(["t"], keep_last=keep)
    if keep < 10:
        assert 2 * kinds_of(tender.saver).total() < made.total(), "the others are gone"
    again = builder.compile(checkpointer=tender.saver)
    assert [each.values for each in again.get_state_history(thread())] == history[:keep]
    assert again.invoke({}, thread())["books"] == [*books, "47"]


def test_forks_share_segments_and_outlive_each_other(tender: Tender) -> None:
    graph = chat(tender.saver)
    for n in range(10):
        graph.invoke({"items": [n]}, thread())
    middle = list(graph.get_state_history(thread()))[9]
    fork = graph.update_state(middle.config, {"items": ["forked"]}, as_node="answer")
    forked = graph.get_state(fork).values
    last = graph.invoke({"items": ["after"]}, fork)
    assert last["items"][: len(forked["items"])] == forked["items"]
    tender.prune(["t"], keep_last=1)
    assert graph.get_state(thread()).values == last
    assert graph.invoke({"items": ["on"]}, thread())["items"][-2:] == ["on", "re: on"]


def test_graphs_inside_tasks_go_with_the_steps_that_ran_them(tender: Tender) -> None:
    graph = nesting(tender.saver)
    for n in range(4):
        graph.invoke({"items": []}, thread())
        graph.invoke(Command(resume=n), thread())
    graph.invoke({"items": []}, thread())
    assert len(lanes(tender.saver)) == 1 + 5
    tender.prune(["t"])
    assert len(lanes(tender.saver)) == 1 + 1, "only the graph that still asks is needed"
    asked = graph.get_state(thread(), subgraphs=True)
    assert [task.state.next for task in asked.tasks] == [("ask",)]
    assert graph.invoke(Command(resume="last"), thread())["items"][-1] == "last"


class Query(TypedDict):
    query: str


class Notes(TypedDict):
    notes: str


class Summary(TypedDict, total=False):
    summary: str


class Figures(TypedDict):
    figures: int


class Report(Query, Notes, Summary, Figures, total=False):
    pass


def ahead(saver: Any, ran: list[str], healthy: Event) -> Any:
    """A graph inside a node runs ahead of its super-step, and stops half way; so does the step."""
    half = Event()

    def first(state: Notes) -> Summary:
        ran.append("first")
        return {"summary": "half"}

    def second(state: Notes) -> Summary:
        half.set()
        if not healthy.is_set():
            raise RuntimeError("the graph that runs ahead")
        return {"summary": "whole"}

    def read(state: Query) -> Notes:
        return {"notes": "notes"}

    def inside(state: Notes) -> Summary:
        return {"summary": inner.invoke(state)["summary"]}

    def measure(state: Query) -> Figures:
        assert half.wait(60)
        if not healthy.is_set():
            raise RuntimeError("the super-step")
        return {"figures": 1}

    builder: Any = StateGraph(Report)
    inner = builder.add_sequence([first, second]).add_edge(START, "first").compile()
    builder = StateGraph(Report)
    for node in (read, inside, measure):
        builder.add_node(node)
    builder.add_edge(START, "read").add_edge(START, "measure").add_edge("read", "inside")
    return builder.compile(checkpointer=saver, schedule="eager")


def test_a_graph_that_ran_ahead_keeps_what_it_did(tender: Tender) -> None:
    ran, healthy = list[str](), Event()
    graph = ahead(tender.saver, ran, healthy)
    with pytest.raises(RuntimeError, match="the super-step"):
        graph.invoke({"query": "?"}, thread())
    assert (graph.get_state(thread()).next, ran) == (("measure",), ["first"])
    tender.prune(["t"])
    healthy.set()
    assert graph.invoke(None, thread())["summary"] == "whole"
    assert ran == ["first"]


def test_a_replay_that_is_kept_finds_what_it_stands_on(tender: Tender) -> None:
    graph = nesting(tender.saver)
    graph.invoke({"items": []}, thread())
    asked = graph.get_state(thread(), subgraphs=True)
    graph.invoke(Command(resume="one"), thread())
    graph.invoke(None, asked.tasks[0].state.config)  # again, from inside
    tender.prune(["t"])
    assert "__interrupt__" in graph.invoke(None, thread())
    assert graph.invoke(Command(resume="two"), thread())["items"] == ["two"]


def steps_inside(saver: Any, ran: list[str]) -> Any:
    """A graph inside a node: two steps, then a question."""

    def step(name: str) -> Any:
        def work(state: State) -> State:
            ran.append(name)
            return {"items": [name]}

        return work

    builder: Any = StateGraph(State)
    inner = builder.add_sequence([("a", step("a")), ("b", step("b"))])
    inner = inner.add_node("ask", lambda state: {"items": [interrupt("more?")]})
    inner = inner.add_edge(START, "a").add_edge("b", "ask").compile()
    builder = StateGraph(State).add_node("inner", inner).add_edge(START, "inner")
    return builder.compile(checkpointer=saver)


def test_a_replay_inside_that_died_goes_on_from_where_it_was_asked_to(tender: Tender) -> None:
    ran, begun = list[str](), 0
    for request in range(1, 40):
        name, faulty = f"t{request}", FaultySaver(tender.saver)
        graph = steps_inside(faulty, ran)
        graph.invoke({"items": []}, thread(name))
        asked = graph.get_state(thread(name), subgraphs=True).tasks[0].state.config
        inside = thread(name, checkpoint_ns=asked["configurable"]["checkpoint_ns"])
        before_b = next(each for each in graph.get_state_history(inside) if each.next == ("b",))
        graph.invoke(Command(resume="yes"), thread(name))
        ran.clear()
        dying = FaultySaver(tender.saver, at=request, fault="crash")
        with suppress(InjectedCrash):
            steps_inside(dying, ran).invoke(None, before_b.config)
        gc.collect()  # a run that nobody holds any more owns nothing
        tender.prune([name])
        graph = steps_inside(tender.saver, ran)
        if graph.get_state(thread(name)).next:
            begun += 1
            graph.invoke(None, thread(name))
            assert "a" not in ran, f"died at request {request}"
            done = graph.invoke(Command(resume="no"), thread(name))
            assert done["items"] == ["a", "b", "no"], f"died at request {request}"
        if not dying.failed:
            break
    assert begun > 3
    assert not dying.failed


def test_a_live_owner_is_left_alone_and_all_others_are_pruned(tender: Tender) -> None:
    graph = chat(tender.saver)
    for name in ("busy", "free", "other"):
        for n in range(3):
            graph.invoke({"items": [n]}, thread(name))
    owner = tender.saver.open_session("busy")
    tender.saver.run(owner.claim())
    told: list[Any] = []
    with pytest.raises(ThreadBusyError, match="'busy'"):
        tender.prune(["busy", "free", "other"], progress=told.append)
    assert [(each.thread_id, each.done, each.total) for each in told] == [
        ("busy", 1, 3), ("free", 2, 3), ("other", 3, 3)
    ]  # fmt: skip
    for everything in ({"strategy": "delete"}, {"keep_last": 0, "older_than": timedelta(0)}):
        with pytest.raises(ThreadBusyError):
            tender.prune(["busy"], **everything)
    with pytest.raises(ThreadBusyError):
        tender.delete_thread("busy")
    long = len(list(graph.get_state_history(thread("busy"))))
    tender.saver.run(owner.release())
    for name in ("free", "other"):
        assert len(list(graph.get_state_history(thread(name)))) == 1
    assert long == 9


def test_older_than_takes_times_and_ages(tender: Tender) -> None:
    clock = SimEnv()
    token = run_env.set(clock)
    try:
        graph = chat(tender.saver)
        for n in range(3):
            graph.invoke({"items": [n]}, thread())
            clock.clock += 3600
    finally:
        run_env.reset(token)
    start = datetime.fromtimestamp(clock.now() - 3 * 3600, UTC)
    tender.prune(["t"], keep_last=0, older_than=start + timedelta(minutes=90))
    assert [
        each.values["items"] for each in graph.get_state_history(thread()) if not each.next
    ] == [[0, "re: 0", 1, "re: 1", 2, "re: 2"]]
    (newest,) = (each for each in graph.get_state_history(thread()) if not each.next)
    tender.prune(["t"], strategy="delete", older_than=newest.created_at)
    assert graph.get_state(thread()) == newest, "what is exactly as old is not older"
    tender.prune(["t"], strategy="delete", older_than=(start + timedelta(days=9)).isoformat())
    assert lanes(tender.saver) == [], "nothing is left of a thread that is older altogether"
    with pytest.raises(ConfigError, match="is no time"):
        tender.prune(["t"], older_than="yesterday")


def test_threads_are_kept_as_long_as_they_say_or_else_the_saver(tender: Tender) -> None:
    clock = SimEnv()
    token = run_env.set(clock)
    try:
        graph = chat(tender.saver)
        graph.invoke({"items": [1]}, thread("short", thread_ttl=60))
        graph.invoke({"items": [1]}, thread("long", thread_ttl=10_000))
        graph.invoke({"items": [1]}, thread("plain"))
    finally:
        run_env.reset(token)
    now = datetime.fromtimestamp(clock.now(), UTC)
    assert tender.sweep(now=now + timedelta(seconds=59)) == ([], [])
    assert tender.sweep(now=now + timedelta(seconds=60)).deleted == ["short"]
    tender.saver.ttl = 600
    owner = tender.saver.open_session("plain")
    tender.saver.run(owner.claim())
    assert tender.sweep(now=now + timedelta(seconds=600)) == ([], ["plain"])
    tender.saver.run(owner.release())
    told: list[Any] = []
    swept = tender.sweep(now=now + timedelta(seconds=600), progress=told.append)
    assert swept == (["plain"], [])
    assert [each.done for each in told] == [1, 2]
    assert graph.get_state(thread("long")).values["items"] == [1, "re: 1"]


def test_a_copy_goes_on_by_itself(tender: Tender) -> None:
    graph = nesting(tender.saver)
    graph.invoke({"items": ["a"]}, thread())
    tender.copy_thread("t", "copy")
    assert graph.invoke(Command(resume="there"), thread("copy"))["items"][-1] == "there"
    assert graph.get_state(thread()).interrupts, "the source still waits"
    assert graph.invoke(Command(resume="here"), thread())["items"][-1] == "here"
    states = [each.values for each in graph.get_state_history(thread("copy"))]
    assert len(states) == len(list(graph.get_state_history(thread())))
    tender.delete_thread("t")
    assert [each.values for each in graph.get_state_history(thread("copy"))] == states
    with pytest.raises(ConfigError, match="exists"):
        tender.copy_thread("copy", "copy")
    with pytest.raises(ConfigError, match="no thread 'nobody'"):
        tender.copy_thread("nobody", "new")


def test_deleting_runs_takes_their_steps_from_every_thread(tender: Tender) -> None:
    graph = chat(tender.saver)
    for name in ("a", "b"):
        graph.invoke({"items": [1]}, {**thread(name), "metadata": {"run_id": "first"}})
    graph.invoke({"items": [2]}, {**thread("a"), "metadata": {"run_id": "second"}})
    tender.delete_for_runs(["first"])
    assert graph.get_state(thread("a")).values["items"] == [1, "re: 1", 2, "re: 2"]
    assert lanes(tender.saver, "b") == []
    tender.delete_for_runs(["second"])
    assert lanes(tender.saver, "a") == []
    assert graph.invoke({"items": [3]}, thread("a"))["items"] == [3, "re: 3"]


def test_an_answer_whose_run_was_deleted_is_kept_with_its_task(tender: Tender) -> None:
    long = [f"{n} {'x' * 700}" for n in range(5)]

    def ask(state: Shelf) -> Shelf:
        return {"books": [*long, interrupt("which one?")]}

    builder: Any = StateGraph(Shelf).add_node(ask).add_node("done", lambda state: {"loans": {}})
    builder.add_edge(START, "ask").add_edge("ask", "done")
    graph = builder.compile(checkpointer=tender.saver)
    graph.invoke({}, {**thread(), "metadata": {"run_id": "first"}})
    graph.invoke(Command(resume="this"), {**thread(), "metadata": {"run_id": "second"}})
    tender.delete_for_runs(["second"])
    (asked,) = graph.get_state(thread()).tasks
    assert asked.result == {"books": [*long, "this"]}
    assert graph.invoke(None, thread()) == {"books": [*long, "this"], "loans": {}}


def test_usage_adds_up_by_channel_node_and_namespace(tender: Tender) -> None:
    graph = chat(tender.saver)
    graph.invoke({"items": ["x" * 5000]}, thread())
    usage = tender.usage("t")
    assert sum(usage.by_node.values()) == sum(usage.by_namespace.values()) == usage.total
    assert sum(usage.by_channel.values()) == usage.values
    assert usage.by_channel["items"] > 5000
    assert {"(input)", "answer"} <= usage.by_node.keys()
    assert usage.checkpoints == 3
    assert tender.usage("nobody").total == 0


def remembering(saver: Any) -> Any:
    """A node calls a graph that remembers, and says how much it has heard."""
    inner = StateGraph(State)
    for name in "abc":
        inner.add_node(name, lambda state, name=name: {"items": [name]})
    inner.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    memory = inner.compile(checkpointer=True)
    outer = StateGraph(State)
    outer.add_node("tell", lambda _: {"items": [len(memory.invoke({"items": []})["items"])]})
    outer.add_node("end", lambda _: {"items": ["end"]})
    return outer.add_edge(START, "tell").add_edge("tell", "end").compile(checkpointer=saver)


def heard(graph: Any, config: Any, given: Any = None) -> int:
    return graph.invoke(given, config)["items"][-2]


@pytest.mark.parametrize("keep", range(1, 9))
def test_a_pruned_thread_keeps_what_its_subgraphs_remember(tender: Tender, keep: int) -> None:
    graph = remembering(tender.saver)
    for _ in range(4):
        graph.invoke({"items": []}, thread())
    old = list(graph.get_state_history(thread()))[4]
    fork = graph.update_state(old.config, {"items": ["fork"]}, as_node="end")
    graph.invoke({"items": []}, fork)  # two branches: 12 are heard in each
    tender.prune(["t"], keep_last=keep)
    kept = [each for each in graph.get_state_history(thread()) if each.next == ("tell",)]
    for each in kept:
        assert heard(graph, each.config) == 12
    if not kept:
        assert heard(graph, thread(), {"items": []}) == 15
        tender.prune(["t"])
        assert heard(graph, thread(), {"items": []}) == 18


def test_of_two_branches_that_are_left_each_finds_its_own_memory(tender: Tender) -> None:
    graph = remembering(tender.saver)
    graph.invoke({"items": []}, thread())
    base = graph.get_state(thread()).config
    ends = []
    for turns in (1, 3):
        config = graph.update_state(base, {"items": []}, as_node="end")
        for _ in range(turns):
            graph.invoke({"items": []}, config)
            config = thread()
        graph.invoke({"items": []}, config, interrupt_before=["tell"])
        ends.append(graph.get_state(config).config)
    history = [each.config for each in graph.get_state_history(thread())]
    prune_but(tender.saver, {history.index(end) for end in ends})
    assert [each.config for each in graph.get_state_history(thread())] == ends[::-1]
    tender.copy_thread("t", "copy")
    for name in ("t", "copy"):
        for end, turns in zip(ends, (1, 3), strict=True):
            config = {"configurable": {**end["configurable"], "thread_id": name}}
            assert heard(graph, config) == 3 * (1 + turns + 1)


def prune_but(saver: Any, numbers: set[int]) -> None:
    """Prune a thread by a rule of no strategy: these stay, counted from the newest."""
    law = pruning.Law(lambda nth, *_: nth in numbers, False, True)
    saver.run(pruning.prune_thread(saver.open_session("t"), law))


def test_runs_that_are_deleted_take_what_they_remembered(tender: Tender) -> None:
    graph = remembering(tender.saver)
    for n in range(3):
        graph.invoke({"items": []}, {**thread(), "metadata": {"run_id": f"r{n}"}})
    tender.delete_for_runs(["r2"])
    assert heard(graph, thread(), {"items": []}) == 3 * (2 + 1)


def test_what_came_after_a_run_that_is_deleted_does_not_remember_it(tender: Tender) -> None:
    graph = remembering(tender.saver)
    for n in range(3):
        graph.invoke({"items": []}, {**thread(), "metadata": {"run_id": f"r{n}"}})
    graph.update_state(thread(), {"items": ["by hand"]}, as_node="end")
    tender.delete_for_runs(["r2"])
    assert graph.get_state(thread()).values["items"][-1] == "by hand"
    assert heard(graph, thread(), {"items": []}) == 3 * (2 + 1)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_the_memory_of_a_first_run_is_found_however_it_was_stored(
    tender: Tender, durability: Any
) -> None:
    graph = remembering(tender.saver)
    graph.invoke({"items": []}, thread(), durability=durability)
    assert heard(graph, thread(), {"items": []}) == 6


def test_a_run_stored_at_its_end_leaves_the_memory_of_other_branches_alone(
    tender: Tender,
) -> None:
    graph = remembering(tender.saver)
    graph.invoke({"items": []}, thread())
    first = list(graph.get_state_history(thread()))[-1].config  # before there was a memory
    graph.invoke({"items": []}, first, durability="exit", interrupt_before=["tell"])
    assert heard(graph, thread()) == 3


def test_a_sweep_takes_threads_that_died_before_their_first_checkpoint(tender: Tender) -> None:
    saver, later = tender.saver, datetime.now(UTC) + timedelta(hours=1)
    owner = saver.open_session("t")
    saver.run(owner.claim())
    assert tender.sweep(ttl=60) == ([], [])
    del owner  # its process is gone
    assert tender.sweep(ttl=60) == ([], []), "its lease lasts"
    assert tender.sweep(now=later) == ([], []), "threads are kept"
    assert tender.sweep(ttl=60, now=later) == (["t"], [])
    assert lanes(saver) == []


def test_a_sweep_leaves_what_was_put_into_inner_namespaces_until_its_time(tender: Tender) -> None:
    """A program that stores by itself need not store in the namespace of the root."""
    saver, config = tender.saver, {"configurable": {"thread_id": "t", "checkpoint_ns": "inner"}}
    old, new = empty_checkpoint(), empty_checkpoint()
    old["ts"] = "2000-01-01T00:00:00+00:00"
    for each in (old, new):
        config = saver.put(config, each, {"source": "input", "step": -1}, {})
    now = datetime.now(UTC)
    assert tender.sweep(ttl=3600, now=now + timedelta(minutes=59)) == ([], [])
    assert saver.get_tuple(config) is not None
    assert tender.sweep(ttl=3600, now=now + timedelta(minutes=61)) == (["t"], [])
    assert lanes(saver) == []


def test_a_sweep_leaves_a_thread_that_goes_on_after_it_was_judged(tender: Tender) -> None:
    saver, later = tender.saver, datetime.now(UTC) + timedelta(hours=1)
    graph = chat(saver)
    graph.invoke({"items": ["a"]}, thread())
    looks: list[ReadLane] = []

    def execute(request: Any) -> Any:
        if type(request) is ReadLane:  # the claim, which comes first after the judgement
            looks.append(request)
            if len(looks) == 1:
                graph.invoke({"items": ["b"]}, thread())
        return saver.execute(request)

    assert run_plan(retention.sweep(saver.open_session, 60, later, None), execute) == ([], [])
    assert graph.get_state(thread()).values["items"][-1] == "re: b"


def test_what_was_read_before_deleting_runs_does_not_hide_what_is_kept(tender: Tender) -> None:
    keys = [f"key{n}" for n in range(12)]
    wide: Any = TypedDict("wide", dict.fromkeys(keys, int), total=False)
    builder: Any = StateGraph(wide)
    for number, name in enumerate("abc"):
        builder.add_node(name, lambda state, key=keys[number]: {key: state[key] + 1})
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    graph = builder.compile(checkpointer=tender.saver)

    def run(given: Any, id: str, config: Any) -> None:
        graph.invoke(given, {**config, "metadata": {"run_id": id}})

    run(dict.fromkeys(keys, 0), "first", thread())
    run(dict.fromkeys(keys, 5), "gone", thread())
    middle = next(each for each in graph.get_state_history(thread()) if each.next == ("b",))
    run(None, "kept", middle.config)
    history = [each.values for each in graph.get_state_history(thread())]
    tender.delete_for_runs(["gone"])
    for old in graph.get_state_history(thread()):  # the next read may go on from each of them
        graph.get_state(old.config)
        assert graph.get_state(thread()).values == history[0]


class _Counting(SqliteSaver):
    """Keeps the storage requests that were made."""

    requests = 0

    def execute(self, request: Any) -> Any:
        self.requests += 1
        return super().execute(request)


def test_a_thread_twice_as_long_is_tended_in_hardly_a_request_more(tmp_path: Path) -> None:
    with _Counting(tmp_path / "log.db") as saver:
        graph = chat(saver)

        def asked(turns: int) -> list[int]:
            """The requests for counting, copying and pruning a thread of so many turns."""
            here, there = thread(str(turns)), f"copy of {turns}"
            for _ in range(turns):
                graph.invoke({"items": ["a"]}, here)
            found: list[int] = []
            for tend in (
                lambda: saver.usage(str(turns)),
                lambda: saver.copy_thread(str(turns), there),
                lambda: saver.prune([there], keep_last=turns),
            ):
                saver.requests = 0
                tend()
                found.append(saver.requests)
            return found

        long, short = asked(40), asked(20)
        assert all(more - less <= 1 for more, less in zip(long, short, strict=True)), (long, short)


def test_a_damaged_thread_holds_up_no_other(tmp_path: Path) -> None:
    """Damaged in its row, in its bytes, or encrypted with a key that is lost."""
    keys = {name: EncryptedSerializer.from_keys({name: os.urandom(16)}) for name in ("old", "new")}
    names = [f"t{number}" for number in range(5)]
    broken = {"t0", "t1", "t3"}

    def fill(file: str) -> SqliteSaver:
        saver = SqliteSaver(tmp_path / file, serde=keys["new"])
        for name in names:
            saver.serde = keys["old" if name == "t3" else "new"]
            graph = chat(saver)
            for n in range(3):
                graph.invoke({"items": [n]}, thread(name, run_id="r"))
        saver.serde = keys["new"]
        with sqlite3.connect(tmp_path / file) as conn:
            of = "WHERE lane = (SELECT lane FROM lanes WHERE thread_id = ?)"
            conn.execute(f"UPDATE checkpoints SET record = zeroblob(40) {of}", ("t0",))
            conn.execute(f"UPDATE checkpoints SET record = CAST(record AS TEXT) {of}", ("t1",))
        conn.close()
        return saver

    def left(saver: SqliteSaver) -> dict[str, int]:
        return {name: len(list(saver.list(thread(name)))) for name in names if name not in broken}

    with fill("prune.db") as saver:
        with pytest.raises(CorruptCheckpointError, match=r"3 threads .*'t0', 't1', 't3'. All oth"):
            saver.prune(names)
        assert left(saver) == {"t2": 1, "t4": 1}
    with fill("runs.db") as saver:
        with pytest.raises(CorruptCheckpointError, match=r"3 threads cannot be read"):
            saver.delete_for_runs(["r"])
        assert left(saver) == {"t2": 0, "t4": 0}
    with fill("sweep.db") as saver:
        owner = saver.open_session("t2")
        saver.run(owner.claim())
        later = datetime.now(UTC) + timedelta(hours=1)
        told = r"deleted 1 of the threads\. 1 more in use, and not swept: 't2'"
        with pytest.raises(CorruptCheckpointError, match=told):
            saver.sweep(ttl=60, now=later)
        saver.run(owner.release())
        assert left(saver) == {"t2": 9, "t4": 0}
        for name in broken:
            saver.delete_thread(name)
        assert saver.sweep(ttl=60, now=later) == (["t2"], [])


def test_pruning_reads_values_in_batches_whatever_stands_on_what(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A value that stands on many others, one by one, costs no request for each."""
    saver = InMemorySaver()
    graph = chat(saver)
    for n in range(150):
        graph.invoke({"items": [n]}, thread())
    state = graph.get_state(thread()).values
    asked: list[Any] = []
    execute = saver.execute
    monkeypatch.setattr(
        saver, "execute", lambda request: (asked.append(request), execute(request))[1]
    )
    saver.prune(["t"], keep_last=100)
    saver.prune(["t"])
    reads = [each for each in asked if isinstance(each, ReadValues)]
    assert len(reads) <= 6
    assert all(len(each.keys) <= pruning.BATCH for each in reads)
    assert graph.get_state(thread()).values == state
