"""How a dict is written as a difference against its last version: keys set and keys deleted.

Order is part of a dict, and a patch keeps it: kept keys stay in place, new ones follow. Where that
does not give the new order, where keys are of mixed types (1 and True are one key and two
encodings), or where the garbage behind it is twice its size, the dict is written whole.
"""

from __future__ import annotations

from typing import Any

from plait.checkpoint.log.records import DICT_PATCH, WHOLE, pack_frame
from plait.checkpoint.log.stamps import COMPARABLE, Stamp, content, stamps_of
from plait.checkpoint.log.versions import ROW, SMALL, DictVersion, Encoded
from plait.checkpoint.serde import Codec

_KEYS = frozenset((str, int, bytes))
_GARBAGE = 1024


def dict_stamps(codec: Codec, value: dict[Any, Any]) -> dict[Any, Stamp]:
    """The stamps of a dict's values."""
    values = value.values()
    return dict(zip(value, stamps_of(values, set(map(type, values)), codec), strict=True))


def whole_dict(
    codec: Codec, value: dict[Any, Any], stamps: dict[Any, Stamp], key: bytes
) -> Encoded:
    """A dict written without looking back."""
    body = codec.dumps(value)
    version = DictVersion(key, key, 0, value.copy(), stamps, len(body), len(body))
    return Encoded(WHOLE, body, version, value, None, body)


def next_dict(codec: Codec, old: DictVersion, value: dict[Any, Any], key: bytes) -> Encoded | None:
    """A dict written against its last version; None where nothing changed."""
    stamps = dict_stamps(codec, value)
    before = old.data
    if not _plain_keys(before, value):
        return whole_dict(codec, value, stamps, key)
    gone = [name for name in before if name not in value]
    kept = [name for name in before if name in value] if gone else list(before)
    order = list(value)
    if order[: len(kept)] != kept:
        return whole_dict(codec, value, stamps, key)
    put = {
        name: value[name]
        for name in kept
        if not _same(before[name], old.stamps[name], value[name], stamps[name], codec)
    }
    put.update((name, value[name]) for name in order[len(kept) :])
    if not gone and not put:
        old.data, old.stamps = value.copy(), stamps
        return None
    if len(put) == len(value):
        return whole_dict(codec, value, stamps, key)
    body = codec.dumps([gone, put])
    size = old.size * len(kept) // max(1, len(before)) + len(body) * (len(order) > len(kept))
    written = old.written + len(body) + ROW
    if size <= len(body) + SMALL or written > 3 * size + _GARBAGE:
        return whole_dict(codec, value, stamps, key)
    depth = old.depth + 1
    version = DictVersion(key, old.anchor, depth, value.copy(), stamps, size, written)
    payload = pack_frame((old.id, old.anchor, depth, len(value), body))
    return Encoded(DICT_PATCH, payload, version, value, None if gone else put, body)


def _plain_keys(before: dict[Any, Any], value: dict[Any, Any]) -> bool:
    kinds = set(map(type, before)) | set(map(type, value))
    return len(kinds) == 1 and kinds <= _KEYS


def _same(old: Any, old_stamp: Stamp, new: Any, stamp: Stamp, codec: Codec) -> bool:
    if old is new:
        return old_stamp == stamp
    if type(old) is not type(new):
        return False
    if type(old) in COMPARABLE:
        return old == new
    now = stamps_of((old,), {type(old)}, codec)[0]  # an old value that was changed is another
    return now == old_stamp and content(old, codec) == content(new, codec)
