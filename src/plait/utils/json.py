"""JSON as models write it: between other text, in a fence, cut off."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from plait.exceptions import OutputParserException
from plait.messages.partial_json import is_too_deep
from plait.messages.partial_json import parse_partial_json as read_partial_json

_FENCE = re.compile(r"```(json)?(.*)", re.DOTALL)
AROUND = " \n\r\t`"
"""What may stand around JSON."""


def parse_partial_json(s: str, *, strict: bool = False) -> Any:
    """The value of JSON that may be cut off, with whatever is open at its end closed.

    Args:
        s: The JSON.
        strict: Accepted for compatibility: control characters in texts are taken anyway.

    Raises:
        json.JSONDecodeError: Nothing at its beginning is JSON.

    >>> parse_partial_json('{"city": "Par')
    {'city': 'Par'}
    """
    return read_partial_json(s)


def parse_json_markdown(
    json_string: str, *, parser: Callable[[str], Any] = read_partial_json
) -> Any:
    """The value of JSON in a text: all of it, or what stands in a fence; it may be cut off.

    Args:
        json_string: The text.
        parser: What reads the JSON.

    Returns:
        The value; None when a bracket closes what was never opened.

    Raises:
        json.JSONDecodeError: There is none.

    >>> parse_json_markdown('Here it is: ```json\\n{"city": "Par')
    {'city': 'Par'}
    """
    try:
        return parser(json_string.strip(AROUND))
    except json.JSONDecodeError as error:
        fence = _FENCE.search(json_string)
        if fence is None or is_too_deep(error):
            raise
    return parser(fence[2].strip(AROUND))


def parse_and_check_json_markdown(text: str, expected_keys: Sequence[str]) -> dict[str, Any]:
    """The JSON object in a text.

    Raises:
        OutputParserException: There is none, or it lacks one of the keys.
    """
    try:
        found = parse_json_markdown(text)
    except json.JSONDecodeError as error:
        raise OutputParserException(
            f"Expected a JSON object, received {text[:200]!r} ({error}).", llm_output=text
        ) from error
    if not isinstance(found, dict):
        raise OutputParserException(
            f"Expected a JSON object, received a {type(found).__name__}: {text[:200]!r}.",
            llm_output=text,
        )
    known = cast("dict[str, Any]", found)
    for key in expected_keys:
        if key not in known:
            raise OutputParserException(
                f"The JSON object lacks {key!r}: {text[:200]!r}.", llm_output=text
            )
    return known


__all__ = ["AROUND", "parse_and_check_json_markdown", "parse_json_markdown", "parse_partial_json"]
