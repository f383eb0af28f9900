"""A swarm: agents that hand off to each other, and a thread that knows who was active last."""

from collections.abc import Sequence
from typing import Annotated, Any

from typing_extensions import get_type_hints

from plait.agents.handoffs import (
    DESTINATION,
    carried_along,
    check_destinations,
    described,
    destination_of,
    handoffs_of,
    messages_of,
    names_of,
    tool_name,
    transferred,
)
from plait.constants import START
from plait.errors import ConfigError, nearest
from plait.graph.message import MessagesState
from plait.graph.state import StateGraph
from plait.messages import ToolMessage
from plait.prebuilt.agent_nodes import value_of
from plait.prebuilt.injection import InjectedState, ToolRuntime
from plait.tools import BaseTool, InjectedToolCallId, tool
from plait.types import Command


class SwarmState(MessagesState):
    """The state of a swarm."""

    active_agent: str | None
    """Who goes on with the next message; None: the default agent."""


def create_handoff_tool(
    *, agent_name: str, name: str | None = None, description: str | None = None
) -> BaseTool:
    """A tool by which an agent of a swarm hands the conversation over to another.

    The other agent sees the whole conversation. If the message that calls this tool calls more,
    their answers are not waited for, and the conversation says so; of several handoffs, the first
    counts.

    Args:
        agent_name: The other agent: the name of its node.
        name: The tool's; by default `transfer_to_<agent>`.
        description: What the agent's model reads.

    >>> create_handoff_tool(agent_name="Bob").name
    'transfer_to_bob'
    """
    name = name or tool_name("transfer_to_", agent_name)

    @tool(name, description=description or described(agent_name))
    def hand_off(
        state: Annotated[Any, InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime[Any, Any],
    ) -> Any:
        messages = messages_of(state)
        if tool_call_id != _first_handoff(messages[-1], runtime.tools, tool_call_id):
            return "Another handoff of the same message came first."
        answer = transferred(agent_name, name, tool_call_id)
        left = [
            ToolMessage(
                f"The answer was not waited for: the conversation went on with {agent_name}.",
                name=call["name"],
                tool_call_id=call["id"],
                status="error",
            )
            for call in getattr(messages[-1], "tool_calls", ())
            if call["id"] != tool_call_id
        ]
        return Command(
            goto=agent_name,
            graph=Command.PARENT,
            update={
                **carried_along(state),
                "messages": [*messages, *left, answer],
                "active_agent": agent_name,
            },
        )

    hand_off.metadata = {DESTINATION: agent_name}
    return hand_off


def _first_handoff(message: Any, tools: Sequence[Any], default: str) -> str:
    """The id of the first call of a message that hands off: only that one counts."""
    handoffs = {one.name for one in tools if destination_of(one) is not None}
    ids = (call["id"] for call in getattr(message, "tool_calls", ()) if call["name"] in handoffs)
    return next(ids, default)


def add_active_agent_router(
    builder: StateGraph[Any], *, route_to: list[str], default_active_agent: str
) -> StateGraph[Any]:
    """Let a graph begin with the agent that was active last.

    Args:
        builder: A graph whose state has `active_agent` (see `SwarmState`).
        route_to: The agents.
        default_active_agent: The one to begin with while none was active.

    Returns:
        The graph.

    Raises:
        ConfigError: The state has no `active_agent`, or the default is none of the agents.
    """
    if "active_agent" not in builder.channels:
        raise ConfigError(
            "The state of a swarm needs the key 'active_agent': derive it from SwarmState. It has "
            f"{', '.join(map(repr, builder.channels))}."
        )
    if default_active_agent not in route_to:
        raise ConfigError(
            f"The default agent {default_active_agent!r} is none of the agents. "
            f"{nearest(default_active_agent, route_to)}"
        )

    def active_agent(state: Any) -> str:
        return value_of(state, "active_agent") or default_active_agent

    builder.add_conditional_edges(START, active_agent, list(route_to))
    return builder


def create_swarm(
    agents: Sequence[Any],
    *,
    default_active_agent: str,
    state_schema: Any = SwarmState,
    context_schema: type[Any] | None = None,
) -> StateGraph[Any]:
    """A swarm of agents that hand off to each other (see `create_handoff_tool`).

    Args:
        agents: Compiled graphs with names, over messages.
        default_active_agent: Who begins a conversation.
        state_schema: A state with `messages` and `active_agent`.
        context_schema: The type of `runtime.context`.

    Returns:
        The graph, to be compiled. With a checkpointer, the next message of a thread goes to the
        agent that was active last.

    Raises:
        ConfigError: An agent has no name or another's, the state has no `active_agent`, or the
            default is none of the agents.
        UnknownNodeError: A handoff tool of an agent leads to none of the agents.
    """
    names = names_of(agents)
    if "active_agent" not in get_type_hints(state_schema):
        raise ConfigError(
            "The state of a swarm needs the key 'active_agent': derive "
            f"{state_schema.__name__} from SwarmState."
        )
    builder = StateGraph(state_schema, context_schema=context_schema)
    add_active_agent_router(builder, route_to=names, default_active_agent=default_active_agent)
    for name, agent in zip(names, agents, strict=True):
        handoffs = handoffs_of(agent)
        check_destinations(handoffs, names, f"agent {name!r}")
        builder.add_node(name, agent, destinations=tuple(dict.fromkeys(handoffs.values())))
    return builder


__all__ = ["SwarmState", "add_active_agent_router", "create_handoff_tool", "create_swarm"]
