"""How versions are read back: patches over the whole value or manifest they stand on.

Reading runs no code of users but decoding by the registry, and always builds new objects. What is
read was written by others: every length and place is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.deferred import Deferred
from plait.checkpoint.log.patching import Base, Trail, patched
from plait.checkpoint.log.recent import (
    CHANNELS,
    LONG,
    Constant,
    Kept,
    KeptDict,
    Recent,
    is_long,
    is_small,
)
from plait.checkpoint.log.records import (
    ALL,
    BORROWED,
    DICT_PATCH,
    ENTIRE,
    LIST_PATCH,
    MANIFEST,
    PUT,
    SINGLE,
    WHOLE,
    Patch,
    Ref,
    damaged,
    is_dict,
    is_list,
    read_borrowed,
    read_manifest,
    read_patch,
)
from plait.checkpoint.log.requests import ReadValues, ReadVersions, ValueRow
from plait.checkpoint.log.seen import Seen
from plait.checkpoint.log.seen_dicts import SeenDict
from plait.checkpoint.log.versions import DictVersion, ListVersion, Version
from plait.checkpoint.log.writing import value_version
from plait.checkpoint.serde import Codec, KeyedRecipes, Recipes, held_in, proof
from plait.engine.records import given, unread
from plait.errors import CorruptCheckpointError, UnregisteredTypeError

_LIST = 0x90
"""The byte before the items of a short list, and their number."""
SHORT = 15
"""The most items of such a list."""


class Source(Protocol):
    """What opens the records of a lane."""

    thread_id: str
    """The thread of the lane."""

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
        """What was read or written last, if that is kept."""
        ...

    def open_value(self, channel: str, key: bytes, record: bytes | None) -> tuple[int, bytes]:
        """The kind and payload of a version; complains where there is no record."""
        ...

    def outer(self, ns: str) -> Plan[Source]:
        """The lane of a namespace around this one, for what is borrowed there."""
        ...

    def open_all(self, kind: int, channel: str, rows: Sequence[ValueRow]) -> dict[bytes, bytes]:
        """The payloads of this kind among some versions."""
        ...


def read_values(
    source: Source,
    wanted: Mapping[str, bytes],
    *,
    track: bool,
    live: bool = False,
    small: dict[str, Any] | None = None,
    known_only: bool = True,
) -> Plan[tuple[dict[str, Any], dict[str, Version]]]:
    """Read versions of channels.

    Args:
        source: Opens records.
        wanted: The version of each channel.
        track: Whether later versions will be written against these.
        live: Whether values that were never made bytes may be taken as they are.
        small: Of the checkpoint that has these versions, if its record is proved, the values that
            were read before, are small and cannot change. Others that are found are added.
        known_only: Whether a value of a type that is not known here is an error; else it is
            `Unmade`, and an error for whoever looks at it.

    Returns:
        The values, and (if tracked) what a session remembers of them.

    Raises:
        CorruptCheckpointError: A record is missing, damaged, or not what it should be.
        UnregisteredTypeError: The type of a value is not known here.
    """
    known = small.copy() if small else {}  # another thread may be adding to it
    versions: dict[str, Version] = {}
    if track:
        versions = {name: Version(wanted[name], wanted[name], 0) for name in known}
    if len(known) == len(wanted):
        return known, versions
    values: dict[str, Any] = dict.fromkeys(wanted)
    values.update(known)
    keys = [pair for pair in wanted.items() if pair[0] not in known]
    codec, recent = source.codec, source.recent
    constants: dict[str, Constant] = {} if recent is None else recent.constants(source.lane)
    records: list[Any] = yield ReadValues(source.lane, keys, live=live)
    for (channel, key), record in zip(keys, records, strict=True):
        version, fixed = None, False
        constant = constants.get(channel)
        if constant is not None and constant.id == key and _is_of(record, constant.proof):
            value = constant.value
            if small is not None:
                small[channel] = value
        elif type(record) is Deferred:
            value, fixed = given(record.holds), True
        else:
            value = None if track else _recalled(source, channel, key, record)
            try:
                if value is None:
                    kind, payload = source.open_value(channel, key, record)
                    if kind == BORROWED:
                        kind, payload = WHOLE, (yield from whole_of(source, payload))
                    if kind == WHOLE:
                        value, fixed = codec.loads(payload), True
                        version = _whole(key, value, payload, codec) if track else None
                    else:
                        chains = ChainReader(source, channel, remembers=recent is not None)
                        value, version = yield from chains.read(key, kind, payload, record, track)
            except CorruptCheckpointError as error:
                raise held_in(error, f"Key {channel!r}", source.thread_id) from error
            except UnregisteredTypeError as error:
                told = held_in(error, f"Key {channel!r}", source.thread_id)
                if known_only:
                    raise told from error
                value, fixed = unread(told), False
        if fixed and recent is not None and is_small(value) and len(constants) < CHANNELS:
            proved = proof(record) if type(record) is bytes else None
            constants[channel] = Constant(key, proved, value)
            if small is not None:
                small[channel] = value
        values[channel] = value
        if track:
            versions[channel] = version or Version(key, key, 0)
    return values, versions


def _recalled(
    source: Source, channel: str, key: bytes, record: Any
) -> list[Any] | dict[Any, Any] | None:
    """A list or dict of which just this version was kept, new; None for others."""
    kept = None if source.recent is None else source.recent.find(source.lane, channel)
    if kept is None or kept.id != key or not _is_of(record, kept.proof):
        return None
    if isinstance(kept, KeptDict):
        return kept.recipes.made(source.codec.loads_each)
    known = not kept.more and source.codec.agrees(kept.recipes)
    return kept.recipes.made(source.codec.loads_each) if known else None


def _is_of(record: Any, proved: bytes | None) -> bool:
    """Whether this is the record of this proof."""
    return type(record) is bytes and proof(record) == proved


def read_items(source: Source, ref: Ref) -> Plan[Any]:
    """What a task's write refers to."""
    channel, key = ref.channel, ref.version
    if ref.length == ALL:
        values, _ = yield from read_values(source, {channel: key}, track=False)
        return values[channel]
    records: list[bytes | None] = yield ReadValues(source.lane, [(channel, key)])
    kind, payload = source.open_value(channel, key, records[0])
    if kind == BORROWED:
        kind, payload = WHOLE, (yield from whole_of(source, payload))
    if ref.length == PUT:
        if kind != DICT_PATCH:
            raise damaged("task's writes")
        return keys_of(read_patch(kind, payload).items, source.codec)[1]
    value = source.codec.loads(_packed(kind, payload))
    if kind != WHOLE and not is_list(value):
        raise damaged("list")
    return piece_of(value, ref)


def whole_of(source: Source, payload: bytes) -> Plan[bytes]:
    """The payload that a record of borrowed lists would have if it were a whole value.

    Raises:
        CorruptCheckpointError: One of them is missing, damaged, or no list.
    """
    body, loans = read_borrowed(payload)
    value = source.codec.loads(body)
    for key, ns, channel, version in loans:
        lane = yield from source.outer(ns)
        values, _ = yield from read_values(lane, {channel: version}, track=False)
        if not is_list(values[channel]) or (key is not None and not is_dict(value)):
            raise damaged("borrowed value")
        if key is None:
            value = values[channel]
        else:
            value[key] = values[channel]
    return source.codec.dumps(value)


def piece_of(values: Any, ref: Ref) -> Any:
    """What a task's write refers to, in the value or the items that a record holds."""
    if ref.length in (ENTIRE, ALL):
        return values
    if not is_list(values):
        raise damaged("task's writes")
    if ref.length == SINGLE:
        return values[ref.start]
    return values[ref.start : ref.start + ref.length]


def appended(base: bytes, patch: Patch) -> bytes | None:
    r"""A short list after a patch, packed; None where that did more than append, or it gets long.

    >>> appended(b"\x91\x07", Patch(b"", b"", 1, 2, ((1, 0, 1),), b"\x91\x08"))
    b'\x92\x07\x08'
    """
    held, count = base[0] - _LIST, patch.items[0] - _LIST
    if patch.splices != ((held, 0, count),) or not held + count == patch.length <= SHORT:
        return None
    return b"".join((bytes((_LIST + patch.length,)), base[1:], patch.items[1:]))


def longer(stored: Any, count: int, more: Any) -> list[Any]:
    """What a task's write is that begins with so many items of a stored list."""
    if not is_list(stored) or not is_list(more) or count > len(stored):
        raise damaged("task's writes")
    return [*stored[:count], *more]


def _packed(kind: int, payload: bytes) -> bytes:
    """The bytes of what a record itself holds."""
    if kind == WHOLE:
        return payload
    if kind == LIST_PATCH:
        return read_patch(kind, payload).items
    if kind == MANIFEST:
        return read_manifest(payload).items
    raise damaged("value")


def _whole(key: bytes, value: Any, payload: bytes, codec: Codec) -> Version:
    size = len(payload)
    if is_list(value):
        runs = [(key, 0, len(value))] if value else []
        return ListVersion(key, key, 0, Seen(value, codec), runs, size, size)
    if is_dict(value):
        return DictVersion(key, key, 0, SeenDict(value, codec), size, size)
    return value_version(key, value, payload)


K = TypeVar("K", bound="Kept | KeptDict")
_ID_AND_RECORD = itemgetter(1, 2)
"""Of a `ValueRow`."""


class Walk(NamedTuple):
    """The patches behind a list or dict, oldest first, and what they stand on."""

    trail: Trail
    anchor: bytes
    kept: Kept | KeptDict | None
    """This, if it is not None; else the record of the version `at`."""
    at: bytes
    kind: int
    payload: bytes


class ChainReader:
    """Reads one channel's chain of patches.

    Args:
        source: opens its records.
        channel: its name.
        remembers: whether it is noted how the items of a list are made again.
    """

    def __init__(self, source: Source, channel: str, *, remembers: bool) -> None:
        self._source = source
        self._lane = source.lane
        self.channel = channel
        self._codec = source.codec
        self._remembers = remembers
        self._rows: dict[bytes, bytes] = {}
        self._patches: dict[bytes, bytes] = {}
        """Payloads of those rows that are proved to be patches of the kind looked for."""

    def read(
        self, key: bytes, kind: int, payload: bytes, record: bytes, track: bool
    ) -> Plan[tuple[Any, Version]]:
        """A list or dict from its newest record, which was opened. `track`: the next version will
        be written against it."""
        if kind in (LIST_PATCH, MANIFEST):
            items, of_items = yield from self.read_list(key, kind, payload, proof(record))
            if track:
                of_items.seen = Seen(items, self._codec)
            return items, of_items
        if kind != DICT_PATCH:
            raise damaged("value")
        value, version = yield from self.read_dict(key, payload, proof(record))
        if track:
            version.seen = SeenDict(value, self._codec)
        return value, version

    def read_list(
        self, key: bytes, kind: int, payload: bytes, proved: bytes
    ) -> Plan[tuple[list[Any], ListVersion]]:
        """A list from its newest record. `proved` tells that from all others."""
        kept = self._kept(Kept)
        if kept is not None and not self._codec.agrees(kept.recipes):
            kept = None
        if kept is not None and kept.id == key and kept.proof == proved:
            base, trail = _base_of(kept, self._codec), []
            anchor, depth = kept.anchor, kept.depth
            if kept.more:
                kept = None  # now that they are taken apart, that is what to keep
        else:
            trail, anchor, kept, *record = yield from self.walk(key, kind, payload, kept)
            if isinstance(kept, Kept):
                base = _base_of(kept, self._codec)
            else:
                base = yield from self.list_base(*cast("tuple[bytes, int, bytes]", record))
            depth = trail[-1][4] if trail else 0
            kept = None
        items, recipes, runs, size, written = self._follow(base, trail)
        recent = self._source.recent
        if kept is None and recent is not None and is_long(len(runs), len(items)):
            kept = Kept(key, proved, anchor, depth, recipes, runs.copy(), size, written)
            recent.keep(self._lane, self.channel, kept)
        seen = Seen([], self._codec)  # whoever goes on from here looks at the items
        return items, ListVersion(key, anchor, depth, seen, runs, size, written)

    def _follow(self, base: Base, trail: Trail) -> Base:
        """What patches make of what they stand on."""
        if not trail:
            return base
        recipes = base.recipes.copy()
        fresh, counts = self.items([patch[3] for patch in trail], recipes)
        order, runs, size, written = patched(base, trail, counts)
        items = [*base.items, *fresh]
        if order is not None:
            items = [items[place] for place in order]
            if self._remembers:
                recipes = recipes.picked(order)
        return Base(items, recipes, runs, size, written)

    def items(self, parts: Sequence[bytes], recipes: Recipes) -> tuple[list[Any], list[int]]:
        """The items of packed lists, how many each has, and into `recipes` how they are made."""
        if self._remembers:
            return self._codec.remember(parts, recipes)
        lists = self._codec.loads_all(parts)
        if not all(map(is_list, lists)):
            raise damaged("list")
        return [*chain.from_iterable(lists)], [*map(len, lists)]

    def recalled(self, key: bytes, proved: bytes) -> Recipes | None:
        """How the items of a version are made, if just this one was kept."""
        kept, recent = self._kept(Kept), self._source.recent
        if kept is None or kept.id != key or kept.proof != proved or recent is None:
            return None
        if not self._codec.agrees(kept.recipes):
            return None
        if kept.more:
            kept = kept._replace(recipes=_base_of(kept, self._codec).recipes, more=())
            recent.keep(self._lane, self.channel, kept)
        return kept.recipes.copy()

    def remember(
        self, key: bytes, proved: bytes, walk: Walk, base: Base, counts: Sequence[int],
        recipes: Callable[[], Recipes],
    ) -> None:  # fmt: skip
        """Keep a version of a list that a walk led to, unless a newer one is kept.

        Args:
            key: The version.
            proved: What tells its record from all others.
            walk: Where its patches were found.
            base: What they stand on.
            counts: How many items each of them brought.
            recipes: How its items are made.
        """
        kept, recent = self._kept(Kept), self._source.recent
        if recent is None or (kept is not None and kept.id >= key):
            return
        _, runs, size, written = patched(base, walk.trail, counts)
        if is_long(len(runs), sum(run[2] for run in runs)):
            depth = walk.trail[-1][4] if walk.trail else 0
            kept = Kept(key, proved, walk.anchor, depth, recipes(), runs, size, written)
            recent.keep(self._lane, self.channel, kept)

    def _kept(self, kind: type[K]) -> K | None:
        """What was read last of this channel, if it was of this kind."""
        recent = self._source.recent
        kept = None if recent is None else recent.find(self._lane, self.channel)
        return kept if isinstance(kept, kind) else None

    def walk(
        self, key: bytes, kind: int, payload: bytes, kept: Kept | KeptDict | None
    ) -> Plan[Walk]:
        """From the newest record of a list or dict to what its patches stand on: `kept`, or a
        record."""
        trail: Trail = []
        at = anchor = key
        patches = DICT_PATCH if kind == DICT_PATCH else LIST_PATCH
        while kind == patches:
            patch = read_patch(kind, payload)
            if trail and trail[-1][4] != patch.depth + 1:
                raise damaged("list" if kind == LIST_PATCH else "dict")
            if not trail:
                anchor = patch.anchor
                kept = yield from self._fetch_behind(kind, patch, kept)
            trail.append((at, patch.length, patch.splices, patch.items, patch.depth))
            at = patch.base
            if kept is not None and at <= kept.id:
                if at == kept.id and patch.depth == kept.depth + 1:
                    break
                kept = None  # a fork that went off before
                yield from self._fetch_range(kind, patch.anchor, at)
            known = self._patches.get(at)
            if known is None:
                kind, payload = yield from self._record(at)
            else:
                payload = known
        else:
            kept = None
        trail.reverse()
        return Walk(trail, anchor, kept, at, kind, payload)

    def _fetch_behind(
        self, kind: int, patch: Patch, kept: Kept | KeptDict | None
    ) -> Plan[Kept | KeptDict | None]:
        """Fetch the records behind the newest: those since `kept`, if that is among them."""
        if kept is not None and kept.anchor == patch.anchor and kept.id <= patch.base:
            yield from self._fetch_range(kind, kept.id, patch.base)
            record = self._rows.get(kept.id)
            if record is not None and proof(record) == kept.proof:
                if kept.id not in self._patches:
                    self._source.open_value(self.channel, kept.id, record)
                return kept
        yield from self._fetch_range(kind, patch.anchor, patch.base)
        return None

    def list_base(self, key: bytes, kind: int, payload: bytes) -> Plan[Base]:
        """What patches stand on: a whole list, or a manifest of pieces."""
        recipes = Recipes()
        if kind == WHOLE:
            items, _ = self.items([payload], recipes)
            runs = [(key, 0, len(items))] if items else []
            return Base(items, recipes, runs, len(payload), len(payload))
        if kind != MANIFEST:
            raise damaged("list")
        manifest = read_manifest(payload)
        yield from self._fetch(run[0] for run in manifest.runs)
        parts: dict[bytes, bytes] = {}
        sizes: dict[bytes, int] = {}
        for version, _, _ in manifest.runs:
            if version not in parts:
                record_kind, data = (
                    (kind, payload) if version == key else (yield from self._record(version))
                )
                parts[version] = _packed(record_kind, data)
                sizes[version] = len(data)
        held, counts = self.items([*parts.values()], recipes)
        begins = dict(zip(parts, accumulate(counts, initial=0), strict=False))
        lengths = dict(zip(parts, counts, strict=True))
        order: list[int] = []
        size = 0
        for version, start, count in manifest.runs:
            if start + count > lengths[version]:
                raise damaged("list")
            order += range(begins[version] + start, begins[version] + start + count)
            size += sizes[version] * count // max(1, lengths[version])
        if len(order) != manifest.length:
            raise damaged("list")
        items = [held[place] for place in order]
        if self._remembers:
            recipes = recipes.picked(order)
        return Base(items, recipes, manifest.runs, size, sum(sizes.values()))

    def read_dict(
        self, key: bytes, payload: bytes, proved: bytes
    ) -> Plan[tuple[dict[Any, Any], DictVersion]]:
        """A dict from its newest record, a patch. `proved` tells that from all others."""
        kept = self._kept(KeptDict)
        if kept is not None and kept.id == key and kept.proof == proved:
            value = kept.recipes.made(self._codec.loads_each)
            unseen = SeenDict({}, self._codec)
            return value, DictVersion(key, kept.anchor, kept.depth, unseen, kept.size, kept.written)
        walk = yield from self.walk(key, DICT_PATCH, payload, kept)
        kept = walk.kept
        if isinstance(kept, KeptDict):
            recipes, size, written = kept.recipes.copy(), kept.size, kept.written
            value = recipes.made(self._codec.loads_each)
        else:
            recipes, size = KeyedRecipes(), len(walk.payload)
            value, written = whole_dict(walk.kind, walk.payload, self._codec), size
            if self._remembers:
                patch_recipes(recipes, (), value, self._codec)
        for _, length, _, body, _ in walk.trail:
            gone, put = keys_of(body, self._codec)
            for name in gone:
                value.pop(name, None)
            value.update(put)
            if len(value) != length:
                raise damaged("dict")
            written += len(body)
            if self._remembers:
                patch_recipes(recipes, gone, put, self._codec)
        size, depth = max(size, written // 3), walk.trail[-1][4]
        if self._source.recent is not None and depth >= LONG:
            kept = KeptDict(key, proved, walk.anchor, depth, recipes, size, written)
            self._source.recent.keep(self._lane, self.channel, kept)
        return value, DictVersion(key, walk.anchor, depth, SeenDict({}, self._codec), size, written)

    def _record(self, key: bytes) -> Plan[tuple[int, bytes]]:
        record = self._rows.get(key)
        if record is None:
            records: list[bytes | None] = yield ReadValues(self._lane, [(self.channel, key)])
            record = records[0]
        kind, payload = self._source.open_value(self.channel, key, record)
        if kind == BORROWED:
            return WHOLE, (yield from whole_of(self._source, payload))
        return kind, payload

    def _fetch_range(self, kind: int, first: bytes, last: bytes) -> Plan[None]:
        rows: list[ValueRow] = yield ReadVersions(self._lane, self.channel, first, last)
        self._rows.update(map(_ID_AND_RECORD, rows))
        self._patches.update(self._source.open_all(kind, self.channel, rows))

    def _fetch(self, keys: Iterable[bytes]) -> Plan[None]:
        missing = [key for key in dict.fromkeys(keys) if key not in self._rows]
        if missing:
            channel = self.channel
            records: list[bytes | None] = yield ReadValues(
                self._lane, [(channel, key) for key in missing]
            )
            for key, record in zip(missing, records, strict=True):
                if record is not None:
                    self._rows[key] = record


def _base_of(kept: Kept, codec: Codec) -> Base:
    items, recipes = kept.recipes.made(codec.loads_each), kept.recipes
    if kept.more:
        recipes = recipes.copy()
        items += codec.remember(kept.more, recipes)[0]
    return Base(items, recipes, kept.runs.copy(), kept.size, kept.written)


def whole_dict(kind: int, payload: bytes, codec: Codec) -> dict[Any, Any]:
    """A dict that was stored whole."""
    value = codec.loads(payload) if kind == WHOLE else None
    if not is_dict(value):
        raise damaged("dict")
    return value


def keys_of(body: bytes, codec: Codec) -> tuple[list[Any], dict[Any, Any]]:
    """The keys that a patch of a dict deletes, and what it puts."""
    parts = codec.loads(body)
    if not is_list(parts) or len(parts) != 2:
        raise damaged("dict")
    gone, put = parts
    if not is_list(gone) or not is_dict(put):
        raise damaged("dict")
    return gone, put


def patch_recipes(
    recipes: KeyedRecipes, gone: Iterable[Any], put: Mapping[Any, Any], codec: Codec
) -> None:
    """Make recipes follow a patch of their dict."""
    for name in gone:
        recipes.drop(name)
    for name, value in put.items():
        recipes.put(name, *codec.recipe(value))
