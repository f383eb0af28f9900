"""A new version of a channel, by the type of its value."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from plait.checkpoint.log.deferred import TEXTS
from plait.checkpoint.log.dicts import next_dict, whole_dict
from plait.checkpoint.log.lists import first_list, next_list
from plait.checkpoint.log.records import WHOLE
from plait.checkpoint.log.seen_dicts import SeenDict
from plait.checkpoint.log.versions import (
    SMALL,
    DictVersion,
    Digest,
    Encoded,
    ListVersion,
    ValueVersion,
    Version,
)
from plait.checkpoint.serde import Codec


def encode_version(codec: Codec, old: Version | None, value: Any, key: bytes) -> Encoded | None:
    """Encode a value against the version before it.

    Returns:
        The record to store as version `key`, or None where nothing changed.

    Raises:
        UnregisteredTypeError: Something in it is of a type that the registry does not know.
    """
    kind: type[Any] = value.__class__
    if kind is list:
        if type(old) is ListVersion:
            return next_list(codec, old, value, key)
        return first_list(codec, value, key)
    if kind is dict:
        if type(old) is DictVersion:
            return next_dict(codec, old, value, key)
        return whole_dict(codec, value, SeenDict(value, codec), key)
    known = old if type(old) is ValueVersion else None
    if known is not None and kind in TEXTS and known.holds(value):
        return None
    body = codec.dumps(value)
    version = value_version(key, value, body)
    if known is not None and type(version) is ValueVersion and known.holds(version.content):
        return None
    return Encoded(WHOLE, body, version, value, None, body)


def value_version(key: bytes, value: Any, body: bytes) -> Version:
    """What is remembered of a value that is no list or dict: of a large one, what tells whether the
    next is the same."""
    if len(body) <= SMALL:
        return Version(key, key, 0)
    return ValueVersion(key, value if type(value) in TEXTS else Digest(blake2b(body).digest()))
