"""A conversation as one string, for prompts and logs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape as escape_html
from typing import Any, Literal

from plait.messages.foreign import kind_of

MAX_ID = 64
MAX_TEXT = 500


def escape(text: str) -> str:
    """Text inside an XML element."""
    return escape_html(text, quote=False)


def quote(value: Any) -> str:
    """An XML attribute value, in quotes."""
    text = escape(str(value)).replace("\n", "&#10;").replace("\t", "&#9;").replace("\r", "&#13;")
    if '"' not in text:
        return f'"{text}"'
    return f"'{text}'" if "'" not in text else '"' + text.replace('"', "&quot;") + '"'


def shorten(text: str, limit: int) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= limit else text[:limit] + "..."


def get_buffer_string(
    messages: Sequence[Any],
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    *,
    system_prefix: str = "System",
    function_prefix: str = "Function",
    tool_prefix: str = "Tool",
    message_separator: str = "\n",
    format: Literal["prefix", "xml"] = "prefix",
) -> str:
    """The messages as one string, each as `Role: text`, or as an XML element.

    Args:
        messages: The messages.
        human_prefix: What stands for the role; the other prefixes likewise.
        message_separator: What stands between messages.
        format: "prefix", or "xml" where contents may look like roles.
    Raises:
        ValueError: a message has no role that could be written, or `format` is unknown.

    >>> from plait.messages import AIMessage, HumanMessage
    >>> print(get_buffer_string([HumanMessage("hi"), AIMessage("hello")]))
    Human: hi
    AI: hello
    """
    if format not in ("prefix", "xml"):
        raise ValueError(f"Unrecognized {format=}. Supported formats are 'prefix' and 'xml'.")
    prefixes = {
        "human": human_prefix,
        "ai": ai_prefix,
        "system": system_prefix,
        "function": function_prefix,
        "tool": tool_prefix,
    }
    lines: list[str] = []
    for message in messages:
        kind = kind_of(message) or ""
        prefix = message.role if kind == "chat" else prefixes.get(kind)
        if prefix is None:
            raise ValueError(f"Got unsupported message type: {message}")
        if format == "xml":
            lines.append(xml_line(message, prefix if kind == "chat" else prefix.lower()))
        else:
            lines.append(f"{prefix}: {message.text}{calls_text(message)}")
    return message_separator.join(lines)


def calls_text(message: Any) -> str:
    """The calls of a model's message, as text."""
    if kind_of(message) != "ai":
        return ""
    if message.tool_calls:
        return str(message.tool_calls)
    call = message.additional_kwargs.get("function_call")
    return "" if call is None else str(call)


def xml_line(message: Any, role: str) -> str:
    """One message as an XML element."""
    content = message.content
    parts = [content] if isinstance(content, str) else content
    body = " ".join(text for part in parts if (text := xml_block(part)))
    inner = xml_calls(message)
    if not inner:
        return f"<message type={quote(role)}>{body}</message>"
    lines = [f"<message type={quote(role)}>"]
    if body:
        lines.append(f"  <content>{body}</content>")
    return "\n".join([*lines, *inner, "</message>"])


def xml_calls(message: Any) -> list[str]:
    """The calls of a model's message, as XML elements."""
    if kind_of(message) != "ai":
        return []
    lines: list[str] = []
    for call in message.tool_calls:
        call_id = quote(shorten(call.get("id") or "", MAX_ID))
        args = escape(json.dumps(call["args"], ensure_ascii=False))
        lines.append(f"  <tool_call id={call_id} name={quote(call['name'])}>{args}</tool_call>")
    old = message.additional_kwargs.get("function_call")
    if not lines and old:
        name, args = quote(old.get("name", "")), escape(old.get("arguments", ""))
        lines.append(f"  <function_call name={name}>{args}</function_call>")
    return lines


def xml_block(block: Any) -> str | None:
    """One block of content as XML; None for what has no text form (data, unknown blocks)."""
    if isinstance(block, str):
        return escape(block)
    writer = XML_BLOCKS.get(block.get("type"))
    return None if writer is None else writer(block)


def xml_media(block: dict[str, Any]) -> str | None:
    """An image, sound or video by its address."""
    kind = block["type"]
    if "base64" in block:
        return None
    for key in ("url", "file_id"):
        value = block.get(key)
        if value and not str(value).startswith("data:"):
            return f"<{kind} {key}={quote(value)} />"
    return None


def xml_image_url(block: dict[str, Any]) -> str | None:
    """OpenAI's image block by its address."""
    given = block.get("image_url")
    url = given.get("url") if isinstance(given, dict) else None  # pyright: ignore
    return xml_media({"type": "image", "url": url})


def xml_reasoning(block: dict[str, Any]) -> str | None:
    """What a model thought, if it is told."""
    text = block.get("reasoning")
    return f"<reasoning>{escape(text)}</reasoning>" if text else None


def xml_server_call(block: dict[str, Any]) -> str:
    """A call that the provider ran."""
    args = escape(shorten(json.dumps(block.get("args", {}), ensure_ascii=False), MAX_TEXT))
    call_id, name = quote(shorten(block.get("id", ""), MAX_ID)), quote(block.get("name", ""))
    return f"<server_tool_call id={call_id} name={name}>{args}</server_tool_call>"


def xml_server_result(block: dict[str, Any]) -> str:
    """The result of a call that the provider ran."""
    output = block.get("output")
    text = (
        output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, default=str)
    )
    call_id = quote(shorten(block.get("tool_call_id", ""), MAX_ID))
    head = f"<server_tool_result tool_call_id={call_id} status={quote(block.get('status', ''))}>"
    return f"{head}{escape(shorten(text, MAX_TEXT))}</server_tool_result>"


XML_BLOCKS: dict[Any, Callable[[dict[str, Any]], str | None]] = {
    "text": lambda b: escape(b.get("text", "")),
    "reasoning": xml_reasoning,
    "image": xml_media,
    "audio": xml_media,
    "video": xml_media,
    "image_url": xml_image_url,
    "text-plain": lambda b: escape(shorten(b.get("text", ""), MAX_TEXT)),
    "server_tool_call": xml_server_call,
    "server_tool_result": xml_server_result,
}
