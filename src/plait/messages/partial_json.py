"""Reads JSON that was cut off in the middle, as a model streams it."""

from __future__ import annotations

import json
import re
from typing import Any

_TOO_DEEP = "Nested too deep to be read"
CLOSERS = {"{": "}", "[": "]"}
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A model's arguments are read again with each piece that arrives, so nothing here looks at single
# characters, and nothing goes back.
_WHOLE = re.compile(rf'(?:[^"]++|{_STRING})*+', re.DOTALL)
"""All up to a string that is not closed."""
_NO_BRACKETS = re.compile(rf'(?:[^][{{}}"]++|{_STRING})++', re.DOTALL)


def parse_partial_json(text: str) -> Any:
    """The value of `text`, with whatever is open at its end closed.

    What cannot be completed (half a key, half a literal) is dropped from the end.

    Args:
        text: JSON, complete or cut off.
    Returns:
        The value; None when a bracket closes what was never opened.
    Raises:
        json.JSONDecodeError: nothing at its beginning is JSON.

    >>> parse_partial_json('{"city": "Par')
    {'city': 'Par'}
    >>> parse_partial_json('{"a": 1, "b')
    {'a': 1}
    """
    start, last = text[:1], text[-1:]
    if start not in CLOSERS or last == CLOSERS[start] or last.isspace():  # it may be complete
        try:
            return json.loads(text, strict=False)
        except json.JSONDecodeError:
            pass
        except RecursionError:
            raise too_deep(text) from None
    tail = open_ends(text)
    if tail is None:
        return None
    found, value = longest_part(*tail)
    if not found:
        json.loads(text, strict=False)  # raises: nothing at its beginning is JSON
    return value


def longest_part(body: str, closing: str) -> tuple[bool, Any]:
    """Whether some part of `body` from its start is JSON with `closing` behind it, and its value.

    What stands at the place of an error keeps all longer parts from being JSON, so the next one to
    try ends there: a few steps instead of one for each character.
    """
    while body:
        try:
            return True, json.loads(body + closing, strict=False)
        except json.JSONDecodeError as error:
            body = body[: min(error.pos, len(body) - 1)]
        except RecursionError:
            raise too_deep(body) from None
    return False, None


def too_deep(text: str) -> json.JSONDecodeError:
    """The error of JSON that nests deeper than Python can follow."""
    return json.JSONDecodeError(_TOO_DEEP, text[:1000], 0)


def is_too_deep(error: json.JSONDecodeError) -> bool:
    """Whether it is the error of `too_deep`, which no further text can mend."""
    return error.msg == _TOO_DEEP


def open_ends(text: str) -> tuple[str, str] | None:
    """The text with its last string closed, and the brackets that would close the rest."""
    end = _WHOLE.match(text).end()  # pyright: ignore[reportOptionalMemberAccess] (empty at least)
    stack: list[str] = []
    for char in _NO_BRACKETS.sub("", text[:end]):
        if char in CLOSERS:
            stack.append(CLOSERS[char])
        elif not stack or stack.pop() != char:
            return None
    if end < len(text):
        backslashes = len(text) - len(text.rstrip("\\"))
        text = (text[:-1] if backslashes % 2 else text) + '"'
    return text, "".join(reversed(stack))
