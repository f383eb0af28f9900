"""The vocabulary of graphs: what nodes return, what interrupts are, what runs report.

Names and fields follow the peer's public `langgraph.types`. Policies live in `plait.policies`, and
have their names here, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
)
from warnings import warn

from plait.constants import INTERRUPT
from plait.errors import ConfigError
from plait.policies import (
    CachePolicy,
    RetryPolicy,
    TimeoutPolicy,
    TracePolicy,
    omit_payload,
)
from plait.policies import default_cache_key as default_cache_key
from plait.policies import default_retry_on as default_retry_on
from plait.scope import current_scope, current_tool_call
from plait.typing import MISSING, subscriptable
from plait.warnings import LangGraphDeprecatedSinceV10, LangGraphDeprecatedSinceV11

if TYPE_CHECKING:
    from datetime import timedelta

    from plait.payloads import (
        CheckpointPayload,
        CheckpointStreamPart,
        CheckpointTask,
        CustomStreamPart,
        DebugPayload,
        DebugStreamPart,
        MessagesStreamPart,
        PregelExecutableTask,
        StreamPart,
        TaskPayload,
        TaskResultPayload,
        TasksStreamPart,
        UpdatesStreamPart,
        ValuesStreamPart,
    )
    from plait.runnables.config import RunnableConfig

N = TypeVar("N", bound=Hashable)
StateT = TypeVar("StateT")

All: TypeAlias = Literal["*"]
"""Every node (of an `interrupt_before` / `interrupt_after` list)."""
if TYPE_CHECKING:

    class SaverLike(Protocol):
        """A saver, as far as checkers tell it from a path to one: plait's or another's."""

        @property
        def get_tuple(self) -> Callable[..., Any]: ...
        @property
        def put(self) -> Callable[..., Any]: ...

    Checkpointer: TypeAlias = bool | SaverLike | None
else:
    Checkpointer: TypeAlias = Any  # pydantic could not check a field of that type
"""None (inherit), True (own memory), False (none) or a saver."""
StreamMode: TypeAlias = Literal[
    "values", "updates", "checkpoints", "tasks", "debug", "messages", "tools", "custom"
]
"""What a stream tells: whole states, updates per node, checkpoints, tasks, both, tokens, tool
calls, yours."""
StreamWriter: TypeAlias = Callable[[Any], None]
"""Writes one chunk to the `custom` stream."""
Durability: TypeAlias = Literal["sync", "async", "exit"]
"""When a super-step is on disk: before the next starts, while it runs, or when the run ends."""


# --- What nodes return ---------------------------------------------------------------------------


class Send:
    """A task for one node with an input of its own, in the next super-step (map-reduce).

    Args:
        node: the node's name.
        arg: what it is handed in place of the state.
        timeout: how long one attempt may take; None: what the node says.

    >>> Send("summarise", {"text": "..."})
    Send(node='summarise', arg={'text': '...'})
    """

    __slots__ = ("arg", "node", "timeout")

    node: str
    arg: Any
    timeout: TimeoutPolicy | None

    def __init__(
        self, /, node: str, arg: Any, *, timeout: float | timedelta | TimeoutPolicy | None = None
    ) -> None:
        self.node = node
        self.arg = arg
        self.timeout = None if timeout is None else TimeoutPolicy.coerce(timeout)

    def __hash__(self) -> int:
        return hash((self.node, self.arg))

    def __repr__(self) -> str:
        return f"Send(node={self.node!r}, arg={self.arg!r})"

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Send) and self.node == value.node and self.arg == value.arg


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Command(Generic[N]):
    """An update and a route in one; also how a caller answers interrupts.

    Args:
        graph: None for this graph, `Command.PARENT` for the closest parent graph.
        update: what to write: a dict, a list of (key, value) pairs, or a state object.
        resume: the answer to the pending interrupt, or a mapping of interrupt id to answer.
        goto: a node's name, a `Send`, or a sequence of them. No edge needs to exist.
    """

    graph: str | None = None
    update: Any | None = None
    resume: dict[str, Any] | Any | None = None
    goto: Send | Sequence[Send | N] | N = ()

    PARENT: ClassVar[Literal["__parent__"]] = "__parent__"

    def __post_init__(self) -> None:
        if _OUTPUTS in sys.modules and len(Command.__bases__) == 1:
            _become_an_output()

    def __repr__(self) -> str:
        shown = (
            f"{name}={value!r}"
            for name in ("graph", "update", "resume", "goto")
            if (value := getattr(self, name))
        )
        return f"Command({', '.join(shown)})"


_OUTPUTS = "langchain_core.messages.tool"
(_GENERIC,) = Command.__bases__


def _become_an_output() -> None:
    """Be what langchain_core's tools hand on as it is, once a program has loaded them: they make a
    text of all else."""
    output = getattr(sys.modules[_OUTPUTS], "ToolOutputMixin", None)
    if output is not None:  # else the module is being loaded
        Command.__bases__ = (_GENERIC, output)  # the same, whichever thread comes first


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Replaces the value of a key instead of handing it to the reducer.

    Of two for one key in one super-step, none is right: that is an `InvalidUpdateError`.

    >>> Overwrite([]).value
    []
    """

    value: Any
    type: Literal["__overwrite__"] = "__overwrite__"


# --- Interrupts ----------------------------------------------------------------------------------

_NO_ID = "placeholder-id"
"""The id of a question that no run has asked yet."""


def _digest(text: str) -> str:
    from hashlib import blake2b  # for older programs that make questions by hand

    return blake2b(text.encode(), digest_size=16).hexdigest()


@subscriptable
@dataclass(init=False, slots=True)
class Interrupt:
    """A question that a run waits with.

    `id` names the question: it derives from the task, the tool call (or `key=`) and the ordinal
    of the call inside it, so that an answer cannot reach another question.
    """

    value: Any
    """What is asked: the argument of `interrupt()`."""
    id: str
    """What `Command(resume={id: answer})` names."""
    response_schema: Any = None
    """The shape that the answer must have, if the question says one."""

    def __init__(
        self,
        value: Any,
        id: str = _NO_ID,
        *,
        response_schema: Any = None,
        ns: Sequence[str] | None = None,
        resumable: bool = True,
        when: str = "during",
    ) -> None:
        # ns, resumable and when are spellings of before 1.0: only ns still says something.
        self.value = value
        self.id = _digest("|".join(ns)) if ns and id == _NO_ID else id
        self.response_schema = response_schema

    @classmethod
    def from_ns(cls, value: Any, ns: str, *, response_schema: Any = None) -> Interrupt:
        """A question whose id derives from a namespace."""
        return cls(value, _digest(ns), response_schema=response_schema)

    @property
    def interrupt_id(self) -> str:
        """The older name of `id` (deprecated)."""
        warn(
            LangGraphDeprecatedSinceV10("`interrupt_id` is deprecated. Use `id` instead."),
            stacklevel=2,
        )
        return self.id

    def __hash__(self) -> int:
        return hash(self.id)


def interrupt(
    value: Any,
    *,
    key: str | None = None,
    response_schema: Any = None,
    timeout: float | timedelta | None = None,
    default: Any = MISSING,
) -> Any:
    """Stop here and ask; return the answer once the run is resumed with it.

    The first call raises `GraphInterrupt`, which stops the run and surfaces `value` to the caller
    (`result["__interrupt__"]`, streams, `get_state`). Resuming with `Command(resume=answer)` runs
    the node again from its start, and this call then returns the answer. Several calls in one
    node are answered in their order.

    Args:
        value: what the person is asked; anything that can be stored.
        key: names the question where calls race inside one task (asyncio tasks, threads).
        response_schema: the shape of the answer, as a type or as a JSON schema: whoever shows the
            question is told of it. With a type, the answer comes as an object of it.
        timeout: how long the question waits, in seconds or as a timedelta. The first call on the
            thread after that time goes on without an answer.
        default: what is returned then, None or what fits the type; without one, the call raises.

    Returns:
        The answer.

    Raises:
        GraphInterrupt: while there is no answer. Let it pass.
        InterruptRaceError: concurrent calls inside one task without a `key`.
        ConfigError: called outside of a node, tool or task of a running graph; a default that does
            not fit, or has no timeout.
        ValidationError: the answer is no object of the type; the question stays open.
        InterruptTimeoutError: there was no answer in time, and there is no default.
    """
    scope = current_scope.get()
    if scope is None:
        raise ConfigError(
            "interrupt() was called outside of a running graph. Call it in a node, a tool or a "
            "task; where plain threads are started inside a node, run them in a copy of its "
            "context (contextvars.copy_context().run)."
        )
    if response_schema is not None and not isinstance(response_schema, dict):
        from importlib import import_module  # types as schemas need pydantic

        shapes = import_module("plait.answers")
        if not isinstance(response_schema, shapes.AnswerSchema):
            response_schema = shapes.AnswerSchema(response_schema)
    call = current_tool_call.get()
    if call is not None:
        key = call if key is None else f"{call}/{key}"
    if timeout is None and default is MISSING:
        return scope.interrupt(value, key, response_schema)
    from importlib import import_module  # few questions wait for a time

    timer = import_module("plait.timers").answer_timer(timeout, default, response_schema)
    return scope.interrupt(value, key, response_schema, timer)


@dataclass(frozen=True, slots=True)
class UnknownOutcome:
    """What is known of a task that was cut off: what an `on_unknown` function is given."""

    node: str
    task_id: str
    """Stable over all its attempts: pass it on as an idempotency key, and look for it here."""
    attempt: int
    """How often the task has started."""
    input: Any
    """What the node reads; of a `@task`, its arguments by name."""
    input_digest: str
    """Stands for the input: equal in every process."""


# --- What runs report ----------------------------------------------------------------------------


class PregelTask(NamedTuple):
    """A task of a stored checkpoint, with its outcome so far."""

    id: str
    name: str
    path: tuple[str | int | tuple[Any, ...], ...]
    """Its place in the super-step."""
    error: Any = None
    interrupts: tuple[Interrupt, ...] = ()
    state: Any = None
    """Of the graph inside it: its config, or with `subgraphs=True` its `StateSnapshot`."""
    result: Any = None
    """What it wrote, once it has ended."""


class StateUpdate(NamedTuple):
    """One update of `bulk_update_state`."""

    values: dict[str, Any] | None
    as_node: str | None = None
    """In whose name; None: the last node that ran."""
    task_id: str | None = None
    """Which of the node's pending tasks the update stands for; None: the first."""


class StateSnapshot(NamedTuple):
    """A thread at one of its checkpoints."""

    values: dict[str, Any] | Any
    """The state."""
    next: tuple[str, ...]
    """The nodes that run next; empty when the run has finished."""
    config: RunnableConfig
    """Addresses this checkpoint."""
    metadata: Any
    """Where it comes from: `source`, `step`, `parents`, and the run's own metadata."""
    created_at: str | None
    parent_config: RunnableConfig | None
    tasks: tuple[PregelTask, ...]
    """The tasks of its super-step with what became of them."""
    interrupts: tuple[Interrupt, ...]
    """The questions that wait for an answer."""


@subscriptable
@dataclass(slots=True)
class GraphOutput:
    """What `invoke(version="v2")` returns: the state and the questions apart."""

    value: Any
    interrupts: tuple[Interrupt, ...] = ()

    def __getitem__(self, key: str) -> Any:
        """A key of the state, as `invoke()` gave it before there was `GraphOutput` (deprecated)."""
        self._warn("result[key]")
        if key == INTERRUPT:
            return self.interrupts
        if not isinstance(self.value, dict):
            raise KeyError(key)
        return cast("dict[str, Any]", self.value)[key]

    def __contains__(self, key: object) -> bool:
        self._warn("key in result")
        if key == INTERRUPT:
            return bool(self.interrupts)
        return isinstance(self.value, dict) and key in cast("dict[str, Any]", self.value)

    def _warn(self, how: str) -> None:
        warn(
            LangGraphDeprecatedSinceV11(
                f"Accessing GraphOutput via `{how}` is deprecated. Use `result.value` to access "
                "the output value directly, or `result.interrupts` for interrupts."
            ),
            stacklevel=3,
        )


class RunContext(Generic[StateT]):
    """What `node(context)` receives: state, runtime and config in one.

    It also reads like the state itself, since elsewhere a parameter called `context` is the state.

    >>> context = RunContext({"text": "hi"}, runtime=None, config={})
    >>> context.state["text"], context["text"], "text" in context, context.get("more")
    ('hi', 'hi', True, None)
    """

    __slots__ = ("config", "runtime", "state")

    def __init__(self, state: StateT, runtime: Any, config: RunnableConfig) -> None:
        self.state = state
        self.runtime = runtime
        self.config = config

    def __getitem__(self, key: Any) -> Any:
        return cast("Any", self.state)[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(cast("Any", self.state))

    def __len__(self) -> int:
        return len(cast("Any", self.state))

    def __contains__(self, key: object) -> bool:
        return key in cast("Any", self.state)

    def __getattr__(self, name: str) -> Any:
        # Only for names that it has not itself: `keys`, `get`, the fields of a state object.
        return getattr(self.state, name)


def ensure_valid_checkpointer(checkpointer: Checkpointer) -> Checkpointer:
    """Return it if it can serve as a graph's `checkpointer`, else raise TypeError."""
    if isinstance(checkpointer, type):
        name = cast("type[Any]", checkpointer).__name__
        raise TypeError(f"Invalid checkpointer {name}: that is a class. Make one: {name}().")
    is_setting = checkpointer is None or isinstance(checkpointer, bool)
    if is_setting or hasattr(checkpointer, "get_tuple"):
        return checkpointer
    raise TypeError(
        f"Invalid checkpointer {checkpointer!r}: expected a saver (BaseCheckpointSaver), True, "
        "False or None. A saver made by from_conn_string is opened with `with ... as saver:`."
    )


_DOES = {"store": ("get", "aget", "search", "asearch", "batch", "abatch"), "cache": ("set", "aset")}
"""What tells a store, or a cache, from what is none: it has one of these methods."""


def ensure_valid_memory(store: Any, cache: Any) -> None:
    """Raise TypeError if they cannot serve as a graph's `store` and `cache`. (None and False say
    that there is none.)"""
    for what, given in (("store", store), ("cache", cache)):
        if given is None or given is False:
            continue
        if isinstance(given, type):
            raise TypeError(f"{what}={given.__name__} is a class. Make one: {given.__name__}().")
        if type(given) is dict or not any(hasattr(given, name) for name in _DOES[what]):
            shown, example = f"{given!r:.80}", f"InMemory{what.title()}()"
            raise TypeError(f"{what}={shown} is no {what}. Give the graph one: {what}={example}.")


__all__ = [
    "All",
    "CachePolicy",
    "CheckpointPayload",
    "CheckpointStreamPart",
    "CheckpointTask",
    "Checkpointer",
    "Command",
    "CustomStreamPart",
    "DebugPayload",
    "DebugStreamPart",
    "Durability",
    "GraphOutput",
    "Interrupt",
    "MessagesStreamPart",
    "Overwrite",
    "PregelExecutableTask",
    "PregelTask",
    "RetryPolicy",
    "RunContext",
    "Send",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamPart",
    "StreamWriter",
    "TaskPayload",
    "TaskResultPayload",
    "TasksStreamPart",
    "TimeoutPolicy",
    "TracePolicy",
    "UnknownOutcome",
    "UpdatesStreamPart",
    "ValuesStreamPart",
    "ensure_valid_checkpointer",
    "ensure_valid_memory",
    "interrupt",
    "omit_payload",
]

_PAYLOADS = frozenset(__all__) - globals().keys()
"""Names that only type checkers and tools ask for."""


def __getattr__(name: str) -> Any:
    if name not in _PAYLOADS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # typed dicts take long to make

    return getattr(import_module("plait.payloads"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PAYLOADS})
