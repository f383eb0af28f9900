"""What users of pydantic models expect of a message: `model_dump`, `model_copy`, and so on.

Messages are not pydantic models. This mixin gives them the same methods, and pydantic itself, which
asks through `__get_pydantic_core_schema__`, a schema. Pydantic is imported only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from plait.errors import nearest
from plait.messages.fields import Field
from plait.objects.copied import Copied
from plait.objects.model_face import WrittenBy

if TYPE_CHECKING:
    from plait.messages.merge import Content


_LEAVES = frozenset((str, int, float, bool, type(None)))


def plain(value: Any) -> Any:
    """A copy of nested data in which messages and models are dicts."""
    kind = value.__class__
    if kind is dict:
        copied = value.copy()
        for k, v in value.items():
            if v.__class__ not in _LEAVES:
                copied[k] = plain(v)
        return copied
    if kind is list or isinstance(value, list):
        return [v if v.__class__ in _LEAVES else plain(v) for v in cast("list[Any]", value)]
    if kind in _LEAVES:
        return value
    if isinstance(value, dict):
        return {k: plain(v) for k, v in cast("dict[Any, Any]", value).items()}
    if type(value) is tuple:
        return tuple(plain(v) for v in cast("tuple[Any, ...]", value))
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) and not isinstance(value, type) else value


_WITHOUT_EFFECT = frozenset(
    (
        *(
            "by_alias",
            "context",
            "exclude_computed_fields",
            "fallback",
            "polymorphic_serialization",
        ),
        *("round_trip", "serialize_as_any", "warnings"),
    )
)
"""Options of pydantic's dumps that make no difference for messages."""


def _check_options(ignored: Mapping[str, Any]) -> None:
    for name in ignored:
        if name not in _WITHOUT_EFFECT:
            known = (*_WITHOUT_EFFECT, "include", "exclude", "exclude_none", "exclude_unset")
            raise TypeError(f"model_dump() has no option {name!r}. {nearest(name, sorted(known))}")


@cache
def _to_json() -> Callable[..., bytes]:
    return import_module("pydantic_core").to_json


class Outline:
    """What whole dumps of the messages of a class have in common."""

    __slots__ = ("asked", "blank", "dicts", "lists", "usual")

    def __init__(self, cls: type[ModelMethods]) -> None:
        held: dict[str, Any] = {
            n: getattr(cls, n, None) for n in cls.model_fields if n not in _SLOTS
        }
        self.usual = (
            all(is_ordinary(field) for name, field in held.items() if name != "type")
            and cls.__getattribute__ is object.__getattribute__
            and cls.model_dump is ModelMethods.model_dump
            and cls.__iter__ is ModelMethods.__iter__
            and cls.model_extra is ModelMethods.model_extra
        )
        """Whether the class reads its fields as messages do: a subclass may have other ways."""
        fields = {n: f for n, f in held.items() if n != "type"} if self.usual else {}
        self.lists = [n for n, f in fields.items() if f.container is list]
        self.dicts = [n for n, f in fields.items() if f.container is dict]
        made = {n for n, f in fields.items() if f.default_factory not in (None, f.container)}
        self.asked = [n for n, f in fields.items() if f.required or n in made]
        """What has a value of its own once it is read, or is missing then."""
        self.blank: dict[str, Any] = dict.fromkeys(cls.model_fields)
        """All fields in their order, with the values of those that are not set."""
        for name in fields.keys() - made:
            field: Field = fields[name]
            self.blank[name] = field.container() if field.container else field.default

    def dump(self, message: ModelMethods) -> dict[str, Any]:
        """All of a message as a dict that shares nothing with it."""
        data = self.blank.copy()
        content = message.content
        data["content"] = content if content.__class__ is str else plain(content)
        data["id"] = message.id
        data["type"] = message.type
        for name in self.dicts:
            data[name] = {}
        for name in self.lists:
            data[name] = []
        rare = self.set_in(message) if self.asked else message.__plait_rare__
        if rare:
            for name, value in rare.items():
                if name != "model_extra":
                    data[name] = value if value.__class__ in _LEAVES else plain(value)
            if "model_extra" in rare:
                data.update((k, plain(v)) for k, v in message.model_extra.items())
        return data

    def view(self, message: ModelMethods) -> dict[str, Any]:
        """`dump` for those who only look: what is in it is the message's own."""
        data = self.blank.copy()
        data["content"] = message.content
        data["id"] = message.id
        data["type"] = message.type
        rare = self.set_in(message) if self.asked else message.__plait_rare__
        if rare:
            data.update(rare)
            if data.pop("model_extra", None):
                data.update(message.model_extra)
        return data

    def set_in(self, message: ModelMethods) -> dict[str, Any] | None:
        """The rarely set fields that a message has, as it keeps them."""
        rare = message.__plait_rare__
        for name in self.asked:
            if not rare or name not in rare:
                getattr(message, name)
        return message.__plait_rare__


def is_ordinary(field: Any) -> bool:
    """Whether it is a field whose default can be shared."""
    return field.__class__ is Field and field.default.__class__ in _LEAVES


_SLOTS = frozenset(("content", "id"))
_outline_of = lru_cache(maxsize=1024)(Outline)


class ModelMethods(Copied):
    """The `model_*` methods of a message, and the older `dict`, `json` and `copy`."""

    __slots__ = ()

    __pydantic_serializer__ = WrittenBy("plait.messages.schema")
    model_fields: ClassVar[Mapping[str, Field]] = {}
    if TYPE_CHECKING:
        content: Content
        id: str | None
        type: str
        __plait_rare__: dict[str, Any] | None

    @property
    def model_extra(self) -> dict[str, Any]:
        """What was given beside the declared fields."""
        extra = (self.__plait_rare__ or {}).get("model_extra")
        return {k: v for k, v in extra.items() if k[0] != "_"} if extra else {}

    @property
    def model_fields_set(self) -> set[str]:
        """The fields that say something: required ones, and those that differ from defaults."""
        return {
            n for n, f in self.model_fields.items() if not f.is_default(getattr(self, n))
        } | set(self.model_extra)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yields (name, value) of every field, so that `dict(message)` works."""
        for name in self.model_fields:
            yield name, getattr(self, name)
        yield from self.model_extra.items()

    def model_dump(
        self,
        *,
        mode: str = "python",
        include: Any = None,
        exclude: Any = None,
        exclude_unset: bool = False,
        exclude_defaults: bool = False,
        exclude_none: bool = False,
        **ignored: Any,
    ) -> dict[str, Any]:
        """The message as a dict of plain data that shares nothing with it.

        Args:
            mode: "python", or "json" for values that JSON can hold.
            include: Names of the only fields to keep.
            exclude: Names of fields to leave out.
            exclude_unset: Leave out what says no more than its default.
            exclude_defaults: The same.
            exclude_none: Leave out what is None.
            ignored: Options of pydantic that make no difference for messages.

        Raises:
            TypeError: pydantic does not know an option, either.
        """
        if ignored:
            _check_options(ignored)
        outline = _outline_of(self.__class__)
        narrowed = exclude_unset or exclude_defaults or exclude_none
        if outline.usual and not narrowed and include is None and exclude is None:
            data = outline.dump(self)
            return (
                import_module("pydantic_core").to_jsonable_python(data) if mode == "json" else data
            )
        said = self.model_fields_set if exclude_unset or exclude_defaults else None
        data = {
            name: plain(value)
            for name, value in self
            if (said is None or name in said)
            and (include is None or name in include)
            and (exclude is None or name not in exclude)
            and not (exclude_none and value is None)
        }
        return import_module("pydantic_core").to_jsonable_python(data) if mode == "json" else data

    def model_dump_json(
        self, *, indent: int | None = None, ensure_ascii: bool = False, **options: Any
    ) -> str:
        """The message as JSON text.

        Args:
            indent: Spaces of a level; None: all in one line.
            ensure_ascii: Write other characters as their codes.
            options: Those of `model_dump`.
        """
        to_json = partial(_to_json(), ensure_ascii=True) if ensure_ascii else _to_json()
        outline = _outline_of(self.__class__)
        if outline.usual and not options:
            try:
                return to_json(outline.view(self), indent=indent).decode()
            except ValueError:
                pass  # something in it is no JSON until it is dumped, such as another message
        return to_json(self.model_dump(**options), indent=indent).decode()

    def dict(self, **options: Any) -> dict[str, Any]:
        """The older name of `model_dump`."""
        return self.model_dump(**options)

    def json(self, **options: Any) -> str:
        """The older name of `model_dump_json`."""
        return self.model_dump_json(**options)

    def __copy__(self) -> Self:
        raise NotImplementedError

    @classmethod
    def model_validate(cls, obj: Any, **ignored: Any) -> Self:
        """A message of this class from an instance or a dict.

        Raises:
            InvalidMessageError: the value is neither, or its `type` names another class.
        """
        return import_module("plait.messages.schema").validate(cls, obj)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes, **ignored: Any) -> Self:
        """A message of this class from JSON text."""
        return cls.model_validate(import_module("json").loads(json_data))

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """A message made without validation."""
        made = cls.__new__(cls)
        object.__setattr__(made, "content", values.pop("content", ""))
        object.__setattr__(made, "id", values.pop("id", None))
        object.__setattr__(made, "__plait_rare__", None)
        object.__setattr__(made, "__plait_revision__", 0)
        for name, value in values.items():
            if name != "type" or cls.model_fields["type"].required:
                setattr(made, name, value)
        return made

    @classmethod
    def model_json_schema(cls, **ignored: Any) -> dict[str, Any]:
        """The JSON schema of `model_dump`."""
        return import_module("plait.messages.schema").json_schema(cls)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return import_module("plait.messages.schema").core_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return cls.model_json_schema()
