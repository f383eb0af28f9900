"""Models of other libraries where plait's own would go, and embeddings: over a real wire."""

from typing import Any

import langchain_core.language_models as lc_models
import langchain_core.messages as lc
import langchain_core.outputs as lc_outputs
import pytest
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.utils import Secret
from pydantic import BaseModel

from plait.callbacks import BaseCallbackHandler
from plait.chat_models import as_chat_model
from plait.embeddings import ensure_embeddings, init_embeddings
from plait.errors import InvalidInputError, InvalidStoreOpError
from plait.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from plait.store.memory import InMemoryStore

from . import openai_script as script


class Theirs(lc_models.BaseChatModel):
    """A chat model as LangChain's users write it."""

    seen: list[Any] = []  # noqa: RUF012 (pydantic copies it)

    @property
    def _llm_type(self):
        return "theirs"

    def bind_tools(self, tools, *, tool_choice=None, **kwargs):
        return self.bind(tools=tools, tool_choice=tool_choice, **kwargs)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.seen.append((messages, stop, kwargs))
        call = {"name": "Person", "args": {"name": "Ann"}, "id": "1"}
        answer = lc.AIMessage("hi", tool_calls=[call] if kwargs else [], usage_metadata={
            "input_tokens": 1, "output_tokens": 2, "total_tokens": 3})  # fmt: skip
        return lc_outputs.ChatResult(generations=[lc_outputs.ChatGeneration(message=answer)])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        for word in ("a ", "b"):
            chunk = lc_outputs.ChatGenerationChunk(message=lc.AIMessageChunk(word))
            yield chunk


class Listener(BaseCallbackHandler):
    def __init__(self):
        self.heard = []

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.heard.append("start")

    def on_llm_new_token(self, token, **kwargs):
        self.heard.append(token)

    def on_llm_end(self, response, **kwargs):
        self.heard.append("end")


class Person(BaseModel):
    """A person."""

    name: str


async def test_a_model_of_langchain_answers_streams_and_tells_as_plaits():
    theirs = Theirs()
    model = as_chat_model(theirs)
    asked = [SystemMessage("s"), HumanMessage("hi", name="me"),
             AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}]),
             ToolMessage("r", tool_call_id="1")]  # fmt: skip
    answer = model.invoke(asked, stop=["END"])
    assert type(answer) is AIMessage
    assert (answer.content, answer.usage_metadata["total_tokens"]) == ("hi", 3)
    messages, stop, _ = theirs.seen[0]
    assert [type(m).__module__.split(".")[0] for m in messages] == ["langchain_core"] * 4
    assert (messages[1].name, messages[3].tool_call_id, stop) == ("me", "1", ["END"])
    assert (await model.ainvoke("hi")).content == "hi"
    listener = Listener()
    chunks = list(model.stream("hi", {"callbacks": [listener]}))
    assert all(type(chunk) is AIMessageChunk for chunk in chunks)
    assert listener.heard == ["start", "a ", "b", "", "end"]
    assert [c.content async for c in model.astream("hi")][:2] == ["a ", "b"]


async def test_a_model_of_langchain_takes_plaits_tools_and_gives_structured_output():
    model = as_chat_model(Theirs())
    assert model.with_structured_output(Person).invoke("who?") == Person(name="Ann")
    assert (await model.bind_tools([Person]).ainvoke("x")).tool_calls[0]["name"] == "Person"


@pytest.fixture
def generator(wire):
    return OpenAIChatGenerator(
        api_key=Secret.from_token("k"), model="m", api_base_url=f"{wire.url}/v1", max_retries=0
    )


async def test_a_generator_of_haystack_answers_sync_and_async(generator, wire):
    model = as_chat_model(generator)
    asked = [SystemMessage("s"), HumanMessage("hi"),
             AIMessage("", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "1"}]),
             ToolMessage("r", tool_call_id="1")]  # fmt: skip
    for _ in range(2):
        wire.answer(script.completion({"content": "hello"}))
    first, second = model.invoke(asked, stop=["END"]), await model.ainvoke(asked, stop=["END"])
    assert first.content == second.content == "hello"
    assert first.usage_metadata["total_tokens"] == 12
    assert first.response_metadata["finish_reason"] == "stop"
    sent = wire.last["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}
    assert wire.last["stop"] == ["END"]


async def test_a_generator_of_haystack_streams_tokens_and_calls(generator, wire):
    model = as_chat_model(generator)
    wire.chat(script.texts("one ", "two"))
    listener = Listener()
    chunks = list(model.stream("hi", {"callbacks": [listener]}))
    assert "".join(chunk.content for chunk in chunks) == "one two"
    assert [token for token in listener.heard if token] == ["start", "one ", "two", "end"]
    wire.chat([
        script.chunk(script.call_delta(0, "Person", "", "c1")),
        script.chunk(script.call_delta(0, arguments='{"name": ')),
        script.chunk(script.call_delta(0, arguments='"Ann"}')),
        script.chunk({}, "tool_calls"),
    ])  # fmt: skip
    total = None
    async for chunk in model.bind_tools([Person]).astream("hi"):
        total = chunk if total is None else total + chunk
    assert total.tool_calls[0]["args"] == {"name": "Ann"}
    assert wire.last["tools"][0]["function"]["name"] == "Person"


async def test_a_generator_of_haystack_gives_structured_output(generator, wire):
    call = script.call("Person", '{"name": "Bo"}', "c1")
    wire.answer(script.completion({"tool_calls": [call]}, "tool_calls"))
    made = as_chat_model(generator).with_structured_output(Person).invoke("who?")
    assert made == Person(name="Bo")
    assert wire.last["tool_choice"] == "required"


def test_what_cannot_chat_is_refused():
    with pytest.raises(InvalidInputError, match="No chat model"):
        as_chat_model(object())


# --- embeddings ---


def vectors(*rows):
    data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": "e", "data": data, "usage": usage}


async def test_embeddings_of_openai_in_batches_sync_and_async(wire):
    embed = init_embeddings("openai:e", base_url=wire.url, api_key="k", batch_size=2, dimensions=2)
    wire.answer(vectors([1.0, 0.0], [0.0, 1.0]))
    wire.answer(vectors([1.0, 1.0]))
    assert embed.embed_documents(["a", "b", "c"]) == [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    assert [r.body["input"] for r in wire.requests] == [["a", "b"], ["c"]]
    assert wire.last["dimensions"] == 2
    wire.answer(vectors([0.5, 0.5]))
    assert await embed.aembed_query("q") == [0.5, 0.5]


def test_embeddings_ask_the_server_that_the_environment_names(wire, monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", wire.url)
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    wire.answer(vectors([1.0, 0.0]))
    assert init_embeddings("openai:e", max_retries=0).embed_query("q") == [1.0, 0.0]


async def test_embeddings_of_google_tell_queries_from_documents(wire):
    embed = init_embeddings("google:e", base_url=wire.url, api_key="k")
    wire.answer({"embeddings": [{"values": [1.0, 0.0]}]})
    assert embed.embed_query("q") == [1.0, 0.0]
    assert "RETRIEVAL_QUERY" in str(wire.last)
    wire.answer({"embeddings": [{"values": [0.0, 1.0]}]})
    assert await embed.aembed_documents(["d"]) == [[0.0, 1.0]]
    assert "RETRIEVAL_DOCUMENT" in str(wire.last)


def test_a_store_takes_embeddings_of_a_provider(wire):
    embed = init_embeddings("openai:e", base_url=wire.url, api_key="k")
    store = InMemoryStore(index={"dims": 2, "embed": embed})
    wire.answer(vectors([1.0, 0.0]))
    store.put(("a",), "k", {"text": "t"})
    wire.answer(vectors([1.0, 0.0]))
    assert store.search(("a",), query="q")[0].key == "k"


def test_embeddings_without_a_known_provider_are_refused():
    for name in ("text-embedding-3-small", "nobody:x", "openai:"):
        with pytest.raises(InvalidStoreOpError):
            ensure_embeddings(name)
