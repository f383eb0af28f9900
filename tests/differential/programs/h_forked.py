"""Processes that the code of a node forks: what they run."""

import multiprocessing
import operator
from concurrent.futures import ProcessPoolExecutor
from typing import Annotated, TypedDict

from langgraph.config import get_config
from langgraph.graph import START, StateGraph


class State(TypedDict):
    items: Annotated[list, operator.add]


def one(name, node, **options):
    return StateGraph(State).add_node(name, node).add_edge(START, name).compile(**options)


def thread_of_node():
    try:
        return get_config()["configurable"]["thread_id"]
    except RuntimeError:
        return "in no node"


def in_a_worker(work, *args):
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(work, *args).result(60)


def config(thread):
    return {"configurable": {"thread_id": thread}}


def case_the_config_in_a_worker_process_of_a_node(env):
    graph = one("node", lambda state: {"items": [in_a_worker(thread_of_node)]})
    return graph.invoke({"items": []}, config("1"))
