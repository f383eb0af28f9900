"""Policies: when a node is tried again, how long it may take, what is cached and what is traced.

`plait.types` has them all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from plait.typing import subscriptable

if TYPE_CHECKING:
    from datetime import timedelta

_NOT_TRANSIENT = (
    ValueError,
    TypeError,
    ArithmeticError,
    ImportError,
    LookupError,
    NameError,
    SyntaxError,
    RuntimeError,
    ReferenceError,
    StopIteration,
    StopAsyncIteration,
    OSError,
)


def default_retry_on(exc: Exception) -> bool:
    """Whether an error is worth another try: connection errors, HTTP 5xx, unknown errors.

    Errors of the program itself (ValueError, TypeError, ...) are not. Source: the peer's
    documented default of `RetryPolicy.retry_on`.

    >>> default_retry_on(ConnectionError()), default_retry_on(KeyError("x"))
    (True, False)
    """
    if isinstance(exc, ConnectionError):
        return True
    for module, name in (("httpx", "HTTPStatusError"), ("requests", "HTTPError")):
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(exc, getattr(loaded, name)):
            response = cast(Any, exc).response
            return response is None or 500 <= response.status_code < 600
    return not isinstance(exc, _NOT_TRANSIENT)


class RetryPolicy(NamedTuple):
    """How often, how long apart and after which errors a node is tried again."""

    initial_interval: float = 0.5
    """Seconds before the first retry."""
    backoff_factor: float = 2.0
    """Each further wait is this many times longer."""
    max_interval: float = 128.0
    """Seconds a wait may take at most."""
    max_attempts: int = 3
    """Attempts in all, the first one included."""
    jitter: bool = True
    """Add up to one second at random to each wait."""
    retry_on: type[Exception] | Sequence[type[Exception]] | Callable[[Exception], bool] = (
        default_retry_on
    )
    """Which errors are retried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutPolicy:
    """How long a node may run in all, or stay silent."""

    run_timeout: float | timedelta | None = None
    """Seconds that one attempt may take."""
    idle_timeout: float | timedelta | None = None
    """Seconds that one attempt may pass without a sign of life."""
    refresh_on: Literal["auto", "heartbeat"] = "auto"
    """What is a sign of life: "auto": what it streams, tasks and graphs that it calls, callbacks,
    `runtime.heartbeat()`; "heartbeat": only the last."""

    @staticmethod
    def coerce(value: float | timedelta | TimeoutPolicy | None) -> TimeoutPolicy | None:
        """A timeout as given, as a policy in seconds; a plain number or timedelta is `run_timeout`.

        Raises:
            ValueError: a limit is not above 0.
            TypeError: it is no number of seconds.

        >>> TimeoutPolicy.coerce(3)
        TimeoutPolicy(run_timeout=3.0, idle_timeout=None, refresh_on='auto')
        """
        if value is None:
            return None
        if not isinstance(value, TimeoutPolicy):
            value = TimeoutPolicy(run_timeout=value)
        if value.refresh_on not in ("auto", "heartbeat"):
            raise ValueError(f"refresh_on must be 'auto' or 'heartbeat', got {value.refresh_on!r}.")
        return TimeoutPolicy(
            run_timeout=_seconds("run_timeout", value.run_timeout),
            idle_timeout=_seconds("idle_timeout", value.idle_timeout),
            refresh_on=value.refresh_on,
        )


def _seconds(name: str, given: float | timedelta | None) -> float | None:
    if given is None:
        return None
    try:
        seconds = float(given) if isinstance(given, (int, float, str)) else given.total_seconds()
    except (AttributeError, TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{name} must be a number of seconds or a timedelta, got {given!r}.") from None
    if not seconds > 0:
        raise ValueError(f"{name} must be greater than 0 seconds, got {given!r}.")
    return seconds


def default_cache_key(*args: Any, **kwargs: Any) -> bytes:
    """The cache key of a node's input: a digest of its canonical encoding."""
    from hashlib import blake2b

    from plait.checkpoint.serde import Codec  # a higher floor, needed only when caching

    return blake2b(Codec().dumps([list(args), kwargs]), digest_size=16).digest()


@subscriptable
@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """When a node's result may be taken from the cache instead of running it."""

    key_func: Callable[..., str | bytes] = default_cache_key
    """Makes the key of an input (of a `@task`: of its arguments); by default a digest of it."""
    ttl: int | None = None
    """Seconds a result stays valid; None means for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePolicy:
    """What a trace shows of a node's input and output."""

    process_inputs: Callable[[Any], Any] | None = None
    """Makes what is shown of the input; None: it is shown as it is."""
    process_outputs: Callable[[Any], Any] | None = None
    """The same for the output."""


def omit_payload(_value: Any) -> dict[str, Any]:
    """Shows nothing; for either side of a `TracePolicy`.

    >>> omit_payload("secret")
    {}
    """
    return {}


__all__ = [
    "CachePolicy",
    "RetryPolicy",
    "TimeoutPolicy",
    "TracePolicy",
    "default_cache_key",
    "default_retry_on",
    "omit_payload",
]
