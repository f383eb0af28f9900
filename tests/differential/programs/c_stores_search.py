"""Searching by similarity, in memory, and which texts of a value are embedded."""

import asyncio
import sqlite3
from types import MappingProxyType

from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    PutOp,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
)
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

LETTERS = "abc"
DOCUMENTS = {
    "1": {"text": "aaa", "more": "c"},
    "2": {"text": "ab", "tags": ["a", "b"]},
    "3": {"text": "bbbc", "tags": ["c"]},
    "4": {"other": "a"},
    "5": {"text": "abc", "nested": {"title": "cc", "parts": [{"t": "a"}, {"t": "c"}]}},
}


def embed(texts):
    return [[1.0 + text.count(letter) for letter in LETTERS] for text in texts]


def found(items):
    return [(i.key, i.score if i.score is None else round(i.score, 5)) for i in items]


def filled(embedding, fields=None):
    index = {"dims": len(LETTERS), "embed": embedding}
    store = InMemoryStore(index={**index, "fields": fields} if fields else index)
    for key, value in DOCUMENTS.items():
        store.put(("d",), key, value)
    store.put(("d",), "unindexed", {"text": "aaa"}, index=False)
    store.put(("d",), "own", {"text": "aaa", "other": "b"}, index=["other"])
    store.put(("e",), "1", {"text": "b"})
    return store


def case_ranked_by_similarity(env):
    result = []
    for fields in (None, ["text"], ["text", "more"], ["tags[*]"], ["nested.parts[*].t"], ["$"]):
        store = filled(embed, fields)
        result.append([found(store.search(("d",), query=q, limit=20)) for q in ("a", "b", "bc")])
    return result


def case_query_with_filter_and_pages(env):
    store = filled(embed, ["text"])
    return [
        found(store.search(("d",), query="a", limit=2)),
        found(store.search(("d",), query="a", limit=2, offset=2)),
        found(store.search(("d",), query="a", filter={"other": "a"})),
        found(store.search((), query="b", limit=3)),
        found(store.search(("d",), query="", limit=20)),
        found(store.search(("nowhere",), query="a")),
    ]


def case_put_again_and_deleted(env):
    store = filled(embed, ["text"])
    store.put(("d",), "1", {"text": "c"})
    store.delete(("d",), "2")
    return found(store.search(("d",), query="a", limit=20))


def case_texts_are_embedded_once(env):
    calls = []

    def recording(texts):
        calls.append(sorted(texts))
        return embed(texts)

    store = InMemoryStore(index={"dims": 3, "embed": recording, "fields": ["text"]})
    store.batch(
        [
            PutOp(("d",), "x", {"text": "a"}),
            PutOp(("d",), "y", {"text": "a"}),
            PutOp(("d",), "z", {"text": "b"}),
            PutOp(("d",), "x", {"text": "c"}),
            PutOp(("d",), "no", {"other": "c"}),
        ]
    )
    puts, calls[:] = list(calls), []
    store.batch([SearchOp(("d",), query=q) for q in ("a", "b", "a", None)])
    return [puts, sorted(calls)]


async def case_async(env):
    async def aembed(texts):
        await asyncio.sleep(0)
        return embed(texts)

    result = []
    for embedding in (embed, aembed):
        store = InMemoryStore(index={"dims": 3, "embed": embedding, "fields": ["text"]})
        for key, value in DOCUMENTS.items():
            await store.aput(("d",), key, value)
        result.append(found(await store.asearch(("d",), query="ab", limit=20)))
    return result


def case_async_function_in_a_sync_call(env):
    async def aembed(texts):
        return embed(texts)

    store = InMemoryStore(index={"dims": 3, "embed": aembed})
    return [
        env.error(lambda: store.put(("d",), "k", {"text": "a"})),
        env.error(lambda: ensure_embeddings(aembed).embed_query("a")),
        asyncio.run(ensure_embeddings(aembed).aembed_query("a")),
    ]


class Own(Embeddings):
    def embed_documents(self, texts):
        return embed(texts)

    def embed_query(self, text):
        return embed([text + "c"])[0]


def case_embeddings_object(env):
    store = filled(Own(), ["text"])
    own = Own()
    return [
        found(store.search(("d",), query="b", limit=3)),
        ensure_embeddings(own) is own,
        asyncio.run(own.aembed_query("a")),
        asyncio.run(own.aembed_documents(["a", "b"])),
    ]


def case_ensure_embeddings(env):
    function = ensure_embeddings(embed)
    return [
        function.embed_query("a"),
        function.embed_documents(["a", "b"]),
        asyncio.run(function.aembed_query("a")),
        env.error(lambda: ensure_embeddings(None)),
        env.error(lambda: ensure_embeddings("nowhere:model")),
        env.error(lambda: InMemoryStore(index={"dims": 2})),
    ]


def case_embeddings_that_fail(env):
    def failing(texts):
        raise KeyError("no")

    store = InMemoryStore(index={"dims": 3, "embed": failing})
    return [
        env.error(lambda: store.put(("d",), "k", {"text": "a"})),
        store.get(("d",), "k"),
        env.error(lambda: store.search(("d",), query="a")),
    ]


def case_tokens_of_paths(env):
    paths = [
        *("a", "a.b", "a[0]", "a[*].b", "$", "", "{a,b}", "a.{b,c.d}", "*", "a.*", "[0]", "[-1]"),
        *("a[-1].b", "a[0][1]", "a..b", "a.", "[", "{a", "a]", "a[x]", ".a", "a[0].b[*].c", "**"),
    ]
    return [tokenize_path(path) for path in paths]


def case_texts_at_paths(env):
    value = {
        "a": {"b": "ab", "c": {"d": "acd"}, "l": ["x", "y", {"b": "z"}], "n": None, "i": 5},
        "f": 1.5,
        "t": True,
        "e": "",
        "b": "B",
        "l": [{"b": "1"}, {"b": "2"}, "s"],
        "m": [["p", "q"], ["r"]],
        "é": {},
    }
    paths = [
        *("$", "", "a", "a.b", "b", "zz", "a.zz", "a.n", "a.i", "f", "t", "e", "é", "l", "l[0]"),
        *("l[-1]", "l[9]", "l[*]", "l[*].b", "l.b", "a.*", "*", "*.b", "{b,zz}", "a.{b,c.d}"),
        *("{a.b,b}", "m[0][1]", "m[*][0]", "m[*][*]", "a[0]", "b[0]", "l[x]", "a.l[2].b"),
        *("a.l[*].b", "l[*].*", "{a,b}.b"),
    ]
    others = [get_text_at_path(o, p) for o in ([1, {"a": 2}], "s", None, 5) for p in ("$", "[0]")]
    return [
        [get_text_at_path(value, p) for p in paths],
        others,
        get_text_at_path(value, ["a", "b"]),
    ]


def case_texts_of_mappings(env):
    value = MappingProxyType({"a": "x", "d": {"c": 1, "b": [2]}})
    return [
        get_text_at_path(value, path) for path in ("$", "a", "d", "d.b[0]", "*", "{a,d.c}", "z")
    ]


def embedded(env, **fields):
    """Which texts a SQLite store embeds; a Python that loads sqlite-vec is not needed for that."""
    texts = []

    def embed(given):
        texts.extend(given)
        return [[float(len(text)), 1.0] for text in given]

    conn = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    SqliteStore(conn).setup()
    store = SqliteStore(conn, index={"dims": 2, "embed": embed, **fields})
    store.is_setup = True
    env.error(lambda: store.put(("u",), "k", {"text": "a", "more": "b"}))
    conn.close()
    return texts


def case_fields_of_an_index_in_sqlite(env):
    return embedded(env, fields=["text"])


def case_text_fields_of_an_index_in_sqlite(env):
    found = [embedded(env, text_fields=fields) for fields in (["text"], "text", ["text", "more"])]
    return found, embedded(env, fields=["more"], text_fields="more")
