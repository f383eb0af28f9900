"""Summarizers: components that answer a query from what was retrieved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.pipeline.components import OUTPUT, refuse_no_count
from plait.pipeline.models import LLMComponent, texts_of

PROMPT = """\
Use only the passages below to answer the query. If they do not answer it, say so.

Passages:
{context}

Query: {query}
Answer:"""
MAX_CHARS = 24_000


class SimpleSummarize(LLMComponent):
    """Answers a query from all nodes in one prompt, cut where it gets too long.

    Inputs `query_str` and `nodes` (documents or texts), output `output` (a text).

    Args:
        llm: the model (default: the pipeline's).
        prompt: with the places `{query}` and `{context}`.
        max_chars: how much of the nodes' texts goes into one prompt.

    Raises:
        InvalidGraphError: `max_chars` is no number from 1 on.

    >>> last = SimpleSummarize(llm=lambda prompt: prompt.splitlines()[3])
    >>> last.run_component(query_str="What is plait?", nodes=["A runtime.", "Durable."])
    {'output': 'A runtime.'}
    """

    prompt: str = PROMPT
    max_chars: int = MAX_CHARS

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        refuse_no_count(self, "max_chars", self.max_chars)

    @property
    def _input_keys(self) -> Sequence[str]:
        return ("query_str", "nodes")

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        return {OUTPUT: self.ask(self._whole(inputs))}

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        return {OUTPUT: await self.aask(self._whole(inputs))}

    def _whole(self, inputs: dict[str, Any]) -> str:
        context = "\n\n".join(texts_of(inputs["nodes"]))[: self.max_chars]
        return self._prompt(str(inputs["query_str"]), context)

    def _prompt(self, query: str, context: str) -> str:
        return self.prompt.replace("{query}", query).replace("{context}", context)


class TreeSummarize(SimpleSummarize):
    """Answers a query from any number of nodes: in parts, then from the answers, until one is left.

    Inputs, output and arguments are those of `SimpleSummarize`. The parts of a round are asked at
    once; nothing is cut off.
    """

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        query, parts = self._start(inputs)
        while len(parts) > 1:
            parts = _joined(
                self.ask_all([self._prompt(query, part) for part in parts]), self.max_chars
            )
        return {OUTPUT: self.ask(self._prompt(query, parts[0]))}

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        query, parts = self._start(inputs)
        while len(parts) > 1:
            answers = await self.aask_all([self._prompt(query, part) for part in parts])
            parts = _joined(answers, self.max_chars)
        return {OUTPUT: await self.aask(self._prompt(query, parts[0]))}

    def _start(self, inputs: dict[str, Any]) -> tuple[str, list[str]]:
        size = self.max_chars
        pieces = [
            text[start : start + size]
            for text in texts_of(inputs["nodes"])
            for start in range(0, max(len(text), 1), size)
        ]
        return str(inputs["query_str"]), _packed(pieces, size, fewest=1) or [""]


def _joined(answers: list[str], size: int) -> list[str]:
    """The answers of a round as the parts of the next, at most half as many."""
    return _packed(answers, size, fewest=2)


def _packed(texts: list[str], size: int, fewest: int) -> list[str]:
    """Texts put together: as many as fit into `size`, but at least `fewest`."""
    parts: list[list[str]] = []
    for text in texts:
        room = parts and sum(map(len, parts[-1])) + len(text) <= size
        if parts and (room or len(parts[-1]) < fewest):
            parts[-1].append(text)
        else:
            parts.append([text])
    return ["\n\n".join(part) for part in parts]


__all__ = ["SimpleSummarize", "TreeSummarize"]
