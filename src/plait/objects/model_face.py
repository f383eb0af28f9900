"""What users of pydantic's models expect of plait's own objects: `model_dump`, `model_fields` ...

Prompts, parsers, tools, models, results and chains are no pydantic models, so that making one costs
next to nothing. A class that derives from `ModelFace` has the methods of one. They ask a model that
stands for the class; it is made, and pydantic loaded, when somebody asks for the first time.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from plait.common.reflection import signature
from plait.objects.copied import Copied
from plait.objects.written import Written

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from plait.objects.stand_in import StandIn


class _ModelFields:
    """What pydantic says of the fields of a class, as its models have it."""

    def __get__(self, made: Any, kind: "type[ModelFace]") -> Mapping[str, "FieldInfo"]:
        return kind.__plait_stand_in__().described


class WrittenBy:
    """How pydantic writes such an object where it comes upon one, inside of whatever it writes.

    Args:
        module: The module whose `serializer` says it; it is loaded when pydantic asks.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __get__(self, made: Any, kind: type) -> Any:
        return import_module(self._module).serializer()


class ModelFace(Copied, Written):
    """The `model_*` methods of pydantic's models, for classes that are none.

    A class names its fields in `__plait_fields__`, in the order in which they are written. Those
    of `__plait_unwritten__` are left out of what is written: they are of use only to who runs it.
    """

    __slots__ = ()
    __plait_fields__: ClassVar[tuple[str, ...]] = ()
    __plait_unwritten__: ClassVar[tuple[str, ...]] = ()
    __pydantic_serializer__ = WrittenBy("plait.objects.stand_in")
    model_fields = _ModelFields()

    @classmethod
    def __plait_stand_in__(cls) -> "StandIn":
        """The model that stands for the class."""
        return import_module("plait.objects.stand_in").of_constructor(cls)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yields (name, value) of every field, so that `dict(prompt)` works."""
        for name in self.__plait_stand_in__().described:
            yield name, getattr(self, name)

    def shown_fields(self) -> list[str]:
        """What is not as by default, as `name=value`."""
        defaults = defaults_of(type(self))
        held = {name: getattr(self, name) for name in self.__plait_fields__}
        return [f"{n}={its!r}" for n, its in held.items() if its != defaults.get(n, ...)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.shown_fields())})"

    def __str__(self) -> str:
        return " ".join(self.shown_fields())

    @property
    def model_extra(self) -> dict[str, Any] | None:
        """What was given beside the fields; None where a class takes nothing else."""
        return self.__plait_stand_in__().extra_of(self)

    @property
    def model_fields_set(self) -> set[str]:
        """The fields that say something: required ones, and those that differ from defaults."""
        return self.__plait_stand_in__().said_by(self)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """The fields as a dict of plain data; what is inside is written in the same way.

        Args:
            options: Those of pydantic: `mode`, `include`, `exclude`, `exclude_none`, `by_alias` ...
        """
        shown = self.__plait_stand_in__().model_of(self, options.get("mode", "python"))
        return shown.model_dump(**options)

    def model_dump_json(self, **options: Any) -> str:
        """The fields as JSON text.

        Args:
            options: Those of `model_dump`, and `indent`.

        Raises:
            PydanticSerializationError: pydantic's: something in it is no JSON, such as a function
                inside of a runnable.
        """
        return self.__plait_stand_in__().model_of(self, "json").model_dump_json(**options)

    @classmethod
    def model_validate(cls, obj: Any, **ignored: Any) -> Self:
        """An object of this class, from itself or from a dict of its fields.

        Raises:
            ValidationError: pydantic's: it is neither.
            Exception: What the constructor raises where the fields do not fit.
        """
        if isinstance(obj, cls):
            return obj
        stand_in = cls.__plait_stand_in__()
        if not isinstance(obj, Mapping):
            raise stand_in.refusal(obj)
        return cls(**stand_in.arguments(cast("Mapping[str, Any]", obj)))

    @classmethod
    def model_validate_json(cls, json_data: str | bytes, **ignored: Any) -> Self:
        """An object of this class from JSON text; errors are those of `model_validate`."""
        return cls.model_validate(import_module("json").loads(json_data))

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """An object with these fields."""
        return cls.model_validate(values)

    @classmethod
    def model_json_schema(cls, **options: Any) -> dict[str, Any]:
        """The JSON schema of the fields; what has none, such as a function, may be anything."""
        return cls.__plait_stand_in__().json_schema(**options)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return import_module("plait.objects.stand_in").schema_of_field(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        return {"title": cls.__name__, "type": "object"}

    def json(self, **options: Any) -> str:
        """The older name of `model_dump_json`."""
        return self.model_dump_json(**options)

    # The last one: in a class, annotations after it would take `dict` for this method.
    def dict(self, **options: Any) -> Mapping[str, Any]:
        """The older name of `model_dump`."""
        return self.model_dump(**options)


def defaults_of(kind: type) -> dict[str, Any]:
    """The defaults of what the constructors of a class and its bases take by name."""

    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__[:-1]):
        if "__init__" in vars(base):
            taken = signature(vars(base)["__init__"]).parameters.values()
            found.update({p.name: p.default for p in taken if p.default is not p.empty})
    return found


class ComparedFields(ModelFace):
    """A model face of objects that are equal if their fields are."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in self.__plait_fields__)

    __hash__ = object.__hash__


__all__ = ["ComparedFields", "ModelFace", "WrittenBy", "defaults_of"]
