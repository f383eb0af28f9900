"""Fixtures of the durability tests: savers, processes that are always reaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.testing.processes import Child, fork

from .savers import KINDS, Kind, Place, new_place


@pytest.fixture(params=KINDS)
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A new and empty database: a SQLite file, then one of a Postgres server."""
    kind: Kind = request.param
    server = request.getfixturevalue("postgres_server") if kind == "postgres" else None
    with new_place(kind, tmp_path, server) as place:
        yield place


@pytest.fixture(params=["memory", *KINDS])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each of plait's savers in turn."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    server = request.getfixturevalue("postgres_server") if request.param == "postgres" else None
    with new_place(request.param, tmp_path, server) as place, place.open() as opened:
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
