"""Times to live: what expires is deleted by sweeping."""

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

PAST = -10.0  # minutes: it has expired before it was put


def keys(store):
    return sorted(item.key for item in store.search(("t",), refresh_ttl=False))


def case_swept(env):
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        store.put(("t",), "past", {"v": 1}, ttl=PAST)
        store.put(("t",), "later", {"v": 1}, ttl=60)
        store.put(("t",), "ever", {"v": 1}, ttl=None)
        store.put(("t",), "unsaid", {"v": 1})
        store.batch([PutOp(("t",), "batch", {"v": 1}, None, PAST)])
        before = keys(store)
        return [before, store.sweep_ttl(), keys(store), store.sweep_ttl(), store.supports_ttl]


def case_default_ttl(env):
    with SqliteStore.from_conn_string(":memory:", ttl={"default_ttl": PAST}) as store:
        store.setup()
        store.put(("t",), "unsaid", {"v": 1})
        store.put(("t",), "ever", {"v": 1}, ttl=None)
        store.put(("t",), "later", {"v": 1}, ttl=60)
        return [store.sweep_ttl(), keys(store)]


def case_put_again_lives_anew(env):
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        store.put(("t",), "k", {"v": 1}, ttl=PAST)
        store.put(("t",), "k", {"v": 2}, ttl=60)
        store.put(("t",), "j", {"v": 1}, ttl=60)
        store.put(("t",), "j", {"v": 2}, ttl=PAST)
        return [store.sweep_ttl(), keys(store)]


def case_sweeper_starts_and_stops(env):
    with SqliteStore.from_conn_string(":memory:", ttl={"default_ttl": 1}) as store:
        store.setup()
        future = store.start_ttl_sweeper(sweep_interval_minutes=1)
        running = future.done()
        stopped = store.stop_ttl_sweeper(timeout=20)
        return [running, stopped, future.done(), store.stop_ttl_sweeper()]


def case_sweeper_without_a_ttl(env):
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        return [store.start_ttl_sweeper().result(timeout=5), store.stop_ttl_sweeper()]


async def case_async(env):
    async with AsyncSqliteStore.from_conn_string(":memory:", ttl={"default_ttl": PAST}) as store:
        await store.setup()
        await store.aput(("t",), "unsaid", {"v": 1})
        await store.aput(("t",), "ever", {"v": 1}, ttl=None)
        before = sorted(i.key for i in await store.asearch(("t",), refresh_ttl=False))
        swept = await store.sweep_ttl()
        after = sorted(i.key for i in await store.asearch(("t",), refresh_ttl=False))
        await store.start_ttl_sweeper()
        return [before, swept, after, await store.stop_ttl_sweeper()]


def case_memory_has_none(env):
    store = InMemoryStore()
    return [
        env.error(lambda: store.put(("t",), "k", {"v": 1}, ttl=5)),
        store.put(("t",), "k", {"v": 1}, ttl=None),
        store.supports_ttl,
        keys(store),
    ]
