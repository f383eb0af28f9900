"""create_agent's structured responses: strategies, schemas, errors, beside tools and middleware."""

from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, Union

from langchain.agents import create_agent
from langchain.agents.middleware import after_agent, after_model, before_model, wrap_model_call
from langchain.agents.structured_output import (
    AutoStrategy,
    MultipleStructuredOutputsError,
    OutputToolBinding,
    ProviderStrategy,
    ProviderStrategyBinding,
    StructuredOutputError,
    StructuredOutputValidationError,
    ToolStrategy,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from .scripted import Scripted, add, ai, call

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}


class Bound(Scripted):
    """Keeps what was bound to it, and has a profile."""

    profile: Any = None

    def noted(self, messages, stop, kwargs):
        return {k: v for k, v in kwargs.items() if v}


def model_of(*script, profile=None):
    return Bound(script=list(script), seen=[], profile=profile)


@tool(return_direct=True)
def direct(a: int) -> str:
    """Ends the loop."""
    return f"direct {a}"


class Weather(BaseModel):
    """The weather."""

    degrees: int
    sky: str = Field("clear", description="What it looks like.")


class Count(BaseModel):
    count: int


class Typed(TypedDict):
    """A typed dict."""

    degrees: int
    sky: NotRequired[str]


@dataclass
class Data:
    """A dataclass."""

    degrees: int


JSON = {
    "title": "Json",
    "description": "A schema.",
    "type": "object",
    "properties": {"degrees": {"type": "integer"}},
    "required": ["degrees"],
}
OTHER = {**JSON, "title": "Other"}


def picture(graph):
    drawn = graph.get_graph()
    edges = sorted((one.source, one.target, one.conditional) for one in drawn.edges)
    return list(drawn.nodes), edges


def plain(value):
    """A response as plain data: text of errors holds addresses of documents of one pydantic."""
    return value.model_dump() if isinstance(value, BaseModel) else value


def run(form, *script, tools=(), profile=None, **more):
    """The updates of a run (without long error texts), the response, what was bound, the graph."""
    model = model_of(*script, profile=profile)
    agent = create_agent(model, list(tools), response_format=form, **more)
    result = agent.invoke(USER, {"recursion_limit": 20})
    told = [
        (one.type, one.content[:60], one.name, getattr(one, "tool_calls", None))
        for one in result["messages"]
    ]
    response = result.get("structured_response", "nothing")
    return told, type(response).__name__, plain(response), model.seen, picture(agent)


def answer(name, **args):
    return ai(call(name, **args))


def case_schemas_by_tool(env):
    return [
        run(ToolStrategy(Weather), answer("Weather", degrees=1)),
        run(ToolStrategy(Typed), answer("Typed", degrees=1)),
        run(ToolStrategy(Data), answer("Data", degrees=1)),
        run(ToolStrategy(JSON), answer("Json", degrees=1)),
        run(ToolStrategy(JSON), answer("Json", degrees="unchecked")),
    ]


async def case_schemas_by_tool_async(env):
    model = model_of(answer("Weather", degrees="x"), answer("Weather", degrees=1))
    agent = create_agent(model, [add], response_format=ToolStrategy(Weather))
    result = await agent.ainvoke(USER)
    return len(result["messages"]), result["structured_response"].model_dump(), model.seen


def case_unions(env):
    return [
        run(ToolStrategy(Union[Weather, Count]), answer("Count", count=1)),  # noqa: UP007
        run(ToolStrategy(Weather | Typed | Data), answer("Data", degrees=1)),
        run(ToolStrategy({"oneOf": [JSON, OTHER]}), answer("Other", degrees=2)),
        run(Weather | Count, answer("Count", count=1)),
    ]


def case_what_the_model_is_told(env):
    told = ToolStrategy(Weather, tool_message_content="Got it.")
    return [
        run(told, answer("Weather", degrees=1)),
        run(ToolStrategy(Count), answer("Count", count=3)),
    ]


def case_answers_that_do_not_fit(env):
    script = answer("Weather", degrees="x"), answer("Weather", degrees=1)
    handlers = (
        True,
        "Try again.",
        StructuredOutputValidationError,
        StructuredOutputError,
        (ValueError, StructuredOutputError),
        lambda error: f"It was {type(error).__name__}.",
    )
    return [run(ToolStrategy(Weather, handle_errors=one), *script) for one in handlers]


def case_errors_that_are_raised(env):
    script = answer("Weather", degrees="x"), answer("Weather", degrees=1)
    handlers = False, ValueError, MultipleStructuredOutputsError, (KeyError, TypeError)
    return [
        env.error(lambda one=one: run(ToolStrategy(Weather, handle_errors=one), *script))
        for one in handlers
    ]


def case_several_answers(env):
    both = ai(call("Weather", degrees=1), call("Count", "2", count=2))
    form = Weather | Count
    script = both, answer("Count", count=3)
    return [
        run(ToolStrategy(form), *script),
        run(ToolStrategy(form, handle_errors=MultipleStructuredOutputsError), *script),
        env.error(lambda: run(ToolStrategy(form, handle_errors=False), *script)),
        run(
            ToolStrategy(Count),
            ai(call("Count", count=1), call("Count", "2", count=2)),
            tools=[add],
        ),
    ]


def case_text_where_no_tool_is(env):
    return env.error(lambda: run(ToolStrategy(Count), "I cannot.", "No."))


def case_beside_tools(env):
    form = ToolStrategy(Weather)
    return [
        run(form, ai(call("add", a=1, b=2)), answer("Weather", degrees=1), tools=[add]),
        run(form, ai(call("add", a=1, b=2), call("Weather", "2", degrees=1)), tools=[add]),
        run(form, "no answer", tools=[add]),
        run(form, ai(call("add", a=1, b=2)), "no answer", tools=[add]),
        run(form, ai(call("direct", a=1)), tools=[add, direct]),
    ]


def case_an_answer_that_does_not_fit_beside_a_tool(env):
    script = ai(call("add", a=1, b=2), call("Weather", "2", degrees="x"))
    return run(ToolStrategy(Weather), script, answer("Weather", degrees=1), tools=[add])


def case_updates(env):
    def updates(form, *script):
        agent = create_agent(model_of(*script), [add], response_format=form)
        return [
            {node: {k: plain(v) for k, v in update.items()} for node, update in part.items()}
            for part in agent.stream(USER)
        ]

    return [
        updates(None, "a"),
        updates(ToolStrategy(Weather), ai(call("add", a=1, b=2)), answer("Weather", degrees=1)),
        updates(ToolStrategy(Weather), "x"),
        updates(ProviderStrategy(Count), ai(call("add", a=1, b=2)), '{"count": 1}'),
    ]


def case_by_the_provider(env):
    said = '{"degrees": 1}'
    blocks = AIMessage([{"type": "text", "text": '{"degrees":'}, {"type": "text", "text": " 2}"}])
    return [
        run(ProviderStrategy(Weather), said),
        run(ProviderStrategy(Typed), said),
        run(ProviderStrategy(Data), said),
        run(ProviderStrategy(JSON), said),
        run(ProviderStrategy(Data), blocks),
        run(ProviderStrategy(Weather, strict=True), said),
        run(ProviderStrategy(Weather, strict=False), said),
        run(ProviderStrategy(Weather), said, tools=[add]),
        run(ProviderStrategy(Weather), ai(call("add", a=1, b=2)), said, tools=[add]),
    ]


def case_wrong_answers_by_the_provider(env):
    return [
        env.error(lambda: run(ProviderStrategy(Weather), '{"degrees": "x"}')),
        env.error(lambda: run(ProviderStrategy(Weather), "no JSON")),
        env.error(lambda: run(ProviderStrategy(Weather), '{"other": 1}')),
    ]


def case_strategies_chosen_by_the_model(env):
    can = {"structured_output": True}
    return [
        run(Weather, answer("Weather", degrees=1), tools=[add]),
        run(JSON, answer("Json", degrees=1)),
        run(Typed, answer("Typed", degrees=1)),
        run(AutoStrategy(Weather), answer("Weather", degrees=1)),
        run(Weather, '{"degrees": 1}', profile=can),
        run(AutoStrategy(Weather), '{"degrees": 1}', tools=[add], profile=can),
        run(Weather, answer("Weather", degrees=1), profile={"structured_output": False}),
    ]


def case_with_middleware(env):
    hooks = [
        after_model(name="AM")(lambda state, runtime: None),
        before_model(name="BM")(lambda state, runtime: None),
        after_agent(name="AA")(lambda state, runtime: None),
    ]
    script = answer("Weather", degrees="x"), answer("Weather", degrees=1)
    return [
        run(ToolStrategy(Weather), *script, tools=tools, middleware=middleware)
        for tools in ([], [add])
        for middleware in (hooks, hooks[:1], hooks[1:])
    ]


def case_strategies_that_middleware_chooses(env):
    def choosing(form):
        return wrap_model_call(name="W")(lambda r, h: h(r.override(response_format=form)))

    both = ToolStrategy(Weather | Count)
    return [
        run(both, answer("Count", count=1), middleware=[choosing(ToolStrategy(Count))]),
        run(both, "text", tools=[add], middleware=[choosing(None)]),
        run(both, '{"count": 2}', middleware=[choosing(ProviderStrategy(Count))]),
        run(None, '{"count": 2}', tools=[add], middleware=[choosing(ProviderStrategy(Count))]),
        run(both, answer("Count", count=3), middleware=[choosing(Count)]),
        env.error(lambda: run(Weather, middleware=[choosing(ToolStrategy(Count))])),
    ]


def case_what_middleware_sees(env):
    seen = []

    def look(request, handler):
        response = handler(request)
        seen.append(
            (
                type(request.response_format).__name__,
                [one.name for one in request.tools],
                [one.type for one in response.result],
                plain(response.structured_response),
            )
        )
        return response

    form = ToolStrategy(Weather)
    script = ai(call("add", a=1, b=2)), answer("Weather", degrees=1)
    return run(form, *script, tools=[add], middleware=[wrap_model_call(look)]), seen


def case_choices_of_tools(env):
    def choosing(**changes):
        return wrap_model_call(name="W")(lambda r, h: h(r.override(**changes)))

    return [
        run(form, said, tools=[add], middleware=[choosing(tool_choice="auto")])[3]
        for form, said in (
            (ToolStrategy(Count), answer("Count", count=1)),
            (None, "x"),
        )
    ]


def case_turns_of_a_thread(env):
    model = model_of(answer("Typed", degrees=1), ai(call("add", a=1, b=2)), "plain", "more")
    agent = create_agent(
        model, [add], response_format=ToolStrategy(Typed), checkpointer=env.saver()
    )
    return [agent.invoke(USER, THREAD) for _ in range(3)], agent.get_state(THREAD).next


def case_errors(env):
    said = AIMessage("x")
    several = MultipleStructuredOutputsError(["a", "b"], said)
    invalid = StructuredOutputValidationError("a", ValueError("q"), said)
    return [
        (str(several), several.tool_names, several.ai_message),
        (str(invalid), invalid.tool_name, str(invalid.source), invalid.ai_message),
        issubclass(StructuredOutputValidationError, StructuredOutputError),
    ]


def case_bad_schemas(env):
    return [
        env.error(lambda: ToolStrategy(3)),
        env.error(lambda: ToolStrategy(int)),
        env.error(lambda: ProviderStrategy("x")),
        env.error(lambda: ProviderStrategy(Weather | Count)),
    ]


def case_bindings(env):
    spec = ToolStrategy(Weather).schema_specs[0]
    bound = OutputToolBinding.from_schema_spec(spec)
    reader = ProviderStrategyBinding.from_schema_spec(ProviderStrategy(Weather).schema_spec)
    return [
        (spec.name, spec.description, spec.schema_kind, spec.json_schema, spec.strict),
        (bound.tool.name, bound.tool.description, bound.tool.args),
        plain(bound.parse({"degrees": 1})),
        env.error(lambda: bound.parse({"degrees": "x"})),
        plain(reader.parse(AIMessage('{"degrees": 1}'))),
        env.error(lambda: reader.parse(AIMessage("x"))),
        ToolStrategy(Weather) == ToolStrategy(Weather),
    ]


def case_a_response_that_a_tool_writes(env):
    @tool
    def note(call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Note."""
        said = ToolMessage("noted", tool_call_id=call_id)
        return Command(update={"messages": [said], "structured_response": "mine"})

    model = model_of(ai(call("note")), ai(call("Weather", "2", degrees=3)))
    done = create_agent(model, [note], response_format=ToolStrategy(Weather)).invoke(USER)
    return plain(done["structured_response"]), [m.type for m in done["messages"]]


def case_an_answer_that_cannot_be_read_beside_a_tool_call(env):
    broken = {"name": "Weather", "args": "{", "id": "2", "error": "cut off"}
    beside = AIMessage("", tool_calls=[call("add", a=1, b=2)], invalid_tool_calls=[broken])
    model = model_of(beside, ai(call("Weather", "3", degrees=4)))
    done = create_agent(model, [add], response_format=ToolStrategy(Weather)).invoke(USER)
    answers = [m for m in done["messages"] if isinstance(m, ToolMessage)]
    return done["structured_response"], [(m.name, m.status, m.tool_call_id) for m in answers]
