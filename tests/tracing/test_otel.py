"""Spans: a graph, its nodes, models and tools, under one another across threads and loops."""

from typing import TypedDict

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from plait.callbacks import CallbackManager, dispatch_custom_event
from plait.chat_models.fake import GenericFakeChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.graph import START, StateGraph
from plait.messages import AIMessage
from plait.runnables import RunnableLambda
from plait.tracing import OpenTelemetryTracer
from plait.tracing import attributes as names
from plait.types import interrupt


class State(TypedDict):
    question: str


class Traced:
    """A tracer whose spans are kept."""

    def __init__(self, **options: bool) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = OpenTelemetryTracer(self.provider, **options)
        self.config = {"callbacks": [self.tracer], "configurable": {"thread_id": "t-1"}}

    def spans(self):
        return {span.name: span for span in self.exporter.get_finished_spans()}


def answer() -> AIMessage:
    usage = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
    said = {"model_name": "m-2", "finish_reason": "stop"}
    return AIMessage("hello there", usage_metadata=usage, response_metadata=said)


def graph(saver=None):
    def ask(state: State):
        text = GenericFakeChatModel(messages=iter([answer()])).invoke(state["question"]).content
        return {"question": text}

    def approve(state: State):
        return {"question": interrupt("ok?")}

    builder = StateGraph(State).add_node("ask", ask).add_node("approve", approve)
    return builder.add_edge(START, "ask").add_edge("ask", "approve").compile(checkpointer=saver)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_graph_its_nodes_and_their_models_are_spans_under_one_another(
    is_async: bool,
) -> None:
    traced = Traced()
    app = graph(InMemorySaver())
    if is_async:
        await app.ainvoke({"question": "hi"}, traced.config)
    else:
        app.invoke({"question": "hi"}, traced.config)
    spans = traced.spans()
    agent, node, model = (
        spans[n] for n in ("invoke_agent LangGraph", "node ask", "chat GenericFakeChatModel")
    )
    assert agent.parent is None
    assert node.parent.span_id == agent.context.span_id
    assert model.parent.span_id == node.context.span_id
    assert agent.attributes[names.CONVERSATION] == "t-1"
    assert agent.attributes[names.OPERATION] == "invoke_agent"
    assert node.attributes[names.NODE] == "ask"
    assert node.attributes[names.STEP] == 1
    assert node.attributes[names.CHECKPOINT_NS].startswith("ask:")
    assert model.attributes[names.THREAD] == "t-1"
    assert model.attributes[names.OPERATION] == "chat"
    assert model.attributes[names.RESPONSE_MODEL] == "m-2"
    assert model.attributes[names.FINISH_REASONS] == ("stop",)
    assert (model.attributes[names.INPUT_TOKENS], model.attributes[names.OUTPUT_TOKENS]) == (3, 5)
    assert names.INPUT_MESSAGES not in model.attributes


def test_an_interrupt_is_no_error() -> None:
    traced = Traced()
    graph(InMemorySaver()).invoke({"question": "hi"}, traced.config)
    span = traced.spans()["node approve"]
    assert span.attributes[names.INTERRUPTED] is True
    assert span.status.status_code is StatusCode.UNSET
    assert not span.events


def test_an_error_is_recorded_with_its_type() -> None:
    def fail(_: str) -> str:
        raise KeyError("gone")

    traced = Traced()
    with pytest.raises(KeyError):
        RunnableLambda(fail).invoke("x", traced.config)
    (span,) = traced.exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes[names.ERROR_TYPE] == "KeyError"
    assert span.events[0].name == "exception"


def test_children_on_other_threads_have_their_parent() -> None:
    traced = Traced()
    inner = RunnableLambda(lambda x: x + 1, name="inner")
    RunnableLambda(lambda xs: inner.batch(xs), name="outer").invoke([1, 2, 3], traced.config)
    spans = traced.exporter.get_finished_spans()
    outer = next(span for span in spans if span.name.endswith("outer"))
    inside = [span for span in spans if span.name == "chain inner"]
    assert len(inside) == 3
    assert {span.parent.span_id for span in inside} == {outer.context.span_id}


def test_the_outermost_run_is_under_the_span_that_is_current() -> None:
    traced = Traced()
    with traced.provider.get_tracer("web").start_as_current_span("request") as request:
        RunnableLambda(len, name="count").invoke("abc", traced.config)
    (span, _) = traced.exporter.get_finished_spans()
    assert span.parent.span_id == request.get_span_context().span_id


def test_a_tool_is_a_span_of_its_own_and_content_is_recorded_when_asked_for() -> None:
    traced = Traced(content=True)
    manager = CallbackManager([traced.tracer])
    run = manager.on_tool_start(
        {"name": "add"}, "1", inputs={"a": 1}, name="add", tool_call_id="call-1"
    )
    run.on_tool_end("2")
    span = traced.spans()["execute_tool add"]
    assert span.attributes[names.TOOL_NAME] == "add"
    assert span.attributes[names.TOOL_CALL_ID] == "call-1"
    assert span.attributes[names.TOOL_ARGUMENTS] == '{"a": 1}'
    assert span.attributes[names.TOOL_RESULT] == '"2"'


def test_custom_events_are_events_of_their_span() -> None:
    def work(x: str) -> str:
        dispatch_custom_event("halfway", {"at": 1})
        return x

    traced = Traced()
    RunnableLambda(work).invoke("x", traced.config)
    (span,) = traced.exporter.get_finished_spans()
    assert [event.name for event in span.events] == ["halfway"]
