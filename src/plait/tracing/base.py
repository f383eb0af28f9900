"""`Tracer`: hears every event of a run and makes of it what tracers need, a start and an end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from uuid import UUID

from plait.callbacks.handlers import BaseCallbackHandler
from plait.errors import GraphBubbleUp


@dataclass
class TracedRun:
    """One run of a graph, node, chain, model, tool or retriever."""

    id: UUID
    parent_id: UUID | None
    kind: str
    """ "chain", "prompt", "parser", "chat_model", "llm", "tool" or "retriever"."""
    name: str
    inputs: Any
    tags: Sequence[str]
    metadata: dict[str, Any]
    extra: dict[str, Any]
    """What else the start said: `serialized`, `invocation_params`, ..."""
    outputs: Any = None
    error: BaseException | None = None
    interrupted: bool = False
    """It ended with an interrupt or another signal, which is no error."""
    notes: dict[str, Any] = field(default_factory=dict[str, Any])
    """For the tracer."""


class Tracer(BaseCallbackHandler):
    """Base of tracers: define `started` and `ended`.

    Runs of many threads and loops may be traced at once; each run is told of its start before its
    end, and a parent's start before its children's.
    """

    run_inline = True

    def __init__(self) -> None:
        self._runs: dict[UUID, TracedRun] = {}
        self._lock = Lock()

    def started(self, run: TracedRun, parent: TracedRun | None) -> None:
        """A run started."""
        raise NotImplementedError(f"{type(self).__name__} must define started().")

    def ended(self, run: TracedRun) -> None:
        """A run ended: `outputs`, `error` or `interrupted` is set."""
        raise NotImplementedError(f"{type(self).__name__} must define ended().")

    def event(self, run: TracedRun, name: str, data: Any) -> None:
        """User code dispatched an event inside a run."""

    # --- from events to runs ---------------------------------------------------------------------

    def __start(self, kind: str, serialized: Any, inputs: Any, told: dict[str, Any]) -> None:
        known: dict[str, Any] = serialized or {}
        name = told.pop("name", None) or known.get("name") or (known.get("id") or [kind])[-1]
        run = TracedRun(
            id=told.pop("run_id"),
            parent_id=told.pop("parent_run_id", None),
            kind=told.pop("run_type", None) or kind,
            name=str(name),
            inputs=inputs,
            tags=told.pop("tags", None) or (),
            metadata=told.pop("metadata", None) or {},
            extra={**told, "serialized": serialized},
        )
        with self._lock:
            parent = None if run.parent_id is None else self._runs.get(run.parent_id)
            self._runs[run.id] = run
        self.started(run, parent)

    def __end(self, run_id: UUID, outputs: Any = None, error: BaseException | None = None) -> None:
        with self._lock:
            run = self._runs.pop(run_id, None)
        if run is None:
            return
        run.outputs = outputs
        run.interrupted = isinstance(error, GraphBubbleUp)
        run.error = None if run.interrupted else error
        self.ended(run)

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        """A chain starts."""
        self.__start("chain", serialized, inputs, kwargs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain ended."""
        run = self._runs.get(run_id)
        if run is not None and "inputs" in kwargs:
            run.inputs = kwargs["inputs"]  # of a stream: all of it has come by now
        self.__end(run_id, outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A chain failed."""
        self.__end(run_id, error=error)

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        """A chat model is asked."""
        self.__start("chat_model", serialized, messages, kwargs)

    def on_llm_start(self, serialized: Any, prompts: Any, **kwargs: Any) -> None:
        """A text model is asked."""
        self.__start("llm", serialized, prompts, kwargs)

    def on_llm_new_token(self, token: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A model streamed a token; the first one's time is noted by `first_token`."""
        run = self._runs.get(run_id)
        if run is None:
            return
        if "first_token" not in run.notes:
            run.notes["first_token"] = True
            self.first_token(run)
        self.token(run, token, kwargs.get("chunk"))

    def first_token(self, run: TracedRun) -> None:
        """The first token of a model's answer came."""

    def token(self, run: TracedRun, token: Any, chunk: Any) -> None:
        """A model streamed a token, or a chunk with one."""

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A model answered."""
        self.__end(run_id, response)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A model failed."""
        self.__end(run_id, error=error)

    def on_tool_start(self, serialized: Any, input_str: str, **kwargs: Any) -> None:
        """A tool is called."""
        inputs = kwargs.pop("inputs", None)
        self.__start("tool", serialized, input_str if inputs is None else inputs, kwargs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool returned."""
        self.__end(run_id, output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool failed."""
        self.__end(run_id, error=error)

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        """A retriever is asked."""
        self.__start("retriever", serialized, query, kwargs)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """A retriever answered."""
        self.__end(run_id, documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A retriever failed."""
        self.__end(run_id, error=error)

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """User code dispatched an event."""
        run = self._runs.get(run_id)
        if run is not None:
            self.event(run, name, data)
