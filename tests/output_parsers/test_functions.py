"""Parsers of function calls say what was called and what is known."""

import pytest
from pydantic import BaseModel, ValidationError

from plait.exceptions import OutputParserException
from plait.messages import AIMessage
from plait.output_parsers.openai_functions import (
    JsonKeyOutputFunctionsParser,
    JsonOutputFunctionsParser,
    PydanticOutputFunctionsParser,
)


class Add(BaseModel):
    a: int


def called(name: str, arguments: str) -> AIMessage:
    call = {"name": name, "arguments": arguments}
    return AIMessage("", additional_kwargs={"function_call": call})


def test_an_unknown_function_is_named_beside_the_known_ones() -> None:
    parser = PydanticOutputFunctionsParser(pydantic_schema={"add": Add})
    with pytest.raises(OutputParserException, match=r"called 'sub'. Known functions: 'add'"):
        parser.invoke(called("sub", "{}"))


def test_an_argument_that_is_missing_is_named() -> None:
    parser = JsonKeyOutputFunctionsParser(key_name="b")
    with pytest.raises(OutputParserException, match=r"call of 'add' has no 'b': \{'a': 1\}"):
        parser.invoke(called("add", '{"a": 1}'))


def test_arguments_that_do_not_fit_are_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        PydanticOutputFunctionsParser(pydantic_schema=Add).invoke(called("add", '{"a": "x"}'))
    assert caught.value.__notes__ == [
        """These were the arguments of a call of 'add': '{"a": "x"}'."""
    ]


def test_tool_calls_are_told_where_to_go() -> None:
    message = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1"}])
    with pytest.raises(OutputParserException, match="openai_tools"):
        JsonOutputFunctionsParser().invoke(message)
