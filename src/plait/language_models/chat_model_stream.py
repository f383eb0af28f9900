"""What a chat model's stream of version 3 is, where LangChain has it."""

from plait.stream.model_stream import AsyncChatModelStream, ChatModelStream

__all__ = ["AsyncChatModelStream", "ChatModelStream"]
