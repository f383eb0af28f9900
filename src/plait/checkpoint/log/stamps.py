"""How a change of a mutable value is noticed: a stamp per item.

Same object and same stamp: unchanged. An immutable needs no stamp (None). plait's messages make
their own cheaply (`__plait_stamp__`). Every other item's stamp is a hash of its content, taken in
C where that is plain data, else of its encoding. Stamps live and die in this process; they are
never stored. Items of lists that are plain data, or models of it, need none:
they are watched together (`loose.Loose`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from itertools import compress, filterfalse
from operator import attrgetter, not_
from typing import Any, TypeAlias
from uuid import UUID

from plait.checkpoint.serde import Codec, pack_each
from plait.common.digests import plain_hash

Stamp: TypeAlias = Hashable

COMPARABLE = frozenset((str, int, bool, bytes, type(None)))
"""Immutables of which equal ones are the same (unlike 0.0 and -0.0, or times in two zones)."""
IMMUTABLE = COMPARABLE | {float, complex, date, datetime, time, timedelta, Decimal, UUID}


def content(item: Any, codec: Codec) -> Stamp:
    """A token of what an item holds, equal for another object that holds the same."""
    if type(item) in COMPARABLE:
        return (item.__class__, item)
    plain = plain_hash(item)
    return blake2b(codec.comparable(item), digest_size=16).digest() if plain is None else plain


def _no_stamp(_: Any) -> None:
    return None


def _stamper(kind: type, digest: Callable[[Any], Stamp]) -> Callable[[Any], Stamp]:
    if kind in IMMUTABLE:
        return _no_stamp
    own = getattr(kind, "__plait_stamp__", None)
    return own if own is not None else digest


def contents(
    old: list[Any], new: list[Any], codec: Codec
) -> tuple[Sequence[Hashable], Sequence[Hashable]]:
    """For each item of two lists a token of what it holds, to be compared within these."""
    try:
        return pack_each(old), pack_each(new)
    except TypeError:  # no plain data
        return [content(item, codec) for item in old], [content(item, codec) for item in new]


def is_message(kind: type) -> bool:
    """Whether objects of a type are messages of ours, which say when they change."""
    return hasattr(kind, "__plait_revision__")


def sealer(kinds: set[type]) -> Callable[[Any], Stamp] | None:
    """What gives items of these types their stamps: messages only have some (None: all have none).

    A message that holds nothing mutable is sealed by it (see `__plait_changes__`).
    """
    messages = filter(is_message, kinds)
    own: dict[type, Any] = {kind: getattr(kind, "__plait_stamp__", None) for kind in messages}
    if not own:
        return None
    if len(own) == len(kinds) and len(different := set(own.values())) == 1:
        return different.pop()  # messages of several types share one
    return lambda item: own.get(item.__class__, _no_stamp)(item)


def seals(items: list[Any], seal: Callable[[Any], Stamp] | None) -> list[Stamp]:
    """The stamps of items, as their `sealer` gives them."""
    return [None] * len(items) if seal is None else [*map(seal, items)]


def unsealed(items: list[Any], kinds: set[type]) -> list[Any]:
    """Those of some stamped items, messages among them, that may change without telling."""
    if len(items) > _FEW and all(map(is_message, kinds)):
        return [*compress(items, map(not_, map(_SEALED.__and__, map(_revision, items))))]
    return [*filterfalse(_is_sealed, items)]


def _is_sealed(item: Any) -> bool:
    kind: type[Any] = item.__class__
    return kind in IMMUTABLE or (is_message(kind) and item.__plait_revision__ & _SEALED == 1)


_FEW = 8
"""Items that are looked at one by one sooner than all in C."""
_SEALED = 1
"""The bit of a message's revision that says so."""
_revision = attrgetter("__plait_revision__")


def stamps_of(items: Collection[Any], kinds: set[type], codec: Codec) -> list[Stamp]:
    """The stamps of items, of which `kinds` are the types.

    >>> stamps_of([1, "a"], {int, str}, Codec())
    [None, None]
    """
    if kinds <= IMMUTABLE:
        return [None] * len(items)
    digest = partial(content, codec=codec)
    if len(kinds) == 1:
        (kind,) = kinds
        return [*map(_stamper(kind, digest), items)]
    stampers = {kind: _stamper(kind, digest) for kind in kinds}
    different = set(stampers.values())
    if len(different) == 1:  # messages of several types share one
        return [*map(different.pop(), items)]
    return [stampers[type(item)](item) for item in items]
