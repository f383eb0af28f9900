"""What random programs found, made small: states inside of graphs that are edited."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def chain(*nodes, **options):
    """A graph of these (name, code) in a row."""
    builder = StateGraph(State)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0][0])
    return builder.compile(**options)


def add(value):
    return lambda state: {"items": [value]}


def ask(state):
    return {"items": [interrupt(state["items"])]}


def stopped_before(saver, memory):
    """A graph that stops before the one inside of it, and the config of what is inside."""
    inner = chain(("one", add("one")), ("ask", ask), checkpointer=memory)
    graph = chain(
        ("first", add("first")), ("inner", inner), checkpointer=saver, interrupt_before=["inner"]
    )
    graph.invoke({"items": ["in"]}, CONFIG)
    inside = graph.get_state(CONFIG, subgraphs=True).tasks[0].state.config["configurable"]
    return graph, {"configurable": {"thread_id": "1", "checkpoint_ns": inside["checkpoint_ns"]}}


def edited(saver, memory, *names):
    """What comes of a graph inside that is edited, in these names, before it begins."""
    graph, config = stopped_before(saver, memory)
    for name in names:
        graph.update_state(config, {"items": [f"as {name}"]}, as_node=name)
    state = graph.get_state(config)
    told = [graph.invoke(None, CONFIG)]
    if "__interrupt__" in told[0]:
        told.append(graph.invoke(Command(resume="yes"), CONFIG))
    return state.values, state.next, state.config, told, graph.get_state(config).values


def case_a_graph_inside_is_edited_before_it_begins(env):
    names = [("one",), (None,), ("__start__",), ("ask",), ("one", "one"), ("__start__", "one")]
    return [edited(env.saver(f"{i}"), None, *each) for i, each in enumerate(names)]


def case_a_graph_with_memory_is_edited_before_it_begins(env):
    names = [("one",), (None,), ("__start__",), ("ask",), ("one", "one")]
    return [edited(env.saver(f"{i}"), True, *each) for i, each in enumerate(names)]


def case_a_memory_is_written_before_any_run(env):
    inner = chain(("one", add("one")), ("two", add("two")), checkpointer=True)
    graph = chain(("inner", inner), checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": "inner"}}
    graph.update_state(config, {"items": ["memory"]}, as_node="two")
    said = [graph.invoke({"items": [f"in{n}"]}, CONFIG)["items"] for n in range(2)]
    return said, graph.get_state(config).values


def asked_twice(state):
    first = interrupt({"first": state["items"]})
    return {"items": [first, interrupt({"second": first})]}


def answered(graph, answer):
    """What comes of an answer to the one question that waits, by its id."""
    question = graph.get_state(CONFIG).tasks[0].interrupts[0]
    return graph.invoke(Command(resume={question.id: answer}), CONFIG)


def case_an_answer_of_before_an_edit_inside_is_forgotten(env):
    """What was answered before the state was edited was answered to another question."""
    found = []
    for name, make in (("node", lambda g: g), ("call", lambda g: lambda s: g.invoke(s))):
        inner = chain(("other", add("other")), ("ask", asked_twice))
        graph = chain(("inner", make(inner)), checkpointer=env.saver(name))
        outer = chain(("graph", graph), checkpointer=env.saver(f"outer {name}"))
        for app, depth in ((graph, 1), (outer, 2)):
            app.invoke({"items": ["in"]}, CONFIG)
            answered(app, "A")
            state = app.get_state(CONFIG, subgraphs=True)
            for _ in range(depth):
                state = state.tasks[0].state
            app.update_state(state.config, {"items": ["edit"]}, as_node="other")
            said = [app.invoke(None, CONFIG)]
            said += [answered(app, answer) for answer in ("B", "C")]
            found.append(said)
    return found


async def case_a_graph_inside_is_edited_before_it_begins_async(env):
    inner = chain(("one", add("one")), ("two", add("two")))
    async with env.asaver() as saver:
        graph = chain(("inner", inner), checkpointer=saver, interrupt_before=["inner"])
        await graph.ainvoke({"items": ["in"]}, CONFIG)
        inside = (await graph.aget_state(CONFIG, subgraphs=True)).tasks[0].state.config
        at = {"thread_id": "1", "checkpoint_ns": inside["configurable"]["checkpoint_ns"]}
        await graph.aupdate_state({"configurable": at}, {"items": ["edit"]}, as_node="one")
        return await graph.ainvoke(None, CONFIG)
