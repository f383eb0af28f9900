"""Graphs inside graphs: as nodes, called in nodes, sharing keys or not, streamed."""

from dataclasses import dataclass
from operator import add
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from pydantic import BaseModel


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


class Other(TypedDict, total=False):
    x: int
    n: int


def child_of(*nodes, schema=State, **options):
    graph = StateGraph(schema)
    for i, node in enumerate(nodes):
        graph.add_node(f"c{i}", node)
        graph.add_edge(f"c{i - 1}" if i else START, f"c{i}")
    return graph.compile(**options)


def parent_of(child, schema=State):
    graph = StateGraph(schema)
    graph.add_node("child", child)
    graph.add_node("after", lambda s: {"log": ["after"]})
    graph.add_edge(START, "child")
    graph.add_edge("child", "after")
    return graph.compile()


def case_shared_keys(env):
    app = parent_of(child_of(lambda s: {"n": s["n"] + 1}, lambda s: {"n": s["n"] * 10}))
    return [app.invoke({"n": 1}), list(app.stream({"n": 1}))]


def case_shared_reducer_key_doubles(env):
    app = parent_of(child_of(lambda s: {"log": ["child"]}))
    return app.invoke({"log": ["in"]})


def case_child_with_other_keys(env):
    seen = []

    def node(state):
        seen.append(dict(state))
        return {"x": 5, "n": state["n"] + 1}

    return [parent_of(child_of(node, schema=Other)).invoke({"n": 1, "log": ["in"]}), seen]


def case_child_called_in_a_node(env):
    child = child_of(lambda s: {"x": s["x"] + 1}, schema=Other)
    return parent_of(lambda s: {"n": child.invoke({"x": s["n"]})["x"]}).invoke({"n": 1})


def case_child_called_twice_in_a_node(env):
    child = child_of(lambda s: {"n": s["n"] + 1})

    def node(state):
        return {"n": child.invoke(child.invoke({"n": state["n"]}))["n"]}

    return parent_of(node).invoke({"n": 1})


async def case_child_async(env):
    async def step(state):
        return {"n": state["n"] + 1}

    child = child_of(step)

    async def node(state):
        return await child.ainvoke({"n": state["n"]})

    return [await parent_of(child).ainvoke({"n": 1}), await parent_of(node).ainvoke({"n": 1})]


def case_child_with_output_schema(env):
    class Out(TypedDict):
        n: int

    graph = StateGraph(State, output_schema=Out)
    graph.add_node("c", lambda s: {"n": 5, "log": ["hidden"]})
    graph.add_edge(START, "c")
    return parent_of(graph.compile()).invoke({"log": ["in"]})


def case_child_with_dataclass_state(env):
    @dataclass
    class Data:
        n: int = 0

    child = child_of(lambda s: {"n": s.n + 1}, schema=Data)
    return parent_of(child).invoke({"n": 1})


def case_child_with_pydantic_state(env):
    class Model(BaseModel):
        n: int

    child = child_of(lambda s: {"n": s.n + 1}, schema=Model)
    app = parent_of(child)
    return [
        app.invoke({"n": 1}),
        env.error(lambda: app.invoke({"n": "bad"})),
        env.error(lambda: app.invoke({})),
    ]


def case_pydantic_parent_of_typed_dict_child(env):
    class Model(BaseModel):
        n: int = 0
        log: Annotated[list, add] = []

    app = parent_of(child_of(lambda s: {"n": s["n"] + 1}), schema=Model)
    return env.error(lambda: app.invoke({"n": 1}))


def case_dataclass_parent_of_dataclass_child(env):
    @dataclass
    class Data:
        n: int = 0
        log: Annotated[list, add] = None

    app = parent_of(child_of(lambda s: {"n": s.n + 1}, schema=Data), schema=Data)
    return env.error(lambda: app.invoke({"n": 1, "log": []}))


def case_error_in_a_child(env):
    def bad(state):
        raise KeyError("deep")

    return env.error(lambda: parent_of(child_of(bad)).invoke({"n": 1}))


def case_recursion_limit_counts_per_graph(env):
    graph = StateGraph(State)
    graph.add_node("c", lambda s: {"n": s["n"] + 1})
    graph.add_edge(START, "c")
    graph.add_conditional_edges("c", lambda s: "c" if s["n"] < 6 else END)
    app = parent_of(graph.compile())
    limits = (3, 6, 7)
    return [env.error(lambda m=m: app.invoke({"n": 0}, {"recursion_limit": m})) for m in limits]


def case_three_levels(env):
    inner = child_of(lambda s: {"log": ["inner"]})
    middle = parent_of(inner)
    return parent_of(middle).invoke({})


def case_two_children_in_parallel(env):
    graph = StateGraph(State)
    for name in ("y", "x"):
        graph.add_node(name, child_of(lambda s, name=name: {"log": [name]}))
        graph.add_edge(START, name)
    return graph.compile().invoke({})


def case_same_child_in_two_nodes(env):
    child = child_of(lambda s: {"n": s["n"] + 1})
    graph = StateGraph(State)
    graph.add_node("a", child)
    graph.add_node("b", child)
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    return graph.compile().invoke({"n": 0})


def case_send_to_a_child_graph(env):
    class Log(TypedDict, total=False):
        log: Annotated[list, add]

    class Job(Log, total=False):
        item: int

    child = child_of(lambda s: {"log": [s["item"]]}, schema=Job)
    graph = StateGraph(Log)
    graph.add_node("child", child)
    graph.add_conditional_edges(START, lambda s: [Send("child", {"item": i}) for i in (2, 1)])
    return graph.compile().invoke({})


def case_children_sent_to_return_their_shared_keys(env):
    graph = StateGraph(State)
    graph.add_node("child", child_of(lambda s: {"log": [s["n"]]}))
    graph.add_conditional_edges(START, lambda s: [Send("child", {"n": i}) for i in range(3)])
    return env.error(lambda: graph.compile().invoke({}))


def case_stream_of_subgraphs(env):
    app = parent_of(child_of(lambda s: {"n": 1}, lambda s: {"n": 2}))
    return list(app.stream({"n": 0}, subgraphs=True))


def case_stream_of_subgraphs_in_two_modes(env):
    app = parent_of(child_of(lambda s: {"n": 1}))
    return list(app.stream({"n": 0}, subgraphs=True, stream_mode=["values", "updates"]))


async def case_stream_of_subgraphs_async(env):
    app = parent_of(child_of(lambda s: {"n": 1}))
    return [part async for part in app.astream({"n": 0}, subgraphs=True)]


def case_stream_without_subgraphs(env):
    return list(
        parent_of(child_of(lambda s: {"n": 1})).stream({"n": 0}, stream_mode=["values", "updates"])
    )


def case_config_reaches_the_child(env):
    def node(state, config):
        return {"log": [config["configurable"]["x"], config["tags"]]}

    config = {"configurable": {"x": 1}, "tags": ["t"]}
    child = child_of(node)
    return [
        parent_of(child).invoke({}, config),
        parent_of(lambda s, config: child.invoke(s, config)).invoke({}, config),
        parent_of(lambda s: child.invoke(s)).invoke({}, config),
    ]


def case_custom_writes_of_a_child(env):
    def node(state, writer):
        writer("from the child")
        return {"n": 1}

    app = parent_of(child_of(node))
    return [
        list(app.stream({}, stream_mode="custom")),
        list(app.stream({}, stream_mode="custom", subgraphs=True)),
    ]


def case_get_subgraphs(env):
    inner = child_of(lambda s: s, name="inner")
    app = parent_of(parent_of(inner))
    return [
        sorted(name for name, _ in app.get_subgraphs()),
        sorted(name for name, _ in app.get_subgraphs(recurse=True)),
        sorted(name for name, _ in app.get_subgraphs(namespace="child", recurse=True)),
    ]


def case_child_that_returns_nothing(env):
    return parent_of(child_of(lambda s: None)).invoke({"n": 1})


def case_child_graph_as_named_node(env):
    graph = StateGraph(State)
    graph.add_node(child_of(lambda s: {"n": 3}, name="kid"))
    graph.add_edge(START, "kid")
    return graph.compile().invoke({"n": 0})


def case_uncompiled_graph_as_node(env):
    graph = StateGraph(State)
    return env.error(lambda: graph.add_node("n", StateGraph(State)) and None)


def case_root_state_child(env):
    child = StateGraph(int)
    child.add_node("c", lambda n: n + 1)
    child.add_edge(START, "c")
    compiled = child.compile()
    return parent_of(lambda s: {"n": compiled.invoke(s["n"])}).invoke({"n": 1})


def case_saved_parent_and_child(env):
    graph = StateGraph(State)
    graph.add_node("child", child_of(lambda s: {"n": s["n"] + 1}))
    graph.add_edge(START, "child")
    app = graph.compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    return [
        app.invoke({"n": 1}, config),
        app.invoke({"log": ["more"]}, config),
        app.get_state(config).values,
    ]
