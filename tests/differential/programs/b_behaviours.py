"""The numbered items of the behaviours list that the other files of part B do not cover."""

import asyncio
import operator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels import UntrackedValue
from langgraph.errors import NodeError, NodeTimeoutError
from langgraph.func import task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Overwrite, RetryPolicy, Send, TimeoutPolicy, interrupt
from pydantic import BaseModel

CONFIG = {"configurable": {"thread_id": "1"}}
# In its default (async) mode the peer writes the state of a join while the next step changes it.
SYNC = {"durability": "sync"}
FAST = {"initial_interval": 0.001, "backoff_factor": 1.0, "jitter": False}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class AppError(Exception):
    """An error of the program's own."""


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


# --- time travel and subgraphs ----------------------------------------------------------------


def counting(saver_of_inner):
    inner = StateGraph(State)
    inner.add_node("count", lambda s: {"items": ["c"]})
    inner.add_edge(START, "count")
    return inner.compile(checkpointer=saver_of_inner)


def caller(saver, inner):
    """A node that calls another graph with an empty list and tells how long it got."""
    builder = StateGraph(State)
    builder.add_node("call", lambda s: {"x": len(inner.invoke({"items": ["i"]})["items"])})
    builder.add_edge(START, "call")
    return builder.compile(checkpointer=saver)


def case_b26_subgraph_memory(env):
    found = {}
    for inner_saver in (True, None, False):
        graph = caller(env.saver(), counting(inner_saver))
        config = {"configurable": {"thread_id": str(inner_saver)}}
        found[str(inner_saver)] = [graph.invoke({"items": []}, config)["x"] for _ in range(3)]
    return found


def case_b27_namespaces_by_node(env):
    inner = counting(True)
    builder = StateGraph(State)
    builder.add_node("one", lambda s: {"items": [len(inner.invoke({"items": []})["items"])]})
    builder.add_node("two", lambda s: {"items": [len(inner.invoke({"items": []})["items"])]})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    graph = builder.compile(checkpointer=env.saver())
    return [graph.invoke({"items": []}, CONFIG)["items"] for _ in range(2)]


def case_b25_replay_of_a_subgraph_checkpoint(env):
    inner = StateGraph(State)
    inner.add_sequence(
        [("s1", add("s1")), ("ask", lambda s: {"items": [interrupt("q")]}), ("s2", add("s2"))]
    )
    inner.add_edge(START, "s1")
    outer = StateGraph(State)
    outer.add_node("sub", inner.compile())
    outer.add_edge(START, "sub")
    graph = outer.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    child = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    place = {k: child.config["configurable"][k] for k in ("thread_id", "checkpoint_ns")}
    history = list(graph.get_state_history({"configurable": place}))
    return (
        child.values,
        child.next,
        [(s.metadata["step"], s.next, s.values) for s in history],
        graph.invoke(Command(resume="A"), CONFIG),
    )


def case_b28_replay_of_the_parent_and_memory_of_the_subgraph(env):
    graph = caller(env.saver(), counting(True))
    turns = [graph.invoke({"items": []}, CONFIG, durability="sync")["x"] for _ in range(3)]
    first_call = [s for s in graph.get_state_history(CONFIG) if s.next == ("call",)][-1]
    replayed = graph.invoke(None, first_call.config, durability="sync")["x"]
    return turns, replayed, graph.invoke({"items": []}, CONFIG)["x"]


def case_b28_new_input_at_an_old_checkpoint_of_the_parent(env):
    graph = caller(env.saver(), counting(True))
    turns = [graph.invoke({"items": []}, CONFIG, durability="sync")["x"] for _ in range(3)]
    first_end = [s for s in graph.get_state_history(CONFIG) if not s.next][-1]
    forked = graph.invoke({"items": []}, first_end.config, durability="sync")["x"]
    return turns, forked, graph.invoke({"items": []}, CONFIG)["x"]


def case_subgraph_update_while_asked(env):
    inner = StateGraph(State)
    inner.add_sequence([("s1", add("s1")), ("ask", lambda s: {"items": [interrupt("q")]})])
    inner.add_edge(START, "s1")
    outer = StateGraph(State)
    outer.add_node("sub", inner.compile())
    outer.add_edge(START, "sub")
    graph = outer.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    child = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    graph.update_state(child.config, {"items": ["inside"]})
    return graph.invoke(None, CONFIG), graph.invoke(Command(resume="A"), CONFIG)


# --- retries and timeouts -----------------------------------------------------------------------


async def case_b36_timeout_of_an_async_node(env):
    async def slow(state):
        await asyncio.sleep(60)

    builder = StateGraph(State)
    builder.add_node("slow", slow, timeout=0.05)
    builder.add_edge(START, "slow")
    error = await env.aerror(builder.compile().ainvoke({"items": []}))
    return error, issubclass(NodeTimeoutError, TimeoutError)


def case_b36_timeout_of_a_sync_node(env):
    def build():
        builder = StateGraph(State)
        builder.add_node("sync", add("a"), timeout=1)
        builder.add_edge(START, "sync")
        return builder.compile() and "compiled"

    return env.error(build)


def case_b36_timeout_of_a_sync_task(env):
    def build():
        @task(timeout=1)
        def work():
            return 1

        return "declared"

    return env.error(build)


async def case_timeout_is_retried(env):
    calls = []

    async def slow_once(state):
        calls.append(1)
        if len(calls) == 1:
            await asyncio.sleep(60)
        return {"items": [len(calls)]}

    builder = StateGraph(State)
    builder.add_node(
        "slow", slow_once, timeout=TimeoutPolicy(run_timeout=0.05), retry_policy=RetryPolicy(**FAST)
    )
    builder.add_edge(START, "slow")
    return await builder.compile().ainvoke({"items": []})


def handled(saver, node, handler, **options):
    builder = StateGraph(State)
    builder.add_node("work", node, error_handler=handler, **options)
    builder.add_node("next", add("next"))
    builder.add_node("other", add("other"))
    builder.add_edge(START, "work")
    builder.add_edge("work", "next")
    return builder.compile(checkpointer=saver)


def case_b38_handler_runs_after_the_retries(env):
    calls = []

    def node(state):
        calls.append("node")
        raise AppError("bad")

    def handler(state, error: NodeError):
        calls.append("handler")
        return {"items": [f"{error.node}: {error.error}"]}

    policy = RetryPolicy(max_attempts=3, **FAST)
    graph = handled(env.saver(), node, handler, retry_policy=policy)
    return graph.invoke({"items": []}, CONFIG), calls, graph.get_state(CONFIG).next


def case_b38_handler_returns_a_command(env):
    def node(state):
        raise AppError("bad")

    def handler(state, error: NodeError):
        return Command(goto="other", update={"items": ["handled"]})

    return handled(env.saver(), node, handler).invoke({"items": []}, CONFIG)


def case_b38_handler_does_not_swallow_a_question(env):
    calls = []

    def node(state):
        return {"items": [interrupt("q")]}

    def handler(state, error: NodeError):
        calls.append("handler")
        return {}

    graph = handled(env.saver(), node, handler)
    return graph.invoke({"items": []}, CONFIG), graph.invoke(Command(resume="A"), CONFIG), calls


def case_b38_crashed_handler_is_resumed_itself(env):
    calls = []

    def node(state):
        calls.append("node")
        raise AppError("bad")

    def handler(state, error: NodeError):
        calls.append("handler")
        if calls.count("handler") == 1:
            raise ValueError("handler crashed")
        return {"items": ["handled"]}

    graph = handled(env.saver(), node, handler)
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG))
    return error, graph.invoke(None, CONFIG), calls


def case_b38_handler_is_not_called_without_an_error(env):
    def handler(state, error: NodeError):
        return {"items": ["handler"]}

    return handled(None, add("fine"), handler).invoke({"items": []})
