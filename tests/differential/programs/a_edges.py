"""Edges: plain, waiting, conditional in all forms, sequences, entry and finish points, cycles."""

from operator import add
from typing import Annotated, Literal, TypedDict

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int
    to: str


def marks(*names, schema=State):
    """A graph with one node for each name, which logs its name; no edges."""
    graph = StateGraph(schema)
    for name in names:
        graph.add_node(name, lambda s, name=name: {"log": [name]})
    return graph


def routed(path, path_map=None, *, names=("a", "b", "c"), given=None):
    graph = marks(*names)
    graph.add_edge(START, names[0])
    graph.add_conditional_edges(names[0], path, *([path_map] if path_map is not None else []))
    return graph.compile().invoke(given or {})


def case_chain(env):
    graph = marks("a", "b", "c")
    for edge in [(START, "a"), ("a", "b"), ("b", "c"), ("c", END)]:
        graph.add_edge(*edge)
    return list(graph.compile().stream({}, stream_mode=["values", "updates"]))


def case_order_of_keys_for_a_path_function(env):
    seen = []
    graph = StateGraph(State)
    graph.add_node("n", lambda s: {"to": "end"})
    graph.add_edge(START, "n")
    graph.add_conditional_edges("n", lambda s: seen.append(list(s)) or s["to"], {"end": END})
    graph.compile().invoke({"log": ["a"], "n": 1, "to": ""})
    return seen


def case_parallel_order_is_by_name(env):
    graph = marks("z", "m", "a")
    for name in ("z", "m", "a"):
        graph.add_edge(START, name)
    return graph.compile().invoke({})


def case_many_parallel_nodes(env):
    names = [f"n{i}" for i in range(12)]
    graph = marks(*reversed(names))
    for name in names:
        graph.add_edge(START, name)
    return graph.compile().invoke({})


def case_diamond_joins_once(env):
    graph = marks("a", "b", "c", "d")
    for edge in [(START, "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]:
        graph.add_edge(*edge)
    return graph.compile().invoke({})


def case_unequal_branches_run_the_join_twice(env):
    graph = marks("a", "b", "b2", "c", "d")
    for edge in [(START, "a"), ("a", "b"), ("b", "b2"), ("a", "c"), ("b2", "d"), ("c", "d")]:
        graph.add_edge(*edge)
    return graph.compile().invoke({})


def case_waiting_edge(env):
    graph = marks("a", "b", "b2", "c", "d")
    for edge in [(START, "a"), ("a", "b"), ("b", "b2"), ("a", "c"), (["b2", "c"], "d")]:
        graph.add_edge(*edge)
    return graph.compile().invoke({})


def case_waiting_edge_that_never_fires(env):
    graph = marks("a", "b", "c", "d")
    graph.add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: "b", ["b", "c"])
    graph.add_edge(["b", "c"], "d")
    return graph.compile().invoke({})


def case_waiting_edge_in_a_loop(env):
    graph = marks("a", "b", "c")
    graph.add_node("join", lambda s: {"log": ["join"], "n": s.get("n", 0) + 1})
    for edge in [(START, "a"), ("a", "b"), ("a", "c"), (["b", "c"], "join")]:
        graph.add_edge(*edge)
    graph.add_conditional_edges("join", lambda s: "a" if s["n"] < 3 else END)
    return graph.compile().invoke({})


def case_two_waiting_edges_to_one_node(env):
    graph = marks("a", "b", "c", "d", "e")
    for name in "abcd":
        graph.add_edge(START, name)
    graph.add_edge(["a", "b"], "e")
    graph.add_edge(["c", "d"], "e")
    return graph.compile().invoke({})


def case_route_by_name(env):
    return [routed(lambda s: s["to"], given={"to": to}) for to in ("b", "c", END)]


def case_route_by_dict(env):
    paths = {"left": "b", "right": "c", 3: END, True: "c"}
    return [routed(lambda s: s["n"], paths, given={"n": n}) for n in ("left", "right", 3, True)]


def case_route_by_list(env):
    return routed(lambda s: "b", ["b", "c"])


def case_route_by_literal(env):
    def path(state) -> Literal["b", "__end__"]:
        return state["to"]

    return [routed(path, given={"to": to}) for to in ("b", END)]


def case_route_outside_of_the_literal(env):
    def path(state) -> Literal["b"]:
        return "c"

    return env.error(lambda: routed(path))


def case_route_to_many(env):
    return routed(lambda s: ["c", "b"])


def case_route_to_nothing(env):
    return env.error(lambda: routed(lambda s: []))


def case_route_to_none(env):
    return env.error(lambda: routed(lambda s: None))


def case_route_to_a_missing_key_of_the_map(env):
    return env.error(lambda: routed(lambda s: "nope", {"yes": "b"}))


def case_route_outside_of_the_list(env):
    return env.error(lambda: routed(lambda s: "c", ["b"]))


def case_route_to_start(env):
    return env.error(lambda: routed(lambda s: START))


def case_route_of_mixed_sends_and_names(env):
    return routed(lambda s: ["b", Send("c", {"n": 1}), Send("c", {"n": 2})])


def case_route_with_end_among_others(env):
    return routed(lambda s: [END, "b"])


def case_route_by_bool(env):
    return [routed(lambda s: s["n"] > 1, {True: "b", False: "c"}, given={"n": n}) for n in (1, 2)]


def case_path_with_config(env):
    def path(state, config: RunnableConfig):
        return config["configurable"]["to"]

    graph = marks("a", "b", "c")
    graph.add_edge(START, "a")
    graph.add_conditional_edges("a", path, ["b", "c"])
    return graph.compile().invoke({}, {"configurable": {"to": "c"}})


def case_path_sees_the_writes_of_its_node(env):
    graph = marks("b")
    seen = []

    def path(state):
        seen.append(dict(state))
        return "b"

    graph.add_node("a", lambda s: {"n": 1, "log": ["x"]})
    graph.add_node("side", lambda s: {"log": ["side"]})
    graph.add_edge(START, "a")
    graph.add_edge(START, "side")
    graph.add_conditional_edges("a", path)
    return [graph.compile().invoke({}), seen]


def case_path_as_runnable(env):
    def pick(state):
        return "c"

    return [routed(RunnableLambda(pick, name="pick")), routed(RunnableLambda(pick))]


def case_path_as_callable_object(env):
    class Path:
        def __call__(self, state) -> Literal["b", "c"]:
            return "b"

    return routed(Path())


async def case_path_async(env):
    async def path(state):
        return "b" if state["n"] else END

    graph = marks("a", "b")
    graph.add_edge(START, "a")
    graph.add_conditional_edges("a", path)
    app = graph.compile()
    return [await app.ainvoke({"n": 1}), await app.ainvoke({"n": 0})]


def case_path_async_in_sync_run(env):
    async def path(state):
        return "b"

    return env.error(lambda: routed(path))


def case_path_error(env):
    return env.error(lambda: routed(lambda s: 1 / 0))


def case_several_conditional_edges(env):
    def first(state):
        return "b"

    def second(state):
        return ["c", "b"]

    graph = marks("a", "b", "c")
    graph.add_edge(START, "a")
    graph.add_conditional_edges("a", first)
    graph.add_conditional_edges("a", second)
    return graph.compile().invoke({})


def case_conditional_and_plain_edge_together(env):
    graph = marks("a", "b", "c")
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_conditional_edges("a", lambda s: "c")
    return graph.compile().invoke({})


def case_two_paths_of_one_name(env):
    graph = marks("a", "b")
    graph.add_conditional_edges("a", lambda s: "b")
    return env.error(lambda: graph.add_conditional_edges("a", lambda s: END))


def case_conditional_entry_point(env):
    graph = marks("a", "b")
    graph.set_conditional_entry_point(lambda s: s["to"], {"x": "a", "y": "b"})
    app = graph.compile()
    return [app.invoke({"to": to}) for to in ("x", "y")]


def case_conditional_edges_from_start(env):
    graph = marks("a", "b")
    graph.add_conditional_edges(START, lambda s: [s["to"], "b"], ["a", "b"])
    return graph.compile().invoke({"to": "a"})


def case_conditional_start_to_end(env):
    graph = marks("a")
    graph.add_conditional_edges(START, lambda s: END, ["a", END])
    app = graph.compile()
    return [app.invoke({"n": 1}), list(app.stream({"n": 1}))]


def case_entry_and_finish_points(env):
    graph = marks("a", "b")
    graph.set_entry_point("a")
    graph.add_edge("a", "b")
    graph.set_finish_point("b")
    return graph.compile().invoke({})


def case_sequence(env):
    def first(state):
        return {"log": ["first"]}

    def second(state):
        return {"log": ["second"]}

    graph = StateGraph(State)
    graph.add_sequence([first, ("named", second), lambda s: {"log": ["lambda"]}][:2])
    graph.add_edge(START, "first")
    return [list(graph.nodes), graph.compile().invoke({})]


def case_sequence_errors(env):
    def step(state):
        return {}

    return [
        env.error(lambda: StateGraph(State).add_sequence([])),
        env.error(lambda: StateGraph(State).add_sequence([step, step])),
        env.error(lambda: StateGraph(State).add_sequence([("x", step), ("x", step)])),
    ]


def case_building_is_fluent(env):
    app = (
        StateGraph(State)
        .add_node("a", lambda s: {"log": ["a"]})
        .add_node("b", lambda s: {"log": ["b"]})
        .add_edge(START, "a")
        .add_edge("a", "b")
        .compile()
    )
    return app.invoke({})


def case_cycle(env):
    graph = StateGraph(State)
    graph.add_node("up", lambda s: {"n": s["n"] + 1, "log": [s["n"]]})
    graph.add_edge(START, "up")
    graph.add_conditional_edges("up", lambda s: "up" if s["n"] < 5 else END)
    return graph.compile().invoke({"n": 0})


def case_self_loop_by_plain_edge(env):
    graph = marks("a")
    graph.add_edge(START, "a")
    graph.add_edge("a", "a")
    return env.error(lambda: graph.compile().invoke({}, {"recursion_limit": 4}))


def case_duplicate_edge(env):
    graph = marks("a", "b")
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_edge("a", "b")
    return graph.compile().invoke({})


def case_nodes_run_in_the_order_of_their_names(env):
    graph = marks("b", "a", "c")
    graph.add_conditional_edges(START, lambda s: ["c", "a", "b"])
    return graph.compile().invoke({})


def case_sends_come_after_plain_tasks(env):
    graph = marks("a", "z")
    graph.add_conditional_edges(START, lambda s: [Send("a", {}), "z", Send("z", {}), "a"])
    return graph.compile().invoke({})


def case_get_graph(env):
    graph = marks("a", "b", "c")
    graph.add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: "b", {"x": "b", "y": "c"})
    graph.add_edge("b", END)
    graph.add_edge("c", END)
    drawn = graph.compile().get_graph()
    return [
        sorted(drawn.nodes),
        sorted((e.source, e.target, e.conditional, e.data or "") for e in drawn.edges),
    ]


def case_get_graph_without_a_path_map(env):
    graph = marks("a", "b")
    graph.add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: "b")
    drawn = graph.compile().get_graph()
    return sorted((e.source, e.target, e.conditional) for e in drawn.edges)


def case_paths_do_not_see_what_lived_for_one_step(env):
    class Passing(TypedDict):
        a: int
        e: Annotated[int, EphemeralValue]

    seen = []

    def look(name, update):
        def node(state):
            seen.append((name, dict(state)))
            return update

        return node

    def way(name, to):
        def path(state):
            seen.append((name, dict(state)))
            return to

        return path

    graph = StateGraph(Passing)
    graph.add_node("writes", look("writes", {"a": 1, "e": 5}))
    graph.add_node("reads", look("reads", {"a": 2}))
    graph.add_node("again", look("again", {"e": 7}))
    graph.add_edge(START, "writes")
    graph.add_edge("writes", "reads")
    graph.add_conditional_edges("reads", way("after reads", "again"), ["again"])
    graph.add_conditional_edges("again", way("after again", END), [END])
    return graph.compile().invoke({"a": 0}), seen


def case_route_by_an_empty_map(env):
    def decided(state) -> Literal["b"]:
        return "b"

    return [routed(path, ends) for path in (lambda s: "b", decided) for ends in ({}, [])]


def case_paths_and_pairs_that_are_none(env):
    def conditional(path):
        return lambda: marks("a").add_conditional_edges("a", path) and None

    def sequence(*nodes):
        return lambda: StateGraph(State).add_sequence(list(nodes)) and None

    paths = [env.error(conditional(path)) for path in (None, 3, "a")]
    return paths, env.error(sequence(("a",))), env.error(sequence(("a", marks, 3)))
