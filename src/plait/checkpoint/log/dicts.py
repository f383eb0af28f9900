"""How a dict is written as a difference against its last version: keys set and keys deleted.

Order is part of a dict, and a patch keeps it: kept keys stay in place, new ones follow. Where that
does not give the new order, where keys are of mixed types (1 and True are one key and two
encodings), where half of many small values changed, or where the garbage behind it is twice its
size, the dict is written whole.
"""

from __future__ import annotations

from itertools import filterfalse
from typing import Any

from plait.checkpoint.log.records import DICT_PATCH, WHOLE, pack_frame
from plait.checkpoint.log.seen_dicts import SeenDict
from plait.checkpoint.log.versions import ROW, SMALL, DictVersion, Encoded, may_keep
from plait.checkpoint.serde import Codec

_KEYS = frozenset((str, int, bytes))
_GARBAGE = 1024
_MANY, _LITTLE = 64, 512
"""So many values are many; so many bytes of the whole dict are little for one that changed."""


def whole_dict(
    codec: Codec, value: dict[Any, Any], seen: SeenDict, key: bytes, lost: int = 0
) -> Encoded:
    """A dict written without looking back, as it was seen."""
    body = codec.dumps(value)
    version = DictVersion(key, key, 0, seen, len(body), len(body), lost)
    return Encoded(WHOLE, body, version, value, None, body)


def next_dict(codec: Codec, old: DictVersion, value: dict[Any, Any], key: bytes) -> Encoded | None:
    """A dict written against its last version; None where nothing changed."""
    before = old.seen.data
    kept, order, gone = [*before], [*value], []
    if order[: len(kept)] != kept:
        gone = [*filterfalse(value.__contains__, kept)]
        kept = [*filter(value.__contains__, kept)]
    if not kept or order[: len(kept)] != kept or not _plain_keys(before, value):
        return whole_dict(codec, value, SeenDict(value, codec), key)
    held = old.seen.without(gone, codec) if gone else old.seen
    seen, changed = held.since(value, codec, roughly=not may_keep(old.lost))
    names = changed + order[len(kept) :]
    if not gone and not names:
        old.seen = seen
        return None
    if len(names) == len(value) or _is_mostly_new(len(names), len(value), old.size):
        return whole_dict(codec, value, seen, key, old.lost + 1)
    put = dict(zip(names, map(value.__getitem__, names), strict=True))
    body = codec.dumps([gone, put])
    size = old.size * len(kept) // max(1, len(before)) + len(body) * (len(order) > len(kept))
    written = old.written + len(body) + ROW
    if size <= len(body) + SMALL or written > 3 * size + _GARBAGE:
        return whole_dict(codec, value, seen, key)
    depth = old.depth + 1
    version = DictVersion(key, old.anchor, depth, seen, size, written)
    payload = pack_frame((old.id, old.anchor, depth, len(value), body))
    return Encoded(DICT_PATCH, payload, version, value, None if gone else put, body)


def _is_mostly_new(changed: int, count: int, size: int) -> bool:
    """Whether at least half of many small values changed: to write all takes at most twice the
    bytes of the values that did, or little for each of them, and far less time at each reading."""
    return changed > _MANY and 2 * changed >= count and size <= changed * _LITTLE


def _plain_keys(before: dict[Any, Any], value: dict[Any, Any]) -> bool:
    kinds = set(map(type, before)) | set(map(type, value))
    return len(kinds) == 1 and kinds <= _KEYS
