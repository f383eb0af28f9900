"""Types of a state's schema as text, and back: `list[str]`, `typing.Optional[int]`.

Read by a parser of its own, over names that the registry knows. No text is evaluated.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from plait.haystack.errors import DeserializationError
from plait.haystack.registry import lookup_class, name_of, remember

_BARE = (bool, bytes, dict, float, frozenset, int, list, object, set, str, tuple, NoneType)
_PLAIN: dict[str, Any] = {
    **{kind.__name__: kind for kind in _BARE},
    **{f"builtins.{kind.__name__}": kind for kind in _BARE},
    "None": None,
}
_TYPING = (
    *("Any", "Dict", "FrozenSet", "Iterable", "List", "Mapping", "Optional", "Sequence", "Set"),
    *("Tuple", "Union"),
)


def is_type(value: Any) -> bool:
    """Whether a schema may give this as a type."""
    return isinstance(value, (type, UnionType)) or value is Any or get_origin(value) is not None


def is_list(value: Any) -> bool:
    """Whether values of a type are lists."""
    return (get_origin(value) or value) is list


def remember_types(value: Any) -> None:
    """Let data name the classes that a type is made of: the program itself has named them."""
    if isinstance(value, type) and get_origin(value) is None:
        remember(value)
    for part in get_args(value):
        remember_types(part)


def serialize_type(target: Any) -> str:
    """A type as text.

    >>> serialize_type(dict[str, int]), serialize_type(typing.Optional[str])
    ('dict[str, int]', 'typing.Optional[str]')
    """
    if target is None or target is NoneType:
        return "None"
    if target is Ellipsis:
        return "..."
    if target is Any:
        return "typing.Any"
    origin, inner = get_origin(target), get_args(target)
    if origin is None:
        return target.__name__ if target in _BARE else _named(target)
    if origin in (Union, UnionType):
        return _union(inner)
    head = name_of(origin) if origin not in _BARE else origin.__name__
    if type(target).__module__ == "typing":  # typing.List[int], and not list[int]
        head = f"typing.{target._name}"
    return f"{head}[{', '.join(serialize_type(part) for part in inner)}]" if inner else head


def _union(parts: tuple[Any, ...]) -> str:
    others = [part for part in parts if part is not NoneType]
    if len(others) == 1 and len(parts) == 2:
        return f"typing.Optional[{serialize_type(others[0])}]"
    return f"typing.Union[{', '.join(map(serialize_type, parts))}]"


def _named(value: Any) -> str:
    if getattr(value, "__module__", None) == "typing":
        return f"typing.{value._name}"
    return name_of(value)


def deserialize_type(type_str: str) -> Any:
    """The type that a text means.

    Raises:
        DeserializationError: It is none, or names a class that is not registered.

    >>> deserialize_type("typing.Optional[list[str]]") == (list[str] | None)
    True
    """
    reader = _Reader(type_str)
    found = reader.type()
    if reader.rest():
        raise reader.error()
    return found


class _Reader:
    """Reads one type from a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def rest(self) -> str:
        return self._text[self._at :].strip()

    def error(self) -> DeserializationError:
        return DeserializationError(
            f"{self._text!r} is no type that data may name. Types are like 'list[str]', "
            "'typing.Optional[int]', or the name of a registered class."
        )

    def type(self) -> Any:
        """One type, and `|` others."""
        found = self._one()
        while self._takes("|"):
            found = Union[found, self._one()]  # noqa: UP007 (None may be a part)
        return found

    def _one(self) -> Any:
        name = self._word()
        if name == "...":
            return Ellipsis
        head = self._head(name)
        if not self._takes("["):
            return head
        parts = [self.type()]
        while self._takes(","):
            parts.append(self.type())
        if not self._takes("]"):
            raise self.error()
        try:
            return head[tuple(parts) if len(parts) > 1 else parts[0]]
        except TypeError as error:
            raise self.error() from error

    def _head(self, name: str) -> Any:
        if name in _PLAIN:
            return _PLAIN[name]
        short = name.removeprefix("typing.")
        if short in _TYPING and name != short:
            return getattr(typing, short)
        return lookup_class(name)

    def _word(self) -> str:
        self._skip()
        start = self._at
        is_part: Callable[[str], bool] = lambda c: c.isalnum() or c in "._"  # noqa: E731
        while self._at < len(self._text) and is_part(self._text[self._at]):
            self._at += 1
        if self._at == start:
            raise self.error()
        return self._text[start : self._at]

    def _takes(self, mark: str) -> bool:
        self._skip()
        found = self._text.startswith(mark, self._at)
        self._at += len(mark) if found else 0
        return found

    def _skip(self) -> None:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1


__all__ = ["deserialize_type", "is_list", "is_type", "remember_types", "serialize_type"]
