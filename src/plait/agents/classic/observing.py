"""How the tools of an executor run: by a `ToolNode`, which keeps what each one really returned.

A ToolNode answers tool calls by messages, for models. The older loop hands on what a tool returned,
whatever it is, and calls tools with a text where they take one. So each tool runs inside a stand-in
that takes both forms, and puts the value beside the message.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, cast

from plait.agents.actions import as_text
from plait.agents.output_parsers.tools import TEXT_ARGUMENT
from plait.messages import ToolMessage
from plait.messages.foreign import kind_of
from plait.prebuilt.tool_errors import ToolInvocationError
from plait.prebuilt.tool_node import ToolCallRequest, ToolNode
from plait.tools import Tool, coerce_to_tool
from plait.tools.base import BaseTool
from plait.tools.guests import own_tool
from plait.types import Command

EXCEPTION_TOOL = "_Exception"
"""The tool of the actions that stand for what an agent said and nobody could read."""


class Observation(NamedTuple):
    """What a tool returned: the artifact of its message."""

    value: Any


class ObservedTool:
    """A tool as a ToolNode runs it: it answers a tool call, and keeps the value that it gave."""

    def __init__(self, tool: Any) -> None:
        self._tool = tool

    @property
    def tool_call_schema(self) -> Any:
        """What models are shown; what has it is a tool to a ToolNode."""
        return self._tool.tool_call_schema

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)

    def invoke(self, call: Any, config: Any) -> Any:
        """Run the tool; the answer to the call."""
        return _answer(self._tool.invoke(self._given(call), config), call)

    async def ainvoke(self, call: Any, config: Any) -> Any:
        """The async twin of `invoke`."""
        return _answer(await self._tool.ainvoke(self._given(call), config), call)

    @cached_property
    def _filled(self) -> frozenset[str]:
        """The arguments that the program fills, of a tool of langchain_core too."""
        return own_tool(self._tool).injected_args if hasattr(self._tool, "_run") else frozenset()

    def _given(self, call: Any) -> Any:
        """What the tool is invoked with: the call only if it asks for the call's id."""
        args: dict[str, Any] = dict(call["args"])
        if TEXT_ARGUMENT in args:
            text = args.pop(TEXT_ARGUMENT)
            if not args:
                return text
            args[next(iter(self._tool.args), TEXT_ARGUMENT)] = text
        wants_id = bool(self._filled - args.keys())
        return {**call, "args": args} if wants_id else args


def _answer(result: Any, call: Any) -> Any:
    """The message that answers a call, with what the tool gave; a Command is handed on."""
    if isinstance(result, Command):
        return cast("Any", result)
    if kind_of(result) == "tool":
        return result.model_copy(update={"artifact": Observation(result.content)})
    return ToolMessage(
        as_text(result), name=call["name"], tool_call_id=call["id"], artifact=Observation(result)
    )


class InvalidTool(BaseTool):
    """Runs in the place of a tool that does not exist, so that those who listen hear of it."""

    name: str = "invalid_tool"
    description: str = "Tells an agent that the tool it called does not exist."

    def _run(self, requested_tool_name: str, available_tool_names: list[str]) -> str:
        """What the agent is told."""
        names = ", ".join(available_tool_names)
        return f"{requested_tool_name} is not a valid tool, try one of [{names}]."


class ObservingToolNode:
    """Runs one action of an agent at a time.

    Args:
        tools: The tools.
    """

    def __init__(self, tools: Sequence[Any]) -> None:
        self.tools_by_name = {one.name: one for one in map(coerce_to_tool, tools)}
        self._exception = Tool(
            EXCEPTION_TOOL, _as_it_is, "Tells an agent that nobody could read what it said."
        )
        self._node = ToolNode(
            [ObservedTool(one) for one in self.tools_by_name.values()],
            handle_tool_errors=False,
            wrap_tool_call=self._stand_in,
            awrap_tool_call=self._stand_in,
        )

    def invoke(self, action: Any, call_id: str, state: Any, config: Any) -> Any:
        """What the tool of an action returned; a `Command` if it returned one.

        Raises:
            ValidationError: pydantic's, when the arguments do not fit the tool's schema.
        """
        try:
            return _value(self._node.invoke(_call(action, call_id, state), config))
        except ToolInvocationError as error:
            raise (error.__cause__ or error) from None

    async def ainvoke(self, action: Any, call_id: str, state: Any, config: Any) -> Any:
        """The async twin of `invoke`."""
        try:
            return _value(await self._node.ainvoke(_call(action, call_id, state), config))
        except ToolInvocationError as error:
            raise (error.__cause__ or error) from None

    def _stand_in(self, request: ToolCallRequest, execute: Any) -> Any:
        """Run a tool, or what stands in for one that is not there; async, what this gives is
        awaited."""
        if request.tool is not None:
            return execute(request)
        call = request.tool_call
        if call["name"] == EXCEPTION_TOOL and TEXT_ARGUMENT in call["args"]:
            return execute(replace(request, tool=ObservedTool(self._exception)))
        names = list(self.tools_by_name)
        args = {"requested_tool_name": call["name"], "available_tool_names": names}
        call = {**call, "args": args}
        return execute(replace(request, tool=ObservedTool(InvalidTool()), tool_call=call))


def _as_it_is(told: str) -> str:
    return told


def _call(action: Any, call_id: str, state: Any) -> dict[str, Any]:
    given: Any = action.tool_input
    args = cast("Any", given) if isinstance(given, dict) else {TEXT_ARGUMENT: given}
    call: dict[str, Any] = {"type": "tool_call", "name": action.tool, "args": args, "id": call_id}
    return {"__type": "tool_call_with_context", "tool_call": call, "state": state}


def _value(result: Any) -> Any:
    """The observation in what a ToolNode gave for one call."""
    if isinstance(result, list):
        return cast("list[Any]", result)[0]
    return cast("dict[str, Any]", result)["messages"][0].artifact.value


__all__ = ["EXCEPTION_TOOL", "InvalidTool", "ObservingToolNode"]
