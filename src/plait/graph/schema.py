"""From a state schema to channels, and from stored values to what nodes are handed."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, cast, get_origin

from plait.channels.base import BaseChannel
from plait.channels.binop import BinaryOperatorAggregate
from plait.channels.last_value import LastValue
from plait.common.reflection import (
    is_annotated,
    own_annotations,
    resolved_annotations,
    signature,
    unqualified,
)
from plait.constants import RESERVED, ROOT
from plait.errors import InvalidGraphError
from plait.graph.renames import former_keys, split_metadata
from plait.managed import ManagedValue
from plait.typing import MISSING

Channel = BaseChannel[Any, Any, Any]


def is_pydantic(schema: Any) -> bool:
    """Whether a class is a pydantic model (found without importing pydantic)."""
    return isinstance(schema, type) and hasattr(schema, "__pydantic_validator__")


def is_dataclass(schema: Any) -> bool:
    """Whether a class is a dataclass."""
    return isinstance(schema, type) and hasattr(schema, "__dataclass_fields__")


def is_keyed(schema: Any) -> bool:
    """Whether a class is of a kind that declares keys: it may have none."""
    return is_pydantic(schema) or is_dataclass(schema) or hasattr(schema, "__required_keys__")


def _hints(schema: type) -> dict[str, Any]:
    if getattr(schema, "__module__", "builtins") == "builtins":
        return {}
    hints = resolved_annotations(schema)
    return {
        key: hint
        for key, hint in hints.items()
        if get_origin(hint) is not typing.ClassVar and not key.startswith("__pydantic")
        and key not in ("model_config",)
    }  # fmt: skip


class Declared:
    """What a schema declares; its annotations are read once, when this is made.

    Args:
        schema: the schema, of whatever kind.

    Raises:
        InvalidGraphError: an annotation names something that does not exist.
    """

    __slots__ = ("_channels", "hints", "managed", "schema")

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.hints = _hints(schema) if isinstance(schema, type) else {}
        self.managed = _managed(self.hints)
        """The keys that runs compute: key to managed value."""
        self._channels: dict[str, Channel] | None = None

    @property
    def is_mapping(self) -> bool:
        """Whether it declares keys."""
        return bool(self.hints)

    @property
    def former(self) -> dict[str, tuple[str, ...]]:
        """The former names that it declares (`RenamedFrom`), by key."""
        return former_keys(self.hints)

    @property
    def channels(self) -> dict[str, Channel]:
        """The channels that it declares: one per key, or one for a root state.

        Raises:
            InvalidGraphError: a key has a reserved name, or its reducer cannot be one.
        """
        if self._channels is None:
            has_keys = is_annotated(self.schema)
            self._channels = self._made() if has_keys else {ROOT: channel_of(ROOT, self.schema)}
        return self._channels

    def _made(self) -> dict[str, Channel]:
        channels: dict[str, Channel] = {}
        for key, hint in self.hints.items():
            if key in self.managed:
                continue
            if key in RESERVED:
                raise InvalidGraphError(
                    f"State key {key!r} of {self.schema.__name__} is reserved; choose another name."
                )
            channels[key] = channel_of(key, hint)
        return channels


def _managed(hints: Mapping[str, Any]) -> dict[str, type[ManagedValue[Any]]]:
    found: dict[str, type[ManagedValue[Any]]] = {}
    for key, hint in hints.items():
        last = (split_metadata(unqualified(hint))[0] or (None,))[-1]
        if isinstance(last, type) and issubclass(last, ManagedValue):
            found[key] = last
    return found


def channel_of(key: str, hint: Any) -> Channel:
    """The channel of one key: named in its annotation, else a reducer, else the last value.

    Of several marks the first channel counts, wherever it stands; a reducer is the last mark.
    """
    hint = unqualified(hint)
    metadata, former = split_metadata(hint)
    if former and not metadata:
        hint = hint.__origin__
    if metadata:
        typ = hint.__origin__
        mark = next(filter(_is_channel, metadata), metadata[-1])
        channel: Channel | None = None
        if isinstance(mark, BaseChannel):
            channel = _of_type(cast("Channel", mark), typ)
        elif _is_channel(mark):
            channel = cast("type[Channel]", mark)(typ)
        elif callable(mark) and not isinstance(mark, type):
            channel = BinaryOperatorAggregate(typ, _reducer(key, mark))
        if channel is not None:
            channel.key = key
            return channel
        hint = typ
    channel = LastValue(hint)
    channel.key = key
    return channel


def _is_channel(mark: Any) -> bool:
    """Whether a mark of an annotation is a channel, or a class of channels."""
    return isinstance(mark, BaseChannel) or (
        isinstance(mark, type) and issubclass(mark, BaseChannel)
    )


def _of_type(channel: Channel, typ: Any) -> Channel:
    """A channel given in an annotation, as one of its own for this key."""
    own: Channel | None = channel.from_checkpoint(MISSING)
    if own is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise InvalidGraphError(
            f"{type(channel).__name__}.from_checkpoint() gave None: it returns a new channel."
        )
    if own.typ is None:
        own.typ = typ
        own = own.from_checkpoint(MISSING)  # its value to start from comes from the type
    return own


def agree(a: Channel, b: Channel) -> bool:
    """Whether two schemas that declare one key declare the same channel."""
    if isinstance(a, BinaryOperatorAggregate) and isinstance(b, BinaryOperatorAggregate):
        return a.operator == b.operator or same_lambda(a.operator, b.operator)
    return a == b


_SAYING = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars")


def same_lambda(a: Any, b: Any) -> bool:
    """Whether two lambdas say the same: a reducer that two schemas spell out is no conflict.

    >>> same_lambda(lambda a, b: a + b, lambda a, b: a + b)
    True
    >>> same_lambda(lambda a, b: a + b, lambda a, b: b)
    False
    """
    first, second = getattr(a, "__code__", None), getattr(b, "__code__", None)
    if first is None or second is None or {a.__name__, b.__name__} != {"<lambda>"}:
        return False
    return all(getattr(first, part) == getattr(second, part) for part in _SAYING) and (
        a.__defaults__ == b.__defaults__ and not first.co_freevars
    )


def _reducer(key: str, function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The reducer itself, once it is seen to take (value, update)."""
    signature = _of_builtin(function) if _is_builtin(function) else _signature(function)
    if signature is None:
        return function  # a builtin whose signature Python does not tell
    positional = [
        p
        for p in signature.parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(positional) == 2 or any(
        p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()
    ):
        return function
    raise InvalidGraphError(
        f"Invalid reducer signature. Expected (a, b) -> c. Got {signature} for key {key!r} "
        f"({getattr(function, '__name__', function)})."
    )


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return signature(function)
    except (TypeError, ValueError):
        return None


_of_builtin = lru_cache(maxsize=64)(_signature)
"""Python parses the text of a builtin's signature each time, and it cannot change."""


def _is_builtin(function: Any) -> bool:
    """Whether it is a function of a module that is not written in Python, such as operator.add."""
    return inspect.isbuiltin(function) and inspect.ismodule(function.__self__)


def coercion(schema: Any) -> Callable[[Any], Any] | None:
    """What turns a dict of state into what a node with this schema is handed (None: nothing)."""
    if is_pydantic(schema) or is_dataclass(schema):

        def build(values: Any) -> Any:
            return schema(**values) if isinstance(values, Mapping) else values

        return build
    return None


def required(schema: Any) -> list[str]:
    """The keys without which a node with this schema cannot be handed its state: fields that have
    no default. (Those of a model with a validator of all of it, which may fill them in, or of
    another name outside, are not known.)"""
    if is_pydantic(schema):
        if schema.__pydantic_decorators__.model_validators:
            return []
        fields = getattr(schema, "model_fields", None) or schema.__pydantic_fields__
        return [
            name
            for name, info in fields.items()
            if info.is_required() and info.validation_alias is None
        ]
    if is_dataclass(schema):
        declared = cast("dict[str, Any]", schema.__dataclass_fields__).values()
        return [f.name for f in declared if f.init and f.default is f.default_factory]
    return []


@lru_cache(maxsize=256)
def is_state_class(kind: type) -> bool:
    """Whether objects of a class can be updates: it, or a class above it, declares keys."""
    return any(own_annotations(one) for one in kind.__mro__)


def has_a_key(value: Any, keys: Iterable[str]) -> bool:
    """Whether an object has anything that may be written to a state of these keys."""
    return any(hasattr(value, key) for key in keys)


def updates_of_object(value: Any, keys: Iterable[str]) -> list[tuple[str, Any]]:
    """What a state object (pydantic, dataclass) returned by a node writes.

    A dataclass: every field. A model cannot tell a None that nobody set from one that is meant:
    of it a None counts when it was set, or is not the default.
    """
    held = [(key, getattr(value, key)) for key in keys if hasattr(value, key)]
    declared: dict[str, Any] | None = getattr(cast("Any", type(value)), "model_fields", None)
    if declared is None or not is_pydantic(type(value)):  # a dataclass, also one of pydantic's
        return held
    meant = {name for name, info in declared.items() if info.default is not None}
    meant -= {name for name, info in declared.items() if info.is_required()}
    meant |= value.model_fields_set
    return [(key, one) for key, one in held if one is not None or key in meant]
