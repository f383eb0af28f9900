"""Time travel: replays and forks from any checkpoint, into subgraphs too; updates in bulk."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, StateUpdate, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
# In its default (async) mode the peer writes the state of a join while the next step changes it.
SYNC = {"durability": "sync"}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class Items(TypedDict, total=False):
    items: Annotated[list, operator.add]


class Journal:
    """What ran, in its order; nodes made by it write their name and how often they ran."""

    def __init__(self):
        self.ran = []

    def node(self, name):
        def code(state):
            self.ran.append(name)
            return {"items": [f"{name}{self.ran.count(name)}"]}

        return code

    def ask(self, name, *questions):
        def code(state):
            self.ran.append(name)
            return {"items": [interrupt(question) for question in questions]}

        return code

    def take(self):
        ran, self.ran[:] = list(self.ran), []
        return ran


def chain(*nodes, gives=None, **options):
    """A graph of these (name, code) in a row."""
    builder = StateGraph(State, output_schema=gives or State)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0][0])
    return builder.compile(**options)


def line(saver, journal=None, names="abc", **options):
    journal = journal or Journal()
    return chain(*((name, journal.node(name)) for name in names), checkpointer=saver, **options)


def diamond(saver, **options):
    """START -> (a, b) -> z."""
    builder, journal = StateGraph(State), Journal()
    for name in ("a", "b", "z"):
        builder.add_node(name, journal.node(name))
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    builder.add_edge(["a", "b"], "z")
    return builder.compile(checkpointer=saver, **options)


def brief(graph, config=CONFIG):
    return [
        (
            s.metadata["source"],
            s.metadata["step"],
            s.next,
            s.values,
            s.config,
            s.parent_config,
            [(t.name, t.error, [i.value for i in t.interrupts], t.result) for t in s.tasks],
        )
        for s in graph.get_state_history(config)
    ]


def shape(graph, config=CONFIG):
    return [
        (s.metadata["source"], s.metadata["step"], s.next, s.values)
        for s in graph.get_state_history(config)
    ]


def at(graph, *following, config=CONFIG):
    """The newest checkpoint whose `next` is this."""
    return next(s for s in graph.get_state_history(config) if s.next == following)


def questions(result):
    return [each.value for each in result.get("__interrupt__", ())]


def raised(run):
    """The class of the error, or "fine"."""
    try:
        run()
    except Exception as error:
        return type(error).__name__
    return "fine"


# --- replays ------------------------------------------------------------------------------------


def case_replay_from_every_checkpoint(env):
    journal = Journal()
    graph = line(env.saver(), journal, "abcd")
    graph.invoke({"items": []}, CONFIG)
    history = list(graph.get_state_history(CONFIG))
    journal.take()
    return [(s.next, graph.invoke(None, s.config), journal.take()) for s in history]


async def case_replay_from_every_checkpoint_async(env):
    async with env.asaver() as saver:
        journal = Journal()
        graph = line(saver, journal, "abcd")
        await graph.ainvoke({"items": []}, CONFIG)
        history = [s async for s in graph.aget_state_history(CONFIG)]
        journal.take()
        return [(s.next, await graph.ainvoke(None, s.config), journal.take()) for s in history]


def case_replay_of_a_replay(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(None, at(graph, "b").config)
    fork = next(s for s in graph.get_state_history(CONFIG) if s.metadata["source"] == "fork")
    graph.invoke(None, fork.config)
    return brief(graph)


def case_replay_of_an_empty_fork(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    fork = graph.update_state(at(graph, "b").config, None)
    first = graph.invoke(None, fork)
    return first, graph.invoke(None, fork), brief(graph)


def case_replay_of_an_update_twice(env):
    journal = Journal()
    graph = line(env.saver(), journal)
    graph.invoke({"items": []}, CONFIG)
    fork = graph.update_state(at(graph, "b").config, {"items": ["F"]})
    journal.take()
    return [graph.invoke(None, fork) for _ in range(3)], journal.take(), brief(graph)


def case_replay_of_the_head_that_waits_at_a_breakpoint(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    head = graph.get_state(CONFIG).config
    return graph.invoke(None, head), shape(graph)


def case_replay_with_breakpoints(env):
    graph = line(env.saver(), names="abcd", interrupt_before=["c"])
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(None, CONFIG)
    found = []
    for name in ("b", "c", "d"):
        result = graph.invoke(None, at(graph, name).config)
        found.append((result, graph.get_state(CONFIG).next))
    return found


def case_replay_of_parallel_nodes(env):
    graph = diamond(env.saver())
    graph.invoke({"items": []}, CONFIG, **SYNC)
    first = graph.invoke(None, at(graph, "a", "b").config, **SYNC)
    return first, graph.invoke(None, at(graph, "z").config, **SYNC), shape(graph)


def case_replay_of_a_fan_out(env):
    journal = Journal()
    builder = StateGraph(State)
    builder.add_node("w", lambda s: journal.ran.append(s["x"]) or {"items": [s["x"]]})
    builder.add_node("a", journal.node("a"))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda s: [Send("w", {"x": i}) for i in range(3)], ["w"])
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG, **SYNC)
    journal.take()
    result = graph.invoke(None, at(graph, "w", "w", "w").config, **SYNC)
    return result, sorted(journal.take()), shape(graph)


def case_replay_after_an_error(env):
    fails = [1]

    def boom(state):
        if fails:
            fails.pop()
            raise ValueError("boom")
        return {"items": ["fine"]}

    journal = Journal()
    graph = chain(("a", journal.node("a")), ("boom", boom), checkpointer=env.saver())
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    failed = at(graph, "boom")
    return error, failed, graph.invoke(None, failed.config, **SYNC), brief(graph)


def case_replay_in_each_durability(env):
    found = {}
    for durability in ("sync", "async", "exit"):
        graph = line(env.saver())
        config = {"configurable": {"thread_id": durability}}
        graph.invoke({"items": []}, config, **SYNC)
        old = at(graph, "b", config=config).config
        found[durability] = graph.invoke(None, old, durability=durability), shape(graph, config)
    return found


def case_replay_streams(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    old = at(graph, "b").config
    return [
        list(graph.stream(None, old, stream_mode=mode, **SYNC))
        for mode in ("values", "updates", "tasks", "checkpoints")
    ]


def case_new_input_at_each_checkpoint(env):
    journal = Journal()
    graph = line(env.saver(), journal)
    graph.invoke({"items": []}, CONFIG)
    history = list(graph.get_state_history(CONFIG))
    journal.take()
    return [(graph.invoke({"items": ["N"]}, s.config), journal.take()) for s in history]


def case_command_at_an_old_checkpoint(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    old = at(graph, "b").config
    return graph.invoke(Command(update={"items": ["U"]}), old), shape(graph)


# --- replays and questions ----------------------------------------------------------------------


def asked_twice(saver):
    journal = Journal()
    nodes = [
        ("a", journal.node("a")),
        ("q1", journal.ask("q1", "one?")),
        ("b", journal.node("b")),
        ("q2", journal.ask("q2", "two?")),
        ("c", journal.node("c")),
    ]
    graph = chain(*nodes, checkpointer=saver)
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A1"), CONFIG)
    graph.invoke(Command(resume="A2"), CONFIG)
    journal.take()
    return graph, journal


def case_replay_between_questions(env):
    found = []
    for name in ("a", "q1", "b", "q2", "c"):
        graph, journal = asked_twice(env.saver())
        result = graph.invoke(None, at(graph, name).config)
        seen = [result, journal.take()]
        while questions(result):
            result = graph.invoke(Command(resume="again"), CONFIG)
            seen += [result, journal.take()]
        found.append((name, seen, len(shape(graph))))
        graph.checkpointer.delete_thread("1")
    return found


def case_resume_at_an_old_checkpoint(env):
    graph, journal = asked_twice(env.saver())
    old = at(graph, "q1").config
    return graph.invoke(Command(resume="other"), old), journal.take(), shape(graph)


async def case_replay_between_questions_async(env):
    async with env.asaver() as saver:
        journal = Journal()
        nodes = [("q1", journal.ask("q1", "one?")), ("q2", journal.ask("q2", "two?"))]
        graph = chain(*nodes, checkpointer=saver)
        await graph.ainvoke({"items": []}, CONFIG)
        await graph.ainvoke(Command(resume="A1"), CONFIG)
        await graph.ainvoke(Command(resume="A2"), CONFIG)
        old = [s async for s in graph.aget_state_history(CONFIG) if s.next == ("q2",)].pop()
        replayed = await graph.ainvoke(None, old.config)
        return replayed, await graph.ainvoke(Command(resume="B2"), CONFIG), journal.take()


def case_replay_of_two_questions_in_a_node(env):
    journal = Journal()
    graph = chain(("q", journal.ask("q", "one?", "two?")), checkpointer=env.saver())
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(Command(resume="A1"), CONFIG)
    half = at(graph, "q").config
    found = [graph.invoke(None, half)]
    found.append(graph.invoke(Command(resume="B1"), CONFIG))
    found.append(graph.invoke(Command(resume="B2"), CONFIG))
    return found, journal.take()


def case_fork_of_a_waiting_checkpoint(env):
    journal = Journal()
    graph = chain(
        ("a", journal.node("a")), ("q", journal.ask("q", "one?")), checkpointer=env.saver()
    )
    first = graph.invoke({"items": []}, CONFIG)
    fork = graph.update_state(graph.get_state(CONFIG).config, {"items": ["F"]})
    waiting = graph.get_state(CONFIG)
    again = graph.invoke(None, fork)
    return questions(first), waiting, again, graph.invoke(Command(resume="A"), CONFIG)


# --- subgraphs ----------------------------------------------------------------------------------


def with_subgraph(saver, journal, memory=None):
    """a -> sub(s1 -> s2) -> z."""
    inner = chain(
        ("s1", journal.node("s1")), ("s2", journal.node("s2")), gives=Items, checkpointer=memory
    )
    nodes = [("a", journal.node("a")), ("sub", inner), ("z", journal.node("z"))]
    return chain(*nodes, checkpointer=saver)


def replays_with_subgraph(env, memory):
    journal = Journal()
    graph = with_subgraph(env.saver(), journal, memory)
    graph.invoke({"items": []}, CONFIG, **SYNC)
    history = list(graph.get_state_history(CONFIG))
    journal.take()
    return [(s.next, graph.invoke(None, s.config, **SYNC), journal.take()) for s in history]


def case_replay_around_a_subgraph(env):
    return replays_with_subgraph(env, None)


def case_replay_around_a_subgraph_with_memory(env):
    return replays_with_subgraph(env, True)


def case_replay_around_a_subgraph_that_keeps_nothing(env):
    # Without SYNC: there the peer stumbles over a subgraph that keeps nothing.
    journal = Journal()
    graph = with_subgraph(env.saver(), journal, False)
    graph.invoke({"items": []}, CONFIG)
    history = list(graph.get_state_history(CONFIG))
    journal.take()
    return [(s.next, graph.invoke(None, s.config), journal.take()) for s in history]


def case_memory_of_a_subgraph_over_turns_and_replays(env):
    journal = Journal()
    graph = with_subgraph(env.saver(), journal, True)
    ends = []
    for turn in ("t1", "t2", "t3"):
        graph.invoke({"items": [turn]}, CONFIG, **SYNC)
        ends.append(graph.get_state(CONFIG).config)
    before_second = [s for s in graph.get_state_history(CONFIG) if s.next == ("sub",)][1]
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": "sub"}}
    before = graph.get_state(config).values
    graph.invoke(None, before_second.config, **SYNC)
    replayed = graph.get_state(config).values
    graph.invoke({"items": ["t4"]}, CONFIG, **SYNC)
    return before, replayed, graph.get_state(config).values


def case_memory_of_a_subgraph_and_a_fork(env):
    journal = Journal()
    graph = with_subgraph(env.saver(), journal, True)
    for turn in ("t1", "t2", "t3"):
        graph.invoke({"items": [turn]}, CONFIG, **SYNC)
    first_end = [s for s in graph.get_state_history(CONFIG) if not s.next][-1]
    fork = graph.update_state(first_end.config, {"items": ["F"]}, as_node="a")
    graph.invoke(None, fork, **SYNC)
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": "sub"}}
    return graph.get_state(config).values


def case_fork_then_turn_with_memory(env):
    journal = Journal()
    graph = with_subgraph(env.saver(), journal, True)
    for turn in ("t1", "t2", "t3"):
        graph.invoke({"items": [turn]}, CONFIG, **SYNC)
    first_end = [s for s in graph.get_state_history(CONFIG) if not s.next][-1]
    graph.update_state(first_end.config, {"items": ["F"]})
    graph.invoke({"items": ["N"]}, CONFIG, **SYNC)
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": "sub"}}
    return graph.get_state(config).values


def case_memory_of_a_subgraph_replayed_at_its_question(env):
    journal = Journal()
    inner = chain(
        ("s1", journal.node("s1")), ("q", journal.ask("q", "one?")), gives=Items, checkpointer=True
    )
    graph = chain(("a", journal.node("a")), ("sub", inner), checkpointer=env.saver())
    found = []
    for turn in ("1", "2"):
        graph.invoke({"items": [turn]}, CONFIG, **SYNC)
        graph.invoke(Command(resume="A" + turn), CONFIG, **SYNC)
    journal.take()
    for snapshot in [s for s in graph.get_state_history(CONFIG) if s.next == ("sub",)]:
        found.append((graph.invoke(None, snapshot.config, **SYNC), journal.take()))
        found.append((graph.invoke(Command(resume="B"), CONFIG, **SYNC), journal.take()))
    return found


def waiting_inside(saver, journal):
    inner = chain(
        ("s1", journal.node("s1")),
        ("q", journal.ask("q", "one?")),
        ("s2", journal.node("s2")),
        gives=Items,
    )
    nodes = [("a", journal.node("a")), ("sub", inner), ("z", journal.node("z"))]
    graph = chain(*nodes, checkpointer=saver)
    graph.invoke({"items": []}, CONFIG, **SYNC)
    return graph


def case_replay_of_a_checkpoint_inside_a_subgraph(env):
    journal = Journal()
    graph = waiting_inside(env.saver(), journal)
    child = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    inside = list(graph.get_state_history(child.config))
    found = [(s.next, s.config) for s in inside]
    history = list(graph.get_state_history({"configurable": graph_ns(child)}))
    journal.take()
    for snapshot in history:
        result = graph.invoke(None, snapshot.config, **SYNC)
        found.append((snapshot.next, result, journal.take()))
    found.append((graph.invoke(Command(resume="A"), CONFIG, **SYNC), journal.take()))
    return found


def graph_ns(snapshot):
    place = snapshot.config["configurable"]
    return {"thread_id": place["thread_id"], "checkpoint_ns": place["checkpoint_ns"]}


def case_replay_of_a_finished_subgraphs_checkpoints(env):
    journal = Journal()
    graph = waiting_inside(env.saver(), journal)
    child = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    graph.invoke(Command(resume="A"), CONFIG, **SYNC)
    history = list(graph.get_state_history({"configurable": graph_ns(child)}))
    journal.take()
    found = []
    for snapshot in history:
        result = graph.invoke(None, snapshot.config, **SYNC)
        found.append((snapshot.next, result, journal.take()))
        found.append(graph.get_state(CONFIG).next)
    return found


def case_fork_of_a_checkpoint_inside_a_subgraph(env):
    journal = Journal()
    graph = waiting_inside(env.saver(), journal)
    child = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    history = list(graph.get_state_history({"configurable": graph_ns(child)}))
    first = next(s for s in history if s.next == ("q",))
    fork = graph.update_state(first.config, {"items": ["F"]}, as_node="q")
    journal.take()
    return graph.invoke(None, fork, **SYNC), journal.take(), shape(graph)


def case_fork_of_an_early_checkpoint_inside_a_subgraph(env):
    journal = Journal()
    graph = waiting_inside(env.saver(), journal)
    child = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    history = list(graph.get_state_history({"configurable": graph_ns(child)}))
    first = next(s for s in history if s.next == ("s1",))
    fork = graph.update_state(first.config, {"items": ["F"]})
    journal.take()
    again = graph.invoke(None, fork, **SYNC)
    ran = journal.take()
    return again, ran, graph.invoke(Command(resume="A"), CONFIG, **SYNC), journal.take()


def case_replay_of_two_levels(env):
    journal = Journal()
    deep = chain(("d1", journal.node("d1")), ("d2", journal.node("d2")), gives=Items)
    middle = chain(("m1", journal.node("m1")), ("deep", deep), gives=Items)
    graph = chain(
        ("a", journal.node("a")),
        ("mid", middle),
        ("z", journal.node("z")),
        checkpointer=env.saver(),
    )
    graph.invoke({"items": []}, CONFIG, **SYNC)
    history = list(graph.get_state_history(CONFIG))
    journal.take()
    return [(s.next, graph.invoke(None, s.config, **SYNC), journal.take()) for s in history]


def case_replay_before_a_question_in_a_subgraph(env):
    journal = Journal()
    graph = waiting_inside(env.saver(), journal)
    graph.invoke(Command(resume="A"), CONFIG, **SYNC)
    journal.take()
    found = []
    for name in ("a", "sub", "z"):
        result = graph.invoke(None, at(graph, name).config, **SYNC)
        found.append((name, result, journal.take()))
        if questions(result):
            answered = graph.invoke(Command(resume="B"), CONFIG, **SYNC)
            found.append((answered, journal.take()))
    return found


def case_replay_of_a_fan_out_of_subgraphs(env):
    journal = Journal()
    inner = chain(
        ("s1", lambda s: {"items": [f"s{s['x']}"]}),
        ("q", lambda s: {"items": [interrupt(f"q{s['x']}")]}),
        gives=Items,
    )
    builder = StateGraph(State)
    builder.add_node("a", journal.node("a"))
    builder.add_node("sub", inner)
    builder.add_edge(START, "a")
    builder.add_conditional_edges(
        "a", lambda s: [Send("sub", {"items": [], "x": i}) for i in range(2)], ["sub"]
    )
    graph = builder.compile(checkpointer=env.saver())
    first = graph.invoke({"items": []}, CONFIG, **SYNC)
    answers = {each.id: each.value.upper() for each in first["__interrupt__"]}
    done = graph.invoke(Command(resume=answers), CONFIG, **SYNC)
    again = graph.invoke(None, at(graph, "sub", "sub").config, **SYNC)
    other = {each.id: each.value + "!" for each in again["__interrupt__"]}
    return done, sorted(questions(again)), graph.invoke(Command(resume=other), CONFIG, **SYNC)


# --- updates ------------------------------------------------------------------------------------


def case_update_as_every_node_from_every_checkpoint(env):
    found = []
    for name in (None, START, "a", "b", "c", END, "__copy__", "__input__"):
        graph = line(env.saver(str(name)))
        graph.invoke({"items": ["i"]}, CONFIG)
        for snapshot in list(graph.get_state_history(CONFIG)):
            values = None if name in (END, "__copy__") else {"items": ["U"]}
            config = graph.update_state(snapshot.config, values, as_node=name)
            after = graph.get_state(config)
            found.append((name, snapshot.next, after.next, after.values, after.metadata))
    return found


def case_updates_of_none(env):
    found = []
    for name in (None, START, "a", "c", END, "__copy__", "__input__"):
        graph = line(env.saver(str(name)))
        graph.invoke({"items": ["i"]}, CONFIG)
        old = at(graph, "b").config
        found.append((name, env.error(lambda g=graph, n=name, o=old: g.update_state(o, None, n))))
        found.append(shape(graph)[0])
    return found


def case_update_as_a_node_of_parallel_ones(env):
    graph = diamond(env.saver())
    graph.invoke({"items": []}, CONFIG, **SYNC)
    waiting = at(graph, "a", "b")
    config = graph.update_state(waiting.config, {"items": ["A"]}, as_node="a")
    half = graph.get_state(config)
    return half, graph.invoke(None, config, **SYNC), shape(graph)


def case_update_of_the_end_with_values(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    return env.error(lambda: graph.update_state(CONFIG, {"items": ["U"]}, as_node=END))


def case_end_while_a_question_waits(env):
    journal = Journal()
    graph = chain(
        ("q", journal.ask("q", "one?")), ("z", journal.node("z")), checkpointer=env.saver()
    )
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, None, as_node=END)
    return graph.get_state(CONFIG), graph.invoke(None, CONFIG), journal.take()


def case_answer_after_an_update_while_asked(env):
    found = []
    for as_node in (None, "a", START):
        journal = Journal()
        graph = chain(
            ("a", journal.node("a")),
            ("q", journal.ask("q", "one?", "two?")),
            checkpointer=env.saver(str(as_node)),
        )
        graph.invoke({"items": []}, CONFIG)
        if as_node != START:
            graph.update_state(CONFIG, {"items": ["U"]}, as_node=as_node)
        found.append(graph.invoke(Command(resume="A"), CONFIG))
        found.append(graph.invoke(Command(resume="B"), CONFIG))
    return found


def case_ambiguous_updates(env):
    graph = diamond(env.saver(), interrupt_before=["z"])
    graph.invoke({"items": []}, CONFIG, **SYNC)
    found = [env.error(lambda: graph.update_state(CONFIG, {"items": ["U"]}))]
    found.append(env.error(lambda: graph.update_state(CONFIG, None)))
    two = at(graph, "a", "b").config
    found.append(env.error(lambda: graph.update_state(two, {"items": ["U"]})))
    return found, shape(graph)


def case_update_with_a_task_id(env):
    builder = StateGraph(State)
    builder.add_node("w", lambda s: {"items": [s["x"]]})
    builder.add_conditional_edges(START, lambda s: [Send("w", {"x": i}) for i in range(2)], ["w"])
    graph = builder.compile(checkpointer=env.saver(), interrupt_before=["w"])
    graph.invoke({"items": []}, CONFIG, **SYNC)
    second = graph.get_state(CONFIG).tasks[1]
    config = graph.update_state(CONFIG, {"items": ["hand"]}, "w", second.id)
    return graph.get_state(config), brief(graph)


def case_copies_with_values(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    old = at(graph, "b").config
    found = []
    for values in ({"items": ["U"]}, [({"items": ["U"]}, "b")], [({"items": ["U"]}, None)], []):
        found.append(
            env.error(
                lambda values=values: graph.get_state(
                    graph.update_state(old, values, as_node="__copy__")
                )
            )
        )
    return found


# --- updates in bulk ----------------------------------------------------------------------------


async def case_bulk_update_async(env):
    async with env.asaver() as saver:
        graph = line(saver)
        config = await graph.abulk_update_state(
            CONFIG,
            [
                [StateUpdate({"items": ["i"]}, "__input__")],
                [StateUpdate({"items": ["i"]}, START)],
                [StateUpdate({"items": ["a"]}, "a")],
            ],
        )
        state = await graph.aget_state(config)
        return config, state, await graph.ainvoke(None, CONFIG)


def case_bulk_update_of_plain_tuples(env):
    graph = line(env.saver())
    steps = [[({"items": ["i"]}, START, None)]]
    error = env.error(lambda: graph.bulk_update_state(CONFIG, steps))
    return error, shape(graph)


def case_bulk_update_of_one_update(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    config = graph.bulk_update_state(CONFIG, [[StateUpdate({"items": ["U"]}, "b")]])
    return config, graph.invoke(None, config), brief(graph)


def case_bulk_update_continues_a_thread(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    steps = [[StateUpdate({"items": ["1"]}, "a")], [StateUpdate({"items": ["2"]}, "b")]]
    config = graph.bulk_update_state(at(graph, "b").config, steps)
    return graph.get_state(config), brief(graph)


def case_bulk_updates_without_a_node(env):
    found = []
    for number, updates in enumerate(
        [
            [StateUpdate({"items": ["1"]}), StateUpdate({"items": ["2"]})],
            [StateUpdate({"items": ["1"]}, "a"), StateUpdate({"items": ["2"]})],
            [StateUpdate(None), StateUpdate(None)],
            [StateUpdate(None, END), StateUpdate(None, END)],
            [StateUpdate(None, END), StateUpdate({"items": ["1"]}, "a")],
            [StateUpdate({"items": ["1"]}, "__input__"), StateUpdate({"items": ["2"]}, "a")],
            [
                StateUpdate({"items": ["1"]}, "__input__"),
                StateUpdate({"items": ["2"]}, "__input__"),
            ],
            [StateUpdate(None, "__copy__"), StateUpdate({"items": ["2"]}, "a")],
            [StateUpdate(None, "__copy__"), StateUpdate(None, "__copy__")],
            [StateUpdate({"items": ["1"]}, "nope"), StateUpdate({"items": ["2"]}, "a")],
            [StateUpdate(None, "a"), StateUpdate(None, "b")],
            [StateUpdate({"items": ["1"]}, "a"), StateUpdate({"items": ["2"]}, "a")],
            [StateUpdate({"items": ["2"]}, "b"), StateUpdate({"items": ["1"]}, "a")],
        ]
    ):
        graph = line(env.saver())
        config = {"configurable": {"thread_id": str(number)}}
        graph.invoke({"items": ["i"]}, config)
        outcome = raised(lambda g=graph, c=config, u=updates: g.bulk_update_state(c, [u]))
        found.append((outcome, shape(graph, config)[:2]))
    return found


def case_bulk_update_that_fails_later(env):
    graph = line(env.saver())
    steps = [
        [StateUpdate({"items": ["i"]}, START)],
        [StateUpdate({"items": ["a"]}, "nope")],
    ]
    return raised(lambda: graph.bulk_update_state(CONFIG, steps)), shape(graph)


def case_bulk_copy(env):
    graph = line(env.saver())
    graph.invoke({"items": ["i"]}, CONFIG)
    old = at(graph, "b").config
    steps = [[StateUpdate(None, "__copy__")], [StateUpdate({"items": ["U"]}, "b")]]
    config = graph.bulk_update_state(old, steps)
    return graph.get_state(config), brief(graph)


def case_bulk_update_of_a_fan_out(env):
    builder = StateGraph(State)
    builder.add_node("w", lambda s: {"items": [s["x"]]})
    builder.add_node("z", lambda s: {"items": ["z"]})
    builder.add_conditional_edges(START, lambda s: [Send("w", {"x": i}) for i in range(2)], ["w"])
    builder.add_edge("w", "z")
    graph = builder.compile(checkpointer=env.saver())
    graph.bulk_update_state(
        CONFIG,
        [
            [StateUpdate({"items": []}, "__input__")],
            [StateUpdate({"items": []}, START)],
            [StateUpdate({"items": ["1"]}, "w"), StateUpdate({"items": ["2"]}, "w")],
        ],
    )
    return brief(graph), graph.invoke(None, CONFIG, **SYNC)


def case_bulk_update_of_a_subgraph(env):
    journal = Journal()
    graph = waiting_inside(env.saver(), journal)
    child = graph.get_state(CONFIG, subgraphs=True).tasks[0].state
    steps = [[StateUpdate({"items": ["1"]}, "q")], [StateUpdate({"items": ["2"]}, "s2")]]
    graph.bulk_update_state(child.config, steps)
    journal.take()
    return graph.invoke(None, CONFIG, **SYNC), journal.take()


# --- history ------------------------------------------------------------------------------------


def case_history_of_everything_at_once(env):
    journal = Journal()
    graph = waiting_inside(env.saver(), journal)
    graph.invoke(Command(resume="A"), CONFIG, **SYNC)
    graph.invoke(None, at(graph, "sub").config, **SYNC)
    graph.update_state(CONFIG, {"items": ["U"]}, as_node="a")
    return list(graph.get_state_history(CONFIG))


def case_history_with_all_options(env):
    graph = line(env.saver())
    for turn in range(3):
        graph.invoke({"items": [turn]}, CONFIG)
    history = list(graph.get_state_history(CONFIG))
    found = []
    for before in (None, history[3].config, history[-1].config):
        for wanted in (None, {"source": "loop"}, {"source": "input", "step": 4}):
            for limit in (None, 1, 3):
                got = graph.get_state_history(CONFIG, filter=wanted, before=before, limit=limit)
                found.append([s.metadata["step"] for s in got])
    return found


def case_history_before_a_bare_id(env):
    graph = line(env.saver())
    graph.invoke({"items": []}, CONFIG)
    checkpoint_id = at(graph, "c").config["configurable"]["checkpoint_id"]
    before = {"configurable": {"checkpoint_id": checkpoint_id}}
    return [s.next for s in graph.get_state_history(CONFIG, before=before)]


def case_history_is_lazy_and_newest_first(env):
    graph = line(env.saver(), names="abcdefgh")
    for _ in range(6):
        graph.invoke({"items": []}, CONFIG)
    history = graph.get_state_history(CONFIG)
    first = next(history)
    graph.invoke({"items": []}, CONFIG)
    steps = [first.metadata["step"], *(s.metadata["step"] for s in history)]
    return steps == sorted(steps, reverse=True), len(steps) >= 60


def case_snapshot_of_a_failed_step(env):
    def boom(state):
        raise ValueError("boom")

    graph = chain(("a", Journal().node("a")), ("boom", boom), checkpointer=env.saver())
    env.error(lambda: graph.invoke({"items": []}, CONFIG, **SYNC))
    return graph.get_state(CONFIG), list(graph.get_state_history(CONFIG))


def case_end_of_an_old_checkpoint_that_was_edited(env):
    builder = StateGraph(Items).add_node("a", lambda state: {"items": ["a"]})
    builder.add_node("b", lambda state: {"items": ["b"]}).add_edge(START, "a").add_edge("a", "b")
    graph = builder.compile(checkpointer=env.saver())
    found = []
    for node in ("a", "b", None):
        for later in (True, False):
            config = {"configurable": {"thread_id": f"{node} {later}"}}
            graph.invoke({"items": ["in"]}, config, interrupt_before=["b"])
            base = graph.get_state(config)
            if later:
                graph.update_state(config, {"items": ["later"]}, as_node="a")
            graph.update_state(base.config, {"items": ["edit"]}, as_node=node)
            tasks = [(task.name, task.result) for task in graph.get_state(base.config).tasks]
            ended = graph.get_state(graph.update_state(base.config, None, as_node=END))
            found.append([tasks, ended.values, ended.next])
    return found


def case_states_of_tasks_address_the_graphs_inside(env):
    found = []
    for number, keeps in enumerate((None, True)):
        inner = StateGraph(Items).add_node("a", lambda state: {"items": ["a"]})
        inner.add_node("b", lambda state: {"items": ["b"]}).add_edge(START, "a").add_edge("a", "b")
        inner = inner.compile(checkpointer=keeps, interrupt_before=["b"])
        middle = StateGraph(Items).add_node("inner", inner).add_edge(START, "inner").compile()
        builder = StateGraph(Items).add_node("child", inner).add_node("deep", middle)
        builder.add_edge(START, "child").add_edge(START, "deep")
        graph = builder.compile(checkpointer=env.saver())
        config = {"configurable": {"thread_id": str(number)}}
        graph.invoke({}, config)
        child, deep = sorted(graph.get_state(config).tasks, key=lambda task: task.name)
        (inside,) = graph.get_state(deep.state).tasks
        for place in (child.state, inside.state):
            history = [(s.values, s.next) for s in graph.get_state_history(place)]
            found.append([history, graph.get_state(place).values])
            graph.update_state(place, {"items": ["edit"]}, as_node="a")
            found.append([graph.get_state(place).values, graph.get_state(place).next])
        found.append(sorted(graph.invoke(None, config)["items"]))
    return found
