"""Collecting runs: what a program ran, as trees of `Run`s, to be looked at afterwards."""

from __future__ import annotations

import traceback
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from plait.callbacks.within import listening
from plait.messages import get_buffer_string
from plait.runnables.listeners import Run
from plait.tracing.base import TracedRun, Tracer


class RunCollectorCallbackHandler(Tracer):
    """Keeps each outermost run that it hears once that has ended, with the runs inside it.

    Args:
        example_id: Kept as `reference_example_id` of the runs.

    >>> from plait.runnables import RunnableLambda
    >>> collector = RunCollectorCallbackHandler()
    >>> RunnableLambda(len).invoke("four", {"callbacks": [collector]})
    4
    >>> collector.traced_runs[0].name, collector.traced_runs[0].outputs
    ('len', {'output': 4})
    """

    name = "run-collector_callback_handler"

    def __init__(self, example_id: UUID | str | None = None) -> None:
        super().__init__()
        self.example_id = UUID(example_id) if isinstance(example_id, str) else example_id
        self.traced_runs: list[Run] = []

    def started(self, run: TracedRun, parent: TracedRun | None) -> None:
        """Begin to note a run."""
        noted = Run(
            id=run.id,
            name=run.name,
            run_type="llm" if run.kind == "chat_model" else run.kind,
            inputs=_inputs(run),
            parent_run_id=run.parent_id,
            tags=list(run.tags),
            metadata=dict(run.metadata),
            reference_example_id=self.example_id,
        )
        run.notes["run"] = noted
        run.notes["is_outermost"] = parent is None
        if parent is not None:
            parent.notes["run"].child_runs.append(noted)

    def ended(self, run: TracedRun) -> None:
        """Note how it ended; keep it if it is an outermost one."""
        noted: Run = run.notes["run"]
        noted.end_time = datetime.now(UTC)
        noted.inputs = _inputs(run)  # those of a stream are known now
        if run.error is None:
            noted.outputs = None if run.interrupted else _outputs(run)
        else:
            noted.outputs = {}
            noted.error = repr(run.error) + "".join(traceback.format_exception(run.error))
        if run.notes["is_outermost"]:
            self.traced_runs.append(noted)


@contextmanager
def collect_runs() -> Generator[RunCollectorCallbackHandler, None, None]:
    """Collect the outermost runs inside the `with` block.

    >>> from plait.runnables import RunnableLambda
    >>> with collect_runs() as collected:
    ...     _ = (RunnableLambda(str.strip) | RunnableLambda(str.upper)).invoke(" hi ")
    >>> [run.name for run in collected.traced_runs[0].child_runs]
    ['strip', 'upper']
    """
    collector = RunCollectorCallbackHandler()
    with listening(collector):
        yield collector


def _inputs(run: TracedRun) -> Any:
    if run.kind == "chat_model":
        return {"prompts": [get_buffer_string(messages) for messages in run.inputs]}
    if run.kind == "llm":
        return {"prompts": run.inputs}
    return _as_dict(run.inputs, "query" if run.kind == "retriever" else "input")


def _outputs(run: TracedRun) -> Any:
    value = run.outputs
    if run.kind not in ("chat_model", "llm"):
        return _as_dict(value, "documents" if run.kind == "retriever" else "output")
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


def _as_dict(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {key: value}


__all__ = ["RunCollectorCallbackHandler", "collect_runs"]
