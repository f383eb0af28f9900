"""Items that may change without telling, and what they held: compared in one go, in C.

Plain dicts and lists, what may be changed in place inside of a message (its tool calls), and the
attributes of models and dataclasses are *parts*. All parts of a kind are packed by one call, in C;
equal bytes mean that nothing in them changed. Items with more than plain data in them are stamped
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

import ormsgpack

from plait.checkpoint.log.stamps import IMMUTABLE, Stamp, is_message, stamps_of
from plait.checkpoint.serde import Codec, Parts, pack_plain, parts_of

_revision = attrgetter("__plait_revision__")
_rare: Callable[[Any], dict[str, Any] | None] = attrgetter("__plait_rare__")


def _themselves(items: list[Any]) -> list[Any]:
    return items


_PLAIN = Parts(1, _themselves)
"""Of dicts and lists."""


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

    def packed(self, count: int) -> bytes | None:
        """A list of so many items, packed, if these are all that is watched, of one plain type."""
        if len(self._sealed) != 1 or self._others:
            return None
        (sealed,) = self._sealed.values()
        return None if sealed is None or len(sealed) != count else sealed.packed()

    def changed(self) -> bool:
        """Whether any of them is not what it was."""
        if self._messages is not None and self._messages.changed():
            return True
        if any(sealed is not None and sealed.changed() for sealed in self._sealed.values()):
            return True
        others = self._others
        return bool(others) and self._stamps_now() != self._stamps

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

    def altered(self) -> set[int]:
        """The ids of items that are not what they were, but for messages."""
        ids = {
            id(item)
            for sealed in self._sealed.values()
            if sealed is not None and sealed.changed()
            for item in sealed.altered()
        }
        if self._others:
            pairs = zip(self._others, self._stamps, self._stamps_now(), strict=True)
            ids |= {id(item) for item, then, now in pairs if then != now}
        return ids

    def _stamps_now(self) -> list[Stamp]:
        return stamps_of(self._others, {*map(type, self._others)}, self._codec)


class _Sealed:
    """Items that are taken apart in one way, and their parts, packed."""

    __slots__ = ("_bytes", "_items", "_parts")

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._items: list[Any] = []
        self._bytes = b""

    def __len__(self) -> int:
        return len(self._items)

    def packed(self) -> bytes:
        """The parts as one list, packed."""
        count = len(self._items) * self._parts.width
        return _header(count) + self._bytes

    @property
    def held(self) -> bytes:
        """What they held, packed."""
        return self._bytes

    def add(self, items: list[Any]) -> bool:
        """More of them. False: there is more than plain data in one, so none was added."""
        try:
            self._bytes += _packed(self._parts.read(items))
        except (TypeError, AttributeError):
            return False
        self._items += items
        return True

    def changed(self) -> bool:
        """Whether any of them is not what it was."""
        try:
            return _packed(self._parts.read(self._items)) != self._bytes
        except (TypeError, AttributeError):
            return True

    def altered(self) -> Iterator[Any]:
        """Those that are not what they were."""
        width, read = self._parts
        before: list[Any] = ormsgpack.unpackb(self.packed())
        for place, item in enumerate(self._items):
            then = before[place * width : (place + 1) * width]
            try:
                if pack_plain(read([item])) == pack_plain(then):
                    continue
            except (TypeError, AttributeError):
                pass
            yield item


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
