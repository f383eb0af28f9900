"""`ModelRetryMiddleware`: calls of the model that fail are made again."""

from collections.abc import Awaitable, Callable
from typing import Any

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.requests import ModelRequest, ModelResponse
from plait.agents.middleware.retrying import OnFailure, Retries, RetryOn, default_retry_on
from plait.messages import AIMessage


class ModelRetryMiddleware(AgentMiddleware[Any, Any, Any]):
    """Makes calls of the model again that failed, longer and longer apart.

    Args:
        max_retries: Attempts after the first.
        retry_on: Exception classes, or a function of the error. By default all errors but those
            that say that this is no use (`is_retryable`). Others are raised at once.
        on_failure: What becomes of the last error: "continue": the agent's answer says that the
            model failed. "error": it is raised. A function gives the answer's text.
        backoff_factor: Each wait is this many times as long as the one before (0: all are alike).
        initial_delay: Seconds before the second attempt.
        max_delay: Seconds that a wait may take at most.
        jitter: Make each wait up to a quarter longer or shorter, at random.

    Raises:
        ConfigError: A number is negative.

    >>> from plait.agents import create_agent
    >>> from plait.testing.models import ScriptedChatModel
    >>> model = ScriptedChatModel([ConnectionError("lost"), "Here I am."])
    >>> agent = create_agent(model, middleware=[ModelRetryMiddleware(initial_delay=0)])
    >>> agent.invoke({"messages": "Hello?"})["messages"][-1].content
    'Here I am.'
    """

    def __init__(
        self,
        *,
        max_retries: int = 2,
        retry_on: RetryOn = default_retry_on,
        on_failure: OnFailure = "continue",
        backoff_factor: float = 2.0,
        initial_delay: float = 1.0,
        max_delay: float = 60.0,
        jitter: bool = True,
    ) -> None:
        self._retries = Retries(
            max_retries, retry_on, on_failure, backoff_factor, initial_delay, max_delay, jitter
        )
        self.tools = []
        self.max_retries = max_retries
        self.retry_on = retry_on
        self.on_failure = on_failure
        self.backoff_factor = backoff_factor
        self.initial_delay = initial_delay
        self.max_delay = max_delay
        self.jitter = jitter

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Make the call, again if it fails."""
        return self._retries.call(lambda: handler(request), AIMessage, _FAILED)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage:
        """The async twin of `wrap_model_call`."""
        return await self._retries.acall(lambda: handler(request), AIMessage, _FAILED)


_FAILED = "Model call failed after {attempts} with {error}"

__all__ = ["ModelRetryMiddleware"]
