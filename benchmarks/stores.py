"""Owns the workloads of stores, and their floors: items put, got, one by one or in one batch, and
searched for.

Every store holds ``size`` items in ten namespaces. A search has a filter that every fifth item
meets, or that asks for a range of numbers, over one namespace; what it finds is compared between
the contestants.
"""

from collections.abc import Callable
from typing import Any, Literal

from benchmarks.implementations import Implementation
from benchmarks.measure import Job

Kind = Literal["memory", "sqlite"]
Work = Literal["put", "get", "batch", "search", "range"]
SEARCHES = 50


def _namespace(i: int) -> tuple[str, str]:
    return ("users", str(i % 10))


def _value(i: int) -> dict[str, Any]:
    return {"text": f"note {i}", "kind": "note" if i // 10 % 5 else "task", "n": i}


def _fill(store: Any, size: int) -> Any:
    for i in range(size):
        store.put(_namespace(i), str(i), _value(i))
    return store


def _got(store: Any, size: int) -> int:
    return sum(store.get(_namespace(i), str(i)).value["n"] for i in range(size))


def _got_together(store: Any, ops: list[Any]) -> int:
    return sum(item.value["n"] for item in store.batch(ops))


def _found(store: Any) -> list[list[str]]:
    wanted = {"kind": "task"}
    pages = [store.search(_namespace(i), filter=wanted, limit=100) for i in range(SEARCHES)]
    return [sorted(item.key for item in page) for page in pages]


def _within(store: Any, size: int) -> list[list[str]]:
    wanted = {"n": {"$gte": size // 2, "$lt": size // 2 + 20}}
    pages = [store.search(_namespace(i), filter=wanted, limit=100) for i in range(SEARCHES)]
    return [sorted(item.key for item in page) for page in pages]


def store(impl: Implementation, size: int, *, kind: Kind, work: Work) -> Job:
    """One kind of work on one kind of store; what is not timed is done before."""
    return _job(lambda: impl.store(kind), size, work, impl.store_op("GetOp"))


def floor(size: int, *, kind: Kind, work: Work) -> Job:
    """A dict of dicts, and a comprehension that searches it."""
    return _job(_Plain, size, work, lambda *place: place)


def _job(make: Callable[[], Any], size: int, work: Work, get: Callable[..., Any]) -> Job:
    if work == "put":
        return Job(lambda: _fill(make(), size), lambda filled: _got(filled, size))
    filled = _fill(make(), size)
    if work == "range":
        return Job(lambda: _within(filled, size))
    if work == "batch":
        ops = [get(_namespace(i), str(i)) for i in range(size)]
        return Job(lambda: _got_together(filled, ops))
    return Job(lambda: _got(filled, size) if work == "get" else _found(filled))


class _Plain:
    """The least that can be called a store."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, ...], dict[str, _Item]] = {}

    def put(self, namespace: tuple[str, ...], key: str, value: dict[str, Any]) -> None:
        self._items.setdefault(namespace, {})[key] = _Item(key, value)

    def get(self, namespace: tuple[str, ...], key: str) -> "_Item":
        return self._items[namespace][key]

    def batch(self, places: list[tuple[tuple[str, ...], str]]) -> list["_Item"]:
        return [self._items[namespace][key] for namespace, key in places]

    def search(self, namespace: tuple[str, ...], **options: Any) -> list["_Item"]:
        wanted = options["filter"]
        items = self._items[namespace].values()
        if "n" in wanted:
            low, high = wanted["n"].values()
            return [i for i in items if low <= i.value["n"] < high]
        return [i for i in items if i.value["kind"] == wanted["kind"]]


class _Item:
    __slots__ = ("key", "value")

    def __init__(self, key: str, value: dict[str, Any]) -> None:
        self.key = key
        self.value = value
