"""Programs written for LangGraph and its Postgres saver and store do the same on plait's."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

import pytest
from tests.differential import harness
from tests.differential.harness import Case, Env, cases, check, oracle_only

from .server import Server

PROGRAMS = {"a_smoke", "b_functional", "b_savers", "c_stores", "c_stores_async"}
"""Those that look at savers and stores themselves; the others see the same rows through them."""
PEER_FAILS = {
    "b_savers::port_values_of_many_kinds",  # keeps some values as JSON, which holds no NUL
    "c_stores::keys_become_text",  # nor does text
    "c_stores::filters",  # compares in JSON: true is not 1 there
    "c_stores::comparisons_of_numbers",  # compares numbers as text
}
"""What the peer does differently over Postgres than over SQLite and in memory. plait does the same
over all three: a row of docs/compatibility.md, "Filters mean the same in every store"."""


class PostgresEnv(Env):
    """Savers and stores in Postgres: each name of each side has a database of its own."""

    server: Server

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._urls: dict[str, str] = {}

    def _url(self, name: str) -> str:
        if name not in self._urls:
            self._urls[name] = self._open.enter_context(self.server.database())
        return self._urls[name]

    def saver(self, name: str = "main") -> Any:
        return self._sync("checkpoint.postgres", "PostgresSaver", name)

    def store(self, name: str = "main") -> Any:
        return self._sync("store.postgres", "PostgresStore", name)

    def _sync(self, module: str, attribute: str, name: str) -> Any:
        made = getattr(import_module(f"{self._root}.{module}"), attribute)
        opened = self._open.enter_context(made.from_conn_string(self._url(name)))
        opened.setup()
        return opened

    @contextlib.asynccontextmanager
    async def asaver(self, name: str = "main") -> AsyncIterator[Any]:
        async with self._async("checkpoint.postgres.aio", "AsyncPostgresSaver", name) as opened:
            await opened.setup()
            yield opened

    @contextlib.asynccontextmanager
    async def astore(self, name: str = "main") -> AsyncIterator[Any]:
        async with self._async("store.postgres.aio", "AsyncPostgresStore", name) as opened:
            await opened.setup()
            yield opened

    def _async(self, module: str, attribute: str, name: str) -> Any:
        made = getattr(import_module(f"{self._root}.{module}"), attribute)
        return made.from_conn_string(self._url(name))


def over_postgres() -> list[Case]:
    """The chosen cases, once each."""
    chosen = [
        case
        for case in cases()
        if case.kind == "sqlite" and case.program in PROGRAMS and case.title not in PEER_FAILS
    ]
    return [Case(case.program, case.name, "postgres") for case in chosen]


@pytest.mark.skipif(oracle_only(), reason="checks the corpus by its own kinds")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in over_postgres()])
def test_program_gives_the_same_result_on_both(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    env = type("EnvHere", (PostgresEnv,), {"server": postgres_server})
    monkeypatch.setattr(harness, "Env", env)
    check(case)
