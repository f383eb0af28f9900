"""XML that is read at once, in C, gives what the reader of pieces gives, and refuses the same."""

from __future__ import annotations

import pytest

from plait.output_parsers.xml_text import (
    DEEPEST,
    ExpatError,
    UnsafeXMLError,
    XMLStream,
    parse_xml,
)

TEXTS = [
    "<a/>", "<a>text</a>", "<a> <b>1</b> <b>2</b></a>", "<a>mixed<b>1</b></a>",
    "<a><b/><b> </b></a>", "<a><!-- note --><b>1 &amp; 2</b></a>", "<a><![CDATA[<x>]]></a>",
    '<a x="1"><b y="2">z</b></a>', "<a><b>one<c/>two</b>three</a>", "<a>\n<b>é\n</b></a>",
    '<n:a xmlns:n="urn:x"><n:b>1</n:b></n:a>', "<n:a><n:b>1</n:b></n:a>", "<a>xmlns</a>",
    "<a>" * DEEPEST + "</a>" * DEEPEST,
]  # fmt: skip
WRONG = ["", "text", "<a>", "<a></b>", "<a/><b/>", "<a>&undefined;</a>", "<a>\ud800</a>"]


@pytest.mark.parametrize("text", TEXTS)
def test_both_readers_agree(text: str) -> None:
    stream = XMLStream()
    stream.feed(text, last=True)
    assert stream.root is not None
    assert parse_xml(text) == stream.root.plain()


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_xml_is_told_as_by_the_reader_of_pieces(text: str) -> None:
    with pytest.raises(ExpatError) as expected:
        XMLStream().feed(text.strip(), last=True)
    with pytest.raises(ExpatError) as caught:
        parse_xml(text)
    assert str(caught.value) == str(expected.value)


def test_what_nests_too_deep_or_has_a_document_type_is_refused() -> None:
    deep = "<a>" * (DEEPEST + 1) + "</a>" * (DEEPEST + 1)
    for text in (deep, "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "<b>" + deep + "</b>"):
        with pytest.raises(UnsafeXMLError):
            parse_xml(text)
