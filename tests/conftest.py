"""Fixtures of all tests: a real Postgres server for those that ask for a database of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.postgres.server import NoServer, Server


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
