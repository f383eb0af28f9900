"""Tools in the forms of providers: `convert_to_openai_tool` and its siblings."""

import datetime
import enum
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolArg, Tool, tool
from langchain_core.utils.function_calling import (
    convert_to_json_schema,
    convert_to_openai_function,
    convert_to_openai_tool,
    tool_example_to_messages,
)
from pydantic import BaseModel, Field


class Inner(BaseModel):
    """Inner."""

    q: int = Field(3, description="qq", ge=1)


class Kind(enum.Enum):
    A = "a"
    B = "b"


class Model(BaseModel):
    """A model."""

    a: int = Field(description="the a")
    b: list[str] | None = None
    inner: Inner
    inners: list[Inner] = []
    maybe: Inner | None = None
    kind: Kind = Kind.A
    title: str = "t"


class Tree(BaseModel):
    """A tree."""

    children: list["Tree"] = []


class Keys(TypedDict, total=False):
    """Some keys.

    Args:
        c: the c
    """

    a: Annotated[int, ..., "the a"]
    b: Annotated[str, "default", "the b"]
    c: list[int]
    d: Annotated[str | None, None, "the d"]


class More(TypedDict):
    """More keys."""

    keys: Keys
    counts: list[dict[str, int]]
    either: int | str
    choice: Literal["x", "y"]


def function(
    a: int,
    b: list[str] | None = None,
    *,
    k: Literal["x", "y"] = "x",
    inner: Inner = None,
    when: datetime.datetime = None,  # noqa: RUF013
    any: Any = None,
    pair: tuple[int, str] = (1, "x"),
    hidden: Annotated[str, InjectedToolArg] = "",
):
    """A function.

    More about it.

    Args:
        a: the a
        b: the b
    """


JSON = {
    "type": "object",
    "title": "Json",
    "description": "described",
    "properties": {"a": {"type": "object", "properties": {"title": {"type": "string"}}}},
    "required": ["a"],
}


def all_forms(thing):
    return [
        convert_to_openai_tool(thing),
        convert_to_openai_tool(thing, strict=True),
        convert_to_openai_function(thing, strict=False),
        convert_to_json_schema(thing),
    ]


def case_functions(env):
    return all_forms(function)


def case_undocumented_functions(env):
    def bare(a: int, b=2):
        pass

    return all_forms(bare)


def case_models(env):
    return all_forms(Model), all_forms(Tree)


def case_typed_dicts(env):
    return all_forms(Keys), all_forms(More)


def case_json_schemas(env):
    return all_forms(JSON), convert_to_openai_function({"title": "bare", "type": "object"})


def case_tools(env):
    documented = tool(parse_docstring=True)(function)
    plain = tool(function)
    one = Tool(name="one", func=lambda x: x, description="One.")
    schema = tool(args_schema=JSON)(lambda a: a) if False else tool("json", args_schema=JSON)(len)
    modelled = tool("modelled", args_schema=Model)(function)
    return [all_forms(made) for made in (documented, plain, modelled)], [
        convert_to_openai_tool(made) for made in (one, schema)
    ]


def case_dicts_of_providers(env):
    shape = {"type": "object", "properties": {}}
    dicts = [
        {"name": "x", "description": "d", "input_schema": shape},
        {"name": "x", "input_schema": shape, "cache_control": {}},
        {"toolSpec": {"name": "x", "description": "d", "inputSchema": {"json": shape}}},
        {"name": "x", "parameters": shape, "other": 1, "strict": True},
        {"name": "x"},
        {"type": "function", "function": {"name": "x"}},
        {"type": "file_search", "x": 1},
        {"type": "web_search_preview"},
        {"type": "web_search"},
        {"type": "code_interpreter", "container": {}},
        {"type": "image_generation"},
        {"type": "mcp", "server_label": "x"},
        {"type": "custom", "name": "x"},
    ]
    return [convert_to_openai_tool(d) for d in dicts]


def case_what_cannot_be_converted(env):
    conflicting = {"name": "x", "strict": True}
    return [
        env.error(lambda: convert_to_openai_tool({"zz": 1})),
        env.error(lambda: convert_to_openai_tool({"type": "object", "properties": {}})),
        env.error(lambda: convert_to_openai_tool(5)),
        env.error(lambda: convert_to_openai_tool("x")),
        env.error(lambda: convert_to_openai_function(conflicting, strict=False)),
        env.error(lambda: convert_to_json_schema({"zz": 1})),
        env.error(lambda: convert_to_openai_function(RunnableLambda(lambda x: x))),
    ]


def case_examples_as_messages(env):
    made = tool_example_to_messages("hi", [Inner(q=1), Inner(q=2)], ["x", "y"], ai_response="r")
    default = tool_example_to_messages("hi", [Inner(q=1)])
    return (
        [(m.type, m.content) for m in made],
        [(c["name"], c["args"]) for c in made[1].tool_calls],
        [c["function"] for c in made[1].additional_kwargs["tool_calls"]],
        made[2].tool_call_id == made[1].tool_calls[0]["id"],
        [(m.type) for m in default],
    )
