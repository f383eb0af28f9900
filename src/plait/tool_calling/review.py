"""`human_in_the_loop`: tools that ask a person before they run, by a decorator.

What a person is asked and may answer by default:

    {"action_request": {"action": name, "args": {...}},
     "config": {"allow_accept": True, "allow_edit": True, "allow_respond": True},
     "description": ...}

    {"type": "accept"}                    the tool runs
    {"type": "edit", "args": {...}}       the tool runs with these arguments
    {"type": "response", "args": ...}     the tool does not run; this is its result
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, TypeAlias, cast, overload

from typing_extensions import TypedDict

from plait.errors import InvalidDecisionError, ToolDefinitionError
from plait.runnables.calling import is_async
from plait.scope import current_tool_call
from plait.tool_calling.approval import Approval, as_mapping, plain, read_decision
from plait.tool_calling.asking import ask, bound
from plait.tool_calling.behind import Behind
from plait.tool_calling.decisions import Decision, InterruptOnConfig
from plait.tools import BaseTool


class InterruptParams(TypedDict):
    """What a handler is told of the call that waits."""

    tool_call_name: str
    tool_call_args: dict[str, Any]
    """The arguments that the model supplied, as the tool's schema reads them."""
    tool: BaseTool
    """Runs without asking: `params["tool"].invoke(params["tool_call_args"])`."""


Handler: TypeAlias = Callable[[InterruptParams], Any]
"""Asks by `interrupt()`, and returns what is to be the tool's result."""


@overload
def human_in_the_loop(func: Any, *, handler: Handler | None = None) -> BaseTool: ...
@overload
def human_in_the_loop(
    func: None = None, *, handler: Handler | None = None
) -> Callable[[Any], BaseTool]: ...
def human_in_the_loop(func: Any = None, *, handler: Handler | None = None) -> Any:
    """Make a tool that asks a person before it runs.

    Args:
        func: A function or a tool.
        handler: Asks in its own way instead of the default one (see the head of this module).

    Returns:
        A tool with the same name, description and arguments; without `func`, a decorator.

    Raises:
        ToolDefinitionError: `func` cannot be a tool, or the handler is async or no function.

    >>> @human_in_the_loop
    ... def refund(order: int, euro: float) -> str:
    ...     "Pay money back."
    ...     return f"paid {euro} for {order}"
    >>> refund.name, refund.description, sorted(refund.args)
    ('refund', 'Pay money back.', ['euro', 'order'])
    """
    _check_handler(handler)
    if handler is not None and is_async(handler):
        raise ToolDefinitionError(
            f"Handler {getattr(handler, '__name__', handler)!r} of human_in_the_loop is async, so "
            "nothing would await it. Use human_in_the_loop_async, or write it without async."
        )

    def review(value: Any) -> BaseTool:
        inner = Behind(value)

        @wraps(inner.code)
        def reviewed(*args: Any, **kwargs: Any) -> Any:
            approval = _approval(inner, kwargs)
            if handler is not None:
                with bound([approval]):
                    return inner.result(handler(_params(inner, kwargs)))
            decision = ask(_request(approval), [approval], partial(_read, approval))
            if decision["type"] == "respond":
                return inner.result(decision["message"])
            return inner.run(*args, **_decided(inner, decision, kwargs))

        return inner.tool_like(func=reviewed)

    return review if func is None else review(func)


@overload
def human_in_the_loop_async(func: Any, *, handler: Handler | None = None) -> BaseTool: ...
@overload
def human_in_the_loop_async(
    func: None = None, *, handler: Handler | None = None
) -> Callable[[Any], BaseTool]: ...
def human_in_the_loop_async(func: Any = None, *, handler: Handler | None = None) -> Any:
    """The async form of `human_in_the_loop`: only async code can call the tool.

    Args:
        func: A function or a tool, async or not.
        handler: Async or not.

    Returns:
        A tool; without `func`, a decorator.

    Raises:
        ToolDefinitionError: `func` cannot be a tool, or the handler is no function.

    >>> @human_in_the_loop_async
    ... async def refund(order: int, euro: float) -> str:
    ...     "Pay money back."
    ...     return f"paid {euro} for {order}"
    >>> refund.name
    'refund'
    """

    _check_handler(handler)

    def review(value: Any) -> BaseTool:
        inner = Behind(value)

        @wraps(inner.code)
        async def reviewed(*args: Any, **kwargs: Any) -> Any:
            approval = _approval(inner, kwargs)
            if handler is not None:
                with bound([approval]):
                    result = handler(_params(inner, kwargs))
                    return inner.result(await result if inspect.isawaitable(result) else result)
            decision = ask(_request(approval), [approval], partial(_read, approval))
            if decision["type"] == "respond":
                return inner.result(decision["message"])
            return await inner.arun(*args, **_decided(inner, decision, kwargs))

        return inner.tool_like(coroutine=reviewed)

    return review if func is None else review(func)


def _check_handler(handler: Any) -> None:
    if handler is not None and not callable(handler):
        raise ToolDefinitionError(
            f"handler={handler!r}: give a function of InterruptParams that asks by interrupt()."
        )


def _params(inner: Behind, kwargs: Mapping[str, Any]) -> InterruptParams:
    return InterruptParams(
        tool_call_name=inner.name,
        tool_call_args=inner.shown(kwargs),
        tool=inner.with_rest_of(kwargs),
    )


def _decided(inner: Behind, decision: Decision, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the tool runs with."""
    if decision["type"] == "edit":
        return inner.edited(decision["edited_action"]["args"], kwargs)
    return kwargs


# --- the default questions and answers -----------------------------------------------------------

_POLICY = InterruptOnConfig(allowed_decisions=["approve", "edit", "respond"])


def _approval(inner: Behind, kwargs: Mapping[str, Any]) -> Approval:
    call = {"name": inner.name, "args": inner.shown(kwargs), "id": current_tool_call.get()}
    return Approval(call, _POLICY, f"Please review tool call: {inner.name}")


def _request(approval: Approval) -> dict[str, Any]:
    return {
        "action_request": {"action": approval.name, "args": plain(approval.call["args"])},
        "config": {"allow_accept": True, "allow_edit": True, "allow_respond": True},
        "description": approval.description,
    }


def _read(approval: Approval, answer: Any) -> Decision:
    """The decision that an answer stands for.

    Raises:
        InvalidDecisionError: It stands for none.
    """
    given = as_mapping(answer)
    args = given.get("args")
    match given.get("type"):
        case "accept":
            decision: dict[str, Any] = {"type": "approve"}
        case "edit" if isinstance(args, Mapping):
            edited = cast("Mapping[str, Any]", args)
            if set(edited) == {"action", "args"} and edited["action"] == approval.name:
                edited = edited["args"]  # the whole action, as in a HumanResponse of plait.prebuilt
            decision = {"type": "edit", "edited_action": {"name": approval.name, "args": edited}}
        case "response" if "args" in given:
            decision = {"type": "respond", "message": args}
        case _:
            raise InvalidDecisionError(
                f"{answer!r} does not answer the question about tool {approval.name!r}. Answer "
                "{'type': 'accept'}, {'type': 'edit', 'args': {...}} or "
                "{'type': 'response', 'args': the result}."
            )
    return read_decision(decision, approval)


__all__ = ["InterruptParams", "human_in_the_loop", "human_in_the_loop_async"]
