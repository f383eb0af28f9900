"""The cache in Redis, over clients of many kinds."""

import asyncio
import operator
from fnmatch import fnmatchcase
from typing import Annotated, TypedDict

import fakeredis
from langgraph.cache.redis import RedisCache
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy

A, B, DEEP = (("a",), "k"), (("b",), "k"), (("a", "b"), "k")


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


class Pipe:
    def __init__(self, client):
        self.client, self.calls = client, []

    def set(self, name, value):
        self.calls.append((name, value))

    def setex(self, name, seconds, value):
        self.client.seconds.append(seconds)
        self.calls.append((name, value))

    def execute(self):
        self.client.answer()
        self.client.held.update(self.calls)


class Client:
    """A client of one's own: no more than a cache needs."""

    def __init__(self):
        self.held, self.seconds, self.away = {}, [], False

    def answer(self):
        if self.away:
            raise ConnectionError("away")

    def mget(self, names):
        self.answer()
        return [self.held.get(name) for name in names]

    def pipeline(self):
        return Pipe(self)

    def keys(self, pattern):
        self.answer()
        return [name for name in self.held if fnmatchcase(name, pattern)]

    def delete(self, *names):
        for name in names:
            del self.held[name]


def clients():
    return [Client(), fakeredis.FakeRedis()]


def graph_of(cache, policy=None):
    runs = []

    def work(state):
        runs.append(1)
        return {"items": ["ran"]}

    builder = StateGraph(State)
    builder.add_node("work", work, cache_policy=policy or CachePolicy())
    builder.add_edge(START, "work")
    return builder.compile(cache=cache), runs


def case_values(env):
    result = []
    for client in clients():
        cache = RedisCache(client)
        result.append([cache.get([]), cache.get([A])])
        cache.set({})
        cache.set({A: ({"x": [1, "é"]}, None), B: (2, 60)})
        result.append(cache.get([A, B, (("c",), "k")]))
        cache.set({A: ("new", 5)})
        result.append(cache.get([A]))
        cache.clear([("a",), ("nobody",)])
        result.append(cache.get([A, B]))
        cache.clear()
        cache.clear()
        result.append(cache.get([A, B]))
    return result


async def case_values_async(env):
    result = []
    for client in clients():
        cache = RedisCache(client)
        await cache.aset({})
        await cache.aset({A: ({"x": 1}, None), B: (2, 60)})
        result.append(await cache.aget([A, B]))
        await cache.aclear([("b",)])
        result.append(await cache.aget([A, B]))
        await cache.aclear()
        result.append([await cache.aget([A, B]), await cache.aget([])])
    return result


def case_seconds(env):
    client = Client()
    RedisCache(client).set({A: (1, 60), B: (2, None)})
    graph_of(RedisCache(client), CachePolicy(ttl=7))[0].invoke({"items": []})
    return client.seconds


def case_prefixes(env):
    client = Client()
    one, other = RedisCache(client, prefix="one:"), RedisCache(client, prefix="other:")
    one.set({A: (1, None)})
    other.set({A: (2, None)})
    one.clear()
    return one.get([A]), other.get([A]), all(name.startswith("other:") for name in client.held)


def case_results_of_nodes(env):
    result = []
    for client in clients():
        graph, runs = graph_of(RedisCache(client))
        result += [graph.invoke({"items": [n]}) for n in (1, 1, 2)]
        graph.clear_cache()
        result.append(graph.invoke({"items": [1]}))
        graph.clear_cache(["work"])
        result += [graph.invoke({"items": [1]}), len(runs)]
    return result


async def case_results_of_nodes_async(env):
    result = []
    for client in clients():
        graph, runs = graph_of(RedisCache(client))
        result += [await graph.ainvoke({"items": [n]}) for n in (1, 1, 2)]
        await graph.aclear_cache()
        result += [await graph.ainvoke({"items": [1]}), len(runs)]
    return result


def case_results_of_tasks(env):
    cache, runs = RedisCache(Client()), []

    @task(cache_policy=CachePolicy())
    def double(n):
        runs.append(n)
        return 2 * n

    @entrypoint(cache=cache)
    def flow(n):
        return double(n).result() + double(n).result()

    first = flow.invoke(3)
    return first, flow.invoke(3), len(set(runs)), len(cache.redis.held)


def case_redis_is_away(env):
    client = Client()
    graph, runs = graph_of(RedisCache(client))
    results = [graph.invoke({"items": []})]
    client.away = True
    results += [graph.invoke({"items": []}), RedisCache(client).get([A])]
    RedisCache(client).set({A: (1, None)})
    client.away = False
    return results, graph.invoke({"items": []}), len(runs), RedisCache(client).get([A])


async def case_redis_is_away_async(env):
    client = Client()
    graph, runs = graph_of(RedisCache(client))
    client.away = True
    return [await graph.ainvoke({"items": []}) for _ in range(2)], len(runs)


def case_damaged_values(env):
    client = Client()
    graph, runs = graph_of(RedisCache(client))
    graph.invoke({"items": []})
    (name,) = client.held
    for garbage in (b"", b"garbage", b"nothing:known", b"msgpack:\xc1", b"\xff:1"):
        client.held[name] = garbage
        graph.invoke({"items": []})
    graph.invoke({"items": []})
    return len(runs)


# --- where plait differs --------------------------------------------------------------------------


def case_clearing_while_redis_is_away(env):
    client = Client()
    graph, _ = graph_of(RedisCache(client))
    graph.invoke({"items": []})
    client.away = True
    return env.error(graph.clear_cache)


def case_a_client_that_decodes(env):
    cache = env.error(lambda: RedisCache(fakeredis.FakeRedis(decode_responses=True)))
    return type(cache) is tuple


def case_an_async_client(env):
    async def go():
        graph, runs = graph_of(RedisCache(fakeredis.FakeAsyncRedis()))
        return [await graph.ainvoke({"items": []}) for _ in range(2)], len(runs)

    return env.error(lambda: asyncio.run(go()))


def case_namespaces_of_one_beginning(env):
    cache = RedisCache(Client())
    cache.set({A: (1, None), DEEP: (2, None), (("a:b",), "k"): (3, None)})
    before = cache.get([DEEP])
    cache.clear([("a",)])
    return before, cache.get([A, DEEP])
