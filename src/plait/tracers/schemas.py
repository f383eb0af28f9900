"""`Run`, where LangChain has it."""

from plait.runnables.listeners import Run

__all__ = ["Run"]
