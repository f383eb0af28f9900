"""The store in memory: what its short cuts must not change, and what they save."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.checkpoint.serde import UnstorableValueError
from plait.errors import NotSupportedError
from plait.store.base import GetOp, Op, PutOp
from plait.store.memory import InMemoryStore

labels = st.sampled_from(["a", "b", "c"])
namespaces = st.lists(labels, min_size=1, max_size=7).map(tuple)
puts = st.tuples(namespaces, st.sampled_from(["k", "l"]), st.sampled_from([None, 1, 2]))


@settings(max_examples=200, deadline=None)
@given(st.lists(puts, max_size=20), st.integers(0, 4), st.integers(-1, 4))
def test_prefixes_of_any_depth_find_items_in_the_order_of_their_namespaces(
    operations: list[tuple[tuple[str, ...], str, int | None]], offset: int, limit: int
) -> None:
    store, items = InMemoryStore(), dict[tuple[str, ...], dict[str, Any]]()
    prefixes: set[tuple[str, ...]] = {()}
    for namespace, key, number in operations:
        prefixes |= {namespace[:depth] for depth in range(len(namespace) + 1)}
        if number is None:
            store.delete(namespace, key)
            items.get(namespace, {}).pop(key, None)
            if not items.get(namespace):
                items.pop(namespace, None)
        else:
            store.put(namespace, key, {"n": number})
            items.setdefault(namespace, {})[key] = {"n": number}
        assert store.list_namespaces(limit=-1) == sorted(items)
    end = None if limit < 0 else offset + limit
    for prefix in prefixes:
        for wanted in (None, {"n": 1}):
            expected = [
                (namespace, key, value)
                for namespace, rows in items.items()
                for key, value in rows.items()
                if namespace[: len(prefix)] == prefix and wanted in (None, value)
            ]
            found = store.search(prefix, filter=wanted, offset=offset, limit=limit)
            assert [(i.namespace, i.key, i.value) for i in found] == expected[offset:end]


def test_a_search_looks_at_no_more_items_than_its_page_needs() -> None:
    looks: list[int] = []

    class Watched:
        def __init__(self, number: int) -> None:
            self.number = number

        def __eq__(self, other: object) -> bool:
            looks.append(self.number)
            return self.number % 2 == 0

        __hash__ = None  # pyright: ignore[reportAssignmentType]

    store = InMemoryStore()
    for number in range(100):
        store.put(("u", str(number)), "k", {"n": Watched(number)})
    found = store.search(("u",), filter={"n": 0}, limit=2, offset=1)
    assert [item.namespace for item in found] == [("u", "2"), ("u", "4")]
    assert looks == [0, 1, 2, 3, 4]
    looks.clear()
    store.search(("u", "7"), filter={"n": 0})
    assert looks == [7]


def test_pages_may_be_of_any_size() -> None:
    store = InMemoryStore()
    store.put(("u",), "k", {"n": 1})
    assert len(store.search((), limit=2**80)) == 1
    assert store.search((), offset=2**80, limit=2**80) == []


def test_what_is_read_in_any_way_is_a_copy() -> None:
    store = InMemoryStore()
    given: dict[str, Any] = {
        "flat": 1,
        "list": [[1]],
        "dict": {"in": {"n": 1}},
        "tuple": ([1],),
        "set": {1},
    }
    store.put(("u",), "k", given)
    get = GetOp(("u",), "k")

    def reads() -> list[Any]:
        return [
            store.get(("u",), "k"),
            asyncio.run(store.aget(("u",), "k")),
            store.search(())[0],
            store.batch([get])[0],
            asyncio.run(store.abatch([get, GetOp(("u",), "none")]))[0],
        ]

    before = repr(given)
    values: list[Any] = [given, *(item.value for item in reads())]
    for value in values:
        value["list"][0].append(2)
        value["dict"]["in"]["n"] = 2
        value["tuple"][0].append(2)
        value["set"].add(2)
        value["flat"] = 2
    assert [repr(item.value) for item in reads()] == [before] * 5
    for item in reads():
        item.key, item.value = "spoiled", {}
    assert [item.key for item in reads()] == ["k"] * 5


def test_a_class_with_a_batch_of_its_own_sees_every_call() -> None:
    seen: list[str] = []

    class Watching(InMemoryStore):
        def batch(self, ops: Iterable[Op]) -> list[Any]:
            ops = list(ops)
            seen.extend(type(op).__name__ for op in ops)
            return super().batch(ops)

        async def abatch(self, ops: Iterable[Op]) -> list[Any]:
            ops = list(ops)
            seen.extend(f"a{type(op).__name__}" for op in ops)
            return await super().abatch(ops)

    store = Watching()
    store.put(("u",), "k", {"n": 1})
    assert store.get(("u",), "k") is not None

    async def twins() -> None:
        await store.aput(("u",), "l", {"n": 1})
        assert await store.aget(("u",), "l") is not None

    asyncio.run(twins())
    assert seen == ["PutOp", "GetOp", "aPutOp", "aGetOp"]


def test_a_batch_of_gets_may_name_what_is_not_there_or_not_yet_text() -> None:
    store = InMemoryStore()
    store.put(("u",), "1", {"n": 1})
    store.put(("u",), "['x']", {"n": 1})
    odd: Any = ((("u",), "1"), (["u"], "1"), (("u",), 1), (("u",), "2"), (("u",), ["x"]))
    for namespace, key in odd:
        found: Any = store.batch([GetOp(namespace, key)])[0]
        assert found == store.get(namespace, key)
        assert found == asyncio.run(store.aget(namespace, key))
        assert found is None if key == "2" else found.key == str(key)
    found = store.batch([GetOp(*place) for place in odd])
    assert [item and item.key for item in found] == ["1", "1", "1", None, "['x']"]
    assert store.batch([GetOp(("u",), "1"), PutOp(("u",), "1", None)])[0] is not None
    assert store.batch([]) == []
    assert store.get(("u",), "1") is None


def ones(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0] for _ in texts]


@pytest.mark.parametrize("index", [None, {"embed": ones}], ids=["plain", "indexed"])
@pytest.mark.parametrize("beside", [[], [GetOp(("u",), "k")]], ids=["alone", "beside a read"])
async def test_a_ttl_in_a_batch_is_refused_as_in_a_put(index: Any, beside: list[Op]) -> None:
    store = InMemoryStore(index=index)
    with pytest.raises(NotSupportedError) as put:
        store.put(("u",), "k", {"n": 1}, ttl=5)
    ops = [PutOp(("v",), "k", {"n": 1}), PutOp(("u",), "k", {"n": 1}, ttl=5), *beside]
    with pytest.raises(NotSupportedError) as batched:
        store.batch(ops)
    with pytest.raises(NotSupportedError) as awaited:
        await store.abatch(ops)
    assert str(put.value) == str(batched.value) == str(awaited.value)
    assert store.list_namespaces() == []


@pytest.mark.parametrize("index", [None, {"embed": ones}], ids=["plain", "indexed"])
def test_a_value_that_contains_itself_is_refused_and_nothing_of_its_batch_is_kept(
    index: Any,
) -> None:
    store = InMemoryStore(index=index)
    endless: dict[str, Any] = {}
    endless["in"] = endless
    with pytest.raises(UnstorableValueError, match="under 'k' of \\('u',\\)"):
        store.put(("u",), "k", endless, index=False)
    with pytest.raises(UnstorableValueError, match="contains itself"):
        store.batch([PutOp(("v",), "k", {"n": 1}), PutOp(("u",), "k", endless, index=False)])
    assert store.list_namespaces() == []


def test_who_reads_while_an_item_is_put_finds_it_as_it_was_or_as_it_is() -> None:
    store = InMemoryStore()
    found: list[Any] = []

    def read(frame: Any, event: str, _: Any) -> Any:
        if frame.f_globals.get("__name__") != "plait.store.memory":
            return None
        sys.settrace(None)  # at each line of the put: another thread could run here
        item = store.get(("u",), "k")
        found.append(item and (item.key, item.namespace, item.value, item.created_at.tzinfo))
        sys.settrace(read)
        return read

    before = sys.gettrace()
    sys.settrace(read)
    try:
        store.put(("u",), "k", {"n": 1})
    finally:
        sys.settrace(before)
    item = store.get(("u",), "k")
    assert item is not None
    assert [*dict.fromkeys(map(repr, found))] == [
        "None",
        repr(("k", ("u",), {"n": 1}, item.created_at.tzinfo)),
    ]
