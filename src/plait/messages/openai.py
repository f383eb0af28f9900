"""Messages in the form that OpenAI's chat API takes."""

from __future__ import annotations

import json
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from json import encoder
from typing import Any, Literal, cast

from plait.messages.ai import AIMessage
from plait.messages.blocks import DATA_TYPES, is_data_content_block
from plait.messages.convert import convert_to_messages
from plait.messages.foreign import is_message, kind_of
from plait.messages.human import HumanMessage
from plait.messages.system import SystemMessage
from plait.messages.tokens import role_of
from plait.messages.tool import ToolMessage

Block = dict[str, Any]

_make_scanner: Any = getattr(encoder, "c_make_encoder", None)


def _scan(value: Any, level: int) -> Iterable[str]:
    """A value as pieces of JSON text."""
    return (json.dumps(value, ensure_ascii=False),)


_quoted: Callable[[str], str] = encoder.encode_basestring  # pyright: ignore
if _make_scanner is not None:
    # json.dumps makes an encoder, and that one a scanner in C, for each call: three times the work.
    _default = json.JSONEncoder().default
    _scan = _make_scanner(None, _default, _quoted, None, ": ", ", ", False, False, True)


_MANY = 4096
_first: dict[Any, str] = {}
_further: dict[Any, str] = {}
"""Names of arguments as JSON text, after what comes before the first and before further ones: tools
are called with the same names again and again."""


def _named(name: str, names: dict[Any, str]) -> str:
    if len(names) >= _MANY:
        names.clear()
    text = names[name] = f"{'{' if names is _first else ', '}{_quoted(name)}: "
    return text


def to_json(value: Any) -> str:
    """A value as JSON text, as `json.dumps(value, ensure_ascii=False)` writes it.

    The arguments of most calls are a few texts and numbers under names. They are written here: for
    so little, the scanner's own costs are more than its work.
    """
    given: dict[Any, Any] = value  # a cast() would be a call
    try:
        if type(given) is not dict:
            return "".join(_scan(value, 0))
        text, names = "", _first
        for name, item in given.items():
            known = names.get(name)
            if known is None:
                if type(name) is not str:
                    return "".join(_scan(value, 0))
                known = _named(name, names)
            text += known
            names = _further
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]
            if kind is str:
                text += _quoted(item)
            else:
                text += str(item) if kind is int else "".join(_scan(item, 0))
        return text + "}" if text else "{}"
    except RecursionError:  # a circle, or very deep: json says which
        return json.dumps(value, ensure_ascii=False)


def convert_to_openai_messages(
    messages: Any,
    *,
    text_format: Literal["string", "block"] = "string",
    include_id: bool = False,
    pass_through_unknown_blocks: bool = True,
) -> Any:
    """OpenAI message dicts for messages whose content is in OpenAI's, Anthropic's or other forms.

    Args:
        messages: One message-like value, or a sequence of them.
        text_format: "string" joins content that is only text; "block" makes every text a block.
        include_id: Whether the dicts carry the messages' ids.
        pass_through_unknown_blocks: Keep unknown blocks; else they raise.
    Returns:
        A dict for one message, a list of dicts for several.
    Raises:
        ValueError: a block cannot be converted, or `text_format` is unknown.

    >>> convert_to_openai_messages("hi")
    {'role': 'user', 'content': 'hi'}
    """
    if text_format not in ("string", "block"):
        raise ValueError(f"Unrecognized {text_format=}, expected one of 'string' or 'block'.")
    single = isinstance(messages, (str, Mapping)) or is_message(messages)
    converted: list[Block] = []
    if type(cast("Any", messages)) is list and text_format == "string" and not include_id:
        plain = plain_messages(cast("list[Any]", messages))
        if plain is not None:
            return plain
    for n, message in enumerate(convert_to_messages(messages)):
        reader = BlockReader(n, text_format == "block", pass_through_unknown_blocks)
        converted += reader.message(message, include_id)
    return converted[0] if single else converted


def plain_messages(messages: list[Any]) -> list[Block] | None:
    """The dicts of messages whose contents are all text, as most are; None if one is more.

    One loop, with lines for each class: agents convert whole histories at every turn, and the
    interpreter reads a slot fast where it always meets the same class.
    """
    converted: list[Block] = []
    add = converted.append
    made: Block
    try:
        for message in messages:
            kind = type(message)  # pyright: ignore[reportUnknownVariableType]
            if kind is AIMessage:
                content, rare = message.content, message.__plait_rare__
                if rare is not None and "tool_calls" in rare and (given := rare["tool_calls"]):
                    calls: list[Block] = []
                    for call in given:
                        function = {"name": call["name"], "arguments": to_json(call["args"])}
                        calls.append({"type": "function", "id": call["id"], "function": function})
                    made = {"role": "assistant", "tool_calls": calls, "content": content}
                else:
                    made = {"role": "assistant", "content": content}
            elif kind is HumanMessage:
                content, rare = message.content, message.__plait_rare__
                made = {"role": "user", "content": content}
            elif kind is ToolMessage:
                content, rare = message.content, message.__plait_rare__
                made = {"role": "tool", "tool_call_id": rare["tool_call_id"], "content": content}
            elif kind is SystemMessage:
                content, rare = message.content, message.__plait_rare__
                made = {"role": "system", "content": content}
            else:
                return None
            if type(content) is not str:
                return None
            if rare is not None and ("additional_kwargs" in rare or "name" in rare):
                if rare.get("additional_kwargs"):
                    return None
                if name := rare.get("name"):  # in its place, as the slower way has it
                    made = {"role": made["role"], "name": name, **made}
            add(made)
    except KeyError:  # a tool call without its parts: the slower way says what is missing
        return None
    return converted


class BlockReader:
    """Converts one message: its blocks become content, tool calls, or messages of their own."""

    def __init__(self, position: int, as_blocks: bool, pass_unknown: bool) -> None:
        self.position = position
        self.as_blocks = as_blocks
        self.pass_unknown = pass_unknown
        self.content: list[Block] = []
        self.calls: list[Block] = []
        self.results: list[Any] = []

    def message(self, message: Any, include_id: bool) -> list[Block]:
        """The dict of the message, and those of the tool results inside it."""
        head: Block = {"role": role_of(message)}
        kind = kind_of(message)
        if message.name:
            head["name"] = message.name
        if kind == "ai" and message.tool_calls:
            self.calls = [
                openai_call(c["id"], c["name"], to_json(c["args"])) for c in message.tool_calls
            ]
            head["tool_calls"] = self.calls
        if kind == "ai" and "refusal" in message.additional_kwargs:
            head["refusal"] = message.additional_kwargs["refusal"]
        if kind == "tool":
            head["tool_call_id"] = message.tool_call_id
        if include_id and message.id:
            head["id"] = message.id
        content = self.convert(message.content)
        if self.calls:
            head["tool_calls"] = self.calls
        own = [] if self.results and not content else [{**head, "content": content}]
        nested = [
            BlockReader(self.position, self.as_blocks, self.pass_unknown) for _ in self.results
        ]
        return own + [
            d for r, m in zip(nested, self.results, strict=True) for d in r.message(m, False)
        ]

    def convert(self, content: Any) -> Any:
        """The content in OpenAI's form."""
        if isinstance(content, str):
            text: list[Block] = [{"type": "text", "text": content}] if content else []
            return text if self.as_blocks else content
        for n, block in enumerate(content):
            self.block(n, {"type": "text", "text": block} if isinstance(block, str) else block)
        if self.as_blocks or any(b["type"] != "text" for b in self.content):
            return self.content
        return "\n".join(b["text"] for b in self.content)

    def block(self, n: int, block: Block) -> None:
        """Reads one block."""
        kind = block.get("type")
        if kind is None:
            kind = next((k for k in UNTYPED if k in block), None)
        if kind is None or (kind == "json" and "json" not in block):
            self.unknown(n, block)
        elif kind == "text":
            if "text" not in block:
                raise self.error(n, block, "has 'type': 'text' but does not have a 'text' key")
            self.content.append({"type": "text", "text": block["text"]})
        elif kind == "image_url":
            self.need(n, block, "image_url")
            self.content.append({"type": "image_url", "image_url": block["image_url"]})
        elif kind == "input_audio" and "input_audio" in block:
            self.content.append({"type": "input_audio", "input_audio": block["input_audio"]})
        elif kind == "file" and "file" in block:
            self.content.append({"type": "file", "file": named_file(block["file"])})
        elif kind in DATA_TYPES and is_data_content_block(block):
            self.content.append(convert_to_openai_data_block(block))
        elif kind in ("image", "media"):
            self.content.append(self.image(n, block, kind))
        elif kind in READERS:
            READERS[kind](self, n, block)
        else:
            self.unknown(n, block)

    def image(self, n: int, block: Block, kind: str) -> Block:
        """An image in Anthropic's, Bedrock's or VertexAI's form."""
        if kind == "media":
            self.need(n, block, "mime_type", "data")
            if not str(block["mime_type"]).startswith("image"):
                raise ValueError(
                    "OpenAI messages can only support text and image data. Received content block "
                    f"with media of type: {block['mime_type']}"
                )
            return image_url(block["mime_type"], block["data"])
        if isinstance(block.get("source"), dict):
            source = cast("Block", block["source"])
            missing = [k for k in ("media_type", "type", "data") if k not in source]
            if missing:
                raise self.error(
                    n,
                    block,
                    f"has 'type': 'image' but 'source' is missing expected key(s) {missing}",
                )
            return image_url(source["media_type"], source["data"])
        if isinstance(block.get("image"), dict):
            image = cast("Block", block["image"])
            return image_url(f"image/{image['format']}", image["source"]["bytes"])
        raise self.error(
            n, block, "has 'type': 'image' but does not have a 'source' or 'image' key"
        )

    def thought(self, n: int, block: Block) -> None:
        """What a model thought: known, and kept as it is."""
        self.content.append(block)

    def tool_use(self, n: int, block: Block) -> None:
        """Anthropic's tool call; left out when the message's own calls have it."""
        self.need(n, block, "id", "name", "input")
        self.add_call(block["id"], block["name"], block["input"])

    def function_call(self, n: int, block: Block) -> None:
        """A call in the form of OpenAI's responses API; the block stays where unknown ones do."""
        self.need(n, block, "call_id", "name", "arguments")
        self.add_call(block["call_id"], block["name"], block["arguments"])
        if self.pass_unknown:
            self.content.append(block)

    def add_call(self, call_id: Any, name: str, args: Any) -> None:
        """Adds a tool call that is not there yet."""
        if not any(c["id"] == call_id for c in self.calls):
            self.calls.append(openai_call(call_id, name, args))

    def tool_result(self, n: int, block: Block) -> None:
        """Anthropic's tool result: a message of its own."""
        self.need(n, block, "tool_use_id", "content")
        status = "error" if block.get("is_error") else "success"
        self.results.append(
            ToolMessage(block["content"], tool_call_id=block["tool_use_id"], status=status)
        )

    def json(self, n: int, block: Block) -> None:
        """Bedrock's JSON, as text."""
        self.need(n, block, "json")
        self.content.append({"type": "text", "text": json.dumps(block["json"])})

    def guard(self, n: int, block: Block) -> None:
        """Bedrock's guarded text, as text."""
        guarded: Block = block.get("guard_content") or block.get("guardContent") or {}
        text: Any = guarded.get("text")
        text = cast("Block", text).get("text") if isinstance(text, dict) else text
        if text is None:
            raise self.error(n, block, "has guarded content, but no text in it")
        self.content.append({"type": "text", "text": text})

    def unknown(self, n: int, block: Block) -> None:
        """Keeps an unknown block, or raises."""
        if not self.pass_unknown or "type" not in block:
            problem = "does not match OpenAI, Anthropic, Bedrock Converse, or VertexAI format"
            raise self.error(n, block, problem)
        self.content.append(block)

    def need(self, n: int, block: Block, *keys: str) -> None:
        """Raises if a key is missing."""
        missing = [k for k in keys if k not in block]
        if missing:
            raise self.error(
                n, block, f"has 'type': {block.get('type')!r} but does not have key(s) {missing}"
            )

    def error(self, n: int, block: Block, problem: str) -> ValueError:
        """The error for a block that cannot be converted."""
        at = f"messages[{self.position}].content[{n}]"
        return ValueError(
            f"Unrecognized content block at {at} {problem}. Full content block:\n\n{block}"
        )


UNTYPED = ("text", "image", "json", "guardContent")
READERS = {
    "reasoning": BlockReader.thought,
    "thinking": BlockReader.thought,
    "tool_use": BlockReader.tool_use,
    "function_call": BlockReader.function_call,
    "tool_result": BlockReader.tool_result,
    "json": BlockReader.json,
    "guard_content": BlockReader.guard,
    "guardContent": BlockReader.guard,
}


def openai_call(call_id: Any, name: str, args: Any) -> Block:
    """A tool call in OpenAI's form; arguments that are text are taken as they are."""
    text = args if isinstance(args, str) else to_json(args)
    return {"type": "function", "id": call_id, "function": {"name": name, "arguments": text}}


def image_url(mime_type: str, data: Any) -> Block:
    """An image block with its data inside."""
    text = b64encode(data).decode() if isinstance(data, bytes) else data
    return {"type": "image_url", "image_url": {"url": f"data:{mime_type};base64,{text}"}}


def convert_to_openai_image_block(block: Block) -> Block:
    """A standard image block in the form of OpenAI's chat API.

    Raises:
        ValueError: the image is neither a url nor data with a MIME type.
    """
    if "url" in block:
        return {"type": "image_url", "image_url": {"url": block["url"]}}
    data = block.get("base64", block.get("data"))
    if data is None:
        raise ValueError("Unsupported source type. Only 'url' and 'base64' are supported.")
    if "mime_type" not in block:
        raise ValueError("mime_type key is required for base64 data.")
    return image_url(block["mime_type"], data)


def convert_to_openai_data_block(
    block: Block, api: Literal["chat/completions", "responses"] = "chat/completions"
) -> Block:
    """A standard data block in the form of one of OpenAI's APIs.

    Raises:
        ValueError: OpenAI cannot take such a block, or a key is missing.
    """
    match block.get("type"):
        case "image":
            made = convert_to_openai_image_block(block)
            if api == "responses":
                return {"type": "input_image", "image_url": made["image_url"]["url"]}
            return made
        case "file":
            return file_block(block, api)
        case "audio":
            data = block.get("base64", block.get("data"))
            if data is None or "mime_type" not in block:
                raise ValueError("Keys base64 and mime_type are required for audio blocks.")
            audio = {"data": data, "format": block["mime_type"].split("/")[-1]}
            return {"type": "input_audio", "input_audio": audio}
        case kind:
            raise ValueError(f"Block of type {kind} is not supported.")


def named_file(file: Block) -> Block:
    """A file that is sent as data, with a name: OpenAI may refuse it without."""
    if "file_data" not in file or file.get("filename"):
        return file
    return {**file, "filename": "LC_AUTOGENERATED"}


def file_block(block: Block, api: str) -> Block:
    """A file for OpenAI: data with a name, an uploaded file's id, or (responses only) a url."""
    data = block.get("base64", block.get("data"))
    old_id = block.get("id") if block.get("source_type") == "id" else None
    file_id = block.get("file_id") or old_id
    if data is not None:
        if "mime_type" not in block:
            raise ValueError("mime_type key is required for base64 data.")
        nested: Block = block.get("extras") or block.get("metadata") or {}
        name = block.get("filename") or nested.get("filename") or nested.get("name")
        if not name:
            warnings.warn(
                "OpenAI may require a filename for file uploads. Put one into the block: "
                "{'type': 'file', ..., 'filename': 'my-file.pdf'}. Using 'LC_AUTOGENERATED'.",
                stacklevel=3,
            )
            name = "LC_AUTOGENERATED"
        made: Block = {"file_data": f"data:{block['mime_type']};base64,{data}", "filename": name}
    elif file_id:
        made = {"file_id": file_id}
    elif "url" in block:
        if api == "chat/completions":
            raise ValueError("OpenAI Chat Completions does not support file URLs.")
        made = {"file_url": block["url"]}
    else:
        raise ValueError("Keys base64, url, or file_id required for file blocks.")
    return {"type": "input_file", **made} if api == "responses" else {"type": "file", "file": made}
