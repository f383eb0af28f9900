"""What random programs found of parsers: names in pieces, odd arguments, lists on lines."""

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import CommaSeparatedListOutputParser, PydanticToolsParser
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
