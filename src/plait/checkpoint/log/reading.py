"""How versions are read back: patches over the whole value or manifest they stand on.

Reading runs no code of users but decoding by the registry, and always builds new objects. What is
read was written by others: every length and place is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.deferred import Deferred
from plait.checkpoint.log.dicts import dict_stamps
from plait.checkpoint.log.lists import splice_runs
from plait.checkpoint.log.records import (
    DICT_PATCH,
    LIST_PATCH,
    MANIFEST,
    WHOLE,
    DictPatch,
    ListPatch,
    damaged,
    is_dict,
    is_list,
    read_dict_patch,
    read_list_patch,
    read_manifest,
)
from plait.checkpoint.log.requests import ReadValues, ReadVersions, ValueRow
from plait.checkpoint.log.seen import Seen
from plait.checkpoint.log.versions import DictVersion, ListVersion, Run, Version
from plait.checkpoint.serde import Codec

Open: TypeAlias = Callable[[str, bytes, bytes | None], tuple[int, bytes]]
"""Opens the record of (channel, version); complains where there is none."""


def read_values(
    open: Open,
    lane: int,
    wanted: Mapping[str, bytes],
    codec: Codec,
    *,
    track: bool,
    live: bool = False,
) -> Plan[tuple[dict[str, Any], dict[str, Version]]]:
    """Read versions of channels.

    Args:
        open: Opens a record.
        lane: The lane.
        wanted: The version of each channel.
        codec: Decodes values.
        track: Whether later versions will be written against these.
        live: Whether values that were never made bytes may be taken as they are.

    Returns:
        The values, and (if tracked) what a session remembers of them.

    Raises:
        CorruptCheckpointError: A record is missing, damaged, or not what it should be.
    """
    values: dict[str, Any] = {}
    versions: dict[str, Version] = {}
    if not wanted:
        return values, versions
    keys = list(wanted.items())
    records: list[Any] = yield ReadValues(lane, keys, live=live)
    for (channel, key), record in zip(keys, records, strict=True):
        if type(record) is Deferred:
            values[channel], versions[channel] = record.holds, Version(key, key, 0)
            continue
        kind, payload = open(channel, key, record)
        reader = _Reader(open, lane, channel, codec)
        if kind == WHOLE:
            value = codec.loads(payload)
            version = _whole(key, value, len(payload), codec) if track else None
        elif kind in (LIST_PATCH, MANIFEST):
            value, version = yield from reader.read_list(key, kind, payload)
            if track:
                version.seen = Seen(value, codec)
        elif kind == DICT_PATCH:
            value, version = yield from reader.read_dict(key, payload)
            if track:
                version.data, version.stamps = value.copy(), dict_stamps(codec, value)
        else:
            raise damaged("value")
        values[channel] = value
        if version is not None:
            versions[channel] = version
    return values, versions


def read_items(open: Open, lane: int, channel: str, key: bytes, codec: Codec) -> Plan[Any]:
    """What one record itself holds: the value of a whole one, the new items of a patch."""
    records: list[bytes | None] = yield ReadValues(lane, [(channel, key)])
    return _held(*open(channel, key, records[0]), codec)


def _held(kind: int, payload: bytes, codec: Codec) -> Any:
    if kind == WHOLE:
        return codec.loads(payload)
    if kind == LIST_PATCH:
        return _items(read_list_patch(payload).items, codec)
    if kind == MANIFEST:
        return _items(read_manifest(payload).items, codec)
    raise damaged("value")


def _items(data: bytes, codec: Codec) -> list[Any]:
    items = codec.loads(data)
    if not is_list(items):
        raise damaged("list")
    return items


def _whole(key: bytes, value: Any, size: int, codec: Codec) -> Version:
    if is_list(value):
        runs = [(key, 0, len(value))] if value else []
        return ListVersion(key, key, 0, Seen(value, codec), runs, size, size)
    if is_dict(value):
        return DictVersion(key, key, 0, value.copy(), dict_stamps(codec, value), size, size)
    return Version(key, key, 0)


class _Reader:
    """Reads one channel's chain of patches."""

    def __init__(self, open: Open, lane: int, channel: str, codec: Codec) -> None:
        self._open = open
        self._lane = lane
        self._channel = channel
        self._codec = codec
        self._rows: dict[bytes, bytes] = {}

    def read_list(
        self, key: bytes, kind: int, payload: bytes
    ) -> Plan[tuple[list[Any], ListVersion]]:
        """A list from its newest record."""
        trail: list[tuple[bytes, ListPatch]] = []
        at = key
        while kind == LIST_PATCH:
            patch = read_list_patch(payload)
            if trail and trail[-1][1].depth != patch.depth + 1:
                raise damaged("list")
            if not trail:
                yield from self._fetch_range(patch.anchor, key)
            trail.append((at, patch))
            at = patch.base
            kind, payload = yield from self._record(at)
        items, runs, size, written = yield from self._list_base(at, kind, payload)
        trail.reverse()
        inserted = self._codec.loads_all([patch.items for _, patch in trail])
        for (version, patch), fresh in zip(trail, inserted, strict=True):
            if not is_list(fresh):
                raise damaged("list")
            size += len(patch.items)
            written += len(patch.items)
            runs, lost = _apply(items, runs, patch, fresh, version)
            if lost:
                size -= size * lost // (len(items) + lost)
        anchor, depth = (trail[-1][1].anchor, trail[-1][1].depth) if trail else (key, 0)
        seen = Seen([], self._codec)  # whoever goes on from here looks at the items
        return items, ListVersion(key, anchor, depth, seen, runs, size, written)

    def _list_base(
        self, key: bytes, kind: int, payload: bytes
    ) -> Plan[tuple[list[Any], list[Run], int, int]]:
        if kind == WHOLE:
            items = _items(payload, self._codec)
            runs = [(key, 0, len(items))] if items else []
            return items, runs, len(payload), len(payload)
        if kind != MANIFEST:
            raise damaged("list")
        manifest = read_manifest(payload)
        yield from self._fetch(run[0] for run in manifest.runs)
        held: dict[bytes, list[Any]] = {}
        sizes: dict[bytes, int] = {}
        items: list[Any] = []
        size = 0
        for version, start, count in manifest.runs:
            if version not in held:
                record_kind, data = (
                    (kind, payload) if version == key else (yield from self._record(version))
                )
                held[version] = _list_held(record_kind, data, self._codec)
                sizes[version] = len(data)
            pool = held[version]
            if start + count > len(pool):
                raise damaged("list")
            items += pool[start : start + count]
            size += sizes[version] * count // max(1, len(pool))
        if len(items) != manifest.length:
            raise damaged("list")
        return items, manifest.runs, size, sum(sizes.values())

    def read_dict(self, key: bytes, payload: bytes) -> Plan[tuple[dict[Any, Any], DictVersion]]:
        """A dict from its newest record, a patch."""
        trail: list[DictPatch] = []
        kind = DICT_PATCH
        at = key
        while kind == DICT_PATCH:
            patch = read_dict_patch(payload)
            if trail and trail[-1].depth != patch.depth + 1:
                raise damaged("dict")
            if not trail:
                yield from self._fetch_range(patch.anchor, key)
            trail.append(patch)
            at = patch.base
            kind, payload = yield from self._record(at)
        value = self._codec.loads(payload) if kind == WHOLE else None
        if not is_dict(value):
            raise damaged("dict")
        written = len(payload)
        for patch in reversed(trail):
            _apply_keys(value, patch, self._codec)
            written += len(patch.body)
        newest = trail[0]
        size = max(len(payload), written // 3)
        return value, DictVersion(key, newest.anchor, newest.depth, {}, {}, size, written)

    def _record(self, key: bytes) -> Plan[tuple[int, bytes]]:
        record = self._rows.get(key)
        if record is None:
            records: list[bytes | None] = yield ReadValues(self._lane, [(self._channel, key)])
            record = records[0]
        return self._open(self._channel, key, record)

    def _fetch_range(self, first: bytes, last: bytes) -> Plan[None]:
        rows: list[ValueRow] = yield ReadVersions(self._lane, self._channel, first, last)
        self._rows.update((row.id, row.record) for row in rows)

    def _fetch(self, keys: Iterable[bytes]) -> Plan[None]:
        missing = [key for key in dict.fromkeys(keys) if key not in self._rows]
        if missing:
            channel = self._channel
            records: list[bytes | None] = yield ReadValues(
                self._lane, [(channel, key) for key in missing]
            )
            for key, record in zip(missing, records, strict=True):
                if record is not None:
                    self._rows[key] = record


def _list_held(kind: int, payload: bytes, codec: Codec) -> list[Any]:
    held = _held(kind, payload, codec)
    if not is_list(held):
        raise damaged("list")
    return held


def _apply(
    items: list[Any], runs: list[Run], patch: ListPatch, inserted: list[Any], version: bytes
) -> tuple[list[Run], int]:
    """Apply a patch to items in place. Returns the new runs and how many items were lost."""
    rows = patch.splices
    if len(rows) == 1 and rows[0][0] == len(items) and rows[0][1] == 0:  # an append
        items += inserted
        runs.append((version, 0, len(inserted)))
        lost = 0
    else:
        position = 0
        for start, deleted, _ in rows:
            if start < position or start + deleted > len(items):
                raise damaged("list")
            position = start + deleted
        if sum(row[2] for row in rows) != len(inserted):
            raise damaged("list")
        runs = splice_runs(runs, rows, version)
        end = len(inserted)
        for start, deleted, count in reversed(rows):  # from the back, so that places stay true
            items[start : start + deleted] = inserted[end - count : end]
            end -= count
        lost = sum(row[1] for row in rows)
    if len(items) != patch.length:
        raise damaged("list")
    return runs, lost


def _apply_keys(value: dict[Any, Any], patch: DictPatch, codec: Codec) -> None:
    body = codec.loads(patch.body)
    if not is_list(body) or len(body) != 2:
        raise damaged("dict")
    gone, put = body
    if not is_list(gone) or not is_dict(put):
        raise damaged("dict")
    for name in gone:
        value.pop(name, None)
    value.update(put)
    if len(value) != patch.length:
        raise damaged("dict")
