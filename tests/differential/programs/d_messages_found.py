"""Messages and tools: what LangChain's own tests showed. Streams of calls in OpenAI's older form,
blocks that become whole, constructors as dicts, tokens of tools, and what tool code asks for."""

import asyncio
from functools import update_wrapper
from typing import Annotated, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.load import dumpd, load
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, Tool, tool
from langchain_core.utils.function_calling import (
    convert_to_json_schema,
    convert_to_openai_function,
    convert_to_openai_tool,
    tool_example_to_messages,
)
from langchain_core.utils.json_schema import dereference_refs
from pydantic import BaseModel


def openai_piece(index, **said):
    return AIMessageChunk(content="", additional_kwargs={"tool_calls": [{"index": index, **said}]})


def case_calls_in_openais_older_form_are_streamed(env):
    pieces = [
        openai_piece(0, id="a", function={"name": "f", "arguments": ""}, type="function"),
        openai_piece(0, id=None, function={"name": None, "arguments": '{"x": '}, type=None),
        openai_piece(0, id=None, function={"name": None, "arguments": "1}"}, type=None),
        openai_piece(1, id="b", function={"name": "g", "arguments": "{}"}, type="function"),
    ]
    total = AIMessageChunk(content="")
    for piece in pieces:
        total += piece
    return total.tool_calls, total.tool_call_chunks, total.additional_kwargs, pieces[1].tool_calls


def case_standard_blocks_are_whole_at_the_end(env):
    def call(**more):
        return AIMessageChunk(
            content=[{"type": "tool_call_chunk", "index": 0, **more}],
            tool_call_chunks=[{"index": 0, **more}],
            response_metadata={"output_version": "v1"},
        )

    def server(**more):
        return AIMessageChunk(content=[{"type": "server_tool_call_chunk", "index": 0, **more}])

    end = AIMessageChunk(content=[], chunk_position="last")
    last = AIMessageChunk(
        content=[], chunk_position="last", response_metadata={"output_version": "v1"}
    )
    first = call(name="f", args='{"x": ', id="a") + call(name=None, args="1}", id=None)
    searched = server(name="search") + server(args='{"q": "') + server(args='x"}')
    return [
        first.content,
        (first + end).content,
        (first + end).tool_calls,
        (searched + last).content,
        (server(name="search", args="") + last).content,
        (server(name="search", args="{") + last).content,
        (searched + end).content,
    ]


def case_blocks_of_no_standard_keep_their_type(env):
    def piece(value):
        return AIMessageChunk(content=[{"type": "non_standard", "index": 0, "value": value}])

    told = piece({"type": "start", "a": "x"}) + piece({"type": "delta", "b": "y"})
    return [
        (told + piece({"type": "delta", "b": "z"})).content,
        (piece({"a": "x"}) + piece({"type": "late"})).content,
    ]


def envelope(name, **fields):
    return {"lc": 1, "type": "constructor", "id": ["langchain", "messages", name], "kwargs": fields}


def case_constructors_as_dicts(env):
    given = [
        envelope("HumanMessage", content="x", id="1"),
        envelope("HumanMessageChunk", content="x"),
        envelope("AIMessageChunk", content="x", tool_calls=[]),
        envelope("SystemMessageChunk", content="x"),
        envelope("ToolMessage", content="x", tool_call_id="1", artifact={"a": 1}),
        envelope("ToolMessage", content="x", tool_call_id="1", additional_kwargs={"artifact": 1}),
        envelope("ToolMessageChunk", content="x", tool_call_id="1"),
    ]
    return [
        convert_to_messages(given),
        env.error(lambda: convert_to_messages([envelope("Mystery", content="x")])),
        env.error(lambda: convert_to_messages([{"lc": 1, "content": "x"}])),
    ]


def case_blocks_that_openai_does_not_know(env):
    called = AIMessage(
        content=[
            {"type": "reasoning", "id": "1"},
            {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c", "id": "i"},
        ]
    )
    file = {"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ=="}}
    found = [
        convert_to_openai_messages(called),
        convert_to_openai_messages(called, pass_through_unknown_blocks=False),
        convert_to_openai_messages([HumanMessage(content=[file])]),
    ]
    return found, file


def case_tokens_of_tools(env):
    @tool
    def weather(place: str) -> str:
        """The weather."""
        return place

    shape = {"title": "W", "type": "object", "properties": {"place": {"type": "string"}}}
    dict_tool = StructuredTool.from_function(
        func=lambda place: place, name="weather", description="It.", args_schema=shape
    )
    messages = [HumanMessage("Hello")]
    base = count_tokens_approximately(messages)
    return [
        count_tokens_approximately(messages, tools=[weather]) > base,
        count_tokens_approximately(messages, tools=[dict_tool]) > base,
        count_tokens_approximately(messages, tools=[convert_to_openai_tool(weather)]) > base,
        count_tokens_approximately(messages, tools=[]) == base,
    ]


def case_tokens_that_several_providers_told(env):
    def counted(*providers):
        messages = [
            AIMessage(
                "Well then",
                response_metadata={"model_provider": provider} if provider else {},
                usage_metadata={"input_tokens": 0, "output_tokens": 0, "total_tokens": 100 * n},
            )
            for n, provider in enumerate(providers, 1)
        ]
        return count_tokens_approximately(messages, use_usage_metadata_scaling=True)

    return [
        counted("a", "a"),
        counted("a", "b"),
        counted(None, "a"),
        counted("a", None),
        counted(None, None),
    ]


class Anywhere:
    def add(self, a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    @classmethod
    def made(cls, a: int) -> int:
        """Make."""
        return a


class WebSearch(BaseModel):
    query: str


def case_functions_for_models(env):
    raw = {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {"inner": {"$ref": "#/$defs/Inner"}},
            "$defs": {"Inner": {"type": "object", "properties": {"x": {"type": "string"}}}},
        },
    }
    strict = convert_to_openai_function(raw, strict=True)
    return [
        convert_to_openai_function(Anywhere.add),
        convert_to_openai_function(Anywhere().add),
        convert_to_openai_function(Anywhere.made),
        convert_to_json_schema(Anywhere.add),
        strict["parameters"]["$defs"],
        "required" in raw["parameters"]["$defs"]["Inner"],
        convert_to_openai_tool({"type": "computer", "display_width": 1024}),
        env.error(lambda: tool_example_to_messages("x", [WebSearch(query="a")], ["b", "c"])),
    ]


def case_references_into_lists_and_numbers(env):
    either = [{"type": "string"}, {"properties": {"x": {"$ref": "#/properties/a/anyOf/0"}}}]

    def read(ref, **more):
        shape = {"properties": {"a": {"anyOf": either}, "b": {"$ref": ref}}, **more}
        return dereference_refs(shape)["properties"]

    return [
        read("#/properties/a/anyOf/1"),
        read("#/$defs/400", **{"$defs": {400: {"type": "object"}}})["b"],
        read("#/$defs/T", **{"$defs": {"T": "string"}})["b"],
        env.error(lambda: read("#/properties/a/anyOf/7")),
        env.error(lambda: read("#/properties/a/anyOf/-1")),
        env.error(lambda: read("https://somewhere/else")),
    ]


class Hears(BaseCallbackHandler):
    pass


def case_what_functions_of_one_text_ask_for(env):
    def told(text: str, its_config: RunnableConfig) -> Any:
        return text, its_config["configurable"]

    async def atold(text: str, its_config: RunnableConfig) -> Any:
        return text, its_config["configurable"]

    def called(text: str, callbacks: Any = None) -> str:
        return f"{type(callbacks).__name__} {text}"

    config = {"configurable": {"user": "ann"}}
    one = Tool.from_function(told, name="told", description="Tell.")
    both = Tool.from_function(None, name="told", description="Tell.", coroutine=atold)
    back = Tool.from_function(called, name="called", description="Call.")
    return [
        one.invoke("x", config),
        one.invoke({"text": "x"}, config),
        asyncio.run(one.ainvoke("x", config)),
        asyncio.run(both.ainvoke("x", config)),
        one.args,
        back.invoke("x"),
        back.invoke("x", {"callbacks": [Hears()]}),
    ]


class ReadsItself(BaseTool):
    name: str = "reads"
    description: str = "Reads."

    def _parse_input(self, tool_input, tool_call_id):
        if not tool_input:
            raise NotImplementedError
        return {"a": 5, **tool_input}

    def _run(self, a: int, b: int = 0) -> int:
        return a + b


class ByPlace(BaseTool):
    name: str = "by_place"
    description: str = "By place."

    def _to_args_and_kwargs(self, tool_input, tool_call_id):
        args, kwargs = super()._to_args_and_kwargs(tool_input, tool_call_id)
        return (*args, *kwargs.values()), {}

    def _run(self, first: int, second: int = 0) -> int:
        return first - second


def case_tools_that_read_their_arguments_themselves(env):
    reads = ReadsItself(handle_validation_error=True)
    call = {"type": "tool_call", "name": "reads", "id": "1", "args": {"b": 2}}
    return [
        reads.invoke({"b": 1}),
        reads.invoke(call),
        asyncio.run(reads.ainvoke({"b": 1})),
        env.error(lambda: reads.invoke({})),
        ByPlace().invoke({"second": 3, "first": 1}),
    ]


class Only(BaseModel):
    query: str


class Wrapped:
    def __init__(self, function):
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def case_arguments_beside_types_that_are_missing(env):
    def search(query: "Missing", given: Annotated[str, InjectedToolArg]) -> str:  # noqa: F821
        """Search."""
        return f"{query} {given}"

    def plain(query: str, given: Annotated[str, InjectedToolArg]) -> str:
        """Search."""
        return f"{query} {given}"

    by_schema = tool(args_schema=Only)(search)
    wrapped = StructuredTool.from_function(
        Wrapped(plain), name="search", description="Search.", args_schema=Only
    )
    return [one.invoke({"query": "x", "given": "y"}) for one in (by_schema, wrapped)]


class NoJson:
    pass


def case_dumps_of_tools_with_fields_that_no_json_describes(env):
    @tool
    def search(query: str, by: Annotated[NoJson, InjectedToolArg]) -> str:
        """Search."""
        return query

    dumped = search.model_dump(mode="json")
    return dumped["name"], type(dumped["args_schema"]).__name__, search.args


def case_what_looks_at_objects_before_they_are_made(env):
    written = dumpd([HumanMessage("x", id="1"), {"plain": AIMessage("y", id="2")}])
    asked = []

    def refuse_ai(class_path, kwargs):
        if "AIMessage" in class_path[-1]:
            raise ValueError(class_path)

    missing = {"lc": 1, "type": "not_implemented", "id": ["datetime", "datetime"], "repr": "x"}
    return [
        load(
            written,
            allowed_objects=[HumanMessage, AIMessage],
            init_validator=lambda class_path, kwargs: asked.append(
                (class_path[-1], kwargs["content"])
            ),
        ),
        asked,
        env.error(
            lambda: load(written, allowed_objects="messages", init_validator=refuse_ai),
        ),
        load({"a": missing}, allowed_objects="messages", ignore_unserializable_fields=True),
        env.error(lambda: load({"a": missing}, allowed_objects="messages")),
        load(written, allowed_objects="messages", valid_namespaces=["mine"]),
    ]
