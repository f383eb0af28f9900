"""Messages of plait's as Haystack's and back: over the classes of Haystack itself, or of plait's.

`plait.haystack` has classes of the same shape, so both sides are told apart only by `Kinds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from plait.chat_models.wire import Block, media_of, part_of, standard_blocks, unsupported
from plait.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from plait.messages.foreign import kind_of


class Kinds(NamedTuple):
    """The classes of one side."""

    message: Any
    call: Any
    image: Any
    thought: Any


def to_haystack(messages: Sequence[Any], kinds: Kinds) -> list[Any]:
    """Messages as Haystack's."""
    calls: dict[str | None, Any] = {}
    made: list[Any] = []
    for message in messages:
        kind = kind_of(message)
        if kind == "ai":
            made.append(_assistant(message, kinds))
            calls |= {call.id: call for call in made[-1].tool_calls}
        elif kind == "tool":
            origin = calls.get(message.tool_call_id) or kinds.call(
                tool_name=message.name or "", arguments={}, id=message.tool_call_id
            )
            text = str(message.text)
            made.append(
                kinds.message.from_tool(text, origin=origin, error=message.status == "error")
            )
        elif kind == "system":
            made.append(kinds.message.from_system(str(message.text), name=message.name))
        elif isinstance(message.content, str):
            made.append(kinds.message.from_user(message.content, name=message.name))
        else:
            parts = [_part(block, kinds) for block in standard_blocks(message.content)]
            made.append(kinds.message.from_user(content_parts=parts, name=message.name))
    return made


def _assistant(message: Any, kinds: Kinds) -> Any:
    calls = [
        kinds.call(tool_name=call["name"], arguments=call["args"], id=call["id"])
        for call in message.tool_calls
    ]
    thoughts = [
        block.get("reasoning", "")
        for block in standard_blocks(message.content)
        if block["type"] == "reasoning"
    ]
    reasoning = kinds.thought("\n\n".join(thoughts)) if thoughts else None
    text = str(message.text)
    return kinds.message.from_assistant(
        text or None, name=message.name, tool_calls=calls, reasoning=reasoning
    )


def _part(block: Block, kinds: Kinds) -> Any:
    if block["type"] == "text":
        return block["text"]
    media = media_of(block)
    if media is None or media.kind != "image" or media.base64 is None:
        raise unsupported("Haystack", block, "Give it text, or images with their data (base64).")
    detail = part_of(block, "extras").get("detail")
    return kinds.image(
        base64_image=media.base64, mime_type=media.mime_type, detail=detail, validation=False
    )


def conversation(messages: Sequence[Any]) -> list[Any]:
    """A conversation of Haystack's as plait's messages."""
    return [said for message in messages for said in _said(message)]


def _said(message: Any) -> list[Any]:
    role = message.role.value
    if role == "assistant":
        return [to_plait(message)]
    if role == "tool":
        return [_told(result) for result in message.tool_call_results]
    named = {} if message.name is None else {"name": message.name}
    if role == "system":
        return [SystemMessage(message.text or "", **named)]
    parts: Sequence[Any] = message._content  # the only way to the order of texts and images
    alone = len(parts) == 1 and message.text is not None
    return [HumanMessage(message.text if alone else [_block(one) for one in parts], **named)]


def _told(result: Any) -> Any:
    return ToolMessage(
        str(result.result),
        tool_call_id=result.origin.id or "",
        name=result.origin.tool_name,
        status="error" if result.error else "success",
    )


def _block(part: Any) -> Block:
    """A part of a user's message as a block; a detail is OpenAI's, and so is the block then."""
    if hasattr(part, "text"):
        return {"type": "text", "text": part.text}
    kind = part.mime_type or "image/jpeg"
    if not part.detail:
        return {"type": "image", "base64": part.base64_image, "mime_type": kind}
    url = f"data:{kind};base64,{part.base64_image}"
    return {"type": "image_url", "image_url": {"url": url, "detail": part.detail}}


def to_plait(reply: Any) -> Any:
    """A model's message of Haystack's as plait's."""
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
    message.name = reply.name
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


__all__ = ["Kinds", "conversation", "read_piece", "to_haystack", "to_plait"]
