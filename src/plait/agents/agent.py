"""`AgentExecutor` and what it runs, where LangChain has them."""

from plait.agents.classic.base import (
    BaseMultiActionAgent,
    BaseSingleActionAgent,
    RunnableAgent,
    RunnableMultiActionAgent,
)
from plait.agents.classic.executor import AgentExecutor
from plait.agents.output_parsers.base import AgentOutputParser, MultiActionAgentOutputParser

__all__ = [
    "AgentExecutor",
    "AgentOutputParser",
    "BaseMultiActionAgent",
    "BaseSingleActionAgent",
    "MultiActionAgentOutputParser",
    "RunnableAgent",
    "RunnableMultiActionAgent",
]
