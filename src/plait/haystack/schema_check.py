"""What is wrong with a tool's JSON schema, by the rules of JSON Schema itself, and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

_TYPES = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
_SCHEMAS_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_LISTS_OF_SCHEMAS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS = (
    *("items", "contains", "additionalProperties", "propertyNames", "unevaluatedProperties"),
    *("unevaluatedItems", "not", "if", "then", "else"),
)


def wrong_in_schema(schema: Any, where: str = "parameters") -> str | None:
    """Where a schema is none, as a text for people; None: it is one.

    >>> wrong_in_schema({"type": "object", "properties": {"a": {"type": "strin"}}})
    "parameters.properties.a.type is 'strin'"
    """
    return next(_wrongs(schema, where), None)


def _wrongs(schema: Any, where: str) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield f"{where} is {schema!r:.100}"
        return
    for key, value in cast("Mapping[str, Any]", schema).items():
        here = f"{where}.{key}"
        if (fits := _RULES.get(key)) is not None and not fits(value):
            yield f"{here} is {value!r:.100}"
        elif key in _SCHEMAS_BY_NAME:
            for name, one in cast("Mapping[str, Any]", value).items():
                yield from _wrongs(one, f"{here}.{name}")
        elif key in _LISTS_OF_SCHEMAS:
            for index, one in enumerate(value):
                yield from _wrongs(one, f"{here}[{index}]")
        elif key in _SCHEMAS:
            yield from _wrongs(value, here)


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _is_type(value: Any) -> bool:
    return (
        value in _TYPES
        if isinstance(value, str)
        else _is_names(value) and _TYPES.issuperset(value) and bool(value)
    )


def _is_names(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    names = cast("list[Any]", value)
    return all(isinstance(one, str) for one in names) and len(set(names)) == len(names)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_pattern(value: Any) -> bool:
    try:
        return bool(re.compile(value))
    except (TypeError, re.error):
        return False


_RULES: dict[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "required": _is_names,
    "pattern": _is_pattern,
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("enum", "examples"), _is(list)),
    **dict.fromkeys((*_SCHEMAS_BY_NAME, "dependentRequired"), _is(Mapping)),
    **dict.fromkeys(_LISTS_OF_SCHEMAS, lambda value: isinstance(value, list) and value != []),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(
        (
            *("minLength", "maxLength", "minItems", "maxItems", "minProperties"),
            *("maxProperties", "minContains", "maxContains"),
        ),
        _is_count,
    ),
    **dict.fromkeys(
        ("title", "description", "format", "contentEncoding", "$comment", "$ref", "$id"), _is(str)
    ),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is(bool)),
}
"""What the value of a key must be."""


__all__ = ["wrong_in_schema"]
