"""What random chains found of runnables: events of models of texts, of branches, of nothing."""

import operator
from typing import Annotated, TypedDict

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.outputs import (
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    Generation,
    GenerationChunk,
    LLMResult,
)
from langchain_core.prompt_values import ChatPromptValue, ImagePromptValue, StringPromptValue
from langchain_core.runnables import (
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
)
from langgraph.graph import START, StateGraph


async def _events(runnable, given, version="v2"):
    found = []
    async for event in runnable.astream_events(given, version=version):
        found.append((event["event"], event["name"], event["data"]))
    return found


def add_one(x):
    return x + 1


def shown(x):
    return f"<{x}>"


async def case_events_of_a_model_of_texts(env):
    model = FakeListLLM(responses=["one", "two"])
    return [
        await _events(model, "x"),
        [e for e in await _events(RunnablePassthrough() | model, "x") if "llm" in e[0]],
    ]


def case_types_of_generations(env):
    made = [
        Generation(text="x"),
        GenerationChunk(text="x"),
        ChatGeneration(message=AIMessage("x")),
        ChatGenerationChunk(message=AIMessageChunk("x")),
        LLMResult(generations=[[Generation(text="x")]]),
    ]
    chats = ChatResult(generations=[made[2]])
    return [one.type for one in made], "type" in chats.model_dump(), made[1].model_dump()


def case_prompt_values_as_text(env):
    return [
        str(StringPromptValue(text="a\n")),
        f"{ChatPromptValue(messages=[HumanMessage('x')])}",
        str(ImagePromptValue(image_url={"url": "x"})),
    ]


async def case_empty_inputs_in_events(env):
    return await _events(RunnablePassthrough() | add_one, 0)


async def case_events_of_a_branch_in_a_chain(env):
    return await _events(RunnablePassthrough() | RunnableBranch((bool, shown), add_one), 1)


async def case_events_of_version_1(env):
    return await _events(FakeListLLM(responses=["one"]), "x", version="v1")


async def case_events_of_map(env):
    return await env.aerror(_events(RunnableLambda(add_one).map(), [1]))


def case_a_function_after_a_stream_without_a_chunk(env):
    return env.error(lambda: list((JsonOutputParser() | shown).transform(iter([]))))


def case_schemas_of_parallel_steps_of_anything(env):
    return RunnableParallel(a=shown).get_input_jsonschema()


class Parents(BaseCallbackHandler):
    """Whether each run has a parent."""

    def __init__(self):
        self.seen = []

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, **kwargs):
        self.seen.append((kwargs.get("name"), parent_run_id is not None))


def case_parents_of_the_runs_of_fallbacks(env):
    parents = Parents()
    RunnableLambda(shown).with_fallbacks([]).invoke(1, {"callbacks": [parents]})
    return parents.seen


def nothing(chunks):
    yield from ()


async def anothing(chunks):
    for chunk in ():
        yield chunk


EMPTY = RunnableGenerator(nothing, anothing)


async def case_fallbacks_of_a_stream_without_a_chunk(env):
    parsed = FakeListLLM(responses=["no json"]) | JsonOutputParser()
    found = []
    for first in (EMPTY, parsed):
        one = first.with_fallbacks([EMPTY, RunnableLambda(shown)])
        found.append((list(one.stream(1)), [chunk async for chunk in one.astream(1)]))
    return found


def case_errors_beside_a_stream_without_a_chunk(env):
    failing = RunnableLambda(lambda x: 1 // 0).with_fallbacks([EMPTY])
    return env.error(lambda: list(failing.stream(1)))


def case_fallbacks_without_a_chunk(env):
    return env.error(lambda: list(EMPTY.with_fallbacks([EMPTY]).stream(1)))


class Tree(BaseCallbackHandler):
    """The name of each run, and that of the run it is in."""

    def __init__(self):
        self.names, self.seen = {}, []

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, **kwargs):
        self.names[run_id] = kwargs.get("name")
        self.seen.append((kwargs.get("name"), self.names.get(parent_run_id)))


def case_runs_of_bound_steps_in_a_map(env):
    tree = Tree()
    chain = RunnableLambda(add_one) | RunnableLambda(shown).with_config(tags=["x"])
    chain.map().invoke([1], {"callbacks": [tree]})
    return tree.seen


async def case_runs_of_bound_branches_in_a_sequence(env):
    tree = Tree()
    branch = RunnableBranch((bool, RunnableLambda(add_one).with_config(tags=["x"])), add_one)
    await (branch | RunnableLambda(shown)).ainvoke(1, {"callbacks": [tree]})
    return tree.seen


def case_schemas_of_chains_that_begin_by_picking(env):
    def double(x: int) -> int:
        return 2 * x

    return (RunnablePick("a") | RunnableLambda(double)).get_input_jsonschema()


def _graph():
    builder = StateGraph(dict)
    builder.add_node("node", lambda state: {"n": 1})
    builder.add_edge(START, "node")
    return builder.compile()


async def case_events_of_a_graph_in_a_chain(env):
    return [event[:2] for event in await _events(RunnablePassthrough() | _graph(), {})]


async def case_events_of_a_graph_that_a_function_invokes(env):
    graph = _graph()
    return [event[:2] for event in await _events(RunnableLambda(lambda x: graph.invoke(x)), {})]


class Log(TypedDict):
    log: Annotated[list, operator.add]


def _steps(count):
    def node(state, config):
        return {"log": [(config.get("tags"), config.get("metadata", {}).get("m"))]}

    builder = StateGraph(Log)
    for n in range(count):
        builder.add_node(f"node{n}", node)
        builder.add_edge(f"node{n - 1}" if n else START, f"node{n}")
    return builder.compile()


def case_configs_around_a_graph_in_a_function(env):
    graph, given = _steps(3), {"log": []}
    limit = {"recursion_limit": 3}
    tagged = {"tags": ["outer"], "metadata": {"m": 1}}
    plain = RunnableLambda(graph.invoke)
    own = RunnableLambda(lambda state: graph.invoke(state, {"tags": ["own"]}))
    outer = StateGraph(Log)
    outer.add_node("node", lambda state: own.with_config(tags=["between"]).invoke(state))
    outer.add_edge(START, "node")
    return [
        env.error(lambda: RunnableLambda(lambda state: graph.invoke(state)).invoke(given, limit)),
        env.error(lambda: own.invoke(given, limit)),
        env.error(lambda: plain.invoke(given, limit)),
        own.invoke(given, tagged),
        outer.compile().invoke(given, tagged),
    ]


def case_default_limit_of_a_graph_in_a_function(env):
    long = _steps(30)
    return env.error(lambda: RunnableLambda(lambda state: long.invoke(state)).invoke({"log": []}))
