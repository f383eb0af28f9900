"""What all handoffs share: how their tools are named and marked, and where they may lead."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from plait.errors import ConfigError, UnknownNodeError, nearest
from plait.messages import ToolMessage
from plait.prebuilt.agent_nodes import value_of
from plait.prebuilt.tool_node import ToolNode
from plait.pregel.scope import TaskScope
from plait.scope import current_scope

DESTINATION = "__handoff_destination"
"""The key of a tool's metadata, and of its message's, that names the agent it hands off to."""


def destination_of(tool: Any) -> str | None:
    """The agent that a tool hands off to; None if it is no handoff tool."""
    metadata: Any = getattr(tool, "metadata", None)
    return cast("dict[str, Any]", metadata).get(DESTINATION) if metadata else None


def tool_name(prefix: str, agent: str) -> str:
    """The name of the tool that hands off to an agent.

    >>> tool_name("transfer_to_", "Math Expert")
    'transfer_to_math_expert'
    """
    return prefix + re.sub(r"\s+", "_", agent.strip()).lower()


def described(agent: str) -> str:
    """What models read about a handoff, unless there is something better to say."""
    return f"Ask agent '{agent}' for help"


def transferred(agent: str, tool: str, call_id: str) -> ToolMessage:
    """The message that answers the call of a handoff tool."""
    return ToolMessage(
        f"Successfully transferred to {agent}",
        name=tool,
        tool_call_id=call_id,
        response_metadata={DESTINATION: agent},
    )


def names_of(agents: Iterable[Any]) -> list[str]:
    """The names of agents, which are those of their nodes.

    Raises:
        ConfigError: One has none, or two have the same.
    """
    names: list[str] = []
    for agent in agents:
        name = getattr(agent, "name", None)
        if name is None or name == "LangGraph":
            raise ConfigError(
                f"Each agent needs a name, and {agent!r} has none. Give it one: "
                "create_agent(..., name=...), create_react_agent(..., name=...) or "
                "graph.compile(name=...)."
            )
        if name in names:
            raise ConfigError(f"Two agents are called {name!r}: their names must be unique.")
        names.append(name)
    return names


def handoffs_of(agent: Any) -> dict[str, str]:
    """The handoff tools of an agent, as far as it shows them: name of the tool to destination."""
    nodes: Any = getattr(agent, "nodes", None)
    if not isinstance(nodes, Mapping):
        return {}
    node = getattr(cast("Mapping[str, Any]", nodes).get("tools"), "bound", None)
    if not isinstance(node, ToolNode):
        return {}
    found = {name: destination_of(tool) for name, tool in node.tools_by_name.items()}
    return {name: agent for name, agent in found.items() if agent is not None}


def check_destinations(tools: Mapping[str, str], agents: Sequence[str], whose: str) -> None:
    """Check that handoffs lead somewhere.

    Args:
        tools: Names of handoff tools, each with the agent it leads to.
        agents: The agents that there are.
        whose: Who has the tools.

    Raises:
        UnknownNodeError: A tool leads to an agent that is not there.
    """
    for tool, agent in tools.items():
        if agent not in agents:
            raise UnknownNodeError(
                f"Tool {tool!r} of {whose} hands off to {agent!r}, which is none of the agents. "
                f"{nearest(agent, agents)}"
            )


def carried_along(state: Any) -> dict[str, Any]:
    """What a handoff takes along besides messages: the keys that the graph around knows too.

    So what the tools and hooks of an agent have changed is not lost, and its own affairs stay its
    own.
    """
    scope = current_scope.get()
    parent = scope.run.parent if isinstance(scope, TaskScope) else None
    if parent is None:
        return {}
    kept = cast("Mapping[str, Any]", state if isinstance(state, Mapping) else vars(state))
    known = parent.run.graph.channels
    return {name: value for name, value in kept.items() if name in known and name != "messages"}


def messages_of(state: Any) -> list[Any]:
    """The messages of a state."""
    return list(value_of(state, "messages"))


__all__ = [
    "DESTINATION",
    "carried_along",
    "check_destinations",
    "described",
    "destination_of",
    "handoffs_of",
    "messages_of",
    "names_of",
    "tool_name",
    "transferred",
]
