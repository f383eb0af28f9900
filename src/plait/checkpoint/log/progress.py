"""How far long work on threads has come: told thread by thread, and inside long threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from plait.checkpoint.base.port import Plan

T = TypeVar("T")
EVERY = 1000
"""How many records of a thread are read between two words about it."""


class Progress(NamedTuple):
    """How far long work has come."""

    thread_id: str
    """The thread that was just dealt with, or is being dealt with."""
    done: int
    """How many threads were."""
    total: int | None
    """Of how many, where that is known."""
    records: int = 0
    """Inside a long thread: how many of its records have been read so far. 0: it is done."""


Tell: TypeAlias = Callable[[Progress], None] | None


def telling(work: Plan[T], tell: Tell, thread_id: str, done: int, total: int | None) -> Plan[T]:
    """The same work on one thread, which tells of the records that it reads.

    Args:
        work: Whose answers are counted: rows of storage come in lists.
        tell: Whom to tell (None: nobody).
        thread_id: The thread.
        done: How many threads were dealt with before it.
        total: Of how many, where that is known.
    """
    return work if tell is None else _telling(work, tell, Progress(thread_id, done, total))


def _telling(work: Plan[T], tell: Callable[[Progress], None], start: Progress) -> Plan[T]:
    records = told = 0

    def count(answer: Any) -> None:
        nonlocal records, told
        if isinstance(answer, list):
            records += len(cast("list[Any]", answer))
        if records - told >= EVERY:
            told = records
            tell(start._replace(records=records))

    try:
        request = next(work)
        while True:
            try:
                answer = yield request
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:
                request = work.throw(error)
            else:
                count(answer)
                request = work.send(answer)
    except StopIteration as end:
        return end.value


__all__ = ["Progress", "Tell", "telling"]
