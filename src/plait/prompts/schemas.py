"""The input schemas of prompts. The only part of them that needs pydantic."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
    root = _Place()
    _look_up(template.parts, root)
    return _model("PromptInput", root.inner)


@dataclass
class _Place:
    """What a template looks up under one name."""

    inner: "dict[str, _Place]" = field(default_factory=dict[str, "_Place"])
    section: bool = False  # whether a section was the last to name it

    @property
    def its_type(self) -> Any:
        """Text, or a dict where it is a section that names nothing in it."""
        return dict[str, Any] if self.section else str


def _look_up(parts: Iterable[Part], root: _Place) -> None:
    for kind, text, inner in parts:
        if kind == "text" or text == ".":
            continue
        place = root
        for key in text.split("."):
            place = place.inner.setdefault(key, _Place())
        place.section = kind in ("#", "^")
        _look_up(inner, place)


def _model(name: str, tree: Mapping[str, _Place]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        key: (_model(key, place.inner) if place.inner else place.its_type, None)
        for key, place in tree.items()
    }
    return cast("Any", create_model)(name, **definitions(fields))
