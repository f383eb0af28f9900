"""`ToolMessage`: the result of a tool call. Also the constructors of tool calls."""

from __future__ import annotations

from typing import Any, Literal, cast

from plait.common.lazy import lazily
from plait.messages.base import BaseMessage, BaseMessageChunk
from plait.messages.calls import invalid_tool_call, tool_call, tool_call_chunk
from plait.messages.calls import read_openai_calls as default_tool_parser
from plait.messages.calls import read_openai_chunks as default_tool_chunk_parser
from plait.messages.fields import CONTENT_JSON, DICT_JSON, Field, check_dict, reject
from plait.messages.merge import Content, merge_obj


class ToolOutputMixin:
    """What a tool may return to be used as it is, without being wrapped in a `ToolMessage`."""

    __slots__ = ()


def check_tool_call_id(where: str, value: Any) -> str:
    """The id of a tool call; numbers and UUIDs become str."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (bool, list, dict)):
        raise reject(where, "a str", value)
    return str(value)


def check_status(where: str, value: Any) -> Any:
    """A status is success or error."""
    if value not in ("success", "error"):
        raise reject(where, "'success' or 'error'", value)
    return value


def tool_content(where: str, value: Any) -> Content:
    """A tool's result as content: whatever is neither text nor a block becomes text."""
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        return [i if isinstance(i, (str, dict)) else str(i) for i in items]
    return value if isinstance(value, str) else str(value)


class ToolMessage(BaseMessage, ToolOutputMixin):
    """The result of a tool call.

    Args:
        content: What the model reads; other values than text and blocks are turned into text.
        tool_call_id: The id of the call that this answers.
        artifact: What the program keeps of the result and the model does not see.
        status: "success" or "error".

    >>> ToolMessage("42", tool_call_id="1")
    ToolMessage(content='42', tool_call_id='1')
    """

    __slots__ = ()
    type: Literal["tool"] = "tool"  # pyright: ignore[reportIncompatibleVariableOverride]
    model_fields = {  # noqa: RUF012
        **BaseMessage.model_fields,
        "content": Field("content", required=True, check=tool_content, json=CONTENT_JSON),
    }
    # Every use of Field as a default below is a descriptor; its annotation is what it gives.
    additional_kwargs: dict[str, Any] = Field(  # pyright: ignore[reportAssignmentType]
        "additional_kwargs", factory=dict, shown=False, check=check_dict, json=DICT_JSON
    )
    response_metadata: dict[str, Any] = Field(  # pyright: ignore[reportAssignmentType]
        "response_metadata", factory=dict, shown=False, check=check_dict, json=DICT_JSON
    )
    tool_call_id: str = Field(  # pyright: ignore[reportAssignmentType]
        "tool_call_id",
        required=True,
        check=check_tool_call_id,
        json={"type": "string"},
        plain=str,
    )
    artifact: Any = Field("artifact")
    status: Literal["success", "error"] = Field(  # pyright: ignore[reportAssignmentType]
        "status",
        default="success",
        check=check_status,
        json={"enum": ["success", "error"], "type": "string"},
    )


class ToolMessageChunk(ToolMessage, BaseMessageChunk):
    """A piece of a streamed `ToolMessage`."""

    __slots__ = ()
    type: Literal["ToolMessageChunk"] = "ToolMessageChunk"  # pyright: ignore[reportIncompatibleVariableOverride]

    def __plait_combine__(self, made: Any, rare: dict[str, Any], pieces: list[Any]) -> None:
        for piece in pieces:
            if isinstance(piece, ToolMessageChunk):
                if piece.tool_call_id != self.tool_call_id:
                    raise ValueError(
                        "Cannot concatenate ToolMessageChunks with different tool call ids: "
                        f"{self.tool_call_id!r} and {piece.tool_call_id!r}."
                    )
                rare["artifact"] = merge_obj(rare.get("artifact"), piece.artifact)
                if piece.status == "error":
                    rare["status"] = "error"


_SHAPES = ("InvalidToolCall", "ToolCall", "ToolCallChunk")
__getattr__ = lazily(__name__, dict.fromkeys(_SHAPES, "plait.messages.content"))

__all__ = [
    "ToolMessage",
    "ToolMessageChunk",
    "ToolOutputMixin",
    "default_tool_chunk_parser",
    "default_tool_parser",
    "invalid_tool_call",
    "tool_call",
    "tool_call_chunk",
]
