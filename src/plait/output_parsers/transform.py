"""Parsers that work while the model is still talking, chunk by chunk or on all that came so far."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

from plait.chat_models.results import ChatGeneration, ChatGenerationChunk, Generation
from plait.messages.foreign import is_chunk
from plait.messages.select import as_chunk
from plait.output_parsers.base import BaseOutputParser, generation_of
from plait.runnables.config import RunnableConfig
from plait.runnables.stream_runs import atransform_as_run, transform_as_run

T = TypeVar("T")


class BaseTransformOutputParser(BaseOutputParser[T], init=False):
    """A parser that parses each chunk as it comes."""

    def _transform(self, input: Iterator[Any]) -> Iterator[T]:
        """What the chunks of an answer give, as they come."""
        for chunk in input:
            yield self.parse_result([generation_of(self, chunk)])

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[T]:
        """The async twin of `_transform`."""
        async for chunk in input:
            yield self.parse_result([generation_of(self, chunk)])

    def transform(
        self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[T]:
        """What the chunks of an answer give, as they come."""
        return transform_as_run(
            lambda chunks, _config, _run: self._transform(chunks),
            self.get_name(),
            input,
            config,
            run_type="parser",
        )

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[T]:
        """The async twin of `transform`."""
        return atransform_as_run(
            lambda chunks, _config, _run: self._atransform(chunks),
            self.get_name(),
            input,
            config,
            run_type="parser",
        )


class BaseCumulativeTransformOutputParser(BaseTransformOutputParser[T], init=False):
    """A parser that parses all that came so far, each time a chunk comes.

    Args:
        diff: Yield what changed instead of the whole.
    """

    diff: bool = False

    def _diff(self, prev: T | None, next: T) -> Any:
        """What changed from one value to the next."""
        raise NotImplementedError(f"{type(self).__name__} cannot tell what changed (diff=True).")

    def _transform(self, input: Iterator[Any]) -> Iterator[Any]:
        total, before = None, None
        for chunk in input:
            total = add_to(total, generation_of(self, chunk))
            parsed = self.parse_result([total], partial=True)
            if parsed is not None and parsed != before:
                yield self._diff(before, parsed) if self.diff else parsed
                before = parsed

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[Any]:
        total, before = None, None
        async for chunk in input:
            total = add_to(total, generation_of(self, chunk))
            parsed = await self.aparse_result([total], partial=True)
            if parsed is not None and parsed != before:
                yield self._diff(before, parsed) if self.diff else parsed
                before = parsed


def add_to(total: Any, more: Generation) -> Generation:
    """The sum of what came and what comes. Messages add as messages, texts as texts."""
    if total is None:
        return ChatGenerationChunk(more.message) if isinstance(more, ChatGeneration) else more
    if isinstance(more, ChatGeneration) and isinstance(total, ChatGeneration):
        return ChatGenerationChunk(_piece(total.message) + _piece(more.message))
    return Generation(total.text + more.text)


def _piece(message: Any) -> Any:
    """A message as a chunk, for whole messages may come in a stream too."""
    return message if is_chunk(message) else as_chunk(message)


__all__ = ["BaseCumulativeTransformOutputParser", "BaseTransformOutputParser"]
