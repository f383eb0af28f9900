"""A saver's own port, used directly; and that what is stored is what the programs meant."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver, PersistentDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class Loose(TypedDict, total=False):
    items: list
    data: dict
    any: Any


def add(value):
    return lambda state: {"items": [value]}


def graph_of(saver, *nodes, schema=State, **options):
    builder = StateGraph(schema)
    builder.add_sequence(list(nodes))
    builder.add_edge(START, nodes[0][0])
    return builder.compile(checkpointer=saver, **options)


# --- the port -------------------------------------------------------------------------------


def port_config(thread="1", ns="", checkpoint_id=None):
    found = {"thread_id": thread, "checkpoint_ns": ns}
    return {
        "configurable": {**found, **({"checkpoint_id": checkpoint_id} if checkpoint_id else {})}
    }


class Own(BaseCheckpointSaver):
    """A saver of a program's own, which keeps the last checkpoint."""

    def put(self, config, checkpoint, metadata, new_versions):
        self.last = checkpoint
        return port_config(checkpoint_id=checkpoint["id"])

    def put_writes(self, config, writes, task_id, task_path=""):
        pass

    def get_tuple(self, config):
        return None


def case_values_in_a_saver_of_a_third_party(env):
    saver = Own()
    graph_of(saver, ("a", add("a"))).invoke({"items": []}, CONFIG)
    return sorted(saver.last["channel_values"])


def numbered(number):
    return f"1f000000-0000-6000-8000-{number:012d}"


def checkpoint(number, **values):
    found = empty_checkpoint()
    found["id"] = numbered(number)
    found["channel_values"] = values
    found["channel_versions"] = dict.fromkeys(values, f"{number:032}.5")
    return found


def store(saver, number, config, values, **metadata):
    """Puts one checkpoint, every channel new; returns the config of it."""
    made = checkpoint(number, **values)
    metadata = {"source": "loop", "step": number, "parents": {}, **metadata}
    return saver.put(config, made, metadata, made["channel_versions"])


def seen(saved):
    """What two implementations must agree on about a tuple."""
    return saved and (
        saved.config,
        saved.checkpoint["id"],
        saved.checkpoint["channel_values"],
        saved.metadata,
        saved.parent_config,
        saved.pending_writes,
    )


def case_port_put_and_get(env):
    saver = env.saver()
    first = store(saver, 1, port_config(), {"x": 1, "l": [1, "two", None]}, k="v")
    second = store(saver, 2, first, {"x": 2, "l": [1, "two", None, 3.5]})
    return (
        first,
        second,
        seen(saver.get_tuple(CONFIG)),
        seen(saver.get_tuple(first)),
        saver.get(first)["channel_values"],
        saver.get_tuple(port_config("other")),
        saver.get(port_config("other")),
        saver.get_tuple(port_config(checkpoint_id=numbered(99))),
    )


async def case_port_put_and_get_async(env):
    async with env.asaver() as saver:
        made = checkpoint(1, x=1)
        first = await saver.aput(
            port_config(), made, {"source": "input", "step": -1}, made["channel_versions"]
        )
        await saver.aput_writes(first, [("x", 2)], "task")
        listed = [seen(t) async for t in saver.alist(CONFIG)]
        return seen(await saver.aget_tuple(CONFIG)), listed, (await saver.aget(first))["id"]


def case_port_writes(env):
    saver = env.saver()
    first = store(saver, 1, port_config(), {"x": 1})
    saver.put_writes(first, [("x", 2), ("l", [3]), ("x", None)], "task1")
    saver.put_writes(first, [("y", "other")], "task2", "path")
    return seen(saver.get_tuple(first))


def case_port_first_write_of_a_task_wins(env):
    saver = env.saver()
    first = store(saver, 1, port_config(), {"x": 1})
    saver.put_writes(first, [("x", 2)], "task1")
    saver.put_writes(first, [("x", 9)], "task1")
    return seen(saver.get_tuple(first))


def case_port_last_error_of_a_task_wins(env):
    saver = env.saver()
    first = store(saver, 1, port_config(), {"x": 1})
    saver.put_writes(first, [("__error__", "one")], "task1")
    saver.put_writes(first, [("__error__", "two")], "task1")
    return seen(saver.get_tuple(first))


def case_port_put_again_replaces(env):
    saver = env.saver()
    store(saver, 1, port_config(), {"x": 1})
    store(saver, 1, port_config(), {"x": 1}, again=True)
    return [seen(t) for t in saver.list(CONFIG)]


def case_port_list(env):
    saver = env.saver()
    config = port_config()
    for number in range(1, 6):
        config = store(saver, number, config, {"x": number}, parity=number % 2, tag=f"t{number}")
    store(saver, 9, port_config("other"), {"x": 9})
    third = port_config(checkpoint_id=numbered(3))

    def steps(*args, **options):
        return [t.metadata["step"] for t in saver.list(*args, **options)]

    return (
        steps(CONFIG),
        steps(CONFIG, limit=2),
        steps(CONFIG, before=third),
        steps(CONFIG, before=third, limit=1),
        steps(CONFIG, filter={"parity": 1}),
        steps(CONFIG, filter={"parity": 1, "tag": "t5"}),
        steps(CONFIG, filter={"parity": 7}),
        steps(CONFIG, filter={"missing": 1}),
        steps(CONFIG, filter={"parity": 0}, limit=1),
        steps(third),
        steps(port_config("nobody")),
        sorted(steps(None)),
    )


def case_port_filter_values(env):
    saver = env.saver()
    store(saver, 1, port_config(), {}, flag=True, text="it's", none=None, ratio=1.5)
    filters = [{"flag": True}, {"text": "it's"}, {"none": None}, {"ratio": 1.5}, {"text": "its"}]
    return [len(list(saver.list(CONFIG, filter=f))) for f in filters]


def case_port_filters_of_another_type(env):
    saver = env.saver()
    store(saver, 1, port_config(), {}, flag=True, count=0, ratio=1.0)
    filters = [{"flag": 1}, {"count": False}, {"ratio": 1}, {"missing": None}]
    return [len(list(saver.list(CONFIG, filter=f))) for f in filters]


def case_port_filters_by_path(env):
    with SqliteSaver.from_conn_string(":memory:") as saver:
        inner = {"access-level": "nested", "123abc": 1, "e": {"f": None, "g": True}}
        store(saver, 1, port_config(), {}, user=inner, **{"access-level": "public", "9": 2})
        filters = [
            *({"access-level": "public"}, {"user.access-level": "nested"}, {"user.123abc": 1}),
            *({"user.123abc": 2}, {"user.e.g": True}, {"user.e.g.h": 1}, {"access-level.x": 1}),
            *({"9": 2}, {"user.access-level": "nested", "step": 1}, {"user.access-level": "other"}),
        ]
        return [len(list(saver.list(CONFIG, filter=f))) for f in filters]


def case_port_filters_by_path_elsewhere(env):
    saver = InMemorySaver()
    store(saver, 1, port_config(), {}, user={"level": 1}, **{"user.name": "x"})
    filters = [{"user.level": 1}, {"user.name": "x"}, {"user.none": 1}]
    return [len(list(saver.list(CONFIG, filter=f))) for f in filters]


def case_port_filters_by_odd_keys(env):
    with SqliteSaver.from_conn_string(":memory:") as saver:
        store(saver, 1, port_config(), {}, **{"it's": 1})
        keys = ["it's", "k') OR '1'='1' OR json_extract(metadata, '$.", "a b"]
        return [
            env.error(lambda key=key: len(list(saver.list(CONFIG, filter={key: 1}))))
            for key in keys
        ]


def case_port_what_became_of_a_task_comes_first(env):
    saver = env.saver()
    first = store(saver, 1, port_config(), {"x": 1})
    saver.put_writes(first, [("x", 2), ("y", 3)], "task1")
    for channel in ("__error__", "__interrupt__", "__resume__", "__error__"):
        saver.put_writes(first, [(channel, channel)], "task1")
    return seen(saver.get_tuple(first))


def case_b48_filter_resists_injection(env):
    saver = env.saver()
    store(saver, 1, port_config(), {}, k="v")
    found = []
    for key, value in [("k", "v' OR 1=1 --"), ("nope') OR 1=1 --", "x"), ('k"; --', "v")]:
        try:
            found.append(len(list(saver.list(CONFIG, filter={key: value}))))
        except ValueError:
            found.append(0)
    return found


def case_port_namespaces(env):
    saver = env.saver()
    store(saver, 1, port_config(), {"x": "root"})
    store(saver, 2, port_config(ns="child:1"), {"x": "child"})
    return (
        seen(saver.get_tuple(port_config())),
        seen(saver.get_tuple(port_config(ns="child:1"))),
        saver.get_tuple(port_config(ns="child:2")),
        [t.metadata["step"] for t in saver.list(port_config(ns="child:1"))],
        [t.metadata["step"] for t in saver.list(port_config())],
    )


def case_port_delete_thread(env):
    saver = env.saver()
    first = store(saver, 1, port_config(), {"x": 1})
    saver.put_writes(first, [("x", 2)], "task1")
    store(saver, 2, port_config(ns="child:1"), {"x": "child"})
    store(saver, 3, port_config("2"), {"x": "kept"})
    saver.delete_thread("1")
    left = [saver.get_tuple(c) for c in (CONFIG, first, port_config(ns="child:1"))]
    return left, seen(saver.get_tuple(port_config("2"))), len(list(saver.list(None)))


def case_port_values_of_many_kinds(env):
    saver = env.saver()
    values = {
        "text": "å ∑ \U0001f600 \x00",
        "bytes": b"\x00\xff",
        "big": 2**62,
        "negative": -1,
        "float": 1e-9,
        "bools": [True, False, None],
        "nested": {"a": [{"b": [1, 2]}], "empty": {}},
        "set": {1, 2},
    }
    store(saver, 1, port_config(), values)
    return seen(env.saver().get_tuple(CONFIG))


def case_port_messages(env):
    saver = env.saver()
    messages = [HumanMessage("hi", id="1"), AIMessage("yo", id="2", additional_kwargs={"k": [1]})]
    store(saver, 1, port_config(), {"messages": messages})
    return seen(env.saver().get_tuple(CONFIG))


def case_b47_mutating_what_was_put(env):
    saver = env.saver()
    values = [1, {"k": "v"}]
    store(saver, 1, port_config(), {"l": values})
    values[1]["k"] = "changed"
    values.append(2)
    return seen(saver.get_tuple(CONFIG))


def case_b47_mutating_what_was_read(env):
    saver = env.saver()
    first = store(saver, 1, port_config(), {"l": [1]})
    saver.put_writes(first, [("l", [2])], "task")
    read = saver.get_tuple(CONFIG)
    read.checkpoint["channel_values"]["l"].append(99)
    read.metadata["step"] = 77
    read.pending_writes[0][2].append(98)
    listed = next(iter(saver.list(CONFIG)))
    listed.checkpoint["channel_values"]["l"].append(97)
    return seen(saver.get_tuple(CONFIG))


def case_versions_grow(env):
    saver = env.saver()
    versions = [saver.get_next_version(None, None)]
    for _ in range(12):
        versions.append(saver.get_next_version(versions[-1], None))
    return versions == sorted(versions), len(set(versions))


# --- what a graph leaves in a saver ---------------------------------------------------------


def case_tuples_of_a_run(env):
    saver = env.saver()
    graph_of(saver, ("a", add("a")), ("b", add("b"))).invoke({"items": ["i"], "x": 1}, CONFIG)
    return [
        (
            {k: v for k, v in t.checkpoint["channel_values"].items() if k in ("items", "x")},
            t.metadata,
            t.parent_config,
            [
                (channel, value)
                for _, channel, value in t.pending_writes
                if channel in ("items", "x")
            ],
        )
        for t in saver.list(CONFIG)
    ]


def case_interrupt_is_a_pending_write(env):
    saver = env.saver()
    graph = graph_of(saver, ("ask", lambda s: {"items": [interrupt("q")]}))
    graph.invoke({"items": []}, CONFIG)
    return [channel for _, channel, _ in saver.get_tuple(CONFIG).pending_writes]


def case_error_is_a_pending_write(env):
    def boom(state):
        raise ValueError("boom")

    saver = env.saver()
    graph = graph_of(saver, ("boom", boom))
    error = env.error(lambda: graph.invoke({"items": []}, CONFIG))
    writes = saver.get_tuple(CONFIG).pending_writes
    return error, [channel for _, channel, _ in writes], [w[0] for w in writes]


def case_delete_then_run(env):
    saver = env.saver()
    graph = graph_of(saver, ("a", add("a")))
    graph.invoke({"items": ["old"]}, CONFIG)
    saver.delete_thread("1")
    return graph.invoke({"items": ["new"]}, CONFIG), len(list(saver.list(CONFIG)))


# --- programs that mutate their state (design, section 4) -------------------------------------


# The peer's default (async) writes a checkpoint while the next node may be mutating its values.
SYNC = {"durability": "sync"}


def reloaded(env, make, config=CONFIG):
    """Every version of the state, read back by a fresh graph over a fresh saver."""
    return [(s.metadata["step"], s.values) for s in make(env.saver()).get_state_history(config)]


def case_append_in_place_and_return_the_state(env):
    def node(state):
        state["items"].append("x")
        return state

    def make(saver):
        return graph_of(saver, ("one", node), ("two", node), schema=Loose)

    result = make(env.saver()).invoke({"items": ["i"]}, CONFIG, **SYNC)
    return result, reloaded(env, make)


def case_append_in_place_across_turns(env):
    def node(state):
        state["items"].append(len(state["items"]))
        return state

    def make(saver):
        return graph_of(saver, ("one", node), schema=Loose)

    make(env.saver()).invoke({"items": []}, CONFIG, **SYNC)
    make(env.saver()).invoke({"data": {"turn": 2}}, CONFIG, **SYNC)
    return make(env.saver()).invoke({"data": {"turn": 3}}, CONFIG, **SYNC), reloaded(env, make)


def case_append_in_place_with_a_reducer(env):
    def node(state):
        state["items"].append("x")
        return state

    def make(saver):
        return graph_of(saver, ("one", node))

    return make(env.saver()).invoke({"items": ["i"]}, CONFIG, **SYNC), reloaded(env, make)


def case_change_a_nested_value_in_place(env):
    def node(state):
        state["data"]["deep"]["n"] += 1
        return {"data": state["data"]}

    def make(saver):
        return graph_of(saver, ("one", node), ("two", node), schema=Loose)

    result = make(env.saver()).invoke({"data": {"deep": {"n": 0}, "same": [1]}}, CONFIG, **SYNC)
    return result, reloaded(env, make)


def case_change_in_place_and_return_nothing(env):
    def node(state):
        state["items"].append("lost or kept")
        return {"any": 1}

    def make(saver):
        return graph_of(saver, ("one", node), ("two", lambda s: {"any": 2}), schema=Loose)

    make(env.saver()).invoke({"items": ["i"]}, CONFIG, **SYNC)
    return make(env.saver()).get_state(CONFIG).values["any"]


def case_change_in_place_then_ask_or_fail(env):
    def asks(state):
        state["items"].append("half")
        return {"x": interrupt("q")}

    def fails(state):
        state["items"].append("half")
        raise LookupError("half way")

    stored = []
    for durability in ("sync", "exit"):
        for name, node in (("asks", asks), ("fails", fails)):
            config = {"configurable": {"thread_id": f"{durability} {name}"}}
            graph = graph_of(env.saver(), ("one", add("a")), ("two", node))
            env.error(lambda: graph.invoke({"items": ["i"]}, config, durability=durability))
            stored.append((graph.get_state(config).values, graph.get_state(config).next))
    return stored


def case_delete_and_reorder_in_place(env):
    def node(state):
        state["items"].pop(0)
        state["items"].reverse()
        state["items"][0] = "first"
        return {"items": state["items"]}

    def make(saver):
        return graph_of(saver, ("one", node), schema=Loose)

    result = make(env.saver()).invoke({"items": ["a", "b", "c", "d"]}, CONFIG, **SYNC)
    return result, reloaded(env, make)


def talk(env, *nodes):
    """A conversation of two messages, then the nodes; every version reloaded."""

    def make(saver):
        return graph_of(saver, *nodes, schema=MessagesState)

    first = [HumanMessage("hi", id="h"), AIMessage("draft", id="a")]
    result = make(env.saver()).invoke({"messages": first}, CONFIG, **SYNC)
    return result, reloaded(env, make)


def case_edited_message_under_the_same_id(env):
    def node(state):
        message = state["messages"][1]
        message.content = "edited"
        return {"messages": [message]}

    return talk(env, ("edit", node))


def case_replaced_message_under_the_same_id(env):
    return talk(env, ("edit", lambda s: {"messages": [AIMessage("replaced", id="a")]}))


def case_edited_message_while_another_is_returned(env):
    def node(state):
        state["messages"][0].content = "changed quietly"
        return {"messages": [AIMessage("new", id="n")]}

    return talk(env, ("quiet", node), ("next", lambda s: {"messages": [AIMessage("x", id="x")]}))


def case_edited_metadata_of_a_message(env):
    def node(state):
        state["messages"][1].additional_kwargs["note"] = {"seen": True}
        return {"messages": [AIMessage("new", id="n")]}

    return talk(env, ("note", node))


def case_removed_message(env):
    return talk(env, ("remove", lambda s: {"messages": [RemoveMessage(id="h")]}))


def case_older_checkpoints_do_not_see_appends(env):
    def node(state):
        state["items"].append("x")
        return {"items": state["items"]}

    graph = graph_of(env.saver(), ("one", node), ("two", node), ("three", node), schema=Loose)
    graph.invoke({"items": []}, CONFIG, **SYNC)
    # Not the results of tasks: even in sync mode the peer writes them while the next node appends.
    return [(s.metadata["step"], s.values) for s in graph.get_state_history(CONFIG)]


def case_snapshot_may_be_mutated(env):
    graph = graph_of(env.saver(), ("a", add("a")))
    graph.invoke({"items": ["i"]}, CONFIG, **SYNC)
    graph.get_state(CONFIG).values["items"].append("by the caller")
    next(graph.get_state_history(CONFIG)).values["items"].append("by the caller")
    return graph.get_state(CONFIG).values, graph.invoke({"items": ["2"]}, CONFIG, **SYNC)


def case_result_may_be_mutated(env):
    graph = graph_of(env.saver(), ("a", add("a")))
    result = graph.invoke({"items": ["i"]}, CONFIG, **SYNC)
    result["items"].append("by the caller")
    return graph.get_state(CONFIG).values, graph.invoke({"items": ["2"]}, CONFIG, **SYNC)


def case_input_may_be_mutated(env):
    graph = graph_of(env.saver(), ("a", add("a")))
    given = {"items": ["i"]}
    graph.invoke(given, CONFIG, **SYNC)
    given["items"].append("by the caller")
    return graph.get_state(CONFIG).values, [s.values for s in graph.get_state_history(CONFIG)]


def case_question_may_be_mutated(env):
    question = {"list": [1]}
    graph = graph_of(env.saver(), ("ask", lambda s: {"items": [interrupt(question)]}))
    graph.invoke({"items": []}, CONFIG, **SYNC)
    question["list"].append(2)
    return graph.get_state(CONFIG).interrupts, graph.invoke(Command(resume=[1]), CONFIG, **SYNC)


def case_tuples_in_a_state(env):
    def make(saver):
        return graph_of(saver, ("keep", lambda s: {"any": (1, [(2,)])}), schema=Loose)

    result = make(env.saver()).invoke({"items": []}, CONFIG, **SYNC)
    return result, make(env.saver()).get_state(CONFIG).values


@dataclass
class Profile:
    name: str = "?"
    tags: list = field(default_factory=list)


def case_plain_values_of_many_kinds_in_a_state(env):
    values = {"s": {1}, "b": b"x", "n": None, "f": 1.25, "nested": [{"k": [[]]}]}

    def make(saver):
        return graph_of(saver, ("keep", lambda s: {"any": values}), schema=Loose)

    make(env.saver()).invoke({"items": []}, CONFIG, **SYNC)
    return make(env.saver()).get_state(CONFIG).values


class WithProfile(TypedDict, total=False):
    profile: Profile


def case_dataclass_in_a_state(env):
    def make(saver):
        def node(state):
            return {"profile": Profile("ann", [*state["profile"].tags, "new"])}

        return graph_of(saver, ("one", node), ("two", node), schema=WithProfile)

    make(env.saver()).invoke({"profile": Profile("bob", ["old"])}, CONFIG, **SYNC)
    return reloaded(env, make)


class Label(TypedDict, total=False):
    text: str
    card: "Card"


@dataclass
class Card:
    number: int


def declared(checkpoint):
    """The values of a checkpoint without what each side notes for itself."""
    values = checkpoint["channel_values"]
    return {key: value for key, value in values.items() if key in ("profile", "card")}


def case_a_saver_is_asked_for_what_its_graph_stored(env):
    saver = env.saver()
    node = ("a", lambda state: {"profile": Profile("ann")})
    graph_of(saver, node, schema=WithProfile).invoke({"profile": Profile("bob")}, CONFIG, **SYNC)
    listed = [*saver.list(CONFIG)]
    found = [saver.get(CONFIG), saver.get_tuple(CONFIG).checkpoint]
    written = [v for each in listed for _, key, v in each.pending_writes if key == "profile"]
    return [declared(each) for each in (*found, *(each.checkpoint for each in listed))], written


def case_a_saver_is_asked_for_what_several_graphs_stored(env):
    saver, other = env.saver(), {"configurable": {"thread_id": "2"}}
    write = ("a", lambda state: {"card": Card(7)})
    graph_of(saver, write, schema=Label).invoke({"text": "x"}, other, **SYNC)
    node = ("a", lambda state: {"profile": Profile("ann")})
    graph_of(saver, node, schema=WithProfile).invoke({"profile": Profile("bob")}, CONFIG, **SYNC)
    found = [declared(each.checkpoint) for each in saver.list(None)]
    read, copied = saver.get_tuple(other), port_config("3")
    saver.put(copied, read.checkpoint, read.metadata, read.checkpoint["channel_versions"])
    return sorted(map(str, found)), declared(saver.get(copied))


async def case_a_saver_is_asked_for_what_its_graph_stored_async(env):
    async with env.asaver() as saver:
        node = ("a", lambda state: {"profile": Profile("ann")})
        graph = graph_of(saver, node, schema=WithProfile)
        await graph.ainvoke({"profile": Profile("bob")}, CONFIG, **SYNC)
        found = await saver.aget_tuple(CONFIG)
        listed = [each async for each in saver.alist(CONFIG)]
        return [declared(each.checkpoint) for each in (found, *listed)]


def case_dataclass_mutated_in_place(env):
    def make(saver):
        def node(state):
            state["profile"].tags.append("x")
            return {"profile": state["profile"]}

        return graph_of(saver, ("one", node), ("two", node), schema=WithProfile)

    make(env.saver()).invoke({"profile": Profile("bob", [])}, CONFIG, **SYNC)
    return reloaded(env, make)


def case_long_conversation_reloaded(env):
    def reply(state):
        return {
            "messages": [AIMessage(f"re {len(state['messages'])}", id=f"a{len(state['messages'])}")]
        }

    def make(saver):
        return graph_of(saver, ("reply", reply), schema=MessagesState)

    for turn in range(8):
        make(env.saver()).invoke(
            {"messages": [HumanMessage(f"{turn}", id=f"h{turn}")]}, CONFIG, **SYNC
        )
    history = list(make(env.saver()).get_state_history(CONFIG))
    return [[m.content for m in s.values.get("messages", [])] for s in history]


def written_by(saver):
    """How often a run calls the saver's `put`, and what is stored."""
    graph = graph_of(saver, ("a", lambda state: {"messages": ["hi"]}), schema=MessagesState)
    graph.invoke({"messages": []}, CONFIG, **SYNC)
    return saver.puts > 0, len(graph.get_state(CONFIG).values["messages"])


def case_savers_that_are_derived(env):
    class Counting(InMemorySaver):
        puts = 0

        def put(self, *args):
            self.puts += 1
            return super().put(*args)

    return written_by(Counting())


def case_savers_that_change_what_is_stored(env):
    class Trims(InMemorySaver):
        def put(self, config, checkpoint, metadata, new_versions):
            values = dict(checkpoint["channel_values"])
            if "messages" in values:
                values["messages"] = values["messages"][-2:]
            return super().put(
                config, {**checkpoint, "channel_values": values}, metadata, new_versions
            )

    def reply(state):
        return {"messages": [AIMessage(f"heard {len(state['messages'])}")]}

    graph = graph_of(Trims(), ("reply", reply), schema=MessagesState)
    for turn in range(3):
        graph.invoke({"messages": [HumanMessage(f"turn {turn}")]}, CONFIG, **SYNC)
    history = [[m.content for m in s.values["messages"]] for s in graph.get_state_history(CONFIG)]
    return [m.content for m in graph.get_state(CONFIG).values["messages"]], history


def case_savers_that_refuse(env):
    class Refuses(InMemorySaver):
        left = 3

        def put(self, *args):
            if not self.left:
                raise OSError("no room")
            self.left -= 1
            return super().put(*args)

    saver = Refuses()
    graph = graph_of(saver, ("a", lambda state: {"messages": ["hi"]}), schema=MessagesState)
    told = []
    for text in ("one", "two", "three"):
        try:
            graph.invoke({"messages": [text]}, CONFIG, **SYNC)
        except OSError as error:
            told.append(str(error))
            saver.left = 100
    return told, [m.content for m in graph.get_state(CONFIG).values["messages"]]


async def case_savers_whose_sync_methods_are_overridden(env):
    class Reads(InMemorySaver):
        reads = 0

        def get_tuple(self, config):
            self.reads += 1
            return super().get_tuple(config)

    saver = Reads()
    graph = graph_of(saver, ("a", lambda state: {"messages": ["hi"]}), schema=MessagesState)
    await graph.ainvoke({"messages": []}, CONFIG, **SYNC)
    before, saver.reads = saver.reads > 0, 0
    state = await graph.aget_state(CONFIG)
    return before, saver.reads > 0, len(state.values["messages"])


def case_savers_that_hold_another(env):
    class Counting(BaseCheckpointSaver):
        puts = 0

        def __init__(self, held):
            super().__init__(serde=held.serde)
            self.held = held

        def put(self, *args):
            self.puts += 1
            return self.held.put(*args)

        def put_writes(self, *args):
            return self.held.put_writes(*args)

        def get_tuple(self, config):
            return self.held.get_tuple(config)

        def list(self, config, **kwargs):
            return self.held.list(config, **kwargs)

        def get_next_version(self, current, channel):
            return self.held.get_next_version(current, channel)

    return written_by(Counting(InMemorySaver()))


def case_savers_of_ones_own_that_change_what_is_stored(env):
    class Trims(BaseCheckpointSaver):
        def __init__(self, held):
            super().__init__(serde=held.serde)
            self.held = held

        def put(self, config, checkpoint, metadata, new_versions):
            values = dict(checkpoint["channel_values"])
            if "messages" in values:
                values["messages"] = values["messages"][-2:]
            return self.held.put(
                config, {**checkpoint, "channel_values": values}, metadata, new_versions
            )

        def put_writes(self, *args):
            return self.held.put_writes(*args)

        def get_tuple(self, config):
            return self.held.get_tuple(config)

        def list(self, config, **kwargs):
            return self.held.list(config, **kwargs)

        def get_next_version(self, current, channel):
            return self.held.get_next_version(current, channel)

    def reply(state):
        return {"messages": [AIMessage(f"heard {len(state['messages'])}")]}

    saver = Trims(InMemorySaver())
    graph = graph_of(saver, ("reply", reply), schema=MessagesState)
    for turn in range(3):
        graph.invoke({"messages": [HumanMessage(f"turn {turn}")]}, CONFIG, **SYNC)
    stored = saver.get_tuple(CONFIG).checkpoint["channel_values"]["messages"]
    return (
        [m.content for m in stored],
        [m.content for m in graph.get_state(CONFIG).values["messages"]],
    )


def case_a_factory_of_the_saver_in_memory(env):
    made = []

    def factory(*args):
        made.append(PersistentDict(*args, filename=str(env.tmp_path / f"{len(made)}")))
        return made[-1]

    with InMemorySaver(factory=factory) as saver:
        return graph_of(saver, ("a", add("a"))).invoke({"items": []}, CONFIG)


def case_dicts_in_files(env):
    file = str(env.tmp_path / "kept")
    with PersistentDict(list, filename=file) as kept:
        kept["a"].append(1)
        kept["t", 1] = {"x": ["y"]}
        kept.sync()
        within = dict(kept)
    again = PersistentDict(list, filename=file)
    before = dict(again)
    again.load()
    new = PersistentDict(list, filename=file)
    new.flag = "n"
    new.load()
    nowhere = PersistentDict(filename=str(env.tmp_path / "nowhere"))
    return within, before, dict(again), dict(new), env.error(nowhere.load)


def case_a_dict_in_a_file_is_closed_twice(env):
    file = str(env.tmp_path / "kept")
    with PersistentDict(list, filename=file) as kept:
        kept["a"].append(1)
        kept.close()
        within = dict(kept)
    again = PersistentDict(list, filename=file)
    again.load()
    return within, dict(again)


async def case_sqlite_savers_called_the_other_way(env):
    with SqliteSaver.from_conn_string(":memory:") as saver:
        found = [await env.aerror(saver.aget_tuple(CONFIG)), await env.aerror(saver.aget(CONFIG))]
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        return [*found, env.error(lambda: saver.get_tuple(CONFIG))]


def case_an_empty_path_names_a_database(env):
    def kept():
        with SqliteSaver.from_conn_string("") as saver:
            store(saver, 1, port_config(), {"x": 1})
            return len(list(saver.list(CONFIG)))

    return env.error(kept)
