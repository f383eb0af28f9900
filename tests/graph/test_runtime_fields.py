"""Which task this is (`runtime.execution_info`) is worked out when somebody looks at it."""

import copy
from dataclasses import FrozenInstanceError, replace
from typing import Any, TypedDict

import pytest

from plait.graph import START, StateGraph
from plait.runtime import ExecutionInfo, Runtime
from plait.types import RetryPolicy


class State(TypedDict):
    n: int


def test_a_runtime_that_is_kept_tells_of_the_attempt_that_it_was_made_for() -> None:
    kept: list[Runtime[Any]] = []

    def node(state: State, runtime: Runtime[Any]) -> dict[str, int]:
        kept.append(runtime)
        if len(kept) == 1:
            raise ConnectionError("once more")
        return {"n": 1}

    policy = RetryPolicy(initial_interval=0.0, jitter=False)
    builder = StateGraph(State).add_node(node, retry_policy=policy).add_edge(START, "node")
    builder.compile().invoke({"n": 0})
    told = [runtime.execution_info for runtime in kept]
    assert all(isinstance(info, ExecutionInfo) for info in told)
    assert [info.node_attempt for info in told if info] == [1, 2]
    assert len({info.task_id for info in told if info}) == 1
    assert told[0] is kept[0].execution_info


def test_copies_of_a_runtime_tell_the_same() -> None:
    kept: list[Runtime[Any]] = []

    def node(state: State, runtime: Runtime[Any]) -> dict[str, int]:
        kept.extend([replace(runtime, previous=1), copy.copy(runtime), runtime])
        kept.append(runtime.merge(Runtime(context="c")))
        return {"n": 1}

    StateGraph(State).add_node(node).add_edge(START, "node").compile().invoke({"n": 0})
    assert len({runtime.execution_info for runtime in kept}) == 1
    assert kept[1] == kept[2]
    assert "execution_info=ExecutionInfo(checkpoint_id=" in repr(kept[2])
    assert kept[2].patch_execution_info(thread_id="t").execution_info.thread_id == "t"  # type: ignore[union-attr]


def test_a_runtime_cannot_be_written_to() -> None:
    """What a node would write there, nobody would read."""
    with pytest.raises(FrozenInstanceError):
        Runtime().context = 5  # pyright: ignore[reportAttributeAccessIssue]
