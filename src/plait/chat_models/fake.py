"""Chat models without intelligence, for tests and demos: they say what they were told to say.

`ScriptedChatModel` is plait's own. The others mirror the fakes of langchain_core, by name and by
what they do.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from itertools import repeat
from threading import Lock
from typing import Any, cast

from plait.chat_models.base import BaseChatModel
from plait.chat_models.results import (
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    result_of_stream,
)
from plait.messages import AIMessage, AIMessageChunk
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig


class ScriptExhaustedError(RuntimeError):
    """A scripted model was called more often than its script has replies."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a scripted model, as it came."""

    messages: list[Any]
    tools: list[Any] = field(default_factory=list[Any])
    stop: list[str] | None = None
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])


class ScriptedChatModel(BaseChatModel):
    """A chat model that plays a script: each call gets the next reply.

    A reply is one of
    - a str: streamed word by word;
    - an AIMessage, tool calls included: streamed as its words, then its tool calls;
    - a list of chunks (AIMessageChunk or str): streamed as given, summed up when invoked; an
      exception among them is raised there, in the middle of the stream;
    - an exception: raised;
    - a callable: called with the messages, it gives one of the above (async ones in async runs).

    Threads and coroutines may share a model; each call takes one reply. With tools bound to it
    (`bind_tools`) it plays the same script and records into the same `calls`, with the tools.

    Args:
        script: The replies, as any iterable; or one callable that answers every call.
        fields: The fields of `BaseChatModel`, by keyword.

    Raises:
        ScriptExhaustedError: On a call after the last reply.

    >>> model = ScriptedChatModel(["hello there", ValueError("no")])
    >>> [chunk.content for chunk in model.stream("hi")]
    ['hello ', 'there']
    >>> model.invoke("again")
    Traceback (most recent call last):
    ValueError: no
    >>> [call.messages[0].content for call in model.calls]
    ['hi', 'again']
    """

    def __init__(self, script: Iterable[Any] | Callable[..., Any], **fields: Any) -> None:
        super().__init__(**fields)
        self.calls: list[Call] = []
        self._replies = repeat(script) if callable(script) else iter(script)
        self._lock = Lock()

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, Any]:
        """The model with tools, which its calls record."""
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=list(tools), **kwargs)

    @property
    def _llm_type(self) -> str:
        return "scripted-chat-model"

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _whole(self._next(messages, stop, kwargs))

    def _stream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from _in_chunks(self._next(messages, stop, kwargs))

    async def _agenerate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _whole(await self._anext(messages, stop, kwargs))

    async def _astream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _in_chunks(await self._anext(messages, stop, kwargs)):
            yield chunk

    def _next(self, messages: list[Any], stop: list[str] | None, kwargs: dict[str, Any]) -> Any:
        reply = self._take(messages, stop, kwargs)
        while callable(reply):
            reply = reply(list(messages))
        if isawaitable(reply):
            cast("Any", reply).close()
            raise TypeError(
                "An async reply of a ScriptedChatModel was taken by a sync call. "
                "Use ainvoke or astream, or script a sync callable."
            )
        return reply

    async def _anext(
        self, messages: list[Any], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> Any:
        reply = self._take(messages, stop, kwargs)
        while callable(reply) or isawaitable(reply):
            reply = await reply if isawaitable(reply) else reply(list(messages))
        return reply

    def _take(self, messages: list[Any], stop: list[str] | None, kwargs: dict[str, Any]) -> Any:
        with self._lock:
            more = {**kwargs}
            self.calls.append(Call(list(messages), more.pop("tools", []), stop, more))
            for reply in self._replies:
                return reply
            played = len(self.calls) - 1
        raise ScriptExhaustedError(
            f"Call {played + 1} of a ScriptedChatModel whose script has {played} replies; the last "
            f"message was {messages[-1]!r}. Add a reply, or script a callable to answer every call."
        )


def _whole(reply: Any) -> ChatResult:
    if isinstance(reply, BaseException):
        raise reply
    if isinstance(reply, str):
        return _result(AIMessage(reply))
    if isinstance(reply, (list, tuple)):
        return result_of_stream(list(_in_chunks(reply)))
    if isinstance(reply, AIMessageChunk):
        return result_of_stream([ChatGenerationChunk(message=reply.model_copy())])
    return _result(reply.model_copy())  # the run gives it an id; the script stays as written


def _in_chunks(reply: Any) -> Iterator[ChatGenerationChunk]:
    if isinstance(reply, BaseException):
        raise reply
    if isinstance(reply, str):
        chunks: Iterable[Any] = _words(reply) or [""]
    elif isinstance(reply, (list, tuple)):
        chunks = cast("Sequence[Any]", reply)
    elif isinstance(reply, AIMessageChunk):
        chunks = [reply]
    else:
        chunks = _pieces(reply)
    held: AIMessageChunk | None = None
    for chunk in chunks:
        if held is not None:
            yield ChatGenerationChunk(message=held)
        if isinstance(chunk, BaseException):
            raise chunk
        held = AIMessageChunk(content=chunk) if isinstance(chunk, str) else chunk.model_copy()
    if held is not None:
        held.chunk_position = "last"
        yield ChatGenerationChunk(message=held)


def _pieces(message: Any) -> list[AIMessageChunk]:
    """A message as a provider would stream it: words, tool calls, then what was counted."""
    words = _words(message.content) if isinstance(message.content, str) else [message.content]
    pieces = [AIMessageChunk(content=word) for word in words]
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    for index, call in enumerate(calls):
        args = call["args"] if isinstance(call["args"], str) else json.dumps(call["args"])
        part = {"name": call["name"], "args": args, "id": call["id"], "index": index}
        part["type"] = "tool_call_chunk"
        pieces.append(AIMessageChunk(content="", tool_call_chunks=[part]))
    said = {
        "additional_kwargs": message.additional_kwargs,
        "response_metadata": message.response_metadata,
        "usage_metadata": message.usage_metadata,
    }
    said = {key: value for key, value in said.items() if value}
    if said or not pieces:
        pieces.append(AIMessageChunk(content="", **said))
    for piece in pieces:
        piece.id, piece.name = message.id, message.name
    return pieces


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*|\s+", text)


def _result(message: Any) -> ChatResult:
    return ChatResult([ChatGeneration(message=message)])


class GenericFakeChatModel(BaseChatModel):
    """Gives the messages of an iterator, one a call; streams their words and spaces.

    Args:
        messages: The answers: AIMessages or strings.

    >>> model = GenericFakeChatModel(messages=iter(["a b"]))
    >>> [chunk.content for chunk in model.stream("hi")]
    ['a', ' ', 'b']
    """

    messages: Iterator[Any]

    @property
    def _llm_type(self) -> str:
        return "generic-fake-chat-model"

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = next(self.messages)
        return _result(AIMessage(message) if isinstance(message, str) else message)

    def _stream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._generate(messages).generations[0].message
        if not isinstance(message.content, str):
            raise ValueError("Expected content to be a string.")
        tokens = re.split(r"(\s)", message.content) if message.content else []
        for index, token in enumerate(tokens):
            chunk = AIMessageChunk(content=token, id=message.id)
            if index == len(tokens) - 1 and not message.additional_kwargs:
                chunk.chunk_position = "last"
            yield ChatGenerationChunk(message=chunk)
        for extra in _additional_pieces(message.additional_kwargs):
            chunk = AIMessageChunk(content="", id=message.id, additional_kwargs=extra)
            yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            await asyncio.sleep(0)  # as a model would: others run between two tokens
            yield chunk


def _additional_pieces(additional: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`additional_kwargs` piece by piece; the text of a function call is split at its commas."""
    for key, value in additional.items():
        if key != "function_call":
            yield {key: value}
            continue
        for part, text in value.items():
            pieces: list[Any] = re.split(r"(,)", text) if isinstance(text, str) else [text]
            for piece in pieces:
                yield {key: {part: piece}}


class FakeListChatModelError(Exception):
    """What a `FakeListChatModel` raises in the middle of a stream when told to."""


def in_turn(model: Any) -> Any:
    """The next of a model's `responses`, over and over; `i` counts them."""
    response = model.responses[model.i]
    model.i = model.i + 1 if model.i < len(model.responses) - 1 else 0
    return response


class FakeListChatModel(BaseChatModel):
    """Gives a list of texts, one a call, over and over; streams their characters.

    Args:
        responses: The answers.
        sleep: Seconds to wait before each answer, or each chunk.
        i: The answer that comes next.
        error_on_chunk_number: The chunk, counted from 0, in whose place a stream fails.

    >>> FakeListChatModel(responses=["a", "b"]).batch(["x", "y", "z"])[2].content
    'a'
    """

    responses: list[str]
    sleep: float | None = None
    i: int = 0
    error_on_chunk_number: int | None = None

    @property
    def _llm_type(self) -> str:
        return "fake-list-chat-model"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"responses": self.responses}

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.sleep is not None:
            time.sleep(self.sleep)
        return _result(AIMessage(in_turn(self)))

    async def _agenerate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.sleep is not None:
            await asyncio.sleep(self.sleep)
        return _result(AIMessage(in_turn(self)))

    def _stream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        text = in_turn(self)
        for index in range(len(text)):
            if self.sleep is not None:
                time.sleep(self.sleep)
            yield self._piece(text, index)

    async def _astream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        text = in_turn(self)
        for index in range(len(text)):
            if self.sleep is not None:
                await asyncio.sleep(self.sleep)
            yield self._piece(text, index)

    def _piece(self, text: str, index: int) -> ChatGenerationChunk:
        if index == self.error_on_chunk_number:
            raise FakeListChatModelError
        message = AIMessageChunk(content=text[index])
        if index == len(text) - 1:
            message.chunk_position = "last"
        return ChatGenerationChunk(message=message)

    def batch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Any]:
        """One after the other, so that the answers come in the order of the list."""
        one_by_one = cast("RunnableConfig", {"max_concurrency": 1})
        if isinstance(config, Sequence):
            config = [{**its, **one_by_one} for its in config]
        else:
            config = {**(config or {}), **one_by_one}
        return super().batch(inputs, config, return_exceptions=return_exceptions, **kwargs)


__all__ = [
    "Call",
    "FakeListChatModel",
    "FakeListChatModelError",
    "GenericFakeChatModel",
    "ScriptExhaustedError",
    "ScriptedChatModel",
]
