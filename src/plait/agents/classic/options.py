"""What an executor's options may be: each is checked, and made what it stands for, at once."""

from collections.abc import Callable
from typing import Any, TypeAlias

from plait.errors import InvalidValueError

Option: TypeAlias = Callable[[Any], Any]
"""From what is given to what it stands for; a TypeError or ValueError if it is none of its kind."""


def fitted(options: dict[str, Any]) -> dict[str, Any]:
    """An executor's options as what they stand for.

    Numbers may be texts, as they come from settings and environments.

    Raises:
        InvalidValueError: An option is nothing of its kind.

    >>> fitted({"max_iterations": "3", "handle_parsing_errors": 1, "name": "mine"})
    {'max_iterations': 3, 'handle_parsing_errors': True, 'name': 'mine'}
    """
    return {name: _fitted(name, value) for name, value in options.items()}


def _fitted(name: str, value: Any) -> Any:
    if name not in _KINDS:
        return value
    kind, wanted = _KINDS[name]
    try:
        return kind(value)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"{name} of an AgentExecutor must be {wanted}, got {value!r:.100}."
        ) from error


def _count(value: Any) -> int:
    number = int(value)
    if number < 0 or (not isinstance(value, str) and number != value):
        raise ValueError(value)
    return number


def _seconds(value: Any) -> float:
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _handling(value: Any) -> Any:
    if isinstance(value, str) or callable(value):
        return value
    if value in (0, 1):
        return bool(value)
    raise ValueError(value)


def _trimming(value: Any) -> Any:
    return value if callable(value) else int(value)


def _labels(value: Any) -> list[str]:
    if isinstance(value, (str, bytes)):
        raise TypeError(value)
    return list(value)


def _memory(value: Any) -> Any:
    if not hasattr(value, "load_memory_variables"):
        raise TypeError(value)
    return value


def _handlers(value: Any) -> Any:
    return value if hasattr(value, "handlers") else list(value)


def _or_none(kind: Option) -> Option:
    return lambda value: None if value is None else kind(value)


_KINDS: dict[str, tuple[Option, str]] = {
    "max_iterations": (_or_none(_count), "a whole number, or None"),
    "max_execution_time": (_or_none(_seconds), "a number of seconds, or None"),
    "early_stopping_method": (_text, '"force", "generate", or a text that the agent knows'),
    "handle_parsing_errors": (_handling, "True, False, a text, or a function of the error"),
    "trim_intermediate_steps": (_trimming, "a whole number, or a function of the steps"),
    "tags": (_or_none(_labels), "a list of texts"),
    "metadata": (_or_none(dict), "a dict"),
    "memory": (_or_none(_memory), "an object with load_memory_variables() and save_context()"),
    "callbacks": (_or_none(_handlers), "a list of handlers, or a callback manager"),
}


__all__ = ["fitted"]
