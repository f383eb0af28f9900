"""Versions of a channel: how one is written as a difference, and how it is read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.records import ENTIRE, WHOLE, Ref, damaged
from plait.checkpoint.log.requests import ReadValues
from plait.checkpoint.serde import Codec

Open: TypeAlias = Callable[[str, bytes, bytes | None], tuple[int, bytes]]


class Version:
    """What a session remembers of a channel's last version."""

    __slots__ = ("id",)

    def __init__(self, id: bytes) -> None:
        self.id = id


class Encoded:
    """A version ready to be stored."""

    __slots__ = ("kind", "payload", "value", "version")

    def __init__(self, kind: int, payload: bytes, value: Any, version: Version) -> None:
        self.kind = kind
        self.payload = payload
        self.value = value
        self.version = version

    def find(self, value: Any, channel: str, key: bytes) -> Ref | None:
        """Where this version holds what a task wrote, if it does."""
        return Ref(channel, key, 0, ENTIRE) if value is self.value else None


def encode_version(codec: Codec, old: Version | None, value: Any, key: bytes) -> Encoded | None:
    """Encode a value against the version before it. None: nothing changed."""
    return Encoded(WHOLE, codec.dumps(value), value, Version(key))


def read_values(
    open: Open, lane: int, wanted: Mapping[str, bytes], codec: Codec
) -> Plan[tuple[dict[str, Any], dict[str, Version]]]:
    """Read versions of channels: their values, and what a session remembers of them."""
    values: dict[str, Any] = {}
    versions: dict[str, Version] = {}
    if not wanted:
        return values, versions
    keys = list(wanted.items())
    records: list[bytes | None] = yield ReadValues(lane, keys)
    for (channel, key), record in zip(keys, records, strict=True):
        kind, payload = open(channel, key, record)
        if kind != WHOLE:
            raise damaged("value")
        values[channel] = codec.loads(payload)
        versions[channel] = Version(key)
    return values, versions
