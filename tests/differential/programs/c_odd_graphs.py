"""Odd graphs: Commands and Sends out of subgraphs, breakpoints everywhere, joins, loops, memory."""

import asyncio
import operator
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.cache.memory import InMemoryCache
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import CachePolicy, Command, Overwrite, Send, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
# In its default (async) mode the peer writes the state of a join while the next step changes it.
SYNC = {"durability": "sync"}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class Items(TypedDict, total=False):
    items: Annotated[list, operator.add]


def on(thread):
    return {"configurable": {"thread_id": str(thread)}}


def add(value):
    return lambda state: {"items": [value]}


def chain(*nodes, schema=State, **options):
    builder = StateGraph(schema)
    names = [f"n{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node)
    for before, after in zip([START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder.compile(**options)


def tidy(snapshot):
    asked = sorted((task.name, [i.value for i in task.interrupts]) for task in snapshot.tasks)
    return snapshot.values, snapshot.next, asked


def history(graph, config=CONFIG):
    found = graph.get_state_history(config)
    return [(s.metadata["source"], s.metadata["step"], s.next, s.values) for s in found]


# --- out of subgraphs -----------------------------------------------------------------------------


class Talk(MessagesState):
    log: Annotated[list, operator.add]


def handing_over(saver, goto):
    """A tool inside a subgraph says what runs next in the graph around it."""

    @tool
    def transfer(tool_call_id: Annotated[str, InjectedToolCallId]):
        """Hand over."""
        moved = ToolMessage("moved", tool_call_id=tool_call_id, name="transfer")
        return Command(graph=Command.PARENT, goto=goto, update={"messages": [moved]})

    call = {"name": "transfer", "args": {}, "id": "c1"}
    inner = StateGraph(Talk)
    inner.add_node("call", lambda s: {"messages": [AIMessage("", id="a", tool_calls=[call])]})
    inner.add_node("tools", ToolNode([transfer]))
    inner.add_edge(START, "call")
    inner.add_edge("call", "tools")
    outer = StateGraph(Talk)
    outer.add_node("sub", inner.compile())
    outer.add_node("work", lambda s: {"log": [f"work {s['n']}"]})
    outer.add_node("other", lambda s: {"log": [f"other {len(s['messages'])}"]})
    outer.add_edge(START, "sub")
    return outer.compile(checkpointer=saver)


def case_a_tool_in_a_subgraph_routes_its_parent(env):
    found = []
    for goto in ("other", END, [Send("work", {"n": 1}), Send("work", {"n": 2}), "other"]):
        graph = handing_over(env.saver(), goto)
        config, given = on(goto), {"messages": [HumanMessage("hi", id="h")]}
        options = {"stream_mode": "updates", "subgraphs": True, **SYNC}
        parts = list(graph.stream(given, config, **options))
        told = graph.get_state(config).values
        found.append([m.content for m in told["messages"]])
        found.append(sorted(map(repr, told.get("log", ()))))
        found.append(sorted((bool(ns), *part) for ns, part in parts))
    return found


def case_a_command_through_two_levels(env):
    goto = ["m2", Send("m3", {"x": 7})]
    update = {"items": ["leaf"]}
    leaf = chain(lambda s: Command(graph=Command.PARENT, goto=goto, update=update))
    middle = StateGraph(State)
    middle.add_node("leaf", leaf)
    middle.add_node("m2", add("m2"))
    middle.add_node("m3", lambda s: {"items": [f"m3 {s.get('x')}"]})
    middle.add_edge(START, "leaf")
    return chain(middle.compile(), add("z"), checkpointer=env.saver()).invoke({"items": []}, CONFIG)


def case_commands_of_the_items_of_a_fan_out(env):
    def route(state):
        goto = "z" if state["x"] % 2 else "y"
        return Command(graph=Command.PARENT, goto=goto, update={"items": [state["x"]]})

    outer = StateGraph(State)
    outer.add_node("sub", chain(route))
    outer.add_node("y", lambda s: {"items": [f"y{len(s['items'])}"]})
    outer.add_node("z", lambda s: {"items": [f"z{len(s['items'])}"]})
    sends = [Send("sub", {"x": i, "items": []}) for i in range(3)]
    outer.add_conditional_edges(START, lambda s: sends, ["sub"])
    graph = outer.compile(checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG), [told[:3] for told in history(graph)]


def nested(saver, **options):
    inner = chain(add("one"), lambda s: {"items": [interrupt("two?")]}, add("three"))
    return chain(add("before"), inner, add("after"), checkpointer=saver, **options)


def case_updates_inside_while_asked(env):
    found = []
    for node in ("n0", "n1", "n2", END):
        graph, config = nested(env.saver()), on(node)
        graph.invoke({"items": []}, config)
        inner = graph.get_state(config, subgraphs=True).tasks[0].state.config
        graph.update_state(inner, None if node == END else {"items": ["u"]}, as_node=node)
        state = graph.get_state(config, subgraphs=True)
        found.append((tidy(state), [tidy(task.state) for task in state.tasks if task.state]))
        found.append(env.error(lambda: graph.invoke(None, config)))
        found.append(tidy(graph.get_state(config)))
    return found


def case_updates_outside_while_asked_inside(env):
    found = []
    for node in ("n0", "n1", "n2", START, END, None):
        graph, config = nested(env.saver()), on(node)
        graph.invoke({"items": []}, config)
        values = None if node == END else {"items": ["u"]}
        found.append(env.error(lambda: bool(graph.update_state(config, values, as_node=node))))
        found.append(tidy(graph.get_state(config)))
        found.append(env.error(lambda: graph.invoke(None, config)))
        found.append(tidy(graph.get_state(config)))
    return found


def case_breakpoints_everywhere(env):
    found = []
    for when in ("interrupt_before", "interrupt_after"):
        graph, config, given = nested(env.saver()), on(when), {"items": []}
        for _ in range(9):
            found.append(graph.invoke(given, config, **{when: "*"}))
            state = graph.get_state(config, subgraphs=True)
            found.append((tidy(state), [tidy(task.state) for task in state.tasks if task.state]))
            if not state.next:
                break
            given = Command(resume="answer") if state.interrupts else None
    return found


def case_breakpoints_of_the_inner_and_the_outer_graph(env):
    inner = chain(add("s0"), add("s1"), interrupt_before="*")
    graph = chain(inner, add("z"), checkpointer=env.saver(), interrupt_after=["n0"])
    found = [graph.invoke({"items": []}, CONFIG)]
    while graph.get_state(CONFIG).next:
        state = graph.get_state(CONFIG, subgraphs=True)
        found.append((state.next, [task.state and task.state.next for task in state.tasks]))
        found.append(graph.invoke(None, CONFIG))
    return found


def case_questions_inside_with_exit_durability(env):
    graph = nested(env.saver())
    graph.invoke({"items": []}, CONFIG, durability="exit")
    inner = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    graph.update_state(inner.config, {"items": ["u"]})
    told = graph.invoke(Command(resume="y"), CONFIG, durability="exit")
    replayed = [
        env.error(lambda s=s: graph.invoke(None, s.config, durability="exit"))
        for s in list(graph.get_state_history(CONFIG))
    ]
    return tidy(inner), told, replayed, history(graph)


def case_memory_of_a_turn_that_was_given_up(env):
    """Its question is not answered; the thread goes on with a new input instead."""
    inner = chain(lambda s: {"items": [interrupt("q"), len(s["items"])]}, checkpointer=True)
    graph = chain(lambda s: {"items": [inner.invoke({"items": ["c"]})]}, checkpointer=env.saver())
    inputs = ({"items": []}, {"items": ["new"]}, Command(resume="A"))
    return [graph.invoke(given, CONFIG).get("items") for given in inputs]


async def case_graphs_gathered_in_a_node(env):
    async def work(state):
        await asyncio.sleep(0)
        return {"items": [state["x"]]}

    inner = chain(work)

    async def call(state):
        calls = [inner.ainvoke({"items": [], "x": i}) for i in range(4)]
        return {"items": [each["items"] for each in await asyncio.gather(*calls)]}

    async with env.asaver() as saver:
        return await chain(call, call, checkpointer=saver).ainvoke({"items": []}, CONFIG)


def case_a_graph_that_calls_itself(env):
    def node(state):
        if state["x"] == 0:
            return {"items": [0]}
        inside = graph.invoke({"x": state["x"] - 1, "items": []})
        return {"items": [*inside["items"], state["x"]]}

    graph = chain(node)
    saved = chain(graph, checkpointer=env.saver())
    return graph.invoke({"x": 3, "items": []}), saved.invoke({"x": 2, "items": []}, CONFIG)


# --- joins, loops, lists --------------------------------------------------------------------------


def case_joins_of_joins_in_a_loop(env):
    builder = StateGraph(State)
    for name in "abcde":
        builder.add_node(name, add(name))
    builder.add_node("f", lambda s: {"items": ["f"], "x": s.get("x", 0) + 1})
    for before, after in ((START, "a"), (START, "b"), ("b", "c"), (["a", "c"], "d")):
        builder.add_edge(before, after)
    builder.add_edge(["c", "d"], "e")
    builder.add_edge(["d", "e"], "f")
    again = lambda s: ["a", "b"] if s["x"] < 3 else END  # noqa: E731
    builder.add_conditional_edges("f", again, ["a", "b", END])
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG, **SYNC), [told[2] for told in history(graph)]


def case_a_deferred_node_in_a_loop_of_fan_outs(env):
    builder = StateGraph(State)
    builder.add_node("a", lambda s: {"x": s.get("x", 0) + 1})
    builder.add_node("w", lambda s: {"items": [s]})
    builder.add_node("j", lambda s: {"items": [f"j{s['x']}"]}, defer=True)
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda s: [Send("w", i) for i in range(s["x"])], ["w"])
    builder.add_edge("w", "j")
    builder.add_conditional_edges("j", lambda s: "a" if s["x"] < 3 else END, ["a", END])
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG, **SYNC), history(graph)


def case_deferred_nodes_beside_a_question(env):
    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_node("b", lambda s: {"items": [interrupt("b")]})
    builder.add_node("c", add("c"), defer=True)
    builder.add_node("d", add("d"), defer=True)
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(["a", "b"], "c")
    builder.add_edge("a", "d")
    graph = builder.compile(checkpointer=env.saver())
    asked = graph.invoke({"items": []}, CONFIG, **SYNC), tidy(graph.get_state(CONFIG))
    return asked, graph.invoke(Command(resume="B"), CONFIG, **SYNC), history(graph)


def case_a_join_whose_node_was_skipped_by_an_update(env):
    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, add(name))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge(["a", "b"], "c")
    graph = builder.compile(checkpointer=env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG, **SYNC)
    graph.update_state(CONFIG, {"items": ["U"]}, as_node="b")
    state = graph.get_state(CONFIG).next
    return state, graph.invoke(None, CONFIG, **SYNC), history(graph)


def case_lists_of_commands_with_sends(env):
    made = [
        Command(goto=Send("w", {"x": 1}), update={"items": ["u1"]}),
        Command(goto=["w2"]),
        {"items": ["plain"]},
    ]
    builder = StateGraph(State)
    builder.add_node("a", lambda s: made)
    builder.add_node("w", lambda s: {"items": [f"w {s['x']}"]})
    builder.add_node("w2", lambda s: {"items": [f"w2 {len(s['items'])}"]})
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    parts = list(graph.stream({"items": []}, CONFIG, stream_mode="updates"))
    return parts[0], sorted(map(repr, parts[1:])), graph.get_state(CONFIG).values


def case_nothing_in_every_form(env):
    found = []
    for nothing in (None, [], [None], (), {}, Command(), Command(update=None), [Command()]):
        graph = chain(lambda s, n=nothing: n)
        modes = ["updates", "values"]
        found.append(env.error(lambda g=graph: list(g.stream({"x": 1}, stream_mode=modes))))
    return found


def case_overwrites_of_parallel_nodes(env):
    builder = StateGraph(Talk)
    message = AIMessage("b", id="b")
    builder.add_node("a", lambda s: {"log": Overwrite(["A"]), "messages": [AIMessage("a", id="a")]})
    builder.add_node("b", lambda s: {"log": ["B"], "messages": Overwrite([message])})
    builder.add_node("c", lambda s: {"log": ["C"]})
    for name in "abc":
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"log": [0], "messages": [("user", "hi")]}, CONFIG)


def case_overwrites_by_commands_and_sends(env):
    builder = StateGraph(State)
    goto = [Send("b", {"x": 5}), Send("b", {"x": 6})]
    builder.add_node("a", lambda s: Command(update={"items": Overwrite(["A"])}, goto=goto))
    builder.add_node("b", lambda s: {"items": Overwrite([6]) if s["x"] == 6 else [5]})
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"items": [0]}, CONFIG), history(graph)


def case_targets_that_several_paths_share(env):
    def one(state):
        return ["b", "c", "b", Send("b", {"x": 1})]

    def two(state):
        return "c"

    def three(state):
        return True

    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, add(name))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", one)
    builder.add_conditional_edges("a", two, {"c": "c"})
    builder.add_conditional_edges("a", three, {True: "b"})
    return builder.compile(checkpointer=env.saver()).invoke({"items": []}, CONFIG)


def case_cached_sends_in_a_loop_and_on_threads(env):
    calls = []

    def work(state):
        calls.append(state["x"])
        return {"items": [state["x"]]}

    builder = StateGraph(State)
    builder.add_node("w", work, cache_policy=CachePolicy())
    builder.add_node("l", lambda s: {"x": s.get("x", 0) + 1})
    builder.add_node("m", lambda s: None)
    builder.add_edge(START, "l")
    sends = [Send("w", {"x": i}) for i in range(3)]
    builder.add_conditional_edges("l", lambda s: sends, ["w"])
    builder.add_edge("w", "m")
    builder.add_conditional_edges("m", lambda s: "l" if s["x"] < 3 else END)
    graph = builder.compile(checkpointer=env.saver(), cache=InMemoryCache())
    told = graph.invoke({"items": []}, CONFIG)
    parts = list(graph.stream({"items": []}, on(2), stream_mode="updates"))
    # There, equal sends of neighbouring steps may both miss: the cache is written on the side.
    return told, sorted(map(repr, parts)), sorted(set(calls))
