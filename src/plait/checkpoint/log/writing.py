"""A new version of a channel, by the type of its value."""

from __future__ import annotations

from typing import Any

from plait.checkpoint.log.dicts import dict_stamps, next_dict, whole_dict
from plait.checkpoint.log.lists import first_list, next_list
from plait.checkpoint.log.records import WHOLE, is_dict, is_list
from plait.checkpoint.log.versions import DictVersion, Encoded, ListVersion, Version
from plait.checkpoint.serde import Codec


def encode_version(codec: Codec, old: Version | None, value: Any, key: bytes) -> Encoded | None:
    """Encode a value against the version before it.

    Returns:
        The record to store as version `key`, or None where nothing changed.

    Raises:
        UnregisteredTypeError: Something in it is of a type that the registry does not know.
    """
    if is_list(value):
        if type(old) is ListVersion:
            return next_list(codec, old, value, key)
        return first_list(codec, value, key)
    if is_dict(value):
        if type(old) is DictVersion:
            return next_dict(codec, old, value, key)
        return whole_dict(codec, value, dict_stamps(codec, value), key)
    body = codec.dumps(value)
    return Encoded(WHOLE, body, Version(key, key, 0), value, None, body)
