"""The rows of Postgres answer as plain dicts would, whatever travels with whom."""

from __future__ import annotations

from typing import Any

import pytest

from plait.checkpoint.log.requests import Together
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.postgres.rows import may_join

from .row_stores import play
from .server import Server


@pytest.mark.parametrize("seed", range(6))
def test_rows_in_postgres_are_those_of_plain_dicts(postgres_server: Server, seed: int) -> None:
    with postgres_server.database() as url, PostgresSaver.from_conn_string(url) as saver:
        play(saver.execute, seed, 60)


@pytest.mark.parametrize("seed", range(6, 9))
def test_so_are_those_of_commits_that_went_together(postgres_server: Server, seed: int) -> None:
    with postgres_server.database() as url, PostgresSaver.from_conn_string(url) as saver:

        def execute(request: Any) -> Any:
            if not may_join(request):
                return saver.execute(request)
            [answer] = saver.execute(Together([request]))
            return answer

        play(execute, seed, 60)
