"""Values as text for prompts, and text as databases take it."""

from collections.abc import Iterable, Mapping
from typing import Any, cast


def stringify_value(value: Any) -> str:
    """A value as text: a dict line by line, a list one item a line.

    >>> stringify_value([1, 2])
    '1\\n2'
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n" + stringify_dict(cast("dict[Any, Any]", value))
    if isinstance(value, list):
        return "\n".join(stringify_value(each) for each in cast("list[Any]", value))
    return str(value)


def stringify_dict(data: Mapping[Any, Any]) -> str:
    """A dict as text, one key a line.

    >>> stringify_dict({"a": 1, "b": [2, 3]})
    'a: 1\\nb: 2\\n3\\n'
    """
    return "".join(f"{key}: {stringify_value(value)}\n" for key, value in data.items())


def comma_list(items: Iterable[Any]) -> str:
    """Items parted by commas.

    >>> comma_list([1, 2])
    '1, 2'
    """
    return ", ".join(map(str, items))


def sanitize_for_postgres(text: str, replacement: str = "") -> str:
    """Text without the NUL characters that Postgres refuses.

    >>> sanitize_for_postgres("a\\x00b", " ")
    'a b'
    """
    return text.replace("\x00", replacement)


__all__ = ["comma_list", "sanitize_for_postgres", "stringify_dict", "stringify_value"]
