"""`SimpleChatModel`: a chat model that is one function from messages to text."""

from abc import abstractmethod
from typing import Any

from plait.chat_models.base import BaseChatModel
from plait.chat_models.results import ChatGeneration, ChatResult
from plait.messages import AIMessage


class SimpleChatModel(BaseChatModel, init=False):
    """Define `_call`, which answers messages with a text, and have a chat model.

    >>> class Shout(SimpleChatModel):
    ...     def _call(self, messages, stop=None, run_manager=None, **kwargs):
    ...         return messages[-1].content.upper()
    >>> Shout().invoke("hi").content
    'HI'
    """

    @abstractmethod
    def _call(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> str:
        """Answer the messages with a text."""

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = self._call(messages, stop=stop, run_manager=run_manager, **kwargs)
        return ChatResult([ChatGeneration(AIMessage(text))])


__all__ = ["SimpleChatModel"]
