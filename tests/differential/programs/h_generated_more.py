"""What random programs found, made small: checkpoints made by hand, breakpoints, memory."""

import operator
from typing import Annotated, TypedDict

from langgraph.channels import EphemeralValue, Topic
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
# In its default (async) mode the peer writes the state of a join while the next step changes it.
SYNC = {"durability": "sync"}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    word: str


def add(value):
    return lambda state: {"items": [value]}


def graph(nodes, edges, **options):
    builder = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node)
    for start, end in edges:
        builder.add_edge(start, end)
    return builder.compile(**options)


def chain(options=None, **nodes):
    names = list(nodes)
    return graph(nodes, list(zip([START, *names], names, strict=False)), **(options or {}))


def fails_once(value):
    calls = []

    def node(state):
        calls.append(value)
        if len(calls) == 1:
            raise ValueError(value)
        return {"items": [value]}

    return node


def told(env, app, config=CONFIG):
    found = app.get_state_history(config)
    return [(s.metadata["source"], s.metadata["step"], s.next, s.values) for s in found]


def case_a_run_at_a_checkpoint_made_by_hand_that_the_thread_has_left(env):
    app = chain({"checkpointer": env.saver()}, a=add("a"), b=add("b"))
    seen = []
    for number, node in enumerate(("a", "b", "__copy__")):
        config = {"configurable": {"thread_id": str(number)}}
        app.invoke({"items": ["in"]}, config, **SYNC)
        values = None if node == "__copy__" else {"items": ["by hand"]}
        made = app.update_state(config, values, as_node=node)
        app.invoke({"items": ["later"]}, config, **SYNC)
        app.invoke(None, made, **SYNC)
        seen.append(told(env, app, config))
    return seen


def case_a_run_at_the_newest_checkpoint_made_by_hand_goes_on_where_it_failed(env):
    app = chain({"checkpointer": env.saver()}, a=add("a"), b=fails_once("b"))
    made = app.update_state(CONFIG, {"items": ["by hand"]}, as_node="a")
    failed = env.error(lambda: app.invoke(None, made, **SYNC))
    return failed, app.invoke(None, made, **SYNC), told(env, app)


async def case_the_same_async(env):
    async with env.asaver() as saver:
        app = chain({"checkpointer": saver}, a=add("a"), b=fails_once("b"))
        made = await app.aupdate_state(CONFIG, {"items": ["by hand"]}, as_node="a")
        failed = await env.aerror(app.ainvoke(None, made, **SYNC))
        await app.ainvoke(None, made, **SYNC)
        await app.ainvoke({"items": ["later"]}, CONFIG, **SYNC)
        await app.ainvoke(None, made, **SYNC)
        found = [s async for s in app.aget_state_history(CONFIG)]
        return failed, [(s.metadata["source"], s.metadata["step"], s.next) for s in found]


def case_a_question_after_the_newest_checkpoint_made_by_hand(env):
    app = chain({"checkpointer": env.saver()}, a=add("a"), b=lambda s: {"items": [interrupt("q")]})
    made = app.update_state(CONFIG, {"items": ["by hand"]}, as_node="a")
    runs = [app.invoke(given, made, **SYNC) for given in (None, None, Command(resume="yes"))]
    return runs, told(env, app)


def case_tasks_of_a_stream_that_stops_at_a_breakpoint_inside(env):
    inner = chain({"interrupt_before": ["b"]}, a=add("a"), b=add("b"))
    app = chain({"checkpointer": env.saver()}, inner=inner, after=add("after"))
    first = list(app.stream({"items": []}, CONFIG, stream_mode="tasks", **SYNC))
    second = list(app.stream(None, CONFIG, stream_mode="tasks", **SYNC))
    return first, second


def case_what_a_run_returns_that_stops_at_a_breakpoint_inside(env):
    class Output(TypedDict, total=False):
        word: Annotated[str, operator.add]

    class Whole(State):
        word: Annotated[str, operator.add]

    inner = chain({"interrupt_after": ["a"]}, a=add("a"), b=add("b"))
    builder = StateGraph(Whole, output_schema=Output)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    app = builder.compile(checkpointer=env.saver())
    return [app.invoke(given, CONFIG, **SYNC) for given in ({"items": ["in"]}, None)]


def case_what_path_functions_see_of_a_result(env):
    """Keys that no schema knows are not kept, but the path after the node finds them."""
    seen = []

    def path(state):
        seen.append(dict(state))
        return END

    def hinted(state: State):
        return path(state)

    for result in ({"items": ["n"], "unknown": 1}, Command(update={"unknown": 2}), None):
        for way in (path, hinted):
            builder = StateGraph(State)
            builder.add_node("n", lambda state, result=result: result)
            builder.add_edge(START, "n")
            builder.add_conditional_edges("n", way)
            app = builder.compile(checkpointer=env.saver())
            app.invoke({"items": ["in"]}, CONFIG)
            app.update_state(CONFIG, {"word": "by hand", "other": 3}, as_node="n")
    return seen


async def case_what_path_functions_see_of_an_input(env):
    seen = []

    async def path(state):
        seen.append(dict(state))
        return "n"

    builder = StateGraph(State)
    builder.add_node("n", add("n"))
    builder.add_conditional_edges(START, path)
    builder.add_edge("n", END)
    inner = builder.compile()
    await inner.ainvoke({"items": ["in"], "unknown": 1})

    class Wide(State, total=False):
        more: int

    outer = StateGraph(Wide)
    outer.add_node("inner", inner)
    outer.add_edge(START, "inner")
    await outer.compile().ainvoke({"items": ["in"], "more": 2})
    return seen


def remembering(env, **nodes):
    inner = chain({"checkpointer": True}, count=lambda s: {"items": [len(s["items"])]})
    return chain({"checkpointer": env.saver()}, inner=inner, **nodes)


def case_memory_after_a_replay_of_a_finished_turn(env):
    app = remembering(env, end=add("end"))
    for turn in ("one", "two"):
        app.invoke({"items": [turn]}, CONFIG, **SYNC)
    first = [s for s in app.get_state_history(CONFIG) if not s.next][1]
    app.invoke(None, first.config, **SYNC)
    return app.invoke({"items": ["three"]}, CONFIG, **SYNC)


def case_memory_after_an_update_of_a_turn_that_failed(env):
    inner = chain({"checkpointer": True}, count=add("count"), fails=fails_once("fails"))
    middle = chain(inner=inner)
    app = chain({"checkpointer": env.saver()}, calls=lambda s: middle.invoke({"items": ["call"]}))
    failed = env.error(lambda: app.invoke({"items": ["one"]}, CONFIG, **SYNC))
    app.update_state(CONFIG, None)
    return failed, app.invoke(None, CONFIG, **SYNC)


def case_a_graph_inside_one_without_checkpoints(env):
    innermost = chain(a=add("a"))
    inner = chain({"checkpointer": False}, innermost=innermost)
    app = chain({"checkpointer": env.saver()}, inner=inner)
    modes = ["checkpoints", "updates"]
    parts = app.stream({"items": []}, CONFIG, stream_mode=modes, subgraphs=True)
    return sorted((len(ns), mode) for ns, mode, _ in parts)


def case_a_question_of_a_graph_without_checkpoints_is_asked_again(env):
    inner = chain({"checkpointer": False}, before=add("a"), ask=lambda s: interrupt("q"))
    app = chain({"checkpointer": env.saver()}, inner=inner)
    ids = [app.invoke(given, CONFIG)["__interrupt__"][0].id for given in ({"items": []}, None)]
    return len(set(ids))


def case_results_of_tasks_that_were_updated_twice(env):
    app = chain({"checkpointer": env.saver()}, a=fails_once("a"), b=add("b"))
    failed = env.error(lambda: app.invoke({"items": []}, CONFIG, **SYNC))
    at = app.get_state(CONFIG).config
    for node in ("b", "a"):
        app.update_state(at, {"items": [f"as {node}"], "word": node}, as_node=node)
    app.invoke(None, CONFIG, **SYNC)
    tasks = [task for s in app.get_state_history(CONFIG) for task in s.tasks]
    return failed, [(task.name, task.result) for task in tasks]


def case_results_of_tasks_that_had_finished(env):
    app = graph(
        {"a": add("a"), "asks": lambda s: {"items": [interrupt("q")]}},
        [(START, "a"), (START, "asks")],
        checkpointer=env.saver(),
    )
    app.invoke({"items": []}, CONFIG, **SYNC)
    at = app.get_state(CONFIG).config
    app.update_state(at, {"items": ["by hand"], "word": "new"}, as_node="a")
    tasks = [task for s in app.get_state_history(CONFIG) for task in s.tasks]
    return [(task.name, task.result) for task in tasks]


def case_answered_questions_of_a_task_at_a_breakpoint(env):
    inner = chain(
        {"interrupt_after": ["ask"]}, ask=lambda s: {"items": [interrupt("q")]}, b=add("b")
    )
    app = chain({"checkpointer": env.saver()}, inner=inner)
    app.invoke({"items": []}, CONFIG, **SYNC)
    app.invoke(Command(resume="yes"), CONFIG, **SYNC)
    return len(app.get_state(CONFIG).interrupts)


def case_an_update_after_a_node_with_an_edge_and_a_join(env):
    app = graph(
        {"a": add("a"), "b": add("b")},
        [(START, "a"), ("a", "b"), (["a"], "b")],
        checkpointer=env.saver(),
    )
    app.invoke({"items": []}, CONFIG, **SYNC)
    return env.error(lambda: bool(app.update_state(CONFIG, {"items": ["by hand"]})))


def case_an_update_at_the_input_of_a_later_turn(env):
    app = chain({"checkpointer": env.saver()}, a=add("a"), b=add("b"))
    for word in ("one", "two"):
        app.invoke({"items": [word]}, CONFIG, **SYNC)
    inputs = [s for s in app.get_state_history(CONFIG) if s.metadata["source"] == "input"]
    found = []
    for snapshot in inputs:
        forked = app.update_state(snapshot.config, {"items": ["by hand"]})
        found.append((app.get_state(forked).next, app.invoke(None, forked, **SYNC)))
    return found


def case_values_of_one_super_step_beside_a_question(env):
    class Fleeting(State):
        spark: Annotated[str, EphemeralValue(str)]
        topic: Annotated[list, Topic(str)]

    builder = StateGraph(Fleeting)
    builder.add_node("a", lambda state: {"spark": "a", "topic": "a"})
    builder.add_node("b", lambda state: {"items": [interrupt("?"), state["spark"]]})
    builder.add_node("c", lambda state: {"items": ["c"]})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("a", "c")
    app = builder.compile(checkpointer=env.saver())
    app.invoke({"items": []}, CONFIG, **SYNC)
    seen = app.get_state(CONFIG).values
    return seen, app.invoke(Command(resume="yes"), CONFIG, **SYNC)


def case_graphs_without_checkpoints_that_are_to_store_at_once(env):
    inner = chain({"checkpointer": False}, a=add("a"))
    app = chain({"checkpointer": env.saver()}, inner=inner)
    alone = chain(a=add("a"))
    return [
        env.error(lambda: app.invoke({"items": ["in"]}, CONFIG, **SYNC)),
        env.error(lambda: alone.invoke({"items": ["in"]}, **SYNC)),
    ]


def metadata(app, config=CONFIG, **more):
    return [one.metadata for one in app.get_state_history(config, **more)]


def case_metadata_of_updates(env):
    app = chain({"checkpointer": env.saver()}, n=add("n")).with_config(metadata={"of": "graph"})
    app.invoke({"items": []}, CONFIG)
    by = {"configurable": {"thread_id": "1", "key": "value"}, "metadata": {"by": "ann"}}
    app.update_state(by, {"items": ["u"]})
    app.update_state(by, None, "__copy__")
    app.update_state(by, {"items": ["i"]}, "__input__")
    app.update_state(CONFIG, None, "__end__")
    return metadata(app), metadata(app, filter={"by": "ann"})


def case_metadata_named_like_facts_of_a_checkpoint(env):
    """What a checkpoint says of itself is not what a program says of its run."""
    app = chain({"checkpointer": env.saver()}, n=add("n"))
    named = {"source": "web", "step": 99, "parents": "none", "writes": 1}
    of_run = {**CONFIG, "metadata": named}
    as_keys = {"configurable": {"thread_id": "2", "source": "web", "step": 99, "parents": "none"}}
    for config in (of_run, as_keys):
        app.invoke({"items": []}, config, **SYNC)
        app.update_state(config, {"items": ["u"]})
        app.invoke({"items": []}, config, **SYNC)
    return metadata(app), metadata(app, as_keys)


def case_a_run_with_the_run_id_of_the_last(env):
    app = chain({"checkpointer": env.saver()}, n=add("n"))
    config = {**CONFIG, "metadata": {"run_id": "r1"}}
    return [app.invoke({"items": [text]}, config, **SYNC) for text in "ab"]


def case_path_functions_after_writes_that_leave_a_topic_empty(env):
    class Talk(State):
        topic: Annotated[list, Topic(str)]
        topics: Annotated[list, Topic(str, accumulate=True)]

    def run(given, wrote):
        seen = []
        builder = StateGraph(Talk)
        builder.add_node("a", lambda state: wrote)
        builder.add_conditional_edges(START, lambda state: seen.append(state) or "a")
        builder.add_conditional_edges("a", lambda state: seen.append(state) or END)
        return builder.compile().invoke(given), seen

    some, none = {"topic": ["x"], "topics": ["x"]}, {"topic": [], "topics": []}
    return [run(given, wrote) for given in (some, none) for wrote in (some, none)]


def case_an_error_of_before_a_breakpoint_inside(env):
    inner = chain({"interrupt_after": ["a"]}, a=fails_once("a"), b=add("b"))
    app = chain({"checkpointer": env.saver()}, inner=inner)
    failed = env.error(lambda: app.invoke({"items": ["in"]}, CONFIG, **SYNC))
    app.invoke(None, CONFIG, **SYNC)
    return failed, [bool(task.error) for task in app.get_state(CONFIG).tasks]
