"""Mustache templates, the part of them that is data.

`{{name}}` (escaped for HTML), `{{{name}}}` and `{{&name}}` (as it is), `{{a.b}}` (key `b` of the
dict `a`), sections `{{#name}}..{{/name}}`, inverted ones `{{^name}}`, `{{.}}`, comments `{{! }}`.
Left out: attributes and indices of values, functions as sections, partials, other delimiters.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from plait.errors import InvalidInputError, InvalidTemplateError

DEEPEST = 100
"""How deep sections nest at most."""

_ESCAPES = str.maketrans({"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;"})
_LEFT_OUT = {
    ">": "partials ({{> name}}) are left out; join the templates instead",
    "=": "other delimiters ({{=<% %>=}}) are left out",
}
_ABSENT: Any = object()


class Part(NamedTuple):
    """A piece of a template: `kind` is "text", "=" (a value), "&" (unescaped), "#" or "^"."""

    kind: str
    text: str
    inner: "list[Part]"


class Mustache:
    """A template, read.

    Args:
        template: The text.

    Raises:
        InvalidTemplateError: It is no template, or uses what is left out.

    >>> Mustache("{{#people}}{{name}}, {{/people}}").fill({"people": [{"name": "Ann"}]})
    'Ann, '
    """

    __slots__ = ("names", "parts")

    def __init__(self, template: str) -> None:
        self.parts = _read(template)
        self.names = frozenset(
            part.text.partition(".")[0]
            for part in self.parts
            if part.kind != "text" and part.text != "."
        )

    def fill(self, values: Mapping[str, Any]) -> str:
        """The text, with the values in the place of their names; what is not there leaves none.

        Raises:
            InvalidInputError: The value of a section is a function.
        """
        out: list[str] = []
        _fill(self.parts, [values], out)
        return "".join(out)


def _read(template: str) -> list[Part]:
    stack: list[tuple[str, list[Part]]] = [("", [])]
    position, end = 0, len(template)
    while position < end:
        start = template.find("{{", position)
        if start < 0:
            break
        triple = template.startswith("{{{", start)
        closing = "}}}" if triple else "}}"
        stop = template.find(closing, start)
        if stop < 0:
            raise _wrong(template, start, "the tag is never closed")
        body = template[start + len(closing) : stop].strip()
        kind, name = ("&", body) if triple else _kind_and_name(template, start, body)
        after = stop + len(closing)
        text = template[position:start]
        if kind in ("#", "^", "/", "!"):
            text, after = _without_own_line(template, start, text, after)
        _add(stack[-1][1], text)
        position = after
        if kind in ("#", "^"):
            if len(stack) > DEEPEST:
                raise _wrong(template, start, f"sections nest deeper than {DEEPEST}")
            inner: list[Part] = []
            stack[-1][1].append(Part(kind, name, inner))
            stack.append((name, inner))
        elif kind == "/":
            opened, _ = stack.pop()
            if not stack or opened != name:
                opened = opened or "no section"
                raise _wrong(template, start, f"it closes {name!r}, but {opened!r} is open")
        elif kind != "!":
            stack[-1][1].append(Part(kind, name, []))
    if len(stack) > 1:
        raise _wrong(template, len(template), f"the section {stack[-1][0]!r} is never closed")
    _add(stack[0][1], template[position:])
    return stack[0][1]


def _add(parts: list[Part], text: str) -> None:
    if text:
        parts.append(Part("text", text, []))


def _kind_and_name(template: str, start: int, body: str) -> tuple[str, str]:
    kind = body[:1]
    if kind in _LEFT_OUT:
        raise _wrong(template, start, _LEFT_OUT[kind])
    if kind == "!":
        return kind, ""
    name = body[1:].strip() if kind in ("#", "^", "/", "&") else body
    if not name:
        raise _wrong(template, start, "the tag is empty")
    if name != "." and any(not key or key.isdigit() for key in name.split(".")):
        raise _wrong(template, start, f"{name!r} is no name: indices and empty names are left out")
    return (kind if kind in ("#", "^", "/", "&") else "="), name


_LINE_END = re.compile(r"[ \t]*(?:\r?\n|\Z)")


def _without_own_line(template: str, start: int, text: str, after: int) -> tuple[str, int]:
    """A tag alone on its line takes the line with it."""
    line = template.rfind("\n", 0, start) + 1
    rest = _LINE_END.match(template, after)
    if template[line:start].strip(" \t") or rest is None:
        return text, after
    indent = start - line
    return (text[: len(text) - indent] if indent else text), rest.end()


def _fill(parts: Sequence[Part], scopes: list[Any], out: list[str]) -> None:
    for kind, text, inner in parts:
        if kind == "text":
            out.append(text)
            continue
        value = _find(text, scopes)
        if kind == "=" or kind == "&":
            if value is not _ABSENT and (value or isinstance(value, (int, float))):
                shown = str(value)
                out.append(shown if kind == "&" else shown.translate(_ESCAPES))
        elif kind == "^":
            if value is _ABSENT or not value:
                _fill(inner, scopes, out)
        elif value is not _ABSENT and value:
            _section(text, value, inner, scopes, out)


def _section(name: str, value: Any, inner: list[Part], scopes: list[Any], out: list[str]) -> None:
    if callable(value) and not isinstance(value, type):
        raise InvalidInputError(
            f"The section {name!r} of a mustache template was given a function. A template runs no "
            "code: call the function and pass what it returns."
        )
    if value is True:  # a mere yes is nothing to look names up in
        _fill(inner, scopes, out)
        return
    items = cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else (value,)
    for item in items:
        scopes.append(item)
        _fill(inner, scopes, out)
        scopes.pop()


def _find(name: str, scopes: list[Any]) -> Any:
    """The value of a name in the innermost scope that has it; only keys of dicts are looked up."""
    if name == ".":
        return scopes[-1]
    keys = name.split(".")
    for scope in reversed(scopes):
        value: Any = scope
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                break
            value = cast("Mapping[str, Any]", value)[key]
        else:
            return value
    return _ABSENT


def _wrong(template: str, position: int, reason: str) -> InvalidTemplateError:
    line = template.count("\n", 0, position) + 1
    return InvalidTemplateError(f"This is no mustache template: line {line}: {reason}.")
