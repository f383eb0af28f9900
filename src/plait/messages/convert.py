"""Between messages and other forms of them: strings, tuples, dicts, chunks, stored dicts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from plait.messages.ai import AIMessage
from plait.messages.base import BaseMessage, BaseMessageChunk, restore
from plait.messages.calls import check_invalid_tool_calls, split_calls
from plait.messages.errors import InvalidMessageError, MessageCoercionError
from plait.messages.foreign import is_chunk, is_foreign, is_message
from plait.messages.function import FunctionMessage
from plait.messages.human import HumanMessage
from plait.messages.modifier import RemoveMessage
from plait.messages.system import SystemMessage
from plait.messages.tool import ToolMessage

MessageLikeRepresentation = (
    BaseMessage | list[str] | tuple[str, str | list[str | dict[str, Any]]] | str | dict[str, Any]
)
"""What `convert_to_messages` takes for a message."""

ROLES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "user": HumanMessage,
    "ai": AIMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
    "function": FunctionMessage,
    "tool": ToolMessage,
    "remove": RemoveMessage,
}
# Keys of a message dict that are fields; all others go to additional_kwargs.
FIELD_KEYS = {
    "name",
    "id",
    "tool_call_id",
    "tool_calls",
    "additional_kwargs",
    "example",
    "response_metadata",
    "artifact",
    "status",
}


_OURS: set[type[Any]] = set()
"""Classes of plait's messages seen so far."""


def convert_to_messages(messages: Any) -> list[Any]:
    """Messages from messages, strings, `(role, content)` pairs and dicts.

    Args:
        messages: An iterable of such, a prompt value, or a single one of them.
    Returns:
        A new list; messages (langchain_core's too) are kept as they are.
    Raises:
        MessageCoercionError: something cannot become a message.

    >>> [m.type for m in convert_to_messages(["hi", ("ai", "x"), {"role": "user", "content": "x"}])]
    ['human', 'ai', 'human']
    """
    if messages.__class__ is list:
        if _OURS.issuperset(map(type, messages)):
            return messages.copy()
        _OURS.update(m.__class__ for m in messages if isinstance(m, BaseMessage))
        return [m if isinstance(m, BaseMessage) else convert_to_message(m) for m in messages]
    to_messages = getattr(messages, "to_messages", None)
    if callable(to_messages):
        return cast("list[Any]", to_messages())
    if isinstance(messages, (str, Mapping)) or is_message(messages):
        return [convert_to_message(messages)]
    if not isinstance(messages, Iterable):
        return [convert_to_message(messages)]
    return [
        m if isinstance(m, BaseMessage) else convert_to_message(m)
        for m in cast("Iterable[Any]", messages)
    ]


def convert_to_message(value: Any) -> Any:
    """One message from one message-like value; see `convert_to_messages`.

    Raises:
        MessageCoercionError: it stands for no message.
    """
    if is_message(value):
        return value
    if isinstance(value, str):
        return HumanMessage(value)
    if isinstance(value, Mapping):
        return from_dict(dict(cast("Mapping[str, Any]", value)))
    if isinstance(value, Sequence):
        pair = cast("Sequence[Any]", value)
        if len(pair) != 2 or not isinstance(pair[0], str):
            raise MessageCoercionError(
                f"A sequence that stands for a message must be (role, content), got {pair!r}."
            )
        return make(pair[0], pair[1], {})
    raise MessageCoercionError(
        f"Unsupported message type: {type(value)}. Give a message, a str, a (role, content) pair, "
        "or a dict with 'role' and 'content'."
    )


def from_dict(data: dict[str, Any]) -> BaseMessage:
    """A message from a dict: OpenAI's form, `model_dump`'s, or LangChain's constructor form."""
    if data.get("type") == "constructor" and isinstance(data.get("kwargs"), dict):
        kwargs: dict[str, Any] = {k: v for k, v in data["kwargs"].items() if k != "type"}
        name = str((data.get("id") or [""])[-1])
        classes = {cls.__name__: cls for cls in ROLES.values()}
        cls = classes.get(name.removesuffix("Chunk"))  # what was streamed is whole by now
        if cls is not None:
            more = kwargs.get("additional_kwargs")
            if cls is ToolMessage and more and "artifact" in more:
                kwargs["additional_kwargs"] = {k: v for k, v in more.items() if k != "artifact"}
                kwargs.setdefault("artifact", more["artifact"])
            return cls(**kwargs)
    role = data.pop("role", None) or data.pop("type", None)
    data.pop("type", None)
    if not isinstance(role, str) or "content" not in data:
        raise MessageCoercionError(
            "Message dict must contain 'role' (or 'type') and 'content' keys, got "
            f"role {role!r} and the keys {sorted(map(str, data))}."
        )
    content = data.pop("content")
    return make(role, "" if content is None else content, data)


def make(role: str, content: Any, rest: dict[str, Any]) -> BaseMessage:
    """A message of a role; unknown keys of `rest` go to `additional_kwargs`."""
    cls = ROLES.get(role)
    if cls is None:
        known = ", ".join(repr(r) for r in ROLES if r != "remove")
        raise MessageCoercionError(f"Unexpected message type: {role!r}. Use one of {known}.")
    fields = {k: v for k, v in rest.items() if k in FIELD_KEYS and v is not None}
    extra = {k: v for k, v in rest.items() if k not in FIELD_KEYS}
    extra.update(fields.pop("additional_kwargs", {}))
    if role == "developer":
        extra["__openai_role__"] = "developer"
    if cls is ToolMessage and "artifact" in extra:
        fields["artifact"] = extra.pop("artifact")
    if cls is RemoveMessage:
        return RemoveMessage(id=fields.get("id"))
    if extra:
        fields["additional_kwargs"] = extra
    if cls is AIMessage and fields.get("tool_calls"):
        fields.update(split_tool_calls(fields.pop("tool_calls")))
    elif cls is not AIMessage:
        fields.pop("tool_calls", None)
    return cls(content, **fields)


def split_tool_calls(raw: list[Any]) -> dict[str, Any]:
    """Tool calls of a dict as fields of an `AIMessage`; OpenAI's form is read."""
    from json import JSONDecodeError, loads

    calls: list[Any] = []
    invalid: list[Any] = []
    for given in raw:
        function = given.get("function")
        if not isinstance(function, dict):
            calls.append(given)
            continue
        described = cast("dict[str, Any]", function)
        name, text = described.get("name"), described.get("arguments")
        try:
            args = loads(text, strict=False) if isinstance(text, str) else text
            calls.append({"name": name, "args": args or {}, "id": given.get("id")})
        except JSONDecodeError as error:
            invalid.append({"name": name, "args": text, "id": given.get("id"), "error": str(error)})
    return {"tool_calls": calls, "invalid_tool_calls": invalid}


def message_chunk_to_message(chunk: Any) -> Any:
    """The whole message that a chunk amounts to; a message that is no chunk is given back.

    A tool call that is cut off is one of `invalid_tool_calls`: nothing should run with half of its
    arguments.

    >>> from plait.messages import AIMessageChunk
    >>> piece = {"name": "pay", "args": '{"euro": 10', "id": "1", "index": 0}
    >>> chunk = AIMessageChunk("", tool_call_chunks=[piece])
    >>> chunk.tool_calls[0]["args"], message_chunk_to_message(chunk).tool_calls
    ({'euro': 10}, [])
    """
    if not is_chunk(chunk):
        return chunk
    message = _message_of(chunk)
    if pieces := getattr(chunk, "tool_call_chunks", None):
        calls, invalid = split_calls(pieces, chunk.response_metadata)
        if len(invalid) > len(message.invalid_tool_calls):
            message.tool_calls, message.invalid_tool_calls = calls, invalid
            content: Any = message.content
            if isinstance(content, list):
                message.content = _without_calls(cast("list[Any]", content), invalid)
    return message


def _without_calls(
    content: list[dict[str, Any] | str], invalid: Sequence[Any]
) -> list[dict[str, Any] | str]:
    """Standard blocks with invalid calls in the place of what was read of them."""
    by_id = {call["id"]: call for call in invalid}
    kinds = ("tool_call", "tool_call_chunk")
    return [
        by_id.get(block.get("id"), block)
        if isinstance(block, dict) and block.get("type") in kinds
        else block
        for block in content
    ]


def _message_of(chunk: Any) -> Any:
    """The message with the fields of a chunk."""
    if is_foreign(chunk):
        return sys.modules["langchain_core.messages"].message_chunk_to_message(chunk)
    bases = type(chunk).__mro__
    cls = next(
        c for c in bases if issubclass(c, BaseMessage) and not issubclass(c, BaseMessageChunk)
    )
    state = {k: v for k, v in chunk.__plait_state__().items() if k != "model_extra"}
    invalid = state.get("invalid_tool_calls")
    if invalid:
        state["invalid_tool_calls"] = check_invalid_tool_calls(cls.__name__, invalid)
    return restore(cls, state)


def message_to_dict(message: Any) -> dict[str, Any]:
    """`{"type": ..., "data": ...}`, which `messages_from_dict` reads."""
    return {"type": message.type, "data": message.model_dump()}


def messages_to_dict(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """`message_to_dict` of each."""
    return [message_to_dict(m) for m in messages]


def message_from_dict(message: dict[str, Any]) -> BaseMessage:
    """The message of `message_to_dict`.

    Raises:
        InvalidMessageError: its type is unknown, or a field does not fit.
    """
    from plait.messages.schema import BY_TYPE, from_fields

    cls = BY_TYPE.get(message["type"])
    if cls is None:
        raise InvalidMessageError(
            f"Got unexpected message type: {message['type']}. Known: {', '.join(BY_TYPE)}."
        )
    return from_fields(cls, dict(message["data"]))


def messages_from_dict(messages: Sequence[dict[str, Any]]) -> list[BaseMessage]:
    """`message_from_dict` of each.

    >>> messages_from_dict([{"type": "human", "data": {"content": "hi"}}])[0].text
    'hi'
    """
    return [message_from_dict(m) for m in messages]
