"""Answers in a form: the schema that a caller gives, how a model is bound to it, how it is read.

A schema is a pydantic class (its instances come out), a TypedDict or a JSON schema (dicts do).
Two ways to read an answer: the arguments of the one tool that the model had to call, and JSON text.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Literal, cast

from plait.errors import ModelError
from plait.exceptions import OutputParserException
from plait.messages import AIMessage, message_chunk_to_message
from plait.messages.calls import ENDS_EARLY
from plait.messages.partial_json import parse_partial_json
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig

Source = Literal["tool", "json"]


class StructuredOutputError(ModelError, OutputParserException):
    """A model answered in another form than it was asked for."""

    is_retryable = True

    def __init__(self, message: str, llm_output: str | None = None) -> None:
        OutputParserException.__init__(self, message, llm_output=llm_output)
        ModelError.__init__(self, message)


def by_tool(
    model: Any, schema: Any, include_raw: bool, *, tool_choice: Any, **kwargs: Any
) -> Runnable[Any, Any]:
    """A model that must call one tool whose arguments are the value."""
    bound = model.bind_tools([schema], tool_choice=tool_choice, **kwargs)
    return bound | StructuredOutput(schema, "tool", include_raw)


def is_pydantic(schema: Any) -> bool:
    """Whether a schema is a pydantic class."""
    return isinstance(schema, type) and hasattr(schema, "model_validate")


def schema_name(schema: Any) -> str:
    """The name of a schema: its class's, or the title (or tool name) of a JSON schema.

    Raises:
        ValueError: It has none.
    """
    if isinstance(schema, type):
        return schema.__name__
    described = cast("Mapping[str, Any]", schema)
    function = described.get("function", described)
    name = function.get("name") or function.get("title")
    if not isinstance(name, str):
        raise ValueError(
            "A JSON schema for an answer needs a title, which names it to the model: "
            f"{{'title': 'Person', 'type': 'object', ...}}. Got {schema!r:.200}."
        )
    return name


def json_schema(schema: Any) -> dict[str, Any]:
    """The JSON schema of a pydantic class, TypedDict, or JSON schema (also one inside a tool).

    >>> json_schema({"title": "A", "type": "object"})
    {'title': 'A', 'type': 'object'}
    """
    if is_pydantic(schema):
        return schema.model_json_schema()
    if isinstance(schema, Mapping):
        described = cast("dict[str, Any]", schema)
        described = described.get("function", described)
        inner: Any = described.get("parameters") or described.get("schema")
        return cast("dict[str, Any]", inner) if isinstance(inner, dict) else dict(described)
    from plait.utils.function_calling import convert_to_json_schema  # loads pydantic

    return convert_to_json_schema(schema)


class StructuredOutput(Runnable[Any, Any]):
    """Reads the value out of a model's message.

    Args:
        schema: What the value should be.
        source: "tool": the arguments of the call of the tool; "json": the text.
        include_raw: Give a dict of `raw`, `parsed` and `parsing_error`.
    """

    def __init__(self, schema: Any, source: Source, include_raw: bool = False) -> None:
        self.schema = schema
        self.source: Source = source
        self.include_raw = include_raw

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The value in a message."""
        if not self.include_raw:
            return self.value(input)
        try:
            return {"raw": input, "parsed": self.value(input), "parsing_error": None}
        except Exception as error:  # whatever reading it raised belongs to the caller
            return {"raw": input, "parsed": None, "parsing_error": error}

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The value in a message; reading it blocks nothing."""
        return self.invoke(input)

    def transform(
        self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """The value as it grows, or with `include_raw` when it is whole.

        Of a pydantic class, what is there so far comes once the class takes it.
        """
        total, last = None, None
        for chunk in input:
            total = chunk if total is None else total + chunk
            if (value := self._partial(total)) not in (None, last):
                yield value
                last = value
        yield from self._rest(total, last)

    async def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """The async twin of `transform`."""
        total, last = None, None
        async for chunk in input:
            total = chunk if total is None else total + chunk
            if (value := self._partial(total)) not in (None, last):
                yield value
                last = value
        for value in self._rest(total, last):
            yield value

    def value(self, message: Any) -> Any:
        """The value in a message, or in the chunks that a whole stream adds up to; None if no tool
        was called.

        Raises:
            StructuredOutputError: Another tool was called, the text is no JSON, or the arguments
                are none (an answer that was cut off).
            ValidationError: The pydantic class refuses it.
        """
        message = message_chunk_to_message(message)
        found = self._called(message) if self.source == "tool" else self._said(message)
        if found is None or not is_pydantic(self.schema):
            return found
        return self.schema.model_validate(found)

    def _called(self, message: AIMessage) -> Any:
        name = schema_name(self.schema)
        if not message.tool_calls:
            self._check_readable(message, name)
        if not is_pydantic(self.schema):
            fitting = (call["args"] for call in message.tool_calls if call["name"] == name)
            return next(fitting, None)
        for call in message.tool_calls:
            if call["name"] == name:
                return call["args"]
            raise StructuredOutputError(
                f"The model called {call['name']!r} with {call['args']!r:.200}; the only tool it "
                f"was given is {name!r}."
            )
        return None

    def _check_readable(self, message: AIMessage, name: str) -> None:
        for call in message.invalid_tool_calls:
            if call["name"] == name:
                raise StructuredOutputError(
                    f"The model called {name!r} with arguments that cannot be read: "
                    f"{call['args']!r:.300}. {ENDS_EARLY}",
                    llm_output=call["args"],
                )

    def _said(self, message: AIMessage) -> Any:
        refusal = message.additional_kwargs.get("refusal")
        if refusal:
            raise StructuredOutputError(f"The model refused to answer: {refusal}")
        text = str(message.text)
        try:
            return json.loads(unfenced(text))
        except json.JSONDecodeError as error:
            expected = schema_name(self.schema) if self.schema is not None else "any JSON"
            raise StructuredOutputError(
                f"The model was asked for JSON ({expected}) and answered {text!r:.300}: {error}. "
                f"{ENDS_EARLY}",
                llm_output=text,
            ) from error

    def _partial(self, message: Any) -> Any:
        """What is there so far, if that can be shown: the value of half an answer."""
        if self.include_raw:
            return None
        try:
            if self.source == "tool":
                found = self._called(message)
            else:
                found = parse_partial_json(unfenced(str(message.text)))
            if found is None or not is_pydantic(self.schema):
                return found
            return self.schema.model_validate(found)
        except ValueError:  # half a name, half a text, or not yet what the class takes
            return None

    def _rest(self, total: Any, last: Any) -> Iterator[Any]:
        """What a stream that has ended shows beside the last value that it showed.

        Raises:
            StructuredOutputError: It was cut off: what it showed is not all.
        """
        if total is None:
            return
        value = self.invoke(total)
        if last is None or value != last:
            yield value


def unfenced(text: str) -> str:
    r"""JSON without the Markdown fence that many models put around it.

    >>> unfenced('```json\n{"a": 1}\n```')
    '{"a": 1}'
    """
    match = re.match(r"\s*```(?:json)?\s*(.*?)\s*(?:```\s*)?$", text, re.DOTALL)
    return match[1] if match else text
