"""What programs of how-to guides do otherwise on purpose: each case is a known difference."""

import enum
import json
import operator
import warnings
from typing import Annotated, Any, Literal, TypedDict

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict as OtherTypedDict

THREAD = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    x: int
    log: Annotated[list, operator.add]


class Item(BaseModel):
    name: str


class Color(enum.Enum):
    RED = "red"


class Names(BaseCallbackHandler):
    """Keeps the names of chains."""

    def __init__(self):
        self.told = []

    def on_chain_start(self, serialized, inputs, **kwargs):
        self.told.append(kwargs.get("name"))


def line(*nodes, schema: Any = State, **options):
    """A graph of nodes one after the other."""
    builder = StateGraph(schema)
    names = [f"n{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node)
    for before, after in zip([START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder.compile(**options)


def say(word):
    return lambda state: {"log": [word]}


def case_classes_that_no_schema_names(env):
    graph = line(lambda state: {"log": [Item(name="a")]}, checkpointer=env.saver())
    return env.error(lambda: graph.invoke({"log": []}, THREAD)["log"][0].name)


def case_a_question_that_is_caught(env):
    def node(state):
        try:
            return {"log": [interrupt("sure?")]}
        except Exception as error:
            return {"log": [type(error).__name__]}

    graph = line(node, checkpointer=env.saver())
    return env.error(lambda: graph.invoke({"log": []}, THREAD))


def case_a_question_of_a_graph_inside_that_is_caught(env):
    inner = line(lambda state: {"log": [interrupt("sure?")]})

    def node(state):
        try:
            return inner.invoke({"log": []})
        except Exception as error:
            return {"log": [type(error).__name__]}

    graph = line(node, checkpointer=env.saver())
    return env.error(lambda: graph.invoke({"log": []}, THREAD))


def case_updates_after_an_update_in_the_name_of_a_node(env):
    graph = line(say("a"), say("b"), say("c"), checkpointer=env.saver())
    graph.invoke({"log": []}, THREAD, interrupt_after=["n0"])
    graph.update_state(THREAD, {"log": ["by hand"]}, as_node="n1")
    graph.update_state(THREAD, {"x": 1})
    return graph.get_state(THREAD).next


def case_an_answer_by_the_id_of_before_an_update(env):
    graph = line(lambda state: {"log": [interrupt("sure?")]}, checkpointer=env.saver())
    asked = graph.invoke({"log": []}, THREAD)["__interrupt__"][0].id
    graph.update_state(THREAD, {"x": 1})
    return graph.invoke(Command(resume={asked: "yes"}), THREAD)["log"]


def case_an_answer_to_another_question_of_a_subgraph_after_an_update(env):
    def pay(state):
        return {"log": [interrupt("pay?")]}

    def delete(state):
        return {"log": [interrupt("delete?")]}

    inner = StateGraph(State).add_node("pay", pay).add_node("delete", delete)
    inner.add_conditional_edges(START, lambda state: "delete" if state.get("x") else "pay")
    graph = line(inner.compile(), checkpointer=env.saver())
    graph.invoke({"log": []}, THREAD)
    graph.update_state(THREAD, {"x": 1})
    first = graph.invoke(Command(resume="yes"), THREAD)
    return first["log"], [question.value for question in first.get("__interrupt__", ())]


def case_messages_that_are_none(env):
    return [
        env.error(make)
        for make in (
            lambda: HumanMessage(None),
            lambda: AIMessage("x", tool_calls=[{"name": "f"}]),
            lambda: ToolMessage("x"),
            lambda: ToolMessage("x", tool_call_id="1", status="odd"),
        )
    ]


def case_metadata_of_a_thread(env):
    graph = line(say("a"), checkpointer=env.saver())
    graph.invoke({"log": []}, {**THREAD, "metadata": {"list": [1], "dict": {"a": 1}, "text": "t"}})
    return graph.get_state(THREAD).metadata


def case_metadata_that_cannot_be_stored(env):
    graph = line(say("a"), checkpointer=env.saver())
    return env.error(lambda: graph.invoke({"log": []}, {**THREAD, "metadata": {"who": object()}}))


def case_path_functions_without_a_name(env):
    class Path:
        def __call__(self, state):
            return "b"

    told = []
    for path in (lambda state: "b", Path()):
        builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
        builder.add_edge(START, "a").add_conditional_edges("a", path, ["b"])
        names = Names()
        builder.compile().invoke({"log": []}, {"callbacks": [names]})
        told.append(names.told)
    return told


def case_where_a_path_of_a_class_leads(env):
    class Path:
        def __call__(self, state) -> Literal["b"]:
            return "b"

    builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
    builder.add_edge(START, "a").add_conditional_edges("a", Path())
    return builder.compile().get_graph().draw_mermaid()


def case_a_path_that_returns_a_runnable(env):
    def path(state):
        return RunnableLambda(lambda state: "b")

    builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
    builder.add_edge(START, "a").add_conditional_edges("a", path, ["b"])
    return env.error(lambda: builder.compile().invoke({"log": []}))


def case_runs_of_a_chain_with_a_history(env):
    history, names = InMemoryChatMessageHistory(), Names()
    said = RunnableLambda(lambda given: "said")
    chain = RunnableWithMessageHistory(said, lambda session_id: history)
    config = {"configurable": {"session_id": "a"}, "callbacks": [names]}
    chain.invoke([HumanMessage("hi")], config)
    return names.told


def case_a_list_of_sends(env):
    def fan_out(state):
        return [Send("n1", {"x": 1}), Send("n1", {"x": 2})]

    builder = StateGraph(State).add_node("n0", fan_out)
    builder.add_node("n1", lambda state: {"log": [state["x"]]}).add_edge(START, "n0")
    return env.error(lambda: builder.compile().invoke({"log": []}))


def case_what_a_waiting_workflow_returns(env):
    @entrypoint(checkpointer=env.saver())
    def workflow(word):
        return {"said": word + interrupt("more?")}

    workflow.invoke("a", THREAD)
    workflow.invoke(Command(resume="b"), THREAD)
    return workflow.invoke("c", THREAD)


def case_enums_in_a_typed_dict(env):
    class Paint(OtherTypedDict):
        """Paint."""

        colors: list[Color]

    return convert_to_openai_tool(Paint)


def case_objects_as_json(env):
    chain = PromptTemplate.from_template("{a}") | StrOutputParser()
    written = dumps(chain)
    return json.loads(written)["type"], env.error(lambda: loads(written) == chain)


def case_blocks_of_providers(env):
    cited = {"type": "char_location", "cited_text": "c", "document_index": 0}
    searched = {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {"query": "q"}}
    thought = {"type": "reasoning", "id": "1", "summary": [{"type": "summary_text", "text": "t"}]}
    return [
        AIMessage(content, response_metadata={"model_provider": provider}).content_blocks
        for provider, content in (
            ("anthropic", [{"type": "text", "text": "t", "citations": [cited]}]),
            ("anthropic", [searched]),
            ("openai", [thought]),
        )
    ]


async def case_generators_as_nodes(env):
    async def node(state):
        yield {"log": ["a"]}
        yield {"x": 1}

    return await line(node).ainvoke({"log": []})


class Greeter(BaseChatModel):
    """Says hi, in one piece."""

    @property
    def _llm_type(self):
        return "greeter"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])


async def case_names_of_agents_in_events(env):
    agent = create_agent(Greeter(), [], name="ann")
    events = [event async for event in agent.astream_events({"messages": "hi"}, version="v2")]
    ends = [event for event in events if event["event"] == "on_chat_model_end"]
    return [event["data"]["output"].name for event in ends]


def case_a_misspelled_key_of_the_config(env):
    graph = line(lambda state: {"x": state["x"] + 1})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = graph.invoke({"x": 1, "log": []}, {"recursion_limt": 5})
    return result, len(told)


def case_middleware_of_a_function_with_other_parameters(env):
    try:
        wrap_model_call(lambda request: None)
    except TypeError:
        return "refused"
    return "taken"
