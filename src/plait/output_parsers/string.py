"""`StrOutputParser`: the text of what a model says, chunk by chunk."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

from plait.chat_models.results import text_of
from plait.messages import AIMessageChunk
from plait.messages.foreign import is_message
from plait.output_parsers.base import generation_of
from plait.output_parsers.transform import BaseTransformOutputParser


class StrOutputParser(BaseTransformOutputParser[str]):
    """The text of a message, or of each of its chunks.

    >>> from plait.messages import AIMessage
    >>> StrOutputParser().invoke(AIMessage("hi"))
    'hi'
    """

    __plait_namespace__ = ("langchain", "schema", "output_parser")

    def parse(self, text: str) -> str:
        """The text itself."""
        return text

    @property
    def _type(self) -> Literal["default"]:
        return "default"

    def text(self, said: Any) -> str:
        """The text of a message, or the text that it is."""
        if isinstance(said, str):
            return self.parse(said)
        if is_message(said):
            content = said.content
            return self.parse(content if isinstance(content, str) else text_of(content))
        return generation_of(self, said).text

    def run_unheard(self, input: Any, config: Any) -> str:
        """`invoke` when nobody listens."""
        return self.text(input)

    async def arun_unheard(self, input: Any, config: Any) -> str:
        """`ainvoke` when nobody listens."""
        return self.text(input)

    async def aparse_result(self, result: list[Any], *, partial: bool = False) -> str:
        """`parse_result`; it needs no thread."""
        return self.parse_result(result, partial=partial)

    def _transform(self, input: Iterator[Any]) -> Iterator[str]:
        text = self.text
        if type(self).parse is not StrOutputParser.parse:
            yield from map(text, input)
            return
        for chunk in input:  # what nearly all chunks are is read here, without a call
            if chunk.__class__ is AIMessageChunk and chunk.content.__class__ is str:
                yield chunk.content
            else:
                yield text(chunk)

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[str]:
        text = self.text
        async for chunk in input:
            yield text(chunk)


__all__ = ["StrOutputParser"]
