"""Calls whose arguments Gemini streams piece by piece, each piece at its path in the arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from plait.chat_models.wire import Block

_STEP = re.compile(
    r"""\.(?P<name>[^.\[]+)|\[(?P<place>\d+)\]|\['(?P<one>.*?)'\]|\["(?P<two>.*?)"\]"""
)
_VALUES = ("string_value", "number_value", "bool_value")


class OpenCall:
    """A call that has begun: what has come of its arguments."""

    def __init__(self, index: int, args: Block) -> None:
        self.index = index
        self._args = dict(args)

    def take(self, pieces: Sequence[Block]) -> None:
        """Puts pieces in their places; a text goes on where there is one already."""
        for piece in pieces:
            _put(self._args, _steps(piece.get("json_path") or ""), _value(piece))

    def text(self, is_whole: bool) -> str:
        """The arguments as JSON; of a call that was cut off, JSON that ends too early."""
        made = json.dumps(self._args)
        return made if is_whole else made[:-1]


def _value(piece: Block) -> Any:
    given = next((piece[key] for key in _VALUES if key in piece), None)
    # The SDK makes every number a float; where it is a whole one, schemas ask for an integer.
    return int(given) if isinstance(given, float) and given.is_integer() else given


def _steps(path: str) -> list[str | int]:
    """The names and places of a path.

    >>> _steps("$.days[0]['of week']")
    ['days', 0, 'of week']
    """
    found = [match.groupdict() for match in _STEP.finditer(path)]
    return [
        int(step["place"]) if step["place"] else step["name"] or step["one"] or step["two"] or ""
        for step in found
    ]


def _put(into: Any, steps: list[str | int], value: Any) -> None:
    """Puts a value at a path, and makes the objects and lists on the way."""
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, int):
            into += [None] * (step + 1 - len(into))
        known: Any = into[step] if isinstance(step, int) else into.get(step)
        if following is None:
            goes_on = isinstance(known, str) and isinstance(value, str)
            into[step] = cast("str", known) + value if goes_on else value
        elif known is None:
            known = into[step] = cast("Any", [] if isinstance(following, int) else {})
        into = known


__all__ = ["OpenCall"]
