"""Drive a plan: a generator that asks for storage work and does none (see `port.Plan`).

Between two requests it may ask for a `Pause`: who drives it waits, and the storage hears nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import sleep
from typing import Any, TypeVar

from plait.checkpoint.base.port import Plan

T = TypeVar("T")


@dataclass(slots=True)
class Pause:
    """Wait before going on, as a claim with policy "wait" does. Answer: None."""

    seconds: float


def run_plan(
    plan: Plan[T], execute: Callable[[Any], Any], pause: Callable[[float], None] = sleep
) -> T:
    """Run a plan to its end with a sync executor.

    Args:
        plan: The generator of requests.
        execute: Does one request and returns its answer. What it raises is thrown into the plan.
        pause: Waits so many seconds.

    Returns:
        What the plan returns.

    >>> def double(n):
    ...     answer = yield n
    ...     return answer * 2
    >>> run_plan(double(3), lambda request: request + 1)
    8
    """
    try:
        request = next(plan)
        while True:
            try:
                answer = execute(request) if type(request) is not Pause else pause(request.seconds)
            except BaseException as error:
                request = plan.throw(error)
            else:
                request = plan.send(answer)
    except StopIteration as stop:
        return stop.value
    except BaseException:
        plan.close()  # a Ctrl-C between two requests: the collector would do it anywhere
        raise


def in_order(plans: Sequence[Plan[Any]]) -> Plan[Any]:
    """Several plans as one, up to the first error; returns what the last one returns."""
    result: Any = None
    for plan in plans:
        result = yield from plan
    return result


async def arun_plan(plan: Plan[T], execute: Callable[[Any], Awaitable[Any]]) -> T:
    """Run a plan to its end with an async executor; else like `run_plan`."""
    try:
        request = next(plan)
        while True:
            try:
                if type(request) is Pause:
                    import asyncio  # heavy, and sync programs need none of it

                    answer = await asyncio.sleep(request.seconds)
                else:
                    answer = await execute(request)
            except BaseException as error:
                request = plan.throw(error)
            else:
                request = plan.send(answer)
    except StopIteration as stop:
        return stop.value
    except BaseException:
        plan.close()  # a Ctrl-C between two requests: the collector would do it anywhere
        raise
