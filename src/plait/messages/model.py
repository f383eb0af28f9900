"""What users of pydantic models expect of a message: `model_dump`, `model_copy`, and so on.

Messages are not pydantic models. This mixin gives them the same methods, and pydantic itself, which
asks through `__get_pydantic_core_schema__`, a schema. Pydantic is imported only then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from plait.messages.fields import Field

if TYPE_CHECKING:
    from plait.messages.merge import Content


def plain(value: Any) -> Any:
    """A copy of nested data in which messages and models are dicts."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [plain(v) for v in cast("list[Any]", value)]
    if type(value) is tuple:
        return tuple(plain(v) for v in cast("tuple[Any, ...]", value))
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) and not isinstance(value, type) else value


class ModelMethods:
    """The `model_*` methods of a message, and the older `dict`, `json` and `copy`."""

    __slots__ = ()

    model_fields: ClassVar[Mapping[str, Field]] = {}
    if TYPE_CHECKING:
        content: Content
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
        """
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

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """The message as JSON text; `options` are those of `model_dump`."""
        data = self.model_dump(**options)
        return import_module("pydantic_core").to_json(data, indent=indent).decode()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields changed; `update` is not validated."""
        copied = deepcopy(self) if deep else self.__copy__()
        for name, value in (update or {}).items():
            setattr(copied, name, value)
        return copied

    def copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The older name of `model_copy`."""
        return self.model_copy(update=update, deep=deep)

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
