"""The names that programs import from `langchain_core.messages.utils`."""

from plait.messages import AnyMessage
from plait.messages.blocks import is_data_content_block
from plait.messages.buffer import get_buffer_string
from plait.messages.convert import (
    MessageLikeRepresentation,
    convert_to_messages,
    message_chunk_to_message,
    messages_from_dict,
)
from plait.messages.openai import convert_to_openai_data_block, convert_to_openai_messages
from plait.messages.select import filter_messages, merge_message_runs
from plait.messages.tokens import count_tokens_approximately
from plait.messages.trim import trim_messages

__all__ = [
    "AnyMessage",
    "MessageLikeRepresentation",
    "convert_to_messages",
    "convert_to_openai_data_block",
    "convert_to_openai_messages",
    "count_tokens_approximately",
    "filter_messages",
    "get_buffer_string",
    "is_data_content_block",
    "merge_message_runs",
    "message_chunk_to_message",
    "messages_from_dict",
    "trim_messages",
]
