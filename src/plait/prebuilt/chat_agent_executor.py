"""`create_react_agent`: a model that calls tools until it has an answer, as a graph."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, cast

from typing_extensions import TypedDict, get_type_hints

from plait.common.lazy import lazily
from plait.constants import END
from plait.errors import ConfigError
from plait.graph.message import add_messages
from plait.graph.state import StateGraph
from plait.managed import RemainingSteps
from plait.messages import AnyMessage
from plait.prebuilt.agent_history import keeps_repairs
from plait.prebuilt.agent_models import AgentModel
from plait.prebuilt.agent_nodes import ModelNode, Prompt, Routes, StructuredNode
from plait.prebuilt.tool_node import ToolNode
from plait.tools.guests import each_tool
from plait.warnings import take_renamed

if TYPE_CHECKING:
    from plait.graph.state import CompiledStateGraph
    from plait.prebuilt.agent_states import (
        AgentStatePydantic,
        AgentStateWithStructuredResponsePydantic,
        StructuredResponse,
        StructuredResponseSchema,
    )
    from plait.store.base import BaseStore

__getattr__ = lazily(
    __name__,
    {
        "AgentStatePydantic": "plait.prebuilt.agent_states",
        "AgentStateWithStructuredResponsePydantic": "plait.prebuilt.agent_states",
        "StructuredResponse": "plait.prebuilt.agent_states",
        "StructuredResponseSchema": "plait.prebuilt.agent_states",
    },
)


class AgentState(TypedDict):
    """The state of an agent."""

    messages: Annotated[list[AnyMessage], add_messages]
    remaining_steps: NotRequired[RemainingSteps]


class AgentStateWithStructuredResponse(AgentState):
    """The same, with the answer in the form of a schema."""

    structured_response: Any


def create_react_agent(
    model: Any,
    tools: Sequence[Any] | ToolNode,
    *,
    prompt: Any = None,
    response_format: Any = None,
    pre_model_hook: Any = None,
    post_model_hook: Any = None,
    state_schema: Any = None,
    context_schema: type[Any] | None = None,
    checkpointer: Any = None,
    store: "BaseStore | None" = None,
    interrupt_before: list[str] | None = None,
    interrupt_after: list[str] | None = None,
    debug: bool = False,
    version: Literal["v1", "v2"] = "v2",
    name: str | None = None,
    repair_history: bool = True,
    **deprecated_kwargs: Any,
) -> "CompiledStateGraph":
    """An agent: a model that calls tools, sees their results, and goes on until it has an answer.

    Args:
        model: "provider:name", a chat model (plait's or LangChain's), one with these tools bound
            to it, or a function of (state, runtime), sync or async, that returns one with tools.
        tools: Tools, functions, and dicts of tools that the provider runs itself; or a `ToolNode`.
            Without any the agent is one call of the model.
        prompt: A text or SystemMessage to put before the messages; or a function or runnable of
            the state that gives the model's input.
        response_format: A pydantic class, TypedDict or JSON schema, or a pair of a prompt and one
            of these: when the model is done, it is asked once more for `structured_response`.
        pre_model_hook: A node before each call of the model. It may return `messages`, or
            `llm_input_messages`, which the model sees instead and the state does not keep.
        post_model_hook: A node after each call of the model. Tool calls that it answers itself,
            with a ToolMessage, do not run.
        state_schema: A state with `messages` and `remaining_steps` (by default `AgentState`).
        context_schema: The type of `runtime.context`.
        checkpointer: Keeps the threads of the agent.
        store: Long-term memory, for tools and hooks.
        interrupt_before: Nodes to stop before: "agent", "tools".
        interrupt_after: Nodes to stop after.
        debug: Print what happens.
        version: "v2": each tool call is a task of its own, which is retried and resumed alone.
            "v1": the calls of one message are one task.
        name: The agent's; it signs its messages, and is its node's name in a larger graph.
        repair_history: A run that was cancelled, failed or died between a tool call and its result
            leaves a call that no message answers. The next turn answers it: with the result, if the
            tool had given one, else with a ToolMessage that says it was interrupted. False: such a
            history is an error.

    Returns:
        The compiled graph.

    Raises:
        ConfigError: The state lacks a key, the model has other tools, `prompt` or `version` is
            unknown.
        ToolDefinitionError: Something is no tool.
        TypeError: A keyword that nobody knows.

    When steps run out before the model is done, the last message says so and no error is raised.

    >>> from plait.chat_models.fake import GenericFakeChatModel
    >>> agent = create_react_agent(GenericFakeChatModel(messages=iter(["Hello."])), [])
    >>> agent.invoke({"messages": "Hi!"})["messages"][-1].content
    'Hello.'
    """
    given = take_renamed(
        "create_react_agent()",
        deprecated_kwargs,
        ("config_schema",),
        of=create_react_agent,
        context_schema=context_schema,
    )
    context_schema = given["context_schema"]
    if version not in ("v1", "v2"):
        raise ConfigError(f"Invalid version {version!r} of create_react_agent: use 'v1' or 'v2'.")
    state_schema = _state_schema(state_schema, response_format)
    node, bound = _tools(tools)
    agent_model = AgentModel(model, bound)
    keeps = repair_history and keeps_repairs(state_schema)
    agent = ModelNode(agent_model, Prompt(prompt), name, repair_history, keeps)
    seen = state_schema if pre_model_hook is None else _with_model_input(state_schema)
    builder = StateGraph(state_schema, context_schema=context_schema)
    builder.add_node("agent", agent, input_schema=seen)  # the nodes in the order of the pictures
    if node.tools_by_name:
        builder.add_node("tools", node)
    entry, last = _add_hooks(builder, pre_model_hook, post_model_hook)
    finish = _add_response(builder, agent_model, response_format)
    builder.set_entry_point(entry)
    if node.tools_by_name:
        direct = _direct_ones(node)
        _connect_tools(builder, Routes(entry, finish, direct, version == "v2"), last, bool(direct))
    else:
        builder.add_edge(last, finish)
    compiled = builder.compile(
        checkpointer,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        debug=debug,
        name=name,
    )
    _let_store(compiled, response_format)
    return compiled


def _add_hooks(builder: StateGraph[Any], pre: Any, post: Any) -> tuple[str, str]:
    """Add the nodes around the model; returns where its turn begins and where it ends."""
    entry = last = "agent"
    if pre is not None:
        entry = "pre_model_hook"
        builder.add_node(entry, pre).add_edge(entry, "agent")
    if post is not None:
        last = "post_model_hook"
        builder.add_node(last, post).add_edge("agent", last)
    return entry, last


def _add_response(builder: StateGraph[Any], model: AgentModel, response_format: Any) -> str:
    """Add the node that asks for the structured response; returns where the agent goes when the
    model is done."""
    if response_format is None:
        return END
    name = "generate_structured_response"
    builder.add_node(name, StructuredNode(model, response_format)).add_edge(name, END)
    return name


def _direct_ones(node: ToolNode) -> frozenset[str]:
    """Names of the tools whose result ends the loop."""
    tools = node.tools_by_name.values()
    return frozenset(tool.name for tool in tools if getattr(tool, "return_direct", False))


def _let_store(compiled: "CompiledStateGraph", response_format: Any) -> None:
    """Let the agent's threads hold answers of the form that they are asked for in."""
    pair = isinstance(response_format, tuple)
    schema: Any = cast("Any", response_format)[1] if pair else response_format
    if isinstance(schema, type):
        compiled.registry().register_schema(schema)


def _connect_tools(
    builder: StateGraph[Any], routes: Routes, last: str, ends_directly: bool
) -> None:
    """The loop: from the model (or the hook after it) to the tools, and back."""
    entry, finish = routes.entry, routes.finish
    if last == "agent":
        builder.add_conditional_edges(last, routes.should_continue, ["tools", finish])
    else:
        builder.add_conditional_edges(last, routes.post_model_hook_router, [entry, "tools", finish])
    if ends_directly:
        builder.add_conditional_edges("tools", routes.route_tool_responses, [entry, END])
    else:
        builder.add_edge("tools", entry)


def _state_schema(schema: Any, response_format: Any) -> Any:
    """The schema of the state.

    Raises:
        ConfigError: It lacks a key.
    """
    if schema is None:
        return AgentState if response_format is None else AgentStateWithStructuredResponse
    needed = {"messages", "remaining_steps"}
    if response_format is not None:
        needed.add("structured_response")
    missing = needed - get_type_hints(schema).keys()
    if missing:
        raise ConfigError(
            f"state_schema {schema.__name__} lacks {', '.join(sorted(missing))}, which "
            "create_react_agent needs. Derive it from AgentState (or, with a response_format, from "
            "AgentStateWithStructuredResponse)."
        )
    return schema


def _tools(tools: Any) -> tuple[ToolNode, list[Any]]:
    """The node that runs the tools, and what is bound to the model."""
    if isinstance(tools, ToolNode):
        return tools, list(tools.tools_by_name.values())
    given = each_tool(tools)
    own: list[Any] = [
        one for one in given if isinstance(one, Mapping)
    ]  # the provider runs these itself
    node = ToolNode([one for one in given if not isinstance(one, Mapping)])
    return node, [*node.tools_by_name.values(), *own]


def _with_model_input(schema: Any) -> Any:
    """The schema of what the model's node reads, with what a hook before it may hand over."""
    if hasattr(schema, "model_fields"):
        from pydantic import create_model  # loaded by the schema

        return create_model(
            "AgentInput", __base__=schema, llm_input_messages=(list[AnyMessage], [])
        )
    hints = get_type_hints(schema, include_extras=True)
    make: Any = TypedDict  # its keys are known only here
    return make("AgentInput", {**hints, "llm_input_messages": list[AnyMessage]})


create_tool_calling_executor = create_react_agent
"""An older name."""

__all__ = [
    "AgentState",
    "AgentStatePydantic",
    "AgentStateWithStructuredResponse",
    "AgentStateWithStructuredResponsePydantic",
    "StructuredResponse",
    "StructuredResponseSchema",
    "create_react_agent",
    "create_tool_calling_executor",
]
