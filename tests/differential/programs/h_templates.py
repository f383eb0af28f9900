"""Programs as templates and tutorials have them, with several features at once."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, Dict, List, NotRequired, Optional, Tuple, TypedDict  # noqa: UP035
from unittest.mock import patch

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, tool
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

from .scripted import model_of

THREAD = {"configurable": {"thread_id": "1"}}


# --- states ---------------------------------------------------------------------------------------


class Code(TypedDict):
    messages: List  # noqa: UP006 (as tutorials have it)
    seen: NotRequired[Dict]  # noqa: UP006
    pair: Optional[Tuple]  # noqa: UP006, UP045
    log: Annotated[List, operator.add]  # noqa: UP006


def case_keys_of_bare_generics(env):
    builder = StateGraph(Code)
    builder.add_node("ask", lambda state: {"messages": [*state["messages"], "a"], "log": ["ask"]})
    builder.add_node("check", lambda state: {"seen": {"n": len(state["messages"])}, "log": ["c"]})
    builder.add_edge(START, "ask").add_edge("ask", "check")
    graph = builder.compile(checkpointer=env.saver())
    told = [*graph.stream({"messages": ["q"], "pair": None}, THREAD, stream_mode="values")]
    return told, graph.get_state(THREAD).values


# --- graphs inside chains -------------------------------------------------------------------------


class Number(TypedDict):
    x: int


def asking():
    builder = StateGraph(Number).add_node("ask", lambda state: {"x": interrupt("how many?")})
    return builder.add_edge(START, "ask").compile(name="inner")


def seen_of(env, node):
    """What is seen of a node that waits for an answer, and what comes of the answer."""
    graph = StateGraph(Number).add_node("n", node).add_edge(START, "n")
    graph = graph.compile(checkpointer=env.saver(str(id(node))))
    graph.invoke({"x": 1}, THREAD)
    (waiting,) = graph.get_state(THREAD, subgraphs=True).tasks
    return (
        [(name, inner.name) for name, inner in graph.get_subgraphs()],
        (waiting.name, waiting.interrupts, waiting.state and waiting.state.values),
        sorted(graph.get_graph(xray=True).nodes),
        graph.invoke(Command(resume=3), THREAD),
    )


def case_a_graph_as_a_step_of_a_chain(env):
    same = RunnableLambda(lambda state: state)
    named = asking().with_config(run_name="named")
    return [seen_of(env, node) for node in (asking() | same, same | asking(), named)]


def case_a_graph_that_runnables_are_around(env):
    inner = asking()
    calls = RunnableLambda(lambda state: inner.invoke(state))
    nodes = (calls, calls | dict, inner.with_retry(), inner.bind())
    with patch("time.sleep"):  # a question is tried again, too, with seconds between
        return [seen_of(env, node) for node in nodes]


# --- arguments that the program fills -------------------------------------------------------------


class Given(BaseModel):
    x: Annotated[int, InjectedState("items")] = 9
    y: Annotated[Optional[int], InjectedState("other")] = Field(default=None)  # noqa: UP045


@tool
def of_code(x: Annotated[Optional[List], InjectedState("items")] = None) -> str:  # noqa: UP006, UP045
    """Tell."""
    return repr(x)


@tool(args_schema=Given)
def of_schema(x, y=3) -> str:
    """Tell."""
    return repr((x, y))


@tool
def without_default(x: Annotated[Optional[int], InjectedState("items")]) -> str:  # noqa: UP045
    """Tell."""
    return repr(x)


class Derived(BaseTool):
    name: str = "derived"
    description: str = "Tell."

    def _run(self, x: Annotated[int, InjectedState("items")] = 4):
        return repr(x)


class Items(MessagesState):
    items: NotRequired[int]


@dataclass
class Plain:
    messages: Annotated[list, add_messages] = field(default_factory=list)


async def case_injected_arguments_with_defaults(env):
    async def told(schema, one, **state):
        builder = StateGraph(schema).add_node("tools", ToolNode([one])).add_edge(START, "tools")
        call = {"name": one.name, "args": {"x": 100}, "id": "1", "type": "tool_call"}
        asked = {"messages": [AIMessage("", tool_calls=[call])], **state}
        return (await builder.compile().ainvoke(asked))["messages"][-1].content

    tools = (of_code, of_schema, Derived())
    return (
        [await told(schema, one) for one in tools for schema in (MessagesState, Items, Plain)],
        [await told(Items, one, items=1) for one in (*tools[1:], without_default)],
        await env.aerror(told(Items, without_default)),
    )


# --- workflows ------------------------------------------------------------------------------------


def case_a_workflow_that_returns_a_bare_final(env):
    @entrypoint(checkpointer=env.saver())
    def workflow(x: List, *, previous: Any = None) -> entrypoint.final:  # noqa: UP006
        return entrypoint.final(value=[*x, previous], save=len(x))

    told = workflow.invoke([1], THREAD), workflow.invoke([1, 2], THREAD)
    return told, sorted(workflow.get_output_jsonschema())


def case_metadata_of_the_checkpoints_of_an_agent(env):
    agent = create_agent(model_of("hi"), [], checkpointer=env.saver(), name="greeter")
    agent.invoke({"messages": [HumanMessage("hello", id="1")]}, THREAD)
    return agent.get_state(THREAD).metadata
