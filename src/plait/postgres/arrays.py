"""Arrays of bytes, texts and numbers in Postgres' binary form, made in a few microseconds each.

psycopg looks at every item of a list to find out what it is, which would be most of the CPU time
of a commit. Here the types are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

from psycopg import adapters, errors
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.pq import Format

_HEAD = Struct("!iiIii")
_LENGTH = Struct("!i")
_NULL = _LENGTH.pack(-1)
_INT = Struct("!q")
_FLOAT = Struct("!d")
_BOOLS = (b"\0", b"\1")
MOST = 1_000_000_000
"""Bytes that the values of a statement may have. The server's limit is 7 % more, and there it does
not refuse a statement: it cuts the connection."""


class _Array:
    """An array, encoded."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class _Bytes(_Array):
    __slots__ = ()


class _Texts(_Array):
    __slots__ = ()


class _Ints(_Array):
    __slots__ = ()


class _Floats(_Array):
    __slots__ = ()


class _Bools(_Array):
    __slots__ = ()


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        return obj.data


class _BytesDumper(_ArrayDumper):
    oid = 1001  # bytea[]


class _TextsDumper(_ArrayDumper):
    oid = 1009  # text[]


class _IntsDumper(_ArrayDumper):
    oid = 1016  # bigint[]


class _FloatsDumper(_ArrayDumper):
    oid = 1022  # float8[]


class _BoolsDumper(_ArrayDumper):
    oid = 1000  # boolean[]


def bytes_array(items: Sequence[bytes | None]) -> Any:
    """A value for a parameter of type `bytea[]`; NULL for no items at all."""
    return _Bytes(_encoded(17, items)) if items else None


def text_array(items: Sequence[str | None]) -> Any:
    """A value for a parameter of type `text[]`; NULL for no items at all."""
    return _Texts(_encoded(25, _packed(str.encode, items))) if items else None


def int_array(items: Sequence[int | None]) -> Any:
    """A value for a parameter of type `bigint[]`; NULL for no items at all."""
    return _Ints(_encoded(20, _packed(_INT.pack, items))) if items else None


def float_array(items: Sequence[float | None]) -> Any:
    """A value for a parameter of type `float8[]`; NULL for no items at all."""
    return _Floats(_encoded(701, _packed(_FLOAT.pack, items))) if items else None


def bool_array(items: Sequence[bool]) -> Any:
    """A value for a parameter of type `boolean[]`; NULL for no items at all."""
    return _Bools(_encoded(16, [_BOOLS[item] for item in items])) if items else None


def _packed(pack: Callable[[Any], bytes], items: Sequence[Any]) -> list[bytes | None]:
    return [None if item is None else pack(item) for item in items]


def too_large(size: int) -> errors.ProgramLimitExceeded:
    """The error of values that no message can carry; the server's own for what is too large."""
    return errors.ProgramLimitExceeded(f"{size:,} bytes in one statement")


def _encoded(kind: int, items: Sequence[bytes | None]) -> bytes:
    if (size := sum([len(item) for item in items if item])) > MOST:
        raise too_large(size)
    parts = [_HEAD.pack(1, None in items, kind, len(items), 1)]
    for item in items:
        if item is None:
            parts.append(_NULL)
        else:
            parts += (_LENGTH.pack(len(item)), item)
    return b"".join(parts)


_DUMPERS: dict[type, type[_ArrayDumper]] = {
    _Bytes: _BytesDumper,
    _Texts: _TextsDumper,
    _Ints: _IntsDumper,
    _Floats: _FloatsDumper,
    _Bools: _BoolsDumper,
}
OIDS = {kind: dumper.oid for kind, dumper in _DUMPERS.items()}
"""What each kind of array is to the server; all have their bytes in `data`."""


def teach(known: AdaptersMap) -> None:
    """Let a connection send these arrays; for those made before this module was loaded."""
    for kind, dumper in _DUMPERS.items():
        known.register_dumper(kind, dumper)


teach(adapters)
