"""Errors of providers as plait's: by the HTTP status, then by what the provider calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from plait.errors import (
    ContentFilteredError,
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

BY_CODE: dict[str, type[ModelError]] = {
    "context_length_exceeded": ContextOverflowError,
    "string_above_max_length": ContextOverflowError,
    "request_too_large": ContextOverflowError,
    "content_filter": ContentFilteredError,
    "content_policy_violation": ContentFilteredError,
    "invalid_api_key": ModelAuthenticationError,
    "authentication_error": ModelAuthenticationError,
    "permission_error": ModelPermissionDeniedError,
    "permission_denied": ModelPermissionDeniedError,
    "unauthenticated": ModelAuthenticationError,
    "model_not_found": ModelNotFoundError,
    "not_found_error": ModelNotFoundError,
    "not_found": ModelNotFoundError,
    "rate_limit_exceeded": ModelRateLimitError,
    "rate_limit_error": ModelRateLimitError,
    "insufficient_quota": ModelRateLimitError,
    "billing_error": ModelRateLimitError,
    "resource_exhausted": ModelRateLimitError,
    "overloaded_error": ModelAPIError,
    "api_error": ModelAPIError,
    "server_error": ModelAPIError,
    "internal": ModelAPIError,
    "unavailable": ModelAPIError,
    "timeout_error": ModelTimeoutError,
    "deadline_exceeded": ModelTimeoutError,
    "invalid_request_error": ModelInvalidRequestError,
    "invalid_argument": ModelInvalidRequestError,
}
"""What providers call their errors."""

BY_STATUS: dict[int, type[ModelError]] = {
    401: ModelAuthenticationError,
    402: ModelRateLimitError,
    403: ModelPermissionDeniedError,
    404: ModelNotFoundError,
    408: ModelTimeoutError,
    413: ContextOverflowError,
    429: ModelRateLimitError,
    504: ModelTimeoutError,
}

TOO_LONG = (
    "prompt is too long",
    "maximum context length",
    "context window",
    "context length",
    "input token count",
    "exceeds the maximum number of tokens",
    "exceed context limit",
)
"""What providers, and servers that imitate them, write where no code says that it is too long."""

NO_KEY = (
    "Missing credentials",  # OpenAI, and before:
    "The api_key client option must be set",
    "Could not resolve authentication method",  # Anthropic
    "No API key was provided",  # Google, and before:
    "Missing key inputs argument",
)
"""What SDKs write that were given no key; none of them has a class for that."""

ADVICE: dict[type[ModelError], str] = {
    ModelAuthenticationError: "Check the key (api_key=..., or the environment) and what it may do.",
    ModelNotFoundError: "Check the model's name and base_url.",
    ContextOverflowError: "Shorten the messages (plait.messages.trim_messages), or take a model "
    "with a larger window.",
    ModelRateLimitError: "Wait, ask less often (rate_limiter=...), or check the account.",
    ModelAPIError: "Ask again later (max_retries=..., a RetryPolicy, or with_fallbacks).",
    ModelTimeoutError: "Raise timeout=..., or ask for less.",
    ModelConnectionError: "Check the network and base_url; ask again.",
}


def failure(
    error: BaseException,
    *,
    provider: str,
    model: str,
    status: int | None = None,
    codes: tuple[Any, ...] = (),
    message: str = "",
    headers: Mapping[str, str] | None = None,
    kind: type[ModelError] | None = None,
) -> ModelError:
    """plait's error for a provider's.

    Args:
        error: The provider's exception.
        provider: Who raised it.
        model: Which model was asked.
        status: The HTTP status.
        codes: What the provider calls the error, the most exact first.
        message: What it says; else the exception's text.
        headers: Those of the answer.
        kind: The class of plait's error, if it is known.
    """
    text = message or str(error) or type(error).__name__
    found = kind or kind_of_failure(status, codes, text)
    advice = next((ADVICE[c] for c in found.__mro__ if c in ADVICE), "")
    shown = f" (HTTP {status})" if status is not None else ""
    end = "" if not advice or text.endswith((".", "!", "?")) else "."
    headers = headers or {}
    return found(
        f"{provider}:{model} failed{shown}: {text}{end} {advice}".rstrip(),
        provider=provider,
        model=model,
        status=status,
        request_id=headers.get("x-request-id") or headers.get("request-id"),
        retry_after=_seconds(headers.get("retry-after")),
    )


def kind_of_failure(status: int | None, codes: tuple[Any, ...], message: str) -> type[ModelError]:
    """The class of plait's error.

    >>> kind_of_failure(400, ("invalid_request_error",), "prompt is too long: 9 > 8").__name__
    'ContextOverflowError'
    >>> kind_of_failure(None, ("overloaded_error",), "").__name__
    'ModelAPIError'
    """
    named = [
        BY_CODE[code.lower()] for code in codes if isinstance(code, str) and code.lower() in BY_CODE
    ]
    found = named[0] if named else None
    is_open = found in (None, ModelInvalidRequestError) and status in (None, 400, 413, 422, 500)
    if is_open and any(words in message.lower() for words in TOO_LONG):
        return ContextOverflowError
    if found is not None and found is not ModelInvalidRequestError:
        return found
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status is not None and status >= 500:
        return ModelAPIError
    if found is not None or (status is not None and status >= 400):
        return ModelInvalidRequestError
    return ModelError


def of_transport(error: BaseException, provider: str, model: str) -> ModelError | None:
    """plait's error for one of the HTTP client's (a stream that broke, a server that is silent)."""
    if type(error).__module__.split(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
        return None
    names = {c.__name__ for c in type(error).__mro__}
    kind = ModelTimeoutError if "TimeoutException" in names else ModelConnectionError
    return failure(error, provider=provider, model=model, kind=kind)


def of_no_key(error: BaseException, provider: str, model: str) -> ModelError | None:
    """plait's error for an SDK's that asks for a key; None for others."""
    if not any(words in str(error) for words in NO_KEY):
        return None
    return failure(error, provider=provider, model=model, kind=ModelAuthenticationError)


def of_sdk(sdk: Any, error: Exception, provider: str, model: str) -> ModelError | None:
    """plait's error for one of an SDK with the classes that OpenAI's and Anthropic's share.

    Args:
        sdk: The module of the SDK.
        error: Any error; of one that is neither the SDK's nor its HTTP client's comes None.
        provider: Who raised it.
        model: Which model was asked.
    """
    if isinstance(error, sdk.APITimeoutError):
        return failure(error, provider=provider, model=model, kind=ModelTimeoutError)
    if isinstance(error, sdk.APIConnectionError):
        return failure(error, provider=provider, model=model, kind=ModelConnectionError)
    if isinstance(error, sdk.APIError):
        return _of_status(error, provider, model)
    return of_transport(error, provider, model)


def _of_status(error: Any, provider: str, model: str) -> ModelError:
    """plait's error for an answer that says that something is wrong."""
    body: Any = getattr(error, "body", None)
    fields = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    inner = fields.get("error")
    fields = cast("dict[str, Any]", inner) if isinstance(inner, dict) else fields
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None)
    return failure(
        error,
        provider=provider,
        model=model,
        status=status if status is None or status >= 400 else None,
        codes=(fields.get("code") or getattr(error, "code", None), fields.get("type")),
        message=str(fields.get("message") or _with_body(error, body)),
        headers=getattr(response, "headers", None),
    )


def _with_body(error: Any, body: Any) -> str:
    """What the SDK says, and what the server said in a form of its own: that has the reason."""
    said = getattr(error, "message", "") or str(error)
    return said if body is None or str(body) in said else f"{said} - {body!s:.500}"


def _seconds(value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None  # a date: the program waits as long as it thinks right
