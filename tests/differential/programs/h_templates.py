"""Programs as templates and tutorials have them, with several features at once."""

import operator
from typing import Annotated, Dict, List, NotRequired, Optional, Tuple, TypedDict  # noqa: UP035

from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

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
    return [seen_of(env, node) for node in (calls, calls | dict, inner.with_retry(), inner.bind())]
