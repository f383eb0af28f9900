"""The rows of one lane in memory, of which an ordinary commit takes one object.

A commit's checkpoint, versions and task writes lie together as a few bytes less than they have
apart, in one bytes object, until somebody changes one of them: three rows in three tables weigh
about as much as a message of some hundred characters, and the collector of garbage looks at each.

What is packed says "the checkpoint before" of two ids: its parent, and whom its task writes belong
to. So whoever puts a checkpoint between the two, or drops the first, unpacks the second first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, cast

import ormsgpack

from plait.checkpoint.log.deferred import Deferred
from plait.checkpoint.log.requests import CheckpointRow, LaneRow, Page, Transact, ValueRow, WriteRow
from plait.engine.records import new_tuple

_pack, _unpack = ormsgpack.packb, ormsgpack.unpackb
_ONE_TASK = 3
"""So many parts of a packed commit say what one task wrote."""
_BEFORE = True
"""Stands for the id of the checkpoint before."""


def between(
    ids: list[bytes], first: bytes | None, last: bytes | None, before: bytes | None = None
) -> tuple[int, int]:
    """Where the ids from `first` to `last`, and below `before`, begin and end."""
    low = 0 if first is None else bisect_left(ids, first)
    high = len(ids) if last is None else bisect_right(ids, last, low)
    if before is not None:
        high = bisect_left(ids, before, low, high)
    return low, high


class _Versions:
    """The versions of one channel: all ids in order, and the records that are not packed."""

    __slots__ = ("ids", "rows")

    def __init__(self) -> None:
        self.ids: list[bytes] = []
        self.rows: dict[bytes, Any] = {}

    def note(self, key: bytes) -> None:
        """There is a version of this id now."""
        ids = self.ids
        if not ids or ids[-1] < key:
            ids.append(key)
        else:
            place = bisect_left(ids, key)
            if ids[place] != key:
                ids.insert(place, key)


class Lane:
    """One lane and its rows."""

    __slots__ = ("_commits", "_packed", "_values", "_writes", "claim", "head", "ids")

    def __init__(self, row: LaneRow) -> None:
        self.claim = row
        """The row but for its head, which moves with every commit."""
        self.head: bytes | None = None
        self.ids: list[bytes] = []
        """Of the checkpoints, in order."""
        self._commits: list[CheckpointRow | bytes] = []
        """In the same order: a checkpoint, or a packed commit (see `_pack_commit`)."""
        self._packed = 0
        """How many of them are packed."""
        self._values: dict[str, _Versions] = {}
        self._writes: dict[bytes, WriteRow | dict[bytes, WriteRow]] = {}
        """By checkpoint what its task wrote; if there are several of them, by task."""

    @property
    def row(self) -> LaneRow:
        """The lane as a row."""
        at = self.claim
        return LaneRow(at.lane, at.thread_id, at.ns, self.head, at.fence, at.owner, at.lease)

    # --- reading ---------------------------------------------------------------------------------

    def checkpoints(self, low: int, high: int, *, live: bool) -> list[CheckpointRow]:
        """Those at the places of `ids` from `low` to below `high`; `live`: as they are kept."""
        rows: list[Any] = self._commits[low:high]
        if live and not (self._packed and bytes in {*map(type, rows)}):
            return rows
        for at, row in enumerate(rows):
            if type(row) is bytes:
                parent, record, _, _ = _unpack(row)
                place = low + at
                rows[at] = CheckpointRow(self.ids[place], self._parent(place, parent), record)
            elif not live and type(row.record) is Deferred:
                made = row._replace(record=row.record.record())
                rows[at] = self._commits[low + at] = made
        return rows

    def holding(self, low: int, high: int, trace: bytes) -> Iterator[int]:
        """The last first, the places of those in whose record these bytes may be."""
        for place in range(high - 1, low - 1, -1):
            row: Any = self._commits[place]
            record = row if type(row) is bytes else row.record  # packed, it is there as it is
            if type(record) is not bytes or trace in record:
                yield place

    def add_page(self, page: Page, low: int, high: int, *, live: bool) -> None:
        """Add checkpoints as above to a page, the last one first."""
        if not live:
            rows = self.checkpoints(low, high, live=False)
            writes = [self.writes_between(at, at + 1, live=False) for at in range(low, high)]
        elif self._packed and bytes in {*map(type, self._commits[low : high + 1])}:
            self._add_packed(page, low, high)
            return
        else:
            rows = cast("list[CheckpointRow]", self._commits[low:high])
            kept = map(self._writes.get, self.ids[low:high])
            writes = [[one] if type(one) is WriteRow else _in_order(_by_task(one)) for one in kept]
        page.rows.extend(zip(reversed(rows), reversed(writes), strict=True))

    def _add_packed(self, page: Page, low: int, high: int) -> None:
        """The same, live, where commits may be packed: each of them is unpacked once."""
        ids, kept = self.ids, self._writes
        after = self._written_with(high)
        for place in range(high - 1, low - 1, -1):
            key = ids[place]
            row: Any = self._commits[place]
            tasks, packed = kept.get(key), after
            after = []
            if type(row) is bytes:
                parent, record, values, after = _unpack(row)
                row = new_tuple(CheckpointRow, (key, self._parent(place, parent), record))
                rest = iter(values)
                for channel, value in zip(rest, rest, strict=True):
                    page.kept[channel, key] = value
            if not packed:
                writes = _in_order(_by_task(tasks))
            elif tasks is None and len(packed) == _ONE_TASK:
                writes = [new_tuple(WriteRow, (key, *packed))]
            else:
                writes = _in_order({**_by_task(tasks), **_tasks(key, packed)})
            page.rows.append((row, writes))

    def _written_with(self, place: int) -> list[Any]:
        """The task writes that are packed with a commit, if there is one."""
        row = self._commits[place] if place < len(self._commits) else None
        return _unpack(row)[3] if type(row) is bytes else []

    def whole(self, key: bytes, *, live: bool) -> tuple[CheckpointRow, list[WriteRow]] | None:
        """A checkpoint and its task writes, in order."""
        place = self.place(key)
        if place is None:
            return None
        row: Any = self._commits[place]
        if not live or type(row) is bytes:
            row = self.checkpoints(place, place + 1, live=live)[0]
        if place + 1 == len(self.ids) and key not in self._writes:  # the head of most threads
            return row, []
        return row, self.writes_between(place, place + 1, live=live)

    def value(self, channel: str, key: bytes, *, live: bool = False) -> Any:
        """The record of a version, or None."""
        table = self._values.get(channel)
        if table is None:
            return None
        record = table.rows.get(key)
        if record is None:
            place = self.place(key)
            return self._value_at(place, channel) if place is not None else None
        if not live and type(record) is Deferred:
            record = table.rows[key] = record.record()
        return record

    def versions(self, channel: str, first: bytes | None, last: bytes | None) -> list[ValueRow]:
        """A channel's versions from `first` to `last`."""
        table = self._values.get(channel)
        if table is None:
            return []
        low, high = between(table.ids, first, last)
        found: list[ValueRow] = []
        ids, rows = self.ids, table.rows
        place = 0
        for key in table.ids[low:high]:
            record = self.value(channel, key) if key in rows else None
            if record is None:
                if place == len(ids) or ids[place] != key:  # often it is the next one
                    place = bisect_left(ids, key)
                record = self._value_at(place, channel)
                place += 1
            found.append(ValueRow(channel, key, record))
        return found

    def all_versions(self) -> list[tuple[str, bytes]]:
        """(channel, id) of all versions."""
        return [(channel, key) for channel, table in self._values.items() for key in table.ids]

    def writes(self, checkpoint: bytes, *, live: bool) -> list[WriteRow]:
        """The task writes of one checkpoint, in order."""
        place = self.place(checkpoint) if self._packed else None
        if place is None:
            return _in_order(self._tasks_of(checkpoint, None, live))
        return self.writes_between(place, place + 1, live=live)

    def writes_between(self, low: int, high: int, *, live: bool) -> list[WriteRow]:
        """Those of the checkpoints at the places of `ids` from `low` to below `high`."""
        found: list[WriteRow] = []
        kept = self._writes
        after = self._commits[low + 1 : high + 1]
        for key, following in zip_longest(self.ids[low:high], after):
            if not live or type(following) is bytes or key in kept:
                found += _in_order(self._tasks_of(key, following, live))
        return found

    def _tasks_of(self, checkpoint: bytes, after: Any, live: bool) -> dict[bytes, WriteRow]:
        """Those of one checkpoint, by task. They may be packed with the commit `after` it."""
        tasks = _by_task(self._writes.get(checkpoint))
        if not live:
            for task, row in tasks.items():
                record: Any = row.record
                if type(record) is Deferred:
                    tasks[task] = made = row._replace(record=record.record())
                    self._put_write(made)
        if type(after) is bytes:
            return {**tasks, **_tasks(checkpoint, _unpack(after)[3])}
        return tasks

    def _value_at(self, place: int, channel: str) -> Any:
        """The version that is packed with a commit."""
        row = self._commits[place]
        values: list[Any] = _unpack(row)[2] if type(row) is bytes else []
        return values[values.index(channel) + 1] if channel in values else None

    def place(self, key: bytes) -> int | None:
        """Where a checkpoint is in `ids`."""
        ids = self.ids
        place = bisect_left(ids, key)
        return place if place < len(ids) and ids[place] == key else None

    def _parent(self, place: int, packed: Any) -> bytes | None:
        return self.ids[place - 1] if packed is _BEFORE else packed

    # --- writing ---------------------------------------------------------------------------------

    def store(self, request: Transact) -> None:
        """Drop and put the rows of a transaction, and move the head."""
        for key in request.drop_checkpoints:
            self._drop_checkpoint(key)
        for channel, key in request.drop_values:
            self._drop_value(channel, key)
        packed = self._pack_commit(request)
        if packed is None:
            self._put(request)
        else:
            key = request.checkpoints[0][0]
            self.ids.append(key)
            self._commits.append(packed)
            self._packed += 1
            for channel, _, _ in request.values:
                table = self._table(channel)
                table.note(key)
                table.rows.pop(key, None)
        if request.head is not None:
            self.head = request.head

    def _pack_commit(self, request: Transact) -> bytes | None:
        """The commit in one piece, if it is an ordinary one: it comes after all that is there, and
        its writes belong to the checkpoint before.

        It is [parent, record, [channel, record, ...], [task, path, record, ...]].
        """
        if len(request.checkpoints) != 1:
            return None
        key, parent, record = request.checkpoints[0]
        last = self.ids[-1] if self.ids else None
        if type(record) is not bytes or (last is not None and last >= key):
            return None
        values: list[Any] = []
        for channel, id, version in request.values:
            if id != key or type(version) is not bytes:
                return None
            values += (channel, version)
        writes: list[Any] = []
        for checkpoint, task, path, written in request.writes:
            if checkpoint != last or type(written) is not bytes:
                return None
            writes += (task, path, written)
        before = _BEFORE if last is not None and parent == last else parent
        try:
            return _pack((before, record, values, writes))
        except TypeError:  # a name that msgpack has no form for
            return None

    def _put(self, request: Transact) -> None:
        for row in request.checkpoints:
            self._put_checkpoint(CheckpointRow(*row))
        for channel, key, record in request.values:
            if self._packed:
                self._unpack(self.place(key))
            self._put_value(channel, key, record)
        for checkpoint, task, path, record in request.writes:
            if self._packed:
                self._unpack(self.place(checkpoint), 1)
            self._put_write(WriteRow(checkpoint, task, path, record))

    def _put_checkpoint(self, row: CheckpointRow) -> None:
        ids, commits = self.ids, self._commits
        if not ids or ids[-1] < row.id:
            ids.append(row.id)
            commits.append(row)
            return
        place = bisect_left(ids, row.id)
        self._unpack(place)
        if ids[place] == row.id:
            commits[place] = row
        else:
            ids.insert(place, row.id)
            commits.insert(place, row)

    def _put_value(self, channel: str, key: bytes, record: Any) -> None:
        table = self._table(channel)
        table.note(key)
        table.rows[key] = record

    def _table(self, channel: str) -> _Versions:
        table = self._values.get(channel)
        if table is None:
            table = self._values[channel] = _Versions()
        return table

    def _put_write(self, row: WriteRow) -> None:
        kept = self._writes.get(row.checkpoint)
        if isinstance(kept, dict):
            kept[row.task] = row
        elif kept is None or kept.task == row.task:
            self._writes[row.checkpoint] = row
        else:
            self._writes[row.checkpoint] = {kept.task: kept, row.task: row}

    def _unpack(self, place: int | None, after: int = 0) -> None:
        """Put the rows of the commit at a place, or so many after it, into their tables."""
        if place is None or place + after >= len(self.ids):
            return
        place += after
        row = self._commits[place]
        if type(row) is not bytes:
            return
        key = self.ids[place]
        parent, record, values, writes = _unpack(row)
        self._commits[place] = CheckpointRow(key, self._parent(place, parent), record)
        self._packed -= 1
        rest = iter(values)
        for channel, value in zip(rest, rest, strict=True):
            self._put_value(channel, key, value)
        if writes:
            for task in _tasks(self.ids[place - 1], writes).values():
                self._put_write(task)

    def _drop_checkpoint(self, key: bytes) -> None:
        place = self.place(key)
        if place is not None:
            self._unpack(place)
            self._unpack(place, 1)
            del self.ids[place], self._commits[place]
        self._writes.pop(key, None)

    def _drop_value(self, channel: str, key: bytes) -> None:
        table = self._values.get(channel)
        if table is None:
            return
        self._unpack(self.place(key))
        if table.rows.pop(key, None) is not None:
            del table.ids[bisect_left(table.ids, key)]
            if not table.ids:
                del self._values[channel]


def _tasks(checkpoint: bytes, writes: list[Any]) -> dict[bytes, WriteRow]:
    """Packed task writes as rows."""
    rest = iter(writes)
    rows = zip(rest, rest, rest, strict=True)
    return {task: WriteRow(checkpoint, task, path, record) for task, path, record in rows}


def _by_task(kept: WriteRow | dict[bytes, WriteRow] | None) -> dict[bytes, WriteRow]:
    """The task writes of one checkpoint."""
    if isinstance(kept, dict):
        return kept
    return {} if kept is None else {kept.task: kept}


def _in_order(tasks: dict[bytes, WriteRow]) -> list[WriteRow]:
    return [*tasks.values()] if len(tasks) < 2 else sorted(tasks.values(), key=_order)


def _order(row: WriteRow) -> tuple[str, bytes]:
    return row.path, row.task


__all__ = ["Lane", "between"]
