"""Row 8: full disks, servers that restart, connections that are cut, pools that are too small.

Each through the sync methods and through the async ones, as seeds say.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from threading import Event, Thread
from time import monotonic
from typing import Any

import psycopg
from tests.durability.graphs import chain as workflow_of
from tests.durability.workflow import CONFIG, EXPECTED, Journal, build
from tests.postgres.server import name_of
from tests.postgres.test_connections import CUT_ONE, NODES, chain, config, next_input

from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import StorageError, StorageUnavailableError
from plait.testing import NetworkFault, PostgresProxy, auntil_done, until_done

from .parts import Figure, Scene

GAVE_UP = 120.0
"""Seconds after which a run that has not ended counts as a deadlock."""
RECOVERY = 5.0
"""Seconds that runs may take to go on once the server is back."""


def api_of(seed: int) -> str:
    """Which methods are used."""
    return ("sync", "async")[seed % 2]


def _finish(graph: Any, given: Any, at: Any, api: str, answer: Any = None) -> Any:
    """Bring a thread to its end through sync or async methods."""
    if api == "async":
        return asyncio.run(auntil_done(graph, given, at, answer=answer))
    return until_done(graph, given, at, answer=answer)


def disk_full(seed: int, scene: Scene) -> Figure:
    """The disk is full from some page on; once there is room, the thread goes on."""
    conn = sqlite3.connect(scene.db.target, isolation_level=None, check_same_thread=False)
    letters, errors, api = Random(seed), 0, api_of(seed)
    items = [letters.randbytes(6000).hex() for _ in range(6)]
    with SqliteSaver(conn) as saver:
        saver.setup()
        nodes = [(f"n{n}", lambda state, item=item: {"items": [item]}) for n, item in
                 enumerate(items)]  # fmt: skip
        graph = workflow_of(saver, *nodes)
        room = conn.execute("PRAGMA page_count").fetchone()[0] + seed // 2
        conn.execute(f"PRAGMA max_page_count = {room}")
        try:
            _finish(graph, {"items": []}, CONFIG, api)
        except StorageUnavailableError:
            errors = 1
        conn.execute("PRAGMA max_page_count = 1000000")
        assert _finish(graph, {"items": []}, CONFIG, api) == {"items": items}
    conn.close()
    return {"runs": 1, f"runs, {api}": 1, "typed errors": errors, "lost": 0}


def _converse(saver: Any, number: int, ran: list[str]) -> int:
    """Bring a thread to its end through whatever happens; how many typed errors there were."""
    graph = chain(saver, before=lambda: ran.append(str(number)))
    errors = 0
    given: Any = {"items": []}
    while True:
        try:
            result = graph.invoke(given, config(number))
        except StorageError:
            errors += 1
            given = next_input(saver, number)
        else:
            assert result == {"items": NODES}, (number, result)
            return errors


async def _aconverse(saver: Any, number: int, ran: list[str], turn: asyncio.Semaphore) -> int:
    """`_converse` with the async API."""
    graph = chain(saver, before=lambda: ran.append(str(number)))
    errors = 0
    given: Any = {"items": []}
    async with turn:
        while True:
            try:
                result = await graph.ainvoke(given, config(number))
            except StorageError:
                errors += 1
                given = await asyncio.to_thread(next_input, saver, number)
            else:
                assert result == {"items": NODES}, (number, result)
                return errors


async def _acrowd(saver: Any, runs: int, together: int, ran: list[str]) -> int:
    """Many runs at once on one event loop."""
    turn = asyncio.Semaphore(together)
    async with asyncio.timeout(GAVE_UP):
        each = (_aconverse(saver, number, ran, turn) for number in range(runs))
        return sum(await asyncio.gather(*each))


def _crowd(saver: Any, runs: int, together: int, api: str) -> tuple[int, list[str]]:
    """Many runs at once, all to their end; (typed errors, a name for each node that ran)."""
    ran: list[str] = []
    if api == "async":
        return asyncio.run(_acrowd(saver, runs, together, ran)), ran
    with ThreadPoolExecutor(together) as pool:
        futures = [pool.submit(_converse, saver, number, ran) for number in range(runs)]
        end = monotonic() + GAVE_UP
        return sum(future.result(max(0.0, end - monotonic())) for future in futures), ran


def _again(saver: Any, runs: int, errors: int, ran: list[str]) -> int:
    """Look at what is stored of a crowd; how many nodes ran again, each after an error."""
    for number in range(runs):
        state = chain(saver).get_state(config(number))
        assert (state.values, state.next) == ({"items": NODES}, ()), number
    again = len(ran) - runs * len(NODES)
    assert 0 <= again <= errors, "a node runs again only after an error"
    return again


@contextmanager
def _meanwhile(act: Callable[[], Any], every: float) -> Iterator[None]:
    """Have something happen again and again, on a thread of its own."""
    done = Event()

    def harass() -> None:
        while not done.wait(every):
            act()

    trouble = Thread(target=harass)
    trouble.start()
    try:
        yield
    finally:
        done.set()
        trouble.join()


def terminated(seed: int, scene: Scene) -> Figure:
    """Backends are terminated all the time, while 20 runs go on at once."""
    cut: list[Any] = []
    with (
        PostgresSaver(scene.db.target, max_connections=4) as saver,
        psycopg.connect(scene.postgres.url, autocommit=True) as conn,
    ):
        saver.setup()

        def terminate() -> None:
            cut.extend(conn.execute(CUT_ONE, [name_of(scene.db.target)]).fetchall())

        with _meanwhile(terminate, 0.02):
            errors, ran = _crowd(saver, 20, 8, api_of(seed))
        again = _again(saver, 20, errors, ran)
    return {"runs": 20, f"runs, {api_of(seed)}": 20, "backends terminated": len(cut),
            "typed errors": errors, "nodes run again after an error": again,
            "lost": 0, "deadlocks": 0}  # fmt: skip


def restarted(seed: int, scene: Scene) -> Figure:
    """The server is restarted while 8 runs go on; they do, within seconds of its return."""
    chance, back, restarts = Random(seed), [0.0], [0]
    at = chance.randrange(8, 20)

    with PostgresSaver(scene.db.target, max_connections=4) as saver:
        saver.setup()

        def trouble() -> None:
            restarts[0] += 1
            if restarts[0] == 1:
                Event().wait(at / 1000)
                scene.postgres.restart()
                back[0] = monotonic()

        with _meanwhile(trouble, 0.01):
            errors, ran = _crowd(saver, 40, 8, api_of(seed))
        took = monotonic() - back[0]
        again = _again(saver, 40, errors, ran)
    assert back[0], "the server was not restarted"
    assert took < RECOVERY, f"{took:.1f} s after the server was back"
    return {"restarts": 1, "runs": 40, f"runs, {api_of(seed)}": 40, "typed errors": errors,
            "lost": 0, "deadlocks": 0, "nodes run again after an error": again,
            "slowest recovery (ms)": int(took * 1000)}  # fmt: skip


def small_pool(seed: int, scene: Scene) -> Figure:
    """200 runs share two connections, which a network cuts all the time."""
    with (
        PostgresProxy(scene.db.target) as proxy,
        PostgresSaver(proxy.url, max_connections=2) as saver,
    ):
        saver.setup()
        with _meanwhile(proxy.cut, 0.05):
            errors, ran = _crowd(saver, 200, 50, api_of(seed))
        again, made = _again(saver, 200, errors, ran), proxy.accepted
    return {"runs": 200, f"runs, {api_of(seed)}": 200, "connections made anew": made,
            "typed errors": errors, "nodes run again after an error": again,
            "lost": 0, "deadlocks": 0}  # fmt: skip


def every_command(seed: int, scene: Scene) -> Figure:
    """The connection is lost at one command of the workflow, before or after the server did it."""
    fault: NetworkFault = ("cut", "cut after")[seed // 2 % 2]
    point, errors, api = 1 + seed // 4, 0, api_of(seed)
    with PostgresProxy(scene.db.target) as proxy, PostgresSaver(proxy.url) as saver:
        saver.setup()
        graph = build(saver, Journal(scene.folder / "journal"), api)
        proxy.fail_at(point, fault)
        for _ in range(3):
            try:
                values = _finish(graph, {"trail": []}, CONFIG, api, answer="yes")
                break
            except StorageError:
                errors += 1
        assert values == EXPECTED, f"{fault} at command {point}, {api}"
        happened = int(proxy.happened(0))
        return {"points": happened, f"points, {api}": happened, "typed errors": errors, "lost": 0}
