"""Components that ask a model, and where the model comes from when they have none."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self, cast

from plait.chat_models.guests import as_chat_model
from plait.errors import InvalidGraphError
from plait.pipeline.components import CustomQueryComponent, QueryComponent
from plait.runnables.base import Runnable, coerce_to_runnable


class Settings:
    """Settings of all pipelines of the program."""

    llm: ClassVar[Any] = None
    """The model of components that have none, in pipelines that have none."""


class LLMComponent(CustomQueryComponent):
    """The base of components that ask a model.

    Args:
        llm: a chat model or text model, "provider:name", or a function from a prompt to a text.
            Without one, the pipeline's `llm` is asked, else `Settings.llm`.
    """

    llm: Any = None

    def using(self, llm: Any) -> Self:
        """The same component with a model, if it has none."""
        if self.llm is not None or llm is None:
            return self
        made = copy(self)
        made.llm = llm
        return made

    @property
    def lacks_model(self) -> bool:
        """Whether it cannot run without a model from outside."""
        return self.llm is None

    def ask(self, prompt: str) -> str:
        """The model's answer to a prompt."""
        return _text(_model(self.llm).invoke(prompt))

    async def aask(self, prompt: str) -> str:
        """The async twin of `ask`."""
        return _text(await _model(self.llm).ainvoke(prompt))

    def ask_all(self, prompts: Sequence[str]) -> list[str]:
        """The model's answers to several prompts, asked at once."""
        return [_text(answer) for answer in _model(self.llm).batch(prompts)]

    async def aask_all(self, prompts: Sequence[str]) -> list[str]:
        """The async twin of `ask_all`."""
        return [_text(answer) for answer in await _model(self.llm).abatch(prompts)]


def with_model(name: str, component: QueryComponent, llm: Any) -> QueryComponent:
    """A module with the pipeline's model, if it needs one and has none.

    Raises:
        InvalidGraphError: there is none.
    """
    if not isinstance(component, LLMComponent):
        return component
    made = component.using(Settings.llm if llm is None else llm)
    if made.lacks_model:
        raise InvalidGraphError(
            f"Module {name!r} ({type(component).__name__}) needs a model: "
            f"{type(component).__name__}(llm=...), QueryPipeline(llm=...) for all modules, or "
            "Settings.llm = ... for all pipelines. A model is a chat model or 'provider:name'."
        )
    return made


def _model(llm: Any) -> Runnable[Any, Any]:
    if isinstance(llm, Runnable):
        return cast("Runnable[Any, Any]", llm)
    if callable(llm) and not hasattr(llm, "invoke"):
        return coerce_to_runnable(llm)
    return as_chat_model(llm)


def _text(answer: Any) -> str:
    """The text of a message, or the text that the answer is."""
    return answer if isinstance(answer, str) else str(answer.text)


def texts_of(nodes: Any) -> list[str]:
    """The texts of what was retrieved: documents, nodes of other libraries, messages or texts.

    >>> from plait.documents import Document
    >>> texts_of([Document("a"), "b"]), texts_of("c")
    (['a', 'b'], ['c'])
    """
    several = cast("list[Any]", nodes if isinstance(nodes, (list, tuple)) else [nodes])
    return [_text_of(node) for node in several]


def _text_of(node: Any) -> str:
    if isinstance(node, str):
        return node
    for name in ("page_content", "text"):
        value = getattr(node, name, None)
        if isinstance(value, str):
            return str(value)
    content = getattr(node, "get_content", None)
    return str(content()) if callable(content) else str(node)


__all__ = ["LLMComponent", "Settings", "texts_of", "with_model"]
