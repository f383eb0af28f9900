"""LangGraph's shapes of a stored checkpoint, and the small functions over them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from os import urandom
from time import time_ns
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypedDict, cast

from plait.constants import ERROR, INTERRUPT, RESUME
from plait.errors import EmptyChannelError
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig

LATEST_VERSION: Final = 2
"""The format of `Checkpoint`, as the peer numbers it."""
SCHEDULED: Final = "__scheduled__"
WRITES_IDX_MAP: Final = {ERROR: -1, SCHEDULED: -2, INTERRUPT: -3, RESUME: -4}
"""Reserved channels have a fixed position among a task's writes, and replace what stood there."""
EXCLUDED_METADATA_KEYS: Final = frozenset(
    {
        "checkpoint_id",
        "checkpoint_map",
        "checkpoint_ns",
        "langgraph_checkpoint_ns",
        "langgraph_node",
        "langgraph_path",
        "langgraph_step",
        "langgraph_triggers",
        "thread_id",
    }
)
"""Keys of a config that say where a run is; they are no metadata of a checkpoint."""

ChannelVersions: TypeAlias = dict[str, str | int | float]
PendingWrite: TypeAlias = tuple[str, str, Any]
"""(task id, channel, value)."""

_GREGORIAN = 0x01B21DD213814000  # 100 ns steps from 1582-10-15, where UUID time starts, to 1970


class CheckpointMetadata(TypedDict, total=False):
    """What is known about a checkpoint, besides its values."""

    source: Literal["input", "loop", "update", "fork"]
    """What made it: an input, a super-step, `update_state`, or a copy of another."""
    step: int
    """-1 for the first input, 0 for the first super-step, and so on."""
    parents: dict[str, str]
    """Namespace to checkpoint id, of the graphs that this one is nested in."""
    run_id: str


class Checkpoint(TypedDict):
    """The state of a thread at one moment."""

    v: int
    id: str
    """Unique and increasing."""
    ts: str
    """ISO 8601."""
    channel_values: dict[str, Any]
    channel_versions: ChannelVersions
    versions_seen: dict[str, ChannelVersions]
    updated_channels: list[str] | None


class CheckpointTuple(NamedTuple):
    """A checkpoint with what belongs to it."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    parent_config: RunnableConfig | None = None
    pending_writes: list[PendingWrite] | None = None


def new_checkpoint_id() -> str:
    """A new checkpoint id: a UUID of version 6, whose text sorts by the time it was made."""
    ticks = time_ns() // 100 + _GREGORIAN
    text = f"{ticks:015x}"
    tail = urandom(8).hex()
    return (
        f"{text[:8]}-{text[8:12]}-6{text[12:]}-{'89ab'[int(tail[0], 16) & 3]}{tail[1:4]}-{tail[4:]}"
    )


def empty_checkpoint() -> Checkpoint:
    """A new checkpoint that holds nothing."""
    return {
        "v": LATEST_VERSION,
        "id": new_checkpoint_id(),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": {},
        "channel_versions": {},
        "versions_seen": {},
        "updated_channels": None,
    }


def copy_checkpoint(checkpoint: Checkpoint) -> Checkpoint:
    """A copy whose own dicts may be changed; the channel values are shared."""
    copied = checkpoint.copy()
    copied["channel_values"] = checkpoint["channel_values"].copy()
    copied["channel_versions"] = checkpoint["channel_versions"].copy()
    copied["versions_seen"] = {k: v.copy() for k, v in checkpoint["versions_seen"].items()}
    return copied


def create_checkpoint(
    checkpoint: Checkpoint,
    channels: Mapping[str, Any] | None,
    step: int,
    *,
    id: str | None = None,
) -> Checkpoint:
    """The checkpoint that follows another.

    Args:
        checkpoint: The one before.
        channels: The channels to take values from; None keeps the values.
        step: The super-step (part of the peer's signature; ids already sort by time).
        id: The new id; by default one is made.
    """
    created = copy_checkpoint(checkpoint)
    created["id"] = id or new_checkpoint_id()
    created["ts"] = datetime.now(UTC).isoformat()
    created["updated_channels"] = None
    if channels is not None:
        created["channel_values"] = values = cast("dict[str, Any]", {})
        for name, channel in channels.items():
            if name not in checkpoint["channel_versions"]:
                continue
            try:
                value = channel.checkpoint()
            except EmptyChannelError:
                continue
            if value is not MISSING:
                values[name] = value
    return created


def get_checkpoint_id(config: RunnableConfig) -> str | None:
    """The checkpoint that a config names; `thread_ts` is its old name.

    >>> get_checkpoint_id({"configurable": {"thread_id": "t", "thread_ts": "c1"}})
    'c1'
    """
    configurable = config.get("configurable", {})
    return configurable.get("checkpoint_id", configurable.get("thread_ts"))


def get_checkpoint_metadata(
    config: RunnableConfig, metadata: CheckpointMetadata
) -> CheckpointMetadata:
    """A checkpoint's metadata together with the plain facts of the config it was made under.

    >>> config = {"configurable": {"thread_id": "t", "user": "ann"}, "metadata": {"tier": 1}}
    >>> get_checkpoint_metadata(config, {"source": "loop"})
    {'source': 'loop', 'tier': 1, 'user': 'ann'}
    """
    merged: dict[str, Any] = {k: _clean(v) for k, v in metadata.items()}
    given: list[dict[str, Any]] = [config.get("metadata") or {}, config.get("configurable") or {}]
    for facts in given:
        for key, value in facts.items():
            if key in EXCLUDED_METADATA_KEYS or key in merged or key.startswith("__"):
                continue
            if isinstance(value, str | int | float):
                merged[key] = _clean(value)
    return cast("CheckpointMetadata", merged)


def get_serializable_checkpoint_metadata(
    config: RunnableConfig, metadata: CheckpointMetadata
) -> CheckpointMetadata:
    """Like `get_checkpoint_metadata`, without the writes that old checkpoints carried there."""
    merged = get_checkpoint_metadata(config, metadata)
    cast("dict[str, Any]", merged).pop("writes", None)
    return merged


def _clean(value: Any) -> Any:
    """Text without NUL, which Postgres cannot keep."""
    return value.replace("\0", "") if isinstance(value, str) else value


def writes_sort_key(task_path: str, task_id: str = "", idx: int = 0) -> tuple[str, str, int]:
    """Sorts the stored writes of a super-step into the order in which they applied.

    >>> writes_sort_key("path", "task", 1)
    ('path', 'task', 1)
    """
    return task_path, task_id, idx
