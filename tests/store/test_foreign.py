"""Stores of others: LangGraph's work in a graph of plait's, as they are."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.store.memory import InMemoryStore as TheirStore

from plait.config import get_store
from plait.graph import START, StateGraph
from plait.store.base import BaseStore
from plait.store.sqlite import SqliteStore


def test_a_store_of_langgraph_serves_a_graph_of_plait() -> None:
    def node(state: dict[str, Any], *, store: BaseStore) -> dict[str, Any]:
        store.put(("u",), "k", {"v": 1})
        item = get_store().get(("u",), "k")
        assert item is not None
        return item.value

    graph = StateGraph(dict).add_node("n", node).add_edge(START, "n")
    theirs: Any = TheirStore()
    assert graph.compile(store=theirs).invoke({}) == {"v": 1}
    assert asyncio.run(graph.compile(store=theirs).ainvoke({})) == {"v": 1}


def test_a_store_parameter_may_name_the_class_of_the_store() -> None:
    def node(state: dict[str, Any], *, store: SqliteStore) -> dict[str, Any]:
        return {"is": type(store).__name__}

    with SqliteStore(":memory:") as store:
        graph = StateGraph(dict).add_node("n", node).add_edge(START, "n").compile(store=store)
        assert graph.invoke({}) == {"is": "SqliteStore"}
