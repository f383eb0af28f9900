"""Owns the stopwatch: runs contestants in turn in one process and compares what they returned.

Time is CPU time of the whole process (``time.process_time``), so threads that a contestant starts
are on its bill, and a busy neighbour on the machine is not.
"""

import asyncio
import atexit
import gc
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median
from typing import Any


class Disagreement(AssertionError):
    """Two contestants returned different results, so comparing their speed means nothing."""


def _as_returned(result: Any) -> Any:
    return result


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Job:
    """A workload that is ready to run.

    Args:
        run: what is timed; called once per round.
        audit: turns the result of ``run`` into what must be equal for all contestants, and
            clears away what the round left behind. Never timed.
        close: called after the last round.
    """

    run: Callable[[], Any]
    audit: Callable[[Any], Any] = _as_returned
    close: Callable[[], None] = _nothing


def repeated(job: Job, times: int) -> Job:
    """The work several times in a round.

    Each round begins after a collection of the whole heap. One of a millisecond would tell how fast
    a processor's caches fill again, and not what the work costs.

    >>> repeated(Job(lambda: 1), 3).run()
    [1, 1, 1]
    """
    if times == 1:
        return job
    return Job(
        lambda: [job.run() for _ in range(times)],
        lambda results: [job.audit(result) for result in results],
        job.close,
    )


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    atexit.register(loop.close)
    return loop


def run_async(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on the event loop that all benchmarks share, and return its result.

    Making a loop is not what is measured. ``asyncio.Runner`` would share one context as well, and
    what one contestant leaves in a context variable is no business of the next.
    """
    return _event_loop().run_until_complete(coroutine)


def interleave(
    contestants: Mapping[str, Job], *, rounds: int, warmups: int = 1
) -> dict[str, list[float]]:
    """Time jobs in turn (A B C, B C A, ...), so that drift of the machine hits all alike.

    Another one begins each round: what a job returned is kept until all are compared, and so takes
    memory that is warm from those who come later.

    Args:
        contestants: the jobs by name; the audited result of a round's first is the expected one.
        rounds: timed rounds.
        warmups: rounds before them whose times are dropped.

    Returns:
        CPU seconds per round, by name.

    Raises:
        Disagreement: two contestants returned different results in any round.

    >>> sorted(interleave({"a": Job(lambda: 1), "b": Job(lambda: 1)}, rounds=2))
    ['a', 'b']
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    order = deque(contestants.items())
    for turn in range(warmups + rounds):
        expected: list[tuple[str, Any]] = []
        for name, job in order:
            spent, result = _time_once(job)
            _agree(expected, name, result)
            if turn >= warmups:
                seconds[name].append(spent)
        order.rotate(-1)
    return seconds


def _time_once(job: Job) -> tuple[float, Any]:
    """One run on a heap that holds no garbage of the run before it."""
    gc.collect()
    started = time.process_time()
    result = job.run()
    spent = time.process_time() - started
    return spent, job.audit(result)


def _agree(expected: list[tuple[str, Any]], name: str, result: Any) -> None:
    if not expected:
        expected.append((name, result))
        return
    first, wanted = expected[0]
    if result != wanted:
        raise Disagreement(
            f"{first} and {name} returned different results, so their times cannot be compared: "
            f"{_brief(wanted)} against {_brief(result)}."
        )


def _brief(value: Any, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def growth(cost_by_size: Mapping[int, Sequence[float]]) -> float:
    """The exponent k of cost ~ size**k: least-squares slope of the medians in log-log space.

    >>> round(growth({10: [1.0], 100: [100.0], 1000: [10000.0]}), 3)
    2.0
    """
    points = [(math.log(size), math.log(median(costs))) for size, costs in cost_by_size.items()]
    x_mean = fmean(x for x, _ in points)
    y_mean = fmean(y for _, y in points)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in points)
    return slope / sum((x - x_mean) ** 2 for x, _ in points)
