"""The pydantic model that stands for a class of plait's, where pydantic's methods are asked for.

Loading this module loads pydantic; `plait.objects.model_face` does when somebody asks.
"""

import dataclasses
from collections.abc import Mapping
from copy import copy  # pydantic before 2.12 changes the fields that it is given
from functools import cache, cached_property
from typing import Any, cast, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaSerializer, core_schema

from plait.common.reflection import binds, is_routine, own_annotations, signature
from plait.objects.fields import own_names
from plait.objects.model_face import ModelFace, defaults_of
from plait.objects.own_fields import annotation_of, model_for


class StandIn:
    """What pydantic would say of a class, and the models that it is asked for.

    Args:
        kind: The class.
        declared: Annotation and default of each field; `...` for those without a default.
        decorated: What the class declares with pydantic's decorators of serializers.
        own: The fields that classes of programs declare: they are written by their types.
        extra: Whether objects keep what is no field.
    """

    def __init__(
        self,
        kind: type[ModelFace],
        declared: Mapping[str, tuple[Any, Any]],
        decorated: Mapping[str, Any],
        own: frozenset[str] = frozenset(),
        *,
        extra: bool = False,
    ) -> None:
        self.kind = kind
        self.decorated = decorated
        self.own = own
        self.extra = extra
        self.unwritten = {
            name for base in kind.__mro__ for name in vars(base).get("__plait_unwritten__", ())
        }
        self.described = {name: self._field(name, *its) for name, its in declared.items()}

    def _field(self, name: str, annotation: Any, default: Any) -> FieldInfo:
        field = FieldInfo.from_annotated_attribute(annotation, default)
        if name in self.unwritten:
            field.exclude = True
        return field

    @cached_property
    def model(self) -> type[BaseModel]:
        """The model that writes objects: fields of plait's classes are written as what they are."""
        fields = {
            name: (field.annotation if name in self.own else Any, copy(field))
            for name, field in self.described.items()
        }
        extra = "allow" if self.extra else "ignore"
        return model_for(self.kind, fields, self.decorated, extra=extra)

    def model_of(self, made: ModelFace, mode: str = "python") -> BaseModel:
        """An object as the model that stands for it, to be written in a mode of pydantic's."""
        values = {name: getattr(made, name) for name in self.described if hasattr(made, name)}
        if mode == "json":
            values = {name: _as_json(its) for name, its in values.items()}
        extra = self.extra_of(made) or {}
        return self.model.model_construct({*self.said_by(made), *extra}, **values, **extra)

    def extra_of(self, made: ModelFace) -> dict[str, Any] | None:
        """What an object keeps that is no field; None where its class keeps nothing else."""
        if not self.extra:
            return None
        held = vars(made).items()
        return {n: its for n, its in held if n[0] != "_" and n not in self.described}

    def said_by(self, made: ModelFace) -> set[str]:
        """The fields of an object that are required, or differ from their defaults."""
        held = {name: getattr(made, name) for name in self.described if hasattr(made, name)}
        return {
            name
            for name, its in held.items()
            if (field := self.described[name]).is_required()
            or its != field.get_default(call_default_factory=True, validated_data=held)
        }

    @cached_property
    def arguments_taken(self) -> frozenset[str] | None:
        """What the constructor takes by name; None where it takes any name."""
        taken = signature(self.kind).parameters.values()
        if any(one.kind is one.VAR_KEYWORD for one in taken):
            return None
        return frozenset(one.name for one in taken)

    def arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Fields as arguments of the constructor, which may set some of them itself.

        A dict in the place of an object of plait's becomes one.
        """
        taken = self.arguments_taken
        return {
            name: self._read(name, its)
            for name, its in values.items()
            if taken is None or name in taken or name not in self.described
        }

    def _read(self, name: str, value: Any) -> Any:
        field = self.described.get(name)
        annotation: Any = None if field is None else field.annotation
        named = [annotation, *get_args(annotation)]
        is_ours = any(isinstance(one, type) and issubclass(one, ModelFace) for one in named)
        if not is_ours or not isinstance(value, Mapping):
            return value
        made = TypeAdapter[Any](annotation, config={"arbitrary_types_allowed": True})
        return made.validate_python(value)

    def refusal(self, given: Any) -> ValidationError:
        """What pydantic says of something that is no object of the class, nor a dict of one."""
        line: Any = {
            "type": "model_type",
            "input": given,
            "ctx": {"class_name": self.kind.__name__},
        }
        return ValidationError.from_exception_data(self.kind.__name__, [line])

    def json_schema(self, **options: Any) -> dict[str, Any]:
        """The JSON schema of the fields."""
        fields = {name: (field.annotation, copy(field)) for name, field in self.described.items()}
        options.setdefault("schema_generator", _Lenient)
        return model_for(self.kind, fields, {}).model_json_schema(**options)


class _Lenient(GenerateJsonSchema):
    """What has no JSON schema (functions, objects of any class) may be anything."""

    ignored_warning_kinds = {"non-serializable-default"}  # noqa: RUF012 - as pydantic has it

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}


def of_constructor(kind: type[ModelFace]) -> StandIn:
    """The stand-in of a class whose fields are arguments of its constructor, or set by it."""
    known = vars(kind).get("_stand_in")
    if known is None:
        own = own_names(kind)
        names = dict.fromkeys([*kind.__plait_fields__, *own])
        defaults = {**defaults_of(kind), **_of_dataclass(kind)}
        declared = {n: (_annotation(kind, n), _default(kind, n, defaults)) for n in names}
        known = StandIn(kind, declared, {}, frozenset(own))
        type.__setattr__(kind, "_stand_in", known)  # it goes when the class goes
    return known


def _of_dataclass(kind: type) -> dict[str, Any]:
    """The defaults of the fields of a dataclass."""
    found: dict[str, Any] = {}
    for one in getattr(kind, "__dataclass_fields__", {}).values():
        if one.default_factory is not dataclasses.MISSING:
            found[one.name] = FieldInfo(default_factory=one.default_factory)
        elif one.default is not dataclasses.MISSING:
            found[one.name] = one.default
    return found


def _annotation(kind: type, name: str) -> Any:
    """What the class, or the nearest of its bases, annotates a field with."""
    for base in kind.__mro__:
        if name in own_annotations(base):
            return annotation_of(base, name)
    return Any


def _default(kind: type, name: str, defaults: Mapping[str, Any]) -> Any:
    """The default of a field: that of the argument, else of the class."""
    if name in defaults:
        return defaults[name]
    default = getattr(kind, name, ...)
    return ... if binds(default) else default


_LEFT_OUT = ("exclude_unset", "exclude_defaults", "exclude_none")


def _as_json(value: Any) -> Any:
    """The schema of a class, and the name of a function, as a field of a tool may be one."""
    if is_routine(value):
        return repr(value)
    if isinstance(value, type):
        kind = cast("type[Any]", value)
        if not issubclass(kind, BaseModel):
            return repr(kind)
        try:
            return kind.model_json_schema()
        except PydanticInvalidForJsonSchema:  # it has a field that no JSON describes
            return repr(kind)
    return value


@cache
def serializer() -> SchemaSerializer:
    """Writes an object of any class of plait's as the model that stands for it."""

    def dump(made: ModelFace, info: Any) -> Any:
        model = made.__plait_stand_in__().model_of(made, info.mode)
        if info.include is None and info.exclude is None:
            return model  # pydantic goes on with it, and with all that it was told
        told = ("mode", "include", "exclude", "by_alias", *_LEFT_OUT)
        return model.model_dump(**{name: getattr(info, name) for name in told})

    written = core_schema.plain_serializer_function_ser_schema(dump, info_arg=True)
    return SchemaSerializer(core_schema.any_schema(serialization=written))


def schema_of_field(kind: type[ModelFace]) -> Any:
    """Pydantic's schema of a field with such an object: plait's, the peer's twin, or a dict."""

    def check(value: Any) -> Any:
        if isinstance(value, kind) or any(_is_twin(base, kind) for base in type(value).__mro__):
            return value
        if isinstance(value, Mapping):
            try:
                return kind.model_validate(value)
            except TypeError as error:  # a field that is missing, or that there is not
                raise ValueError(str(error)) from error
        raise ValueError(f"Input should be an instance of {kind.__name__}")

    return core_schema.no_info_plain_validator_function(check)


def _is_twin(base: type, kind: type) -> bool:
    """Whether a class is what langchain_core has under the name of plait's."""
    return base.__name__ == kind.__name__ and base.__module__.startswith("langchain_core.")
