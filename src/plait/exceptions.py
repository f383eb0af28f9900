"""Errors under the names that LangChain documents (`langchain_core.exceptions`).

Those of models are in `plait.errors`, and load from there when they are first used.
"""

from enum import Enum
from typing import TYPE_CHECKING, Any

from plait.common.lazy import lazily
from plait.common.portable import Portable

if TYPE_CHECKING:
    from plait.errors import (
        ContextOverflowError,
        ModelAPIError,
        ModelAuthenticationError,
        ModelConnectionError,
        ModelError,
        ModelInvalidRequestError,
        ModelNotFoundError,
        ModelPermissionDeniedError,
        ModelRateLimitError,
        ModelTimeoutError,
    )


class ErrorCode(Enum):
    """Stable codes of common mistakes, as the peer documents them."""

    INVALID_PROMPT_INPUT = "INVALID_PROMPT_INPUT"
    INVALID_TOOL_RESULTS = "INVALID_TOOL_RESULTS"
    MESSAGE_COERCION_FAILURE = "MESSAGE_COERCION_FAILURE"
    MODEL_AUTHENTICATION = "MODEL_AUTHENTICATION"
    MODEL_NOT_FOUND = "MODEL_NOT_FOUND"
    MODEL_RATE_LIMIT = "MODEL_RATE_LIMIT"
    OUTPUT_PARSING_FAILURE = "OUTPUT_PARSING_FAILURE"


class LangChainException(Portable, Exception):
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


def is_parsing_error(error: BaseException) -> bool:
    """Whether an error is an `OutputParserException`, plait's or langchain_core's."""
    return any(base.__name__ == "OutputParserException" for base in type(error).__mro__)


_MODEL_ERRORS = (
    "ContextOverflowError",
    "ModelAPIError",
    "ModelAuthenticationError",
    "ModelConnectionError",
    "ModelError",
    "ModelInvalidRequestError",
    "ModelNotFoundError",
    "ModelPermissionDeniedError",
    "ModelRateLimitError",
    "ModelTimeoutError",
)

__getattr__ = lazily(__name__, dict.fromkeys(_MODEL_ERRORS, "plait.errors"))

__all__ = [
    "ContextOverflowError",
    "ErrorCode",
    "LangChainException",
    "ModelAPIError",
    "ModelAuthenticationError",
    "ModelConnectionError",
    "ModelError",
    "ModelInvalidRequestError",
    "ModelNotFoundError",
    "ModelPermissionDeniedError",
    "ModelRateLimitError",
    "ModelTimeoutError",
    "OutputParserException",
    "TracerException",
]
