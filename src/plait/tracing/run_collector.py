"""Collecting runs: what a program ran, as trees of `Run`s, to be looked at afterwards."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from uuid import UUID

from plait.callbacks.within import listening
from plait.runnables.told_runs import Run
from plait.tracing.runs import BaseTracer


class RunCollectorCallbackHandler(BaseTracer):
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

    def _persist_run(self, run: Run) -> None:
        self.traced_runs.append(run)


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


__all__ = ["RunCollectorCallbackHandler", "collect_runs"]
