"""Middleware of LangChain's in plait's agents: recognised without importing its package."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from plait.agents.middleware.base import CAN_JUMP_TO, AgentMiddleware
from plait.errors import ConfigError

_NODES = ("before_agent", "before_model", "after_model", "after_agent")


class GuestMiddleware(AgentMiddleware[Any, Any, Any]):
    """A middleware of LangChain's as one of plait's; classes derived from it have its hooks."""

    def __init__(self, guest: Any) -> None:
        self.guest = guest
        self.state_schema = _shapes().own_schema(guest.state_schema)
        self.tools = list(getattr(guest, "tools", None) or ())
        self.trace_policy = getattr(guest, "trace_policy", None)  # pyright: ignore[reportAttributeAccessIssue]
        given: Any = getattr(guest, "transformers", None) or ()
        # Those that LangChain ships read langgraph's own streams, to keep a middleware's questions
        # to its model out of them.
        self.transformers = [one for one in given if not _module(one).startswith("langchain.")]

    @property
    def name(self) -> str:
        """The guest's name."""
        return self.guest.name


def adopted(middleware: Any) -> Any:
    """A middleware of LangChain's as one of plait's; anything else as it is.

    Raises:
        ConfigError: It asks people by langgraph's `interrupt`, which nobody hears here.
    """
    if isinstance(middleware, AgentMiddleware):
        return cast("Any", middleware)
    kind: Any = middleware.__class__
    base: Any = next((one for one in kind.__mro__ if _is_their_base(one)), None)
    if base is None:
        return middleware
    if any(one.__name__ == "HumanInTheLoopMiddleware" for one in kind.__mro__):
        raise ConfigError(
            f"{kind.__name__} of LangChain's asks people by langgraph's interrupt(), which no run "
            "of plait's hears. Take plait.agents.middleware.HumanInTheLoopMiddleware: it has the "
            "same arguments."
        )
    methods: dict[str, Any] = {}
    for prefix in ("", "a"):
        makers = {
            **dict.fromkeys(_NODES, _node),
            "wrap_model_call": _model,
            "wrap_tool_call": _tool,
        }
        for hook, make in makers.items():
            if getattr(kind, prefix + hook) is not getattr(base, prefix + hook):
                methods[prefix + hook] = make(getattr(middleware, prefix + hook), bool(prefix))
    made: Any = type(kind.__name__, (GuestMiddleware,), methods)
    return made(middleware)


def _is_their_base(kind: type) -> bool:
    return kind.__name__ == "AgentMiddleware" and _module(kind).startswith("langchain.agents.")


def _module(value: Any) -> str:
    return getattr(value, "__module__", "")


def _node(hook: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """A hook that is a node."""

    async def acall(self: Any, state: Any, runtime: Any) -> Any:
        shapes = _shapes()
        return shapes.own_update(await hook(shapes.their_state(state), runtime))

    def call(self: Any, state: Any, runtime: Any) -> Any:
        shapes = _shapes()
        return shapes.own_update(hook(shapes.their_state(state), runtime))

    made = acall if is_async else call
    setattr(made, CAN_JUMP_TO, getattr(hook, CAN_JUMP_TO, None))
    return made


def _model(hook: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """A hook around calls of the model."""

    async def acall(self: Any, request: Any, handler: Callable[..., Awaitable[Any]]) -> Any:
        shapes = _shapes()

        async def inner(changed: Any) -> Any:
            return shapes.their_response(await handler(shapes.own_request(request, changed)))

        return shapes.own_response(await hook(shapes.their_request(request), inner))

    def call(self: Any, request: Any, handler: Callable[..., Any]) -> Any:
        shapes = _shapes()

        def inner(changed: Any) -> Any:
            return shapes.their_response(handler(shapes.own_request(request, changed)))

        return shapes.own_response(hook(shapes.their_request(request), inner))

    return acall if is_async else call


def _tool(hook: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """A hook around calls of tools."""

    async def acall(self: Any, request: Any, handler: Callable[..., Awaitable[Any]]) -> Any:
        shapes = _shapes()

        async def inner(changed: Any) -> Any:
            given = shapes.own_tool_request(request, changed)
            return shapes.their_tool_result(await handler(given))

        return shapes.own(await hook(shapes.their_tool_request(request), inner))

    def call(self: Any, request: Any, handler: Callable[..., Any]) -> Any:
        shapes = _shapes()

        def inner(changed: Any) -> Any:
            return shapes.their_tool_result(handler(shapes.own_tool_request(request, changed)))

        return shapes.own(hook(shapes.their_tool_request(request), inner))

    return acall if is_async else call


def _shapes() -> Any:
    from plait.agents.middleware import guest_shapes  # loads langchain_core, which is there

    return guest_shapes


__all__ = ["GuestMiddleware", "adopted"]
