"""get_state, its history, update_state, forks, replays, turns, threads and durability."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, StateUpdate, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
# In its default (async) mode the peer writes the state of a join while the next step changes it.
SYNC = {"durability": "sync"}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


def add(value):
    return lambda state: {"items": [value]}


def line(saver, **options):
    """START -> a -> b -> c."""
    builder = StateGraph(State)
    builder.add_sequence([(name, add(name)) for name in "abc"])
    builder.add_edge(START, "a")
    return builder.compile(checkpointer=saver, **options)


def diamond(saver, **options):
    """START -> (a, b) -> z."""
    builder = StateGraph(State)
    for name in ("a", "b", "z"):
        builder.add_node(name, add(name))
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(["a", "b"], "z")
    return builder.compile(checkpointer=saver, **options)


def router(saver):
    """START -> pick -> (left | right), by x."""
    builder = StateGraph(State)
    for name in ("pick", "left", "right"):
        builder.add_node(name, add(name))
    builder.add_edge(START, "pick")
    builder.add_conditional_edges("pick", lambda s: "left" if s.get("x") == 1 else "right")
    return builder.compile(checkpointer=saver)


def at(graph, *following, config=CONFIG):
    """The newest checkpoint whose `next` is this."""
    return next(s for s in graph.get_state_history(config) if s.next == following)


def brief(graph, config=CONFIG):
    return [
        (s.metadata, s.next, s.values, [(t.name, t.error, t.result) for t in s.tasks])
        for s in graph.get_state_history(config)
    ]


def lineage(graph, config=CONFIG):
    """(step, source, id, parent id) of every checkpoint."""
    return [
        (
            s.metadata["step"],
            s.metadata["source"],
            s.config["configurable"]["checkpoint_id"],
            s.parent_config and s.parent_config["configurable"]["checkpoint_id"],
        )
        for s in graph.get_state_history(config)
    ]


def case_empty_thread(env):
    graph = line(env.saver())
    return graph.get_state(CONFIG), list(graph.get_state_history(CONFIG))


async def case_empty_thread_async(env):
    async with env.asaver() as saver:
        graph = line(saver)
        history = [s async for s in graph.aget_state_history(CONFIG)]
        return await graph.aget_state(CONFIG), history


def case_finished_thread(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"], "x": 1}, CONFIG)
    return graph.get_state(CONFIG), list(graph.get_state_history(CONFIG))


async def case_finished_thread_async(env):
    async with env.asaver() as saver:
        graph = line(saver)
        await graph.ainvoke({"items": ["i"], "x": 1}, CONFIG)
        history = [s async for s in graph.aget_state_history(CONFIG)]
        return await graph.aget_state(CONFIG), history


def case_created_at_and_ids_grow(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    graph.invoke({"items": []}, CONFIG)
    history = list(graph.get_state_history(CONFIG))
    ids = [s.config["configurable"]["checkpoint_id"] for s in history]
    times = [s.created_at for s in history]
    return ids == sorted(ids, reverse=True), times == sorted(times, reverse=True), len(set(ids))


def case_parents_chain(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    graph.invoke({"items": []}, CONFIG)
    return lineage(graph)


def case_tasks_of_parallel_nodes(env):
    graph = diamond(env.saver())
    graph.invoke({"items": []}, CONFIG, **SYNC)
    return list(graph.get_state_history(CONFIG))


def case_tasks_of_a_fan_out(env):
    builder = StateGraph(State)
    builder.add_node("w", lambda state: {"items": [state["x"]]})
    builder.add_node("z", add("z"))
    builder.add_conditional_edges(START, lambda s: [Send("w", {"x": i}) for i in range(3)], ["w"])
    builder.add_edge("w", "z")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    return list(graph.get_state_history(CONFIG))


def case_history_limit(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    return [
        [s.metadata["step"] for s in graph.get_state_history(CONFIG, limit=n)]
        for n in (0, 1, 2, 100, None)
    ]


def case_history_filter(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, {"items": ["u"]})
    graph.invoke({"items": []}, CONFIG)
    filters = [
        {"source": "input"},
        {"source": "loop"},
        {"source": "update"},
        {"step": 1},
        {"source": "loop", "step": 2},
        {"source": "nope"},
        {"unknown": 1},
        {},
        None,
    ]
    return [
        [s.metadata["step"] for s in graph.get_state_history(CONFIG, filter=f)] for f in filters
    ]


def case_history_before(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    graph.invoke({"items": []}, CONFIG)
    found = []
    for snapshot in list(graph.get_state_history(CONFIG))[::3]:
        history = graph.get_state_history(CONFIG, before=snapshot.config, limit=3)
        found.append((snapshot.metadata["step"], [s.metadata["step"] for s in history]))
    return found


async def case_history_options_async(env):
    async with env.asaver() as saver:
        graph = line(saver)
        await graph.ainvoke({"items": []}, CONFIG)
        first = [s async for s in graph.aget_state_history(CONFIG, limit=2)]
        rest = [s async for s in graph.aget_state_history(CONFIG, before=first[-1].config)]
        inputs = [s async for s in graph.aget_state_history(CONFIG, filter={"source": "input"})]
        return [[s.metadata["step"] for s in found] for found in (first, rest, inputs)]


def case_history_of_a_checkpoint_config(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    return [s.metadata["step"] for s in graph.get_state_history(at(graph, "b").config)]


def case_get_state_of_an_old_checkpoint(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    return graph.get_state(at(graph, "b").config)


def case_get_state_of_an_unknown_checkpoint(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    unknown = {"thread_id": "1", "checkpoint_id": "1ef00000-0000-6000-8000-000000000000"}
    snapshot = graph.get_state({"configurable": unknown})
    return snapshot.values, snapshot.next, snapshot.metadata, snapshot.created_at, snapshot.tasks


def case_run_at_an_unknown_checkpoint(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    unknown = {"thread_id": "1", "checkpoint_id": "1ef00000-0000-6000-8000-000000000000"}
    config = {"configurable": unknown}
    return (
        env.error(lambda: graph.invoke(None, config)),
        env.error(lambda: graph.invoke({"items": ["j"]}, config)),
        env.error(lambda: graph.update_state(config, {"items": ["k"]})),
        graph.get_state(CONFIG).values,
    )


def case_no_thread_id(env):
    graph = line(env.saver())
    return env.error(lambda: graph.invoke({"items": []}))


def case_threads_are_isolated(env):
    graph = line(env.saver())
    configs = [{"configurable": {"thread_id": name}} for name in ("one", "two", "three")]
    for config in configs[:2]:
        graph.invoke({"items": [config["configurable"]["thread_id"]]}, config)
    return [graph.get_state(config).values for config in configs]


def case_thread_id_of_another_type(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, {"configurable": {"thread_id": 7}})
    return graph.get_state({"configurable": {"thread_id": "7"}}).values


def case_configurable_and_metadata_of_the_caller(env):
    graph = line(env.saver())
    config = {
        "configurable": {"thread_id": "1", "user": "ann", "__private": 1, "obj": object()},
        "metadata": {"team": "red", "n": 3},
        "tags": ["t"],
    }
    graph.invoke({"items": []}, config)
    return [s.metadata for s in graph.get_state_history(CONFIG)]


def case_filter_by_metadata_of_the_caller(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, {**CONFIG, "metadata": {"team": "red"}})
    graph.invoke({"items": []}, {**CONFIG, "metadata": {"team": "blue"}})
    return [
        [s.metadata["step"] for s in graph.get_state_history(CONFIG, filter={"team": team})]
        for team in ("red", "blue", "green")
    ]


def case_second_turn(env):
    graph = line(env.saver())
    graph.invoke({"items": ["1"]}, CONFIG)
    graph.invoke({"items": ["2"], "x": 2}, CONFIG)
    return brief(graph)


def case_second_turn_of_a_conversation(env):
    def reply(state):
        last = state["messages"][-1]
        return {"messages": [("ai", f"you said {last.content}")]}

    def make():
        builder = StateGraph(MessagesState)
        builder.add_node("reply", reply)
        builder.add_edge(START, "reply")
        return builder.compile(checkpointer=env.saver())

    make().invoke({"messages": [("user", "hello")]}, CONFIG)
    make().invoke({"messages": [{"role": "user", "content": "again"}]}, CONFIG)
    return [(m.type, m.content, bool(m.id)) for m in make().get_state(CONFIG).values["messages"]]


def case_turn_with_an_empty_input(env):
    graph = line(env.saver())
    graph.invoke({"items": ["1"]}, CONFIG)
    graph.invoke({}, CONFIG)
    return brief(graph)


def case_none_on_an_empty_thread(env):
    graph = line(env.saver())
    return env.error(lambda: graph.invoke(None, CONFIG)), graph.get_state(CONFIG)


def case_none_without_saver(env):
    return env.error(lambda: line(None).invoke(None))


def case_none_on_a_finished_thread(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(None, CONFIG), len(lineage(graph))


UPDATES = [
    ({"items": ["u"]}, None),
    ({"items": ["u"]}, "a"),
    ({"items": ["u"]}, "b"),
    ({"items": ["u"]}, "c"),
    ({"items": ["u"]}, START),
    ({"items": ["u"]}, "__input__"),
    (None, None),
    (None, "a"),
    (None, END),
    ({}, "b"),
]


def updated(graph, values, as_node, config=CONFIG):
    """The snapshot after an update, and what a run from there gives."""
    graph.update_state(config, values, as_node=as_node)
    snapshot = graph.get_state(config)
    seen = (snapshot.metadata, snapshot.next, snapshot.values, [t.name for t in snapshot.tasks])
    return (seen, graph.invoke(None, config))


def case_update_an_empty_thread(env):
    graph = line(env.saver())
    found = []
    for number, (values, as_node) in enumerate(UPDATES):
        if (values, as_node) != (None, END):
            config = {"configurable": {"thread_id": str(number)}}
            found.append((as_node, updated(graph, values, as_node, config), lineage(graph, config)))
    return found


def case_update_a_finished_thread(env):
    graph = line(env.saver())
    found = []
    for number, (values, as_node) in enumerate(UPDATES):
        config = {"configurable": {"thread_id": str(number)}}
        graph.invoke({"items": []}, config)
        found.append((as_node, updated(graph, values, as_node, config), lineage(graph, config)))
    return found


def case_update_returns_the_config(env):
    graph = line(env.saver())
    config = graph.update_state(CONFIG, {"items": ["u"]}, as_node="a")
    snapshot = graph.get_state(CONFIG)
    return config, snapshot, graph.get_state(config) == snapshot


async def case_update_async(env):
    async with env.asaver() as saver:
        graph = line(saver, interrupt_before=["b"])
        await graph.ainvoke({"items": []}, CONFIG)
        config = await graph.aupdate_state(CONFIG, {"items": ["u"]}, as_node="a")
        return config, await graph.aget_state(CONFIG), await graph.ainvoke(None, CONFIG)


def case_update_runs_the_branch_of_its_node(env):
    graph = router(env.saver())
    return (
        updated(graph, {"x": 1}, "pick"),
        updated(graph, {"x": 2}, "pick", {"configurable": {"thread_id": "2"}}),
    )


def case_update_a_join(env):
    graph = diamond(env.saver())
    first = graph.update_state(CONFIG, {"items": ["a by hand"]}, as_node="a")
    half = graph.get_state(CONFIG)
    graph.update_state(CONFIG, {"items": ["b by hand"]}, as_node="b")
    whole = graph.get_state(CONFIG)
    return first, half.next, whole.next, graph.invoke(None, CONFIG, **SYNC)


def case_update_ambiguous(env):
    graph = diamond(env.saver(), interrupt_before=["z"])
    graph.invoke({"items": []}, CONFIG, **SYNC)
    error = env.error(lambda: graph.update_state(CONFIG, {"items": ["u"]}))
    return error, updated(graph, {"items": ["u"]}, "a")


def case_update_from_unknown_nodes(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    return [
        env.error(lambda: graph.update_state(CONFIG, {"items": ["u"]}, as_node="nope")),
        env.error(lambda: graph.update_state(CONFIG, {"items": ["u"]}, as_node=END)),
        env.error(
            lambda: graph.update_state(
                {"configurable": {"thread_id": "new"}}, {"items": ["u"]}, as_node="__copy__"
            )
        ),
    ]


def case_update_with_a_bad_value(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    pairs = [("items", ["p"]), ("x", 1)]  # good in a Command, not here
    return [
        env.error(lambda: graph.update_state(CONFIG, "text", as_node="a")),
        env.error(lambda: graph.update_state(CONFIG, pairs, as_node="a")),
        len(lineage(graph)),
    ]


def case_update_without_checkpointer(env):
    return env.error(lambda: line(None).update_state(CONFIG, {"items": ["u"]}))


def case_update_of_a_single_node_graph(env):
    builder = StateGraph(State)
    builder.add_node("only", add("only"))
    builder.add_edge(START, "only")
    graph = builder.compile(checkpointer=env.saver())
    return updated(graph, {"items": ["u"]}, None), brief(graph)


def case_update_twice(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, {"items": ["u1"]})
    graph.update_state(CONFIG, {"items": ["u2"]})
    return graph.invoke(None, CONFIG), lineage(graph)


def case_b23_copy_is_a_fork(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, None, as_node="__copy__")
    graph.update_state(CONFIG, None)
    return lineage(graph), graph.get_state(CONFIG)


def case_b23_copy_of_an_old_checkpoint(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    config = graph.update_state(at(graph, "b").config, None, as_node="__copy__")
    copied = graph.get_state(CONFIG)
    return config, copied, graph.invoke(None, CONFIG), lineage(graph)


def case_b09_bulk_update_replays_a_history(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    other = {"configurable": {"thread_id": "2"}}
    graph.bulk_update_state(
        other,
        [
            [StateUpdate({"items": ["i"]}, "__input__")],
            [StateUpdate({"items": ["i"]}, START)],
            [StateUpdate({"items": ["a"]}, "a")],
            [StateUpdate({"items": ["b"]}, "b")],
            [StateUpdate({"items": ["c"]}, "c")],
        ],
    )
    return brief(graph), brief(graph, other)


def case_b09_bulk_update_of_parallel_nodes(env):
    graph = diamond(env.saver())
    graph.bulk_update_state(
        CONFIG,
        [
            [StateUpdate({"items": []}, "__input__")],
            [StateUpdate({"items": []}, START)],
            [StateUpdate({"items": ["A"]}, "a"), StateUpdate({"items": ["B"]}, "b")],
        ],
    )
    return graph.get_state(CONFIG).next, graph.invoke(None, CONFIG, **SYNC), brief(graph)


def case_bulk_update_of_nothing(env):
    graph = line(env.saver())
    return (
        env.error(lambda: graph.bulk_update_state(CONFIG, [])),
        env.error(lambda: graph.bulk_update_state(CONFIG, [[]])),
    )


def case_fork_and_run(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    fork = graph.update_state(at(graph, "b").config, {"items": ["F"]})
    return graph.invoke(None, fork), lineage(graph), brief(graph)


def case_fork_is_the_head(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(at(graph, "b").config, {"items": ["F"]})
    head = graph.get_state(CONFIG)
    return head, graph.invoke(None, CONFIG)


def case_fork_as_another_node(env):
    graph = router(env.saver())
    graph.invoke({"items": [], "x": 1}, CONFIG)
    fork = graph.update_state(at(graph, "left").config, {"x": 2}, as_node="pick")
    return graph.get_state(fork).next, graph.invoke(None, fork), lineage(graph)


def case_b22_replay(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    parts = list(graph.stream(None, at(graph, "b").config, stream_mode=["updates", "values"]))
    return parts, lineage(graph), brief(graph)


async def case_b22_replay_async(env):
    async with env.asaver() as saver:
        graph = line(saver)
        await graph.ainvoke({"items": []}, CONFIG)
        old = [s async for s in graph.aget_state_history(CONFIG) if s.next == ("b",)].pop()
        result = await graph.ainvoke(None, old.config)
        history = [s async for s in graph.aget_state_history(CONFIG)]
        return result, [(s.metadata, s.config, s.parent_config) for s in history]


def case_b22_replay_of_a_finished_checkpoint(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    done = graph.get_state(CONFIG)
    parts = list(graph.stream(None, done.config, stream_mode=["updates", "values"]))
    return parts, lineage(graph)


def case_replay_runs_the_nodes_again(env):
    calls = []

    def node(name):
        def count(state):
            calls.append(name)
            return {"items": [f"{name}{calls.count(name)}"]}

        return count

    builder = StateGraph(State)
    builder.add_sequence([(name, node(name)) for name in "abc"])
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    old = at(graph, "b").config
    return graph.invoke(None, old), graph.invoke(None, old), calls


def case_replay_from_the_input_checkpoint(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    return graph.invoke(None, at(graph, START).config), lineage(graph)


def case_new_input_at_an_old_checkpoint(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    return graph.invoke({"items": ["N"]}, at(graph, "b").config), lineage(graph)


def case_update_then_replay_of_the_original(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    old = at(graph, "b").config
    graph.update_state(old, {"items": ["F"]})
    return graph.invoke(None, old), graph.get_state(CONFIG).values


def case_b24_fork_drops_pending_writes(env):
    builder = StateGraph(State)
    builder.add_node("ask", lambda s: {"items": [interrupt("q")]})
    builder.add_node("c", add("c"))
    builder.add_node("z", add("z"))
    builder.add_edge(START, "ask")
    builder.add_edge(START, "c")
    builder.add_edge(["ask", "c"], "z")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG, **SYNC)
    pending = graph.get_state(CONFIG)
    graph.update_state(CONFIG, {"items": ["U"]}, as_node=START)
    forked = graph.get_state(CONFIG)
    return (
        pending.values,
        forked,
        graph.invoke(None, CONFIG, **SYNC),
        graph.invoke(Command(resume="R"), CONFIG, **SYNC),
    )


def case_time_travel_across_turns(env):
    graph = line(env.saver())
    for turn in ("1", "2", "3"):
        graph.invoke({"items": [turn]}, CONFIG)
    first_end = [s for s in graph.get_state_history(CONFIG) if not s.next][-1]
    return graph.invoke({"items": ["again"]}, first_end.config), lineage(graph)


def case_durability_histories(env):
    found = {}
    graph = line(env.saver())
    for durability in ("sync", "async", "exit"):
        config = {"configurable": {"thread_id": durability}}
        results = [graph.invoke({"items": [n]}, config, durability=durability) for n in (1, 2)]
        found[durability] = results, lineage(graph, config), brief(graph, config)
    return found


async def case_durability_histories_async(env):
    found = {}
    async with env.asaver() as saver:
        graph = line(saver)
        for durability in ("sync", "async", "exit"):
            config = {"configurable": {"thread_id": durability}}
            result = await graph.ainvoke({"items": [1]}, config, durability=durability)
            history = [s async for s in graph.aget_state_history(config)]
            found[durability] = result, history
    return found


def case_durability_and_questions(env):
    builder = StateGraph(State)
    builder.add_sequence(
        [("a", add("a")), ("ask", lambda s: {"items": [interrupt("q")]}), ("z", add("z"))]
    )
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    found = {}
    for durability in ("sync", "async", "exit"):
        config = {"configurable": {"thread_id": durability}}
        first = graph.invoke({"items": []}, config, durability=durability)
        stopped = graph.get_state(config)
        result = graph.invoke(Command(resume="R"), config, durability=durability)
        found[durability] = first, stopped, result, lineage(graph, config)
    return found


def case_durability_and_breakpoints(env):
    graph = line(env.saver(), interrupt_before=["b"])
    found = {}
    for durability in ("async", "exit"):
        config = {"configurable": {"thread_id": durability}}
        graph.invoke({"items": []}, config, durability=durability)
        stopped = graph.get_state(config)
        found[durability] = stopped, graph.invoke(None, config, durability=durability)
    return found


def case_durability_and_errors(env):
    def boom(state):
        raise ValueError("boom")

    builder = StateGraph(State)
    builder.add_sequence([("a", add("a")), ("boom", boom)])
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    found = {}
    for durability in ("sync", "async", "exit"):
        config = {"configurable": {"thread_id": durability}}
        error = env.error(
            lambda config=config, durability=durability: graph.invoke(
                {"items": []}, config, durability=durability
            )
        )
        found[durability] = error, graph.get_state(config), lineage(graph, config)
    return found


def case_state_from_a_fresh_graph(env):
    line(env.saver()).invoke({"items": ["i"]}, CONFIG)
    return list(line(env.saver()).get_state_history(CONFIG))


def case_delete_thread(env):
    saver = env.saver()
    graph = line(saver)
    other = {"configurable": {"thread_id": "2"}}
    graph.invoke({"items": []}, CONFIG)
    graph.invoke({"items": ["kept"]}, other)
    saver.delete_thread("1")
    saver.delete_thread("never existed")
    again = graph.invoke({"items": ["new"]}, CONFIG)
    return again, len(lineage(graph)), graph.get_state(other).values


async def case_delete_thread_async(env):
    async with env.asaver() as saver:
        graph = line(saver)
        await graph.ainvoke({"items": []}, CONFIG)
        await saver.adelete_thread("1")
        return await graph.aget_state(CONFIG)


def case_get_state_inside_a_node(env):
    def node(state):
        snapshot = graph.get_state(CONFIG)
        return {"items": [[list(snapshot.next), list(snapshot.values["items"])]]}

    builder = StateGraph(State)
    builder.add_sequence([("a", add("a")), ("look", node)])
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"items": []}, CONFIG, durability="sync")


def case_subgraph_state(env):
    inner = StateGraph(State)
    inner.add_sequence([("s1", add("s1")), ("s2", lambda s: {"items": [interrupt("q")]})])
    inner.add_edge(START, "s1")
    outer = StateGraph(State)
    outer.add_node("sub", inner.compile())
    outer.add_edge(START, "sub")
    graph = outer.compile(checkpointer=env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    return graph.get_state(CONFIG), graph.get_state(CONFIG, subgraphs=True)
