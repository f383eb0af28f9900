"""Texts in colours, for terminals (`langchain_core.utils.input`)."""

from collections.abc import Collection, Sequence
from itertools import cycle
from typing import TextIO

from plait.callbacks.printing import COLORS, in_bold, in_color
from plait.errors import InvalidValueError


def get_color_mapping(
    items: Sequence[str], excluded_colors: Collection[str] | None = None
) -> dict[str, str]:
    """A colour for each item, over and over again the same ones.

    Raises:
        InvalidValueError: All colours are excluded.

    >>> get_color_mapping(["add", "search"], ["blue"])
    {'add': 'yellow', 'search': 'pink'}
    """
    left = [color for color in COLORS if color not in (excluded_colors or ())]
    if not left:
        raise InvalidValueError(f"No colour is left: the known ones are {', '.join(COLORS)}.")
    return dict(zip(items, cycle(left), strict=False))


def get_colored_text(text: str, color: str) -> str:
    """A text in a colour.

    Raises:
        KeyError: There is no such colour.
    """
    if color not in COLORS:
        raise KeyError(f"No colour {color!r}: the known ones are {', '.join(COLORS)}.")
    return in_color(text, color)


def get_bolded_text(text: str) -> str:
    """A text in bold."""
    return in_bold(text)


def print_text(
    text: str, color: str | None = None, end: str = "", file: TextIO | None = None
) -> None:
    """Print a text, in a colour if one is named; what goes into a file is there at once."""
    shown = text if color is None else get_colored_text(text, color)
    print(shown, end=end, file=file, flush=file is not None)


__all__ = ["get_bolded_text", "get_color_mapping", "get_colored_text", "print_text"]
