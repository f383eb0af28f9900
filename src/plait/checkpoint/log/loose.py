"""Items that may change without telling, and what they held: compared in one go, in C.

Plain dicts and lists, what may be changed in place inside of a message (its tool calls), and the
attributes of models and dataclasses are *parts*. All parts of a kind are packed by one call, in C;
equal bytes mean that nothing in them changed. Items with more than plain data in them are stamped
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress
from operator import attrgetter, ne
from typing import Any

import ormsgpack

from plait.checkpoint.log.stamps import IMMUTABLE, Stamp, is_message, stamps_of
from plait.checkpoint.serde import Codec, Parts, may_hold_buffer, pack_each, pack_plain, parts_of

_revision = attrgetter("__plait_revision__")
_rare: Callable[[Any], dict[str, Any] | None] = attrgetter("__plait_rare__")


def _themselves(items: list[Any]) -> list[Any]:
    return items


_PLAIN = Parts(1, _themselves)
"""Of dicts and lists."""
_BLOCK = 32
"""So many items are packed together: what is looked into if one of them changed."""
_SAMPLES = 16
"""So many of more blocks tell whether it is worth to look into all."""


class Loose:
    """Watches items of one list.

    >>> note = {"seen": []}
    >>> loose = Loose(Codec())
    >>> loose.watch(["fixed", note], {str, dict})
    >>> loose.changed()
    False
    >>> note["seen"].append(1)
    >>> loose.changed(), loose.altered() == {id(note)}
    (True, True)
    """

    __slots__ = ("_codec", "_messages", "_others", "_sealed", "_stamps")

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._messages: _Messages | None = None
        self._sealed: dict[type, _Sealed | None] = {}
        """By type. None: there is more in its objects than can be packed."""
        self._others: list[Any] = []
        """Items that are no plain data."""
        self._stamps: list[Stamp] = []
        """Theirs."""

    def watch(self, items: list[Any], kinds: set[type]) -> None:
        """Watch those of some more items that may change; `kinds` are the types of the items."""
        for kind, same in _by_kind(items, kinds):
            if is_message(kind):
                self._messages = self._messages or _Messages()
                same = self._messages.add(same)
            else:
                if kind not in self._sealed:
                    parts = _parts(kind, self._codec)
                    self._sealed[kind] = parts and _Sealed(parts)
                sealed = self._sealed[kind]
                if sealed is not None:
                    if sealed.add(same):
                        continue
                    if kind is dict or kind is list:  # some of them may be plain
                        same = [item for item in same if not sealed.add([item])]
            self._others += same
            self._stamps += stamps_of(same, {*map(type, same)}, self._codec)

    def packed(self, count: int) -> tuple[bytes, list[Any]] | None:
        """A list of so many items, packed, if these are all that is watched, of one plain type; and
        those among which a buffer may have been packed as if it were bytes."""
        if len(self._sealed) != 1 or self._others:
            return None
        (sealed,) = self._sealed.values()
        return None if sealed is None or len(sealed) != count else sealed.packed()

    def changed(self) -> bool:
        """Whether any of them is not what it was; each block is looked at, for `altered`."""
        changed = self._messages is not None and self._messages.changed()
        for sealed in self._sealed.values():
            if sealed is not None and sealed.changed():
                changed = True
        return changed or (bool(self._others) and self._stamps_now() != self._stamps)

    def begins(self, other: Loose) -> bool:
        """Whether what is watched there begins with what is here, but for messages, and held the
        same."""
        if self._stamps != other._stamps[: len(self._stamps)]:
            return False
        for kind, sealed in self._sealed.items():
            theirs = other._sealed.get(kind)
            if sealed is None or theirs is None:
                if sealed is not theirs:
                    return False
            elif not theirs.held.startswith(sealed.held):
                return False
        return True

    def altered(self, *, roughly: bool = False) -> set[int]:
        """The ids of items that were not what they were when `changed` looked, but for messages;
        `roughly`: and perhaps of others, which costs less to tell."""
        ids: set[int] = set()
        for sealed in self._sealed.values():
            if sealed is not None:
                ids.update(map(id, sealed.altered(roughly=roughly)))
        if self._others:
            pairs = zip(self._others, self._stamps, self._stamps_now(), strict=True)
            ids |= {id(item) for item, then, now in pairs if then != now}
        return ids

    def renew(self) -> bool:
        """They are from now on what they were when `changed` looked. False: that is not known."""
        watched = [sealed for sealed in self._sealed.values() if sealed is not None]
        if self._messages or self._others or not all(sealed.is_plain() for sealed in watched):
            return False
        for sealed in watched:
            sealed.renew()
        return True

    def _stamps_now(self) -> list[Stamp]:
        return stamps_of(self._others, {*map(type, self._others)}, self._codec)


class _Sealed:
    """Items that are taken apart in one way, and their parts, packed.

    They are packed in blocks: where one changed, the others need not be looked into.
    """

    __slots__ = ("_blocks", "_items", "_now", "_parts")

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._items: list[Any] = []
        self._blocks: list[bytes] = []
        self._now: dict[int, bytes | None] = {}
        """Of blocks that were not what they had been when somebody looked, what they were then;
        None if that is no plain data."""

    def __len__(self) -> int:
        return len(self._items)

    def packed(self) -> tuple[bytes, list[Any]]:
        """Plain items as one list, packed, and those that may hold a buffer."""
        suspects: list[Any] = []
        for items, block in zip(_in_blocks(self._items, 0), self._blocks, strict=True):
            if may_hold_buffer(block):
                suspects += items
        return _header(len(self._items)) + self.held, suspects

    @property
    def held(self) -> bytes:
        """What they held, packed."""
        return b"".join(self._blocks)

    def add(self, items: list[Any]) -> bool:
        """More of them. False: there is more than plain data in one, so none was added."""
        room = -len(self._items) % _BLOCK
        try:
            first = _packed(self._parts.read(items[:room])) if room else b""
            blocks = [_packed(self._parts.read(some)) for some in _in_blocks(items, room)]
        except (TypeError, AttributeError):
            return False
        if room:
            self._blocks[-1] += first
        self._blocks += blocks
        self._items += items
        return True

    def changed(self) -> bool:
        """Whether any of them is not what it was."""
        self._now = {}
        for n, (items, was) in enumerate(
            zip(_in_blocks(self._items, 0), self._blocks, strict=True)
        ):
            try:
                now = _packed(self._parts.read(items))
            except (TypeError, AttributeError):
                now = None
            if now != was:
                self._now[n] = now
        return bool(self._now)

    def altered(self, *, roughly: bool) -> list[Any]:
        """Those that were not what they were when `changed` looked.

        Where they are very many, or `roughly`, others near them are given, too.
        """
        blocks = [*self._now]
        if not roughly and len(blocks) > _SAMPLES:
            sample = blocks[:: len(blocks) // _SAMPLES]
            roughly = 2 * sum(len(self._altered_of(n)) for n in sample) >= _BLOCK * len(sample)
        of_block = self._block if roughly else self._altered_of
        return [*chain.from_iterable(map(of_block, blocks))]

    def _block(self, n: int) -> list[Any]:
        """The items of a block."""
        return self._items[n * _BLOCK : (n + 1) * _BLOCK]

    def _altered_of(self, n: int) -> list[Any]:
        """Those of a block."""
        items, width = self._block(n), self._parts.width
        before = pack_each(ormsgpack.unpackb(_header(len(items) * width) + self._blocks[n]))
        then = zip(*[iter(before)] * width, strict=True)
        return [*compress(items, map(ne, then, self._held_now(items)))]

    def is_plain(self) -> bool:
        """Whether all of them were plain data when `changed` looked."""
        return None not in self._now.values()

    def renew(self) -> None:
        """They are from now on what they were when `changed` looked."""
        for n, now in self._now.items():
            self._blocks[n] = now or b""
        self._now = {}

    def _held_now(self, items: list[Any]) -> Iterable[tuple[bytes, ...]]:
        """Of each item its parts, packed; none for one that is no plain data any more."""
        width, read = self._parts
        try:
            return zip(*[iter(pack_each(read(items)))] * width, strict=True)
        except (TypeError, AttributeError):
            if len(items) == 1:
                return [()]
            return chain.from_iterable(self._held_now([item]) for item in items)


class _Messages:
    """Messages that hold what may be changed in place, and that, packed."""

    __slots__ = ("_bytes", "_messages", "_parts", "_revisions", "_sizes")

    def __init__(self) -> None:
        self._messages: list[Any] = []
        self._revisions: list[int] = []
        """Of the messages: an assignment to a field raises it."""
        self._sizes: list[int] = []
        """How many fields the messages hold: reading one may put an empty list or dict there."""
        self._parts: list[Any] = []
        self._bytes = b""

    def add(self, messages: list[Any]) -> list[Any]:
        """More of them; gives back those with more than plain data in them."""
        parts: list[Any] = []
        packed: list[bytes] = []
        others: list[Any] = []
        for message in messages:
            revision: int = message.__plait_revision__
            if revision & 1:
                continue
            fresh = _parts_of(message)
            try:
                packed.append(_packed(fresh))
            except TypeError:
                others.append(message)
                continue
            parts += fresh
            self._messages.append(message)
            self._revisions.append(revision)
            self._sizes += _sizes_of((message,))
        if parts:
            self._parts += parts
            self._bytes += b"".join(packed)
        return others

    def changed(self) -> bool:
        """Whether any of them is not what it was."""
        messages = self._messages
        if [*map(_revision, messages)] != self._revisions:
            return True
        try:
            if self._parts and _packed(self._parts) != self._bytes:
                return True
        except TypeError:
            return True
        return _sizes_of(messages) != self._sizes and self._more_by_reading()

    def _more_by_reading(self) -> bool:
        """Whether fields that were only read, which puts empty ones there, were also filled."""
        known = set(map(id, self._parts))
        parts = [p for m in self._messages for p in _parts_of(m) if id(p) not in known]
        if any(parts):
            return True
        self._parts += parts
        self._bytes += _packed(parts)
        self._sizes = _sizes_of(self._messages)
        return False


def _in_blocks(items: list[Any], first: int) -> Iterator[list[Any]]:
    """The items from a place on, so many at a time."""
    return (items[place : place + _BLOCK] for place in range(first, len(items), _BLOCK))


def _by_kind(items: list[Any], kinds: set[type]) -> Iterable[tuple[type, list[Any]]]:
    """The items that may change, by their types."""
    if kinds <= IMMUTABLE:
        return ()
    if len(kinds) == 1:
        return [(kind, items) for kind in kinds]
    found: dict[type, list[Any]] = {kind: [] for kind in kinds - IMMUTABLE}
    for item in items:
        if type(item) in found:
            found[type(item)].append(item)
    return found.items()


def _parts(kind: type, codec: Codec) -> Parts | None:
    """How objects of a type are taken apart, if they may be plain data, or hold only such."""
    if kind is dict or kind is list:
        return _PLAIN
    entry = codec.registry.by_type(kind)
    return None if entry is None else parts_of(entry.encode)


def _packed(parts: list[Any]) -> bytes:
    """The parts one after another, without what says how many there are."""
    return pack_plain(parts)[len(_header(len(parts))) :]


def _header(count: int) -> bytes:
    """What says in msgpack that so many items follow."""
    if count < 16:
        return (0x90 | count).to_bytes(1, "big")
    if count < 65_536:
        return b"\xdc" + count.to_bytes(2, "big")
    return b"\xdd" + count.to_bytes(4, "big")


def _sizes_of(messages: Iterable[Any]) -> list[int]:
    """How many rare fields the messages hold, of those that hold any."""
    return [*map(len, filter(None, map(_rare, messages)))]


def _parts_of(message: Any) -> list[Any]:
    """What can be changed inside a message in place."""
    rare: dict[str, Any] = message.__plait_rare__ or {}
    parts = [value for value in rare.values() if value.__class__ not in IMMUTABLE]
    if message.content.__class__ is not str:
        parts.append(message.content)
    return parts
