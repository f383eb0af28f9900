"""Whatever a model says, a parser gives a value or a typed error that tells what was received."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from plait.exceptions import OutputParserException
from plait.output_parsers import (
    CommaSeparatedListOutputParser,
    JsonOutputParser,
    PydanticOutputParser,
    XMLOutputParser,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def pieces(text: str, cuts: list[int]) -> list[str]:
    """`text` in pieces of the given sizes, over and over."""
    out: list[str] = []
    at = n = 0
    while at < len(text):
        size = cuts[n % len(cuts)]
        out.append(text[at : at + size])
        at, n = at + size, n + 1
    return out


@given(
    st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=4),
    st.lists(st.integers(1, 9), min_size=1),
)
def test_a_stream_cut_anywhere_ends_with_the_whole_value(value: dict, cuts: list[int]) -> None:
    chunks = pieces(json.dumps(value), cuts)
    assert list(JsonOutputParser().transform(iter(chunks)))[-1] == value


@given(VALUES, st.lists(st.integers(1, 9), min_size=1), st.data())
def test_a_stream_of_mutated_json_gives_what_the_whole_text_so_far_gives(
    value: object, cuts: list[int], data: st.DataObject
) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.text(alphabet='{}[]",:\\x1 ', max_size=3)) + text[at:]
    expected: list[object] = []
    so_far = ""
    for chunk in (chunks := pieces(text, cuts)):
        so_far += chunk
        try:
            whole = JsonOutputParser().parse(so_far)
        except OutputParserException:
            continue
        if whole is not None and (not expected or whole != expected[-1]):
            expected.append(whole)
    assert list(JsonOutputParser().transform(iter(chunks))) == expected


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":['])
def test_deep_nesting_is_a_typed_error_and_no_recursion_error(opening: str) -> None:
    text = opening * 100_000
    with pytest.raises(OutputParserException, match="too deep"):
        JsonOutputParser().invoke(text)
    with pytest.raises(OutputParserException, match="too deep"):
        list(JsonOutputParser().transform(iter([text[:50], text[50:]])))


def test_an_error_says_what_was_received_and_what_was_expected() -> None:
    class City(BaseModel):
        name: str

    with pytest.raises(OutputParserException, match=r"JSON.*received: 'no idea'") as caught:
        JsonOutputParser().invoke("no idea")
    assert caught.value.llm_output == "no idea"
    with pytest.raises(
        OutputParserException, match=r'(?s)City from completion \{"name": 1\}.*string'
    ):
        PydanticOutputParser(pydantic_object=City).invoke('{"name": 1}')


BILLION_LAUGHS = (
    '<!DOCTYPE a [<!ENTITY x "ha">'
    + "".join(f'<!ENTITY x{n} "{f"&x{n - 1 if n else str()};" * 10}">' for n in range(9))
    + "]><a>&x8;</a>"
)
OUTSIDE = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'


@pytest.mark.parametrize("text", [BILLION_LAUGHS, OUTSIDE, "<!DOCTYPE a><a>1</a>", "<a>" * 5000])
def test_xml_bombs_are_refused_whole_and_streamed(text: str) -> None:
    with pytest.raises(OutputParserException):
        XMLOutputParser().invoke(text)
    assert all("ha" * 10 not in str(part) for part in streamed_until_refused(text))


def streamed_until_refused(text: str) -> list[object]:
    """What a stream of XML gives before it is refused."""
    out: list[object] = []
    try:
        out.extend(XMLOutputParser().transform(iter(pieces(text, [7]))))
    except OutputParserException:
        pass
    return out


@given(st.text(alphabet="<>/ab &;!\"'=\n", max_size=60), st.lists(st.integers(1, 9), min_size=1))
def test_any_xml_is_read_or_refused(text: str, cuts: list[int]) -> None:
    for read in (
        lambda: XMLOutputParser().invoke(text),
        lambda: list(XMLOutputParser().transform(iter(pieces(text, cuts)))),
    ):
        try:
            read()
        except OutputParserException as error:
            assert str(error)  # noqa: PT017 - an error is one of two good ends


@given(
    st.lists(st.text(alphabet='ab ,"', min_size=1, max_size=6), min_size=1),
    st.lists(st.integers(1, 4), min_size=1),
)
def test_quoted_items_stream_as_they_parse(items: list[str], cuts: list[int]) -> None:
    text = ",".join('"' + item.replace('"', '""') + '"' for item in items)
    parser = CommaSeparatedListOutputParser()
    assert parser.invoke(text) == items
    assert list(parser.transform(iter(pieces(text, cuts)))) == [[item] for item in items]
