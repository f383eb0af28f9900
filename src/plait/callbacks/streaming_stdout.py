"""`StreamingStdOutCallbackHandler`, where LangChain has it."""

from plait.callbacks.printing import StreamingStdOutCallbackHandler

__all__ = ["StreamingStdOutCallbackHandler"]
