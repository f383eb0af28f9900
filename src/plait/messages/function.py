"""`FunctionMessage`: the result of a function call, in the form that came before tools."""

from typing import Any, Literal

from plait.messages.base import BaseMessage, BaseMessageChunk
from plait.messages.fields import Field, check_str


class FunctionMessage(BaseMessage):
    """The result of a function call; `name` is the function. `ToolMessage` is its successor."""

    __slots__ = ()
    type: Literal["function"] = "function"  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = Field("name", required=True, check=check_str, json={"type": "string"})  # pyright: ignore


class FunctionMessageChunk(FunctionMessage, BaseMessageChunk):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A piece of a streamed `FunctionMessage`."""

    __slots__ = ()
    type: Literal["FunctionMessageChunk"] = "FunctionMessageChunk"  # pyright: ignore[reportIncompatibleVariableOverride]

    def __plait_combine__(self, made: Any, rare: dict[str, Any], pieces: list[Any]) -> None:
        if any(isinstance(p, FunctionMessageChunk) and p.name != self.name for p in pieces):
            raise ValueError("Cannot concatenate FunctionMessageChunks with different names.")
