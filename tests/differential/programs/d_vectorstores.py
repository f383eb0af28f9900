"""Vector stores: the one in memory, those of users, and both as retrievers."""

import json

import numpy
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings, FakeEmbeddings
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever
from langchain_core.vectorstores.utils import maximal_marginal_relevance

VECTORS = {
    "a": [1.0, 0.0, 0.0],
    "b": [0.9, 0.1, 0.02],
    "c": [0.1, 1.0, 0.3],
    "d": [0.0, 0.05, 1.0],
    "e": [-1.0, 0.2, 0.1],
    "q": [1.0, 0.2, 0.05],
    "zero": [0.0, 0.0, 0.0],
}


class Known(Embeddings):
    def embed_documents(self, texts):
        return [VECTORS[text] for text in texts]

    def embed_query(self, text):
        return VECTORS[text]


class AsyncKnown(Known):
    def __init__(self):
        self.asked = []

    async def aembed_documents(self, texts):
        self.asked.append("documents")
        return self.embed_documents(texts)

    async def aembed_query(self, text):
        self.asked.append("query")
        return self.embed_query(text)


class Listed(VectorStore):
    """A user's store with the least that a store must have."""

    def __init__(self):
        self.kept = []

    def add_texts(self, texts, metadatas=None, *, ids=None, **kwargs):
        texts = list(texts)
        added = list(zip(texts, metadatas or [{} for _ in texts], ids or [None] * len(texts)))
        self.kept += added
        return [f"id {text}" for text in texts]

    def similarity_search(self, query, k=4, **kwargs):
        found = [Document(text, metadata=about or {}, id=id) for text, about, id in self.kept]
        return found[:k]

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        made = cls()
        made.add_texts(texts, metadatas, **kwargs)
        return made


class Scored(Listed):
    def similarity_search_with_score(self, query, k=4, **kwargs):
        return [(Document("a"), 0.3), (Document("b"), 0.9)]

    def _select_relevance_score_fn(self):
        return self._cosine_relevance_score_fn


class OfDocuments(VectorStore):
    """A user's store that defines `add_documents` instead."""

    def add_documents(self, documents, **kwargs):
        self.got = shown(documents), kwargs
        return ["x"]

    def similarity_search(self, query, k=4, **kwargs):
        return []

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        return cls()


def filled(embedding=None):
    store = InMemoryVectorStore(embedding or Known())
    about = [{"n": n} for n in range(5)]
    store.add_texts(["a", "b", "c", "d", "e"], about, ids=["1", "2", "3", "4", "5"])
    return store


def shown(found):
    if found and isinstance(found[0], tuple):
        return [(one.page_content, one.metadata, one.id, round(score, 5)) for one, score in found]
    return [(one.page_content, one.metadata, one.id) for one in found]


def case_adding(env):
    store = InMemoryVectorStore(Known())
    return (
        store.add_texts(["a", "b"], [{"n": 1}, {"n": 2}], ids=["1", "2"]),
        store.add_texts(["c"]),
        store.add_documents([Document("c", id="3", metadata={"n": 3}), Document("d")]),
        store.add_documents([Document("c", id="9")], ids=["7"]),
        store.add_texts(["b"], ids=["1"]),
        store.store,
        shown(store.get_by_ids(["1", "7", "zz"])),
    )


def case_lengths_that_differ(env):
    store = InMemoryVectorStore(Known())
    return (
        env.error(lambda: store.add_documents([Document("c")], ids=["7", "8"])),
        env.error(lambda: store.add_texts(["c"], ids=["7", "8"])),
        env.error(lambda: store.add_texts(["c"], [{}, {}])),
        env.error(lambda: filled().similarity_search_by_vector([1.0, 0.0])),
    )


def case_searching(env):
    store = filled()
    return (
        shown(store.similarity_search("q")),
        shown(store.similarity_search("q", k=2)),
        shown(store.similarity_search("q", k=0)),
        shown(store.similarity_search_with_score("q", k=10)),
        shown(store.similarity_search_by_vector([0.0, 1.0, 0.0], k=1)),
        shown(store.similarity_search_with_score_by_vector([0.0, 1.0, 0.0], k=2)),
        shown(InMemoryVectorStore(Known()).similarity_search("q")),
        shown(InMemoryVectorStore(Known()).max_marginal_relevance_search("q")),
        env.error(lambda: store.search("q", "zz")),
        shown(store.search("q", "mmr", k=2)),
        shown(store.search("q", "similarity", k=2)),
    )


def case_filters(env):
    store = filled()

    def odd(document):
        return document.metadata["n"] % 2 == 1

    return (
        shown(store.similarity_search("q", filter=odd)),
        shown(store.similarity_search_with_score("q", k=1, filter=odd)),
        shown(store.similarity_search_by_vector([1.0, 0.0, 0.0], filter=odd)),
        shown(store.max_marginal_relevance_search("q", k=1, filter=odd)),
        env.error(lambda: store.similarity_search("q", filter={"n": 1})),
    )


def case_variety(env):
    store = filled()
    picked = [
        shown(store.max_marginal_relevance_search("q", k=3, lambda_mult=wish))
        for wish in (0.0, 0.1, 0.5, 0.9, 1.0)
    ]
    return (
        picked,
        shown(store.max_marginal_relevance_search_by_vector([1.0, 0.0, 0.0], k=2, fetch_k=2)),
        shown(store.max_marginal_relevance_search("q", k=10, fetch_k=3)),
    )


def case_deleting(env):
    store = filled()
    return store.delete(["1", "nope"]), store.delete(), list(store.store), store.delete([])


def case_making(env):
    made = InMemoryVectorStore.from_texts(["a", "b"], Known(), [{"x": 1}, {"x": 2}], ids=["1", "2"])
    of_documents = InMemoryVectorStore.from_documents([Document("a", id="1")], Known())
    return made.store, shown(of_documents.get_by_ids(["1"])), type(made.embeddings)


async def case_async_calls(env):
    embedding = AsyncKnown()
    store = InMemoryVectorStore(embedding)
    added = await store.aadd_texts(["a", "b", "c"], ids=["1", "2", "3"])
    more = await store.aadd_documents([Document("d", id="4")])
    found = (
        shown(await store.asimilarity_search("q", k=2)),
        shown(await store.asimilarity_search_with_score("q", k=2)),
        shown(await store.asimilarity_search_by_vector([1.0, 0.0, 0.0], k=1)),
        shown(await store.amax_marginal_relevance_search("q", k=2)),
        shown(await store.aget_by_ids(["1"])),
        shown(await store.asearch("q", "mmr", k=2)),
    )
    deleted = await store.adelete(["1"])
    made = await InMemoryVectorStore.afrom_texts(["a"], Known(), ids=["1"])
    again = await InMemoryVectorStore.afrom_documents([Document("a", id="1")], Known())
    return added, more, found, deleted, embedding.asked, made.store, again.store


def case_files(env):
    path = env.tmp_path / "new" / "store.json"
    filled().dump(str(path))
    again = InMemoryVectorStore.load(str(path), Known())
    return json.loads(path.read_text()), again.store, shown(again.similarity_search("q", k=2))


def case_retrievers(env):
    store = filled()
    plain = store.as_retriever()
    return (
        (plain.search_type, plain.search_kwargs, plain.tags, plain.name, plain.get_name()),
        plain.allowed_search_types,
        shown(plain.invoke("q")),
        shown(store.as_retriever(search_kwargs={"k": 1}).invoke("q")),
        shown(store.as_retriever(search_kwargs={"k": 1}).invoke("q", k=2)),
        shown(
            store.as_retriever(
                search_type="mmr", search_kwargs={"k": 2, "fetch_k": 3, "lambda_mult": 0.5}
            ).invoke("q")
        ),
        store.as_retriever(tags=["x"]).tags,
        plain.add_documents([Document("a", id="r1")]),
        isinstance(plain, VectorStoreRetriever),
        (RunnablePassthrough() | plain | len).invoke("q"),
    )


async def case_async_retrievers(env):
    embedding = AsyncKnown()
    retriever = filled(embedding).as_retriever(search_kwargs={"k": 1})
    found = shown(await retriever.ainvoke("q"))
    return found, embedding.asked, await retriever.aadd_documents([Document("a", id="r1")])


def refused(make):
    try:
        return make()
    except ValueError:
        return "refused"


def case_wrong_retrievers(env):
    store = filled()
    kind = "similarity_score_threshold"
    return (
        refused(lambda: store.as_retriever(search_type=kind)),
        refused(
            lambda: store.as_retriever(search_type=kind, search_kwargs={"score_threshold": "x"})
        ),
        refused(lambda: store.as_retriever(search_type="zz")),
    )


def case_events(env):
    told = []

    class Told(BaseCallbackHandler):
        def on_retriever_start(self, serialized, query, **kw):
            about = {k: v for k, v in kw["metadata"].items() if k.startswith("ls_")}
            told.append((query, kw["tags"], about, kw["name"]))

        def on_retriever_end(self, documents, **kw):
            told.append(shown(documents))

    filled().as_retriever(search_kwargs={"k": 1}).invoke("q", {"callbacks": [Told()]})
    Listed.from_texts(["a"], None).as_retriever().invoke("q", {"callbacks": [Told()]})
    return told


def case_stores_of_users(env):
    store = Listed()
    return (
        store.add_documents([Document("a", id="1", metadata={"k": 1}), Document("b")]),
        store.add_documents([Document("c")]),
        store.kept,
        shown(store.as_retriever().invoke("x")),
        (store.as_retriever().tags, store.embeddings),
        Listed.from_documents([Document("a", id="1")], None).kept,
        Listed.from_documents([Document("a")], None).kept,
    )


async def case_async_calls_of_stores_of_users(env):
    store = Listed()
    return (
        await store.aadd_texts(["a"], [{"n": 1}], ids=["1"]),
        await store.aadd_documents([Document("b", id="2")]),
        store.kept,
        shown(await store.asimilarity_search("x", k=1)),
        (await Listed.afrom_texts(["a"], None, ids=["1"])).kept,
        (await Listed.afrom_documents([Document("a", id="1")], None)).kept,
        shown(await Scored().asimilarity_search_with_relevance_scores("q", score_threshold=0.5)),
        await env.aerror(store.adelete(["1"])),
        shown(await store.as_retriever().ainvoke("x")),
    )


def case_what_stores_of_users_lack(env):
    store = Listed()
    calls = {
        "delete": ["1"],
        "get_by_ids": ["1"],
        "similarity_search_with_score": "x",
        "similarity_search_by_vector": [1.0],
        "max_marginal_relevance_search": "x",
        "max_marginal_relevance_search_by_vector": [1.0],
        "similarity_search_with_relevance_scores": "x",
    }
    errors = [env.error(lambda n=n, a=a: getattr(store, n)(a)) for n, a in calls.items()]
    return errors, env.error(lambda: VectorStore())


def case_stores_that_add_documents(env):
    store = OfDocuments()
    first = store.add_texts(["a"], [{"m": 1}], ids=["1"]), store.got
    return first, (store.add_texts(["b"]), store.got)


def case_relevance(env):
    return (
        shown(Scored().similarity_search_with_relevance_scores("q")),
        shown(Scored().similarity_search_with_relevance_scores("q", score_threshold=0.5)),
        shown(
            Scored()
            .as_retriever(
                search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.5}
            )
            .invoke("q")
        ),
        [
            round(score, 6)
            for score in (
                VectorStore._euclidean_relevance_score_fn(0.5),
                VectorStore._cosine_relevance_score_fn(0.3),
                VectorStore._max_inner_product_relevance_score_fn(0.3),
                VectorStore._max_inner_product_relevance_score_fn(-0.3),
            )
        ],
    )


def case_fake_embeddings(env):
    fake = DeterministicFakeEmbedding(size=3)
    random = FakeEmbeddings(size=4)
    one, two = fake.embed_documents(["a", "b"])
    return (
        (one == fake.embed_query("a"), one == two, len(one)),
        [len(vector) for vector in random.embed_documents(["a", "b"])],
        random.embed_query("a") == random.embed_query("a"),
        isinstance(fake, Embeddings),
    )


def case_marginal_relevance(env):
    query = numpy.array(VECTORS["q"])
    vectors = [VECTORS[name] for name in "abcde"]
    return [maximal_marginal_relevance(query, vectors, lambda_mult=w, k=3) for w in (0.2, 0.5, 0.8)]


def case_thresholds_in_memory(env):
    retriever = filled().as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.5}
    )
    return env.error(lambda: shown(retriever.invoke("q")))


def case_similarity_to_nothing(env):
    return env.error(lambda: shown(filled().similarity_search_with_score("zero")))


def case_unknown_keywords(env):
    return env.error(lambda: shown(filled().similarity_search("q", filtre=lambda one: False)))


def case_negative_numbers_of_documents(env):
    return env.error(lambda: shown(filled().similarity_search("q", k=-1)))


def case_metadata_of_what_was_found(env):
    store = filled()
    store.similarity_search("q", k=1)[0].metadata["score"] = 1
    return shown(store.similarity_search("q", k=1))


def case_texts_of_an_iterator(env):
    store = InMemoryVectorStore(Known())
    store.add_texts(iter(["a", "b"]))
    return len(store.store)


def case_options_of_retrievers(env):
    store = filled()
    kind = "similarity_score_threshold"
    return (
        env.error(lambda: store.as_retriever(search_type="zz")),
        env.error(lambda: store.as_retriever(search_type=kind)),
        env.error(lambda: store.as_retriever(search_kwargs=3)),
    )


def case_vectors_that_are_fake(env):
    return DeterministicFakeEmbedding(size=4).embed_query("a")


def case_searches_without_a_limit(env):
    store = InMemoryVectorStore(Known())
    store.add_texts(["a", "b", "c", "d"])
    found = store.similarity_search("q", k=None)
    also = store.as_retriever(search_kwargs={"k": None}).invoke("q")
    near = store.similarity_search("q", k=None, filter=lambda doc: doc.page_content in "ab")
    return [[doc.page_content for doc in docs] for docs in (found, also, near)]
