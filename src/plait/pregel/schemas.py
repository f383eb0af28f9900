"""Pydantic models and JSON schemas of a graph's input, output, context and config.

Imported only when a schema is asked for: it loads pydantic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, get_type_hints
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter, create_model

from plait.common.reflection import is_routine
from plait.errors import ConfigError, InvalidGraphError, nearest
from plait.tools.shown import Key, described, key_of

if TYPE_CHECKING:
    from plait.pregel.described import Described

_ANY_TYPE = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())
Model = type[BaseModel]


def input_model(graph: Described) -> Model:
    """The model of what a graph takes."""
    name, taken = graph.get_name("Input"), graph.input_channels
    if isinstance(taken, str):
        return value_model(name, graph.InputType)
    return keys_model(name, {key: graph.channels[key].UpdateType for key in taken})


def output_model(graph: Described) -> Model:
    """The model of what a graph returns."""
    name, shown = graph.get_name("Output"), graph.output_channels
    if isinstance(shown, str):
        return value_model(name, graph.OutputType)
    return keys_model(name, {key: graph.channels[key].ValueType for key in shown})


def value_model(name: str, typ: Any) -> Model:
    """The model of one value: its own, if it is a model."""
    model = _model_class(typ)
    if model is not None:
        return model
    base: Any = RootModel[typ]
    return cast("Model", type(name, (base,), {"__module__": __name__}))


def _model_class(schema: Any) -> Model | None:
    """The schema itself, if it is a pydantic model."""
    return schema if isinstance(schema, type) and issubclass(schema, BaseModel) else None


def _is_typed_dict(schema: Any) -> bool:
    """Whether it is a TypedDict, of `typing` or of `typing_extensions`."""
    return hasattr(schema, "__required_keys__") and hasattr(schema, "__total__")


def keys_model(name: str, fields: Mapping[str, Any]) -> Model:
    """A model with optional fields of these types."""
    return _model(name, {key: (typ, None) for key, typ in fields.items()})


def _model(name: str, fields: Mapping[str, tuple[Any, Any]]) -> Model:
    """A model with fields of (type, default); names that models cannot use stay as aliases."""
    declared: dict[str, Any] = {}
    for key, (typ, default) in fields.items():
        if key.startswith("_") or hasattr(BaseModel, key):
            declared[f"key_{key.strip('_')}"] = (typ, Field(default, alias=key, title=_title(key)))
        else:
            declared[key] = (typ, default)
    return create_model(name, __config__=_ANY_TYPE, **declared)


def _title(key: str) -> str:
    return key.replace("_", " ").strip().title()


def schema_json(name: str, schema: Any, keys: Mapping[str, Any] | None) -> dict[str, Any]:
    """The JSON schema of a state schema, under its own title where it has one.

    Args:
        name: the title of one that has none: a dataclass, a plain class, a state that is one value.
        schema: a pydantic model, TypedDict, dataclass, or any other type.
        keys: the stored keys that it declares, each with its type (of a dataclass, what the engine
            fills in is left out); None where the state is one value.
    """
    model = _model_class(schema)
    if model is not None:
        return model.model_json_schema()
    if _is_typed_dict(schema):
        return described(_plain_keys(schema), lambda: TypeAdapter(schema).json_schema())
    if hasattr(schema, "__dataclass_fields__"):
        fields = _fields(schema)
        stored = fields if keys is None else {key: fields[key] for key in fields if key in keys}
        return _model(name, stored).model_json_schema()
    if keys is not None:
        return _model(name, {key: (typ, ...) for key, typ in keys.items()}).model_json_schema()
    return {"default": None, **value_model(name, schema).model_json_schema()}


def _plain_keys(schema: Any) -> Key | None:
    """All that the JSON schema of a TypedDict depends on, where its keys have plain types."""
    if hasattr(schema, "__pydantic_config__"):
        return None
    try:
        hints = get_type_hints(schema, include_extras=True)
    except NameError:
        return None  # pydantic says it better
    needed = repr(sorted(schema.__required_keys__))
    said = ("TypedDict", schema.__name__, schema.__doc__, needed)
    return key_of(said, {key: (_without_reducer(hint),) for key, hint in hints.items()})


def _without_reducer(hint: Any) -> Any:
    """The annotation without functions: to pydantic they say nothing."""
    marks = getattr(hint, "__metadata__", ())
    return hint.__origin__ if marks and all(map(is_routine, marks)) else hint


def _fields(schema: Any) -> dict[str, tuple[Any, Any]]:
    """The fields of a dataclass: type and default (`...` where there is none)."""
    hints = get_type_hints(schema, include_extras=True)
    found: dict[str, tuple[Any, Any]] = {}
    for field in dataclasses.fields(schema):
        default: Any = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        found[field.name] = (hints[field.name], ... if default is dataclasses.MISSING else default)
    return found


def context_json(graph: Described) -> dict[str, Any] | None:
    """See `Described.get_context_jsonschema`."""
    schema = graph.context_schema
    if schema is None:
        return None
    model = _model_class(schema)
    if model is not None:
        return model.model_json_schema()
    if _is_typed_dict(schema) or hasattr(schema, "__dataclass_fields__"):
        return TypeAdapter(schema).json_schema()
    raise InvalidGraphError(
        f"Graph {graph.get_name()!r} has the context schema {schema!r}. A context schema is a "
        "pydantic model, a TypedDict or a dataclass."
    )


def config_model(graph: Described, include: Sequence[str]) -> Model:
    """See `Described.config_schema`.

    Raises:
        ConfigError: a config has no such entry.
    """
    fields: dict[str, tuple[Any, Any]] = {}
    if graph.context_schema is not None:
        fields["configurable"] = (graph.context_schema, None)
    for key in include:
        if key == "configurable":
            continue  # is there, if there is something to say of it
        if key not in _ENTRIES:
            raise ConfigError(f"A config has no entry {key!r} to show. {nearest(key, _ENTRIES)}")
        fields[key] = (_ENTRIES[key], None)
    return _model(graph.get_name("Config"), fields)


_ENTRIES: dict[str, Any] = {
    "max_concurrency": int | None,
    "metadata": dict[str, Any],
    "recursion_limit": int,
    "run_id": UUID | None,
    "run_name": str,
    "tags": list[str],
}
"""The entries of a RunnableConfig that a schema can show."""
