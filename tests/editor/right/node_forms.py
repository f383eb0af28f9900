import operator
from functools import partial
from typing import Annotated, Any, TypedDict

from plait.cache.memory import InMemoryCache
from plait.channels import Topic, UntrackedValue
from plait.checkpoint.memory import InMemorySaver
from plait.config import get_config
from plait.errors import GraphRecursionError, NodeError
from plait.func import entrypoint, task
from plait.graph import END, START, StateGraph
from plait.managed import IsLastStep, RemainingSteps
from plait.runnables import RunnableConfig, RunnableLambda
from plait.runtime import Runtime
from plait.store.memory import InMemoryStore
from plait.types import CachePolicy, Command, Overwrite


class S(TypedDict):
    n: int
    log: Annotated[list[str], operator.add]
    left: RemainingSteps
    last: IsLastStep
    topic: Annotated[list[str], Topic]
    client: Annotated[Any, UntrackedValue]


class Node:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state: S) -> dict[str, Any]:
        if state["left"] < 2:
            return {}
        return {"log": [self.name]}

    async def act(self, state: S) -> dict[str, Any]:
        return {"log": [self.name]}


def with_client(client: str, state: S) -> dict[str, Any]:
    return {"log": [client, get_config().get("run_name", "")]}


def failing(state: S) -> dict[str, Any]:
    raise ValueError("x")


def handle(state: S, error: NodeError) -> Command:
    return Command(goto=END, update={"log": [f"{error.node}: {error.error}"]})


b = StateGraph(S)
b.add_node("a", Node("a"))
b.add_node(
    "b",
    partial(with_client, "c"),
    metadata={"x": 1},
    cache_policy=CachePolicy(ttl=5, key_func=lambda s: str(s)),
)
b.add_node("c", RunnableLambda(lambda s: {"log": Overwrite(["c"])}))
b.add_node("d", failing, error_handler=handle, timeout=5)
b.add_sequence([("e", lambda s: {"n": s["n"] + 1})])
b.add_edge(START, "a")
b.add_edge("a", "b")
b.add_edge("b", "c")
b.add_conditional_edges("c", lambda s: "e" if s["n"] > 0 else "d", {"e": "e", "d": "d"})
g = b.compile(name="g", debug=False, cache=InMemoryCache())
try:
    print(g.invoke({"n": 0, "log": []}, {"recursion_limit": 50, "configurable": {"x": 1}}))
except GraphRecursionError as e:
    print(e)
for chunk in g.stream({"n": 1, "log": []}, stream_mode="debug"):
    print(chunk["type"])
for mode, chunk in g.stream({"n": 1, "log": []}, stream_mode=["values", "tasks"]):
    print(mode, chunk)


@task(retry_policy=None, name="sq")
def square(x: int) -> int:
    return x * x


@entrypoint(checkpointer=InMemorySaver(), store=InMemoryStore())
def flow(xs: list[int], *, config: RunnableConfig, runtime: Runtime) -> int:
    total = 0
    for f in [square(x) for x in xs]:
        total += f.result()
    return total


print(flow.invoke([1, 2], {"configurable": {"thread_id": "1"}}))
both: list[RunnableConfig] = [
    {"configurable": {"thread_id": "a"}},
    {"configurable": {"thread_id": "b"}},
]
print(flow.batch([[1], [2]], both))
