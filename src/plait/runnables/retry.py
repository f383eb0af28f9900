"""`RunnableRetry`: a runnable that is called again when it fails."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import TypedDict

from plait.errors import InvalidValueError, bubbles_up
from plait.runnables.base import Input, Output, Runnable
from plait.runnables.binding import Configs, RunnableBindingBase
from plait.runnables.config import RunnableConfig
from plait.runnables.runs import acall_as_run, acall_child, call_as_run, call_child

if TYPE_CHECKING:
    from plait.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun

_EACH_ALONE: Any = Runnable
"""Its batches invoke with each input."""

Which = tuple[type[BaseException], ...] | Callable[[BaseException], bool]


class ExponentialJitterParams(TypedDict, total=False):
    """How long to wait before the next attempt: `initial * exp_base ** n`, and up to `jitter`."""

    initial: float
    """Seconds before the second attempt; 1 by default."""
    max: float
    """Never longer than this."""
    exp_base: float
    """2 by default."""
    jitter: float
    """Chance adds up to so much; 1 by default."""


class RunnableRetry(RunnableBindingBase[Input, Output]):
    """A runnable that is called again when it fails. Each attempt is a run of its own.

    A stream is not begun again, since chunks may have been seen.

    Args:
        bound: The runnable.
        retry_exception_types: The errors after which it is called again, or a function of them.
        wait_exponential_jitter: Whether to wait in between.
        exponential_jitter_params: How long.
        max_attempt_number: How many attempts there are at most.
        binding: The other arguments of a binding.

    >>> from plait.runnables import RunnableLambda
    >>> left = [ConnectionError(), "found"]
    >>> def fetch(_):
    ...     if isinstance(found := left.pop(0), Exception):
    ...         raise found
    ...     return found
    >>> RunnableLambda(fetch).with_retry(wait_exponential_jitter=False).invoke(None)
    'found'
    """

    __plait_fields__ = (
        *RunnableBindingBase.__plait_fields__,
        *("retry_exception_types", "wait_exponential_jitter", "exponential_jitter_params"),
        "max_attempt_number",
    )

    def __init__(
        self,
        bound: Any,
        *,
        retry_exception_types: Which = (Exception,),
        wait_exponential_jitter: bool = True,
        exponential_jitter_params: ExponentialJitterParams | None = None,
        max_attempt_number: int = 3,
        **binding: Any,
    ) -> None:
        if not isinstance(cast("Any", max_attempt_number), (int, float)) or max_attempt_number < 1:
            raise InvalidValueError(
                f"stop_after_attempt={max_attempt_number!r}: how many calls there are at most is a "
                "number above 0."
            )
        super().__init__(bound, **binding)
        self.retry_exception_types = retry_exception_types
        self.wait_exponential_jitter = wait_exponential_jitter
        self.exponential_jitter_params = exponential_jitter_params
        self.max_attempt_number = max_attempt_number

    def __getattr__(self, name: str) -> Any:
        # What a method makes of the runnable (`model.bind_tools(...)`) is called again, too.
        value = super().__getattr__(name)
        if not callable(value):
            return value

        def called_again(*args: Any, **kwargs: Any) -> Any:
            changed = value(*args, **kwargs)
            return self._changed(bound=changed) if isinstance(changed, Runnable) else changed

        return called_again

    def _arguments(self) -> dict[str, Any]:
        return {
            **super()._arguments(),
            "retry_exception_types": self.retry_exception_types,
            "wait_exponential_jitter": self.wait_exponential_jitter,
            "exponential_jitter_params": self.exponential_jitter_params,
            "max_attempt_number": self.max_attempt_number,
        }

    def invoke(self, input: Input, config: RunnableConfig | None = None, **kwargs: Any) -> Output:
        """Invoke the bound runnable, again after an error.

        Raises:
            BaseException: What the last attempt raised.
        """
        given = {**self.kwargs, **kwargs}

        def work(config: RunnableConfig, run: CallbackManagerForChainRun | None) -> Any:
            attempt = 1
            while True:
                try:
                    return call_child(self.bound, input, config, run, _tag(attempt), given)
                except BaseException as error:
                    if not self._goes_on(error, attempt):
                        raise
                time.sleep(self._wait(attempt))
                attempt += 1

        return call_as_run(work, self.get_name(), input, self._config(config))

    async def ainvoke(
        self, input: Input, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Output:
        """Invoke the bound runnable, again after an error.

        Raises:
            BaseException: What the last attempt raised.
        """
        import asyncio  # an event loop is running: it is loaded

        given = {**self.kwargs, **kwargs}

        async def work(config: RunnableConfig, run: AsyncCallbackManagerForChainRun | None) -> Any:
            attempt = 1
            while True:
                try:
                    return await acall_child(self.bound, input, config, run, _tag(attempt), given)
                except BaseException as error:
                    if not self._goes_on(error, attempt):
                        raise
                await asyncio.sleep(self._wait(attempt))
                attempt += 1

        return await acall_as_run(work, self.get_name(), input, self._config(config))

    def batch(
        self,
        inputs: Sequence[Input],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """Invoke with each input, which is tried again on its own; outputs in the inputs' order."""
        given = {**kwargs, "return_exceptions": return_exceptions}
        return _EACH_ALONE.batch(self, inputs, config, **given)

    async def abatch(
        self,
        inputs: Sequence[Input],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[Output]:
        """The async twin of `batch`."""
        given = {**kwargs, "return_exceptions": return_exceptions}
        return await _EACH_ALONE.abatch(self, inputs, config, **given)

    def _goes_on(self, error: BaseException, attempt: int) -> bool:
        if attempt >= self.max_attempt_number or bubbles_up(error):
            return False  # a question, or a command for the graph around, is no failure
        which = self.retry_exception_types
        return isinstance(error, which) if isinstance(which, tuple) else which(error)

    def _wait(self, attempt: int) -> float:
        if not self.wait_exponential_jitter:
            return 0
        given = self.exponential_jitter_params or {}
        grown = given.get("initial", 1) * given.get("exp_base", 2) ** (attempt - 1)
        longest = given.get("max", float("inf"))
        return max(0, min(longest, grown + random.uniform(0, given.get("jitter", 1))))


def _tag(attempt: int) -> str | None:
    return f"retry:attempt:{attempt}" if attempt > 1 else None


__all__ = ["ExponentialJitterParams", "RunnableRetry"]
