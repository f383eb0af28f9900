"""`Command` as a node's return: update and goto, lists, tuples, to the parent; and as an input."""

from dataclasses import dataclass
from operator import add
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send
from pydantic import BaseModel


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


def with_first(first, *, names=("b", "c")):
    """`a` runs `first`; the others log their names; only START -> a is an edge."""
    graph = StateGraph(State)
    graph.add_node("a", first)
    for name in names:
        graph.add_node(name, lambda s, name=name: {"log": [name]})
    graph.add_edge(START, "a")
    return graph.compile()


def returning(value):
    return with_first(lambda s: value)


def case_update_and_goto(env):
    app = returning(Command(update={"n": 1, "log": ["a"]}, goto="b"))
    return [app.invoke({"n": 0}), list(app.stream({"n": 0}))]


def case_goto_only(env):
    app = returning(Command(goto="c"))
    return [app.invoke({}), list(app.stream({}))]


def case_update_only(env):
    return returning(Command(update={"n": 2})).invoke({})


def case_empty_command(env):
    app = returning(Command())
    return [app.invoke({"n": 1}), list(app.stream({"n": 1}))]


def case_goto_list(env):
    return returning(Command(goto=["c", "b"])).invoke({})


def case_goto_tuple_and_end(env):
    return [
        returning(Command(goto=("b",))).invoke({}),
        returning(Command(goto=END)).invoke({}),
        returning(Command(goto=["b", END])).invoke({}),
        returning(Command(goto=[])).invoke({}),
    ]


def case_goto_of_other_collections(env):
    """A set, the keys of a dict, a generator of Sends."""
    sends = lambda s: (Send(name, {}) for name in "bc")  # noqa: E731
    nodes = [
        lambda s: Command(goto={"b"}),
        lambda s: Command(goto=frozenset({"b", "c"}), update={"n": 1}),
        lambda s: Command(goto={"c": "why"}.keys()),
        lambda s: Command(goto=map(str, ["b"])),
        lambda s: Command(goto=sends(s)),
    ]
    return [sorted(with_first(node).stream({"n": 0}), key=str) for node in nodes]


def case_goto_adds_to_the_edges(env):
    graph = StateGraph(State)
    graph.add_node("a", lambda s: Command(goto="c"))
    graph.add_node("b", lambda s: {"log": ["b"]})
    graph.add_node("c", lambda s: {"log": ["c"]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    return graph.compile().invoke({})


def case_goto_same_node_as_edge(env):
    graph = StateGraph(State)
    graph.add_node("a", lambda s: Command(goto="b"))
    graph.add_node("b", lambda s: {"log": ["b"]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    return graph.compile().invoke({})


def case_goto_unknown_node(env):
    app = returning(Command(goto="nope", update={"n": 1}))
    return env.error(lambda: app.invoke({"n": 0}))


def case_tuples_update(env):
    return returning(Command(update=[("n", 3), ("log", ["x"]), ("log", ["y"])], goto="b")).invoke(
        {}
    )


def case_list_of_commands(env):
    app = returning(
        [Command(update={"log": ["1"]}, goto="c"), Command(update={"log": ["2"]}, goto="b")]
    )
    return [app.invoke({}), list(app.stream({}, {"max_concurrency": 1}))]


def case_list_mixing_commands_and_updates(env):
    app = returning([{"log": ["plain"]}, Command(update={"n": 4}, goto="b"), {"log": ["more"]}])
    return [app.invoke({}), list(app.stream({}))]


def case_list_of_commands_writing_one_key(env):
    app = returning([Command(update={"n": 1}), Command(update={"n": 2})])
    return env.error(lambda: app.invoke({}))


def case_list_mixing_with_root_state(env):
    graph = StateGraph(Annotated[list, add])
    graph.add_node("a", lambda s: [Command(update=["cmd"], goto="b"), ["plain"]])
    graph.add_node("b", lambda s: ["b"])
    graph.add_edge(START, "a")
    return graph.compile().invoke(["in"])


def case_command_with_root_state(env):
    graph = StateGraph(int)
    graph.add_node("a", lambda s: Command(update=s + 1, goto="b"))
    graph.add_node("b", lambda s: s * 10)
    graph.add_edge(START, "a")
    return graph.compile().invoke(1)


def case_update_by_dataclass(env):
    @dataclass
    class Patch:
        n: int
        log: list

    return env.error(lambda: returning(Command(update=Patch(n=5, log=["p"]))).invoke({}))


def case_update_by_pydantic(env):
    class Patch(BaseModel):
        n: int = 0
        log: list = []

    return returning(Command(update=Patch(n=5))).invoke({"n": 1})


def case_bad_command_updates(env):
    return [env.error(lambda v=v: returning(Command(update=v)).invoke({"n": 1})) for v in (5, "x")]


def case_unknown_key_in_command_update(env):
    return returning(Command(update={"nowhere": 1, "n": 2})).invoke({})


def case_loop_by_command(env):
    def step(state):
        n = state.get("n", 0) + 1
        return Command(update={"n": n, "log": [n]}, goto="a" if n < 4 else END)

    return with_first(step).invoke({})


def case_parallel_commands(env):
    graph = StateGraph(State)
    graph.add_node("x", lambda s: Command(update={"log": ["x"]}, goto="j"))
    graph.add_node("y", lambda s: Command(update={"log": ["y"]}, goto="j"))
    graph.add_node("j", lambda s: {"log": ["j"]})
    graph.add_edge(START, "y")
    graph.add_edge(START, "x")
    return graph.compile().invoke({})


def case_parent_command_at_root(env):
    app = returning(Command(graph=Command.PARENT, goto="b", update={"n": 1}))
    return env.error(lambda: app.invoke({}))


async def case_parent_command_at_root_async(env):
    async def node(state):
        return Command(graph=Command.PARENT, goto="b")

    return await env.aerror(with_first(node).ainvoke({}))


def nested(command, *, after="after"):
    """A parent whose node `child` is a graph that returns `command` from its only node."""
    child = StateGraph(State)
    child.add_node("inner", lambda s: command)
    child.add_node("never", lambda s: {"log": ["never"]})
    child.add_edge(START, "inner")
    child.add_edge("inner", "never")
    graph = StateGraph(State)
    graph.add_node("child", child.compile())
    graph.add_node(after, lambda s: {"log": [after]})
    graph.add_node("other", lambda s: {"log": ["other"]})
    graph.add_edge(START, "child")
    graph.add_edge("other", END)
    return graph.compile()


def case_parent_command_from_a_subgraph(env):
    app = nested(Command(graph=Command.PARENT, update={"n": 7, "log": ["up"]}, goto="after"))
    return [app.invoke({"log": ["in"]}), list(app.stream({"log": ["in"]}))]


def case_parent_command_with_send(env):
    app = nested(Command(graph=Command.PARENT, goto=[Send("other", {"n": 1}), "after"]))
    return app.invoke({})


def case_parent_command_without_goto(env):
    return nested(Command(graph=Command.PARENT, update={"log": ["up"]})).invoke({})


def case_parent_command_to_unknown_node(env):
    return env.error(lambda: nested(Command(graph=Command.PARENT, goto="nope")).invoke({}))


def case_command_to_a_named_graph(env):
    return env.error(lambda: nested(Command(graph="nobody", goto="after")).invoke({}))


async def case_parent_command_async(env):
    app = nested(Command(graph=Command.PARENT, update={"log": ["up"]}, goto="after"))
    return await app.ainvoke({"log": ["in"]})


def case_parent_command_through_two_levels(env):
    leaf = StateGraph(State)
    leaf.add_node(
        "leaf", lambda s: Command(graph=Command.PARENT, goto="mid2", update={"log": ["leaf"]})
    )
    leaf.add_edge(START, "leaf")
    mid = StateGraph(State)
    mid.add_node("mid", leaf.compile())
    mid.add_node("mid2", lambda s: Command(graph=Command.PARENT, goto="top2", update={"n": 2}))
    mid.add_edge(START, "mid")
    top = StateGraph(State)
    top.add_node("top", mid.compile())
    top.add_node("top2", lambda s: {"log": ["top2"]})
    top.add_edge(START, "top")
    return top.compile().invoke({})


def case_parent_command_from_a_graph_called_in_a_node(env):
    child = StateGraph(State)
    child.add_node("inner", lambda s: Command(graph=Command.PARENT, goto="b", update={"n": 3}))
    child.add_edge(START, "inner")
    compiled = child.compile()
    return with_first(lambda s: compiled.invoke(s)).invoke({})


def case_command_as_input_without_a_saver(env):
    app = returning({"log": ["a"]})
    return [
        env.error(lambda: app.invoke(Command(goto="b"))),
        env.error(lambda: app.invoke(Command(update={"n": 1}))),
        env.error(lambda: app.invoke(Command(resume=1))),
    ]


def case_command_as_first_input_with_a_reducer(env):
    return returning({"log": ["a"]}).invoke(Command(update={"log": ["x"]}))


def case_command_input_with_goto(env):
    graph = StateGraph(State)
    graph.add_node("a", lambda s: {"log": ["a"]})
    graph.add_node("b", lambda s: {"log": ["b"]})
    graph.add_edge(START, "a")
    app = graph.compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    app.invoke({"n": 1}, config)
    return [
        app.invoke(Command(goto="b", update={"n": 2}), config),
        app.invoke(Command(update={"n": 3}), config),
    ]


def case_command_input_with_goto_to_unknown_node(env):
    graph = StateGraph(State)
    graph.add_node("a", lambda s: {"log": ["a"]})
    graph.add_edge(START, "a")
    app = graph.compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    app.invoke({"n": 1}, config)
    return env.error(lambda: app.invoke(Command(goto="nope"), config))


def case_parent_command_at_root_with_step_timeout(env):
    app = returning(Command(graph=Command.PARENT, goto="b"))
    app.step_timeout = 30
    return env.error(lambda: app.invoke({}))


def case_command_fields(env):
    full = Command(update={"a": 1}, goto="b", graph="g", resume=1)
    return [
        full,
        Command(),
        Command.PARENT,
        Command(goto="a") == Command(goto="a"),
        repr(Command(goto="x")),
    ]


def case_returning_a_send(env):
    return env.error(lambda: returning(Send("b", {})).invoke({}))


def case_returning_a_command_in_a_dict(env):
    return env.error(lambda: returning({"log": [1], "n": Command(goto="b")}).invoke({}))
