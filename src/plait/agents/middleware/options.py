"""What options of middleware may be: counts, numbers, texts and functions; the rest is refused."""

from collections.abc import Mapping
from typing import Any

from plait.errors import ConfigError, ConfigTypeError


def check_counts(**options: Any) -> None:
    """Refuse what is no whole number of 0 or more.

    Args:
        options: By name.

    Raises:
        ConfigTypeError: One is of another type.
        ConfigError: One is negative.

    >>> check_counts(max_retries="3")
    Traceback (most recent call last):
    plait.errors.ConfigTypeError: max_retries is a whole number, got '3'.
    """
    _check_amounts(options, "__index__", "a whole number")


def check_limits(**options: Any) -> None:
    """Refuse what is no whole number of 0 or more; None is no limit.

    Args:
        options: By name.

    Raises:
        ConfigTypeError: One is of another type.
        ConfigError: One is negative.

    >>> check_limits(run_limit=3, thread_limit=None)
    """
    check_counts(**{name: value for name, value in options.items() if value is not None})


def check_numbers(**options: Any) -> None:
    """Refuse what is no number of 0 or more.

    Args:
        options: By name.

    Raises:
        ConfigTypeError: One is of another type.
        ConfigError: One is negative.

    >>> check_numbers(initial_delay=0.5)
    """
    _check_amounts(options, "__float__", "a number")


def _check_amounts(options: Mapping[str, Any], method: str, kind: str) -> None:
    """Refuse what has no such method, and what is negative."""
    for name, value in options.items():
        if isinstance(value, bool) or not hasattr(value, method):
            raise ConfigTypeError(f"{name} is {kind}, got {value!r:.200}.")
        if value < 0:
            raise ConfigError(f"{name} must not be negative, got {value!r}.")


def check_texts(**options: Any) -> None:
    """Refuse what is no text; None passes.

    Args:
        options: By name.

    Raises:
        ConfigTypeError: One is something else.

    >>> check_texts(tool_name=["search"])
    Traceback (most recent call last):
    plait.errors.ConfigTypeError: tool_name is a text, got ['search'].
    """
    for name, value in options.items():
        if value is not None and not isinstance(value, str):
            raise ConfigTypeError(f"{name} is a text, got {value!r:.80}.{_name_instead(value)}")


def _name_instead(value: Any) -> str:
    name = getattr(value, "name", None)
    return f" Write its name, {name!r}." if isinstance(name, str) else ""


def check_functions(**options: Any) -> None:
    """Refuse what cannot be called; None passes.

    Args:
        options: By name.

    Raises:
        ConfigTypeError: One is something else.

    >>> check_functions(on_error=print)
    """
    for name, value in options.items():
        if value is not None and not callable(value):
            raise ConfigTypeError(f"{name} is a function, got {value!r:.200}.")


def check_list(name: str, value: Any, kind: str) -> None:
    """Refuse a single one of what is to be a list, or what is none.

    Args:
        name: Of the option.
        value: What was given.
        kind: What the list is of.

    Raises:
        ConfigTypeError: It is no list.

    >>> check_list("edits", [], "edits")
    """
    if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
        raise ConfigTypeError(f"{name} is a list of {kind}, got {value!r:.200}. Write [...].")


__all__ = [
    "check_counts",
    "check_functions",
    "check_limits",
    "check_list",
    "check_numbers",
    "check_texts",
]
