"""Short histories: checkpoints of many lanes, decoded together.

Most threads are short: each value lies whole in one record, or grew from such a one by appends.
Then the values of a checkpoint are put together as they are packed, to one map of msgpack, and
those of all checkpoints and lanes are decoded with one call, new objects for each. A lane in which
there is more than that is left to `pages`, which also says what is wrong with a damaged record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, cast

from plait.checkpoint.base import CheckpointTuple
from plait.checkpoint.base.port import Plan, TaskWrites
from plait.checkpoint.log.deferred import Deferred
from plait.checkpoint.log.keys import UUID, UUID_TEXT, unpack, unpack_all
from plait.checkpoint.log.reader import Facts, Frame, LaneReader, changed_map, facts_of, fits
from plait.checkpoint.log.reading import SHORT, appended, piece_of
from plait.checkpoint.log.records import (
    ALL,
    CHECKPOINT,
    LIST_PATCH,
    PUT,
    WHOLE,
    WRITES,
    CheckpointFrame,
    Data,
    Patch,
    Ref,
    read_checkpoints,
    read_patch,
    read_tasks,
)
from plait.checkpoint.log.requests import (
    CheckpointRow,
    ReadValues,
    ReadValuesOf,
    ReadVersions,
    WriteRow,
)
from plait.checkpoint.log.tuples import tuple_of
from plait.checkpoint.serde import Codec, pack_plain, peek, place, unseal_each
from plait.engine.records import given, snapshot_of
from plait.errors import CorruptCheckpointError

_ID = UUID_TEXT.to_bytes(4, "big")
_NO_CHANNEL = place("")
_TASK = place("writes:" + UUID_TEXT * " ")[:-UUID_TEXT]
_NIL = pack_plain(None)
_MAPS = [pack_plain(dict.fromkeys(map(str, range(count))))[:1] for count in range(16)]
"""What comes before the pairs of a map, by their number."""
_Version = tuple[str, bytes]
"""(channel, version)."""
_KIND = 4
"""Where a record says of which kind it is."""


class Asked(NamedTuple):
    """Checkpoints of one lane."""

    reader: LaneReader
    rows: Sequence[tuple[CheckpointRow, Sequence[WriteRow]]]
    """Newest first, each with what its tasks wrote."""
    kept: Mapping[_Version, Any]
    """Records of versions that were read with them."""


class _Long(Exception):
    """There is more in a lane than this file reads."""


class _Texts(dict[bytes, str]):
    """Ids as they are told, by those that are stored."""

    def __missing__(self, key: bytes) -> str:
        text = self[key] = unpack(key)
        return text


class _Entry:
    """One checkpoint."""

    __slots__ = ("facts", "frame", "map", "row", "tasks", "values", "writes")

    facts: Facts
    frame: CheckpointFrame

    def __init__(self, row: CheckpointRow, writes: Sequence[WriteRow]) -> None:
        self.row = row
        self.writes = writes
        self.values: dict[str, Any] | None = None
        """None: they are made of `map`."""
        self.map: Mapping[str, bytes] = {}
        self.tasks: list[tuple[WriteRow, Frame | None]] = []
        """What each of its tasks wrote; None: that was never made bytes."""


class _Lane:
    """One lane, and what is known of its versions."""

    def __init__(self, asked: Asked, texts: _Texts) -> None:
        self.reader = reader = asked.reader
        self._texts = texts
        self.at = reader.place + _ID
        """Where its records live, up to an id."""
        self.entries = [_Entry(row, writes) for row, writes in asked.rows]
        self._records: dict[_Version, Any] = {**asked.kept}
        self._packed: dict[_Version, bytes] = {}
        """Whole values."""
        self._patches: dict[_Version, Patch] = {}
        """What made others of them from those before."""
        self._needed: dict[_Version, None] = {}
        """Those that its checkpoints name."""
        self._live: dict[_Version, Any] = {}
        """Values that were never made bytes."""

    def may_be_short(self) -> bool:
        """Whether all its ids are UUIDs, as those of plait's runs are, and the newest versions that
        were read with it seem short."""
        ids = [entry.row.id for entry in self.entries]
        tasks = [write.task for entry in self.entries for write in entry.writes]
        if not {*map(len, ids), *map(len, tasks)} <= {UUID}:
            return False
        seen: set[str] = set()
        for (channel, _), record in self._records.items():
            if channel not in seen:
                seen.add(channel)
                if not _seems_short(record):
                    return False
        return True

    # --- Finding what the checkpoints hold -------------------------------------------------------

    def look(self) -> ReadValues:
        """Which versions the checkpoints name; what must be read of them, to be `put`."""
        self._set_maps()
        self._needed = self._named()
        records = self._records
        missing = [version for version in self._needed if records.get(version) is None]
        return ReadValues(self.reader.lane, missing, live=True)

    def put(self, asked: ReadValues, found: Sequence[Any]) -> None:
        """Here is what was to be read."""
        self._records.update(zip(asked.keys, found, strict=True))

    def find(self) -> Plan[None]:
        """Open all versions that the checkpoints name, and read those that they grew from."""
        self._open(self._needed)
        if self._patches:
            yield from self._find_behind()
            for version in [*self._patches]:
                self._grow(version)

    def _set_maps(self) -> None:
        """Note of each checkpoint which versions it has."""
        maps: dict[bytes, Mapping[str, bytes]] = {}
        for entry in reversed(self.entries):
            row, frame = entry.row, entry.frame
            if frame.full is not None or entry.values is not None:
                entry.map = maps[row.id] = frame.full or {}
            elif row.parent in maps:
                entry.map = maps[row.id] = changed_map(maps[row.parent], row.id, frame)
            else:
                raise _Long

    def _named(self) -> dict[_Version, None]:
        needed: dict[_Version, None] = {}
        for entry in self.entries:
            if entry.values is None:
                needed.update(dict.fromkeys(entry.map.items()))
            for _, frame in entry.tasks:
                for _, data in frame or ():
                    if type(data) is Ref:
                        needed[data[:2]] = None
        return needed

    def _find_behind(self) -> Plan[None]:
        """Read what lists grew from, as far as that is not known: of each channel at once."""
        spans: dict[str, tuple[bytes, bytes]] = {}
        for (channel, _), patch in self._patches.items():
            if not self._knows((channel, patch.base)):
                first, last = spans.get(channel, (patch.anchor, patch.base))
                spans[channel] = min(first, patch.anchor), max(last, patch.base)
        for channel, (first, last) in spans.items():
            rows = yield ReadVersions(self.reader.lane, channel, first, last)
            found = {(channel, row.id): row.record for row in rows}
            self._records.update(found)
            self._open([version for version in found if not self._knows(version)])

    def _knows(self, version: _Version) -> bool:
        return version in self._packed or version in self._patches

    def _open(self, versions: Iterable[_Version]) -> None:
        """Open the records of some versions."""
        records = self._records
        sealed: dict[int, list[_Version]] = {WHOLE: [], LIST_PATCH: []}
        for version in versions:
            record = records[version]
            if record.__class__ is Deferred:
                self._live[version] = record.holds
                continue
            try:
                sealed[record[_KIND]].append(version)
            except (KeyError, IndexError, TypeError) as error:  # another kind, or damaged
                raise _Long from error
        at, texts = self.at, self._texts
        for kind, some in sealed.items():
            places = [b"".join((at, texts[key].encode(), _place(channel))) for channel, key in some]
            payloads = _unsealed(kind, places, [records[version] for version in some])
            if kind == WHOLE:
                self._packed.update(zip(some, payloads, strict=True))
            else:
                patches = [read_patch(kind, payload) for payload in payloads]
                if any(patch.length > SHORT for patch in patches):
                    raise _Long
                self._patches.update(zip(some, patches, strict=True))

    def _grow(self, version: _Version) -> None:
        """Put a list together from those that it grew from."""
        packed, patches, trail = self._packed, self._patches, list[_Version]()
        channel = version[0]
        while version not in packed:
            if version not in patches or len(trail) > len(patches):
                raise _Long
            trail.append(version)
            version = channel, patches[version].base
        while trail:
            base, version = packed[version], trail.pop()
            grown = appended(base, patches[version])
            if grown is None:
                raise _Long
            packed[version] = grown

    # --- Putting them together -------------------------------------------------------------------

    def parts(self) -> list[bytes]:
        """What is to be decoded, in the order in which `shown` takes it."""
        parts: list[bytes] = []
        pairs = {version: _name(version[0]) + packed for version, packed in self._packed.items()}
        for version in self._live:
            pairs[version] = _name(version[0]) + _NIL
        pair_of = pairs.__getitem__
        for entry in self.entries:
            map_ = entry.map
            if entry.values is None:
                if len(map_) >= len(_MAPS):
                    raise _Long
                parts.append(b"".join((_MAPS[len(map_)], *map(pair_of, map_.items()))))
            for _, frame in entry.tasks:
                if frame is not None:
                    parts += [self._source(data) for _, data in frame]
        return parts

    def _source(self, data: Data) -> bytes:
        """The packed value that a task's write is, or is a piece of."""
        if type(data) is bytes:
            return data
        if type(data) is not Ref or data.length == PUT:
            raise _Long
        version = data[:2]
        if data.length != ALL and version in self._patches:
            return self._patches[version].items
        if version not in self._packed:
            raise _Long
        return self._packed[version]

    def shown(self, values: Iterator[Any]) -> dict[bytes, CheckpointTuple]:
        """The checkpoints by id, of what was decoded."""
        live, place, texts = self._live, (self.reader.thread_id, self.reader.ns), self._texts
        shown: dict[bytes, CheckpointTuple] = {}
        for entry in self.entries:
            row, held, map_ = entry.row, entry.values, entry.map
            if held is None:
                held = next(values)
                for version in live.keys() & map_.items() if live else ():
                    held[version[0]] = given(live[version])
            wrote: list[tuple[str, str, Any]] = []
            for write, frame in entry.tasks:
                task = texts[write.task]
                if frame is None:
                    found = cast("TaskWrites", cast("Any", write.record).holds)
                    wrote += [(task, channel, given(value)) for channel, value in found.writes]
                    continue
                for channel, data in frame:
                    value = next(values)
                    if isinstance(data, Ref):
                        value = piece_of(value, data)
                    wrote.append((task, channel, value))
            parent = None if row.parent is None else texts[row.parent]
            versions = {name: texts[key] for name, key in map_.items()}
            shown[row.id] = tuple_of(
                place, texts[row.id], parent, entry.facts, held, versions, entry.frame.changed,
                wrote,
            )  # fmt: skip
        return shown


def read_short(
    codec: Codec, asked: Sequence[Asked], wanted: Mapping[str, Any]
) -> Plan[list[dict[bytes, CheckpointTuple] | None]]:
    """Of each lane its checkpoints by id; None if there is more in it than this file reads.

    Args:
        codec: Decodes values; parts may be read in place of its bytes (`reads_live`).
        asked: Lanes, and their checkpoints.
        wanted: Only those whose metadata holds these entries.
    """
    texts = _Texts()
    lanes = [_Lane(each, texts) for each in asked]
    shown: dict[_Lane, dict[bytes, CheckpointTuple]] = {}
    try:
        plain = [lane for lane in lanes if lane.may_be_short()]
        _open_checkpoints(codec, plain, texts)
        for lane in plain if wanted else ():
            lane.entries = [each for each in lane.entries if fits(each.facts[1], wanted)]
        _open_tasks(plain, texts)
        plain = yield from _read_missing(plain)
        parts: dict[_Lane, list[bytes]] = {}
        for lane in plain:
            try:
                yield from lane.find()
                parts[lane] = lane.parts()
            except _Long:
                continue
        values = iter(codec.loads_together([*chain.from_iterable(parts.values())]))
        shown = {lane: lane.shown(values) for lane in parts}
    except (_Long, CorruptCheckpointError):
        pass
    return [shown.get(lane) for lane in lanes]


def _read_missing(lanes: Sequence[_Lane]) -> Plan[list[_Lane]]:
    """Read, of all lanes at once, the versions that were not read with the checkpoints.

    Returns:
        The lanes that may still be short.
    """
    short: list[_Lane] = []
    asked: list[tuple[_Lane, ReadValues]] = []
    for lane in lanes:
        try:
            read = lane.look()
        except _Long:
            continue
        short.append(lane)
        if read.keys:
            asked.append((lane, read))
    if asked:
        found = yield ReadValuesOf([read for _, read in asked])
        for (lane, read), records in zip(asked, found, strict=True):
            lane.put(read, records)
    return short


def _open_checkpoints(codec: Codec, lanes: Sequence[_Lane], texts: _Texts) -> None:
    """Note what the records of checkpoints say, but for their values."""
    sealed: list[_Entry] = []
    places: list[bytes] = []
    for lane in lanes:
        ids = [entry.row.id for entry in lane.entries]
        told = unpack_all(ids)
        texts.update(zip(ids, map(bytes.decode, told), strict=True))
        for entry, id in zip(lane.entries, told, strict=True):
            record: Any = entry.row.record
            if type(record) is Deferred:
                made, entry.frame, values = record.holds
                found = snapshot_of((made, values or {}, []))
                entry.facts = found.ts, found.metadata, found.frontier
                entry.values = None if values is None else found.values
            else:
                sealed.append(entry)
                places.append(b"".join((lane.at, id, _NO_CHANNEL)))
    if sealed:
        payloads = _unsealed(CHECKPOINT, places, [entry.row.record for entry in sealed])
        frames = read_checkpoints(payloads)
        bodies = codec.loads_together([frame.body for frame in frames])
        for entry, frame, body in zip(sealed, frames, bodies, strict=True):
            entry.frame, entry.facts = frame, facts_of(body)


def _open_tasks(lanes: Sequence[_Lane], texts: _Texts) -> None:
    """Note what tasks wrote, as it was packed."""
    places: list[bytes] = []
    records: list[bytes] = []
    for lane in lanes:
        for entry in lane.entries:
            for write in entry.writes:
                record: Any = write.record
                if type(record) is not Deferred:
                    names = texts[write.checkpoint], texts[write.task]
                    places.append(b"".join((lane.at, names[0].encode(), _TASK, names[1].encode())))
                    records.append(record)
    frames = iter(read_tasks(_unsealed(WRITES, places, records)))
    for lane in lanes:
        for entry in lane.entries:
            if entry.writes:
                rows = cast("Sequence[Any]", entry.writes)
                entry.tasks = [
                    (row, None if type(row.record) is Deferred else next(frames)) for row in rows
                ]


def _kind_of(record: bytes | None) -> int | None:
    """Which kind a record says that it is."""
    return record[_KIND] if record is not None and len(record) > _KIND else None


def _seems_short(record: Any) -> bool:
    """Whether a value may be short, by its record, which nobody has proved yet."""
    if type(record) is Deferred or _kind_of(record) == WHOLE:
        return True
    try:
        return (
            _kind_of(record) == LIST_PATCH and read_patch(LIST_PATCH, peek(record)).length <= SHORT
        )
    except CorruptCheckpointError:
        return False


def _unsealed(kind: int, places: Sequence[bytes], records: Sequence[bytes]) -> list[bytes]:
    """The payloads of records of one kind."""
    payloads = unseal_each(kind, places, records)
    if None in payloads:
        raise _Long
    return cast("list[bytes]", payloads)


@lru_cache(maxsize=256)
def _place(channel: str) -> bytes:
    return place(channel)


@lru_cache(maxsize=256)
def _name(channel: str) -> bytes:
    """The name of a channel, packed."""
    try:
        return pack_plain(channel)
    except TypeError as error:  # no UTF-8
        raise _Long from error
