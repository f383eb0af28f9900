"""A tool with something in front of it: another tool of its looks, and ways to run the first."""

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import Any, cast

from plait.prebuilt.injection import Injections
from plait.runnables.config import run_in_executor
from plait.tools import BaseTool, StructuredTool, coerce_to_tool
from plait.tools.signatures import parameters

_CARRIED = (
    "return_direct",
    "tags",
    "metadata",
    "handle_tool_error",
    "handle_validation_error",
    "response_format",
    "extras",
    "on_unknown",
)
"""What a tool declares besides its name, description and arguments."""


class Behind:
    """A tool that is run only after something else has said so.

    Its code gets arguments that the tool in front has read already: what the model supplied (the
    *shown* ones), and what the program fills (state, store, config). Only the shown ones may be
    replaced.

    Args:
        value: A tool, plait's or langchain_core's, or a function.

    Raises:
        ToolDefinitionError: It is none.
    """

    def __init__(self, value: Any) -> None:
        self.tool = coerce_to_tool(value)
        own = isinstance(self.tool, BaseTool)
        self._sync = self.tool.sync_code() if own else None
        self._async = self.tool.async_code() if own else None
        self.code: Callable[..., Any] = self._sync or self._async or _code_of(self.tool)
        """What the signature of the tool is read from."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    # --- its looks -------------------------------------------------------------------------------

    def tool_like(
        self, func: Callable[..., Any] | None = None, coroutine: Callable[..., Any] | None = None
    ) -> BaseTool:
        """A tool that looks the same to a model, and does something else first.

        Its results are recorded: while the calls beside it wait, their node runs again and again.
        """
        if type(self.tool) is StructuredTool:
            alike = copy(self.tool)
            alike.func, alike.coroutine, alike.journal = func, coroutine, True
            return alike
        carried = {name: getattr(self.tool, name) for name in _CARRIED if hasattr(self.tool, name)}
        return StructuredTool(
            name=self.tool.name,
            description=self.tool.description,
            args_schema=self.tool.args_schema or self.tool.get_input_schema(),
            func=func,
            coroutine=coroutine,
            journal=True,
            **carried,
        )

    # --- its arguments ---------------------------------------------------------------------------

    @cached_property
    def _wired(self) -> frozenset[str]:
        """Arguments that plait fills by their annotation: the config, the runtime, callbacks."""
        return frozenset(its.name for its in parameters(self.code) if not its.is_plain)

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """All arguments that a model does not supply."""
        injected = frozenset(its.name for its in parameters(self.code) if its.is_injected)
        own: frozenset[str] = getattr(self.tool, "injected_args", frozenset())
        return self._wired | injected | own | Injections(self.tool).hidden

    def shown(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What the model supplied of a call's arguments."""
        return {name: value for name, value in kwargs.items() if name not in self._hidden}

    def edited(self, args: Mapping[str, Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """A call's arguments with other shown ones, as the tool's schema reads them.

        Raises:
            ValidationError: pydantic's, when they do not fit the schema.
        """
        rest = {name: value for name, value in kwargs.items() if name in self._hidden}
        given = {name: value for name, value in rest.items() if name not in self._wired}
        return {**self._read({**args, **given}), **rest}

    def _read(self, given: dict[str, Any]) -> dict[str, Any]:
        schema = self.tool.args_schema
        if not isinstance(schema, type) or any(its.spread for its in parameters(self.code)):
            return given
        kind = cast("Any", schema)
        validate = getattr(kind, "model_validate", None) or kind.parse_obj
        return dict(cast("dict[str, Any]", vars(validate(given))))

    # --- running it ------------------------------------------------------------------------------

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the tool's code with arguments that are read already."""
        if self._sync is not None:
            return self._sync(*args, **kwargs)
        return self.tool.invoke(self.shown(kwargs))

    async def arun(self, *args: Any, **kwargs: Any) -> Any:
        """The async twin of `run`; sync code runs on a thread."""
        if self._async is not None:
            return await self._async(*args, **kwargs)
        if self._sync is not None:
            return await run_in_executor(None, self._sync, *args, **kwargs)
        return await self.tool.ainvoke(self.shown(kwargs))

    def result(self, content: Any) -> Any:
        """What takes the place of the tool's result, in the form that its results have."""
        pairs = self.tool.response_format == "content_and_artifact"
        return (content, None) if pairs and not isinstance(content, tuple) else cast("Any", content)

    def with_rest_of(self, kwargs: Mapping[str, Any]) -> BaseTool:
        """The tool for somebody who has only the shown arguments: the others are those of a call.

        Args:
            kwargs: The arguments of that call.
        """
        if len(self.shown(kwargs)) == len(kwargs):
            return self.tool

        def run(**args: Any) -> Any:
            return self.run(**self.edited(args, kwargs))

        async def arun(**args: Any) -> Any:
            return await self.arun(**self.edited(args, kwargs))

        return StructuredTool(
            name=self.tool.name,
            description=self.tool.description,
            args_schema=self.tool.tool_call_schema,
            func=run,
            coroutine=arun,
            response_format=self.tool.response_format,
        )


def _code_of(tool: Any) -> Callable[..., Any]:
    """The code of a tool of langchain_core."""
    code = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run
    return inspect.unwrap(code)


__all__ = ["Behind"]
