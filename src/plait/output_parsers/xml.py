"""`XMLOutputParser`: XML from what a model says, as dicts; also while it is still talking."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal
from xml.etree.ElementTree import ParseError

from plait.exceptions import OutputParserException
from plait.output_parsers.base import generation_of
from plait.output_parsers.transform import BaseTransformOutputParser
from plait.output_parsers.xml_text import (
    Element,
    ExpatError,
    UnsafeXMLError,
    XMLStream,
    parse_xml,
    start_of_xml,
)


class XMLParserException(OutputParserException, ParseError):
    """What a model said is no XML."""

    __str__ = Exception.__str__  # a SyntaxError shows a message of its own


class XMLOutputParser(BaseTransformOutputParser[dict[str, Any]]):
    """XML as nested dicts. A stream gives each innermost element when it ends.

    Attributes are left out. A document type is refused, and with it entities and outside files.

    Args:
        tags: The tags to ask the model for.
        parser: Accepted for compatibility; XML is always read safely.

    >>> XMLOutputParser().invoke("<film><title>Heat</title><year>1995</year></film>")
    {'film': [{'title': 'Heat'}, {'year': '1995'}]}
    """

    tags: list[str] | None = None
    parser: Literal["defusedxml", "xml"] = "defusedxml"

    @property
    def _type(self) -> str:
        return "xml"

    def parse(self, text: str) -> dict[str, Any]:
        """The root element of a text.

        Raises:
            OutputParserException: It is no XML, has a document type, or nests too deep.
        """
        try:
            return parse_xml(text)
        except (ExpatError, UnsafeXMLError) as error:
            raise _no_xml(text, error) from error

    def get_format_instructions(self) -> str:
        """What to tell a model so that it answers in XML."""
        tags = "" if self.tags is None else f" Use these tags: {', '.join(self.tags)}."
        return (
            "Answer with one XML element and nothing else. Close every tag that you open; write "
            f"no attributes and no document type.{tags} For example, for the tags foo, bar and "
            "baz: <foo><bar><baz>text</baz></bar></foo>"
        )

    def _transform(self, input: Iterator[Any]) -> Iterator[Any]:
        leaves = _Leaves()
        for chunk in input:
            yield from leaves.feed(generation_of(self, chunk).text)

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[Any]:
        leaves = _Leaves()
        async for chunk in input:
            for leaf in leaves.feed(generation_of(self, chunk).text):
                yield leaf


class _Leaves:
    """The innermost elements of XML that comes in pieces, each within the tags around it."""

    def __init__(self) -> None:
        self._stream: XMLStream | None = None
        self._before = ""  # what came before the first element
        self._ended: list[dict[str, Any]] = []

    def feed(self, text: str) -> list[dict[str, Any]]:
        """The elements that end in this piece."""
        if self._stream is None:
            self._before += text
            start = start_of_xml(self._before)
            if start < 0:
                self._before = self._before[-1:]
                return []
            text, self._stream = self._before[start:], XMLStream(self._add)
        if not self._stream.over:
            try:
                self._stream.feed(text)
            except (ExpatError, UnsafeXMLError) as error:
                if not self._stream.over:  # what comes after the element is not ours
                    raise _no_xml(text, error) from error
        ended, self._ended = self._ended, []
        return ended

    def _add(self, around: list[str], element: Element) -> None:
        value: Any = {element.tag: element.text}
        for tag in reversed(around):
            value = {tag: [value]}
        self._ended.append(value)


def _no_xml(text: str, error: Exception) -> XMLParserException:
    shown = text if len(text) <= 2000 else f"{text[:1000]} [...] {text[-1000:]}"
    return XMLParserException(
        f"Failed to parse XML format from completion {shown!r}. Expected one XML element, alone or "
        f"in a fence. Got: {error}",
        llm_output=text,
    )


__all__ = ["XMLOutputParser"]
