"""A chat generator of Haystack's as a chat model of plait's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, cast

from haystack.dataclasses import (  # pyright: ignore[reportMissingImports]
    ChatMessage,
    ImageContent,
    ReasoningContent,
    ToolCall,
)
from haystack.tools import Tool  # pyright: ignore[reportMissingImports]

from plait.chat_models.base import BaseChatModel
from plait.chat_models.openai.model import choice
from plait.chat_models.results import ChatGeneration, ChatGenerationChunk, ChatResult
from plait.chat_models.wire import Block, described, media_of, standard_blocks, unsupported
from plait.messages import AIMessage, AIMessageChunk
from plait.messages.foreign import kind_of
from plait.runnables.base import Runnable
from plait.runnables.config import run_in_executor

THEIRS: Any = ChatMessage
THEIR_CALL: Any = ToolCall
THEIR_TOOL: Any = Tool
THEIR_IMAGE: Any = ImageContent
THEIR_THOUGHT: Any = ReasoningContent


class HaystackChatModel(BaseChatModel):
    """A chat generator of Haystack's: asked by its `run` and `run_async`.

    Keyword arguments of a call, stop texts and tool choices become `generation_kwargs`, in OpenAI's
    spelling, as most generators have it.

    Args:
        guest: The generator.
        tools: Haystack's tools that it may call.
    """

    def __init__(self, guest: Any, tools: Sequence[Any] = (), **fields: Any) -> None:
        super().__init__(**fields)
        self.guest = guest
        self.tools = list(tools)

    def __repr__(self) -> str:
        return f"HaystackChatModel({type(self.guest).__name__})"

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The name of the guest."""
        return super().get_name(suffix, name=name or self.name or type(self.guest).__name__)

    @property
    def _llm_type(self) -> str:
        return "haystack"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[Any, Any]:
        """The generator with tools; other tools than Haystack's go in as their schemas."""
        bound = HaystackChatModel(self.guest, [_tool(tool) for tool in tools], name=self.name)
        named = [{"type": "function", "function": {"name": tool.name}} for tool in bound.tools]
        chosen = choice(tool_choice, named)
        more = {**({} if chosen is None else {"tool_choice": chosen}), **kwargs}
        return bound.bind(**more) if more else bound

    def _arguments(
        self, messages: Sequence[Any], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        asked = {**kwargs, **({"stop": stop} if stop else {})}
        given: dict[str, Any] = {"messages": to_theirs(messages)}
        if asked:
            given["generation_kwargs"] = asked
        if self.tools:
            given["tools"] = self.tools
        return given

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(self.guest.run(**self._arguments(messages, stop, kwargs)))

    async def _agenerate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        given = self._arguments(messages, stop, kwargs)
        if hasattr(self.guest, "run_async"):
            return _result(await self.guest.run_async(**given))
        return _result(await run_in_executor(None, self.guest.run, **given))

    def _stream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        given = self._arguments(messages, stop, kwargs)
        pieces: SimpleQueue[Any] = SimpleQueue()
        left = threading.Event()

        def hear(piece: Any) -> None:
            if left.is_set():
                raise _Left  # nobody reads on: the generator may stop
            pieces.put(piece)

        def run() -> None:
            try:
                pieces.put(_End(self.guest.run(**given, streaming_callback=hear)))
            except BaseException as error:
                pieces.put(_End(error=error))

        worker = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
        worker.start()
        try:
            while not isinstance(piece := pieces.get(), _End):
                yield ChatGenerationChunk(read_piece(piece))
            yield ChatGenerationChunk(piece.chunk())
        finally:
            left.set()

    async def _astream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        if not hasattr(self.guest, "run_async"):
            async for chunk in super()._astream(messages, stop, None, **kwargs):
                yield chunk
            return
        given = self._arguments(messages, stop, kwargs)
        pieces: asyncio.Queue[Any] = asyncio.Queue()

        async def hear(piece: Any) -> None:
            await pieces.put(piece)

        async def run() -> None:
            try:
                await pieces.put(_End(await self.guest.run_async(**given, streaming_callback=hear)))
            except Exception as error:
                await pieces.put(_End(error=error))

        worker = asyncio.create_task(run())
        try:
            while not isinstance(piece := await pieces.get(), _End):
                yield ChatGenerationChunk(read_piece(piece))
            yield ChatGenerationChunk(piece.chunk())
        finally:
            worker.cancel()


class _Left(Exception):
    """The reader of a stream has gone."""


class _End:
    """How a streamed run ended."""

    def __init__(self, outputs: Any = None, error: BaseException | None = None) -> None:
        self.outputs, self.error = outputs, error

    def chunk(self) -> AIMessageChunk:
        """The last chunk: what only the whole reply says."""
        if self.error is not None:
            raise self.error
        whole = _result(self.outputs).generations[0].message
        usage = {"usage_metadata": whole.usage_metadata} if whole.usage_metadata else {}
        return AIMessageChunk("", response_metadata=whole.response_metadata, **usage)


def to_theirs(messages: Sequence[Any]) -> list[Any]:
    """Messages as Haystack's."""
    calls: dict[str | None, Any] = {}
    made: list[Any] = []
    for message in messages:
        kind = kind_of(message)
        if kind == "ai":
            made.append(_assistant(message))
            calls |= {call.id: call for call in made[-1].tool_calls}
        elif kind == "tool":
            origin = calls.get(message.tool_call_id) or THEIR_CALL(
                tool_name=message.name or "", arguments={}, id=message.tool_call_id
            )
            text = str(message.text)
            made.append(THEIRS.from_tool(text, origin=origin, error=message.status == "error"))
        elif kind == "system":
            made.append(THEIRS.from_system(str(message.text), name=message.name))
        elif isinstance(message.content, str):
            made.append(THEIRS.from_user(message.content, name=message.name))
        else:
            parts = [_part(block) for block in standard_blocks(message.content)]
            made.append(THEIRS.from_user(content_parts=parts, name=message.name))
    return made


def _assistant(message: Any) -> Any:
    calls = [
        THEIR_CALL(tool_name=call["name"], arguments=call["args"], id=call["id"])
        for call in message.tool_calls
    ]
    thoughts = [
        block.get("reasoning", "")
        for block in standard_blocks(message.content)
        if block["type"] == "reasoning"
    ]
    reasoning = THEIR_THOUGHT("\n\n".join(thoughts)) if thoughts else None
    text = str(message.text)
    return THEIRS.from_assistant(
        text or None, name=message.name, tool_calls=calls, reasoning=reasoning
    )


def _part(block: Block) -> Any:
    if block["type"] == "text":
        return block["text"]
    media = media_of(block)
    if media is None or media.kind != "image" or media.base64 is None:
        raise unsupported("Haystack", block, "Give it text, or images with their data (base64).")
    return THEIR_IMAGE(base64_image=media.base64, mime_type=media.mime_type, validation=False)


def _result(outputs: Any) -> ChatResult:
    return ChatResult([ChatGeneration(to_ours(reply)) for reply in outputs["replies"]])


def to_ours(reply: Any) -> Any:
    """A reply of Haystack's as plait's message."""
    meta = dict(reply.meta)
    calls = [
        {"name": call.tool_name, "args": call.arguments, "id": call.id} for call in reply.tool_calls
    ]
    content: Any = reply.text or ""
    if reply.reasoning is not None:
        extras = {"extras": reply.reasoning.extra} if reply.reasoning.extra else {}
        thought = {"type": "reasoning", "reasoning": reply.reasoning.reasoning_text, **extras}
        content = [thought, *([{"type": "text", "text": content}] if content else [])]
    fields: Any = {"tool_calls": calls} if calls else {}
    message: Any = AIMessage(content, **fields)
    message.usage_metadata = _usage(meta.pop("usage", None))
    message.response_metadata = meta
    return message


def _usage(usage: Any) -> Any:
    if not isinstance(usage, dict) or "prompt_tokens" not in usage:
        return None
    from plait.chat_models.openai.chat import read_usage  # most generators count as OpenAI does

    return read_usage(cast("Block", usage))


def read_piece(piece: Any) -> AIMessageChunk:
    """A streamed piece of Haystack's as plait's chunk."""
    content: Any = piece.content or ""
    if piece.reasoning is not None:
        thought = {"type": "reasoning", "reasoning": piece.reasoning.reasoning_text}
        content = [{**thought, "index": piece.index or 0}]
    calls = [
        {
            "name": call.tool_name,
            "args": call.arguments if call.arguments is not None else "",
            "id": call.id,
            "index": call.index,
        }
        for call in piece.tool_calls or ()
    ]
    fields: Any = {"tool_call_chunks": calls} if calls else {}
    return AIMessageChunk(content, **fields)


def _tool(tool: Any) -> Any:
    """A tool of Haystack's; another kind's schema in that form."""
    if isinstance(tool, THEIR_TOOL):
        return tool
    function = described(tool)
    return THEIR_TOOL(
        name=function["name"],
        description=function.get("description") or function["name"],
        parameters=function.get("parameters") or {"type": "object", "properties": {}},
        function=_not_here(function["name"]),
    )


def _not_here(name: str) -> Callable[..., Any]:
    def refuse(**_: Any) -> Any:
        raise NotImplementedError(f"The tool {name!r} is called by plait, not by Haystack.")

    return refuse


__all__ = ["HaystackChatModel"]
