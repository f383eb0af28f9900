"""A store that nodes are handed, find in their runtime, or ask for."""

from operator import add
from typing import Annotated, TypedDict

from langgraph.cache.memory import InMemoryCache
from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore


class State(TypedDict, total=False):
    log: Annotated[list, add]


def app_of(node, **options):
    graph = StateGraph(State)
    graph.add_node("n", node)
    graph.add_edge(START, "n")
    return graph.compile(**options)


def case_store_is_injected(env):
    def node(state, *, store: BaseStore):
        store.put(("a",), "k", {"v": 1})
        return {"log": [store.get(("a",), "k").value]}

    def by_runtime(state, runtime: Runtime):
        return {"log": [runtime.store.get(("a",), "k").value]}

    def by_getter(state):
        return {"log": [get_store().get(("a",), "k").value]}

    store = InMemoryStore()
    return [app_of(n, store=store).invoke({}) for n in (node, by_runtime, by_getter)]


def case_stores_and_caches_that_are_none(env):
    def node(state):
        return {"log": ["ran"]}

    stores = [
        env.error(lambda given=given: app_of(node, store=given).invoke({}))
        for given in (True, 60, "store", {}, InMemoryStore)
    ]
    caches = [
        env.error(lambda given=given: app_of(node, cache=given).invoke({}))
        for given in (True, 60, "cache", InMemoryCache)
    ]
    return stores, caches


def case_no_store_and_no_cache(env):
    def node(state):
        return {"log": ["ran"]}

    return [app_of(node, store=given, cache=given).invoke({}) for given in (None, False)]


def case_store_required_but_missing(env):
    def node(state, *, store: BaseStore):
        return {"log": [store is None]}

    return env.error(lambda: app_of(node).invoke({}))


async def case_store_async(env):
    async def node(state, *, store: BaseStore):
        await store.aput(("a",), "k", {"v": 1})
        return {"log": [(await store.aget(("a",), "k")).value]}

    return await app_of(node, store=InMemoryStore()).ainvoke({})
