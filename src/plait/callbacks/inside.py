"""What handlers make current while the code of a run runs: a tracer its span, for spans inside it.

A handler takes part by a method `enter_run(run_id)`, called in the context that the code runs in.
It returns what leaves again, or None. Handlers without it cost one look per run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID

_NOWHERE = nullcontext()


class _Inside:
    """Enters a run with each of its handlers that wants to; leaves in the opposite order."""

    __slots__ = ("_enters", "_leaves", "_run_id")

    def __init__(self, enters: list[Callable[[UUID], Any]], run_id: UUID) -> None:
        self._enters = enters
        self._run_id = run_id
        self._leaves: list[Callable[[], object]] = []

    def __enter__(self) -> None:
        for enter in self._enters:
            leave = enter(self._run_id)
            if leave is not None:
                self._leaves.append(leave)

    def __exit__(self, *_: object) -> None:
        while self._leaves:
            self._leaves.pop()()


def inside(run: Any) -> AbstractContextManager[None]:
    """A block in which the code of a run runs.

    Args:
        run: The run's manager; None: nobody listens.
    """
    enters = _enters_of(run)
    return _Inside(enters, run.run_id) if enters else _NOWHERE


def _enters_of(run: Any) -> list[Callable[[UUID], Any]]:
    if run is None:
        return []
    found = (getattr(handler, "enter_run", None) for handler in run.handlers)
    return [enter for enter in found if enter is not None]


def chunks_inside(run: Any, chunks: Iterator[Any]) -> Iterator[Any]:
    """The same chunks, each made inside the run; what reads them is outside."""
    return _chunks_inside(run, chunks) if _enters_of(run) else chunks


def _chunks_inside(run: Any, chunks: Iterator[Any]) -> Iterator[Any]:
    block = inside(run)
    try:
        while True:
            with block:
                try:
                    chunk = next(chunks)
                except StopIteration:
                    return
            yield chunk
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()


def achunks_inside(run: Any, chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The async twin of `chunks_inside`."""
    return _achunks_inside(run, chunks) if _enters_of(run) else chunks


async def _achunks_inside(run: Any, chunks: AsyncIterator[Any]) -> AsyncIterator[Any]:
    block = inside(run)
    try:
        while True:
            with block:
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
            yield chunk
    finally:
        aclose = getattr(chunks, "aclose", None)
        if aclose is not None:
            await aclose()


__all__ = ["achunks_inside", "chunks_inside", "inside"]
