"""`format_to_openai_function_messages`: steps as function calls and their results."""

from plait.agents.actions import AgentActionMessageLog, as_text
from plait.agents.format_scratchpad.steps import Steps
from plait.messages import AIMessage, BaseMessage, FunctionMessage


def format_to_openai_function_messages(intermediate_steps: Steps) -> list[BaseMessage]:
    """The steps as function calls and their results, in the form that came before tool calls."""
    messages: list[BaseMessage] = []
    for action, observation in intermediate_steps:
        if isinstance(action, AgentActionMessageLog):
            messages.extend(action.message_log)
            messages.append(FunctionMessage(as_text(observation), name=action.tool))
        else:
            messages.append(AIMessage(action.log))
    return messages


format_to_openai_functions = format_to_openai_function_messages
"""An older name."""


__all__ = ["format_to_openai_function_messages", "format_to_openai_functions"]
