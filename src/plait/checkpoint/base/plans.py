"""Drive a plan: a generator that asks for storage work and does none (see `port.Plan`)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from plait.checkpoint.base.port import Plan

T = TypeVar("T")


def run_plan(plan: Plan[T], execute: Callable[[Any], Any]) -> T:
    """Run a plan to its end with a sync executor.

    Args:
        plan: The generator of requests.
        execute: Does one request and returns its answer. What it raises is thrown into the plan.

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
                answer = execute(request)
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
