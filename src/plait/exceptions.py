"""Errors under the names that LangChain documents (`langchain_core.exceptions`)."""

from typing import Any


class LangChainException(Exception):
    """What errors of runnables, parsers and models have in common."""


class TracerException(LangChainException):
    """A tracer cannot go on."""


class OutputParserException(ValueError, LangChainException):
    """The output of a model is not what a parser expects.

    Args:
        error: What was expected and what was received, or the error behind it.
        observation: What to tell the model about it.
        llm_output: What the model said.
        send_to_llm: Whether `observation` and `llm_output` are to be sent back to the model.

    Raises:
        ValueError: `send_to_llm` without `observation` and `llm_output`.
    """

    def __init__(
        self,
        error: Any,
        observation: str | None = None,
        llm_output: str | None = None,
        send_to_llm: bool = False,
    ) -> None:
        super().__init__(error)
        if send_to_llm and (observation is None or llm_output is None):
            raise ValueError(
                "`send_to_llm` needs `observation` and `llm_output`: they are what is sent."
            )
        self.observation = observation
        self.llm_output = llm_output
        self.send_to_llm = send_to_llm


__all__ = ["LangChainException", "OutputParserException", "TracerException"]
