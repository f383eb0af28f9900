"""`RunLog`: what is known of a run so far; `RunLogPatch`: what a step of it changes (JSON Patch).

Patches are what `astream_log` yields. Adding them up, the first one first, gives the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pprint import pformat
from typing import Any, TypedDict, cast

Op = dict[str, Any]


class LogEntry(TypedDict):
    """One run inside the run."""

    id: str
    name: str
    type: str
    """ "chain", "prompt", "parser", "llm" (chat models too), "tool" or "retriever"."""
    tags: list[str]
    metadata: dict[str, Any]
    start_time: str
    streamed_output: list[Any]
    streamed_output_str: list[str]
    """The tokens of a model, as text."""
    final_output: Any
    end_time: str | None


class RunState(TypedDict):
    """What is known of a run."""

    id: str
    name: str
    type: str
    streamed_output: list[Any]
    final_output: Any
    logs: dict[str, LogEntry]
    """The runs inside, by their names; a second `inc` is `inc:2`."""


class RunLogPatch:
    """What one step changes: operations of JSON Patch (`add`, `replace`, `remove`).

    >>> first = RunLogPatch({"op": "replace", "path": "", "value": {"n": []}})
    >>> (first + RunLogPatch({"op": "add", "path": "/n/-", "value": 1})).state
    {'n': [1]}
    """

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, *ops: Op) -> None:
        self.ops = list(ops)

    def __add__(self, other: Any) -> RunLog:
        """The state after both."""
        if type(other) is not RunLogPatch:
            raise TypeError(
                f"unsupported operand type(s) for +: '{type(self)}' and '{type(other)}'"
            )
        ops = self.ops + other.ops
        return RunLog(*ops, state=applied(None, ops))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunLogPatch) and self.ops == other.ops

    def __repr__(self) -> str:
        return f"RunLogPatch({pformat(self.ops)[1:-1]})"


class RunLog(RunLogPatch):
    """What is known of a run so far: `state`, and all `ops` that led there."""

    def __init__(self, *ops: Op, state: RunState) -> None:
        super().__init__(*ops)
        self.state = state

    def __add__(self, other: Any) -> RunLog:
        """The state after one more patch; this one stays as it is."""
        if type(other) is not RunLogPatch:
            raise TypeError(
                f"unsupported operand type(s) for +: '{type(self)}' and '{type(other)}'"
            )
        return RunLog(*self.ops, *other.ops, state=applied(self.state, other.ops))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunLog):
            return False
        return self.state == other.state and self.ops == other.ops

    def __repr__(self) -> str:
        return f"RunLog({pformat(self.state)})"


def applied(state: Any, ops: list[Op]) -> Any:
    """A copy of a state with operations applied to it.

    Raises:
        KeyError: an operation names a place that does not exist.

    >>> applied({"a": {"b": 1}}, [{"op": "remove", "path": "/a/b"}])
    {'a': {}}
    """
    state = deepcopy(state)
    for op in ops:
        names = [n.replace("~1", "/").replace("~0", "~") for n in op["path"].split("/")[1:]]
        if not names:
            state = deepcopy(op["value"])
            continue
        place = state
        for name in names[:-1]:
            place = place[int(name) if isinstance(place, list) else name]
        _apply(place, names[-1], op)
    return state


def _apply(place: Any, name: str, op: Op) -> None:
    value = deepcopy(op.get("value"))
    if isinstance(place, list):
        items = cast("list[Any]", place)
        at = len(items) if name == "-" else int(name)
        items[at : at + (op["op"] != "add")] = [] if op["op"] == "remove" else [value]
    elif op["op"] != "add" and name not in place:
        raise KeyError(f"{op['path']}: there is nothing to {op['op']}.")
    elif op["op"] == "remove":
        del place[name]
    else:
        place[name] = value


def path_of(*names: str) -> str:
    """The JSON pointer of a place.

    >>> path_of("logs", "a/b")
    '/logs/a~1b'
    """
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


def changes(path: str, old: Any, new: Any) -> Iterator[Op]:
    """The operations that make `new` of `old`, which stands at `path`.

    >>> list(changes("/n", {"a": [1]}, {"a": [1, 2], "b": 3}))
    [{'op': 'add', 'path': '/n/b', 'value': 3}, {'op': 'add', 'path': '/n/a/1', 'value': 2}]
    """
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
        for name in before.keys() - after.keys():
            yield {"op": "remove", "path": path + path_of(name)}
        for name in after:
            if name not in before:
                yield {"op": "add", "path": path + path_of(name), "value": after[name]}
        for name in after:
            if name in before:
                yield from changes(path + path_of(name), before[name], after[name])
    elif type(cast("Any", old)) is list and type(new) is list:
        items, now = cast("list[Any]", old), cast("list[Any]", new)
        for n, (one, other) in enumerate(zip(items, now, strict=False)):
            yield from changes(f"{path}/{n}", one, other)
        for n in range(len(items), len(now)):
            yield {"op": "add", "path": f"{path}/{n}", "value": now[n]}
        for n in range(len(items) - 1, len(now) - 1, -1):
            yield {"op": "remove", "path": f"{path}/{n}"}
    elif not _same(old, new):
        yield {"op": "replace", "path": path, "value": new}


def _same(old: Any, new: Any) -> bool:
    try:
        return old is new or (type(old) is type(new) and bool(old == new))
    except (TypeError, ValueError):  # they do not compare, as arrays and frames do not
        return False


__all__ = ["LogEntry", "RunLog", "RunLogPatch", "RunState", "applied", "changes", "path_of"]
