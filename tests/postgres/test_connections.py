"""Connections of the Postgres saver: cut, counted, shared, given by the user; set-ups at once."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from traceback import format_exception
from typing import Annotated, Any, TypedDict

import psycopg
import psycopg_pool
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from plait.checkpoint.log.requests import ReadLane
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.postgres.aio import AsyncPostgresSaver
from plait.checkpoint.postgres.rows import SCHEMA
from plait.errors import ConfigError, StorageError, StorageUnavailableError
from plait.graph import START, StateGraph
from plait.postgres import Steps
from plait.store.postgres import PostgresStore
from plait.testing.processes import fork

from .server import Server, name_of

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    items: Annotated[list[str], operator.add]


def adder(name: str, before: Callable[[], Any] = lambda: None) -> Callable[[State], Any]:
    """A node that adds its name, once `before` has returned."""

    def node(state: State) -> dict[str, list[str]]:
        before()
        return {"items": [name]}

    return node


def chain(saver: Any, length: int = 3, before: Callable[[], Any] = lambda: None) -> Any:
    """A graph of nodes one after the other."""
    builder = StateGraph(State)
    last = START
    for number in range(length):
        builder.add_node(f"n{number}", adder(f"n{number}", before))
        builder.add_edge(last, f"n{number}")
        last = f"n{number}"
    return builder.compile(checkpointer=saver)


CUT_ONE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name = %s ORDER BY random() LIMIT 1"
)
NODES = [f"n{number}" for number in range(3)]


def config(number: int) -> Any:
    return {"configurable": {"thread_id": str(number)}}


# --- cut -----------------------------------------------------------------------------------------


def test_connections_cut_before_every_commit_lose_and_repeat_nothing(
    postgres_server: Server, postgres_url: str
) -> None:
    cut: list[int] = []
    with PostgresSaver(postgres_url) as saver:
        graph = chain(saver, before=lambda: cut.append(postgres_server.terminate(postgres_url)))
        for number in range(5):
            assert graph.invoke({"items": []}, config(number)) == {"items": NODES}
            assert len([*graph.get_state_history(config(number))]) == 5
    assert all(cut)
    assert len(cut) == 15, "no node ran twice"


async def test_async_connections_cut_before_every_commit_lose_and_repeat_nothing(
    postgres_server: Server, postgres_url: str
) -> None:
    cut: list[int] = []
    async with AsyncPostgresSaver(postgres_url) as saver:
        await saver.setup()
        graph = chain(saver, before=lambda: cut.append(postgres_server.terminate(postgres_url)))
        for number in range(5):
            assert await graph.ainvoke({"items": []}, config(number)) == {"items": NODES}
    assert all(cut)
    assert len(cut) == 15, "no node ran twice"


class Cut(PostgresSaver):
    """Loses the connection of its nth transaction once the server has committed it."""

    nth = 0

    def execute(self, request: Any) -> Any:
        if type(request).__name__ == "Transact":
            self.nth -= 1
            if self.nth == 0:
                super().execute(request)  # the server did it, and nobody heard
        return super().execute(request)


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_commit_whose_outcome_was_never_heard_may_be_sent_again(
    postgres_url: str, nth: int
) -> None:
    with Cut(postgres_url) as saver:
        saver.nth = nth
        graph = chain(saver)
        assert graph.invoke({"items": []}, CONFIG) == {"items": NODES}
        steps = [s.metadata["step"] for s in graph.get_state_history(CONFIG)]
        assert steps == [3, 2, 1, 0, -1]
        assert saver.execute(ReadLane("1", "")).owner is None


class Echo(PostgresSaver):
    """Sends each transaction once more after the next one, as a network may deliver it late."""

    late: Any = None

    def execute(self, request: Any) -> Any:
        if type(request).__name__ != "Transact":
            return super().execute(request)
        answer = super().execute(request)
        late, self.late = self.late, request
        if late is not None:
            super().execute(late)
        return answer


def test_commit_that_arrives_again_after_later_ones_changes_nothing(postgres_url: str) -> None:
    with Echo(postgres_url) as saver:
        graph = chain(saver)
        assert graph.invoke({"items": []}, CONFIG) == {"items": NODES}
        assert graph.get_state(CONFIG).values == {"items": NODES}, "the head did not go back"
        assert graph.invoke({"items": ["x"]}, CONFIG) == {"items": [*NODES, "x", *NODES]}
        assert saver.execute(ReadLane("1", "")).owner is None


def next_input(saver: Any, number: int) -> Any:
    """What to go on with after an error: nothing, where the thread has begun."""
    while True:
        try:
            begun = saver.get_tuple(config(number)) is not None
        except StorageError:  # cut again
            continue
        return None if begun else {"items": []}


def test_backends_terminated_at_any_moment_give_typed_errors_or_recovery_and_lose_nothing(
    postgres_server: Server, postgres_url: str
) -> None:
    ran: list[str] = []
    cut: list[Any] = []
    done = Event()

    def harass() -> None:
        with psycopg.connect(postgres_server.url, autocommit=True) as conn:
            while not done.wait(0.01):
                cut.extend(conn.execute(CUT_ONE, [name_of(postgres_url)]).fetchall())

    def converse(saver: Any, number: int) -> int:
        graph = chain(saver, before=lambda: ran.append(str(number)))
        failures = 0
        given: Any = {"items": []}
        while True:
            try:
                result = graph.invoke(given, config(number))
            except StorageError:
                failures += 1
                given = next_input(saver, number)
            else:
                assert result == {"items": NODES}
                return failures

    with PostgresSaver(postgres_url, max_connections=4) as saver:
        saver.setup()
        trouble = Thread(target=harass)
        trouble.start()
        try:
            with ThreadPoolExecutor(8) as pool:
                failures = sum(pool.map(lambda number: converse(saver, number), range(60)))
        finally:
            done.set()
            trouble.join()
        for number in range(60):
            state = chain(saver).get_state(config(number))
            assert state.values == {"items": NODES}
            assert state.next == ()
    print(f"{len(cut)} connections cut, {failures} errors")
    assert len(cut) > 5
    assert len(ran) <= 180 + failures, "a node runs again only after an error"


def test_runs_go_on_through_a_restart_of_the_server(
    postgres_server: Server, postgres_url: str
) -> None:
    if not postgres_server.restarts:
        pytest.skip("the server is not ours to restart")
    with PostgresSaver(postgres_url) as saver:
        restarted: list[bool] = []

        def restart_once() -> None:
            if not restarted:
                restarted.append(True)
                postgres_server.restart()

        graph = chain(saver, before=restart_once)
        assert graph.invoke({"items": []}, CONFIG) == {"items": NODES}
        assert restarted


def test_server_out_of_reach_is_a_typed_error_that_says_where_and_not_the_password() -> None:
    url = "postgresql://user:secret@127.0.0.1:1/shop"
    with PostgresSaver(url) as saver, pytest.raises(StorageUnavailableError) as raised:
        saver.setup()
    assert "'shop' on '127.0.0.1'" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_closed_saver_says_so(postgres_url: str) -> None:
    with PostgresSaver(postgres_url) as saver:
        saver.setup()
    with pytest.raises(StorageUnavailableError, match="closed"):
        chain(saver).invoke({"items": []}, CONFIG)


# --- counted -------------------------------------------------------------------------------------


def test_fifty_runs_share_two_connections_and_give_them_back(
    postgres_server: Server, postgres_url: str
) -> None:
    with PostgresSaver(postgres_url, max_connections=2) as saver:
        seen: list[int] = []
        graph = chain(saver, before=lambda: seen.append(saver._database._pool._free.qsize()))

        def run(number: int) -> Any:
            return graph.invoke({"items": []}, config(number))

        with ThreadPoolExecutor(50) as pool:
            assert [*pool.map(run, range(50))] == [{"items": NODES}] * 50
        assert postgres_server.connections(postgres_url) <= 3, "two, and that of the heartbeat"
        assert saver._database._pool._free.qsize() == 2
    postgres_server.wait_until_left(postgres_url)


async def test_two_hundred_async_runs_share_two_connections_and_give_them_back(
    postgres_server: Server, postgres_url: str
) -> None:
    async with AsyncPostgresSaver(postgres_url, max_connections=2) as saver:
        graph = chain(saver)
        runs = (graph.ainvoke({"items": []}, config(number)) for number in range(200))
        assert await asyncio.gather(*runs) == [{"items": NODES}] * 200
        assert postgres_server.connections(postgres_url) <= 3
    postgres_server.wait_until_left(postgres_url)


async def test_cancelled_runs_give_back_connections_and_threads(
    postgres_server: Server, postgres_url: str
) -> None:
    async with AsyncPostgresSaver(postgres_url, max_connections=2) as saver:
        await saver.setup()
        graph = chain(saver)
        for hops in range(40):
            run = asyncio.create_task(graph.ainvoke({"items": []}, config(hops)))
            for _ in range(hops):
                await asyncio.sleep(0)
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            lane = await saver.aexecute(ReadLane(str(hops), ""))
            assert lane is None or lane.owner is None
        results = await asyncio.gather(
            *(graph.ainvoke({"items": []}, config(1000 + number)) for number in range(10))
        )
        assert results == [{"items": NODES}] * 10
        assert postgres_server.connections(postgres_url) <= 3


def test_one_saver_serves_many_event_loops_one_after_the_other(
    postgres_server: Server, postgres_url: str
) -> None:
    with AsyncPostgresSaver(postgres_url) as saver:
        graph = chain(saver)
        for number in range(10):
            assert asyncio.run(graph.ainvoke({"items": []}, config(number))) == {"items": NODES}
        assert postgres_server.connections(postgres_url) <= 2
    postgres_server.wait_until_left(postgres_url)


# --- given by the user ---------------------------------------------------------------------------


def test_pool_of_the_user_serves_sync_and_async_and_stays_open(postgres_url: str) -> None:
    with ConnectionPool(postgres_url, min_size=1, max_size=2) as pool:
        with PostgresSaver(pool) as saver:
            saver.setup()
            assert chain(saver).invoke({"items": []}, CONFIG) == {"items": NODES}
            again = asyncio.run(chain(saver).ainvoke({"items": ["x"]}, CONFIG))
            assert again == {"items": [*NODES, "x", *NODES]}
        with pool.connection() as conn:
            assert conn.execute("SELECT 1").fetchone() == (1,)


async def test_async_pool_of_the_user_serves_sync_calls_of_other_threads(postgres_url: str) -> None:
    async with AsyncConnectionPool(postgres_url, min_size=1, max_size=2, open=False) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        graph = chain(saver)
        assert await graph.ainvoke({"items": []}, CONFIG) == {"items": NODES}
        state = await asyncio.to_thread(graph.get_state, CONFIG)
        assert state.values == {"items": NODES}
        with pytest.raises(asyncio.InvalidStateError, match="async"):
            graph.get_state(CONFIG)


async def opened(url: str) -> tuple[AsyncConnectionPool[Any], Any]:
    """A pool, and a graph over it."""
    pool = AsyncConnectionPool(url, min_size=1, max_size=2, open=False)
    await pool.open()
    saver = AsyncPostgresSaver(pool)
    await saver.setup()
    return pool, chain(saver)


def test_a_sync_call_says_so_where_the_loop_of_an_async_pool_does_not_run(
    postgres_url: str,
) -> None:
    with asyncio.Runner() as runner:
        pool, graph = runner.run(opened(postgres_url))
        with pytest.raises(asyncio.InvalidStateError, match="does not run"):
            graph.invoke({"items": []}, CONFIG)
        assert runner.run(graph.ainvoke({"items": []}, CONFIG)) == {"items": NODES}
        runner.run(pool.close())


def test_a_sync_call_hears_that_the_loop_of_an_async_pool_has_ended(
    postgres_url: str, postgres_server: Server
) -> None:
    errors: list[Exception] = []

    async def begin(graph: Any, admin: Any) -> Thread:
        """A thread that waits for the database, which will not answer."""

        def read() -> None:
            try:
                graph.get_state(CONFIG)
            except StorageUnavailableError as error:
                errors.append(error)

        admin.execute("LOCK TABLE plait_lanes IN ACCESS EXCLUSIVE MODE")
        thread = Thread(target=read, daemon=True)
        thread.start()
        while not postgres_server.execute(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            f"AND application_name = '{name_of(postgres_url)}'"
        ):
            await asyncio.sleep(0.01)
        return thread

    with asyncio.Runner() as runner, psycopg.connect(postgres_url) as admin:
        _, graph = runner.run(opened(postgres_url))
        thread = runner.run(begin(graph, admin))
        runner.close()
        thread.join(60)
    assert not thread.is_alive()
    [error] = errors
    assert "the event loop of the connections that were given ended" in str(error)


@pytest.mark.parametrize("autocommit", [True, False])
def test_connection_of_the_user_commits_and_stays_open(postgres_url: str, autocommit: bool) -> None:
    with psycopg.connect(postgres_url, autocommit=autocommit) as conn:
        assert chain(PostgresSaver(conn)).invoke({"items": []}, CONFIG) == {"items": NODES}
        with PostgresSaver(postgres_url) as other:
            assert chain(other).get_state(CONFIG).values == {"items": NODES}
        assert not conn.closed


def test_a_saver_and_a_store_take_turns_on_a_connection_that_both_were_given(
    postgres_url: str,
) -> None:
    with (
        psycopg.connect(postgres_url, autocommit=True) as conn,
        ThreadPoolExecutor(1) as threads,
    ):
        saver, store = PostgresSaver(conn), PostgresStore(conn)
        store.setup()
        asked: list[Future[None]] = []

        def transaction() -> Steps[None]:
            yield "SELECT 1", ()
            asked.append(threads.submit(store.put, ("items",), "k", {"v": 1}))
            assert not wait(asked, timeout=0.2).done, "it waits for the end of the transaction"
            yield "SELECT 1", ()

        saver._database.run(transaction, together=True)
        asked[0].result()
        with PostgresStore(postgres_url) as other:
            assert other.get(("items",), "k") is not None


def test_transaction_left_open_by_the_user_is_a_named_error(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as conn:
        conn.execute("SELECT 1")
        with pytest.raises(ConfigError, match="transaction open"):
            chain(PostgresSaver(conn)).invoke({"items": []}, CONFIG)


def test_failed_transaction_of_the_user_is_a_named_error(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        graph = chain(PostgresSaver(conn))
        graph.invoke({"items": []}, CONFIG)
        conn.execute("BEGIN")
        with pytest.raises(psycopg.errors.DivisionByZero):
            conn.execute("SELECT 1/0")
        with pytest.raises(ConfigError, match="roll it back"):
            graph.invoke({"items": []}, config(2))
        conn.rollback()
        assert graph.invoke({"items": []}, config(2)) == {"items": NODES}


def test_pipeline_left_open_by_the_user_is_a_named_error(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        graph = chain(PostgresSaver(conn))
        graph.invoke({"items": []}, CONFIG)
        with conn.pipeline(), pytest.raises(ConfigError, match="pipeline mode"):
            graph.invoke({"items": []}, config(2))
        assert graph.invoke({"items": []}, config(2)) == {"items": NODES}


async def test_async_connection_of_the_user(postgres_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as conn:
        graph = chain(AsyncPostgresSaver(conn))
        runs = (graph.ainvoke({"items": []}, config(number)) for number in range(5))
        assert await asyncio.gather(*runs) == [{"items": NODES}] * 5


def elsewhere(url: str) -> str:
    """A string of the same server that knows no schema, as a program has it that sets its own."""
    return make_conninfo(url, options="")


@contextmanager
def set_after_connecting(url: str, schema: str) -> Iterator[Any]:
    def configure(conn: Any) -> None:
        conn.execute(f"SET search_path TO {schema}, pg_catalog")
        conn.commit()

    with ConnectionPool(elsewhere(url), min_size=1, max_size=1, configure=configure) as pool:
        yield pool


@contextmanager
def set_on_the_connection(url: str, schema: str) -> Iterator[Any]:
    with psycopg.connect(elsewhere(url), autocommit=True) as conn:
        conn.execute(f"SET search_path TO {schema}, pg_catalog")
        yield conn


@contextmanager
def with_options_of_libpq(url: str, schema: str) -> Iterator[Any]:
    with TemporaryDirectory() as folder:
        known = conninfo_to_dict(url)
        file = Path(folder) / "services"
        file.write_text("[agents]\n" + "".join(f"{name}={known[name]}\n" for name in known))
        with (
            pytest.MonkeyPatch.context() as patch,
            ConnectionPool("", min_size=1, max_size=1, kwargs={"service": "agents"}) as pool,
        ):
            patch.setenv("PGSERVICEFILE", str(file))
            yield pool


@contextmanager
def asked_for_anew(url: str, schema: str) -> Iterator[Any]:
    options: Any = lambda: conninfo_to_dict(url)  # noqa: E731
    with ConnectionPool(lambda: "", min_size=1, max_size=1, kwargs=options) as pool:
        yield pool


ASKING = pytest.mark.skipif(
    psycopg_pool.__version__ < "3.3", reason="psycopg_pool 3.3 is the first that asks functions"
)


@pytest.mark.parametrize(
    "given",
    [
        set_after_connecting,
        set_on_the_connection,
        with_options_of_libpq,
        pytest.param(asked_for_anew, marks=ASKING),
    ],
)
def test_the_heartbeat_and_a_forked_child_look_where_given_connections_do(
    postgres_url: str, given: Any
) -> None:
    schema = name_of(postgres_url)
    with given(postgres_url, schema) as target:
        saver = PostgresSaver(target)
        graph = chain(saver)
        assert graph.invoke({"items": []}, CONFIG) == {"items": NODES}
        assert saver._renewer().run(seen) == schema
        child = fork(lambda tell: tell(f"{graph.get_state(CONFIG).values['items']}"))
        assert child.hear() == f"{NODES}"
        assert child.wait() == 0
        saver.close()


def seen() -> Any:
    """Steps that tell which schema a connection looks at."""
    [(schema,)] = yield "SELECT current_schema()", ()
    return schema


@ASKING
async def test_the_heartbeat_asks_an_async_function_for_its_string_on_the_pools_loop(
    postgres_url: str,
) -> None:
    loops: list[Any] = []

    async def conninfo() -> str:
        loops.append(asyncio.get_running_loop())
        return postgres_url

    given: Any = conninfo
    async with AsyncConnectionPool(given, min_size=1, max_size=1, open=False) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        loops.clear()
        found = await asyncio.to_thread(saver._renewer().run, seen)
        assert found == name_of(postgres_url)
        assert loops == [asyncio.get_running_loop()]
        saver.close()


def test_a_child_does_not_guess_what_a_pool_did_to_its_connections(postgres_url: str) -> None:
    with set_after_connecting(postgres_url, name_of(postgres_url)) as pool:
        saver = PostgresSaver(pool)

        def look(tell: Callable[[str], None]) -> None:
            with pytest.raises(ConfigError, match="Call `setup\\(\\)` before the fork"):
                saver.get_tuple(CONFIG)
            tell("refused")

        child = fork(look)
        assert child.hear() == "refused"
        assert child.wait() == 0


@pytest.mark.parametrize(
    "text",
    [
        "postgresql+psycopg://ada:secret@db/agents",
        "postgresql+asyncpg://ada:secret@db/agents?ssl=require",
        "postgresql://ada:secret@db/agents?pool_size=5",
        "postgresql://ada:sec%ret@db/agents",
        "postgresql://ada:x@secret@db/agents",
        "postgresql://ada:x/secret@db/agents",
        "threads.db",
        None,
    ],
)
def test_what_is_no_connection_string_is_a_named_error_without_its_password(text: Any) -> None:
    with pytest.raises(ConfigError, match="postgresql://user:password@host") as raised:
        PostgresSaver(text)
    assert "secret" not in "".join(format_exception(raised.value))


def test_a_closed_connection_is_a_named_error(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as conn:
        pass
    with pytest.raises(StorageUnavailableError, match="connection that was given"):
        PostgresSaver(conn)


def test_a_connection_that_its_maker_closed_says_that_nobody_else_can_open_it(
    postgres_url: str,
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        graph = chain(PostgresSaver(conn))
        graph.invoke({"items": []}, CONFIG)
    for _ in range(2):
        with pytest.raises(StorageUnavailableError, match="only its maker can open another one"):
            graph.invoke({"items": []}, CONFIG)


async def test_an_async_connection_that_its_maker_closed_says_so_too(postgres_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as conn:
        graph = chain(AsyncPostgresSaver(conn))
        await graph.ainvoke({"items": []}, CONFIG)
    for _ in range(2):
        with pytest.raises(StorageUnavailableError, match="only its maker can open another one"):
            await graph.ainvoke({"items": []}, CONFIG)


def test_a_pool_that_is_not_open_is_a_named_error(postgres_url: str) -> None:
    graph = chain(PostgresSaver(ConnectionPool(postgres_url, open=False)))
    with pytest.raises(StorageUnavailableError, match="Open the pool that was given"):
        graph.invoke({"items": []}, CONFIG)


# --- a pooler, a set-up --------------------------------------------------------------------------


def test_every_statement_may_go_to_another_session_as_a_transaction_pooler_sends_them(
    postgres_url: str,
) -> None:
    """Each call gets a connection that was never used before: nothing may live in a session."""
    from plait.postgres.pool import Pool

    class Forgetful(Pool):
        def putconn(self, conn: Any) -> None:
            assert conn._prepared._names == {}, "nothing was prepared"
            conn.close()
            super().putconn(conn)

    with PostgresSaver(postgres_url) as saver:
        saver._database._pool = Forgetful(saver._database.origin, 2)
        assert chain(saver).invoke({"items": []}, CONFIG) == {"items": NODES}
        assert chain(saver).invoke({"items": ["x"]}, CONFIG)["items"][3] == "x"
        saver.delete_thread("1")
        assert saver.get_tuple(CONFIG) is None


def test_set_ups_at_the_same_time_make_one_schema(postgres_url: str) -> None:
    def set_up(_: int) -> None:
        with PostgresSaver(postgres_url) as saver:
            saver.setup()
            saver.setup()

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(set_up, range(16))] == [None] * 16
    with psycopg.connect(postgres_url) as conn:
        rows = conn.execute("SELECT component, version FROM plait_schema_versions").fetchall()
    assert rows == [("log", SCHEMA.latest)]


def test_set_up_that_fails_half_way_leaves_nothing(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute("CREATE TABLE plait_writes (other int)")  # the last table is in the way
        with (
            PostgresSaver(postgres_url) as saver,
            pytest.raises(StorageError, match="plait_writes"),
        ):
            saver.setup()
        assert conn.execute("SELECT to_regclass('plait_lanes')").fetchone() == (None,)
        conn.execute("DROP TABLE plait_writes")
        with PostgresSaver(postgres_url) as saver:
            assert chain(saver).invoke({"items": []}, CONFIG) == {"items": NODES}


def test_database_of_a_newer_plait_is_refused(postgres_url: str) -> None:
    with PostgresSaver(postgres_url) as saver:
        saver.setup()
    with psycopg.connect(postgres_url, autocommit=True) as conn:
        conn.execute("UPDATE plait_schema_versions SET version = 99")
    with (
        PostgresSaver(postgres_url) as saver,
        pytest.raises(StorageUnavailableError, match="newer"),
    ):
        saver.setup()


def test_role_that_may_not_create_tables_uses_what_another_set_up(
    postgres_server: Server, postgres_url: str
) -> None:
    schema = name_of(postgres_url)
    role = f"{schema}_clerk"
    with PostgresSaver(postgres_url) as saver:
        saver.setup()
    postgres_server.execute(f"CREATE ROLE {role} LOGIN")
    postgres_server.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    postgres_server.execute(
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}"
    )
    with PostgresSaver(make_conninfo(postgres_url, user=role)) as saver:
        assert chain(saver).invoke({"items": []}, CONFIG) == {"items": NODES}
    postgres_server.execute("DROP OWNED BY " + role)
    postgres_server.execute("DROP ROLE " + role)


def test_tables_of_langgraph_may_live_beside_ours(postgres_url: str) -> None:
    from langgraph.checkpoint.postgres import PostgresSaver as Peer

    with Peer.from_conn_string(postgres_url) as peer:
        peer.setup()
    with PostgresSaver(postgres_url) as saver:
        assert chain(saver).invoke({"items": []}, CONFIG) == {"items": NODES}


@pytest.mark.parametrize(
    "options",
    [
        *({"max_connections": each} for each in (0, -1, True, 1.5, "2", None)),
        *({"timeout": each} for each in (-1, True, "1", None, float("nan"), timedelta(1))),
    ],
)
def test_options_that_could_never_work_are_refused_at_once(options: Any) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        PostgresSaver("postgresql://nobody@nowhere/nothing", **options)


def test_a_saver_may_wait_as_long_as_it_takes(postgres_url: str) -> None:
    with PostgresSaver(postgres_url, timeout=float("inf"), max_connections=1) as saver:
        saver.setup()
