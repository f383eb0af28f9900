"""What an agent decides (`AgentAction`, `AgentFinish`), and what came of it (`AgentStep`).

They are pydantic models, as users know them: built by position too, and written by `plait.load`.
"""

import json
from collections.abc import Hashable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, SerializeAsAny

from plait.load.serializable import Serializable
from plait.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage
from plait.messages.foreign import is_message
from plait.messages.stamp import digest


def _messages(given: Any) -> Any:
    """Messages as they are; anything else is refused with what is wanted."""
    items: list[Any] = list(given)
    for one in items:
        if not is_message(one):
            raise ValueError(f"message_log holds messages, got {type(one).__name__}: {one!r}")
    return items


class _Written(Serializable):
    """What `plait.load.dumps` writes under the id that the field knows it by."""

    __plait_namespace__ = ("langchain", "schema", "agent")

    def __repr_args__(self) -> Any:
        return [(name, value) for name, value in super().__repr_args__() if name != "type"]


class AgentAction(_Written):
    """An agent wants a tool to be called.

    >>> AgentAction("search", "cats", "I should look that up.").tool
    'search'
    """

    tool: str
    """The name of the tool."""
    tool_input: str | dict[Any, Any]
    """Its arguments, or a text where it has one."""
    log: str
    """What the agent said that came to this: text of the model, for the next prompt and people."""
    type: Literal["AgentAction"] = "AgentAction"

    def __init__(self, tool: str, tool_input: str | dict[Any, Any], log: str, **kwargs: Any):
        fields: dict[str, Any] = {"tool": tool, "tool_input": tool_input, "log": log, **kwargs}
        super().__init__(**fields)

    def __plait_stamp__(self) -> Hashable:
        """A token that changes with anything inside (see `plait.checkpoint.log.stamps`)."""
        return digest(self.__dict__)

    @property
    def messages(self) -> Sequence[BaseMessage]:
        """The action as messages."""
        return [AIMessage(self.log)]


class AgentActionMessageLog(AgentAction):
    """An action with the messages that it was read from, for models that are shown those again."""

    message_log: Annotated[Sequence[Any], BeforeValidator(_messages)]
    type: Literal["AgentActionMessageLog"] = "AgentActionMessageLog"  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def messages(self) -> Sequence[BaseMessage]:
        """The messages that the action was read from."""
        return self.message_log


class ToolAgentAction(AgentActionMessageLog):
    """An action that came as a tool call, which its result must answer by the call's id."""

    tool_call_id: str | None


class AgentStep(Serializable):
    """An action and what its tool gave back."""

    action: SerializeAsAny[AgentAction]
    observation: Any

    def __plait_stamp__(self) -> Hashable:
        """A token that changes with anything inside (see `plait.checkpoint.log.stamps`)."""
        return (self.action.__plait_stamp__(), digest(self.observation))

    @property
    def messages(self) -> Sequence[BaseMessage]:
        """The observation as the message that tells the model of it."""
        text = as_text(self.observation)
        if isinstance(self.action, AgentActionMessageLog):
            return [FunctionMessage(text, name=self.action.tool)]
        return [HumanMessage(text)]


class AgentFinish(_Written):
    """An agent is done.

    >>> AgentFinish({"output": "42"}, "It is 42.").return_values
    {'output': '42'}
    """

    return_values: dict[Any, Any]
    """What the caller gets."""
    log: str
    """What the agent said, for people."""
    type: Literal["AgentFinish"] = "AgentFinish"

    def __init__(self, return_values: dict[Any, Any], log: str, **kwargs: Any):
        fields: dict[str, Any] = {"return_values": return_values, "log": log, **kwargs}
        super().__init__(**fields)

    @property
    def messages(self) -> Sequence[BaseMessage]:
        """The end as messages."""
        return [AIMessage(self.log)]


def as_text(observation: Any) -> str:
    """An observation as a model reads it: text as it is, else JSON, else `str()`.

    >>> as_text("a"), as_text({"b": "é"}), as_text({1, 1})
    ('a', '{"b": "é"}', '{1}')
    """
    if isinstance(observation, str):
        return observation
    try:
        return json.dumps(observation, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(observation)


__all__ = [
    "AgentAction",
    "AgentActionMessageLog",
    "AgentFinish",
    "AgentStep",
    "ToolAgentAction",
    "as_text",
]
