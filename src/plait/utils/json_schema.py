"""JSON schemas made smaller and stricter: references inlined, titles left out, all required."""

from collections.abc import Sequence
from typing import Any, cast


def dereference_refs(
    schema_obj: dict[str, Any],
    *,
    full_schema: dict[str, Any] | None = None,
    skip_keys: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The schema with each `$ref` replaced by what it refers to.

    A reference inside of what it refers to (a tree of nodes) becomes `{}`: anything.

    Args:
        schema_obj: A schema, or a part of one.
        full_schema: The schema whose definitions are meant, if that is another one.
        skip_keys: What is under these keys stays as it is; by default the definitions.

    Raises:
        KeyError: A reference leads nowhere.
        ValueError: A reference leads to another document.

    >>> dereference_refs({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "string"}}})
    {'items': {'type': 'string'}, '$defs': {'A': {'type': 'string'}}}
    """
    root = schema_obj if full_schema is None else full_schema
    skipped = ("$defs",) if skip_keys is None else skip_keys
    return cast("dict[str, Any]", _inlined(schema_obj, root, (), frozenset(skipped)))


def self_contained(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to in the place of the references, without definitions.

    >>> self_contained({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "string"}}})
    {'items': {'type': 'string'}}
    """
    own = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    return dereference_refs(own, full_schema=schema, skip_keys=())


_DEFINITIONS = ("$defs", "definitions")
_NESTED: tuple[Any, ...] = (dict, list)


def _inlined(
    part: Any, root: dict[str, Any], open_refs: tuple[str, ...], skipped: frozenset[str]
) -> Any:
    if isinstance(part, list):
        return [
            _inlined(item, root, open_refs, skipped) if isinstance(item, _NESTED) else item
            for item in cast("list[Any]", part)
        ]
    if not isinstance(part, dict):
        return part
    items = cast("dict[str, Any]", part)
    ref = items.get("$ref")
    if not isinstance(ref, str):
        return {
            key: _inlined(value, root, open_refs, skipped)
            if isinstance(value, _NESTED) and key not in skipped
            else value
            for key, value in items.items()
        }
    beside = {key: value for key, value in items.items() if key != "$ref"}
    if ref in open_refs:
        return _inlined(beside, root, open_refs, skipped)
    meant = _inlined(_find(root, ref), root, (*open_refs, ref), skipped)
    if not isinstance(meant, dict):  # no schema; what stands beside it may be one
        return _inlined(beside, root, open_refs, skipped) if beside else meant
    its = cast("dict[str, Any]", meant)
    return {**its, **cast("dict[str, Any]", _inlined(beside, root, open_refs, skipped))}


def _find(root: dict[str, Any], ref: str) -> Any:
    if not ref.startswith("#"):
        raise ValueError(
            f"The JSON schema refers to {ref!r}, which is not in it: a reference is to begin with "
            "'#'. Put what it means into the schema's '$defs'."
        )
    path = ref.removeprefix("#").strip("/").split("/")
    found: Any = root
    for step in path if path != [""] else []:
        found = _step(found, step.replace("~1", "/").replace("~0", "~"))
        if found is _NOWHERE:
            raise KeyError(f"The JSON schema refers to {ref!r}, which it does not have.")
    return found


_NOWHERE: Any = object()


def _step(place: Any, name: str) -> Any:
    """What a step of a reference leads to: a key, a key that is a number, a place of a list."""
    number = int(name) if name.isdecimal() else None
    if isinstance(place, dict):
        items = cast("dict[Any, Any]", place)
        return items[name] if name in items else items.get(number, _NOWHERE)
    if isinstance(place, list) and number is not None and number < len(cast("list[Any]", place)):
        return cast("list[Any]", place)[number]
    return _NOWHERE


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
        key: value if key in (*_DEFINITIONS, "enum", "default") else all_required(value)
        for key, value in items.items()
    }
    for key in _DEFINITIONS:
        if isinstance(named := items.get(key), dict):
            its = cast("dict[str, Any]", named)
            strict[key] = {name: all_required(value) for name, value in its.items()}
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
