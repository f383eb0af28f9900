"""Schemas of arguments as pydantic models: from functions, and reduced to what a model sees.

Importing this module loads pydantic; `base` does so when a schema is first needed.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from importlib import import_module
from inspect import cleandoc
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from plait.common.reflection import resolved_annotations
from plait.errors import ToolDefinitionError
from plait.tools.docstrings import parse_docstring as read_docstring
from plait.tools.injected import is_call_id, is_injected
from plait.tools.signatures import MISSING, Parameter, parameters, string_mark

ArgsSchema: TypeAlias = type[BaseModel] | dict[str, Any]
"""What describes arguments: a pydantic model class (of either version), or a JSON schema."""
_CONFIG = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())


def create_schema_from_function(
    model_name: str,
    func: Callable[..., Any],
    *,
    filter_args: Sequence[str] | None = None,
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = False,
    include_injected: bool = True,
) -> type[BaseModel]:
    """A pydantic model of a function's arguments.

    Args:
        model_name: The name of the model.
        func: The function. Its `run_manager`, `callbacks` and config are left out.
        filter_args: Further arguments to leave out.
        parse_docstring: Describe the arguments as the docstring does (Google's style).
        error_on_invalid_docstring: Refuse a docstring that does not describe them.
        include_injected: Also the arguments that the program injects.

    Raises:
        ToolDefinitionError: The docstring does not fit.
        AnnotationError: An annotation names something that does not exist.

    >>> create_schema_from_function("Add", lambda a, b=1: a + b).model_json_schema()["required"]
    ['a']
    """
    mine, description, docs = arguments_of(
        func,
        filter_args=filter_args,
        parse_docstring=parse_docstring,
        error_on_invalid_docstring=error_on_invalid_docstring,
        include_injected=include_injected,
    )
    return model_of(model_name, mine, description, docs)


def arguments_of(
    func: Callable[..., Any],
    *,
    filter_args: Sequence[str] | None = None,
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = False,
    include_injected: bool = True,
) -> tuple[list[Parameter], str | None, dict[str, str]]:
    """What `create_schema_from_function` makes a model of: arguments, what they are for, and each.

    Raises:
        ToolDefinitionError: The docstring does not fit.
        AnnotationError: An annotation names something that does not exist.
    """
    hidden = set(filter_args or ())
    mine = [
        its
        for its in parameters(func)
        if its.is_plain and its.name not in hidden and (include_injected or not its.is_injected)
    ]
    description, docs = func.__doc__, dict[str, str]()
    if parse_docstring:
        names = [its.name for its in mine]
        strict = error_on_invalid_docstring and any(its.annotation is not MISSING for its in mine)
        description, docs = read_docstring(func, names, strict=strict)
    return mine, description, docs


def model_of(
    name: str, its_parameters: Iterable[Parameter], description: str | None, docs: Mapping[str, str]
) -> type[BaseModel]:
    """A model with one field for each parameter.

    Raises:
        ToolDefinitionError: A parameter without a default has a name that no field can have.
    """
    fields: dict[str, Any] = {}
    for its in its_parameters:
        if its.name.startswith("_"):
            if its.default is MISSING:
                raise ToolDefinitionError(
                    f"Tool {name!r}: the argument {its.name!r} starts with an underscore, so no "
                    "schema can name it. Rename it, or give it a default to keep it internal."
                )
            continue
        fields[its.name] = _field(its, docs.get(its.name))
    return _create(name, description, fields)


def _field(its: Parameter, doc: str | None) -> tuple[Any, Any]:
    annotation = Any if its.annotation is MISSING else its.annotation
    default = ... if its.default is MISSING else its.default
    if its.is_injected and get_origin(annotation) not in (Annotated, Union, UnionType):
        annotation = get_origin(annotation) or annotation  # `ToolRuntime[A, B]`: nothing to check
    if its.spread:
        annotation = list[annotation] if its.spread == "*" else dict[str, annotation]
        default = None
    said = doc or _described(annotation) or string_mark(annotation)
    if said and isinstance(default, FieldInfo):
        # As a default, what it says would win: among the marks of the annotation, the last does.
        # Its bounds come before those of the annotation, as where nothing is said.
        kind, *marks = (
            get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
        )
        annotation, default = Annotated[(kind, default, *marks)], _value_of(default)
    if said:
        annotation = Annotated[annotation, Field(description=said)]
    return annotation, default


def _value_of(info: FieldInfo) -> Any:
    """The default that a field declares, as a model takes it."""
    if info.is_required():
        return ...
    factory: Any = info.default_factory
    return info.default if factory is None else Field(default_factory=factory)


def _parts(annotation: Any) -> tuple[Any, ...]:
    """A type and the marks that an `Annotated` puts on it."""
    return get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)


def _described(annotation: Any) -> str | None:
    """The description in `Annotated[int, Field(description="how many")]`, if there is one."""
    described = (mark.description for mark in _parts(annotation) if isinstance(mark, FieldInfo))
    return next((text for text in described if text), None)


def without_injected(name: str, model: type[Any], description: str | None) -> type[BaseModel]:
    """What a model is shown of a schema: without the arguments that the program fills."""
    if is_v1(model):
        return _v1_shown(name, model, description)
    fields: dict[str, Any] = {}
    for field, info in model.model_fields.items():
        if not is_injected(field_annotation(info)):
            fields[field] = (info.annotation, copy(info))
    return _create(name, description, fields)


def field_annotation(info: FieldInfo) -> Any:
    """The annotation of a field, with what pydantic took out of it."""
    if not info.metadata:
        return info.annotation
    return Annotated[(info.annotation, *info.metadata)]


def get_all_basemodel_annotations(cls: Any, *, default_to_bound: bool = True) -> dict[str, Any]:
    """How the fields of a pydantic model are annotated, those of its bases too.

    Args:
        cls: The model; of a generic one, also with its types (`Page[int]`).
        default_to_bound: Tell the bound of a type variable (or Any) in its place.

    >>> class Point(BaseModel):
    ...     x: Annotated[int, "east"]
    >>> get_all_basemodel_annotations(Point)
    {'x': typing.Annotated[int, 'east']}
    """
    hints = resolved_annotations(cls)
    fields: dict[str, FieldInfo] = cls.model_fields
    found: dict[str, Any] = {
        name: hints.get(name, info.annotation) for name, info in fields.items()
    }
    for name, hint in found.items():
        if _has_variable(hint):
            given: Any = fields[name].annotation
            bound = isinstance(given, TypeVar) and default_to_bound
            found[name] = (given.__bound__ or Any) if bound else given
    return found


def _has_variable(hint: Any) -> bool:
    return isinstance(hint, TypeVar) or any(map(_has_variable, get_args(hint)))


def injected_fields(model: type[Any]) -> tuple[frozenset[str], frozenset[str]]:
    """The fields that the program fills, and those among them that get the tool call's id."""
    if is_v1(model):
        hints = {name: getattr(model, "__annotations__", {}).get(name) for name in model.__fields__}
    else:
        hints = {name: field_annotation(info) for name, info in model.model_fields.items()}
    hidden = frozenset(name for name, hint in hints.items() if is_injected(hint))
    return hidden, frozenset(name for name in hidden if is_call_id(hints[name]))


def is_v1(model: Any) -> bool:
    """Whether a model class is one of pydantic's first version."""
    return not hasattr(model, "model_fields")


def json_schema(model: type[Any]) -> dict[str, Any]:
    """The JSON schema of a model class of either version of pydantic."""
    return model.schema() if is_v1(model) else model.model_json_schema()


def _create(name: str, description: str | None, fields: dict[str, Any]) -> type[BaseModel]:
    with warnings.catch_warnings():
        # Arguments may be called `copy` or `schema`: nobody calls these methods of the model.
        warnings.filterwarnings("ignore", message="Field name .* shadows an attribute")
        said = cleandoc(description or "").rstrip() or None
        return create_model(name, __config__=_CONFIG, __doc__=said, **fields)


def _v1_shown(name: str, model: type[Any], description: str | None) -> type[Any]:
    hidden, _ = injected_fields(model)
    create_v1: Any = import_module("pydantic.v1").create_model  # only where a tool uses it

    fields: dict[str, Any] = {
        field: (its.outer_type_, its.field_info)
        for field, its in model.__fields__.items()
        if field not in hidden
    }
    shown = create_v1(name, **fields)
    shown.__doc__ = description
    return shown


class LeftOut:
    """Stands for the value of a key that a call leaves out (the class itself: copies are it)."""


def of_typed_dict(name: str, kind: Any) -> type[BaseModel]:
    """A model with the keys of a TypedDict; those that may be left out have `LeftOut` then."""
    hints = get_type_hints(kind)
    fields: dict[str, Any] = {
        key: (
            hint,
            ... if key in kind.__required_keys__ else Field(default_factory=lambda: LeftOut),
        )
        for key, hint in hints.items()
    }
    return _create(name, None, fields)
