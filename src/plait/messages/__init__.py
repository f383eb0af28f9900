"""Messages: what people, models and tools say, as LangChain knows it.

    >>> from plait.messages import AIMessage, HumanMessage
    >>> HumanMessage("hi") == HumanMessage("hi")
    True

Importing this package imports neither pydantic nor asyncio; what few programs need (content block
types, trimming, conversion for OpenAI) is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily
from plait.messages.ai import (
    LC_AUTO_PREFIX,
    LC_ID_PREFIX,
    AIMessage,
    AIMessageChunk,
    add_ai_message_chunks,
)
from plait.messages.any_message import AnyMessage
from plait.messages.base import BaseMessage, BaseMessageChunk
from plait.messages.calls import invalid_tool_call, tool_call, tool_call_chunk
from plait.messages.chat import ChatMessage, ChatMessageChunk
from plait.messages.convert import (
    MessageLikeRepresentation,
    convert_to_messages,
    message_chunk_to_message,
    message_from_dict,
    message_to_dict,
    messages_from_dict,
    messages_to_dict,
)
from plait.messages.errors import InvalidMessageError, MessageCoercionError
from plait.messages.function import FunctionMessage, FunctionMessageChunk
from plait.messages.human import HumanMessage, HumanMessageChunk
from plait.messages.merge import merge_content
from plait.messages.modifier import RemoveMessage
from plait.messages.system import SystemMessage, SystemMessageChunk
from plait.messages.tool import ToolMessage, ToolMessageChunk
from plait.messages.usage import add_usage, subtract_usage

_message_from_dict = message_from_dict  # a public name in langchain_core.messages

if TYPE_CHECKING:
    from plait.messages.blocks import ensure_id, is_data_content_block
    from plait.messages.buffer import get_buffer_string
    from plait.messages.content import (
        Annotation,
        AudioContentBlock,
        Citation,
        ContentBlock,
        DataContentBlock,
        FileContentBlock,
        ImageContentBlock,
        InputTokenDetails,
        InvalidToolCall,
        NonStandardAnnotation,
        NonStandardContentBlock,
        NotificationMetadata,
        OutputTokenDetails,
        PlainTextContentBlock,
        ReasoningContentBlock,
        ServerToolCall,
        ServerToolCallChunk,
        ServerToolResult,
        TextContentBlock,
        ToolCall,
        ToolCallChunk,
        UsageMetadata,
        VideoContentBlock,
    )
    from plait.messages.notification import add_notification_metadata, get_notification_metadata
    from plait.messages.openai import (
        convert_to_openai_data_block,
        convert_to_openai_image_block,
        convert_to_openai_messages,
    )
    from plait.messages.select import filter_messages, merge_message_runs
    from plait.messages.tokens import count_tokens_approximately
    from plait.messages.trim import trim_messages

LAZY = {
    "Annotation": "content",
    "AudioContentBlock": "content",
    "Citation": "content",
    "ContentBlock": "content",
    "DataContentBlock": "content",
    "FileContentBlock": "content",
    "ImageContentBlock": "content",
    "InputTokenDetails": "content",
    "InvalidToolCall": "content",
    "NonStandardAnnotation": "content",
    "NonStandardContentBlock": "content",
    "NotificationMetadata": "content",
    "OutputTokenDetails": "content",
    "PlainTextContentBlock": "content",
    "ReasoningContentBlock": "content",
    "ServerToolCall": "content",
    "ServerToolCallChunk": "content",
    "ServerToolResult": "content",
    "TextContentBlock": "content",
    "ToolCall": "content",
    "ToolCallChunk": "content",
    "UsageMetadata": "content",
    "VideoContentBlock": "content",
    "ensure_id": "blocks",
    "is_data_content_block": "blocks",
    "get_buffer_string": "buffer",
    "add_notification_metadata": "notification",
    "get_notification_metadata": "notification",
    "convert_to_openai_data_block": "openai",
    "convert_to_openai_image_block": "openai",
    "convert_to_openai_messages": "openai",
    "filter_messages": "select",
    "merge_message_runs": "select",
    "count_tokens_approximately": "tokens",
    "trim_messages": "trim",
}
"""Names that are loaded on demand, and the module that has them."""


__getattr__ = lazily(__name__, LAZY)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "LC_AUTO_PREFIX",
    "LC_ID_PREFIX",
    "AIMessage",
    "AIMessageChunk",
    "Annotation",
    "AnyMessage",
    "AudioContentBlock",
    "BaseMessage",
    "BaseMessageChunk",
    "ChatMessage",
    "ChatMessageChunk",
    "Citation",
    "ContentBlock",
    "DataContentBlock",
    "FileContentBlock",
    "FunctionMessage",
    "FunctionMessageChunk",
    "HumanMessage",
    "HumanMessageChunk",
    "ImageContentBlock",
    "InputTokenDetails",
    "InvalidMessageError",
    "InvalidToolCall",
    "MessageCoercionError",
    "MessageLikeRepresentation",
    "NonStandardAnnotation",
    "NonStandardContentBlock",
    "NotificationMetadata",
    "OutputTokenDetails",
    "PlainTextContentBlock",
    "ReasoningContentBlock",
    "RemoveMessage",
    "ServerToolCall",
    "ServerToolCallChunk",
    "ServerToolResult",
    "SystemMessage",
    "SystemMessageChunk",
    "TextContentBlock",
    "ToolCall",
    "ToolCallChunk",
    "ToolMessage",
    "ToolMessageChunk",
    "UsageMetadata",
    "VideoContentBlock",
    "_message_from_dict",
    "add_ai_message_chunks",
    "add_notification_metadata",
    "add_usage",
    "convert_to_messages",
    "convert_to_openai_data_block",
    "convert_to_openai_image_block",
    "convert_to_openai_messages",
    "count_tokens_approximately",
    "ensure_id",
    "filter_messages",
    "get_buffer_string",
    "get_notification_metadata",
    "invalid_tool_call",
    "is_data_content_block",
    "merge_content",
    "merge_message_runs",
    "message_chunk_to_message",
    "message_from_dict",
    "message_to_dict",
    "messages_from_dict",
    "messages_to_dict",
    "subtract_usage",
    "tool_call",
    "tool_call_chunk",
    "trim_messages",
]
