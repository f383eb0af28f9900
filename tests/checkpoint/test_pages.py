"""Reading threads in pages: as one checkpoint at a time, whatever the saver keeps."""

from __future__ import annotations

import pickle
import sqlite3
from contextlib import closing
from itertools import pairwise
from operator import add
from pathlib import Path
from random import Random
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from plait.checkpoint.log.looking import PAGE
from plait.checkpoint.log.requests import ReadValues, ReadVersions
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import CorruptCheckpointError
from plait.graph import END, START, StateGraph
from plait.types import Command, PregelTask, interrupt

THREAD: Any = {"configurable": {"thread_id": "order-7"}}


class State(TypedDict, total=False):
    n: int
    even: bool
    log: Annotated[list[int], add]
    notes: dict[str, int]
    word: str
    spare: str


def tick(state: State) -> State:
    n = state.get("n", 0) + 1
    return {"n": n} if n % 3 else {"n": n, "log": [n], "notes": {"n": n}, "even": n % 2 == 0}


def ticking_graph(saver: Any, steps: int = 0) -> Any:
    graph = StateGraph(State).add_node("tick", tick).add_edge(START, "tick")

    def again(state: State) -> str:
        return "tick" if state.get("n", 0) < steps else END

    graph.add_conditional_edges("tick", again, ["tick", END])
    return graph.compile(checkpointer=saver)


def ticking(saver: Any, steps: int) -> Any:
    compiled = ticking_graph(saver, steps)
    config: Any = {**THREAD, "recursion_limit": steps + 5}
    compiled.invoke({"word": "x", "spare": "y"}, config)
    return compiled


def told(snapshot: Any) -> Any:
    return snapshot.values, snapshot.next, snapshot.metadata, [t[1:] for t in snapshot.tasks]


def test_a_history_of_many_pages_shows_each_checkpoint_as_it_is_read_alone(saver: Any) -> None:
    graph = ticking(saver, 2 * PAGE + 5)
    history = list(graph.get_state_history(THREAD))
    assert len(history) == 2 * PAGE + 7
    for snapshot in history:
        assert told(graph.get_state(snapshot.config)) == told(snapshot)
        assert [snapshot] == list(graph.get_state_history(snapshot.config))
    assert [s.metadata["step"] for s in history] == list(range(2 * PAGE + 5, -2, -1))


Flat: Any = TypedDict("Flat", {"n": int, **{f"key{n}": str for n in range(6)}})


@pytest.mark.parametrize("forked", [False, True])
def test_pages_of_checkpoints_that_change_little_show_each_as_it_is_read_alone(
    saver: Any, forked: bool
) -> None:
    graph = StateGraph(Flat).add_node("tick", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "tick")
    steps = 2 * PAGE + 5
    graph.add_conditional_edges(
        "tick", lambda state: "tick" if state["n"] % steps else END, ["tick", END]
    )
    compiled = graph.compile(checkpointer=saver)
    config: Any = {**THREAD, "recursion_limit": steps + 5}
    compiled.invoke({"n": 0, **{f"key{n}": "x" * 40 for n in range(6)}}, config)
    if forked:
        middle = list(compiled.get_state_history(THREAD))[PAGE // 2].config
        compiled.invoke(None, compiled.update_state(middle, {"n": steps - 3, "key2": "fork"}))
    history = list(compiled.get_state_history(THREAD))
    assert len(history) > steps
    for snapshot in history:
        assert told(snapshot) == told(compiled.get_state(snapshot.config))
    for snapshot in history:  # each is its own
        snapshot.values["n"] = snapshot.metadata["step"] = "changed"
    assert "changed" not in {each.values.get("n") for each in compiled.get_state_history(THREAD)}


def test_memory_shows_what_a_file_does(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as stored:
        savers: list[Any] = [InMemorySaver(), stored]
        shown = [
            [told(each) for each in ticking(saver, 40).get_state_history(THREAD)]
            for saver in savers
        ]
    assert shown[0] == shown[1]


def test_no_two_snapshots_share_what_a_program_may_change(saver: Any) -> None:
    graph = ticking(saver, 10)
    history = list(graph.get_state_history(THREAD))
    before = [told(each) for each in graph.get_state_history(THREAD)]
    for snapshot in history:
        snapshot.values.get("log", []).append("mine")
        snapshot.values.get("notes", {})["mine"] = 0
        snapshot.values["word"] = "mine"
        snapshot.metadata["mine"] = snapshot.metadata["parents"]["mine"] = "mine"
        snapshot.config["configurable"]["checkpoint_id"] = "mine"
    assert [told(each) for each in graph.get_state_history(THREAD)] == before
    assert sum(each.values.get("log", [])[-1:] == ["mine"] for each in history) == sum(
        "log" in each.values for each in history
    )


def test_memory_shows_the_same_once_its_records_are_bytes() -> None:
    saver = InMemorySaver()
    graph = ticking(saver, PAGE + 5)
    live = list(graph.get_state_history(THREAD)), graph.get_state(THREAD)
    assert len(list(saver.list(THREAD))) == PAGE + 7  # whoever asks for bytes gets them made
    assert (list(graph.get_state_history(THREAD)), graph.get_state(THREAD)) == live
    assert [type(each) for each in live[0][0].tasks] == []
    assert type(live[0][1].tasks[0]) is PregelTask
    assert pickle.loads(pickle.dumps(live)) == live


def asking(saver: Any) -> Any:
    """A thread that stopped in a graph inside it, beside a finished task and a twofold write."""
    inner = StateGraph(State).add_node("ask", lambda state: {"n": interrupt("how many?")})
    graph = StateGraph(State).add_node("sub", inner.add_edge(START, "ask").compile())
    graph.add_node("two", lambda _: [Command(update={"log": [1]}), Command(update={"log": [2]})])
    graph.add_node("tick", tick).add_edge(START, "tick").add_edge("tick", "two")
    graph.add_edge("tick", "sub").add_edge("two", "tick")
    compiled = graph.compile(checkpointer=saver)
    compiled.invoke({"word": "x"}, THREAD)
    return compiled


def test_so_does_a_thread_that_waits_in_a_graph_inside_it() -> None:
    saver = InMemorySaver()
    graph = asking(saver)

    def shown() -> list[Any]:
        inside = graph.get_state(THREAD).tasks[0].state
        return [
            graph.get_state(THREAD, subgraphs=True),
            *graph.get_state_history(THREAD),
            graph.get_state(inside),
            *graph.get_state_history(inside),
        ]

    live = shown()
    assert [task.name for task in live[0].tasks] == ["sub", "two"]
    assert [asked.value for asked in live[0].interrupts] == ["how many?"]
    assert live[0].tasks[1].result == {"log": {"$writes": [[1], [2]]}}
    assert list(saver.list(THREAD))
    assert list(saver.list(live[0].tasks[0].state.config))
    assert shown() == live


def test_a_snapshot_may_be_changed_and_changes_nothing(saver: Any) -> None:
    graph = ticking(saver, 6)
    before = list(graph.get_state_history(THREAD)), graph.get_state(THREAD)
    for snapshot in (*graph.get_state_history(THREAD), graph.get_state(THREAD)):
        for task in snapshot.tasks:
            for value in task.result.values():
                if isinstance(value, (list, dict)):
                    value.clear()
            task.result.clear()
        snapshot.values.clear()
        snapshot.metadata["parents"]["x"] = "y"
        snapshot.metadata.clear()
        snapshot.config["configurable"].clear()
        (snapshot.parent_config or {"configurable": {}})["configurable"].clear()
    assert (list(graph.get_state_history(THREAD)), graph.get_state(THREAD)) == before
    assert graph.get_state(THREAD) is not before[1]
    assert before[0][0].metadata is not before[1].metadata


def test_a_filter_and_a_limit_hold_across_pages(saver: Any) -> None:
    graph = ticking(saver, PAGE + 9)
    last = graph.get_state_history(THREAD, filter={"step": 2}, limit=1)
    assert [each.values["n"] for each in last] == [2]
    few = list(graph.get_state_history(THREAD, limit=PAGE + 2))
    assert [each.values["n"] for each in few] == list(range(PAGE + 9, 7, -1))
    assert list(graph.get_state_history(THREAD, limit=0)) == []


@pytest.mark.parametrize(
    "wanted",
    [
        {"source": "loop"}, {"step": 3}, {"step": True}, {"step": 3.0}, {"user": "Ann"},
        {"user": "Änn"}, {"score": 1.5}, {"paid": True}, {"paid": 1}, {"none": None}, {"tags": []},
        {"source": "loop", "user": "Ann"}, {"big": 1 << 40}, {"user": "\ud800"}, {"absent": None},
    ],
)  # fmt: skip
def test_a_filter_finds_what_looking_at_all_finds(saver: Any, wanted: dict[str, Any]) -> None:
    graph = ticking_graph(saver, 6)
    for user in ("Ann", "Änn"):
        metadata = {"user": user, "score": 1.5, "paid": True, "none": None, "big": 1 << 40}
        config: Any = {**THREAD, "metadata": metadata}
        graph.invoke({"n": 0, "log": [1], "notes": {"a": 1}}, config)
    every = list(graph.get_state_history(THREAD))
    expected = [
        told(s)
        for s in every
        if all(k in s.metadata and (type(s.metadata[k]), s.metadata[k]) == (type(v), v)
               for k, v in wanted.items())
    ]  # fmt: skip
    assert [*map(told, graph.get_state_history(THREAD, filter=wanted))] == expected
    some = list(graph.get_state_history(THREAD, filter=wanted, limit=2))
    assert [*map(told, some)] == expected[:2]
    listed = [t.config["configurable"]["checkpoint_id"] for t in saver.list(THREAD, filter=wanted)]
    assert len(listed) == len(expected)


def test_one_checkpoint_is_shown_as_among_many(saver: Any) -> None:
    graph = ticking(saver, 8)
    every = list(graph.get_state_history(THREAD))
    assert list(graph.get_state_history(THREAD, limit=1)) == every[:1]
    for newer, older in pairwise(every):
        assert list(graph.get_state_history(THREAD, before=newer.config, limit=1)) == [older]


def test_a_saver_lists_what_it_gets_one_by_one_and_threads_in_the_order_of_time(saver: Any) -> None:
    """Runs of several threads, in turns: their checkpoints lie between each other."""
    graph = ticking_graph(saver, 0)
    for turn in range(4):
        for thread in ("a", "b", "c")[: turn + 1]:
            graph.invoke({"log": [turn]}, {"configurable": {"thread_id": thread}})
    listed = list(saver.list(None))
    ids = [found.config["configurable"]["checkpoint_id"] for found in listed]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 3 * (4 + 3 + 2)
    for limit in (1, 4, 9, 99):
        assert list(saver.list(None, limit=limit)) == listed[:limit]
    for found in listed:
        assert saver.get_tuple(found.config) == found
        assert list(saver.list(found.config)) == [found]
    inputs = [found for found in listed if found.metadata["source"] == "input"]
    assert list(saver.list(None, filter={"source": "input"})) == inputs
    assert list(saver.list(None, filter={"source": "input"}, limit=2)) == inputs[:2]
    listed[0].checkpoint["channel_values"]["log"].append("spoilt")
    listed[0].metadata["source"] = "spoilt"
    assert next(saver.list(None)) != listed[0]


@pytest.mark.parametrize("count", [5, 50])
def test_a_few_checkpoints_of_many_threads_cost_no_more_reads(saver: Any, count: int) -> None:
    graph = ticking_graph(saver, 0)
    for n in range(count):
        graph.invoke({"log": [n]}, {"configurable": {"thread_id": f"order-{n}"}})
    asked, execute = [], saver.execute

    def counted(request: Any) -> Any:
        asked.append(request)
        return execute(request)

    saver.execute = counted
    newest = next(saver.list(None, limit=2)).config["configurable"]["thread_id"]
    assert newest == f"order-{count - 1}"
    assert len(asked) <= 6


class Notes(TypedDict):
    notes: list[Any]


def noting(saver: Any) -> Any:
    builder = StateGraph(Notes)
    builder.add_node("note", lambda state: None)
    builder.add_edge(START, "note")
    return builder.compile(checkpointer=saver)


def rows_read(saver: Any, look: Any) -> int:
    """How many rows of versions are read while somebody looks."""
    read, execute = [0], saver.execute

    def counted(request: Any) -> Any:
        found = execute(request)
        if isinstance(request, ReadVersions | ReadValues):
            read[0] += len(found)
        return found

    saver.execute = counted
    look()
    saver.execute = execute
    return read[0]


def test_the_newest_checkpoint_is_listed_by_what_is_known_of_it(saver: Any) -> None:
    config: Any = {"configurable": {"thread_id": "1"}}
    noting(saver).invoke({"notes": "few"}, config)
    found = saver.get_tuple(config)
    listed: list[Any] = []
    assert rows_read(saver, lambda: listed.extend(saver.list(None, limit=1))) == 0
    assert listed == [found]
    assert rows_read(saver, lambda: list(saver.list(found.config))) == 0


def test_the_last_states_of_a_long_list_are_read_by_what_they_appended(saver: Any) -> None:
    """When the list is known from before: not by all that lies behind them."""
    graph = noting(saver)
    for n in range(80):
        graph.update_state(THREAD, {"notes": [f"{i:99}" for i in range(n + 1)]}, as_node="note")
    first = list(saver.list(THREAD, limit=5))
    assert [len(t.checkpoint["channel_values"]["notes"]) for t in first] == [80, 79, 78, 77, 76]
    assert rows_read(saver, lambda: list(saver.list(THREAD, limit=5))) <= 5
    assert list(saver.list(THREAD, limit=5)) == first
    first[0].checkpoint["channel_values"]["notes"].append("spoilt")
    assert list(saver.list(THREAD, limit=5))[1:] == first[1:]


@pytest.mark.parametrize("seed", range(12))
def test_a_list_is_shown_alike_whether_it_is_known_from_before_or_not(
    saver: Any, seed: int
) -> None:
    """Whatever was done to it, and whichever of its versions was read last."""
    dice, graph, notes = Random(seed), noting(saver), list[Any]()
    configs: list[Any] = [THREAD]
    for n in range(90):
        match dice.randrange(12):
            case 0 if notes:
                del notes[dice.randrange(len(notes))]
            case 1 if notes:
                notes[dice.randrange(len(notes))] = {"n": [n]}
            case 2 if n > 40:
                notes.insert(0, f"first {n}")
            case _:
                notes += [f"{n:99}"] * dice.randrange(3)
        at = dice.choice(configs) if dice.random() < 0.05 else THREAD
        configs.append(graph.update_state(at, {"notes": notes}, as_node="note"))
    saver._recent.after_fork()  # forgets all
    expected = [*map(told, graph.get_state_history(THREAD))]
    for _ in range(6):
        known = dice.choice(configs)
        graph.get_state(known)
        some = [*map(told, graph.get_state_history(THREAD, limit=dice.randrange(1, 70)))]
        assert some == expected[: len(some)]
        graph.get_state(dice.choice(configs))
        assert [*map(told, graph.get_state_history(THREAD))] == expected
        older = [*map(told, graph.get_state_history(THREAD, before=configs[45]))]
        assert older == expected[len(expected) - len(older) :]


def test_lists_of_a_page_are_not_shared_through_a_parent(saver: Any) -> None:
    graph = ticking(saver, 9)
    history = list(graph.get_state_history(THREAD))
    lists = [each.values["log"] for each in history if each.values.get("log") == [3, 6]]
    assert len(lists) == 3  # two of these checkpoints have the list of their parent
    assert len({id(each) for each in lists}) == 3
    task = next(task for each in history for task in each.tasks if "log" in (task.result or {}))
    task.result["log"].append("mine")
    assert "mine" not in str(list(graph.get_state_history(THREAD)))
    assert "mine" not in str([each.values for each in history])


@pytest.mark.parametrize("column", ["record", "kept", "acks"])
def test_a_page_says_which_of_its_records_is_damaged(tmp_path: Path, column: str) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        ids = [each.config for each in ticking(saver, 20).get_state_history(THREAD)]
    damaged = bytes.fromhex(ids[10]["configurable"]["checkpoint_id"].replace("-", ""))
    with closing(sqlite3.connect(path)) as db:
        (stored,) = db.execute(f"SELECT {column} FROM checkpoints WHERE id = ?", [damaged])
        spoilt = stored[0][:-1] + bytes([stored[0][-1] ^ 1])
        db.execute(f"UPDATE checkpoints SET {column} = ? WHERE id = ?", [spoilt, damaged])
        db.commit()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        history = ticking_graph(saver).get_state_history(THREAD)
        with pytest.raises(CorruptCheckpointError, match="damaged") as caught:
            list(history)
    says = ids[11 if column == "acks" else 10]["configurable"]["checkpoint_id"]
    assert says in str(caught.value)


def crowd_of(saver: Any, threads: int, turns: int) -> list[Any]:
    """Threads that were gone on with in turn: the config of each."""
    configs: list[Any] = [{"configurable": {"thread_id": f"of-{n}"}} for n in range(threads)]
    graph = noting(saver)
    for turn in range(turns):
        for config in configs:
            graph.update_state(config, {"notes": [*map(str, range(turn + 1))]}, as_node="note")
    return configs


def listed(found: Any) -> list[Any]:
    return [(each.config, each.checkpoint, each.metadata, each.pending_writes) for each in found]


def test_a_crowd_of_threads_is_listed_by_time_as_each_of_them_alone(saver: Any) -> None:
    """Whatever lies between the checkpoints of one thread, and however many are asked for."""
    configs = crowd_of(saver, 20, 11)
    saver.copy_thread("of-3", "copy")  # its ids are those of another thread
    configs.append({"configurable": {"thread_id": "copy"}})
    alone = [each for config in configs for each in saver.list(config)]
    alone.sort(key=lambda each: each.checkpoint["id"], reverse=True)
    assert listed(saver.list(None)) == listed(alone)
    assert listed(alone) == listed(saver.get_tuple(each.config) for each in alone)
    for limit in (1, 2, 7, PAGE, PAGE + 1, 2 * PAGE + 3, 999):
        assert listed(saver.list(None, limit=limit)) == listed(alone[:limit])
        older = listed(saver.list(None, before=alone[40].config, limit=limit))
        assert older == listed(alone[41:])[:limit]
        for step in (3, 99):
            wanted = [each for each in alone if each.metadata["step"] == step]
            assert listed(saver.list(None, filter={"step": step}, limit=limit)) == listed(
                wanted[:limit]
            )


def test_a_crowd_of_threads_is_listed_with_few_requests(saver: Any) -> None:
    crowd_of(saver, 100, 4)
    asked: list[Any] = []
    execute = saver.execute
    saver.execute = lambda request: asked.append(request) or execute(request)
    assert len(list(saver.list(None))) == 400
    everything = len(asked)
    assert len(list(saver.list(None, limit=10))) == 10
    saver.execute = execute
    assert everything < 100
    assert len(asked) - everything < 10


def test_no_two_states_of_a_short_list_share_its_items(saver: Any) -> None:
    graph = noting(saver)
    for n in range(20):  # from a length on it is read in another way
        graph.update_state(THREAD, {"notes": [{"n": k} for k in range(n + 1)]}, as_node="note")
    for look in (lambda: list(saver.list(THREAD)), lambda: list(saver.list(THREAD, limit=9))):
        first = look()
        for each in first:
            for note in each.checkpoint["channel_values"]["notes"]:
                note["n"] = "spoilt"
        assert listed(look()) == listed(saver.get_tuple(each.config) for each in first)
