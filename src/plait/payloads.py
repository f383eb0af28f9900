"""The shapes of what streams carry, for type checkers: one typed dict for each part and payload.

`plait.types` has these names too, and loads them when they are asked for.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypeVar

from typing_extensions import TypedDict  # generic typed dicts exist in `typing` from 3.11 on

from plait.types import Interrupt, RetryPolicy, StateSnapshot, TimeoutPolicy

StateT = TypeVar("StateT")
Config: TypeAlias = dict[str, Any]


# --- payloads ------------------------------------------------------------------------------------


class TaskPayload(TypedDict):
    """A task starts."""

    id: str
    name: str
    input: Any
    triggers: list[str]
    metadata: NotRequired[dict[str, Any]]


class TaskResultPayload(TypedDict):
    """A task ended: with a result, an error or questions."""

    id: str
    name: str
    error: str | None
    interrupts: list[dict[str, Any]]
    result: dict[str, Any]


class CheckpointTask(TypedDict):
    """A task of a checkpoint; `error`, `result` and `interrupts` as far as they are known."""

    id: str
    name: str
    error: NotRequired[str]
    result: NotRequired[Any]
    interrupts: NotRequired[list[dict[str, Any]]]
    state: StateSnapshot | Config | None


class CheckpointPayload(TypedDict, Generic[StateT]):
    """A checkpoint was made."""

    config: Config | None
    metadata: dict[str, Any]
    values: StateT
    next: list[str]
    parent_config: Config | None
    tasks: list[CheckpointTask]


class _DebugCheckpoint(TypedDict, Generic[StateT]):
    step: int
    timestamp: str
    type: Literal["checkpoint"]
    payload: CheckpointPayload[StateT]


class _DebugTask(TypedDict):
    step: int
    timestamp: str
    type: Literal["task"]
    payload: TaskPayload


class _DebugResult(TypedDict):
    step: int
    timestamp: str
    type: Literal["task_result"]
    payload: TaskResultPayload


DebugPayload: TypeAlias = _DebugCheckpoint[Any] | _DebugTask | _DebugResult
"""What the `debug` mode tells: one of the payloads above, with its step and time."""


# --- parts of streams with version="v2" ----------------------------------------------------------


class ValuesStreamPart(TypedDict, Generic[StateT]):
    """The whole state, and the questions that wait."""

    type: Literal["values"]
    ns: tuple[str, ...]
    data: StateT
    interrupts: tuple[Interrupt, ...]


class UpdatesStreamPart(TypedDict):
    """What a node wrote, by the node's name."""

    type: Literal["updates"]
    ns: tuple[str, ...]
    data: dict[str, Any]


class MessagesStreamPart(TypedDict):
    """A message or a token of one, and where it comes from."""

    type: Literal["messages"]
    ns: tuple[str, ...]
    data: tuple[Any, dict[str, Any]]


class CustomStreamPart(TypedDict):
    """What a node wrote with its stream writer."""

    type: Literal["custom"]
    ns: tuple[str, ...]
    data: Any


class CheckpointStreamPart(TypedDict, Generic[StateT]):
    """A checkpoint."""

    type: Literal["checkpoints"]
    ns: tuple[str, ...]
    data: CheckpointPayload[StateT]


class TasksStreamPart(TypedDict):
    """A task that starts or ended."""

    type: Literal["tasks"]
    ns: tuple[str, ...]
    data: TaskPayload | TaskResultPayload


class DebugStreamPart(TypedDict):
    """A checkpoint or a task, with its step and time."""

    type: Literal["debug"]
    ns: tuple[str, ...]
    data: DebugPayload


StreamPart: TypeAlias = (
    ValuesStreamPart[Any]
    | UpdatesStreamPart
    | MessagesStreamPart
    | CustomStreamPart
    | CheckpointStreamPart[Any]
    | TasksStreamPart
    | DebugStreamPart
)
"""Any part; `type` says which."""


# --- tasks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PregelExecutableTask:
    """A task about to run, as tools over `plait.pregel.debug` pass it around."""

    name: str
    input: Any
    proc: Any
    writes: MutableSequence[tuple[str, Any]]
    config: Config
    triggers: Sequence[str]
    retry_policy: Sequence[RetryPolicy]
    cache_key: Any
    id: str
    path: tuple[Any, ...]
    writers: Sequence[Any] = ()
    subgraphs: Sequence[Any] = ()
    timeout: TimeoutPolicy | None = None
