"""A tool with something in front of it: another tool of its looks, and ways to run the first."""

import asyncio
from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import Any, cast

from plait.messages import ToolMessage
from plait.prebuilt.injection import Injections
from plait.prebuilt.tool_policies import NO_POLICY, Supervised
from plait.runnables.config import run_in_executor
from plait.scope import current_tool_call
from plait.tool_calling.approval import plain
from plait.tools import BaseTool, StructuredTool, Tool
from plait.tools.guests import declared, own_tool
from plait.tools.output import as_output, split_response
from plait.tools.signatures import parameters


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
        self.tool = own_tool(value)
        self._sync, self._async = self.tool.sync_code(), self.tool.async_code()
        self.code = cast("Callable[..., Any]", self._sync or self._async)
        """What the signature of the tool is read from."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    # --- its looks -------------------------------------------------------------------------------

    def tool_like(
        self, func: Callable[..., Any] | None = None, coroutine: Callable[..., Any] | None = None
    ) -> BaseTool:
        """A tool that looks the same from outside, and does something else first."""
        if type(self.tool) is StructuredTool:
            alike = copy(self.tool)
            alike.func, alike.coroutine = func, coroutine
            alike.on_unknown = None  # of the execution, see `_steps`: a question may be asked again
            return alike
        return StructuredTool(
            name=self.tool.name,
            description=self.tool.description,
            args_schema=self.tool.args_schema or self._found_schema(),
            func=func,
            coroutine=coroutine,
            **declared(self.tool),
        )

    def _found_schema(self) -> Any:
        """The schema of the arguments where the tool declares none."""
        if isinstance(self.tool, Tool):  # what its code takes says nothing: one value, any name
            return self.tool.tool_call_schema
        return self.tool.get_input_schema()

    # --- its arguments ---------------------------------------------------------------------------

    @cached_property
    def _wired(self) -> frozenset[str]:
        """Arguments that plait fills by their annotation: the config, the runtime, callbacks."""
        return frozenset(its.name for its in parameters(self.code) if not its.is_plain)

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """All arguments that a model does not supply."""
        injected = frozenset(its.name for its in parameters(self.code) if its.is_injected)
        return self._wired | injected | self.tool.injected_args | Injections(self.tool).hidden

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

    @cached_property
    def _steps(self) -> Supervised:
        return Supervised(self.name, NO_POLICY, getattr(self.tool, "on_unknown", None))

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the tool's code with arguments that are read already, as a step of the run around.

        Its result is recorded: while calls beside it wait, their node runs again and again, and
        what was approved once must not. (Sync code that was called in an event loop can wait for
        no step: there it only runs.)
        """
        call = self._call(args, kwargs)
        if _in_event_loop():
            return self._unwrapped(self._wrapped(call, args, kwargs))
        return self._unwrapped(self._steps.run(call, lambda _: self._wrapped(call, args, kwargs)))

    async def arun(self, *args: Any, **kwargs: Any) -> Any:
        """The async twin of `run`; sync code runs on a thread."""
        call = self._call(args, kwargs)

        async def work(_: Any) -> Any:
            if self._async is not None:
                return self._message(call, await self._async(*args, **kwargs))
            return await run_in_executor(None, self._wrapped, call, args, kwargs)

        return self._unwrapped(await self._steps.arun(call, work))

    def _wrapped(self, call: Mapping[str, Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        if self._sync is None:
            raise NotImplementedError(
                f"Tool {self.name!r} has only async code: declare it by human_in_the_loop_async."
            )
        return self._message(call, self._sync(*args, **kwargs))

    def _call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What the step is recorded under."""
        shown = {**self.shown(kwargs), **({"args": args} if args else {})}
        return {"name": self.name, "args": plain(shown), "id": current_tool_call.get() or ""}

    def _message(self, call: Mapping[str, Any], response: Any) -> Any:
        """A result of the code in a form that can be recorded."""
        content, artifact = split_response(response, self.tool.response_format, self.name)
        return as_output(content, artifact, call["id"], self.name, "success")

    def _unwrapped(self, output: Any) -> Any:
        """A recorded result in the form in which the tool's code gives results."""
        if type(output) is not ToolMessage or output.id is not None:
            return self.result(output)  # what the code itself has finished
        return (output.content, output.artifact) if self._pairs else output.content

    @property
    def _pairs(self) -> bool:
        return self.tool.response_format == "content_and_artifact"

    def result(self, content: Any) -> Any:
        """What takes the place of the tool's result, in the form that its results have."""
        pair = not self._pairs or isinstance(content, tuple)
        return cast("Any", content) if pair else (content, None)

    def with_rest_of(self, kwargs: Mapping[str, Any]) -> BaseTool:
        """The tool for somebody who has only the shown arguments: the others are those of a call.

        Args:
            kwargs: The arguments of that call.
        """

        def run(**args: Any) -> Any:
            return self.run(**self.edited(args, kwargs))

        async def arun(**args: Any) -> Any:
            return await self.arun(**self.edited(args, kwargs))

        return StructuredTool(
            name=self.tool.name,
            description=self.tool.description,
            args_schema=self.tool.tool_call_schema,
            func=None if self._sync is None else run,
            coroutine=arun,
            response_format=self.tool.response_format,
        )


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


__all__ = ["Behind"]
