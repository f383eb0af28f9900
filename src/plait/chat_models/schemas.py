"""JSON schemas as providers want them that hold an answer to one: objects with nothing unnamed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

Schema = dict[str, Any]
NAMED = ("properties", "$defs", "definitions")
LISTED = ("anyOf", "allOf", "oneOf", "prefixItems")
ONLY_TOLD = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "maxItems", "uniqueItems"),
    *("minProperties", "maxProperties"),
)
"""What Anthropic refuses in a schema: a description says it instead, and whoever reads the answer
checks it."""
FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
)
"""The formats of text that Anthropic holds an answer to."""


def schema_of_format(response_format: Any) -> Schema | None:
    """The schema in a `response_format` of OpenAI's form, which models of all providers take.

    >>> schema_of_format({"type": "json_schema", "json_schema": {"name": "A", "schema": {}}})
    {}
    """
    if not isinstance(response_format, dict):
        return None
    described = cast("Schema", response_format).get("json_schema")
    return cast("Schema", described).get("schema") if isinstance(described, dict) else None


def for_openai(schema: Schema) -> Schema:
    """A copy as OpenAI's strict mode wants it: closed, with all properties required.

    >>> one = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A", "description": "An A."}}}
    >>> made = for_openai(one)
    >>> made["required"], made["additionalProperties"]
    (['a'], False)
    >>> made["properties"]["a"]
    {'description': 'An A.', 'anyOf': [{'$ref': '#/$defs/A'}]}
    """
    return _changed(_rooted(schema), _strict)


def for_anthropic(schema: Schema) -> Schema:
    """A copy as Anthropic wants it: closed, and limits that it does not know in words.

    >>> for_anthropic({"type": "integer", "description": "An age.", "minimum": 0})
    {'type': 'integer', 'description': 'An age. (minimum: 0)'}
    """
    return _changed(_rooted(schema), _told)


def _rooted(schema: Schema) -> Schema:
    """A schema that is no reference itself, as that of a class which holds others of its kind."""
    place = str(schema.get("$ref", "")).split("/")
    if len(place) != 3 or place[1] not in schema:
        return schema
    named: Schema = schema[place[1]].get(place[2]) or {}
    return {**named, **{key: value for key, value in schema.items() if key != "$ref"}}


def _changed(schema: Schema, change: Callable[[Schema], None]) -> Schema:
    """A copy in which all schemas are changed, those inside others first."""
    made: Schema = dict(schema)
    for key in NAMED:
        if isinstance(made.get(key), dict):
            inner = cast("dict[str, Schema]", made[key])
            made[key] = {name: _changed(its, change) for name, its in inner.items()}
    for key in LISTED:
        if isinstance(made.get(key), list):
            made[key] = [_changed(its, change) for its in made[key]]
    if isinstance(made.get("items"), dict):
        made["items"] = _changed(made["items"], change)
    _close(made)
    change(made)
    return made


def _close(made: Schema) -> None:
    """Objects take what they name; a choice and a reference have the form that providers know."""
    if "properties" in made:
        made["additionalProperties"] = False
    if "oneOf" in made and "anyOf" not in made:
        made["anyOf"] = made.pop("oneOf")
        made.pop("discriminator", None)
    if "$ref" in made and made.keys() - {"$ref", "$defs", "definitions"} and "anyOf" not in made:
        made["anyOf"] = [{"$ref": made.pop("$ref")}]  # nothing may stand beside a reference


def _strict(made: Schema) -> None:
    if "properties" in made:
        made["required"] = list(made["properties"])
    made.pop("default", None)


def _told(made: Schema) -> None:
    limits = [key for key in ONLY_TOLD if key in made]
    if made.get("minItems", 0) > 1:
        limits.append("minItems")
    if made.get("format", "date") not in FORMATS:
        limits.append("format")
    if limits:
        words = "; ".join(f"{key}: {made.pop(key)}" for key in limits)
        made["description"] = f"{made.get('description', '')} ({words})".strip()


def is_strict(schema: Schema) -> bool:
    """Whether a schema can be held to strictly: no object in it is open.

    >>> is_strict({"type": "object", "properties": {"a": {"type": "object"}}})
    False
    """
    if schema.get("type") == "object" and not isinstance(schema.get("properties"), dict):
        return False
    if schema.get("additionalProperties") not in (None, False):
        return False
    inner: list[Any] = []
    for key in NAMED:
        named: Schema = schema.get(key) or {}
        inner += named.values()
    for key in LISTED:
        inner += schema.get(key) or []
    inner.append(schema.get("items"))
    return all(is_strict(cast("Schema", part)) for part in inner if isinstance(part, dict))
