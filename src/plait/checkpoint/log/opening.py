"""Opening many records of a lane together: at the price of their digests, not of as many calls.

What cannot be opened so is opened alone, which says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.checkpoint.log.keys import UUID, UUID_TEXT, unpack_all
from plait.checkpoint.log.reader import Facts, Frame, LaneReader, facts_of
from plait.checkpoint.log.records import (
    CHECKPOINT,
    WRITES,
    CheckpointFrame,
    read_checkpoints,
    read_tasks,
)
from plait.checkpoint.log.requests import CheckpointRow, WriteRow
from plait.checkpoint.serde import place, unseal_all
from plait.errors import CorruptCheckpointError

_ID = UUID_TEXT.to_bytes(4, "big")
_NO_CHANNEL = place("")
_TASK = place("writes:" + UUID_TEXT * " ")[:-UUID_TEXT]


def open_checkpoints(
    reader: LaneReader, rows: Sequence[CheckpointRow]
) -> list[tuple[CheckpointFrame, Facts]]:
    """The records of checkpoints, and what they say.

    Raises:
        CorruptCheckpointError: one is damaged.
    """
    frames: list[CheckpointFrame] | None = None
    ids = [row[0] for row in rows]
    if reader.live and {*map(len, ids)} == {UUID}:
        records = [row[2] for row in rows]
        names = unpack_all(ids)
        payloads = unseal_all(CHECKPOINT, reader.place + _ID, names, _NO_CHANNEL, records)
        frames = _read(read_checkpoints, payloads)
    if frames is None:
        frames = [reader.open_checkpoint(row) for row in rows]
    bodies = reader.loads_each([frame.body for frame in frames])
    return [(frame, facts_of(body)) for frame, body in zip(frames, bodies, strict=True)]


def open_tasks(reader: LaneReader, rows: Sequence[WriteRow]) -> list[Frame]:
    """What tasks wrote, as it was packed.

    Raises:
        CorruptCheckpointError: a record is damaged.
    """
    frames: list[Frame] | None = None
    checkpoints, tasks = [row[0] for row in rows], [row[1] for row in rows]
    if reader.live and {*map(len, checkpoints), *map(len, tasks)} == {UUID}:
        pairs = zip(unpack_all(checkpoints), unpack_all(tasks), strict=True)
        names = [b"".join((id, _TASK, task)) for id, task in pairs]
        records = [row[3] for row in rows]
        payloads = unseal_all(WRITES, reader.place + _ID, names, b"", records)
        frames = _read(read_tasks, payloads)
    return [reader.writes_frame(row) for row in rows] if frames is None else frames


def _read(read: Any, payloads: Sequence[bytes | None]) -> Any:
    """What payloads say; None where one of them is none, or damaged."""
    if None in payloads:
        return None
    try:
        return read(payloads)
    except CorruptCheckpointError:
        return None
