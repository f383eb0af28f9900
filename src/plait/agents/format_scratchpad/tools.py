"""`format_to_tool_messages`: steps as tool calls and their answers."""

from plait.agents.actions import ToolAgentAction, as_text
from plait.agents.format_scratchpad.steps import Steps
from plait.messages import AIMessage, BaseMessage, ToolMessage


def format_to_tool_messages(intermediate_steps: Steps) -> list[BaseMessage]:
    """The steps as tool calls and the messages that answer them.

    Calls that came in one message are shown in that one message.

    >>> said = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "7"}])
    >>> one = ToolAgentAction("add", {"a": 1}, "", message_log=[said], tool_call_id="7")
    >>> [message.type for message in format_to_tool_messages([(one, 2)])]
    ['ai', 'tool']
    """
    messages: list[BaseMessage] = []
    for action, observation in intermediate_steps:
        if isinstance(action, ToolAgentAction):
            messages.extend(one for one in action.message_log if one not in messages)
            messages.append(
                ToolMessage(
                    as_text(observation),
                    tool_call_id=action.tool_call_id,
                    additional_kwargs={"name": action.tool},
                )
            )
        else:
            messages.append(AIMessage(action.log))
    return messages


__all__ = ["format_to_tool_messages"]
