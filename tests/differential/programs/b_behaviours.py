"""The numbered items of the behaviours list that the other files of part B do not cover."""

import operator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import UntrackedValue
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Overwrite, Send, interrupt
from pydantic import BaseModel

CONFIG = {"configurable": {"thread_id": "1"}}
# In its default (async) mode the peer writes the state of a join while the next step changes it.
SYNC = {"durability": "sync"}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


def add(value):
    return lambda state: {"items": [value]}


def chain(saver, *nodes, schema=State, **options):
    builder = StateGraph(schema)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0][0])
    return builder.compile(checkpointer=saver, **options)


# --- super-steps and state --------------------------------------------------------------------


def case_b01_goto_needs_no_edge(env):
    builder = StateGraph(State)
    builder.add_node("a", lambda s: Command(goto="b", update={"items": ["a"]}))
    builder.add_node("b", lambda s: Command(goto=["c", "d"]))
    builder.add_node("c", add("c"))
    builder.add_node("d", lambda s: Command(goto=Send("e", {"x": 5}), update={"items": ["d"]}))
    builder.add_node("e", lambda s: {"items": [s["x"]]})
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    result = graph.invoke({"items": []}, CONFIG)
    return result, [(s.next, s.values) for s in graph.get_state_history(CONFIG)]


def case_b01_goto_beside_an_edge(env):
    builder = StateGraph(State)
    builder.add_node("a", lambda s: Command(goto="b", update={"items": ["a"]}))
    builder.add_node("b", add("b"))
    builder.add_node("c", add("c"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "c")
    return builder.compile().invoke({"items": []})


def case_b02_list_of_commands_and_updates(env):
    builder = StateGraph(State)
    builder.add_node(
        "a",
        lambda s: [
            Command(goto="b", update={"items": ["one"]}),
            {"items": ["two"], "x": 1},
            Command(goto="c", update={"items": ["three"]}),
        ],
    )
    builder.add_node("b", add("b"))
    builder.add_node("c", add("c"))
    builder.add_edge(START, "a")
    graph = builder.compile()
    return graph.invoke({"items": []}), [
        part for part in graph.stream({"items": []}) if "a" in part
    ]


def case_b02_root_state(env):
    builder = StateGraph(Annotated[list, operator.add])
    builder.add_node("a", lambda s: ["a"])
    builder.add_node("b", lambda s: [Command(goto="c", update=["b1"]), ["b2"]])
    builder.add_node("c", lambda s: [f"c saw {len(s)}"])
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    graph = builder.compile(checkpointer=env.saver())
    result = graph.invoke(["i"], CONFIG)
    return result, graph.get_state(CONFIG), list(graph.get_state_history(CONFIG))[-1].values


def case_b02_root_state_streams(env):
    builder = StateGraph(Annotated[list, operator.add])
    builder.add_node("a", lambda s: ["a"])
    builder.add_node("b", lambda s: [])
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    graph = builder.compile()
    modes = ("values", "updates", "tasks")
    return {mode: list(graph.stream(["i"], stream_mode=mode)) for mode in modes}


def case_b04_overwrite(env):
    return chain(
        None, ("a", add("a")), ("b", lambda s: {"items": Overwrite(["only"])}), ("c", add("c"))
    ).invoke({"items": ["i"]})


def case_b04_overwrite_as_a_dict(env):
    return chain(None, ("a", lambda s: {"items": {"__overwrite__": ["only"]}})).invoke(
        {"items": ["i"]}
    )


def case_b04_overwrite_discards_siblings(env):
    found = []
    for names in ("abc", "bca", "cab"):
        builder = StateGraph(State)
        for name in names:
            value = Overwrite(["b"]) if name == "b" else [name]
            builder.add_node(name, lambda s, v=value: {"items": v})
            builder.add_edge(START, name)
        found.append(builder.compile().invoke({"items": ["i"]}))
    return found


def case_b04_two_overwrites(env):
    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, lambda s: {"items": Overwrite(["x"])})
        builder.add_edge(START, name)
    return env.error(lambda: builder.compile().invoke({"items": []}))


def case_b04_overwrite_in_update_state(env):
    graph = chain(env.saver(), ("a", add("a")))
    graph.invoke({"items": ["i"]}, CONFIG)
    graph.update_state(CONFIG, {"items": Overwrite(["fresh"])})
    return graph.get_state(CONFIG).values


def case_b04_overwrite_in_the_input(env):
    graph = chain(env.saver(), ("a", add("a")))
    graph.invoke({"items": ["i"]}, CONFIG)
    return graph.invoke({"items": Overwrite(["fresh"])}, CONFIG)


class WithUntracked(TypedDict, total=False):
    items: Annotated[list, operator.add]
    handle: Annotated[Any, UntrackedValue]


def case_b05_untracked_is_not_persisted(env):
    def use(state):
        return {"items": [type(state.get("handle")).__name__]}

    graph = chain(
        env.saver(),
        ("open", lambda s: {"handle": object()}),
        ("use", use),
        ("ask", lambda s: {"items": [interrupt("q")]}),
        ("again", use),
        schema=WithUntracked,
    )
    first = graph.invoke({"items": []}, CONFIG)["items"]
    values = graph.get_state(CONFIG).values
    return first, values, graph.invoke(Command(resume="A"), CONFIG)["items"]


def case_b05_untracked_in_a_send(env):
    def work(state):
        return {"items": [type(state.get("handle")).__name__]}

    builder = StateGraph(WithUntracked)
    builder.add_node("w", work)
    builder.add_conditional_edges(
        START, lambda s: [Send("w", {"handle": lambda: None, "n": 1})], ["w"]
    )
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG)["items"], graph.get_state(CONFIG).values


class Model(BaseModel):
    a: int | None = 1
    b: int = 2
    seen: list[str] = []


def case_b08_explicit_none_in_a_pydantic_update(env):
    graph = chain(
        env.saver(),
        ("set", lambda s: Model(a=None)),
        ("see", lambda s: {"seen": [repr(s.a), repr(s.b)]}),
        schema=Model,
    )
    return graph.invoke({"a": 5, "b": 6}, CONFIG), graph.get_state(CONFIG).values


def case_b08_pydantic_instance_as_input(env):
    graph = chain(None, ("see", lambda s: {"seen": [repr(s.a), repr(s.b)]}), schema=Model)
    return graph.invoke(Model()), graph.invoke(Model(a=3)), graph.invoke({"b": 9})


def case_b08_pydantic_instance_on_a_second_turn(env):
    graph = chain(env.saver(), ("see", lambda s: {"seen": [repr(s.a), repr(s.b)]}), schema=Model)
    graph.invoke(Model(a=7, b=8), CONFIG)
    return graph.invoke(Model(b=9), CONFIG)


def case_b10_waiting_edge_fires_once(env):
    builder = StateGraph(State)
    builder.add_sequence([("a", add("a")), ("a2", add("a2")), ("a3", add("a3"))])
    builder.add_node("b", add("b"))
    builder.add_node("z", add("z"))
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(["a3", "b"], "z")
    graph = builder.compile(checkpointer=env.saver())
    result = graph.invoke({"items": []}, CONFIG, **SYNC)
    return result, [(s.metadata["step"], s.next) for s in graph.get_state_history(CONFIG)]


def case_b10_waiting_edge_in_a_loop(env):
    builder = StateGraph(State)
    for name in ("fork", "l", "r"):
        builder.add_node(name, add(name))
    builder.add_node("join", add("join"))
    builder.add_edge(START, "fork")
    builder.add_edge("fork", "l")
    builder.add_edge("fork", "r")
    builder.add_edge(["l", "r"], "join")
    builder.add_conditional_edges(
        "join", lambda s: END if s["items"].count("join") == 2 else "fork", ["fork", END]
    )
    return builder.compile().invoke({"items": []})


def case_b10_waiting_edge_across_an_interrupt(env):
    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_sequence([("b", add("b")), ("ask", lambda s: {"items": [interrupt("q")]})])
    builder.add_node("z", add("z"))
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(["a", "ask"], "z")
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG, **SYNC), graph.invoke(
        Command(resume="A"), CONFIG, **SYNC
    )


def case_b10_deferred_node(env):
    builder = StateGraph(State)
    builder.add_sequence([("a", add("a")), ("a2", add("a2")), ("a3", add("a3"))])
    builder.add_node("b", add("b"))
    builder.add_node("z", add("z"), defer=True)
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge("a3", "z")
    builder.add_edge("b", "z")
    graph = builder.compile(checkpointer=env.saver())
    result = graph.invoke({"items": []}, CONFIG, **SYNC)
    return result, [(s.metadata["step"], s.next) for s in graph.get_state_history(CONFIG)]


def case_b10_deferred_node_across_an_interrupt(env):
    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_node("ask", lambda s: {"items": [interrupt("q")]})
    builder.add_node("z", add("z"), defer=True)
    builder.add_edge(START, "a")
    builder.add_edge(START, "ask")
    builder.add_edge("a", "z")
    builder.add_edge("ask", "z")
    graph = builder.compile(checkpointer=env.saver())
    first = graph.invoke({"items": []}, CONFIG, **SYNC)
    return first, graph.get_state(CONFIG).next, graph.invoke(Command(resume="A"), CONFIG, **SYNC)


async def case_b01_goto_async(env):
    async def route(state):
        return Command(goto=[Send("w", {"x": 1}), "z"], update={"items": ["route"]})

    async def work(state):
        return [Command(update={"items": [state["x"]]}), {"items": ["w"]}]

    builder = StateGraph(State)
    builder.add_node("route", route)
    builder.add_node("w", work)
    builder.add_node("z", add("z"))
    builder.add_edge(START, "route")
    graph = builder.compile()
    parts = [p async for p in graph.astream({"items": []}, stream_mode="values")]
    return parts, await graph.ainvoke({"items": []})


async def case_b10_joins_async(env):
    async def quick(state):
        return {"items": ["quick"]}

    builder = StateGraph(State)
    builder.add_node("quick", quick)
    builder.add_sequence([("a", add("a")), ("b", add("b"))])
    builder.add_node("join", add("join"))
    builder.add_node("late", add("late"), defer=True)
    builder.add_edge(START, "quick")
    builder.add_edge(START, "a")
    builder.add_edge(["quick", "b"], "join")
    builder.add_edge("quick", "late")
    async with env.asaver() as saver:
        graph = builder.compile(checkpointer=saver)
        result = await graph.ainvoke({"items": []}, CONFIG, **SYNC)
        history = [s async for s in graph.aget_state_history(CONFIG)]
        return result, [(s.metadata["step"], s.next) for s in history]


# --- streaming -----------------------------------------------------------------------------


def case_b14_messages_of_a_subgraph_once(env):
    inner = chain(
        None, ("say", lambda s: {"messages": [AIMessage("hi", id="m1")]}), schema=MessagesState
    )
    outer = StateGraph(MessagesState)
    outer.add_node("sub", inner)
    outer.add_edge(START, "sub")
    graph = outer.compile()
    given = {"messages": [HumanMessage("hello", id="h1")]}
    found = []
    for subgraphs in (False, True):
        parts = list(graph.stream(given, stream_mode="messages", subgraphs=subgraphs))
        found.append([(p[1] if subgraphs else p)[0].content for p in parts])
    return found


def case_b14_messages_returned_by_nodes(env):
    graph = chain(
        None,
        ("one", lambda s: {"messages": [AIMessage("first", id="1")]}),
        ("two", lambda s: {"messages": AIMessage("second", id="2")}),
        ("same", lambda s: {"messages": [s["messages"][-1]]}),
        schema=MessagesState,
    )
    parts = list(graph.stream({"messages": [HumanMessage("in", id="0")]}, stream_mode="messages"))
    return [(m.content, meta["langgraph_node"], meta["langgraph_step"]) for m, meta in parts]
