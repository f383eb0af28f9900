"""Deleting, copying, pruning or updating a thread, where the storage fails at any request.

The caller hears of it, and the thread is free again at once. Where it is the release that fails,
other processes wait for the end of the lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from plait.checkpoint.log.requests import ReadLane
from plait.checkpoint.memory import InMemorySaver
from plait.errors import StorageError
from plait.graph import START, StateGraph
from plait.testing import FaultySaver, InjectedFailure
from plait.types import StateUpdate

from .graphs import Items, adder, chain, config
from .savers import KINDS, new_place

LATER = datetime.now(UTC) + timedelta(days=400)


class Care(NamedTuple):
    """One thing that is done with a thread as a whole."""

    name: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    thread: str = "1"
    """The thread that it claims."""
    of: str = "saver"


CARES = [
    Care("delete_thread", ("1",), {}),
    Care("copy_thread", ("1", "copy"), {}, "copy"),
    Care("prune", (["1"],), {}),
    Care("prune", (["1"],), {"strategy": "delete"}),
    Care("delete_for_runs", (["run"],), {}),
    Care("sweep", (), {"ttl": 1.0, "now": LATER}),
    Care("update_state", (config("1"), {"items": ["u"]}), {}, of="graph"),
    Care("bulk_update_state", (config("1"), [[StateUpdate({"items": ["u"]}, "outside")]] * 2), {},
         of="graph"),
]  # fmt: skip


def nested(saver: Any) -> Any:
    """A graph with a graph inside, so that its threads have two lanes."""
    builder = StateGraph(Items).add_node("inside", chain(None, ("a", adder("a"))))
    builder.add_node("outside", adder("b")).add_edge(START, "inside")
    return builder.add_edge("inside", "outside").compile(checkpointer=saver)


@pytest.fixture(params=["memory", *KINDS])
def saver(request: Any, tmp_path: Path) -> Iterator[Any]:
    """A saver, for as many threads as the test wants."""
    kind = request.param
    if kind == "memory":
        yield InMemorySaver()
        return
    server = request.getfixturevalue("postgres_server") if kind == "postgres" else None
    with new_place(kind, tmp_path, server) as place, place.open() as opened:
        yield opened


def do(saver: Any, care: Care, api: str) -> None:
    """Do it, by its sync or its async name."""
    of = saver if care.of == "saver" else nested(saver)
    if api == "sync":
        getattr(of, care.name)(*care.args, **care.options)
    else:
        asyncio.run(getattr(of, f"a{care.name}")(*care.args, **care.options))


@pytest.mark.parametrize("api", ["sync", "async"])
@pytest.mark.parametrize("fault", ["raise", "commit then raise"])
@pytest.mark.parametrize("care", CARES, ids=[f"{n}-{each.name}" for n, each in enumerate(CARES)])
def test_care_that_fails_leaves_its_thread_free(
    saver: Any, care: Care, fault: Any, api: str
) -> None:
    claims_left, graph = 0, nested(saver)
    for point in count(1):
        for thread in ("1", "copy"):
            saver.delete_thread(thread)
        for n in range(2):
            graph.invoke({"items": [n]}, {**config("1"), "metadata": {"run_id": "run"}})
        faulty = FaultySaver(saver, at=point, fault=fault)
        try:
            do(faulty, care, api)
        except (InjectedFailure, StorageError):  # still at hand, as `except` blocks have it
            root = saver.execute(ReadLane(care.thread, ""))
            claims_left += root is not None and root.owner is not None
            do(saver, care, api)
            ended = graph.invoke({"items": ["x"]}, config(care.thread))
            assert ended["items"][-1] == "b", f"request {point}"
        else:
            assert not faulty.failed, f"nobody heard of request {point}"
            break
    assert point > 2
    assert claims_left <= (fault == "raise"), "of all requests only the release may fail to release"
