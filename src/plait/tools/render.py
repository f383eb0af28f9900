"""Tools as text, for prompts of models that take no tools."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from plait.common.reflection import signature

ToolsRenderer: TypeAlias = Callable[[list[Any]], str]
"""From tools to text."""


def render_text_description(tools: Sequence[Any]) -> str:
    """One line for each tool: its name and signature, and its description.

    >>> from plait.tools import tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> print(render_text_description([add]))
    add(a: int, b: int) -> int - Add two numbers.
    """
    return "\n".join(map(_line, tools))


def render_text_description_and_args(tools: Sequence[Any]) -> str:
    """The same lines with the schema of the arguments."""
    return "\n".join(f"{_line(tool)}, args: {tool.args}" for tool in tools)


def _line(tool: Any) -> str:
    func = getattr(tool, "func", None)
    shown = f"{tool.name}{signature(func)}" if func is not None else tool.name
    return f"{shown} - {tool.description}"
