"""What random programs found, made small: updates beside deferred nodes, graphs inside."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def case_an_update_that_leads_to_a_deferred_node_beside_another(env):
    """Both have waited for the rest: they run in one super-step, as they did before the update."""

    def asks(state):
        return {"items": [interrupt("?")]}

    builder = StateGraph(State)
    builder.add_node("first", lambda state: {"items": ["first"]})
    builder.add_node("early", asks, defer=True)
    builder.add_node("late", lambda state: {"items": ["late"]}, defer=True)
    builder.add_edge(START, "early")
    builder.add_edge(START, "first")
    builder.add_edge("first", "late")
    app = builder.compile(checkpointer=env.saver())
    app.invoke({"items": []}, CONFIG)
    app.update_state(CONFIG, {"items": ["edited"]}, as_node="first")
    edited = app.get_state(CONFIG)
    return edited.next, app.invoke(None, CONFIG), app.get_state(CONFIG).tasks


def case_a_graph_that_ended_in_an_exit_run(env):
    """Its caller asks after it, and starts again with the answer."""
    ran = []

    def works(state):
        ran.append("inner")
        return {"items": ["inner"]}

    inner = StateGraph(State).add_node("works", works).add_edge(START, "works").compile()

    def calls(state):
        found = inner.invoke({"items": []})["items"]
        return {"items": [*found, interrupt("?")]}

    builder = StateGraph(State).add_node("calls", calls).add_edge(START, "calls")
    app = builder.compile(checkpointer=env.saver())
    app.invoke({"items": []}, CONFIG, durability="exit")
    inside = app.get_state(CONFIG, subgraphs=True).tasks[0].state.values
    return inside, app.invoke(Command(resume="yes"), CONFIG, durability="exit"), ran


def case_a_graph_inside_an_exit_run_that_ended(env):
    def works(state):
        return {"items": ["inner"]}

    inner = StateGraph(State).add_node("works", works).add_edge(START, "works").compile()
    builder, saver = StateGraph(State).add_node("inner", inner), env.saver()
    app = builder.add_edge(START, "inner").compile(checkpointer=saver)
    app.invoke({"items": []}, CONFIG, durability="exit")
    places = [each.config["configurable"]["checkpoint_ns"] for each in saver.list(CONFIG)]
    return [place.partition(":")[0] for place in places]
