"""Static breakpoints: interrupt_before and interrupt_after, and what one may do while stopped."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

CONFIG = {"configurable": {"thread_id": "1"}}


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


def walk(graph, **options):
    """Runs to the end, noting the result and `next` of every stop."""
    stops = [(graph.invoke({"items": []}, CONFIG, **options), graph.get_state(CONFIG).next)]
    while graph.get_state(CONFIG).next:
        stops.append((graph.invoke(None, CONFIG, **options), graph.get_state(CONFIG).next))
    return stops


def brief(graph):
    return [
        (s.metadata, s.next, s.values, [(t.name, t.result) for t in s.tasks])
        for s in graph.get_state_history(CONFIG)
    ]


def case_before(env):
    graph = line(env.saver(), interrupt_before=["b"])
    first = graph.invoke({"items": ["i"]}, CONFIG)
    stopped = graph.get_state(CONFIG)
    return first, stopped, graph.invoke(None, CONFIG), brief(graph)


def case_after(env):
    graph = line(env.saver(), interrupt_after=["b"])
    first = graph.invoke({"items": ["i"]}, CONFIG)
    return first, graph.get_state(CONFIG), graph.invoke(None, CONFIG), brief(graph)


async def case_before_async(env):
    async with env.asaver() as saver:
        graph = line(saver, interrupt_before=["b"])
        first = await graph.ainvoke({"items": ["i"]}, CONFIG)
        return first, await graph.aget_state(CONFIG), await graph.ainvoke(None, CONFIG)


async def case_after_async(env):
    async with env.asaver() as saver:
        graph = line(saver, interrupt_after=["a", "c"])
        first = await graph.ainvoke({"items": ["i"]}, CONFIG)
        second = await graph.ainvoke(None, CONFIG)
        return first, second, (await graph.aget_state(CONFIG)).next


def case_before_all(env):
    return walk(line(env.saver(), interrupt_before="*"))


def case_after_all(env):
    return walk(line(env.saver(), interrupt_after="*"))


def case_before_and_after(env):
    return walk(line(env.saver(), interrupt_after=["a"], interrupt_before=["c"]))


def case_before_and_after_the_same_node(env):
    return walk(line(env.saver(), interrupt_after=["b"], interrupt_before=["b"]))


def case_given_at_invoke(env):
    return walk(line(env.saver()), interrupt_before=["b"], interrupt_after=["b"])


def case_all_given_at_invoke(env):
    return walk(line(env.saver()), interrupt_before="*"), walk_two(env)


def walk_two(env):
    return walk(line(env.saver("two")), interrupt_after="*")


def reviewed(saver):
    """START -> draft -> review -> review_all."""
    builder = StateGraph(State)
    builder.add_sequence([(name, add(name)) for name in ("draft", "review", "review_all")])
    builder.add_edge(START, "draft")
    return builder.compile(checkpointer=saver)


def case_a_text_is_the_name_of_a_node(env):
    before = walk(reviewed(env.saver("before")), interrupt_before="review")
    after = walk(reviewed(env.saver("after")), interrupt_after="review")
    return before, after, walk(reviewed(env.saver("none")), interrupt_after="")


def case_a_text_is_part_of_another_name(env):
    return walk(reviewed(env.saver()), interrupt_after="review_all")


def case_a_breakpoint_at_no_node(env):
    return walk(line(env.saver()), interrupt_before=["nope", "c"])


def case_invoke_overrides_compile(env):
    graph = line(env.saver(), interrupt_before=["b"])
    return graph.invoke({"items": []}, CONFIG, interrupt_before=["c"]), graph.get_state(CONFIG).next


def case_none_given_at_invoke(env):
    graph = line(env.saver(), interrupt_before=["c"], interrupt_after=["a"])
    return walk(graph, interrupt_before=[], interrupt_after=())


def case_before_the_first_node(env):
    graph = line(env.saver(), interrupt_before=["a"])
    first = graph.invoke({"items": ["i"]}, CONFIG)
    return first, graph.get_state(CONFIG), graph.invoke(None, CONFIG)


def case_after_the_last_node(env):
    graph = line(env.saver(), interrupt_after=["c"])
    first = graph.invoke({"items": ["i"]}, CONFIG)
    return first, graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_unknown_node_at_compile(env):
    return (
        env.error(lambda: line(None, interrupt_before=["nope"])),
        env.error(lambda: line(None, interrupt_after=["nope"])),
    )


def case_without_checkpointer(env):
    graph = line(None, interrupt_before=["b"])
    return graph.invoke({"items": []}), list(graph.stream({"items": []}))


def case_update_state_at_a_breakpoint(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    config = graph.update_state(CONFIG, {"items": ["U"]})
    return config, graph.get_state(CONFIG), graph.invoke(None, CONFIG), brief(graph)


def case_update_state_as_the_pending_node_skips_it(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, {"items": ["instead of b"]}, as_node="b")
    return graph.get_state(CONFIG), graph.invoke(None, CONFIG), brief(graph)


def case_update_state_as_end_finishes(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, None, as_node=END)
    return graph.get_state(CONFIG), graph.invoke(None, CONFIG)


def case_update_state_with_none_keeps_the_place(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    graph.update_state(CONFIG, None)
    return graph.get_state(CONFIG), graph.invoke(None, CONFIG)


def case_b06_goto_runs_with_the_pending_node(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(goto="c"), CONFIG), brief(graph)


def case_goto_a_send(env):
    builder = StateGraph(State)
    builder.add_sequence([("a", add("a")), ("b", add("b"))])
    builder.add_node("w", lambda state: {"items": [["w", state]]})
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(goto=[Send("w", {"x": 1}), Send("w", {"x": 2})]), CONFIG)


def case_command_update(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    return graph.invoke(Command(update={"items": ["U"]}), CONFIG), brief(graph)


def case_new_input_starts_over(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": ["1"]}, CONFIG)
    return graph.invoke({"items": ["2"]}, CONFIG), brief(graph)


def case_parallel_nodes_one_of_them_named(env):
    builder = StateGraph(State)
    for name in ("a", "b"):
        builder.add_node(name, add(name))
        builder.add_edge(START, name)
    builder.add_node("z", add("z"))
    builder.add_edge(["a", "b"], "z")
    graph = builder.compile(checkpointer=env.saver(), interrupt_before=["b"], interrupt_after=["a"])
    return walk(graph)


def case_before_a_fan_out(env):
    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_node("w", lambda state: {"items": [state["x"]]})
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda s: [Send("w", {"x": i}) for i in range(2)], ["w"])
    graph = builder.compile(checkpointer=env.saver(), interrupt_before=["w"])
    first = graph.invoke({"items": []}, CONFIG)
    return first, graph.get_state(CONFIG), graph.invoke(None, CONFIG)


def case_in_a_loop(env):
    builder = StateGraph(State)
    builder.add_node("a", add("a"))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda s: END if len(s["items"]) == 3 else "a")
    return walk(builder.compile(checkpointer=env.saver(), interrupt_before=["a"]))


def case_streams_at_a_breakpoint(env):
    found = {}
    for mode in ("values", "updates", "tasks", "debug", "checkpoints"):
        graph = line(env.saver(), interrupt_before=["b"])
        config = {"configurable": {"thread_id": mode}}
        found[mode] = [
            list(graph.stream({"items": ["i"]}, config, stream_mode=mode)),
            list(graph.stream(None, config, stream_mode=mode)),
        ]
    return found


async def case_streams_at_a_breakpoint_async(env):
    found = {}
    async with env.asaver() as saver:
        for mode in ("values", "updates", "tasks", "debug", "checkpoints"):
            graph = line(saver, interrupt_after=["b"])
            config = {"configurable": {"thread_id": mode}}
            found[mode] = [
                [p async for p in graph.astream({"items": ["i"]}, config, stream_mode=mode)],
                [p async for p in graph.astream(None, config, stream_mode=mode)],
            ]
    return found


def case_stream_after_the_last_node(env):
    graph = line(env.saver(), interrupt_after=["c"])
    return list(graph.stream({"items": []}, CONFIG)), list(graph.stream(None, CONFIG))


def case_from_a_fresh_graph(env):
    return (
        line(env.saver(), interrupt_before=["b"]).invoke({"items": []}, CONFIG),
        line(env.saver(), interrupt_before=["b"]).get_state(CONFIG),
        line(env.saver(), interrupt_before=["b"]).invoke(None, CONFIG),
    )


def case_breakpoint_does_not_stop_a_resumed_step_twice(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    list(graph.stream(None, CONFIG, interrupt_before=["b", "c"]))
    return graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)


def case_replay_stops_at_the_breakpoint_again(env):
    graph = line(env.saver(), interrupt_before=["b"])
    graph.invoke({"items": []}, CONFIG)
    graph.invoke(None, CONFIG)
    old = next(s for s in graph.get_state_history(CONFIG) if s.next == ("a",))
    return graph.invoke(None, old.config), graph.get_state(CONFIG).next, graph.invoke(None, CONFIG)
