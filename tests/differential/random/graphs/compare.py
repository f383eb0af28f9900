"""What is the same of two results of a program with graphs."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.differential.normal import normalise


def in_order(record: list[Any]) -> list[Any]:
    """A record whose streams are in an order that is not that of time.

    Tasks that run at once end in any order, and plait tells a question when its super-step ends.
    Of several that fail at once, a stream of the peer tells those that it was quick to read. A
    message that is written anew counts as known as soon as a task beside its node has begun.
    """
    ranks: dict[str, int] = {}  # of all, for a history does not show where a question was asked
    known: set[str] = set()
    found: list[Any] = []
    for entry in record:
        found.append(_entry_sorted(_told_once(entry, known), ranks))
        known.update(_messages(entry))
    return found


def _told_once(entry: Any, known: set[str]) -> Any:
    """An entry of a record whose stream tells each message once, and none that is `known`."""
    if entry[0] != "stream" or not isinstance(entry[1], list):
        return entry
    told = set(known)
    kept: list[Any] = []
    for part in entry[1]:
        message = _message(part)
        if message not in told:
            kept.append(part)
        if message is not None:
            told.add(message)
    return entry[0], kept, *entry[2:]


def _message(part: Any) -> str | None:
    """The id of the message that a part of mode `messages` tells."""
    told = part.get("data") if isinstance(part, dict) else part
    if isinstance(told, tuple) and told and isinstance(told[-1], tuple):
        told = told[-1]
    if isinstance(told, tuple) and len(told) == 2 and isinstance(told[1], dict):
        return next(_messages(told[0]), None)
    return None


def _messages(value: Any) -> Iterator[str]:
    """The ids of all messages in a value."""
    if hasattr(value, "content") and isinstance(getattr(value, "id", None), str):
        yield value.id
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _messages(item)


def until_it_breaks(record: list[Any]) -> list[Any]:
    """A record up to the first run that did not end, and not because the program says so.

    Of that run, its error counts: what graphs inside of its other tasks had done is chance.
    """
    for index, entry in enumerate(record):
        told = repr(entry[1:2])
        if "ErrorInfo(" in told and "'Planned'" not in told:
            return [*record[:index], (*entry[:2], None)]
    return record


def _entry_sorted(entry: Any, ranks: dict[str, int]) -> Any:
    if isinstance(entry, str):
        return entry
    if len(entry) == 2:
        return entry[0], _snapshot_sorted(entry[1], ranks)
    kind, outcome, after = entry
    if kind == "stream" and "ErrorInfo(" in repr(outcome[-1:]) and _errors(after) != 1:
        outcome = outcome[-1:]
    after = _snapshot_of_open(after)
    _rank(after, ranks)
    if kind == "stream" and isinstance(outcome, list):
        outcome = [part for part in outcome if not _is_closed(part, ranks)]
        for started in filter(None, map(_started, outcome)):
            ranks.setdefault(started, len(ranks))

    def key(part: Any) -> tuple[str, list[int]]:
        return _key(part), [ranks.get(id, -1) for id in _ids(part)]

    outcome = _asked_sorted(outcome, key)
    if kind == "stream" and isinstance(outcome, list):
        outcome.sort(key=key)
        seen = Counter(map(_key, outcome))
        for part in outcome:  # what two tasks tell alike is told apart by what one of them tells
            if seen[_key(part)] == 1:
                for id in _ids(part):
                    ranks.setdefault(id, len(ranks))
        outcome.sort(key=key)
    return kind, outcome, _snapshot_sorted(after, ranks)


def _errors(snapshot: Any) -> int:
    """How many tasks of a snapshot failed, and of those inside of them; 0 where it shows none."""
    tasks = getattr(snapshot, "tasks", ())
    failed = [task for task in tasks if task.error and not task.error.startswith("CancelledError")]
    return len(failed) + sum(_errors(task.state) for task in tasks)


def _asked_sorted(value: Any, key: Callable[[Any], Any]) -> Any:
    """What a run gave, with the questions that are told together in order."""
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        items = [_asked_sorted(item, key) for item in value]
        if items and all(map(_is_question, items)):
            items.sort(key=key)
        return type(value)(items)
    if isinstance(value, dict):
        return {name: _asked_sorted(item, key) for name, item in value.items()}
    return value


def _is_question(item: Any) -> bool:
    """Whether a question is told, as it is or as a dict."""
    return type(item).__name__ == "Interrupt" or (
        isinstance(item, dict)
        and {"id", "value"} <= item.keys() <= {"id", "value", "response_schema"}
    )


def _rank(value: Any, ranks: dict[str, int]) -> None:
    """Where each question stands in the order of tasks: several may ask the same."""
    for task in getattr(value, "tasks", ()):
        _rank(task.state, ranks)  # first: a task's own list of them is in the order of time
        for question in task.interrupts:
            ranks.setdefault(question.id, len(ranks))


def _snapshot_of_open(value: Any, *, left: bool = False) -> Any:
    """A snapshot without what was asked in a graph that was left ("Questions of a graph that was
    left"); `left`: as this one was."""
    if not hasattr(value, "tasks"):
        return value
    tasks: list[Any] = []
    for task in value.tasks:
        ended = left or (task.result is not None and not task.interrupts)
        state = _snapshot_of_open(task.state, left=ended)
        tasks.append(task._replace(state=state, interrupts=() if left else task.interrupts))
    return value._replace(tasks=tuple(tasks), interrupts=() if left else value.interrupts)


def _is_closed(part: Any, ranks: dict[str, int]) -> bool:
    """Whether a part of a stream tells that a task asked, and the question is not open."""
    told = _payload(part)
    asked = told.get("interrupts") if "result" in told else ()
    return bool(asked) and all(one["id"] not in ranks for one in asked)


def _started(part: Any) -> str | None:
    """The id of the task whose start a part of a stream tells: tasks of a super-step start in
    order."""
    told = _payload(part)
    return told["id"] if {"id", "input", "triggers"} <= told.keys() else None


def _payload(part: Any) -> dict[str, Any]:
    """What a part of a stream tells, without what says of which mode and graph it is."""
    if isinstance(part, tuple):
        part = part[-1]
    if isinstance(part, dict):
        for name in ("data", "payload"):  # of version 2, and of mode debug
            part = part[name] if isinstance(part.get(name), dict) else part
    return part if isinstance(part, dict) else {}


def _ids(part: Any) -> Iterator[str]:
    """The ids of questions and tasks in a part of a stream, and the levels of its namespace."""
    if type(part).__name__ == "Interrupt":
        yield part.id
    if isinstance(part, dict) and isinstance(part.get("id"), str):
        yield part["id"]
    items = part.values() if isinstance(part, dict) else part
    if isinstance(part, dict | list | tuple):
        for item in items:
            if isinstance(part, tuple) and isinstance(item, str):
                yield item
            yield from _ids(item)


def _snapshot_sorted(value: Any, ranks: dict[str, int]) -> Any:
    """Snapshots whose questions are in an order that is not that of their coming up."""

    def key(question: Any) -> tuple[str, int]:
        return _key(question), ranks[question.id]

    if isinstance(value, list):
        for item in value:
            _rank(item, ranks)
        return [_snapshot_sorted(item, ranks) for item in value]
    if hasattr(value, "tasks"):
        tasks = tuple(_snapshot_sorted(task, ranks) for task in value.tasks)
        return value._replace(tasks=tasks, interrupts=tuple(sorted(value.interrupts, key=key)))
    if hasattr(value, "interrupts"):
        asked = tuple(sorted(value.interrupts, key=key))
        return value._replace(interrupts=asked, state=_snapshot_sorted(value.state, ranks))
    return value


def _key(part: Any) -> str:
    return repr(comparable(normalise(part)))


def comparable(value: Any, *, results: bool = True) -> Any:
    """A plain result without what is each side's own affair: texts of errors, private keys.

    Args:
        value: the result.
        results: whether results of tasks count ("Results of tasks that were updated").
    """
    if type(value) is str:  # nearly all
        return value
    if isinstance(value, dict):
        if value.get("$") == "StateSnapshot":
            value = waiting(value)
        if "interrupts" not in value and _error(value.get("error", "")) is None:
            # of a streamed checkpoint: who was only cancelled did not fail
            value = {**{k: v for k, v in value.items() if k != "error"}, "interrupts": ()}
        if value.get("$") == "PregelTask" and not results:
            value = {**value, "result": None}
        return {
            key: _error(item) if key == "error" else comparable(item, results=results)
            for key, item in value.items()
            if not str(key).startswith("__pregel_") and key not in _TRACERS
        }
    if isinstance(value, list | tuple):
        return type(value)(comparable(item, results=results) for item in value)
    return value


def waiting(snapshot: dict[Any, Any]) -> dict[Any, Any]:
    """A snapshot without what failed tasks once asked ("Answered questions of a failed task")."""
    tasks = [{**t, "interrupts": ()} if t["error"] else t for t in snapshot["tasks"]]
    asked = tuple(question for task in tasks for question in task["interrupts"])
    return {**snapshot, "tasks": tuple(tasks), "interrupts": asked}


_TRACERS = ("ls_integration", "lc_versions")
"""What the peer tells for its vendor's tracer ("Metadata for LangSmith")."""


def _error(error: Any) -> Any:
    """The class of an error that is told as text; who was only cancelled did not fail."""
    name = error.split("(")[0] if isinstance(error, str) else comparable(error)
    return None if name == "CancelledError" else name
