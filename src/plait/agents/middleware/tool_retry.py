"""`ToolRetryMiddleware`: calls of tools that fail are made again."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any
from warnings import warn

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.named_tools import names_of
from plait.agents.middleware.retrying import OnFailure, Retries, RetryOn, default_retry_on
from plait.messages import ToolMessage
from plait.prebuilt.tool_node import ToolCallRequest
from plait.types import Command

_OLDER = {"return_message": "continue", "raise": "error"}


class ToolRetryMiddleware(AgentMiddleware[Any, Any, Any]):
    """Makes calls of tools again that failed, longer and longer apart.

    A tool is run again with all its effects. Attempts that the engine counts, also over a crash,
    are those of `ToolNode(policies=...)`.

    Args:
        max_retries: Attempts after the first.
        tools: The tools, or names of tools, whose calls are tried again (None: all).
        retry_on: Exception classes, or a function of the error. Others are raised at once.
        on_failure: What becomes of the last error: "continue": the model is told of it. "error":
            it is raised. A function gives the text that the model is told.
        backoff_factor: Each wait is this many times as long as the one before (0: all are alike).
        initial_delay: Seconds before the second attempt.
        max_delay: Seconds that a wait may take at most.
        jitter: Make each wait up to a quarter longer or shorter, at random.

    Raises:
        ConfigError: A number is negative.

    >>> ToolRetryMiddleware(max_retries=3, tools=["search"]).name
    'ToolRetryMiddleware'
    """

    def __init__(
        self,
        *,
        max_retries: int = 2,
        tools: Sequence[Any] | None = None,
        retry_on: RetryOn = default_retry_on,
        on_failure: OnFailure = "continue",
        backoff_factor: float = 2.0,
        initial_delay: float = 1.0,
        max_delay: float = 60.0,
        jitter: bool = True,
    ) -> None:
        behavior: Any = on_failure
        if isinstance(on_failure, str) and on_failure in _OLDER:
            behavior = _OLDER[on_failure]
            warn(
                f"on_failure={on_failure!r} is deprecated: use {behavior!r}.",
                DeprecationWarning,
                stacklevel=2,
            )
        self._retries = Retries(
            max_retries, retry_on, behavior, backoff_factor, initial_delay, max_delay, jitter
        )
        self.tools = []
        self.max_retries = max_retries
        self.retry_on = retry_on
        self.on_failure: OnFailure = behavior
        self.backoff_factor = backoff_factor
        self.initial_delay = initial_delay
        self.max_delay = max_delay
        self.jitter = jitter
        self._names = None if tools is None else names_of(tools, "tools")

    @property
    def tools_by_option(self) -> Mapping[str, Collection[str]]:
        """By option, the names of tools that it was given."""
        return {"tools": self._names or ()}

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Run the tool, again if it fails."""
        if not self._is_meant(request):
            return handler(request)
        return self._retries.call(lambda: handler(request), _answer_to(request), _failed(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """The async twin of `wrap_tool_call`."""
        if not self._is_meant(request):
            return await handler(request)
        instead, failed = _answer_to(request), _failed(request)
        return await self._retries.acall(lambda: handler(request), instead, failed)

    def _is_meant(self, request: ToolCallRequest) -> bool:
        return self._names is None or request.tool_call["name"] in self._names


def _answer_to(request: ToolCallRequest) -> Callable[[str], ToolMessage | Command[Any]]:
    """What makes the answer to a call of which only an error is known."""
    call = request.tool_call

    def answer(text: str) -> ToolMessage:
        return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")

    return answer


def _failed(request: ToolCallRequest) -> str:
    name = str(request.tool_call["name"]).replace("{", "{{").replace("}", "}}")
    return f"Tool '{name}' failed after {{attempts}} with {{error}}. Please try again."


__all__ = ["ToolRetryMiddleware"]
