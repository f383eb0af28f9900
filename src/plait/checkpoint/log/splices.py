"""How two lists differ: splices against the old one, found in linear time.

Common prefix, common suffix, then a greedy match of what lies between: first the same objects,
then (for reducers that rebuild every item) objects of the same content. Moves are found only in
one direction; the price is bytes, never a wrong result. Nearly all of it runs in C: a step of
Python is made per stretch of items, not per item.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from heapq import nlargest
from itertools import chain, compress, count, repeat, starmap
from operator import gt, is_not, le, lt, ne, not_, sub
from typing import Any, NamedTuple, TypeAlias

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
_Chain: TypeAlias = "tuple[_Run, _Chain | None]"
"""A run, and those before it."""
_NOWHERE = -2
"""The place of a key that the old list has not: such a place never goes on from another."""
_WORTHLESS = 16
"""Less than such a part of a list in another order is not worth to be kept."""
_SAMPLES = 128
"""So many items of a long list that was made anew tell whether it still holds what it held."""
_MANY = 64
"""Up to so many pieces are kept, however small they are."""
_CRUMB = 8
"""A piece of less than so many times the bytes that its row takes is a crumb."""
_SAMPLED = 256
"""So many places of a longer list tell whether it is worth to find those that ascend."""


def splices(
    old: Seen, new: list[Any], codec: Codec, limit: int, *, look: bool = True
) -> list[Splice] | None:
    """What turns `old`, as it was when it was seen, into `new`.

    Args:
        old: The list before.
        new: The list now.
        codec: Tells what items hold.
        limit: None is given where more than so many pieces of the old list would have to be kept.
        look: Also between the ends that they share; else all that lies there has changed, and None
            is given where these ends are no more than half.

    >>> codec = Codec()
    >>> splices(Seen([1, 2, 3], codec), [1, 3, 4], codec, 9)
    [Splice(start=1, deleted=1, first=1, last=1), Splice(start=3, deleted=0, first=2, last=3)]
    """
    head, tail = _ends(old.items, new)
    if not look and 2 * (head + tail) <= len(new):
        return None
    altered = None
    if head or tail or (look and not _are_strangers(old, new)):
        altered = old.altered(roughly=not look)
        head, tail = _unaltered(old.items, new, head, tail, altered)
        if look and _are_scattered(old.items, altered, limit):
            return None
    before, now = old.items[head : len(old.items) - tail], new[head : len(new) - tail]
    if not before and not now:
        return []
    gaps = [_Gap(0, len(before), 0, len(now))]
    if before and now and look:
        found = _Search(old, before, now, altered, codec, limit).differences()
        if found is not None:
            gaps = found
        elif 2 * (head + tail) <= len(new):
            return None
    return [Splice(a + head, b - a, c + head, d + head) for a, b, c, d in gaps]


def _ends(old: list[Any], new: list[Any]) -> tuple[int, int]:
    """How many items at the begin and at the end are the same objects."""
    shorter = min(len(old), len(new))
    head = next(compress(count(), map(is_not, old, new)), shorter)
    rest = shorter - head
    return head, min(rest, next(compress(count(), map(is_not, reversed(old), reversed(new))), rest))


def _unaltered(
    old: list[Any], new: list[Any], head: int, tail: int, altered: set[int]
) -> tuple[int, int]:
    """How many of the same objects at the ends are as they were."""
    if not altered:
        return head, tail
    first = next(compress(count(), map(altered.__contains__, map(id, old[:head]))), head)
    if first < head:  # what comes after it may belong to the other end
        rest = min(len(old), len(new)) - first
        tail = next(compress(count(), map(is_not, reversed(old), reversed(new))), rest)
        head, tail = first, min(rest, tail)
    ends = map(altered.__contains__, map(id, reversed(old)))
    return head, next(compress(range(tail), ends), tail)


def _are_scattered(items: list[Any], altered: set[int], limit: int) -> bool:
    """Whether items that were changed in place leave nothing of a list, or only crumbs."""
    if 2 * len(altered) < len(items):
        return False
    ends = [*map(altered.__contains__, map(id, items))]
    kept, pieces = ends.count(False), 1 + sum(map(ne, ends, ends[1:])) // 2
    return not kept or _are_crumbs(pieces, kept, len(items), limit)


def _are_strangers(old: Seen, new: list[Any]) -> bool:
    """Whether items are told by their identity, and none is in both lists."""
    if not COMPARABLE.isdisjoint(old.kinds):
        return False
    return {*map(id, old.items)}.isdisjoint(map(id, new))


class _Search:
    """What differs between two lists that share neither their first nor their last item."""

    __slots__ = ("_altered", "_codec", "_limit", "_new", "_old", "_seen", "_whole")

    def __init__(
        self, seen: Seen, old: list[Any], new: list[Any], altered: set[int] | None, codec: Codec,
        limit: int,
    ) -> None:  # fmt: skip
        self._seen, self._old, self._new = seen, old, new
        self._altered = altered
        """The ids of items that were changed in place (None: the lists share no object)."""
        self._codec, self._limit = codec, limit
        self._whole = _Gap(0, len(old), 0, len(new))

    def differences(self) -> list[_Gap] | None:
        """The stretches that differ; None where too many pieces would have to be kept."""
        old, new, whole, limit = self._old, self._new, self._whole, self._limit
        kinds = {*map(type, old), *map(type, new)}
        if kinds <= IMMUTABLE:
            runs = _matched(*_values(old, new, kinds, self._codec), limit)
            return None if runs is None else _between(runs, whole)
        if self._altered is None:
            return self._among_strangers()
        mine, other = _identities(old, kinds, self._altered), _identities(new, kinds, ())
        runs = _matched(mine, other, limit)
        gaps = [whole] if runs is None else _between(runs, whole)
        open_gaps = [gap for gap in gaps if gap.a < gap.b and gap.c < gap.d]
        if not open_gaps:
            return gaps
        pair = self._by_content(mine, other, open_gaps, self._altered)
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

    def _among_strangers(self) -> list[_Gap] | None:
        """What differs where no object is in both lists."""
        old, new = self._old, self._new
        if not self._may_hold_same(old, new):
            return [self._whole]
        mine, other = contents(old, new, self._codec)
        altered = self._seen.altered()
        if altered:
            pairs = zip(mine, old, strict=True)
            mine = [object() if id(item) in altered else key for key, item in pairs]
        runs = _matched(mine, other, self._limit)
        return None if runs is None else _between(runs, self._whole)

    def _by_content(
        self, mine: _Keys, other: _Keys, gaps: list[_Gap], altered: set[int]
    ) -> tuple[_Keys, _Keys] | None:
        """Keys by content for items in gaps that are in one list only; None where none is equal."""
        old, new = self._old, self._new
        lost: Sequence[int] = [*chain.from_iterable(range(gap.a, gap.b) for gap in gaps)]
        come: Sequence[int] = [*chain.from_iterable(range(gap.c, gap.d) for gap in gaps)]
        theirs, ours = set(other), set(mine)
        if theirs <= ours or ours <= theirs:  # so a list in another order is not looked at again
            return None
        if not theirs.isdisjoint(ours):
            lost = _without(lost, mine, theirs)
            come = _without(come, other, ours)
        if altered:
            lost = [i for i in lost if id(old[i]) not in altered]
        if not lost or not come:
            return None
        olds, news = _at(lost, old), _at(come, new)
        if not self._may_hold_same(olds, news):
            return None
        held, holds = contents(olds, news, self._codec)
        if set(held).isdisjoint(holds):
            return None
        before, now = [*mine], [*other]
        for i, key in zip(lost, held, strict=True):
            before[i] = ("content", key)  # no identity is such a tuple
        for i, key in zip(come, holds, strict=True):
            now[i] = ("content", key)
        return before, now

    def _may_hold_same(self, olds: list[Any], news: list[Any]) -> bool:
        """Whether it is worth looking which of the new items hold what old ones held.

        A few may be equal where a sample says no.
        """
        if len(news) <= 4 * _SAMPLES:
            return True
        sample = [news[i * i * 7919 % len(news)] for i in range(_SAMPLES)]
        held, holds = contents(olds, sample, self._codec)
        return not set(holds).isdisjoint(held)


def _values(old: list[Any], new: list[Any], kinds: set[type], codec: Codec) -> tuple[_Keys, _Keys]:
    """Keys of immutables: equal ones mean that the items are the same."""
    if kinds <= COMPARABLE and not {int, bool} <= kinds:  # 1 == True
        return old, new
    if kinds == {float}:
        if 0.0 in old or 0.0 in new:  # 0.0 == -0.0
            return _bits(old), _bits(new)
        return old, new
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


def _without(places: Sequence[int], keys: _Keys, known: set[Hashable]) -> list[int]:
    """The places whose keys are not known."""
    found = map(known.__contains__, map(keys.__getitem__, places))
    return [*compress(places, map(not_, found))]


def _at(places: Sequence[int], items: list[Any]) -> list[Any]:
    """The items at ascending places."""
    return items if len(places) == len(items) else [items[i] for i in places]


def _matched(old: _Keys, new: _Keys, limit: int) -> list[_Run] | None:
    """Runs of equal keys, ascending on both sides.

    None: there are more than `limit`.
    """
    last = dict(zip(old, range(len(old)), strict=True))
    if last.keys().isdisjoint(new):
        return []
    return (_chained if len(last) == len(old) else _searched)(old, new, last, limit)


def _chained(old: _Keys, new: _Keys, places: dict[Hashable, int], limit: int) -> list[_Run] | None:
    """The runs that keep the most together, where no key is twice in the old list.

    Where more than `limit` could be kept, only those that are long enough to be worth their row.
    None is given, too, where hardly any can be kept.
    """
    at = [*map(places.get, new, repeat(_NOWHERE))]
    steps = [*map(sub, at[1:], at)]
    worth = max(1, len(old) // max(1, limit))
    going_on = steps.count(1)
    known = len(at) - at.count(_NOWHERE)
    pieces = known - going_on
    many = pieces > limit
    if (many and going_on < worth) or _are_crumbs(pieces, known, len(at), limit):
        return None
    if _are_shuffled(at, pieces, limit):
        return None
    begins = [0, *compress(range(1, len(at)), map(ne, steps, repeat(1)))]
    lengths = [*map(sub, chain(begins[1:], (len(at),)), begins)]
    olds = [*map(at.__getitem__, begins)]
    ascents = sum(map(lt, olds, olds[1:]))  # what is kept goes up: no more often than all goes up
    if sum(nlargest(ascents + 1, lengths)) * _WORTHLESS < len(at):
        return None
    keep: Iterable[bool] = map(ne, olds, repeat(_NOWHERE))
    if many:
        keep = [*map(gt, lengths, repeat(worth))]
        held = sum(compress(lengths, keep))
        if sum(keep) > limit or held * _WORTHLESS < len(at):
            return None
    runs = zip(olds, begins, lengths, strict=True)
    found = [*starmap(_Run, compress(runs, keep))]
    if not _ascend(found):
        found = _heaviest(found)
    held = sum(run.length for run in found)
    return None if _are_crumbs(len(found), held, len(at), limit) else found


def _are_shuffled(at: list[int], pieces: int, limit: int) -> bool:
    """Whether what stays in order of a long list will be crumbs: in a sample, about as much does.

    `at`: for each of the new items, its place in the old list.
    """
    if len(at) < 2 * _SAMPLED or not _are_crumbs(pieces, 0, len(at), limit):
        return False
    sample = at[:: len(at) // _SAMPLED]
    some = [_Run(old, new, 1) for new, old in enumerate(sample) if old != _NOWHERE]
    return _are_crumbs(pieces, len(_heaviest(some)) * 3 // 2, len(sample), limit)


def _are_crumbs(pieces: int, kept: int, length: int, limit: int) -> bool:
    """Whether no more than half of a list can be kept, and that in many small pieces.

    To write it whole takes at most twice the bytes, and far less time, then and at each reading.
    """
    return 2 * kept <= length and pieces > max(_MANY, limit // _CRUMB)


def _ascend(runs: list[_Run]) -> bool:
    ends = [old + length for old, _, length in runs]
    return all(map(le, ends, [run.old for run in runs[1:]]))


def _heaviest(runs: list[_Run]) -> list[_Run]:
    """Those runs that ascend in the old list, too, and hold the most items together."""
    ends, held = [0], [0]  # what ends here in the old list at the latest holds so much, at most
    chains: list[_Chain | None] = [None]
    for run in runs:
        before = bisect_right(ends, run.old) - 1
        end, total = run.old + run.length, held[before] + run.length
        place = bisect_left(ends, end)
        if place and held[place - 1] >= total:
            continue
        after = place
        while after < len(held) and held[after] <= total:
            after += 1
        if after == place and place < len(ends) and ends[place] == end:
            continue
        ends[place:after], held[place:after] = [end], [total]
        chains[place:after] = [(run, chains[before])]
    out: list[_Run] = []
    link = chains[-1]
    while link is not None:
        out.append(link[0])
        link = link[1]
    return out[::-1]


def _searched(old: _Keys, new: _Keys, last: dict[Hashable, int], limit: int) -> list[_Run] | None:
    """Runs taken greedily along `new`, where keys may be at several places."""
    runs: list[_Run] = []
    free = after = 0
    for place in compress(range(len(new)), map(last.__contains__, new)):
        # Only if the last place of a key lies ahead, a search for its next is worth it. So all
        # searches together go once through the old keys.
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
