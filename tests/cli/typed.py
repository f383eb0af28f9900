"""A program whose threads hold values of its own types, encrypted, and kept for a while."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from plait import SqliteSaver
from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.graph import START, StateGraph
from plait.types import interrupt

KEY = "07" * 32
HERE = Path(__file__).parent


@dataclass
class Offer:
    """Only the schema of the graph names it."""

    price: int


class State(TypedDict, total=False):
    offer: Offer
    taken: int


def ask(state: State) -> State:
    answer = interrupt(state["offer"], timeout=1e-5, default=Offer(1))
    return {"taken": answer.price}


builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
graph = builder.compile()


def encrypted(path: str | Path) -> SqliteSaver:
    serde = EncryptedSerializer.from_keys({"1": bytes.fromhex(KEY)})
    return SqliteSaver(path, serde=serde)


keyed = builder.compile(checkpointer=encrypted(":memory:"))
"""Its saver's serializer has the key, and its threads live for no time."""
assert isinstance(keyed.checkpointer, SqliteSaver)
keyed.checkpointer.ttl = 0
