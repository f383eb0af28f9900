"""Reading many checkpoints of a lane together: neighbours share versions and maps.

A page is read with three requests: its checkpoints, the versions that no page before it has read,
and the writes of its tasks. What can change is decoded anew for each snapshot, so that no two of
them share a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plait.checkpoint.base.port import Plan, Snapshot
from plait.checkpoint.log.deferred import FIXED, Deferred
from plait.checkpoint.log.reader import (
    Facts,
    LaneReader,
    TaskIdWrites,
    changed_map,
    fits,
    live_writes,
    own_values,
)
from plait.checkpoint.log.reading import read_values
from plait.checkpoint.log.records import WHOLE, CheckpointFrame
from plait.checkpoint.log.requests import (
    CheckpointRow,
    ReadCheckpoints,
    ReadValues,
    ReadWrites,
    WriteRow,
)

_Version = tuple[str, bytes]
"""(channel, version)."""
_Map = Mapping[str, bytes]
"""Channel to version."""
_Found = tuple[CheckpointRow, Facts, _Map]


class PageReader:
    """Reads the pages of one lane, newest first."""

    def __init__(self, reader: LaneReader) -> None:
        self.lane = reader.lane
        self._reader = reader
        self._fixed: dict[_Version, Any] = {}
        """Values that cannot change: one object does for all snapshots."""
        self._packed: dict[_Version, bytes] = {}
        """The bytes of whole values that can."""

    def rows(self, before: bytes | None, size: int) -> Plan[list[CheckpointRow]]:
        """Up to `size` checkpoints below `before`."""
        return (
            yield ReadCheckpoints(
                self.lane, before=before, limit=size, newest_first=True, live=self._reader.live
            )
        )

    def read(
        self, rows: Sequence[CheckpointRow], wanted: Mapping[str, Any], most: int | None
    ) -> Plan[list[Snapshot]]:
        """Checkpoints that follow each other, whole.

        Args:
            rows: newest first.
            wanted: only those whose metadata holds these entries.
            most: at most so many.
        """
        if not rows:
            return []
        reader = self._reader
        frames = [reader.open_checkpoint(row) for row in rows]
        maps = yield from self._maps(rows, frames)
        found: list[_Found] = []
        for row, frame, map in zip(rows, frames, maps, strict=True):
            facts = reader.facts(row, frame)
            if not wanted or fits(facts[1], wanted):
                found.append((row, facts, map))
        if most is not None:
            del found[most:]
        whole = [own_values(row, map) for row, _, map in found]
        others = [map for (_, _, map), own in zip(found, whole, strict=True) if own is None]
        yield from self._read_versions(others)
        writes = yield from self._writes(found, whole=len(found) == len(rows))
        page: list[Snapshot] = []
        for (row, (ts, metadata, frontier), map), own in zip(found, whole, strict=True):
            values = (yield from self._values(map)) if own is None else own
            written: TaskIdWrites = []
            ids: dict[str, str] = {}
            for write in writes.get(row.id, ()):
                if not live_writes(write, written, ids):
                    yield from reader.open_writes(write, written)
            id, parent = reader.ids(row)
            snapshot = Snapshot(id, parent, ts, metadata, frontier, values, written, None, ids)
            page.append(snapshot)
        return page

    def _maps(
        self, rows: Sequence[CheckpointRow], frames: Sequence[CheckpointFrame]
    ) -> Plan[list[_Map]]:
        """The map of each checkpoint: most often its parent's, with what changed."""
        known: dict[bytes, _Map] = {}
        for row, frame in zip(reversed(rows), reversed(frames), strict=True):
            before = None if row.parent is None else known.get(row.parent)
            if frame.full is not None:
                known[row.id] = frame.full
            elif before is None:
                known[row.id] = (yield from self._reader.resolve(row, frame)).map
            else:
                known[row.id] = changed_map(before, row.id, frame)
        return [known[row.id] for row in rows]

    def _read_versions(self, maps: Sequence[_Map]) -> Plan[None]:
        """Read the versions that the page before has not: into those that stay, and others."""
        fixed, packed = self._fixed, self._packed
        if not maps:
            return
        needed = list(dict.fromkeys(version for map in maps for version in map.items()))
        self._fixed = {version: fixed[version] for version in needed if version in fixed}
        self._packed = {version: packed[version] for version in needed if version in packed}
        missing = [v for v in needed if v not in self._fixed and v not in self._packed]
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
            value = reader.codec.loads(payload) if kind == WHOLE else self
            if type(value) in FIXED:
                self._fixed[version] = value
            elif kind == WHOLE:
                self._packed[version] = payload

    def _values(self, map: _Map) -> Plan[dict[str, Any]]:
        """The values of one checkpoint."""
        fixed, packed, reader = self._fixed, self._packed, self._reader
        values: dict[str, Any] = {}
        patched: dict[str, bytes] = {}
        for version in map.items():
            channel = version[0]
            if version in fixed:
                values[channel] = fixed[version]
            elif version in packed:
                values[channel] = reader.codec.loads(packed[version])
            else:
                values[channel] = None  # its place; the value follows
                patched[channel] = version[1]
        if patched:
            read = read_values(reader, patched, track=False)
            values.update((yield from read)[0])
        return values

    def _writes(self, found: Sequence[_Found], *, whole: bool) -> Plan[dict[bytes, list[WriteRow]]]:
        """The rows of what tasks wrote, by checkpoint."""
        live = self._reader.live
        by_checkpoint: dict[bytes, list[WriteRow]] = {}
        if whole:
            first, last = found[-1][0].id, found[0][0].id
            rows: list[WriteRow] = yield ReadWrites(self.lane, first, last, live=live)
            for row in rows:
                by_checkpoint.setdefault(row.checkpoint, []).append(row)
        else:  # what lies between those that are wanted may be much
            for checkpoint, _, _ in found:
                by_checkpoint[checkpoint.id] = yield ReadWrites(self.lane, checkpoint.id, live=live)
        return by_checkpoint
