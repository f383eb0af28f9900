"""`stream_events(version="v3")` of graphs that run a graph with a memory of its own."""

import operator
import warnings
from typing import Annotated, TypedDict

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from .scripted import ai, call, model_of

CONFIG = {"configurable": {"thread_id": "1"}}


class Numbers(TypedDict):
    n: Annotated[list, operator.add]


def counting(state):
    return {"n": [len(state["n"])]}


def remembers(action=counting):
    builder = StateGraph(Numbers).add_node("one", action).add_edge(START, "one")
    return builder.compile(checkpointer=True)


def around(inner, name="outer", **compiled):
    builder = StateGraph(Numbers).add_node(name, inner).add_edge(START, name)
    return builder.compile(**compiled)


def begun(graph, given=None):
    warnings.simplefilter("ignore")
    return graph.stream_events({"n": [0]} if given is None else given, CONFIG, version="v3")


def nested(run):
    return [
        (each.path, each.graph_name, each.trigger_call_id, list(each.values), each.status)
        for each in run.subgraphs
    ]


def lives(run):
    return [event["params"]["data"] for event in run if event["method"] == "lifecycle"]


def case_as_a_node(env):
    graph = around(remembers(), checkpointer=InMemorySaver())
    return nested(begun(graph)), nested(begun(graph)), lives(begun(graph))


def case_called_by_a_node(env):
    inner = remembers()

    def node(state):
        return {"n": inner.invoke({"n": [5]})["n"][-1:]}

    return nested(begun(around(node, checkpointer=InMemorySaver())))


def case_in_another_with_a_memory(env):
    middle = around(remembers(), "middle", checkpointer=True)
    graph = around(middle, checkpointer=InMemorySaver())
    found = [(each.path, nested(each)) for each in begun(graph).subgraphs]
    return found, lives(begun(graph))


def case_again_and_again(env):
    builder = StateGraph(Numbers).add_node("one", remembers()).add_edge(START, "one")
    builder.add_conditional_edges("one", lambda state: "one" if len(state["n"]) < 12 else END)
    return nested(begun(builder.compile(checkpointer=InMemorySaver())))


def case_that_fails(env):
    def fail(state):
        raise ValueError("no")

    run = begun(around(remembers(fail), checkpointer=InMemorySaver()))
    each = next(iter(run.subgraphs))
    return env.error(lambda: list(each.values)), each.status, each.error


def case_that_asks(env):
    asking = remembers(lambda state: {"n": [interrupt("?")]})
    graph = around(asking, checkpointer=InMemorySaver())
    return nested(begun(graph)), nested(begun(graph, Command(resume=4)))


def case_an_agent_that_a_tool_asks(env):
    helper = create_agent(model_of("one", "two"), name="helper", checkpointer=True)

    @tool
    def ask(q: str) -> str:
        """Ask."""
        return helper.invoke({"messages": [("user", q)]})["messages"][-1].text

    def boss():
        model = model_of(ai(call("ask", q="x")), "done")
        return create_agent(model, [ask], name="boss", checkpointer=InMemorySaver())

    run = begun(boss(), {"messages": "go"})
    graphs = [(each.graph_name, [m.node for m in each.messages]) for each in run.subgraphs]
    run = begun(boss(), {"messages": "go"})
    agents = [
        (each.name, each.cause, [str(m.text) for m in each.messages]) for each in run.subagents
    ]
    return graphs, agents


async def case_in_an_event_loop(env):
    warnings.simplefilter("ignore")
    graph = around(remembers(), checkpointer=InMemorySaver())
    run = await graph.astream_events({"n": [0]}, CONFIG, version="v3")
    return [
        (each.path, [values async for values in each.values], each.status)
        async for each in run.subgraphs
    ]
