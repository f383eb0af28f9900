"""`ConsoleCallbackHandler`, where LangChain has it."""

from plait.tracing.console import ConsoleCallbackHandler

__all__ = ["ConsoleCallbackHandler"]
