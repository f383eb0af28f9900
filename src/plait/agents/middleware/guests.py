"""Middleware of LangChain's in plait's agents: recognised without importing its package."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import wraps
from traceback import walk_tb
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
        ConfigError: It is derived from LangChain's `HumanInTheLoopMiddleware` and works otherwise.
    """
    if isinstance(middleware, AgentMiddleware):
        return cast("Any", middleware)
    kind: Any = middleware.__class__
    base: Any = next((one for one in kind.__mro__ if _is_their_base(one)), None)
    if base is None:
        return middleware
    asking: Any = next((one for one in kind.__mro__ if _is_asking(one)), None)
    if asking is not None:
        return _asked_here(middleware, asking)
    methods: dict[str, Any] = {}
    for prefix in ("", "a"):
        makers = {
            **dict.fromkeys(_NODES, _node),
            "wrap_model_call": _model,
            "wrap_tool_call": _tool,
        }
        for hook, make in makers.items():
            if getattr(kind, prefix + hook) is not getattr(base, prefix + hook):
                given = _explained(getattr(middleware, prefix + hook), bool(prefix))
                methods[prefix + hook] = make(given, bool(prefix))
    made: Any = type(kind.__name__, (GuestMiddleware,), methods)
    return made(middleware)


def _asked_here(guest: Any, asking: type) -> AgentMiddleware[Any, Any, Any]:
    """Plait's middleware with the policy of LangChain's, whose `interrupt` nobody hears here."""
    above: tuple[type, ...] = guest.__class__.__mro__
    derived = above[: above.index(asking)]
    own = sorted({name for one in derived for name in vars(one) if not name.startswith("__")})
    if own:
        raise ConfigError(
            f"{guest.name!r} is derived from LangChain's HumanInTheLoopMiddleware and defines "
            f"{', '.join(own)}. Here plait's own asks in its place, which would leave that out. "
            "Derive it from plait.agents.middleware.HumanInTheLoopMiddleware."
        )
    from plait.agents.middleware.human_in_the_loop import HumanInTheLoopMiddleware

    made: Any = type(guest.name, (HumanInTheLoopMiddleware,), {})
    return made(
        {tool: _shapes().own_policy(policy) for tool, policy in guest.interrupt_on.items()},
        description_prefix=guest.description_prefix,
        edit_notice=guest.edit_notice,
        interrupt_mode=guest.interrupt_mode,
    )


def _is_asking(kind: type) -> bool:
    return kind.__name__ == "HumanInTheLoopMiddleware" and _is_of_their_agents(kind)


def _is_their_base(kind: type) -> bool:
    return kind.__name__ == "AgentMiddleware" and _is_of_their_agents(kind)


def _is_of_their_agents(kind: type) -> bool:
    return _module(kind).startswith("langchain.agents.")


def _module(value: Any) -> str:
    return getattr(value, "__module__", "")


def _explained(hook: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """A hook that says what to do, if it calls what works only in runs of langgraph's."""

    @wraps(hook)
    async def acall(*args: Any) -> Any:
        with _explaining(hook):
            return await hook(*args)

    @wraps(hook)
    def call(*args: Any) -> Any:
        with _explaining(hook):
            return hook(*args)

    return acall if is_async else call


@contextmanager
def _explaining(hook: Callable[..., Any]) -> Generator[None]:
    try:
        yield
    except (RuntimeError, ValueError) as error:
        frames = [frame for frame, _ in walk_tb(error.__traceback__)]
        homes = [frame.f_globals.get("__name__", "") for frame in frames]
        if homes[-1] == "langgraph.config":
            at = next(at for at, home in enumerate(homes) if home.startswith("langgraph."))
            raise ConfigError(
                f"{frames[at].f_code.co_name}() of langgraph's was called in {hook.__qualname__}, "
                "and knows nothing of a run of plait's. Import it from plait.types (interrupt) or "
                "plait.config (the others)."
            ) from error
        if homes[-1] == "langchain.agents.middleware.provider_tool_search":
            raise ConfigError(
                f"{error} It knows only models and tools of LangChain's: give the agent such a "
                "model, and tools made by langchain_core.tools.tool."
            ) from error
        raise


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
            with shapes.letting_pass():
                return shapes.their_response(await handler(shapes.own_request(request, changed)))

        with shapes.let_pass():
            return shapes.own_response(await hook(shapes.their_request(request), inner))

    def call(self: Any, request: Any, handler: Callable[..., Any]) -> Any:
        shapes = _shapes()

        def inner(changed: Any) -> Any:
            with shapes.letting_pass():
                return shapes.their_response(handler(shapes.own_request(request, changed)))

        with shapes.let_pass():
            return shapes.own_response(hook(shapes.their_request(request), inner))

    return acall if is_async else call


def _tool(hook: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """A hook around calls of tools."""

    async def acall(self: Any, request: Any, handler: Callable[..., Awaitable[Any]]) -> Any:
        shapes = _shapes()

        async def inner(changed: Any) -> Any:
            given = shapes.own_tool_request(request, changed)
            with shapes.letting_pass():
                return shapes.their_tool_result(await handler(given))

        with shapes.let_pass():
            return shapes.own(await hook(shapes.their_tool_request(request), inner))

    def call(self: Any, request: Any, handler: Callable[..., Any]) -> Any:
        shapes = _shapes()

        def inner(changed: Any) -> Any:
            with shapes.letting_pass():
                return shapes.their_tool_result(handler(shapes.own_tool_request(request, changed)))

        with shapes.let_pass():
            return shapes.own(hook(shapes.their_tool_request(request), inner))

    return acall if is_async else call


def _shapes() -> Any:
    from plait.agents.middleware import guest_shapes  # loads langchain_core, which is there

    return guest_shapes


__all__ = ["GuestMiddleware", "adopted"]
