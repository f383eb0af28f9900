"""Where plait's stores differ on purpose: the case differs, and docs/compatibility.md says why."""

from threading import Event
from time import sleep
from typing import TypedDict

import numpy
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore


class State(TypedDict, total=False):
    seen: bool


def keys(items):
    return sorted(item.key for item in items)


def lengths(texts):
    return [[float(len(text)), 1.0] for text in texts]


def case_values_of_an_item_are_its_own(env):
    store = InMemoryStore()
    value = {"v": [1]}
    store.put(("u",), "k", value)
    value["v"].append(2)
    store.get(("u",), "k").value["v"].append(3)
    return store.get(("u",), "k").value


def case_created_at_of_an_item_put_again(env):
    store = InMemoryStore()
    store.put(("u",), "k", {"v": 1})
    first = store.get(("u",), "k").created_at
    store.put(("u",), "k", {"v": 2})
    return store.get(("u",), "k").created_at == first


def case_the_whole_value_as_a_field_of_a_put(env):
    def embed(texts):
        return [[float("tea" in text), 1.0] for text in texts]

    store = InMemoryStore(index={"dims": 2, "embed": embed, "fields": ["title"]})
    store.put(("u",), "whole", {"text": "tea"}, index=["$"])
    store.put(("u",), "part", {"title": "water"})
    return [(item.key, item.score is None) for item in store.search(("u",), query="tea")]


def case_namespaces_of_deleted_items(env):
    store = InMemoryStore()
    store.put(("u",), "k", {"v": 1})
    store.delete(("u",), "k")
    return store.list_namespaces()


def case_a_namespace_that_is_text(env):
    return env.error(lambda: env.store().put("ab", "k", {"v": 1}))


def case_labels_in_operations(env):
    store = InMemoryStore()
    return [
        env.error(lambda: store.batch([PutOp(namespace, "k", {"v": 1})]))
        for namespace in [("",), ("a.b",), (1,), ("a\0b",)]
    ]


def case_keys_that_are_none(env):
    return env.error(lambda: env.store().put(("a",), None, {"v": 1}))


def case_comparisons_of_text_and_mixtures(env):
    store = env.store()
    for key, x in {"one": 1, "ten": 10, "text": "a", "digits": "5", "list": [1]}.items():
        store.put(("f",), key, {"x": x})
    filters = [{"x": {"$gt": 1}}, {"x": {"$lt": "b"}}, {"x": {"$gte": "a"}}, {"y": {"$gt": 0}}]
    return [env.error(lambda: keys(store.search(("f",), filter=f))) for f in filters]


def case_filters_of_sqlite(env):
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        store.put(("f",), "a", {"x": {"a": 1, "b": 2}, "a'b": 1})
        filters = [{"x": {"a": 1}}, {"a'b": 1}, {"y": {"$ne": 1}}, {"x": {"$eq": {"a": 1, "b": 2}}}]
        return [env.error(lambda: keys(store.search(("f",), filter=f))) for f in filters]


def case_dotted_keys_of_filters(env):
    store = InMemoryStore()
    store.put(("f",), "a", {"x": {"y": 1}})
    return keys(store.search(("f",), filter={"x.y": 1}))


def case_negative_limits_and_offsets(env):
    store = InMemoryStore()
    for key in "abc":
        store.put(("f",), key, {"v": 1})
    return [
        len(store.search(("f",), limit=-1)),
        env.error(lambda: len(store.search(("f",), offset=-1))),
        env.error(lambda: store.list_namespaces(max_depth=-1)),
    ]


def case_values_in_sqlite(env):
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        store.put(("v",), "k", {"t": (1, 2), "nan": float("nan"), "deep": {"t": (3,)}})
        return store.get(("v",), "k").value


def case_order_of_namespaces_in_sqlite(env):
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        for namespace in [("acme", "p"), ("acme-corp",), ("acme",)]:
            store.put(namespace, "k", {"v": 1})
        return store.list_namespaces()


def case_expired_items_are_omitted(env):
    with SqliteStore.from_conn_string(":memory:", ttl={"omit_expired": True}) as store:
        store.setup()
        store.put(("t",), "k", {"v": 1}, ttl=-1)
        return store.get(("t",), "k")


def case_reads_that_begin_a_ttl_anew(env):
    with SqliteStore.from_conn_string(":memory:", ttl={"default_ttl": 4 / 60}) as store:
        store.setup()
        store.put(("t",), "k", {"v": 1})
        sleep(2.5)
        store.get(("t",), "k")
        sleep(2.6)  # of the peer's times there are no parts of a second
        return store.sweep_ttl()


async def case_sqlite_store_in_async_programs(env):
    with SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        return await env.aerror(store.aput(("a",), "k", {"v": 1}))


async def case_sync_calls_of_the_async_store(env):
    async with AsyncSqliteStore.from_conn_string(":memory:") as store:
        await store.setup()
        return env.error(lambda: store.get(("a",), "k"))


def case_a_subgraph_with_a_store_in_a_graph_without(env):
    def node(state: dict, *, store: BaseStore):
        return {"seen": store is not None}

    child = (
        StateGraph(State).add_node("n", node).add_edge(START, "n").compile(store=InMemoryStore())
    )
    parent = StateGraph(State).add_node("child", child).add_edge(START, "child")
    return parent.compile().invoke({})


class Own(AsyncBatchedBaseStore):
    async def abatch(self, ops):
        return [None for _ in ops]


async def case_ttl_of_a_store_without(env):
    return await env.aerror(Own().aput(("a",), "k", {}, ttl=1))


def case_ttl_in_a_batch_of_a_store_without(env):
    store = InMemoryStore()
    told = env.error(lambda: store.batch([PutOp(("a",), "k", {}, None, 1)]))
    return told, store.get(("a",), "k") is None


def case_unknown_keys_of_configs(env):
    index = {"dims": 2, "embed": lengths, "field": ["text"]}
    return [
        env.error(lambda: InMemoryStore(index=index) and None),
        env.error(lambda: within(ttl={"default_tll": 1})),
    ]


def within(**options):
    with SqliteStore.from_conn_string(":memory:", **options):
        return None


def case_sweeps_that_never_rest(env):
    return env.error(sweeps)


def sweeps():
    with SqliteStore.from_conn_string(":memory:", ttl={"sweep_interval_minutes": -1}) as store:
        store.setup()
        swept, sweep, left = Event(), store.sweep_ttl, [None] * 9

        def counted():
            (left or [None]).pop()
            if not left:
                swept.set()
            return sweep()

        store.sweep_ttl = counted
        store.start_ttl_sweeper()
        swept.wait()
        return store.stop_ttl_sweeper()


def case_keys_that_json_has_not(env):
    store = InMemoryStore(index={"dims": 2, "embed": lengths})
    told = env.error(lambda: store.put(("a",), "k", {"seats": {(1, 2): "ada", 3: "bob"}}))
    return told, [item.score is None for item in store.search(("a",), query="ada")]


def case_arrays_in_filters(env):
    store = InMemoryStore()
    store.put(("a",), "list", {"v": [1, 2]})
    filters = {"v": numpy.int64(1)}, {"v": {"$ne": numpy.int64(1)}}, {"v": numpy.array([1, 2])}
    return [env.error(lambda: keys(store.search(("a",), filter=each))) for each in filters]


def case_vectors_of_an_item_put_again(env):
    store = InMemoryStore(index={"dims": 2, "embed": lengths, "fields": ["text"]})
    store.put(("d",), "a", {"text": "four"})
    store.put(("d",), "a", {"text": "four"}, index=False)
    return store.search(("d",), query="four")[0].score is None


def case_vectors_of_fields_that_a_new_value_lacks(env):
    store = InMemoryStore(index={"dims": 2, "embed": lengths, "fields": ["text", "title"]})
    store.put(("d",), "a", {"title": "four"})
    store.put(("d",), "a", {"text": "longer than that"})
    return store.search(("d",), query="four")[0].score


def case_pages_beyond_what_is_ranked(env):
    store = InMemoryStore(index={"dims": 2, "embed": lengths, "fields": ["text"]})
    store.put(("d",), "ranked", {"text": "four"})
    store.put(("d",), "other", {})
    pages = [store.search(("d",), query="four", limit=1, offset=n) for n in range(4)]
    return [[item.key for item in page] for page in pages]


def case_similarity_to_nothing(env):
    def embed(texts):
        return [[0.0, 0.0] if text == "nothing" else [1.0, 0.0] for text in texts]

    store = InMemoryStore(index={"dims": 2, "embed": embed})
    store.put(("d",), "a", {"text": "four"})
    return store.search(("d",), query="nothing")[0].score


def case_vectors_of_another_length(env):
    store = InMemoryStore(index={"dims": 3, "embed": lengths})
    return env.error(lambda: store.put(("d",), "a", {"text": "four"}))


class TwoMethods:
    def embed_documents(self, texts):
        return lengths(texts)

    def embed_query(self, text):
        return lengths([text])[0]


def case_any_object_with_the_two_methods_embeds(env):
    def work():
        store = InMemoryStore(index={"dims": 2, "embed": TwoMethods()})
        store.put(("d",), "a", {"text": "four"})
        return len(store.search(("d",), query="four"))

    return env.error(work)
