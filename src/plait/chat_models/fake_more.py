"""More fakes that mirror langchain_core's: of messages, of text models, and a parrot."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from plait.chat_models.base import BaseChatModel
from plait.chat_models.fake import in_turn
from plait.chat_models.llms import LLM
from plait.chat_models.results import ChatGeneration, ChatResult, GenerationChunk
from plait.chat_models.simple import SimpleChatModel


class FakeMessagesListChatModel(BaseChatModel):
    """Gives a list of messages, one a call, over and over.

    Args:
        responses: The answers.
        sleep: Seconds to wait before each.
        i: The answer that comes next.

    >>> from plait.messages import AIMessage
    >>> FakeMessagesListChatModel(responses=[AIMessage("a")]).invoke("hi").content
    'a'
    """

    responses: list[Any]
    sleep: float | None = None
    i: int = 0

    @property
    def _llm_type(self) -> str:
        return "fake-messages-list-chat-model"

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.sleep is not None:
            time.sleep(self.sleep)
        return ChatResult([ChatGeneration(message=in_turn(self))])


class FakeChatModel(SimpleChatModel):
    """Gives the same answer to everything.

    >>> FakeChatModel().invoke("hi").content
    'fake response'
    """

    @property
    def _llm_type(self) -> str:
        return "fake-chat-model"

    def _call(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> str:
        return "fake response"


class ParrotFakeChatModel(BaseChatModel):
    """Gives back the last message, as it came.

    >>> ParrotFakeChatModel().invoke("hi").content
    'hi'
    """

    @property
    def _llm_type(self) -> str:
        return "parrot-fake-chat-model"

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        if not messages:
            raise ValueError("messages list cannot be empty.")
        return ChatResult([ChatGeneration(message=messages[-1])])


class FakeListLLM(LLM):
    """A text model that gives a list of texts, one a prompt, over and over.

    Args:
        responses: The answers.
        sleep: Seconds to wait before each.
        i: The answer that comes next.

    >>> FakeListLLM(responses=["a", "b"]).batch(["x", "y", "z"])
    ['a', 'b', 'a']
    """

    responses: list[str]
    sleep: float | None = None
    i: int = 0

    @property
    def _llm_type(self) -> str:
        return "fake-list"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"responses": self.responses}

    def _call(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> str:
        if self.sleep is not None:
            time.sleep(self.sleep)
        return in_turn(self)

    async def _acall(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> str:
        if self.sleep is not None:
            await asyncio.sleep(self.sleep)
        return in_turn(self)


class FakeListLLMError(Exception):
    """What a `FakeStreamingListLLM` raises in the middle of a stream when told to."""


class FakeStreamingListLLM(FakeListLLM):
    """A `FakeListLLM` that streams the characters of its answers.

    Args:
        error_on_chunk_number: The chunk, counted from 0, in whose place a stream fails.

    >>> list(FakeStreamingListLLM(responses=["ab"]).stream("x"))
    ['a', 'b']
    """

    error_on_chunk_number: int | None = None

    def _stream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[GenerationChunk]:
        for index, character in enumerate(in_turn(self)):
            if self.sleep is not None:
                time.sleep(self.sleep)
            yield self._piece(index, character)

    async def _astream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[GenerationChunk]:
        for index, character in enumerate(in_turn(self)):
            if self.sleep is not None:
                await asyncio.sleep(self.sleep)
            yield self._piece(index, character)

    def _piece(self, index: int, character: str) -> GenerationChunk:
        if index == self.error_on_chunk_number:
            raise FakeListLLMError
        return GenerationChunk(character)


__all__ = [
    "FakeChatModel",
    "FakeListLLM",
    "FakeListLLMError",
    "FakeMessagesListChatModel",
    "FakeStreamingListLLM",
    "ParrotFakeChatModel",
]
