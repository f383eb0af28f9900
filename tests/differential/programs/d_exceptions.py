"""Errors of models and parsers: which `except` clause catches which."""

from langchain_core.exceptions import (
    ContextOverflowError,
    ErrorCode,
    LangChainException,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
    OutputParserException,
    TracerException,
)
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda

OF_MODELS = (
    ModelError,
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)


def raised(error):
    raise error


def case_classes(env):
    both = (*OF_MODELS, LangChainException, TracerException, OutputParserException)
    return [env.error(lambda kind=kind: raised(kind("no"))) for kind in both]


def case_whether_to_try_again(env):
    return [(kind.is_retryable, kind("no").is_retryable, str(kind("no"))) for kind in OF_MODELS]


def case_codes(env):
    return [code.value for code in ErrorCode]


def case_tried_again(env):
    tries = []

    def fails(x):
        tries.append(x)
        raise (ModelRateLimitError if len(tries) < 3 else ContextOverflowError)("no")

    patient = RunnableLambda(fails).with_retry(
        retry_if_exception_type=(ModelRateLimitError,), wait_exponential_jitter=False
    )
    return env.error(lambda: patient.invoke(1)), tries


def case_replaced(env):
    def too_long(x):
        raise ContextOverflowError("too long")

    model = FakeListChatModel(responses=["short"])
    safe = RunnableLambda(too_long).with_fallbacks(
        [model], exceptions_to_handle=(ContextOverflowError,)
    )
    return safe.invoke("x").content
