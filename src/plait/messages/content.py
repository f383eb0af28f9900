"""The typed dicts of messages: content blocks, tool calls, token counts.

Loaded on demand: they are annotations, and their base (that of `typing_extensions`, which
pydantic asks for) is slow to import.
"""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from plait.common.lazy import lazily


class Citation(TypedDict):
    """Where a text comes from."""

    type: Literal["citation"]
    id: NotRequired[str]
    url: NotRequired[str]
    title: NotRequired[str]
    start_index: NotRequired[int]
    end_index: NotRequired[int]
    cited_text: NotRequired[str]
    extras: NotRequired[dict[str, Any]]


class NonStandardAnnotation(TypedDict):
    """A provider's own annotation."""

    type: Literal["non_standard_annotation"]
    id: NotRequired[str]
    value: dict[str, Any]


class TextContentBlock(TypedDict):
    """Text."""

    type: Literal["text"]
    id: NotRequired[str]
    text: str
    annotations: NotRequired[list[Citation | NonStandardAnnotation]]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ReasoningContentBlock(TypedDict):
    """What a model thought."""

    type: Literal["reasoning"]
    id: NotRequired[str]
    reasoning: NotRequired[str]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ImageContentBlock(TypedDict):
    """An image, by url, data or file id."""

    type: Literal["image"]
    id: NotRequired[str]
    file_id: NotRequired[str]
    mime_type: NotRequired[str]
    index: NotRequired[int | str]
    url: NotRequired[str]
    base64: NotRequired[str]
    extras: NotRequired[dict[str, Any]]


class VideoContentBlock(TypedDict):
    """A video, by url, data or file id."""

    type: Literal["video"]
    id: NotRequired[str]
    file_id: NotRequired[str]
    mime_type: NotRequired[str]
    index: NotRequired[int | str]
    url: NotRequired[str]
    base64: NotRequired[str]
    extras: NotRequired[dict[str, Any]]


class AudioContentBlock(TypedDict):
    """A sound, by url, data or file id."""

    type: Literal["audio"]
    id: NotRequired[str]
    file_id: NotRequired[str]
    mime_type: NotRequired[str]
    index: NotRequired[int | str]
    url: NotRequired[str]
    base64: NotRequired[str]
    extras: NotRequired[dict[str, Any]]


class PlainTextContentBlock(TypedDict):
    """A text document, by url, data or file id."""

    type: Literal["text-plain"]
    id: NotRequired[str]
    file_id: NotRequired[str]
    mime_type: Literal["text/plain"]
    index: NotRequired[int | str]
    url: NotRequired[str]
    base64: NotRequired[str]
    text: NotRequired[str]
    title: NotRequired[str]
    context: NotRequired[str]
    extras: NotRequired[dict[str, Any]]


class FileContentBlock(TypedDict):
    """A file of any other kind."""

    type: Literal["file"]
    id: NotRequired[str]
    file_id: NotRequired[str]
    mime_type: NotRequired[str]
    index: NotRequired[int | str]
    url: NotRequired[str]
    base64: NotRequired[str]
    extras: NotRequired[dict[str, Any]]


class NonStandardContentBlock(TypedDict):
    """A provider's own block, kept as it is."""

    type: Literal["non_standard"]
    id: NotRequired[str]
    value: dict[str, Any]
    index: NotRequired[int | str]


class ServerToolCall(TypedDict):
    """A tool call that the provider runs itself."""

    type: Literal["server_tool_call"]
    id: str
    name: str
    args: dict[str, Any]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ServerToolCallChunk(TypedDict):
    """A piece of a streamed server tool call."""

    type: Literal["server_tool_call_chunk"]
    name: NotRequired[str]
    args: NotRequired[str]
    id: NotRequired[str]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ServerToolResult(TypedDict):
    """The result of a server tool call."""

    type: Literal["server_tool_result"]
    id: NotRequired[str]
    tool_call_id: str
    status: Literal["success", "error"]
    output: NotRequired[Any]
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class ToolCall(TypedDict):
    """A request of a model to call a tool."""

    name: str
    args: dict[str, Any]
    id: str | None
    type: NotRequired[Literal["tool_call"]]


class ToolCallChunk(TypedDict):
    """A piece of a streamed tool call; `args` is JSON that may be cut off."""

    name: str | None
    args: str | None
    id: str | None
    index: int | None
    type: NotRequired[Literal["tool_call_chunk"]]


class InvalidToolCall(TypedDict):
    """A tool call whose arguments could not be read."""

    type: Literal["invalid_tool_call"]
    id: str | None
    name: str | None
    args: str | None
    error: str | None
    index: NotRequired[int | str]
    extras: NotRequired[dict[str, Any]]


class InputTokenDetails(TypedDict, total=False):
    """Counts of kinds of input tokens."""

    audio: int
    cache_creation: int
    cache_read: int


class OutputTokenDetails(TypedDict, total=False):
    """Counts of kinds of output tokens."""

    audio: int
    reasoning: int


class UsageMetadata(TypedDict):
    """Token counts of a model call."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_token_details: NotRequired[InputTokenDetails]
    output_token_details: NotRequired[OutputTokenDetails]


class NotificationMetadata(TypedDict):
    """Who added a message that no person typed, and its data."""

    source: str
    data: NotRequired[dict[str, Any]]


Annotation = Citation | NonStandardAnnotation
DataContentBlock = (
    ImageContentBlock
    | VideoContentBlock
    | AudioContentBlock
    | PlainTextContentBlock
    | FileContentBlock
)
ToolContentBlock = (
    ToolCall | ToolCallChunk | ServerToolCall | ServerToolCallChunk | ServerToolResult
)
ContentBlock = (
    TextContentBlock
    | InvalidToolCall
    | ReasoningContentBlock
    | NonStandardContentBlock
    | DataContentBlock
    | ToolContentBlock
)

# The peer's paths of what makes them.
_MAKERS = (
    "create_audio_block",
    "create_citation",
    "create_file_block",
    "create_image_block",
    "create_non_standard_block",
    "create_plaintext_block",
    "create_reasoning_block",
    "create_text_block",
    "create_tool_call",
    "create_video_block",
)
__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(_MAKERS, "plait.messages.creating"),
        **dict.fromkeys(("KNOWN_BLOCK_TYPES", "is_data_content_block"), "plait.messages.blocks"),
    },
)
