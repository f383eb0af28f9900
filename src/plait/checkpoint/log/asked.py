"""What callers ask of a saver, made sure of before anything is looked up or deleted.

What is refused here would otherwise find nothing, or too much: the letters of a text as the ids of
so many threads, the id None as that of all checkpoints without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from sys import maxsize
from typing import Any, cast

from plait.errors import ConfigError, ConfigTypeError, MissingThreadIdError

_MANY = (bytes, bytearray, Mapping, list, tuple, set, frozenset)
"""Kinds of values that are no id, though each has a text."""


def thread_id_of(given: Any) -> str:
    """The text of a thread's id, as a run's config makes one of what it is given.

    >>> thread_id_of(5)
    '5'

    Raises:
        MissingThreadIdError: it is None.
        ConfigTypeError: it is bytes, several ids, or a config.
    """
    if isinstance(given, str):
        return given
    if given is None:
        raise MissingThreadIdError("The id of the thread is None: pass the text that names it.")
    if isinstance(given, _MANY):
        raise ConfigTypeError(
            f"A thread's id is a text, not {_kind(given)}: pass one, such as 'thread-1'."
        )
    return str(given)


def thread_ids_of(given: Any) -> list[str]:
    """The texts of several threads' ids.

    Raises:
        MissingThreadIdError, ConfigTypeError: they are no list of ids.
    """
    return [thread_id_of(each) for each in _several(given, "thread_ids", "thread-1")]


def run_ids_of(given: Any) -> frozenset[str]:
    """The texts of several runs' ids.

    Raises:
        ConfigTypeError: they are no list of ids.
    """
    ids = _several(given, "run_ids", "run-1")
    for each in ids:
        if each is None or isinstance(each, _MANY):
            raise ConfigTypeError(
                f"run_ids has {_kind(each)} among them: pass the texts that name runs."
            )
    return frozenset(map(str, ids))


def _several(given: Any, name: str, example: str) -> list[Any]:
    if isinstance(given, (str, bytes, bytearray)) or not isinstance(given, Iterable):
        raise ConfigTypeError(
            f"{name} is {_kind(given)}: pass a list of ids, such as [{example!r}]."
        )
    return [*cast("Iterable[Any]", given)]


def count_of(given: Any, name: str) -> int:
    """A number of checkpoints.

    Raises:
        ConfigError: it is less than 0.
        ConfigTypeError: it is no whole number.
    """
    if isinstance(given, bool) or not isinstance(given, int):
        raise ConfigTypeError(f"{name} is {_kind(given)}: pass a whole number of checkpoints.")
    if given < 0:
        raise ConfigError(f"{name} is {given}; keep 0 or more checkpoints.")
    return given


def limit_of(given: Any) -> int | None:
    """How many checkpoints a listing gives at most, as a number that every database can hold.

    Raises:
        ConfigTypeError: it is no whole number.
    """
    if given is None:
        return None
    if not isinstance(given, int):
        raise ConfigTypeError(f"limit is {_kind(given)}: pass a whole number, or None for all.")
    return min(given, maxsize)


def ttl_of(given: Any, name: str) -> float | None:
    """Seconds that threads are kept (None: for ever).

    Raises:
        ConfigError: it is less than 0, or nan.
        ConfigTypeError: it is of another type.
    """
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise ConfigTypeError(
            f"{name} is {_kind(given)}: pass a number of seconds, or None to keep threads for ever."
        )
    if not given >= 0:  # which nan is not either
        raise ConfigError(
            f"{name} is {given}: pass 0 seconds or more, or None to keep threads for ever."
        )
    return given


def mapping_of(given: Any, name: str) -> Mapping[str, Any]:
    """A config or a filter. Raises ConfigTypeError if it is none."""
    if not isinstance(given, Mapping):
        raise ConfigTypeError(f"{name} is {_kind(given)}: pass a dict.")
    return cast("Mapping[str, Any]", given)


def configurable_of(config: Any, name: str = "config") -> Mapping[str, Any]:
    """The configurable part of a config. Raises ConfigTypeError if either is no mapping."""
    return mapping_of(mapping_of(config, name).get("configurable", {}), f"{name}['configurable']")


def _kind(given: Any) -> str:
    return "None" if given is None else f"a value of type {type(given).__name__}"


__all__ = [
    "configurable_of",
    "count_of",
    "limit_of",
    "mapping_of",
    "run_ids_of",
    "thread_id_of",
    "thread_ids_of",
    "ttl_of",
]
