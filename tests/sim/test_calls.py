"""Calls of tasks: nobody waits for ever for a call that will not be made, in any order."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from plait.checkpoint.log.requests import Transact
from plait.checkpoint.memory import InMemorySaver
from plait.drivers.sim import Crash, SimEnv, simulate
from plait.func import entrypoint, task
from plait.graph import START, StateGraph

from .schedules import check_effects

CONFIG: Any = {"configurable": {"thread_id": "1"}}
SEEDS = range(60)


class Said(TypedDict, total=False):
    """A list that grows."""

    said: Annotated[list[str], operator.add]


@task
def leaf(word: str) -> str:
    return word.upper()


@task
def branch(word: str) -> str:
    first, second = leaf(word), leaf(word + "!")
    return first.result() + second.result()


@task
async def aleaf(word: str) -> str:
    return word.upper()


@task
async def abranch(word: str) -> str:
    first, second = aleaf(word), aleaf(word + "!")
    return await first + await second


def tree(flavor: str) -> Any:
    """An entrypoint whose tasks call tasks."""

    @entrypoint(checkpointer=InMemorySaver())
    def sync_tree(words: list[str]) -> list[str]:
        return [call.result() for call in [branch(word) for word in words]]

    @entrypoint(checkpointer=InMemorySaver())
    async def async_tree(words: list[str]) -> list[str]:
        return [await call for call in [abranch(word) for word in words]]

    return async_tree if flavor == "async" else sync_tree


GIVEN = ["a", "b", "c"]
RIGHT = ["AA!", "BB!", "CC!"]


# Simulated sync tasks that wait stand on one stack, so a limit could block them: see
# `drivers.sim_driver`.
@pytest.mark.parametrize(
    ("flavor", "limit"), [("sync", None), ("async", None), ("async", 1), ("async", 2)]
)
def test_tasks_that_call_tasks_end_in_any_order_under_any_concurrency(
    flavor: Any, limit: int | None
) -> None:
    for seed in SEEDS:
        graph = tree(flavor)
        config = {**CONFIG, "max_concurrency": limit} if limit else CONFIG
        simulate(graph, GIVEN, config, seed=seed, flavor=flavor)
        assert graph.get_state(CONFIG).values == RIGHT, f"seed {seed}"


@pytest.mark.parametrize("flavor", ["sync", "async"])
@pytest.mark.parametrize("after", [False, True])
def test_no_acknowledged_call_is_made_again_wherever_the_process_dies(
    flavor: Any, after: bool
) -> None:
    for seed in range(120):
        graph, env = tree(flavor), SimEnv()
        first = simulate(
            graph,
            GIVEN,
            CONFIG,
            seed=seed,
            env=env,
            crash_at=Crash(1 + seed % 14, after),
            flavor=flavor,
        )
        begun = any(each.what == "committed" for each in first.trace)
        given = None if begun else GIVEN
        second = simulate(graph, given, CONFIG, seed=seed, env=env, flavor=flavor)
        check_effects([*first.trace, *second.trace])
        assert graph.get_state(CONFIG).values == RIGHT, f"seed {seed}"


def failing_pair(flavor: str) -> Any:
    """One node that calls tasks, beside one that fails."""

    def calls(state: Said) -> Said:
        return {"said": [branch("a").result()]}

    async def acalls(state: Said) -> Said:
        return {"said": [await abranch("a")]}

    def fails(state: Said) -> Said:
        raise ValueError("on purpose")

    builder: Any = StateGraph(Said)
    builder.add_node("calls", acalls if flavor == "async" else calls)
    builder.add_node("fails", fails)
    builder.add_edge(START, "calls")
    builder.add_edge(START, "fails")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("flavor", ["sync", "async"])
@pytest.mark.parametrize("limit", [None, 2])
def test_a_failure_beside_a_caller_ends_the_run_and_keeps_what_was_acknowledged(
    flavor: Any, limit: int | None
) -> None:
    for seed in SEEDS:
        graph, env = failing_pair(flavor), SimEnv()
        config = {**CONFIG, "max_concurrency": limit} if limit else CONFIG
        lives = [
            simulate(graph, given, config, seed=seed, env=env, flavor=flavor, catch=ValueError)
            for given in ({}, None)
        ]
        assert [type(life.error) for life in lives] == [ValueError, ValueError], f"seed {seed}"
        check_effects([*lives[0].trace, *lives[1].trace])


class FailingSaver(InMemorySaver):
    """Whose nth transaction fails."""

    def __init__(self, nth: int) -> None:
        super().__init__()
        self.left = nth

    def execute(self, request: Any) -> Any:
        """Do a request, or fail."""
        if type(request) is Transact:
            self.left -= 1
            if self.left == 0:
                raise OSError("disk full")
        return super().execute(request)


@pytest.mark.parametrize("flavor", ["sync", "async"])
@pytest.mark.parametrize("nth", range(1, 8))
def test_a_storage_error_while_calls_are_out_reaches_the_caller_of_the_run(
    flavor: Any, nth: int
) -> None:
    for seed in SEEDS:
        graph, env = tree(flavor), SimEnv()
        graph.checkpointer = FailingSaver(nth)
        life = simulate(graph, GIVEN, CONFIG, seed=seed, env=env, flavor=flavor, catch=OSError)
        failed = graph.checkpointer.left <= 0
        assert isinstance(life.error, OSError) == failed, f"seed {seed}"
        begun = any(each.what == "committed" for each in life.trace)
        if failed:
            again = simulate(
                graph, None if begun else GIVEN, CONFIG, seed=seed, env=env, flavor=flavor
            )
            check_effects([*life.trace, *again.trace])
        assert graph.get_state(CONFIG).values == RIGHT, f"seed {seed}"


@pytest.mark.parametrize("nth", range(2, 5))
def test_a_storage_error_while_calls_are_out_ends_a_run_with_threads(nth: int) -> None:
    graph = tree("sync")
    graph.checkpointer = FailingSaver(nth)
    with pytest.raises(OSError, match="disk full"):
        graph.invoke(["a"], CONFIG)
    assert graph.invoke(None, CONFIG) == ["AA!"]


@pytest.mark.parametrize("flavor", ["sync", "async"])
async def test_one_at_a_time_is_enough_for_tasks_that_call_tasks(flavor: str) -> None:
    graph = tree(flavor)
    config: Any = {**CONFIG, "max_concurrency": 1}
    if flavor == "sync":
        assert graph.invoke(GIVEN, config) == RIGHT
    else:
        assert await graph.ainvoke(GIVEN, config) == RIGHT
