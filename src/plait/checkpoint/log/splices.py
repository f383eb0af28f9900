"""How two lists differ: splices against the old one, found in linear time.

Common prefix, common suffix, then a greedy match of what lies between: first the same objects,
then (for reducers that rebuild every item) objects of the same content. Moves are found only in
one direction; the price is bytes, never a wrong result.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from operator import is_
from typing import Any, NamedTuple

from plait.checkpoint.log.stamps import COMPARABLE, Stamp, content, stamps_of
from plait.checkpoint.serde import Codec


class Splice(NamedTuple):
    """Replace `deleted` items of the old list at `start` by items [first, last) of the new."""

    start: int
    deleted: int
    first: int
    last: int


def splices(
    old: list[Any], old_stamps: list[Stamp], new: list[Any], stamps: list[Stamp], codec: Codec
) -> list[Splice]:
    """What turns `old`, as it was when it was stamped, into `new`.

    >>> splices([1, 2, 3], [None] * 3, [1, 3, 4], [None] * 3, Codec())
    [Splice(start=1, deleted=1, first=1, last=1), Splice(start=3, deleted=0, first=2, last=3)]
    """
    shorter = min(len(old), len(new))
    if all(map(is_, old, new)) and old_stamps[:shorter] == stamps[:shorter]:
        if len(old) == len(new):
            return []
        return [Splice(shorter, len(old) - shorter, shorter, len(new))]
    head = _common(old, old_stamps, new, stamps, range(shorter))
    limit = shorter - head
    tail = _common(old, old_stamps, new, stamps, range(-1, -limit - 1, -1))
    middle = (head, len(old) - tail, head, len(new) - tail)
    pairs = _match(
        _identities(old, old_stamps, middle[0], middle[1]),
        _identities(new, stamps, middle[2], middle[3]),
    )
    out: list[Splice] = []
    for gap in _gaps(middle, pairs):
        if gap[0] == gap[1] or gap[2] == gap[3]:
            out.append(Splice(gap[0], gap[1] - gap[0], gap[2], gap[3]))
        else:
            out.extend(_by_content(old, old_stamps, new, gap, codec))
    return out


def _common(
    old: list[Any], old_stamps: list[Stamp], new: list[Any], stamps: list[Stamp], places: range
) -> int:
    """How many items agree along `places`."""
    count = 0
    for i in places:
        a, b = old[i], new[i]
        if a is not b:
            if type(a) is not type(b) or type(a) not in COMPARABLE or a != b:
                break
        elif old_stamps[i] != stamps[i]:
            break
        count += 1
    return count


def _identities(items: list[Any], stamps: list[Stamp], first: int, last: int) -> list[Hashable]:
    return [
        (type(items[i]), items[i]) if type(items[i]) in COMPARABLE else (id(items[i]), stamps[i])
        for i in range(first, last)
    ]


def _by_content(
    old: list[Any], old_stamps: list[Stamp], new: list[Any], gap: _Gap, codec: Codec
) -> list[Splice]:
    """Match a gap by what its items hold. An old item that was changed in place matches nothing."""
    a, b, c, d = gap
    mine = old[a:b]
    now = stamps_of(mine, set(map(type, mine)), codec)
    before: list[Hashable] = [
        content(item, codec) if stamp == then else object()
        for item, stamp, then in zip(mine, now, old_stamps[a:b], strict=True)
    ]
    pairs = _match(before, [content(item, codec) for item in new[c:d]])
    return [Splice(s, e - s, f, g) for s, e, f, g in _gaps(gap, pairs)]


_Gap = tuple[int, int, int, int]


def _match(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of equal keys, ascending on both sides, taken greedily along `new`."""
    if not old or not new:
        return []
    where: dict[Hashable, list[int]] = {}
    for i, key in enumerate(old):
        where.setdefault(key, []).append(i)
    pairs: list[tuple[int, int]] = []
    after = 0
    for j, key in enumerate(new):
        places = where.get(key)
        if places is not None:
            k = bisect_left(places, after)
            if k < len(places):
                pairs.append((places[k], j))
                after = places[k] + 1
    return pairs


def _gaps(within: _Gap, pairs: list[tuple[int, int]]) -> list[_Gap]:
    """The stretches of both lists between the matched pairs, where either is not empty."""
    a, b, c, d = within
    out: list[_Gap] = []
    i, j = a, c
    for p, q in [*((a + p, c + q) for p, q in pairs), (b, d)]:
        if p > i or q > j:
            out.append((i, p, j, q))
        i, j = p + 1, q + 1
    return out
