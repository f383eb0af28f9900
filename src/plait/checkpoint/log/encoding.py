"""What a commit stores, encoded: new versions of keys, what tasks wrote, and its own facts.

A session remembers what it loaded or committed last: the map from channels to versions, and of
each channel an own shallow copy to take differences against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from operator import is_
from typing import Any, TypeAlias

from ormsgpack import Fragment

from plait.checkpoint.base.port import NewCheckpoint, TaskWrites
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.loans import borrowed, is_outer
from plait.checkpoint.log.looking import LogReading
from plait.checkpoint.log.reader import reads_live
from plait.checkpoint.log.recent import Recent, Written
from plait.checkpoint.log.recording import Outcome, Recorder, Value, body_of
from plait.checkpoint.log.records import Data, form_of, is_list
from plait.checkpoint.log.requests import Drain, Transact
from plait.checkpoint.log.versions import (
    WORTH,
    Encoded,
    ListVersion,
    Unchanged,
    Version,
    beginning,
)
from plait.checkpoint.log.writing import encode_version
from plait.checkpoint.serde import Codec, held_in
from plait.constants import TASKS
from plait.errors import UnregisteredTypeError

Parts: TypeAlias = "list[tuple[str, Data]]"
"""What one task wrote, encoded: (channel, bytes or reference)."""
Merges: TypeAlias = "list[tuple[TaskWrites, Parts]]"
Sent: TypeAlias = "Mapping[int, bytes]"
"""`Send`s that a checkpoint leads to, encoded, by their identity."""
NONE_SENT: Sent = {}
Late: TypeAlias = "tuple[NewCheckpoint, bytes]"
"""A checkpoint whose parent must be read first, and its own facts."""


def outcome_of(task: TaskWrites, parts: Parts) -> Outcome:
    """What a task wrote, as it is stored."""
    return task.checkpoint_id, task.task_id, task.path, [*starmap(form_of, parts)]


class LogEncoding(LogReading):
    """The encoding half of a session: nothing here asks the saver for anything."""

    __slots__ = ("_drain", "_lane", "_lender", "_recorder", "_stored", "_versions", "_written")

    def __init__(
        self,
        thread_id: str,
        ns: str,
        codec: Codec,
        *,
        lender: LogEncoding | None,
        drain: Drain | None,
        recent: Recent | None,
    ) -> None:
        super().__init__(thread_id, ns, codec, recent=recent)
        self._recorder = Recorder(thread_id, ns, codec)
        self._versions: dict[str, Version] = {}
        self._lane: int | None = None
        follows = recent is not None and drain is None and reads_live(codec)
        self._written = Written(recent) if recent is not None and follows else None
        self._stored: bytes | None = None
        """The last checkpoint that is known to be stored."""
        self._drain = drain
        """Makes the rows of appended commits (None: the saver takes none)."""
        self._lender = lender
        """The session of an outer namespace: the claim is its to give back."""

    def _encode(
        self, checkpoint: NewCheckpoint, writes: Sequence[TaskWrites], newest: bool
    ) -> tuple[Transact, Merges, Late | None]:
        """The transaction of a commit, and what must be read before it can be sent."""
        parent, at = self._recorder.parent_key(checkpoint), self._recorder.at
        follows = at.id == parent if at is not None else parent is None
        if at is None or not follows:
            self._versions = {}
        body, sent = self._body_of(checkpoint)
        values, found = self._encode_values(checkpoint)
        outcomes, merges = self._encode_writes(writes, found, sent)
        now = body if follows else None
        batch = self._recorder.batch(checkpoint, now, values, outcomes, newest=newest)
        if self._written is not None:
            self._written.sealed(batch.values)
        return batch, merges, None if follows else (checkpoint, body)

    def _body_of(self, checkpoint: NewCheckpoint) -> tuple[bytes, Sent]:
        """A checkpoint's own facts; and the `Send`s among them, which tasks wrote."""
        metadata, frontier = checkpoint.metadata, checkpoint.frontier
        made_at = checkpoint.made_at
        try:
            if "sends" in frontier and self.codec.embeds:
                sends = frontier["sends"]
                encoded = [*map(self.codec.dumps, sends)]
                around = {**frontier, "sends": [*map(Fragment, encoded)]}
                sent = dict(zip(map(id, sends), encoded, strict=True))
                return body_of(self.codec, made_at, metadata, around), sent
            return body_of(self.codec, made_at, metadata, frontier), NONE_SENT
        except UnregisteredTypeError as error:
            parts = {"The metadata": metadata, "What runs next": frontier}
            raise self._blame(error, parts) from None

    def _blame(
        self, error: UnregisteredTypeError, parts: Mapping[str, Any]
    ) -> UnregisteredTypeError:
        """The same error as the first of `parts` gives it that holds its cause: that says which it
        is, and where in it the cause stands."""
        for holder, value in parts.items():
            try:
                self.codec.dumps(value)
            except UnregisteredTypeError as found:
                return held_in(found, holder, self.thread_id)
        return held_in(error, " or ".join(parts), self.thread_id)

    def stored_list(self, items: list[Any]) -> tuple[str, ListVersion] | None:
        """The channel and version that hold these very items, if it is stored and worth a loan."""
        for channel, version in [*self._versions.items()]:
            if type(version) is not ListVersion or version.size < WORTH:
                continue
            held = version.seen.items
            if len(held) != len(items) or not all(map(is_, held, items)):
                continue
            # In memory, nothing is written late.
            if self._drain is not None or (self._stored is not None and version.id <= self._stored):
                return channel, version
        return None

    def _first(self, value: Any, key: bytes) -> Encoded | None:
        """The first version of a channel, if the graph around this one has stored it."""
        lender = self._lender
        if lender is None or not is_outer(lender.ns, self.ns):
            return None
        return borrowed(self.codec, value, key, lender)

    def _encode_values(
        self, checkpoint: NewCheckpoint
    ) -> tuple[list[Value], dict[str, Encoded | Unchanged]]:
        """The new versions, and by channel what else was found out about the values."""
        versions, codec, written = self._versions, self.codec, self._written
        key = pack(checkpoint.id)
        values: list[Value] = []
        found: dict[str, Encoded | Unchanged] = {}
        for name, value in checkpoint.changed.items():
            old = versions.get(name)
            try:
                encoded = self._first(value, key) if old is None else None
                if encoded is None:
                    encoded = encode_version(codec, old, value, key)
                    if encoded is None:
                        found[name] = Unchanged(value, versions[name].id)
                        continue
                    if written is not None:
                        written.note(self._lane, name, old, encoded)
            except UnregisteredTypeError as error:
                raise self._blame(error, {f"Key {name!r}": value}) from None
            values.append((name, encoded.kind, encoded.payload))
            found[name], versions[name] = encoded, encoded.version
        for name in checkpoint.removed:
            versions.pop(name, None)
        return values, found

    def _encode_writes(
        self, writes: Sequence[TaskWrites], found: Mapping[str, Encoded | Unchanged], sent: Sent
    ) -> tuple[list[Outcome], Merges]:
        """What tasks wrote, encoded; and that for which what is stored must first be read."""
        merges: Merges = []
        outcomes: list[Outcome] = []
        codec = self.codec
        for task in writes:
            parts: Parts = []
            for channel, value in task.writes:
                each, data = found.get(channel), None
                try:
                    if each is not None:
                        data = each.find(value, channel, codec)
                    elif channel == TASKS:
                        data = sent.get(id(value))
                    elif is_list(value):
                        data = beginning(codec, value, channel, self._versions.get(channel))
                    parts.append((channel, codec.dumps(value) if data is None else data))
                except UnregisteredTypeError as error:
                    raise self._blame(error, {f"Key {channel!r}": value}) from None
            if task.merge:
                merges.append((task, parts))
            else:
                outcomes.append(outcome_of(task, parts))
        return outcomes, merges
