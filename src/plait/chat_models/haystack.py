"""A chat generator of Haystack's as a chat model of plait's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any

from plait.chat_models.base import BaseChatModel
from plait.chat_models.haystack_wire import Kinds, read_piece, to_haystack, to_plait
from plait.chat_models.openai.model import choice
from plait.chat_models.results import ChatGeneration, ChatGenerationChunk, ChatResult
from plait.chat_models.wire import described
from plait.errors import MissingExtraError
from plait.messages import AIMessageChunk
from plait.runnables.base import Runnable
from plait.runnables.config import run_in_executor

try:
    from haystack.dataclasses import (  # pyright: ignore[reportMissingImports]
        ChatMessage,
        ImageContent,
        ReasoningContent,
        ToolCall,
    )
    from haystack.tools import Tool  # pyright: ignore[reportMissingImports]
except ModuleNotFoundError as error:
    raise MissingExtraError(
        "Chat generators of Haystack need its package haystack-ai, which is not installed. Install "
        "it: pip install haystack-ai."
    ) from error

THEIRS = Kinds(ChatMessage, ToolCall, ImageContent, ReasoningContent)
THEIR_TOOL: Any = Tool


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
        given: dict[str, Any] = {"messages": to_haystack(messages, THEIRS)}
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


def _result(outputs: Any) -> ChatResult:
    return ChatResult([ChatGeneration(to_plait(reply)) for reply in outputs["replies"]])


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
