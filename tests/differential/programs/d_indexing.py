"""Indexing: what is written, passed over and deleted, whatever the way to clean up."""

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import (
    InMemoryRecordManager,
    RecordManager,
    aindex,
    index,
)
from langchain_core.indexing.in_memory import InMemoryDocumentIndex
from langchain_core.vectorstores import InMemoryVectorStore

CLEANUPS = (None, "incremental", "full", "scoped_full")
HASH = {"key_encoder": "sha256"}
BY_SOURCE = {**HASH, "source_id_key": "source"}


def doc(text, source="1"):
    return Document(page_content=text, metadata={"source": source})


DOCS = [doc("a"), doc("b"), doc("a"), doc("c", "2")]


class Room:
    """A vector store with its records, and a way to index into it."""

    def __init__(self, store=None):
        self.store = store or InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
        self.records = InMemoryRecordManager("docs")
        self.records.create_schema()

    def index(self, docs, **kwargs):
        counted = index(docs, self.records, self.store, **kwargs)
        return counted, self.texts()

    async def aindex(self, docs, **kwargs):
        counted = await aindex(docs, self.records, self.store, **kwargs)
        return counted, self.texts()

    def texts(self):
        found = self.store.get_by_ids(list(self.store.store))
        return sorted(each.page_content for each in found)


class Loader(BaseLoader):
    def lazy_load(self):
        yield doc("q")
        yield doc("w")


def case_cleanups(env):
    told = []
    for cleanup in CLEANUPS:
        room = Room()
        for docs, more in (
            (DOCS, {}),
            (DOCS, {}),
            (DOCS[1:2], {}),
            ([doc("z", "2")], {"batch_size": 1}),
            ([], {}),
            (DOCS, {"force_update": True}),
            (DOCS, {"force_update": True, "batch_size": 1}),
            ([doc("new")], {"cleanup_batch_size": 1}),
        ):
            told.append((cleanup, room.index(docs, cleanup=cleanup, **BY_SOURCE, **more)))
    return told


def case_small_batches(env):
    told = []
    for cleanup in CLEANUPS:
        room = Room()
        for _ in range(2):
            told.append(room.index(DOCS, cleanup=cleanup, batch_size=1, **BY_SOURCE))
        told.append(room.index(DOCS[:3], cleanup=cleanup, batch_size=2, **BY_SOURCE))
    return told


def case_mistakes(env):
    def of(**kwargs):
        return env.error(lambda: Room().index([Document(page_content="a")], **kwargs))

    odd = Document(page_content="a", metadata={"x": {1, 2}})
    return [
        of(cleanup="incremental", **HASH),
        of(cleanup="scoped_full", **HASH),
        of(cleanup="incremental", **BY_SOURCE),
        of(cleanup="incremental", source_id_key=lambda each: None, **HASH),
        of(cleanup="oops", **HASH),
        of(key_encoder="x"),
        env.error(lambda: Room().index([odd], **HASH)),
        env.error(lambda: index([], InMemoryRecordManager("x"), object(), **HASH)),
    ]


def case_keys(env):
    told = []
    for encoder in ("sha256", "sha512", "blake2b", lambda each: f"key-{each.page_content}"):
        room = Room()
        facts = {"s": "é", "b": 1}
        twins = [Document(page_content="a", metadata=facts, id=own) for own in (None, "own")]
        room.index(twins, key_encoder=encoder)
        told.append((sorted(room.store.store), room.records.list_keys()))
    return told


def case_sources_by_a_function(env):
    def first(each):
        return each.page_content[0]

    room = Room()
    room.index([doc("a1"), doc("b1")], cleanup="incremental", source_id_key=first, **HASH)
    return room.index([doc("a2")], cleanup="incremental", source_id_key=first, **HASH)


def case_loaders_and_iterators(env):
    room = Room()
    return [room.index(Loader(), **HASH), room.index((each for each in DOCS), **HASH)]


def case_records(env):
    records = InMemoryRecordManager("docs")
    records.update(["x", "y"], group_ids=["g", None])
    later = records.get_time() + 5
    told = [
        records.exists(["x", "q"]),
        records.list_keys(group_ids=["g"]),
        records.list_keys(limit=1),
        records.list_keys(after=later),
        records.list_keys(before=later),
        env.error(lambda: records.update(["x"], group_ids=["a", "b"])),
        env.error(lambda: records.update(["x"], time_at_least=later + 100)),
    ]
    records.delete_keys(["x"])
    return [*told, records.list_keys(), isinstance(records, RecordManager)]


def case_a_document_index(env):
    documents = InMemoryDocumentIndex(top_k=1)
    records = InMemoryRecordManager("docs")
    told = [index(DOCS, records, documents, cleanup="full", **HASH) for _ in range(2)]
    documents.upsert([Document(page_content="tea tea", id="t")])
    told += [documents.invoke("tea"), documents.get(["t", "?"]), documents.delete(["t", "?"])]
    return [*told, index([], records, documents, cleanup="full", **HASH), len(documents.store)]


async def case_async(env):
    async def stream():
        yield DOCS[0]

    room = Room()
    return [
        await room.aindex(DOCS, cleanup="incremental", **BY_SOURCE),
        await room.aindex(stream(), cleanup="full", **BY_SOURCE),
        await room.aindex(Loader(), cleanup="full", **HASH),
        await room.records.aexists(["?"]),
        len(await room.records.alist_keys()),
    ]


def case_the_default_hash(env):
    room = Room()
    room.index([Document(page_content="a")])
    return len(room.records.list_keys()[0])
