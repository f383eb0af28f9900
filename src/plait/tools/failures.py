"""What becomes of a tool's errors: raised, or told to the model as text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from plait.errors import ToolDefinitionError, bubbles_up
from plait.tools.injected import Handler, is_tool_exception

if TYPE_CHECKING:
    from plait.tools.base import BaseTool


def handled(tool: "BaseTool", error: Exception) -> Any:
    """What the model is told of `error`, as the tool says; called while it is being handled.

    Raises:
        Exception: `error` itself, if the tool does not handle its kind.
    """
    if bubbles_up(error):
        raise
    if is_tool_exception(error):
        told = str(error.args[0]) if error.args else "Tool execution error"
        handler = tool.handle_tool_error
    elif is_validation_error(error):
        told = ""
        handler = tool.handle_validation_error
    else:
        raise
    if not handler:
        raise
    if isinstance(handler, str):
        return handler
    if callable(handler):
        return handler(error)
    return told or describe(error)


def is_validation_error(error: BaseException) -> bool:
    """Whether an error is pydantic's, of either version. Does not import it."""
    return any(
        base.__name__ == "ValidationError" and base.__module__.startswith("pydantic")
        for base in type(error).__mro__
    )


def describe(error: Any) -> str:
    """A validation error as text that a model can act on: each argument, what is wrong, what came.

    >>> from pydantic import create_model
    >>> try:
    ...     create_model("add", a=(int, ...))(a="x")
    ... except ValueError as error:
    ...     print(describe(error))
    Tool input validation error. Mend these arguments and call the tool again:
    - a: Input should be a valid integer, unable to parse string as an integer (got 'x')
    """
    lines = ["Tool input validation error. Mend these arguments and call the tool again:"]
    for one in cast("list[dict[str, Any]]", error.errors()):
        where = ".".join(map(str, one["loc"])) or "arguments"
        came = ""
        if "input" in one and one["type"] != "missing":
            came = f" (got {_short(one['input'])})"
        lines.append(f"- {where}: {one['msg']}{came}")
    return "\n".join(lines)


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}..."


def check_handlers(tool: "BaseTool") -> None:
    """Refuse a handler that could never handle anything.

    Raises:
        ToolDefinitionError: it is no bool, text or function.
    """
    for name in ("handle_tool_error", "handle_validation_error"):
        handler: Handler = getattr(tool, name)
        if not (handler is None or isinstance(handler, (bool, str)) or callable(handler)):
            raise ToolDefinitionError(
                f"Tool {tool.name!r}: {name} must be True, False, a text or a function of the "
                f"error, not {handler!r}."
            )


def unheard(code: Callable[..., Any]) -> Any:
    """A run manager for code that asks for one where nobody listens."""
    from plait.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
    from plait.runnables.functions import is_async

    if is_async(code):
        return AsyncCallbackManagerForToolRun.get_noop_manager()
    return CallbackManagerForToolRun.get_noop_manager()


def unheard_children() -> Any:
    """A callback manager for code that asks for `callbacks` where nobody listens."""
    from plait.callbacks import CallbackManager

    return CallbackManager([])
