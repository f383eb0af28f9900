"""`FileCallbackHandler`, where LangChain has it."""

from plait.callbacks.printing import FileCallbackHandler

__all__ = ["FileCallbackHandler"]
