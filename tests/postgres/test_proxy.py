"""A network that fails at every command: nothing lost, nothing repeated; and the proxy itself."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from plait.checkpoint.postgres import PostgresSaver
from plait.errors import ConfigError, StorageError, StorageUnavailableError
from plait.testing import PostgresProxy

from .test_connections import NODES, chain, config, next_input


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[PostgresProxy]:
    with PostgresProxy(postgres_url) as opened:
        yield opened


def finish(graph: Any, saver: Any, number: int) -> tuple[Any, int]:
    """Run a thread to its end; the result, and how many typed errors there were."""
    given: Any = {"items": []}
    for errors in count():
        try:
            return graph.invoke(given, config(number)), errors
        except StorageError:
            given = next_input(saver, number)
    raise AssertionError


@pytest.mark.parametrize("fault", ["cut", "cut after"])
def test_a_connection_that_is_lost_at_any_command_loses_and_repeats_nothing(
    postgres_url: str, proxy: PostgresProxy, fault: Any
) -> None:
    ran: list[str] = []
    for point in count(1):
        ran.clear()
        with PostgresSaver(proxy.url) as saver:
            saver.setup()
            graph = chain(saver, before=lambda: ran.append("x"))
            proxy.fail_at(point, fault)
            result, errors = finish(graph, saver, point)
            happened = proxy.happened(0)
            proxy._fault = None
        assert result == {"items": NODES}, f"{fault} at command {point}"
        assert len(ran) <= len(NODES) + errors
        with PostgresSaver(postgres_url) as direct:
            steps = [
                each.metadata["step"] for each in chain(direct).get_state_history(config(point))
            ]
        assert steps == [3, 2, 1, 0, -1], f"{fault} at command {point}"
        if not happened:
            break
    assert point > 5


async def test_async_runs_survive_it_too(proxy: PostgresProxy) -> None:
    for point in range(1, 8):
        async with PostgresSaver(proxy.url) as saver:
            await asyncio.to_thread(saver.setup)
            proxy.fail_at(point, "cut after" if point % 2 else "cut")
            given: Any = {"items": []}
            while True:
                try:
                    result = await chain(saver).ainvoke(given, config(point))
                    break
                except StorageError:
                    given = await asyncio.to_thread(next_input, saver, point)
            assert result == {"items": NODES}


def test_a_message_that_is_cut_in_its_midst_changes_nothing(proxy: PostgresProxy) -> None:
    for size in range(50, 1500, 200):
        with PostgresSaver(proxy.url) as saver:
            saver.setup()
            proxy.cut_after(size)
            result, _ = finish(chain(saver), saver, size)
            assert result == {"items": NODES}


def test_a_server_that_is_gone_is_a_typed_error_and_runs_go_on_when_it_is_back(
    proxy: PostgresProxy,
) -> None:
    with PostgresSaver(proxy.url, timeout=1) as saver:
        saver.setup()
        graph = chain(saver)
        with proxy.down(), pytest.raises(StorageUnavailableError):
            graph.invoke({"items": []}, config(1))
        assert graph.invoke({"items": []}, config(1)) == {"items": NODES}


def test_what_a_network_holds_back_is_waited_for(proxy: PostgresProxy) -> None:
    with PostgresSaver(proxy.url) as saver, ThreadPoolExecutor(1) as pool:
        saver.setup()
        graph = chain(saver)
        for point in (1, 3):
            proxy.fail_at(point, "hang")
            run = pool.submit(graph.invoke, {"items": []}, config(point))
            assert proxy.happened(60)
            assert not run.done()
            proxy.go_on()
            assert run.result(60) == {"items": NODES}
        with proxy.hung():
            run = pool.submit(graph.invoke, {"items": []}, config(9))
        assert run.result(60) == {"items": NODES}


def noticing(conn: Any) -> tuple[int, int, int]:
    """What the system was asked to watch a connection by, in milliseconds and seconds."""
    with socket.fromfd(conn.pgconn.socket, socket.AF_INET, socket.SOCK_STREAM) as found:
        return (
            found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
            found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
            found.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
        )


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has no such limit")
@pytest.mark.parametrize(
    ("said", "watched"),
    [({}, (30_000, 1, 10)), ({"tcp_user_timeout": 7000, "keepalives_idle": 3}, (7_000, 1, 3))],
    ids=["says nothing", "says how long"],
)
def test_a_server_that_goes_without_a_word_is_noticed(
    proxy: PostgresProxy, monkeypatch: pytest.MonkeyPatch, said: Any, watched: Any
) -> None:
    """The packets of a network cannot be dropped here: whether the system is asked to notice."""
    opened: list[Any] = []
    connect, aconnect = psycopg.Connection.connect, psycopg.AsyncConnection.connect

    def connecting(*args: Any, **given: Any) -> Any:
        opened.append(connect(*args, **given))
        return opened[-1]

    async def aconnecting(*args: Any, **given: Any) -> Any:
        opened.append(await aconnect(*args, **given))
        return opened[-1]

    monkeypatch.setattr(psycopg.Connection, "connect", connecting)
    monkeypatch.setattr(psycopg.AsyncConnection, "connect", aconnecting)
    with PostgresSaver(make_conninfo(proxy.url, **said)) as saver:
        saver.setup()
        asyncio.run(chain(saver).ainvoke({"items": []}, config(1)))
        assert {type(conn) for conn in opened} == {psycopg.Connection, psycopg.AsyncConnection}
        assert {noticing(conn) for conn in opened if not conn.closed} == {watched}


def test_the_proxy_counts_delays_and_ends(postgres_url: str) -> None:
    with PostgresProxy(postgres_url) as proxy:
        with psycopg.connect(proxy.url, autocommit=True) as conn:
            before = proxy.commands
            proxy.delay = 0.001
            assert conn.execute("SELECT 1").fetchone() == (1,)
            assert proxy.commands == before + 1
            assert (proxy.accepted, proxy.connections) == (1, 1)
            assert proxy.cut() == 1
            with pytest.raises(psycopg.OperationalError):
                conn.execute("SELECT 1")
        with pytest.raises(ConfigError, match="cut after"):
            proxy.fail_at(1, "cut aft")  # type: ignore[arg-type]
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(proxy.url)
    proxy.close()


def test_a_server_that_cannot_be_reached_looks_like_one_that_is_down() -> None:
    proxy = PostgresProxy("postgresql://127.0.0.1:1/none")
    with proxy, pytest.raises(psycopg.OperationalError):
        psycopg.connect(proxy.url)
