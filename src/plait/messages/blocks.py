"""Content blocks: what each form of content is in the one standard form of `content.py`.

Read here: LangChain's standard blocks (new and old), OpenAI's chat blocks, Anthropic's blocks. What
is unknown is kept as a `non_standard` block.
"""

from __future__ import annotations

from typing import Any, cast

from plait.common.ids import new_id
from plait.messages.ai import LC_AUTO_PREFIX, AIMessageChunk
from plait.messages.foreign import kind_of

Block = dict[str, Any]

DATA_TYPES = ("image", "video", "audio", "text-plain", "file")
KNOWN_BLOCK_TYPES = {
    *DATA_TYPES,
    "text",
    "reasoning",
    "tool_call",
    "invalid_tool_call",
    "tool_call_chunk",
    "non_standard",
    "server_tool_call",
    "server_tool_call_chunk",
    "server_tool_result",
}
AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mp3"}


def ensure_id(id_val: str | None) -> str:
    """The id, or a new one in LangChain's form if there is none.

    >>> ensure_id("mine")
    'mine'
    """
    return id_val or f"{LC_AUTO_PREFIX}{new_id()}"


def is_data_content_block(block: Block) -> bool:
    """Whether a block carries data (image, video, audio, file), in the new or the old form.

    >>> is_data_content_block({"type": "image", "url": "https://example.com/a.png"})
    True
    """
    if block.get("type") not in DATA_TYPES:
        return False
    if any(key in block for key in ("url", "base64", "file_id", "text")):
        return True
    return block.get("source_type") in ("url", "base64", "id", "text")


def message_blocks(message: Any) -> list[Block]:
    """The content blocks of a message."""
    kind = kind_of(message)
    content = message.content
    if isinstance(message, AIMessageChunk) and not content and message.chunk_position != "last":
        return thoughts(message) + [chunk_block(cast("Block", c)) for c in message.tool_call_chunks]
    if message.response_metadata.get("output_version") == "v1" and isinstance(content, list):
        return cast("list[Block]", content)
    items = [content] if content and isinstance(content, str) else content
    anthropic = message.response_metadata.get("model_provider") == "anthropic"
    blocks = [standard(item, anthropic) for item in items]
    if kind == "ai":
        if not any(b["type"] == "reasoning" for b in blocks):
            blocks = thoughts(message) + blocks
        known = {b.get("id") for b in blocks if b["type"] == "tool_call"}
        calls = cast("list[Block]", message.tool_calls)
        blocks += [call_block(c) for c in calls if c["id"] not in known]
    return blocks


def thoughts(message: Any) -> list[Block]:
    """What a model thought, where its provider keeps that beside the content."""
    thought = message.additional_kwargs.get("reasoning_content")
    return [{"type": "reasoning", "reasoning": thought}] if isinstance(thought, str) else []


def call_block(call: Block) -> Block:
    """A tool call as a block."""
    return {"type": "tool_call", "id": call["id"], "name": call["name"], "args": call["args"]}


def chunk_block(chunk: Block) -> Block:
    """A tool call chunk as a block."""
    block = {"type": "tool_call_chunk", **{k: chunk[k] for k in ("id", "name", "args")}}
    return block if chunk["index"] is None else {**block, "index": chunk["index"]}


def standard(item: Any, anthropic: bool) -> Block:
    """One item of content in standard form."""
    if isinstance(item, str):
        return {"type": "text", "text": item}
    block = cast("Block", item)
    kind = block.get("type")
    read = from_anthropic(block) if anthropic else None
    read = read or from_source(block) or from_openai(block) or from_old(block)
    if read is not None:
        return read
    if kind in KNOWN_BLOCK_TYPES:
        return block
    if kind is None and isinstance(block.get("text"), str) and len(block) == 1:
        return {"type": "text", **block}
    return {"type": "non_standard", "value": block}


def from_anthropic(block: Block) -> Block | None:
    """Anthropic's thinking and tool use."""
    kind = block.get("type")
    if kind == "thinking":
        extras = {k: v for k, v in block.items() if k not in ("type", "thinking", "index")}
        return with_extras({"type": "reasoning", "reasoning": block.get("thinking", "")}, extras)
    if kind == "tool_use":
        call = {"name": block.get("name"), "args": block.get("input"), "id": block.get("id")}
        return {"type": "tool_call", **call}
    return None


def from_source(block: Block) -> Block | None:
    """Anthropic's images and documents, whose data stand under `source`.

    What else such a block says (its title, its `cache_control`) is in the extras.
    """
    source = block.get("source")
    kind = {"image": "image", "document": "file"}.get(block.get("type", ""))
    if kind is None or not isinstance(source, dict):
        return None
    given = cast("Block", source)
    mime = {"mime_type": given["media_type"]} if "media_type" in given else {}
    match given.get("type"):
        case "base64":
            read = {"type": kind, "base64": given.get("data"), **mime}
        case "url":
            read = {"type": kind, "url": given.get("url")}
        case "file":
            read = {"type": kind, "file_id": given.get("file_id")}
        case "text" if kind == "file":
            read = {"type": "text-plain", "text": given.get("data"), "mime_type": "text/plain"}
            read |= mime
        case _:
            return None
    return with_extras(read, {k: v for k, v in block.items() if k not in ("type", "source")})


def with_extras(block: Block, rest: Block) -> Block:
    """A block with what it says beyond its standard fields, if that is anything."""
    return {**block, "extras": rest} if rest else block


def split_data_url(url: str) -> Block:
    """A url, or the data and MIME type of a `data:` url."""
    head, comma, data = url.partition(",")
    if url.startswith("data:") and comma and head.endswith(";base64"):
        return {"base64": data, "mime_type": head[len("data:") : -len(";base64")]}
    return {"url": url}


def from_openai(block: Block) -> Block | None:
    """OpenAI's image, audio and file blocks; what stands beside their data is in the extras."""
    kind = block.get("type")
    given = block.get(kind) if kind in ("image_url", "input_audio", "file") else None
    if not isinstance(given, dict):
        return None
    data = cast("Block", given)
    new: Block = {"id": ensure_id(block.get("id"))}
    if "index" in block:
        new["index"] = block["index"]
    if kind == "image_url":
        read = {"type": "image", **new, **split_data_url(data.get("url", ""))}
        rest = {k: v for k, v in data.items() if k != "url"}
    elif kind == "input_audio":
        mime = AUDIO_TYPES.get(data.get("format", ""), f"audio/{data.get('format')}")
        read = {"type": "audio", **new, "base64": data.get("data"), "mime_type": mime}
        rest = {}
    else:
        if "file_id" in data:
            source: Block = {"file_id": data["file_id"]}
        else:
            source = split_data_url(data.get("file_data", ""))
        read = {"type": "file", **new, **source}
        rest = {k: v for k, v in data.items() if k not in ("file_id", "file_data")}
    beside = {k: v for k, v in block.items() if k not in ("type", "id", "index", kind)}
    return with_extras(read, beside | rest)


def from_old(block: Block) -> Block | None:
    """LangChain's older data blocks, which name their `source_type`."""
    source = block.get("source_type")
    kind = block.get("type")
    if source is None or kind not in DATA_TYPES:
        return None
    known = ("type", "source_type", "data", "url", "id", "text", "mime_type")
    read: Block = {"type": "text-plain" if source == "text" else kind}
    if source == "id":
        read["file_id"] = block.get("id")
    elif "id" in block:
        read["id"] = block["id"]
    if source == "base64":
        read["base64"] = block.get("data")
    if source in ("url", "text"):
        read[source] = block.get(source)
    if "mime_type" in block:
        read["mime_type"] = block["mime_type"]
    return with_extras(read, {k: v for k, v in block.items() if k not in known})
