"""`ToolErrorMiddleware`: a function says which errors of tools the model is told, and how."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.named_tools import names_of
from plait.agents.middleware.options import check_functions
from plait.errors import ConfigError, NotSupportedError, bubbles_up
from plait.messages import ToolMessage
from plait.prebuilt.tool_node import ToolCallRequest
from plait.types import Command, TracePolicy, omit_payload

Content = str | list[Any] | None
"""What the model is told; None: nothing, and the error goes on."""
OnError = Callable[[Exception, ToolCallRequest], Content]
AOnError = Callable[[Exception, ToolCallRequest], Awaitable[Content]]


class ToolErrorMiddleware(AgentMiddleware[Any, Any, Any]):
    """Turns errors of tools into answers to their calls, where a function has words for them.

    What it has no words for goes on as it is: nothing of an error reaches the model by accident.

    Args:
        on_error: of an error and its tool call, what the model is told, or None.
        aon_error: the same for async runs (default: `on_error`).
        tools: the tools, or names of tools, whose errors are handled (None: all).

    Raises:
        ConfigError: There is neither function, one is none, or `tools` are none.

    >>> def words(error, request):
    ...     if isinstance(error, ValueError):
    ...         return f"{request.tool_call['name']} cannot use this."
    >>> ToolErrorMiddleware(words, tools=["search"]).name
    'ToolErrorMiddleware'
    """

    trace_policy = TracePolicy(process_inputs=omit_payload)
    """What a tool was given may be what must not be told."""

    def __init__(
        self,
        on_error: OnError | None = None,
        *,
        aon_error: AOnError | None = None,
        tools: Sequence[Any] | None = None,
    ) -> None:
        super().__init__()
        if on_error is None and aon_error is None:
            raise ConfigError("ToolErrorMiddleware needs on_error=, aon_error=, or both.")
        check_functions(on_error=on_error, aon_error=aon_error)
        self.tools = []
        self.on_error = on_error
        self.aon_error = aon_error
        self.handled = None if tools is None else names_of(tools, "tools")
        """The names of the tools whose errors are handled; None: all."""

    @property
    def tools_by_option(self) -> Mapping[str, Collection[str]]:
        """By option, the names of tools that it was given."""
        return {"tools": self.handled or ()}

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Run the tool, and put its error into words.

        Raises:
            NotSupportedError: There is only `aon_error`.
        """
        if not self._handles(request):
            return handler(request)
        if self.on_error is None:
            raise NotSupportedError(
                "ToolErrorMiddleware has only aon_error, which sync runs cannot await. Give it "
                "on_error too, or call the agent with ainvoke or astream."
            )
        try:
            return handler(request)
        except Exception as error:
            if bubbles_up(error):
                raise
            return _told(request, error, self.on_error(error, request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """The async twin of `wrap_tool_call`."""
        if not self._handles(request):
            return await handler(request)
        try:
            return await handler(request)
        except Exception as error:
            if bubbles_up(error):
                raise
            if self.aon_error is not None:
                return _told(request, error, await self.aon_error(error, request))
            return _told(request, error, self.on_error and self.on_error(error, request))

    def _handles(self, request: ToolCallRequest) -> bool:
        return self.handled is None or request.tool_call["name"] in self.handled


def _told(request: ToolCallRequest, error: Exception, content: Content) -> ToolMessage:
    """The answer with these words; the error itself where there are none."""
    if content is None:
        raise error
    call = request.tool_call
    return ToolMessage(content, tool_call_id=str(call["id"]), name=call["name"], status="error")


__all__ = ["ToolErrorMiddleware"]
