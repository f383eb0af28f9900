"""The conformance suite of stores: derive from it, say how to open yours, and run pytest.

    from contextlib import asynccontextmanager
    from plait.testing.stores import StoreConformance

    class TestMyStore(StoreConformance):
        @asynccontextmanager
        async def open(self):
            yield MyStore()

Define `open_indexed` too, if your store searches by similarity. Every promise is checked through
the sync and through the async methods. Nothing but the standard library is needed to run it; failed
promises are plain `assert`s.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import Any, ClassVar, TypeAlias
from unittest import SkipTest

from plait.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from plait.testing.surfaces import Surface, through

HOSTILE = (
    *("50%", "a_b", "a'b", 'a"b', "a;b", "a|b", "a/b", "a\\b", "*", "a*", "[0]", "$a", "--", "\n"),
    *("') OR 1=1 --", "acme-corp", "acme ", "ACME", "é", "日本", "\U0001f600", " "),
)
"""Labels and keys that are text like any other, though something may read more into them."""


def _embed(texts: Sequence[str]) -> list[list[float]]:
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


INDEX: IndexConfig = {"dims": 3, "embed": _embed, "fields": ["text"]}
"""How the stores of `open_indexed` embed: a text is how often it has each of three letters."""


class Face:
    """One surface of a store: its sync methods (each called on a thread) or its async ones."""

    def __init__(self, store: BaseStore, surface: Surface) -> None:
        self.store = store
        self.surface: Surface = surface

    async def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self.surface == "async":
            return await getattr(self.store, f"a{name}")(*args, **kwargs)
        return await asyncio.to_thread(getattr(self.store, name), *args, **kwargs)

    async def get(self, *args: Any, **kwargs: Any) -> Item | None:
        """`get` or `aget`."""
        return await self._call("get", *args, **kwargs)

    async def value(self, *args: Any) -> Any:
        """The value of an item that must be there."""
        item = await self.get(*args)
        assert item is not None, f"nothing at {args!r}"
        return item.value

    async def put(self, *args: Any, **kwargs: Any) -> None:
        """`put` or `aput`."""
        await self._call("put", *args, **kwargs)

    async def delete(self, *args: Any) -> None:
        """`delete` or `adelete`."""
        await self._call("delete", *args)

    async def search(self, *args: Any, **kwargs: Any) -> list[SearchItem]:
        """`search` or `asearch`."""
        return await self._call("search", *args, **kwargs)

    async def keys(self, *args: Any, **kwargs: Any) -> list[str]:
        """The keys that a search finds, sorted."""
        return sorted(item.key for item in await self.search(*args, limit=1000, **kwargs))

    async def ranking(self, *args: Any, **kwargs: Any) -> list[tuple[str, float | None]]:
        """The keys that a search finds, as it finds them, with their scores."""
        return [(item.key, item.score) for item in await self.search(*args, **kwargs)]

    async def sweep(self) -> int:
        """`sweep_ttl`, which may be sync or async: how many items it deleted."""
        sweep: Any = getattr(self.store, "sweep_ttl")  # noqa: B009
        swept = sweep()
        return await swept if inspect.isawaitable(swept) else swept

    async def namespaces(self, **kwargs: Any) -> list[tuple[str, ...]]:
        """`list_namespaces` or `alist_namespaces`."""
        return await self._call("list_namespaces", **kwargs)

    async def batch(self, ops: list[Op]) -> list[Result]:
        """`batch` or `abatch`."""
        return await self._call("batch", ops)


_Check: TypeAlias = Callable[["StoreConformance", Face], Awaitable[None]]


def promise(check: _Check) -> Callable[[StoreConformance], None]:
    """A test method from an async check: run on each surface, each time over a new store."""
    return _test(check, lambda suite: suite.open())


def promise_of_similarity(check: _Check) -> Callable[[StoreConformance], None]:
    """The same, over a store that searches by similarity; skipped where there is none."""
    return _test(check, lambda suite: suite.open_indexed(INDEX))


def _test(check: _Check, make: Callable[[StoreConformance], Any]) -> Any:
    async def run(suite: StoreConformance, surface: Surface) -> None:
        opened = make(suite)
        if opened is None:
            raise SkipTest("this store does not search by similarity (`open_indexed`)")
        async with opened as store:
            await check(suite, Face(store, surface))

    def test(self: StoreConformance) -> None:
        for surface in self.surfaces:
            with through(surface):
                asyncio.run(run(self, surface))

    # Not functools.wraps: pytest would take the arguments of the check for fixtures.
    test.__name__, test.__qualname__ = check.__name__, check.__qualname__
    return test


async def refused(awaitable: Awaitable[Any], error: type[Exception] = ValueError) -> None:
    """Assert that a call fails as it must."""
    try:
        result = await awaitable
    except error:
        return
    raise AssertionError(f"expected {error.__name__}, got the result {result!r}")


class StoreConformance(ABC):
    """What every store promises. Derive from it and define `open`."""

    surfaces: ClassVar[tuple[Surface, ...]] = ("sync", "async")
    """Which methods to check; leave one out where a store has only the other."""

    @abstractmethod
    def open(self) -> AbstractAsyncContextManager[BaseStore]:
        """A new and empty store, closed at the end of `async with`."""

    def open_indexed(self, index: IndexConfig) -> AbstractAsyncContextManager[BaseStore] | None:
        """A new and empty store that embeds its items like this, closed at the end of `async with`.

        None, unless you define it: a store that does not search by similarity.
        """
        return None

    @promise
    async def test_what_was_put_is_got(self, store: Face) -> None:
        value: dict[str, Any] = {"text": "é", "n": 1, "f": 1.5, "t": True, "none": None}
        value["deep"] = {"list": [1, {}]}
        value |= {"whole": 2.0, "big": 2**60, "long": "x" * 100_000, "apart": " e\u0301\r\n"}
        await store.put(("users", "1"), "k", value)
        item = await store.get(("users", "1"), "k")
        assert item is not None
        assert (item.namespace, item.key, {*item.value}) == (("users", "1"), "k", {*value})
        told = {key: (repr(item.value[key]), repr(value[key])) for key in value}
        changed = [f"{was:.60} became {now:.60}" for now, was in told.values() if now != was]
        assert changed == [], "with their types"
        assert item.created_at <= item.updated_at
        await store.put(("users", "1"), "empty", {})
        assert await store.value(("users", "1"), "empty") == {}

    @promise
    async def test_what_was_never_put_is_none(self, store: Face) -> None:
        assert await store.get(("users",), "k") is None
        await store.put(("users",), "other", {"v": 1})
        assert await store.get(("users",), "k") is None
        assert await store.get(("users", "other"), "k") is None

    @promise
    async def test_a_put_replaces_the_whole_value(self, store: Face) -> None:
        await store.put(("u",), "k", {"a": 1})
        await store.put(("u",), "k", {"b": 2})
        assert await store.value(("u",), "k") == {"b": 2}
        assert await store.keys(("u",)) == ["k"]

    @promise
    async def test_an_item_tells_when_it_was_made_and_when_it_was_last_put(
        self, store: Face
    ) -> None:
        await store.put(("u",), "k", {"v": 1})
        first = await store.get(("u",), "k")
        assert first is not None
        again = first
        for _ in range(1000):  # a clock may be coarse
            if again.updated_at != first.updated_at:
                break
            await asyncio.sleep(0.001)
            await store.put(("u",), "k", {"v": 2})
            again = await store.get(("u",), "k")
            assert again is not None
        assert again.created_at == first.created_at
        assert again.updated_at > first.updated_at
        (found,) = await store.search(("u",))
        assert (found.created_at, found.updated_at) == (again.created_at, again.updated_at)

    @promise
    async def test_what_was_deleted_is_gone(self, store: Face) -> None:
        await store.put(("u",), "k", {"v": 1})
        await store.put(("u",), "j", {"v": 1})
        await store.delete(("u",), "k")
        await store.delete(("u",), "never")
        assert await store.get(("u",), "k") is None
        assert await store.keys(("u",)) == ["j"]

    @promise
    async def test_a_search_covers_a_namespace_and_what_is_below(self, store: Face) -> None:
        for namespace in [("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("b", "a")]:
            await store.put(namespace, "/".join(namespace), {"v": 1})
        assert await store.keys(("a",)) == ["a", "a/b", "a/b/c"]
        assert await store.keys(("a", "b")) == ["a/b", "a/b/c"]
        assert len(await store.keys(())) == 5
        assert {(item.namespace, item.key) for item in await store.search(("a", "b"))} == {
            (("a", "b"), "a/b"),
            (("a", "b", "c"), "a/b/c"),
        }
        assert await store.keys(("nowhere",)) == []

    @promise
    async def test_one_tenant_never_sees_another(self, store: Face) -> None:
        tenants = ["acme", *HOSTILE]
        for tenant in tenants:
            await store.put((tenant,), "secret", {"of": tenant})
            await store.put((tenant, "sub"), "secret", {"of": tenant})
        for tenant in tenants:
            found = await store.search((tenant,), limit=100)
            assert [item.value["of"] for item in found] == [tenant, tenant], tenant
            assert await store.value((tenant,), "secret") == {"of": tenant}
            if tenant != "*":  # in a listing it stands for any label
                listed = await store.namespaces(prefix=(tenant,))
                assert listed == [(tenant,), (tenant, "sub")]
        await store.delete(("acme",), "secret")
        assert len(await store.search((), limit=1000)) == 2 * len(tenants) - 1

    @promise
    async def test_keys_are_any_text(self, store: Face) -> None:
        keys = (*HOSTILE, "", "a.b", "a\0b", "x" * 1000, "x" * 1000 + "y", "acme", "e\u0301")
        for key in keys:
            await store.put(("u",), key, {"key": key})
        for key in keys:
            assert await store.value(("u",), key) == {"key": key}
        assert await store.keys(("u",)) == sorted(keys)

    @promise
    async def test_namespaces_that_cannot_be_are_refused(self, store: Face) -> None:
        wrong: list[Any] = [("",), ("a.b",), ("a", ""), (1,), ("a", None)]
        for namespace in wrong:
            await refused(store.put(namespace, "k", {"v": 1}), InvalidNamespaceError)
            await refused(store.get(namespace, "k"), InvalidNamespaceError)
            await refused(store.delete(namespace, "k"), InvalidNamespaceError)
            await refused(store.search(namespace), InvalidNamespaceError)
            await refused(store.namespaces(prefix=namespace), InvalidNamespaceError)
        await refused(store.put((), "k", {"v": 1}), InvalidNamespaceError)
        await refused(store.put(("langgraph", "x"), "k", {"v": 1}), InvalidNamespaceError)
        assert await store.search((), limit=10) == []

    @promise
    async def test_a_filter_names_what_must_be_equal(self, store: Face) -> None:
        await store.put(("f",), "note", {"kind": "note", "n": 1, "meta": {"a": 1, "b": 2}})
        await store.put(("f",), "task", {"kind": "task", "n": 1, "tags": ["x", "y"]})
        for wanted, found in (
            (None, ["note", "task"]),
            ({}, ["note", "task"]),
            ({"kind": "note"}, ["note"]),
            ({"kind": "note", "n": 1}, ["note"]),
            ({"kind": "note", "n": 2}, []),
            ({"tags": ["x", "y"]}, ["task"]),
            ({"tags": ["x"]}, []),
            ({"meta": {"a": 1}}, ["note"]),
            ({"missing": 1}, []),
            ({"tags": None}, ["note"]),
            ({"kind": "' OR 1=1 --"}, []),
            ({"') OR 1=1 --": 1}, []),
        ):
            assert await store.keys(("f",), filter=wanted) == found, wanted

    @promise
    async def test_operators_compare(self, store: Face) -> None:
        for key, n in {"a": 1, "b": 2, "c": 2.5, "d": 10}.items():
            await store.put(("n",), key, {"n": n})
        for wanted, found in (
            ({"$eq": 2}, "b"),
            ({"$ne": 2}, "acd"),
            ({"$gt": 2}, "cd"),
            ({"$gte": 2}, "bcd"),
            ({"$lt": 2.5}, "ab"),
            ({"$lte": 2.5}, "abc"),
            ({"$gt": 1, "$lt": 10}, "bc"),
            ({"$gt": 1, "$ne": 2.5}, "bd"),
        ):
            assert await store.keys(("n",), filter={"n": wanted}) == list(found), wanted
        await refused(store.search(("n",), filter={"n": {"$near": 2}}))

    @promise
    async def test_pages_are_parts_of_one_order(self, store: Face) -> None:
        for i in range(23):
            await store.put(("p", str(i % 2)), str(i), {"i": i, "even": i % 2 == 0})
        whole = [item.key for item in await store.search(("p",), limit=100)]
        assert len(whole) == 23
        for wanted in (None, {"even": True}):
            order = [item.key for item in await store.search(("p",), limit=100, filter=wanted)]
            paged: list[str] = []
            for offset in range(0, 30, 5):
                page = await store.search(("p",), limit=5, offset=offset, filter=wanted)
                paged += [item.key for item in page]
            assert paged == order
        assert len(await store.search(("p",))) == 10
        await store.batch([PutOp(("many",), str(i), {"i": i}) for i in range(120)])
        assert len(await store.search(("many",), limit=1000)) == 120

    @promise
    async def test_namespaces_are_listed_in_order(self, store: Face) -> None:
        everything = [
            ("a", "b", "c"),
            ("a", "b", "d", "e"),
            ("a", "b", "d", "i"),
            ("a", "c"),
            ("b",),
        ]
        for namespace in reversed(everything):
            await store.put(namespace, "k", {"v": 1})
            await store.put(namespace, "j", {"v": 1})
        assert await store.namespaces() == everything
        assert await store.namespaces(prefix=("a", "b")) == everything[:3]
        assert await store.namespaces(suffix=("c",)) == [("a", "b", "c"), ("a", "c")]
        assert await store.namespaces(prefix=("a", "b"), suffix=("c",)) == [("a", "b", "c")]
        assert await store.namespaces(prefix=("*", "c")) == [("a", "c")]
        assert await store.namespaces(suffix=("d", "*")) == everything[1:3]
        assert await store.namespaces(max_depth=1) == [("a",), ("b",)]
        deep = await store.namespaces(prefix=("a",), max_depth=3)
        assert deep == [("a", "b", "c"), ("a", "b", "d"), ("a", "c")]
        assert await store.namespaces(limit=2, offset=1) == everything[1:3]
        assert await store.namespaces(prefix=("a", "b", "c", "d")) == []

    @promise
    async def test_a_batch_of_many_gets_finds_each_as_it_is_alone(self, store: Face) -> None:
        for n in range(70):
            await store.put(("b", str(n % 2)), f"k{n}", {"n": [n]})
        wanted = [(("b", str(n % 2)), f"k{n}") for n in range(100)]
        wanted += [*wanted[:3], (("b", "1"), "k0"), (("b",), "k1")]
        found = await store.batch([GetOp(*each) for each in wanted])
        assert found == [await store.get(*each) for each in wanted]
        first, again = found[0], found[100]
        assert isinstance(first, Item)
        assert isinstance(again, Item)
        first.value["n"].append("own")
        assert again.value == {"n": [0]}

    @promise
    async def test_a_batch_reads_before_it_writes(self, store: Face) -> None:
        await store.put(("b",), "old", {"v": 0})
        results = await store.batch(
            [
                PutOp(("b",), "new", {"v": 1}),
                GetOp(("b",), "new"),
                GetOp(("b",), "old"),
                PutOp(("b",), "old", None),
                SearchOp(("b",)),
                PutOp(("b",), "new", {"v": 2}),
                ListNamespacesOp((MatchCondition("prefix", ("b",)),)),
            ]
        )
        old = results[2]
        assert isinstance(old, Item)
        assert old.value == {"v": 0}
        assert [results[i] for i in (0, 1, 3, 5)] == [None] * 4
        assert [item.key for item in _items(results[4])] == ["old"]
        assert results[6] == [("b",)]
        assert await store.value(("b",), "new") == {"v": 2}
        assert await store.get(("b",), "old") is None
        assert await store.batch([]) == []

    @promise
    async def test_what_the_caller_changes_afterwards_is_not_stored(self, store: Face) -> None:
        value = {"list": [1]}
        await store.put(("u",), "k", value)
        value["list"].append(2)
        (await store.value(("u",), "k"))["list"].append(3)
        (await store.search(("u",)))[0].value["list"].append(4)
        assert await store.value(("u",), "k") == {"list": [1]}
        assert [item.value for item in await store.search(("u",))] == [{"list": [1]}]

    @promise
    async def test_puts_beside_each_other_are_all_kept(self, store: Face) -> None:
        await asyncio.gather(*(store.put(("n", str(i % 4)), str(i), {"i": i}) for i in range(40)))
        found = await store.search(("n",), limit=100)
        assert sorted(item.value["i"] for item in found) == list(range(40))

    @promise
    async def test_items_expire_or_a_ttl_is_refused(self, store: Face) -> None:
        if not store.store.supports_ttl:
            await refused(store.put(("t",), "k", {"v": 1}, ttl=5), NotImplementedError)
            return
        await store.put(("t",), "later", {"v": 1}, ttl=60)
        await store.put(("t",), "ever", {"v": 1}, ttl=None)
        await store.put(("t",), "past", {"v": 1}, ttl=-10)
        assert await store.sweep() == 1
        assert await store.keys(("t",)) == ["ever", "later"]
        await store.put(("t",), "later", {"v": 2}, ttl=-10)
        await store.put(("t",), "ever", {"v": 2}, ttl=-10)
        await store.put(("t",), "ever", {"v": 3}, ttl=None)
        assert await store.sweep() == 1
        assert await store.keys(("t",)) == ["ever"]

    @promise
    async def test_a_read_begins_the_life_of_an_item_anew_where_it_is_asked_to(
        self, store: Face
    ) -> None:
        if not store.store.supports_ttl:
            raise SkipTest("items of this store do not expire")
        seconds = 0.25
        while (left := await _outlived(store, seconds)) is None:  # the machine was too slow
            seconds *= 2
        assert left == {"got": True, "found": True, "peeked": False, "passed": False}

    @promise_of_similarity
    async def test_a_query_ranks_items_by_how_similar_they_are(self, store: Face) -> None:
        await _fill(store)
        await store.put(("d",), "twin", {"text": "aa", "n": 5})
        found = await store.ranking(("d",), query="a", limit=20)
        assert [key for key, _ in found[:4]] in (["a", "twin", "ab", "b"], ["twin", "a", "ab", "b"])
        assert sorted(found[4:]) == [("nothing", None), ("unindexed", None)]
        score = {key: each for key, each in found[:4] if each is not None}
        assert len(score) == 4, "what is indexed has a score"
        assert score["a"] > score["ab"] > score["b"], "the more similar, the higher"
        assert abs(score["a"] - score["twin"]) < 1e-6, "equal texts are equally similar"
        other = dict(await store.ranking(("d",), query="b", limit=20))
        assert [key for key in other if other[key] is not None][:2] == ["b", "ab"]

    @promise_of_similarity
    async def test_a_score_tells_of_an_item_and_not_of_what_is_found_with_it(
        self, store: Face
    ) -> None:
        await _fill(store)
        whole = await store.ranking(("d",), query="aab", limit=20)
        paged: list[tuple[str, float | None]] = []
        for offset in range(7):
            paged += await store.ranking(("d",), query="aab", limit=1, offset=offset)
        assert paged == whole
        wanted = {"n": {"$gt": 1}}
        few = [each for each in whole if each[0] not in ("a", "nothing")]
        assert await store.ranking(("d",), query="aab", filter=wanted, limit=20) == few
        assert await store.ranking(("d",), query="aab", filter=wanted, limit=2) == few[:2]
        assert await store.ranking(("d", "sub"), query="aab") == [e for e in whole if e[0] == "b"]
        plain = await store.ranking(("d",), limit=20)
        assert {score for _, score in plain} == {None}, "without a query nothing is ranked"

    @promise_of_similarity
    async def test_an_item_is_found_by_what_it_says_now(self, store: Face) -> None:
        await store.put(("d",), "k", {"text": "aaa"})
        await store.put(("d",), "other", {"text": "ab"})
        await store.put(("d",), "k", {"text": "bbb"})
        assert [key for key, _ in await store.ranking(("d",), query="a")] == ["other", "k"]
        await store.put(("d",), "k", {"text": "aaa"}, index=False)
        assert (await store.ranking(("d",), query="a"))[-1] == ("k", None)
        await store.put(("d",), "k", {"text": "bbb", "own": "aaa"}, index=["own"])
        assert [key for key, _ in await store.ranking(("d",), query="a")] == ["k", "other"]
        await store.delete(("d",), "k")
        assert [key for key, _ in await store.ranking(("d",), query="a")] == ["other"]
        await store.put(("d",), "k", {"none": "aaa"})
        assert (await store.ranking(("d",), query="a"))[-1] == ("k", None)


async def _fill(store: Face) -> None:
    """Items of which some are similar to "a", some to "b", and some have no text at all."""
    await store.put(("d",), "nothing", {"other": "aaa", "n": 1})
    await store.put(("d", "sub"), "b", {"text": "bbb", "n": 2})
    await store.put(("d",), "ab", {"text": "ab", "n": 3})
    await store.put(("d",), "unindexed", {"text": "aaa", "n": 4}, index=False)
    await store.put(("d",), "a", {"text": "aa", "n": 1})
    await store.put(("e",), "elsewhere", {"text": "aaa", "n": 6})


async def _outlived(store: Face, seconds: float) -> dict[str, bool] | None:
    """Which items outlived one that nobody read, of those that were read all the while.

    Nothing is waited for but that one's end. None: too much time had passed since the last reads.
    """
    for key in ("peeked", "passed", "got", "found", "left"):
        await store.put(("live", key), key, {"v": 1}, ttl=seconds / 60)
    end = monotonic() + 2 * seconds
    while True:
        began = monotonic()
        await store.get(("live", "got"), "got", refresh_ttl=True)
        await store.search(("live", "found"), refresh_ttl=True)
        await store.get(("live", "peeked"), "peeked", refresh_ttl=False)
        await store.search(("live", "passed"), refresh_ttl=False)
        over = monotonic() > end
        await store.sweep()
        there = {item.key for item in await store.search(("live",), refresh_ttl=False)}
        if monotonic() - began > seconds / 2:
            return None
        if "left" not in there:
            return {key: key in there for key in ("got", "found", "peeked", "passed")}
        assert not over, "an item outlives its time, though no read was to prolong it"
        await asyncio.sleep(seconds / 20)


def _items(result: Any) -> list[Item]:
    return result


__all__ = [
    "HOSTILE",
    "INDEX",
    "Face",
    "StoreConformance",
    "promise",
    "promise_of_similarity",
    "refused",
]
