"""Selectors: components that pick, for a query, from choices that are described in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Self

from plait.embeddings import ensure_embeddings
from plait.errors import InvalidValueError, ModelError
from plait.pipeline.components import OUTPUT, CustomQueryComponent, refuse_no_count
from plait.pipeline.models import LLMComponent

_PROMPT = """\
Numbered choices:
{choices}

Query: {query}

Which {what} the query best? Answer with {form} alone."""


class LLMSingleSelector(LLMComponent):
    """Lets a model pick the best of several choices.

    Inputs `choices` (texts) and `query`, output `output`: the indices of what was picked, from 0.

    >>> pick = LLMSingleSelector(llm=lambda prompt: "2")
    >>> pick.run_component(choices=["about cats", "about dogs"], query="Do dogs dream?")
    {'output': [1]}
    """

    _what = "one serves"
    _form = "its number"

    @classmethod
    def from_defaults(cls, llm: Any = None) -> Self:
        """A selector with a model, or without one of its own."""
        return cls(llm=llm)

    @property
    def picks_one(self) -> bool:
        """Whether it never picks several, so that nothing has to be joined."""
        return True

    @property
    def _input_keys(self) -> Sequence[str]:
        return ("choices", "query")

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        return {OUTPUT: self._picked(self.ask(self._prompt(inputs)), inputs["choices"])}

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        return {OUTPUT: self._picked(await self.aask(self._prompt(inputs)), inputs["choices"])}

    def _prompt(self, inputs: dict[str, Any]) -> str:
        listed = [f"{place}. {choice}" for place, choice in enumerate(_choices(inputs), 1)]
        return _PROMPT.format(
            choices="\n".join(listed), query=inputs["query"], what=self._what, form=self._form
        )

    def _picked(self, answer: str, choices: Sequence[str]) -> list[int]:
        """The indices that an answer names.

        Raises:
            ModelError: it names none, or one that there is not.
        """
        numbers = list(dict.fromkeys(_numbers(answer)))
        wrong = [number for number in numbers if not 1 <= number <= len(choices)]
        if not numbers or wrong:
            raise ModelError(
                f"The model was to pick from the numbers 1 to {len(choices)} and answered "
                f"{answer!r:.200}."
            )
        return [number - 1 for number in self._kept(numbers)]

    def _kept(self, numbers: list[int]) -> list[int]:
        return numbers[:1]


class LLMMultiSelector(LLMSingleSelector):
    """Lets a model pick as many of several choices as serve.

    Args:
        llm: the model.
        max_outputs: the most that are picked.

    Raises:
        InvalidGraphError: `max_outputs` is no number from 1 on.
    """

    max_outputs: int | None = None

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if self.max_outputs is not None:
            refuse_no_count(self, "max_outputs", self.max_outputs)

    @classmethod
    def from_defaults(cls, llm: Any = None, max_outputs: int | None = None) -> Self:
        """A selector with a model, or without one of its own."""
        return cls(llm=llm, max_outputs=max_outputs)

    _what = "ones serve"
    _form = "their numbers, best first,"

    @property
    def picks_one(self) -> bool:
        return self.max_outputs == 1

    def _kept(self, numbers: list[int]) -> list[int]:
        return numbers[: self.max_outputs]


class EmbeddingSingleSelector(CustomQueryComponent):
    """Picks the choice whose embedding is nearest to the query's.

    Inputs and output are those of `LLMSingleSelector`.

    Args:
        embeddings: embeddings, a function from texts to vectors, or "provider:name".
    """

    embeddings: Any

    @classmethod
    def from_defaults(cls, embed_model: Any) -> Self:
        """A selector by the name that embeddings have there."""
        return cls(embeddings=embed_model)

    @property
    def picks_one(self) -> bool:
        """Whether it never picks several, so that nothing has to be joined."""
        return True

    @property
    def _input_keys(self) -> Sequence[str]:
        return ("choices", "query")

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        embeddings = ensure_embeddings(self.embeddings)
        choices = embeddings.embed_documents(_choices(inputs))
        return {OUTPUT: _nearest(embeddings.embed_query(inputs["query"]), choices)}

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        embeddings = ensure_embeddings(self.embeddings)
        choices = await embeddings.aembed_documents(_choices(inputs))
        return {OUTPUT: _nearest(await embeddings.aembed_query(inputs["query"]), choices)}


def _choices(inputs: dict[str, Any]) -> list[str]:
    """What a selector picks from.

    Raises:
        InvalidValueError: there is nothing.
    """
    choices = list(inputs["choices"])
    if not choices:
        raise InvalidValueError("A selector was given no choices to pick from.")
    return choices


def _numbers(answer: str) -> list[int]:
    """The numbers that a model names: its choices if it answers in JSON, else all of its text.

    >>> _numbers("2, 1"), _numbers('[{"choice": 2, "reason": "It has 4 legs."}]')
    ([2, 1], [2])
    """
    chosen = re.findall(r'"choice"\s*:\s*"?(\d+)', answer)
    return [int(number) for number in chosen or re.findall(r"\d+", answer)]


def _nearest(query: Sequence[float], choices: Sequence[Sequence[float]]) -> list[int]:
    likeness = [_cosine(query, choice) for choice in choices]
    return [likeness.index(max(likeness))]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = (sum(x * x for x in one) * sum(y * y for y in other)) ** 0.5
    return sum(x * y for x, y in zip(one, other, strict=True)) / length if length else 0.0


__all__ = ["EmbeddingSingleSelector", "LLMMultiSelector", "LLMSingleSelector"]
