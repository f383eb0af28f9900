"""What a tool gets of the graph around it: marks on its arguments, and how they are filled.

A model never sees these arguments; what it supplies for them is dropped before they are filled.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, cast

from typing_extensions import get_type_hints

from plait.errors import ToolInputError
from plait.prebuilt.guests import as_their_runtime, is_their_runtime
from plait.pregel.scope import TaskScope
from plait.pregel.tool_stream import tell
from plait.runnables.config import ensure_config
from plait.runtime import ExecutionInfo, Runtime, ServerInfo
from plait.scope import current_scope
from plait.tools.injected import (
    DirectlyInjectedToolArg,
    InjectedToolArg,
    is_call_id,
    is_injected,
    marks_of,
    types_of,
)
from plait.tools.signatures import MISSING, parameters
from plait.typing import ContextT, StateT

if TYPE_CHECKING:
    from plait.runnables.config import RunnableConfig
    from plait.store.base import BaseStore
    from plait.types import StreamWriter


RUNTIME = "__pregel_runtime"
"""Under this key of a config's `configurable` a ToolNode outside of a graph finds its runtime."""


class InjectedState(InjectedToolArg):
    """Marks an argument that gets the state of the graph.

    Args:
        field: The key of the state to give; by default the whole state.
    """

    def __init__(self, field: str | None = None) -> None:
        self.field = field


class InjectedStore(InjectedToolArg):
    """Marks an argument that gets the store of the graph."""


@dataclass
class ToolRuntime(DirectlyInjectedToolArg, Generic[ContextT, StateT]):
    """All that a tool may want of the run around: an argument of this type gets it.

    >>> from plait.tools import tool
    >>> @tool
    ... def greet(word: str, runtime: ToolRuntime) -> str:
    ...     "Greet the user."
    ...     return f"{word}, {runtime.state['user']} ({runtime.tool_call_id})"
    >>> sorted(greet.args)
    ['word']
    """

    state: StateT
    """The state of the graph."""
    context: ContextT
    """What the caller of the graph passed as `context=`."""
    config: "RunnableConfig"
    stream_writer: "StreamWriter"
    """Writes to the `custom` stream."""
    tool_call_id: str | None
    store: "BaseStore | None"
    """Long-term memory (None: the graph has none)."""
    tools: list[Any] = field(default_factory=list[Any])
    """All tools of the node."""
    execution_info: ExecutionInfo = cast("Any", None)  # noqa: RUF009 - as of `Runtime`
    """Which task this is."""
    server_info: ServerInfo | None = None
    """What the server says that runs the graph."""

    def __class_getitem__(cls, _: Any) -> "type[ToolRuntime[Any, Any]]":
        """Type arguments are for checkers. (Of a dataclass with some, pydantic, which makes schemas
        of langchain_core's tools, would look into all fields.)"""
        return cls

    def emit_output_delta(self, delta: Any) -> None:
        """Write a part of the tool's output to the `tools` stream, if anybody listens to it."""
        scope = current_scope.get()
        if isinstance(scope, TaskScope):
            tell(scope, "tool-output-delta", self.tool_call_id, delta=delta)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # asked by pydantic itself

        return core_schema.is_instance_schema(cls)


def runtime_around(config: Mapping[str, Any] | None) -> Runtime[Any]:
    """The runtime of the task that runs here, else the config's, else one that has nothing."""
    scope = current_scope.get()
    if scope is not None:
        return scope.runtime()
    given = ensure_config(config).get("configurable", {}).get(RUNTIME)
    return given if given is not None else Runtime()


def state_around() -> Any:
    """The state of the graph whose task runs here; empty outside of a graph."""
    scope = current_scope.get()
    return scope.state() if isinstance(scope, TaskScope) else {}


_ANYTHING = (MISSING, Any, object)
"""What an argument called `runtime` may be annotated with, to be the `ToolRuntime`: nothing that a
model could give."""


class Injections:
    """Which arguments of one tool are filled, and with what.

    Args:
        tool: A tool, plait's or langchain_core's.
    """

    __slots__ = (
        *("fields", "hidden", "needs_runtime", "optional"),
        *("runtimes", "stores", "their_runtimes"),
    )

    def __init__(self, tool: Any) -> None:
        self.fields: dict[str, str | None] = {}
        self.optional: set[str] = set()
        """The arguments with a default, which holds where the state lacks their key."""
        self.stores: set[str] = set()
        self.runtimes: set[str] = set()
        self.their_runtimes: dict[str, type[Any]] = {}
        hidden: set[str] = set()
        for name, annotation, has_default in _annotations(tool):
            if name == "runtime" and (annotation in _ANYTHING or is_injected(annotation)):
                self.runtimes.add(name)
                hidden.add(name)
            if not is_injected(annotation) or is_call_id(annotation):
                continue
            hidden.add(name)
            (self.optional.add if has_default else self.optional.discard)(name)
            for mark in (*marks_of(annotation), *types_of(annotation)):
                self._note(name, mark)
        self.hidden = frozenset(hidden)
        self.needs_runtime = bool(self.runtimes or self.stores)

    def _note(self, name: str, mark: Any) -> None:
        kind = mark if isinstance(mark, type) else type(mark)
        names = [base.__name__ for base in kind.__mro__]  # the peer's marks count as well
        if "InjectedState" in names:
            self.fields[name] = getattr(mark, "field", None)
        elif "InjectedStore" in names:
            self.stores.add(name)
        elif "ToolRuntime" in names:
            self.runtimes.add(name)
            if is_their_runtime(kind):
                self.their_runtimes[name] = kind

    def fill(self, tool: str, args: Mapping[str, Any], state: Any, runtime: Any) -> dict[str, Any]:
        """The arguments that the model supplied, with those of the program.

        Args:
            tool: The name of the tool.
            args: What the model supplied.
            state: The state of the graph.
            runtime: The `ToolRuntime` of the call; None if the tool needs none.

        Raises:
            ToolInputError: The state lacks a key of an argument without a default, or there is
                no store.
        """
        filled = {name: value for name, value in args.items() if name not in self.hidden}
        for name, key in self.fields.items():
            value = self._of_state(tool, name, key, state)
            if value is not MISSING:
                filled[name] = value
        if self.stores:
            if runtime.store is None:
                raise ToolInputError(
                    f"Tool {tool!r} has an InjectedStore argument "
                    f"({', '.join(sorted(self.stores))}), but there is no store. Compile the graph "
                    "with store=..."
                )
            filled.update(dict.fromkeys(self.stores, runtime.store))
        filled.update(dict.fromkeys(self.runtimes, runtime))
        for name, kind in self.their_runtimes.items():
            filled[name] = as_their_runtime(kind, runtime)
        return filled

    def _of_state(self, tool: str, name: str, key: str | None, state: Any) -> Any:
        if key is None:
            return state
        kind = type(state).__name__
        if isinstance(state, Mapping):
            its = cast("Mapping[str, Any]", state)
            if key in its:
                return its[key]
        elif not isinstance(state, list) and hasattr(state, key):
            return getattr(state, key)
        if name in self.optional:
            return MISSING
        raise ToolInputError(
            f"Tool {tool!r} has an InjectedState argument for key {key!r}, but the state has no "
            f"such key (it is a {kind}). Give the ToolNode a state that has it: "
            f"{{'messages': [...], {key!r}: ...}}. Or give the argument a default."
        )

    def of_messages(self, messages: Sequence[Any], messages_key: str, tool: str) -> Any:
        """What stands for the state where the node was given a list of messages.

        Raises:
            ToolInputError: The tool wants a key that no list of messages has.
        """
        wanted = [key for key in self.fields.values() if key not in (None, messages_key)]
        if wanted:
            raise ToolInputError(
                f"Tool {tool!r} wants {', '.join(map(repr, wanted))} of the state, but the "
                "ToolNode was given a list of messages. Give it the state as a dict."
            )
        return {messages_key: messages} if self.fields else messages


def _annotations(tool: Any) -> Iterator[tuple[str, Any, bool]]:
    """Each argument of a tool with its annotation, and whether it has a default: those of its
    code, then those of its schema."""
    codes: list[Callable[..., Any] | None]
    if hasattr(tool, "sync_code"):
        codes = [tool.sync_code(), tool.async_code()]
    else:
        codes = [getattr(tool, "func", None), getattr(tool, "coroutine", None)]
        if codes == [None, None]:
            codes = [tool._run]  # how langchain_core says that a tool is derived from
    for code in codes:
        if code is not None:
            yield from (
                (one.name, one.annotation, one.default is not MISSING) for one in parameters(code)
            )
    schema = None if getattr(tool, "is_inferred", False) else tool.args_schema
    if isinstance(schema, type):
        fields = getattr(schema, "model_fields", {})
        for name, annotation in get_type_hints(schema, include_extras=True).items():
            yield name, annotation, name in fields and not fields[name].is_required()


__all__ = [
    "InjectedState",
    "InjectedStore",
    "Injections",
    "ToolRuntime",
    "runtime_around",
    "state_around",
]
