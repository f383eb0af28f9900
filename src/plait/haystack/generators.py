"""Chat generators: anything with a `run` that takes messages and tools, and what is made one here.

plait's chat models, LangChain's and "provider:name" are asked through `ChatModelGenerator`; a
generator of Haystack itself through `GuestGenerator`. All others are called as they are.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from inspect import Parameter
from typing import Any, Protocol, Self, cast

from plait.chat_models import as_chat_model
from plait.chat_models.base import BaseChatModel
from plait.chat_models.guests import is_haystack_generator
from plait.chat_models.haystack_wire import Kinds, conversation, to_haystack
from plait.chat_models.wire import standard_blocks
from plait.common.reflection import signature
from plait.errors import InvalidInputError, InvalidValueError
from plait.haystack.components import default_to_dict, reading_component
from plait.haystack.errors import (
    ComponentError,
    NoGeneratorError,
    SerializationError,
)
from plait.haystack.guests import AsyncGuestGenerator, GuestGenerator, own_tools
from plait.haystack.images import ImageContent
from plait.haystack.messages import ChatMessage, ReasoningContent, ToolCall
from plait.haystack.registry import remember
from plait.haystack.streaming import (
    ComponentInfo,
    StreamingCallbackT,
    StreamingChunk,
    ToolCallDelta,
    from_a_thread,
    select_streaming_callback,
)
from plait.haystack.tools import (
    ToolsType,
    check_names,
    flatten_tools_or_toolsets,
    read_parameters,
    write_parameters,
)
from plait.messages import message_chunk_to_message
from plait.runnables.config import run_in_executor

log = logging.getLogger(__name__)

OURS = Kinds(ChatMessage, ToolCall, ImageContent, ReasoningContent)
_FINISHED = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length"}
"""Reasons that not all providers call as OpenAI does."""
_COUNTED = {
    "audio": "audio_tokens",
    "cache_read": "cached_tokens",
    "reasoning": "reasoning_tokens",
    "accepted_prediction": "accepted_prediction_tokens",
    "rejected_prediction": "rejected_prediction_tokens",
}
"""Kinds of tokens, and what OpenAI calls their counts."""


class ChatGenerator(Protocol):
    """What an agent asks. `run_async`, `warm_up` and `streaming_callback` are optional."""

    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
        """Answer a conversation: `{"replies": [ChatMessage, ...]}`."""
        ...


class ChatModelGenerator:
    """A chat model as a chat generator.

    Args:
        model: A chat model of plait's or LangChain's, or "provider:name".
        streaming_callback: Hears the answer as it comes.
        generation_kwargs: Arguments of each call of the model.
        tools: Tools that it may call.

    Raises:
        InvalidInputError: It is no chat model.
        ToolDefinitionError: Two tools have the same name, or something is no tool.

    >>> from plait.chat_models.fake import FakeListChatModel
    >>> generator = ChatModelGenerator(FakeListChatModel(responses=["Hello."]))
    >>> generator.run([ChatMessage.from_user("Hi!")])["replies"][0].text
    'Hello.'
    """

    def __init__(
        self,
        model: Any,
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        tools: ToolsType | None = None,
    ) -> None:
        self.model = model
        self.streaming_callback = streaming_callback
        if streaming_callback is not None:
            remember(streaming_callback)
        self.generation_kwargs = generation_kwargs or {}
        self.tools = own_tools(tools)
        check_names(flatten_tools_or_toolsets(self.tools))
        self._chat_model: Any = as_chat_model(model)

    def run(
        self,
        messages: Sequence[ChatMessage],
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        *,
        tools: ToolsType | None = None,
    ) -> dict[str, Any]:
        """Answer a conversation.

        Args:
            messages: The conversation.
            streaming_callback: Instead of the generator's.
            generation_kwargs: Added to the generator's.
            tools: Instead of the generator's.

        Returns:
            `replies`.
        """
        if not messages:
            return {"replies": []}
        hear: Any = select_streaming_callback(self.streaming_callback, streaming_callback, False)
        model, asked = self._asked(tools, generation_kwargs)
        given = conversation(messages)
        if hear is None:
            return {"replies": self._answers(model, given, asked)}
        _check_one(asked)
        heard = _Heard(self)
        for chunk in model.stream(given, **asked):
            for piece in heard.pieces(chunk):
                hear(piece)
        return {"replies": [reply_of(message_chunk_to_message(heard.whole))]}

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        *,
        tools: ToolsType | None = None,
    ) -> dict[str, Any]:
        """The async twin of `run`."""
        if not messages:
            return {"replies": []}
        hear: Any = select_streaming_callback(self.streaming_callback, streaming_callback, True)
        model, asked = self._asked(tools, generation_kwargs)
        given = conversation(messages)
        if hear is None:
            return {"replies": await self._aanswers(model, given, asked)}
        _check_one(asked)
        heard = _Heard(self)
        async for chunk in model.astream(given, **asked):
            for piece in heard.pieces(chunk):
                await hear(piece)
        return {"replies": [reply_of(message_chunk_to_message(heard.whole))]}

    def _asked(
        self, tools: ToolsType | None, generation_kwargs: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        """The model with its tools, and the arguments of the call."""
        flat = flatten_tools_or_toolsets(self.tools if tools is None else own_tools(tools))
        check_names(flat)
        model = self._with_tools([tool.tool_spec for tool in flat]) if flat else self._chat_model
        return model, {**self.generation_kwargs, **(generation_kwargs or {})}

    def _with_tools(self, specs: list[dict[str, Any]]) -> Any:
        return self._chat_model.bind_tools(specs)

    def _answers(self, model: Any, given: list[Any], asked: dict[str, Any]) -> list[ChatMessage]:
        return [reply_of(model.invoke(given, **asked))]

    async def _aanswers(
        self, model: Any, given: list[Any], asked: dict[str, Any]
    ) -> list[ChatMessage]:
        return [reply_of(await model.ainvoke(given, **asked))]

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        Raises:
            SerializationError: The model was not given by its name; or a tool or the callback has
                no such form.
        """
        if not isinstance(self.model, str):
            raise SerializationError(
                f"A chat model that is an object cannot be serialized: {self.model!r:.100}. Give "
                "the agent its name instead, such as 'openai:gpt-5'."
            )
        return default_to_dict(
            self,
            model=self.model,
            generation_kwargs=self.generation_kwargs,
            **write_parameters(self.tools, self.streaming_callback),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """From plain data.

        Raises:
            DeserializationError: It is damaged, or names something that is not registered.
        """
        with reading_component(cls, data):
            return cls(**read_parameters(data))


def _check_one(asked: Mapping[str, Any]) -> None:
    if asked.get("n", 1) != 1:
        raise InvalidValueError("Cannot stream multiple responses: leave n out, or the callback.")


def reply_of(message: Any, index: int = 0) -> ChatMessage:
    """A chat model's message as Haystack's, with model, finish reason and usage in `meta`."""
    for call in message.invalid_tool_calls:
        log.warning(
            "The model's call of the tool %r is left out, since its arguments are no JSON: %s",
            call.get("name"),
            call.get("args"),
        )
    (reply,) = to_haystack([message], OURS)
    told = message.response_metadata
    meta = {"model": told.get("model_name"), "index": index, "finish_reason": _reason(told)}
    reply.meta.update({**meta, "usage": _counted(message)})
    return reply


def _counted(message: Any) -> dict[str, Any] | None:
    """The token counts of a message or chunk, if it has any."""
    return write_usage(message.usage_metadata) if message.usage_metadata else None


def _reason(told: Mapping[str, Any]) -> Any:
    reason = told.get("finish_reason") or told.get("stop_reason")
    return _FINISHED.get(reason, reason) if isinstance(reason, str) else None


def write_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Token counts as OpenAI and Haystack name them.

    >>> write_usage({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})
    {'prompt_tokens': 1, 'completion_tokens': 2, 'total_tokens': 3}
    """
    written: dict[str, Any] = {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage["total_tokens"],
    }
    given, made = usage.get("input_token_details"), usage.get("output_token_details")
    if given:
        written["prompt_tokens_details"] = {_COUNTED.get(k, k): v for k, v in given.items()}
    if made:
        written["completion_tokens_details"] = {_COUNTED.get(k, k): v for k, v in made.items()}
    return written


class _Heard:
    """One streamed answer: its chunks as pieces of Haystack's, and what they add up to."""

    def __init__(self, component: Any) -> None:
        self._info = ComponentInfo.from_component(component)
        self._model: Any = None
        self._said = False
        self._thought = False
        self.whole: Any = None

    def pieces(self, chunk: Any) -> Iterator[StreamingChunk]:
        """The pieces of one chunk."""
        self.whole = chunk if self.whole is None else self.whole + chunk
        told = chunk.response_metadata
        self._model = self._model or told.get("model_name")
        reason = _reason(told)
        content: list[dict[str, Any]] = list(self._content(chunk))
        if not content and (reason or chunk.usage_metadata):
            content = [{"content": ""}]
        for index, fields in enumerate(content):
            last = index == len(content) - 1
            ended = reason if last else None
            meta = {"model": self._model, "index": 0, "finish_reason": ended}
            meta["received_at"] = datetime.now().isoformat()
            meta["usage"] = _counted(chunk) if last else None
            fields.setdefault("content", "")
            yield StreamingChunk(
                **fields, meta=meta, component_info=self._info, finish_reason=ended
            )

    def _content(self, chunk: Any) -> Iterator[dict[str, Any]]:
        if not isinstance(chunk.content, str):
            for block in standard_blocks(chunk.content):
                if block["type"] == "reasoning" and block.get("reasoning"):
                    thought = ReasoningContent(block["reasoning"])
                    yield {"reasoning": thought, "index": 0, "start": not self._thought}
                    self._thought = True
        if text := str(chunk.text):
            yield {"content": text, "index": 0, "start": not self._said}
            self._said = True
        for call in chunk.tool_call_chunks:
            index = call.get("index") or 0
            delta = ToolCallDelta(index, call["name"] or None, call["args"] or None, call["id"])
            yield {"tool_calls": [delta], "index": index, "start": bool(call["name"])}


def as_generator(given: Any) -> Any:
    """What an agent may be given as its chat generator, as one.

    Args:
        given: A generator, of plait's or Haystack's; a chat model, or "provider:name".

    Raises:
        NoGeneratorError: It is none of these.
        InvalidInputError: It takes no tools.
    """
    if is_haystack_generator(given):
        check_takes_tools(given)
        can_await = callable(getattr(given, "run_async", None))
        return (AsyncGuestGenerator if can_await else GuestGenerator)(given)
    if isinstance(given, (str, BaseChatModel)) or not callable(getattr(given, "run", None)):
        try:
            return ChatModelGenerator(given)
        except InvalidInputError as error:
            raise NoGeneratorError(str(error)) from error
    check_takes_tools(given)
    return given


def check_takes_tools(generator: Any) -> None:
    """Check that a generator's `run` takes tools.

    Raises:
        InvalidInputError: It does not.
    """
    parameters = signature(generator.run).parameters
    if "tools" not in parameters and not any(
        one.kind is Parameter.VAR_KEYWORD for one in parameters.values()
    ):
        raise InvalidInputError(
            f"{type(generator).__name__} does not accept tools parameter in its run method. The "
            "Agent component requires a chat generator that supports tools."
        )


def ask(generator: Any, messages: list[ChatMessage], tools: Any, hear: Any) -> list[ChatMessage]:
    """What a generator replies.

    Args:
        generator: As `as_generator` gives it.
        messages: The conversation.
        tools: What it may call.
        hear: The streaming callback, or None.

    Raises:
        ComponentError: It gives something else than replies.
    """
    heard = {} if hear is None else {"streaming_callback": hear}
    return _replies(generator, generator.run(messages=messages, tools=tools, **heard))


def _replies(generator: Any, done: Any) -> list[ChatMessage]:
    replies = cast("Any", done).get("replies") if isinstance(done, dict) else None
    if not isinstance(replies, list) or not all(
        isinstance(one, ChatMessage) for one in cast("list[Any]", replies)
    ):
        raise ComponentError(
            f"{type(generator).__name__} returned {done!r:.200}. A chat generator returns a dict "
            "with its 'replies': {'replies': [ChatMessage.from_assistant(...)]}."
        )
    return cast("list[ChatMessage]", replies)


async def aask(
    generator: Any, messages: list[ChatMessage], tools: Any, hear: Any
) -> list[ChatMessage]:
    """The async twin of `ask`; a generator that has no `run_async` runs on a thread."""
    if callable(getattr(generator, "run_async", None)):
        heard = {} if hear is None else {"streaming_callback": hear}
        done = await generator.run_async(messages=messages, tools=tools, **heard)
        return _replies(generator, done)
    there = None if hear is None else from_a_thread(hear, asyncio.get_running_loop())
    return await run_in_executor(None, ask, generator, messages, tools, there)


__all__ = [
    "OURS",
    "ChatGenerator",
    "ChatModelGenerator",
    "aask",
    "as_generator",
    "ask",
    "check_takes_tools",
    "reply_of",
    "write_usage",
]
