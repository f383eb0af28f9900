"""What the bytes of a stored row mean: the kinds of records and their frames. Final: files last.

Every record is an envelope (`serde.seal`) bound to its place, around a msgpack frame. Values of
users are encoded by the codec and sit inside the frame as bytes, so a frame is read without them.

| kind | payload |
|---|---|
| CHECKPOINT | [anchor, depth, changed names, removed names, full map or nil, body]; body is [ts, metadata, frontier] by the codec |
| WRITES | [[channel, form, data], ...]; form INLINE: codec bytes; form REF: [channel, version, start, count], a piece of the items that a value's record holds; count -1 is the single item, -2 the whole value; form WIDE: as REF, but count -3 is the value as it is at that version, -4 what a patch of a dict sets; form LONGER: [channel, version, count, items]: so many of the first items of the list as it is at that version, and then these |
| WHOLE | the value, by the codec |
| LIST_PATCH | [base, anchor, depth, length, [[start, deleted, inserted], ...], items]; starts count in the base, items is one codec list of all inserted |
| DICT_PATCH | [base, anchor, depth, length, body]; body is [keys deleted, dict of keys set] by the codec |
| MANIFEST | [length, [[version, start, count], ...], items]: a list made of pieces of the items that records of the channel hold, this one too |
| BORROWED | [body, [[key, namespace, channel, version], ...]]; body is the value by the codec, with nil where a list of an outer namespace stands (under that key; key nil: it is the value) |
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard, cast

import ormsgpack

from plait.engine.records import new_tuple
from plait.errors import CorruptCheckpointError

CHECKPOINT: Final = 1
WRITES: Final = 2
WHOLE: Final = 8
LIST_PATCH: Final = 9
DICT_PATCH: Final = 10
MANIFEST: Final = 11
BORROWED: Final = 12

INLINE: Final = 0
REF: Final = 1
WIDE: Final = 2
LONGER: Final = 3
SINGLE: Final = -1
ENTIRE: Final = -2
ALL: Final = -3
PUT: Final = -4
_WIDE = frozenset({ALL, PUT})
_NONE = type(None)

_unpack = ormsgpack.unpackb
pack_frame = ormsgpack.packb


class CheckpointFrame(NamedTuple):
    """The payload of a CHECKPOINT record."""

    anchor: bytes | None
    """The nearest ancestor with a full map (None: this one has it)."""
    depth: int
    """How many ancestors away the anchor is."""
    changed: list[str]
    """Channels whose new version has this checkpoint's id."""
    removed: list[str]
    full: dict[str, bytes] | None
    """Every channel and the id of its version, or None: only the changes against the parent."""
    body: bytes


class Patch(NamedTuple):
    """The payload of a LIST_PATCH or DICT_PATCH record."""

    base: bytes
    anchor: bytes
    depth: int
    length: int
    splices: Sequence[tuple[int, int, int]]
    """Of a dict: none."""
    items: bytes
    """Of a dict: the keys deleted, and those set."""


class Manifest(NamedTuple):
    """The payload of a MANIFEST record."""

    length: int
    runs: list[tuple[bytes, int, int]]
    items: bytes


class Loan(NamedTuple):
    """A list that a value holds and another namespace of the thread stores."""

    key: str | None
    """Where in a dict it stands (None: it is the value)."""
    ns: str
    channel: str
    version: bytes


class Ref(NamedTuple):
    """A task's write that is stored as a piece of the value it led to."""

    channel: str
    version: bytes
    start: int
    length: int


class Longer(NamedTuple):
    """A task's write that begins as a stored list."""

    channel: str
    version: bytes
    length: int
    """So many items of that list."""
    more: bytes
    """The others."""

    @property
    def stored(self) -> Ref:
        """The list."""
        return Ref(self.channel, self.version, 0, ALL)


Data: TypeAlias = "bytes | Ref | Longer"
"""A task's write: by the codec, or where it is."""


def ref_of(data: Data) -> Ref | None:
    """Where a write refers to."""
    if isinstance(data, Longer):
        return data.stored
    return data if isinstance(data, Ref) else None


Form: TypeAlias = "tuple[str, int, Any]"
"""A task's write as it is stored: (channel, form, data)."""


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is exactly a list."""
    return type(value) is list


def is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether a value is exactly a dict."""
    return type(value) is dict


def damaged(what: str) -> CorruptCheckpointError:
    """The error of a record whose digest is right and whose content is not."""
    return CorruptCheckpointError(
        f"A stored {what} does not have the form that plait writes. It was written by another "
        "program or changed by hand; restore the database from a backup."
    )


def _frame(payload: bytes, what: str, types: Sequence[type | tuple[type, ...]]) -> list[Any]:
    """Unpack a frame and check the types of its parts."""
    try:
        parts = _unpack(payload)
    except ValueError as error:
        raise damaged(what) from error
    if not is_list(parts) or len(parts) != len(types):
        raise damaged(what)
    for part, allowed in zip(parts, types, strict=True):
        if not isinstance(part, allowed):
            raise damaged(what)
    return parts


def _rows(rows: list[Any], what: str, *types: type) -> list[Any]:
    """Check a list of small rows: each a list with the given types, its numbers not negative."""
    width = len(types)
    out: list[Any] = []
    for row in rows:
        if not is_list(row) or len(row) != width:
            raise damaged(what)
        for part, wanted in zip(row, types, strict=True):
            if type(part) is not wanted or (wanted is int and part < 0):
                raise damaged(what)
        out.append(tuple(row))
    return out


_CHECKPOINT = frozenset(
    (anchor, int, list, list, full, bytes) for anchor in (bytes, _NONE) for full in (dict, _NONE)
)
"""Types of the parts of a checkpoint."""


def read_checkpoint(payload: bytes) -> CheckpointFrame:
    """Open a CHECKPOINT payload. Raises CorruptCheckpointError."""
    return read_checkpoints([payload])[0]


def read_checkpoints(payloads: Sequence[bytes]) -> list[CheckpointFrame]:
    """Open CHECKPOINT payloads. Raises CorruptCheckpointError."""
    return [_checkpoint(parts) for parts in _unpacked(payloads, "checkpoint")]


def _checkpoint(parts: Any) -> CheckpointFrame:
    if not is_list(parts) or (*map(type, parts),) not in _CHECKPOINT:
        raise damaged("checkpoint")
    anchor, _, changed, removed, full, _ = parts
    try:  # to join them is the shortest way to see that all are texts, or bytes
        "".join((*changed, *removed, *(full or ())))
        b"".join(full.values() if full else ())
    except TypeError as error:
        raise damaged("checkpoint") from error
    if anchor is None and full is None:
        raise damaged("checkpoint")
    return new_tuple(CheckpointFrame, parts)


def _unpacked(payloads: Sequence[bytes], what: str) -> list[Any]:
    """Unpack payloads together."""
    count = len(payloads).to_bytes(4, "big")
    try:
        return _unpack(b"".join((b"\xdd", count, *payloads)))
    except ValueError as error:
        raise damaged(what) from error


_LIST_PATCH = [bytes, bytes, int, int, list, bytes]
_APPEND = [int, int, int]
_DICT_PATCH = (bytes, bytes, int, int, bytes)


def read_patch(kind: int, payload: bytes) -> Patch:
    """Open a LIST_PATCH or DICT_PATCH payload. Raises CorruptCheckpointError."""
    if kind == DICT_PATCH:
        base, anchor, depth, length, body = _frame(payload, "dict", _DICT_PATCH)
        return Patch(base, anchor, depth, length, (), body)
    try:
        parts = _unpack(payload)
    except ValueError as error:
        raise damaged("list") from error
    if not is_list(parts) or [*map(type, parts)] != _LIST_PATCH:
        raise damaged("list")
    rows = parts[4]
    if len(rows) == 1 and is_list(row := rows[0]) and [*map(type, row)] == _APPEND:
        if min(row) < 0:
            raise damaged("list")
        parts[4] = (tuple(row),)  # of nothing that the garbage collector must look at
    else:
        parts[4] = tuple(_rows(rows, "list", int, int, int))
    return new_tuple(Patch, parts)


def read_manifest(payload: bytes) -> Manifest:
    """Open a MANIFEST payload. Raises CorruptCheckpointError."""
    length, runs, items = _frame(payload, "list", (int, list, bytes))
    return Manifest(length, _rows(runs, "list", bytes, int, int), items)


def read_borrowed(payload: bytes) -> tuple[bytes, list[Loan]]:
    """Open a BORROWED payload. Raises CorruptCheckpointError."""
    body, rows = _frame(payload, "borrowed value", (bytes, list))
    for row in cast("list[Any]", rows):
        if not is_list(row) or [*map(type, row)][1:] != [str, str, bytes]:
            raise damaged("borrowed value")
        if row[0] is not None and type(row[0]) is not str:
            raise damaged("borrowed value")
    return body, [Loan(*row) for row in rows]


def read_writes(payload: bytes) -> list[tuple[str, Data]]:
    """Open a WRITES payload: (channel, codec bytes or reference). Raises CorruptCheckpointError."""
    return read_tasks([payload])[0]


def read_tasks(payloads: Sequence[bytes]) -> list[list[tuple[str, Data]]]:
    """Open WRITES payloads. Raises CorruptCheckpointError."""
    return [_writes(rows) for rows in _unpacked(payloads, "task's writes")]


def _writes(rows: Any) -> list[tuple[str, Data]]:
    if not is_list(rows):
        raise damaged("task's writes")
    out: list[tuple[str, Data]] = []
    for row in rows:
        if not is_list(row) or len(row) != 3:
            raise damaged("task's writes")
        channel, form, data = row
        if type(channel) is not str:
            raise damaged("task's writes")
        if form == INLINE and type(data) is bytes:
            out.append((channel, data))
        elif form in (REF, WIDE) and is_list(data) and _is_ref(data, form):
            out.append((channel, new_tuple(Ref, data)))
        elif form == LONGER and is_list(data) and [*map(type, data)] == _LONGER and data[2] >= 0:
            out.append((channel, new_tuple(Longer, data)))
        else:
            raise damaged("task's writes")
    return out


_REF = [str, bytes, int, int]
_LONGER = [str, bytes, int, bytes]


def _is_ref(data: list[Any], form: int) -> bool:
    return [*map(type, data)] == _REF and (data[3] in _WIDE) == (form == WIDE)


def form_of(channel: str, data: Data) -> Form:
    """How a write is stored."""
    if type(data) is bytes:
        return channel, INLINE, data
    if type(data) is Ref:
        return channel, (WIDE if data.length in _WIDE else REF), tuple(data)
    return channel, LONGER, tuple(data)
