"""An own shallow copy of a dict, and which of its keys hold something else since then.

All in C where that can tell: values that never change are compared by identity, and others are
packed in blocks: equal bytes mean that nothing in them changed. A block that holds more than plain
data has a stamp per value. Python looks only into what may have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, compress
from operator import is_, is_not, ne
from typing import Any, TypeAlias, cast

import ormsgpack

from plait.checkpoint.log.stamps import COMPARABLE, IMMUTABLE, Stamp, content, stamps_of
from plait.checkpoint.serde import Codec, pack_each, pack_plain

Block: TypeAlias = "bytes | list[Stamp] | None"
"""What some values were: plain data packed; a stamp each; or nothing, where none ever changes."""

_BLOCK, _FEW = 32, 4
"""How many values are in a block, small ones and large: what is looked into if one changed."""
_LARGE = 4096
"""From how many bytes of a block on its values are large."""
_SAMPLES = 16
"""So many of more blocks tell whether it is worth to look into all."""
_PLAIN = COMPARABLE | {float, dict, list}
"""Of these, equal bytes tell equal values."""


class SeenDict:
    """A dict as it was seen.

    >>> note = {"by": "Ann"}
    >>> seen = SeenDict({"a": 1, "b": 2, "note": note}, Codec())
    >>> note["by"] = "Bob"
    >>> seen.since({"a": 1, "b": 3, "note": note, "new": 4}, Codec())[1]
    ['b', 'note']
    """

    __slots__ = ("_block", "_blocks", "data")

    def __init__(self, value: dict[Any, Any], codec: Codec) -> None:
        self._blocks: list[Block] | None = None
        """Of all values, in order (None: none of them ever changes)."""
        self._block = _BLOCK
        if not IMMUTABLE.issuperset(map(type, value.values())):
            values = [*value.values()]
            first = _block_of(values[:_BLOCK], codec)
            self._block = _FEW if isinstance(first, bytes) and len(first) > _LARGE else _BLOCK
            self._blocks = _blocks_of(values, self._block, codec)
        self.data = value.copy()

    def since(
        self, value: dict[Any, Any], codec: Codec, *, roughly: bool = False
    ) -> tuple[SeenDict, list[Any]]:
        """What is seen now, and which of these keys hold something else.

        Args:
            value: A dict that has the same keys first, in the same order.
            codec: What packs values that are no plain data.
            roughly: Where very many may do so, do not look which; others near them are given, too.
        """
        if self._blocks is None:
            changed, fixed = self._replaced(value, codec)
            if not fixed:
                return SeenDict(value, codec), changed
            return _seen(value.copy(), None, _BLOCK), changed
        now = [*value.values()]
        size = self._block
        blocks = _blocks_of(now, size, codec)
        names, olds = [*self.data], [*self.data.values()]
        pairs = enumerate(zip(self._blocks, blocks, strict=False))
        differ = [i for i, (was, is_now) in pairs if was.__class__ is not bytes or was != is_now]

        def changed_in(i: int) -> list[Any]:
            part = slice(i * size, (i + 1) * size)
            was = cast("list[Block]", self._blocks)[i]
            return [
                *compress(names[part], _differing(olds[part], was, now[part], blocks[i], codec))
            ]

        if 2 * len(differ) > len(self._blocks) > 2 * _SAMPLES:
            sample = differ[:: len(differ) // _SAMPLES]
            roughly = roughly or 2 * sum(len(changed_in(i)) for i in sample) >= size * len(sample)
        else:
            roughly = False
        if roughly:
            parts = (names[i * size : (i + 1) * size] for i in differ)
        else:
            parts = map(changed_in, differ)
        changed = [*chain.from_iterable(parts)]
        return _seen(value.copy(), blocks, size), changed

    def without(self, gone: Iterable[Any], codec: Codec) -> SeenDict:
        """The same, as if some keys had not been there."""
        rest = self.data.copy()
        for name in gone:
            del rest[name]
        if self._blocks is None:
            return _seen(rest, None, _BLOCK)
        keep = [*map(rest.__contains__, self.data)]
        olds = [*self.data.values()]
        values: list[Any] = []
        size = self._block
        for i, block in enumerate(self._blocks):
            part = olds[i * size : (i + 1) * size]
            values += ormsgpack.unpackb(block) if isinstance(block, bytes) else part
        kept = dict(zip(rest, compress(values, keep), strict=True))
        if list not in map(type, self._blocks):
            return SeenDict(kept, codec)
        stamps: list[Stamp] = []
        for i, block in enumerate(self._blocks):
            part = values[i * size : (i + 1) * size]
            stamps += block if isinstance(block, list) else _stamps(part, codec)
        stamps = [*compress(stamps, keep)]
        blocks: list[Block] = [stamps[i : i + size] for i in range(0, len(stamps), size)]
        return _seen(kept, blocks, size)

    def _replaced(self, value: dict[Any, Any], codec: Codec) -> tuple[list[Any], bool]:
        """Keys that hold something else, where none of the values ever changed; and whether none
        ever will."""
        names, olds, news = [*self.data], [*self.data.values()], [*value.values()]
        more = news[len(olds) :]
        del news[len(olds) :]
        differ = [*map(is_not, olds, news)]
        if not all(differ):
            names, olds = [*compress(names, differ)], [*compress(olds, differ)]
            news = [*compress(news, differ)]
        kinds, new_kinds = set(map(type, olds)), set(map(type, news))
        fixed = IMMUTABLE.issuperset(new_kinds) and IMMUTABLE.issuperset(map(type, more))
        if len(kinds) == 1 and kinds <= COMPARABLE and kinds == new_kinds:
            return [*compress(names, map(ne, olds, news))], fixed
        pairs = zip(names, olds, news, strict=False)
        return [name for name, old, new in pairs if not _same(old, None, new, None, codec)], fixed


def _seen(data: dict[Any, Any], blocks: list[Block] | None, block: int) -> SeenDict:
    seen = SeenDict.__new__(SeenDict)
    seen.data = data
    seen._block, seen._blocks = block, blocks  # pyright: ignore[reportPrivateUsage]
    return seen


def _blocks_of(values: list[Any], size: int, codec: Codec) -> list[Block]:
    return [_block_of(values[i : i + size], codec) for i in range(0, len(values), size)]


def _block_of(values: list[Any], codec: Codec) -> Block:
    kinds = set(map(type, values))
    if kinds <= IMMUTABLE:
        return None
    if kinds <= _PLAIN:
        try:
            return pack_plain(values)
        except TypeError:
            pass
    return stamps_of(values, kinds, codec)


def _stamps(values: Sequence[Any], codec: Codec) -> list[Stamp]:
    return stamps_of(values, set(map(type, values)), codec)


def _differing(
    olds: list[Any], was: Block, news: list[Any], now: Block, codec: Codec
) -> Iterable[bool]:
    """Which values of a block differ; more may have come after the old ones."""
    if isinstance(was, bytes):
        if len(news) == 1:
            return [True]
        held = ormsgpack.unpackb(was)
        if isinstance(now, bytes):
            return [*map(ne, pack_each(held), pack_each(news))]
        return [not _same_plain(old, new) for old, new in zip(held, news, strict=False)]
    news = news[: len(olds)]
    before = [None] * len(olds) if was is None else was
    stamps = now[: len(olds)] if isinstance(now, list) else _stamps(news, codec)
    if before == stamps and all(map(is_, olds, news)):
        return []
    each = zip(olds, before, news, stamps, strict=True)
    return [not _same(old, stamp, new, mark, codec) for old, stamp, new, mark in each]


def _same_plain(old: Any, new: Any) -> bool:
    if type(new) is not type(old):
        return False
    if type(new) in COMPARABLE:
        return new == old
    try:
        return pack_plain(new) == pack_plain(old)
    except TypeError:
        return False


def _same(old: Any, old_stamp: Stamp, new: Any, stamp: Stamp, codec: Codec) -> bool:
    if old is new:
        return old_stamp == stamp
    if type(old) is not type(new):
        return False
    if type(old) in COMPARABLE:
        return old == new
    now = stamps_of((old,), {type(old)}, codec)[0]  # an old value that was changed is another
    return now == old_stamp and content(old, codec) == content(new, codec)
