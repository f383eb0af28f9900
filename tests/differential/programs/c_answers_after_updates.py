"""Bare answers to what was asked inside a task before its thread was written to by hand."""

import operator
from typing import Annotated, TypedDict

from langgraph.func import task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

THREAD = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    n: int
    log: Annotated[list, operator.add]


class Out(TypedDict):
    log: Annotated[list, operator.add]


def line(*nodes, **options):
    """A graph of nodes one after the other."""
    builder = StateGraph(State, output_schema=Out)
    names = [f"n{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node)
    for before, after in zip([START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder.compile(**options)


def quiet(state):
    return {"log": ["quiet"]}


def ask(state):
    return {"log": [f"sure? {interrupt('sure?')}"]}


def ask_twice(state):
    return {"log": [f"sure? {interrupt('sure?')}", f"really? {interrupt('really?')}"]}


def calling(graph):
    return lambda state: {"log": graph.invoke({"log": []})["log"]}


@task
def asks(question):
    return f"{question} {interrupt(question)}"


def by_tasks(state):
    return {"log": [asks("sure?").result(), asks("really?").result()]}


def told(graph, *answers):
    """What a thread says to answers, after an update of a question that is open."""
    shown = [graph.invoke({"log": []}, THREAD)]
    graph.update_state(THREAD, {"n": 1})
    shown += [graph.invoke(Command(resume=answer), THREAD) for answer in answers]
    asked = [{each.value for each in state.get("__interrupt__", ())} for state in shown]
    return asked, shown[-1]["log"], graph.get_state(THREAD).next


def case_a_graph_as_a_node(env):
    return told(line(line(quiet, ask), checkpointer=env.saver()), "yes")


def case_a_graph_that_asks_twice(env):
    return told(line(line(quiet, ask_twice), checkpointer=env.saver()), "yes", "no")


def case_a_graph_that_asks_at_two_nodes(env):
    return told(line(line(ask, quiet, ask), quiet, checkpointer=env.saver()), "yes", "no")


def case_a_graph_that_a_node_calls(env):
    return told(line(quiet, calling(line(quiet, ask)), checkpointer=env.saver()), "yes")


def case_a_graph_in_a_graph(env):
    return told(line(line(quiet, line(quiet, ask)), checkpointer=env.saver()), "yes")


def case_a_graph_called_in_a_graph(env):
    return told(line(line(calling(line(quiet, ask))), checkpointer=env.saver()), "yes")


def case_a_graph_with_memory(env):
    return told(line(line(quiet, ask, checkpointer=True), checkpointer=env.saver()), "yes")


def case_tasks_of_a_node(env):
    return told(line(by_tasks, checkpointer=env.saver()), "yes", "no")


def case_tasks_in_a_graph(env):
    return told(line(line(quiet, by_tasks), checkpointer=env.saver()), "yes", "no")


def case_an_update_by_an_older_config(env):
    graph = line(line(quiet, ask), checkpointer=env.saver())
    graph.invoke({"log": []}, THREAD)
    fork = graph.update_state(graph.get_state(THREAD).config, {"n": 1})
    return graph.invoke(Command(resume="yes"), fork)


async def case_async(env):
    async with env.asaver() as saver:
        graph = line(line(quiet, line(quiet, ask)), checkpointer=saver)
        await graph.ainvoke({"log": []}, THREAD)
        await graph.aupdate_state(THREAD, {"n": 1})
        return await graph.ainvoke(Command(resume="yes"), THREAD)


def case_an_update_inside_for_a_node_that_was_answered(env):
    inner = StateGraph(State, output_schema=Out).add_node("a", ask).add_node("b", ask_twice)
    inner.add_edge(START, "a").add_edge(START, "b").add_edge("a", "a")
    graph = line(inner.compile(), checkpointer=env.saver())
    asked = graph.invoke({"log": []}, THREAD)["__interrupt__"]
    graph.invoke(Command(resume={question.id: "yes" for question in asked}), THREAD)
    inside = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    graph.update_state(inside.config, {"log": ["by hand"]}, as_node="a")
    asked_again = graph.invoke(None, THREAD)["__interrupt__"]
    state = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    return [question.value for question in asked_again], state.values, state.next
