"""The ports of savers: LangGraph's (`BaseCheckpointSaver`) and the native one (`port`)."""

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
from plait.errors import EmptyChannelError

__all__ = [
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
    "writes_sort_key",
]
