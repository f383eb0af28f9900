"""Marks on arguments that the program fills and the model never sees; the errors of tools."""

from collections.abc import Callable, Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from plait.common.portable import Portable


class ToolException(Portable, Exception):
    """Raised by a tool to say that it failed in a way a model can be told (`handle_tool_error`)."""


class SchemaAnnotationError(TypeError):
    """`args_schema` of a tool class is annotated as an object where a class belongs."""


class InjectedToolArg:
    """Marks an argument that the program fills: `Annotated[str, InjectedToolArg]`."""


class InjectedToolCallId(InjectedToolArg):
    """Marks the argument that gets the id of the tool call, whatever the model supplied.

    >>> from typing import Annotated
    >>> from plait.tools import tool
    >>> @tool
    ... def remember(fact: str, call: Annotated[str, InjectedToolCallId]) -> str:
    ...     "Remember a fact."
    ...     return f"{call}: {fact}"
    >>> remember.invoke({"type": "tool_call", "name": "remember", "id": "7", "args": {"fact": "x"}})
    ToolMessage(content='7: x', name='remember', tool_call_id='7')
    """


class DirectlyInjectedToolArg:
    """Base of types that are filled by the program wherever an argument is annotated with them."""


def is_injected(annotation: Any) -> bool:
    """Whether an argument with this annotation is filled by the program.

    A mark counts inside a union, too: what the program fills may have a default outside of a run,
    and is still nothing for the model to supply.

    >>> from plait.prebuilt import ToolRuntime
    >>> is_injected(ToolRuntime), is_injected(ToolRuntime | None), is_injected(int | None)
    (True, True, False)
    """
    return _any_is(marks_of(annotation), "InjectedToolArg") or any(
        map(_fills, types_of(annotation))
    )


def is_call_id(annotation: Any) -> bool:
    """Whether an argument with this annotation gets the id of the tool call."""
    return _any_is(marks_of(annotation), "InjectedToolCallId")


def is_tool_exception(error: BaseException) -> bool:
    """Whether an error is a `ToolException`, plait's or langchain_core's."""
    return _any_is((type(error),), "ToolException")


def marks_of(annotation: Any) -> tuple[Any, ...]:
    """What an annotation is marked with, by `Annotated`, itself or as a member of a union."""
    return tuple(mark for one in _members(annotation) for mark in one[1:])


def types_of(annotation: Any) -> tuple[Any, ...]:
    """The type that an annotation names, or those of its union, without their arguments."""
    return tuple(get_origin(one[0]) or one[0] for one in _members(annotation))


def _members(annotation: Any) -> Iterator[tuple[Any, ...]]:
    """Each type of a union (or the one type), with the marks on it."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *marks = get_args(annotation)
        for one in _members(inner):
            yield (*one, *marks)
    elif origin is Union or origin is UnionType:
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield (annotation,)


def _fills(kind: Any) -> bool:
    names = ("DirectlyInjectedToolArg", "_DirectlyInjectedToolArg")
    return isinstance(kind, type) and any(base.__name__ in names for base in kind.__mro__)


def _any_is(marks: tuple[Any, ...], name: str) -> bool:
    """By name: marks of langchain_core count as well, without importing it."""
    kinds = (mark if isinstance(mark, type) else type(mark) for mark in marks)
    return any(base.__name__ == name for kind in kinds for base in kind.__mro__)


Handler = bool | str | Callable[[Any], Any] | None
"""What to do with an error: raise it (False), tell it (True), say this, or what this returns."""
