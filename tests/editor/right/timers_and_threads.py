from datetime import timedelta
from typing import Any, TypedDict

from plait import END, START, InMemorySaver, SqliteSaver, StateGraph, interrupt
from plait.checkpoint.serde import register
from plait.store.memory import InMemoryStore
from plait.store.sqlite import SqliteStore
from plait.timers import sleep


@register
class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents


class S(TypedDict, total=False):
    money: Money
    ok: bool


def a(state: S) -> S:
    return {
        "money": Money(3),
        "ok": interrupt("?", timeout=timedelta(days=1), default=False, key="k"),
    }


def b(state: S) -> dict[str, Any]:
    sleep(timedelta(hours=1))
    return {}


g = (
    StateGraph(S)
    .add_sequence([a, b])
    .add_edge(START, "a")
    .add_edge("b", END)
    .compile(checkpointer=InMemorySaver())
)
t = {"configurable": {"thread_id": "1"}}
r = g.invoke({}, t)
for q in r["__interrupt__"]:
    print(q.id, q.value, q.at)
with SqliteSaver.from_conn_string(":memory:") as saver:
    g2 = (
        StateGraph(S)
        .add_node("b", b)
        .add_edge(START, "b")
        .compile(
            checkpointer=saver,
            store=InMemoryStore(
                index={"dims": 2, "embed": lambda texts: [[0.0, 1.0] for _ in texts]}
            ),
        )
    )
    g2.invoke({}, t, durability="exit")
    print(saver.usage("1").total)
    saver.prune(["1"], keep_last=2)
    saver.delete_thread("1")
with SqliteStore.from_conn_string(":memory:") as store:
    store.put(("a", "b"), "k", {"v": 1}, ttl=5)
    item = store.get(("a", "b"), "k")
    if item is not None:
        print(item.value["v"], item.updated_at)
