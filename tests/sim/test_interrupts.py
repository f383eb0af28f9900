"""An answer reaches the question it was given to, whatever finishes first."""

from __future__ import annotations

import operator
from random import Random
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import SimEnv, simulate
from plait.graph import START, StateGraph
from plait.types import Command, Send, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}
SEEDS = 1_000


class Asked(TypedDict, total=False):
    """Who was told what."""

    told: Annotated[list[str], operator.add]


def asking(state: Any) -> Asked:
    """Asks twice; the second question depends on the first answer."""
    who = state["who"]
    first = interrupt(f"{who}: first?")
    second = interrupt(f"{who}: second, after {first}?")
    return {"told": [f"{who}={first},{second}"]}


def program() -> Any:
    """Three Sends of one node, two nodes, and a nested graph, all beside each other."""
    inner: Any = StateGraph(Asked)
    inner.add_node("deep", lambda state: asking({"who": "deep"}))
    inner.add_edge(START, "deep")
    child = inner.compile()

    builder: Any = StateGraph(Asked)
    builder.add_node("many", asking)
    builder.add_node("left", lambda state: asking({"who": "left"}))
    builder.add_node("right", lambda state: asking({"who": "right"}))
    builder.add_node("nest", lambda state: {"told": child.invoke({})["told"]})
    for name in ("left", "right", "nest"):
        builder.add_edge(START, name)
    builder.add_conditional_edges(
        START, lambda state: [Send("many", {"who": f"many{i}"}) for i in range(3)], ["many"]
    )
    return builder.compile()


PROGRAM = program()
WHO = ["deep", "left", "right", "many0", "many1", "many2"]


def reply(question: str) -> str:
    """The right answer to a question: it names whoever asked."""
    return f"[{question}]"


def expected(who: str) -> str:
    first = reply(f"{who}: first?")
    return f"{who}={first},{reply(f'{who}: second, after {first}?')}"


@pytest.mark.parametrize("block", range(10))
def test_parallel_interrupts_get_their_own_answers_in_any_order(block: int) -> None:
    for seed in range(block * SEEDS // 10, (block + 1) * SEEDS // 10):
        chance, env = Random(seed), SimEnv()
        PROGRAM.checkpointer = InMemorySaver()
        given: Any = {}
        ids: dict[str, str] = {}
        while True:
            life = simulate(
                PROGRAM,
                given,
                CONFIG,
                seed=chance.getrandbits(32),
                env=env,
                stream_mode=["updates"],
            )
            pending = [q for part in life.parts for q in part[2].get("__interrupt__", ())]
            if not pending:
                break
            for each in pending:
                assert ids.setdefault(each.value, each.id) == each.id, f"seed {seed}"
            some = [each for each in pending if chance.random() < 0.5] or [chance.choice(pending)]
            chance.shuffle(some)
            given = Command(resume={each.id: reply(each.value) for each in some})
        told = PROGRAM.get_state(CONFIG).values["told"]
        assert sorted(told) == sorted(map(expected, WHO)), f"seed {seed}"
        assert len(set(ids.values())) == 2 * len(WHO), f"seed {seed}"
