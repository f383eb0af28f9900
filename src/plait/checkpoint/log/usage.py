"""What a thread costs: the bytes of its records, by channel and by the node that made them.

Counted are the records as they are stored, not what a database adds (indexes, pages). Segments that
several checkpoints share count once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.reader import LaneReader, writes_of
from plait.checkpoint.log.requests import (
    CheckpointRow,
    LaneRow,
    ListLanes,
    ListValues,
    ReadCheckpoints,
    ReadValues,
)
from plait.checkpoint.log.session import LogSession
from plait.constants import PULL, PUSH
from plait.errors import StorageError

INPUT = "(input)"
UPDATE = "(update)"
UNKNOWN = "(unknown)"
_BATCH = 256


@dataclass(slots=True)
class Usage:
    """The bytes of one thread."""

    thread_id: str
    checkpoints: int = 0
    """How many checkpoints, of graphs inside too."""
    values: int = 0
    """Bytes of the versions of channels."""
    writes: int = 0
    """Bytes of tasks' outcomes, kept beside the values."""
    frames: int = 0
    """Bytes of the checkpoints themselves."""
    by_channel: Counter[str] = field(default_factory=Counter[str])
    by_node: Counter[str] = field(default_factory=Counter[str])
    """By the node that wrote them; of nodes that wrote in one step, under their names together."""
    by_namespace: Counter[str] = field(default_factory=Counter[str])

    @property
    def total(self) -> int:
        """All bytes."""
        return self.values + self.writes + self.frames


def usage_of(session: LogSession) -> Plan[Usage]:
    """Count the bytes of a thread. Claims nothing, decodes no value."""
    usage = Usage(session.thread_id)
    lanes: list[LaneRow] = yield ListLanes(session.thread_id)
    for lane in lanes:
        yield from _count(LaneReader(lane.thread_id, lane.ns, session.codec, lane.lane), usage)
    return usage


def _count(reader: LaneReader, usage: Usage) -> Plan[None]:
    rows: list[CheckpointRow] = yield ReadCheckpoints(reader.lane)
    writes = yield from writes_of(reader.lane, rows)
    makers: dict[bytes, str] = {}
    total = 0
    for row in rows:
        maker, sends = _maker(reader, row)
        makers[row.id] = maker
        usage.frames += len(row.record)
        usage.by_node[maker] += len(row.record)
        total += len(row.record)
        for write in writes[row.id]:
            usage.writes += len(write.record)
            usage.by_node[_writer(write.path, sends)] += len(write.record)
            total += len(write.record)
    usage.checkpoints += len(rows)
    versions: list[tuple[str, bytes]] = yield ListValues(reader.lane)
    for start in range(0, len(versions), _BATCH):
        some = versions[start : start + _BATCH]
        records: list[bytes | None] = yield ReadValues(reader.lane, some)
        for (channel, key), record in zip(some, records, strict=True):
            size = len(record or b"")
            usage.values += size
            usage.by_channel[channel] += size
            usage.by_node[makers.get(key, UNKNOWN)] += size
            total += size
    usage.by_namespace[reader.ns] += total


def _maker(reader: LaneReader, row: CheckpointRow) -> tuple[str, list[Any]]:
    """Which nodes made a checkpoint, and the `Send`s that it leads to."""
    try:
        _, metadata, frontier = reader.body(reader.open_checkpoint(row))
    except StorageError:  # a type that is not registered here: its bytes still count
        return UNKNOWN, []
    return _names(metadata, frontier), list(frontier.get("sends", ()))


def _names(metadata: Mapping[str, Any], frontier: Mapping[str, Any]) -> str:
    last = frontier.get("last")
    if last:
        return ", ".join(last)
    source = metadata.get("source")
    return {"input": INPUT, "update": UPDATE}.get(str(source), UNKNOWN)


def _writer(path: str, sends: list[Any]) -> str:
    """The node of a task, by its place in its step."""
    kind, _, rest = path.partition("~")
    if kind == PULL:
        return rest
    if kind == PUSH:
        number = rest.partition("~")[0]
        if number.isdigit() and int(number) < len(sends):
            return sends[int(number)].node
    return UNKNOWN


__all__ = ["INPUT", "UNKNOWN", "UPDATE", "Usage", "usage_of"]
