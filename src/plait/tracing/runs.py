"""`BaseTracer`: derive from it to do something with each run, as a `Run` with those inside it."""

from __future__ import annotations

import traceback
from abc import abstractmethod
from typing import Any
from uuid import UUID

from plait.messages import get_buffer_string
from plait.objects.abstract import Abstract
from plait.runnables.told_runs import Run, as_dict
from plait.tracing.base import TracedRun, Tracer


class BaseTracer(Abstract, Tracer):
    """Makes a `Run` of each run that it hears; a subclass defines `_persist_run`.

    It is handed each outermost run once that has ended. Besides, a subclass may define what is done
    when any run starts (`_on_run_create`, then `_on_<kind>_start`, of the kinds chain, llm, tool
    and retriever), when a model streams a token (`_on_llm_new_token`), and when any run ends
    (`_on_run_update`, then `_on_<kind>_end` or `_on_<kind>_error`).

    >>> from plait.runnables import RunnableLambda
    >>> class Prints(BaseTracer):
    ...     def _persist_run(self, run):
    ...         print(run.name, run.outputs)
    >>> RunnableLambda(len).invoke("four", {"callbacks": [Prints()]})
    len {'output': 4}
    4
    """

    example_id: UUID | None = None
    """Kept as `reference_example_id` of the runs."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()

    @property
    def run_map(self) -> dict[str, Run]:
        """The runs that have not ended, by their ids as text."""
        with self._lock:
            return {str(run.id): run.notes["run"] for run in self._runs.values() if run.notes}

    @abstractmethod
    def _persist_run(self, run: Run) -> None:
        """Do something with an outermost run that has ended."""

    def _on_run_create(self, run: Run) -> None:
        """A run started."""

    def _on_run_update(self, run: Run) -> None:
        """A run ended."""

    def _on_llm_new_token(self, run: Run, token: Any, chunk: Any) -> None:
        """A model streamed a token."""

    def started(self, run: TracedRun, parent: TracedRun | None) -> None:
        """Begin to note a run."""
        noted = Run(
            id=run.id,
            name=run.name,
            run_type="llm" if run.kind == "chat_model" else run.kind,
            inputs=_inputs(run),
            parent_run_id=run.parent_id,
            tags=list(run.tags),
            extra={**_told(run), "metadata": dict(run.metadata)},
            serialized=run.extra.get("serialized"),
            reference_example_id=self.example_id,
        )
        run.notes["run"] = noted
        run.notes["is_outermost"] = parent is None
        if parent is not None:
            parent.notes["run"].adopt(noted)
        self._on_run_create(noted)
        self.__hook(run, "start")

    def token(self, run: TracedRun, token: Any, chunk: Any) -> None:
        """Tell of a token."""
        noted: Run = run.notes["run"]
        noted.say_token(token, chunk)
        self._on_llm_new_token(noted, token, chunk)

    def ended(self, run: TracedRun) -> None:
        """Note how it ended; hand it on if it is an outermost one."""
        noted: Run = run.notes["run"]
        noted.end("end" if run.error is None else "error")
        noted.inputs = _inputs(run)  # those of a stream are known now
        if run.error is None:
            noted.outputs = None if run.interrupted else _outputs(run)
        else:
            noted.outputs = {}
            noted.error = repr(run.error) + "".join(traceback.format_exception(run.error))
        if run.notes["is_outermost"]:
            self._persist_run(noted)
        self._on_run_update(noted)
        self.__hook(run, "end" if run.error is None else "error")

    def __hook(self, run: TracedRun, event: str) -> None:
        """Call what the subclass defines for an event of this kind of run."""
        kind = run.kind if run.kind in _KINDS else "chain"
        hook = getattr(self, f"_on_{_KINDS.get(kind, kind)}_{event}", None)
        if hook is not None:
            hook(run.notes["run"])


_KINDS = {"chat_model": "llm", "llm": "llm", "tool": "tool", "retriever": "retriever"}
"""Kinds of runs to what the methods for them are called by; any other is a chain."""


def _told(run: TracedRun) -> dict[str, Any]:
    """What the start of a run said, but for what runs."""
    return {key: value for key, value in run.extra.items() if key != "serialized"}


def _inputs(run: TracedRun) -> Any:
    if run.kind == "chat_model":
        return {"prompts": [get_buffer_string(messages) for messages in run.inputs]}
    if run.kind == "llm":
        return {"prompts": run.inputs}
    return as_dict(run.inputs, "query" if run.kind == "retriever" else "input")


def _outputs(run: TracedRun) -> Any:
    value = run.outputs
    if run.kind not in ("chat_model", "llm"):
        return as_dict(value, "documents" if run.kind == "retriever" else "output")
    return {
        "generations": [[_generation(one) for one in several] for several in value.generations],
        "llm_output": value.llm_output,
        "run": None,
        "type": "LLMResult",
    }


def _generation(one: Any) -> dict[str, Any]:
    found = {"text": one.text, "generation_info": one.generation_info, "type": type(one).__name__}
    message = getattr(one, "message", None)
    if message is not None:
        from plait.load import dumpd  # only runs of chat models need it

        found["message"] = dumpd(message)
    return found


__all__ = ["BaseTracer"]
