"""Documents, retrievers, and retrievers as tools."""

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import create_retriever_tool


class Told(BaseCallbackHandler):
    def __init__(self):
        self.events = []

    def hear(self, event, said, kw):
        known = {k: kw.get(k) for k in ("tags", "metadata", "name")}
        self.events.append((event, said, known, kw.get("parent_run_id") is not None))

    def on_retriever_start(self, serialized, query, **kw):
        self.hear("start", query, kw)

    def on_retriever_end(self, documents, **kw):
        self.hear("end", [one.page_content for one in documents], kw)

    def on_retriever_error(self, error, **kw):
        self.hear("error", type(error).__name__, kw)

    def on_tool_start(self, serialized, input_str, **kw):
        self.hear("tool start", (serialized, input_str), kw)

    def on_tool_end(self, output, **kw):
        self.hear("tool end", str(getattr(output, "content", output)), kw)


class Numbered(BaseRetriever):
    k: int = 2

    def _get_relevant_documents(self, query, *, run_manager):
        if query == "bad":
            raise ValueError("bad")
        return [Document(f"{query}{n}", metadata={"n": n}) for n in range(self.k)]


class Bare(BaseRetriever):
    def _get_relevant_documents(self, query, extra="e"):
        return [Document(query + extra)]


class Both(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(query)]

    async def _aget_relevant_documents(self, query, *, run_manager):
        return [Document("async " + query)]


def texts(documents):
    return [(one.page_content, one.metadata, one.id) for one in documents]


def case_documents(env):
    full = Document(page_content="x", metadata={"a": 1}, id=5)
    return (
        (full.page_content, full.metadata, full.id, full.type),
        repr(full),
        str(full),
        str(Document("y")),
        full.model_dump(),
        Document("y") == Document("y"),
        Document("y") == Document("y", id="1"),
        full.model_copy(update={"page_content": "z"}).page_content,
        env.error(lambda: Document()),
        env.error(lambda: hash(full)),
    )


def case_calls(env):
    numbered = Numbered(k=1)
    return (
        texts(numbered.invoke("q")),
        [texts(found) for found in numbered.batch(["a", "b"])],
        texts(Bare().invoke("q", extra="!")),
        (numbered | len).invoke("q") if callable(len) else None,
        numbered.get_name(),
        env.error(lambda: numbered.invoke("bad")),
    )


async def case_async_calls(env):
    return (
        texts(await Numbered().ainvoke("q")),
        texts(await Bare().ainvoke("q")),
        texts(await Both().ainvoke("q")),
        texts(Both().invoke("q")),
        await env.aerror(Numbered().ainvoke("bad")),
    )


def case_events(env):
    told = Told()
    config = {"callbacks": [told], "tags": ["t"], "metadata": {"m": 1}, "run_name": "named"}
    Numbered(k=1, tags=["own"], metadata={"own": 1}).invoke("q", config)
    env.error(lambda: Numbered().invoke("bad", {"callbacks": [told]}))
    Numbered(k=1, name="mine").invoke("q", {"callbacks": [told]})
    return told.events


async def case_events_of_async_calls(env):
    told = Told()
    await Both().ainvoke("q", {"callbacks": [told]})
    await Numbered().ainvoke("q", {"callbacks": [told]})
    await env.aerror(Numbered().ainvoke("bad", {"callbacks": [told]}))
    return told.events


def case_without_code(env):
    return env.error(lambda: BaseRetriever())


def case_retriever_tools(env):
    told = Told()
    plain = create_retriever_tool(Numbered(), "search", "Find things.")
    prompt = PromptTemplate.from_template("<{page_content} {n}>")
    both = create_retriever_tool(
        Numbered(),
        "search",
        "Find things.",
        document_prompt=prompt,
        document_separator="--",
        response_format="content_and_artifact",
    )
    call = {"type": "tool_call", "id": "1", "name": "search", "args": {"query": "q"}}
    answer = both.invoke(call)
    return (
        plain.args,
        plain.description,
        plain.invoke("q", {"callbacks": [told]}),
        plain.invoke({"query": "q"}),
        answer.content,
        texts(answer.artifact),
        told.events,
    )


async def case_async_retriever_tools(env):
    plain = create_retriever_tool(Both(), "search", "Find things.")
    return await plain.ainvoke("q"), plain.invoke("q")


def case_prompts_that_need_more(env):
    prompt = PromptTemplate.from_template("{page_content} {zz}")
    made = create_retriever_tool(Numbered(), "search", "Find.", document_prompt=prompt)
    return env.error(lambda: made.invoke("q"))


class Counting(Numbered):
    """Leaves the finding to its base class, on a thread."""

    found: int = 0

    async def _aget_relevant_documents(self, query, *, run_manager):
        documents = await super()._aget_relevant_documents(query, run_manager=run_manager)
        self.found += len(documents)
        return documents


async def case_an_async_twin_that_calls_its_base(env):
    counting, told = Counting(), Told()
    quiet = await counting.ainvoke("q")
    heard = await counting.ainvoke("q", {"callbacks": [told]})
    failed = await env.aerror(counting.ainvoke("bad"))
    return texts(quiet), texts(heard), failed, counting.found, told.events
