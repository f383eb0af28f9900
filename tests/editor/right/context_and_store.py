import uuid
from dataclasses import dataclass
from typing import TypedDict

from plait.graph import END, START, StateGraph
from plait.runtime import Runtime
from plait.store.base import BaseStore
from plait.store.memory import InMemoryStore


@dataclass
class Context:
    user_id: str


class State(TypedDict):
    memory: str


def node(state: State, runtime: Runtime[Context]) -> State:
    assert runtime.store is not None
    print(runtime.execution_info.task_id, runtime.execution_info.node_attempt)
    runtime.store.put(
        ("users", runtime.context.user_id), str(uuid.uuid4()), {"memory": state["memory"]}
    )
    found = runtime.store.search(("users", runtime.context.user_id), limit=3)
    return {"memory": found[0].value["memory"]}


def other(state: State, *, store: BaseStore):
    items = store.search(("users",))
    return {"memory": str(len(items))}


b = StateGraph(State, context_schema=Context)
b.add_node(node)
b.add_node(other)
b.add_edge(START, "node")
b.add_edge("node", "other")
b.add_edge("other", END)
graph = b.compile(store=InMemoryStore())
print(graph.invoke({"memory": "x"}, context=Context(user_id="1")))
