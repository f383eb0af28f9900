"""Which texts of a value are embedded: paths into it, and what they find.

title  meta.title      a key, keys below each other
tags[0]  tags[-1]      one item of a list
tags[*]  meta.*        each item of a list, each value of a dict
{title,meta.title}     several paths at once; nothing may follow
$                      the whole value, as JSON with sorted keys; a key that JSON has not, as text
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, cast

WHOLE = "$"


def tokenize_path(path: str) -> list[str]:
    """The steps of a path.

    >>> tokenize_path("chapters[*].{title,meta.summary}")
    ['chapters', '[*]', '{title,meta.summary}']
    """
    tokens: list[str] = []
    word, rest = "", path
    while rest:
        char = rest[0]
        closing = {"[": "]", "{": "}"}.get(char)
        end = rest.find(closing) if closing else -1
        if end > 0 or char == ".":
            if word:
                tokens.append(word)
            word = ""
        if end > 0:
            tokens.append(rest[: end + 1])
            rest = rest[end + 1 :]
        else:
            word += "" if char == "." else char
            rest = rest[1:]
    return [*tokens, word] if word else tokens


def get_text_at_path(obj: Any, path: str | list[str]) -> list[str]:
    """The texts that a path finds; what is not there is left out, what is no text is written as it.

    Args:
        obj: the value to look into.
        path: a path, or its tokens.

    >>> get_text_at_path({"pages": [{"text": "one"}, {"text": "two"}, {}]}, "pages[*].text")
    ['one', 'two']
    """
    tokens = [] if path == WHOLE else tokenize_path(path) if isinstance(path, str) else path
    if not tokens:
        return [_json(obj)]
    if len(tokens) == 1 and obj.__class__ is dict and _is_key(tokens[0]):
        text = _text(obj.get(tokens[0]))  # most paths are a key; None is no text, there or not
        return [] if text is None else [text]
    return [text for text in map(_text, _walk(obj, tokens)) if text is not None]


def _walk(obj: Any, tokens: list[str]) -> Iterator[Any]:
    if not tokens:
        yield obj
        return
    token, rest = tokens[0], tokens[1:]
    if token.startswith("{") and token.endswith("}"):
        for path in token[1:-1].split(","):
            yield from _walk(obj, tokenize_path(path.strip()))
        return
    for found in _step(obj, token):
        yield from _walk(found, rest)


def _is_key(token: str) -> bool:
    """Whether a step into a dict is one of its keys."""
    return token != "*" and not (token.startswith("{") and token.endswith("}"))


def _step(obj: Any, token: str) -> list[Any]:
    if isinstance(obj, list | tuple):
        items = cast("list[Any]", obj)
        if token in ("*", "[*]"):
            return list(items)
        try:
            return [items[int(token[1:-1])]] if token.startswith("[") else []
        except (ValueError, IndexError):
            return []
    if isinstance(obj, Mapping):
        values = cast("Mapping[str, Any]", obj)
        if token == "*":
            return list(values.values())
        return [values[token]] if token in values else []
    return []


def _text(found: Any) -> str | None:
    if found is None or isinstance(found, str):
        return found
    if isinstance(found, Mapping | list | tuple):
        return _json(found)
    return str(found)


def _json(obj: Any) -> str:
    try:
        return json.dumps(obj, sort_keys=True, ensure_ascii=False, default=_plain)
    except TypeError:  # of keys that JSON has not, or that have no order among each other
        if isinstance(obj, Mapping):
            pairs = cast("Mapping[Any, Any]", obj).items()
            named = sorted(((_key(key), part) for key, part in pairs), key=itemgetter(0))
            return "{" + ", ".join(f"{_json(key)}: {_json(part)}" for key, part in named) + "}"
        if isinstance(obj, list | tuple):
            return "[" + ", ".join(map(_json, cast("list[Any]", obj))) + "]"
        raise


def _key(key: Any) -> str:
    """A key as JSON would write it; one for which it has no form, as its text."""
    if isinstance(key, str):
        return key
    return json.dumps(key) if key is None or isinstance(key, int | float) else str(key)


def _plain(obj: Any) -> Any:
    """What JSON has no form for: a mapping is written as a dict, anything else as its text."""
    return dict(cast("Mapping[Any, Any]", obj)) if isinstance(obj, Mapping) else str(obj)
