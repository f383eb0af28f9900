"""The fields of a message: declared once, kept in one small dict only when they are set.

Most messages are a content and an id. Everything else (`additional_kwargs`, `name`, `tool_calls`,
fields of user subclasses) is a `Field`: a descriptor over the message's `__plait_rare__` dict,
which is None until the first such field is set or a lazily created container is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Any, cast

from plait.messages.errors import InvalidMessageError

ANY_JSON: dict[str, Any] = {}
DICT_JSON: dict[str, Any] = {"additionalProperties": True, "type": "object"}
OPTIONAL_STR_JSON: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
CONTENT_JSON: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {"items": {"anyOf": [{"type": "string"}, DICT_JSON]}, "type": "array"},
    ]
}

Check = Callable[[str, Any], Any]
"""Takes `Class.field` (for the error) and a value; returns the value to keep, or raises."""


class Field:
    """One field of a message class, also the descriptor that reads and writes it.

    Attributes: `default`, `default_factory` (makes the container when first read), `required`,
    `shown` (in reprs), `annotation` (None for plait's own), `json` (its JSON schema), `plain` (the
    class whose own values need no check, or None).
    """

    __slots__ = (
        "annotation",
        "check",
        "container",
        "default",
        "default_factory",
        "json",
        "name",
        "plain",
        "required",
        "shown",
    )

    def __init__(
        self,
        name: str,
        *,
        default: Any = None,
        factory: Callable[[], Any] | None = None,
        required: bool = False,
        shown: bool = True,
        check: Check | None = None,
        json: dict[str, Any] = ANY_JSON,
        annotation: Any = None,
        plain: type[Any] | None = None,
    ) -> None:
        self.name = name
        self.default = default
        self.default_factory = factory
        self.container = factory if factory is list or factory is dict else None
        """The type of a field that begins as an empty container."""
        self.required = required
        self.shown = shown
        self.check = check
        self.json = json
        self.annotation = annotation
        self.plain = plain

    def __get__(self, message: Any, owner: Any = None) -> Any:
        if message is None:
            return self
        rare = message.__plait_rare__
        if rare is not None and self.name in rare:
            return rare[self.name]
        if self.default_factory is None:
            if self.required:
                raise AttributeError(f"{type(message).__name__} has no {self.name!r} yet.")
            return self.default
        value = self.default_factory()
        if rare is None:
            put_rare(message, {self.name: value})
        else:
            rare[self.name] = value
        unseal(message)
        return value

    def __set__(self, message: Any, value: Any) -> None:
        rare = message.__plait_rare__
        if rare is None:
            put_rare(message, {self.name: value})
        else:
            rare[self.name] = value

    def is_required(self) -> bool:
        """Whether a message cannot be made without it (the name pydantic's fields have)."""
        return self.required

    def is_default(self, value: Any) -> bool:
        """Whether `value` says no more than leaving the field out would."""
        if self.required:
            return False
        if value.__class__ is self.container:
            return not value
        default = self.default if self.default_factory is None else self.default_factory()
        return value is default or (type(value) is type(default) and bool(value == default))

    def __repr__(self) -> str:
        state = "required" if self.required else f"default={self.default!r}"
        return f"Field({self.name!r}, {state})"


Rule = tuple[type[Any] | None, Check, str]
"""What a constructor needs of a field: `plain`, `check` for other values, and its `where`."""


def rules_of(cls: str, fields: Mapping[str, Field]) -> dict[str, Rule]:
    """The rules of the fields that a constructor of the class named `cls` takes by keyword."""
    return {
        name: (field.plain, field.check or check_nothing, f"{cls}.{name}")
        for name, field in fields.items()
        if name not in ("content", "id") and (name != "type" or field.required)
    }


def check_nothing(where: str, value: Any) -> Any:
    """Takes any value."""
    return value


CHANGES: list[object] = [object()]
"""See `BaseMessage.__plait_changes__`."""


def unseal(message: Any) -> None:
    """A message holds something mutable from now on: whoever relied on its seal must look."""
    revision: int = message.__plait_revision__
    if revision & 1:
        object.__setattr__(message, "__plait_revision__", revision - 1)
        CHANGES[0] = object()


def put_rare(message: Any, rare: dict[str, Any] | None) -> None:
    """Sets the dict of rare fields without counting it as a change."""
    object.__setattr__(message, "__plait_rare__", rare)


_get = cast("Callable[[dict[str, Any], str], Any]", dict[str, Any].get)


def may_have(messages: Iterable[Any], name: str) -> bool:
    """Whether a field of any of these messages is set, and not empty, or one is not plait's own.

    To read the field would give an empty container to each message that has none.
    """
    held = map(getattr, messages, repeat("__plait_rare__"), repeat({name: True}))
    return any(map(_get, filter(None, held), repeat(name)))


def reject(where: str, expected: str, value: Any) -> InvalidMessageError:
    """The error for a value that a field cannot take."""
    return InvalidMessageError(
        f"{where}: expected {expected}, got {type(value).__name__}: {value!r}."
    )


def check_content(where: str, value: Any) -> str | list[str | dict[str, Any]]:
    """Content is a str or a list of str and dict; the list and its dicts are copied."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)):
        raise reject(where, "a str or a list of str and dict blocks", value)
    blocks: list[str | dict[str, Any]] = []
    for n, block in enumerate(cast("list[Any]", value)):
        if isinstance(block, str):
            blocks.append(block)
        elif isinstance(block, dict):
            blocks.append(cast("dict[str, Any]", block.copy()))
        else:
            raise reject(f"{where}[{n}]", "a str or a dict block", block)
    return blocks


def check_dict(where: str, value: Any) -> dict[str, Any]:
    """A dict, copied one level deep."""
    kept: Any = value
    if not isinstance(value, dict):
        raise reject(where, "a dict", value)
    return kept.copy()


def check_str(where: str, value: Any) -> str:
    """A str, nothing else."""
    if not isinstance(value, str):
        raise reject(where, "a str", value)
    return value


def check_optional_str(where: str, value: Any) -> str | None:
    """A str or None."""
    return value if value is None else check_str(where, value)


def check_id(where: str, value: Any) -> str | None:
    """A str or None; numbers become str, as pydantic's `coerce_numbers_to_str` does."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise reject(where, "a str", value)
