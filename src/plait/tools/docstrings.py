"""Docstrings in Google's style: the description, and what is said about each argument."""

import inspect
import re
from collections.abc import Callable, Collection
from typing import Any

from plait.errors import ToolDefinitionError

_ARGUMENT = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


def parse_docstring(
    func: Callable[..., Any], names: Collection[str], *, strict: bool
) -> tuple[str, dict[str, str]]:
    """The description and the arguments' descriptions in a function's docstring.

    Args:
        func: The function.
        names: Its arguments; the docstring may describe no others.
        strict: Refuse a docstring without an `Args:` section where there are arguments.

    Raises:
        ToolDefinitionError: The docstring does not fit.

    >>> def area(width: int, height: int):
    ...     '''The area of a box.
    ...
    ...     Args:
    ...         width: In meters.
    ...         height: In meters,
    ...             upwards.
    ...     '''
    >>> parse_docstring(area, ["width", "height"], strict=True)
    ('The area of a box.', {'width': 'In meters.', 'height': 'In meters, upwards.'})
    """
    name = getattr(func, "__name__", repr(func))
    text = inspect.getdoc(func) or ""
    described, section = _split(text)
    if section is None:
        if strict and names:
            raise ToolDefinitionError(
                f"Tool {name!r}: its docstring has no section `Args:` in Google's style, after an "
                "empty line, but parse_docstring=True reads the arguments from there."
            )
        return described, {}
    arguments = _arguments(section)
    for argument in arguments:
        if argument not in names:
            raise ToolDefinitionError(
                f"Tool {name!r}: its docstring describes the argument {argument!r}, but the "
                f"function has only {', '.join(names) or 'none'}."
            )
    return described, arguments


def described_arguments(text: str) -> tuple[str, dict[str, str]]:
    """The description and the arguments in a docstring, whatever they belong to."""
    described, section = _split(inspect.cleandoc(text))
    return described, {} if section is None else _arguments(section)


def _split(text: str) -> tuple[str, str | None]:
    """The description, and the lines of the section `Args:` (None if there is none)."""
    said: list[str] = []
    for block in text.split("\n\n"):
        head, _, rest = block.strip("\n").partition("\n")
        if head.strip() == "Args:":
            return " ".join(said).strip(), rest
        if re.match(r"^(Returns|Raises|Yields|Examples?):\s*$", head):
            break
        said.append(block.strip())
    return " ".join(said).strip(), None


def _arguments(section: str) -> dict[str, str]:
    found: dict[str, str] = {}
    indent: int | None = None
    last = ""
    for line in section.splitlines():
        depth = len(line) - len(line.lstrip())
        indent = depth if indent is None else indent
        match = _ARGUMENT.match(line.strip())
        if match and depth <= indent:
            last = match[1]
            found[last] = match[2].strip()
        elif last:
            found[last] = f"{found[last]} {line.strip()}".strip()
    return found
