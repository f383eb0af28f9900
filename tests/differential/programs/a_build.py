"""Mistakes in building a graph: each is an error of a known class, at a known moment."""

from operator import add
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


def graph_of(*names):
    graph = StateGraph(State)
    for name in names:
        graph.add_node(name, lambda s, name=name: {"log": [name]})
    return graph


def case_edge_to_unknown_node(env):
    graph = graph_of("a")
    graph.add_edge(START, "a")
    early = env.error(lambda: graph.add_edge("a", "nowhere") and None)
    return [early, env.error(graph.compile)]


def case_edge_from_unknown_node(env):
    graph = graph_of("a")
    graph.add_edge(START, "a")
    early = env.error(lambda: graph.add_edge("nowhere", "a") and None)
    return [early, env.error(graph.compile)]


def case_waiting_edge_from_unknown_node(env):
    graph = graph_of("a", "b")
    return [
        env.error(lambda: graph.add_edge(["a", "nowhere"], "b")),
        env.error(lambda: graph.add_edge(["a", END], "b")),
        env.error(lambda: graph.add_edge(["a"], "nowhere")),
    ]


def case_edge_from_end_and_to_start(env):
    graph = graph_of("a")
    return [
        env.error(lambda: graph.add_edge(END, "a")),
        env.error(lambda: graph.add_edge("a", START)),
    ]


def case_duplicate_node(env):
    return env.error(lambda: graph_of("a").add_node("a", lambda s: s))


def case_reserved_names(env):
    return [env.error(lambda n=n: list(graph_of(n).nodes)) for n in (START, END, "a|b", "a:b")]


def case_node_named_interrupt(env):
    return env.error(lambda: list(graph_of("__interrupt__").nodes))


def case_node_named_like_a_state_key(env):
    return env.error(lambda: list(graph_of("log").nodes))


def case_empty_and_odd_names(env):
    return [
        env.error(lambda: list(graph_of("with space").nodes)),
        env.error(lambda: list(graph_of("ünï").nodes)),
    ]


def case_no_entry_point(env):
    return [env.error(lambda: graph_of("a").compile()), env.error(lambda: graph_of().compile())]


def case_unreachable_node_is_allowed(env):
    graph = graph_of("a", "b")
    graph.add_edge(START, "a")
    return env.error(lambda: graph.compile().invoke({}))


def case_entry_point_that_does_not_exist(env):
    graph = graph_of("a")
    return [env.error(lambda: graph.set_entry_point("nope") and None), env.error(graph.compile)]


def case_path_map_to_unknown_node(env):
    graph = graph_of("a")
    graph.add_edge(START, "a")
    early = env.error(
        lambda: graph.add_conditional_edges("a", lambda s: "x", {"x": "nope"}) and None
    )
    return [early, env.error(graph.compile)]


def case_conditional_edges_from_unknown_node(env):
    graph = graph_of("a")
    graph.add_edge(START, "a")
    early = env.error(lambda: graph.add_conditional_edges("nope", lambda s: "a") and None)
    return [early, env.error(graph.compile)]


def case_interrupt_at_unknown_node(env):
    graph = graph_of("a")
    graph.add_edge(START, "a")
    return [
        env.error(lambda: graph.compile(interrupt_before=["nope"])),
        env.error(lambda: graph.compile(interrupt_after=["nope"])),
    ]


def case_compile_twice(env):
    graph = graph_of("a", "b")
    graph.add_edge(START, "a")
    first = graph.compile()
    graph.add_edge("a", "b")
    second = graph.compile()
    return [first.invoke({}), second.invoke({})]


def case_compiled_name(env):
    graph = graph_of("a")
    graph.add_edge(START, "a")
    return [
        graph.compile().name,
        graph.compile(name="mine").name,
        graph.compile(name="x").get_name(),
    ]


def case_no_state_schema(env):
    return [env.error(lambda: StateGraph()), env.error(lambda: list(StateGraph(None).nodes))]


def case_node_without_action(env):
    return [
        env.error(lambda: StateGraph(State).add_node("only a name")),
        env.error(lambda: StateGraph(State).add_node("n", "text")),
        env.error(lambda: StateGraph(State).add_node("n", 5)),
    ]


def case_bad_reducer(env):
    def three(a, b, c):
        return a

    class Bad(TypedDict):
        x: Annotated[list, three]

    return env.error(lambda: StateGraph(Bad))


def case_reducer_with_default_arguments(env):
    def keep(a, b, limit=2):
        return (a + b)[-limit:]

    class Kept(TypedDict):
        x: Annotated[list, keep]

    return env.error(lambda: list(StateGraph(Kept).nodes))


def case_managed_value_in_input_schema(env):
    from langgraph.managed import IsLastStep

    class Managed(TypedDict):
        last: IsLastStep

    return env.error(lambda: StateGraph(State, input_schema=Managed))


def case_destinations_are_drawn(env):
    graph = graph_of("b", "c")
    graph.add_node("a", lambda s: Command(goto="b"), destinations=("b", "c"))
    graph.add_edge(START, "a")
    drawn = graph.compile().get_graph()
    return sorted((e.source, e.target, e.conditional) for e in drawn.edges)


def case_command_annotation_is_drawn(env):
    from typing import Literal

    def a(state) -> Command[Literal["b", "__end__"]]:
        return Command(goto="b")

    graph = graph_of("b")
    graph.add_node(a)
    graph.add_edge(START, "a")
    app = graph.compile()
    edges = sorted((e.source, e.target, e.conditional) for e in app.get_graph().edges)
    return [edges, app.invoke({})]


def case_command_annotation_to_unknown_node(env):
    from typing import Literal

    def a(state) -> Command[Literal["nope"]]:
        return Command(goto="nope")

    graph = graph_of("b")
    graph.add_node(a)
    graph.add_edge(START, "a")
    return env.error(graph.compile)


def case_validate_returns_the_graph(env):
    graph = graph_of("a")
    graph.add_edge(START, "a")
    return graph.validate() is graph


def case_node_attributes_of_compiled(env):
    graph = graph_of("a", "b")
    graph.add_edge(START, "a")
    app = graph.compile()
    return [list(app.nodes), app.builder is graph, sorted(graph.channels)]


def case_metadata_of_nodes_that_is_none(env):
    def run(metadata):
        graph = StateGraph(State)
        graph.add_node("a", lambda s: {"log": ["a"]}, metadata=metadata)
        return graph.add_edge(START, "a").compile().invoke({})

    return run({}), run({"m": 1}), [env.error(lambda given=given: run(given)) for given in (3, "m")]


def case_cache_policies_that_are_none(env):
    def run(policy):
        graph = StateGraph(State)
        graph.add_node("a", lambda s: {"log": ["a"]}, cache_policy=policy)
        return graph.add_edge(START, "a").compile().invoke({})

    return [env.error(lambda given=given: run(given)) for given in (60, "60", True)]


def case_timeouts_that_are_none(env):
    async def a(state):
        return {"log": ["a"]}

    wrong = ({"run_timeout": 1}, [1], int, object(), "x", 0, -1)
    return [
        env.error(lambda given=given: StateGraph(State).add_node("a", a, timeout=given) and None)
        for given in wrong
    ]


def case_names_with_half_of_a_surrogate_pair(env):
    half = "half \ud800"
    keyed = StateGraph(TypedDict("Keyed", {half: int})).add_node("a", lambda s: {half: 2})
    named = StateGraph(State).add_node(half, lambda s: {"n": 2})

    def outcomes(graph, first):
        graph.add_edge(START, first)
        stored = {"configurable": {"thread_id": "1"}}
        return [
            env.error(lambda: graph.compile().invoke({half: 1, "n": 1}) and "ran"),
            env.error(lambda: graph.compile(env.saver()).invoke({half: 1, "n": 1}, stored)),
        ]

    return [outcomes(keyed, "a"), outcomes(named, half)]
