"""`HumanMessage`: what a person says."""

from typing import Literal

from plait.messages.base import BaseMessage, BaseMessageChunk


class HumanMessage(BaseMessage):
    """What a person says.

    >>> HumanMessage("hi", id="1")
    HumanMessage(content='hi', additional_kwargs={}, response_metadata={}, id='1')
    """

    __slots__ = ()
    type: Literal["human"] = "human"  # pyright: ignore[reportIncompatibleVariableOverride]


class HumanMessageChunk(HumanMessage, BaseMessageChunk):
    """A piece of a streamed `HumanMessage`."""

    __slots__ = ()
    type: Literal["HumanMessageChunk"] = "HumanMessageChunk"  # pyright: ignore[reportIncompatibleVariableOverride]
