"""Arrays of bytes and of text in Postgres' binary form, made in a few microseconds each.

psycopg looks at every item of a list to find out what it is, which would be most of the CPU time
of a commit. Here the types are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

from psycopg import adapters
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

_HEAD = Struct("!iiIii")
_LENGTH = Struct("!i")
_NULL = _LENGTH.pack(-1)


class _Array:
    """An array, encoded."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class _Bytes(_Array):
    __slots__ = ()


class _Texts(_Array):
    __slots__ = ()


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        return obj.data


class _BytesDumper(_ArrayDumper):
    oid = 1001  # bytea[]


class _TextsDumper(_ArrayDumper):
    oid = 1009  # text[]


def bytes_array(items: Sequence[bytes | None]) -> Any:
    """A value for a parameter of type `bytea[]`; NULL for no items at all."""
    return _Bytes(_encoded(17, items)) if items else None


def text_array(items: Sequence[str]) -> Any:
    """A value for a parameter of type `text[]`; NULL for no items at all."""
    return _Texts(_encoded(25, [item.encode("utf-8") for item in items])) if items else None


def _encoded(kind: int, items: Sequence[bytes | None]) -> bytes:
    parts = [_HEAD.pack(1, None in items, kind, len(items), 1)]
    for item in items:
        if item is None:
            parts.append(_NULL)
        else:
            parts += (_LENGTH.pack(len(item)), item)
    return b"".join(parts)


def teach(known: AdaptersMap) -> None:
    """Let a connection send these arrays; for those made before this module was loaded."""
    known.register_dumper(_Bytes, _BytesDumper)
    known.register_dumper(_Texts, _TextsDumper)


teach(adapters)
