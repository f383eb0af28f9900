"""Fixtures of the durability tests: savers, processes that are always reaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.testing.processes import Child, fork


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each of plait's savers in turn."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    with SqliteSaver(tmp_path / "log.db") as opened:
        yield opened


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    """`fork`, whose processes do not outlive the test."""
    children: list[Child] = []

    def begin(work: Any) -> Child:
        child = fork(work)
        children.append(child)
        return child

    yield begin
    for child in children:
        child.kill()
