"""What is said when a value cannot be stored or read back: one place for the sentences."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, MappingView
from io import IOBase
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from plait.errors import CorruptCheckpointError, StorageError, UnregisteredTypeError

_REGISTER = "plait.checkpoint.serde.register"
_NO_DATA = (
    *(FunctionType, BuiltinFunctionType, MethodType, ModuleType, IOBase),
    *(GeneratorType, CoroutineType, AsyncGeneratorType),
)
"""Kinds of objects that no codec can give a meaning in another process."""
_NO_DATA_HAS = ({"acquire", "release"}, {"cursor", "commit"})
"""The methods of others: of locks, and of connections to databases."""
Refused = TypeVar("Refused", bound=StorageError)
Path: TypeAlias = "tuple[Path, Any] | None"
"""The way to a value inside another: the way to its holder, and its index or key there."""


class AsKey(NamedTuple):
    """The last step of a path to something that is itself a key of a dict."""

    key: Any

    def __repr__(self) -> str:
        return f"key {self.key!r}"


class UnstorableValueError(StorageError, ValueError):
    """A value of storable types cannot be stored: it is nested too deeply, or contains itself."""


def unregistered(cls: type, *, named: bool, seen: bool) -> UnregisteredTypeError:
    """An object of this class was to be stored.

    Args:
        named: whether it may be stored once a schema names it.
        seen: whether its state can be seen, so that to register it is enough.
    """
    if (why := _no_data(cls)) is not None:
        return UnregisteredTypeError(
            f"Values of type {cls.__module__}.{cls.__qualname__} cannot be stored: {why}"
        )
    how = _line(cls.__module__, cls.__qualname__, "" if seen else ", encode=..., decode=...")
    others = (
        "Name the type in the graph's state schema, or in the annotations of its entrypoint or "
        "task, or register it once"
    )
    return UnregisteredTypeError(
        f"Values of type {cls.__module__}.{cls.__qualname__} cannot be stored yet. "
        f"{others if named else 'Register the type once'}: {how}"
    )


def _no_data(cls: type) -> str | None:
    """Why objects of a class are no data, and what to do instead; None if they may be."""
    if hasattr(cls, "add_done_callback"):
        return "that is the future of a task. Store its result: call .result(), or await it."
    if issubclass(cls, _NO_DATA) or any(has <= set(dir(cast("Any", cls))) for has in _NO_DATA_HAS):
        return (
            "that is no data. Store what is needed to make it again, or keep it out of the state, "
            "in the run's context."
        )
    if issubclass(cls, (Iterator, MappingView)) and cls.__module__ == "builtins":
        return "that is no data, but a way to some. Store list(value)."
    return None


def namesake(cls: type, name: str) -> UnregisteredTypeError:
    """An object was to be stored whose class shares its wire name with another one that is known,
    such as `Box[Item]` of two modules' `Item`."""
    return UnregisteredTypeError(
        f"Values of type {cls.__module__}.{cls.__qualname__} cannot be stored: another class is "
        f"known under the same name, {name!r} (perhaps this one, defined anew), and they could not "
        "be told apart when they are read. Give each a name of its own, once: "
        f"{_REGISTER}({cls.__name__}, name=...)"
    )


def unknown_name(name: str) -> UnregisteredTypeError:
    """Bytes name a type that the registry does not have."""
    module, _, qualname = name.rpartition(":")
    known = sys.modules.get(module)
    gone = known is not None and not hasattr(known, qualname.partition(".")[0].partition("[")[0])
    if module == "__main__" and gone:
        return UnregisteredTypeError(
            f"A stored value is of type {name!r:.200}, which is not registered in this program: it "
            "was stored by a program whose script defines the type. Register the type under that "
            f"name where your program defines it: {_REGISTER}({qualname}, name={name!r})"
        )
    if gone:
        return UnregisteredTypeError(
            f"A stored value is of type {name!r:.200}, which is not registered in this program, "
            "and its module does not have it. If the class was renamed or moved, register it under "
            f"the name that it had: {_REGISTER}(..., name={name!r})"
        )
    how = _line(module, qualname) if module else f"{_REGISTER}(..., name={name!r})"
    return UnregisteredTypeError(
        f"A stored value is of type {name!r:.200}, which is not registered in this program. Name "
        f"the type in the graph's state schema, or register it before reading: {how}"
    )


def held_in(error: Refused, holder: str, thread: str) -> Refused:
    """The same error, saying what of which thread holds its cause; one that says so already."""
    if f"thread {thread!r}" in str(error):
        return error
    found = type(error)(f"{holder} of thread {thread!r}: {error}")
    found.__dict__.update(error.__dict__)
    return found


def placed(error: UnregisteredTypeError, path: Path) -> UnregisteredTypeError:
    """The same error, saying where inside the value its cause stands (once)."""
    if path is None or hasattr(error, "at"):
        return error
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step!r:.80}]")
    at = "value" + "".join(reversed(steps))
    found = UnregisteredTypeError(f"{error} (found at {at})")
    found.at = at  # pyright: ignore[reportAttributeAccessIssue]
    return found


def too_deep(limit: int) -> UnstorableValueError:
    """A value is nested beyond what can be stored."""
    return UnstorableValueError(
        "A value cannot be stored: it contains itself, or it is nested too deeply (lists and dicts "
        f"within each other, or more than {limit} objects and tuples within each other). Flatten "
        "it, or keep references such as ids instead. (Less is too deep where the functions that "
        "call the graph leave little of sys.getrecursionlimit().)"
    )


def unfit(name: str, why: Exception) -> CorruptCheckpointError:
    """What was written of an object is not what its class is made of."""
    cause = f"{type(why).__name__}: {why!s:.200}"
    return CorruptCheckpointError(
        f"A stored value cannot be made an object of {name!r} ({cause}). "
        "If the class has changed since it was written, register it with a decode= that reads both "
        "forms; else the record is damaged: restore it from a backup."
    )


def no_room() -> RecursionError:
    """A stored value cannot be read for lack of room on the stack, which is not its fault."""
    return RecursionError(
        "A stored value cannot be read here: too many functions that call each other are under "
        "way. The value is whole: read it with fewer around it, or raise sys.setrecursionlimit()."
    )


def damaged(why: object) -> CorruptCheckpointError:
    """Bytes cannot be read as a value."""
    text = f"{type(why).__name__}: {why}" if isinstance(why, BaseException) else str(why)
    return CorruptCheckpointError(
        f"A stored value is damaged ({text:.200}). Restore the record from a backup."
    )


def _line(module: str, qualname: str, more: str = "") -> str:
    if "<locals>" in qualname:
        name = qualname.rpartition(".")[2]
        return f"{_REGISTER}({name}{more}), where {name} is defined in {module}"
    if module == "builtins" and not hasattr(builtins, qualname):
        return f"{_REGISTER}(type(value){more}), with such a value"
    return f"{_REGISTER}({module}.{qualname}{more})"
