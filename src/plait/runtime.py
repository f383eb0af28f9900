"""`Runtime`: what a node may want besides its state, in one typed object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, cast, runtime_checkable

from plait.errors import ConfigError
from plait.scope import current_scope
from plait.typing import ContextT

if TYPE_CHECKING:
    from plait.store.base import BaseStore
    from plait.types import StreamWriter


@dataclass(frozen=True, slots=True)
class ExecutionInfo:
    """Which task this is."""

    checkpoint_id: str
    checkpoint_ns: str
    task_id: str
    """Stable over crashes and resumes: an idempotency key."""
    thread_id: str | None = None
    run_id: str | None = None
    node_attempt: int = 1
    """The number of this attempt, from 1."""
    node_first_attempt_time: float | None = None
    """When the first attempt began, in seconds since the epoch."""

    def patch(self, **changes: Any) -> ExecutionInfo:
        """A copy with some fields replaced.

        >>> ExecutionInfo("c", "", "t").patch(node_attempt=2).node_attempt
        2
        """
        return replace(self, **changes)


@runtime_checkable
class BaseUser(Protocol):
    """Who called a server, as its authentication says."""

    @property
    def is_authenticated(self) -> bool:
        """Whether the server knows who it is."""
        ...

    @property
    def display_name(self) -> str:
        """The name that people read."""
        ...

    @property
    def identity(self) -> str:
        """The name that programs compare."""
        ...

    @property
    def permissions(self) -> Sequence[str]:
        """What the caller may do, in the server's own words."""
        ...


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server that runs the graph says about the call, in the config's `configurable`."""

    assistant_id: str
    graph_id: str
    user: BaseUser | None = None

    @classmethod
    def of(cls, configurable: Mapping[str, Any]) -> ServerInfo | None:
        """What `assistant_id`, `graph_id` and `langgraph_auth_user` say; None: nothing.

        >>> ServerInfo.of({"assistant_id": "a"})
        ServerInfo(assistant_id='a', graph_id='', user=None)
        """
        user = configurable.get("langgraph_auth_user")
        # Asking whether something fits a protocol is slow, and mostly there is no user.
        known = user if user is not None and isinstance(user, BaseUser) else None
        ids = configurable.get("assistant_id"), configurable.get("graph_id")
        if known is None and ids == (None, None):
            return None
        assistant_id, graph_id = ("" if one is None else str(one) for one in ids)
        return cls(assistant_id, graph_id, known)


class RunControl:
    """Asks a run to stop between two of its super-steps, from any thread.

    Hand one to a run (`graph.invoke(input, config, control=control)`); code inside the run finds it
    in `runtime.control`. A control belongs to one run: once drained, it stays so.

    >>> control = RunControl()
    >>> control.request_drain("deploy")
    >>> control.drain_requested, control.drain_reason
    (True, 'deploy')
    """

    __slots__ = ("drain_reason",)

    def __init__(self) -> None:
        self.drain_reason: str | None = None
        """Why the run is to stop, or None."""

    def request_drain(self, reason: str = "shutdown") -> None:
        """Let the super-step that runs end, and start no other: the run raises `GraphDrained`."""
        self.drain_reason = reason

    @property
    def drain_requested(self) -> bool:
        """Whether the run is to stop."""
        return self.drain_reason is not None


def _write_nowhere(chunk: Any) -> None:
    return None


def _beat_nothing() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime(Generic[ContextT]):
    """Context, store and stream of a run, handed to nodes that have a `runtime` parameter.

    >>> from typing import TypedDict
    >>> from plait.graph import START, StateGraph
    >>> class State(TypedDict):
    ...     text: str
    >>> class Context(TypedDict):
    ...     name: str
    >>> def greet(state: State, runtime: Runtime[Context]):
    ...     return {"text": state["text"] + runtime.context["name"]}
    >>> graph = StateGraph(State, context_schema=Context).add_node(greet).add_edge(START, "greet")
    >>> graph.compile().invoke({"text": "Hello "}, context={"name": "Ada"})
    {'text': 'Hello Ada'}
    """

    context: ContextT = cast(Any, None)  # noqa: RUF009
    """What the caller passed as `context=`: connections, clients, who the user is."""
    store: BaseStore | None = None
    """Long-term memory, shared by all threads."""
    stream_writer: StreamWriter = _write_nowhere
    """Writes to the `custom` stream."""
    heartbeat: Callable[[], None] = _beat_nothing
    """A sign of life, for nodes with an idle timeout (see `TimeoutPolicy`)."""
    previous: Any = None
    """What the last run of an entrypoint saved on this thread."""
    # None only where no task runs; typed as what every task has, so that
    # `runtime.execution_info.task_id` is no mistake for a type checker.
    execution_info: ExecutionInfo = cast(Any, None)  # noqa: RUF009
    server_info: ServerInfo | None = None
    """What the server says that runs the graph (None: no server does)."""
    control: RunControl | None = None
    """Asks this run to drain."""

    @property
    def drain_requested(self) -> bool:
        """Whether this run is to stop after its current super-step."""
        return self.control is not None and self.control.drain_requested

    @property
    def drain_reason(self) -> str | None:
        """Why it is to stop, or None."""
        return None if self.control is None else self.control.drain_reason

    def override(self, **changes: Any) -> Runtime[ContextT]:
        """A copy with some fields replaced.

        >>> Runtime(context="a").override(context="b").context
        'b'
        """
        return replace(self, **changes)

    def patch_execution_info(self, **changes: Any) -> Runtime[ContextT]:
        """A copy with some fields of its `execution_info` replaced.

        Raises:
            ConfigError: it has none; no task runs here.
        """
        if cast(Any, self.execution_info) is None:
            raise ConfigError(
                "Cannot patch execution_info before it has been set: this runtime is of no task."
            )
        return replace(self, execution_info=self.execution_info.patch(**changes))

    def merge(self, other: Runtime[ContextT]) -> Runtime[ContextT]:
        """A copy with what `other` provides; what it does not, stays.

        >>> Runtime(context="a", previous=1).merge(Runtime(context="b")).previous
        1
        """
        given = {field.name: getattr(other, field.name) for field in fields(other)}
        return replace(
            self,
            **{
                name: value
                for name, value in given.items()
                if value is not None and value is not _NOTHING.get(name)
            },
        )


def _made_when_asked(slot: Any, doc: str) -> Any:
    """A field that may be given as a function: what that makes is made when it is looked at."""
    get, put = slot.__get__, slot.__set__

    def look(runtime: Any) -> Any:
        value = get(runtime)
        if callable(value):
            value = value()
            put(runtime, value)
        return value

    return property(look, put, doc=doc)


# Every task's is another, with ids that are hashes; few look at it.
Runtime.execution_info = _made_when_asked(
    vars(Runtime)["execution_info"],
    "Which task this is: ids, attempt, times. None outside of a task.",
)

_NOTHING: dict[str, Any] = {"stream_writer": _write_nowhere, "heartbeat": _beat_nothing}
"""What stands in a runtime where nothing was provided."""


def get_runtime(context_schema: type[ContextT] | None = None) -> Runtime[ContextT]:
    """The runtime of the task that runs here.

    Args:
        context_schema: the type of the context, for type checkers only.

    Raises:
        ConfigError: called outside of a running graph.
    """
    scope = current_scope.get()
    if scope is None:
        raise ConfigError("get_runtime() was called outside of a running graph.")
    return scope.runtime()


__all__ = ["BaseUser", "ExecutionInfo", "RunControl", "Runtime", "ServerInfo", "get_runtime"]
