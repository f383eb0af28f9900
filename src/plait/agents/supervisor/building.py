"""`create_supervisor`: an agent whose tools hand off to other agents, as a graph."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from typing_extensions import get_type_hints

from plait.agents.handoffs import check_destinations, destination_of, names_of, tool_name
from plait.agents.supervisor.agent_name import AgentNameMode, with_agent_name
from plait.agents.supervisor.handoff import create_handoff_back_messages, create_handoff_tool
from plait.agents.supervisor.handoff_node import HandoffNode
from plait.chat_models.guests import as_chat_model
from plait.common.reflection import signature
from plait.constants import END, START
from plait.errors import ConfigError, InvalidUpdateError
from plait.graph.state import StateGraph
from plait.messages.convert import convert_to_messages
from plait.messages.foreign import kind_of
from plait.prebuilt.agent_models import bare
from plait.prebuilt.agent_nodes import value_of
from plait.prebuilt.chat_agent_executor import (
    AgentState,
    AgentStateWithStructuredResponse,
    create_react_agent,
)
from plait.prebuilt.tool_node import ToolNode
from plait.runnables.config import RunnableConfig
from plait.runnables.functions import RunnableLambda

OutputMode = Literal["full_history", "last_message"]


def create_supervisor(
    agents: Sequence[Any],
    *,
    model: Any,
    tools: Sequence[Any] | ToolNode | None = None,
    prompt: Any = None,
    response_format: Any = None,
    pre_model_hook: Any = None,
    post_model_hook: Any = None,
    parallel_tool_calls: bool = False,
    state_schema: Any = None,
    context_schema: type[Any] | None = None,
    output_mode: OutputMode = "last_message",
    add_handoff_messages: bool = True,
    handoff_tool_prefix: str | None = None,
    add_handoff_back_messages: bool | None = None,
    supervisor_name: str = "supervisor",
    include_agent_name: AgentNameMode | None = None,
) -> StateGraph[Any]:
    """A supervisor: a model that hands tasks to other agents, sees what they say, and goes on.

    Args:
        agents: Compiled graphs with names (agents, entrypoints, supervisors) over messages.
        model: "provider:name", or a chat model.
        tools: More tools of the supervisor. If handoff tools are among them, these are used
            instead of those made here, and must lead to all agents.
        prompt: See `create_react_agent`; so are the next three.
        response_format: The supervisor's answer in the form of a schema.
        pre_model_hook: A node before each call of the supervisor's model.
        post_model_hook: A node after each call of it.
        parallel_tool_calls: The model may hand off to several agents at once, which then work at
            the same time. Said to models that can be told.
        state_schema: The state, with `messages` and `remaining_steps`.
        context_schema: The type of `runtime.context`.
        output_mode: What of an agent's messages the others see: the "last_message", or the
            "full_history" of what it did.
        add_handoff_messages: Handoffs stay in the conversation.
        handoff_tool_prefix: What the names of handoff tools begin with (`transfer_to_`).
        add_handoff_back_messages: That an agent is done stays in the conversation (by default
            like handoffs).
        supervisor_name: The name of the supervisor and its node.
        include_agent_name: "inline" tells the model in the text who said what.

    Returns:
        The graph, to be compiled: `create_supervisor(...).compile(checkpointer=...)`.

    Raises:
        ConfigError: An agent has no name or another's, an agent has no handoff tool, or
            `output_mode` is unknown.
        UnknownNodeError: A handoff tool leads to none of the agents.
    """
    if output_mode not in ("full_history", "last_message"):
        raise ConfigError(
            f"Invalid output_mode {output_mode!r}: use 'last_message' or 'full_history'."
        )
    if add_handoff_back_messages is None:
        add_handoff_back_messages = add_handoff_messages
    names = names_of(agents)
    if supervisor_name in names:
        raise ConfigError(f"An agent is called {supervisor_name!r}, like the supervisor.")
    prefix = handoff_tool_prefix if handoff_tool_prefix is not None else "transfer_to_"
    node = _tools(tools, names, prefix, add_handoff_messages)
    if state_schema is None:
        state_schema = AgentState if response_format is None else AgentStateWithStructuredResponse
    supervisor = create_react_agent(
        _model(model, node, parallel_tool_calls, include_agent_name),
        node,
        prompt=prompt,
        response_format=response_format,
        pre_model_hook=pre_model_hook,
        post_model_hook=post_model_hook,
        state_schema=state_schema,
        context_schema=context_schema,
        version="v1",  # handoffs of one message leave together (see HandoffNode)
        name=supervisor_name,
    )
    builder = StateGraph(state_schema, context_schema=context_schema)
    builder.add_node(supervisor_name, supervisor, destinations=(*names, END))
    builder.add_edge(START, supervisor_name)
    keys = frozenset(get_type_hints(state_schema))
    back = supervisor_name if add_handoff_back_messages else None
    for name, agent in zip(names, agents, strict=True):
        builder.add_node(name, _agent_node(agent, output_mode, back, keys))
        builder.add_edge(name, supervisor_name)
    return builder


def _tools(given: Any, names: list[str], prefix: str, tell: bool) -> HandoffNode:
    """The supervisor's tools with the handoffs among them.

    Raises:
        ConfigError: The handoff tools that were given do not lead to all agents.
        UnknownNodeError: One leads to none of them.
    """
    node = given if isinstance(given, ToolNode) else ToolNode(list(given or ()))
    found = {name: destination_of(tool) for name, tool in node.tools_by_name.items()}
    handoffs = {name: agent for name, agent in found.items() if agent is not None}
    if handoffs:
        check_destinations(handoffs, names, "the supervisor")
        missing = [name for name in names if name not in handoffs.values()]
        if missing:
            raise ConfigError(
                f"There are handoff tools to {sorted(handoffs.values())}, but none to {missing}. "
                "Give one for each agent, create_handoff_tool(agent_name=...), or none at all."
            )
        return HandoffNode(node)
    made = [
        create_handoff_tool(
            agent_name=name, name=tool_name(prefix, name), add_handoff_messages=tell
        )
        for name in names
    ]
    return HandoffNode(node, made)


def _model(given: Any, node: ToolNode, parallel: bool, naming: AgentNameMode | None) -> Any:
    """The supervisor's model with its tools; told whether it may call several at once if it can."""
    model = as_chat_model(given)
    says: dict[str, Any] = {}
    if "parallel_tool_calls" in signature(bare(model).bind_tools).parameters:
        says["parallel_tool_calls"] = parallel
    model = model.bind_tools(list(node.tools_by_name.values()), **says)
    return model if naming is None else with_agent_name(model, naming)


def _agent_node(agent: Any, mode: OutputMode, back: str | None, keys: frozenset[str]) -> Any:
    """The node that lets an agent work, and says what the others see of it."""

    def seen(state: Any, output: Any) -> dict[str, Any]:
        if not isinstance(output, Mapping) or "messages" not in output:
            raise InvalidUpdateError(
                f"Agent {agent.name!r} of a supervisor gave {output!r:.200}, where a state with "
                "'messages' belongs."
            )
        update = {
            name: value
            for name, value in cast("Mapping[str, Any]", output).items()
            if name in keys and name != "remaining_steps"
        }
        messages = convert_to_messages(update["messages"])
        if mode == "last_message":
            said = [at for at, one in enumerate(messages) if kind_of(one) != "tool"]
            messages = messages[said[-1] :] if said else messages
        # What it was shown is not its own: of a message with several handoffs that is one call.
        known = {one.id: one for one in value_of(state, "messages")}
        as_data = any(isinstance(one, Mapping) for one in update["messages"])
        messages = [one for one in messages if not _is_known(one, known.get(one.id), as_data)]
        if back is not None:
            messages.extend(create_handoff_back_messages(agent.name, back))
        return {**update, "messages": messages}

    def work(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return seen(state, agent.invoke(state, config))

    async def awork(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return seen(state, await agent.ainvoke(state, config))

    return RunnableLambda(work, awork, name=agent.name)


def _is_known(message: Any, known: Any, as_data: bool) -> bool:
    """Whether a message of an agent is one that it was shown, as it was; of one that a server told
    as data, only the id says so."""
    if as_data:
        return None not in (message.id, known) and kind_of(message) != "remove"
    return known == message


__all__ = ["OutputMode", "create_supervisor"]
