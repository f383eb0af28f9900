"""Stored checkpoints in the peer's shape: `CheckpointTuple`.

A checkpoint that came through `put` keeps what the peer's shape carries besides values (versions,
versions seen) in its frontier under `PORT`, and gives it back as it was. A checkpoint of a plait
run has the ids of the checkpoints that wrote its channels as their versions. A run that goes
through the port (`serving`) finds what runs next among the values, where it has put it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.checkpoint.base import LATEST_VERSION, CheckpointTuple
from plait.checkpoint.base.serving import serving
from plait.constants import FRONTIER
from plait.engine.records import new_tuple

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig

PORT = "__port__"


def config_of(thread_id: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    """The config that names a checkpoint."""
    return cast(
        "RunnableConfig",
        {
            "configurable": {
                "thread_id": thread_id,
                "checkpoint_ns": ns,
                "checkpoint_id": checkpoint_id,
            }
        },
    )


def tuple_of(
    place: tuple[str, str],
    id: str,
    parent: str | None,
    facts: tuple[str, dict[str, Any], dict[str, Any]],
    values: dict[str, Any],
    versions: dict[str, str],
    changed: Sequence[str],
    writes: list[tuple[str, str, Any]],
) -> CheckpointTuple:
    """A checkpoint in the peer's shape.

    Args:
        place: Its thread and namespace.
        id: Its id.
        parent: Its parent's.
        facts: Timestamp, metadata and frontier; the tuple keeps the metadata.
        values: By channel; the tuple keeps them.
        versions: By channel the checkpoint that wrote it.
        changed: The channels that it wrote itself.
        writes: What tasks wrote there.
    """
    ts, metadata, frontier = facts
    extra = frontier.get(PORT)
    if serving.get() is not None:
        runs = {name: value for name, value in frontier.items() if name != PORT}
        values = {**values, FRONTIER: runs} if runs else values
    checkpoint = {
        "v": LATEST_VERSION,
        "ts": ts,
        "id": id,
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {},
        "updated_channels": sorted(changed),
    }
    if type(extra) is dict:
        checkpoint.update(cast("dict[str, Any]", extra))
    before = None if parent is None else config_of(*place, parent)
    parts = (config_of(*place, id), checkpoint, metadata, before, writes)
    return new_tuple(CheckpointTuple, parts)
