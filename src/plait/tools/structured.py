"""`StructuredTool`: a function with any number of arguments as a tool."""

import inspect
import textwrap
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from plait.errors import ToolDefinitionError
from plait.objects.fields import LazyField
from plait.runnables.config import run_in_executor
from plait.tools.base import BaseTool
from plait.tools.docstrings import parse_docstring as read_docstring
from plait.tools.shown import described, key_of
from plait.tools.signatures import MISSING, Parameter, parameters, written

if TYPE_CHECKING:
    from plait.tools.base import ArgsSchema


class InferredSchema(LazyField):
    """The schema that a tool's function has, made when somebody asks for it.

    The function is read at once, so that what is wrong with it is said where it is declared;
    only pydantic waits. As an attribute of a class it gives way to what an object has itself.
    """

    def __get__(self, tool: "StructuredTool | None", owner: type) -> Any:
        if tool is None:
            return self
        inferred = vars(tool).get("_inferred")
        schema = None if inferred is None else _model(*inferred)
        vars(tool)["args_schema"] = schema
        return schema


def _of_arguments(tool: BaseTool) -> dict[str, Any]:
    """What a model is shown of a tool whose arguments all come from the model."""
    from plait.tools.schema import json_schema  # loads pydantic

    shown = {**json_schema(tool.args_schema), "title": tool.name}
    if tool.description:
        shown["description"] = inspect.cleandoc(tool.description)
    return {name: shown[name] for name in sorted(shown)}


def _model(*about: Any) -> Any:
    from plait.tools.schema import model_of  # loads pydantic

    return model_of(*about)


class StructuredTool(BaseTool):
    """A tool made of a function; see `from_function` and the decorator `tool`.

    Args:
        func: The code that sync calls run.
        coroutine: The code that async calls run.
        args_schema: The schema of its arguments (None: there is none, and nothing is checked).
    """

    description: str = ""
    args_schema = InferredSchema()
    func: Callable[..., Any] | None = None
    coroutine: Callable[..., Any] | None = None

    def __init__(self, **values: Any) -> None:
        inferred = values.pop("_inferred", None)
        if inferred is None and "args_schema" not in values:
            raise ToolDefinitionError(
                f"{type(self).__name__} needs an args_schema: a pydantic model class or a JSON "
                "schema. StructuredTool.from_function makes one from the function."
            )
        vars(self)["_inferred" if inferred is not None else "args_schema"] = (
            inferred if inferred is not None else values.pop("args_schema")
        )
        super().__init__(**values)

    @property
    def is_inferred(self) -> bool:
        """Whether its arguments are its function's, and nobody holds its schema, to change it."""
        own = vars(self)
        if "_inferred" not in own or "args_schema" in own:
            return False
        kind = type(self)
        return kind._run is StructuredTool._run and kind._arun is StructuredTool._arun

    def _described_json(self) -> dict[str, Any]:
        """`tool_call_schema` as a JSON schema, from the schema of the arguments where it can be."""
        if not self.is_inferred or type(self).tool_call_schema is not BaseTool.tool_call_schema:
            return super()._described_json()
        _, its, _, docs = vars(self)["_inferred"]
        if any(one.is_injected for one in its):
            return super()._described_json()
        fields = {
            one.name: (one.annotation, one.default, one.spread, docs.get(one.name)) for one in its
        }
        key = key_of((self.name, self.description), fields)
        return described(key, partial(_of_arguments, self))

    def __eq__(self, other: object) -> bool:
        if super().__eq__(other) is not True:
            return NotImplemented
        mine, its = vars(self), vars(other)
        if "args_schema" in mine or "args_schema" in its:
            return self.args_schema == cast("StructuredTool", other).args_schema
        return mine["_inferred"] == its["_inferred"]

    __hash__ = BaseTool.__hash__

    def shown_fields(self) -> list[str]:
        """What is not as by default; the schema comes after name and description."""
        shown = super().shown_fields()
        place = sum(one.startswith(("name=", "description=")) for one in shown)
        return [*shown[:place], f"args_schema={self.args_schema!r}", *shown[place:]]

    def sync_code(self) -> Callable[..., Any] | None:
        """The function, unless a subclass defines `_run`."""
        return self.func if type(self)._run is StructuredTool._run else self._run

    def async_code(self) -> Callable[..., Any] | None:
        """The coroutine function, unless a subclass defines `_arun`."""
        return self.coroutine if type(self)._arun is StructuredTool._arun else self._arun

    def _run(self, *args: Any, config: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        """Call the function itself."""
        if self.func is None:
            raise NotImplementedError(f"Tool {self.name!r} has only async code. Use ainvoke.")
        return self.func(*args, **kwargs)

    async def _arun(
        self, *args: Any, config: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Any:
        """Await the coroutine function itself, else call the function on a thread."""
        if self.coroutine is None:
            return await run_in_executor(None, self._run, *args, **kwargs)
        return await self.coroutine(*args, **kwargs)

    @classmethod
    def from_function(
        cls,
        func: Callable[..., Any] | None = None,
        coroutine: Callable[..., Any] | None = None,
        name: str | None = None,
        description: str | None = None,
        return_direct: bool = False,
        args_schema: "ArgsSchema | None" = None,
        infer_schema: bool = True,
        *,
        response_format: str = "content",
        parse_docstring: bool = False,
        error_on_invalid_docstring: bool = False,
        **kwargs: Any,
    ) -> "StructuredTool":
        """A tool from a function, an async function, or both.

        Args:
            func: The code that sync calls run.
            coroutine: The code that async calls run.
            name: By default the function's.
            description: By default the function's docstring, else that of the schema.
            return_direct: The result ends an agent's loop and is its answer.
            args_schema: By default made from the function's signature.
            infer_schema: Whether to make one.
            response_format: "content" or "content_and_artifact".
            parse_docstring: Read the arguments' descriptions from the docstring (Google's style).
            error_on_invalid_docstring: Refuse a docstring that does not have them.
            kwargs: Other fields of the tool.

        Raises:
            ValueError: There is no function, no description, or the docstring does not fit.
            TypeError: `args_schema` is none, or a field does not exist.

        >>> StructuredTool.from_function(lambda a: a + 1, name="inc", description="a + 1").invoke(
        ...     {"a": 1}
        ... )
        2
        """
        code = func if func is not None else coroutine
        if code is None:
            raise ToolDefinitionError(
                "A tool needs a function: pass func, coroutine or both to from_function."
            )
        own = written(code)
        name = name or getattr(own, "__name__", None) or type(own).__name__
        schema: dict[str, Any] = {"args_schema": args_schema}
        said: str | None = None
        if args_schema is None and infer_schema:
            its = [one for one in parameters(code) if one.is_plain]
            said, docs = own.__doc__, dict[str, str]()
            if parse_docstring:
                said, docs = _documented(own, its, error_on_invalid_docstring)
            schema = {"_inferred": (name, its, said, docs)}
        about = said or own.__doc__ or schema_description(args_schema)
        if description is not None:
            about = description
        elif about is None and isinstance(code, type):
            about = ""  # its name and fields say what it is
        elif not about:
            raise ToolDefinitionError(
                f"Tool {name!r} has no description: give the function a docstring, or pass "
                "description=... . Models decide by it."
            )
        return cls(
            name=name,
            description=textwrap.dedent(about).strip() if description is None else about.strip(),
            func=func,
            coroutine=coroutine,
            return_direct=return_direct,
            response_format=response_format,
            **schema,
            **kwargs,
        )


def _documented(
    code: Callable[..., Any], its: list[Parameter], strict: bool
) -> tuple[str, dict[str, str]]:
    strict = strict and any(one.annotation is not MISSING for one in its)
    return read_docstring(code, [one.name for one in its], strict=strict)


def schema_description(schema: Any) -> str | None:
    """What a schema says about itself."""
    if isinstance(schema, dict):
        return cast("dict[str, Any]", schema).get("description")
    return None if schema is None else getattr(schema, "__doc__", None)  # None has one since 3.13
