"""Agent scratchpads: what an agent did so far, as text or messages for its next prompt.

Each function takes the intermediate steps, pairs of an action and what its tool gave back.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from plait.agents.actions import AgentAction, AgentActionMessageLog, ToolAgentAction, as_text
from plait.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, ToolMessage

Steps: TypeAlias = Sequence[tuple[AgentAction, Any]]
"""Actions, each with what came of it."""


def format_log_to_str(
    intermediate_steps: Steps,
    observation_prefix: str = "Observation: ",
    llm_prefix: str = "Thought: ",
) -> str:
    """The steps as one text that ends where the model is to go on thinking.

    >>> format_log_to_str([(AgentAction("search", "cats", "Action: search"), "meow")])
    'Action: search\\nObservation: meow\\nThought: '
    """
    return "".join(
        f"{action.log}\n{observation_prefix}{observation}\n{llm_prefix}"
        for action, observation in intermediate_steps
    )


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


def format_xml(
    intermediate_steps: Steps, *, escape_format: Literal["minimal"] | None = "minimal"
) -> str:
    """The steps as XML: tools, what they were given, and what they gave back.

    Args:
        intermediate_steps: The steps.
        escape_format: "minimal": these tags inside a text are written as `[[tool]]`, and so on, so
            that a text cannot end its own; None: texts are written as they are.

    >>> format_xml([(AgentAction("search", "cats", ""), "<tool>meow</tool>")])
    '<tool>search</tool><tool_input>cats</tool_input><observation>[[tool]]meow[[/tool]]</observation>'
    """
    written = str if escape_format is None else _escaped
    return "".join(
        f"<tool>{written(action.tool)}</tool>"
        f"<tool_input>{written(as_text(action.tool_input))}</tool_input>"
        f"<observation>{written(as_text(observation))}</observation>"
        for action, observation in intermediate_steps
    )


_TAGS = "tool|tool_input|observation|final_answer"


def _escaped(text: str) -> str:
    return re.sub(rf"<(/?(?:{_TAGS}))>", r"[[\1]]", text)


def unescaped(text: str) -> str:
    """A text with the tags in it that `format_xml` has escaped."""
    return re.sub(rf"\[\[(/?(?:{_TAGS}))\]\]", r"<\1>", text)


format_to_openai_tool_messages = format_to_tool_messages
format_to_openai_functions = format_to_openai_function_messages

__all__ = [
    "format_log_to_messages",
    "format_log_to_str",
    "format_to_openai_function_messages",
    "format_to_openai_functions",
    "format_to_openai_tool_messages",
    "format_to_tool_messages",
    "format_xml",
    "unescaped",
]
