"""The ports of savers: LangGraph's (`BaseCheckpointSaver`) and the native one (`port`)."""

from typing import TYPE_CHECKING

from plait.checkpoint.base.model import (
    EXCLUDED_METADATA_KEYS,
    LATEST_VERSION,
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    copy_checkpoint,
    create_checkpoint,
    empty_checkpoint,
    get_checkpoint_id,
    get_checkpoint_metadata,
    get_serializable_checkpoint_metadata,
    new_checkpoint_id,
    writes_sort_key,
)
from plait.checkpoint.base.plans import arun_plan, run_plan
from plait.checkpoint.base.saver import BaseCheckpointSaver, V
from plait.checkpoint.serde.base import SerializerProtocol
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.common.lazy import lazily
from plait.constants import ERROR
from plait.errors import EmptyChannelError

if TYPE_CHECKING:
    from plait.checkpoint.base.id import uuid6
    from plait.runnables.config import RunnableConfig

__getattr__ = lazily(__name__, {"RunnableConfig": "plait.runnables.config", "uuid6": "id"})

__all__ = [
    "ERROR",
    "EXCLUDED_METADATA_KEYS",
    "LATEST_VERSION",
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "EmptyChannelError",
    "JsonPlusSerializer",
    "PendingWrite",
    "RunnableConfig",
    "SerializerProtocol",
    "V",
    "arun_plan",
    "copy_checkpoint",
    "create_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "get_serializable_checkpoint_metadata",
    "new_checkpoint_id",
    "run_plan",
    "uuid6",
    "writes_sort_key",
]
