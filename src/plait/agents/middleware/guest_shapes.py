"""What goes between an agent and middleware of LangChain's: state, requests, responses, and back.

Objects of LangChain's are only made where some of its are there already, so importing its packages
costs nothing new.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NotRequired, Required, cast, get_args, get_origin

from typing_extensions import TypedDict, get_type_hints

from plait.agents.middleware.requests import ExtendedModelResponse, ModelRequest, ModelResponse
from plait.agents.middleware.state import AgentState, OmitFromSchema
from plait.chat_models.langchain import LangChainChatModel, to_ours, to_theirs
from plait.errors import bubbles_up
from plait.graph.message import add_messages
from plait.messages.foreign import is_foreign
from plait.prebuilt.guests import own_command
from plait.prebuilt.tool_node import ToolCallRequest
from plait.types import Command

OWN_KEYS = frozenset(("messages", "jump_to", "structured_response"))
"""Keys of the state that the agent declares itself."""


# --- what bubbles up -----------------------------------------------------------------------------


@cache
def _passing() -> type[Exception]:
    """langgraph's control flow: hooks of LangChain's that handle errors let it pass."""
    base: Any = import_module("langgraph.errors").GraphBubbleUp
    return type("Passing", (base,), {"__doc__": "What bubbles up through a hook."})


@contextmanager
def letting_pass() -> Generator[None]:
    """Inside a hook of LangChain's: what bubbles up in plait does so in its terms."""
    try:
        yield
    except Exception as error:
        if bubbles_up(error):
            raise _passing()(error) from error
        raise


@contextmanager
def let_pass() -> Generator[None]:
    """Around such a hook: what has passed is what it was."""
    try:
        yield
    except _passing() as passed:
        raise passed.args[0] from None


# --- to theirs -----------------------------------------------------------------------------------


def their_state(state: Any) -> Any:
    """The state, with LangChain's messages."""
    return _changed(state, to_theirs)


def their_request(request: ModelRequest[Any]) -> Any:
    """The request of a model call as LangChain's."""
    model, first = request.model, request.system_message
    types = import_module("langchain.agents.middleware.types")
    return types.ModelRequest(
        model=model.guest if isinstance(model, LangChainChatModel) else model,
        messages=to_theirs(request.messages),
        system_message=None if first is None else to_theirs([first])[0],
        tool_choice=request.tool_choice,
        tools=list(request.tools),
        response_format=request.response_format,
        state=their_state(request.state),
        runtime=request.runtime,
        model_settings=request.model_settings,
    )


def their_response(response: ModelResponse[Any]) -> Any:
    """The response of a model call as LangChain's."""
    types = import_module("langchain.agents.middleware.types")
    return types.ModelResponse(
        result=to_theirs(response.result), structured_response=response.structured_response
    )


def their_tool_request(request: ToolCallRequest) -> Any:
    """The request of a tool call as LangChain's."""
    node = import_module("langgraph.prebuilt.tool_node")
    return node.ToolCallRequest(
        tool_call=request.tool_call,
        tool=request.tool,
        state=their_state(request.state),
        runtime=request.runtime,
    )


def their_tool_result(result: Any) -> Any:
    """What a tool gave, as LangChain's."""
    if not isinstance(result, Command):
        return to_theirs([result])[0]
    command = cast("Command[Any]", result)
    return import_module("langgraph.types").Command(
        graph=command.graph,
        update=_changed(command.update, to_theirs),
        resume=command.resume,
        goto=command.goto,
    )


# --- back to ours --------------------------------------------------------------------------------


def own(value: Any) -> Any:
    """A message, or a Command, of theirs as ours; also in lists."""
    if isinstance(value, list):
        return [own(one) for one in cast("list[Any]", value)]
    if is_foreign(value):
        return to_ours(value)
    command = own_command(value)
    if command is value:
        return value
    return Command(
        graph=command.graph,
        update=own_update(command.update),
        resume=command.resume,
        goto=command.goto,
    )


def own_update(update: Any) -> Any:
    """An update of the state, with our messages."""
    return own(_changed(update, own))


def own_request(request: ModelRequest[Any], changed: Any) -> ModelRequest[Any]:
    """What middleware has made of a request."""
    return request.override(
        model=changed.model,
        messages=own(changed.messages),
        system_message=own(changed.system_message),
        tool_choice=changed.tool_choice,
        tools=changed.tools,
        response_format=changed.response_format,
        state=own_update(changed.state),
        model_settings=changed.model_settings,
    )


def own_tool_request(request: ToolCallRequest, changed: Any) -> ToolCallRequest:
    """What middleware has made of the request of a tool call."""
    return request.override(
        tool_call=changed.tool_call, tool=changed.tool, state=own_update(changed.state)
    )


def own_response(response: Any) -> Any:
    """What a wrapper of model calls has returned."""
    kind = type(response).__name__
    if kind == "ExtendedModelResponse":
        return ExtendedModelResponse(own_response(response.model_response), own(response.command))
    if kind == "ModelResponse":
        return ModelResponse(own(response.result), response.structured_response)
    return own(response)


def _changed(update: Any, convert: Callable[[Any], Any]) -> Any:
    """An update whose messages are converted."""
    if not isinstance(update, dict) or "messages" not in update:
        return cast("Any", update)
    held = cast("dict[str, Any]", update)
    messages = held["messages"]
    several = isinstance(messages, list)
    return {**held, "messages": convert(cast("Any", messages) if several else [messages])}


# --- policies ------------------------------------------------------------------------------------


def own_policy(policy: dict[str, Any]) -> Any:
    """What is asked about a tool's calls; functions of LangChain's policies get its messages."""
    describe: Any = policy.get("description")
    when: Any = policy.get("when")

    def description(call: Any, state: Any, runtime: Any) -> Any:
        return describe(call, their_state(state), runtime)

    def wanted(request: ToolCallRequest) -> Any:
        return when(their_tool_request(request))

    made = dict(policy)
    if callable(describe):
        made["description"] = description
    if when is not None:
        made["when"] = wanted
    return made


# --- schemas -------------------------------------------------------------------------------------


def own_schema(schema: Any) -> type[Any]:
    """A state of LangChain's middleware with our marks, reducers and channels."""
    hints = get_type_hints(schema, include_extras=True)
    keys = {key: _own_hint(hint) for key, hint in hints.items() if key not in OWN_KEYS}
    if not keys:
        return AgentState
    make: Any = TypedDict  # the keys are known only here
    return make(schema.__name__, {**get_type_hints(AgentState, include_extras=True), **keys})


def _own_hint(hint: Any) -> Any:
    origin = get_origin(hint)
    if origin in (Required, NotRequired):
        return cast("Any", origin)[_own_hint(get_args(hint)[0])]
    if origin is not Annotated:
        return hint
    inner, *marks = get_args(hint)
    made = _own_hint(inner)
    for mark in marks:
        made = Annotated[made, _own_mark(mark)]
    return made


def _own_mark(mark: Any) -> Any:
    kind: Any = mark if isinstance(mark, type) else mark.__class__
    if kind.__name__ == "OmitFromSchema":
        omit: Any = mark
        return OmitFromSchema(input=omit.input, output=omit.output)
    if isinstance(mark, type) and kind.__module__.startswith("langgraph.channels."):
        return getattr(import_module("plait.channels"), kind.__name__)
    is_add = getattr(mark, "__module__", "") == "langgraph.graph.message"
    return add_messages if is_add else mark


__all__ = [
    "let_pass",
    "letting_pass",
    "own",
    "own_policy",
    "own_request",
    "own_response",
    "own_schema",
    "own_tool_request",
    "own_update",
    "their_request",
    "their_response",
    "their_state",
    "their_tool_request",
    "their_tool_result",
]
