"""What travels with a checkpoint in its own row (see `migrations/0005_company.sql`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

from plait.checkpoint.log.requests import Transact, WriteRow
from plait.errors import CorruptCheckpointError
from plait.postgres import from_text, to_text

_ROOM = 1920
"""Bytes that a checkpoint's record and its company may have together. The server moves what is
more out of the row, where it would have to be fetched again for each that looks for a channel."""
_SIZE = Struct(">H")

Value: TypeAlias = tuple[str, bytes, Any]
Write: TypeAlias = tuple[bytes, bytes, str, Any]


class Company(NamedTuple):
    """What of a transaction travels with its checkpoint, and what does not."""

    kept: bytes | None
    acks: bytes | None
    values: Sequence[Value]
    writes: Sequence[Write]


def company_of(request: Transact) -> Company:
    """What may travel with the checkpoint of a transaction, if it makes just one.

    Whether it does is the server's to say: it knows whether the checkpoint comes last.
    """
    values, writes = request.values, request.writes
    if len(request.checkpoints) != 1:
        return Company(None, None, values, writes)
    id, parent, record = request.checkpoints[0]
    size = _SIZE.pack
    room = _ROOM - len(record)
    acks: list[bytes] = []
    for checkpoint, task, path, written in writes:
        label = _label(path)
        room -= len(task) + len(label) + len(written) + 4
        if checkpoint != parent or room < 0:
            return Company(None, None, values, writes)
        acks += (size(len(task)), task, label, size(len(written)), written)
    kept: list[bytes] = []
    left: list[Value] = []
    for value in values:
        channel, at, version = value
        label = _label(channel)
        more = len(label) + len(version) + 2
        if at == id and more <= room:
            room -= more
            kept += (label, size(len(version)), version)
        else:
            left.append(value)
    return Company(b"".join(kept) if kept else None, b"".join(acks) if acks else None, left, ())


@lru_cache(maxsize=1024)  # names of channels and paths of tasks come again and again
def _label(name: str) -> bytes:
    """A name, after its length; one that is too long is longer than all room."""
    field = to_text(name).encode()
    return _SIZE.pack(min(len(field), 0xFFFF)) + field


def values_in(kept: bytes) -> Iterator[tuple[str, bytes]]:
    """(channel, record) of the versions in a row. Raises CorruptCheckpointError."""
    for name, record in _groups(kept, 2):
        yield _text(name), record


def value_in(kept: bytes | None, channel: str) -> bytes | None:
    """The version of a channel in a row. Raises CorruptCheckpointError."""
    if kept is None:
        return None
    return next((record for name, record in values_in(kept) if name == channel), None)


def writes_in(acks: bytes, checkpoint: bytes) -> Iterator[WriteRow]:
    """The task writes in a row, which belong to this checkpoint. Raises CorruptCheckpointError."""
    for task, path, record in _groups(acks, 3):
        yield WriteRow(checkpoint, task, _text(path), record)


def _groups(packed: bytes, width: int) -> Iterable[tuple[bytes, ...]]:
    fields: list[bytes] = []
    place = 0
    while place < len(packed):
        start = place + _SIZE.size
        place = start + int.from_bytes(packed[place:start], "big")
        fields.append(packed[start:place])
    if place != len(packed) or len(fields) % width:
        raise _damaged()
    rest = iter(fields)
    return zip(*[rest] * width, strict=True)


def _text(name: bytes) -> str:
    try:
        return from_text(name.decode())
    except UnicodeDecodeError as error:
        raise _damaged() from error


def _damaged() -> CorruptCheckpointError:
    return CorruptCheckpointError(
        "A row of plait_records is damaged: what travels with its checkpoint cannot be read. "
        "Restore the database from a backup."
    )


__all__ = ["Company", "company_of", "value_in", "values_in", "writes_in"]
