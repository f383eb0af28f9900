"""`RunInfo`, where LangChain has it."""

from plait.chat_models.results import RunInfo

__all__ = ["RunInfo"]
