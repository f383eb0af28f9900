"""`RunCollectorCallbackHandler`, where LangChain has it."""

from plait.tracing.run_collector import RunCollectorCallbackHandler

__all__ = ["RunCollectorCallbackHandler"]
