"""Handoffs from a supervisor to its agents and back: their tools, and the messages that tell."""

from typing import Annotated, Any

from plait.agents.handoffs import (
    DESTINATION,
    carried_along,
    described,
    messages_of,
    tool_name,
    transferred,
)
from plait.common.ids import new_id
from plait.constants import END
from plait.messages import AIMessage, ToolMessage
from plait.messages.foreign import kind_of
from plait.prebuilt.injection import InjectedState
from plait.tools import BaseTool, InjectedToolCallId, tool
from plait.types import Command, Send

METADATA_KEY_HANDOFF_DESTINATION = DESTINATION
METADATA_KEY_IS_HANDOFF_BACK = "__is_handoff_back"


def create_handoff_tool(
    *,
    agent_name: str,
    name: str | None = None,
    description: str | None = None,
    add_handoff_messages: bool = True,
) -> BaseTool:
    """A tool by which a supervisor hands off to one of its agents.

    Args:
        agent_name: The agent: the name of its node.
        name: The tool's; by default `transfer_to_<agent>`.
        description: What the supervisor's model reads.
        add_handoff_messages: The handoff stays in the conversation: the tool call, and a message
            that answers it.

    Returns:
        The tool.

    >>> create_handoff_tool(agent_name="math").name
    'transfer_to_math'
    """
    name = name or tool_name("transfer_to_", agent_name)

    @tool(name, description=description or described(agent_name))
    def hand_off(
        state: Annotated[Any, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command[Any]:
        messages = messages_of(state)
        asked, rest = messages[-1], carried_along(state)
        answer = transferred(agent_name, name, tool_call_id)
        alone = len(asked.tool_calls) == 1
        told = messages[:-1]
        if add_handoff_messages:
            told = [*told, asked if alone else _only(asked, tool_call_id), answer]
        if alone:
            return Command(goto=agent_name, graph=Command.PARENT, update={**rest, "messages": told})
        return Command(goto=[Send(agent_name, {**rest, "messages": told})], graph=Command.PARENT)

    hand_off.metadata = {DESTINATION: agent_name}
    return hand_off


def _only(message: Any, call_id: str) -> Any:
    """A message with one of its tool calls: what the agent that is called is shown of it."""
    calls = [call for call in message.tool_calls if call["id"] == call_id]
    return message.model_copy(update={"tool_calls": calls})


def create_handoff_back_messages(
    agent_name: str, supervisor_name: str
) -> tuple[AIMessage, ToolMessage]:
    """The messages that tell that an agent is done and its supervisor goes on."""
    call_id = new_id()
    name = tool_name("transfer_back_to_", supervisor_name)
    is_back = {METADATA_KEY_IS_HANDOFF_BACK: True}
    return (
        AIMessage(
            f"Transferring back to {supervisor_name}",
            name=agent_name,
            tool_calls=[{"name": name, "args": {}, "id": call_id, "type": "tool_call"}],
            response_metadata=is_back,
        ),
        ToolMessage(
            f"Successfully transferred back to {supervisor_name}",
            name=name,
            tool_call_id=call_id,
            response_metadata=is_back,
        ),
    )


def create_forward_message_tool(supervisor_name: str = "supervisor") -> BaseTool:
    """A tool by which a supervisor gives an agent's last message as its own answer, word by word.

    Args:
        supervisor_name: Who signs the answer.
    """

    @tool(
        "forward_message",
        description="Give the last message of an agent (from_agent is its name) to the user as it "
        "is, as the final answer. Use this when that message answers the user in full, instead of "
        "saying it again.",
    )
    def forward(from_agent: str, state: Annotated[Any, InjectedState]) -> Any:
        said = [one for one in messages_of(state) if kind_of(one) == "ai"]
        wanted = from_agent.lower()
        for message in reversed(said):
            if (message.name or "").lower() == wanted and not _is_back(message):
                answer = AIMessage(message.content, name=supervisor_name, id=new_id())
                return Command(graph=Command.PARENT, goto=END, update={"messages": [answer]})
        names = {message.name for message in said if message.name}
        return f"Could not find message from source agent {from_agent}. Found names: {names}"

    return forward


def _is_back(message: Any) -> bool:
    return METADATA_KEY_IS_HANDOFF_BACK in message.response_metadata


__all__ = [
    "METADATA_KEY_HANDOFF_DESTINATION",
    "METADATA_KEY_IS_HANDOFF_BACK",
    "create_forward_message_tool",
    "create_handoff_back_messages",
    "create_handoff_tool",
]
