"""The standard library's plain types: the number, encoder and decoder of each msgpack extension.

An encoder gets the object and `pack` (state to bytes); a decoder gets the bytes and `unpack`.
Numbers are part of the stored format: never reuse or change one.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import cache
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from struct import Struct
from types import SimpleNamespace
from typing import Any, TypeAlias, cast
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from ormsgpack import Ext

from plait.errors import CorruptCheckpointError, UnregisteredTypeError

Pack: TypeAlias = Callable[[Any], bytes]
Unpack: TypeAlias = Callable[[bytes], Any]
Encoder: TypeAlias = Callable[[Any, Pack], Ext | str]
Decoder: TypeAlias = Callable[[bytes, Unpack], Any]

OBJECT = 0
"""A registered object: u16 length of its wire name, the name, its packed state."""
TUPLE = 1
MAP = 2
"""A dict whose keys are not all plain text: keys and values in turn."""
TEXT = 3
"""A str with lone surrogates, in UTF-8 that lets them pass."""
INT = 4
"""An int beyond 64 bits, two's complement, little-endian."""
SET, FROZENSET, BYTEARRAY, COMPLEX, DECIMAL, FRACTION = 5, 6, 7, 8, 9, 10
DATETIME, DATE, TIME, TIMEDELTA, TIMEZONE, ZONEINFO = 11, 12, 13, 14, 15, 16
UUID_, PATH, PATTERN, RANGE, SLICE, DEQUE = 17, 18, 19, 20, 21, 22
COUNTER, ORDERED_DICT, DEFAULT_DICT, IP = 23, 24, 25, 26
EXCEPTION = 27
CLASS = 28
"""A class itself: a builtin's name, or the wire name of a registered one."""
ARRAY, SCALAR = 29, 30
"""numpy's."""
PANDAS = 31
"""What it is (a frame, a series, an index, an array, a scalar), and what that is made of."""
ELLIPSIS, NAMESPACE, NUMBERS = 32, 33, 34
"""`...`, a SimpleNamespace, and an `array.array`."""

ENCODERS: dict[type, Encoder] = {}
DECODERS: dict[int, Decoder] = {}


def _by_state(
    code: int, cls: type, encode: Callable[[Any], Any], decode: Callable[[Any], Any]
) -> None:
    """Enter a type that is written as packed state."""
    ENCODERS[cls] = lambda value, pack: Ext(code, pack(encode(value)))
    DECODERS[code] = lambda data, unpack: decode(unpack(data))


def _by_bytes(
    code: int, cls: type, encode: Callable[[Any], bytes], decode: Callable[[bytes], Any]
) -> None:
    """Enter a type that is written as bytes of its own."""
    ENCODERS[cls] = lambda value, pack: Ext(code, encode(value))
    DECODERS[code] = lambda data, unpack: decode(data)


# --- Containers ----------------------------------------------------------------------------------


_FLOAT = Struct(">d")
_INTS = (-(1 << 31), -(1 << 15), -(1 << 7), -(1 << 5), 0)
"""Where the ints begin that take four bytes, two, one, none but their own mark; and no sign."""


def _in_order(code: int) -> Encoder:
    return lambda values, pack: Ext(code, pack(_by_their_bytes(values, pack)))


def _by_their_bytes(values: Any, pack: Pack) -> list[Any]:
    """The items of a set in the order of their bytes (text: of itself): equal sets, equal bytes."""
    kinds = set(map(type, values))
    if kinds <= {str}:
        return sorted(values)
    if kinds == {float}:  # one mark, then what `_FLOAT` packs
        return sorted(values, key=_FLOAT.pack)
    if kinds == {int}:
        order = sorted(values)
        if order[0] >= -(1 << 63) and order[-1] < 1 << 64:
            return _ints_by_their_bytes(order)
    return sorted(values, key=pack)


def _ints_by_their_bytes(order: list[int]) -> list[int]:
    """Sorted ints, in the order of their bytes: by mark first, and that tells sign and width."""
    four, two, one, own, plus = [bisect_left(order, edge) for edge in _INTS]
    wide = order[two:one] + order[four:two] + order[:four]
    return order[plus:] + order[one:own] + wide + order[own:plus]


def decode_map(data: bytes, unpack: Unpack) -> dict[Any, Any]:
    """A dict from its keys and values in turn."""
    flat = unpack(data)
    return dict(zip(flat[::2], flat[1::2], strict=True))


_FACTORIES: dict[str, Any] = {
    f.__name__: f for f in (list, dict, set, int, float, str, bool, tuple, frozenset, bytes)
}


def _encode_default_dict(value: defaultdict[Any, Any]) -> Any:
    factory: Any = value.default_factory
    name = getattr(factory, "__name__", "")
    if factory is not None and _FACTORIES.get(name) is not factory:
        raise UnregisteredTypeError(
            f"A defaultdict made by {factory!r} cannot be stored: only the factories None, "
            f"{', '.join(_FACTORIES)} can. Use one of them, or keep a plain dict in the state."
        )
    return [name or None, dict(value)]


def _decode_default_dict(state: Any) -> Any:
    name, content = state
    return defaultdict(None if name is None else _FACTORIES[name], content)


_by_state(TUPLE, tuple, list, tuple)
ENCODERS[set], ENCODERS[frozenset] = _in_order(SET), _in_order(FROZENSET)
DECODERS[SET] = lambda data, unpack: set(unpack(data))
DECODERS[FROZENSET] = lambda data, unpack: frozenset(unpack(data))
DECODERS[MAP] = decode_map
_by_state(DEQUE, deque, lambda v: [list(v), v.maxlen], lambda s: deque(s[0], s[1]))
_by_state(COUNTER, Counter, dict, lambda s: Counter(dict(s)))
_by_state(ORDERED_DICT, OrderedDict, dict, lambda s: OrderedDict(dict(s)))
_by_state(DEFAULT_DICT, defaultdict, _encode_default_dict, _decode_default_dict)
_by_state(NUMBERS, array, lambda v: [v.typecode, v.tolist()], lambda s: cast("Any", array)(*s))
_by_state(NAMESPACE, SimpleNamespace, vars, lambda s: SimpleNamespace(**s))
_by_bytes(ELLIPSIS, type(...), lambda v: b"", lambda data: ...)
_by_state(RANGE, range, lambda v: [v.start, v.stop, v.step], lambda s: range(*s))
_by_state(SLICE, slice, lambda v: [v.start, v.stop, v.step], lambda s: slice(*s))

# --- Text, bytes and numbers ---------------------------------------------------------------------

_COMPLEX = Struct("<dd")

DECODERS[TEXT] = lambda data, unpack: data.decode("utf-8", "surrogatepass")
_by_bytes(BYTEARRAY, bytearray, bytes, bytearray)
_by_bytes(
    INT,
    int,
    lambda v: v.to_bytes(v.bit_length() // 8 + 1, "little", signed=True),
    lambda data: int.from_bytes(data, "little", signed=True),
)
_by_bytes(
    COMPLEX,
    complex,
    lambda v: _COMPLEX.pack(v.real, v.imag),
    lambda data: complex(*_COMPLEX.unpack(data)),
)
_by_bytes(DECIMAL, Decimal, lambda v: str(v).encode(), lambda data: Decimal(data.decode("ascii")))
_by_state(
    FRACTION, Fraction, lambda v: [v.numerator, v.denominator], lambda s: Fraction(s[0], s[1])
)
_by_bytes(UUID_, UUID, lambda v: v.bytes, lambda data: UUID(bytes=data))

# --- Time ----------------------------------------------------------------------------------------


def _encode_datetime(v: datetime) -> Any:
    state = [v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond]
    return [*state, v.tzinfo, v.fold] if v.tzinfo is not None or v.fold else state


def _decode_datetime(state: Any) -> datetime:
    return datetime(*state[:8], fold=state[8] if len(state) > 8 else 0)


def _decode_time(state: Any) -> time:
    return time(*state[:5], fold=state[5])


def _encode_timezone(v: timezone) -> Any:
    offset = v.utcoffset(None)
    name = v.tzname(None)
    state = [offset.days, offset.seconds, offset.microseconds]
    return state if name == timezone(offset).tzname(None) else [*state, name]


def _decode_timezone(state: Any) -> timezone:
    offset = timedelta(*state[:3])
    return timezone(offset, state[3]) if len(state) > 3 else timezone(offset)


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _encode_zone(v: ZoneInfo) -> bytes:
    if not v.key:
        raise UnregisteredTypeError(
            "A ZoneInfo without a key cannot be stored. Make it by its name: ZoneInfo('UTC')."
        )
    return v.key.encode()


def known_zone(key: str) -> ZoneInfo:
    """The time zone of a name that bytes say.

    Raises:
        CorruptCheckpointError: There is none.
    """
    # ZoneInfo would look for a file (or a module of tzdata) of any name: ask only for known ones.
    if key not in _zones():
        raise CorruptCheckpointError(
            f"A stored time zone {key!r} is not known here. Install the tzdata package, or restore "
            "the record from a backup."
        )
    return ZoneInfo(key)


def _pack_datetime(v: datetime, pack: Pack) -> Ext:
    """Of a time zone that is neither the standard library's nor registered, what it says of `v`."""
    try:
        return Ext(DATETIME, pack(_encode_datetime(v)))
    except UnregisteredTypeError:
        offset = v.utcoffset()
        if offset is None:
            raise
        return Ext(DATETIME, pack(_encode_datetime(v.replace(tzinfo=_zone_like(v, offset)))))


def _zone_like(v: datetime, offset: timedelta) -> tzinfo:
    """The zone of the same name, as pytz and pendulum tell it; else its offset at that time."""
    name = getattr(v.tzinfo, "key", None) or getattr(v.tzinfo, "zone", None)
    if name in _zones() and v.replace(tzinfo=(zone := ZoneInfo(name))).utcoffset() == offset:
        return zone
    return timezone(offset)


_by_state(DATETIME, datetime, _encode_datetime, _decode_datetime)
ENCODERS[datetime] = _pack_datetime
_by_state(DATE, date, lambda v: v.toordinal(), lambda s: date.fromordinal(s))
_by_state(
    TIME,
    time,
    lambda v: [v.hour, v.minute, v.second, v.microsecond, v.tzinfo, v.fold],
    _decode_time,
)
_by_state(
    TIMEDELTA, timedelta, lambda v: [v.days, v.seconds, v.microseconds], lambda s: timedelta(*s)
)
_by_state(TIMEZONE, timezone, _encode_timezone, _decode_timezone)
_by_bytes(ZONEINFO, ZoneInfo, _encode_zone, lambda data: known_zone(data.decode()))

# --- Names of things -----------------------------------------------------------------------------

_FOREIGN_PATH = PureWindowsPath if PosixPath is type(Path()) else PurePosixPath
"""What the other system's concrete path becomes here, where it cannot be made."""
_PATHS: dict[str, type[PurePath]] = {
    "PurePosixPath": PurePosixPath,
    "PureWindowsPath": PureWindowsPath,
    "PosixPath": PosixPath if _FOREIGN_PATH is PureWindowsPath else PurePosixPath,
    "WindowsPath": WindowsPath if _FOREIGN_PATH is PurePosixPath else PureWindowsPath,
}
_IPS: dict[str, Any] = {
    c.__name__: c
    for c in (IPv4Address, IPv6Address, IPv4Network, IPv6Network, IPv4Interface, IPv6Interface)
}


def _named(value: Any) -> Any:
    return [type(value).__name__, str(value)]


def _decode_pattern(state: Any) -> Any:
    return re.compile(state[0], state[1] & ~re.DEBUG)


for _path in (PurePosixPath, PureWindowsPath, PosixPath, WindowsPath):
    _by_state(PATH, _path, _named, lambda s: _PATHS[s[0]](s[1]))
for _ip in _IPS.values():
    _by_state(IP, _ip, _named, lambda s: _IPS[s[0]](s[1]))
_by_state(PATTERN, re.Pattern, lambda v: [v.pattern, v.flags], _decode_pattern)
