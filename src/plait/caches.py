"""Caches of models' answers, and the one that all models of a program use.

    set_llm_cache(InMemoryCache())

An answer is found by what was asked (the messages, as text) and who was asked how (the model's
identifying parameters, stop words and arguments, as text).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import Lock
from typing import Any, TypeAlias

from plait.runnables.config import run_in_executor

RETURN_VAL_TYPE: TypeAlias = Sequence[Any]
"""An answer: its generations."""


class BaseCache(ABC):
    """Derive from it to keep answers in a place of your own.

    An answer is a list of generations (`plait.chat_models.Generation`, `ChatGeneration`).
    """

    @abstractmethod
    def lookup(self, prompt: str, llm_string: str) -> Sequence[Any] | None:
        """The answer that is known, or None."""

    @abstractmethod
    def update(self, prompt: str, llm_string: str, return_val: Sequence[Any]) -> None:
        """Keep an answer."""

    @abstractmethod
    def clear(self, **kwargs: Any) -> None:
        """Forget all answers."""

    async def alookup(self, prompt: str, llm_string: str) -> Sequence[Any] | None:
        """The async twin of `lookup`, which it calls on a thread unless it is overridden."""
        return await run_in_executor(None, self.lookup, prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Any]) -> None:
        """The async twin of `update`, which it calls on a thread unless it is overridden."""
        await run_in_executor(None, self.update, prompt, llm_string, return_val)

    async def aclear(self, **kwargs: Any) -> None:
        """The async twin of `clear`, which it calls on a thread unless it is overridden."""
        await run_in_executor(None, self.clear, **kwargs)


class InMemoryCache(BaseCache):
    """Keeps answers in this process.

    Args:
        maxsize: How many; the oldest goes when one more comes. None: all.

    Raises:
        ValueError: `maxsize` is not above 0.

    >>> cache = InMemoryCache(maxsize=1)
    >>> cache.update("a", "model", ["1"]); cache.update("b", "model", ["2"])
    >>> cache.lookup("a", "model"), cache.lookup("b", "model")
    (None, ['2'])
    """

    def __init__(self, *, maxsize: int | None = None) -> None:
        if maxsize is not None and maxsize <= 0:
            raise ValueError(f"maxsize must be greater than 0, not {maxsize}.")
        self._answers: dict[tuple[str, str], Sequence[Any]] = {}
        self._maxsize = maxsize
        self._lock = Lock()

    def lookup(self, prompt: str, llm_string: str) -> Sequence[Any] | None:
        """The answer that is known, or None."""
        return self._answers.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Any]) -> None:
        """Keep an answer; the oldest one goes if there are too many."""
        with self._lock:
            full = self._maxsize is not None and len(self._answers) >= self._maxsize
            if full and (prompt, llm_string) not in self._answers:
                del self._answers[next(iter(self._answers))]
            self._answers[prompt, llm_string] = return_val

    def clear(self, **kwargs: Any) -> None:
        """Forget all answers."""
        with self._lock:
            self._answers.clear()

    async def alookup(self, prompt: str, llm_string: str) -> Sequence[Any] | None:
        """The async twin of `lookup`; memory needs no thread."""
        return self.lookup(prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Any]) -> None:
        """The async twin of `update`; memory needs no thread."""
        self.update(prompt, llm_string, return_val)

    async def aclear(self, **kwargs: Any) -> None:
        """The async twin of `clear`; memory needs no thread."""
        self.clear()


__all__ = ["BaseCache", "InMemoryCache"]
