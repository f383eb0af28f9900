"""`Run`, where LangChain has it."""

from plait.runnables.told_runs import Run

__all__ = ["Run"]
