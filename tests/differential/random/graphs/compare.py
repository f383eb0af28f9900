"""What is the same of two results of a program with graphs."""

from typing import Any

from tests.differential.normal import normalise


def in_order(record: list[Any]) -> list[Any]:
    """A record whose streams are in an order that is not that of time.

    Tasks that run at once end in any order, and plait tells a question when its super-step ends.
    """
    return [_entry_sorted(entry) for entry in record]


def _entry_sorted(entry: Any) -> Any:
    if len(entry) != 3:
        return entry
    kind, outcome, after = entry
    if kind == "stream" and isinstance(outcome, list):
        outcome = sorted(outcome, key=_key)
    if kind == "invoke" and isinstance(outcome, dict) and "__interrupt__" in outcome:
        outcome = {**outcome, "__interrupt__": sorted(outcome["__interrupt__"], key=_key)}
    return kind, outcome, _snapshot_sorted(after)


def _snapshot_sorted(value: Any) -> Any:
    """Snapshots whose questions are in an order that is not that of their coming up."""
    if isinstance(value, list):
        return [_snapshot_sorted(item) for item in value]
    if hasattr(value, "tasks"):
        tasks = tuple(_snapshot_sorted(task) for task in value.tasks)
        return value._replace(tasks=tasks, interrupts=tuple(sorted(value.interrupts, key=_key)))
    if hasattr(value, "interrupts"):
        asked = tuple(sorted(value.interrupts, key=_key))
        return value._replace(interrupts=asked, state=_snapshot_sorted(value.state))
    return value


def _key(part: Any) -> str:
    return repr(comparable(normalise(part)))


def comparable(value: Any) -> Any:
    """A plain result without what is each side's own affair: texts of errors, private keys."""
    if isinstance(value, dict):
        if value.get("$") == "StateSnapshot":
            value = _waiting(value)
        return {
            key: _error(item) if key == "error" else comparable(item)
            for key, item in value.items()
            if not str(key).startswith("__pregel_") and key not in _TRACERS
        }
    if isinstance(value, list | tuple):
        return type(value)(comparable(item) for item in value)
    return value


def _waiting(snapshot: dict[Any, Any]) -> dict[Any, Any]:
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
