"""A store by itself, sync: items, filters, pages, namespaces, batches."""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)
from langgraph.store.memory import InMemoryStore

WRONG = [("",), ("a.b",), ("a", ""), (1,), (None,), ("a\0b",)]


class Where(TypedDict):
    at: list


NAMESPACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("a", "%"),
    ("acme",),
    ("acme", "p"),
    ("_x", "y"),
    ("*", "q"),
    ("é",),
]
VALUES = {
    "one": {"x": 1, "kind": "n"},
    "two": {"x": 2, "kind": "n", "tags": ["p", "q"]},
    "ten": {"x": 10, "kind": "n"},
    "half": {"x": 1.5, "kind": "n"},
    "text": {"x": "a", "kind": "t"},
    "quote": {"x": "a'b\"c", "kind": "t"},
    "true": {"x": True, "kind": "b"},
    "none": {"x": None},
    "list": {"x": [1, 2]},
    "flat": {"y": 1},
}


def keys(items):
    return sorted(item.key for item in items)


def filled(env):
    store = env.store()
    for key, value in VALUES.items():
        store.put(("f",), key, value)
    return store


def spread(env):
    store = env.store()
    for namespace in NAMESPACES:
        store.put(namespace, "k", {"v": 1})
    return store


def case_put_get_delete(env):
    store = env.store()
    before = store.get(("u", "1"), "k")
    store.put(("u", "1"), "k", {"v": 1, "deep": {"list": [1, {"a": None}]}})
    got = store.get(("u", "1"), "k")
    store.put(("u", "1"), "k", {"v": 2})
    again = store.get(("u", "1"), "k")
    store.delete(("u", "1"), "k")
    store.delete(("u", "1"), "never")
    return [before, got.value, got.key, got.namespace, again.value, store.get(("u", "1"), "k")]


def case_what_items_are(env):
    store = env.store()
    store.put(("u",), "k", {"v": 1})
    got, found = store.get(("u",), "k"), store.search(("u",))[0]
    return [
        type(got),
        type(found),
        got == found,
        hash(got) == hash(found),
        found.score,
        sorted(got.dict()),
        sorted(found.dict()),
        got == 5,
        got.created_at <= got.updated_at,
        Item(
            value={"a": 1},
            key="k",
            namespace=["a", "b"],
            created_at="2020-01-01T00:00:00+00:00",
            updated_at="2020-01-01T00:00:00+00:00",
        ).dict(),
        SearchItem(("a",), "k", {}, "2020-01-01", "2020-01-01").dict(),
    ]


def case_put_none_deletes(env):
    store = env.store()
    store.put(("u",), "k", {"v": 1})
    store.put(("u",), "k", None)
    return store.get(("u",), "k")


def case_keys_become_text(env):
    store = env.store()
    for key in (1, "", "a\0b", "50%", "a'b", "é"):
        store.put(("k",), key, {"v": str(key)})
    return [store.get(("k",), 1).key, keys(store.search(("k",))), store.get(("k",), "").value]


def case_wrong_namespaces(env):
    store = env.store()
    result = []
    for namespace in WRONG:
        result += [
            env.error(lambda: store.put(namespace, "k", {"v": 1})),
            env.error(lambda: store.get(namespace, "k")),
            env.error(lambda: store.delete(namespace, "k")),
            env.error(lambda: store.search(namespace)),
            env.error(lambda: store.list_namespaces(prefix=namespace)),
            env.error(lambda: store.list_namespaces(suffix=namespace)),
            env.error(lambda: validate_op_namespace(GetOp(namespace, "k"))),
        ]
    result.append(env.error(lambda: store.put((), "k", {"v": 1})))
    result.append(env.error(lambda: store.put(("langgraph", "x"), "k", {"v": 1})))
    result.append(store.get(("langgraph",), "k"))
    result.append(store.put(("a", "langgraph"), "k", {"v": 1}))
    return result


def case_errors_of_namespaces_are_caught_by_name(env):
    store = env.store()
    store.put(("u",), "kept", {"v": 1})
    caught = []
    for namespace in [*WRONG, (), ("langgraph",), ("langgraph", "x")]:
        try:
            store.put(namespace, "k", {"v": 1})
        except InvalidNamespaceError as error:
            caught.append(isinstance(error, ValueError))
    return caught, store.list_namespaces(), store.get(("u",), "kept").value


def case_wrong_namespaces_in_nodes(env):
    def node(state, *, store):
        try:
            store.put(tuple(state["at"]), "k", {"v": 1})
        except InvalidNamespaceError:
            return {"at": ["refused"]}

    builder = StateGraph(Where).add_node("node", node).add_edge(START, "node")
    graph = builder.compile(store=env.store())
    places = [["u"], ["", "u"], ["a.b"], [], ["langgraph"]]
    return [graph.invoke({"at": at})["at"] for at in places], graph.store.list_namespaces()


def case_wrong_values(env):
    store = env.store()
    wrong = [[1], 5]
    return [env.error(lambda: store.put(("u",), "k", value)) for value in wrong]


def case_search_is_by_labels(env):
    store = spread(env)
    prefixes = [(), ("a",), ("a", "b"), ("acme",), ("%",), ("a", "%"), ("_",), ("*",), ("a", "*")]
    return [sorted(i.namespace for i in store.search(p, limit=50)) for p in prefixes]


def case_filters(env):
    store = filled(env)
    filters = [
        None,
        {},
        {"x": 1},
        {"x": 1.0},
        {"x": True},
        {"x": "a"},
        {"x": "1"},
        {"x": None},
        {"x": [1, 2]},
        {"x": [1]},
        {"x": (1, 2)},
        {"tags": ["p", "q"]},
        {"x": "a'b\"c"},
        {"x": "' OR 1=1 --"},
        {"nothing": 1},
        {"nothing": None},
        {"x": 2, "kind": "n"},
        {"x": 2, "kind": "t"},
        {"x": {"$eq": 2}},
        {"x": {"$eq": "a"}},
        {"x": {"$eq": None}},
        {"x": {"$ne": None}},
        {"x": {"$eq": 2, "$ne": 3}},
    ]
    return [keys(store.search(("f",), filter=f, limit=50)) for f in filters]


def case_comparisons_of_numbers(env):
    store = env.store()
    for key, x in {"a": 1, "b": 2, "c": 2.5, "d": 10, "e": -3}.items():
        store.put(("n",), key, {"x": x})
    filters = [
        {"x": {"$gt": 2}},
        {"x": {"$gte": 2}},
        {"x": {"$lt": 2}},
        {"x": {"$lte": 2}},
        {"x": {"$gt": 1, "$lt": 10}},
        {"x": {"$gt": 0, "$ne": 2}},
        {"x": {"$gte": 2.5}},
        {"x": {"$ne": 2}},
    ]
    return [keys(store.search(("n",), filter=f)) for f in filters]


def case_unknown_operators(env):
    store = filled(env)
    filters = [{"x": {"$in": [1]}}, {"x": {"$gt": 1, "a": 1}}, {"x": {"$or": []}}]
    return [env.error(lambda: store.search(("f",), filter=f)) for f in filters]


def case_pages(env):
    store = filled(env)
    whole = [item.key for item in store.search(("f",), limit=50)]
    pages = [[i.key for i in store.search(("f",), limit=3, offset=o)] for o in range(0, 12, 3)]
    return [
        [key for page in pages for key in page] == whole,
        [len(page) for page in pages],
        len(store.search(("f",))),
        len(store.search(("f",), limit=0)),
        len(store.search(("f",), filter={"kind": "n"}, limit=2, offset=1)),
        len(store.search(("f",), filter={"kind": "n"}, offset=3)),
    ]


def case_list_namespaces(env):
    store = spread(env)
    asked = [
        {},
        {"prefix": ("a", "b")},
        {"prefix": ("a", "b"), "max_depth": 3},
        {"max_depth": 1},
        {"max_depth": 2},
        {"suffix": ("f",)},
        {"suffix": ("b", "c")},
        {"prefix": ("a",), "suffix": ("f",)},
        {"prefix": ("*", "b")},
        {"prefix": ("a", "*", "c")},
        {"suffix": ("*", "c")},
        {"suffix": ("d", "*")},
        {"prefix": ("a", "b", "c", "d")},
        {"limit": 2},
        {"limit": 2, "offset": 1},
        {"limit": 0},
        {"max_depth": 1, "limit": 2, "offset": 1},
        {"prefix": ("acme",)},
        {"prefix": ("%",)},
        {"suffix": ("%",)},
        {"prefix": ("__",)},
        {"prefix": ("A",)},
        {"prefix": ()},
        {"suffix": ()},
    ]
    return [store.list_namespaces(**options) for options in asked]


def case_list_namespaces_by_operations(env):
    store = spread(env)
    both = (MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("*", "b")))
    return store.batch(
        [
            ListNamespacesOp(),
            ListNamespacesOp(None, 1),
            ListNamespacesOp(both),
            ListNamespacesOp(()),
        ]
    )


def case_a_batch_reads_before_it_writes(env):
    store = env.store()
    store.put(("b",), "old", {"v": 0})
    results = store.batch(
        [
            GetOp(("b",), "x"),
            PutOp(("b",), "x", {"v": 1}),
            GetOp(("b",), "x"),
            SearchOp(("b",)),
            PutOp(("b",), "x", {"v": 2}),
            PutOp(("b",), "old", None),
            ListNamespacesOp(),
            GetOp(("b",), "old"),
        ]
    )
    after = [store.get(("b",), "x").value, store.get(("b",), "old"), store.batch([])]
    got = [
        r.value if isinstance(r, Item) else keys(r) if r and r != [("b",)] else r for r in results
    ]
    return [got, after, [r.key for r in store.batch(op for op in [GetOp(("b",), "x")])]]


def case_searches_of_one_batch(env):
    store = env.store()
    for key, tag in {"x": "a", "y": "b", "z": "a"}.items():
        store.put(("s", key), key, {"tag": tag})
    filters = [{"tag": "a"}, None, {"tag": {"$ne": "a"}}, {}, {"tag": "a", "n": 1}, None]
    found = store.batch([SearchOp(("s",), filter=filter) for filter in filters])
    return [sorted(item.key for item in items) for items in found]


def case_names_of_one_database(env):
    env.store().put(("u",), "k", {"v": 1})
    return [env.store().get(("u",), "k").value, env.store("other").get(("u",), "k")]


def case_index_and_query_without_an_index(env):
    store = env.store()
    store.put(("i",), "a", {"v": 1}, index=["v"])
    store.put(("i",), "b", {"v": 1}, index=False)
    return sorted((i.key, i.score) for i in store.search(("i",), query="v"))


def case_operators_inside_of_filters(env):
    store = InMemoryStore()  # the peer's SQLite store takes no dicts in filters
    for number in range(4):
        value = {"d": {"e": number, "t": "x"}, "l": [number, {"z": number}]}
        store.put(("f",), str(number), value)
    filters = [
        {"d": {"e": {"$gt": 1}}},
        {"d": {"e": {"$ne": 1}, "t": "x"}},
        {"d": {"y": {"$ne": 1}}},
        {"l": [{"$lte": 2}, {"z": {"$gte": 2}}]},
    ]
    found = [keys(store.search(("f",), filter=given)) for given in filters]
    wrong = ({"d": {"e": {"$zz": 1}}}, {"l": [{"$zz": 1}, 1]})
    return found, [env.error(lambda f=given: store.search(("f",), filter=f)) for given in wrong]
