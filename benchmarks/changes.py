"""Owns the workloads whose super-steps change a long list or dict: turned round, shuffled, half of
it replaced, one nested value changed in place.
"""

from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from random import Random
from typing import Any

import ormsgpack
from typing_extensions import TypedDict

from benchmarks.implementations import Implementation
from benchmarks.measure import Job
from benchmarks.threads import open_saver

STEPS = 20
"""Super-steps of a run."""
_Step = Callable[[Any, int], Any]
"""A value and how many super-steps were done, to the next value."""


class Changing(TypedDict):
    """A value that each super-step changes."""

    items: Any
    n: int


def _texts(size: int) -> list[str]:
    return [f"{n:099}" for n in range(size)]


def _notes(size: int) -> list[Any]:
    return [
        {"id": n, "text": f"note {n}", "tags": ["a", "b"], "meta": {"n": n, "seen": False}}
        for n in range(size)
    ]


def _table(size: int) -> dict[str, Any]:
    return {f"key{n}": note for n, note in enumerate(_notes(size))}


def _shuffled(items: list[Any], n: int) -> list[Any]:
    return Random(n).sample(items, len(items))


def _every_second(items: list[Any], n: int) -> list[Any]:
    return [{**item, "text": f"new {n}"} if i % 2 else item for i, item in enumerate(items)]


def _second_in_place(items: list[Any], n: int) -> list[Any]:
    for item in items[::2]:
        item["text"] = f"new {n}"
    return items


def _one_nested(items: list[Any], n: int) -> list[Any]:
    items[n * 37 % len(items)]["meta"]["n"] = -1 - n
    return items


def _one_of_table(table: dict[str, Any], n: int) -> dict[str, Any]:
    table[f"key{n * 37 % len(table)}"]["meta"]["n"] = -1 - n
    return table


WORKS: dict[str, tuple[str, Callable[[int], Any], _Step]] = {
    "turned": ("a list of texts turned round", _texts, lambda items, n: items[::-1]),
    "shuffled": ("a list of texts shuffled", _texts, _shuffled),
    "second": ("every second dict of a list replaced", _notes, _every_second),
    "in-place": ("every second dict of a list changed in place", _notes, _second_in_place),
    "nested": ("one value nested in a list changed in place", _notes, _one_nested),
    "table": ("one value nested in a dict changed in place", _table, _one_of_table),
}
"""By name: what each super-step does, the value at first, and the step."""


def changed(impl: Implementation, size: int, *, how: str, saver: str) -> Job:
    """`STEPS` super-steps, each of which changes a value of so many items."""
    _, make, step = WORKS[how]
    opened = ExitStack()
    builder = impl.StateGraph(Changing)
    builder.add_node("change", lambda s: {"items": step(s["items"], s["n"]), "n": s["n"] + 1})
    builder.add_edge(impl.START, "change")
    builder.add_conditional_edges(
        "change", lambda s: "change" if s["n"] < STEPS else impl.END, ["change", impl.END]
    )
    graph = builder.compile(checkpointer=open_saver(impl, saver, opened))
    fresh = count()

    def run() -> Any:
        config = {"configurable": {"thread_id": str(next(fresh))}, "recursion_limit": 2 * STEPS}
        return graph.invoke({"items": make(size), "n": 0}, config)

    return Job(run, close=opened.close)


def floor(size: int, *, how: str) -> Job:
    """The same steps, and their values encoded with ormsgpack."""
    _, make, step = WORKS[how]

    def run() -> Any:
        value = make(size)
        for n in range(STEPS):
            value = step(value, n)
            ormsgpack.packb(value)
        return {"items": value, "n": STEPS}

    return Job(run)
