"""Owns the makespan figure: how long a graph of slow branches takes, against its critical path.

The nodes do nothing but wait, so the wall clock is the schedule's doing, not the machine's.
"""

import asyncio
import operator
import time
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from benchmarks.implementations import PLAIT, Implementation

BRANCHES: Mapping[str, tuple[float, ...]] = {
    "quick": (0.05, 0.05, 0.40),
    "late": (0.40, 0.05, 0.05),
    "even": (0.15, 0.20, 0.15),
}
"""By branch, the seconds that its nodes take, one after the other; the branches then join.

Each is there twice: once as nodes and edges, once as a chain of `Send`s to one node."""
JOIN_SECONDS = 0.05


class State(TypedDict, total=False):
    """What each branch has done so far."""

    quick: int
    late: int
    even: int
    sent: Annotated[int, operator.add]
    done: bool


def critical_path() -> float:
    """The seconds of the longest branch, and of the join."""
    return max(sum(seconds) for seconds in BRANCHES.values()) + JOIN_SECONDS


def graph(implementation: Implementation, *, eager: bool) -> Any:
    """Three branches of three nodes each, the same as `Send`s, and a node that waits for all."""
    builder = implementation.StateGraph(State)
    last = ["sent"]
    for branch, waits in BRANCHES.items():
        reads: Any = TypedDict(f"Reads_{branch}", {branch: int}, total=False)  # type: ignore[misc]
        before = implementation.START
        for place, seconds in enumerate(waits):
            name = f"{branch}{place}"
            options: dict[str, Any] = {"writes": [branch]} if eager else {}
            builder.add_node(name, _waits(branch, seconds), input_schema=reads, **options)
            builder.add_edge(before, name)
            before = name
        last.append(before)
    options = {"writes": ["sent"]} if eager else {}
    builder.add_node("sent", _sent(implementation), destinations=("sent",), **options)
    sends = [implementation.Send("sent", (branch, 0)) for branch in BRANCHES]
    builder.add_conditional_edges(implementation.START, lambda _: sends, ["sent"])
    builder.add_node("join", _joins, defer=True)
    for name in last:
        builder.add_edge(name, "join")
    return builder.compile(**({"schedule": "eager"} if eager else {}))


def _waits(branch: str, seconds: float) -> Any:
    async def node(state: Any) -> dict[str, int]:
        await asyncio.sleep(seconds)
        return {branch: state.get(branch, 0) + 1}

    return node


def _sent(implementation: Implementation) -> Any:
    async def node(item: Any) -> Any:
        branch, place = item
        await asyncio.sleep(BRANCHES[branch][place])
        more = place + 1 < len(BRANCHES[branch])
        goto = [implementation.Send("sent", (branch, place + 1))] if more else []
        return implementation.Command(update={"sent": 1}, goto=goto)

    return node


async def _joins(state: State) -> dict[str, bool]:
    await asyncio.sleep(JOIN_SECONDS)
    return {"done": True}


def makespans(roots: list[str], *, rounds: int) -> dict[str, float]:
    """The shortest run of each root, in critical paths; plait's with the eager schedule.

    Raises:
        AssertionError: a branch was not run to its end.
    """
    shortest: dict[str, float] = {}
    for root in roots:
        compiled = graph(Implementation(root), eager=root == PLAIT)
        taken: list[float] = []
        for _ in range(rounds):
            began = time.perf_counter()
            state = asyncio.run(compiled.ainvoke({"quick": 0, "late": 0, "even": 0}))
            taken.append(time.perf_counter() - began)
            assert state == {"quick": 3, "late": 3, "even": 3, "sent": 9, "done": True}, state
        shortest[root] = min(taken) / critical_path()
    return shortest
