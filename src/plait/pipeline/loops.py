"""`LoopComponent`: a pipeline that runs several times, as one module of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait.errors import InvalidGraphError
from plait.pipeline.components import InputKeys, OutputKeys, QueryComponent
from plait.pipeline.query import QueryPipeline

Values = dict[str, Any]


class LoopComponent(QueryComponent):
    """Runs a pipeline again and again, and gives what its last run gave.

    A crash, or a question to a person, lets the loop begin anew: for a loop whose steps are kept,
    build a `StateGraph`.

    Args:
        pipeline: what runs; it has one first and one last module.
        should_exit_fn: tells of the outputs, by name, whether that was the last run.
        add_output_to_input_fn: makes of the inputs and the outputs of a run, both by name, the
            inputs of the next (default: they stay the same).
        max_iterations: how often it runs at most.

    Raises:
        InvalidGraphError: it is no pipeline, or never runs.

    >>> double = QueryPipeline(chain=[lambda n: 2 * n])
    >>> loop = LoopComponent(
    ...     double,
    ...     should_exit_fn=lambda outputs: outputs["output"] > 20,
    ...     add_output_to_input_fn=lambda inputs, outputs: {"n": outputs["output"]},
    ... )
    >>> loop.run_component(n=3)
    {'output': 24}
    """

    def __init__(
        self,
        pipeline: QueryPipeline,
        should_exit_fn: Callable[[Values], Any] | None = None,
        add_output_to_input_fn: Callable[[Values, Values], Values] | None = None,
        max_iterations: int = 5,
    ) -> None:
        if not isinstance(pipeline, QueryPipeline):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidGraphError(
                f"A LoopComponent takes a QueryPipeline, got {pipeline!r:.200}."
            )
        if max_iterations < 1:
            raise InvalidGraphError(
                f"A LoopComponent runs at least once: max_iterations={max_iterations!r}."
            )
        self.pipeline = pipeline
        self.should_exit_fn = should_exit_fn
        self.add_output_to_input_fn = add_output_to_input_fn
        self.max_iterations = max_iterations

    @property
    def input_keys(self) -> InputKeys:
        return self.pipeline.input_keys

    @property
    def output_keys(self) -> OutputKeys:
        return self.pipeline.output_keys

    def graphs(self) -> list[Any]:
        return [self.pipeline.graph]

    def _run_component(self, **inputs: Any) -> Values:
        left = self.max_iterations
        while True:
            state = self.pipeline.state_of(self.pipeline.graph_input(inputs))
            outputs = self.pipeline.output_of(state, is_direct=False)
            left -= 1
            if left == 0 or self._is_done(outputs):
                return outputs
            inputs = self._next(inputs, outputs)

    async def _arun_component(self, **inputs: Any) -> Values:
        left = self.max_iterations
        while True:
            state = await self.pipeline.astate_of(self.pipeline.graph_input(inputs))
            outputs = self.pipeline.output_of(state, is_direct=False)
            left -= 1
            if left == 0 or self._is_done(outputs):
                return outputs
            inputs = self._next(inputs, outputs)

    def _is_done(self, outputs: Values) -> bool:
        return self.should_exit_fn is not None and bool(self.should_exit_fn(outputs))

    def _next(self, inputs: Values, outputs: Values) -> Values:
        change = self.add_output_to_input_fn
        return inputs if change is None else change(inputs, outputs)


__all__ = ["LoopComponent"]
