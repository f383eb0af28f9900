"""Values as plain data beside a schema that says what they were, and back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import date, datetime
from enum import Enum
from itertools import chain, repeat
from typing import Any, cast

from plait.haystack.errors import DeserializationError, SerializationError
from plait.haystack.registry import lookup_class, lookup_function, name_of

_PRIMITIVES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
}
_PLAIN_TYPES = frozenset(_PRIMITIVES.values())
_FORMS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "datetime.datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "datetime.date": (date, date.isoformat, date.fromisoformat),
    "builtins.bytes": (bytes, lambda v: base64.b64encode(v).decode(), base64.b64decode),
}
"""Plain types that JSON lacks: name, class, to text, from text."""
_CALLABLE = "typing.Callable"

Schema = dict[str, Any]


def write_value(value: Any) -> dict[str, Any]:
    """A value as its schema and plain data.

    Raises:
        SerializationError: Something in it has no such form.

    >>> write_value({"n": 1})["serialized_data"]
    {'n': 1}
    """
    schema, data = _write(value, "the value")
    return {"serialization_schema": schema, "serialized_data": data}


def read_value(payload: Any) -> Any:
    """The value that `write_value` wrote.

    Raises:
        DeserializationError: It is damaged, or names something that is not registered.
    """
    if not isinstance(payload, Mapping) or not (
        "serialization_schema" in payload and "serialized_data" in payload
    ):
        raise DeserializationError(
            "Serialized data has the keys 'serialization_schema' and 'serialized_data'. "
            f"Got: {payload!r:.200}"
        )
    held = cast("Mapping[str, Any]", payload)
    try:
        return _read(held["serialization_schema"], held["serialized_data"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DeserializationError(f"Serialized data is damaged: {error!r}") from error


def _write(value: Any, where: str) -> tuple[Schema, Any]:
    kind = cast("type[Any]", type(value))
    if kind in _PRIMITIVES:
        return {"type": _PRIMITIVES[kind]}, value
    if isinstance(value, dict):
        return _write_dict(cast("dict[Any, Any]", value), where)
    if kind in (list, tuple, set, frozenset):
        return _write_items(value, where)
    for name, (form, to_text, _) in _FORMS.items():
        if kind is form:
            return {"type": name}, to_text(value)
    return _write_object(value, where)


def _write_dict(value: dict[Any, Any], where: str) -> tuple[Schema, Any]:
    schemas: dict[Any, Any] = {}
    data: dict[Any, Any] = {}
    for key, item in value.items():
        schemas[key], data[key] = _write(item, f"{where}[{key!r}]")
    return {"type": "object", "properties": schemas}, data


def _write_items(value: Any, where: str) -> tuple[Schema, Any]:
    written = [_write(item, f"{where}[{index}]") for index, item in enumerate(value)]
    schemas, data = [one[0] for one in written], [one[1] for one in written]
    schema: Schema = {"type": "array", "items": schemas[0] if schemas else {}}
    if not all(one["type"] in _PLAIN_TYPES for one in schemas) and any(
        one != schemas[0] for one in schemas
    ):
        schema["prefixItems"] = schemas  # Haystack reads the first one's, and so all that are alike
    if isinstance(value, tuple):
        schema |= {"minItems": len(data), "maxItems": len(data)}
    elif not isinstance(value, list):
        schema["uniqueItems"] = True
        if isinstance(value, frozenset):
            schema["frozen"] = True
    return schema, data


def _write_object(value: Any, where: str) -> tuple[Schema, Any]:
    kind = cast("Any", type(value))
    try:
        if callable(getattr(kind, "to_dict", None)):
            return {"type": name_of(kind)}, value.to_dict()
        if isinstance(value, Enum):
            return {"type": name_of(kind)}, value.name
        if callable(getattr(kind, "model_dump", None)):
            return {"type": name_of(kind)}, value.model_dump(mode="json")
        if is_dataclass(value):
            return {"type": name_of(kind)}, asdict(cast("Any", value))
        if callable(value):
            return {"type": _CALLABLE}, name_of(value)
    except SerializationError as error:
        raise SerializationError(f"{where}: {error}") from error
    raise SerializationError(
        f"{where} is a {kind.__name__}, which has no form as plain data. Give the class to_dict() "
        "and from_dict()."
    )


def _read(schema: Any, data: Any) -> Any:
    kind = schema.get("type")
    if kind is None or kind in _PLAIN_TYPES:
        return data
    if kind == "object":
        inner = schema.get("properties", {})
        return {key: _read(inner.get(key, {}), item) for key, item in data.items()}
    if kind == "array":
        return _read_items(schema, data)
    if kind in _FORMS:
        return _FORMS[kind][2](data)
    if kind == _CALLABLE:
        return lookup_function(data)
    return _read_object(lookup_class(kind), data)


def _read_items(schema: Any, data: Any) -> Any:
    each = chain(schema.get("prefixItems", ()), repeat(schema.get("items", {})))
    items = [_read(next(each), item) for item in data]  # more or fewer, if a program has changed it
    if schema.get("uniqueItems"):
        return frozenset(items) if schema.get("frozen") else set(items)
    return tuple(items) if "minItems" in schema else items


def _read_object(kind: Any, data: Any) -> Any:
    if callable(getattr(kind, "from_dict", None)):
        return kind.from_dict(data)
    if issubclass(kind, Enum):
        return kind[data]
    if callable(getattr(kind, "model_validate", None)):
        return kind.model_validate(data)
    return kind(**data)


__all__ = ["read_value", "write_value"]
