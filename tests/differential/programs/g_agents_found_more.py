"""What random and hostile agents found: each case was a difference, or is one that has a row."""

import asyncio
import operator
from dataclasses import dataclass
from typing import Annotated, Any

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ExtendedModelResponse,
    HumanInTheLoopMiddleware,
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command
from pydantic import BaseModel
from typing_extensions import TypedDict


class Script(BaseChatModel):
    """Says its messages one after the other."""

    says: list[Any]

    @property
    def _llm_type(self):
        return "script"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self.says.pop(0))])


class Picking(Script):
    """Picks tools, and tells which it was shown afterwards."""

    picks: list[Any]

    def bind_tools(self, tools, **kwargs):
        return self.bind(shown=[one.name for one in tools])

    def with_structured_output(self, schema, **kwargs):
        return RunnableLambda(lambda messages: self.picks.pop(0))

    def _generate(self, messages, stop=None, run_manager=None, shown=(), **kwargs):
        message = AIMessage(f"shown {list(shown)}")
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


HELLO: Any = {"messages": [("user", "hello")]}


def calls(*args, name="add"):
    """A message that calls a tool."""
    made = [{"name": name, "args": one, "id": f"c{n}"} for n, one in enumerate(args)]
    return AIMessage("", tool_calls=made, id="calls")


class Noting(AgentMiddleware):
    """Adds to what the model node writes."""

    class State(AgentState):
        notes: Annotated[list, operator.add]

    state_schema = State

    def wrap_model_call(self, request, handler):
        return ExtendedModelResponse(handler(request), Command(update={"notes": ["asked"]}))

    async def awrap_model_call(self, request, handler):
        response = await handler(request)
        return ExtendedModelResponse(response, Command(update={"notes": ["asked"]}))


class Told(BaseCallbackHandler):
    """Keeps the tags of the runs, and what came of those of a name."""

    def __init__(self, name=None):
        self.name, self.runs, self.ended, self.tags = name, set(), [], []

    def on_chain_start(self, serialized, inputs, *, run_id, tags=None, name=None, **kwargs):
        self.tags.append(tags)
        if name == self.name:
            self.runs.add(run_id)

    def on_chain_end(self, outputs, *, run_id, **kwargs):
        if run_id in self.runs:
            self.ended.append(outputs)


def case_what_the_model_node_gives_to_handlers(env):
    ended = []
    for middleware in ([], [Noting()]):
        told = Told("model")
        agent = create_agent(
            Script(says=[calls({"a": 1}), AIMessage("x")]), [add], middleware=middleware
        )
        agent.invoke(HELLO, {"callbacks": [told]})
        ended.append(told.ended)
    return ended


async def case_what_the_model_node_gives_to_events(env):
    agent = create_agent(Script(says=[AIMessage("x")]), [], middleware=[Noting()])
    return [
        one["data"]
        async for one in agent.astream_events(HELLO, version="v2")
        if one["name"] == "model"
    ]


def tagged(env, *configs, call=()):
    """The tags that a node of a graph is given, and those that handlers are told."""

    def node(state, config):
        return {"x": [config["tags"]]}

    class State(TypedDict):
        x: Annotated[list, operator.add]

    graph: Any = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
    for one in configs:
        graph = graph.with_config(tags=one)
    told = Told()
    found = graph.invoke({"x": []}, {"tags": list(call), "callbacks": [told]})
    return found, told.tags


def case_tags_in_the_order_in_which_they_were_given(env):
    return tagged(env, ["z", "b"], ["y"], call=["a"])


def case_a_tag_that_is_given_twice(env):
    return tagged(env, ["a", "b"], ["a"], call=["b"])


class Nothing(TypedDict):
    """A state without keys."""


@dataclass
class NoField:
    """The same."""


class Plain:
    """The same."""


KEYLESS = (Nothing, NoField, Plain)


def keyless(schema, env, returned=None, **more):
    """A graph whose state has no keys."""
    builder = StateGraph(schema, **more).add_node("node", lambda state: returned)
    return builder.add_edge(START, "node").compile(checkpointer=env.saver(str(schema)))


THREAD: Any = {"configurable": {"thread_id": "1"}}


def case_states_without_keys(env):
    found = []
    for schema in KEYLESS:
        graph = keyless(schema, env)
        found.append((graph.invoke({}, THREAD), graph.invoke({"a": 1}, THREAD)))
        found.append((graph.get_state(THREAD).values, graph.get_input_jsonschema()))
        found.append(env.error(lambda graph=graph: graph.invoke(5, THREAD)))
        found.append(env.error(lambda graph=graph: graph.invoke(None, THREAD)))
        wrong = keyless(schema, env, returned=5)
        found.append(env.error(lambda wrong=wrong: wrong.invoke({}, THREAD)))
    return found


def case_inputs_and_outputs_without_keys(env):
    class State(TypedDict):
        x: int

    found = []
    for schema in KEYLESS:
        for more in ({"input_schema": schema}, {"output_schema": schema}):
            builder = StateGraph(State, **more).add_node("node", lambda state: {"x": 2})
            graph = builder.add_edge(START, "node").compile()
            found.append((graph.invoke({"x": 1}), graph.get_output_jsonschema()))
    return found


def case_values_of_a_state_without_keys(env):
    graph = keyless(Nothing, env)
    parts = list(graph.stream({}, THREAD, stream_mode=["values", "updates"]))
    return parts, [one.values for one in graph.get_state_history(THREAD)]


class Written:
    """A state that is a class of no library."""

    messages: Annotated[list, add_messages]
    x: int


class Derived(Written):
    """The same keys."""


class Managed(Written):
    """A value that the run computes is no key."""

    left: RemainingSteps


def case_schemas_of_plain_classes(env):
    found = []
    for schema in (Written, Derived, Managed):
        builder = StateGraph(schema).add_node("node", lambda state: {"x": 2})
        graph = builder.add_edge(START, "node").compile()
        shown = graph.get_input_jsonschema(), graph.get_output_jsonschema()
        found.append([(sorted(one["properties"]), one["required"], one["title"]) for one in shown])
    return found


def case_states_of_agents_that_are_plain_classes(env):
    found = []
    for schema in (Written, Derived):
        agent = create_agent(Script(says=[AIMessage("x")]), [], state_schema=schema)
        found.append(agent.invoke({**HELLO, "x": 3}))

    class Quiet(AgentMiddleware):
        state_schema = Nothing

    agent = create_agent(Script(says=[AIMessage("x")]), [], middleware=[Quiet()])
    return found, agent.invoke(HELLO)


def case_states_of_agents_that_are_none(env):
    def run(schema):
        return create_agent(Script(says=[AIMessage("x")]), [], state_schema=schema).invoke(HELLO)

    return [env.error(lambda schema=schema: run(schema)) for schema in (*KEYLESS, int, 5)]


def picked(env, *picks, given=HELLO, **options):
    """What an agent's model is shown after tools were picked, or the error."""

    def run():
        model = Picking(says=[], picks=list(picks))
        selector = LLMToolSelectorMiddleware(model=model, **options)
        agent = create_agent(model, [add, echo], middleware=[selector])
        return agent.invoke(given)["messages"][-1].content

    return env.error(run)


def case_tools_picked_wrongly(env):
    return [
        picked(env, {"tools": [{"name": "add"}]}),
        picked(env, {"tools": ["add", 1]}),
        picked(env, {"tools": ["add", "nobody"]}, max_tools=1),
        picked(env, {"tools": ["echo", "echo", "add"]}, max_tools=1),
        picked(env, {"tools": ["add", "echo"]}, max_tools=0),
        picked(env, {"tools": []}),
        picked(env, {}, {"tools": ["add"]}, max_retries=0),
        picked(env, {}, {"tools": ["add"]}),
        picked(env, {}, None, on_parsing_failure=["echo"]),
        picked(env, {}, None, on_parsing_failure=["nobody"]),
        picked(env, {"tools": ["add"]}, always_include=["nobody"]),
    ]


def case_tools_selected_without_a_message_of_the_user(env):
    return picked(env, {"tools": ["add"]}, given={"messages": [AIMessage("x")]})


def case_a_negative_number_of_tools(env):
    return picked(env, {"tools": ["add"]}, max_tools=-1)


def leaving(count, ended):
    """A graph inside another, all of whose nodes lead out of it; the last ends first."""

    class State(TypedDict):
        log: Annotated[list, operator.add]

    def leave(number):
        async def node(state):
            for _ in range(5 * (count - number)):
                await asyncio.sleep(0)
            ended.append(number)
            return Command(graph=Command.PARENT, goto="end", update={"log": [number]})

        return node

    inner = StateGraph(State)
    for number in range(count):
        inner.add_node(str(number), leave(number)).add_edge(START, str(number))
    outer = StateGraph(State).add_node("inner", inner.compile())
    outer.add_node("end", lambda state: {"log": ["end"]}).add_edge(START, "inner")
    return outer.compile()


async def case_all_end_before_one_that_leads_out_of_a_graph_is_followed(env):
    ended: list[int] = []
    await leaving(4, ended).ainvoke({"log": []})
    return ended


async def case_several_that_lead_out_of_a_graph(env):
    """The peer follows any of them: over many runs not always the first."""
    found = [await leaving(4, []).ainvoke({"log": []}) for _ in range(60)]
    return all(one["log"] == [0, "end"] for one in found)


class Point(BaseModel):
    """A point."""

    x: int
    y: str = "a"


class Unsaid(BaseModel):
    data: list[int]


@dataclass
class Pair:
    """A pair."""

    left: int
    right: "str" = "b"


def case_classes_as_tools(env):
    found = []
    for made in map(tool, (Point, Unsaid, Pair)):
        found.append((made.name, made.description, made.args))
    given = [
        ({"x": "3"}, Point),
        ({"data": [1]}, Unsaid),
        ({"left": "4"}, Pair),
    ]
    for args, kind in given:
        says = [calls(args, name=kind.__name__), AIMessage("end")]
        for build in (create_agent, create_react_agent):
            found.append(
                build(Script(says=list(says)), [kind]).invoke(HELLO)["messages"][2].content
            )
    return found


def run_with(tools, build=create_agent):
    return build(Script(says=[calls({"a": 1}), AIMessage("end")]), tools).invoke(HELLO)


def case_tools_of_a_generator(env):
    return [run_with((one for one in [add]), build) for build in (create_agent, create_react_agent)]


def case_tools_that_are_no_list(env):
    found = []
    for build in (create_agent, create_react_agent):
        found += [env.error(lambda b=build, t=t: run_with(t, b)) for t in (add, 5, object())]
    return found


def returning(value):
    @tool("add")
    def give(a: int) -> Any:
        """Give it."""
        return value()

    return give


def case_results_of_tools_that_are_no_values(env):
    async def later():
        return 1

    found = []
    for value in (later, lambda: (n for n in [1])):
        content = run_with([returning(value)])["messages"][2].content
        found.append(content.split(" at ")[0])
    return found


APPROVE = {"allowed_decisions": ["approve"]}
WRONG_OPTIONS: Any = {
    "tools of a retry": lambda: ToolRetryMiddleware(tools="add"),
    "on_failure": lambda: ToolRetryMiddleware(on_failure="ignore"),
    "on_failure of a model": lambda: ModelRetryMiddleware(on_failure="ignore"),
    "retry_on": lambda: ModelRetryMiddleware(retry_on="errors"),
    "retry_on of others": lambda: ToolRetryMiddleware(retry_on=(ValueError, "other")),
    "tools that are played": lambda: LLMToolEmulator(tools="add", model=Script(says=[])),
    "excluded tools": lambda: ClearToolUsesEdit(exclude_tools="add"),
    "keep": lambda: ClearToolUsesEdit(keep=-1),
    "prompt": lambda: SummarizationMiddleware(Script(says=[]), summary_prompt="Sum up."),
    "places": lambda: SummarizationMiddleware(Script(says=[]), summary_prompt="{a} {messages}"),
    "braces": lambda: SummarizationMiddleware(Script(says=[]), summary_prompt="{ {messages}"),
    "counter": lambda: SummarizationMiddleware(Script(says=[]), token_counter=5),
    "limit in quotes": lambda: ModelCallLimitMiddleware(run_limit="3"),
    "negative limit": lambda: ToolCallLimitMiddleware(thread_limit=-1),
    "tool that is limited": lambda: ToolCallLimitMiddleware(run_limit=1, tool_name=["add"]),
    "half a retry": lambda: ModelRetryMiddleware(max_retries=1.5),
    "edit": lambda: ContextEditingMiddleware(edits=[ClearToolUsesEdit]),
    "detector": lambda: PIIMiddleware("order", detector=5),
    "words": lambda: ToolErrorMiddleware("Try again."),
    "tools that are always shown": lambda: LLMToolSelectorMiddleware(always_include="add"),
    "when": lambda: HumanInTheLoopMiddleware({"add": {**APPROVE, "when": True}}),
    "description": lambda: HumanInTheLoopMiddleware({"add": {**APPROVE, "description": 5}}),
}


def case_options_that_are_none(env):
    """The peer takes each; what it does with some when they are used is no one's wish."""
    taken = []
    for name, make in WRONG_OPTIONS.items():
        try:
            make()
        except ValueError:
            continue
        taken.append(name)
    return taken


def case_options_that_are_some(env):
    made = [
        ToolRetryMiddleware(tools=[add, "echo"], on_failure="error", retry_on=(ValueError,)),
        ToolRetryMiddleware(tools=(), on_failure=str, retry_on=lambda error: True),
        ModelRetryMiddleware(on_failure="continue"),
        ContextEditingMiddleware(edits=[ClearToolUsesEdit(exclude_tools=["add"], keep=0)]),
        LLMToolEmulator(tools=["echo"], model=Script(says=[])),
        ModelCallLimitMiddleware(run_limit=5, thread_limit=3),
        ToolCallLimitMiddleware(thread_limit=5, run_limit=0, tool_name="echo"),
        SummarizationMiddleware(Script(says=[]), trigger=("tokens", 1e5), keep=("messages", 2)),
        PIIMiddleware("order", detector=lambda text: [{"start": 0, "end": 1, "value": text[0]}]),
    ]
    agent = create_agent(Script(says=[calls({"a": 1}), AIMessage("x")]), [add], middleware=made[1:])
    return [type(one).__name__ for one in made], agent.invoke(HELLO)


def case_a_tool_picked_that_is_shown_anyway(env):
    return picked(env, {"tools": ["add", "echo"]}, always_include=["add"])


def case_braces_in_a_prompt_for_summaries(env):
    asked = []

    class Told(Script):
        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            asked.append(messages[0].text.partition("!")[0])
            return super()._generate(messages, stop, run_manager, **kwargs)

    for prompt in ('As {{"json": 1}}! {messages}', "{{messages}}! {messages} {messages!r}"):
        model = Told(says=[AIMessage("in short"), AIMessage("done")])
        middleware = SummarizationMiddleware(
            model, trigger=("messages", 2), keep=("messages", 1), summary_prompt=prompt
        )
        create_agent(Script(says=[AIMessage("x")]), [], middleware=[middleware]).invoke(
            {"messages": ["a", "b", "c"]}
        )
    return asked


def case_tool_calls_that_are_set_to_none(env):
    """The peer counts them, and fails."""
    message = AIMessage("no calls")
    message.tool_calls = None
    agent = create_agent(Script(says=[message]), [add])
    return env.error(lambda: [one.text for one in agent.invoke(HELLO)["messages"]])


async def case_a_graph_inside_that_is_watched(env):
    """What the inner graph keeps for itself is in the peer's state where events are streamed."""

    class State(TypedDict, total=False):
        shown: str
        hidden: str

    class Output(TypedDict):
        shown: str

    inner = StateGraph(State, output_schema=Output)
    inner.add_node("work", lambda state: {"shown": "1", "hidden": "2"}).add_edge(START, "work")
    outer = StateGraph(State).add_node("inner", inner.compile()).add_edge(START, "inner").compile()
    events = [one async for one in outer.astream_events({"shown": "0"}, version="v2")]
    return await outer.ainvoke({"shown": "0"}), events[-1]["data"]["output"]
