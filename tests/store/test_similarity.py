"""Searching by similarity: both stores and all three engines (sqlite-vec, numpy, Python) agree."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import plait
from plait.embeddings import Embeddings, ensure_embeddings
from plait.errors import InvalidStoreOpError
from plait.store.base import BaseStore, vectors
from plait.store.memory import InMemoryStore
from plait.store.sqlite import SqliteStore


def embed(texts: Any) -> list[list[float]]:
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


INDEX: Any = {"dims": 3, "embed": embed, "fields": ["text", "tags[*]"]}


@contextmanager
def both(index: Any = INDEX) -> Iterator[list[BaseStore]]:
    with SqliteStore.from_conn_string(":memory:", index=index) as sqlite:
        yield [InMemoryStore(index=index), sqlite]


def fill(store: BaseStore) -> None:
    store.put(("d",), "a", {"text": "aaa", "n": 1})
    store.put(("d",), "ab", {"text": "ab", "n": 2})
    store.put(("d",), "tags", {"text": "ccc", "tags": ["b", "bc"], "n": 3})
    store.put(("d", "sub"), "bc", {"text": "bc", "n": 4})
    store.put(("d",), "nothing", {"other": "aaa", "n": 5})
    store.put(("d",), "unindexed", {"text": "aaa", "n": 6}, index=False)
    store.put(("d",), "own", {"text": "c", "other": "b", "n": 7}, index=["other"])
    store.put(("e",), "a", {"text": "aaa", "n": 8})


def ranking(store: BaseStore, **options: Any) -> list[tuple[str, float | None]]:
    found = store.search(("d",), **options)
    return [(i.key, None if i.score is None else round(i.score, 4)) for i in found]


def test_items_are_ranked_by_their_most_similar_text_and_the_unindexed_come_last() -> None:
    with both() as stores:
        for store in stores:
            fill(store)
            found = ranking(store, query="b", limit=20)
            assert {key for key, score in found if score == 1.0} == {"tags", "own"}
            assert found[2:4] in (
                [("ab", 0.7071), ("bc", 0.7071)],
                [("bc", 0.7071), ("ab", 0.7071)],
            )
            assert found[4] == ("a", 0.0)
            assert sorted(found[5:]) == [("nothing", None), ("unindexed", None)]


def test_filters_and_pages_apply_to_the_ranking() -> None:
    with both() as stores:
        for store in stores:
            fill(store)
            whole = ranking(store, query="a", limit=20)
            assert [ranking(store, query="a", limit=1, offset=n)[0] for n in range(7)] == whole
            wanted = {"n": {"$lt": 3}}
            assert ranking(store, query="a", filter=wanted) == [("a", 1.0), ("ab", 0.7071)]
            assert ranking(store, query="a", filter=wanted, limit=1, offset=1) == [("ab", 0.7071)]


def test_an_item_put_again_is_found_by_its_new_text_only() -> None:
    with both() as stores:
        for store in stores:
            store.put(("d",), "k", {"text": "a"})
            store.put(("d",), "k", {"text": "b"})
            assert ranking(store, query="b") == [("k", 1.0)]
            assert ranking(store, query="a") == [("k", 0.0)]
            store.put(("d",), "k", {"text": "b"}, index=False)
            assert ranking(store, query="b") == [("k", None)]


def test_fields_may_be_one_path_and_have_another_name() -> None:
    for fields in ({"fields": "text"}, {"text_fields": "text"}, {"text_fields": ["text"]}):
        with both({"dims": 3, "embed": embed, **fields}) as stores:
            for store in stores:
                store.put(("d",), "k", {"text": "a", "more": "bbb"})
                assert ranking(store, query="a") == [("k", 1.0)]


@pytest.mark.parametrize("by_numpy", [True, False])
def test_what_is_no_number_is_similar_to_nothing_in_every_engine(
    by_numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = {"nan": [nan, 1.0, 0.0], "inf": [inf, 0.0, 0.0], "zero": [0.0, 0.0, 0.0]}

    def embed_oddly(texts: Any) -> list[list[float]]:
        return [odd.get(text) or embed([text])[0] for text in texts]

    if not by_numpy:
        monkeypatch.setattr(vectors, "_numpy", lambda: None)
    with both({**INDEX, "embed": embed_oddly}) as stores:
        for store in stores:
            for text in ("a", *odd):
                store.put(("d",), text, {"text": text})
            found = ranking(store, query="a")
            assert (found[0], sorted(found[1:])) == (
                ("a", 1.0),
                [(text, 0.0) for text in sorted(odd)],
            )
            assert {score for query in odd for _, score in ranking(store, query=query)} == {0.0}


async def aembed(texts: Any) -> list[list[float]]:
    await asyncio.sleep(0)
    return embed(texts)


class AsyncCallable:
    async def __call__(self, texts: Any) -> list[list[float]]:
        return await aembed(texts)


@pytest.mark.parametrize(
    "way",
    [aembed, partial(aembed), AsyncCallable(), AsyncCallable().__call__],
    ids=["function", "partial", "object", "method"],
)
async def test_async_functions_embed_async_calls(way: Any) -> None:
    with both({**INDEX, "embed": way}) as stores:
        for store in stores:
            await store.aput(("d",), "k", {"text": "a"})
            await store.aput(("d",), "j", {"text": "b"})
            found = await store.asearch(("d",), query="a")
            assert [(i.key, i.score) for i in found] == [("k", 1.0), ("j", 0.0)]
            with pytest.raises(InvalidStoreOpError, match="async"):
                store.search(("d",), query="a")


def test_nothing_is_stored_when_embedding_fails() -> None:
    def failing(texts: Any) -> list[list[float]]:
        raise KeyError("model")

    with both({**INDEX, "embed": failing}) as stores:
        for store in stores:
            with pytest.raises(KeyError):
                store.put(("d",), "k", {"text": "a"})
            assert store.get(("d",), "k") is None


def test_vectors_of_a_wrong_length_or_number_are_refused() -> None:
    with both({**INDEX, "dims": 4}) as stores:
        for store in stores:
            with pytest.raises(InvalidStoreOpError, match="dims=4"):
                store.put(("d",), "k", {"text": "a"})
    with both({**INDEX, "embed": lambda texts: []}) as stores:
        for store in stores:
            with pytest.raises(InvalidStoreOpError, match="0 vectors for 1 texts"):
                store.put(("d",), "k", {"text": "a"})


def test_vectors_of_another_model_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "items.db"
    with SqliteStore(path, index=INDEX) as store:
        store.put(("d",), "k", {"text": "a"})
    other: Any = {"dims": 2, "embed": lambda texts: [[1.0, 0.0] for _ in texts]}
    with SqliteStore(path, index=other) as store, pytest.raises(InvalidStoreOpError, match="model"):
        store.search(("d",), query="a")


@given(st.lists(st.one_of(st.floats(), st.integers(-9, 9), st.sampled_from([1e39, -1e300]))))
def test_a_list_of_any_numbers_is_packed_as_an_array_packs_it(numbers: list[float]) -> None:
    packed = vectors.pack(numbers)
    assert packed == vectors.pack(tuple(numbers)) == array("f", numbers).tobytes()
    with pytest.raises(TypeError):
        vectors.pack([*numbers, "1"])  # pyright: ignore[reportArgumentType]


@given(
    st.lists(st.lists(st.floats(-9, 9, width=32), min_size=3, max_size=3), min_size=1, max_size=6),
    st.lists(st.floats(-9, 9, width=32), min_size=3, max_size=3),
)
def test_numpy_and_plain_python_give_the_same_scores(
    rows: list[list[float]], query: list[float]
) -> None:
    owned = [(n // 2, vectors.pack(row)) for n, row in enumerate(rows)]
    fast = vectors.best_scores(vectors.pack(query), owned)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_numpy", lambda: None)
        slow = vectors.best_scores(vectors.pack(query), owned)
    assert fast.keys() == slow.keys()
    assert all(abs(fast[key] - slow[key]) < 1e-6 for key in fast)


PROGRAM = """
import json, sqlite3, sys
sys.path[:0] = sys.argv[1:]
from plait.store.sqlite import SqliteStore
from plait.store.sqlite.extension import has_extension
from plait.store.sqlite.rows import SQL

def embed(texts):
    return [
        [float("nan")] * 3 if text == "nan" else [float(text.count(letter)) for letter in "abc"]
        for text in texts
    ]

conn = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
loaded = has_extension(conn, SQL.extension_version)
found = []
with SqliteStore(conn, index={"dims": 3, "embed": embed, "fields": ["text", "tags[*]"]}) as store:
    for key, value in json.load(sys.stdin):
        store.put(("d",), key, value)
    for query in ("a", "b", "bc", "nothing"):
        for options in ({}, {"limit": 2, "offset": 1}, {"filter": {"n": {"$gt": 1}}}):
            page = store.search(("d",), query=query, **options)
            found.append([[i.key, i.score and round(i.score, 4)] for i in page])
print(json.dumps([loaded, found]))
"""


def run(python: str) -> tuple[bool, Any]:
    """Whether an interpreter has sqlite-vec, and what the program finds there."""
    items = [
        ["a", {"text": "aaa", "n": 1}],
        ["ab", {"text": "ab", "n": 2}],
        ["abc", {"text": "aabc", "tags": ["b"], "n": 3}],
        ["zero", {"text": "zzz", "n": 4}],
        ["none", {"other": "a", "n": 5}],
        ["nan", {"text": "nan", "n": 6}],
    ]
    packages = [
        str(Path(plait.__file__).parents[1]),
        *(p for p in sys.path if "site-packages" in p),
    ]
    done = subprocess.run(
        [python, "-c", PROGRAM, *packages],
        input=json.dumps(items),
        capture_output=True,
        text=True,
        timeout=100,
        env={"PATH": os.environ["PATH"]},
    )
    return tuple(json.loads(done.stdout)) if done.returncode == 0 else (False, done.stderr)  # type: ignore[return-value]


def test_sqlite_vec_finds_what_numpy_finds() -> None:
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    pythons = [sys.executable, shutil.which(minor, path="/usr/bin:/usr/local/bin")]
    results = [run(python) for python in pythons if python]
    with_extension = [found for loaded, found in results if loaded]
    without = [found for loaded, found in results if not loaded]
    if not with_extension or not without:
        pytest.skip("needs one Python that loads extensions of SQLite, and one that does not")
    assert with_extension[0] == without[0]


class Own(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed(texts)

    def embed_query(self, text: str) -> list[float]:
        return embed([text])[0]


def test_embeddings_of_any_kind_are_adopted() -> None:
    class Duck:
        embed_documents = Own.embed_documents
        embed_query = Own.embed_query

    class Callable:
        def __call__(self, texts: list[str]) -> list[list[float]]:
            return embed(texts)

    for way in (Own(), Duck(), Callable(), embed):
        embeddings = ensure_embeddings(way)  # type: ignore[arg-type]
        assert embeddings.embed_query("ab") == [1.0, 1.0, 0.0]
        assert asyncio.run(embeddings.aembed_documents(["a"])) == [[1.0, 0.0, 0.0]]
    for wrong in (None, 5, "provider:model"):
        with pytest.raises(InvalidStoreOpError):
            ensure_embeddings(wrong)  # type: ignore[arg-type]


def test_values_with_keys_that_json_has_not_are_embedded_as_all_others() -> None:
    asked: list[str] = []

    def noting(texts: Any) -> list[list[float]]:
        asked.extend(texts)
        return embed(texts)

    value: Any = {
        "n": {1: "a", "1": "b", None: [{10: "c", 2: "d"}], (1, 2): {True: 1, 1.5: 2}, "é": ({},)}
    }
    text = (
        '{"(1, 2)": {"true": 1, "1.5": 2}, "1": "a", "1": "b", "null": [{"2": "d", "10": "c"}], '
        '"é": [{}]}'
    )
    for fields in (["$"], ["n"]):
        with both({"embed": noting, "fields": fields}) as stores:
            for store in stores:
                asked.clear()
                store.put(("d",), "k", value)
                assert asked == [text if fields == ["n"] else f'{{"n": {text}}}']
                found = store.search(("d",), query="a")
                assert [(item.value, item.score is None) for item in found] == [(value, False)]


def test_values_whose_text_has_no_end_are_refused() -> None:
    endless: dict[Any, Any] = {}
    endless["in"] = endless
    odd: dict[Any, Any] = {(1,): 1, "a": 1}
    odd["in"] = odd
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"in": deep}
    with both({"embed": embed}) as stores:
        for store, value in product(stores, (endless, odd, deep)):
            with pytest.raises(InvalidStoreOpError, match="contains itself, or"):
                store.put(("d",), "k", value)
            assert store.get(("d",), "k") is None
