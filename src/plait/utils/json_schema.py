"""JSON schemas made smaller and stricter: references inlined, titles left out, all required."""

from typing import Any, cast


def dereference_refs(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with each `$ref` replaced by what it refers to, and without definitions.

    A reference inside of what it refers to (a tree of nodes) becomes `{}`: anything.

    Raises:
        KeyError: A reference leads nowhere.

    >>> dereference_refs({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "string"}}})
    {'items': {'type': 'string'}}
    """
    inlined = cast("dict[str, Any]", _inlined(schema, schema, ()))
    return {key: value for key, value in inlined.items() if key not in ("$defs", "definitions")}


_NESTED: tuple[Any, ...] = (dict, list)


def _inlined(part: Any, root: dict[str, Any], open_refs: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [
            _inlined(item, root, open_refs) if isinstance(item, _NESTED) else item
            for item in cast("list[Any]", part)
        ]
    if not isinstance(part, dict):
        return part
    items = cast("dict[str, Any]", part)
    ref = items.get("$ref")
    if not isinstance(ref, str):
        skipped = ("$defs", "definitions") if part is root else ()
        return {
            key: _inlined(value, root, open_refs)
            if isinstance(value, _NESTED) and key not in skipped
            else value
            for key, value in items.items()
        }
    beside = {key: value for key, value in items.items() if key != "$ref"}
    if ref in open_refs:
        return _inlined(beside, root, open_refs)
    meant = _inlined(_find(root, ref), root, (*open_refs, ref))
    return {**meant, **cast("dict[str, Any]", _inlined(beside, root, open_refs))}


def _find(root: dict[str, Any], ref: str) -> Any:
    path = ref.removeprefix("#").strip("/").split("/")
    found: Any = root
    for step in path if path != [""] else []:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            raise KeyError(f"The JSON schema refers to {ref!r}, which it does not have.")
        found = cast("dict[str, Any]", found)[name]
    return found


def without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without titles; a property that is called `title` stays."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if isinstance(value, dict):
            kept[key] = without_titles(cast("dict[str, Any]", value))
        elif key != "title":
            kept[key] = value
    return kept


def all_required(schema: Any) -> Any:
    """The schema in the strict form of providers: every property required, no others allowed."""
    if isinstance(schema, list):
        return [all_required(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    items = cast("dict[str, Any]", schema)
    strict = {
        key: value if key in ("$defs", "definitions", "enum", "default") else all_required(value)
        for key, value in items.items()
    }
    properties = items.get("properties")
    if isinstance(properties, dict) and "required" not in cast("dict[str, Any]", properties):
        strict["properties"] = {
            name: all_required(value) for name, value in cast("dict[str, Any]", properties).items()
        }
    if items.get("type") == "object":
        strict["additionalProperties"] = False
        if properties:
            strict["required"] = list(cast("dict[str, Any]", properties))
    return strict
