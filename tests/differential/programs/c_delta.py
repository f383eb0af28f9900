"""DeltaChannel: a reducer over all updates of a super-step at once."""

import operator
from typing import Annotated, Optional

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.channels import DeltaChannel, LastValue
from langgraph.graph import START, StateGraph
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Overwrite
from typing_extensions import TypedDict

CONFIG = {"configurable": {"thread_id": "1"}}


def joined(value, updates):
    return [*(value or []), *(item for update in updates for item in update)]


def united(value, updates):
    return {**value, **{key: item for update in updates for key, item in update.items()}}


class State(TypedDict, total=False):
    log: Annotated[list, DeltaChannel(joined, snapshot_frequency=2)]
    seen: int


def made(saver=None, first=lambda state: {"log": ["a"]}):
    builder = StateGraph(State)
    builder.add_node("a", first)
    builder.add_node("b", lambda state: {"log": ["b"], "seen": len(state["log"])})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    return builder.compile(saver)


def case_runs(env):
    return made().invoke({"log": ["x"]}), made().invoke({"seen": 1})


def case_one_call_per_step(env):
    calls = []

    def watched(value, updates):
        calls.append((list(value), [list(update) for update in updates]))
        return joined(value, updates)

    class Watched(TypedDict):
        log: Annotated[list, DeltaChannel(watched)]

    builder = StateGraph(Watched)
    for name in "zyx":
        builder.add_node(name, lambda state, name=name: {"log": [name]})
        builder.add_edge(START, name)
    return builder.compile().invoke({"log": []}), calls[-1]


def case_threads(env):
    app = made(env.saver())
    app.invoke({"log": ["x"]}, CONFIG)
    app.update_state(CONFIG, {"log": ["z"]})
    app.invoke({"log": ["y"]}, CONFIG)
    last = app.get_state(CONFIG).values
    return last, [(s.values["log"], s.next) for s in app.get_state_history(CONFIG)][:3]


def case_overwrite(env):
    return [
        made(first=lambda state: {"log": Overwrite(["q"])}).invoke({"log": ["x"]}),
        made(first=lambda state: {"log": {"__overwrite__": ["q"]}}).invoke({"log": ["x"]}),
    ]


def case_dicts(env):
    class Table(TypedDict):
        rows: Annotated[dict, DeltaChannel(united)]

    builder = StateGraph(Table)
    builder.add_node("n", lambda state: {"rows": {"n": len(state["rows"])}})
    builder.add_edge(START, "n")
    return builder.compile().invoke({"rows": {"x": 1}})


def case_channel_itself(env):
    channel = DeltaChannel(joined, list).from_checkpoint([0])
    steps = [
        channel.update([["a"], ["b"]]),
        list(channel.get()),
        channel.update([]),
        channel.update([["p"], Overwrite(["z"]), ["q"]]),
        list(channel.get()),
        channel.copy().get(),
        env.error(lambda: channel.update([Overwrite([1]), Overwrite([2])])),
    ]
    channel.replay_writes([("t", "log", ["a"]), ("t", "log", ["b"])])
    steps.append(list(channel.get()))
    channel.replay_writes(
        [("t", "log", ["c"]), ("t", "log", Overwrite(["d"])), ("t", "log", ["e"])]
    )
    steps.append(list(channel.get()))
    return steps


def case_making_one(env):
    return [
        env.error(lambda: DeltaChannel(joined, snapshot_frequency=0)),
        env.error(lambda: DeltaChannel(joined).get()),
        env.error(lambda: DeltaChannel(joined, list).get()),
        env.error(lambda: DeltaChannel(joined, Optional[list]).get()),  # noqa: UP045
        (DeltaChannel(joined).is_available(), DeltaChannel(joined).snapshot_frequency),
        DeltaChannel(joined) == DeltaChannel(joined),
        DeltaChannel(joined) == DeltaChannel(joined, snapshot_frequency=7),
        DeltaChannel(joined) == DeltaChannel(united),
    ]


def case_a_channel_without_a_type(env):
    channel = DeltaChannel(joined)
    found = [channel.ValueType, channel.UpdateType, channel.update([["a"]]), channel.get()]
    node = NodeBuilder().subscribe_only("go").do(lambda _: [2]).write_to("log")
    graph = Pregel(
        nodes={"n": node},
        channels={
            "log": DeltaChannel(lambda value, updates: sorted(sum(updates, value))),
            "go": LastValue(int),
        },
        input_channels=["log", "go"],
        output_channels=["log"],
        checkpointer=env.saver(),
    )
    results = [graph.invoke(given, CONFIG) for given in ({"go": 1}, {"log": [0], "go": 1})]
    return found, results, [s.values.get("log", []) for s in graph.get_state_history(CONFIG)]


def extended(value, updates):
    items = [update if isinstance(update, list) else [update] for update in updates]
    return [*(value or []), *(item for some in items for item in some)]


class Messages(TypedDict, total=False):
    log: Annotated[list, DeltaChannel(extended)]
    plain: Annotated[list, operator.add]


def identity(item):
    """What it is, and whether it has an id that was made for it."""
    id = item.get("id", "none") if isinstance(item, dict) else getattr(item, "id", "none")
    return type(item).__name__, id if not isinstance(id, str) or len(id) < 30 else "made"


def case_messages_have_ids(env):
    found = []
    for made in [
        lambda: [HumanMessage("a"), AIMessage("b", id="7"), 5, ToolMessage("c", tool_call_id="1")],
        lambda: HumanMessage("a"),
        lambda: HumanMessage("a", id=""),
        lambda: [{"role": "user", "content": "a"}, {"role": "admin", "content": "b"}],
        lambda: [{"type": "ai", "content": "a", "id": "3"}, {"content": "b"}],
        lambda: {"role": "user", "content": "a"},
        lambda: {"role": "user", "content": "a", "id": ""},
        lambda: {"type": "other", "content": "a"},
        lambda: ["text", [HumanMessage("a")]],
        lambda: [{"role": "user", "content": "a", "id": ""}],
        lambda: Overwrite((HumanMessage("a"),)),
        lambda: {"key": HumanMessage("a")},
        lambda: Overwrite([HumanMessage("a"), {"role": "user", "content": "b"}]),
        lambda: [AIMessageChunk("a"), RemoveMessage(id="9")],
    ]:
        builder = StateGraph(Messages).add_node("n", lambda state, made=made: {"log": made()})
        graph = builder.add_edge(START, "n").compile(checkpointer=env.saver())
        config = {"configurable": {"thread_id": str(len(found))}}
        result = graph.invoke({"log": [HumanMessage("in")]}, config)
        graph.update_state(config, {"log": [AIMessage("up")]}, as_node="n")
        values = graph.get_state(config).values
        ids = [getattr(item, "id", None) for item in result["log"]]
        kept = [getattr(item, "id", None) for item in values["log"][:-1]]
        found.append([[identity(item) for item in values["log"]], ids == kept])
    return found


def case_messages_of_two_channels(env):
    message = HumanMessage("a")
    builder = StateGraph(Messages)
    builder.add_node("n", lambda state: {"log": [message], "plain": [message]})
    result = builder.add_edge(START, "n").compile().invoke({"plain": [AIMessage("in")]})
    return [identity(item) for key in ("log", "plain") for item in result[key]]
