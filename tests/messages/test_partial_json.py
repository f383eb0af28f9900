"""What cut off JSON is read as: always what reading it character by character finds open."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.messages.partial_json import CLOSERS, open_ends, parse_partial_json


def ends_by_character(text: str) -> tuple[str, str] | None:
    """`open_ends`, as plain as it can be."""
    stack: list[str] = []
    in_string = escaped = False
    for char in text:
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in CLOSERS:
            stack.append(CLOSERS[char])
        elif char in "}]" and (not stack or stack.pop() != char):
            return None
    if in_string:
        text = (text[:-1] if escaped else text) + '"'
    return text, "".join(reversed(stack))


@given(st.text(alphabet='""\\\\{}[]a,:\n1 ', max_size=40))
def test_open_ends_are_those_that_each_character_leaves(text: str) -> None:
    assert open_ends(text) == ends_by_character(text)


def longest_prefix(text: str) -> Any:
    """The value of the longest part of `text` that its open ends complete."""
    ends = ends_by_character(text)
    assert ends is not None
    body, closing = ends
    for end in range(len(body), 0, -1):
        try:
            return json.loads(body[:end] + closing, strict=False)
        except json.JSONDecodeError:
            continue
    raise LookupError


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a"\\{}[]\n', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, st.sampled_from([None, 1]), st.data())
def test_json_cut_off_anywhere_is_read_as_its_longest_part(
    value: Any, indent: int | None, data: st.DataObject
) -> None:
    whole = json.dumps(value, indent=indent)
    assert parse_partial_json(whole) == value
    text = whole[: data.draw(st.integers(0, len(whole)))]
    try:
        expected = longest_prefix(text)
    except LookupError:
        with pytest.raises(json.JSONDecodeError):
            parse_partial_json(text)
    else:
        assert parse_partial_json(text) == expected


@pytest.mark.parametrize("text", ["[" * 10**5, '{"a":' * 10**5, "[" * 10**5 + "]"])
def test_what_nests_too_deep_says_so(text: str) -> None:
    with pytest.raises(json.JSONDecodeError, match="Nested too deep"):
        parse_partial_json(text)
