"""The span of a run is current while its code runs: spans that the code starts are its children."""

import asyncio
from typing import Any, TypedDict

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from plait.chat_models.simple import SimpleChatModel
from plait.documents import Document
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.language_models import LLM
from plait.output_parsers import StrOutputParser
from plait.retrievers import BaseRetriever
from plait.runnables import RunnableGenerator, RunnableLambda, RunnableParallel
from plait.tools import tool
from plait.tracing import OpenTelemetryTracer
from plait.types import Send


class Spans:
    """A tracer of plait's and one of a library, whose spans are kept."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.config: Any = {"callbacks": [OpenTelemetryTracer(self.provider)]}
        self.library = self.provider.get_tracer("library")

    def work(self, name: str) -> None:
        """What an instrumented library does."""
        with self.library.start_as_current_span(name):
            pass

    def parents(self, name: str) -> list[str]:
        """The names of the parents of the spans named `name`."""
        done = self.exporter.get_finished_spans()
        names = {span.context.span_id: span.name for span in done}
        return sorted(names[s.parent.span_id] if s.parent else "" for s in done if s.name == name)


@pytest.fixture
def spans() -> Spans:
    return Spans()


def nothing_is_current() -> bool:
    return trace.get_current_span() is trace.INVALID_SPAN


class State(TypedDict, total=False):
    n: int


async def call(runnable: Any, given: Any, config: Any, is_async: bool) -> Any:
    return await runnable.ainvoke(given, config) if is_async else runnable.invoke(given, config)


both = pytest.mark.parametrize("is_async", [False, True])


@both
async def test_spans_of_sync_nodes_are_under_their_nodes(spans: Spans, is_async: bool) -> None:
    def one(state: State) -> State:
        spans.work("query")
        return {"n": 1}

    def choose(state: State) -> str:
        spans.work("choice")
        return "two"

    def two(state: State) -> State:
        spans.work("query")
        return {"n": 2}

    builder = StateGraph(State).add_node("one", one).add_node("two", two).add_edge(START, "one")
    graph = builder.add_conditional_edges("one", choose, ["two"]).compile()
    await call(graph, {"n": 0}, spans.config, is_async)
    assert spans.parents("query") == ["node one", "node two"]
    assert spans.parents("choice") == ["chain choose"]
    assert nothing_is_current()


async def test_spans_of_async_nodes_beside_each_other_do_not_mix(spans: Spans) -> None:
    meeting = asyncio.Barrier(3)

    async def work(n: int) -> None:
        await meeting.wait()
        with spans.library.start_as_current_span(f"query {n}"):
            await meeting.wait()
            spans.work(f"detail {n}")

    def node(n: int) -> Any:
        async def run(state: State) -> None:
            await work(n)

        return run

    builder = StateGraph(State)
    for n in range(3):
        builder.add_node(f"node{n}", node(n)).add_edge(START, f"node{n}")
    await builder.compile().ainvoke({"n": 0}, spans.config)
    for n in range(3):
        assert spans.parents(f"query {n}") == [f"node node{n}"]
        assert spans.parents(f"detail {n}") == [f"query {n}"]


@both
async def test_spans_of_fanned_out_nodes_on_threads_are_under_them(
    spans: Spans, is_async: bool
) -> None:
    def part(state: State) -> None:
        spans.work("query")

    builder = StateGraph(State).add_node("part", part)
    builder.add_conditional_edges(START, lambda _: [Send("part", {"n": n}) for n in range(4)])
    await call(builder.compile(), {"n": 0}, spans.config, is_async)
    assert spans.parents("query") == ["node part"] * 4
    done = spans.exporter.get_finished_spans()
    assert len({s.parent.span_id for s in done if s.name == "query"}) == 4


@both
async def test_spans_of_called_tasks_and_nested_graphs_are_under_them(
    spans: Spans, is_async: bool
) -> None:
    def inner(state: State) -> None:
        spans.work("deep query")

    nested = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile()

    @task
    def fetch(n: int) -> int:
        spans.work("fetch query")
        return n

    @entrypoint()
    def flow(n: int) -> int:
        spans.work("flow query")
        nested.invoke({"n": n})
        return fetch(n).result()

    await call(flow, 1, spans.config, is_async)
    assert spans.parents("deep query") == ["node inner"]
    assert spans.parents("fetch query") == ["node fetch"]
    assert spans.parents("flow query") == ["node flow"]


class Model(SimpleChatModel):
    spans: Any

    def _call(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> str:
        self.spans.work("request")
        return "hi"

    @property
    def _llm_type(self) -> str:
        return "model"


class TextModel(LLM):
    spans: Any

    def _call(self, prompt: str, stop: Any = None, run_manager: Any = None, **_: Any) -> str:
        self.spans.work("request")
        return "hi"

    @property
    def _llm_type(self) -> str:
        return "text"


class Archive(BaseRetriever):
    spans: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.spans.work("search")
        return []


@both
async def test_requests_of_models_tools_and_retrievers_are_under_them(
    spans: Spans, is_async: bool
) -> None:
    @tool
    def look(n: int) -> int:
        """Look."""
        spans.work("look up")
        return n

    @tool
    async def alook(n: int) -> int:
        """Look."""
        spans.work("look up")
        return n

    await call(Model(spans=spans), "hi", spans.config, is_async)
    await call(TextModel(spans=spans), "hi", spans.config, is_async)
    await call(Archive(spans=spans), "hi", spans.config, is_async)
    await call(alook if is_async else look, {"n": 1}, spans.config, is_async)
    assert spans.parents("request") == ["chat Model", "text_completion TextModel"]
    assert spans.parents("search") == ["retrieval Archive"]
    assert spans.parents("look up") == [f"execute_tool {'alook' if is_async else 'look'}"]
    assert nothing_is_current()


@both
async def test_spans_of_chains_are_under_their_steps(spans: Spans, is_async: bool) -> None:
    def step(x: Any) -> Any:
        spans.work("step query")
        return x

    def side(x: Any) -> Any:
        spans.work("side query")
        return x

    class Parser(StrOutputParser):
        def parse(self, text: str) -> str:
            spans.work("parse query")
            return text

    chain = RunnableLambda(step) | RunnableParallel(a=side, b=side) | (lambda d: d["a"]) | Parser()
    assert await call(chain, "x", spans.config, is_async) == "x"
    assert spans.parents("step query") == ["chain step"]
    assert spans.parents("side query") == ["chain side", "chain side"]
    assert spans.parents("parse query") == ["parser Parser"]


@both
async def test_a_stream_has_its_span_current_only_while_it_makes_a_chunk(
    spans: Spans, is_async: bool
) -> None:
    def words(chunks: Any) -> Any:
        for chunk in chunks:
            for word in chunk.split():
                spans.work("word")
                yield word

    async def awords(chunks: Any) -> Any:
        async for chunk in chunks:
            for word in chunk.split():
                spans.work("word")
                yield word

    stream = RunnableGenerator(words, awords, name="words") | RunnableGenerator(words, awords)
    heard: list[str] = []
    if is_async:
        async for chunk in stream.astream("a b c", spans.config):
            assert nothing_is_current()
            heard.append(chunk)
    else:
        for chunk in stream.stream("a b c", spans.config):
            assert nothing_is_current()
            heard.append(chunk)
    assert heard == ["a", "b", "c"]
    assert spans.parents("word") == ["chain words"] * 6


@both
async def test_a_stream_left_early_or_failing_leaves_nothing_current(
    spans: Spans, is_async: bool
) -> None:
    model = Model(spans=spans)

    def fail(_: Any) -> None:
        spans.work("before")
        raise KeyError("gone")

    chain = RunnableLambda(fail)
    if is_async:
        chunks = model.astream("hi", spans.config)
        await anext(chunks)
        await chunks.aclose()
    else:
        chunks = model.stream("hi", spans.config)
        next(chunks)
        chunks.close()
    with pytest.raises(KeyError):
        await call(chain, "x", spans.config, is_async)
    assert spans.parents("before") == ["invoke_agent fail"]
    assert nothing_is_current()


@both
async def test_runs_without_a_tracer_are_under_what_is_current(
    spans: Spans, is_async: bool
) -> None:
    with spans.library.start_as_current_span("request"):
        await call(RunnableLambda(lambda _: spans.work("query")), "x", None, is_async)
    assert spans.parents("query") == ["request"]
