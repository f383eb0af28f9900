"""DeltaChannel: a reducer over all updates of a super-step at once."""

from typing import Annotated, Optional

from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
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
