"""A store by itself, async: items, batches, and stores of a user's own that batch by themselves."""

import asyncio

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore


async def case_put_get_search_delete(env):
    async with env.astore() as store:
        await store.aput(("u", "1"), "a", {"v": 1})
        await store.aput(("u", "2"), "b", {"v": 2})
        got = await store.aget(("u", "1"), "a")
        found = await store.asearch(("u",), filter={"v": {"$gte": 2}})
        names = await store.alist_namespaces(prefix=("u",), max_depth=2)
        await store.adelete(("u", "1"), "a")
        return [
            got.value,
            [(i.key, i.value, i.score) for i in found],
            names,
            await store.aget(("u", "1"), "a"),
            len(await store.asearch((), limit=1)),
        ]


async def case_batch(env):
    async with env.astore() as store:
        await store.aput(("b",), "old", {"v": 0})
        results = await store.abatch(
            [
                GetOp(("b",), "old"),
                PutOp(("b",), "x", {"v": 1}),
                PutOp(("b",), "old", None),
                SearchOp(("b",)),
                ListNamespacesOp(),
            ]
        )
        return [
            results[0].value,
            results[1:3],
            [i.key for i in results[3]],
            results[4],
            (await store.aget(("b",), "x")).value,
            await store.aget(("b",), "old"),
        ]


async def case_wrong_namespaces(env):
    async with env.astore() as store:
        result = []
        for namespace in [("",), ("a.b",), (1,), ("a\0b",)]:
            result += [
                await env.aerror(store.aput(namespace, "k", {"v": 1})),
                await env.aerror(store.aget(namespace, "k")),
                await env.aerror(store.adelete(namespace, "k")),
                await env.aerror(store.asearch(namespace)),
                await env.aerror(store.alist_namespaces(prefix=namespace)),
            ]
        result.append(await env.aerror(store.aput((), "k", {"v": 1})))
        result.append(await env.aerror(store.aput(("langgraph",), "k", {"v": 1})))
        return result


async def case_many_at_once(env):
    async with env.astore() as store:
        await asyncio.gather(*(store.aput(("n", str(i % 3)), str(i), {"i": i}) for i in range(30)))
        found = await store.asearch(("n",), limit=100)
        return [sorted(i.value["i"] for i in found), await store.alist_namespaces()]


async def case_sync_calls_from_another_thread(env):
    async with env.astore() as store:
        await store.aput(("u",), "k", {"v": 1})

        def work():
            store.put(("u",), "k2", {"v": 2})
            return store.get(("u",), "k").value, len(store.search(("u",))), store.list_namespaces()

        return await asyncio.to_thread(work)


class Recording(AsyncBatchedBaseStore):
    def __init__(self):
        super().__init__()
        self.inner = InMemoryStore()
        self.batches = []

    async def abatch(self, ops):
        ops = list(ops)
        self.batches.append([type(op).__name__ for op in ops])
        return await self.inner.abatch(ops)


async def case_own_store_batches_what_is_asked_at_once(env):
    store = Recording()
    first = await asyncio.gather(
        store.aget(("a",), "k"),
        store.aput(("a",), "k", {"v": 1}),
        store.aget(("a",), "k"),
        store.asearch(("a",)),
        store.aput(("a",), "k", {"v": 2}),
    )
    got = await store.aget(("a",), "k")
    await store.adelete(("a",), "k")
    return [first, got.value, await store.alist_namespaces(prefix=("z",)), store.batches]


async def case_own_store_is_asked_once_for_equal_searches(env):
    store = Recording()
    filters = [{"v": 1}, {"v": 1}, {"v": 2}, {"v": {"$gt": [1]}}, {"v": {"$gt": [1]}}, None, None]
    await store.aput(("a",), "k", {"v": 1})
    found = await asyncio.gather(*(store.asearch(("a",), filter=f, limit=5) for f in filters[:3]))
    await asyncio.gather(*(env.aerror(store.asearch(("a",), filter=f)) for f in filters[3:5]))
    await asyncio.gather(*(store.asearch(("a",), filter=f) for f in filters[5:]))
    return [[len(items) for items in found], store.batches]


async def case_own_store_refuses_sync_calls_on_its_loop(env):
    store = Recording()
    await store.aput(("a",), "k", {"v": 1})
    return [
        env.error(lambda: store.get(("a",), "k")),
        env.error(lambda: store.put(("a",), "k", {"v": 1})),
        env.error(lambda: store.search(("a",))),
        env.error(lambda: store.list_namespaces()),
        env.error(lambda: store.delete(("a",), "k")),
        await env.aerror(store.aput(("a.b",), "k", {})),
    ]


class Failing(AsyncBatchedBaseStore):
    async def abatch(self, ops):
        raise KeyError("no")


async def case_own_store_that_fails(env):
    store = Failing()
    return await asyncio.gather(
        env.aerror(store.aget(("a",), "k")), env.aerror(store.aget(("a",), "j"))
    )


class Plain(BaseStore):
    """The least that a store of a user's own must have."""

    def __init__(self):
        self.seen = []

    def batch(self, ops):
        self.seen += ops
        return [None for _ in ops]

    async def abatch(self, ops):
        return self.batch(ops)


async def case_what_a_store_of_ones_own_is_asked(env):
    store = Plain()
    store.get(("a",), "k")
    store.get(("a",), "k", refresh_ttl=False)
    store.put(("a",), "k", {"v": 1}, ["v"])
    store.delete(("a",), "k")
    store.search(("a",), query="q", filter={"v": 1}, limit=3, offset=2)
    store.list_namespaces(prefix=("a",), suffix=("b",), max_depth=2, limit=5, offset=1)
    await store.aget(("a",), "k")
    await store.aput(("a",), "k", {"v": 1}, index=False)
    await store.adelete(("a",), "k")
    await store.asearch(("a",))
    await store.alist_namespaces()
    return [
        store.seen,
        env.error(lambda: store.put(("a",), "k", {}, ttl=1)),
        store.supports_ttl,
        store.ttl_config,
        env.error(lambda: BaseStore()),
    ]
