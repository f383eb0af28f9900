"""Haystack's tools, sets of tools, and the component that invokes them."""

# ruff: noqa: UP045, RUF005, RUF013 (types as older programs write them)

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import json
from dataclasses import dataclass
from threading import Event
from typing import Annotated, Literal, Optional

from haystack.components.agents import State
from haystack.components.tools import ToolInvoker
from haystack.components.tools.tool_invoker import ToolOutputMergeError
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import Tool, Toolset, create_tool_from_function, tool
from pydantic import BaseModel

say = ChatMessage.from_assistant
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(name="times", description="Multiply.")
def mul(a: int, b: int = 2) -> int:
    return a * b


@tool
def boom(x: str) -> str:
    """Fail."""
    raise ValueError("boom " + x)


def one(a: int) -> int:
    return a


def handle(old, new):
    return new


def written(value):
    return json.loads(json.dumps(value).replace(__name__, "program"))


def made(**kwargs):
    return Tool(
        **{"name": "t", "description": "d", "parameters": SCHEMA, "function": one, **kwargs}
    )


def call(name, call_id="1", **arguments):
    return say(tool_calls=[ToolCall(name, arguments, call_id)])


def case_decorated(env):
    return add, mul, add.tool_spec


def case_described_parameters(env):
    def weather(
        city: Annotated[str, "the city"] = "Munich",
        unit: Annotated[Literal["C", "F"], "the unit"] = "C",
        days: list[int] = None,
        more: Optional[dict] = None,
    ):
        """The weather.

        Longer."""

    return create_tool_from_function(weather)


def case_parameters_that_are_not_the_model_s(env):
    def scale(x: int, _factor: int = 3) -> int:
        """Scale."""
        return x * _factor

    made = create_tool_from_function(scale)
    return made.tool_spec, made.invoke(x=2)


def case_named_and_described(env):
    return create_tool_from_function(one, name="n", description="")


def case_without_docstring(env):
    return create_tool_from_function(one)


class Point(BaseModel):
    x: int
    title: str = "here"


@dataclass
class Size:
    width: int
    unit: str = "cm"


def case_models_and_dataclasses(env):
    def draw(point: Point, points: list[Point], size: Size):
        """Draw."""

    return create_tool_from_function(draw).parameters


def case_parameters_that_the_state_fills(env):
    def search(query: str, repo: str, limit: int = 3):
        """Search."""

    return [
        create_tool_from_function(search, inputs_from_state={"repository": "repo"}),
        create_tool_from_function(search, inputs_from_state={"repository": "nope"}),
        tool(search, inputs_from_state={"x": "query"}, outputs_to_state={"y": {"source": "z"}}),
    ]


def case_parameter_without_a_type(env):
    def untyped(x, y: int):
        """d"""

    return env.error(lambda: create_tool_from_function(untyped))


class Odd:
    pass


def case_type_without_a_schema(env):
    def odd(x: Odd):
        """d"""

    return env.error(lambda: create_tool_from_function(odd))


def case_tools_that_are_none(env):
    return [
        env.error(lambda: made(parameters={"type": "nope"})),
        env.error(lambda: made(outputs_to_state={"a": 5})),
        env.error(lambda: made(outputs_to_state={"a": {"source": 5}})),
        env.error(lambda: made(outputs_to_state={"a": {"handler": 5}})),
        env.error(lambda: made(outputs_to_string={"source": 5})),
        env.error(lambda: made(outputs_to_string={"handler": 5})),
        env.error(lambda: made(outputs_to_state={"a": {"source": None}})),
        env.error(lambda: made(outputs_to_state={"a": {"handler": None}})),
        env.error(lambda: made(outputs_to_string={"source": None})),
        env.error(lambda: made(outputs_to_string={"handler": None})),
        env.error(lambda: tool(5)),
        env.error(lambda: tool("add")),
        env.error(lambda: create_tool_from_function(5, name="five")),
    ]


SCHEMAS = [
    *(True, {}, None, [], {"type": []}, {"type": ["string", "null"]}, {"type": None}),
    *({"type": "any"}, {"type": ["string", "string"]}, {"enum": []}, {"enum": "x"}),
    *({"items": []}, {"items": True}, {"items": 5}, {"anyOf": []}, {"anyOf": {}}),
    *({"anyOf": [{"type": "x"}]}, {"allOf": [1]}, {"prefixItems": [{}]}, {"not": 1}),
    *({"minimum": True}, {"minimum": "1"}, {"minimum": 1.5}, {"multipleOf": 0}),
    *({"minLength": -1}, {"minLength": 1.0}, {"minLength": 1.5}, {"maxItems": "1"}),
    *({"pattern": 1}, {"pattern": "("}, {"pattern": "^a"}, {"format": "x"}, {"title": 1}),
    *({"description": 1}, {"$ref": 1}, {"$ref": "#/$defs/nope"}, {"additionalProperties": "x"}),
    *({"additionalProperties": {"type": "x"}}, {"uniqueItems": "x"}, {"examples": "x"}),
    *({"properties": {"b": {"type": "x"}}}, {"properties": None}, {"required": "a"}),
    *({"required": ["a", "a"]}, {"required": [1]}, {"required": []}, {"$defs": []}),
    *({"$defs": {"a": 1}}, {"definitions": {"a": {"type": "x"}}}, {"if": 1}, {"x-own": 1}),
    *({"patternProperties": {"^x": {"type": "s"}}}, {"const": 1}, {"default": 1}),
]


def case_schemas_of_parameters(env):
    nested = [{"type": "object", "properties": {"a": one}} for one in SCHEMAS]
    flat = [one for one in SCHEMAS if isinstance(one, dict)]
    return [(str(one), env.error(lambda: made(parameters=one).name)) for one in [*nested, *flat]]


def case_invoked(env):
    return add.invoke(a=1, b=2), mul.invoke(a=4)


def case_invoked_with_an_error(env):
    try:
        boom.invoke(x="1")
    except Exception as error:
        return type(error).__name__, str(error), error.tool_name, type(error.__cause__).__name__


def case_invoked_with_wrong_arguments(env):
    return env.error(lambda: add.invoke(a=1)), env.error(lambda: add.invoke(a=1, b=2, c=3))


def case_written(env):
    return written(
        [
            add.to_dict(),
            made().to_dict(),
            made(
                outputs_to_state={"a": {"handler": handle, "source": "s"}, "b": {"source": "x"}},
                outputs_to_string={"handler": str, "source": "s"},
                inputs_from_state={"x": "a"},
            ).to_dict(),
        ]
    )


def case_back(env):
    tools = [
        made(),
        made(outputs_to_state={"a": {"handler": handle}}, outputs_to_string={"handler": handle}),
    ]
    return [Tool.from_dict(json.loads(json.dumps(it.to_dict()))) == it for it in tools]


def case_lambdas_are_not_written(env):
    return (
        env.error(made(function=lambda a: a).to_dict),
        env.error(made(outputs_to_string={"handler": lambda a: a}).to_dict),
    )


class Shelf:
    @classmethod
    def look(cls, a: int) -> str:
        return f"{cls.__name__} {a}"


def case_class_methods_written_and_back(env):
    looking = made(function=Shelf.look)
    return written(looking.to_dict()), Tool.from_dict(looking.to_dict()).invoke(a=1)


def case_function_that_nobody_knows(env):
    data = made().to_dict()
    data["data"]["function"] = "nowhere.nothing"
    return env.error(lambda: Tool.from_dict(data))


def case_sets(env):
    tools = Toolset([add])
    before = (
        len(tools),
        [it.name for it in tools],
        "add" in tools,
        add in tools,
        mul in tools,
        "times" in tools,
        5 in tools,
        tools[0].name,
        tools == Toolset([add]),
    )
    tools.add(mul)
    other = Toolset([boom])
    return (
        before,
        [it.name for it in tools],
        [it.name for it in tools + other],
        [it.name for it in Toolset([add]) + mul],
        [it.name for it in Toolset([add]) + [mul, boom]],
    )


def case_sets_that_are_none(env):
    tools = Toolset([add])
    return [
        env.error(lambda: Toolset([add, add])),
        env.error(lambda: Toolset(add)),
        env.error(lambda: tools.add(5)),
        env.error(lambda: tools.add(add)),
        env.error(lambda: tools + 5),
        env.error(lambda: tools + add),
        env.error(lambda: tools + ["add"]),
        env.error(lambda: tools + [Toolset([mul])]),
    ]


def case_sets_written_and_back(env):
    tools = Toolset([made(), made(name="u")])
    data = json.loads(json.dumps(tools.to_dict()))
    return written(data), Toolset.from_dict(data) == tools


def case_invoker(env):
    done = ToolInvoker([add, mul]).run([call("add", a=1, b=2), say("text"), call("times", a=5)])
    return done["tool_messages"], done["state"].data


def case_invoker_without_calls(env):
    invoker = ToolInvoker([add])
    return invoker.run([say("hi")])["tool_messages"], invoker.run([])["tool_messages"]


def case_invoker_with_state(env):
    def search(query: str, repo: str):
        """Search."""
        return {"docs": [query, repo]}

    searching = create_tool_from_function(
        search,
        inputs_from_state={"repository": "repo"},
        outputs_to_state={"documents": {"source": "docs"}},
    )
    state = State({"repository": {"type": str}, "documents": {"type": list}}, {"repository": "r"})
    done = ToolInvoker([searching]).run([call("search", query="q")], state=state)
    return done["tool_messages"], done["state"].data, state.data


def case_invoker_raises(env):
    def bad(x: str):
        """Bad."""
        return {"docs": x}

    merging = create_tool_from_function(bad, outputs_to_state={"nope": {"source": "docs"}})
    telling = create_tool_from_function(bad)
    telling.outputs_to_string = {"handler": handle}
    return [
        env.error(lambda: ToolInvoker([add]).run([call("nope")])),
        env.error(lambda: ToolInvoker([boom]).run([call("boom", x="1")])),
        env.error(lambda: ToolInvoker([merging]).run([call("bad", x="1")])),
        env.error(lambda: ToolInvoker([telling]).run([call("bad", x="1")])),
    ]


def case_invoker_tells(env):
    invoker = ToolInvoker([add, boom], raise_on_failure=False)
    return invoker.run([call("nope"), call("boom", x="1"), call("add", a=1)])["tool_messages"]


def case_errors_of_an_invoker_of_ones_own(env):
    made = ToolOutputMergeError.from_exception("look", ValueError("no"))
    return str(made), type(made).__name__, str(ToolOutputMergeError("no room"))


def case_invokers_that_are_none(env):
    return (
        env.error(lambda: ToolInvoker([])),
        env.error(lambda: ToolInvoker([add, add])),
        env.error(lambda: ToolInvoker([add], max_workers=0).run([call("add", a=1, b=1)])),
    )


def case_tools_of_one_run(env):
    invoker = ToolInvoker([add])
    return (
        invoker.run([call("times", a=5)], tools=[mul])["tool_messages"],
        env.error(lambda: invoker.run([call("add", a=1, b=2)], tools=[mul])),
    )


def case_invoker_streams(env):
    heard = []
    calls = say(
        tool_calls=[ToolCall("add", {"a": 1, "b": 2}, "1"), ToolCall("times", {"a": 3}, "2")]
    )
    ToolInvoker([add, mul], streaming_callback=heard.append).run([calls])
    return heard


def case_results_heard_while_others_run(env):
    heard = Event()

    def quick():
        return "quick"

    def slow():
        return heard.wait(0.3)

    tools = [made(name=each.__name__, function=each, parameters={}) for each in (quick, slow)]
    invoker = ToolInvoker(tools)
    calls = [call("quick"), call("slow", "2")]
    done = invoker.run(calls, streaming_callback=lambda chunk: heard.set())
    return [message.tool_call_result.result for message in done["tool_messages"]]


def case_invoker_written_and_back(env):
    invoker = ToolInvoker([made()], max_workers=2, convert_result_to_json_string=True)
    data = json.loads(json.dumps(invoker.to_dict()))
    back = ToolInvoker.from_dict(json.loads(json.dumps(data)))  # the peer changes what it reads
    return written(data), back.to_dict() == data


def shown(x: str):
    """Show."""
    return {"text": x, "more": 1}


def case_a_source_that_is_written_and_read(env):
    made = create_tool_from_function(shown)
    whole = Tool("shown", "Show.", made.parameters, shown, outputs_to_string={"source": "text"})
    return Tool.from_dict(whole.to_dict()).outputs_to_string


def case_annotations_that_name_nothing(env):
    def look(what: "Nothing") -> str:  # noqa: F821 - that is the mistake
        """Look."""
        return what

    return env.error(lambda: create_tool_from_function(look))


def case_annotations_that_no_model_sees(env):
    def look(what: str, shelf: "Nothing", _seen: "Nothing" = None) -> "Nothing":  # noqa: F821
        """Look."""
        return f"{what} on {shelf}"

    looking = create_tool_from_function(look, inputs_from_state={"shelf": "shelf"})
    return looking.tool_spec, looking.invoke(what="a book", shelf="one")
