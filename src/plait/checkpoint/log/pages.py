"""Reading many checkpoints of a lane together: neighbours share versions and maps.

A page is read with three requests: its checkpoints, the versions that no page before it has read,
and the writes of its tasks. What can change is decoded anew for each snapshot, so that no two of
them share a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from plait.checkpoint.base.port import Live, Plan, Stored
from plait.checkpoint.log.deferred import FIXED, Deferred
from plait.checkpoint.log.lines import Lines
from plait.checkpoint.log.reader import LaneReader, all_live, changed_map, changed_values, fits
from plait.checkpoint.log.reading import piece_of, whole_of
from plait.checkpoint.log.records import ALL, BORROWED, WHOLE, CheckpointFrame, Ref, ref_of
from plait.checkpoint.log.requests import (
    CheckpointRow,
    ReadCheckpoints,
    ReadPage,
    ReadValues,
    ReadWrites,
    WriteRow,
)

_Version = tuple[str, bytes]
"""(channel, version)."""
_Map = Mapping[str, bytes]
"""Channel to version."""
_Rows: TypeAlias = "Sequence[tuple[CheckpointRow, Sequence[WriteRow] | None]]"
"""Checkpoints, and what their tasks wrote if that was read with them."""


class PageReader:
    """Reads the pages of one lane, newest first."""

    def __init__(self, reader: LaneReader, *, in_memory: bool = False) -> None:
        self.lane = reader.lane
        self._in_memory = in_memory
        """Whether the saver answers `ReadPage`."""
        self._reader = reader
        self._fixed: dict[_Version, Any] = {}
        """Values that cannot change: one object does for all snapshots."""
        self._packed: dict[_Version, bytes] = {}
        """The bytes of whole values that can."""
        self._patches: dict[_Version, tuple[int, bytes]] = {}
        """Kind and payload of lists and dicts that stand on other versions."""
        self._lines = Lines(reader)
        self._wholes: dict[_Version, tuple[Any] | None] = {}
        """The values that writes of this page are, as soon as they are read."""

    def rows(self, before: bytes | None, size: int) -> Plan[_Rows]:
        """Up to `size` checkpoints below `before`, newest first, with task writes or None."""
        live = self._reader.live
        if self._in_memory:
            return (yield ReadPage(self.lane, before, size, live))
        rows: list[CheckpointRow] = yield ReadCheckpoints(
            self.lane, before=before, limit=size, newest_first=True, live=live
        )
        return [(row, None) for row in rows]

    def read(self, rows: _Rows, wanted: Mapping[str, Any], most: int | None) -> Plan[list[Stored]]:
        """Checkpoints that follow each other, whole.

        Args:
            rows: as `rows` gave them.
            wanted: only those whose metadata holds these entries.
            most: at most so many.
        """
        found: dict[bytes, Stored] = {}
        later: dict[bytes, CheckpointFrame] = {}
        waiting: list[WriteRow] = []
        for row, writes in rows:
            stored = None if writes is None else all_live(row, writes)
            if stored is None:
                stored = self._opened(row, later)
                waiting += writes or ()
            found[row[0]] = stored
        maps = (yield from self._maps([row for row, _ in rows], later)) if later else {}
        if wanted:
            found = {id: each for id, each in found.items() if fits(each.metadata, wanted)}
        for id in [*found][most:] if most is not None else ():
            del found[id]
        if not self._in_memory:
            waiting = yield from self._read_writes(found, whole=len(found) == len(rows))
        opened = self._reader.open_writes(waiting, found)
        self._wholes = {
            (ref.channel, ref.version): None
            for _, frame in opened
            for ref in [ref_of(data) for _, data in frame or ()]
            if ref is not None and ref.length == ALL
        }
        yield from self._read_values(found, maps)
        yield from self._reader.add_writes(opened, found, self._piece)
        return [*found.values()]

    def _opened(self, row: CheckpointRow, later: dict[bytes, CheckpointFrame]) -> Stored:
        """A checkpoint without its writes. If its values must be read, its frame is in `later`."""
        record: Any = row.record
        if type(record) is not Deferred:
            later[row.id] = frame = self._reader.open_checkpoint(row)
            return self._reader.sealed(row, frame, {})
        checkpoint, frame = record.holds
        values = changed_values(checkpoint, frame)
        if values is None:
            later[row.id], values = frame, {}
        return Live(checkpoint, values, [])

    def _maps(
        self, rows: Sequence[CheckpointRow], later: Mapping[bytes, CheckpointFrame]
    ) -> Plan[dict[bytes, _Map]]:
        """The map of each checkpoint of `later`: most often its parent's, with what changed."""
        known: dict[bytes, _Map] = {}
        for row in reversed(rows):
            frame = later.get(row.id) or self._reader.open_checkpoint(row)
            before = None if row.parent is None else known.get(row.parent)
            if frame.full is not None:
                known[row.id] = frame.full
            elif before is None:
                known[row.id] = (yield from self._reader.resolve(row, frame)).map
            else:
                known[row.id] = changed_map(before, row.id, frame)
        return {id: known[id] for id in later}

    def _read_values(self, found: Mapping[bytes, Stored], maps: Mapping[bytes, _Map]) -> Plan[None]:
        """Read the values of those checkpoints of which there is a map."""
        missing = [(found[id], map) for id, map in maps.items() if id in found]
        yield from self._read_versions([map for _, map in missing])
        for stored, map in missing:
            stored.values.update((yield from self._values(map)))

    def _read_versions(self, maps: Sequence[_Map]) -> Plan[None]:
        """Read the versions that the page before has not: into those that stay, and others."""
        fixed, packed, lines = self._fixed, self._packed, self._lines
        if not maps:
            return
        needed = list(dict.fromkeys(version for map in maps for version in map.items()))
        self._fixed = {version: fixed[version] for version in needed if version in fixed}
        self._packed = {version: packed[version] for version in needed if version in packed}
        missing = [
            version
            for version in needed
            if version not in fixed and version not in packed and not lines.knows(*version)
        ]
        if not missing:
            return
        reader = self._reader
        records: list[Any] = yield ReadValues(self.lane, missing, live=reader.live)
        for version, record in zip(missing, records, strict=True):
            if type(record) is Deferred:
                if type(record.holds) in FIXED:
                    self._fixed[version] = record.holds
                else:
                    self._packed[version] = reader.codec.dumps(record.holds)
                continue
            kind, payload = reader.open_value(*version, record)
            if kind == BORROWED:
                kind, payload = WHOLE, (yield from whole_of(reader, payload))
            if kind != WHOLE:
                self._patches[version] = kind, payload
                continue
            value = reader.codec.loads(payload)
            if type(value) in FIXED:
                self._fixed[version] = value
            else:
                self._packed[version] = payload

    def _values(self, map: _Map) -> Plan[dict[str, Any]]:
        """The values of one checkpoint."""
        fixed, packed = self._fixed, self._packed
        values: dict[str, Any] = {}
        for version in map.items():
            channel = version[0]
            if version in fixed:
                values[channel] = fixed[version]
            elif version in packed:
                values[channel] = self._reader.codec.loads(packed[version])
            else:
                patch = self._patches.pop(version, None)
                values[channel] = yield from self._lines.read(*version, patch)
                if self._wholes.get(version, ()) is None:  # wanted, and not made yet
                    self._wholes[version] = ((yield from self._lines.read(*version, None)),)
        return values

    def _piece(self, ref: Ref) -> tuple[Any] | None:
        """What a task's write refers to, where this page has read it."""
        version = ref.channel, ref.version
        if version in self._fixed:
            return (piece_of(self._fixed[version], ref),)
        if version in self._packed:
            return (piece_of(self._reader.codec.loads(self._packed[version]), ref),)
        if ref.length == ALL:
            return self._wholes.pop(version, None)
        return self._lines.piece(ref)

    def _read_writes(self, found: dict[bytes, Stored], *, whole: bool) -> Plan[list[WriteRow]]:
        """Read what tasks wrote. `whole`: nothing lies between the checkpoints that was not asked
        for, which may be much."""
        if not found:
            return []
        live = self._reader.live
        newest, oldest = next(iter(found)), next(reversed(found))
        if whole:
            requests = [ReadWrites(self.lane, oldest, newest, live=live)]
        else:
            requests = [ReadWrites(self.lane, id, live=live) for id in found]
        rows: list[WriteRow] = []
        for request in requests:
            rows += yield request
        return rows
