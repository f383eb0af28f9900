"""`JsonOutputParser`: JSON from what a model says, also while it is still talking."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from plait.chat_models.results import Generation
from plait.exceptions import OutputParserException
from plait.messages.partial_json import is_too_deep
from plait.output_parsers.base import generation_of
from plait.output_parsers.json_text import NOTHING, JsonStream, changes
from plait.output_parsers.transform import BaseCumulativeTransformOutputParser
from plait.typing import TypeVar
from plait.utils.json import (
    parse_and_check_json_markdown,
    parse_json_markdown,
    parse_partial_json,
)

T = TypeVar("T", default=Any)


class JsonOutputParser(BaseCumulativeTransformOutputParser[T]):
    """JSON, alone or in a fence. A stream gives what the text so far amounts to.

    Args:
        pydantic_object: A pydantic model, for the instructions to the model that answers.
        diff: A stream gives JSON patches.

    >>> list(JsonOutputParser().transform(iter(['{"a', '": "x', 'y"}'])))
    [{}, {'a': 'x'}, {'a': 'xy'}]
    """

    pydantic_object: Any = None

    @property
    def OutputType(self) -> Any:
        """Anything that JSON can be."""
        return Any

    @property
    def _type(self) -> str:
        return "simple_json_output_parser"

    def parse_result(self, result: list[Any], *, partial: bool = False) -> Any:
        """The value of the JSON of the first candidate; if `partial`, None for no JSON yet.

        Raises:
            OutputParserException: There is none, or it nests too deep.
        """
        text = result[0].text.strip()
        try:
            return parse_json_markdown(text)
        except json.JSONDecodeError as error:
            if partial and not is_too_deep(error):
                return None
            raise _no_json(text, error) from error

    def parse(self, text: str) -> Any:
        """The value of the JSON in a text.

        Raises:
            OutputParserException: There is none.
        """
        return self.parse_result([Generation(text)])

    def get_format_instructions(self) -> str:
        """What to tell a model so that it answers in JSON."""
        if self.pydantic_object is None:
            return "Return a JSON object."
        return instructions_for(self.pydantic_object)

    def _diff(self, prev: Any, next: Any) -> list[dict[str, Any]]:
        return changes(prev, next)

    # --- streams ---------------------------------------------------------------------------------

    def _of_value(self, value: Any) -> Any:
        """What is given for the JSON value that came so far; None for nothing yet."""
        return value

    def _transform(self, input: Iterator[Any]) -> Iterator[Any]:
        stream, before = JsonStream(), None
        for chunk in input:
            parsed = self._after(stream, chunk)
            if parsed is not None and parsed != before:
                yield self._diff(before, parsed) if self.diff else parsed
                before = parsed

    async def _atransform(self, input: AsyncIterator[Any]) -> AsyncIterator[Any]:
        stream, before = JsonStream(), None
        async for chunk in input:
            parsed = self._after(stream, chunk)
            if parsed is not None and parsed != before:
                yield self._diff(before, parsed) if self.diff else parsed
                before = parsed

    def _after(self, stream: JsonStream, chunk: Any) -> Any:
        text = chunk if isinstance(chunk, str) else generation_of(self, chunk).text
        try:
            value = stream.feed(text)
        except json.JSONDecodeError as error:
            raise _no_json(error.doc, error) from error
        return None if value is NOTHING or value is None else self._of_value(value)


SimpleJsonOutputParser = JsonOutputParser
"""`JsonOutputParser`, under its older name."""


def instructions_for(model: Any) -> str:
    """What to tell a model so that it answers with an instance of a pydantic model."""
    of_model = getattr(model, "model_json_schema", None) or model.schema  # pydantic 1
    schema = dict(of_model())
    schema.pop("title", None)
    schema.pop("type", None)
    shown = json.dumps(schema, ensure_ascii=False)
    return (
        "Answer with one JSON value and nothing else: no words before or after it, no fence, no "
        "comments. It must be an instance of the JSON schema below (an instance, not the schema: "
        'for {"properties": {"name": {"type": "string"}}} it would be {"name": "Ann"}).\n\n'
        f"```\n{shown}\n```"
    )


def _no_json(text: str, error: json.JSONDecodeError) -> OutputParserException:
    shown = text if len(text) <= 2000 else f"{text[:1000]} [...] {text[-1000:]}"
    return OutputParserException(
        f"Invalid json output: expected JSON, alone or in a ```json fence, received: {shown!r} "
        f"({error.msg} at character {error.pos}).",
        llm_output=text,
    )


__all__ = [
    "JsonOutputParser",
    "SimpleJsonOutputParser",
    "parse_and_check_json_markdown",
    "parse_json_markdown",
    "parse_partial_json",
]
