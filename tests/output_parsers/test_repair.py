"""A parser with repair shows the model its answer and the error, and parses what comes back."""

import pytest

from plait.chat_models.fake import FakeListChatModel
from plait.exceptions import OutputParserException
from plait.output_parsers import JsonOutputParser
from plait.runnables import RunnableLambda


def test_the_model_is_shown_its_answer_the_error_and_what_is_expected() -> None:
    asked: list[str] = []

    def model(request: str) -> str:
        asked.append(request)
        return '{"a": 1}'

    repaired = JsonOutputParser().with_repair(RunnableLambda(model)).invoke("a is one")
    assert repaired == {"a": 1}
    assert "a is one" in asked[0]
    assert "Invalid json output" in asked[0]
    assert "Return a JSON object." in asked[0]


def test_an_answer_that_parses_asks_nobody() -> None:
    assert JsonOutputParser().with_repair(None).invoke("[1]") == [1]


async def test_attempts_are_counted_and_the_last_error_is_raised() -> None:
    model = FakeListChatModel(responses=["still no", "nor this", "[2]"])
    with pytest.raises(OutputParserException, match="nor this"):
        await JsonOutputParser().with_repair(model, attempts=2).ainvoke("no")
    chain = RunnableLambda(lambda _: "no") | JsonOutputParser().with_repair(model, attempts=1)
    assert list(chain.stream("x")) == [[2]]
