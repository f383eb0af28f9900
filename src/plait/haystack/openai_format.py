"""Messages in the form of OpenAI's chat API, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from plait.errors import InvalidValueError
from plait.haystack.images import ImageContent
from plait.haystack.messages import ChatMessage, ChatRole, TextContent, ToolCall


def to_openai(message: ChatMessage, require_ids: bool) -> dict[str, Any]:
    """A message as OpenAI's chat API takes it.

    Raises:
        InvalidValueError: It has no such form, or a tool call has no id.
    """
    held = (message.texts, message.tool_calls, message.tool_call_results, message.images)
    if not any(held):
        raise InvalidValueError(
            "OpenAI takes a message with a text, an image, a tool call or a result; this one has "
            "none of them."
        )
    made: dict[str, Any] = {"role": message.role.value}
    if message.name:
        made["name"] = message.name
    if message.is_from(ChatRole.USER):
        return {**made, "content": _of_user(message)}
    if (result := message.tool_call_result) is not None:
        if len(message) > 1:
            raise InvalidValueError(
                "OpenAI takes the result of a tool call alone. Make a message of each result."
            )
        return {**made, "content": result.result, **_id(result.origin, "tool_call_id", require_ids)}
    if message.texts:
        made["content"] = message.texts[0]
    if message.tool_calls:
        made["tool_calls"] = [_call(call, require_ids) for call in message.tool_calls]
    return made


def _of_user(message: ChatMessage) -> Any:
    if len(message) == 1 and message.text is not None:
        return message.text
    parts: Sequence[Any] = cast("Any", message)._content  # texts and images, in their order
    return [_part(part) for part in parts if isinstance(part, (TextContent, ImageContent))]


def _part(part: TextContent | ImageContent) -> dict[str, Any]:
    if isinstance(part, TextContent):
        return {"type": "text", "text": part.text}
    shown = {"url": f"data:{part.mime_type or 'image/jpeg'};base64,{part.base64_image}"}
    if part.detail:
        shown["detail"] = part.detail
    return {"type": "image_url", "image_url": shown}


def _call(call: ToolCall, require_id: bool) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    function = {"name": call.tool_name, "arguments": arguments}
    return {"type": "function", "function": function, **_id(call, "id", require_id)}


def _id(call: ToolCall, key: str, required: bool) -> dict[str, str]:
    if call.id is not None:
        return {key: call.id}
    if required:
        raise InvalidValueError(f"OpenAI needs an id of the call of {call.tool_name!r}.")
    return {}


def from_openai(message: Mapping[str, Any]) -> ChatMessage:
    """A message in OpenAI's form.

    Raises:
        InvalidValueError: A field is missing or unknown.
    """
    role, content, name = message.get("role"), message.get("content"), message.get("name")
    if role is None:
        raise InvalidValueError(f"A message needs a 'role'. There are: {sorted(message)}.")
    if role == "assistant":
        calls = message.get("tool_calls")
        if not content and not calls:
            raise InvalidValueError("An assistant's message needs 'content' or 'tool_calls'.")
        return ChatMessage.from_assistant(
            content or None, name=name, tool_calls=[_read_call(call) for call in calls or ()]
        )
    if role not in ("user", "system", "developer", "tool"):
        raise InvalidValueError(f"Unknown role {role!r} of a message of OpenAI's.")
    if not content:
        raise InvalidValueError(f"A {role}'s message needs 'content'.")
    if role == "tool":
        return ChatMessage.from_tool(content, ToolCall("", {}, message.get("tool_call_id")))
    if role == "user":
        if isinstance(content, list):
            return ChatMessage.from_user(content_parts=_read_parts(cast("list[Any]", content)))
        return ChatMessage.from_user(content, name=name)
    return ChatMessage.from_system(content, name=name)


def _read_call(call: Mapping[str, Any]) -> ToolCall:
    function = call.get("function")
    if not function:
        raise InvalidValueError(f"A tool call needs a 'function': {dict(call)!r:.200}")
    return ToolCall(function["name"], json.loads(function["arguments"]), call.get("id"))


def _read_parts(parts: list[Any]) -> list[Any]:
    return [_read_part(part) for part in parts]


def _read_part(part: Any) -> TextContent | ImageContent:
    if part.get("type") == "text":
        return TextContent(part["text"])
    shown: Mapping[str, Any] = part.get("image_url") or {}
    kind, found, data = str(shown.get("url")).removeprefix("data:").partition(";base64,")
    if not found:
        raise InvalidValueError(
            f"Only texts, and images with their data, are read: {part!r:.200}. Make the message "
            "with ChatMessage.from_user(content_parts=[..., ImageContent.from_url(...)])."
        )
    return ImageContent(data, kind or None, shown.get("detail"))


__all__ = ["from_openai", "to_openai"]
