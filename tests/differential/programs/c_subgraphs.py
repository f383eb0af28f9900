"""Subgraphs: their namespaces, memory, questions, streams, Commands for the parent, and states."""

import asyncio
import operator
import threading
from typing import Annotated, TypedDict

from langgraph.config import get_config
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
# In its default (async) mode the peer writes the state of a join while the next step changes it.
SYNC = {"durability": "sync"}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class Other(TypedDict, total=False):
    log: Annotated[list, operator.add]


def add(value):
    return lambda state: {"items": [value]}


class Items(TypedDict, total=False):
    items: Annotated[list, operator.add]


def chain(*nodes, schema=State, gives=None, **options):
    """A graph of these (name, code) in a row."""
    builder = StateGraph(schema, output_schema=gives or schema)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0][0])
    return builder.compile(**options)


def ask(question="q"):
    return lambda state: {"items": [interrupt(question)]}


def where(state):
    """Tells the namespace that its code runs in."""
    return {"items": [get_config()["configurable"]["checkpoint_ns"]]}


def histories(graph, config):
    return [
        (s.metadata["source"], s.metadata["step"], s.next, s.values, s.config, s.parent_config)
        for s in graph.get_state_history(config)
    ]


def nested(graph, config=CONFIG):
    """The first nested state of a thread."""
    return graph.get_state(config, subgraphs=True).tasks[0].state


# --- namespaces ---------------------------------------------------------------------------------


def case_addresses_in_the_config_of_a_node(env):
    def keys(state):
        return {"items": sorted(key for key in get_config()["configurable"] if key[0] != "_")}

    return chain(("n", keys), checkpointer=env.saver()).invoke({"items": []}, CONFIG)


def case_namespace_of_a_node(env):
    graph = chain(("sub", chain(("w", where))), checkpointer=env.saver())
    return [graph.invoke({"items": []}, CONFIG) for _ in range(2)]


def case_namespace_without_saver(env):
    return chain(("sub", chain(("w", where)))).invoke({"items": []})


def case_namespaces_of_three_levels(env):
    inner = chain(("w", where))
    graph = chain(("a", chain(("b", inner))), checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG)


def several_calls(saver, inner_saver):
    inner = chain(("w", where), checkpointer=inner_saver)

    def call(state):
        found = []
        for _ in range(3):
            found += inner.invoke({"items": []})["items"]
        return {"items": [found]}

    return chain(("call", call), checkpointer=saver)


def case_several_calls_in_one_node(env):
    graph = several_calls(env.saver(), None)
    return [graph.invoke({"items": []}, CONFIG) for _ in range(2)]


def case_several_calls_without_memory_in_one_node(env):
    return several_calls(env.saver(), False).invoke({"items": []}, CONFIG)


def case_several_calls_with_memory_in_one_node(env):
    graph = several_calls(env.saver(), True)
    return env.error(lambda: graph.invoke({"items": []}, CONFIG))


def case_two_graphs_with_memory_in_one_node(env):
    one = chain(("w", add("one")), checkpointer=True, name="one")
    two = chain(("w", add("two")), checkpointer=True, name="two")

    def call(state):
        return {"items": [one.invoke({"items": []}), two.invoke({"items": []})]}

    graph = chain(("call", call), checkpointer=env.saver())
    return [env.error(lambda: graph.invoke({"items": []}, CONFIG)) for _ in range(2)]


async def case_several_calls_in_one_node_async(env):
    inner = chain(("w", where))

    async def call(state):
        found = await asyncio.gather(*(inner.ainvoke({"items": []}) for _ in range(3)))
        return {"items": [each["items"] for each in found]}

    async with env.asaver() as saver:
        return await chain(("call", call), checkpointer=saver).ainvoke({"items": []}, CONFIG)


def case_first_call_is_kept_when_the_second_asks(env):
    ran = []

    def note(name):
        def node(state):
            ran.append(name)
            return {"items": [name]}

        return node

    first = chain(("n1", note("n1")))
    second = chain(("n2", note("n2")), ("ask", ask()))

    def call(state):
        ran.append("call")
        one = first.invoke({"items": ["1"]})["items"]
        return {"items": one + second.invoke({"items": ["2"]})["items"]}

    graph = chain(("call", call), checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(resume="A"), CONFIG), ran


def case_both_calls_of_a_node_ask(env):
    inner = chain(("ask", lambda s: {"items": [interrupt(s["items"])]}))

    def call(state):
        one = inner.invoke({"items": ["1"]})["items"]
        two = inner.invoke({"items": ["2"]})["items"]
        return {"items": [one, two]}

    graph = chain(("call", call), checkpointer=env.saver())
    return [
        graph.invoke({"items": []}, CONFIG),
        graph.invoke(Command(resume="A"), CONFIG),
        graph.invoke(Command(resume="B"), CONFIG),
    ]


# --- memory -------------------------------------------------------------------------------------


def case_memory_of_a_node(env):
    found = {}
    for memory in (None, True, False):
        graph = chain(
            ("sub", chain(("c", add("c")), checkpointer=memory)), checkpointer=env.saver()
        )
        config = {"configurable": {"thread_id": str(memory)}}
        found[str(memory)] = [graph.invoke({"items": [n]}, config) for n in range(3)]
    return found


def case_memory_is_read_by_its_namespace(env):
    inner = chain(("c", add("c")), ("d", add("d")), schema=State, checkpointer=True)

    def call(state):
        return {"x": len(inner.invoke({"items": ["i"]})["items"])}

    graph = chain(("call", call), checkpointer=env.saver())
    found = [graph.invoke({"items": []}, CONFIG)["x"] for _ in range(2)]
    saved = [
        (t.config["configurable"]["checkpoint_ns"], t.metadata["step"], t.metadata["source"])
        for t in graph.checkpointer.list(
            {"configurable": {"thread_id": "1", "checkpoint_ns": "call"}}
        )
    ]
    return found, saved


def case_memory_of_a_node_graph_is_read_by_its_namespace(env):
    inner = chain(("c", add("c")), checkpointer=True)
    graph = chain(("sub", inner), checkpointer=env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    graph.invoke({"items": ["j"]}, CONFIG)
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": "sub"}}
    return graph.get_state(config), histories(graph, config)


def case_memory_with_a_question(env):
    inner = chain(("c", add("c")), ("ask", ask()), checkpointer=True)
    graph = chain(("sub", inner), ("z", add("z")), checkpointer=env.saver())
    found = []
    for answer in "AB":
        found.append(graph.invoke({"items": ["in"]}, CONFIG))
        found.append(nested(graph))
        found.append(graph.invoke(Command(resume=answer), CONFIG))
    return found


def case_memory_of_two_levels(env):
    inner = chain(("c", add("c")), checkpointer=True)
    middle = chain(("in", inner), checkpointer=True)
    graph = chain(("mid", middle), checkpointer=env.saver())
    return [graph.invoke({"items": [n]}, CONFIG) for n in range(3)]


def case_memory_under_a_graph_without(env):
    inner = chain(("c", add("c")), checkpointer=True)
    middle = chain(("in", inner))
    graph = chain(("mid", middle), checkpointer=env.saver())
    return [graph.invoke({"items": [n]}, CONFIG) for n in range(3)]


def case_memory_of_parallel_nodes(env):
    builder = StateGraph(State)
    for name in ("one", "two"):
        builder.add_node(name, chain(("c", add(name)), checkpointer=True))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=env.saver())
    return [graph.invoke({"items": [n]}, CONFIG, **SYNC) for n in range(2)]


def case_memory_of_tasks_in_a_row(env):
    inner = chain(("c", add("c")), checkpointer=True)

    @task
    def call(value):
        return inner.invoke({"items": [value]})["items"]

    @entrypoint(checkpointer=env.saver())
    def flow(values):
        return [call(value).result() for value in values]

    return [flow.invoke(values, CONFIG) for values in ([1, 2, 3], [4, 4])]


def case_memory_of_a_fan_out(env):
    both = threading.Barrier(2, timeout=20)  # both have read the memory before either writes it

    def meet(state):
        both.wait()
        return {"items": ["c"]}

    inner = chain(("c", meet), checkpointer=True)

    def call(state):
        return {"items": [inner.invoke({"items": [state["x"]]})["items"]]}

    builder = StateGraph(State).add_node("call", call)
    sends = [Send("call", {"x": n}) for n in range(2)]
    builder.add_conditional_edges(START, lambda state: sends, ["call"])
    return builder.compile(checkpointer=env.saver()).invoke({"items": []}, CONFIG, **SYNC)


def case_memory_of_a_fan_out_that_asks(env):
    inner = chain(("c", lambda state: {"items": [interrupt(state["x"])]}), checkpointer=True)

    def call(state):
        return {"items": [inner.invoke({"x": state["x"], "items": []})["items"]]}

    builder = StateGraph(State).add_node("call", call)
    sends = [Send("call", {"x": n}) for n in range(2)]
    builder.add_conditional_edges(START, lambda state: sends, ["call"])
    graph = builder.compile(checkpointer=env.saver())
    asked = graph.invoke({"items": []}, CONFIG, **SYNC)["__interrupt__"]
    answers = {one.id: f"answer to {one.value}" for one in asked}
    return sorted(one.value for one in asked), graph.invoke(Command(resume=answers), CONFIG, **SYNC)


async def case_memory_async(env):
    found = {}
    async with env.asaver() as saver:
        for memory in (None, True, False):
            inner = chain(("c", add("c")), checkpointer=memory)

            async def call(state, inner=inner):
                return {"x": len((await inner.ainvoke({"items": ["i"]}))["items"])}

            graph = chain(("call", call), checkpointer=saver)
            config = {"configurable": {"thread_id": str(memory)}}
            found[str(memory)] = [(await graph.ainvoke({}, config))["x"] for _ in range(3)]
    return found


def case_question_of_a_graph_that_keeps_nothing(env):
    ran = []

    def step(state):
        ran.append("step")
        return {"items": ["step"]}

    inner = chain(("step", step), ("ask", ask()), checkpointer=False)
    graph = chain(("sub", inner), checkpointer=env.saver())
    return [
        env.error(lambda: graph.invoke({"items": []}, CONFIG)),
        env.error(lambda: graph.invoke(Command(resume="A"), CONFIG)),
        ran,
    ]


def case_own_saver_of_a_subgraph(env):
    inner = chain(("c", add("c")), checkpointer=env.saver("other"))
    graph = chain(("sub", inner), checkpointer=env.saver())
    return [graph.invoke({"items": [n]}, CONFIG) for n in range(2)]


async def case_a_graph_that_outlives_its_run(env):
    ended, left = asyncio.Event(), []

    async def wait(state):
        await ended.wait()
        return {"items": ["late"]}

    def told(snapshot):
        return snapshot.values, snapshot.next

    inner = chain(("wait", wait), ("after", add("after")), checkpointer=True)

    async def leave(state):
        left.append(asyncio.create_task(inner.ainvoke({"items": []})))
        await asyncio.sleep(0)

    async with env.asaver() as saver:
        graph = chain(("leave", leave), ("last", add("last")), checkpointer=saver)
        first = await graph.ainvoke({"items": []}, CONFIG)
        ended.set()
        late = await left[0]
        await graph.aupdate_state(CONFIG, {"items": ["by hand"]})
        memory = {"configurable": {"thread_id": "1", "checkpoint_ns": "leave"}}
        states = [await graph.aget_state(CONFIG), await graph.aget_state(memory)]
        return first, late, [*map(told, states)]


def case_memory_of_a_root_graph(env):
    graph = chain(("c", add("c")), checkpointer=True)
    return env.error(lambda: graph.invoke({"items": []}, CONFIG))


# --- questions inside ---------------------------------------------------------------------------


def fan_out(saver, inner, count=3):
    builder = StateGraph(State, output_schema=Items)
    builder.add_node("sub", inner)
    builder.add_node("z", add("z"))
    builder.add_conditional_edges(
        START, lambda s: [Send("sub", {"items": [], "x": i}) for i in range(count)], ["sub"]
    )
    builder.add_edge("sub", "z")
    return builder.compile(checkpointer=saver)


def asking():
    return chain(
        ("s1", lambda s: {"items": [f"s{s['x']}"]}),
        ("ask", lambda s: {"items": [interrupt(f"q{s['x']}")]}),
        ("s2", lambda s: {"items": [f"t{s['x']}"]}),
        gives=Items,
    )


def case_questions_of_a_fan_out_at_once(env):
    graph = fan_out(env.saver(), asking())
    first = graph.invoke({"items": []}, CONFIG, **SYNC)
    asked = first["__interrupt__"]
    answers = {each.id: each.value.upper() for each in asked}
    values = sorted(answers.values())
    return values, graph.get_state(CONFIG), graph.invoke(Command(resume=answers), CONFIG, **SYNC)


def answered_in_order(env, order, **options):
    graph = fan_out(env.saver(), asking())
    config = {"configurable": {"thread_id": str(order)}}
    asked = graph.invoke({"items": []}, config, **SYNC)["__interrupt__"]
    by_value = {each.value: each.id for each in asked}
    found = []
    for n in order:
        command = Command(resume={by_value[f"q{n}"]: f"a{n}"})
        result = graph.invoke(command, config, **SYNC)
        left = sorted(each.value for each in graph.get_state(config).interrupts)
        found.append((result["items"], left, graph.get_state(config).next))
    return found


def case_questions_of_a_fan_out_in_any_order(env):
    return [answered_in_order(env, order) for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0))]


async def case_questions_of_a_fan_out_async(env):
    async with env.asaver() as saver:
        graph = fan_out(saver, asking())
        first = await graph.ainvoke({"items": []}, CONFIG, **SYNC)
        asked = sorted(first.pop("__interrupt__"), key=lambda each: each.value)
        one = await graph.ainvoke(Command(resume={asked[1].id: "b"}), CONFIG, **SYNC)
        one.pop("__interrupt__")
        rest = {asked[0].id: "a", asked[2].id: "c"}
        return first, one, await graph.ainvoke(Command(resume=rest), CONFIG, **SYNC)


def case_states_of_a_fan_out(env):
    graph = fan_out(env.saver(), asking())
    graph.invoke({"items": []}, CONFIG, **SYNC)
    return graph.get_state(CONFIG, subgraphs=True)


def case_questions_of_two_levels(env):
    inner = chain(("i1", add("i1")), ("ask", ask("deep")))
    middle = chain(("m1", add("m1")), ("in", inner), ("ask", ask("middle")))
    graph = chain(("mid", middle), ("ask", ask("outer")), checkpointer=env.saver())
    found = [graph.invoke({"items": []}, CONFIG)]
    found.append(graph.get_state(CONFIG, subgraphs=True))
    for answer in "ABC":
        found.append(graph.invoke(Command(resume=answer), CONFIG))
    return found


def case_question_in_a_fan_out_inside_a_subgraph(env):
    middle = fan_out(None, asking(), 2)
    graph = chain(("mid", middle), checkpointer=env.saver())
    first = graph.invoke({"items": []}, CONFIG, **SYNC)
    asked = sorted(first.pop("__interrupt__"), key=lambda each: each.value)
    second = graph.invoke(Command(resume={asked[1].id: "B"}), CONFIG, **SYNC)
    return first, second, graph.invoke(Command(resume={asked[0].id: "A"}), CONFIG, **SYNC)


def case_two_questions_in_a_node_of_a_subgraph(env):
    def twice(state):
        return {"items": [interrupt("one"), interrupt("two")]}

    graph = chain(("sub", chain(("twice", twice))), checkpointer=env.saver())
    found = [graph.invoke({"items": []}, CONFIG)]
    found += [graph.invoke(Command(resume=answer), CONFIG) for answer in "AB"]
    return found


def case_siblings_in_a_subgraph_run_once(env):
    ran = []

    def step(state):
        ran.append("step")
        return {"items": ["step"]}

    builder = StateGraph(State)
    builder.add_node("step", step)
    builder.add_node("ask", ask())
    builder.add_edge(START, "step")
    builder.add_edge(START, "ask")
    graph = chain(("sub", builder.compile()), checkpointer=env.saver())
    first = graph.invoke({"items": []}, CONFIG, **SYNC)
    return first, graph.invoke(Command(resume="A"), CONFIG, **SYNC), ran


def case_breakpoint_in_a_subgraph(env):
    inner = chain(("s1", add("s1")), ("s2", add("s2")), interrupt_before=["s2"])
    graph = chain(("sub", inner), ("z", add("z")), checkpointer=env.saver())
    first = graph.invoke({"items": []}, CONFIG)
    stopped = graph.get_state(CONFIG, subgraphs=True)
    return first, stopped, graph.invoke(None, CONFIG)


def case_breakpoint_after_in_a_subgraph(env):
    inner = chain(("s1", add("s1")), ("s2", add("s2")), interrupt_after=["s1"])
    graph = chain(("sub", inner), ("z", add("z")), checkpointer=env.saver())
    first = graph.invoke({"items": []}, CONFIG)
    return first, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


# --- reading and writing their states -----------------------------------------------------------


def case_update_of_a_waiting_subgraph(env):
    graph = chain(
        ("sub", chain(("s1", add("s1")), ("ask", ask()), ("s2", add("s2")))),
        checkpointer=env.saver(),
    )
    graph.invoke({"items": []}, CONFIG)
    child = nested(graph)
    config = graph.update_state(child.config, {"items": ["by hand"]}, as_node="ask")
    after = nested(graph)
    return config, after, graph.invoke(None, CONFIG)


def case_update_of_a_waiting_subgraph_by_its_namespace(env):
    graph = chain(("sub", chain(("s1", add("s1")), ("ask", ask()))), checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    ns = graph.get_state(CONFIG).tasks[0].state["configurable"]
    config = graph.update_state({"configurable": ns}, {"items": ["by hand"]})
    return config, nested(graph).values, graph.invoke(Command(resume="A"), CONFIG)


def case_update_of_two_levels(env):
    inner = chain(("i1", add("i1")), ("ask", ask()))
    graph = chain(("mid", chain(("in", inner))), checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    deepest = nested(graph).tasks[0].state
    config = graph.update_state(deepest.config, {"items": ["deep"]}, as_node="ask")
    return config, graph.get_state(config).values, graph.invoke(None, CONFIG)


def case_update_of_the_parent_as_its_subgraph(env):
    graph = chain(
        ("sub", chain(("s1", add("s1")), ("ask", ask()))),
        ("z", add("z")),
        checkpointer=env.saver(),
    )
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, {"items": ["instead"]}, as_node="sub")
    return graph.get_state(CONFIG), graph.invoke(None, CONFIG)


def case_state_by_namespace(env):
    graph = chain(("sub", chain(("s1", add("s1")), ("ask", ask()))), checkpointer=env.saver())
    graph.invoke({"items": ["in"]}, CONFIG)
    address = graph.get_state(CONFIG).tasks[0].state
    return address, graph.get_state(address), histories(graph, address)


async def case_states_async(env):
    async with env.asaver() as saver:
        inner = chain(("i1", add("i1")), ("ask", ask()))
        graph = chain(("mid", chain(("in", inner))), checkpointer=saver)
        await graph.ainvoke({"items": ["in"]}, CONFIG)
        whole = await graph.aget_state(CONFIG, subgraphs=True)
        deepest = whole.tasks[0].state.tasks[0].state
        await graph.aupdate_state(deepest.config, {"items": ["deep"]})
        return whole, await graph.ainvoke(Command(resume="A"), CONFIG)


def case_state_of_an_unknown_namespace(env):
    graph = chain(("sub", chain(("s1", add("s1")))), checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    return env.error(
        lambda: graph.get_state({"configurable": {"thread_id": "1", "checkpoint_ns": "nope"}})
    )


def case_state_of_a_failed_subgraph(env):
    fails = [True]

    def boom(state):
        if fails:
            raise ValueError("boom")
        return {"items": ["fine"]}

    graph = chain(("sub", chain(("s1", add("s1")), ("boom", boom))), checkpointer=env.saver())
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    failed = graph.get_state(CONFIG, subgraphs=True)
    fails.clear()
    return error, failed, graph.invoke(None, CONFIG, **SYNC)


def case_state_after_the_end(env):
    graph = chain(("sub", chain(("s1", add("s1")))), ("z", add("z")), checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    whole = graph.get_state(CONFIG, subgraphs=True)
    past = next(s for s in graph.get_state_history(CONFIG) if s.next == ("sub",))
    return whole, past, graph.get_state(past.config, subgraphs=True)


def case_graphs_inside(env):
    inner = chain(("i", add("i")), name="inner")
    middle = chain(("in", inner), ("x", add("x")), name="middle")
    called = chain(("c", add("c")), name="called")

    def call(state):
        return called.invoke(state)

    graph = chain(("mid", middle), ("call", call), ("plain", add("p")), name="outer")
    asked = [
        {},
        {"recurse": True},
        {"namespace": "mid"},
        {"namespace": "mid|in"},
        {"namespace": "mid|in", "recurse": True},
        {"namespace": "mid", "recurse": True},
        {"namespace": "nope"},
        {"namespace": "call"},
        {"namespace": "mid|nope", "recurse": True},
    ]
    return [[(ns, g.name) for ns, g in graph.get_subgraphs(**each)] for each in asked]


class Held:
    """Holds something, as a module or an object of a program's holds its graphs."""

    def __init__(self, held):
        self.held = held


class Kept:
    graph = None


SHELF = Held(Held(None))


def case_graphs_that_attributes_lead_to(env):
    inner = chain(("i", add("i")), name="inner")
    SHELF.held.held = Kept.graph = inner
    box = Held(inner)

    def by_name(state):
        return SHELF.held.held.invoke(state)

    def captured(state):
        def run():
            return box.held.invoke(state)

        return run()

    def of_a_class(state):
        return Kept.graph.invoke(state)

    nodes = (by_name, captured, of_a_class)
    graph = chain(*((node.__name__, node) for node in nodes), checkpointer=env.saver())
    inside = {name: [g.name for g in node.subgraphs] for name, node in graph.nodes.items()}
    return [(ns, g.name) for ns, g in graph.get_subgraphs()], inside


async def case_graphs_inside_async(env):
    inner = chain(("i", add("i")), name="inner")
    graph = chain(("mid", chain(("in", inner), name="middle")), name="outer")
    return [
        [(ns, g.name) async for ns, g in graph.aget_subgraphs(recurse=recurse)]
        for recurse in (False, True)
    ]


# --- Command(graph=PARENT) ----------------------------------------------------------------------


def leaving(update, goto):
    def leave(state):
        return Command(graph=Command.PARENT, update=update, goto=goto)

    return leave


def parent(saver, inner):
    builder = StateGraph(State)
    builder.add_node("sub", inner)
    for name in ("left", "right"):
        builder.add_node(name, add(name))
    builder.add_edge(START, "sub")
    return builder.compile(checkpointer=saver)


def case_parent_command(env):
    inner = chain(("s1", add("s1")), ("leave", leaving({"items": ["up"]}, "right")))
    graph = parent(env.saver(), inner)
    return graph.invoke({"items": []}, CONFIG), histories(graph, CONFIG)


def case_parent_command_streamed(env):
    inner = chain(("s1", add("s1")), ("leave", leaving({"items": ["up"]}, ["left", "right"])))
    graph = parent(None, inner)
    seen = list(graph.stream({"items": []}, stream_mode="updates", subgraphs=True))
    return [*seen[:-2], *sorted(seen[-2:], key=repr)]  # of two at a time, either is done first


def case_parent_command_from_a_called_graph(env):
    inner = chain(("leave", leaving({"items": ["up"]}, "left")))
    return parent(env.saver(), lambda s: inner.invoke(s)).invoke({"items": []}, CONFIG)


async def case_parent_command_async(env):
    async def leave(state):
        return Command(graph=Command.PARENT, update={"items": ["up"]}, goto="right")

    return await parent(None, chain(("leave", leave))).ainvoke({"items": []})


def case_parent_command_with_sends(env):
    inner = chain(("leave", leaving({"items": ["up"]}, [Send("left", {}), Send("left", {})])))
    return parent(env.saver(), inner).invoke({"items": []}, CONFIG)


def case_parent_command_goes_up_one_level(env):
    inner = chain(("leave", leaving({"items": ["up"]}, "m2")))
    middle = StateGraph(State)
    middle.add_node("in", inner)
    middle.add_node("m2", add("m2"))
    middle.add_edge(START, "in")
    graph = chain(("mid", middle.compile()), ("z", add("z")), checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG)


def case_parent_command_after_an_answer(env):
    def leave(state):
        return Command(graph=Command.PARENT, update={"items": [interrupt("q")]}, goto="left")

    graph = parent(env.saver(), chain(("s1", add("s1")), ("leave", leave)))
    first = graph.invoke({"items": []}, CONFIG)
    return first, graph.invoke(Command(resume="A"), CONFIG)


def case_parent_commands_of_a_fan_out(env):
    def leave(state):
        return Command(graph=Command.PARENT, update={"items": [state["x"]]}, goto="z")

    graph = fan_out(env.saver(), chain(("leave", leave)))
    return graph.invoke({"items": []}, CONFIG, **SYNC)


def case_parent_command_at_the_root(env):
    graph = chain(("leave", leaving({"items": ["up"]}, "x")), checkpointer=env.saver())
    return env.error(lambda: graph.invoke({"items": []}, CONFIG)), graph.get_state(CONFIG).next


def case_parent_command_to_the_end(env):
    inner = chain(("leave", leaving({"items": ["up"]}, END)))
    return parent(env.saver(), inner).invoke({"items": []}, CONFIG)


# --- streams ------------------------------------------------------------------------------------

MODES = ["values", "updates", "tasks", "checkpoints", "debug", "custom"]


def talking(saver=None):
    from langgraph.config import get_stream_writer

    def talk(state):
        get_stream_writer()("hello")
        return {"items": ["talk"]}

    inner = chain(("talk", talk), ("s2", add("s2")))
    middle = chain(("m1", add("m1")), ("in", inner))
    return chain(("mid", middle), ("z", add("z")), checkpointer=saver)


def case_streams_in_each_mode(env):
    return {
        mode: list(talking().stream({"items": []}, stream_mode=mode, subgraphs=True))
        for mode in MODES
        if mode != "debug"
    }


def case_streams_in_each_mode_with_a_saver(env):
    graph = talking(env.saver())
    return {
        mode: list(
            graph.stream(
                {"items": []},
                {"configurable": {"thread_id": mode}},
                stream_mode=mode,
                subgraphs=True,
                **SYNC,
            )
        )
        for mode in MODES
    }


async def case_streams_in_each_mode_async(env):
    found = {}
    async with env.asaver() as saver:
        graph = talking(saver)
        for mode in MODES:
            config = {"configurable": {"thread_id": mode}}
            stream = graph.astream({"items": []}, config, stream_mode=mode, subgraphs=True, **SYNC)
            found[mode] = [part async for part in stream]
    return found


def case_streams_of_a_question_inside(env):
    graph = chain(
        ("sub", chain(("s1", add("s1")), ("ask", ask()))), ("z", add("z")), checkpointer=env.saver()
    )
    found = {}
    for mode in ("values", "updates", "tasks", "checkpoints"):
        config = {"configurable": {"thread_id": mode}}
        options = {"stream_mode": mode, "subgraphs": True, **SYNC}
        first = list(graph.stream({"items": []}, config, **options))
        found[mode] = first, list(graph.stream(Command(resume="A"), config, **options))
    return found


def case_streams_without_subgraphs(env):
    graph = talking(env.saver())
    return {
        mode: list(
            graph.stream({"items": []}, {"configurable": {"thread_id": mode}}, stream_mode=mode)
        )
        for mode in MODES
        if mode not in ("custom", "debug")
    }


def case_streams_in_all_modes_at_once(env):
    return list(talking().stream({"items": []}, stream_mode=["updates", "custom"], subgraphs=True))


# --- translated state ---------------------------------------------------------------------------


def translated(saver, inner):
    def call(state):
        return {"items": inner.invoke({"log": state["items"]})["log"]}

    return chain(("call", call), ("z", add("z")), checkpointer=saver)


def case_translated_state(env):
    inner = chain(("n", lambda s: {"log": ["n"]}), schema=Other)
    return translated(env.saver(), inner).invoke({"items": ["i"]}, CONFIG)


def case_translated_state_with_a_question(env):
    inner = chain(
        ("n", lambda s: {"log": ["n"]}), ("ask", lambda s: {"log": [interrupt("q")]}), schema=Other
    )
    graph = translated(env.saver(), inner)
    first = graph.invoke({"items": ["i"]}, CONFIG)
    stopped = graph.get_state(CONFIG, subgraphs=True)
    return first, stopped, graph.invoke(Command(resume="A"), CONFIG)


def case_translated_state_streamed(env):
    inner = chain(("n", lambda s: {"log": ["n"]}), schema=Other)
    graph = translated(env.saver(), inner)
    stream = graph.stream({"items": ["i"]}, CONFIG, stream_mode="updates", subgraphs=True)
    return list(stream)
