"""Items that may change without telling, and what they held: compared in one go, in C.

What may be changed in place inside of an item (the tool calls of a message, a plain dict or list)
is a *part*. All parts are packed by one call, in C; equal bytes mean that nothing in them changed.
Items that are no plain data are stamped one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from plait.checkpoint.log.stamps import IMMUTABLE, Stamp, stamps_of
from plait.checkpoint.serde import Codec, pack_plain

_revision = attrgetter("__plait_revision__")
_rare: Callable[[Any], dict[str, Any] | None] = attrgetter("__plait_rare__")


class Loose:
    """Watches items of one list.

    >>> note = {"seen": []}
    >>> loose = Loose(Codec())
    >>> loose.watch(["fixed", note], [None, 0])
    >>> loose.changed()
    False
    >>> note["seen"].append(1)
    >>> loose.changed()
    True
    """

    __slots__ = ("_bytes", "_codec", "_messages", "_others", "_parts", "_revisions", "_sizes",
                 "_stamps")  # fmt: skip

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._messages: list[Any] = []
        self._revisions: list[int] = []
        """Of the messages: an assignment to a field raises it."""
        self._sizes: list[int] = []
        """How many fields the messages hold: reading one may put an empty list or dict there."""
        self._parts: list[Any] = []
        self._bytes = b""
        self._others: list[Any] = []
        """Items that are no plain data."""
        self._stamps: list[Stamp] = []
        """Theirs."""

    def watch(self, items: Iterable[Any], stamps: Iterable[Stamp]) -> None:
        """Watch those of some more items that may change; they have these stamps now."""
        parts: list[Any] = []
        packed: list[bytes] = []
        for item, stamp in zip(items, stamps, strict=True):
            if item.__class__ in IMMUTABLE:
                continue
            revision: int | None = getattr(item, "__plait_revision__", None)
            if revision is None:
                fresh = [item]
            elif revision & 1:
                continue
            else:
                fresh = _parts_of(item)
            try:
                packed.append(_packed(fresh))
            except TypeError:
                self._others.append(item)
                self._stamps.append(stamp)
                continue
            parts += fresh
            if revision is not None:
                self._messages.append(item)
                self._revisions.append(revision)
                self._sizes += _sizes_of((item,))
        if parts:
            self._add(parts, b"".join(packed))

    def _add(self, parts: list[Any], packed: bytes) -> None:
        self._parts += parts
        self._bytes += packed

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
        if _sizes_of(messages) != self._sizes and self._more_by_reading():
            return True
        others = self._others
        return (
            bool(others) and stamps_of(others, set(map(type, others)), self._codec) != self._stamps
        )

    def _more_by_reading(self) -> bool:
        """Whether fields that were only read, which puts empty ones there, were also filled."""
        known = set(map(id, self._parts))
        parts = [p for m in self._messages for p in _parts_of(m) if id(p) not in known]
        if any(parts):
            return True
        self._add(parts, _packed(parts))
        self._sizes = _sizes_of(self._messages)
        return False


def _packed(parts: list[Any]) -> bytes:
    """The parts one after another, without what says how many there are."""
    count = len(parts)
    return pack_plain(parts)[1 if count < 16 else 3 if count < 65_536 else 5 :]


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
