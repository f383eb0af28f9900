"""Passing over rows by their bytes: what a search need not decode, since it cannot meet a filter.

A filter that asks for text or a number under a key is met only by a value in whose bytes the name
of the key is followed at once by one of the encodings of what is wanted, or by an extension, which
may be anything. Whatever has these bytes, and whatever is no plain map, is decoded and judged.
"""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from math import ceil, floor, inf, nextafter
from typing import Any, NamedTuple

_SCALARS = frozenset((str, int, float, bool))
_MOST = 1000
"""Longer texts are not looked for."""
_EXTENSION = rb"[\xc7-\xc9\xd4-\xd8]"
_LOW, _HIGH = ("$gt", "$gte"), ("$lt", "$lte")
_LARGE = 1 << 70
"""Greater than every number that is not an extension or a float."""
_NUMBERS = (
    *[(b"", ">B"), (b"\xcc", ">B"), (b"\xcd", ">H"), (b"\xce", ">I"), (b"\xcf", ">Q")],
    *[(b"", ">b"), (b"\xd0", ">b"), (b"\xd1", ">h"), (b"\xd2", ">i"), (b"\xd3", ">q")],
    *[(b"\xca", ">f"), (b"\xcb", ">d")],
)
"""How msgpack writes numbers; those of one byte without a head are less than 128, and not below
-32, but to look for more than is needed does no harm."""


class Sieve(NamedTuple):
    """What tells records that cannot meet a filter."""

    plain: bytes
    """The pattern of records whose value can be told from their bytes."""
    parts: tuple[bytes, ...]
    """The patterns that must be found in these, every one."""


def sieve_of(filter: Mapping[str, Any] | None, head: bytes, digest: int) -> Sieve | None:
    """The sieve of a filter; None where bytes tell nothing.

    Args:
        filter: What is wanted.
        head: How every record begins whose value can be told from its bytes.
        digest: How many bytes stand between the head and the value.
    """
    parts = [
        found
        for key, wanted in (filter or {}).items()
        if (found := (_known if wanted.__class__ in _SCALARS else _part)(key, wanted)) is not None
    ]
    return Sieve(_plain(head, digest), tuple(parts)) if parts else None


@lru_cache(maxsize=8)
def _plain(head: bytes, digest: int) -> bytes:
    return re.escape(head) + b".{%d}" % digest + rb"[\x80-\x8f\xde\xdf]"


def _part(key: str, wanted: Any) -> bytes | None:
    """The pattern of what is wanted under a key; None where bytes tell nothing."""
    if "." in key or len(key) > _MOST or not (encodings := [*_encodings(wanted)]):
        return None
    return re.escape(key.encode("utf-8", "surrogatepass")) + b"(?:" + b"|".join(encodings) + b")"


_known = lru_cache(maxsize=256, typed=True)(_part)
"""Of scalars: programs ask for few."""


def may_hold(sieve: Sieve, record: Any) -> bool:
    """Whether a record may meet the filter of a sieve."""
    return _judge(sieve)(record)


@contextmanager
def sifting(
    filter: Mapping[str, Any] | None, head: bytes, digest: int
) -> Generator[int | None, None, None]:
    """The number of a sieve, for `may_hold` in statements; None where bytes tell nothing."""
    sieve = sieve_of(filter, head, digest)
    if sieve is None:
        yield None
        return
    number = next(_fresh)
    _judges[number] = _judge(sieve)
    try:
        yield number
    finally:
        del _judges[number]


def sifted(conn: sqlite3.Connection, run: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
    """The result of a statement that calls `may_hold`, which a connection learns with its first."""
    try:
        return run()
    except sqlite3.OperationalError as error:
        if "no such function" not in str(error):
            raise
    conn.create_function("may_hold", 2, _judged)
    return run()


def _judged(number: int, record: Any) -> bool:
    return _judges[number](record)


_fresh = count()
_judges: dict[int, Callable[[Any], bool]] = {}
"""What judges records, by numbers: to hand over one costs a statement less than a pattern."""


@lru_cache(maxsize=64)
def _judge(sieve: Sieve) -> Callable[[Any], bool]:
    plain = re.compile(sieve.plain, re.DOTALL).match
    first, *others = [re.compile(part, re.DOTALL).search for part in sieve.parts]

    def may_hold(record: Any) -> bool:
        try:
            if first(record) is not None and all(search(record) for search in others):
                return True
            return plain(record) is None
        except TypeError:  # no bytes: whoever reads it says so
            return True

    return may_hold


def _encodings(wanted: Any) -> Iterator[bytes]:
    """Patterns of all encodings of what equals a value, or of what operators ask for; none where
    they cannot be told."""
    if wanted.__class__ is dict and "$eq" in wanted:
        wanted = wanted["$eq"]
    elif wanted.__class__ is dict:
        limits = _limits(wanted)
        if limits is not None:
            yield _range(*limits)
            yield _EXTENSION
        return
    if wanted.__class__ is str and len(wanted) <= _MOST:
        text = wanted.encode("utf-8", "surrogatepass")
        size = len(text)
        heads = [struct.pack(">B", 0xA0 | size)] if size < 32 else []
        heads += [b"\xd9" + struct.pack(">B", size)] if size < 256 else []
        heads += [b"\xda" + struct.pack(">H", size), b"\xdb" + struct.pack(">I", size)]
        yield b"(?:" + b"|".join(map(re.escape, heads)) + b")" + re.escape(text)
        yield _EXTENSION
    elif wanted.__class__ in (int, float, bool) and wanted == wanted:
        yield _number(wanted)
        yield _EXTENSION


@lru_cache(maxsize=256)
def _number(wanted: float) -> bytes:
    """The pattern of all encodings of a number."""
    return b"|".join(map(re.escape, {*_numbers(wanted)}))


@lru_cache(maxsize=256)
def _range(low: float, high: float) -> bytes:
    """The pattern of all encodings of the numbers from `low` to `high`."""
    return b"|".join(_numbers_between(low, high))


def _numbers(wanted: float) -> Iterator[bytes]:
    if wanted in (0, 1):
        yield b"\xc3" if wanted else b"\xc2"
    for number in (wanted,) if wanted else (0.0, -0.0):
        for head, form in _NUMBERS:
            try:
                same: Any = float(number) if form in (">f", ">d") else int(number)
                data = struct.pack(form, same)
            except (OverflowError, ValueError, struct.error):
                continue
            if struct.unpack(form, data)[0] == wanted:
                yield head + data


def _limits(operators: Mapping[str, Any]) -> tuple[float, float] | None:
    """The least and the greatest number that may meet operators; None where any value may."""
    low, high, known = -inf, inf, False
    for name, operand in operators.items():
        if name in _LOW or name in _HIGH:
            if operand.__class__ not in (int, float) or not abs(operand) < _LARGE:
                return None
            low, high = (max(low, operand), high) if name in _LOW else (low, min(high, operand))
            known = True
    return (low, high) if known else None


def _numbers_between(low: float, high: float) -> Iterator[bytes]:
    """Patterns of the numbers from `low` to `high`, and of some more."""
    for truth in (b"\xc2", b"\xc3"):
        if low <= (truth == b"\xc3") <= high:
            yield truth
    least = -_LARGE if low == -inf else ceil(low)
    most = _LARGE if high == inf else floor(high)
    for head, form in _NUMBERS:
        if form in (">f", ">d"):
            continue
        bits = 8 * struct.calcsize(form)
        if not head:
            below, above = (-32, 0) if form == ">b" else (0, 128)
        elif form.islower():
            below, above = -(1 << bits - 1), 1 << bits - 1
        else:
            below, above = 0, 1 << bits
        for first, last in ((below, -1), (0, above - 1)):  # the bytes of -1 are the greatest
            start, end = max(first, least), min(last, most)
            if start <= end:
                yield re.escape(head) + _span(struct.pack(form, start), struct.pack(form, end))
    yield b"\xca"
    low, high = nextafter(low, -inf), nextafter(high, inf)
    if high >= 0:
        yield b"\xcb" + _span(struct.pack(">d", max(low, 0.0)), struct.pack(">d", high))
    if low <= 0:
        yield b"\xcb" + _span(struct.pack(">d", min(high, -0.0)), struct.pack(">d", low))


def _span(first: bytes, last: bytes, depth: int = 3) -> bytes:
    """The pattern of bytes from `first` to `last`, of one length; the first few tell enough."""
    if not first or not depth:
        return b""
    if first[0] == last[0]:
        return re.escape(first[:1]) + _span(first[1:], last[1:], depth - 1)
    rest = len(first) - 1
    parts = [
        re.escape(first[:1]) + _span(first[1:], b"\xff" * rest, depth - 1),
        re.escape(last[:1]) + _span(b"\0" * rest, last[1:], depth - 1),
    ]
    if last[0] - first[0] > 1:
        parts.append(b"[\\x%02x-\\x%02x]" % (first[0] + 1, last[0] - 1))
    return b"(?:" + b"|".join(parts) + b")"
