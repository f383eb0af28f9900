"""`AgentMiddleware`: what runs between the steps of an agent, and around its calls."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from types import GenericAlias
from typing import Any, ClassVar, Generic, NoReturn, cast, get_args
from typing import TypeVar as PlainTypeVar

from typing_extensions import TypeVar

from plait.agents.middleware.options import check_list
from plait.agents.middleware.requests import (
    ContextT,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from plait.agents.middleware.state import AgentState, JumpTo, ResponseT
from plait.errors import ConfigError, NotSupportedError, nearest
from plait.messages import AIMessage, ToolMessage
from plait.prebuilt.tool_node import ToolCallRequest
from plait.runtime import Runtime
from plait.types import Command, TracePolicy

StateT = TypeVar("StateT", bound=AgentState[Any], default=AgentState[Any])
StateT_co = TypeVar("StateT_co", bound=AgentState[Any], default=AgentState[Any], covariant=True)
CallableT = PlainTypeVar("CallableT", bound=Callable[..., Any])


class AgentMiddleware(Generic[StateT, ContextT, ResponseT]):
    """What runs between the steps of an agent. Derive from it and define the hooks you need.

    Hooks that run as nodes of their own: `before_agent` and `after_agent` once per run,
    `before_model` and `after_model` around each call of the model. They get the state and the
    runtime, and return an update of the state or None. An update with `jump_to` ("tools", "model",
    "end") sends the agent there, if the hook says so by `hook_config(can_jump_to=[...])`. Before
    hooks run in the order of the list of middleware, after hooks in the reverse order.

    Hooks around calls: `wrap_model_call` and `wrap_tool_call` get a request and a handler that
    makes the call; they may change the request, call the handler again, or not at all. The first
    middleware of the list is the outermost.

    Each hook has an async twin (`abefore_model`, ...), which async runs use. Of a node's hook one
    of the two is enough: async runs use the sync one if it is alone. Of a hook around calls both
    are needed by an agent that is called both ways.

    >>> class Polite(AgentMiddleware):
    ...     def before_model(self, state, runtime):
    ...         return {"messages": [{"role": "user", "content": "Please."}]}
    >>> Polite().name
    'Polite'
    """

    def __class_getitem__(cls, item: Any) -> Any:
        if getattr(cls, "__parameters__", ()):
            return super().__class_getitem__(item)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        return GenericAlias(cls, item)  # one that takes no arguments: only type checkers look

    state_schema: type[Any] = AgentState
    """A state with the keys that this middleware adds to the agent's."""
    tools: Sequence[Any] = ()
    """Tools that this middleware adds to the agent's."""
    trace_policy: ClassVar[TracePolicy | None] = None
    """What tracers record of its nodes; None: as `configure_trace_policy` says."""
    transformers: Sequence[Any] = ()
    """What transforms the agent's streams of version "v3", before what `create_agent` is given."""

    @property
    def name(self) -> str:
        """The name, unique among the middleware of an agent, that its nodes begin with."""
        return type(self).__name__

    @property
    def tools_by_option(self) -> Mapping[str, Collection[str]]:
        """By option, the names of tools that it was given; the agent warns of those it lacks."""
        return {}

    # --- nodes -----------------------------------------------------------------------------------

    def before_agent(self, state: StateT, runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """Runs once, before the first call of the model."""

    async def abefore_agent(
        self, state: StateT, runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        """The async twin of `before_agent`."""

    def before_model(self, state: StateT, runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """Runs before each call of the model."""

    async def abefore_model(
        self, state: StateT, runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        """The async twin of `before_model`."""

    def after_model(self, state: StateT, runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """Runs after each call of the model, before the tools that it calls."""

    async def aafter_model(
        self, state: StateT, runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        """The async twin of `after_model`."""

    def after_agent(self, state: StateT, runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """Runs once, when the agent is done."""

    async def aafter_agent(
        self, state: StateT, runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        """The async twin of `after_agent`."""

    # --- around calls ----------------------------------------------------------------------------

    def wrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]],
    ) -> ModelResponse[ResponseT] | AIMessage | ExtendedModelResponse[ResponseT]:
        """Runs around each call of the model.

        Args:
            request: The call that is to be made.
            handler: Makes the call, as often as you like.

        Returns:
            The response, just its message, or a response with an update of the state.

        Raises:
            NotSupportedError: Only `awrap_model_call` is defined.
        """
        self.__refuse("wrap_model_call", "awrap_model_call", "invoke and stream")

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT] | AIMessage | ExtendedModelResponse[ResponseT]:
        """The async twin of `wrap_model_call`."""
        self.__refuse("awrap_model_call", "wrap_model_call", "ainvoke and astream")

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Runs around each call of a tool.

        Args:
            request: The tool call, its tool, the state and the runtime.
            handler: Runs the tool, as often as you like.

        Returns:
            The answer to the call, or a Command that holds it.

        Raises:
            NotSupportedError: Only `awrap_tool_call` is defined.
        """
        self.__refuse("wrap_tool_call", "awrap_tool_call", "invoke and stream")

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """The async twin of `wrap_tool_call`."""
        self.__refuse("awrap_tool_call", "wrap_tool_call", "ainvoke and astream")

    def __refuse(self, missing: str, defined: str, calls: str) -> NoReturn:
        raise NotSupportedError(
            f"Middleware {self.name!r} defines {defined} but not {missing}, which {calls} of an "
            f"agent need. Define {missing} too, or call the agent the other way."
        )


def hook_config(*, can_jump_to: list[JumpTo] | None = None) -> Callable[[CallableT], CallableT]:
    """Says of a hook where it may send the agent.

    Args:
        can_jump_to: "tools", "model", "end": the places that the hook may set `jump_to` to.
            (A text is one of them.)

    Raises:
        ConfigTypeError: It is no list of places.
        ConfigError: No agent has such a place.

    >>> class Brief(AgentMiddleware):
    ...     @hook_config(can_jump_to=["end"])
    ...     def before_model(self, state, runtime):
    ...         return {"jump_to": "end"} if len(state["messages"]) > 100 else None
    """

    places = None if can_jump_to is None else _places(can_jump_to)

    def mark(hook: CallableT) -> CallableT:
        if places is not None:
            setattr(hook, CAN_JUMP_TO, places)
        return hook

    return mark


def _places(can_jump_to: Any) -> list[JumpTo]:
    places = [can_jump_to] if isinstance(can_jump_to, str) else can_jump_to
    check_list("can_jump_to", places, "places")
    for place in places:
        if place not in get_args(JumpTo):
            raise ConfigError(
                f"can_jump_to names {place!r:.80}, a place that no agent has. "
                f"{nearest(place, get_args(JumpTo))}"
            )
    return cast("list[JumpTo]", places)


CAN_JUMP_TO = "__can_jump_to__"
"""The attribute of a hook that says where it may send the agent."""

__all__ = ["CAN_JUMP_TO", "AgentMiddleware", "CallableT", "StateT", "StateT_co", "hook_config"]
