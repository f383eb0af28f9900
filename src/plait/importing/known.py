"""The closed table of classes that LangGraph's bytes may name, and how each is rebuilt here.

Three kinds: plain types of the standard library; types of langchain_core (`langchain`) and of
langgraph, which become plait's; and classes of the program's own, which the registry must know.
No name is ever imported: it is a key of these tables, or it is refused.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, cast
from uuid import UUID

from plait.checkpoint.log.records import is_dict, is_list
from plait.checkpoint.serde import Registry
from plait.checkpoint.serde.plain import known_zone
from plait.checkpoint.serde.pydantic_values import is_pydantic_value
from plait.checkpoint.serde.schema import named_types
from plait.checkpoint.serde.shapes import is_model, shape_of
from plait.errors import CorruptCheckpointError, StorageError, UnregisteredTypeError
from plait.importing.calls import Array, Call, damaged
from plait.importing.langchain import from_langchain
from plait.store.base.items import GetOp, Item, SearchItem
from plait.types import Command, Interrupt, Overwrite, PregelTask, Send, StateSnapshot

_NUMPY = re.compile(r"[<>|=][?biufcSUmM]\d{0,9}(\[\d{0,6}[a-zA-Z]{1,2}\])?")


def _path(*parts: str) -> PurePath:
    return Path(*parts)


def _pattern(pattern: Any, flags: int = 0) -> Any:
    return re.compile(pattern, flags & ~re.DEBUG)


def _fraction(*parts: Any) -> Fraction:
    """From what it is pickled as: "1/3", or its two numbers. (Text may say more: "1e999999999".)"""
    numerator, denominator = parts if len(parts) == 2 else parts[0].partition("/")[::2]
    return Fraction(int(numerator), int(denominator or 1))


def _interrupt(**given: Any) -> Interrupt:
    """A question; `interrupt_id`, `resumable`, `ns` and `when` are of older versions."""
    kept = {key: given[key] for key in ("id", "response_schema") if key in given}
    if "ns" in given and "id" not in kept:
        kept["ns"] = given["ns"]
    return Interrupt(given["value"], **kept)


def _overwrite(value: Any, type: str = "") -> Overwrite:
    return Overwrite(value)


def _snapshot(value: Any) -> Any:
    """What a `DeltaChannel` holds where LangGraph has stored it whole."""
    return value


def _hashable(item: Any) -> Any:
    """An item of a set, or the value of an enum: LangGraph stores a tuple there as a list."""
    return tuple(map(_hashable, cast("list[Any]", item))) if type(item) is list else item


def _set(items: Any = ()) -> set[Any]:
    return set(map(_hashable, items))


def _frozenset(items: Any = ()) -> frozenset[Any]:
    return frozenset(map(_hashable, items))


_PLAIN: dict[tuple[str, str], Callable[..., Any]] = {
    ("builtins", "set"): _set,
    ("builtins", "frozenset"): _frozenset,
    ("builtins", "tuple"): tuple,
    ("builtins", "complex"): complex,
    ("builtins", "bytearray"): bytearray,
    ("collections", "Counter"): Counter,
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "deque"): deque,
    ("datetime", "datetime"): datetime,
    ("datetime", "date"): date,
    ("datetime", "time"): time,
    ("datetime", "timedelta"): timedelta,
    ("datetime", "timezone"): timezone,
    ("decimal", "Decimal"): Decimal,
    ("fractions", "Fraction"): _fraction,
    ("re", "compile"): _pattern,
    ("re", "_compile"): _pattern,
    ("uuid", "UUID"): UUID,
    ("zoneinfo", "ZoneInfo"): known_zone,
    ("langchain_core.messages.base", "TextAccessor"): str,  # a message's `text`
    ("langgraph.checkpoint.serde.types", "_DeltaSnapshot"): _snapshot,
    ("langgraph.store.base", "GetOp"): GetOp,
    ("langgraph.store.base", "Item"): Item,
    ("langgraph.store.base", "SearchItem"): SearchItem,
    ("langgraph.types", "PregelTask"): PregelTask,
    ("langgraph.types", "Send"): Send,
    ("langgraph.types", "StateSnapshot"): StateSnapshot,
    ("langgraph.types", "Command"): Command,
    ("langgraph.types", "Interrupt"): _interrupt,
    ("langgraph.types", "Overwrite"): _overwrite,
    **{
        (module, name): make
        for module in ("pathlib", "pathlib._local")
        for name, make in (
            ("Path", _path), ("PosixPath", _path), ("WindowsPath", PureWindowsPath),
            ("PurePosixPath", PurePosixPath), ("PureWindowsPath", PureWindowsPath),
        )
    },
    **{
        ("ipaddress", made.__name__): made
        for made in (IPv4Address, IPv6Address, IPv4Network, IPv6Network, IPv4Interface,
                     IPv6Interface)
    },
}  # fmt: skip
_METHODS: dict[tuple[str, str, str], Callable[..., Any]] = {
    ("datetime", "datetime", "fromisoformat"): datetime.fromisoformat,
    ("datetime", "date", "fromisoformat"): date.fromisoformat,
    ("datetime", "time", "fromisoformat"): time.fromisoformat,
}


class Known:
    """Builds what the bytes of one import may name.

    Args:
        registry: The program's own types.
        modules: What modules were called when the bytes were written, to what they are called now.
    """

    def __init__(self, registry: Registry, modules: Mapping[str, str] | None = None) -> None:
        self._registry = registry
        self._modules = dict(modules or {})

    def build(self, call: Call | Array) -> Any:
        """The object of a call.

        Raises:
            CorruptCheckpointError: It cannot be called so.
            UnregisteredTypeError: Nothing known has this name.
        """
        make = _array if isinstance(call, Array) else self._object
        try:
            return make(cast("Any", call))
        except (StorageError, MemoryError):
            raise
        except Exception as error:
            raise damaged(error) from error

    def _object(self, call: Call) -> Any:
        name = (call.module, call.name)
        if call.method is not None and (make := _METHODS.get((*name, call.method))) is not None:
            return make(*call.args, **call.kwargs)
        make = _PLAIN.get(name)
        if make is not None and call.method in (None, call.name, "__init__"):
            return make(*call.args, **call.kwargs)
        if (made := from_langchain(call)) is not None:
            return made
        module = self._modules.get(call.module, call.module)
        cls = self._registry.find(module, call.name) or self._registry.find(*name)
        if cls is None:
            raise _unknown(module, call.name)
        return _own(cls, call)


def _own(cls: type[Any], call: Call) -> Any:
    """An object of a class of the program's own.

    LangGraph stores of a pydantic model what it dumps, so only the model can read it back. Of every
    other class the fields are set, and no code of the class runs.
    """
    if issubclass(cls, Enum):
        known = any(member.value == call.args[0] for member in cls)
        return shape_of(cls)[1](*(call.args if known else map(_hashable, call.args)))
    if is_model(cls):
        return _model(cls, call.args[0] if call.args else call.kwargs)
    if hasattr(cls, "_fields") and tuple in cls.__mro__:
        return shape_of(cls)[1](list(call.args) if call.args else call.kwargs)
    if call.args and is_pydantic_value(cls):
        return cls(*call.args)
    if call.args:
        raise UnregisteredTypeError(
            f"{call.module}.{call.name} was stored by what it was called with, which plait does "
            "not do. Store it as a dataclass or a pydantic model in the old program"
        )
    return shape_of(cls)[1](call.kwargs)


def _model(cls: type[Any], dumped: Any) -> Any:
    """A model of what it dumps, by its own validators. Tuples in it became lists, so that it cannot
    be strict; and it dumps what it computes, which it may not take."""
    while True:
        try:
            return cls.model_validate(dumped, strict=False, by_name=True)  # not by aliases
        except ValueError as error:
            wrong: list[Any] = getattr(error, "errors", list)()
            places = [each["loc"] for each in wrong if _is_computed(cls, each)]
            if not sum(_dropped(dumped, place) for place in places):
                raise _unread(cls, wrong, error) from None


def _is_computed(cls: type[Any], error: Mapping[str, Any]) -> bool:
    """Whether what a model does not take is a field that one of its models computes."""
    if error["type"] != "extra_forbidden":
        return False
    models: Any = filter(is_model, (cls, *named_types(cls, {})))
    return any(error["loc"][-1] in model.model_computed_fields for model in models)


def _dropped(dumped: Any, loc: Sequence[Any]) -> bool:
    """Drop what stands at a place in plain data, as pydantic tells it; False if nothing did."""
    *way, last = loc
    for step in way:
        if (is_dict(dumped) and step in dumped) or (is_list(dumped) and type(step) is int):
            dumped = dumped[step]  # other steps say which model of a union it was tried with
    if not (is_dict(dumped) and last in dumped):
        return False
    del dumped[last]
    return True


def _unread(cls: type[Any], wrong: Sequence[Any], error: ValueError) -> CorruptCheckpointError:
    """A model does not take what it dumped. What stands in it is not shown."""
    told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong)
    return CorruptCheckpointError(
        f"{cls.__module__}.{cls.__qualname__} does not take what was stored of it, which is what "
        f"it dumps ({told or error!s:.200}). Give it a model_validator(mode='before') that does"
    )


def _array(array: Array) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        raise UnregisteredTypeError("it is a value of numpy's. Import numpy before the import")
    if not (isinstance(array.dtype, str) and _NUMPY.fullmatch(array.dtype)):
        raise damaged(f"numpy dtype {array.dtype!r:.80}")
    if not isinstance(array.data, (bytes, bytearray)):  # of a number, bytearray makes so many
        raise damaged("a numpy array without bytes")
    flat = numpy.frombuffer(bytearray(array.data), dtype=numpy.dtype(array.dtype))
    return flat.reshape(tuple(array.shape), order="F" if array.order == "F" else "C")


def _unknown(module: str, name: str) -> UnregisteredTypeError:
    return UnregisteredTypeError(
        f"it is of type {module:.100}.{name:.100}, which is not registered here. If it is a class "
        f"of yours, register it before the import: plait.checkpoint.serde.register({name:.100}), "
        f"or, if it has another name by now, register(..., name='{module:.100}:{name:.100}'); on "
        "the command line, name the graph whose schemas name it: --graph module:attribute"
    )


__all__ = ["Known"]
