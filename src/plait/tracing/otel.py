"""`OpenTelemetryTracer`: runs as spans of OpenTelemetry. Needs the extra `otel`.

Agents and graphs, models and tools follow the GenAI semantic conventions (`attributes` has their
names). A span's parent is the run's parent, whatever thread or event loop it runs on; an outermost
run's parent is the span that is current where it starts. While the code of a run runs, its span is
the current one: spans of instrumented libraries, and of the user's own, become its children.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, cast
from uuid import UUID

from plait.errors import MissingExtraError
from plait.tracing import attributes as names
from plait.tracing.base import TracedRun, Tracer

try:
    from opentelemetry import context, trace
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode
except ImportError as error:  # pragma: no cover - the extra is installed in tests
    raise MissingExtraError(
        "Tracing by OpenTelemetry needs opentelemetry-api: pip install 'plait[otel]'."
    ) from error

LONGEST = 10_000
"""How many characters of a content a span carries at most."""


class OpenTelemetryTracer(Tracer):
    """Makes a span of each run that it hears.

    Args:
        tracer_provider: Where spans go; by default OpenTelemetry's global one.
        content: Record what was said: inputs, outputs, messages, arguments. Off by default: they
            may be private.

    Use it as `graph.invoke(input, {"callbacks": [OpenTelemetryTracer()]})`. An interrupt is no
    error: its span carries `plait.interrupted`.
    """

    def __init__(self, tracer_provider: Any = None, *, content: bool = False) -> None:
        super().__init__()
        self._tracer = trace.get_tracer("plait", tracer_provider=tracer_provider)
        self._content = content

    def started(self, run: TracedRun, parent: TracedRun | None) -> None:
        """Start the run's span."""
        kind = _kind(run, parent)
        around = None
        if parent is not None:
            around = trace.set_span_in_context(parent.notes["span"])
        run.notes["kind"] = kind
        run.notes["span"] = self._tracer.start_span(
            _title(run, kind),
            context=around,
            kind=SpanKind.CLIENT if kind in ("chat_model", "llm") else SpanKind.INTERNAL,
            attributes=_at_start(run, kind),
        )
        if self._content:
            key = {"chat_model": names.INPUT_MESSAGES, "tool": names.TOOL_ARGUMENTS}
            run.notes["span"].set_attribute(key.get(kind, names.INPUT), as_text(run.inputs))

    def ended(self, run: TracedRun) -> None:
        """End the run's span."""
        span: Span = run.notes["span"]
        if run.error is not None:
            span.record_exception(run.error)
            span.set_attribute(names.ERROR_TYPE, type(run.error).__qualname__)
            span.set_status(Status(StatusCode.ERROR, str(run.error)))
        elif run.interrupted:
            span.set_attribute(names.INTERRUPTED, True)
        else:
            if run.notes["kind"] in ("chat_model", "llm"):
                _add_answer(span, run.outputs)
            if self._content:
                key = {"chat_model": names.OUTPUT_MESSAGES, "tool": names.TOOL_RESULT}
                content = _answers(run.outputs) if "model" in run.kind else run.outputs
                span.set_attribute(key.get(run.notes["kind"], names.OUTPUT), as_text(content))
        span.end()

    def enter_run(self, run_id: UUID) -> Callable[[], None] | None:
        """Make the run's span the current one: spans that its code starts become its children."""
        run = self._runs.get(run_id)
        if run is None:
            return None
        token = context.attach(trace.set_span_in_context(run.notes["span"]))
        return partial(context.detach, token)

    def event(self, run: TracedRun, name: str, data: Any) -> None:
        """Add a custom event to the run's span."""
        said = {names.INPUT: as_text(data)} if self._content else {}
        run.notes["span"].add_event(name, said)

    def first_token(self, run: TracedRun) -> None:
        """Mark when the first token came."""
        run.notes["span"].add_event(names.FIRST_TOKEN)


def _kind(run: TracedRun, parent: TracedRun | None) -> str:
    """The run's kind; "agent" for a graph, "node" for a node of one."""
    if run.kind != "chain":
        return run.kind
    node = run.metadata.get("langgraph_node")
    if parent is None:
        return "agent" if node is None else "node"
    if node is not None and node == run.name and parent.notes.get("kind") == "agent":
        return "node"
    around = parent.metadata.get("langgraph_checkpoint_ns")
    inside = run.metadata.get("langgraph_checkpoint_ns")
    return "node" if node == run.name and inside != around else "chain"


def _title(run: TracedRun, kind: str) -> str:
    """The span's name: the operation, and what it is done with."""
    operation = names.OPERATIONS.get(kind)
    if operation is None:
        return f"{kind} {run.name}"
    subject = run.metadata.get("ls_model_name") if kind in ("chat_model", "llm") else run.name
    return f"{operation} {subject or run.name}"


def _at_start(run: TracedRun, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {names.KIND: kind}
    operation = names.OPERATIONS.get(kind)
    if operation is not None:
        found[names.OPERATION] = operation
    if run.tags:
        found[names.TAGS] = tuple(run.tags)
    for key, attributes in names.FROM_METADATA.items():
        value: Any = run.metadata.get(key)
        if isinstance(value, (list, tuple)):
            value = tuple(map(str, cast("list[Any]", value)))
        if isinstance(value, (str, bool, int, float, tuple)):
            found.update(dict.fromkeys(attributes, cast("Any", value)))
    if kind == "agent":
        found[names.AGENT_NAME] = run.name
    if kind == "tool":
        found[names.TOOL_NAME] = run.name
        found[names.TOOL_TYPE] = "function"
        call_id = run.extra.get("tool_call_id")
        if isinstance(call_id, str):
            found[names.TOOL_CALL_ID] = call_id
    return found


def _add_answer(span: Span, result: Any) -> None:
    """What a provider said of its answer."""
    messages = _answers(result)
    if not messages or not hasattr(messages[0], "response_metadata"):
        return
    message = messages[0]
    said: dict[str, Any] = message.response_metadata
    model = said.get("model_name") or said.get("model")
    if isinstance(model, str):
        span.set_attribute(names.RESPONSE_MODEL, model)
    if message.id:
        span.set_attribute(names.RESPONSE_ID, str(message.id))
    reason = said.get("finish_reason") or said.get("stop_reason")
    if isinstance(reason, str):
        span.set_attribute(names.FINISH_REASONS, (reason,))
    usage: dict[str, Any] = getattr(message, "usage_metadata", None) or {}
    for key, attribute in (
        ("input_tokens", names.INPUT_TOKENS),
        ("output_tokens", names.OUTPUT_TOKENS),
    ):
        if isinstance(usage.get(key), int):
            span.set_attribute(attribute, usage[key])


def _answers(result: Any) -> list[Any]:
    """The messages, or texts, of a model's result."""
    generations: list[Any] = getattr(result, "generations", None) or [[]]
    return [getattr(candidate, "message", candidate.text) for candidate in generations[0]]


def as_text(value: Any) -> str:
    """A value as JSON for a span; messages as their role and content. Long ones are cut off.

    >>> from plait.messages import HumanMessage
    >>> as_text([HumanMessage("hi")])
    '[{"role": "human", "content": "hi"}]'
    """
    try:
        text = json.dumps(value, default=_plain, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _plain(value: Any) -> Any:
    if hasattr(value, "content") and hasattr(value, "type"):
        plain = {"role": value.type, "content": value.content}
        calls = getattr(value, "tool_calls", None)
        return {**plain, "tool_calls": calls} if calls else plain
    return repr(value)


__all__ = ["OpenTelemetryTracer", "as_text"]
