"""The names of `langgraph.pregel.types`, which moved to `plait.types` (deprecated)."""

from warnings import warn

from plait.payloads import PregelExecutableTask
from plait.types import (
    All,
    CachePolicy,
    PregelTask,
    RetryPolicy,
    StateSnapshot,
    StateUpdate,
    StreamMode,
    StreamWriter,
    default_retry_on,
)
from plait.warnings import LangGraphDeprecatedSinceV10

__all__ = [
    "All",
    "CachePolicy",
    "PregelExecutableTask",
    "PregelTask",
    "RetryPolicy",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamWriter",
    "default_retry_on",
]

warn(
    LangGraphDeprecatedSinceV10(
        "Importing from plait.pregel.types is deprecated. Please use "
        "'from plait.types import ...' instead."
    ),
    stacklevel=2,
)
