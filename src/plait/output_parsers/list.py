"""Lists from what a model says: separated by commas, in Markdown, numbered."""

import csv
import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator
from io import StringIO
from typing import Any

from plait.output_parsers.base import generation_of
from plait.output_parsers.transform import BaseTransformOutputParser


class ListOutputParser(BaseTransformOutputParser[list[str]], init=False):
    """A list. A stream gives each item, in a list of its own, when the next one begins.

    A subclass defines `parse`, and `parse_iter` if a pattern finds the items.
    """

    @property
    def _type(self) -> str:
        return "list"

    @abstractmethod
    def parse(self, text: str) -> list[str]:
        """The items of a text."""

    def parse_iter(self, text: str) -> Iterator[re.Match[str]]:
        """Where the items of a text are; the first group is the item."""
        raise NotImplementedError(f"{type(self).__name__} has no pattern.")

    def _split(self, text: str) -> tuple[list[str], str]:
        """The items that are complete, and the rest of the text, with at most one item."""
        try:
            found = list(self.parse_iter(text))[:-1]
        except NotImplementedError:
            items = self.parse(text)
            return items[:-1], items[-1] if len(items) > 1 else text
        return [match[1] for match in found], text[found[-1].end() :] if found else text

    def _transform(self, input: Iterator[Any]) -> Iterator[list[str]]:
        rest = ""
        for chunk in input:
            items, rest = self._split(rest + generation_of(self, chunk).text)
            for item in items:
                yield [item]
        for item in self.parse(rest):
            yield [item]

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[list[str]]:
        rest = ""
        async for chunk in input:
            items, rest = self._split(rest + generation_of(self, chunk).text)
            for item in items:
                yield [item]
        for item in self.parse(rest):
            yield [item]


class CommaSeparatedListOutputParser(ListOutputParser):
    """Items between commas; one with a comma in it stands in double quotes.

    >>> CommaSeparatedListOutputParser().invoke('a, "b, c"')
    ['a', 'b, c']
    """

    __plait_namespace__ = ("langchain", "output_parsers", "list")

    @property
    def _type(self) -> str:
        return "comma-separated-list"

    def get_format_instructions(self) -> str:
        """What to tell a model so that it answers with such a list."""
        return "Answer with values separated by commas and nothing else, such as: `foo, bar, baz`"

    def parse(self, text: str) -> list[str]:
        """The items of a text."""
        lines = csv.reader(StringIO(text), skipinitialspace=True)
        try:
            return [item for line in lines for item in line]
        except csv.Error:  # an item that is too long, or a stray carriage return
            return [item.strip() for item in text.split(",")]

    def _split(self, text: str) -> tuple[list[str], str]:
        cut, quoted = -1, False
        for index, char in enumerate(text):
            if char == '"':
                quoted = not quoted
            elif char == "," and not quoted:
                cut = index
        if cut < 0:
            return [], text
        return self.parse(text[:cut]) or [""], text[cut + 1 :]


class NumberedListOutputParser(ListOutputParser):
    """Items on lines that start with a number and a dot.

    >>> NumberedListOutputParser().invoke("1. foo\\n2. bar")
    ['foo', 'bar']
    """

    pattern: str = r"\d+\.\s([^\n]+)"

    @property
    def _type(self) -> str:
        return "numbered-list"

    def get_format_instructions(self) -> str:
        """What to tell a model so that it answers with such a list."""
        return "Answer with a numbered list, one item to a line, such as:\n\n1. foo\n\n2. bar"

    def parse(self, text: str) -> list[str]:
        """The items of a text."""
        return re.findall(self.pattern, text)

    def parse_iter(self, text: str) -> Iterator[re.Match[str]]:
        """Where the items of a text are."""
        return re.finditer(self.pattern, text)


class MarkdownListOutputParser(ListOutputParser):
    """Items on lines that start with a dash or an asterisk.

    >>> MarkdownListOutputParser().invoke("- foo\\n- bar")
    ['foo', 'bar']
    """

    pattern: str = r"^\s*[-*]\s([^\n]+)$"

    @property
    def _type(self) -> str:
        return "markdown-list"

    def get_format_instructions(self) -> str:
        """What to tell a model so that it answers with such a list."""
        return "Answer with a Markdown list, one item to a line, such as:\n- foo\n- bar"

    def parse(self, text: str) -> list[str]:
        """The items of a text."""
        return re.findall(self.pattern, text, re.MULTILINE)

    def parse_iter(self, text: str) -> Iterator[re.Match[str]]:
        """Where the items of a text are."""
        return re.finditer(self.pattern, text, re.MULTILINE)


__all__ = [
    "CommaSeparatedListOutputParser",
    "ListOutputParser",
    "MarkdownListOutputParser",
    "NumberedListOutputParser",
]
