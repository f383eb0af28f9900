"""Clocks that are set back, or of a machine that is behind: ids and orders stay right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from plait.drivers.env import run_env
from plait.drivers.sim import SimEnv

from .graphs import CONFIG, adder, chain


@contextmanager
def clock(seed: int) -> Iterator[None]:
    """A process whose ids begin anew: each begins before those of the one before it."""
    token = run_env.set(SimEnv(seed))
    try:
        yield
    finally:
        run_env.reset(token)


def graph_of(saver: Any) -> Any:
    """Two nodes, and one between them that says how much a graph with memory has heard."""
    memory = chain(True, *((name, adder(name)) for name in "xyz"))

    def hear(state: Any) -> Any:
        return {"items": [str(len(memory.invoke({"items": []})["items"]))]}

    return chain(saver, ("a", adder("a")), ("hear", hear), ("b", adder("b")))


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("api", ["sync", "async"])
async def test_a_thread_goes_on_in_order_when_the_clock_is_set_back(
    saver: Any, api: str, durability: Any
) -> None:
    graph = graph_of(saver)
    said: list[str] = []
    for turn in range(1, 4):
        with clock(turn):
            if api == "async":
                result = await graph.ainvoke({"items": []}, CONFIG, durability=durability)
            else:
                result = graph.invoke({"items": []}, CONFIG, durability=durability)
        said += ["a", str(3 * turn), "b"]
        assert result == {"items": said}
        history = list(graph.get_state_history(CONFIG))
        assert history[0].values == result
        steps = [each.metadata["step"] for each in history]
        assert steps == sorted(steps, reverse=True)
    saver.prune(["1"], keep_last=2)
    assert graph.get_state(CONFIG).values == {"items": said}
    with clock(4):
        assert graph.invoke({"items": []}, CONFIG)["items"] == [*said, "a", "12", "b"]


def test_a_fork_is_newer_than_all_that_was_there_when_the_clock_is_set_back(saver: Any) -> None:
    graph = graph_of(saver)
    with clock(1):
        graph.invoke({"items": []}, CONFIG)
    old = list(graph.get_state_history(CONFIG))[2]
    with clock(2):
        fork = graph.update_state(old.config, {"items": ["forked"]})
        assert graph.get_state(CONFIG).config == fork
        assert next(graph.get_state_history(CONFIG)).config == fork
    with clock(3):
        graph.invoke(None, old.config)
    assert next(graph.get_state_history(CONFIG)).values == {"items": ["a", "3", "b"]}
