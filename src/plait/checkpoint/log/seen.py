"""A list as a session last saw it: what the next version is compared with.

Most items of a long list cannot have changed at all: immutables, and messages that hold nothing
mutable, which their stamp seals and which tell when a seal breaks (`__plait_changes__`). The others
are watched (`loose.Loose`). So a list that is the old one, with perhaps more at its end, is seen to
be so without a step of Python per item.
"""

from __future__ import annotations

from itertools import count
from operator import is_
from typing import Any

from plait.checkpoint.log.loose import Loose
from plait.checkpoint.log.stamps import IMMUTABLE, Stamp, sealer, seals, unsealed
from plait.checkpoint.serde import Codec

_WATCHED = frozenset((dict, list))
"""Items of these are watched by what they pack to."""
_NEVER: list[Any] = [None]
"""Stands for the changes of items that never change."""


class Seen:
    """An own shallow copy of a list, and what its items held."""

    __slots__ = (
        "_as_of",
        "_changes",
        "_compared",
        "_looked",
        "_loose",
        "_seal",
        "items",
        "kinds",
        "stamps",
    )

    def __init__(self, value: list[Any], codec: Codec) -> None:
        self.items = value.copy()
        self.kinds = set(map(type, value))
        """The types of the items."""
        self._changes = _changes_of(self.kinds)
        self._as_of: Any = self._changes[0]
        self._compared = _compared_of(self.kinds)
        self._seal = sealer(self.kinds)
        self.stamps: list[Stamp] = seals(value, self._seal)
        """Of messages, their stamps."""
        self._loose = Loose(codec)
        self._looked = False
        """Whether `_loose` knows what has changed: nothing of the program ran since it looked."""
        loose = self.items if self._seal is None else unsealed(self.items, self.kinds)
        if loose:
            self._loose.watch(loose, self.kinds)

    def packed(self) -> tuple[bytes, list[Any]] | None:
        """The list as `pack_plain` packs it, where that was done to watch all of its items; and
        those that may hold a buffer."""
        return self._loose.packed(len(self.items)) if self.kinds <= _WATCHED else None

    def altered(self, *, roughly: bool = False) -> set[int]:
        """The ids of items that were changed in place since they were seen; `roughly`: and perhaps
        of others."""
        if not self._looked:
            changed = self._loose.changed()
            self._looked = True
            if not changed and self._changes[0] is self._as_of:
                return set()
        altered = self._loose.altered(roughly=roughly)
        if self._seal is not None:
            now = seals(self.items, self._seal)
            pairs = zip(self.items, self.stamps, now, strict=True)
            altered |= {id(item) for item, a, b in pairs if a != b}
        return altered

    def grow(self, value: list[Any]) -> bool:
        """Whether `value` is this list as it was seen, with perhaps more at its end: now seen, too.

        False says nothing: then look at it anew.
        """
        length = len(self.items)
        self._looked = False
        if self._changes[0] is not self._as_of or len(value) < length:
            return False
        fresh = value[length:]
        if not self._holds(value[:length] if fresh else value):
            return False
        if self._loose.changed():
            self._looked = True
            return False
        return not fresh or self._take(fresh)

    def renew(self, value: list[Any]) -> bool:
        """See the items once more, as they were when `grow` or `altered` looked.

        False: `value` holds others, or it is not known what they held. Then look at it anew.
        """
        if not self._looked or self._seal is not None or len(value) != len(self.items):
            return False
        return all(map(is_, self.items, value)) and self._loose.renew()

    def begins(self, other: Seen) -> bool:
        """Whether another list begins with the same objects as this one, and they held the same.

        The objects themselves are not compared.
        """
        stamps = other.stamps[: len(self.stamps)]
        return self.stamps == stamps and self._loose.begins(other._loose)

    def _holds(self, old: list[Any]) -> bool:
        """Whether a list holds the very objects that were seen."""
        compared = self._compared
        if compared is not None:
            before = next(compared[0])
            try:
                if self.items != old:
                    return False
            except Exception:  # somebody put other objects in, which do not compare
                return False
            if next(compared[0]) == before + 1:  # no two different objects had to be compared
                return True
        return all(map(is_, self.items, old))

    def _take(self, fresh: list[Any]) -> bool:
        """See more items. False: they are sealed in another way than those seen before."""
        kinds = set(map(type, fresh))
        if not kinds <= self.kinds and not self._know(kinds):
            return False
        self.stamps += seals(fresh, self._seal)
        loose = fresh if self._seal is None else unsealed(fresh, kinds)
        if loose:
            self._loose.watch(loose, kinds)
        self.items += fresh
        return True

    def _know(self, kinds: set[type]) -> bool:
        """There are items of other types, too. False: they are sealed in another way."""
        changes = _changes_of(kinds)
        if self._changes is _NEVER:
            self._changes, self._as_of = changes, changes[0]
        elif changes is not _NEVER and changes is not self._changes:
            return False
        self.kinds |= kinds
        self._compared = _compared_of(self.kinds)
        self._seal = sealer(self.kinds)
        return True


def _changes_of(kinds: set[type]) -> list[Any]:
    """What holds another object once a sealed item was changed."""
    for kind in kinds - IMMUTABLE:
        changes: list[Any] | None = getattr(kind, "__plait_changes__", None)
        if changes is not None:
            return changes
    return _NEVER


def _compared_of(kinds: set[type]) -> list[count[Any]] | None:
    """What counts comparisons of different items, where all of them count (None: they do not)."""
    counts = {id(c): c for c in (getattr(kind, "__plait_compared__", None) for kind in kinds)}
    return counts.popitem()[1] if len(counts) == 1 else None
