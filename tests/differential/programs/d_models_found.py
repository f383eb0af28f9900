"""Models, prompts, callbacks and indexing: what LangChain's own tests showed. Thoughts in streams
of standard blocks, what is bound for tracers, handlers that are pydantic models, batches of stores.
"""

import asyncio
import contextvars

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    BaseCallbackHandler,
)
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import (
    AIMessagePromptTemplate,
    PromptTemplate,
    SystemMessagePromptTemplate,
)
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import BaseModel


class Thinks(BaseChatModel):
    asked: list

    @property
    def _llm_type(self):
        return "thinks"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append(sorted(kwargs))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("whole"))])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append(sorted(kwargs))
        for thought in ("so ", "then"):
            yield ChatGenerationChunk(
                message=AIMessageChunk("", additional_kwargs={"reasoning_content": thought})
            )
        for word in ("it ", "is"):
            yield ChatGenerationChunk(message=AIMessageChunk(word))


def case_thoughts_in_streams_of_standard_blocks(env):
    total = None
    for chunk in Thinks(asked=[], output_version="v1").stream("x"):
        total = chunk if total is None else total + chunk
    return total.content, total.content_blocks


def case_what_is_bound_for_tracers(env):
    asked: list = []
    model = Thinks(asked=asked)
    form = {"kwargs": {}, "schema": {"title": "A", "type": "object", "properties": {}}}
    bound = model.bind(ls_structured_output_format=form, tools=[1])
    bound.invoke("x")
    list(bound.stream("x"))
    asyncio.run(bound.ainvoke("x"))
    return asked


def case_a_version_that_is_bound(env):
    bound = Thinks(asked=[]).bind(version="v3")
    return bound.stream_events("x").output.text, bound.stream_events("x", version="v3").output.text


class Counts(BaseModel):
    errors: int = 0
    skips: bool = False


class CountingHandler(BaseCallbackHandler, Counts):
    @property
    def ignore_chain(self):
        return self.skips

    def on_chain_error(self, error, **kwargs):
        self.errors += 1


def case_handlers_that_are_pydantic_models(env):
    def fail(_):
        raise ValueError

    handlers = [CountingHandler(), CountingHandler(skips=True)]
    for handler in handlers:
        env.error(lambda its=handler: RunnableLambda(fail).invoke(1, {"callbacks": [its]}))
    return [handler.errors for handler in handlers]


async def case_what_async_handlers_set_in_their_context(env):
    seen: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="unset")

    class Sets(AsyncCallbackHandler):
        def __init__(self, run_inline):
            self.run_inline = run_inline

        async def on_llm_start(self, *args, **kwargs):
            seen.set("llm")

        async def on_chain_start(self, *args, **kwargs):
            seen.set("chain")

    found = []
    for handlers in ([Sets(False)], [Sets(False), Sets(False)], [Sets(True)]):
        seen.set("unset")
        manager = AsyncCallbackManager(handlers=handlers)
        await manager.on_llm_start({}, ["x"])
        found.append(seen.get())
        await manager.on_chain_start({}, {"x": 1})
        found.append(seen.get())
    return found


def case_names_that_are_given_to_message_templates(env):
    return [
        SystemMessagePromptTemplate.from_template(
            "{a} {b}", input_variables=["b"], partial_variables={"a": {}}
        ).format(b=1),
        SystemMessagePromptTemplate.from_template(["{a}", "{b}"], input_variables=["a"]).format(
            a=1, b=2
        ),
        AIMessagePromptTemplate.from_template("{a}", input_variables=["a"]).input_variables,
        PromptTemplate.from_template("{{a}}", template_format="mustache").get_input_jsonschema(),
    ]


def case_texts_of_answers_in_blocks(env):
    contents = (
        [{"text": "a"}],
        [{"text": "a"}, "b"],
        [{"type": "other", "text": "a"}, {"type": "text", "text": "b"}],
        [{"type": "reasoning", "reasoning": "a"}],
    )
    return [ChatGeneration(message=AIMessage(content=content)).text for content in contents]


class Told(InMemoryVectorStore):
    told: list

    def add_documents(self, documents, ids=None, **kwargs):
        self.told.append(sorted(kwargs.items()))
        return super().add_documents(documents, ids, **kwargs)


def case_stores_are_told_the_size_of_batches(env):
    records = InMemoryRecordManager(namespace="x")
    records.create_schema()
    store = Told(DeterministicFakeEmbedding(size=3))
    store.told = []
    documents = [Document(text, metadata={"source": text}) for text in ("a", "b", "c")]
    told = index(documents, records, store, batch_size=2, key_encoder="sha256")
    return told, store.told


class Person(BaseModel):
    """A person."""

    name: str
    nick: str = "none"


class Fills(BaseChatModel):
    """Streams the arguments of one call piece by piece."""

    pieces: list

    @property
    def _llm_type(self):
        return "fills"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("whole"))])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for n, piece in enumerate(self.pieces):
            named = {"name": "Person", "id": "1"} if n == 0 else {"name": None, "id": None}
            call = {**named, "args": piece, "index": 0}
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[call]))

    def bind_tools(self, tools, **kwargs):
        return self.bind()


async def case_structured_output_as_it_grows(env):
    model = Fills(pieces=['{"na', 'me": "A', 'nn", "ni', 'ck": "A', '"}'])
    told = []
    for schema in (Person, {"title": "Person", "description": "", **Person.model_json_schema()}):
        bound = model.with_structured_output(schema)
        told.append([dict(part) for part in bound.stream("q")])
        told.append([dict(part) async for part in bound.astream("q")])
    return told


def case_streaming_that_is_switched_off_by_a_number(env):
    model = Fills(pieces=["{}"], disable_streaming=1)
    return [part.content for part in model.stream("q")]
