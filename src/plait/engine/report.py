"""The parts that streams carry: updates, tasks, checkpoints, in the peer's shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from plait.constants import ERROR, INTERRUPT, RETURN
from plait.engine.inside import graph_inside
from plait.engine.journal import MARKS
from plait.engine.plan import Reads, Writes
from plait.engine.tasks import Task
from plait.types import Interrupt


def config_of(
    configurable: Mapping[str, Any],
    ns: str,
    checkpoint_id: str | None,
    parents: Mapping[str, str] | None = None,
) -> dict[str, Any] | None:
    """The config that addresses a checkpoint, with what else the caller configured.

    Args:
        parents: namespace to checkpoint of the runs around a nested one; none of one that was
            written by hand before it began.
    """
    if checkpoint_id is None:
        return None
    address: dict[str, Any] = {"checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    if ns and parents:
        address["checkpoint_map"] = {**parents, ns: checkpoint_id}
    return {"configurable": {**configurable, **address}}


def updates_part(task: Task, output: Reads, *, cached: bool = False) -> dict[str, Any] | None:
    """`{node: what it wrote}` of a finished task; None for hidden ones."""
    if task.node.hidden:
        return None
    part: dict[str, Any] = {task.name: _update(task.writes, output)}
    if cached:
        part["__metadata__"] = {"cached": True}
    return part


def _update(writes: Writes, output: Reads) -> Any:
    for channel, value in writes:
        if channel == RETURN:
            return value
    if isinstance(output, str):
        values = [value for channel, value in writes if channel == output]
        return None if not values else values[0] if len(values) == 1 else values
    shown = [(channel, value) for channel, value in writes if channel in output.members]
    if not shown:
        return None
    if len(shown) > 1 and max(Counter(channel for channel, _ in shown).values()) > 1:
        return [{channel: value} for channel, value in shown]
    return dict(shown)


def touches(tasks: Sequence[Task], output: Reads) -> bool:
    """Whether any task wrote something that `output` shows."""
    for task in tasks:  # noqa: SIM110 - as below
        if is_shown(task.writes, output):
            return True
    return False


def is_shown(writes: Writes, output: Reads) -> bool:
    """Whether `output` shows anything of what was written."""
    members = (output,) if isinstance(output, str) else output.members
    for channel, _ in writes:  # noqa: SIM110 - a generator left at its first item costs eightfold
        if channel in members:
            return True
    return False


def handed_to(task: Task) -> Any:
    """What a task's code is handed; its input as it is, if that makes no state object."""
    make = task.node.handed
    if make is None or task.is_push:
        return task.input
    try:
        return make(task.input)
    except Exception:  # the task is about to fail by the same error
        return task.input


def start_payload(task: Task, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A started task, for the `tasks` stream."""
    payload: dict[str, Any] = {
        "id": task.id,
        "name": task.name,
        "input": handed_to(task),
        "triggers": tuple(task.triggers),
    }
    shown = {**metadata, **(task.node.metadata or {})}
    if task.node.tags:
        shown["tags"] = [*shown.get("tags", ()), *task.node.tags]
    if shown:
        payload["metadata"] = shown
    return payload


def result_payload(
    task: Task, stream: Reads, error: BaseException | None, interrupts: Sequence[Interrupt]
) -> dict[str, Any]:
    """A task's end, for the `tasks` stream."""
    return {
        "id": task.id,
        "name": task.name,
        "error": error,
        "result": {} if error is not None or interrupts else result_of(task.writes, stream),
        "interrupts": [interrupt_payload(asked) for asked in interrupts],
    }


def result_of(writes: Writes, stream: Reads) -> dict[str, Any]:
    """What a task's writes amount to: key to value (several writes of one key: `$writes`)."""
    members = {stream} if isinstance(stream, str) else stream.members
    result: dict[str, Any] = {}
    for channel, value in writes:
        if channel not in members and channel != RETURN:
            continue
        if channel not in result:
            result[channel] = value
        elif isinstance(result[channel], dict) and "$writes" in result[channel]:
            result[channel]["$writes"].append(value)
        else:
            result[channel] = {"$writes": [result[channel], value]}
    return result


def interrupt_payload(asked: Interrupt) -> dict[str, Any]:
    """An interrupt as plain data."""
    return {"value": asked.value, "id": asked.id, "response_schema": asked.response_schema}


def nested_config(task: Task, configurable: Mapping[str, Any]) -> dict[str, Any] | None:
    """The config that addresses the checkpoints of the graph inside a task, if it is one."""
    if "thread_id" not in configurable or graph_inside(task.node) is None:
        return None
    return {"configurable": {"thread_id": configurable["thread_id"], "checkpoint_ns": task.ns}}


def task_in_checkpoint(
    task: Task, output: Reads, configurable: Mapping[str, Any]
) -> dict[str, Any]:
    """A task of a checkpoint that is reported, with its outcome so far."""
    shown: dict[str, Any] = {"id": task.id, "name": task.name}
    prior = dict(task.prior)
    if ERROR in prior:
        shown["error"] = prior[ERROR]
    else:
        shown["interrupts"] = tuple(interrupt_payload(asked) for asked in prior.get(INTERRUPT, ()))
    shown["state"] = nested_config(task, configurable)
    if task.saved and (result := result_of(task.writes, output)):
        shown["result"] = result.get(output) if isinstance(output, str) else result
    return shown


def is_outcome(writes: Sequence[tuple[str, Any]]) -> bool:
    """Whether stored writes say that the task has finished."""
    return any(channel not in MARKS for channel, _ in writes)
