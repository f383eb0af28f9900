"""How pydantic sees messages: validation, dumping and JSON schema, without being pydantic models.

Loaded when pydantic asks, or when `model_validate` or `model_json_schema` is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from inspect import get_annotations
from typing import Any

from plait.messages.ai import AIMessage, AIMessageChunk
from plait.messages.base import BaseMessage
from plait.messages.chat import ChatMessage, ChatMessageChunk
from plait.messages.errors import InvalidMessageError
from plait.messages.foreign import base_names, is_foreign
from plait.messages.function import FunctionMessage, FunctionMessageChunk
from plait.messages.human import HumanMessage, HumanMessageChunk
from plait.messages.modifier import RemoveMessage
from plait.messages.system import SystemMessage, SystemMessageChunk
from plait.messages.tool import ToolMessage, ToolMessageChunk

ANY_MESSAGE: tuple[type[BaseMessage], ...] = (
    AIMessage,
    HumanMessage,
    ChatMessage,
    SystemMessage,
    FunctionMessage,
    ToolMessage,
    AIMessageChunk,
    HumanMessageChunk,
    ChatMessageChunk,
    SystemMessageChunk,
    FunctionMessageChunk,
    ToolMessageChunk,
)
BY_TYPE: dict[str, type[BaseMessage]] = {c.type: c for c in (*ANY_MESSAGE, RemoveMessage)}


def validate(cls: type[BaseMessage], value: Any) -> Any:
    """The message that `value` is or describes, if it is of class `cls`.

    A dict for `BaseMessage` becomes the class that its `type` names.
    """
    if isinstance(value, cls) or (is_foreign(value) and cls.__name__ in base_names(value)):
        return value
    if isinstance(value, Mapping):
        return from_fields(cls, dict(value))  # pyright: ignore[reportUnknownArgumentType]
    raise InvalidMessageError(
        f"Expected a {cls.__name__} or a dict of its fields, got {type(value).__name__}: {value!r}."
    )


def from_fields(cls: type[BaseMessage], data: dict[str, Any]) -> BaseMessage:
    """The message of class `cls` with these fields."""
    if cls is BaseMessage:
        kind = data.get("type")
        cls = BY_TYPE.get(kind, BaseMessage) if isinstance(kind, str) else BaseMessage
    if cls is RemoveMessage:
        data = {k: v for k, v in data.items() if k not in ("type", "content")}
    return cls(**data)


def validate_any(value: Any) -> Any:
    """The message of the union `AnyMessage` that `value` is or describes."""
    if isinstance(value, ANY_MESSAGE):
        return value
    if is_foreign(value) and value.type in BY_TYPE and value.type != "remove":
        return value
    if not isinstance(value, Mapping):
        raise InvalidMessageError(
            f"Expected a message or a dict with a 'type' key, got {type(value)}: {value!r}."
        )
    data: dict[str, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType]
    cls = BY_TYPE.get(data.get("type", ""))
    if cls is None or cls is RemoveMessage:
        known = ", ".join(repr(c.type) for c in ANY_MESSAGE)
        raise InvalidMessageError(
            f"A dict for a message needs a 'type' key, one of {known}; got {data!r}."
        )
    return from_fields(cls, data)


def dump(message: Any, info: Any) -> dict[str, Any]:
    """A message inside a model that is dumped."""
    return message.model_dump(
        mode=info.mode,
        include=info.include,
        exclude=info.exclude,
        exclude_unset=info.exclude_unset,
        exclude_defaults=info.exclude_defaults,
        exclude_none=info.exclude_none,
    )


@cache
def serializer() -> Any:
    """Writes a message that pydantic comes upon where no type says that there is one."""
    core = import_module("pydantic_core")
    return core.SchemaSerializer(core.core_schema.any_schema(serialization=_dumping()))


def _dumping() -> Any:
    core = import_module("pydantic_core").core_schema
    return core.plain_serializer_function_ser_schema(dump, info_arg=True)


def plain_schema(check: Any) -> Any:
    """A core schema that checks with a function and dumps with `model_dump`."""
    core = import_module("pydantic_core").core_schema
    return core.no_info_plain_validator_function(check, serialization=_dumping())


def core_schema(cls: type[BaseMessage]) -> Any:
    """The core schema of a message class."""
    return plain_schema(partial(validate, cls))


def json_schema(cls: type[BaseMessage]) -> dict[str, Any]:
    """The JSON schema of a message class."""
    properties: dict[str, Any] = {}
    for name, field in cls.model_fields.items():
        properties[name] = {"title": name.replace("_", " ").title(), **field.json}
        if field.annotation is not None:
            adapter = import_module("pydantic").TypeAdapter(annotation_of(cls, name))
            properties[name] |= adapter.json_schema()
        if field.default_factory is None and not field.required:
            properties[name]["default"] = field.default
    return {
        "additionalProperties": True,
        "description": (cls.__doc__ or "").strip(),
        "properties": properties,
        "required": [n for n, f in cls.model_fields.items() if f.required],
        "title": cls.__name__,
        "type": "object",
    }


def annotation_of(cls: type[BaseMessage], name: str) -> Any:
    """The annotation of a user's field, evaluated where the class that has it was written."""
    owner = next(c for c in cls.__mro__ if name in get_annotations(c))
    return get_annotations(owner, eval_str=True)[name]


def validate_annotated(cls: type[BaseMessage], name: str, where: str, value: Any) -> Any:
    """A value for an annotated field of a user's subclass, checked and coerced by pydantic."""
    pydantic = import_module("pydantic")
    try:
        return pydantic.TypeAdapter(annotation_of(cls, name)).validate_python(value)
    except pydantic.ValidationError as error:
        problems = "; ".join(e["msg"] for e in error.errors())
        raise InvalidMessageError(f"{where}: {problems} (got {value!r}).") from error
