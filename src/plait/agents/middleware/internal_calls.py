"""What tells the calls of a model that a middleware makes for itself from those of the agent."""

from typing import Literal

from plait.runnables.config import RunnableConfig


def internal_call(
    source: Literal["summarization", "tool_emulation", "tool_selection"],
) -> RunnableConfig:
    """The config of such a call: `lc_source` in the metadata says what it is for.

    >>> internal_call("summarization")
    {'metadata': {'lc_source': 'summarization'}}
    """
    return {"metadata": {"lc_source": source}}
