"""Caches: results of nodes and tasks that are taken instead of running them again."""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.cache.base import BaseCache
from langgraph.cache.memory import InMemoryCache
from langgraph.cache.sqlite import SqliteCache
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy, Command, Send, interrupt


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def config(thread):
    return {"configurable": {"thread_id": thread}}


class Counting:
    """A node that counts how often it runs."""

    def __init__(self, result=None):
        self.runs = 0
        self.result = result

    def __call__(self, state):
        self.runs += 1
        return {"items": ["ran"]} if self.result is None else self.result


def counting():
    """A plain function that counts; functions of one place share a namespace."""
    runs = []

    def work(state):
        runs.append(1)
        return {"items": ["ran"]}

    return work, runs


def graph_of(code, cache, policy=None, saver=None, name="work"):
    builder = StateGraph(State)
    builder.add_node(name, code, cache_policy=policy or CachePolicy())
    builder.add_node("after", lambda state: {"items": ["after"]})
    builder.add_edge(START, name)
    builder.add_edge(name, "after")
    return builder.compile(cache=cache, checkpointer=saver)


def case_results_of_partials_and_graphs_in_one_cache(env):
    def call(state, client, model):
        return {"items": [model]}

    def agent(name):
        builder = StateGraph(State).add_node(name, lambda state: {"items": [name]})
        return builder.add_edge(START, name).compile()

    cache, client = InMemoryCache(), object()
    codes = [partial(call, client=client, model=model) for model in ("small", "large")]
    codes += [partial(codes[0], model="huge"), agent("research"), agent("write")]
    return [graph_of(code, cache).invoke({"items": []}) for code in codes]


def case_results_of_one_partial_in_two_graphs(env):
    runs = []

    def call(state, model):
        runs.append(model)
        return {"items": [model]}

    cache = InMemoryCache()
    for _ in range(2):
        graph_of(partial(call, model="small"), cache).invoke({"items": []})
    return runs


def case_second_run_is_cached(env):
    work, runs = counting()
    graph = graph_of(work, InMemoryCache())
    results = [graph.invoke({"items": [n]}) for n in (1, 1, 2)]
    return results, len(runs)


async def case_async(env):
    work, runs = counting()

    async def awork(state):
        return work(state)

    graph = graph_of(awork, InMemoryCache())
    results = [await graph.ainvoke({"items": [n]}) for n in (1, 1, 2)]
    return results, len(runs)


def case_sync_and_async_share(env):
    import asyncio

    work, runs = counting()
    graph = graph_of(work, InMemoryCache())
    return graph.invoke({"items": []}), asyncio.run(graph.ainvoke({"items": []})), len(runs)


def case_streams(env):
    work, _ = counting()
    graph = graph_of(work, InMemoryCache(), saver=env.saver())
    modes = ["values", "updates", "tasks"]
    return [list(graph.stream({"items": []}, config(t), stream_mode=modes)) for t in "12"]


def case_history(env):
    work, _ = counting()
    graph = graph_of(work, InMemoryCache(), saver=env.saver())
    for thread in "12":
        graph.invoke({"items": []}, config(thread))
    return [(s.values, s.next, s.metadata["step"]) for s in graph.get_state_history(config("2"))]


def case_without_a_cache(env):
    work, runs = counting()
    graph = graph_of(work, None)
    return [graph.invoke({"items": []}) for _ in range(2)], len(runs)


def case_key_func(env):
    seen = []

    def key(state):
        seen.append(state)
        return str(len(state["items"]))

    work, runs = counting()
    graph = graph_of(work, InMemoryCache(), CachePolicy(key_func=key))
    for items in ([1], [2], [1, 2]):
        graph.invoke({"items": items})
    return seen, len(runs)


def case_key_func_may_give_bytes(env):
    work, runs = counting()
    graph = graph_of(work, InMemoryCache(), CachePolicy(key_func=lambda state: b"same"))
    return graph.invoke({"items": [1]}), graph.invoke({"items": [2]}), len(runs)


def case_key_func_that_fails(env):
    def key(state):
        raise LookupError("no key")

    work, runs = counting()
    graph = graph_of(work, InMemoryCache(), CachePolicy(key_func=key))
    return env.error(lambda: graph.invoke({"items": []})), len(runs)


def case_routes_are_cached(env):
    runs = []

    def work(state):
        runs.append(1)
        return Command(goto="after", update={"items": ["routed"]})

    builder = StateGraph(State)
    builder.add_node("work", work, cache_policy=CachePolicy())
    builder.add_node("after", lambda state: {"items": ["after"]})
    builder.add_edge(START, "work")
    graph = builder.compile(cache=InMemoryCache())
    return [graph.invoke({"items": []}) for _ in range(2)], len(runs)


def case_sends_are_cached(env):
    runs = []

    def work(state):
        runs.append(1)
        return Command(goto=[Send("after", {"items": [n]}) for n in range(2)])

    builder = StateGraph(State)
    builder.add_node("work", work, cache_policy=CachePolicy())
    builder.add_node("after", lambda state: {"items": [("after", *state["items"])]})
    builder.add_edge(START, "work")
    graph = builder.compile(cache=InMemoryCache())
    return [graph.invoke({"items": []}) for _ in range(2)], len(runs)


def case_nothing_as_a_result(env):
    runs = []

    def work(state):
        runs.append(1)

    builder = StateGraph(State)
    builder.add_node("work", work, cache_policy=CachePolicy())
    builder.add_edge(START, "work")
    graph = builder.compile(cache=InMemoryCache())
    return [graph.invoke({"items": []}) for _ in range(2)], len(runs)


def case_errors_are_not_cached(env):
    runs = []

    def work(state):
        runs.append(1)
        if len(runs) == 1:
            raise ValueError
        return {"items": ["ok"]}

    graph = graph_of(work, InMemoryCache())
    return env.error(lambda: graph.invoke({"items": []})), graph.invoke({"items": []}), len(runs)


def case_siblings_beside_a_cached_node(env):
    work, runs = counting()
    others, ran = counting()
    builder = StateGraph(State)
    builder.add_node("work", work, cache_policy=CachePolicy())
    builder.add_node("other", others)
    builder.add_edge(START, "work")
    builder.add_edge(START, "other")
    graph = builder.compile(cache=InMemoryCache())
    results = [graph.invoke({"items": []}) for _ in range(2)]
    return results, len(runs), len(ran)


def case_sends_with_equal_inputs(env):
    work, runs = counting()
    builder = StateGraph(State)
    builder.add_node("work", work, cache_policy=CachePolicy())

    def fan(state):
        return [Send("work", {"n": 1}), Send("work", {"n": 2})]

    builder.add_conditional_edges(START, fan, ["work"])
    graph = builder.compile(cache=InMemoryCache())
    return [graph.invoke({"items": []}) for _ in range(2)], len(runs)


def case_names_have_caches_of_their_own(env):
    work, runs = counting()
    cache = InMemoryCache()
    for name in ("work", "other", "work"):
        graph_of(work, cache, name=name).invoke({"items": []})
    return len(runs)


def case_clear_cache(env):
    work, runs = counting()
    graph = graph_of(work, InMemoryCache())
    counts = []
    for clear in (
        lambda: None,
        graph.clear_cache,
        lambda: graph.clear_cache(["after"]),
        lambda: graph.clear_cache(["work"]),
        lambda: graph.clear_cache([]),
    ):
        clear()
        graph.invoke({"items": []})
        counts.append(len(runs))
    return counts


async def case_aclear_cache(env):
    work, runs = counting()
    graph = graph_of(work, InMemoryCache())
    for _ in range(2):
        await graph.ainvoke({"items": []})
    await graph.aclear_cache()
    await graph.ainvoke({"items": []})
    return len(runs)


def case_clear_cache_without_one(env):
    work, _ = counting()
    return env.error(lambda: graph_of(work, None).clear_cache())


def case_clear_cache_of_an_unknown_node(env):
    work, _ = counting()
    return env.error(lambda: graph_of(work, InMemoryCache()).clear_cache(["wrok"]))


def case_default_policy(env):
    work, runs = counting()
    builder = StateGraph(State)
    builder.set_node_defaults(cache_policy=CachePolicy())
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    graph = builder.compile(cache=InMemoryCache())
    return [graph.invoke({"items": []}) for _ in range(2)], len(runs)


def case_default_policy_leaves_handlers_alone(env):
    handled = []

    def bad(state):
        raise ValueError

    def handler(state):
        handled.append(1)
        return {"items": ["handled"]}

    builder = StateGraph(State)
    builder.set_node_defaults(cache_policy=CachePolicy(), error_handler=handler)
    builder.add_node("bad", bad)
    builder.add_edge(START, "bad")
    graph = builder.compile(cache=InMemoryCache())
    return [graph.invoke({"items": []}) for _ in range(2)], len(handled)


def case_subgraph_has_its_own_cache(env):
    work, runs = counting()
    builder = StateGraph(State).add_node("work", work, cache_policy=CachePolicy())
    builder.add_edge(START, "work")
    for cache in (None, InMemoryCache()):
        outer = StateGraph(State).add_node("sub", builder.compile(cache=cache))
        graph = outer.add_edge(START, "sub").compile(cache=InMemoryCache())
        for _ in range(2):
            graph.invoke({"items": []})
    return len(runs)


def case_answers_are_not_cached(env):
    asked = []

    def work(state):
        asked.append(1)
        return {"items": [interrupt("which?")]}

    graph = graph_of(work, InMemoryCache(), saver=env.saver())
    graph.invoke({"items": []}, config("1"))
    graph.invoke(Command(resume="A"), config("1"))
    return "__interrupt__" in graph.invoke({"items": []}, config("2"))


def workflow_of(cache):
    runs = []

    @task(cache_policy=CachePolicy())
    def square(x, *, plus=0):
        runs.append((x, plus))
        return x * x + plus

    @entrypoint(cache=cache)
    def workflow(numbers):
        return [square(n, plus=1).result() for n in numbers]

    return workflow, square, runs


def case_tasks(env):
    workflow, _, runs = workflow_of(InMemoryCache())
    return [workflow.invoke(numbers) for numbers in ([1, 2], [2, 3], [3])], runs


async def case_async_tasks(env):
    runs = []

    @task(cache_policy=CachePolicy())
    async def square(x):
        runs.append(x)
        return x * x

    @entrypoint(cache=InMemoryCache())
    async def workflow(numbers):
        return [await square(n) for n in numbers]

    return [await workflow.ainvoke(numbers) for numbers in ([1, 2], [2, 3])], runs


def case_tasks_in_streams(env):
    workflow, _, _ = workflow_of(InMemoryCache())
    return [list(workflow.stream([2], stream_mode=["updates", "tasks"])) for _ in range(2)]


def case_task_key_func_gets_its_arguments(env):
    seen = []

    def key(*args, **kwargs):
        seen.append((args, kwargs))
        return "k"

    @task(cache_policy=CachePolicy(key_func=key))
    def work(x, *, y=2):
        return x + y

    @entrypoint(cache=InMemoryCache())
    def workflow(given):
        return work(given, y=4).result()

    return workflow.invoke(1), workflow.invoke(2), seen


def case_clear_cache_of_a_task(env):
    cache = InMemoryCache()
    workflow, square, runs = workflow_of(cache)
    workflow.invoke([1])
    square.clear_cache(cache)
    workflow.invoke([1])
    return len(runs)


def case_cached_workflow(env):
    runs = []

    @entrypoint(cache=InMemoryCache(), cache_policy=CachePolicy())
    def workflow(n):
        runs.append(n)
        return n + 1

    return [workflow.invoke(1), workflow.invoke(1), workflow.invoke(2)], runs


def case_caches_as_such(env):
    results = []
    for cache in (InMemoryCache(), SqliteCache(path=str(env.tmp_path / "cache.db"))):
        a, b, deep = (("a",), "k"), (("b",), "k"), (("a", "b"), "k")
        cache.set({a: ({"x": [1]}, None), b: (2, 0), deep: (3, 60)})
        results.append(cache.get([a, b, deep, (("c",), "k")]))
        cache.clear([("a",)])
        results.append(cache.get([a, deep]))
        cache.clear()
        results.append((cache.get([deep]), cache.get([]), cache.set({})))
        cache.set({a: (1, None)})
        cache.set({a: (2, None)})
        results.append(cache.get([a]))
    return results


def case_sqlite_cache_outlives_its_object(env):
    path = str(env.tmp_path / "cache.db")
    work, runs = counting()
    for _ in range(2):
        graph_of(work, SqliteCache(path=path)).invoke({"items": []})
    return len(runs)


async def case_sqlite_cache_async(env):
    work, runs = counting()

    async def awork(state):
        return work(state)

    cache = SqliteCache(path=str(env.tmp_path / "cache.db"))
    results = [await graph_of(awork, cache).ainvoke({"items": []}) for _ in range(2)]
    return results, len(runs)


class Recording(BaseCache):
    """A cache of a third party, which counts what it is asked."""

    def __init__(self):
        super().__init__()
        self.values, self.log = {}, []

    def get(self, keys):
        self.log.append(("get", len(keys)))
        return {key: self.values[key] for key in keys if key in self.values}

    async def aget(self, keys):
        return self.get(keys)

    def set(self, pairs):
        self.log.append(("set", [ttl for _, ttl in pairs.values()]))
        self.values.update({key: value for key, (value, _) in pairs.items()})

    async def aset(self, pairs):
        self.set(pairs)

    def clear(self, namespaces=None):
        self.values.clear()

    async def aclear(self, namespaces=None):
        self.clear(namespaces)


def case_cache_of_a_third_party(env):
    cache = Recording()
    work, runs = counting()
    graph = graph_of(work, cache, CachePolicy(ttl=60))
    results = [graph.invoke({"items": []}) for _ in range(2)]
    return results, len(runs), cache.log
