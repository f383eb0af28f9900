"""JSON schemas as providers want them that hold an answer to one: objects with nothing unnamed."""

from __future__ import annotations

from typing import Any, cast

Schema = dict[str, Any]
NAMED = ("properties", "$defs", "definitions")
LISTED = ("anyOf", "allOf", "oneOf", "prefixItems")


def schema_of_format(response_format: Any) -> Schema | None:
    """The schema in a `response_format` of OpenAI's form, which models of all providers take.

    >>> schema_of_format({"type": "json_schema", "json_schema": {"name": "A", "schema": {}}})
    {}
    """
    if not isinstance(response_format, dict):
        return None
    described = cast("Schema", response_format).get("json_schema")
    return cast("Schema", described).get("schema") if isinstance(described, dict) else None


def closed(schema: Schema, *, all_required: bool = False) -> Schema:
    """A copy in which every object takes only the properties that it names.

    Args:
        schema: The schema.
        all_required: Also require them all, and drop defaults, as OpenAI's strict mode wants it.

    >>> closed({"type": "object", "properties": {"a": {"type": "string"}}})["additionalProperties"]
    False
    """
    made: Schema = dict(schema)
    for key in NAMED:
        if isinstance(made.get(key), dict):
            inner = cast("dict[str, Schema]", made[key])
            made[key] = {k: closed(v, all_required=all_required) for k, v in inner.items()}
    for key in LISTED:
        if isinstance(made.get(key), list):
            made[key] = [closed(v, all_required=all_required) for v in made[key]]
    if isinstance(made.get("items"), dict):
        made["items"] = closed(made["items"], all_required=all_required)
    if "properties" in made:
        made["additionalProperties"] = False
        if all_required:
            made["required"] = list(made["properties"])
    if all_required:
        made.pop("default", None)
    return made


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
