"""Commits as rows of one lane: where the next checkpoint stands, and the records of it.

An ordinary commit to a saver in memory is only noted (`Commit`): it cannot change any more,
and its rows are made when somebody looks at the lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import starmap
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import ormsgpack

from plait.checkpoint.log.deferred import Deferred
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.records import (
    CHECKPOINT,
    WHOLE,
    WRITES,
    CheckpointFrame,
    Form,
    form_of,
    pack_frame,
)
from plait.checkpoint.log.requests import Transact
from plait.checkpoint.log.versions import Point
from plait.checkpoint.serde import Codec, guarded, place, seal
from plait.engine.records import NewCheckpoint, TaskWrites, new_tuple

_FULL_EVERY = 16
_SMALL = 4
"""A map of so few channels is stored whole each time: it costs no more bytes than a difference, and
a checkpoint is read without its ancestors."""
_NO_CHANNEL = place("")
_part = lru_cache(maxsize=1024)(place)
_name_of: Callable[[Any], str] = itemgetter(0)

Value: TypeAlias = "tuple[str, int, bytes]"
"""A new version: (channel, kind of record, payload)."""
Outcome: TypeAlias = "tuple[str, str, str, Sequence[Form]]"
"""What a task wrote: (checkpoint id, task id, path, form of each write)."""
Held: TypeAlias = "tuple[NewCheckpoint, CheckpointFrame, Mapping[str, Any] | None]"
"""What the record of a checkpoint holds that is sealed later: what was handed over, where its
versions are, and its values if it has made every version that it has."""
_Frame: TypeAlias = "tuple[bytes | None, int, list[str], list[str], dict[str, bytes] | None]"
"""What a checkpoint's payload says besides its body: see `CheckpointFrame`."""


class Packed(NamedTuple):
    """A commit whose values are encoded."""

    parts: bytes | list[Any]
    """(id, parent's id, when it was made, metadata, removed channels, values, outcomes), packed if
    msgpack has a form for all of it."""
    frontier: Mapping[str, Any]
    """Many checkpoints of a loop share it."""
    body: bytes | None
    """When it was made, metadata and frontier, if they had to be encoded."""


Commit: TypeAlias = "tuple[NewCheckpoint, Sequence[TaskWrites]] | Packed"
"""A commit that was noted: of values that cannot change, as it was handed over."""


class Recorder:
    """Makes the records of one lane, commit by commit."""

    __slots__ = ("_last", "at", "codec", "lane", "ns", "thread_id")

    def __init__(self, thread_id: str, ns: str, codec: Codec) -> None:
        self.thread_id = thread_id
        self.ns = ns
        self.codec = codec
        self.lane = guarded(place(thread_id, ns), codec.guard)
        """Where the records are."""
        self.at: Point | None = None
        """The checkpoint that the next one builds on."""
        self._last: tuple[str, bytes, bytes] | None = None

    def _found(self, id: str) -> tuple[str, bytes, bytes]:
        """A checkpoint's id, its key, and where its records are: what tasks wrote comes right after
        the checkpoint that they belong to."""
        last = self._last
        if last is None or last[0] != id:
            last = self._last = (id, pack(id), self.lane + place(id))
        return last

    def parent_key(self, checkpoint: NewCheckpoint) -> bytes | None:
        """The key of a checkpoint's parent, which most often is what was recorded last."""
        parent = checkpoint.parent_id
        return None if parent is None else self._found(parent)[1]

    def batch(
        self, checkpoint: NewCheckpoint, body: bytes | None, values: Sequence[Value],
        outcomes: Sequence[Outcome], *, newest: bool,
    ) -> Transact:  # fmt: skip
        """The transaction of a commit.

        Args:
            checkpoint: Where it leads to.
            body: The checkpoint's own facts; None where it does not follow the last one, so that
                its record is added later.
            values: New versions of channels.
            outcomes: What tasks wrote.
            newest: Whether the head moves.
        """
        writes = [*starmap(self.outcome, outcomes)]
        _, key, where = self._found(checkpoint.id)
        batch = Transact(self.thread_id, self.ns, head=key if newest else None)
        batch.writes = writes
        rows: list[tuple[str, bytes, bytes]] = []
        for name, kind, payload in values:
            rows.append((name, key, seal(kind, where + _part(name), payload)))
        batch.values = rows
        if body is not None:
            self.add_checkpoint(batch, checkpoint, body)
        return batch

    def add_checkpoint(self, batch: Transact, checkpoint: NewCheckpoint, body: bytes) -> None:
        """Move to a commit's checkpoint, and add it to the transaction."""
        _, key, where = self._found(checkpoint.id)
        parent = _packed_id(checkpoint.parent_id) if self.at is None else self.at.id
        frame = self.move(key, [*map(_name_of, batch.values)], checkpoint.removed)
        record = seal(CHECKPOINT, where + _NO_CHANNEL, pack_frame((*frame, body)))
        batch.checkpoints = [(key, parent, record)]

    def outcome(
        self, checkpoint_id: str, task_id: str, path: str, forms: Sequence[Form]
    ) -> tuple[bytes, bytes, str, bytes]:
        """The row of a task's writes."""
        _, key, where = self._found(checkpoint_id)
        record = seal(WRITES, where + place("writes:" + task_id), pack_frame(forms))
        return key, pack(task_id), path, record

    def move(self, key: bytes, changed: list[str], removed: Sequence[str]) -> _Frame:
        """Move to the new checkpoint; its frame has a full map where the chain grew long."""
        at = self.at
        if at is None:
            at = self.at = Point(key, key, -1, {})
        at.id = key
        at.depth += 1
        map = at.map
        for name in changed:
            map[name] = key
        gone = [name for name in removed if map.pop(name, None) is not None] if removed else []
        if len(map) <= _SMALL or at.anchor == key or at.depth >= max(_FULL_EVERY, len(map)):
            at.anchor, at.depth = key, 0
            return None, 0, changed, gone, dict(map)
        return at.anchor, at.depth, changed, gone, None

    # --- commits that were only noted ------------------------------------------------------------

    def rows_of(self, commit: Commit) -> Transact:
        """The transaction that a noted commit stands for."""
        if isinstance(commit, Packed):
            return self._of_packed(*commit)
        return self._of_live(*commit)

    def _of_live(self, checkpoint: NewCheckpoint, writes: Sequence[TaskWrites]) -> Transact:
        """Its records are made when they are read."""
        codec, lane, id = self.codec, self.lane, checkpoint.id
        changed, key = checkpoint.changed, pack(id)
        batch = Transact(self.thread_id, self.ns, head=key)
        batch.values = [
            (name, key, Deferred(value, _whole_record, codec, lane, id, name, value))
            for name, value in changed.items()
        ]
        frame = self.move(key, list(changed), checkpoint.removed)
        full = frame[-1]
        values = changed if full is not None and len(full) == len(changed) else None
        holds: Held = (checkpoint, CheckpointFrame(*frame, b""), values)
        made = Deferred(holds, _checkpoint_record, codec, lane, checkpoint, frame)
        batch.checkpoints = [(key, _packed_id(checkpoint.parent_id), made)]
        batch.writes = [
            (
                pack(task.checkpoint_id),
                pack(task.task_id),
                task.path,
                Deferred(task, _writes_record, codec, lane, task),
            )
            for task in writes
        ]
        return batch

    def _of_packed(
        self, parts: bytes | list[Any], frontier: Mapping[str, Any], body: bytes | None
    ) -> Transact:
        found: list[Any] = ormsgpack.unpackb(parts) if type(parts) is bytes else [*parts]
        id, parent, ts, metadata, removed, values, outcomes = found
        checkpoint = NewCheckpoint(id, parent, ts, metadata, frontier, {}, removed)
        if body is None:
            body = body_of(self.codec, checkpoint.made_at, metadata, frontier)
        return self.batch(checkpoint, body, values, outcomes, newest=True)


def body_of(
    codec: Codec, made_at: str, metadata: Mapping[str, Any], frontier: Mapping[str, Any]
) -> bytes:
    """A checkpoint's own facts, as its record holds them."""
    return codec.dumps([made_at, dict(metadata), dict(frontier)])


def packed(
    checkpoint: NewCheckpoint, values: Sequence[Value], outcomes: Sequence[Outcome],
    body: bytes | None,
) -> Packed:  # fmt: skip
    """Note a commit: as few objects as may be, for it may stay so for long."""
    parts: list[Any] = [
        checkpoint.id, checkpoint.parent_id, checkpoint.ts, checkpoint.metadata,
        checkpoint.removed, values, outcomes,
    ]  # fmt: skip
    frontier: Mapping[str, Any] = {}
    if body is None:
        frontier = checkpoint.frontier
    else:
        parts[3] = None  # the body says it
    try:
        return new_tuple(Packed, (pack_frame(parts), frontier, body))
    except TypeError:  # a name that msgpack has no form for
        return Packed(parts, frontier, body)


def _packed_id(id: str | None) -> bytes | None:
    return None if id is None else pack(id)


def _whole_record(codec: Codec, lane: bytes, id: str, name: str, value: Any) -> bytes:
    return seal(WHOLE, lane + place(id) + _part(name), codec.dumps(value))


def _checkpoint_record(
    codec: Codec, lane: bytes, checkpoint: NewCheckpoint, frame: _Frame
) -> bytes:
    body = body_of(codec, checkpoint.made_at, checkpoint.metadata, checkpoint.frontier)
    where = lane + place(checkpoint.id) + _NO_CHANNEL
    return seal(CHECKPOINT, where, pack_frame((*frame, body)))


def _writes_record(codec: Codec, lane: bytes, task: TaskWrites) -> bytes:
    forms = [form_of(channel, codec.dumps(value)) for channel, value in task.writes]
    where = lane + place(task.checkpoint_id, f"writes:{task.task_id}")
    return seal(WRITES, where, pack_frame(forms))
