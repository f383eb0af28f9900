"""`BaseTracer`, where LangChain has it."""

from plait.tracing.runs import BaseTracer

__all__ = ["BaseTracer"]
