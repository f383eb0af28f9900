"""The vector store in memory: files as data, the peer's files, scores without numpy, mistakes."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from langchain_core.vectorstores import InMemoryVectorStore as TheirStore

from plait.documents import Document
from plait.embeddings import DeterministicFakeEmbedding
from plait.errors import InvalidStoreOpError
from plait.store.base import vectors
from plait.vectorstores import InMemoryVectorStore, VectorStore
from plait.vectorstores.utils import maximal_marginal_relevance

FAKE = DeterministicFakeEmbedding(size=16)
TEXTS = [f"text {n}" for n in range(50)]


def filled() -> InMemoryVectorStore:
    ids = [str(n) for n in range(50)]
    about = [{"n": n, "odd": bool(n % 2)} for n in range(50)]
    return InMemoryVectorStore.from_texts(TEXTS, FAKE, about, ids=ids)


def test_files_go_both_ways_between_the_peer_and_plait(tmp_path: Path) -> None:
    ours, theirs = filled(), TheirStore.load
    ours.dump(tmp_path / "ours.json")
    there: Any = theirs(str(tmp_path / "ours.json"), FAKE)  # pyright: ignore
    assert there.store == ours.store
    there.dump(str(tmp_path / "theirs.json"))
    back = InMemoryVectorStore.load(tmp_path / "theirs.json", FAKE)
    assert back.store == ours.store
    assert back.similarity_search("text 7", k=1) == ours.get_by_ids(["7"])


def test_a_file_is_read_as_data(tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    constructor = {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"a": "true"}}
    record = {"id": "1", "vector": [1.0], "text": "x", "metadata": {"made": constructor}}
    path.write_text(json.dumps({"1": record}))
    (found,) = InMemoryVectorStore.load(path, FAKE).get_by_ids(["1"])
    assert found.metadata == {"made": constructor}


@pytest.mark.parametrize(
    "content",
    [
        *("", "[", "[1]", '{"1": 5}', '{"1": {"text": "x"}}', "\ud800", "[" * 100_000),
        '{"1": {"text": 1, "vector": [1.0], "metadata": {}}}',
        '{"1": {"text": "x", "vector": ["a"], "metadata": {}}}',
        '{"1": {"text": "x", "vector": [1.0], "metadata": []}}',
    ],
)
def test_a_file_that_is_no_dump_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(InvalidStoreOpError, match=r"wrong\.json is no dump"):
        InMemoryVectorStore.load(path, FAKE)


def test_what_json_cannot_hold_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    store, path = filled(), tmp_path / "store.json"
    store.dump(path)
    before = path.read_bytes()
    store.add_documents([Document("x", id="bad", metadata={"when": object()})])
    with pytest.raises(InvalidStoreOpError, match="metadata of document 'bad'"):
        store.dump(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("with_numpy", [True, False])
def test_results_are_those_of_the_peer_with_and_without_numpy(
    monkeypatch: pytest.MonkeyPatch, with_numpy: bool
) -> None:
    if not with_numpy:
        monkeypatch.setattr(vectors, "_numpy", lambda: None)
    ours = filled()
    theirs: Any = TheirStore(FAKE)  # pyright: ignore
    theirs.add_texts(TEXTS, [one["metadata"] for one in ours.store.values()], ids=list(ours.store))
    for query in TEXTS[:5]:
        mine = ours.similarity_search_with_score(query, k=10)
        peers = theirs.similarity_search_with_score(query, k=10)
        assert [one.id for one, _ in mine] == [one.id for one, _ in peers]
        assert [score for _, score in mine] == pytest.approx([score for _, score in peers])
        for wish in (0.0, 0.3, 0.7, 1.0):
            picked = ours.max_marginal_relevance_search(query, k=6, lambda_mult=wish)
            expected = theirs.max_marginal_relevance_search(query, k=6, lambda_mult=wish)
            assert [one.id for one in picked] == [one.id for one in expected]


def test_marginal_relevance_follows_its_definition() -> None:
    chance = random.Random(7)
    query = [chance.gauss(0, 1) for _ in range(8)]
    several = [[chance.gauss(0, 1) for _ in range(8)] for _ in range(12)]

    def near(one: list[float], other: list[float]) -> float:
        dot = sum(a * b for a, b in zip(one, other, strict=True))
        return dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5

    picked = maximal_marginal_relevance(query, several, lambda_mult=0.4, k=5)
    for place, pick in enumerate(picked):
        before = picked[:place]

        def worth(n: int, before: list[int] = before) -> float:
            seen = max((near(several[n], several[one]) for one in before), default=0.0)
            return 0.4 * near(query, several[n]) - 0.6 * seen

        assert worth(pick) == pytest.approx(max(worth(n) for n in range(12) if n not in before))


def test_what_is_deleted_while_a_search_goes_on_does_not_stop_it() -> None:
    def clearing(store: InMemoryVectorStore) -> Any:
        def may_be_found(document: Document) -> bool:
            store.delete([str(n) for n in range(50) if n != 7])
            return True

        return may_be_found

    store = filled()
    assert "7" in [one.id for one in store.similarity_search("7", k=50, filter=clearing(store))]
    assert [one.id for one in store.similarity_search("7", k=50)] == ["7"]
    store = filled()
    found = store.max_marginal_relevance_search("7", k=50, fetch_k=50, filter=clearing(store))
    assert "7" in [one.id for one in found]
    store = filled()
    for n in range(49):
        del store.store[str(n)]
    assert [one.id for one in store.similarity_search("7", k=50)] == ["49"]


def test_thresholds_are_similarities() -> None:
    kind = "similarity_score_threshold"
    retriever = filled().as_retriever(search_type=kind, search_kwargs={"score_threshold": 0.99})
    assert [one.page_content for one in retriever.invoke("text 3")] == ["text 3"]


def test_mistakes_are_told() -> None:
    store = filled()
    with pytest.raises(InvalidStoreOpError, match="no argument filtre"):
        store.similarity_search("x", filtre=None)
    with pytest.raises(InvalidStoreOpError, match=r"filter=\{'n': 1\}: a function"):
        store.similarity_search("x", filter={"n": 1})
    with pytest.raises(InvalidStoreOpError, match="gave 1 vectors for 2 texts"):
        InMemoryVectorStore(lambda texts: [[1.0]]).add_texts(["a", "b"])
    with pytest.raises(InvalidStoreOpError, match=r"'zz'\. Known: 'similarity'"):
        store.as_retriever(search_type="zz")
    with pytest.raises(InvalidStoreOpError, match=r"needs search_kwargs=\{'score_threshold'"):
        store.as_retriever(search_type="similarity_score_threshold")


def test_scores_outside_their_range_are_warned_of() -> None:
    class Odd(InMemoryVectorStore):
        def _select_relevance_score_fn(self) -> Any:
            return lambda score: score + 5

    odd = Odd.from_texts(["a"], FAKE)
    with pytest.warns(UserWarning, match="from 0 to 1"):
        odd.similarity_search_with_relevance_scores("a")


def test_a_store_says_what_it_does_not_define() -> None:
    class Least(VectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            return []

        @classmethod
        def from_texts(cls, texts: Any, embedding: Any, *_: Any, **kwargs: Any) -> "Least":
            return cls()

    with pytest.raises(NotImplementedError, match=r"Least does not define add_texts\(\)"):
        Least().add_texts(["a"])
    with pytest.raises(NotImplementedError, match=r"Least does not define add_documents\(\)"):
        Least().add_documents([Document("a")])
