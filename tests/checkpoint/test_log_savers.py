"""One conformance suite for every saver of plait's, by its sync and by its async methods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.base import empty_checkpoint, new_checkpoint_id
from plait.checkpoint.base.port import NewCheckpoint, TaskWrites
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.requests import ListNewest, ReadCheckpoints
from plait.checkpoint.memory import InMemorySaver, MemorySaver
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.checkpoint.sqlite.aio import AsyncSqliteSaver
from plait.errors import ConfigError, CorruptCheckpointError, UnregisteredTypeError

TS = "2026-01-01T00:00:00.000000+00:00"


class Both:
    """A saver whose methods are called by their sync or by their async names."""

    def __init__(self, saver: Any, loop: asyncio.AbstractEventLoop | None) -> None:
        self.saver = saver
        self.loop = loop

    def __getattr__(self, name: str) -> Any:
        if self.loop is None:
            return getattr(self.saver, name)
        method = getattr(self.saver, f"a{name}")
        return lambda *a, **kw: self.loop.run_until_complete(method(*a, **kw))

    def list(self, *args: Any, **kwargs: Any) -> list[Any]:
        if self.loop is None:
            return list(self.saver.list(*args, **kwargs))

        async def gather() -> list[Any]:
            return [each async for each in self.saver.alist(*args, **kwargs)]

        return self.loop.run_until_complete(gather())

    def open_session(self, *args: Any, **kwargs: Any) -> Any:
        return self.saver.open_session(*args, **kwargs)


@pytest.fixture(params=["memory", "sqlite", "sqlite-memory", "postgres"])
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    if request.param == "postgres":
        with PostgresSaver.from_conn_string(request.getfixturevalue("postgres_url")) as saver:
            yield saver
        return
    path = ":memory:" if request.param == "sqlite-memory" else str(tmp_path / "log.db")
    with SqliteSaver.from_conn_string(path) as saver:
        yield saver


@pytest.fixture(params=["sync", "async"])
def saver(request: pytest.FixtureRequest, plain: Any) -> Iterator[Both]:
    if request.param == "sync":
        yield Both(plain, None)
        return
    loop = asyncio.new_event_loop()
    yield Both(plain, loop)
    loop.close()


def config(thread: str = "t", ns: str | None = "", id: str | None = None) -> Any:
    inside = {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}
    return {"configurable": {k: v for k, v in inside.items() if v is not None}}


def put(saver: Both, at: Any, values: dict[str, Any], metadata: Any = None, **extra: Any) -> Any:
    checkpoint = {**empty_checkpoint(), "channel_values": values, **extra}
    versions = checkpoint["channel_versions"] or dict.fromkeys(values, 1)
    checkpoint["channel_versions"] = versions
    return saver.put(at, checkpoint, metadata or {"source": "loop", "step": 1}, versions)


# --- LangGraph's port ----------------------------------------------------------------------------


def test_what_was_put_is_got_back_whole(saver: Both) -> None:
    checkpoint = {
        **empty_checkpoint(),
        "channel_values": {"a": [1, (2, "x")], "b": {"k": None}},
        "channel_versions": {"a": "1", "b": "2"},
        "versions_seen": {"node": {"a": "1"}},
        "updated_channels": ["a"],
    }
    at = saver.put(config(), checkpoint, {"source": "loop", "step": 3}, {"a": "1", "b": "2"})
    found = saver.get_tuple(at)
    assert found.checkpoint == checkpoint
    assert found.metadata == {"source": "loop", "step": 3}
    assert found.config == at
    assert found.parent_config is None
    assert saver.get(config())["id"] == checkpoint["id"]


def test_a_thread_without_checkpoints_gives_none(saver: Both) -> None:
    assert saver.get_tuple(config("nobody")) is None
    assert saver.get_tuple(config(id="x")) is None
    assert saver.list(config("nobody")) == []


def test_a_config_without_thread_is_an_error_that_shows_one(saver: Both) -> None:
    with pytest.raises(ConfigError, match="thread_id"):
        saver.get_tuple({"configurable": {}})


def test_unchanged_channels_are_shared_with_the_parent(saver: Both) -> None:
    first = put(saver, config(), {"big": "x" * 1000, "n": 1})
    child = {
        **empty_checkpoint(),
        "channel_values": {"big": "x" * 1000, "n": 2},
        "channel_versions": {"big": 1, "n": 2},
    }
    second = saver.put(first, child, {}, {"n": 2})
    assert saver.get_tuple(second).checkpoint["channel_values"] == {"big": "x" * 1000, "n": 2}
    assert saver.get_tuple(second).parent_config == first
    rows = saver.saver.execute(_versions_of("t", saver.saver, "big"))
    assert len(rows) == 1


def _versions_of(thread: str, saver: Any, channel: str) -> Any:
    from plait.checkpoint.log.requests import ReadLane, ReadVersions

    return ReadVersions(saver.execute(ReadLane(thread, "")).lane, channel)


def test_thread_ts_is_the_old_name_of_checkpoint_id(saver: Both) -> None:
    first = put(saver, config(), {"n": 1})
    put(saver, first, {"n": 2})
    old = {"configurable": {"thread_id": "t", "thread_ts": first["configurable"]["checkpoint_id"]}}
    assert saver.get_tuple(old).checkpoint["channel_values"] == {"n": 1}


def test_history_is_newest_first_with_limit_before_and_filter(saver: Both) -> None:
    at = config()
    for n in range(40):
        at = put(saver, at, {"n": n}, {"step": n, "source": "input" if n % 2 else "loop"})
    steps = [each.metadata["step"] for each in saver.list(config())]
    assert steps == list(range(39, -1, -1))
    assert [e.metadata["step"] for e in saver.list(config(), limit=2)] == [39, 38]
    assert [e.metadata["step"] for e in saver.list(config(), before=at, limit=1)] == [38]
    odd = saver.list(config(), filter={"source": "input"}, limit=3)
    assert [e.metadata["step"] for e in odd] == [39, 37, 35]
    assert saver.list(config(), limit=0) == []
    assert [e.metadata["step"] for e in saver.list(at)] == [39]


def test_filters_compare_exactly_and_are_no_sql(saver: Both) -> None:
    put(saver, config(), {}, {"a": 1, "it's": "x' OR '1'='1"})
    assert len(saver.list(config(), filter={"a": 1})) == 1
    assert saver.list(config(), filter={"a": True}) == []
    assert saver.list(config(), filter={"a": "1"}) == []
    assert saver.list(config(), filter={"a') OR 1=1 --": 1}) == []
    assert len(saver.list(config(), filter={"it's": "x' OR '1'='1"})) == 1


@pytest.mark.parametrize(
    "name", ["a'b", 'a"b', "%", "_", "a\0b", "é\U0001f600", "", "a|b:c", "-- "]
)
def test_hostile_names_of_threads_and_namespaces_stay_apart(saver: Both, name: str) -> None:
    put(saver, config(name, name), {"n": 1})
    put(saver, config("other", ""), {"n": 2})
    assert saver.get_tuple(config(name, name)).checkpoint["channel_values"] == {"n": 1}
    assert len(saver.list(config(name, name))) == 1


def test_listing_without_namespace_or_thread_walks_all_of_them(saver: Both) -> None:
    ids = [
        put(saver, config(thread, ns), {"n": 1})["configurable"]["checkpoint_id"]
        for thread, ns in [("a", ""), ("a", "x"), ("b", "")]
    ]
    assert [e.checkpoint["id"] for e in saver.list(config("a", None))] == [ids[1], ids[0]]
    assert [e.checkpoint["id"] for e in saver.list(None)] == ids[::-1]


def test_lanes_are_listed_by_their_newest_checkpoints_below_a_bound(plain: Any) -> None:
    saver = Both(plain, None)
    places = [("a", ""), ("a", "x"), ("b", ""), ("a", "")]
    ids = [
        pack(put(saver, config(*at), {"n": 1})["configurable"]["checkpoint_id"]) for at in places
    ]

    def found(*asked: Any) -> list[Any]:
        return [(row.id, row.thread_id, row.ns) for row in plain.execute(ListNewest(*asked))]

    rows = [(id, *at) for id, at in zip(ids, places, strict=True)]
    assert found() == [rows[3], rows[2], rows[1]]
    assert found(None, None, None, 2) == [rows[3], rows[2]]
    assert found("a") == [rows[3], rows[1]]
    assert found("a", None, ids[3]) == [rows[1], rows[0]]
    assert found("a", "", ids[3], 1) == [rows[0]]
    assert found("a", "x") == [rows[1]]
    assert found("a", "y") == found("c") == found(None, None, ids[0]) == []


def test_only_checkpoints_that_may_meet_a_filter_are_read(plain: Any) -> None:
    saver, read = Both(plain, None), [0]
    ids = [
        put(saver, config(), {"n": n}, {"source": "loop", "step": n})["configurable"]
        for n in range(70)
    ]
    execute = plain.execute

    def counted(request: Any) -> Any:
        found = execute(request)
        read[0] += len(found) if isinstance(request, ReadCheckpoints) else 0
        return found

    plain.execute = counted
    for wanted, expected in [
        ({"step": 9}, [9]), ({"step": 69}, [69]), ({"step": 70}, []),
        ({"source": "loop"}, [*range(69, -1, -1)]),
    ]:  # fmt: skip
        read[0] = 0
        found = saver.list(config(), filter=wanted)
        assert [each.config["configurable"] for each in found] == [ids[n] for n in expected]
        assert read[0] <= len(expected) + 1


def test_writes_keep_their_positions_and_reserved_ones_are_replaced(saver: Both) -> None:
    at = put(saver, config(), {"n": 1})
    saver.put_writes(at, [("a", 1), ("b", {"x": 2})], "task-1", "p1")
    saver.put_writes(at, [("a", 9), ("b", 9), ("c", 3)], "task-1", "p1")
    saver.put_writes(at, [("__interrupt__", "first")], "task-2", "p0")
    saver.put_writes(at, [("__interrupt__", "second")], "task-2", "p0")
    assert saver.get_tuple(at).pending_writes == [
        ("task-2", "__interrupt__", "second"),
        ("task-1", "a", 1),
        ("task-1", "b", {"x": 2}),
        ("task-1", "c", 3),
    ]


def test_what_is_stored_never_changes_afterwards(saver: Both) -> None:
    values = {"items": [{"a": [1]}]}
    at = put(saver, config(), values)
    values["items"][0]["a"].append(2)
    got = saver.get_tuple(at).checkpoint["channel_values"]
    assert got == {"items": [{"a": [1]}]}
    got["items"][0]["a"].append(3)
    assert saver.get_tuple(at).checkpoint["channel_values"] == {"items": [{"a": [1]}]}


def test_an_unregistered_type_fails_at_its_write(saver: Both) -> None:
    class Mine:
        pass

    with pytest.raises(UnregisteredTypeError, match="register"):
        put(saver, config(), {"n": Mine()})


# --- Retention -----------------------------------------------------------------------------------


def grow(
    saver: Both, thread: str = "t", ns: str = "", steps: int = 60, **metadata: Any
) -> list[str]:
    """A thread with a list that grows and shrinks, and a fork."""
    session = saver.open_session(thread, ns, policy="allow")
    items: list[Any] = []
    data: dict[str, Any] = {}
    ids: list[str] = []
    for n in range(steps):
        items = [*items[-30:], {"text": f"{n}-" + "x" * 200}]
        data[f"k{n % 7}"] = "y" * 100 + str(n)
        new = NewCheckpoint(
            new_checkpoint_id(), ids[-1] if ids else None, TS, {"step": n, **metadata}, {},
            {"items": items, "data": data},
        )  # fmt: skip
        writes = [TaskWrites(ids[-1], "task", "p", [("items", items[-1:])])] if ids else []
        saver.run(session.commit(new, writes))
        ids.append(new.id)
    return ids


def read(saver: Both, thread: str, id: str | None = None, ns: str = "") -> Any:
    return saver.run(saver.open_session(thread, ns, policy="allow").load(id))


def test_pruning_keeps_what_it_should_and_all_that_this_needs(saver: Both) -> None:
    ids = grow(saver)
    before = [read(saver, "t", id) for id in ids[-3:]]
    saver.prune(["t"], keep_last=3)
    kept = [read(saver, "t", id) for id in ids[-3:]]
    assert [each.values for each in kept] == [each.values for each in before]
    assert [each.writes for each in kept] == [each.writes for each in before]
    assert kept[0].parent_id is None
    assert kept[1].parent_id == ids[-3]
    assert all(read(saver, "t", id) is None for id in ids[:-3])
    saver.prune(["t"])
    assert read(saver, "t").values == before[-1].values
    assert len(saver.list(config())) == 1
    more = saver.open_session("t")
    loaded = saver.run(more.load())
    items = [*loaded.values["items"], "new"]
    after = NewCheckpoint(new_checkpoint_id(), loaded.id, TS, {}, {}, {"items": items})
    saver.run(more.commit(after, claim=True, release=True))
    assert read(saver, "t").values["items"] == items


def test_pruning_with_delete_and_delete_thread_leave_nothing(saver: Both) -> None:
    for thread in ("t", "u"):
        grow(saver, thread, steps=5)
        grow(saver, thread, ns="sub", steps=5)
    saver.delete_thread("t")
    saver.prune(["u"], strategy="delete")
    assert saver.list(None) == []
    assert read(saver, "t") is None
    assert read(saver, "u", ns="sub") is None
    saver.delete_thread("t")


def test_deleting_a_run_keeps_the_others_loadable(saver: Both) -> None:
    first = grow(saver, steps=20, run_id="r1")
    kept = [read(saver, "t", id).values for id in first]
    session = saver.open_session("t", policy="allow")
    loaded = saver.run(session.load())
    last = NewCheckpoint(new_checkpoint_id(), loaded.id, TS, {"run_id": "r2"}, {}, {"data": {}})
    saver.run(session.commit(last))
    saver.delete_for_runs(["r2"])
    assert read(saver, "t").values == kept[-1]
    assert [read(saver, "t", id).values for id in first] == kept
    saver.delete_for_runs(["r1"])
    assert read(saver, "t") is None


def test_a_copied_thread_is_the_same_and_stands_alone(saver: Both) -> None:
    ids = grow(saver)
    grow(saver, ns="sub", steps=3)
    saver.copy_thread("t", "u")
    originals = [read(saver, "t", id) for id in ids]
    saver.delete_thread("t")
    assert [read(saver, "u", id) for id in ids] == originals
    assert read(saver, "u", ns="sub") is not None
    with pytest.raises(ConfigError, match="exists"):
        saver.copy_thread("u", "u")


def test_the_rule_of_pruning_names_the_strategies_it_knows(saver: Both) -> None:
    with pytest.raises(ConfigError, match="keep_latest"):
        saver.prune(["t"], strategy="keep_lates")


# --- The native port -----------------------------------------------------------------------------


def test_merged_writes_replace_only_the_channels_they_name(saver: Both) -> None:
    [id] = grow(saver, steps=1)
    session = saver.open_session("t", policy="allow")
    saver.run(session.save_writes([TaskWrites(id, "task", "p", [("a", 1), ("b", 2)])]))
    saver.run(session.save_writes([TaskWrites(id, "task", "p", [("b", 3)], merge=True)]))
    assert read(saver, "t", id).writes == [("task", "a", 1), ("task", "b", 3)]
    saver.run(session.save_writes([TaskWrites(id, "task", "p", [("c", 4)])]))
    assert read(saver, "t", id).writes == [("task", "c", 4)]


def test_a_channel_map_of_thousands_costs_a_step_nothing(saver: Both) -> None:
    session = saver.open_session("t", policy="allow")
    wide = {f"channel_{n}": n for n in range(500)}
    ids = [new_checkpoint_id() for _ in range(30)]
    saver.run(session.commit(NewCheckpoint(ids[0], None, TS, {}, {}, wide)))
    for parent, id in pairwise(ids):
        saver.run(session.commit(NewCheckpoint(id, parent, TS, {}, {}, {"channel_3": id})))
    from plait.checkpoint.log.requests import ReadCheckpoints, ReadLane

    lane = saver.saver.execute(ReadLane("t", "")).lane
    rows = saver.saver.execute(ReadCheckpoints(lane))
    assert max(len(row.record) for row in rows[1:]) < 150
    assert read(saver, "t").values == {**wide, "channel_3": ids[-1]}


def test_encoding_happens_at_the_call_not_when_the_plan_runs(saver: Both) -> None:
    session = saver.open_session("t", policy="allow")
    items = [[1]]
    id = new_checkpoint_id()
    plan = session.commit(NewCheckpoint(id, None, TS, {}, {}, {"items": items}))
    items[0].append(2)
    saver.run(plan)
    assert read(saver, "t").values == {"items": [[1]]}


def test_three_programs_that_mutate_their_state_lose_nothing(saver: Both) -> None:
    from plait.messages import AIMessage, HumanMessage

    session = saver.open_session("t", policy="allow")
    numbers = count()
    last: list[str | None] = [None]

    def commit(values: dict[str, Any]) -> None:
        new = f"{next(numbers):08x}-0000-6000-8000-000000000000"
        saver.run(session.commit(NewCheckpoint(new, last[0], TS, {}, {}, values)))
        last[0] = new

    state = {"items": [1], "messages": [HumanMessage("hi", id="1"), AIMessage("yes", id="2")]}
    commit(state)
    state["items"].append(2)  # `s["items"].append(x); return s`
    commit(state)
    assert read(saver, "t").values == state
    state["messages"][1].content = "no"  # the same message edited and returned
    commit({"messages": list(state["messages"])})
    assert read(saver, "t").values == state
    state["messages"][0].content = "hello"  # one edited in place while another is returned
    commit({"messages": [*state["messages"], AIMessage("more", id="3")]})
    assert [m.content for m in read(saver, "t").values["messages"]] == ["hello", "no", "more"]


def test_a_damaged_missing_or_swapped_record_is_a_named_error(saver: Both) -> None:
    from plait.checkpoint.log.requests import ReadLane, ReadVersions, Transact

    grow(saver, steps=4)
    grow(saver, "u", steps=4)
    execute = saver.saver.execute
    mine = execute(ReadVersions(execute(ReadLane("t", "")).lane, "items"))[-1]
    other = execute(ReadVersions(execute(ReadLane("u", "")).lane, "items"))[-1]
    flipped = bytearray(mine.record)
    flipped[-1] ^= 1
    for bad in (bytes(flipped), mine.record[:-1], b"", b"\x80\x04.", other.record):
        execute(Transact("t", "", values=[("items", mine.id, bad)]))
        with pytest.raises(CorruptCheckpointError, match="items"):
            read(saver, "t")
    execute(Transact("t", "", drop_values=[("items", mine.id)]))
    with pytest.raises(CorruptCheckpointError, match="missing"):
        read(saver, "t")


def test_the_peers_names_are_the_same_classes() -> None:
    assert MemorySaver is InMemorySaver
    assert AsyncSqliteSaver is SqliteSaver
