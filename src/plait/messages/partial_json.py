"""Reads JSON that was cut off in the middle, as a model streams it."""

from __future__ import annotations

import json
from typing import Any

_TOO_DEEP = "Nested too deep to be read"
CLOSERS = {"{": "}", "[": "]"}


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
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        original = error
    except RecursionError:
        raise too_deep(text) from None
    tail = open_ends(text)
    if tail is None:
        return None
    found, value = longest_part(*tail)
    if not found:
        raise original
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
    stack: list[str] = []
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in CLOSERS:
            stack.append(CLOSERS[char])
        elif char in "}]" and (not stack or stack.pop() != char):
            return None
    if in_string:
        text = (text[:-1] if escaped else text) + '"'
    return text, "".join(reversed(stack))
