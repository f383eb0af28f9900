"""Small bases that programs derive from: loaders of documents, plain stores, structured prompts."""

from langchain_core.document_loaders import BaseBlobParser, BaseLoader, Blob, BlobLoader
from langchain_core.documents import Document
from langchain_core.exceptions import LangChainException
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts.structured import StructuredPrompt
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.stores import (
    BaseStore,
    InMemoryByteStore,
    InMemoryStore,
    InvalidKeyException,
)


class Lazy(BaseLoader):
    def lazy_load(self):
        yield Document("one", metadata={"n": 1})
        yield Document("two")


class Whole(BaseLoader):
    def load(self):
        return [Document("all")]


class Nothing(BaseLoader):
    pass


class Lines(BaseBlobParser):
    def lazy_parse(self, blob):
        for line in blob.as_string().splitlines():
            yield Document(line)


class Texts(BlobLoader):
    def yield_blobs(self):
        yield Blob.from_data("a\nb")


class Halves:
    def split_documents(self, documents):
        return [Document(d.page_content[:2]) for d in documents]


async def case_loaders_of_documents(env):
    found = []
    for loader in (Lazy(), Whole()):
        found += [loader.load(), list(loader.lazy_load()), await loader.aload()]
        found.append([document async for document in loader.alazy_load()])
        found.append(loader.load_and_split(Halves()))
    return (
        found,
        env.error(lambda: Nothing().load()),
        env.error(lambda: list(Nothing().lazy_load())),
    )


def case_parsers_of_blobs(env):
    return [Lines().parse(blob) for blob in Texts().yield_blobs()], env.error(BaseBlobParser)


class Sync(BaseStore):
    def __init__(self):
        self.kept = {}

    def mget(self, keys):
        return [self.kept.get(key) for key in keys]

    def mset(self, key_value_pairs):
        self.kept.update(key_value_pairs)

    def mdelete(self, keys):
        for key in keys:
            del self.kept[key]

    def yield_keys(self, *, prefix=None):
        yield from (key for key in self.kept if not prefix or key.startswith(prefix))


async def case_plain_stores(env):
    found = []
    for store in (InMemoryStore(), InMemoryByteStore(), Sync()):
        store.mset([("a1", b"1"), ("a2", b"2"), ("b", b"3")])
        await store.amset([("b", b"4")])
        found += [store.mget(["a1", "none", "b"]), await store.amget(["a2"])]
        store.mdelete(["a1"])
        await store.amdelete(["b"])
        found += [list(store.yield_keys()), list(store.yield_keys(prefix="b"))]
        found.append([key async for key in store.ayield_keys(prefix="a")])
    return found, issubclass(InvalidKeyException, LangChainException), env.error(BaseStore)


class Model(FakeListChatModel):
    def with_structured_output(self, schema, **kwargs):
        return self | RunnableLambda(lambda message: (message.content, schema, kwargs))


def case_structured_prompts(env):
    model = Model(responses=["yes"])
    parts = [("human", "{x}")]
    prompt = StructuredPrompt.from_messages_and_schema(parts, {"title": "A"}, method="m")
    return [
        (prompt | model).invoke({"x": 1}),
        prompt.pipe(model, lambda found: [found]).invoke({"x": 1}),
        (prompt.schema_, prompt.structured_output_kwargs, prompt.input_variables),
        (StructuredPrompt(parts, {"a": 1}).partial(x=2) | model).invoke({}),
        prompt.invoke({"x": 3}).to_messages(),
        (prompt | model.bind(stop=["s"])).invoke({"x": 4}),
        env.error(lambda: prompt | RunnableLambda(str)),
        env.error(lambda: prompt | (RunnablePassthrough() | model)),
        env.error(lambda: StructuredPrompt(parts)),
        StructuredPrompt(parts, {"a": 1}, strict=True).structured_output_kwargs,
    ]
