"""What random programs found of parsers: names in pieces, odd arguments, lists on lines."""

import sys

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import (
    BaseCumulativeTransformOutputParser,
    CommaSeparatedListOutputParser,
    PydanticOutputParser,
    PydanticToolsParser,
)
from langchain_core.output_parsers.json import (
    parse_and_check_json_markdown,
    parse_json_markdown,
    parse_partial_json,
)
from pydantic import BaseModel


class Point(BaseModel):
    x: int


def _piece(name, args):
    return AIMessageChunk(
        "", tool_call_chunks=[{"name": name, "args": args, "index": 0, "id": "1"}]
    )


def _read(*pieces):
    return list(PydanticToolsParser(tools=[Point]).transform(iter(pieces)))


def case_unknown_tools_in_a_stream(env):
    return [
        env.error(lambda: _read(_piece("Other", '{"x"'), _piece(None, ": 1}"))),
        env.error(lambda: _read(_piece("Point", '{"x"'), _piece(None, ": 1}"))),
        env.error(lambda: _read(_piece("Pointed", "{}"))),
    ]


def case_names_of_tools_in_pieces(env):
    return env.error(lambda: _read(_piece("Po", '{"x"'), _piece("int", ": 1}")))


def case_arguments_that_are_no_object(env):
    def made(arguments):
        call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return AIMessage("", additional_kwargs={"tool_calls": [call]}).invalid_tool_calls

    return [env.error(lambda text=text: made(text)) for text in ("[1]", "1", "{", "null")]


def case_items_on_lines_streamed(env):
    return list(CommaSeparatedListOutputParser().transform(iter(["a\n", "b\n", "c, "])))


def case_models_of_the_first_pydantic(env):
    if sys.version_info >= (3, 14):
        return "there is none"
    from pydantic.v1 import BaseModel as First

    class Spot(First):
        x: int

    parser = PydanticOutputParser(pydantic_object=Spot)
    wrong = _piece("Spot", '{"x": "q"}')
    return [
        parser.parse('{"x": 1}').dict(),
        [spot.dict() for spot in parser.transform(iter(['{"x"', ": 1", "2}"]))],
        env.error(lambda: parser.parse('{"x": "q"}')),
        bool(parser.get_format_instructions()),
        env.error(lambda: list(PydanticToolsParser(tools=[Spot]).transform(iter([wrong])))),
    ]


def case_schemas_of_parsers_of_tools(env):
    parsers = [PydanticToolsParser(tools=[Point], first_tool_only=one) for one in (True, False)]
    return [parser.get_output_jsonschema() for parser in parsers]


class Said(BaseCumulativeTransformOutputParser):
    def parse(self, text):
        return text


def case_whole_messages_in_a_stream(env):
    a, b = AIMessage("a"), AIMessage("b")
    streams = [[a, b], [a, AIMessageChunk("b")], [AIMessageChunk("a"), b], [HumanMessage("a"), b]]
    return [list(Said().transform(iter(messages))) for messages in streams]


def case_readers_of_json_by_their_older_path(env):
    return (
        parse_partial_json('{"a": [1, "x'),
        parse_json_markdown('so: ```json\n{"a": 1}\n```'),
        parse_and_check_json_markdown('{"a": 1}', ["a"]),
        env.error(lambda: parse_and_check_json_markdown('{"a": 1}', ["b"])),
    )
