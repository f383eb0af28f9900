"""`SystemMessage`: what the model is told to be."""

from typing import Literal

from plait.messages.base import BaseMessage, BaseMessageChunk


class SystemMessage(BaseMessage):
    """What the model is told to be.

    >>> SystemMessage("Be brief.", id="1")
    SystemMessage(content='Be brief.', additional_kwargs={}, response_metadata={}, id='1')
    """

    __slots__ = ()
    type: Literal["system"] = "system"  # pyright: ignore[reportIncompatibleVariableOverride]


class SystemMessageChunk(SystemMessage, BaseMessageChunk):
    """A piece of a streamed `SystemMessage`."""

    __slots__ = ()
    type: Literal["SystemMessageChunk"] = "SystemMessageChunk"  # pyright: ignore[reportIncompatibleVariableOverride]
