"""Whether a failed task is tried again, and after how long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import cast

from plait.errors import InvalidNodeError, bubbles_up
from plait.types import RetryPolicy

_NUMBERS = ("initial_interval", "backoff_factor", "max_interval", "max_attempts")


def policies_of(given: RetryPolicy | Sequence[RetryPolicy] | None) -> tuple[RetryPolicy, ...]:
    """The policies that an argument names: one, several or none.

    >>> len(policies_of(RetryPolicy())), policies_of(None)
    (1, ())
    """
    if given is None:
        return ()
    several = not isinstance(given, RetryPolicy) and isinstance(given, (list, tuple))
    policies = cast("Sequence[RetryPolicy]", given if several else (given,))
    for policy in policies:
        if not hasattr(policy, "retry_on"):
            raise InvalidNodeError(
                f"retry_policy is a RetryPolicy or a list of them, got {policy!r}. "
                "Write RetryPolicy(max_attempts=3)."
            )
        if not _names_errors(policy.retry_on):
            raise InvalidNodeError(
                "RetryPolicy.retry_on is an exception class, a sequence of them, or a function "
                f"that takes the error; got {policy.retry_on!r}."
            )
        for name in _NUMBERS:
            value = getattr(policy, name)
            if not isinstance(value, (int, float)) or isnan(value):
                raise InvalidNodeError(f"RetryPolicy.{name} is a number, got {value!r}.")
    return tuple(policies)


def _names_errors(retry_on: object) -> bool:
    if isinstance(retry_on, Sequence):
        named = cast("Sequence[object]", retry_on)
        return not isinstance(retry_on, (str, bytes)) and all(isinstance(k, type) for k in named)
    return callable(retry_on)


def retry_delay(
    policies: Sequence[RetryPolicy],
    error: BaseException,
    attempt: int,
    jitter: Callable[[], float],
) -> float | None:
    """Seconds to wait before the next attempt, or None when there is none.

    The first policy whose `retry_on` matches decides.

    Args:
        attempt: the number of the attempt that failed, from 1.
        jitter: gives a number in [0, 1).
    """
    if not isinstance(error, Exception) or bubbles_up(error):
        return None
    for policy in policies:
        if _matches(policy, error):
            if attempt >= policy.max_attempts:
                return None
            wait = policy.initial_interval * policy.backoff_factor ** (attempt - 1)
            wait = min(wait, policy.max_interval)
            return wait + jitter() if policy.jitter else wait
    return None


def _matches(policy: RetryPolicy, error: Exception) -> bool:
    retry_on = policy.retry_on
    if isinstance(retry_on, type):
        return isinstance(error, retry_on)
    if isinstance(retry_on, Sequence):
        return isinstance(error, tuple(cast("Sequence[type[Exception]]", retry_on)))
    return bool(retry_on(error))
