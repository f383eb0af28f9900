"""Whatever a program does to lists and dicts, every checkpoint loads as it was committed."""

from __future__ import annotations

from copy import deepcopy
from itertools import count
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from plait.checkpoint.base.port import NewCheckpoint, TaskWrites
from plait.checkpoint.log import looking
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.engine.records import snapshot_of

TS = "2026-01-01T00:00:00.000000+00:00"


def cid(n: int) -> str:
    """A time-ordered checkpoint id."""
    return f"{n:08x}-0000-6000-8000-000000000000"


texts = st.text(max_size=3) | st.sampled_from(["x" * 150, "y" * 300])
scalars = st.none() | st.booleans() | st.integers(-2, 400) | st.floats(allow_nan=False) | texts
items = scalars | st.fixed_dictionaries({"v": texts, "deep": st.lists(scalars, max_size=2)})

op = st.one_of(
    st.tuples(st.just("append"), items),
    st.tuples(st.just("extend"), st.lists(items, max_size=3)),
    st.tuples(st.just("insert"), st.integers(0, 20), items),
    st.tuples(st.just("delete"), st.integers(0, 20)),
    st.tuples(st.just("replace"), st.integers(0, 20), items),
    st.tuples(st.just("mutate"), st.integers(0, 20), texts),
    st.tuples(st.just("window"), st.integers(0, 5)),
    st.tuples(st.just("reverse")),
    st.tuples(st.just("rebuild")),
    st.tuples(st.just("copy")),
    st.tuples(st.just("clear")),
    st.tuples(st.just("set"), st.sampled_from("abcdef"), items),
    st.tuples(st.just("unset"), st.sampled_from("abcdef")),
    st.tuples(st.just("reorder")),
    st.tuples(st.just("drop")),
)
step = st.tuples(
    st.lists(op, max_size=4),
    st.sampled_from(["go", "go", "go", "go", "fork", "reload"]),
    st.integers(0, 100),
)


def apply(values: dict[str, Any], one: tuple[Any, ...]) -> set[str]:
    """Do one operation, mostly in place. Returns the channels it wrote."""
    box: list[Any] = values.get("items", [])
    data: dict[str, Any] = values.get("data", {})
    wrote = "data" if one[0] in ("set", "unset", "reorder", "drop") else "items"
    values[wrote] = data if wrote == "data" else box
    match one:
        case ("append", item):
            box.append(item)
        case ("extend", more):
            values["items"] = box + more
        case ("insert", at, item):
            box.insert(at, item)
        case ("delete", at):
            del box[at : at + 1]
        case ("replace", at, item):
            box[at : at + 1] = [item]
        case ("mutate", at, text):
            for item in box[at : at + 1]:
                if isinstance(item, dict):
                    item["deep"].append(text)
        case ("window", size):
            values["items"] = box[-size:]
        case ("reverse",):
            box.reverse()
        case ("rebuild",):
            values["items"] = deepcopy(box)
        case ("copy",):
            values["items"] = list(box)
        case ("clear",):
            box.clear()
        case ("set", key, item):
            data[key] = item
        case ("unset", key):
            data.pop(key, None)
        case ("reorder",):
            values["data"] = dict(sorted(data.items()))
        case ("drop",):
            del values["data"]
        case _:
            raise AssertionError(one)
    return {wrote}


def play(saver: Any, steps: list[Any]) -> None:
    numbers = count(1)
    session = saver.open_session("t", policy="allow")
    model: dict[str, dict[str, Any]] = {}
    wrote: dict[tuple[str, str], Any] = {}
    values: dict[str, Any] = {}
    parent: str | None = None
    for ops, move, pick in steps:
        if move != "go" and model:
            if move == "reload":
                session = saver.open_session("t", policy="allow")
            parent = sorted(model)[pick % len(model)]
            snapshot = saver.run(session.load(parent))
            values = snapshot.values
            assert same(values, model[parent])
        written: set[str] = set()
        for one in ops:
            written |= apply(values, one)
        new = cid(next(numbers))
        changed = {name: values[name] for name in sorted(written) if name in values}
        removed = [name for name in sorted(written) if name not in values]
        pairs = list(changed.items())
        if len(ops) == 1 and ops[0][0] == "set":  # a node whose reducer merges what it returns
            pairs = [("data", {ops[0][1]: values["data"][ops[0][1]]})]
        if pick % 2:  # a nested graph returns the same objects in a list of its own
            pairs = [(c, [*value] if isinstance(value, list) else value) for c, value in pairs]
        writes = [TaskWrites(parent, new, "p", pairs)] if parent else []
        wrote.update(((new, channel), deepcopy(value)) for channel, value in pairs)
        checkpoint = NewCheckpoint(new, parent, TS, {"step": 1}, {}, changed, removed)
        saver.run(session.commit(checkpoint, writes))
        model[new] = deepcopy(values)
        parent = new
    for id, expected in model.items():
        snapshot = saver.run(saver.open_session("t", policy="allow").load(id))
        assert same(snapshot.values, expected)
        for task, channel, value in snapshot.writes:
            assert same(value, wrote[task, channel])
    look_back(saver, model, wrote)


def look_back(
    saver: Any, model: dict[str, dict[str, Any]], wrote: dict[tuple[str, str], Any]
) -> None:
    """The history shows each checkpoint, whatever somebody does to the one before."""
    seen: list[str] = []
    for page in saver.open_reading("t").history():
        for stored in saver.run(page):
            snapshot = snapshot_of(stored)
            seen.append(snapshot.id)
            assert same(snapshot.values, model[snapshot.id])
            for task, channel, value in snapshot.writes:
                assert same(value, wrote[task, channel])
                spoil(value)
            spoil(snapshot.values)
    assert seen == sorted(model, reverse=True)


def spoil(value: Any) -> None:
    """Change all that can be changed in a value."""
    if isinstance(value, dict):
        for each in value.values():
            spoil(each)
        value["spoilt"] = True
    elif isinstance(value, list):
        for each in value:
            spoil(each)
        value.append("spoilt")


def same(a: Any, b: Any) -> bool:
    """Equal in value, type and order."""
    return repr(
        sorted(a.items()) if isinstance(a, dict) and set(a) <= {"items", "data"} else a
    ) == (repr(sorted(b.items()) if isinstance(b, dict) and set(b) <= {"items", "data"} else b))


@settings(max_examples=300, deadline=None)
@given(st.lists(step, max_size=40), st.sampled_from([3, looking.PAGE]))
def test_every_checkpoint_loads_as_it_was_committed_in_memory(steps: list[Any], page: int) -> None:
    with patch.object(looking, "PAGE", page):
        play(InMemorySaver(), deepcopy(steps))


@settings(max_examples=60, deadline=None)
@given(st.lists(step, max_size=40), st.sampled_from([3, looking.PAGE]))
def test_every_checkpoint_loads_as_it_was_committed_in_sqlite(steps: list[Any], page: int) -> None:
    with SqliteSaver(":memory:") as saver, patch.object(looking, "PAGE", page):
        play(saver, deepcopy(steps))


def test_long_programs_on_one_list_stay_right_and_bounded() -> None:
    saver = InMemorySaver()
    session = saver.open_session("t", policy="allow")
    values: list[Any] = []
    parent = None
    for n in range(600):
        values.append({"text": f"{n:04}" * 50})
        if n % 3 == 0 and len(values) > 20:
            del values[n % 20]
        if n > 300:
            del values[:2]
        checkpoint = NewCheckpoint(cid(n), parent, TS, {}, {}, {"items": values})
        saver.run(session.commit(checkpoint))
        parent = cid(n)
        if n % 50 == 0:
            loaded = saver.run(saver.open_session("t", policy="allow").load())
            assert loaded.values["items"] == values
