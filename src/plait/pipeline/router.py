"""Routers: they send a query to the modules that serve it, and join what those answer."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self, cast

from plait.errors import InvalidGraphError, InvalidUpdateError
from plait.pipeline.components import OUTPUT, QueryComponent
from plait.pipeline.models import LLMComponent, with_model
from plait.pipeline.modules import as_component
from plait.pipeline.selectors import LLMMultiSelector, LLMSingleSelector
from plait.pipeline.summarize import TreeSummarize
from plait.runnables.functions import RunnableLambda


class RouterComponent(LLMComponent):
    """Picks, for each query, which of its components answer it.

    Input `query`, output `output`: the answer of the picked component; of several, what the
    summarizer makes of them, or without one the list of their answers.

    Args:
        selector: what picks: a selector, or a function of `choices` and `query`. It gives an index
            from 0, or a list of them.
        components: what can be picked: modules with one required input and one output.
        choices: what each is good for (default: the descriptions of tools).
        summarizer: what joins the answers of several, from `query_str` and `nodes`.
        llm: the model of a selector or summarizer that has none.
        verbose: print which are picked.

    Raises:
        InvalidGraphError: choices and components do not fit, there are none, or a component is not
            of that form.

    >>> router = RouterComponent(
    ...     selector=lambda choices, query: 1 if "dog" in query else 0,
    ...     choices=["about cats", "about dogs"],
    ...     components=[lambda query: "Purr.", lambda query: "Woof."],
    ... )
    >>> router.run_component(query="What do dogs say?")
    {'output': 'Woof.'}
    """

    selector: Any
    components: Sequence[Any]
    choices: Sequence[str] | None = None
    summarizer: Any = None
    verbose: bool = False

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if not self.components:
            raise InvalidGraphError(f"A {type(self).__name__} without components picks nothing.")
        if self.choices is None:
            self.choices = [getattr(one, "description", "") for one in self.components]
        if len(self.choices) != len(self.components) or not all(self.choices):
            raise InvalidGraphError(
                f"A RouterComponent with {len(self.components)} components needs a choice (what it "
                f"is good for) for each, got {list(self.choices)}."
            )
        self.selector = as_component("selector", self.selector)
        self.components = [
            _checked(as_component(choice, one))
            for choice, one in zip(self.choices, self.components, strict=True)
        ]
        if self.summarizer is not None:
            self.summarizer = as_component("summarizer", self.summarizer)

    @property
    def _input_keys(self) -> Sequence[str]:
        return ("query",)

    def using(self, llm: Any) -> Self:
        made = copy(self)
        made.selector = _using(self.selector, llm or self.llm)
        made.summarizer = _using(self.summarizer, llm or self.llm)
        made.components = [_using(one, llm or self.llm) for one in self.components]
        return made

    @property
    def lacks_model(self) -> bool:
        joins = () if getattr(self.selector, "picks_one", False) else (self.summarizer,)
        parts = (self.selector, *joins, *self.components)
        return any(isinstance(part, LLMComponent) and part.lacks_model for part in parts)

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        query = inputs["query"]
        chosen = self.selector.run_component(choices=self.choices, query=query)
        calls = [(one, _only(one, query)) for one in self._picked(chosen)]
        answers = RunnableLambda(_called).batch(calls)
        if len(answers) == 1 or self.summarizer is None:
            return {OUTPUT: answers if len(answers) > 1 else answers[0]}
        return {OUTPUT: _answer(self.summarizer.run_component(query_str=query, nodes=answers))}

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        query = inputs["query"]
        chosen = await self.selector.arun_component(choices=self.choices, query=query)
        calls = [(one, _only(one, query)) for one in self._picked(chosen)]
        answers = await RunnableLambda(_called, _acalled).abatch(calls)
        if len(answers) == 1 or self.summarizer is None:
            return {OUTPUT: list(answers) if len(answers) > 1 else answers[0]}
        joined = await self.summarizer.arun_component(query_str=query, nodes=list(answers))
        return {OUTPUT: _answer(joined)}

    def _picked(self, chosen: dict[str, Any]) -> list[QueryComponent]:
        """The components that a selector chose.

        Raises:
            InvalidUpdateError: it gave no indices of choices.
        """
        given = _answer(chosen)
        indices = cast("list[Any]", given if isinstance(given, list) else [given])
        for index in indices:
            if not isinstance(index, int) or not 0 <= index < len(self.components):
                raise InvalidUpdateError(
                    f"The selector of a RouterComponent must give an index from 0 to "
                    f"{len(self.components) - 1}, or a list of them, got {given!r:.200}."
                )
        if not indices:
            raise InvalidUpdateError(
                f"The selector of a RouterComponent picked none of {list(self.choices or ())}."
            )
        if self.verbose:
            picked = ", ".join(str((self.choices or ())[index]) for index in indices)
            print(f"> Picked for the query: {picked}", flush=True)
        return [self.components[index] for index in indices]


class RouterQueryEngine(RouterComponent):
    """A router over tools that answer questions, which can be asked directly.

    Args:
        selector: what picks (see `RouterComponent`).
        query_engine_tools: tools with one required argument, the question; their descriptions are
            the choices.
        llm: the model of a selector or summarizer that has none.
        summarizer: what joins the answers of several (default: `TreeSummarize`).
        verbose: print which are picked.

    >>> from plait.tools import tool
    >>> @tool
    ... def cats(query: str) -> str:
    ...     "About cats."
    ...     return "Purr."
    >>> RouterQueryEngine(lambda choices, query: 0, [cats], llm=str).query("What do cats say?")
    'Purr.'
    """

    def __init__(
        self,
        selector: Any,
        query_engine_tools: Sequence[Any],
        llm: Any = None,
        summarizer: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            selector=selector,
            components=query_engine_tools,
            summarizer=summarizer or TreeSummarize(),
            llm=llm,
            verbose=verbose,
        )

    @classmethod
    def from_defaults(
        cls,
        query_engine_tools: Sequence[Any],
        llm: Any = None,
        selector: Any = None,
        summarizer: Any = None,
        select_multi: bool = False,
    ) -> Self:
        """A router whose selector is a model's, unless another is given.

        Args:
            query_engine_tools: the tools.
            llm: the model.
            selector: what picks (default: `LLMSingleSelector`).
            summarizer: what joins the answers of several.
            select_multi: by default let several be picked.
        """
        default = LLMMultiSelector if select_multi else LLMSingleSelector
        return cls(selector or default(), query_engine_tools, llm, summarizer)

    def query(self, query: str) -> Any:
        """The answer to a question.

        Raises:
            InvalidGraphError: a selector or summarizer needs a model, and there is none.
        """
        return self._complete().run_component(query=query)[OUTPUT]

    async def aquery(self, query: str) -> Any:
        """The async twin of `query`."""
        return (await self._complete().arun_component(query=query))[OUTPUT]

    def _complete(self) -> QueryComponent:
        return with_model(type(self).__name__, self, self.llm)


def _checked(component: QueryComponent) -> QueryComponent:
    required, outputs = component.free_input_keys.required, component.output_keys
    if len(required) != 1 or len(outputs) != 1:
        raise InvalidGraphError(
            "A component of a RouterComponent takes the query as its one required input and gives "
            f"one output; {type(component).__name__} takes {list(required)} and gives "
            f"{list(outputs)}. Fill other inputs by partial()."
        )
    return component


def _only(component: QueryComponent, query: Any) -> dict[str, Any]:
    """The query as the only required input."""
    return {component.free_input_keys.required[0]: query}


def _called(call: tuple[QueryComponent, dict[str, Any]]) -> Any:
    component, inputs = call
    return _answer(component.run_component(**inputs))


async def _acalled(call: tuple[QueryComponent, dict[str, Any]]) -> Any:
    component, inputs = call
    return _answer(await component.arun_component(**inputs))


def _answer(outputs: dict[str, Any]) -> Any:
    """The only output."""
    return next(iter(outputs.values()))


def _using(component: Any, llm: Any) -> Any:
    return component.using(llm) if isinstance(component, LLMComponent) else component


__all__ = ["RouterComponent", "RouterQueryEngine"]
