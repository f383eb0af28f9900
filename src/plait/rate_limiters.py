"""Rate limiters: how often a model may be asked.

    model = init_chat_model("openai:gpt-5", rate_limiter=InMemoryRateLimiter(requests_per_second=2))

`acquire` comes before each request to the provider; answers from a cache need none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Lock
from time import monotonic, sleep
from typing import Any


class BaseRateLimiter(ABC):
    """Derive from it to limit requests in a way of your own."""

    @abstractmethod
    def acquire(self, *, blocking: bool = True) -> bool:
        """Take one permission. Without `blocking`, False says that there is none now."""

    @abstractmethod
    async def aacquire(self, *, blocking: bool = True) -> bool:
        """The async twin of `acquire`."""


class InMemoryRateLimiter(BaseRateLimiter):
    """A token bucket in this process: filled at a steady rate, emptied by one for each request.

    It counts requests, not their sizes, and knows nothing of other processes. Threads and event
    loops may share one.

    Args:
        requests_per_second: How fast the bucket fills.
        check_every_n_seconds: The longest time that a waiting request sleeps before it looks again.
        max_bucket_size: How many requests may come at once after a pause; 1 or more.
        clock: Seconds that only grow, for tests.

    Raises:
        ValueError: A rate or size that would let no request through.

    >>> limiter = InMemoryRateLimiter(requests_per_second=10, max_bucket_size=2, clock=lambda: 0.0)
    >>> limiter.acquire(blocking=False)  # the bucket starts empty
    False
    """

    def __init__(
        self,
        *,
        requests_per_second: float = 1,
        check_every_n_seconds: float = 0.1,
        max_bucket_size: float = 1,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if requests_per_second <= 0 or max_bucket_size < 1:
            raise ValueError(
                "A rate limiter with "
                f"requests_per_second={requests_per_second}, max_bucket_size={max_bucket_size} "
                "lets no request through. The rate must be above 0, the size 1 or more."
            )
        self.requests_per_second = requests_per_second
        self.check_every_n_seconds = check_every_n_seconds
        self.max_bucket_size = max_bucket_size
        self.available_tokens = 0.0
        self._clock = clock
        self._filled_at: float | None = None
        self._lock = Lock()

    def acquire(self, *, blocking: bool = True) -> bool:
        """Take one token; wait for it, unless told not to."""
        while (missing := self._take()) > 0:
            if not blocking:
                return False
            sleep(self._pause(missing))
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        """Take one token; let others run while waiting for it."""
        import asyncio  # sync programs need none

        while (missing := self._take()) > 0:
            if not blocking:
                return False
            await asyncio.sleep(self._pause(missing))
        return True

    def _take(self) -> float:
        """Takes one token and gives 0, or gives what is missing to one."""
        with self._lock:
            now = self._clock()
            if self._filled_at is None:
                self._filled_at = now
            grown = (now - self._filled_at) * self.requests_per_second
            self.available_tokens = min(self.available_tokens + grown, self.max_bucket_size)
            self._filled_at = now
            if self.available_tokens >= 1:
                self.available_tokens -= 1
                return 0.0
            return 1 - self.available_tokens

    def _pause(self, missing: float) -> float:
        return min(self.check_every_n_seconds, missing / self.requests_per_second)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("A rate limiter counts in one process; make one in each.")


__all__ = ["BaseRateLimiter", "InMemoryRateLimiter"]
