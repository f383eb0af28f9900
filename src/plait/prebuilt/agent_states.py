"""States of agents as pydantic models: apart, because they load pydantic."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator

from plait.graph.message import add_messages
from plait.managed import RemainingSteps
from plait.messages import AnyMessage
from plait.messages.convert import convert_to_messages


def _messages(given: Any) -> list[Any]:
    """Messages in any form that `add_messages` takes."""
    return convert_to_messages(cast("list[Any]", given) if isinstance(given, list) else [given])


StructuredResponse: TypeAlias = dict[str, Any] | BaseModel
"""An answer in the form of a schema."""
StructuredResponseSchema: TypeAlias = dict[str, Any] | type[BaseModel]
"""What says which form an answer has."""


class AgentStatePydantic(BaseModel):
    """The state of an agent, checked by pydantic."""

    messages: Annotated[Sequence[AnyMessage], BeforeValidator(_messages), add_messages]
    remaining_steps: RemainingSteps = 25


class AgentStateWithStructuredResponsePydantic(AgentStatePydantic):
    """The same, with the answer in the form of a schema."""

    structured_response: Any


__all__ = [
    "AgentStatePydantic",
    "AgentStateWithStructuredResponsePydantic",
    "StructuredResponse",
    "StructuredResponseSchema",
]
