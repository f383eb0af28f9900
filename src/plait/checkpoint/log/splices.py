"""How two lists differ: splices against the old one, found in linear time.

Common prefix, common suffix, then a greedy match of what lies between: first the same objects,
then (for reducers that rebuild every item) objects of the same content. Moves are found only in
one direction; the price is bytes, never a wrong result. Nearly all of it runs in C: a step of
Python is made per stretch of items, not per item.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from itertools import chain, compress, count
from operator import is_not, ne
from typing import Any, NamedTuple

from plait.checkpoint.log.seen import Seen
from plait.checkpoint.log.stamps import COMPARABLE, IMMUTABLE, contents
from plait.checkpoint.serde import Codec


class Splice(NamedTuple):
    """Replace `deleted` items of the old list at `start` by items [first, last) of the new."""

    start: int
    deleted: int
    first: int
    last: int


class _Run(NamedTuple):
    """So many items at `old` are those at `new` of the new list."""

    old: int
    new: int
    length: int


class _Gap(NamedTuple):
    """Items [a, b) of the old list, and [c, d) of the new, between the runs."""

    a: int
    b: int
    c: int
    d: int


_Keys = Sequence[Hashable]
_SAMPLES = 128
"""So many items of a long list that was made anew tell whether it still holds what it held."""


def splices(old: Seen, new: list[Any], codec: Codec, limit: int) -> list[Splice] | None:
    """What turns `old`, as it was when it was seen, into `new`.

    Args:
        old: The list before.
        new: The list now.
        codec: Tells what items hold.
        limit: None is given where more than so many pieces of the old list would have to be kept.

    >>> codec = Codec()
    >>> splices(Seen([1, 2, 3], codec), [1, 3, 4], codec, 9)
    [Splice(start=1, deleted=1, first=1, last=1), Splice(start=3, deleted=0, first=2, last=3)]
    """
    altered = old.altered()
    head, tail = _ends(old.items, new, altered)
    before, now = old.items[head : len(old.items) - tail], new[head : len(new) - tail]
    if not before and not now:
        return []
    gaps = [_Gap(0, len(before), 0, len(now))]
    if before and now:
        kinds = {*map(type, before), *map(type, now)}
        found = _differences(before, now, kinds, altered, codec, limit)
        if found is None:
            return None
        gaps = found
    return [Splice(a + head, b - a, c + head, d + head) for a, b, c, d in gaps]


def _ends(old: list[Any], new: list[Any], altered: set[int]) -> tuple[int, int]:
    """How many items at the begin and at the end are the same objects, and unchanged."""
    shorter = min(len(old), len(new))
    head = next(compress(count(), map(is_not, old, new)), shorter)
    rest = shorter - head
    tail = min(rest, next(compress(count(), map(is_not, reversed(old), reversed(new))), rest))
    if altered:
        head = next((i for i in range(head) if id(old[i]) in altered), head)
        tail = next((i for i in range(tail) if id(old[-1 - i]) in altered), tail)
    return head, tail


def _differences(
    old: list[Any], new: list[Any], kinds: set[type], altered: set[int], codec: Codec, limit: int
) -> list[_Gap] | None:
    """What differs between two lists that share neither their first nor their last item."""
    whole = _Gap(0, len(old), 0, len(new))
    if kinds <= IMMUTABLE:
        runs = _matched(*_values(old, new, kinds, codec), limit)
        return None if runs is None else _between(runs, whole)
    mine, other = _identities(old, kinds, altered), _identities(new, kinds, ())
    runs = _matched(mine, other, limit)
    gaps = [whole] if runs is None else _between(runs, whole)
    open_gaps = [gap for gap in gaps if gap.a < gap.b and gap.c < gap.d]
    if not open_gaps:
        return gaps
    pair = _by_content(old, new, mine, other, open_gaps, altered, codec)
    if pair is None:
        return None if runs is None else gaps
    mine, other = pair
    if runs is None:
        runs = _matched(mine, other, limit)
        return None if runs is None else _between(runs, whole)
    out: list[_Gap] = []
    for gap in gaps:
        a, b, c, d = gap
        found = _matched(mine[a:b], other[c:d], limit) if a < b and c < d else []
        moved = [_Run(a + p, c + q, length) for p, q, length in found or ()]
        out += _between(moved, gap)
    return out


def _values(old: list[Any], new: list[Any], kinds: set[type], codec: Codec) -> tuple[_Keys, _Keys]:
    """Keys of immutables: equal ones mean that the items are the same."""
    if kinds <= COMPARABLE and not {int, bool} <= kinds:  # 1 == True
        return old, new
    if kinds == {float}:  # 0.0 == -0.0
        return _bits(old), _bits(new)
    return contents(old, new, codec)


def _bits(numbers: list[float]) -> list[int]:
    """Floats as the integers of the same bits."""
    return memoryview(array("d", numbers)).cast("B").cast("Q").tolist()


def _identities(items: list[Any], kinds: set[type], altered: set[int] | tuple[()]) -> _Keys:
    """Keys that are equal for the same objects; those of altered ones, for nothing."""
    if COMPARABLE.isdisjoint(kinds):
        keys: list[Hashable] = [*map(id, items)]
    else:
        keys = [(type(x), x) if type(x) in COMPARABLE else id(x) for x in items]
    if altered:
        keys = [object() if id(item) in altered else k for k, item in zip(keys, items, strict=True)]
    return keys


def _by_content(
    old: list[Any], new: list[Any], mine: _Keys, other: _Keys, gaps: list[_Gap],
    altered: set[int], codec: Codec,
) -> tuple[_Keys, _Keys] | None:  # fmt: skip
    """Keys by content for items in gaps that are in one list only; None where none is equal."""
    lost = [*chain.from_iterable(range(gap.a, gap.b) for gap in gaps)]
    come = [*chain.from_iterable(range(gap.c, gap.d) for gap in gaps)]
    theirs = set(other)
    if not theirs.isdisjoint(mine):
        ours = set(mine)
        lost = [i for i in lost if mine[i] not in theirs]
        come = [i for i in come if other[i] not in ours]
    if altered:
        lost = [i for i in lost if id(old[i]) not in altered]
    if not lost or not come:
        return None
    if len(come) > 4 * _SAMPLES:
        sample = [new[come[i * i * 7919 % len(come)]] for i in range(_SAMPLES)]
        held, holds = contents(_at(lost, old), sample, codec)
        if set(held).isdisjoint(holds):  # a few may be equal: not worth looking at all
            return None
    held, holds = contents(_at(lost, old), _at(come, new), codec)
    if set(held).isdisjoint(holds):
        return None
    before, now = [*mine], [*other]
    for i, key in zip(lost, held, strict=True):
        before[i] = ("content", key)  # no identity is such a tuple
    for i, key in zip(come, holds, strict=True):
        now[i] = ("content", key)
    return before, now


def _at(places: list[int], items: list[Any]) -> list[Any]:
    """The items at ascending places."""
    return items if len(places) == len(items) else [items[i] for i in places]


def _matched(old: _Keys, new: _Keys, limit: int) -> list[_Run] | None:
    """Runs of equal keys, ascending on both sides, taken greedily along `new`.

    None: there are more than `limit`.
    """
    known = set(old)
    if known.isdisjoint(new):
        return []
    # Where a key was last: only if that lies ahead, a search for its next place is worth it. So
    # all searches together go once through the old keys.
    last = dict(zip(old, range(len(old)), strict=True))
    runs: list[_Run] = []
    free = after = 0
    for place in compress(range(len(new)), map(known.__contains__, new)):
        if place < free or last[new[place]] < after:
            continue
        if len(runs) == limit:
            return None
        at = old.index(new[place], after)
        length = _alike(old, at, new, place)
        runs.append(_Run(at, place, length))
        free, after = place + length, at + length
    return runs


def _alike(old: _Keys, at: int, new: _Keys, place: int) -> int:
    """How many keys from two places on are equal: that at the places are."""
    if old[at + 1 : at + 2] != new[place + 1 : place + 2]:
        return 1
    length, step = 1, 8
    while True:
        mine = old[at + length : at + length + step]
        other = new[place + length : place + length + step]
        if not mine or mine != other:
            shorter = min(len(mine), len(other))
            return length + next(compress(count(), map(ne, mine, other)), shorter)
        length += len(mine)
        step *= 4


def _between(runs: list[_Run], within: _Gap) -> list[_Gap]:
    """The stretches of both lists between the runs, where either is not empty."""
    i, b, j, d = within
    out: list[_Gap] = []
    for p, q, length in [*runs, _Run(b, d, 0)]:
        if p > i or q > j:
            out.append(_Gap(i, p, j, q))
        i, j = p + length, q + length
    return out
