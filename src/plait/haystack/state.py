"""`State`: what an agent and its tools share in a run, and how each key takes what is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, TypeVar, cast, get_args

from plait.errors import InvalidValueError, nearest
from plait.haystack.errors import reading
from plait.haystack.messages import ChatMessage
from plait.haystack.registry import lookup_function, name_of, remember
from plait.haystack.type_names import (
    deserialize_type,
    is_list,
    is_type,
    remember_types,
    serialize_type,
)
from plait.haystack.values import read_value, write_value

T = TypeVar("T")

Schema = dict[str, dict[str, Any]]
"""Key to its "type" and, perhaps, its "handler"."""


def merge_lists(current: list[T] | T | None, new: list[T] | T) -> list[T]:
    """Both values as one list: the handler of lists.

    >>> merge_lists([1], 2), merge_lists(None, [2])
    ([1, 2], [2])
    """
    before = [] if current is None else _listed(current)
    return [*before, *_listed(new)]


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def replace_values(current: Any, new: Any) -> Any:
    """The new value: the handler of everything else.

    >>> replace_values(1, 2)
    2
    """
    del current
    return new


class State:
    """Values by key. What is set goes through the key's handler, which merges old and new.

    Args:
        schema: Key to `{"type": ..., "handler": ...}`. Without a handler a list grows
            (`merge_lists`) and anything else is replaced (`replace_values`). `messages`, a list of
            `ChatMessage`, is always there.
        data: Values to begin with; handlers do not see them.

    Raises:
        InvalidValueError: The schema is none.

    >>> state = State({"seen": {"type": list[str]}}, {"seen": ["a"]})
    >>> state.set("seen", ["b"])
    >>> state.get("seen")
    ['a', 'b']
    """

    def __init__(self, schema: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> None:
        check_schema(schema)
        self._take(complete_schema(schema), dict(data or {}))

    def _take(self, schema: Schema, data: dict[str, Any]) -> None:
        self.schema = schema
        self._data = data

    @classmethod
    def of(cls, schema: Schema, data: dict[str, Any]) -> State:
        """A state over data, by a schema that is checked and complete."""
        state = cls.__new__(cls)
        state._take(schema, data)
        return state

    def __repr__(self) -> str:
        return f"State({self._data!r})"

    def get(self, key: str, default: Any = None) -> Any:
        """A copy of a key's value; `default` without one."""
        return deepcopy(self._data.get(key, default))

    def set(
        self,
        key: str,
        value: Any,
        handler_override: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        """Put a value to a key.

        Args:
            key: A key of the schema.
            value: What its handler merges with what is there.
            handler_override: A handler for this time.

        Raises:
            InvalidValueError: The schema lacks the key.
        """
        known = self.schema.get(key)
        if known is None:
            raise InvalidValueError(
                f"State: Key '{key}' not found in schema. {nearest(key, self.schema)}"
            )
        handler = handler_override or known["handler"]
        self._data[key] = handler(self._data.get(key), value)

    @property
    def data(self) -> dict[str, Any]:
        """All values by key."""
        return self._data

    def has(self, key: str) -> bool:
        """Whether a key has a value."""
        return key in self._data

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        Raises:
            SerializationError: A value, type or handler has no such form.
        """
        return {"schema": write_schema(self.schema), "data": write_value(self._data)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> State:
        """From plain data.

        Raises:
            DeserializationError: It is damaged, or names something that is not registered.
        """
        with reading(cls):
            return cls(read_schema(data.get("schema", {})), read_value(data.get("data", {})))


def check_schema(schema: Mapping[str, Any]) -> None:
    """Check the schema of a state, and let data name what it is made of.

    Raises:
        InvalidValueError: It is none.
    """
    for key, entry in schema.items():
        if "type" not in entry:
            raise InvalidValueError(f"StateSchema: Key '{key}' is missing a 'type' entry.")
        kind, handler = entry["type"], entry.get("handler")
        if not is_type(kind):
            raise InvalidValueError(
                f"StateSchema: 'type' for key '{key}' must be a Python type, got {kind!r}"
            )
        if handler is not None and not callable(handler):
            raise InvalidValueError(
                f"StateSchema: 'handler' for key '{key}' must be callable or None, not {handler!r}"
            )
        if key == "messages" and not (is_list(kind) and get_args(kind) == (ChatMessage,)):
            raise InvalidValueError(
                f"StateSchema: 'messages' must be of type list[ChatMessage], got {kind!r}"
            )
        remember_types(kind)
        if handler is not None:
            remember(handler)


def complete_schema(schema: Mapping[str, Any]) -> Schema:
    """The schema with `messages`, and a handler for each key."""
    whole = {key: dict(entry) for key, entry in schema.items()}
    whole.setdefault("messages", {"type": list[ChatMessage]})
    for entry in whole.values():
        if entry.get("handler") is None:
            entry["handler"] = merge_lists if is_list(entry["type"]) else replace_values
    return whole


def write_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as plain data.

    Raises:
        SerializationError: A class or handler has no name.
    """
    written: dict[str, Any] = {}
    for key, entry in schema.items():
        written[key] = {"type": serialize_type(entry["type"])}
        if entry.get("handler") is not None:
            written[key]["handler"] = name_of(entry["handler"])
    return written


def read_schema(data: Mapping[str, Any]) -> Schema:
    """The schema that `write_schema` wrote.

    Raises:
        DeserializationError: It names something that is not registered.
    """
    schema: Schema = {}
    for key, entry in data.items():
        schema[key] = {"type": deserialize_type(entry["type"])}
        if entry.get("handler") is not None:
            schema[key]["handler"] = lookup_function(entry["handler"])
    return schema


__all__ = [
    "State",
    "check_schema",
    "complete_schema",
    "merge_lists",
    "read_schema",
    "replace_values",
    "write_schema",
]
