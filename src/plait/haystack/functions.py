"""Functions as tools: `create_tool_from_function`, and `@tool`."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter
from typing import Any, overload

from pydantic import Field, create_model
from pydantic.errors import PydanticUserError

from plait.common.reflection import known_annotations, signature
from plait.errors import ToolDefinitionError
from plait.haystack.errors import SchemaGenerationError, unresolved
from plait.haystack.tools import Tool
from plait.tools.signatures import string_mark
from plait.utils.json_schema import without_titles


def create_tool_from_function(
    function: Callable[..., Any],
    name: str | None = None,
    description: str | None = None,
    inputs_from_state: dict[str, str] | None = None,
    outputs_to_state: dict[str, dict[str, Any]] | None = None,
) -> Tool:
    """A tool of a function, whose parameters all have a type.

    Args:
        function: The function. A text in `Annotated[type, text]` describes the parameter; those
            whose names begin with an underscore are not the model's.
        name: By default the function's.
        description: By default the docstring.
        inputs_from_state: Keys of the state to the parameters that they fill; the model does not
            see these.
        outputs_to_state: Keys of the state to what goes there (see `Tool`).

    Raises:
        ToolDefinitionError: It is no function, or a parameter has no type.
        SchemaGenerationError: A type has no JSON schema.

    >>> def add(a: int, b: int = 1) -> int:
    ...     "Add."
    ...     return a + b
    >>> create_tool_from_function(add).parameters["required"]
    ['a']
    """
    if not callable(function) or not hasattr(function, "__name__"):
        raise ToolDefinitionError(
            f"A tool is made of a function, not of {function!r:.100}. Wrap what it calls in a def, "
            "or make a Tool(name, description, parameters, function)."
        )
    name = name or function.__name__
    description = (function.__doc__ or "") if description is None else description
    filled = set((inputs_from_state or {}).values())
    parameters = _schema(function, filled)
    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        function=function,
        inputs_from_state=inputs_from_state,
        outputs_to_state=outputs_to_state,
    )


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    function: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    inputs_from_state: dict[str, str] | None = None,
    outputs_to_state: dict[str, dict[str, Any]] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    inputs_from_state: dict[str, str] | None = None,
    outputs_to_state: dict[str, dict[str, Any]] | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function: a decorator, with or without arguments.

    Args:
        function: The function, where there are no arguments.
        name: By default the function's.
        description: By default the docstring.
        inputs_from_state: See `Tool`.
        outputs_to_state: See `Tool`.

    Raises:
        ToolDefinitionError: A parameter has no type.
        SchemaGenerationError: A type has no JSON schema.

    >>> @tool
    ... def shout(text: str) -> str:
    ...     "Say it loudly."
    ...     return text.upper()
    >>> shout.invoke(text="hi")
    'HI'
    """

    def decorate(function: Callable[..., Any]) -> Tool:
        return create_tool_from_function(
            function, name, description, inputs_from_state, outputs_to_state
        )

    return decorate if function is None else decorate(function)


def _schema(function: Callable[..., Any], filled: set[str]) -> dict[str, Any]:
    """The JSON schema of the parameters that the model fills."""
    fields: dict[str, Any] = {}
    hints = known_annotations(function)  # those that no model sees may name anything
    for name, parameter in signature(function).parameters.items():
        if name in filled or name.startswith("_"):  # of the function's own: no model gives it
            continue
        if parameter.annotation is Parameter.empty:
            raise ToolDefinitionError(
                f"Function {function.__name__!r}: parameter {name!r} does not have a type hint. "
                "Models are told the type of each argument: annotate it."
            )
        if isinstance(hints[name], str):
            raise SchemaGenerationError(unresolved(function.__name__, name, hints[name]))
        default = ... if parameter.default is Parameter.empty else parameter.default
        mark = string_mark(hints[name])
        said: Any = (
            {} if mark is None else {"description": mark}
        )  # pydantic's Field may say it, too
        fields[name] = (hints[name], Field(default=default, **said))
    try:
        schema = create_model(function.__name__, **fields).model_json_schema()
    except (PydanticUserError, TypeError) as error:
        raise SchemaGenerationError(
            f"Failed to create JSON schema for function {function.__name__!r}: a parameter is of a "
            f"type that JSON cannot give. {error}"
        ) from error
    return without_titles(schema)


__all__ = ["create_tool_from_function", "tool"]
