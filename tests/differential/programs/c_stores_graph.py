"""How nodes, subgraphs, tasks and entrypoints get at the store of their graph."""

from operator import add
from typing import Annotated, Optional, TypedDict

from langgraph.config import get_store
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore


class State(TypedDict, total=False):
    log: Annotated[list, add]


def app_of(node, **options):
    graph = StateGraph(State)
    graph.add_node("n", node)
    graph.add_edge(START, "n")
    return graph.compile(**options)


def seen(store):
    return {"log": [None if store is None else store.get(("a",), "k").value]}


def prepared():
    store = InMemoryStore()
    store.put(("a",), "k", {"v": 1})
    return store


def case_every_way_to_ask(env):
    def keyword(state, *, store: BaseStore):
        return seen(store)

    def positional(state, store: BaseStore):
        return seen(store)

    def optional(state, store: Optional[BaseStore] = None):  # noqa: UP045
        return seen(store)

    def union(state, *, store: BaseStore | None):
        return seen(store)

    def bare(state, *, store):
        return seen(store)

    def runtime(state, runtime: Runtime):
        return seen(runtime.store)

    def getter(state):
        return seen(get_store())

    def by_runtime(state):
        return seen(get_runtime().store)

    nodes = [keyword, positional, optional, union, bare, runtime, getter, by_runtime]
    return [app_of(node, store=prepared()).invoke({}) for node in nodes]


def case_without_a_store(env):
    def keyword(state, *, store: BaseStore):
        return {"log": [store]}

    def default(state, *, store: BaseStore = "default"):
        return {"log": [store is None]}

    def runtime(state, runtime: Runtime):
        return {"log": [runtime.store]}

    def getter(state):
        return {"log": [get_store()]}

    nodes = [keyword, default, runtime, getter]
    return [env.error(lambda: app_of(node).invoke({})) for node in nodes]


def case_outside_of_a_graph(env):
    return env.error(get_store)


def case_subgraphs_share_the_store(env):
    def child_node(state, *, store: BaseStore):
        return seen(store)

    child = app_of(child_node)
    parent = StateGraph(State)
    parent.add_node("child", child)
    parent.add_node("called", lambda state: child.invoke({}))
    parent.add_edge(START, "child")
    parent.add_edge("child", "called")
    return parent.compile(store=prepared()).invoke({})


def case_a_subgraph_with_a_store_of_its_own(env):
    def child_node(state, *, store: BaseStore):
        return {"log": [item.value for item in store.search(())]}

    own = InMemoryStore()
    own.put(("own",), "k", {"v": "own"})
    child = app_of(child_node, store=own)
    parent = StateGraph(State)
    parent.add_node("child", child)
    parent.add_node("called", lambda state: child.invoke({}))
    parent.add_edge(START, "child")
    parent.add_edge("child", "called")
    return parent.compile(store=prepared()).invoke({})


def case_threads_share_the_store(env):
    store = env.store()

    def node(state, *, store: BaseStore):
        item = store.get(("count",), "n")
        n = item.value["n"] + 1 if item else 1
        store.put(("count",), "n", {"n": n})
        return {"log": [n]}

    app = app_of(node, store=store, checkpointer=env.saver())
    configs = [{"configurable": {"thread_id": str(i)}} for i in (1, 2, 1)]
    return [app.invoke({}, config) for config in configs]


async def case_async_nodes(env):
    async with env.astore() as store:
        await store.aput(("a",), "k", {"v": 1})

        async def node(state, *, store: BaseStore):
            return {"log": [(await store.aget(("a",), "k")).value]}

        async def runtime(state, runtime: Runtime):
            await runtime.store.aput(("a",), "k2", {"v": 2})
            return {"log": [i.key for i in await runtime.store.asearch(("a",), filter={"v": 2})]}

        async def getter(state):
            return {"log": [(await get_store().aget(("a",), "k2")).value]}

        nodes = [node, runtime, getter]
        return [await app_of(n, store=store).ainvoke({}) for n in nodes]


def case_entrypoints_and_tasks(env):
    store = prepared()

    @task
    def step(n):
        return get_store().get(("a",), "k").value["v"] + n

    @entrypoint(store=store)
    def keyword(n: int, *, store: BaseStore):
        return store.get(("a",), "k").value["v"] + step(n).result()

    @entrypoint(store=store)
    def runtime(n: int, *, runtime: Runtime):
        return runtime.store.get(("a",), "k").value["v"] + n

    return [keyword.invoke(10), runtime.invoke(5)]


async def case_async_entrypoints(env):
    async with env.astore() as store:

        @task
        async def remember(text):
            await get_store().aput(("said",), text, {"text": text})

        @entrypoint(store=store)
        async def chat(text: str, *, store: BaseStore):
            await remember(text)
            return sorted(item.key for item in await store.asearch(("said",)))

        return [await chat.ainvoke("one"), await chat.ainvoke("two")]


def case_store_beside_config_and_writer(env):
    def node(state, config, *, store: BaseStore, writer):
        writer({"found": store.get(("a",), "k").value})
        return {"log": [config["configurable"]["user"]]}

    app = app_of(node, store=prepared())
    config = {"configurable": {"user": "ada"}}
    return list(app.stream({}, config, stream_mode=["custom", "updates"]))
