"""Answers in a form: what a model refuses, and what a stream of one shows at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from plait.chat_models.structured import StructuredOutput, StructuredOutputError
from plait.messages import AIMessage, AIMessageChunk

SCHEMA = {"title": "Seat", "type": "object", "properties": {"row": {"type": "integer"}}}


async def streamed(chunks: list[Any], **options: Any) -> list[Any]:
    """What a stream shows, the same in both ways."""
    reader = StructuredOutput(SCHEMA, options.pop("source", "json"), **options)

    async def arriving() -> AsyncIterator[Any]:
        for chunk in chunks:
            yield chunk

    shown = [value async for value in reader.atransform(arriving())]
    assert shown == [*reader.transform(iter(chunks))]
    return shown


@pytest.mark.parametrize("text", ["", '{"row": 1}'])
def test_a_refusal_is_told_in_the_words_of_the_model(text: str) -> None:
    refused = AIMessage(text, additional_kwargs={"refusal": "I will not."})
    with pytest.raises(StructuredOutputError, match=r"^The model refused to answer: I will not\.$"):
        StructuredOutput(SCHEMA, "json").invoke(refused)
    told = StructuredOutput(SCHEMA, "json", include_raw=True).invoke(refused)
    assert (told["raw"], told["parsed"]) == (refused, None)
    assert isinstance(told["parsing_error"], StructuredOutputError)


async def test_a_stream_of_nothing_shows_nothing() -> None:
    assert await streamed([]) == []
    assert await streamed([], include_raw=True) == []


async def test_a_stream_does_not_show_its_last_value_twice() -> None:
    chunks = [AIMessageChunk('{"row"'), AIMessageChunk(": 1"), AIMessageChunk("}")]
    assert await streamed(chunks) == [{}, {"row": 1}]


async def test_a_stream_ends_with_what_could_not_be_shown_before() -> None:
    assert await streamed([AIMessageChunk("nu"), AIMessageChunk("ll")]) == [None]
    whole = await streamed([AIMessageChunk('{"row": 1}')], include_raw=True)
    assert [told["parsed"] for told in whole] == [{"row": 1}]


async def test_a_stream_in_which_no_tool_is_called_shows_none() -> None:
    assert await streamed([AIMessageChunk("No seat.")], source="tool") == [None]


async def test_a_stream_that_was_cut_off_is_an_error_after_what_it_showed() -> None:
    with pytest.raises(StructuredOutputError, match="asked for JSON"):
        await streamed([AIMessageChunk('{"row": 1')])
