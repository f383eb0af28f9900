"""How versions are read back: patches over the whole value or manifest they stand on.

Reading runs no code of users but decoding by the registry, and always builds new objects. What is
read was written by others: every length and place is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.deferred import Deferred
from plait.checkpoint.log.dicts import dict_stamps
from plait.checkpoint.log.lists import splice_runs
from plait.checkpoint.log.recent import LONG, Kept, Recent
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
from plait.checkpoint.serde import Codec, Recipe, proof


class Source(Protocol):
    """What opens the records of a lane."""

    @property
    def lane(self) -> int:
        """The lane."""
        ...

    @property
    def codec(self) -> Codec:
        """Decodes values."""
        ...

    @property
    def recent(self) -> Recent | None:
        """What was read last, if that is kept."""
        ...

    def open_value(self, channel: str, key: bytes, record: bytes | None) -> tuple[int, bytes]:
        """The kind and payload of a version; complains where there is no record."""
        ...

    def open_patches(self, channel: str, rows: Sequence[ValueRow]) -> dict[bytes, bytes]:
        """The payloads of the list patches among some versions."""
        ...


def read_values(
    source: Source, wanted: Mapping[str, bytes], *, track: bool, live: bool = False
) -> Plan[tuple[dict[str, Any], dict[str, Version]]]:
    """Read versions of channels.

    Args:
        source: Opens records.
        wanted: The version of each channel.
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
    codec = source.codec
    keys = list(wanted.items())
    records: list[Any] = yield ReadValues(source.lane, keys, live=live)
    for (channel, key), record in zip(keys, records, strict=True):
        if type(record) is Deferred:
            values[channel], versions[channel] = record.holds, Version(key, key, 0)
            continue
        kind, payload = source.open_value(channel, key, record)
        if kind == WHOLE:
            value = codec.loads(payload)
            version = _whole(key, value, len(payload), codec) if track else None
        elif kind in (LIST_PATCH, MANIFEST):
            value, version = yield from _Reader(source, channel).read_list(
                key, kind, payload, proof(record)
            )
            if track:
                version.seen = Seen(value, codec)
        elif kind == DICT_PATCH:
            value, version = yield from _Reader(source, channel).read_dict(key, payload)
            if track:
                version.data, version.stamps = value.copy(), dict_stamps(codec, value)
        else:
            raise damaged("value")
        values[channel] = value
        if version is not None:
            versions[channel] = version
    return values, versions


def read_items(source: Source, channel: str, key: bytes) -> Plan[Any]:
    """What one record itself holds: the value of a whole one, the new items of a patch."""
    records: list[bytes | None] = yield ReadValues(source.lane, [(channel, key)])
    kind, payload = source.open_value(channel, key, records[0])
    value = source.codec.loads(_packed(kind, payload))
    if kind != WHOLE and not is_list(value):
        raise damaged("list")
    return value


def _packed(kind: int, payload: bytes) -> bytes:
    """The bytes of what a record itself holds."""
    if kind == WHOLE:
        return payload
    if kind == LIST_PATCH:
        return read_list_patch(payload).items
    if kind == MANIFEST:
        return read_manifest(payload).items
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


_Trail: TypeAlias = "list[tuple[bytes, ListPatch]]"
"""Patches, each with the version that it makes."""
_ID_AND_RECORD = itemgetter(1, 2)
"""Of a `ValueRow`."""


class _Base(NamedTuple):
    """What patches of a list stand on."""

    items: list[Any]
    recipes: list[Recipe]
    runs: list[Run]
    size: int
    written: int


class _Reader:
    """Reads one channel's chain of patches."""

    def __init__(self, source: Source, channel: str) -> None:
        self._source = source
        self._lane = source.lane
        self._channel = channel
        self._codec = source.codec
        self._rows: dict[bytes, bytes] = {}
        self._patches: dict[bytes, bytes] = {}
        """Payloads of those rows that are proved to be list patches."""

    def read_list(
        self, key: bytes, kind: int, payload: bytes, proved: bytes
    ) -> Plan[tuple[list[Any], ListVersion]]:
        """A list from its newest record. `proved` tells that from all others."""
        kept = self._kept()
        if kept is not None and kept.id == key and kept.proof == proved:
            items = self._codec.again(kept.recipes)
            seen = Seen([], self._codec)  # whoever goes on from here looks at the items
            runs = kept.runs.copy()
            return items, ListVersion(
                key, kept.anchor, kept.depth, seen, runs, kept.size, kept.written
            )
        trail, kept, (at, kind, payload) = yield from self._walk(key, kind, payload, kept)
        if kept is None:
            base = yield from self._list_base(at, kind, payload)
        else:
            base = _base_of(kept, self._codec)
        anchor, depth = (trail[-1][1].anchor, trail[-1][1].depth) if trail else (key, 0)
        recent = self._source.recent
        if recent is None or (kept is None and len(trail) < LONG):
            inserted = self._codec.loads_all([patch.items for _, patch in trail])
            items, runs, size, written = _patched(base.items, base, trail, inserted)
        else:
            makers = {} if kept is None else kept.makers.copy()
            inserted = self._codec.remember([patch.items for _, patch in trail], makers)
            pairs = list(zip(base.items, base.recipes, strict=True))
            pairs, runs, size, written = _patched(pairs, base, trail, inserted)
            items, recipes = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            kept = Kept(key, proved, anchor, depth, recipes, makers, runs.copy(), size, written)
            recent.keep(self._lane, self._channel, kept)
        return items, ListVersion(key, anchor, depth, Seen([], self._codec), runs, size, written)

    def _kept(self) -> Kept | None:
        """What was read last of this channel, if this codec makes the same of it."""
        recent = self._source.recent
        kept = None if recent is None else recent.find(self._lane, self._channel)
        return kept if kept is not None and self._codec.agrees(kept.makers) else None

    def _walk(
        self, key: bytes, kind: int, payload: bytes, kept: Kept | None
    ) -> Plan[tuple[_Trail, Kept | None, tuple[bytes, int, bytes]]]:
        """The patches behind a list, oldest first, and what they stand on: `kept`, or a record."""
        trail: _Trail = []
        at = key
        while kind == LIST_PATCH:
            patch = read_list_patch(payload)
            if trail and trail[-1][1].depth != patch.depth + 1:
                raise damaged("list")
            if not trail:
                kept = yield from self._fetch_behind(patch, kept)
            trail.append((at, patch))
            at = patch.base
            if kept is not None and at <= kept.id:
                if at == kept.id and patch.depth == kept.depth + 1:
                    break
                kept = None  # a fork that went off before
                yield from self._fetch_range(patch.anchor, at)
            known = self._patches.get(at)
            if known is None:
                kind, payload = yield from self._record(at)
            else:
                payload = known
        else:
            kept = None
        trail.reverse()
        return trail, kept, (at, kind, payload)

    def _fetch_behind(self, patch: ListPatch, kept: Kept | None) -> Plan[Kept | None]:
        """Fetch the records behind the newest: those since `kept`, if that is among them."""
        if kept is not None and kept.anchor == patch.anchor and kept.id <= patch.base:
            yield from self._fetch_range(kept.id, patch.base)
            record = self._rows.get(kept.id)
            if record is not None and proof(record) == kept.proof:
                return kept
        yield from self._fetch_range(patch.anchor, patch.base)
        return None

    def _list_base(self, key: bytes, kind: int, payload: bytes) -> Plan[_Base]:
        if kind == WHOLE:
            items = _items(payload, self._codec)
            recipes = [(payload, place) for place in range(len(items))]
            runs = [(key, 0, len(items))] if items else []
            return _Base(items, recipes, runs, len(payload), len(payload))
        if kind != MANIFEST:
            raise damaged("list")
        manifest = read_manifest(payload)
        yield from self._fetch(run[0] for run in manifest.runs)
        held: dict[bytes, list[Any]] = {}
        parts: dict[bytes, bytes] = {}
        sizes: dict[bytes, int] = {}
        items: list[Any] = []
        recipes: list[Recipe] = []
        size = 0
        for version, start, count in manifest.runs:
            if version not in held:
                record_kind, data = (
                    (kind, payload) if version == key else (yield from self._record(version))
                )
                parts[version] = _packed(record_kind, data)
                held[version] = _items(parts[version], self._codec)
                sizes[version] = len(data)
            pool = held[version]
            if start + count > len(pool):
                raise damaged("list")
            items += pool[start : start + count]
            recipes += [(parts[version], place) for place in range(start, start + count)]
            size += sizes[version] * count // max(1, len(pool))
        if len(items) != manifest.length:
            raise damaged("list")
        return _Base(items, recipes, manifest.runs, size, sum(sizes.values()))

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
        return self._source.open_value(self._channel, key, record)

    def _fetch_range(self, first: bytes, last: bytes) -> Plan[None]:
        rows: list[ValueRow] = yield ReadVersions(self._lane, self._channel, first, last)
        self._rows.update(map(_ID_AND_RECORD, rows))
        self._patches.update(self._source.open_patches(self._channel, rows))

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


def _base_of(kept: Kept, codec: Codec) -> _Base:
    items = codec.again(kept.recipes)
    return _Base(items, kept.recipes, kept.runs.copy(), kept.size, kept.written)


def _patched(
    items: list[Any], base: _Base, trail: _Trail, inserted: Sequence[Any]
) -> tuple[list[Any], list[Run], int, int]:
    """Apply patches to items (or to these and their recipes): also runs, size, bytes written."""
    _, _, runs, size, written = base
    for (version, patch), fresh in zip(trail, inserted, strict=True):
        if not is_list(fresh):
            raise damaged("list")
        size += len(patch.items)
        written += len(patch.items)
        runs, lost = _apply(items, runs, patch, fresh, version)
        if lost:
            size -= size * lost // (len(items) + lost)
    return items, runs, size, written


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
