"""What all tests share: a real Postgres server for those that ask, no garbage of oracles,
hypothesis's profiles, the kind of event loop, and where files lie.

The gate plays the same examples each time: what it says about a commit does not depend on luck.
`pytest --hypothesis-profile=search` looks for new ones, which then become tests of their own.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import settings
from tests.files import keep_in_memory
from tests.loops import choose
from tests.oracle import asks_an_oracle, collected_here
from tests.postgres.server import NoServer, Server

settings.register_profile("gate", derandomize=True, database=None, deadline=None)
settings.register_profile("search", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile("gate")

choose()
keep_in_memory()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Nearly all that is made until the tests begin stays: to search it took seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """All that was imported stays to the end. The collector need not look at it again: whole
    collections, which crashes and forgotten runs ask for by the thousand, took half a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def what_earlier_files_left_stays() -> None:
    """The same, of what the tests of other files imported and keep: with a million such objects, a
    test that crashes a run at each storage request took over four times as long as alone."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def oracles_are_cleared_away(request: pytest.FixtureRequest) -> Iterator[None]:
    """No later test closes what LangGraph left half read."""
    if not asks_an_oracle(request.path):
        yield
        return
    with collected_here():
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """One server per session: that of `PLAIT_TEST_POSTGRES_URL`, or one started here."""
    try:
        server = Server.find()
    except NoServer as why:
        pytest.skip(str(why))
    yield server
    server.stop()


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """A new and empty database."""
    with postgres_server.database() as url:
        yield url
