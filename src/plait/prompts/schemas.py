"""The input schemas of prompts. The only part of them that needs pydantic."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import BaseModel, create_model

from plait.prompts.mustache import Mustache, Part
from plait.runnables.schemas import definitions


def model_of_variables(
    names: Iterable[str], optional: Iterable[str], types: Mapping[str, Any]
) -> type[BaseModel]:
    """A model whose fields are the variables; text, where nothing else is said."""
    fields: dict[str, Any] = {name: (types.get(name, str), ...) for name in names}
    fields.update({name: (types.get(name, str), None) for name in optional})
    return create_model("PromptInput", **definitions(fields))


def model_of_mustache(template: Mustache) -> type[BaseModel]:
    """A model of what a mustache template looks up: sections and dotted names are objects."""
    return _model("PromptInput", _tree(template.parts))


def _tree(parts: Iterable[Part]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for kind, text, inner in parts:
        if kind == "text" or text == ".":
            continue
        place = tree
        for key in text.split("."):
            place = place.setdefault(key, {})
        if kind == "#":
            place.update(_tree(inner))
    return tree


def _model(name: str, tree: Mapping[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        key: (_model(key, inner) if inner else str, None) for key, inner in tree.items()
    }
    return cast("Any", create_model)(name, **definitions(fields))
