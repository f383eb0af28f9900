"""Tools of other frameworks: recognised without importing their packages."""

from collections.abc import Iterable, Mapping
from typing import Any, cast
from warnings import warn

from plait.errors import DuplicateToolWarning, ToolDefinitionError
from plait.runnables.base import Runnable
from plait.tools.base import BaseTool
from plait.tools.convert import tool
from plait.tools.injected import ToolException
from plait.tools.simple import Tool
from plait.tools.structured import StructuredTool
from plait.warnings import program_level


def coerce_to_tool(value: Any) -> Any:
    """A tool of what stands where a tool belongs.

    Args:
        value: A tool, plait's or langchain_core's (both are handed back as they are), a Haystack
            tool, a function, or a class that is made from what the model supplies.

    Raises:
        ToolDefinitionError: It is none of these.

    >>> def add(a: int, b: int) -> int:
    ...     '''Add.'''
    ...     return a + b
    >>> coerce_to_tool(add).invoke({"a": 1, "b": 2})
    3
    """
    if isinstance(value, BaseTool) or hasattr(value.__class__, "tool_call_schema"):
        return value
    if is_haystack_tool(value):
        return _of_haystack(value)
    if callable(value) and not isinstance(value, Runnable) and not _is_no_tool(value):
        return tool(value)
    raise ToolDefinitionError(
        f"{value!r} is no tool. Pass a tool, or a function with a docstring; a runnable becomes "
        "one by its as_tool()."
    )


def _is_no_tool(value: Any) -> bool:
    """Whether it is a class that is made from nothing that a model says: a tool's own, a builtin
    one."""
    return isinstance(value, type) and (
        issubclass(value, Runnable) or value.__module__ == "builtins"
    )


def each_tool(tools: Any) -> list[Any]:
    """What stands in a list of tools.

    Raises:
        ToolDefinitionError: It is no list, but a tool, a text or nothing of the kind.
    """
    if isinstance(tools, (str, BaseTool)) or not isinstance(tools, Iterable):
        raise ToolDefinitionError(f"tools is a list of tools, not {tools!r:.200}. Write [...].")
    return list(cast("Iterable[Any]", tools))


def by_name(tools: Iterable[Any], beside: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The tools of a list by name, with a `DuplicateToolWarning` where two have the same.

    Args:
        tools: Tools and functions; of those with one name the last counts.
        beside: Tools that count before these.

    Raises:
        ToolDefinitionError: Something is no tool.
    """
    found: dict[str, Any] = {}
    for one in map(coerce_to_tool, tools):
        if one.name in found and not _is_same(found[one.name], one):
            _warn_of_two(one.name, "the last one")
        found[one.name] = one
    for name, one in (beside or {}).items():
        if name in found and not _is_same(found[name], one):
            _warn_of_two(name, "the one that the node had before")
    return {**found, **(beside or {})}


def _is_same(one: Any, other: Any) -> bool:
    """Whether two are one tool, or made of one function."""
    made = [(getattr(it, "func", None), getattr(it, "coroutine", None)) for it in (one, other)]
    return one is other or made[0] == made[1] != (None, None)


def _warn_of_two(name: str, counts: str) -> None:
    warn(
        f"Two tools are named {name!r}: {counts} counts, and the other is never shown to the "
        "model, nor run. Give one of them another name, or leave it out.",
        DuplicateToolWarning,
        stacklevel=program_level(),
    )


def is_haystack_tool(value: Any) -> bool:
    """Whether a value is a tool of Haystack."""
    return any(
        base.__name__ == "Tool" and base.__module__.startswith("haystack.")
        for base in value.__class__.__mro__
    )


_DECLARED = (
    "return_direct",
    "tags",
    "metadata",
    "handle_tool_error",
    "handle_validation_error",
    "response_format",
    "extras",
    "callbacks",
    "verbose",
)


def declared(tool: Any) -> dict[str, Any]:
    """What a tool declares besides its name, its description and its arguments."""
    return {name: getattr(tool, name) for name in _DECLARED if hasattr(tool, name)}


def own_tool(value: Any) -> BaseTool:
    """A tool of plait's; one of langchain_core's becomes one that runs the same code.

    Args:
        value: What `coerce_to_tool` takes.

    Raises:
        ToolDefinitionError: It is no tool.
    """
    its = coerce_to_tool(value)
    if isinstance(its, BaseTool):
        return its
    rest: dict[str, Any] = {"name": its.name, "description": its.description, **declared(its)}
    if takes_one_text(its) and its.args_schema is None:
        return Tool(func=its.func, coroutine=its.coroutine, **rest)
    code = {"func": _their_code(its, "func", "_run")}
    code["coroutine"] = _their_code(its, "coroutine", "_arun")
    if not any(code.values()):
        raise ToolDefinitionError(f"{value!r:.200} has no code that could be called: no _run.")
    if its.args_schema is None:
        return StructuredTool.from_function(**code, **rest)
    return StructuredTool(args_schema=its.args_schema, **code, **rest)


def _their_code(tool: Any, field: str, method: str) -> Any:
    """What one kind of calls runs: the method of the program's own class, else the function."""
    owner = next((kind for kind in type(tool).__mro__ if method in vars(kind)), None)
    if owner is None or owner.__module__.startswith("langchain_core."):
        return getattr(tool, field, None)
    return getattr(tool, method)


def takes_one_text(tool: Any) -> bool:
    """Whether it is a `Tool`, plait's or LangChain's; a class of the program's has names for what
    it takes."""
    return any(
        base.__name__ == "Tool" and base.__module__.startswith(("plait.tools.", "langchain_core."))
        for base in type(tool).__mro__
    )


def _of_haystack(theirs: Any) -> StructuredTool:
    def invoke(**arguments: Any) -> Any:
        try:
            return theirs.invoke(**arguments)
        except Exception as error:
            if type(error).__name__ == "ToolInvocationError":
                raise ToolException(str(error)) from error
            raise

    return StructuredTool(
        name=theirs.name,
        description=theirs.description,
        args_schema=theirs.parameters,
        func=invoke,
    )
