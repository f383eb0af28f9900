"""What the middlewares share that try calls again: which errors, how long apart, and what then."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, cast

from plait.agents.middleware.options import check_counts, check_numbers
from plait.drivers.env import run_env
from plait.engine.retries import retry_delay
from plait.errors import ConfigError
from plait.types import RetryPolicy

T = TypeVar("T")

RetryOn: TypeAlias = tuple[type[Exception], ...] | Callable[[Exception], bool]
"""Which errors are tried again: exception classes, or a function that says so."""

OnFailure: TypeAlias = Literal["continue", "error"] | Callable[[Exception], str]
"""What becomes of the last error: a message to the model, the error itself, or a text of it."""


_OUTCOMES = ("continue", "error")


def default_retry_on(error: Exception) -> bool:
    """Whether a call is tried again by default: not after an error that says that this is no use.

    Errors of models say so (`is_retryable`), be they plait's or LangChain's.

    >>> from plait.errors import ModelInvalidRequestError
    >>> default_retry_on(ModelInvalidRequestError("no")), default_retry_on(ValueError("maybe"))
    (False, True)
    """
    return getattr(error, "is_retryable", True) is not False


def _check_options(retry_on: Any, on_failure: Any) -> None:
    if not callable(on_failure) and on_failure not in _OUTCOMES:
        raise ConfigError(
            f"Invalid on_failure {on_failure!r}: use 'continue', 'error' or a function that makes "
            "a text of the error."
        )
    if not callable(retry_on) and not (
        isinstance(retry_on, tuple | list)
        and all(
            isinstance(one, type) and issubclass(one, BaseException)
            for one in cast("Sequence[Any]", retry_on)
        )
    ):
        raise ConfigError(
            f"Invalid retry_on {retry_on!r}: use exception classes in a tuple, or a function that "
            "says whether an error is tried again."
        )


class Retries:
    """How often a call is tried again, after which errors, how long apart, and what comes then.

    Args:
        max_retries: Attempts after the first.
        retry_on: Which errors.
        on_failure: What becomes of the last one.
        backoff_factor: Each wait is this many times as long as the one before (0: all are alike).
        initial_delay: Seconds before the second attempt.
        max_delay: Seconds that a wait may take at most.
        jitter: Make each wait up to a quarter longer or shorter, at random.

    Raises:
        ConfigError: A number is negative, or an option is no such thing.
    """

    def __init__(
        self,
        max_retries: int,
        retry_on: RetryOn,
        on_failure: OnFailure,
        backoff_factor: float,
        initial_delay: float,
        max_delay: float,
        jitter: bool,
    ) -> None:
        check_counts(max_retries=max_retries)
        check_numbers(
            backoff_factor=backoff_factor, initial_delay=initial_delay, max_delay=max_delay
        )
        _check_options(retry_on, on_failure)
        self._on_failure: OnFailure = on_failure
        self._jitter = jitter
        self._max_delay = max_delay
        self._policy = RetryPolicy(
            initial_interval=initial_delay,
            backoff_factor=backoff_factor or 1.0,
            max_interval=max_delay,
            max_attempts=max_retries + 1,
            jitter=False,
            retry_on=retry_on,
        )

    def call(self, attempt: Callable[[], T], instead: Callable[[str], T], failed: str) -> T:
        """Make a call, again if it fails.

        Args:
            attempt: Makes it.
            instead: What stands for its result, made of a text, where it was given up.
            failed: The text, with `{attempts}` and `{error}` in it.

        Raises:
            Exception: The last error, where it is not to be told; or one that is not retried.
        """
        number = 1
        while True:
            try:
                return attempt()
            except Exception as error:
                wait = self.wait_after(error, number)
                if wait is None:
                    return instead(self._told(error, number, failed))
            time.sleep(wait)
            number += 1

    async def acall(
        self, attempt: Callable[[], Awaitable[T]], instead: Callable[[str], T], failed: str
    ) -> T:
        """The async twin of `call`."""
        number = 1
        while True:
            try:
                return await attempt()
            except Exception as error:
                wait = self.wait_after(error, number)
                if wait is None:
                    return instead(self._told(error, number, failed))
            await asyncio.sleep(wait)
            number += 1

    def wait_after(self, error: Exception, attempt: int) -> float | None:
        """Seconds to wait after an attempt that failed, from 1; None: there is no other.

        A provider that says when to come back (`retry_after`) is listened to.
        """
        wait = self._wait(error, attempt)
        if wait is None:
            return None
        if self._jitter:
            wait *= 0.75 + run_env.get().jitter() / 2
        asked: float = getattr(error, "retry_after", None) or 0.0
        return max(wait, min(asked, self._max_delay))

    def _told(self, error: Exception, number: int, failed: str) -> str:
        """What is told of an error that was the last one.

        Raises:
            Exception: `error`, where it is not to be told.
        """
        if self._on_failure == "error" or self._wait(error, 0) is None:
            raise error
        if callable(self._on_failure):
            return self._on_failure(error)
        shown = f"{type(error).__name__}: {error}"
        return failed.format(attempts=_attempts(number), error=shown)

    def _wait(self, error: Exception, attempt: int) -> float | None:
        return retry_delay((self._policy,), error, attempt, run_env.get().jitter)


def _attempts(number: int) -> str:
    """A number of attempts in words."""
    return f"{number} attempt" if number == 1 else f"{number} attempts"


__all__ = ["OnFailure", "Retries", "RetryOn", "default_retry_on"]
