"""Types and pydantic models of what runnables take and give. Loaded when somebody asks."""

from __future__ import annotations

import collections.abc as abc
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter, create_model

from plait.common.reflection import signature
from plait.runnables.config import RunnableConfig
from plait.runnables.sources import keys_read

if TYPE_CHECKING:
    from plait.runnables.base import Runnable

Model = type[BaseModel]

_LAX = ConfigDict(arbitrary_types_allowed=True)
_NO_DEFAULT: Any = object()


# --- types ----------------------------------------------------------------------------------------


def type_argument(runnable: Any, which: str) -> Any:
    """The input or output type (`which`: "InputType", "OutputType") that a class declares.

    Of an object that was made by `SomeClass[int, str](...)`, the types in the brackets.
    """
    at = 0 if which == "InputType" else 1
    types = get_args(getattr(runnable, "__orig_class__", None))
    if len(types) == 2 and not isinstance(types[at], TypeVar):
        return types[at]
    for cls in type(runnable).__mro__:
        pydantics = cast("dict[str, Any]", cls.__dict__.get("__pydantic_generic_metadata__") or {})
        found: list[tuple[Any, ...]] = [pydantics.get("args") or ()]
        found += [get_args(base) for base in cls.__dict__.get("__orig_bases__", ())]
        for types in found:
            if len(types) == 2 and not isinstance(types[at], TypeVar):
                return types[at]
    return Any


def _signature(func: Any) -> tuple[list[Any], Any]:
    """The annotations of the parameters and of the result; `Any` where there is none."""
    try:
        found = signature(func)
    except (TypeError, ValueError):
        return [], Any
    try:
        target = func if hasattr(func, "__annotations__") else cast("Any", type(func)).__call__
        hints = get_type_hints(target)
    except (NameError, TypeError):  # names that exist for type checkers only
        hints = {}

    def of(name: str, raw: Any) -> Any:
        known = hints.get(name, raw)
        return Any if known is inspect.Parameter.empty or isinstance(known, str) else known

    parameters = [of(name, one.annotation) for name, one in found.parameters.items()]
    return parameters, of("return", found.return_annotation)


def parameter_type(func: Any) -> Any:
    """The annotation of the first parameter."""
    parameters, _ = _signature(func)
    return parameters[0] if parameters else Any


def returned_type(func: Any) -> Any:
    """What a function is annotated to return; of a generator function, what it yields."""
    _, returned = _signature(func)
    chunked = (abc.Iterator, abc.AsyncIterator, abc.Generator, abc.AsyncGenerator, abc.Iterable)
    return type_inside(returned) if get_origin(returned) in (*chunked, abc.Awaitable) else returned


def type_inside(outer: Any) -> Any:
    """The first type argument of an annotation: `int` of `Iterator[int]`."""
    return (get_args(outer) or (Any,))[0]


# --- models ---------------------------------------------------------------------------------------


def root_model(name: str, root: Any, default: Any = _NO_DEFAULT) -> Model:
    """A model of one value."""
    if default is _NO_DEFAULT:
        base: Any = RootModel[root]
        return create_model(name, __base__=base, __doc__="")
    base = type(name, (RootModel,), {"__annotations__": {"root": root}, "root": default})
    return cast("Model", base)


def fields_model(name: str, fields: Mapping[str, tuple[Any, Any]]) -> Model:
    """A model of named fields, each an annotation and a default (`...`: required)."""
    return create_model(name, __config__=_LAX, **definitions(fields))


def definitions(fields: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """Fields as `create_model` takes them: a name that pydantic keeps for itself is an alias."""
    out: dict[str, Any] = {}
    for name, (annotation, default) in fields.items():
        if name.startswith("_") or hasattr(BaseModel, name):
            title = name.strip("_").replace("_", " ").title()
            field = Field(default, alias=name, serialization_alias=name, title=title)
            out[_kept_for(name)] = (annotation, field)
        else:
            out[name] = (annotation, default)
    return out


def model_of(runnable: Runnable[Any, Any], which: str, its_type: Any) -> Model:
    """The model of a runnable's input or output (`which`: "Input", "Output") from its type."""
    if isinstance(its_type, type) and issubclass(its_type, BaseModel) and not get_args(its_type):
        return its_type
    name = runnable.get_name(which)
    try:
        return root_model(name, its_type)
    except Exception:  # a type that pydantic cannot describe
        return root_model(name, Any)


def _described(its_type: Any) -> Any:
    """The type, or `Any` if pydantic cannot describe it."""
    try:
        TypeAdapter(its_type)
    except Exception:
        return Any
    return its_type


def has_root(model: Model) -> bool:
    """Whether it is a model of one value, not of named fields."""
    return issubclass(model, RootModel)


def input_of_function(runnable: Any, func: Any) -> Model:
    """The input of a function: its annotation, else the keys that it reads of a dict."""
    its_type = runnable.InputType
    if its_type is Any and (keys := keys_read(func)):
        return fields_model(runnable.get_name("Input"), dict.fromkeys(keys, (Any, ...)))
    return model_of(runnable, "Input", its_type)


def input_of_parallel(
    runnable: Runnable[Any, Any], steps: Mapping[str, Any], config: RunnableConfig | None
) -> Model:
    """The fields that the steps take, if all take fields; else the first particular type."""
    models = [step.get_input_schema(config) for step in steps.values()]
    if models and not any(has_root(model) for model in models):
        fields: dict[str, tuple[Any, Any]] = {}
        for model in models:
            fields.update(_fields_of(model))
        return fields_model(runnable.get_name("Input"), fields)
    return model_of(runnable, "Input", runnable.InputType)


def output_of_parallel(
    runnable: Runnable[Any, Any], steps: Mapping[str, Any], config: RunnableConfig | None
) -> Model:
    """One field for each step."""
    fields = {key: (_described(step.OutputType), ...) for key, step in steps.items()}
    return fields_model(runnable.get_name("Output"), fields)


def output_of_assign(mapper: Any, config: RunnableConfig | None) -> Model:
    """The fields of the mapper's input, if it takes fields, and of its output."""
    taken, made = mapper.get_input_schema(config), mapper.get_output_schema(config)
    if has_root(taken):
        return made
    return fields_model("RunnableAssignOutput", {**_fields_of(taken), **_fields_of(made)})


def _fields_of(model: Model) -> dict[str, tuple[Any, Any]]:
    return {
        field.alias if field.alias and name == _kept_for(field.alias) else name: (
            field.annotation,
            ... if field.is_required() else field.default,
        )
        for name, field in model.model_fields.items()
    }


def _kept_for(name: str) -> str:
    """The field that stands for one whose name pydantic keeps for itself."""
    return f"field_{name}"


def input_of_sequence(steps: Sequence[Any], config: RunnableConfig | None) -> Model:
    """The input of the first step; if that adds keys, without those that it adds."""
    from plait.runnables.passthrough import RunnableAssign

    first = steps[0]
    if isinstance(first, RunnableAssign):
        after = steps[1].get_input_schema(config) if len(steps) > 1 else None
        if after is not None and not has_root(after):
            own = first.mapper.get_input_schema(config)
            fields = {} if has_root(own) else _fields_of(own)
            new = first.mapper.steps__
            fields.update({k: v for k, v in _fields_of(after).items() if k not in new})
            return fields_model("RunnableSequenceInput", fields)
    return first.get_input_schema(config)


def output_of_sequence(steps: Sequence[Any], config: RunnableConfig | None) -> Model:
    """The output of the last step; if that adds or picks keys, of known ones."""
    from plait.runnables.passthrough import RunnableAssign, RunnablePick

    last = steps[-1]
    if len(steps) > 1 and isinstance(last, (RunnableAssign, RunnablePick)):
        before = output_of_sequence(steps[:-1], config)
        if has_root(before):
            return last.get_output_schema(config)
        fields = _fields_of(before)
        if isinstance(last, RunnableAssign):
            new = _fields_of(last.mapper.get_output_schema(config))
            return fields_model("RunnableSequenceOutput", {**fields, **new})
        if isinstance(last.keys, list):
            kept = {key: fields[key] for key in last.keys if key in fields}
            return fields_model("RunnableSequenceOutput", kept)
        if last.keys in fields:
            return root_model("RunnableSequenceOutput", fields[last.keys][0])
    return last.get_output_schema(config)


def first_particular_input(runnables: Iterable[Any]) -> Model | None:
    """The first input model that says something; None if none does."""
    for runnable in runnables:
        model: Model = runnable.get_input_schema()
        if model.model_json_schema().get("type") is not None:
            return model
    return None


def config_model(runnable: Runnable[Any, Any], include: Sequence[str] | None) -> Model:
    """The config that a runnable takes: `configurable`, and the included keys."""
    fields: dict[str, tuple[Any, Any]] = {}
    if specs := runnable.config_specs:
        inner = {spec.id: (spec.annotation, _field(spec)) for spec in specs}
        fields["configurable"] = (fields_model("Configurable", inner), None)
    hints = get_type_hints(RunnableConfig, localns=_config_names()) if include else {}
    for key in include or ():
        if key != "configurable" and key in hints:
            fields[key] = (hints[key], None)
    return fields_model(runnable.get_name("Config"), fields)


def _field(spec: Any) -> Any:
    from pydantic import Field

    return Field(spec.default, title=spec.name, description=spec.description)


def _config_names() -> dict[str, Any]:
    """The names in `RunnableConfig` that only type checkers know there."""
    from uuid import UUID

    return {"UUID": UUID, "Callbacks": Any}


__all__ = [
    "config_model",
    "fields_model",
    "first_particular_input",
    "has_root",
    "input_of_function",
    "input_of_parallel",
    "input_of_sequence",
    "model_of",
    "output_of_assign",
    "output_of_parallel",
    "output_of_sequence",
    "parameter_type",
    "returned_type",
    "root_model",
    "type_argument",
    "type_inside",
]
