"""`Send`: map-reduce over an unknown number of tasks, from edges, from commands, nested."""

from dataclasses import dataclass
from operator import add
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send
from pydantic import BaseModel


class State(TypedDict, total=False):
    items: list
    log: Annotated[list, add]
    n: int


def mapped(worker, *, fan=None, schema=State, **options):
    """START fans out to `worker`, whose tasks meet in `join`."""
    graph = StateGraph(schema)
    graph.add_node("worker", worker, **options)
    graph.add_node("join", lambda s: {"log": [("join", len(s["log"]))]})
    graph.add_conditional_edges(START, fan or (lambda s: [Send("worker", i) for i in s["items"]]))
    graph.add_edge("worker", "join")
    return graph.compile()


def case_map_reduce(env):
    return mapped(lambda item: {"log": [item * 2]}).invoke({"items": [3, 1, 2]})


def case_map_over_many(env):
    return mapped(lambda item: {"log": [item]}).invoke({"items": list(range(40))})


def case_map_over_nothing(env):
    app = mapped(lambda item: {"log": [item]})
    return [app.invoke({"items": []}), list(app.stream({"items": []}))]


def case_single_send_not_in_a_list(env):
    return mapped(lambda x: {"log": [x]}, fan=lambda s: Send("worker", 7)).invoke({})


def case_send_argument_is_not_the_state(env):
    seen = []

    def worker(arg):
        seen.append(arg)
        return {"log": [1]}

    app = mapped(worker, fan=lambda s: [Send("worker", {"x": 1, "n": 5})])
    return [app.invoke({"n": 1}), seen]


def case_send_argument_may_be_anything(env):
    args = [None, 0, "text", [1], {"k": 1}, (1, 2)]
    app = mapped(lambda arg: {"log": [arg]}, fan=lambda s: [Send("worker", a) for a in args])
    return app.invoke({})


def case_send_updates_stream(env):
    parts = mapped(lambda item: {"log": [item]}).stream({"items": [1, 2]}, stream_mode="updates")
    return sorted(parts, key=str)


def case_send_to_different_nodes(env):
    graph = StateGraph(State)
    graph.add_node("b", lambda x: {"log": [("b", x)]})
    graph.add_node("a", lambda x: {"log": [("a", x)]})
    graph.add_conditional_edges(START, lambda s: [Send("b", 1), Send("a", 2), Send("b", 3)])
    return graph.compile().invoke({})


def case_send_with_dataclass_argument(env):
    @dataclass
    class Job:
        x: int
        y: str = "why"

    def worker(job: Job):
        return {"log": [(type(job).__name__, job.x, job.y)]}

    fan = lambda s: [Send("worker", Job(x=1)), Send("worker", Job(x=2, y="z"))]  # noqa: E731
    return mapped(worker, fan=fan, input_schema=Job).invoke({})


def case_send_dict_to_dataclass_schema(env):
    @dataclass
    class Job:
        x: int

    return env.error(
        lambda: mapped(
            lambda job: {"log": [type(job).__name__]},
            fan=lambda s: [Send("worker", {"x": 1})],
            input_schema=Job,
        ).invoke({})
    )


def case_send_with_pydantic_argument(env):
    class Job(BaseModel):
        x: int

    def worker(job: Job):
        return {"log": [(type(job).__name__, job.x)]}

    return mapped(worker, fan=lambda s: [Send("worker", Job(x=1))], input_schema=Job).invoke({})


def case_send_dict_to_pydantic_schema(env):
    class Job(BaseModel):
        x: int

    def app(arg):
        return mapped(
            lambda job: {"log": [(type(job).__name__, getattr(job, "x", None))]},
            fan=lambda s: [Send("worker", arg)],
            input_schema=Job,
        )

    return [env.error(lambda a=a: app(a).invoke({})) for a in ({"x": "3"}, {"x": "bad"}, {})]


def case_send_to_typed_dict_schema_keeps_all_keys(env):
    class Job(TypedDict):
        x: int

    app = mapped(
        lambda job: {"log": [sorted(job)]},
        fan=lambda s: [Send("worker", {"x": 1, "other": 2})],
        input_schema=Job,
    )
    return app.invoke({})


def case_send_from_a_node_edge(env):
    graph = StateGraph(State)
    graph.add_node("plan", lambda s: {"items": [1, 2, 3]})
    graph.add_node("worker", lambda x: {"log": [x * x]})
    graph.add_node("join", lambda s: {"n": sum(s["log"])})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges(
        "plan", lambda s: [Send("worker", x) for x in s["items"]], ["worker"]
    )
    graph.add_edge("worker", "join")
    return graph.compile().invoke({})


def case_send_from_command_goto(env):
    graph = StateGraph(State)
    sends = [Send("worker", x) for x in (2, 1)]
    graph.add_node("plan", lambda s: Command(update={"n": 1}, goto=[*sends, "other"]))
    graph.add_node("worker", lambda x: {"log": [x]})
    graph.add_node("other", lambda s: {"log": ["other"]})
    graph.add_edge(START, "plan")
    return graph.compile().invoke({})


def case_send_to_itself(env):
    def count(x):
        goto = Send("count", x + 1) if x < 3 else END
        return Command(update={"log": [x]}, goto=goto)

    graph = StateGraph(State)
    graph.add_node("count", count)
    graph.add_conditional_edges(START, lambda s: Send("count", 0))
    return graph.compile().invoke({})


def case_nested_sends(env):
    def outer(x):
        return Command(update={"log": [("outer", x)]}, goto=[Send("inner", (x, y)) for y in "ab"])

    graph = StateGraph(State)
    graph.add_node("outer", outer)
    graph.add_node("inner", lambda pair: {"log": [pair]})
    graph.add_conditional_edges(START, lambda s: [Send("outer", 2), Send("outer", 1)])
    return graph.compile().invoke({})


def case_conditional_edge_after_a_send_reads_the_state(env):
    seen = []

    def path(state):
        seen.append(sorted(state) if isinstance(state, dict) else state)
        return END

    graph = StateGraph(State)
    graph.add_node("worker", lambda x: {"log": [x]})
    graph.add_conditional_edges(START, lambda s: [Send("worker", 1), Send("worker", 2)])
    graph.add_conditional_edges("worker", path)
    return [env.error(lambda: graph.compile().invoke({"n": 1})), seen]


def case_send_and_pull_of_one_node(env):
    graph = StateGraph(State)
    graph.add_node("w", lambda s: {"log": [s.get("tag", "pulled")]})
    graph.add_edge(START, "w")
    graph.add_conditional_edges(START, lambda s: [Send("w", {"tag": "sent"})])
    return graph.compile().invoke({"n": 0})


def case_send_to_unknown_node(env):
    return env.error(lambda: mapped(lambda x: x, fan=lambda s: [Send("nope", 1)]).invoke({}))


def case_send_to_end_or_start(env):
    return [
        env.error(lambda: mapped(lambda x: x, fan=lambda s: [Send(END, 1)]).invoke({})),
        env.error(lambda: mapped(lambda x: x, fan=lambda s: [Send(START, 1)]).invoke({})),
    ]


def case_sends_that_write_one_last_value(env):
    return [
        env.error(lambda: mapped(lambda x: {"n": x}).invoke({"items": [1, 2], "log": []})),
        mapped(lambda x: {"n": x}).invoke({"items": [1], "log": []}),
    ]


def case_send_equality_and_repr(env):
    return [
        Send("a", 1) == Send("a", 1),
        Send("a", 1) == Send("a", 2),
        Send("a", 1) == Send("b", 1),
        hash(Send("a", 1)) == hash(Send("a", 1)),
        repr(Send("a", {"x": 1})),
    ]


def case_mutable_send_argument_is_shared(env):
    shared = {"hits": 0}

    def worker(arg):
        return {"log": [arg is shared]}

    return mapped(worker, fan=lambda s: [Send("worker", shared), Send("worker", shared)]).invoke({})


async def case_map_reduce_async(env):
    async def worker(item):
        return {"log": [item * 2]}

    return await mapped(worker).ainvoke({"items": [3, 1, 2]})


def case_map_reduce_two_levels(env):
    graph = StateGraph(State)
    graph.add_node("split", lambda x: {"log": [f"s{x}"]})
    graph.add_node("work", lambda x: {"log": [f"w{x}"]})
    graph.add_node("end", lambda s: {"n": len(s["log"])})
    graph.add_conditional_edges(START, lambda s: [Send("split", i) for i in range(2)])
    graph.add_conditional_edges("split", lambda s: [Send("work", i) for i in range(len(s["log"]))])
    graph.add_edge("work", "end")
    return graph.compile().invoke({"log": []})


def case_max_concurrency(env):
    app = mapped(lambda item: {"log": [item]})
    return app.invoke({"items": list(range(10))}, {"max_concurrency": 2})
