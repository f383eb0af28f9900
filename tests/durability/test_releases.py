"""Database files that each release wrote, kept in the repository: all load, and threads go on."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.sqlite import SqliteSaver
from plait.types import Command

from .releases.make import DONE, HERE, PLAIN, WAITING, build

FILES = sorted(HERE.glob("*/threads.db"))
ITEMS = ["start", "plan", "start", "plan", "deep"]


def test_the_file_of_this_release_is_among_them() -> None:
    assert HERE / version("plait") / "threads.db" in FILES


@pytest.fixture(params=FILES, ids=lambda path: path.parent.name)
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with SqliteSaver(shutil.copy(request.param, tmp_path / "threads.db")) as saver:
        yield saver


def test_a_finished_thread_reads_back_whole(saver: Any) -> None:
    state = build(saver).get_state(DONE)
    assert state.next == ()
    assert state.values["items"] == [*ITEMS, "yes"]
    assert state.values["facts"] == {f"fact{n}": n for n in range(4)}
    assert [message.content for message in state.values["messages"]] == ["hello", "well?"]
    assert state.values["plain"] == PLAIN
    steps = [each.metadata["step"] for each in build(saver).get_state_history(DONE)]
    assert steps == list(range(5, -2, -1))


def test_a_waiting_thread_is_answered_and_goes_on(saver: Any) -> None:
    graph = build(saver)
    assert [each.value for each in graph.get_state(WAITING).interrupts] == ["go on?"]
    assert graph.invoke(Command(resume="no"), WAITING)["items"] == [*ITEMS, "no"]


def test_old_checkpoints_are_forked(saver: Any) -> None:
    graph = build(saver)
    history = list(graph.get_state_history(DONE))
    assert len(history) > 1
    for snapshot in history:
        fork = graph.update_state(snapshot.config, {"items": ["fork"]}, as_node="ask")
        assert graph.get_state(fork).values["items"][-1] == "fork"
