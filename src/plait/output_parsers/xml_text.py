"""XML as models write it, read without what makes XML dangerous.

A document type is refused: with it go entities (which can expand without end) and everything that
names files or addresses. Expat reads the rest; a tree of dicts is built while it does.
"""

import re
from collections.abc import Callable
from typing import Any
from xml.etree.ElementTree import ParseError, fromstring
from xml.parsers.expat import ExpatError, ParserCreate

DEEPEST = 200
"""How deep elements nest at most."""

_TOO_DEEP = f"elements nest deeper than {DEEPEST}"
_FENCE = re.compile(r"```(xml)?(.*)```", re.DOTALL)
_DECLARATION = re.compile(r"<\?xml\b[^>]*\?>")
_START = re.compile(r"<[a-zA-Z:_]")


class UnsafeXMLError(ValueError):
    """The XML has a document type, or nests too deep."""


class Element:
    """One element: its tag, the text before its first child, and its children."""

    __slots__ = ("children", "tag", "text")

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.text: str | None = None
        self.children: list[Element] = []

    def plain(self) -> dict[str, Any]:
        """The element as a dict of its tag: its text, or its children in a list."""
        if self.text and not self.text.isspace():
            return {self.tag: self.text}
        return {
            self.tag: [
                child.plain() if child.children else {child.tag: child.text}
                for child in self.children
            ]
        }


class XMLStream:
    """XML that comes in pieces.

    Args:
        on_leaf: Called with the tags around an element without children, and the element, when it
            ends.
    """

    def __init__(self, on_leaf: Callable[[list[str], Element], None] | None = None) -> None:
        self.root: Element | None = None
        self.over = False
        self._on_leaf = on_leaf
        self._open: list[Element] = []
        self._expat = ParserCreate("utf-8")
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartDoctypeDeclHandler = self._refuse

    def feed(self, text: str, *, last: bool = False) -> None:
        """Read a piece.

        Raises:
            ExpatError: It is no XML.
            UnsafeXMLError: It has a document type, or nests too deep.
        """
        self._expat.Parse(text.encode("utf-8", "surrogatepass"), last)

    def _start(self, tag: str, _attributes: Any) -> None:
        element = Element(tag)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        if len(self._open) > DEEPEST:
            raise UnsafeXMLError(_TOO_DEEP)

    def _end(self, tag: str) -> None:
        element = self._open.pop()
        self.over = not self._open
        if self._on_leaf is not None and not element.children:
            self._on_leaf([around.tag for around in self._open], element)

    def _characters(self, text: str) -> None:
        element = self._open[-1]
        if not element.children:
            element.text = text if element.text is None else element.text + text

    def _refuse(self, *_: Any) -> None:
        raise UnsafeXMLError("a document type (<!DOCTYPE ...>) is not read")


def parse_xml(text: str) -> dict[str, Any]:
    """The root element of a text, or of a fence in it.

    Raises:
        ExpatError: It is no XML.
        UnsafeXMLError: It has a document type, or nests too deep.

    >>> parse_xml("```xml\\n<film><title>Heat</title></film>\\n```")
    {'film': [{'title': 'Heat'}]}
    """
    fence = _FENCE.search(text)
    inner = text if fence is None else fence[2]
    declaration = _DECLARATION.search(inner)
    inner = (inner if declaration is None else inner[declaration.end() :]).strip()
    if "<!DOCTYPE" not in inner and "xmlns" not in inner:
        try:
            return _plain(fromstring(inner.encode("utf-8", "surrogatepass")), 1)
        except ParseError:
            pass  # told below
    stream = XMLStream()
    stream.feed(inner, last=True)
    assert stream.root is not None  # a text without an element is an error of expat
    return stream.root.plain()


def _plain(element: Any, depth: int) -> dict[str, Any]:
    """As `Element.plain`, of an element read in C, where no document type and no namespaces are."""
    text = element.text
    if text and not text.isspace():
        return {element.tag: text}
    if depth >= DEEPEST and len(element):
        raise UnsafeXMLError(_TOO_DEEP)
    return {
        element.tag: [
            _plain(child, depth + 1) if len(child) else {child.tag: child.text} for child in element
        ]
    }


def start_of_xml(text: str) -> int:
    """Where the first element of a text begins; -1 if there is none yet."""
    found = _START.search(text)
    return -1 if found is None else found.start()


__all__ = ["Element", "ExpatError", "UnsafeXMLError", "XMLStream", "parse_xml", "start_of_xml"]
