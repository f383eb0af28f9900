"""`@tool`: functions and runnables as tools."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from plait.errors import ToolDefinitionError, nearest
from plait.runnables.base import Runnable
from plait.runnables.functions import is_async
from plait.tools.base import BaseTool
from plait.tools.signatures import MISSING, Parameter, written
from plait.tools.simple import Tool
from plait.tools.structured import StructuredTool, schema_description

if TYPE_CHECKING:
    from plait.tools.base import ArgsSchema

Format = Literal["content", "content_and_artifact"]


@overload
def tool(
    *,
    description: str | None = None,
    return_direct: bool = False,
    args_schema: "ArgsSchema | None" = None,
    infer_schema: bool = True,
    response_format: Format = "content",
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = True,
    extras: dict[str, Any] | None = None,
    on_unknown: Any = None,
) -> Callable[[Callable[..., Any] | Runnable[Any, Any]], BaseTool]: ...


@overload
def tool(
    name_or_callable: Callable[..., Any],
    *,
    description: str | None = None,
    return_direct: bool = False,
    args_schema: "ArgsSchema | None" = None,
    infer_schema: bool = True,
    response_format: Format = "content",
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = True,
    extras: dict[str, Any] | None = None,
    on_unknown: Any = None,
) -> BaseTool: ...


@overload
def tool(
    name_or_callable: str,
    runnable: Callable[..., Any] | Runnable[Any, Any],
    *,
    description: str | None = None,
    return_direct: bool = False,
    args_schema: "ArgsSchema | None" = None,
    infer_schema: bool = True,
    response_format: Format = "content",
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = True,
    extras: dict[str, Any] | None = None,
    on_unknown: Any = None,
) -> BaseTool: ...


@overload
def tool(
    name_or_callable: str,
    *,
    description: str | None = None,
    return_direct: bool = False,
    args_schema: "ArgsSchema | None" = None,
    infer_schema: bool = True,
    response_format: Format = "content",
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = True,
    extras: dict[str, Any] | None = None,
    on_unknown: Any = None,
) -> Callable[[Callable[..., Any] | Runnable[Any, Any]], BaseTool]: ...


def tool(
    name_or_callable: str | Callable[..., Any] | None = None,
    runnable: Callable[..., Any] | Runnable[Any, Any] | None = None,
    **options: Any,
) -> Any:
    """Make a tool of a function, sync or async, or of a runnable with a name.

    Args:
        name_or_callable: The function (`@tool`), or the tool's name (`@tool("name")`).
        runnable: With a name: the runnable or function.
        options: `description` (by default the docstring), `return_direct`, `args_schema` (by
            default made from the signature), `infer_schema`, `response_format`,
            `parse_docstring` (read the arguments' descriptions from a docstring in Google's
            style), `error_on_invalid_docstring` (default True), `extras`, `on_unknown` (see
            `BaseTool`).

    Raises:
        ToolDefinitionError: Something is missing or does not fit.
        TypeError: An option does not exist.
        AnnotationError: An annotation names something that does not exist.

    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     '''Add two numbers.'''
    ...     return a + b
    >>> add.invoke({"a": 1, "b": "2"}), add.args["b"]
    (3, {'default': 1, 'title': 'B', 'type': 'integer'})
    """
    _check_options(options)
    settings = _Settings(**options)
    if runnable is not None:
        if not isinstance(name_or_callable, str):
            raise ToolDefinitionError("tool(name, runnable): the name must be a str.")
        return settings.make(name_or_callable, runnable)
    if name_or_callable is None:
        return settings.make_named
    if isinstance(name_or_callable, str):
        return partial(settings.make, name_or_callable)
    return settings.make_named(name_or_callable)


def _check_options(options: dict[str, Any]) -> None:
    known = _Settings.__init__.__kwdefaults__ or {}
    for option, value in options.items():
        if option not in known:
            remedy = nearest(option, known)
            if option == "name":
                remedy = f"The name comes first: tool({value!r})."
            raise TypeError(f"tool() has no option {option!r}. {remedy}")


def _name_of(code: Any) -> str:
    name = getattr(code, "__name__", None)
    if not callable(code) or not isinstance(name, str):
        raise ToolDefinitionError(
            f"@tool needs a function or a name, not {type(code).__name__}. A callable object or a "
            "runnable has no name: write tool('its name', it)."
        )
    return name


class _Settings:
    """The options of one use of `tool`."""

    def __init__(
        self,
        *,
        description: str | None = None,
        return_direct: bool = False,
        args_schema: "ArgsSchema | None" = None,
        infer_schema: bool = True,
        response_format: Format = "content",
        parse_docstring: bool = False,
        error_on_invalid_docstring: bool = True,
        extras: dict[str, Any] | None = None,
        on_unknown: Any = None,
    ) -> None:
        self.description = description
        self.args_schema = args_schema
        self.infer_schema = infer_schema
        self.docs = {
            "parse_docstring": parse_docstring,
            "error_on_invalid_docstring": error_on_invalid_docstring,
        }
        self.fields: dict[str, Any] = {
            "return_direct": return_direct,
            "response_format": response_format,
            "extras": extras,
            "on_unknown": on_unknown,
        }

    def make_named(self, code: Any) -> BaseTool:
        """A tool that is called what its function is called."""
        return self.make(_name_of(code), code)

    def make(self, name: str, code: Any) -> BaseTool:
        description, schema, fields = self.description, self.args_schema, self.fields
        if is_runnable(code):
            func, coroutine, described = _of_runnable(code)
            description = description or described
            schema = schema or _object_schema(code)
        else:
            func, coroutine = (None, code) if is_async(code) else (code, None)
        if self.infer_schema or schema is not None:
            return StructuredTool.from_function(
                func, coroutine, name, description, args_schema=schema, **self.docs, **fields
            )
        about = description or written(code).__doc__ or schema_description(schema)
        if not about:
            raise ToolDefinitionError(
                f"Tool {name!r} has no description: give the function a docstring, or pass "
                "description=... . Models decide by it."
            )
        return Tool(name, func, about, coroutine=coroutine, **fields)


def is_runnable(value: Any) -> bool:
    """Whether a value is a runnable, plait's or langchain_core's."""
    return isinstance(value, Runnable) or any(
        base.__name__ == "Runnable" and base.__module__.startswith("langchain_core")
        for base in type(value).__mro__
    )


def _of_runnable(runnable: Any) -> tuple[Callable[..., Any], Callable[..., Any], str]:
    """The code of a tool whose arguments are a runnable's input."""

    def given(kwargs: dict[str, Any]) -> dict[str, Any]:
        from plait.tools.schema import LeftOut  # pydantic is loaded: it has checked the arguments

        return {key: value for key, value in kwargs.items() if value is not LeftOut}

    def invoke(**kwargs: Any) -> Any:
        return runnable.invoke(given(kwargs))

    async def ainvoke(**kwargs: Any) -> Any:
        return await runnable.ainvoke(given(kwargs))

    return invoke, ainvoke, repr(runnable)


def _object_schema(runnable: Any) -> Any:
    schema = runnable.get_input_schema()
    if _json_schema(schema).get("type") != "object":
        raise ToolDefinitionError(
            f"{runnable!r} takes no dict, so its input cannot become arguments. Pass args_schema, "
            "or use as_tool(arg_types=...)."
        )
    return schema


def _json_schema(schema: Any) -> dict[str, Any]:
    from plait.tools.schema import json_schema  # loads pydantic

    return json_schema(schema)


def convert_runnable_to_tool(
    runnable: Any,
    args_schema: "ArgsSchema | None" = None,
    *,
    name: str | None = None,
    description: str | None = None,
    arg_types: dict[str, Any] | None = None,
) -> BaseTool:
    """A tool that invokes a runnable: of one text if that is its input, else of its dict's keys.

    Args:
        runnable: The runnable.
        args_schema: The schema of its arguments; by default that of its input.
        name: By default the runnable's.
        description: By default a description of its input.
        arg_types: The types of its arguments, where it does not tell them.

    Raises:
        ToolDefinitionError: Its input is no dict with known keys.

    >>> from plait.runnables import RunnableLambda
    >>> double = RunnableLambda(lambda pair: pair["a"] * 2)
    >>> convert_runnable_to_tool(double, name="double", arg_types={"a": int}).invoke({"a": 2})
    4
    """
    schema = runnable.get_input_schema() if args_schema is None else args_schema
    shape = _shape(schema)
    name = name or cast("str", runnable.get_name())
    if args_schema is None and arg_types is None and shape.get("type") == "string":
        return Tool(name, runnable.invoke, description or _takes(shape), coroutine=runnable.ainvoke)
    func, coroutine, _ = _of_runnable(runnable)
    if args_schema is None:
        schema = _args_schema(name, runnable, schema, arg_types)
    return StructuredTool.from_function(
        func,
        coroutine,
        name,
        description or _takes(shape),
        args_schema=schema,
    )


def _args_schema(name: str, runnable: Any, schema: Any, arg_types: dict[str, Any] | None) -> Any:
    """A schema of arguments from an input schema, or from types by name."""
    from plait.tools.schema import model_of, of_typed_dict  # loads pydantic

    if arg_types is not None:
        its = [Parameter(key, kind, MISSING, "") for key, kind in arg_types.items()]
        return model_of(name, its, None, {})
    root = getattr(schema, "model_fields", {}).get("root")
    if root is not None and hasattr(root.annotation, "__required_keys__"):
        return of_typed_dict(name, root.annotation)
    if _shape(schema).get("type") != "object":
        raise ToolDefinitionError(
            f"{runnable!r} takes no dict with known keys, so its input cannot become arguments. "
            "Pass args_schema or arg_types."
        )
    return schema


def _shape(schema: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", schema) if isinstance(schema, dict) else _json_schema(schema)


def _takes(shape: dict[str, Any]) -> str:
    return f"Takes {shape}."
