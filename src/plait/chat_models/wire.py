"""What all providers' wire formats share: media, the order of blocks and calls, streamed text.

The content of a message that came over a wire is text where that says all, else a list of standard
blocks (`plait.messages.content`). A block's `index` is its place in the provider's answer; tool
calls stand in the places that the blocks leave free.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from plait.common.ids import new_id
from plait.errors import InvalidInputError
from plait.messages import AIMessageChunk, add_usage
from plait.messages.blocks import standard
from plait.messages.calls import split_calls

Block = dict[str, Any]
ITS_OWN = ("non_standard", "server_tool_call", "server_tool_result")
"""Blocks that only the provider takes whose model said them."""


class Media(NamedTuple):
    """An image, sound, video or file: its data as base64, its url, or its id at the provider."""

    kind: str
    mime_type: str | None
    base64: str | None
    url: str | None
    file_id: str | None
    name: str | None


def media_of(block: Block) -> Media | None:
    """The media in a standard block, if it is one.

    >>> media_of({"type": "image", "url": "https://x/y.png"}).url
    'https://x/y.png'
    """
    kind = block.get("type")
    if kind not in ("image", "audio", "video", "file", "text-plain"):
        return None
    extras: Block = block.get("extras") or {}
    named = (extras.get(key) for key in ("filename", "name", "title"))
    name = block.get("filename") or next(filter(None, named), None)
    data = block.get("base64")
    if kind == "text-plain" and data is None and "text" in block:
        return Media(kind, "text/plain", None, None, None, block.get("title") or name)
    return Media(kind, block.get("mime_type"), data, block.get("url"), block.get("file_id"), name)


def standard_blocks(content: Any, provider: str | None = None) -> Iterator[Block]:
    """The blocks of a content in standard form, whichever form they have; no empty text."""
    items = [content] if isinstance(content, str) else cast("Sequence[Any]", content)
    for item in items:
        if item != "":
            yield standard(item, provider == "anthropic")


def ordered(message: Any, provider: str) -> Iterator[Block]:
    """What a model said: its blocks, and its tool calls in the places that they leave free.

    Calls come as `tool_call` blocks; of those that could not be read, `args` is the text that came.
    What a model of another provider said in that one's own form is left out (citations, tools that
    it ran): a conversation may go on with this one.
    """
    said_by = message.response_metadata.get("model_provider")
    is_guest = isinstance(said_by, str) and not said_by.startswith(provider)
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    waiting = iter([{**call, "type": "tool_call"} for call in calls])
    left, place = len(calls), 0
    for block in standard_blocks(message.content, provider):
        if block.get("type") in ("tool_call", "tool_call_chunk", "invalid_tool_call"):
            continue  # the message's own calls say it
        if is_guest:
            if block.get("type") in ITS_OWN:
                continue
            block = {key: value for key, value in block.items() if key != "annotations"}
        at = block.get("index")
        while left and isinstance(at, int) and place < at:
            yield next(waiting)
            left, place = left - 1, place + 1
        yield block
        place = at + 1 if isinstance(at, int) else place + 1
    yield from waiting


def calls_of(calls: Sequence[Block], told: Block) -> dict[str, list[Any]]:
    """`tool_calls` and `invalid_tool_calls` of an answer (see `split_calls`); those that it has."""
    good, bad = split_calls(calls, told)
    return {key: kept for key, kept in (("tool_calls", good), ("invalid_tool_calls", bad)) if kept}


def made_id() -> str:
    """The id of a call to which its provider gave none: without one, nothing can answer it.

    OpenAI, which may be asked next, takes ids of up to 40 letters.

    >>> len(made_id())
    37
    """
    return f"call_{new_id().replace('-', '')}"


def args_text(call: Mapping[str, Any]) -> str:
    """The arguments of a call as JSON text; those of an invalid call as they came."""
    args = call["args"]
    return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)


def simplest(blocks: Sequence[Block]) -> str | list[Any]:
    """A content: text if one block of bare text says all.

    >>> simplest([{"type": "text", "text": "hi", "index": 0}])
    'hi'
    """
    if not blocks:
        return ""
    if len(blocks) == 1 and blocks[0].keys() <= {"type", "text", "index"}:
        return blocks[0].get("text", blocks)
    return list(blocks)


def text_chunk(text: str, index: int, as_text: bool) -> AIMessageChunk:
    """A streamed piece of text: bare while nothing but the text matters, else a block."""
    content: Any = text if as_text else [{"type": "text", "text": text, "index": index}]
    return AIMessageChunk(content)


def stays_text(chunk: AIMessageChunk) -> bool:
    """Whether the text that follows a chunk may be bare: beside blocks, text is a block, too."""
    return not (isinstance(chunk.content, list) and chunk.content)


def call_chunk(
    index: int,
    args: str | None = None,
    *,
    name: str | None = None,
    call_id: str | None = None,
    as_text: bool = True,
) -> AIMessageChunk:
    """A streamed piece of a tool call; empty in the form that the content has."""
    piece = {"name": name, "args": args, "id": call_id, "index": index}
    return AIMessageChunk("" if as_text else [], tool_call_chunks=[piece])


def introduced(chunk: AIMessageChunk, told: Mapping[str, Any], usage: Any) -> AIMessageChunk:
    """A first chunk, with what the provider said before it.

    (A chunk of its own would make content that is a list begin with an empty text.)
    """
    chunk.response_metadata = {**told, **chunk.response_metadata}
    if usage:
        chunk.usage_metadata = add_usage(usage, chunk.usage_metadata)
    return chunk


def part_of(block: Mapping[str, Any], key: str) -> Block:
    """The dict under a key; an empty one if there is none.

    >>> part_of({"extras": None}, "extras")
    {}
    """
    value = block.get(key)
    return cast("Block", value) if isinstance(value, dict) else {}


def present(**values: Any) -> dict[str, Any]:
    """The values that are not None, by name."""
    return {name: value for name, value in values.items() if value is not None}


def unsupported(provider: str, block: Block, instead: str) -> InvalidInputError:
    """The error for a block that a provider's wire has no form for."""
    shown = {k: v if len(str(v)) < 80 else f"{str(v)[:60]}..." for k, v in block.items()}
    return InvalidInputError(f"{provider} takes no {block.get('type')!r} block: {shown}. {instead}")


def described(tool: Any) -> Block:
    """Name, description and JSON schema of the parameters of any kind of tool."""
    if isinstance(tool, Mapping):
        given = cast("Block", tool)
        if "input_schema" in given:  # Anthropic's form
            renamed = {"parameters" if k == "input_schema" else k: v for k, v in given.items()}
            return {k: v for k, v in renamed.items() if k in ("name", "description", "parameters")}
        if isinstance(given.get("function"), dict):
            return given["function"]
        if given.get("type") == "function" and "name" in given:  # the form of the responses API
            return {k: v for k, v in given.items() if k != "type"}
    from plait.utils.function_calling import convert_to_openai_tool  # loads pydantic

    return convert_to_openai_tool(cast("Any", tool))["function"]


def extras_of(tool: Any, known: Sequence[str]) -> Block:
    """What a tool's `extras` say to a provider that knows these.

    >>> from plait.tools import StructuredTool
    >>> extras = {"defer_loading": True, "x": 1}
    >>> find = StructuredTool.from_function(len, description="Find.", extras=extras)
    >>> extras_of(find, ["defer_loading"])
    {'defer_loading': True}
    """
    given: Block = getattr(tool, "extras", None) or {}
    return {key: given[key] for key in known if key in given}


def is_builtin(tool: Any) -> bool:
    """Whether a tool is one that the provider runs itself, in the provider's own form."""
    if not isinstance(tool, Mapping):
        return False
    kind = cast("Block", tool).get("type")
    return kind not in (None, "function", "object") and "input_schema" not in tool
