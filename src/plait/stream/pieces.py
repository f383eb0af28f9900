"""Messages as events of their content blocks: a message begins, its blocks grow, and it ends.

What comes in are the pairs of the stream mode `messages`: chunks of messages that models say, and
whole messages that nodes return. A message that comes in chunks ends with its last chunk; where
nothing says which is the last one, it ends with its task.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from plait.messages.blocks import call_block
from plait.messages.convert import message_from_dict
from plait.messages.foreign import is_chunk, kind_of
from plait.messages.merge import merge_dicts
from plait.messages.usage import add_usage

Event = dict[str, Any]
Pair = tuple[Any, dict[str, Any]]

UNTOLD = ("tool", "remove")
"""Kinds of messages that are no part of these streams."""
GROWING = {"text": "text", "reasoning": "reasoning"}
"""Blocks that come in pieces: type, and the key that grows."""
_CALLS = ("tool_call", "tool_call_chunk", "invalid_tool_call")
_RUN = "lc_run--"
BAD_JSON = "Failed to parse tool call arguments as JSON"


class OpenMessage:
    """A message that is being told.

    Args:
        message: its first chunk.
        metadata: where it comes from.
    """

    __slots__ = ("_blocks", "_keys", "_response", "_usage", "metadata")

    def __init__(self, message: Any, metadata: Mapping[str, Any]) -> None:
        run_id = (message.id or "").removeprefix(_RUN)
        self.metadata = {**metadata, "run_id": run_id}
        self._blocks: list[dict[str, Any]] = []
        self._keys: dict[Any, int] = {}
        self._usage: Any = None
        self._response: dict[str, Any] = {}

    @staticmethod
    def start(message: Any) -> Event:
        """The event that begins a message."""
        return {"event": "message-start", "role": "ai", "id": message.id}

    def grow(self, message: Any) -> Iterator[Event]:
        """The events of what a chunk, or a whole message, adds."""
        for block in _content_of(message):
            yield from self._add(block)
        pieces = getattr(message, "tool_call_chunks", None)
        if pieces:
            for piece in pieces:
                yield from self._add_piece(piece)
        else:
            for call in getattr(message, "tool_calls", ()):
                yield from self._add_whole(call_block(call))
        if getattr(message, "usage_metadata", None):
            self._usage = add_usage(self._usage, message.usage_metadata)
        if message.response_metadata:
            self._response = merge_dicts(self._response, message.response_metadata)

    def finish(self) -> Iterator[Event]:
        """The events that end the message."""
        for index, block in enumerate(self._blocks):
            done = _finished_call(block) if block["type"] == "tool_call_chunk" else block
            yield {"event": "content-block-finish", "index": index, "content": done}
        end: Event = {"event": "message-finish"}
        if self._usage:
            end["usage"] = self._usage
        if self._response:
            end["metadata"] = self._response
        yield end

    def _add(self, block: dict[str, Any]) -> Iterator[Event]:
        """Add to a block, or begin it."""
        kind = block["type"]
        grows = GROWING.get(kind)
        if grows is None:
            yield from self._add_whole(block)
            return
        key = kind, block.get("index")
        index = self._keys.get(key)
        piece = block.get(grows) or ""
        if index is None:
            index = self._open(key, {**block, grows: ""})
            yield _began(index, {"type": kind, grows: ""})
        if piece:
            self._blocks[index][grows] += piece
            delta = {"type": f"{kind}-delta", grows: piece}
            yield {"event": "content-block-delta", "index": index, "delta": delta}

    def _add_piece(self, piece: Mapping[str, Any]) -> Iterator[Event]:
        """Add to the arguments of a tool call, or begin the call."""
        place = piece.get("index")
        key = "tool", piece.get("id") if place is None else place
        index = self._keys.get(key)
        if index is None:
            block = {
                "type": "tool_call_chunk",
                "id": piece.get("id"),
                "name": piece.get("name"),
                "args": "",
                "index": place,
            }
            index = self._open(key, block)
            yield _began(index, dict(block))
        held = self._blocks[index]
        held["id"] = held["id"] or piece.get("id")
        held["name"] = held["name"] or piece.get("name")
        if piece.get("args"):
            held["args"] += piece["args"]
            delta = {"type": "tool-call-delta", "args": piece["args"]}
            yield {"event": "content-block-delta", "index": index, "delta": delta}

    def _add_whole(self, block: dict[str, Any]) -> Iterator[Event]:
        """A block that comes at once."""
        index = len(self._blocks)
        if block["type"] == "tool_call":
            self._blocks.append(block)
            yield _began(index, {**block, "args": {}})
        else:
            self._blocks.append({**block, "index": index})
            yield _began(index, block)

    def _open(self, key: Any, block: dict[str, Any]) -> int:
        self._keys[key] = index = len(self._blocks)
        self._blocks.append(block)
        return index


class Pieces:
    """Turns the pairs of one run's `messages` mode into pairs of events and metadata."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[tuple[Any, str], OpenMessage] = {}

    def of(self, message: Any, metadata: dict[str, Any]) -> Iterator[Pair]:
        """What is told of a message: whole messages as they are, chunks as events."""
        if isinstance(message, dict):  # as a server tells it
            told_as = cast("dict[str, Any]", message)
            message = message_from_dict({"type": told_as["type"], "data": told_as})
        if not is_chunk(message):
            if kind_of(message) not in UNTOLD:
                yield message, metadata
            return
        key = metadata.get("langgraph_checkpoint_ns"), message.id or ""
        told = self._open.get(key)
        if told is None:
            told = self._open[key] = OpenMessage(message, metadata)
            yield told.start(message), told.metadata
        for event in told.grow(message):
            yield event, told.metadata
        if getattr(message, "chunk_position", None) == "last":
            yield from self._finish(key)

    def ended(self, ns: tuple[str, ...], task: Mapping[str, Any]) -> Iterator[Pair]:
        """What is told when a task has ended: its messages have."""
        if not self._open:
            return
        place = "|".join((*ns, f"{task['name']}:{task['id']}"))
        # A server names places as its run knows them, without what is around that run.
        for key in [key for key in self._open if key[0] and place.endswith(key[0])]:
            if task.get("error") or key[1].startswith(_RUN):
                del self._open[key]  # models say when they end: this one broke off
            else:
                yield from self._finish(key)

    def _finish(self, key: tuple[Any, str]) -> Iterator[Pair]:
        told = self._open.pop(key)
        for event in told.finish():
            yield event, told.metadata


def whole(message: Any) -> Iterator[Event]:
    """The events of a message that came whole.

    >>> from plait.messages import AIMessage
    >>> [event["event"] for event in whole(AIMessage("hi", id="1"))][:3]
    ['message-start', 'content-block-start', 'content-block-delta']
    """
    told = OpenMessage(message, {})
    yield told.start(message)
    grown = list(told.grow(message))
    *ends, end = told.finish()
    yield from sorted([*grown, *ends], key=lambda event: event["index"])  # block by block
    yield end


def _content_of(message: Any) -> list[dict[str, Any]]:
    """The content in standard blocks, without tool calls."""
    content = message.content
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks = cast("list[dict[str, Any]]", message.content_blocks)
    return [dict(block) for block in blocks if block["type"] not in _CALLS]


def _began(index: int, block: dict[str, Any]) -> Event:
    return {"event": "content-block-start", "index": index, "content": block}


def _finished_call(block: Mapping[str, Any]) -> dict[str, Any]:
    """A tool call whose arguments have all come."""
    about = {"id": block["id"], "name": block["name"]}
    try:
        args = json.loads(block["args"] or "{}")
    except (ValueError, RecursionError):
        args = None
    if isinstance(args, dict):
        return {"type": "tool_call", **about, "args": args}
    return {"type": "invalid_tool_call", **about, "args": block["args"], "error": BAD_JSON}


__all__ = ["OpenMessage", "Pieces", "whole"]
