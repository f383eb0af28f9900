"""Decorators that make middleware of one function: a hook, a wrapper, a prompt."""

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any, Protocol, TypeAlias, cast, overload

from plait.agents.middleware.base import AgentMiddleware, hook_config
from plait.agents.middleware.requests import ModelRequest, system_message_of
from plait.agents.middleware.state import AgentState, JumpTo
from plait.common.reflection import signature
from plait.errors import InvalidNodeError

Function = Callable[..., Any]
Hook = Callable[[Any, Any], Any]
"""A function of (state, runtime), sync or async."""
Wrapper = Callable[[Any, Any], Any]
"""A function of (request, handler), sync or async."""
Prompter = Callable[[Any], Any]
"""A function of the request, sync or async."""
Made: TypeAlias = AgentMiddleware[Any, Any, Any]


class _OfHook(Protocol):
    """A decorator of hooks, with and without arguments."""

    @overload
    def __call__(
        self,
        func: Hook,
        *,
        state_schema: type[Any] | None = None,
        tools: list[Any] | None = None,
        can_jump_to: list[JumpTo] | None = None,
        name: str | None = None,
    ) -> Made: ...
    @overload
    def __call__(
        self,
        func: None = None,
        *,
        state_schema: type[Any] | None = None,
        tools: list[Any] | None = None,
        can_jump_to: list[JumpTo] | None = None,
        name: str | None = None,
    ) -> Callable[[Hook], Made]: ...


class _OfWrapper(Protocol):
    """A decorator of wrappers, with and without arguments."""

    @overload
    def __call__(
        self,
        func: Wrapper,
        *,
        state_schema: type[Any] | None = None,
        tools: list[Any] | None = None,
        name: str | None = None,
    ) -> Made: ...
    @overload
    def __call__(
        self,
        func: None = None,
        *,
        state_schema: type[Any] | None = None,
        tools: list[Any] | None = None,
        name: str | None = None,
    ) -> Callable[[Wrapper], Made]: ...


def _of_hook(decorator: Callable[..., Any]) -> _OfHook:
    """A decorator as checkers shall see it."""
    return cast("_OfHook", decorator)


def _of_wrapper(decorator: Callable[..., Any]) -> _OfWrapper:
    """A decorator as checkers shall see it."""
    return cast("_OfWrapper", decorator)


@_of_hook
def before_agent(
    func: Hook | None = None,
    *,
    state_schema: type[Any] | None = None,
    tools: list[Any] | None = None,
    can_jump_to: list[JumpTo] | None = None,
    name: str | None = None,
) -> Any:
    """Middleware whose `before_agent` is the function.

    Args:
        func: A function of (state, runtime), sync or async, that returns an update or None.
        state_schema: A state with keys that the middleware adds.
        tools: Tools that the middleware adds.
        can_jump_to: Where the update's `jump_to` may send the agent.
        name: The name of the middleware (by default the function's).

    Returns:
        The middleware; without `func` the decorator that makes it.
    """
    return _decorate(func, _method("before_agent", can_jump_to), state_schema, tools, name)


@_of_hook
def before_model(
    func: Hook | None = None,
    *,
    state_schema: type[Any] | None = None,
    tools: list[Any] | None = None,
    can_jump_to: list[JumpTo] | None = None,
    name: str | None = None,
) -> Any:
    """Middleware whose `before_model` is the function. Arguments are those of `before_agent`.

    >>> @before_model(can_jump_to=["end"])
    ... def brief(state, runtime):
    ...     return {"jump_to": "end"} if len(state["messages"]) > 100 else None
    >>> brief.name
    'brief'
    """
    return _decorate(func, _method("before_model", can_jump_to), state_schema, tools, name)


@_of_hook
def after_model(
    func: Hook | None = None,
    *,
    state_schema: type[Any] | None = None,
    tools: list[Any] | None = None,
    can_jump_to: list[JumpTo] | None = None,
    name: str | None = None,
) -> Any:
    """Middleware whose `after_model` is the function. Arguments are those of `before_agent`."""
    return _decorate(func, _method("after_model", can_jump_to), state_schema, tools, name)


@_of_hook
def after_agent(
    func: Hook | None = None,
    *,
    state_schema: type[Any] | None = None,
    tools: list[Any] | None = None,
    can_jump_to: list[JumpTo] | None = None,
    name: str | None = None,
) -> Any:
    """Middleware whose `after_agent` is the function. Arguments are those of `before_agent`."""
    return _decorate(func, _method("after_agent", can_jump_to), state_schema, tools, name)


@_of_wrapper
def wrap_model_call(
    func: Wrapper | None = None,
    *,
    state_schema: type[Any] | None = None,
    tools: list[Any] | None = None,
    name: str | None = None,
) -> Any:
    """Middleware whose `wrap_model_call` is the function.

    Args:
        func: A function of (request, handler), sync or async; an async one makes middleware for
            async runs.
        state_schema: A state with keys that the middleware adds.
        tools: Tools that the middleware adds.
        name: The name of the middleware (by default the function's).

    Returns:
        The middleware; without `func` the decorator that makes it.

    >>> @wrap_model_call
    ... def twice(request, handler):
    ...     try:
    ...         return handler(request)
    ...     except ConnectionError:
    ...         return handler(request)
    """
    return _decorate(func, _method("wrap_model_call"), state_schema, tools, name)


@_of_wrapper
def wrap_tool_call(
    func: Wrapper | None = None,
    *,
    state_schema: type[Any] | None = None,
    tools: list[Any] | None = None,
    name: str | None = None,
) -> Any:
    """Middleware whose `wrap_tool_call` is the function. Arguments are those of `wrap_model_call`.

    >>> @wrap_tool_call
    ... def careful(request, handler):
    ...     args = {**request.tool_call["args"], "dry_run": True}
    ...     return handler(request.override(tool_call={**request.tool_call, "args": args}))
    """
    return _decorate(func, _method("wrap_tool_call"), state_schema, tools, name)


@overload
def dynamic_prompt(func: Prompter) -> Made: ...
@overload
def dynamic_prompt(func: None = None) -> Callable[[Prompter], Made]: ...
def dynamic_prompt(func: Prompter | None = None) -> Any:
    """Middleware that makes the system message of each call of the model.

    Args:
        func: A function of the `ModelRequest`, sync or async, that returns a text,
            content blocks or a SystemMessage. An async one makes middleware for async runs.

    Returns:
        The middleware; without `func` the decorator that makes it.

    >>> @dynamic_prompt
    ... def by_length(request):
    ...     return "Be brief." if len(request.messages) > 10 else "Explain."
    """
    return _decorate(func, _prompting, None, None, None)


def _decorate(
    func: Function | None,
    methods: Callable[[Function], dict[str, Any]],
    state_schema: type[Any] | None,
    tools: list[Any] | None,
    name: str | None,
) -> Any:
    """The middleware with these methods; without a function, the decorator that makes it."""

    def decorate(function: Function) -> AgentMiddleware[Any, Any, Any]:
        if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidNodeError(
                f"A decorator of middleware is for a function, not {function!r}."
            )
        called = name or cast("str", getattr(function, "__name__", type(function).__name__))
        body: dict[str, Any] = {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "state_schema": state_schema or AgentState,
            "tools": tools or [],
            **methods(function),
        }
        return cast("Any", type(called, (AgentMiddleware,), body))()

    return decorate if func is None else decorate(func)


def _method(
    kind: str, can_jump_to: list[JumpTo] | None = None
) -> Callable[[Function], dict[str, Any]]:
    """The method that a function is: one of (state, runtime), or of (request, handler)."""
    mark = hook_config(can_jump_to=can_jump_to)
    takes = ("request", "handler") if kind.startswith("wrap_") else ("state", "runtime")

    def methods(function: Function) -> dict[str, Any]:
        _check_takes(function, kind, takes)

        async def acall(self: Any, given: Any, beside: Any) -> Any:
            return await function(given, beside)

        def call(self: Any, given: Any, beside: Any) -> Any:
            return function(given, beside)

        return {f"a{kind}": mark(acall)} if iscoroutinefunction(function) else {kind: mark(call)}

    return methods


def _check_takes(function: Function, kind: str, takes: tuple[str, ...]) -> None:
    """Raise InvalidNodeError where the function cannot be called with what it will be given."""
    try:
        own = signature(function)
    except ValueError:  # a builtin that does not tell
        return
    try:
        own.bind(*takes)
    except TypeError:
        named = getattr(function, "__name__", type(function).__name__)
        raise InvalidNodeError(
            f"@{kind} is for a function of ({', '.join(takes)}), but {named!r} takes {own}."
        ) from None


def _prompting(function: Function) -> dict[str, Any]:
    """Methods of middleware from a function that makes a prompt."""
    _check_takes(function, "dynamic_prompt", ("request",))
    if iscoroutinefunction(function):

        async def aprompt(self: Any, request: Any, handler: Callable[..., Awaitable[Any]]) -> Any:
            return await handler(_prompted(request, await function(request)))

        return {"awrap_model_call": aprompt}

    def prompt(self: Any, request: Any, handler: Function) -> Any:
        return handler(_prompted(request, function(request)))

    async def prompt_async(self: Any, request: Any, handler: Callable[..., Awaitable[Any]]) -> Any:
        return await handler(_prompted(request, function(request)))

    return {"wrap_model_call": prompt, "awrap_model_call": prompt_async}


def _prompted(request: ModelRequest[Any], prompt: Any) -> ModelRequest[Any]:
    return request.override(system_message=system_message_of(prompt))


__all__ = [
    "after_agent",
    "after_model",
    "before_agent",
    "before_model",
    "dynamic_prompt",
    "wrap_model_call",
    "wrap_tool_call",
]
