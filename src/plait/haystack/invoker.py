"""`ToolInvoker`: answers the tool calls of messages, by plait's one executor of tools.

A `ToolNode` runs the calls: at once, bounded, with questions to people, handlers and policies as
everywhere. What is Haystack's is around it: arguments from the state, results into the state, how
the model is told, and what the streaming callback hears.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, cast

from plait.errors import (
    InvalidInputError,
    InvalidValueError,
    NotSupportedError,
    ToolDefinitionError,
    bubbles_up,
)
from plait.haystack.components import default_to_dict, reading_component
from plait.haystack.errors import (
    SerializationError,
    StringConversionError,
    ToolInvocationError,
    ToolNotFoundException,
    ToolOutputMergeError,
)
from plait.haystack.guests import own_tools
from plait.haystack.messages import ChatMessage, ToolCall
from plait.haystack.registry import remember
from plait.haystack.state import State
from plait.haystack.streaming import (
    StreamingCallbackT,
    StreamingChunk,
    from_a_thread,
    select_streaming_callback,
)
from plait.haystack.tools import (
    Tool,
    ToolsType,
    check_names,
    flatten_tools_or_toolsets,
    read_parameters,
    warm_up_tools,
    write_parameters,
)
from plait.messages import ToolMessage
from plait.prebuilt.tool_node import ToolNode
from plait.prebuilt.tool_policies import ToolPolicy
from plait.tools import BaseTool

log = logging.getLogger(__name__)


class _Failed(NamedTuple):
    """What a tool raised, on its way out of the executor."""

    error: Exception


class _Executed(BaseTool):
    """A tool of Haystack's as the executor runs it; the artifact of its message is the result."""

    its: Any = None
    response_format: Any = "content_and_artifact"

    def _run(self, **arguments: Any) -> tuple[str, Any]:
        tool = cast("Tool", self.its)
        if iscoroutinefunction(tool.function):
            error = NotSupportedError(
                f"Tool {tool.name!r} is an async function: call run_async, or give it a function "
                "that is not."
            )
            raise tool.failed(error, arguments) from error
        return "", tool.invoke(**arguments)

    async def _arun(self, **arguments: Any) -> tuple[str, Any]:
        tool = cast("Tool", self.its)
        if (function := tool.async_function) is None:
            return await super()._arun(**arguments)
        try:
            return "", await function(**arguments)
        except Exception as error:
            if bubbles_up(error):
                raise
            raise tool.failed(error, arguments) from error


class _Executor(NamedTuple):
    """Tools, and the node that runs them."""

    node: ToolNode
    tools: dict[str, Tool]


def _executor(tools: list[Tool], policies: Any, journal: bool) -> _Executor:
    if not tools:
        raise ToolDefinitionError("ToolInvoker requires at least one tool.")
    check_names(tools)
    executed = [
        _Executed(name=one.name, description=one.description, args_schema=one.parameters, its=one)
        for one in tools
    ]
    node = ToolNode(
        executed,
        handle_tool_errors=False,
        wrap_tool_call=_caught,
        awrap_tool_call=_acaught,
        policies=policies,
        journal=journal,
    )
    return _Executor(node, {one.name: one for one in tools})


def _caught(request: Any, execute: Callable[[Any], Any]) -> Any:
    """Run one call; what it raises comes out as the artifact of its message."""
    try:
        return execute(request)
    except Exception as error:
        if bubbles_up(error):
            raise
        return _failed(request, error)


async def _acaught(request: Any, execute: Callable[[Any], Any]) -> Any:
    """The async twin of `_caught`."""
    try:
        return await execute(request)
    except Exception as error:
        if bubbles_up(error):
            raise
        return _failed(request, error)


def _failed(request: Any, error: Exception) -> ToolMessage:
    call_id = request.tool_call["id"]
    return ToolMessage("", tool_call_id=call_id, artifact=_Failed(error), status="error")


class _Prepared(NamedTuple):
    """What one run of an invoker does."""

    node: ToolNode
    tools: Mapping[str, Tool]
    calls: list[ToolCall]
    """Those that a tool answers."""
    requests: list[dict[str, Any]]
    """The same for the executor, with their arguments."""
    refused: list[ChatMessage]
    """The answers of calls that no tool answers."""
    state: State


class ToolInvoker:
    """Answers the tool calls of messages.

    Args:
        tools: The tools.
        raise_on_failure: Raise what goes wrong; else the model is told.
        convert_result_to_json_string: Results become JSON; else `str` of them.
        streaming_callback: Hears each result.
        enable_streaming_callback_passthrough: Tools with a parameter `streaming_callback` get it.
        max_workers: How many calls run at once.
        policies: How long the calls of a tool may take, which errors are tried again: a
            `plait.prebuilt.ToolPolicy` by the name of its tool, or one for all.
        journal: Inside a graph with a checkpointer, record each result as soon as it is there, so
            that no tool runs again after a question to a person or a crash.

    Raises:
        ToolDefinitionError: There are no tools, or two of one name.
        InvalidValueError: `max_workers` is below 1.

    >>> shout = Tool("shout", "Say it loudly.", {"type": "object"}, lambda text: text.upper())
    >>> call = ToolCall("shout", {"text": "hi"})
    >>> answers = ToolInvoker([shout]).run([ChatMessage.from_assistant(tool_calls=[call])])
    >>> answers["tool_messages"][0].tool_call_result.result
    'HI'
    """

    def __init__(
        self,
        tools: ToolsType,
        raise_on_failure: bool = True,
        convert_result_to_json_string: bool = False,
        streaming_callback: StreamingCallbackT | None = None,
        *,
        enable_streaming_callback_passthrough: bool = False,
        max_workers: int = 4,
        policies: Mapping[str, ToolPolicy] | ToolPolicy | None = None,
        journal: bool = False,
    ) -> None:
        self.tools: ToolsType = own_tools(tools)
        self.raise_on_failure = raise_on_failure
        self.convert_result_to_json_string = convert_result_to_json_string
        self.streaming_callback = streaming_callback
        self.enable_streaming_callback_passthrough = enable_streaming_callback_passthrough
        if max_workers < 1:
            raise InvalidValueError(f"max_workers is how many run at once, not {max_workers!r}.")
        self.max_workers = max_workers
        self.policies = policies
        self.journal = journal
        self._is_warm = False
        self._own = _executor(flatten_tools_or_toolsets(self.tools), policies, journal)
        if streaming_callback is not None:
            remember(streaming_callback)

    def warm_up(self) -> None:
        """Get the tools ready, once."""
        if not self._is_warm:
            warm_up_tools(self.tools)
            self._is_warm = True

    def run(
        self,
        messages: Sequence[ChatMessage],
        state: State | None = None,
        streaming_callback: StreamingCallbackT | None = None,
        *,
        enable_streaming_callback_passthrough: bool | None = None,
        tools: ToolsType | None = None,
    ) -> dict[str, Any]:
        """Answer the tool calls of messages.

        Args:
            messages: Messages, of which some call tools.
            state: What tools read from and write to.
            streaming_callback: Instead of the invoker's.
            enable_streaming_callback_passthrough: Instead of the invoker's.
            tools: Instead of the invoker's.

        Returns:
            `tool_messages`, an answer for each call, and the `state`.

        Raises:
            ToolNotFoundException: There is no such tool, and `raise_on_failure` is set.
            ToolInvocationError: A tool failed, and `raise_on_failure` is set.
            StringConversionError: A result cannot be turned into text, and so on.
            ToolOutputMergeError: A result cannot be put into the state, and so on.
            InvalidInputError: `state` is none.
        """
        hear: Any = select_streaming_callback(self.streaming_callback, streaming_callback, False)
        passed = hear if self._passes(enable_streaming_callback_passthrough) else None
        prepared = self._prepare(messages, state, tools, passed, passed)
        answers: list[ChatMessage] = list(prepared.refused)
        if prepared.calls:
            done = prepared.node.invoke(prepared.requests, {"max_concurrency": self.max_workers})
            for call, message in zip(prepared.calls, done["messages"], strict=True):
                answers.append(self._answer(prepared, call, message))
                if hear is not None:
                    hear(_chunk(answers[-1], call, len(answers) - 1))
            if hear is not None:
                hear(_end())
        return {"tool_messages": answers, "state": prepared.state}

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        state: State | None = None,
        streaming_callback: StreamingCallbackT | None = None,
        *,
        enable_streaming_callback_passthrough: bool | None = None,
        tools: ToolsType | None = None,
    ) -> dict[str, Any]:
        """The async twin of `run`: async functions are awaited, others run on threads."""
        hear: Any = select_streaming_callback(self.streaming_callback, streaming_callback, True)
        passed = hear if self._passes(enable_streaming_callback_passthrough) else None
        there = passed and from_a_thread(passed, asyncio.get_running_loop())
        prepared = self._prepare(messages, state, tools, there, passed)
        answers: list[ChatMessage] = list(prepared.refused)
        if prepared.calls:
            done = await prepared.node.ainvoke(
                prepared.requests, {"max_concurrency": self.max_workers}
            )
            for call, message in zip(prepared.calls, done["messages"], strict=True):
                answers.append(self._answer(prepared, call, message))
                if hear is not None:
                    await hear(_chunk(answers[-1], call, len(answers) - 1))
            if hear is not None:
                await hear(_end())
        return {"tool_messages": answers, "state": prepared.state}

    def _passes(self, asked: bool | None) -> bool:
        return self.enable_streaming_callback_passthrough if asked is None else asked

    # --- before ----------------------------------------------------------------------------------

    def _executor_of(self, tools: ToolsType | None) -> _Executor:
        """What runs the tools of one run. The invoker's own may have changed since: sets grow."""
        flat = flatten_tools_or_toolsets(self.tools if tools is None else own_tools(tools))
        known = self._own.tools.values()
        if len(flat) == len(known) and all(
            one is its for one, its in zip(flat, known, strict=True)
        ):
            return self._own
        executor = _executor(flat, self.policies, self.journal)
        if tools is None:
            self._own = executor
        return executor

    def _prepare(
        self,
        messages: Sequence[ChatMessage],
        state: State | None,
        tools: ToolsType | None,
        passed: Any,
        awaited: Any,
    ) -> _Prepared:
        """What a run does; `passed` is the callback for tools that are functions, `awaited` for
        those that are awaited."""
        state = State({}) if state is None else state
        if isinstance(state, Mapping):  # Haystack's own State will do
            raise InvalidInputError(
                f"state is a State, not {state!r:.100}: State(schema, data), whose schema says how "
                "each value is merged."
            )
        node, known = self._executor_of(tools)
        calls: list[ToolCall] = []
        requests: list[dict[str, Any]] = []
        refused: list[ChatMessage] = []
        for call in [call for message in messages for call in message.tool_calls]:
            tool = known.get(call.tool_name)
            if tool is None:
                error = ToolNotFoundException(call.tool_name, list(known))
                refused.append(self._told(error, call))
                continue
            arguments = _arguments(tool, call.arguments, state)
            if passed is not None and "streaming_callback" in tool.parameter_names():
                own = passed if tool.async_function is None else awaited
                arguments.setdefault("streaming_callback", own)
            # The place of a call in its message is stable over resumes, as its id must be.
            call_id = call.id or f"call-{len(requests)}"
            request = {"type": "tool_call", "name": tool.name, "id": call_id, "args": arguments}
            calls.append(call)
            requests.append(request)
        return _Prepared(node, known, calls, requests, refused, state)

    # --- after -----------------------------------------------------------------------------------

    def _answer(self, prepared: _Prepared, call: ToolCall, message: ToolMessage) -> ChatMessage:
        tool, result = prepared.tools[call.tool_name], message.artifact
        if isinstance(result, _Failed):
            error = result.error
            if not isinstance(error, ToolInvocationError):  # of a policy: it took too long
                error = tool.failed(error, call.arguments)
            return self._told(error, call)
        try:
            _merge(tool, result, prepared.state)
            return ChatMessage.from_tool(self._text(tool, result), call)
        except StringConversionError as error:
            return self._told(error, call)
        except Exception as error:
            failure = ToolOutputMergeError.from_exception(tool.name, error)
            failure.__cause__ = error
            return self._told(failure, call)

    def _told(self, error: Exception, call: ToolCall) -> ChatMessage:
        """The message that tells the model of an error.

        Raises:
            Exception: `error`, if the model is not to be told.
        """
        if self.raise_on_failure:
            raise error
        log.error("%s", error)
        return ChatMessage.from_tool(str(error), call, error=True)

    def _text(self, tool: Tool, result: Any) -> str:
        config = tool.outputs_to_string or {}
        source, handler = config.get("source"), config.get("handler") or self._as_text
        value = result if source is None else result.get(source)
        try:
            return handler(value)
        except Exception as error:
            name = getattr(handler, "__name__", repr(handler))
            raise StringConversionError(tool.name, name, error) from error

    def _as_text(self, result: Any) -> str:
        plain = _plain(result)
        if self.convert_result_to_json_string:
            try:
                return json.dumps(plain, ensure_ascii=False)
            except (TypeError, ValueError) as error:
                log.warning("A tool's result is no JSON, so the model is told its str(): %s", error)
                return str(result)
        return str(plain)

    # --- serialization ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        Raises:
            SerializationError: A tool or the callback has no such form; or there are policies.
        """
        refuse_policies(self.policies)
        ours = {"journal": True} if self.journal else {}  # Haystack's takes no such argument
        return default_to_dict(
            self,
            **write_parameters(self.tools, self.streaming_callback),
            raise_on_failure=self.raise_on_failure,
            convert_result_to_json_string=self.convert_result_to_json_string,
            enable_streaming_callback_passthrough=self.enable_streaming_callback_passthrough,
            max_workers=self.max_workers,
            **ours,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolInvoker:
        """From plain data.

        Raises:
            DeserializationError: It is damaged, or names something that is not registered.
        """
        with reading_component(cls, data):
            return cls(**read_parameters(data))


def refuse_policies(policies: Any) -> None:
    """Refuse to write an invoker whose policies would be lost.

    Raises:
        SerializationError: There are policies.
    """
    if policies:
        raise SerializationError(
            "Policies of tools have no form as plain data. Write it without them, and give them "
            "where it is made again: Agent.from_dict(data, tool_invoker_kwargs={...})."
        )


def _arguments(tool: Tool, given: Mapping[str, Any], state: State) -> dict[str, Any]:
    """The arguments of a call, and those that the state fills."""
    arguments = dict(given)
    mapping = tool.inputs_from_state
    if mapping is None:
        mapping = {name: name for name in tool.parameter_names() if state.has(name)}
    for key, parameter in mapping.items():
        if parameter not in arguments and state.has(key):
            arguments[parameter] = state.get(key)
    return arguments


def _merge(tool: Tool, result: Any, state: State) -> None:
    """Put a result, or parts of it, into the state."""
    if not isinstance(result, dict):
        return
    held = cast("dict[str, Any]", result)
    for key, config in (tool.outputs_to_state or {}).items():
        source = config.get("source")
        value = held if source is None else held.get(source)
        state.set(key, value, handler_override=config.get("handler"))


def _plain(value: Any) -> Any:
    if callable(getattr(value, "to_dict", None)):
        return value.to_dict()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value


def _chunk(message: ChatMessage, call: ToolCall, index: int) -> StreamingChunk:
    result = message.tool_call_results[0]
    return StreamingChunk(
        content="",
        index=index,
        tool_call_result=result,
        start=True,
        meta={"tool_result": result.result, "tool_call": call},
    )


def _end() -> StreamingChunk:
    return StreamingChunk(
        content="",
        finish_reason="tool_call_results",
        meta={"finish_reason": "tool_call_results"},
    )


__all__ = ["ToolInvoker", "refuse_policies"]
