"""Limits, error handlers and caches under any order of completion, and through crashes.

A virtual clock fires limits whenever it likes: before an attempt has begun, while it waits, or not
at all. Whatever it does, each task ends in exactly one of the ways that its graph allows.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypedDict

import pytest

from plait.cache.memory import InMemoryCache
from plait.checkpoint.memory import InMemorySaver
from plait.constants import FAILED
from plait.drivers.sim import Crash, SimEnv, SimResult, simulate
from plait.errors import NodeError, NodeTimeoutError
from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.types import CachePolicy, Command, RetryPolicy, TimeoutPolicy

CONFIG: Any = {"configurable": {"thread_id": "1"}}
Flavor = Literal["sync", "async"]
FLAVORS: tuple[Flavor, ...] = ("sync", "async")
ORDERS = 150
MOST_REQUESTS = 60


class State(TypedDict, total=False):
    items: Annotated[list[Any], operator.add]


def both(code: Callable[[Any], Any], flavor: Flavor) -> Any:
    """A node in one of its two forms."""

    async def acode(state: Any) -> Any:
        return code(state)

    return acode if flavor == "async" else code


def through_crashes(
    graph: Any,
    seed: int,
    flavor: Flavor,
    between: Callable[[], Any],
    check: Callable[[SimResult, Any], None],
) -> tuple[int, Any]:
    """Die at every storage request in turn, before and after it, and go on.

    Args:
        between: looks at what is there when a life has ended early.
        check: is given the life that followed, and what `between` saw.

    Returns:
        How often it died, and the state at the end of the last one.
    """
    deaths = 0
    for request in range(1, MOST_REQUESTS):
        for after in (False, True):
            graph.checkpointer = InMemorySaver()
            env = SimEnv()
            point = Crash(request, after)
            first = simulate(
                graph, {"items": []}, CONFIG, seed=seed, env=env, flavor=flavor, crash_at=point
            )
            if not first.crashed:
                return deaths, graph.get_state(CONFIG)
            deaths += 1
            seen = between()
            stored = graph.get_state(CONFIG).created_at is not None
            given = None if stored else {"items": []}
            second = simulate(graph, given, CONFIG, seed=seed + 1, env=env, flavor=flavor)
            check(second, seen)
    raise AssertionError("the run does not end")


# --- error handlers ------------------------------------------------------------------------------


def handled_graph(flavor: Flavor) -> Any:
    def fails(state: Any) -> Any:
        raise RuntimeError("beyond repair")

    def handle(state: Any, error: NodeError) -> Any:
        return Command(goto="next", update={"items": [f"handled {error.node}: {error.error!r}"]})

    async def ahandle(state: Any, error: NodeError) -> Any:
        return handle(state, error)

    builder = StateGraph(State)
    retry = RetryPolicy(initial_interval=1.0, max_attempts=2, retry_on=RuntimeError)
    builder.set_node_defaults(error_handler=ahandle if flavor == "async" else handle)
    builder.add_node("broken", both(fails, flavor), retry_policy=retry)
    builder.add_node("worse", both(fails, flavor))
    builder.add_node("fine", both(lambda state: {"items": ["fine"]}, flavor))
    builder.add_node("next", both(lambda state: {"items": ["next"]}, flavor))
    for name in ("broken", "worse", "fine"):
        builder.add_edge(START, name)
    return builder.compile()


HANDLED = {
    "items": [
        "handled broken: RuntimeError('beyond repair')",
        "fine",
        "handled worse: RuntimeError('beyond repair')",
        "next",
    ]
}


@pytest.mark.parametrize("flavor", FLAVORS)
def test_handlers_write_in_the_place_of_their_nodes_in_any_order(flavor: Flavor) -> None:
    for seed in range(ORDERS):
        life = simulate(handled_graph(flavor), {"items": []}, seed=seed, flavor=flavor)
        assert life.states[-1] == HANDLED, f"seed {seed}"


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("seed", range(12))
def test_a_node_whose_failure_is_stored_never_runs_again(seed: int, flavor: Flavor) -> None:
    graph, spared = handled_graph(flavor), Counter[str]()

    def stored_failures() -> list[str]:
        found = graph.checkpointer.get_tuple(CONFIG)
        stored = found.pending_writes if found is not None else ()
        failed = {id for id, channel, _ in stored if channel == FAILED}
        return [task.name for task in graph.get_state(CONFIG).tasks if task.id in failed]

    def check(life: SimResult, failed: list[str]) -> None:
        assert life.states[-1] == HANDLED, f"seed {seed}, {life.requests}"
        ran = [name for _, name in life.effects]
        for name in failed:
            assert name not in ran, f"{name} ran again; seed {seed}, request {life.requests}"
            spared[name] += 1

    deaths, last = through_crashes(graph, seed, flavor, stored_failures, check)
    assert deaths > 8
    assert spared, "no crash fell between a failure and its handler"
    assert last.values == HANDLED


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("flavor", FLAVORS)
def test_an_attempt_either_counts_or_is_given_up(flavor: Flavor) -> None:
    ways: set[str] = set()
    for seed in range(ORDERS):
        builder = StateGraph(State)
        for name in "abc":
            builder.add_node(
                name,
                both(lambda state, name=name: {"items": [name]}, flavor),
                timeout=1.0,
                error_handler=both(lambda state, name=name: {"items": [f"late {name}"]}, flavor),
                retry_policy=RetryPolicy(max_attempts=2, initial_interval=0.5),
            )
            builder.add_edge(START, name)
        life = simulate(builder.compile(), {"items": []}, seed=seed, flavor=flavor)
        items = life.states[-1]["items"]
        assert [item.removeprefix("late ") for item in items] == ["a", "b", "c"], f"seed {seed}"
        ways.update(items)
    assert ways == {"a", "b", "c", "late a", "late b", "late c"}, "one way was never taken"


@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_workflow_with_limits_ends_in_its_result_or_its_error(flavor: Flavor) -> None:
    ways: Counter[str] = Counter()
    for seed in range(ORDERS):
        done: list[int] = []

        def leaf(n: int, done: list[int] = done) -> int:
            done.append(n)
            return n

        async def aleaf(n: int, leaf: Any = leaf) -> int:
            return leaf(n)

        called = task(timeout=TimeoutPolicy(idle_timeout=5.0))(aleaf if flavor == "async" else leaf)

        def code(given: int, called: Any = called) -> int:
            return sum(call.result() for call in [called(n) for n in range(given)])

        async def acode(given: int, called: Any = called) -> int:
            calls = [called(n) for n in range(given)]
            return sum([await call for call in calls])

        workflow = entrypoint(timeout=1.0)(acode if flavor == "async" else code)
        life = simulate(workflow, 3, seed=seed, flavor=flavor, catch=NodeTimeoutError)
        if life.error is None:
            assert life.states[-1] == 3, f"seed {seed}"
            assert sorted(done) == [0, 1, 2]
        ways["error" if life.error is not None else "result"] += 1
    assert set(ways) == {"error", "result"}


@pytest.mark.parametrize("flavor", FLAVORS)
def test_step_timeout_ends_a_step_or_the_step_ends_in_time(flavor: Flavor) -> None:
    ways: Counter[str] = Counter()
    for seed in range(ORDERS):
        builder = StateGraph(State)
        for name in "ab":
            builder.add_node(name, both(lambda state, name=name: {"items": [name]}, flavor))
            builder.add_edge(START, name)
        graph = builder.compile(checkpointer=InMemorySaver())
        graph.step_timeout = 1.0
        env = SimEnv()
        lives, given = 0, {"items": []}
        while True:
            lives += 1
            assert lives < 50
            life = simulate(
                graph, given, CONFIG, seed=seed + lives, env=env, flavor=flavor, catch=TimeoutError
            )
            if life.error is None:
                break
            if graph.get_state(CONFIG).created_at is not None:
                given = None
        assert graph.get_state(CONFIG).values == {"items": ["a", "b"]}, f"seed {seed}"
        ways["resumed" if lives > 1 else "at once"] += 1
    assert set(ways) == {"resumed", "at once"}


# --- caches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("seed", range(8))
def test_cached_work_is_done_once_over_crashes_and_threads(seed: int, flavor: Flavor) -> None:
    runs: list[str] = []

    def work(state: Any) -> Any:
        runs.append("work")
        return {"items": ["work"]}

    builder = StateGraph(State)
    builder.add_node("work", both(work, flavor), cache_policy=CachePolicy())
    builder.add_node("beside", both(lambda state: {"items": ["beside"]}, flavor))
    builder.add_node("after", both(lambda state: {"items": ["after"]}, flavor))
    builder.add_edge(START, "work")
    builder.add_edge(START, "beside")
    builder.add_edge("work", "after")
    graph = builder.compile(cache=InMemoryCache())

    keys: list[Any] = []
    real = graph.cache.set

    def noted(pairs: Any) -> None:
        real(pairs)
        keys.extend(pairs)

    graph.cache.set = noted

    def is_cached() -> bool:
        return bool(graph.cache.get(keys))

    def check(life: SimResult, cached: bool) -> None:
        assert life.states[-1] == {"items": ["beside", "work", "after"]}
        if cached:
            spared.append(1)
            assert "work" not in [name for _, name in life.effects]
        graph.cache.clear()

    spared: list[int] = []
    deaths, _ = through_crashes(graph, seed, flavor, is_cached, check)
    assert spared, "no crash fell after the cache was written"
    assert deaths > 6
    assert len(set(keys)) == 1
    first_of_all = len(runs)
    graph.checkpointer = InMemorySaver()
    again = simulate(graph, {"items": []}, CONFIG, seed=seed, flavor=flavor)
    assert again.states[-1] == {"items": ["beside", "work", "after"]}
    assert len(runs) == first_of_all
