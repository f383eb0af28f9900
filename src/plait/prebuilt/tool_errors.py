"""Which errors of tools a model is told, and how; all others end the node."""

from collections.abc import Callable
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from plait.common.reflection import signature
from plait.errors import NodeTimeoutError, ToolDefinitionError
from plait.tools.injected import ToolException

INVALID_TOOL_NAME_ERROR_TEMPLATE = (
    "Error: {requested_tool} is not a valid tool, try one of [{available_tools}]."
)
TOOL_CALL_ERROR_TEMPLATE = "Error: {error}\n Please fix your mistakes."
TOOL_INVOCATION_ERROR_TEMPLATE = (
    "Error invoking tool '{tool_name}' with kwargs {tool_kwargs} with error:\n {error}\n "
    "Please fix the error and try again."
)

TOOL_TIMEOUT_ERROR_TEMPLATE = (
    "Error: tool '{tool_name}' gave no result within {timeout:g} s and was given up. It is not "
    "known whether it did its work."
)

ErrorHandler = (
    bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[..., str] | None
)
"""See `ToolNode`."""


class ToolInvocationError(ToolException):
    """A model called a tool with arguments that do not fit.

    Args:
        tool_name: Which tool.
        source: What pydantic says.
        tool_kwargs: What the model supplied.
        filtered_errors: Pydantic's errors without those on arguments that the program fills.
    """

    def __init__(
        self,
        tool_name: str,
        source: Any,
        tool_kwargs: dict[str, Any],
        filtered_errors: list[Any] | None = None,
    ) -> None:
        told = str(source)
        if filtered_errors:
            told = "\n".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in filtered_errors
            )
        elif filtered_errors is not None:  # what the program fills in is not for the model to read
            filled = ", ".join(sorted({str(one["loc"][0]) for one in source.errors()}))
            told = f"What the program fills in itself ({filled}) does not fit."
        self.message = TOOL_INVOCATION_ERROR_TEMPLATE.format(
            tool_name=tool_name, tool_kwargs=tool_kwargs, error=told
        )
        super().__init__(self.message)
        self.tool_name = tool_name
        self.tool_kwargs = tool_kwargs
        self.source = source
        self.filtered_errors = filtered_errors


class ToolTimeoutError(NodeTimeoutError):
    """A tool ran, or stayed silent, longer than its `ToolPolicy` allows; `node` is its name."""

    def __init__(self, source: NodeTimeoutError) -> None:
        super().__init__(
            source.node,
            source.elapsed,
            kind=cast("Any", source.kind),
            idle_timeout=source.idle_timeout,
            run_timeout=source.run_timeout,
        )
        self.message = TOOL_TIMEOUT_ERROR_TEMPLATE.format(tool_name=self.node, timeout=self.timeout)
        self.args = (self.message,)


def tell_invocation_errors(error: ToolInvocationError | ToolTimeoutError) -> str:
    """The default: a model is told what is wrong with its arguments, and when a policy struck."""
    return error.message


class Telling:
    """What becomes of the errors of a node's tools.

    Args:
        handler: As `handle_tool_errors` of `ToolNode`.

    Raises:
        ToolDefinitionError: `handler` is nothing of the kind.
    """

    __slots__ = ("_handler", "_kinds")

    def __init__(self, handler: ErrorHandler) -> None:
        self._handler = handler
        self._kinds: tuple[type[BaseException], ...]
        if not handler:  # an empty text too would tell the model nothing
            self._kinds = ()
        elif handler is True or isinstance(handler, str):
            self._kinds = (Exception,)
        elif isinstance(handler, tuple):
            self._kinds = handler
        elif isinstance(handler, type) and issubclass(handler, Exception):
            self._kinds = (handler,)
        elif callable(cast("Any", handler)):
            self._kinds = _kinds_of(cast("Any", handler))
        else:
            raise ToolDefinitionError(
                "handle_tool_errors must be True, False, a text, exception classes or a function "
                f"of the error, not {handler!r}."
            )

    def told(self, error: Exception) -> str | None:
        """What the model is told of an error; None: it is not told, so raise the error."""
        if not isinstance(error, self._kinds):
            return None
        handler = self._handler
        if isinstance(handler, str):
            return handler
        is_class = isinstance(handler, type) and issubclass(handler, Exception)
        if isinstance(handler, (bool, tuple)) or is_class:
            return TOOL_CALL_ERROR_TEMPLATE.format(error=repr(error))
        told = cast("Callable[[Exception], str | None]", handler)(error)
        return str(told) if told is None else told  # the error was handled, if without a word


def _kinds_of(handler: Callable[..., Any]) -> tuple[type[BaseException], ...]:
    """The errors that a function handles, by the annotation of its first parameter.

    Raises:
        ToolDefinitionError: It is annotated with something else.
    """
    try:
        first = next(iter(signature(handler).parameters.values()), None)
    except ValueError:  # a builtin that does not say what it takes
        first = None
    if first is None or first.annotation is first.empty:
        return (Exception,)
    code = handler if hasattr(handler, "__code__") else getattr(handler, "__func__", None)
    code = code or cast("Any", type(handler)).__call__
    hint = get_type_hints(code).get(first.name, first.annotation)
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
        raise ToolDefinitionError(
            f"The error handler {handler!r} annotates its first parameter with {hint!r}. Annotate "
            "it with exception classes: `def handle(error: ValueError | KeyError) -> str`."
        )
    return kinds


__all__ = [
    "ErrorHandler",
    "Telling",
    "ToolInvocationError",
    "ToolTimeoutError",
    "tell_invocation_errors",
]
