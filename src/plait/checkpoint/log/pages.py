"""Reading many checkpoints of a lane together: neighbours share versions and maps.

A page is read with three requests: its checkpoints, the versions that no page before it has read,
and the writes of its tasks. What can change is decoded anew for each snapshot, so that no two of
them share a list.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, cast

from plait.checkpoint.base.port import Plan, Stored
from plait.checkpoint.log.deferred import FIXED, Deferred
from plait.checkpoint.log.keys import texts_of, unpack
from plait.checkpoint.log.lines import Lines
from plait.checkpoint.log.opening import open_checkpoints, open_tasks
from plait.checkpoint.log.reader import (
    Facts,
    LaneReader,
    Opened,
    changed_map,
    first_lives,
    fits,
    live_tasks,
)
from plait.checkpoint.log.reading import SHORT, appended, piece_of, whole_of
from plait.checkpoint.log.records import (
    ALL,
    BORROWED,
    LIST_PATCH,
    WHOLE,
    CheckpointFrame,
    Ref,
    read_patch,
)
from plait.checkpoint.log.requests import (
    CheckpointRow,
    Page,
    ReadPages,
    ReadValues,
    ValueRow,
    WriteRow,
)
from plait.checkpoint.serde import Codec, held_in, pack_plain, proof
from plait.engine.records import NewCheckpoint, Unmade, metadata_of, unread, values_of
from plait.errors import CorruptCheckpointError, UnregisteredTypeError

_Version = tuple[str, bytes]
"""(channel, version)."""
_Map = Mapping[str, bytes]
"""Channel to version."""
_FEW = 32
"""So many versions of a list are read one by one, if the newest is known; of more, all that lies
behind them together."""
_LOOSE: Any = object()
"""In the place of a value that can change, until it is made."""
Rows: TypeAlias = "Sequence[tuple[CheckpointRow, Sequence[WriteRow]]]"
"""Checkpoints, and what their tasks wrote."""


class Place(NamedTuple):
    """Where the values of a checkpoint are."""

    map: _Map
    before: bytes | None
    """The checkpoint of the same page that has all of it but what changed; None: there is none."""
    frame: CheckpointFrame


class PageReader:
    """Reads the pages of one lane, newest first."""

    def __init__(self, reader: LaneReader, *, placed: bool = False) -> None:
        self.lane = reader.lane
        self._placed = placed
        """Whether `places` is asked for."""
        self._reader = reader
        self._fixed: dict[_Version, Any] = {}
        """Values that cannot change: one object does for all snapshots."""
        self._packed: dict[_Version, bytes] = {}
        """The bytes of whole values that can."""
        self._kept: Mapping[_Version, Any] = {}
        """Records that were read with the checkpoints of this page."""
        self._made: dict[_Version, Any] = {}
        """Values of these bytes that nobody has yet: each is for one snapshot."""
        self._brought: dict[_Version, bytes] = {}
        """Of lists that were put together, the items that a version brought, packed."""
        self._sealed: dict[_Version, bytes] = {}
        """Records of this page that are not opened yet: most of them, the lines will not need."""
        self._opened: dict[_Version, tuple[int, bytes]] = {}
        """Those that it will, one after the other: kind and payload."""
        self._few: set[str] = set()
        """Channels of which this page has few versions."""
        self._lines = Lines(reader)
        self.places: Mapping[bytes, Place] = {}
        """Of checkpoints of the last page that were not read live with a full map, where their
        values are."""
        self._unmade: dict[_Version, Unmade] = {}
        """Lists and dicts that were read and are made when somebody looks at them."""

    def rows(self, before: bytes | None, size: int, wanted: Mapping[str, Any]) -> Plan[Rows]:
        """Up to `size` checkpoints below `before`, newest first.

        `wanted`: only those whose metadata may hold these entries.
        """
        live = self._reader.live
        trace = trace_of(wanted) if wanted and live else None
        pages: list[Page] = yield ReadPages([(self.lane, before)], size, live, trace)
        self._kept = pages[0].kept
        return pages[0].rows

    def read(
        self, rows: Rows, wanted: Mapping[str, Any], most: int | None,
        kept: Mapping[_Version, Any] | None = None,
    ) -> Plan[list[Stored]]:  # fmt: skip
        """Checkpoints that follow each other, whole.

        Args:
            rows: as `rows` gave them.
            wanted: only those whose metadata holds these entries.
            most: at most so many.
            kept: what was read beside rows that others read.
        """
        if kept is not None:
            self._kept = kept
        self.places = {}
        lives = [] if wanted else first_lives(rows)
        rows = rows[len(lives) :]
        if not rows:
            return [*lives[:most]]
        if most is not None:
            most = max(0, most - len(lives))
        if not (wanted or self._placed) and _are_live_in_turn(rows):
            base = yield from self.read(rows[-1:], wanted, None)
            grown = _grown(rows[:-1], base[0])
            if grown is not None:
                return [*lives, *grown[:most]]
        if wanted:
            rows = that_may_hold(rows, wanted, traces_of(wanted)) if self._reader.live else rows
        found, later, waiting = self._open_rows(rows)
        if wanted:
            found = {id: each for id, each in found.items() if fits(metadata_of(each), wanted)}
        for id in [*found][most:] if most is not None else ():
            del found[id]
        later = {id: frame for id, frame in later.items() if id in found}
        maps = (yield from self._maps([row for row, _ in rows], later)) if later else {}
        self.places = maps
        opened = self._open_writes(waiting, found)
        yield from self._read_values(found, maps)
        yield from self._reader.add_writes(opened, found, self._piece)
        return [*lives, *found.values()]

    def _open_rows(
        self, rows: Rows
    ) -> tuple[dict[bytes, Stored], dict[bytes, CheckpointFrame], list[WriteRow]]:
        """Checkpoints as far as their own rows tell them.

        Returns:
            The checkpoints; the frames of those whose values are still to be read; and the writes
            that are not opened yet.
        """
        found: dict[bytes, Stored] = {}
        later: dict[bytes, CheckpointFrame] = {}
        waiting: list[WriteRow] = []
        sealed = [row for row, _ in rows if type(cast("Any", row.record)) is not Deferred]
        frames = iter(open_checkpoints(self._reader, sealed) if sealed else ())
        keys = [row.id for row in sealed]
        ids = dict(zip(keys, texts_of(keys), strict=True))
        for row, writes in rows:
            record: Any = row.record
            tasks = live_tasks(writes) if writes else []
            if tasks is None:
                waiting += writes or ()
                tasks = []
            if type(record) is Deferred:
                checkpoint, frame, values = record.holds
            else:
                frame, facts = next(frames)
                checkpoint, values = _checkpoint(row, facts, ids), None
            if values is None:
                later[row.id], values = frame, {}
            found[row.id] = checkpoint, values, tasks
        return found, later, waiting

    def _maps(
        self, rows: Sequence[CheckpointRow], later: Mapping[bytes, CheckpointFrame]
    ) -> Plan[dict[bytes, Place]]:
        """The map of each checkpoint of `later`: most often its parent's, with what changed."""
        places: dict[bytes, Place] = {}
        for row in reversed(rows):
            frame = later.get(row.id) or self._reader.open_checkpoint(row)
            before = None if row.parent is None else places.get(row.parent)
            if frame.full is not None:
                places[row.id] = Place(frame.full, None, frame)
            elif before is None:
                map = (yield from self._reader.resolve(row, frame)).map
                places[row.id] = Place(map, None, frame)
            else:
                map = changed_map(before.map, row.id, frame)
                places[row.id] = Place(map, row.parent, frame)
        return {id: places[id] for id in later}

    def _read_values(
        self, found: Mapping[bytes, Stored], places: Mapping[bytes, Place]
    ) -> Plan[None]:
        """Read the values of those checkpoints of which the place is known."""
        wanted = {id: place for id, place in places.items() if id in found}
        yield from self._read_versions(_versions(wanted))
        loose: dict[bytes, Collection[str]] = {}
        for id in reversed(wanted):
            loose[id] = self._put_fixed(id, found, wanted, loose)
        for id, place in wanted.items():  # lists and dicts are read newest first
            values = values_of(found[id])
            for channel in loose[id]:
                values[channel] = yield from self._value((channel, place.map[channel]))

    def _put_fixed(
        self,
        id: bytes,
        found: Mapping[bytes, Stored],
        places: Mapping[bytes, Place],
        loose: Mapping[bytes, Collection[str]],
    ) -> Collection[str]:
        """Put into a checkpoint those of its values that cannot change, most of them by way of its
        parent's.

        Returns:
            The other channels (`loose` has those of its parent): they have their place among the
            values.
        """
        map, before, frame = places[id]
        values, fixed = values_of(found[id]), self._fixed
        others: list[str] = []
        names: Iterable[str] = map
        if before is not None and before in places:
            names = frame.changed
            values.update(values_of(found[before]))
            for channel in frame.removed:
                values.pop(channel, None)
            others += [name for name in loose[before] if name in values and name not in names]
        for channel in names:
            value = values[channel] = fixed.get((channel, map[channel]), _LOOSE)
            if value is _LOOSE:
                others.append(channel)
        return others

    def _read_versions(self, needed: Sequence[_Version]) -> Plan[None]:
        """Read the versions that the page before has not: into those that stay, and others."""
        fixed, packed, lines = self._fixed, self._packed, self._lines
        if not needed:
            return
        self._fixed = {version: fixed[version] for version in needed if version in fixed}
        self._packed = {version: packed[version] for version in needed if version in packed}
        missing = [
            version
            for version in needed
            if version not in fixed and version not in packed and not lines.knows(*version)
        ]
        self._made, self._brought, self._unmade = {}, {}, {}
        self._sealed, self._opened, self._few = {}, {}, set()
        if not missing:
            return
        kept = self._kept
        apart = [version for version in missing if kept.get(version) is None]
        if apart:
            records = yield ReadValues(self.lane, apart, live=self._reader.live)
            kept = {**kept, **dict(zip(apart, records, strict=True))}
        whole: dict[_Version, bytes] = {}
        sealed: dict[str, list[ValueRow]] = {}
        for version in missing:
            record: Any = kept[version]
            if type(record) is not Deferred:
                sealed.setdefault(version[0], []).append(ValueRow(*version, record))
            elif type(record.holds) in FIXED:
                self._fixed[version] = record.holds
            else:
                self._packed[version] = self._reader.codec.dumps(record.holds)
        for channel, rows in sealed.items():
            whole |= self._open_values(channel, rows)
        try:
            values = self._reader.loads_each([*whole.values()])
        except (CorruptCheckpointError, UnregisteredTypeError):
            values = [self._blamed(version, payload) for version, payload in whole.items()]
        for (version, payload), value in zip(whole.items(), values, strict=True):
            if type(value) in FIXED:
                self._fixed[version] = value
            elif type(value) is Unmade:
                self._unmade[version] = value
            else:
                self._packed[version] = payload
                self._made[version] = value

    def _blamed(self, version: _Version, payload: bytes) -> Any:
        """One value; an error says whose it is. Of a type that is not known here, it waits for
        whoever looks at the value."""
        try:
            return self._reader.codec.loads(payload)
        except CorruptCheckpointError as error:
            raise held_in(error, f"Key {version[0]!r}", self._reader.thread_id) from error
        except UnregisteredTypeError as error:
            return unread(held_in(error, f"Key {version[0]!r}", self._reader.thread_id))

    def _open_values(self, channel: str, rows: Sequence[ValueRow]) -> dict[_Version, bytes]:
        """The whole values among the versions of a channel, packed. What else there is waits until
        it is asked for: most often the first of it, for all that comes after."""
        kind, payload = self._reader.open_value(*rows[0])
        if kind == LIST_PATCH and (short := self._put_together(channel, rows, payload)):
            return short
        if kind != WHOLE:
            self._sealed.update({(channel, row.id): row.record for row in rows})
            if kind != LIST_PATCH or len(rows) > _FEW:
                return {}
            self._few.add(channel)
            if self._lines.recalls(channel, rows[0].id):
                payloads = self._reader.open_all(kind, channel, [row for row in rows if row.record])
                self._opened.update({(channel, id): (kind, payloads[id]) for id in payloads})
            return {}
        wholes = {(channel, rows[0].id): payload}
        others = [row for row in rows[1:] if row.record]
        payloads = self._reader.open_all(WHOLE, channel, others)
        for row in rows[1:]:
            if row.id in payloads:
                wholes[channel, row.id] = payloads[row.id]
            else:
                self._sealed[channel, row.id] = row.record
        return wholes

    def _put_together(
        self, channel: str, rows: Sequence[ValueRow], newest: bytes
    ) -> dict[_Version, bytes] | None:
        """Versions of a channel, packed, if they are short lists that did nothing but grow: to
        decode each of them costs less than to go from one to the next."""
        oldest = rows[-1]
        if len(rows) == 1 or read_patch(LIST_PATCH, newest).length > SHORT:
            return None
        kind, packed = self._reader.open_value(*oldest)
        if kind != WHOLE:  # it stands on what this page does not show
            return None
        others = [row for row in rows[1:-1] if row.record]
        patches = {rows[0].id: newest, **self._reader.open_all(LIST_PATCH, channel, others)}
        whole: dict[_Version, bytes] = {(channel, oldest.id): packed}
        brought: dict[_Version, bytes] = {}
        for row in reversed(rows[:-1]):
            payload = patches.get(row.id)
            if payload is None:
                kind, packed = self._reader.open_value(*row)
                packed = packed if kind == WHOLE else None
            else:
                patch = read_patch(LIST_PATCH, payload)
                brought[channel, row.id] = patch.items
                base = whole.get((channel, patch.base))
                packed = None if base is None else appended(base, patch)
            if packed is None:
                return None
            whole[channel, row.id] = packed
        self._brought |= brought
        return whole

    def _value(self, version: _Version) -> Plan[Any]:
        """A value that can change: new, or yet to be made."""
        if version in self._made:
            return self._made.pop(version)
        if version in self._unmade:
            return self._unmade[version]
        lines, record, proved = self._lines, None, None
        if version not in self._packed and version in self._sealed and not lines.knows(*version):
            sealed = self._sealed[version]
            record = self._opened.get(version) or self._reader.open_value(*version, sealed)
            proved = proof(sealed) if version[0] in self._few else None
            if record[0] == BORROWED:
                record = WHOLE, (yield from whole_of(self._reader, record[1]))
            if record[0] == WHOLE:
                self._packed[version] = record[1]
        packed = self._packed.get(version)
        value = self._unmade[version] = (
            Unmade(self._reader.codec.loads, packed)
            if packed is not None
            else (yield from lines.read(*version, record, proved))
        )
        return value

    def _piece(self, ref: Ref) -> tuple[Any] | None:
        """What a task's write refers to, alone in a tuple, where this page has read it."""
        version = ref.channel, ref.version
        if version in self._fixed:
            return (piece_of(self._fixed[version], ref),)
        packed = self._packed.get(version)
        if version in self._brought and ref.length != ALL:
            packed = self._brought[version]
        if packed is not None:
            return (Unmade(_piece_of_packed, packed, ref, self._reader.codec),)
        found = self._unmade.get(version) if ref.length == ALL else self._lines.piece(ref)
        return None if found is None else (found,)

    def _open_writes(self, rows: Sequence[WriteRow], to: Container[bytes]) -> Sequence[Opened]:
        """What tasks of these checkpoints wrote, in the order of the rows."""
        rows = [row for row in rows if row.checkpoint in to]
        sealed = [row for row in rows if type(cast("Any", row.record)) is not Deferred]
        frames = iter(open_tasks(self._reader, sealed) if sealed else ())
        return [
            (row, None if type(cast("Any", row.record)) is Deferred else next(frames))
            for row in rows
        ]


def _piece_of_packed(packed: bytes, ref: Ref, codec: Codec) -> Any:
    return piece_of(codec.loads(packed), ref)


def that_may_hold(rows: Rows, wanted: Mapping[str, Any], traces: Sequence[bytes]) -> Rows:
    """Those whose metadata may hold what is wanted, as far as that costs less than to look: records
    with its `traces_of`, and what was read in place of bytes."""
    return [
        pair
        for pair in rows
        if (
            fits(record.holds[0].metadata, wanted)
            if type(record := cast("Any", pair[0].record)) is Deferred
            else all(map(record.__contains__, traces))
        )
    ]


def traces_of(wanted: Mapping[str, Any]) -> list[bytes]:
    """Bytes that stand in the record of every checkpoint whose metadata holds what is wanted: a key
    and, right behind it, its value, as they are packed. A dotted key may be a path, and tells
    nothing."""
    traces: list[bytes] = []
    for key, value in wanted.items():
        if type(value) in FIXED and "." not in str(key):
            try:
                traces.append(pack_plain(key) + pack_plain(value))
            except TypeError:  # a text that is no UTF-8, a number that is too large
                continue
    return traces


def trace_of(wanted: Mapping[str, Any]) -> bytes | None:
    """Of these the one to look for in a row store, if there is any."""
    return max(traces_of(wanted), key=len, default=None)


def _are_live_in_turn(rows: Rows) -> bool:
    """Whether each of these checkpoints but the last was read live, and made from the next."""
    records: list[Any] = [row.record for row, _ in rows[:-1]]
    if {*map(type, records)} != {Deferred}:
        return False
    return all(row.parent == parent.id for (row, _), (parent, _) in pairwise(rows))


def _grown(rows: Rows, base: Stored) -> list[Stored] | None:
    """Checkpoints that follow each other, and `base`, which the last of them was made from: each
    has its parent's values and those that it changed. None if some of these can change.
    """
    if not FIXED.issuperset(map(type, values_of(base).values())):
        return None
    grown = [base]
    before = values_of(base)
    for row, writes in reversed(rows):
        checkpoint, frame, _ = cast("Any", row.record).holds
        tasks = live_tasks(writes)
        if tasks is None:
            return None
        for value in checkpoint.changed.values():
            if type(value) not in FIXED:
                return None
        values: dict[str, Any] = {**before, **checkpoint.changed}
        for name in frame.removed:
            values.pop(name, None)
        grown.append((checkpoint, values, tasks))
        before = values
    grown.reverse()
    return grown


def _checkpoint(row: CheckpointRow, facts: Facts, ids: Mapping[bytes, str]) -> NewCheckpoint:
    """A checkpoint as its record says it, without its values. `ids` has those of its page."""
    parent = None if row.parent is None else ids.get(row.parent) or unpack(row.parent)
    return NewCheckpoint(ids[row.id], parent, *facts, {})


def _versions(places: Mapping[bytes, Place]) -> list[_Version]:
    """All versions that these checkpoints have, each once."""
    versions: dict[_Version, None] = {}
    for id, (map, before, frame) in places.items():
        if before in places:
            for channel in frame.changed:
                versions[channel, id] = None
        else:
            versions.update(dict.fromkeys(map.items()))
    return [*versions]
