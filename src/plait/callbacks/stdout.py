"""`StdOutCallbackHandler`, where LangChain has it."""

from plait.callbacks.printing import StdOutCallbackHandler

__all__ = ["StdOutCallbackHandler"]
