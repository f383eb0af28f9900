"""`ModelFallbackMiddleware`: other models in the place of one that fails."""

from collections.abc import Awaitable, Callable
from typing import Any

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.cache_marks import request_for
from plait.agents.middleware.requests import ModelRequest, ModelResponse
from plait.chat_models.guests import as_chat_model
from plait.errors import bubbles_up


class ModelFallbackMiddleware(AgentMiddleware[Any, Any, Any]):
    """Asks other models, one after the other, when the agent's own fails.

    Args:
        first_model: "provider:name", or a chat model: the first to be asked then.
        *additional_models: Those to be asked when that fails too.

    If all fail, the last error is raised. Marks for the prompt cache of the agent's model
    (`cache_control`, ...) are left out of requests to models that do not understand them.

    >>> from plait.agents import create_agent
    >>> from plait.testing.models import ScriptedChatModel
    >>> spare = ModelFallbackMiddleware(ScriptedChatModel(["I stand in."]))
    >>> agent = create_agent(ScriptedChatModel([TimeoutError()]), middleware=[spare])
    >>> agent.invoke({"messages": "Hello?"})["messages"][-1].content
    'I stand in.'
    """

    def __init__(self, first_model: Any, *additional_models: Any) -> None:
        self.models: list[Any] = [as_chat_model(one) for one in (first_model, *additional_models)]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Ask the agent's model, then the others."""
        left = [request, *(request_for(one, request) for one in self.models)]
        for attempt in left[:-1]:
            try:
                return handler(attempt)
            except Exception as error:  # the next model may answer; the last one's is raised
                if bubbles_up(error):
                    raise
        return handler(left[-1])

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The async twin of `wrap_model_call`."""
        left = [request, *(request_for(one, request) for one in self.models)]
        for attempt in left[:-1]:
            try:
                return await handler(attempt)
            except Exception as error:  # as above
                if bubbles_up(error):
                    raise
        return await handler(left[-1])


__all__ = ["ModelFallbackMiddleware"]
