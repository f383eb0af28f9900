"""Row stores answer as plain dicts would, however they lay their rows out.

Ids come from a small set, in any order: checkpoints are put between others, replaced and dropped,
task writes come with their checkpoint's successor and long after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from plait.checkpoint.log.requests import (
    CheckpointRow,
    Claim,
    Done,
    DropLanes,
    ListValues,
    ReadCheckpoints,
    ReadHead,
    ReadLane,
    ReadPages,
    ReadValues,
    ReadValuesOf,
    ReadVersions,
    ReadWrites,
    Refused,
    Transact,
    ValueRow,
    WriteRow,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import CorruptCheckpointError

IDS = [bytes([n]) * 16 for n in range(9)]
TASKS = [bytes([n]) * 16 for n in (200, 201, 202)]
CHANNELS = ["messages", "n", "é"]
PATHS = ["", "~pull, a", "~pull, b"]


class Model:
    """The rows of one lane."""

    def __init__(self) -> None:
        self.checkpoints: dict[bytes, tuple[bytes | None, bytes]] = {}
        self.values: dict[tuple[str, bytes], bytes] = {}
        self.writes: dict[tuple[bytes, bytes], tuple[str, bytes]] = {}
        self.head: bytes | None = None

    def transact(self, request: Transact) -> None:
        for id in request.drop_checkpoints:
            self.checkpoints.pop(id, None)
            for key in [key for key in self.writes if key[0] == id]:
                del self.writes[key]
        for key in request.drop_values:
            self.values.pop(key, None)
        for id, parent, record in request.checkpoints:
            self.checkpoints[id] = (parent, record)
        for channel, id, record in request.values:
            self.values[channel, id] = record
        for checkpoint, task, path, record in request.writes:
            self.writes[checkpoint, task] = (path, record)
        if request.head is not None:
            self.head = request.head


class Player:
    """Makes requests at random, to a store and to the model, and compares what both hold."""

    def __init__(self, store: Any, ns: str, random: Random) -> None:
        self.store = store
        self.ns = ns
        self.random = random
        self.model = Model()
        self.number = 0
        claim = Claim(5, None, "owner", 1e12)
        done = store.execute(Transact("thread", "", seed=5, claim=claim))
        self.root = done.root
        self.lane = store.execute(Transact("thread", ns, fence=6)).lane

    def record(self) -> bytes:
        self.number += 1
        return b"%d" % self.number * self.random.choice([1, 1, 1, 300])

    def step(self) -> Transact:
        """The ordinary commit: after the newest checkpoint, where there is one."""
        random, model = self.random, self.model
        last = max(model.checkpoints, default=None)
        later = [id for id in IDS if last is None or id > last]
        if not later:
            return self.anything()
        id = later[0]
        request = Transact("thread", self.ns, head=id)
        request.checkpoints = [(id, last, self.record())]
        request.values = [(c, id, self.record()) for c in random.sample(CHANNELS, k=2)]
        if last is not None:
            request.writes = [
                (last, task, random.choice(PATHS), self.record())
                for task in random.sample(TASKS, k=random.randrange(3))
            ]
        return request

    def anything(self) -> Transact:
        random = self.random
        request = Transact("thread", self.ns)
        if random.random() < 0.5:
            request.drop_checkpoints = random.sample(IDS, k=random.randrange(3))
            request.drop_values = [(random.choice(CHANNELS), random.choice(IDS))]
        if random.random() < 0.5:
            request.checkpoints = [
                (id, random.choice([None, *IDS]), self.record()) for id in random.sample(IDS, k=1)
            ]
            request.head = request.checkpoints[0][0]
        request.values = [
            (random.choice(CHANNELS), id, self.record())
            for id in random.sample(IDS, k=random.randrange(2))
        ]
        there = self.model.checkpoints.keys() - {*request.drop_checkpoints}
        request.writes = [
            (id, random.choice(TASKS), random.choice(PATHS), self.record())
            for id in sorted(there)[: random.randrange(3)]
        ]
        return request

    def play(self) -> None:
        request = self.step() if self.random.random() < 0.6 else self.anything()
        request.fence = 6
        request.root = self.random.choice([None, self.root])
        assert type(self.store.execute(request)) is Done
        self.model.transact(request)

    def compare(self) -> None:
        model, ask, lane = self.model, self.store.execute, self.lane
        assert ask(ReadLane("thread", self.ns)).head == model.head
        checkpoints = [CheckpointRow(id, *row) for id, row in sorted(model.checkpoints.items())]
        assert ask(ReadCheckpoints(lane)) == checkpoints
        assert ask(ReadCheckpoints(lane, newest_first=True, limit=2)) == checkpoints[:-3:-1]
        keys = [(channel, id) for channel in CHANNELS for id in IDS]
        values = [model.values.get(key) for key in keys]
        assert ask(ReadValues(lane, keys)) == values
        several = [(lane, keys[:5]), (9999, keys[:2]), (lane, []), (lane, keys[5:])]
        assert ask(ReadValuesOf([ReadValues(*each) for each in several])) == [
            values[:5], [None, None], [], values[5:]
        ]  # fmt: skip
        assert sorted(ask(ListValues(lane))) == sorted(model.values)
        first, last = sorted(self.random.choices(IDS, k=2))
        for channel in CHANNELS:
            rows = [
                ValueRow(channel, id, model.values[channel, id])
                for id in IDS
                if first <= id <= last and (channel, id) in model.values
            ]
            assert ask(ReadVersions(lane, channel, first, last)) == rows
        for id in IDS:
            assert ask(ReadWrites(lane, id)) == self.writes(id, id)
        assert self.ranged(first, last) == self.writes(first, last)
        self.compare_whole(checkpoints, last)

    def compare_whole(self, checkpoints: list[CheckpointRow], before: bytes) -> None:
        """The requests for checkpoints and task writes at once."""
        ask, lane, live = self.store.execute, self.lane, self.random.random() < 0.5
        whole = [(row, self.writes(row.id, row.id)) for row in checkpoints]
        lanes = [(lane, None), (lane, before), (9999, None)]
        pages = ask(ReadPages(lanes, 4, live))
        assert [page.rows for page in pages] == [
            whole[:-5:-1],
            [each for each in reversed(whole) if each[0].id < before][:4],
            [],
        ]
        trace = self.random.choice(b"0123456789").to_bytes(1, "big")
        (held,) = ask(ReadPages([(lane, before)], 2, live, trace))
        holding = [each for each in reversed(whole) if trace in each[0].record]
        if not isinstance(self.store, InMemorySaver):  # which may give others, too
            assert held.rows == [each for each in holding if each[0].id < before][:2]
        for page in (*pages, held):
            there = {row.id for row, _ in page.rows}
            for version, record in page.kept.items():
                assert version[1] in there
                assert record == self.model.values[version]
        for row, rows in whole:
            assert ask(ReadHead("thread", self.ns, row.id, live)) == (lane, row, rows)
        there = {row.id for row in checkpoints}
        for id in {*IDS} - there:
            assert ask(ReadHead("thread", self.ns, id, live)) is None
        head = ask(ReadHead("thread", self.ns, None, live))
        assert (None if head is None else head[1].id) == (
            self.model.head if self.model.head in there else None
        )

    def ranged(self, first: bytes, last: bytes) -> list[WriteRow]:
        return self.store.execute(ReadWrites(self.lane, first, last))

    def writes(self, first: bytes, last: bytes) -> list[WriteRow]:
        rows = [
            WriteRow(checkpoint, task, path, record)
            for (checkpoint, task), (path, record) in self.model.writes.items()
            if first <= checkpoint <= last
        ]
        return sorted(rows, key=lambda row: (row.checkpoint, row.path, row.task))


@contextmanager
def opened(kind: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    with ExitStack() as stack:
        if kind == "memory":
            yield InMemorySaver()
        elif kind == "postgres":
            url = request.getfixturevalue("postgres_url")
            yield stack.enter_context(PostgresSaver.from_conn_string(url))
        else:
            yield stack.enter_context(SqliteSaver.from_conn_string(":memory:"))


@pytest.mark.parametrize("ns", ["", "inner:1"])
@pytest.mark.parametrize(("kind", "games"), [("memory", 60), ("sqlite", 60), ("postgres", 6)])
def test_rows_are_what_a_dict_would_hold(
    kind: str, games: int, ns: str, request: pytest.FixtureRequest
) -> None:
    for seed in range(games):
        with opened(kind, request) as store:
            player = Player(store, ns, Random(seed))
            for _ in range(25):
                player.play()
                player.compare()
            dropped = store.execute(DropLanes([player.lane], "thread", 6))
            assert type(dropped) is Done
            assert store.execute(ReadCheckpoints(player.lane)) == []


def test_a_commit_with_the_root_of_a_deleted_thread_is_refused() -> None:
    with SqliteSaver.from_conn_string(":memory:") as store:
        player = Player(store, "", Random(1))
        request = player.step()
        request.fence, request.root = 6, player.root
        store.execute(DropLanes([player.root], "thread", 6))
        assert type(store.execute(request)) is Refused
        assert store.execute(ReadCheckpoints(player.root)) == []


@pytest.mark.parametrize("column", ["kept", "acks"])
@pytest.mark.parametrize("bytes_", [b"", b"\xc1", b"\x80", b"\x91\x01", b"\x93\xa1a\xc4\x01a\x01"])
def test_damaged_company_is_told(tmp_path: Path, column: str, bytes_: bytes) -> None:
    import sqlite3

    path = tmp_path / "log.db"
    with SqliteSaver.from_conn_string(str(path)) as store:
        player = Player(store, "", Random(1))
        for id, parent in zip(IDS[1:3], IDS[:2], strict=True):
            request = Transact("thread", "", head=id, fence=6, root=player.root)
            request.checkpoints = [(id, None if id == IDS[1] else parent, b"c")]
            request.values = [("n", id, b"v")]
            request.writes = [(parent, TASKS[0], "", b"w")] if id != IDS[1] else []
            store.execute(request)
        assert store.execute(ReadWrites(player.lane, IDS[1])) != []
    with sqlite3.connect(path) as conn:
        changed = conn.execute(
            f"UPDATE checkpoints SET {column} = ? WHERE {column} IS NOT NULL", (bytes_,)
        )
        assert changed.rowcount > 0
    conn.close()
    ask: Any = ReadValues(1, [("n", IDS[2])]) if column == "kept" else ReadWrites(1, IDS[1])
    with (
        SqliteSaver.from_conn_string(str(path)) as store,
        pytest.raises(CorruptCheckpointError, match="damaged"),
    ):
        store.execute(ask)
