"""`ConsoleTracer`: what happens in a run as lines on the console, for development."""

import sys
from time import perf_counter
from typing import Any, TextIO

from plait.tracing.base import TracedRun, Tracer


class ConsoleTracer(Tracer):
    """Prints each run when it starts and when it ends, indented by how deep it is.

    Args:
        file: Where to; by default the standard error.
        width: How much of inputs and outputs is shown.

    >>> from plait.runnables import RunnableLambda
    >>> chain = RunnableLambda(str.strip) | RunnableLambda(str.upper)
    >>> tracer = ConsoleTracer(file=sys.stdout, times=False)
    >>> chain.invoke(" hi ", {"callbacks": [tracer]})
    > chain RunnableSequence ' hi '
      > chain strip ' hi '
      < chain strip 'hi'
      > chain upper 'hi'
      < chain upper 'HI'
    < chain RunnableSequence 'HI'
    'HI'
    """

    def __init__(self, file: TextIO | None = None, *, width: int = 100, times: bool = True) -> None:
        super().__init__()
        self._out = file
        self._width = width
        self._times = times

    def started(self, run: TracedRun, parent: TracedRun | None) -> None:
        """Print that it started, and with what."""
        run.notes["depth"] = 0 if parent is None else parent.notes["depth"] + 1
        run.notes["time"] = perf_counter()
        self._print(run, ">", self._shown(run.inputs))

    def ended(self, run: TracedRun) -> None:
        """Print how it ended, and how long it took."""
        if run.error is not None:
            how = f"failed: {type(run.error).__name__}: {run.error}"[: self._width]
        elif run.interrupted:
            how = "interrupted"
        else:
            how = self._shown(run.outputs)
        took = f" [{(perf_counter() - run.notes['time']) * 1000:.1f} ms]" if self._times else ""
        self._print(run, "<" if run.error is None else "!", f"{how}{took}")

    def event(self, run: TracedRun, name: str, data: Any) -> None:
        """Print a custom event."""
        self._print(run, "*", f"{name} {self._shown(data)}")

    def _shown(self, value: Any) -> str:
        generations = getattr(value, "generations", None)
        if generations:  # what a model gave: its first candidate's text is what matters
            value = generations[0][0].text if generations[0] else None
        text = repr(value)
        return text if len(text) <= self._width else text[: self._width - 3] + "..."

    def _print(self, run: TracedRun, mark: str, text: str) -> None:
        step = run.metadata.get("langgraph_step")
        at = f" (step {step})" if step is not None and run.kind == "chain" else ""
        indent = "  " * run.notes["depth"]
        line = f"{indent}{mark} {run.kind} {run.name}{at} {text}"
        print(line, file=self._out or sys.stderr, flush=True)


class ConsoleCallbackHandler(ConsoleTracer):
    """A `ConsoleTracer` under the field's name: it prints on the standard output."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(sys.stdout, **kwargs)
