"""Plans of one run that were put off (`durability="async"`): their transactions become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.requests import Together, Transact


def joined(plans: Sequence[Plan[Any]]) -> Plan[Any]:
    """Do plans in order; those in a row that begin with a transaction share it.

    A shared transaction that fails stores nothing. After the first plan that fails nothing more is
    done: what is stored stays a prefix of what happened.

    Returns:
        What the last plan returns.
    """
    result: Any = None
    ready: list[tuple[Plan[Any], Transact]] = []
    for plan in plans:
        request, ended = None, False
        try:
            request = next(plan)
        except StopIteration as end:
            result, ended = end.value, True
        except BaseException:
            yield from _together(ready)
            raise
        if type(request) is Transact:
            ready.append((plan, request))
            continue
        yield from _together(ready)
        ready = []
        if not ended:
            result = yield from _alone(plan, request)
    return (yield from _together(ready)) if ready else result


def _together(ready: list[tuple[Plan[Any], Transact]]) -> Plan[Any]:
    """Go on with plans whose transactions are done in one."""
    if len(ready) < 2:
        return (yield from _alone(*ready[0])) if ready else None
    try:
        answers = yield Together([request for _, request in ready])
    except BaseException as error:
        ready[0][0].throw(error)
        raise
    result: Any = None
    for (plan, _), answer in zip(ready, answers, strict=True):
        try:
            request = plan.send(answer)
        except StopIteration as end:
            result = end.value
        else:
            result = yield from _alone(plan, request)
    return result


def _alone(plan: Plan[Any], request: Any) -> Plan[Any]:
    """Go on with a plan that waits for the answer to a request."""
    try:
        while True:
            try:
                answer = yield request
            except BaseException as error:
                request = plan.throw(error)
            else:
                request = plan.send(answer)
    except StopIteration as end:
        return end.value
