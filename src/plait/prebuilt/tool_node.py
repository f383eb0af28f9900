"""`ToolNode`: a node that runs the tools that a model has called, at once; `tools_condition`."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import Token
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias, cast
from warnings import warn

from typing_extensions import TypedDict

from plait.callbacks.context import finds_config, handed
from plait.common.failures import note
from plait.errors import (
    GraphInterrupt,
    NotSupportedError,
    ToolInputError,
    bubbles_up,
    is_invalid_resume,
)
from plait.messages import ToolMessage, message_chunk_to_message
from plait.prebuilt.injection import (
    ContextT,
    InjectedState,
    InjectedStore,
    Injections,
    StateT,
    ToolRuntime,
    runtime_around,
    state_around,
)
from plait.prebuilt.sent import WITH_CONTEXT
from plait.prebuilt.tool_errors import (
    INVALID_TOOL_NAME_ERROR_TEMPLATE,
    ErrorHandler,
    Telling,
    ToolInvocationError,
    ToolTimeoutError,
    tell_invocation_errors,
)
from plait.prebuilt.tool_policies import ToolPolicy, supervised
from plait.prebuilt.tool_results import (
    Form,
    checked,
    combined,
    intercepted,
    msg_content_output,
)
from plait.pregel.hints import wants_store
from plait.runnables.base import Runnable
from plait.runnables.batching import arun_all, run_all
from plait.runnables.config import RunnableConfig, ensure_config, run_in_executor
from plait.scope import current_scope, current_tool_call
from plait.tools.failures import is_validation_error
from plait.tools.guests import by_name, each_tool


@dataclass
class ToolCallRequest:
    """One tool call, as an interceptor is given it.

    A request is not changed in place: `override` gives a changed copy.
    """

    tool_call: Any
    """Name, args and id, as the model gave them."""
    tool: Any
    """The tool; None if the node has none of that name."""
    state: Any
    """The state of the graph."""
    runtime: Any
    """The `ToolRuntime` of the call."""

    def override(self, **changes: Any) -> "ToolCallRequest":
        """A copy with some fields replaced. Another `state` is the runtime's, too.

        >>> ToolCallRequest({"name": "a"}, None, {}, None).override(state=1).state
        1
        """
        changed = replace(self, **changes)
        if "state" in changes and isinstance(changed.runtime, ToolRuntime):
            runtime = cast("ToolRuntime[Any, Any]", changed.runtime)
            vars(changed)["runtime"] = replace(runtime, state=changed.state)
        return changed

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in vars(self):  # it is being made
            object.__setattr__(self, name, value)
            return
        warn(
            f"Assigning to ToolCallRequest.{name} is deprecated: other interceptors may hold the "
            f"same request. Use request.override({name}=...), which gives a changed copy.",
            DeprecationWarning,
            stacklevel=2,
        )
        vars(self).update(vars(self.override(**{name: value})))


class ToolCallWithContext(TypedDict):
    """One tool call with the state of the graph: what a `Send` to a ToolNode may carry."""

    tool_call: Any
    __type: Literal["tool_call_with_context"]
    state: Any


_PARTS = frozenset(("name", "args", "id"))

Execute: TypeAlias = Callable[[ToolCallRequest], Any]
ToolCallWrapper: TypeAlias = Callable[[ToolCallRequest, Execute], Any]
AsyncToolCallWrapper: TypeAlias = Callable[
    [ToolCallRequest, Callable[[ToolCallRequest], Awaitable[Any]]], Awaitable[Any]
]


class ToolNode(Runnable[Any, Any]):
    """Runs the tools that the last AI message calls, at once, and answers each call.

    It takes a state (a dict or an object) with messages, a list of messages, or a list of tool
    calls. The answers come in the form of the input: under the messages' key, or as a list. If a
    tool returns a `Command`, a list of updates and Commands comes. The config's `max_concurrency`
    bounds how many tools run at once. Questions that several tools ask surface together.

    Args:
        tools: Tools and functions.
        name: The name of the node.
        tags: Labels of the node.
        handle_tool_errors: Which errors become messages to the model, and how. True: all. A text:
            all, as this text. Exception classes: those. A function: those that its parameter is
            annotated with, as what it returns. False: none. By default: arguments that do not
            fit, and tools that take longer than their policy allows; what they raise ends the node.
        messages_key: The key of the state that holds the messages.
        wrap_tool_call: Called instead of each tool, with the request and a function that runs it.
        awrap_tool_call: Its async form, for async calls.
        policies: How long calls may take, which errors are tried again, how many run at once: a
            `ToolPolicy` by the name of its tool, or one for all tools.
        journal: Record the result of each call in the thread as soon as it is there. When the node
            runs again, after a question or a crash, these tools do not. (A call under a policy,
            and one of a tool with `on_unknown`, is always recorded.)

    Of two tools with one name the last counts; a `DuplicateToolWarning` says so.

    Raises:
        ToolDefinitionError: Something is no tool, or `handle_tool_errors` is no such thing, or a
            policy is for a tool that is not there.

    >>> def add(a: int, b: int) -> int:
    ...     "Add."
    ...     return a + b
    >>> call = {"type": "tool_call", "name": "add", "id": "1", "args": {"a": 1, "b": 2}}
    >>> ToolNode([add]).invoke([call])
    {'messages': [ToolMessage(content='3', name='add', tool_call_id='1')]}
    """

    def __init__(
        self,
        tools: Sequence[Any],
        *,
        name: str = "tools",
        tags: list[str] | None = None,
        handle_tool_errors: ErrorHandler = tell_invocation_errors,
        messages_key: str = "messages",
        wrap_tool_call: ToolCallWrapper | None = None,
        awrap_tool_call: AsyncToolCallWrapper | None = None,
        policies: Mapping[str, ToolPolicy] | ToolPolicy | None = None,
        journal: bool = False,
    ) -> None:
        self.name = name
        self.tags = tags
        self.messages_key = messages_key
        self._telling = Telling(handle_tool_errors)
        self._wrap = wrap_tool_call
        self._awrap = awrap_tool_call
        self._tools = by_name(each_tool(tools))
        self._injections: dict[str, Injections] = {}
        self._supervised = supervised(self._tools, policies, journal)
        self._several: ToolNode | None = None
        self._care = policies, journal

    def __repr__(self) -> str:
        return f"ToolNode({list(self._tools)!r}, name={self.name!r})"

    @property
    def tools_by_name(self) -> dict[str, Any]:
        """The tools by name."""
        return self._tools

    def extended(
        self,
        tools: Sequence[Any] = (),
        wrap_tool_call: ToolCallWrapper | None = None,
        awrap_tool_call: AsyncToolCallWrapper | None = None,
    ) -> "ToolNode":
        """A copy with more tools, and with interceptors around its own: the node of an agent.

        Where it makes several calls at once, it records each, as with `journal=True`. If the node
        has only a sync interceptor, async calls of the copy raise NotSupportedError.

        Args:
            tools: Tools and functions; where names are the same, the node's own count.
            wrap_tool_call: Called around the node's interceptor.
            awrap_tool_call: Its async form.

        Raises:
            ToolDefinitionError: Something is no tool.
        """
        node = copy(self)
        node._tools = by_name(tools, self._tools)
        node._injections = {}
        node._supervised = supervised(node._tools, *self._care)
        only_sync = self._wrap is not None and self._awrap is None
        inner = partial(_refused, self.name) if only_sync else self._awrap
        node._wrap = _around(wrap_tool_call, self._wrap)
        node._awrap = _around(awrap_tool_call, inner) if awrap_tool_call else self._awrap
        node._several = several = copy(node)
        several._supervised = {**supervised(node._tools, None, True), **node._supervised}
        return node

    # --- calls -----------------------------------------------------------------------------------

    @finds_config
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the tools, on threads if there are several.

        Raises:
            ToolInputError: There is no AI message, or an argument cannot be filled.
            NotSupportedError: There is only an async interceptor.
        """
        if self._awrap is not None and self._wrap is None:
            raise NotSupportedError(
                f"ToolNode {self.name!r} has only an async interceptor (awrap_tool_call), which a "
                "sync call would pass by. Use ainvoke, or give it wrap_tool_call too."
            )
        node, requests, form = self._read(input, config, kwargs.get("runtime"))
        calls = [partial(node._run_one, one, form, config) for one in requests]
        if len(calls) == 1:
            return combined([calls[0]()], form, self.messages_key)
        results = run_all(calls, _bound_of(config), True) if calls else []
        return combined(_settled(results), form, self.messages_key)

    @finds_config
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the tools, as tasks; sync code of tools runs on threads."""
        node, requests, form = self._read(input, config, kwargs.get("runtime"))
        calls = [partial(node._arun_one, one, form, config) for one in requests]
        if len(calls) == 1:
            return combined([await calls[0]()], form, self.messages_key)
        bound = _bound_of(config)
        if bound is not None and bound < len(calls):  # one task makes several calls
            calls = [partial(_in_a_task, call) for call in calls]
        results = await arun_all(calls, bound, True) if calls else []
        return combined(_settled(results), form, self.messages_key)

    def inject_tool_args(self, tool_call: Any, input: Any, store: Any) -> dict[str, Any]:
        """A copy of a tool call with the arguments that the program fills.

        Args:
            tool_call: Name, args and id.
            input: The state of the graph, or a list of messages.
            store: The store of the graph.

        Raises:
            ToolInputError: The state lacks a key, or there is no store.
        """
        tool = self._tools.get(tool_call["name"])
        if tool is None:
            return dict(tool_call)
        runtime = replace(self._runtime(None, None, input, tool_call), store=store)
        filled = self._filled(ToolCallRequest(tool_call, tool, input, runtime), tool)
        return {**filled, "args": {**filled["args"]}}

    # --- reading ---------------------------------------------------------------------------------

    def _read(
        self, input: Any, config: RunnableConfig | None, runtime: Any
    ) -> "tuple[ToolNode, list[ToolCallRequest], Form]":
        """The calls of an input, and who makes them: this node, or its twin for several."""
        calls, form, state = self._read_input(input)
        node = self if self._several is None or len(calls) < 2 else self._several
        requests: list[ToolCallRequest] = []
        for call in calls:
            tool = self._tools.get(call["name"])
            its = node._runtime(config, runtime, state, call) if node._shows(tool) else None
            requests.append(ToolCallRequest(call, tool, state, its))
        return node, requests, form

    def _shows(self, tool: Any) -> bool:
        """Whether anybody sees the runtime of a call: an interceptor, a policy, the tool itself."""
        if self._wrap is not None or self._awrap is not None:
            return True
        if tool is None:
            return False
        return tool.name in self._supervised or self._injections_of(tool).needs_runtime

    def _read_input(self, input: Any) -> tuple[list[Any], Form, Any]:
        if isinstance(input, list):
            items = cast("list[Any]", input)
            last = items[-1] if items else None
            if isinstance(last, Mapping) and cast("Any", last).get("type") == "tool_call":
                for call in items:
                    self._check(call)
                return items, "tool_calls", state_around()
            return self._calls_of(items), "list", items
        if isinstance(input, (dict, Mapping)):
            state = cast("Mapping[str, Any]", input)
            if state.get("__type") == WITH_CONTEXT:
                return [state["tool_call"]], "tool_calls", state["state"]
            return self._calls_of(state.get(self.messages_key)), "dict", state
        return self._calls_of(getattr(input, self.messages_key, None)), "dict", input

    def _check(self, call: Any) -> None:
        """Check that what a program wrote is a tool call.

        Raises:
            ToolInputError: It is none, or lacks a part.
        """
        if not (isinstance(call, Mapping) and call.keys() >= _PARTS):
            raise ToolInputError(
                f"{call!r:.200} in the input of ToolNode {self.name!r} is no tool call. Write "
                "{'name': ..., 'args': {...}, 'id': ..., 'type': 'tool_call'}."
            )

    def _calls_of(self, messages: Any) -> list[Any]:
        if not messages:
            raise ToolInputError(
                f"No message found in the input of ToolNode {self.name!r}. It takes a state with "
                f"{self.messages_key!r}, a list of messages, or a list of tool calls."
            )
        message = next((one for one in reversed(messages) if hasattr(one, "tool_calls")), None)
        if message is None:
            raise ToolInputError(
                f"No AIMessage found in the input of ToolNode {self.name!r}: there is nobody who "
                "calls a tool."
            )
        return cast("list[Any]", message_chunk_to_message(message).tool_calls)

    def _runtime(
        self, config: RunnableConfig | None, given: Any, state: Any, call: Any
    ) -> ToolRuntime[Any, Any]:
        config = ensure_config(config)
        runtime = runtime_around(config) if given is None else given
        return ToolRuntime(
            state=state,
            context=runtime.context,
            config=config,
            stream_writer=runtime.stream_writer,
            tool_call_id=call["id"],
            store=runtime.store,
            tools=list(self._tools.values()),
            execution_info=runtime.execution_info,
            server_info=runtime.server_info,
        )

    # --- one call --------------------------------------------------------------------------------

    def _run_one(self, request: ToolCallRequest, form: Form, config: RunnableConfig | None) -> Any:
        """Make a call, marked as the one that asks if its tool or interceptor asks a question."""
        marked = _mark(request)
        try:
            if self._wrap is None:
                return self._execute(request, form, config)
            try:
                result = self._wrap(request, partial(self._execute, form=form, config=config))
            except Exception as error:
                return self._told(error, request.tool_call)
            return intercepted(result, request.tool_call)
        finally:
            if marked is not None:
                current_tool_call.reset(marked)

    async def _arun_one(
        self, request: ToolCallRequest, form: Form, config: RunnableConfig | None
    ) -> Any:
        """The async twin of `_run_one`."""
        if self._awrap is None and self._wrap is not None:
            return await run_in_executor(None, self._run_one, request, form, config)
        marked = _mark(request)
        try:
            if self._awrap is None:
                return await self._aexecute(request, form, config)
            try:
                run = partial(self._aexecute, form=form, config=config)
                result = await self._awrap(request, run)
            except Exception as error:
                return self._told(error, request.tool_call)
            return intercepted(result, request.tool_call)
        finally:
            if marked is not None:
                current_tool_call.reset(marked)

    def _execute(self, request: ToolCallRequest, form: Form, config: RunnableConfig | None) -> Any:
        tool, call = self._tool_of(request), request.tool_call
        if tool is None:
            return self._unknown(call)
        filled = self._filled(request, tool)
        supervised = self._supervised.get(tool.name)
        try:
            if supervised is None:
                result = tool.invoke(filled, handed(_config_of(request, config), tool.invoke))
            else:
                result = supervised.run(call, partial(self._in_step, request, tool, tool.invoke))
            return checked(result, call, form, self.messages_key)
        except Exception as error:
            return self._told(self._named(error, tool, call), call)

    async def _aexecute(
        self, request: ToolCallRequest, form: Form, config: RunnableConfig | None
    ) -> Any:
        tool, call = self._tool_of(request), request.tool_call
        if tool is None:
            return self._unknown(call)
        filled = self._filled(request, tool)
        supervised = self._supervised.get(tool.name)
        try:
            if supervised is None:
                its = handed(_config_of(request, config), tool.ainvoke)
                result = await tool.ainvoke(filled, its)
            else:
                work = partial(self._in_step, request, tool, tool.ainvoke)
                result = await supervised.arun(call, work)
            return checked(result, call, form, self.messages_key)
        except Exception as error:
            return self._told(self._named(error, tool, call), call)

    def _in_step(
        self, request: ToolCallRequest, tool: Any, invoke: Callable[..., Any], own: Any
    ) -> Any:
        """Run a tool whose call is a step of the run: what it writes and is named by is the step's.

        Args:
            own: The runtime of the step; None where there is no step.
        """
        if own is not None:
            runtime = replace(
                request.runtime,
                stream_writer=own.stream_writer,
                execution_info=own.execution_info,
            )
            request = request.override(runtime=runtime)
        return invoke(self._filled(request, tool), request.runtime.config)

    def _tool_of(self, request: ToolCallRequest) -> Any:
        tool = request.tool
        return tool if tool is not None else self._tools.get(request.tool_call["name"])

    def _unknown(self, call: Any) -> ToolMessage:
        told = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(
            requested_tool=call["name"], available_tools=", ".join(self._tools)
        )
        return ToolMessage(told, name=call["name"], tool_call_id=call["id"], status="error")

    def _filled(self, request: ToolCallRequest, tool: Any) -> dict[str, Any]:
        injections, call, runtime = self._injections_of(tool), request.tool_call, request.runtime
        if not injections.hidden:
            return call if call.get("type") == "tool_call" else {**call, "type": "tool_call"}
        state = request.state if runtime is None else runtime.state
        if isinstance(state, list):
            messages = cast("list[Any]", state)
            state = injections.of_messages(messages, self.messages_key, tool.name)
        args = injections.fill(tool.name, call["args"], state, runtime)
        return {**call, "args": args, "type": "tool_call"}

    def _injections_of(self, tool: Any) -> Injections:
        known = self._injections.get(tool.name)
        if known is None:
            known = Injections(tool)
            if self._tools.get(tool.name) is tool:
                self._injections[tool.name] = known
        return known

    def _named(self, error: Exception, tool: Any, call: Any) -> Exception:
        """The error, of arguments that do not fit as a `ToolInvocationError`."""
        if not is_validation_error(error) or is_invalid_resume(error):
            return error
        hidden = self._injections_of(tool).hidden
        shown = {name: value for name, value in call["args"].items() if name not in hidden}
        errors = cast("Any", error).errors()
        own = [one for one in errors if not one["loc"] or one["loc"][0] not in hidden]
        named = ToolInvocationError(tool.name, error, shown, own)
        named.__cause__ = error
        return named

    def _told(self, error: Exception, call: Any) -> ToolMessage:
        """The message that tells the model of an error.

        Raises:
            Exception: `error`, if the model is not to be told.
        """
        if bubbles_up(error):
            raise error
        told = self._telling.told(error)
        if told is None:
            _note(error, call)
            raise error
        return ToolMessage(told, name=call["name"], tool_call_id=call["id"], status="error")


def _note(error: Exception, call: Any) -> None:
    """Say in whose call an error was raised; of one by itself, that it has no store."""
    notes = [f"During call {call['id']!r} of tool {call['name']!r}"]
    if current_scope.get() is None and wants_store(error):
        notes.append(
            "The ToolNode runs by itself, which has no store: run it in a graph that has one, "
            "compile(store=InMemoryStore())."
        )
    for text in notes:
        note(error, text)


def _mark(request: ToolCallRequest) -> Token[str | None] | None:
    """Inside a graph: note which tool call runs here; gives what takes it back."""
    if current_scope.get() is None:
        return None
    return current_tool_call.set(request.tool_call["id"])


async def _in_a_task(call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Make a call in a task of its own: what it puts into context variables, the next lacks."""
    return await asyncio.ensure_future(call())


def _bound_of(config: RunnableConfig | None) -> int | None:
    """How many calls may run at once."""
    return ensure_config(config).get("max_concurrency")


def _config_of(request: ToolCallRequest, config: RunnableConfig | None) -> Any:
    """The config of a call: that of its runtime, which an interceptor may have changed."""
    return config if request.runtime is None else request.runtime.config


def _around(outer: Any, inner: Any) -> Any:
    """Two interceptors as one."""
    if outer is None or inner is None:
        return inner if outer is None else outer

    def both(request: ToolCallRequest, execute: Execute) -> Any:
        def call(changed: ToolCallRequest) -> Any:
            return inner(changed, execute)

        return outer(request, call)

    return both


async def _refused(node: str | None, request: ToolCallRequest, execute: Execute) -> Any:
    """What stands for the async form that an interceptor lacks."""
    raise NotSupportedError(
        f"ToolNode {node!r} has only a sync interceptor, which an async call would pass by. Give "
        "it awrap_tool_call too, or call the agent by invoke or stream."
    )


def _settled(results: Sequence[Any]) -> list[Any]:
    """The results of all calls.

    Raises:
        Exception: The first error of a tool; without one, the questions of all tools that ask.
    """
    errors = [one for one in results if isinstance(one, Exception)]
    if not errors:
        return list(results)
    for error in errors:
        if not isinstance(error, GraphInterrupt):
            raise error
    raise GraphInterrupt(tuple(asked for error in errors for asked in (error.args or ((),))[0]))


def tools_condition(state: Any, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """Where to go after a model: "tools" if its message calls any, else the end.

    Args:
        state: A state (a dict or an object) with messages, or a list of messages.
        messages_key: The key of the state that holds the messages.

    Raises:
        ToolInputError: There are no messages.

    >>> from plait.messages import AIMessage
    >>> tools_condition([AIMessage("done")])
    '__end__'
    """
    messages: Any
    if isinstance(state, list):
        messages = cast("list[Any]", state)
    elif isinstance(state, Mapping):
        messages = cast("Mapping[str, Any]", state).get(messages_key)
    else:
        messages = getattr(state, messages_key, None)
    if not messages:
        raise ToolInputError(
            f"No messages found in the state of tools_condition, under {messages_key!r}: {state!r}"
        )
    return "tools" if getattr(messages[-1], "tool_calls", None) else "__end__"


__all__ = [
    "AsyncToolCallWrapper",
    "ContextT",
    "InjectedState",
    "InjectedStore",
    "StateT",
    "ToolCallRequest",
    "ToolCallWithContext",
    "ToolCallWrapper",
    "ToolInvocationError",
    "ToolNode",
    "ToolPolicy",
    "ToolRuntime",
    "ToolTimeoutError",
    "msg_content_output",
    "tools_condition",
]
