"""Mermaid's frontmatter: its configuration as YAML, before the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from plait.errors import ConfigError

_PLAIN = re.compile(r"[\w./][\w./, '-]*(?<! )")
_NUMBER_OR_DATE = re.compile(r"[\d.][\d_.:eExa-fA-F+-]*")
_WORDS_WITH_A_MEANING = frozenset({"true", "false", "yes", "no", "on", "off", "null"})


def frontmatter(config: Mapping[str, Any], curve: str) -> str:
    """The configuration with the style of edges set in it.

    >>> print(frontmatter({"config": {"theme": "neutral"}, "title": "My #1"}, "linear"))
    ---
    config:
      flowchart:
        curve: linear
      theme: neutral
    title: 'My #1'
    ---
    """
    own: Mapping[str, Any] = config.get("config") or {}
    flowchart: dict[str, Any] = {**(own.get("flowchart") or {}), "curve": curve}
    whole: dict[str, Any] = {**config, "config": {**own, "flowchart": flowchart}}
    return "\n".join(["---", *_lines(whole, 0), "---"])


def _lines(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for key in sorted(value, key=str):
        item = value[key]
        name = _scalar(key)
        if isinstance(item, Mapping) and item:
            yield f"{pad}{name}:"
            yield from _lines(cast("Mapping[str, Any]", item), depth + 1)
        elif isinstance(item, (list, tuple)) and item:
            yield f"{pad}{name}:"
            for one in cast("Sequence[Any]", item):
                yield f"{pad}- {_scalar(one)}"
        else:
            yield f"{pad}{name}: {_scalar(item)}"


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if value == {} or value == [] or value == ():
        return "{}" if value == {} else "[]"
    if not isinstance(value, str):
        raise ConfigError(
            f"frontmatter_config holds {value!r}, which Mermaid's configuration cannot. Use texts, "
            "numbers, True, False, None, dicts, and lists of these."
        )
    if not value.isprintable():
        return json.dumps(value)
    means_more = _NUMBER_OR_DATE.fullmatch(value) or value.lower() in _WORDS_WITH_A_MEANING
    if _PLAIN.fullmatch(value) and not means_more:
        return value
    return "'" + value.replace("'", "''") + "'"


__all__ = ["frontmatter"]
