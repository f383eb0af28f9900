"""`format_log_to_messages`: steps as a conversation."""

from plait.agents.format_scratchpad.steps import Steps
from plait.messages import AIMessage, BaseMessage, HumanMessage


def format_log_to_messages(
    intermediate_steps: Steps, template_tool_response: str = "{observation}"
) -> list[BaseMessage]:
    """The steps as a conversation: what the model said, and its observations as a person's words.

    Args:
        intermediate_steps: The steps.
        template_tool_response: The words, with `{observation}` in them.
    """
    messages: list[BaseMessage] = []
    for action, observation in intermediate_steps:
        messages.append(AIMessage(action.log))
        messages.append(HumanMessage(template_tool_response.format(observation=observation)))
    return messages


__all__ = ["format_log_to_messages"]
