"""What streams tell of checkpoints: states in the form of their class, and the parents they name;
and what the snapshot of a thread without any checkpoint repeats."""

from dataclasses import dataclass
from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    n: int


class Model(BaseModel):
    n: int


@dataclass
class Data:
    n: int = 0


def more(state):
    return {"n": (state["n"] if isinstance(state, dict) else state.n) + 1}


def line(schema, env, **kwargs):
    builder = StateGraph(schema, **kwargs).add_node("a", more).add_node("b", more)
    return builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=env.saver())


def states(graph, mode, version):
    told = []
    for part in graph.stream({"n": 1}, CONFIG, stream_mode=mode, version=version):
        payload = part["data"] if version == "v2" else part
        payload = payload.get("payload", payload)
        if "values" in payload:
            told.append((type(payload["values"]).__name__, payload["values"]))
    return told


def case_states_of_a_pydantic_model(env):
    return [states(line(Model, env), m, v) for m in ("checkpoints", "debug") for v in ("v1", "v2")]


def case_states_of_a_dataclass(env):
    return [states(line(Data, env), m, v) for m in ("checkpoints", "debug") for v in ("v1", "v2")]


def case_states_beside_an_output_of_another_class(env):
    graph = line(State, env, output_schema=Model)
    other = line(Model, env, output_schema=State)
    return [states(each, "checkpoints", "v2") for each in (graph, other)]


def parents(graph, given, known, durability):
    """Of each checkpoint that is told: its number among `known`, and that of its parent."""

    def number(config):
        if config is None:
            return None
        return known.setdefault(config["configurable"]["checkpoint_id"], len(known))

    parts = graph.stream(given, CONFIG, stream_mode="checkpoints", durability=durability)
    told = [(number(part["config"]), number(part["parent_config"])) for part in parts]
    stored = graph.get_state_history(CONFIG)
    return told, [(number(each.config), number(each.parent_config)) for each in stored]


def case_ids_of_threads_that_are_no_text(env):
    told, seen = [], []

    def notes(state, config):
        seen.append(config["configurable"]["thread_id"])
        return {"n": 1}

    inside = StateGraph(State).add_node("deep", notes).add_edge(START, "deep").compile()
    for number, mode in enumerate(("checkpoints", "debug"), 1):
        builder = StateGraph(State).add_node("a", inside).add_edge(START, "a")
        graph = builder.compile(checkpointer=env.saver())
        config = {"configurable": {"thread_id": number}}
        for _, part in graph.stream({"n": 1}, config, stream_mode=mode, subgraphs=True):
            part = part.get("payload", part)
            of_tasks = [task["state"] for task in part.get("tasks", ())]
            told.append((part.get("config"), part.get("parent_config"), of_tasks))
    return told, seen


def case_parents_where_the_end_alone_is_stored(env):
    return parents(line(State, env), {"n": 1}, {}, "exit")


def case_parents_where_each_step_is_stored(env):
    graph, known = line(State, env), {}
    return [parents(graph, {"n": n}, known, "sync") for n in (1, 5)]


def case_parents_of_a_second_run_where_the_end_alone_is_stored(env):
    graph, known = line(State, env), {}
    return [parents(graph, {"n": n}, known, "exit") for n in (1, 5)]


def case_parents_after_an_answer_where_the_end_alone_is_stored(env):
    builder = StateGraph(State).add_node("a", more).add_node("b", lambda s: {"n": interrupt("?")})
    graph = builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=env.saver())
    known = {}
    return [parents(graph, given, known, "exit") for given in ({"n": 1}, Command(resume=3))]


def case_the_config_of_an_empty_thread(env):
    graph = line(State, env)
    return [
        graph.get_state({**CONFIG, **more}).config
        for more in (
            {},
            {"max_concurrency": 3},
            {"recursion_limit": 7, "tags": ["x"], "metadata": {"q": 1}, "run_name": "r"},
            {"tags": [], "callbacks": None},
        )
    ] + [graph.with_config(tags=["g"]).get_state(CONFIG).config]


async def case_the_config_of_an_empty_thread_async(env):
    async with env.asaver() as saver:
        graph = StateGraph(State).add_node("a", more).add_edge(START, "a").compile(saver)
        return (await graph.aget_state({**CONFIG, "max_concurrency": 3})).config


class Two(TypedDict, total=False):
    n: int
    word: str


def case_results_of_tasks_with_some_output_keys(env):
    builder = StateGraph(Two)
    builder.add_node("asks", lambda state: {"n": interrupt("?")})
    builder.add_node("both", lambda state: {"n": 1, "word": "both"})
    app = builder.add_edge(START, "asks").add_edge(START, "both").compile(env.saver())
    app.invoke({"n": 0}, CONFIG)
    found = []
    for keys in (None, ["word"], "word"):
        for part in app.stream(None, CONFIG, stream_mode="checkpoints", output_keys=keys):
            found.append([(task["name"], task.get("result")) for task in part["tasks"]])
    return found
