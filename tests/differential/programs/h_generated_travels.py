"""What random programs found, made small: time travel, graphs side by side, caches."""

import operator
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import CachePolicy, Command, Send, StateUpdate, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def case_cached_results_of_tasks_alike(env):
    ran = []

    def node(state):
        ran.append(state)
        return {"items": state["items"]}

    builder = StateGraph(State)
    builder.add_node("n", node, cache_policy=CachePolicy(key_func=str))
    builder.add_conditional_edges(START, lambda state: [Send("n", {"items": ["x"]})] * 3)
    app = builder.compile(cache=InMemoryCache())
    return [(app.invoke({"items": []})["items"], len(ran)) for _ in range(3)]


def tells_its_metadata(seen):
    def node(state, config):
        seen.append(config["metadata"])
        return {"messages": [AIMessage("hi")]}

    inner = StateGraph(MessagesState).add_node("said", node).add_edge(START, "said").compile()
    return StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")


def without_marks(part):
    """A part of a stream of messages without what the peer tells for its vendor's tracer."""
    if isinstance(part[-1], tuple):
        message, metadata = part[-1]
        shown = {key: metadata[key] for key in metadata if key != "ls_integration"}
        return (*part[:-1], (message, shown))
    return part


def case_metadata_of_what_runs_at_an_old_checkpoint(env):
    seen = []
    app = tells_its_metadata(seen).compile(checkpointer=env.saver())
    app.invoke({"messages": []}, CONFIG, durability="sync")
    place = list(app.get_state_history(CONFIG))[1].config
    parts = app.stream(None, place, stream_mode=["messages", "tasks"], subgraphs=True)
    return [without_marks(part) for part in parts], seen


def case_entries_of_configurable_that_are_metadata(env):
    """Ids of a server are told; what else a program keeps there is its own."""
    seen, told = [], []
    app = tells_its_metadata(seen).compile(checkpointer=env.saver())
    names = ("thread_id", "run_id", "task_id", "assistant_id", "graph_id", "model", "user")
    for value in ("x", "", 7):
        config = {"configurable": {**dict.fromkeys(names, value), "thread_id": f"of {value}"}}
        told += app.stream({"messages": []}, config, stream_mode="tasks", subgraphs=True)
    return seen, told


def asks_beside_another(env, ran):
    """A node that asks twice, and one beside it that ends."""
    builder = StateGraph(State)
    builder.add_node("ask", lambda state: {"items": [interrupt("first"), interrupt("second")]})
    builder.add_node("beside", lambda state: ran.append("beside"))
    builder.add_edge(START, "ask")
    builder.add_edge(START, "beside")
    return builder.compile(checkpointer=env.saver())


def case_an_answer_to_a_task_that_an_update_stood_for(env):
    """The update is on the thread that was written; the answer goes back to before it."""
    app = asks_beside_another(env, [])
    asked = app.invoke({"items": []}, CONFIG, durability="sync")["__interrupt__"]
    waits = app.get_state(CONFIG).config
    app.update_state(CONFIG, {"items": ["by hand"]}, as_node="ask")
    written = app.get_state(CONFIG)
    again = app.invoke(Command(resume={asked[0].id: "yes"}), waits)
    told = [app.get_state(place) for place in (waits, written.config)]
    ended = app.invoke(Command(resume="and yes"), waits)
    return again["__interrupt__"], [(state.values, state.next) for state in told], ended


def case_what_had_finished_at_an_old_checkpoint(env):
    ran = []
    app = asks_beside_another(env, ran)
    asked = app.invoke({"items": []}, CONFIG, durability="sync")["__interrupt__"]
    waits = app.get_state(CONFIG).config
    app.update_state(CONFIG, {"items": ["by hand"]}, as_node="ask")
    app.invoke(Command(resume={asked[0].id: "yes"}), waits)
    return ran


def case_what_had_finished_at_a_fork_that_is_named(env):
    ran = []
    app = asks_beside_another(env, ran)
    app.invoke({"items": []}, CONFIG, durability="sync")
    before = list(app.get_state_history(CONFIG))[-1].config
    fork = app.update_state(before, {"items": ["by hand"]}, as_node=START)
    app.invoke(None, fork)
    app.invoke(None, fork)
    return ran


def case_two_writes_beside_a_question_of_a_graph_inside(env):
    class Word(TypedDict, total=False):
        word: str

    inner = StateGraph(Word)
    inner.add_node("a", lambda state: {"word": "a"})
    inner.add_node("b", lambda state: {"word": "b"})
    inner.add_node("ask", lambda state: interrupt("?"))
    for name in ("a", "b", "ask"):
        inner.add_edge(START, name)
    builder = StateGraph(Word).add_node("inner", inner.compile()).add_edge(START, "inner")
    app = builder.compile(checkpointer=env.saver())
    return env.error(lambda: "__interrupt__" in app.invoke({"word": "in"}, CONFIG))


async def case_a_sync_node_with_an_async_path_that_asks_the_same_twice(env):
    async def path(state):
        return END

    builder = StateGraph(State)
    builder.add_node("ask", lambda state: {"items": [interrupt("?"), interrupt("?")]})
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", path)
    async with env.asaver() as saver:
        app = builder.compile(checkpointer=saver)
        given = ({"items": ["in"]}, Command(resume="a"), Command(resume="b"))
        return [await app.ainvoke(each, CONFIG) for each in given]


def case_an_update_that_fails(env):
    """Both nodes write a key that takes one write; the second is next, and shall still be."""

    class Word(State):
        word: str

    builder = StateGraph(Word)
    for name in ("a", "b"):
        builder.add_node(name, lambda state: {"items": ["ran"]})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    app = builder.compile(checkpointer=env.saver())
    app.update_state(CONFIG, {"items": ["in"]}, as_node="a")
    both = [StateUpdate({"word": name}, name) for name in ("a", "b")]
    failed = env.error(lambda: app.bulk_update_state(CONFIG, [both]))
    return failed, app.get_state(CONFIG).next, app.invoke(None, CONFIG)


def case_a_question_of_a_graph_that_was_left(env):
    inner = StateGraph(State)
    inner.add_node("asks", lambda state: {"items": [interrupt("?")]})
    inner.add_node(
        "leaves", lambda state: Command(graph=Command.PARENT, update={"items": ["left"]})
    )
    inner.add_edge(START, "asks")
    inner.add_edge(START, "leaves")
    builder = StateGraph(State)
    builder.add_node("inner", inner.compile())
    builder.add_node("waits", lambda state: {"items": [interrupt("!")]})
    builder.add_edge(START, "inner")
    builder.add_edge(START, "waits")
    app = builder.compile(checkpointer=env.saver())
    stream = app.stream({"items": []}, CONFIG, stream_mode="tasks", subgraphs=True)
    told = {one["value"] for _, part in stream for one in part.get("interrupts", ())}
    (left,) = (t for t in app.get_state(CONFIG, subgraphs=True).tasks if t.name == "inner")
    asked = [one.value for one in left.state.interrupts]
    return sorted(told), asked, app.invoke(Command(resume="yes"), CONFIG)
