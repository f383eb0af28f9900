"""The names of `langgraph.pregel.debug`: tasks and checkpoints as the payloads of debug streams.

Runs of plait make these payloads in `engine/report.py`; the functions here are for tools that hold
tasks and channels themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from plait.channels.base import BaseChannel
from plait.common.lazy import lazily
from plait.constants import ERROR, INTERRUPT, RESUME, RETURN, TAG_HIDDEN
from plait.pregel.run import own_metadata
from plait.types import Interrupt, PregelTask

if TYPE_CHECKING:
    from plait.payloads import (
        CheckpointPayload,
        PregelExecutableTask,
        TaskPayload,
        TaskResultPayload,
    )

__getattr__ = lazily(
    __name__,
    dict.fromkeys(("CheckpointPayload", "TaskPayload", "TaskResultPayload"), "plait.payloads"),
)

Writes = Sequence[tuple[str, Any]]
PendingWrites = Sequence[tuple[str, str, Any]]
Keys = str | Sequence[str]
_STEP_TAG = "seq:step:"
"""What tags begin with that say where in a chain something runs."""
_COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34}


def map_debug_tasks(tasks: Iterable[PregelExecutableTask]) -> Iterator[TaskPayload]:
    """The payloads of tasks that start; hidden ones have none."""
    for task in tasks:
        config = task.config or {}
        given: list[str] = config.get("tags") or []
        if TAG_HIDDEN in given:
            continue
        tags = [tag for tag in given if not tag.startswith(_STEP_TAG)]
        payload: dict[str, Any] = {
            "id": task.id,
            "name": task.name,
            "input": task.input,
            "triggers": task.triggers,
        }
        about: dict[str, Any] = {**own_metadata(config), **({"tags": tags} if tags else {})}
        if about:
            payload["metadata"] = about
        yield cast("TaskPayload", payload)


def map_debug_task_results(
    task_tup: tuple[PregelExecutableTask, Writes], stream_keys: Keys
) -> Iterator[TaskResultPayload]:
    """The payload of a task that ended with these writes."""
    task, writes = task_tup
    keys = _listed(stream_keys)
    yield cast(
        "TaskResultPayload",
        {
            "id": task.id,
            "name": task.name,
            "error": next((value for channel, value in writes if channel == ERROR), None),
            "result": map_task_result_writes([(c, v) for c, v in writes if c in (*keys, RETURN)]),
            "interrupts": [asdict(question) for question in _questions(writes)],
        },
    )


def map_debug_checkpoint(
    config: Any,
    channels: Mapping[str, BaseChannel[Any, Any, Any]],
    stream_channels: Keys,
    metadata: Any,
    tasks: Iterable[PregelExecutableTask],
    pending_writes: PendingWrites,
    parent_config: Any,
    output_keys: Keys,
) -> Iterator[CheckpointPayload[Any]]:
    """The payload of a checkpoint, with what is known of its tasks."""
    listed = list(tasks)
    yield cast(
        "CheckpointPayload[Any]",
        {
            "config": rm_pregel_keys(config),
            "parent_config": rm_pregel_keys(parent_config),
            "values": _values(channels, stream_channels),
            "metadata": metadata,
            "next": [task.name for task in listed],
            "tasks": [
                _in_checkpoint(task)
                for task in tasks_w_writes(listed, pending_writes, None, output_keys)
            ],
        },
    )


def _in_checkpoint(task: PregelTask) -> dict[str, Any]:
    payload: dict[str, Any] = {"id": task.id, "name": task.name}
    if task.error:
        return {**payload, "error": task.error, "state": task.state}
    if task.result:
        payload["result"] = task.result
    questions = tuple(asdict(question) for question in task.interrupts)
    return {**payload, "interrupts": questions, "state": task.state}


def _values(channels: Mapping[str, BaseChannel[Any, Any, Any]], keys: Keys) -> Any:
    if isinstance(keys, str):
        return channels[keys].get() if channels[keys].is_available() else None
    return {key: channels[key].get() for key in keys if channels[key].is_available()}


def tasks_w_writes(
    tasks: Iterable[PregelTask | PregelExecutableTask],
    pending_writes: PendingWrites | None,
    states: Mapping[str, Any] | None,
    output_keys: Keys,
    *,
    live: bool = False,
) -> tuple[PregelTask, ...]:
    """Tasks with what became of them.

    Args:
        tasks: those of a checkpoint.
        pending_writes: (task id, channel, value) of what they wrote.
        states: task id to the state of the graph inside it, or the config that addresses it.
        output_keys: the keys that make a result.
        live: list only the questions that wait for an answer.
    """
    by_task: dict[str, list[tuple[str, Any]]] = {}
    for task_id, channel, value in pending_writes or ():
        by_task.setdefault(task_id, []).append((channel, value))
    return tuple(
        PregelTask(
            task.id,
            task.name,
            task.path,
            next((v for c, v in by_task.get(task.id, ()) if c == ERROR), None),
            tuple(_questions(by_task.get(task.id, ()), live=live)),
            None if states is None else states.get(task.id),
            _result(by_task.get(task.id, ()), output_keys),
        )
        for task in tasks
    )


def _result(writes: Writes, keys: Keys) -> Any:
    """What a task's writes amount to; None while it has not ended well."""
    if not writes or any(channel in (ERROR, INTERRUPT) for channel, _ in writes):
        return None
    for channel, value in writes:
        if channel == RETURN:
            return value
    if isinstance(keys, str):
        return next((value for channel, value in writes if channel == keys), None)
    return map_task_result_writes([(c, v) for c, v in writes if c in keys])


def map_task_result_writes(writes: Writes) -> dict[str, Any]:
    """Writes as a dict; several of one channel as `{"$writes": [...]}`.

    >>> map_task_result_writes([("a", 1), ("b", 2), ("b", 3)])
    {'a': 1, 'b': {'$writes': [2, 3]}}
    """
    grouped: dict[str, list[Any]] = {}
    for channel, value in writes:
        grouped.setdefault(channel, []).append(value)
    return {
        channel: values[0] if len(values) == 1 else {"$writes": values}
        for channel, values in grouped.items()
    }


def is_multiple_channel_write(value: Any) -> bool:
    """Whether a value of `map_task_result_writes` stands for several writes."""
    return isinstance(value, dict) and isinstance(
        cast("dict[str, Any]", value).get("$writes"), list
    )


def rm_pregel_keys(config: Any) -> Any:
    """What of a config addresses and configures a run: its `configurable`, without inner entries.

    >>> rm_pregel_keys({"configurable": {"thread_id": "1", "__pregel_x": 2}, "tags": []})
    {'configurable': {'thread_id': '1'}}
    """
    if config is None:
        return None
    given: dict[str, Any] = config.get("configurable") or {}
    return {"configurable": {k: v for k, v in given.items() if not k.startswith("__pregel_")}}


def get_colored_text(text: str, color: str) -> str:
    """Text in a colour (red, green, yellow, blue) and bold, for terminals."""
    return f"\x1b[1;30;{_COLOURS[color]}m{text}\x1b[0m"


def get_bolded_text(text: str) -> str:
    """Text in bold, for terminals.

    >>> get_bolded_text("x")
    '\\x1b[1mx\\x1b[0m'
    """
    return f"\x1b[1m{text}\x1b[0m"


def _listed(keys: Keys) -> Sequence[str]:
    return (keys,) if isinstance(keys, str) else keys


def _questions(writes: Writes, *, live: bool = False) -> list[Interrupt]:
    asked: list[Interrupt] = []
    answered: set[str] = set()
    for channel, value in writes:
        if channel == INTERRUPT:
            many = isinstance(value, (list, tuple))
            asked.extend(cast("Sequence[Interrupt]", value) if many else [value])
        elif channel == RESUME and live and isinstance(value, dict):
            answered.update(cast("dict[str, Any]", value))
    return [question for question in asked if question.id not in answered]


__all__ = [
    "CheckpointPayload",
    "TaskPayload",
    "TaskResultPayload",
    "get_bolded_text",
    "get_colored_text",
    "is_multiple_channel_write",
    "map_debug_checkpoint",
    "map_debug_task_results",
    "map_debug_tasks",
    "map_task_result_writes",
    "rm_pregel_keys",
    "tasks_w_writes",
]
