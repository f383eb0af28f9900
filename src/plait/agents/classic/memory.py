"""The memory of an executor: what an object with LangChain's memory methods knows and is told."""

from collections.abc import Mapping
from typing import Any

from plait.runnables.config import run_in_executor
from plait.types import Command


class Memory:
    """Loads what is remembered into the input of a run, and saves how the run ended.

    Args:
        given: An object with `memory_variables`, `load_memory_variables(inputs)` and
            `save_context(inputs, outputs)`, and maybe their async twins; or None.
    """

    def __init__(self, given: Any) -> None:
        self._given = given

    @property
    def variables(self) -> list[str]:
        """The names of the inputs that the memory fills."""
        return [] if self._given is None else list(self._given.memory_variables)

    def loaded(self, graph_input: Any) -> Any:
        """The input of the graph, with what is remembered."""
        if self._is_unused(graph_input):
            return graph_input
        inputs = graph_input["inputs"]
        return {
            **graph_input,
            "inputs": {**inputs, **self._given.load_memory_variables(inputs)},
        }

    async def aloaded(self, graph_input: Any) -> Any:
        """The async twin of `loaded`."""
        if self._is_unused(graph_input):
            return graph_input
        inputs = graph_input["inputs"]
        load = getattr(self._given, "aload_memory_variables", None)
        if load is None:
            known = await run_in_executor(None, self._given.load_memory_variables, inputs)
        else:
            known = await load(inputs)
        return {**graph_input, "inputs": {**inputs, **known}}

    def save(self, state: Mapping[str, Any]) -> None:
        """Tell the memory how a run ended, if it did."""
        if self._given is not None and state.get("finish") is not None:
            self._given.save_context(state["inputs"], state["finish"].return_values)

    async def asave(self, state: Mapping[str, Any]) -> None:
        """The async twin of `save`."""
        if self._given is None or state.get("finish") is None:
            return
        said = (state["inputs"], state["finish"].return_values)
        save = getattr(self._given, "asave_context", None)
        if save is None:
            await run_in_executor(None, self._given.save_context, *said)
        else:
            await save(*said)

    def _is_unused(self, graph_input: Any) -> bool:
        return self._given is None or graph_input is None or isinstance(graph_input, Command)


__all__ = ["Memory"]
