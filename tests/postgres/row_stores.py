"""A stream of storage requests, and plain dicts that say what a row store must answer.

The rows are noise: a row store does not look into them. Most commits are ordinary ones, since what
a store keeps of those together it must take apart for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from plait.checkpoint.log.requests import (
    CheckpointRow,
    DropLanes,
    ListValues,
    ReadCheckpoints,
    ReadLane,
    ReadValues,
    ReadVersions,
    ReadWrites,
    Transact,
    ValueRow,
    WriteRow,
)

CHANNELS = ("messages", "a", "b\0", "ü")
PATHS = ("~1", "~2", "p\0", "ü")


class Model:
    """One lane, in dicts."""

    def __init__(self) -> None:
        self.head: bytes | None = None
        self.checkpoints: dict[bytes, CheckpointRow] = {}
        self.values: dict[tuple[str, bytes], bytes] = {}
        self.writes: dict[tuple[bytes, bytes], WriteRow] = {}

    def store(self, request: Transact) -> None:
        """What a transaction leaves."""
        for key in request.drop_checkpoints:
            self.checkpoints.pop(key, None)
            self.writes = {at: row for at, row in self.writes.items() if at[0] != key}
        for version in request.drop_values:
            self.values.pop(version, None)
        for key, parent, record in request.checkpoints:
            self.checkpoints[key] = CheckpointRow(key, parent, record)
        for channel, key, record in request.values:
            self.values[channel, key] = record
        for row in request.writes:
            self.writes[row[0], row[1]] = WriteRow(*row)
        if request.head is not None:
            self.head = request.head

    def written(self, first: bytes, last: bytes) -> list[WriteRow]:
        """The task writes of some checkpoints, in order."""
        rows = [row for (at, _), row in self.writes.items() if first <= at <= last]
        return sorted(rows, key=lambda row: (row.checkpoint, row.path, row.task))


class Play:
    """Random transactions on one thread, each followed by a look at what is there.

    Args:
        execute: The row store.
        seed: Which transactions.
    """

    def __init__(self, execute: Callable[[Any], Any], seed: int, thread_id: str) -> None:
        self.execute = execute
        self.random = Random(seed)
        self.thread_id = thread_id
        self.clock = 0
        self.tasks = [self.noise(16) for _ in range(4)]
        self.lanes = {"": Model(), "inner": Model()}

    def noise(self, size: int) -> bytes:
        """Bytes that mean nothing."""
        return self.random.randbytes(size)

    def new_id(self, model: Model) -> bytes:
        """Usually greater than every id before; or of a checkpoint that was dropped."""
        gone = sorted({key for _, key in model.values} - model.checkpoints.keys())
        if gone and self.random.random() < 0.1:
            return gone[-1]
        self.clock += 2
        at = self.clock if self.random.random() < 0.85 else self.random.randrange(self.clock) | 1
        return at.to_bytes(8, "big") + bytes(8)

    def record(self) -> bytes:
        """A record, now and then a large one."""
        return self.noise(self.random.choice((5, 50, 50, 300, 3000)))

    def some(self, things: Any, most: int) -> list[Any]:
        """Some of the things there are."""
        things = list(things)
        return self.random.sample(things, min(len(things), self.random.randint(0, most)))

    def step(self, model: Model, ns: str) -> Transact:
        """The ordinary commit of a super-step; not always quite."""
        key, head = self.new_id(model), model.head
        parents = [head, head, head, *model.checkpoints, None]
        parent = self.random.choice(parents[:3] if self.random.random() < 0.7 else parents)
        changed = self.some(CHANNELS, 3)
        return Transact(
            self.thread_id,
            ns,
            checkpoints=[(key, parent, self.record())],
            values=[(name, key, self.record()) for name in changed],
            writes=self.outcomes(parent) if parent in model.checkpoints else [],
            head=key,
        )

    def outcomes(self, of: bytes) -> list[tuple[bytes, bytes, str, bytes]]:
        """What some tasks of a checkpoint wrote."""
        return [
            (of, task, self.random.choice(PATHS), self.record())
            for task in self.some(self.tasks, 2)
        ]

    def repair(self, model: Model, ns: str) -> Transact:
        """Rows replaced, added and dropped, here and there."""
        request = Transact(self.thread_id, ns)
        known = list(model.checkpoints)
        kind = self.random.randrange(4)
        if kind == 0:
            request.writes = [row for of in self.some(known, 2) for row in self.outcomes(of)]
        elif kind == 1:
            request.checkpoints = [
                (key, self.random.choice([None, *known]), self.record())
                for key in self.some(known, 2)
            ]
        elif kind == 2:
            request.values = [
                (self.random.choice(CHANNELS), key, self.record()) for key in self.some(known, 2)
            ]
        else:
            request.drop_checkpoints = self.some(known, 3)
            request.drop_values = self.some(model.values, 3)
        return request

    def turn(self) -> None:
        """One transaction; then what is stored must be what the model says."""
        ns = self.random.choice(["", "", "inner"])
        model = self.lanes[ns]
        ordinary = not model.checkpoints or self.random.random() < 0.7
        request = self.step(model, ns) if ordinary else self.repair(model, ns)
        self.execute(request)
        model.store(request)
        self.check(ns)

    def check(self, ns: str) -> None:
        """Ask everything."""
        model, ask = self.lanes[ns], self.execute
        row = ask(ReadLane(self.thread_id, ns))
        assert row.head == model.head
        lane = row.lane
        rows = [model.checkpoints[key] for key in sorted(model.checkpoints)]
        assert ask(ReadCheckpoints(lane)) == rows
        assert sorted(ask(ListValues(lane))) == sorted(model.values)
        ids = [row.id for row in rows]
        first, last = sorted(self.random.choices(ids or [b""], k=2))
        assert ask(ReadCheckpoints(lane, first, first)) == [r for r in rows if r.id == first]
        page = [row for row in reversed(rows) if row.id < last][:3]
        assert ask(ReadCheckpoints(lane, before=last, limit=3, newest_first=True)) == page
        for key in {first, last}:
            assert ask(ReadWrites(lane, key)) == model.written(key, key)
        assert ask(ReadWrites(lane, first, last)) == model.written(first, last)
        keys = [(name, key) for name in CHANNELS for key in (first, last)]
        assert ask(ReadValues(lane, keys)) == [model.values.get(key) for key in keys]
        for name in CHANNELS:
            held = sorted(key for channel, key in model.values if channel == name)
            assert ask(ReadVersions(lane, name)) == [
                ValueRow(name, key, model.values[name, key]) for key in held
            ]
            assert ask(ReadVersions(lane, name, first, last)) == [
                ValueRow(name, key, model.values[name, key]) for key in held if first <= key <= last
            ]

    def drop(self) -> None:
        """Delete the lane inside: nothing of it is left, and nothing else is lost."""
        row = self.execute(ReadLane(self.thread_id, "inner"))
        if row is not None:
            self.execute(DropLanes([row.lane], self.thread_id))
            assert self.execute(ReadCheckpoints(row.lane)) == []
            assert self.execute(ListValues(row.lane)) == []
        self.lanes["inner"] = Model()
        if self.execute(ReadLane(self.thread_id, "")) is not None:
            self.check("")


def play(execute: Callable[[Any], Any], seed: int, turns: int, thread_id: str = "t") -> None:
    """Random transactions on one thread. Raises AssertionError at the first wrong answer."""
    game = Play(execute, seed, thread_id)
    for _ in range(turns):
        game.turn()
    game.drop()
    game.turn()


__all__ = ["play"]
