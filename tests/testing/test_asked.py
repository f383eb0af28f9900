"""Tools of proof refuse what would prove nothing, and tell of what is no graph, saver or time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.deploy import check
from plait.errors import ConfigError, ConfigTypeError
from plait.graph import START, StateGraph
from plait.stored import find_thread, list_threads, wake
from plait.testing import FaultySaver, PostgresProxy, every_crash_point, explore
from plait.timers import sleep

NAN = float("nan")


def build(saver: Any) -> Any:
    builder = StateGraph(dict).add_node("n", lambda state: {"x": 1})
    return builder.add_edge(START, "n").compile(checkpointer=saver)


@pytest.mark.parametrize("at", [-1, True, 1.5, NAN, "1", None])
def test_a_fault_that_never_comes_is_refused(at: Any) -> None:
    with pytest.raises(ConfigError, match="at="):
        FaultySaver(InMemorySaver(), at=at)


@pytest.mark.parametrize("number", [-1, 1.5, True, "1", None])
def test_a_network_fault_that_never_comes_is_refused(number: Any) -> None:
    with PostgresProxy("postgresql://localhost:1/nobody") as proxy:
        for fails in (proxy.fail_at, proxy.cut_after):
            with pytest.raises(ConfigError, match="whole number"):
                fails(number)
        with pytest.raises(ConfigError, match="at least 1"):
            proxy.fail_at(0)


@pytest.mark.parametrize("url", [None, 5, "mysql://x", "postgresql://a,b/x"])
def test_a_proxy_stands_before_one_server(url: Any) -> None:
    with pytest.raises(ConfigError, match="connection string of one server"):
        PostgresProxy(url)


def test_a_faulty_saver_keeps_threads_as_long_as_the_one_inside() -> None:
    saver = InMemorySaver()
    saver.ttl = 60
    assert FaultySaver(saver).ttl == 60


@pytest.mark.parametrize("kill", [True, False])
def test_a_workflow_that_stores_elsewhere_is_told(kill: bool, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="asked nothing of the saver"):
        every_crash_point(lambda saver, effects: None, tmp_path, kill=kill)


@pytest.mark.parametrize("stride", [0, -1, True, 1.5, None])
def test_a_stride_goes_forward(stride: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stride"):
        every_crash_point(lambda saver, effects: None, tmp_path, stride=stride)


@pytest.mark.parametrize(
    "options",
    [
        *({"seeds": each} for each in ((), 5, None, "12", [1.5])),
        *({"crashes": each} for each in (-1, True, 1.5, "1")),
        {"flavor": "ASYNC"},
        {"durability": "exit"},
    ],
)
def test_an_exploration_of_nothing_is_refused(options: Any) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        explore(build, {}, **options)


@pytest.mark.parametrize("odd", [None, 5, "x", StateGraph, build])
def test_what_is_no_graph_is_told_as_such(odd: Any) -> None:
    saver = InMemorySaver()
    with pytest.raises(ConfigTypeError, match="compiled graph"):
        check(odd, saver)
    with pytest.raises(ConfigTypeError, match="compiled graph"):
        list(wake(odd))
    if odd is not None:
        with pytest.raises(ConfigTypeError, match="compiled graph"):
            list(list_threads(saver, odd))


def test_the_class_of_a_saver_is_none() -> None:
    kind: Any = InMemorySaver
    for call in (lambda: check(build(None), kind), lambda: list(list_threads(kind))):
        with pytest.raises(ConfigError, match="type cannot list"):
            call()


def test_a_stored_thread_is_found_by_what_its_runs_were_given() -> None:
    saver = InMemorySaver()
    given: Any = 5
    build(saver).invoke({}, {"configurable": {"thread_id": given}})
    assert find_thread(saver, given).thread_id == "5"
    with pytest.raises(ConfigError):
        find_thread(saver, ["5"])  # pyright: ignore


def test_threads_are_woken_at_a_time() -> None:
    builder = StateGraph(dict).add_node("n", lambda state: sleep(3600))
    graph = builder.add_edge(START, "n").compile(checkpointer=InMemorySaver())
    graph.invoke({}, {"configurable": {"thread_id": "t"}})
    odds: list[Any] = [NAN, "x", True, datetime(2099, 1, 1)]
    for odd in odds:
        with pytest.raises(ConfigError, match="wake"):
            list(wake(graph, now=odd))
    assert [*wake(graph, now=datetime.now(UTC))] == []
    assert [each.waits for each in wake(graph, now=datetime.now(UTC) + timedelta(hours=2))] == [
        True
    ]
