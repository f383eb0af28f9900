"""Whatever can be a module of a pipeline, as a component: runnables, prompts, tools, functions."""

from __future__ import annotations

from typing import Any, cast

from plait.errors import InvalidNodeError
from plait.pipeline.components import (
    OUTPUT,
    FnComponent,
    InputKeys,
    OutputKeys,
    QueryComponent,
)
from plait.runnables.base import Runnable, coerce_to_runnable
from plait.tools.base import BaseTool
from plait.tools.guests import own_tool

INPUT = "input"
"""The only input of a runnable that takes no dict of named values."""


class RunnableComponent(QueryComponent):
    """A runnable as a component.

    A prompt takes its variables, a tool its arguments, another pipeline its inputs; any other
    runnable (a model, a parser, a retriever, a graph) takes one value, `input`. All give `output`,
    but a pipeline with one last module, which gives the outputs of that.

    >>> from plait.prompts import PromptTemplate
    >>> RunnableComponent(PromptTemplate.from_template("{what} by {who}")).input_keys.required
    ('what', 'who')
    """

    def __init__(self, runnable: Any) -> None:
        self.runnable = cast("Runnable[Any, Any]", runnable)
        names = _named_inputs(runnable)
        self._is_named = names is not None
        self._keys = InputKeys((INPUT,)) if names is None else names
        self._outputs = _outputs(runnable)

    @property
    def input_keys(self) -> InputKeys:
        return self._keys

    @property
    def output_keys(self) -> OutputKeys:
        return self._outputs

    def graphs(self) -> list[Any]:
        runnable = cast("Any", self.runnable)
        return [runnable.graph if hasattr(runnable, "get_leaf_keys") else runnable]

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        return self._named(self.runnable.invoke(inputs if self._is_named else inputs[INPUT]))

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        return self._named(await self.runnable.ainvoke(inputs if self._is_named else inputs[INPUT]))

    def _named(self, output: Any) -> dict[str, Any]:
        """The output by name; a pipeline with several outputs gives them so."""
        return {self._outputs[0]: output} if len(self._outputs) == 1 else output


def _named_inputs(runnable: Any) -> InputKeys | None:
    """The names of what a runnable takes, if it takes a dict of named values."""
    if hasattr(runnable, "format_prompt"):  # a prompt, LangChain's too
        return InputKeys.of(runnable.input_variables, runnable.optional_variables)
    if isinstance(runnable, BaseTool):
        schema = runnable.shown_json_schema
        required = cast("list[str]", schema.get("required", []))
        named = cast("dict[str, Any]", schema.get("properties", {}))
        return InputKeys.of(required, [name for name in named if name not in required])
    keys = getattr(runnable, "input_keys", None)  # of another pipeline
    return keys if isinstance(keys, InputKeys) else None


def _outputs(runnable: Any) -> OutputKeys:
    """The outputs of a pipeline with one last module; else the one of any runnable."""
    leaves = getattr(runnable, "get_leaf_keys", None)  # of another pipeline
    has_one = leaves is not None and len(leaves()) == 1
    return runnable.output_keys if has_one else OutputKeys((OUTPUT,))


def as_component(name: str, module: Any) -> QueryComponent:
    """A module as a component.

    Raises:
        InvalidNodeError: it cannot be one.
    """
    if isinstance(module, QueryComponent):
        return module
    if isinstance(module, type):
        raise InvalidNodeError(
            f"Module {name!r} is the class {module.__name__}; give an object of it: "
            f"{module.__name__}(...)."
        )
    if hasattr(module.__class__, "tool_call_schema"):
        return RunnableComponent(own_tool(module))
    if callable(getattr(module, "invoke", None)):
        return RunnableComponent(coerce_to_runnable(module))
    if callable(module):
        return FnComponent(module)
    raise InvalidNodeError(
        f"Module {name!r} must be a component, a runnable or a function, got {module!r:.200}. "
        "Derive a class from CustomQueryComponent, or wrap it in a function."
    )


__all__ = ["INPUT", "RunnableComponent", "as_component"]
