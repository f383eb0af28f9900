"""JSON as models write it, read while it streams."""

import json
import re
from typing import Any, cast

from plait.messages.partial_json import CLOSERS, is_too_deep, longest_part
from plait.utils.json import AROUND, parse_json_markdown

_KEY = re.compile(r'[\s,]*(?:"(?:[^"\\]|\\.)*(?:"\s*:?\s*|\\)?)?', re.DOTALL)
_STRUCTURE = re.compile(r'["\\{}\[\],]')
NOTHING: Any = object()
"""What a text that is no JSON yet amounts to."""


class JsonStream:
    """JSON that comes in pieces. Each piece is looked at once.

    >>> stream = JsonStream()
    >>> stream.feed('{"a": "x'), stream.feed('y", "b'), stream.feed('": tr')
    ({'a': 'x'}, {'a': 'xy'}, {'a': 'xy'})
    """

    __slots__ = (
        "_cut",
        "_escaped",
        "_in_string",
        "_last",
        "_mismatched",
        "_open",
        "_plain",
        "_text",
    )

    def __init__(self) -> None:
        self._text = ""
        self._plain = False  # it starts with a bracket: no fence, no other text
        self._open: list[str] = []
        self._in_string = self._escaped = self._mismatched = False
        self._cut = 0  # where the last item of the innermost bracket begins
        self._last: Any = NOTHING

    def feed(self, piece: str) -> Any:
        """The value of all that came so far; `NOTHING` if that is no JSON.

        Raises:
            json.JSONDecodeError: It nests too deep.
        """
        start = len(self._text)
        self._text += piece
        if not self._plain:
            self._plain = self._text.lstrip()[:1] in ("{", "[")
            if not self._plain:
                return self._anyhow()
            start = 0
        self._look(start)
        if self._mismatched or not self._open:
            return self._anyhow()
        self._last = self._closed(start)
        return self._last

    def _look(self, start: int) -> None:
        """Follow strings and brackets from `start` to the end."""
        text, at = self._text, start
        if self._escaped and at < len(text):
            self._escaped, at = False, at + 1
        while (found := _STRUCTURE.search(text, at)) is not None:
            char, at = found[0], found.end()
            if self._in_string:
                if char == "\\":
                    if at == len(text):
                        self._escaped = True
                    at += 1
                elif char == '"':
                    self._in_string = False
            elif char == '"':
                self._in_string = True
            elif char in CLOSERS:
                self._open.append(CLOSERS[char])
                self._cut = at
            elif char == ",":
                self._cut = at - 1
            elif char != "\\" and (not self._open or self._open.pop() != char):
                self._mismatched = True
                return

    def _closed(self, start: int) -> Any:
        closing = "".join(reversed(self._open))
        if closing[0] == "}" and _KEY.fullmatch(self._text, self._cut):
            # A key without its value reads as nothing, and takes the comma before it along.
            if self._cut < start and self._last is not NOTHING:
                return self._last
            return self._longest(self._text[: self._cut], closing)
        body = self._text.rstrip(AROUND)
        if self._in_string:
            body = (body[:-1] if self._escaped else body) + '"'
        return self._longest(body, closing)

    def _longest(self, body: str, closing: str) -> Any:
        found, value = longest_part(body, closing)
        return value if found else self._anyhow()

    def _anyhow(self) -> Any:
        try:
            return parse_json_markdown(self._text)
        except json.JSONDecodeError as error:
            if is_too_deep(error):
                raise
            return NOTHING


def changes(before: Any, after: Any, path: str = "") -> list[dict[str, Any]]:
    """What to do to `before` to have `after`, as a JSON patch (RFC 6902).

    >>> changes({"a": [1]}, {"a": [1, 2], "b": "x"})
    [{'op': 'add', 'path': '/a/1', 'value': 2}, {'op': 'add', 'path': '/b', 'value': 'x'}]
    """
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        patch: list[dict[str, Any]] = []
        patch += ({"op": "remove", "path": _at(path, key)} for key in old if key not in new)
        for key, value in new.items():
            if key not in old:
                patch.append({"op": "add", "path": _at(path, key), "value": value})
            else:
                patch += changes(old[key], value, _at(path, key))
        return patch
    if isinstance(before, list) and isinstance(after, list):
        was, now = cast("list[Any]", before), cast("list[Any]", after)
        items: list[dict[str, Any]] = []
        for index, (one, other) in enumerate(zip(was, now, strict=False)):
            items += changes(one, other, f"{path}/{index}")
        for index in range(len(was) - 1, len(now) - 1, -1):
            items.append({"op": "remove", "path": f"{path}/{index}"})
        for index in range(len(was), len(now)):
            items.append({"op": "add", "path": f"{path}/{index}", "value": now[index]})
        return items
    return [] if _same(before, after) else [{"op": "replace", "path": path, "value": after}]


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of one type: 1 and 1.0 are two values."""
    return one == other and one.__class__ is other.__class__


def _at(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


__all__ = ["NOTHING", "JsonStream", "changes"]
