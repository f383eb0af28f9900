"""The state of an agent, and the marks that keep a key of it out of its input or its output."""

from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated, Any, Generic, Literal, NotRequired, Required

from typing_extensions import TypedDict, TypeVar

from plait.channels.ephemeral_value import EphemeralValue
from plait.graph.message import add_messages
from plait.messages import AnyMessage
from plait.messages.foreign import kind_of

JumpTo = Literal["tools", "model", "end"]
"""Where a hook may send the agent: set `jump_to` in the update that it returns."""

ResponseT = TypeVar("ResponseT", default=Any)
"""The type of the structured response."""


@dataclass
class OmitFromSchema:
    """Marks a key of an agent's state as no part of its input, its output or both.

    >>> class Counted(AgentState):
    ...     calls: Annotated[int, PrivateStateAttr]
    """

    input: bool = True
    """The caller cannot give the key."""
    output: bool = True
    """The caller does not get the key."""


OmitFromInput = OmitFromSchema(input=True, output=False)
"""The agent makes the key, and its caller gets it."""
OmitFromOutput = OmitFromSchema(input=False, output=True)
"""The caller gives the key, and does not get it back."""
PrivateStateAttr = OmitFromSchema(input=True, output=True)
"""The key is the agent's own."""


class AgentState(TypedDict, Generic[ResponseT]):
    """The state of an agent. Derive from it to keep more."""

    messages: Required[Annotated[list[AnyMessage], add_messages]]
    jump_to: NotRequired[Annotated[JumpTo | None, EphemeralValue, PrivateStateAttr]]
    structured_response: NotRequired[Annotated[ResponseT, OmitFromInput]]


class InputAgentState(TypedDict):
    """What an agent is called with."""

    messages: Required[Annotated[list[AnyMessage | dict[str, Any]], add_messages]]


class OutputAgentState(TypedDict, Generic[ResponseT]):
    """What an agent gives back."""

    messages: Required[Annotated[list[AnyMessage], add_messages]]
    structured_response: NotRequired[ResponseT]


def answered_calls(state: Any) -> set[Any]:
    """The ids of the model's last calls that have an answer already: another hook has given it."""
    since = takewhile(lambda one: kind_of(one) != "ai", reversed(state["messages"]))
    return {one.tool_call_id for one in since if kind_of(one) == "tool"}


__all__ = [
    "AgentState",
    "InputAgentState",
    "JumpTo",
    "OmitFromInput",
    "OmitFromOutput",
    "OmitFromSchema",
    "OutputAgentState",
    "PrivateStateAttr",
    "ResponseT",
    "answered_calls",
]
