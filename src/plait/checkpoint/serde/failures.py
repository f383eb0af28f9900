"""Exceptions as data: those that are known come back as themselves, others as a `RemoteError`."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, cast

from ormsgpack import Ext

from plait import errors
from plait.checkpoint.serde.plain import EXCEPTION, Decoder, Pack, Unpack
from plait.common.failures import said
from plait.engine.likeness import home_of
from plait.errors import StorageError

_KNOWN: dict[str, type[BaseException]] = {
    f"{cls.__module__}:{cls.__qualname__}": cls
    for cls in (*vars(builtins).values(), *vars(errors).values())
    if isinstance(cls, type) and issubclass(cls, BaseException)
}


class RemoteError(Exception):
    """A stored exception whose class is not registered here; `type_name` says what it was.

    >>> raise RemoteError("httpx:ReadTimeout", "no answer in 5 s")
    Traceback (most recent call last):
    plait.checkpoint.serde.failures.RemoteError: httpx:ReadTimeout: no answer in 5 s
    """

    def __init__(self, type_name: str, message: str) -> None:
        self.type_name = type_name
        self.message = message
        super().__init__(type_name, message)

    def __str__(self) -> str:
        return f"{self.type_name}: {self.message}" if self.message else self.type_name


def encode_error(error: BaseException, pack: Pack) -> Ext:
    """An exception as its type's name, arguments, message and (for known types) attributes.

    Arguments that cannot be stored become their `repr`: a failure must be recorded even if what it
    carries cannot be.
    """
    if isinstance(error, RemoteError):
        return Ext(EXCEPTION, pack([error.type_name, [], error.message, {}]))
    cls = type(error)
    name = f"{home_of(cls)}:{cls.__qualname__}"
    attributes = error.__dict__ if name in _KNOWN else {}
    given = error.args
    if isinstance(error, OSError) and error.filename is not None and len(given) == 2:
        given = (*given, error.filename)  # OSError keeps it out of its args
    args = [_storable(arg, pack) for arg in given]
    kept = {key: _storable(value, pack) for key, value in attributes.items()}
    return Ext(EXCEPTION, pack([name, args, said(error), kept]))


def _storable(value: Any, pack: Pack) -> Any:
    try:
        pack(value)
    except StorageError:
        return repr(value)
    return value


def error_decoder(registered: Callable[[str], type | None]) -> Decoder:
    """A decoder of exceptions that knows the builtin ones, plait's, and those `registered`."""

    def decode(data: bytes, unpack: Unpack) -> BaseException:
        name, args, message, attributes = unpack(data)
        cls = _KNOWN.get(name) or registered(name)
        if cls is None or not issubclass(cls, BaseException):
            return RemoteError(name, message)
        error = _rebuild(cast(Any, cls), args)
        error.__dict__.update(attributes)
        return error

    return decode


def _rebuild(cls: Any, args: list[Any]) -> BaseException:
    """An exception without its `__init__`; only the interpreter's own may run, it fills in slots
    such as `StopIteration.value` and `UnicodeDecodeError.reason`."""
    if cls.__module__ == "builtins":
        try:
            return cls(*args)
        except (TypeError, ValueError):  # arguments that were assigned later
            error: BaseException = cls.__new__(cls)
    else:
        error = cls.__new__(cls, *args)
    error.args = tuple(args)
    return error
