"""Owns the conversations: workloads over a database, each in a process of its own.

A message of 1 KB that does not compress per step, `add_messages`, durability ``sync``. A contestant
is plait, the peer, the peer with its opt-in ``DeltaChannel`` (``delta``), DBOS on the same loop
(``dbos``), or the floor: one plain row of the same text per commit (``raw``), by sqlite3 or psycopg
with the same modes.

Run as a program, the module is one measurement, whose costs it prints as a line of JSON:
``python -m benchmarks.conversations WORK CONTESTANT KIND SIZE [URL]``.
"""

import asyncio
import json
import subprocess
import sys
import time
import tracemalloc
from base64 import b85encode
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypedDict

from benchmarks.implementations import PEER, Implementation
from benchmarks.places import Place, async_saver, place, saver

MESSAGE = 1024
TURNS = 5
"""Steps of each conversation of a crowd."""
_WARM = 20
_OTHERS = 10
_OPTIONS: Any = {"recursion_limit": 1_000_000}
_RESUMES = 20

Costs = dict[str, float]


def measure(work: str, contestant: str, kind: str, size: int, url: str | None) -> Costs:
    """Costs of one measurement, made in a new process.

    Args:
        work: "talk" (CPU and wall seconds per step; bytes stored, open and closed), "hold" (bytes
            that a saver in memory keeps), "resume" (seconds per resume) or "crowd" (runs per
            second).
        contestant: whom to measure.
        kind: where it keeps its threads, see `places.KINDS`.
        size: steps, messages or runs.
        url: the Postgres server.

    Raises:
        subprocess.CalledProcessError: it failed; its traceback is on stderr.
    """
    command = [sys.executable, "-m", "benchmarks.conversations", work, contestant, kind, str(size)]
    done = subprocess.run(
        [*command, *([url] if url else [])],
        cwd=Path(__file__).parents[1],
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout.splitlines()[-1])


def texts(count: int) -> list[str]:
    """Texts that do not compress."""
    random = Random(1)
    return [
        b85encode(random.randbytes(MESSAGE * 4 // 5 + 1))[:MESSAGE].decode() for _ in range(count)
    ]


def _appended(state: list[Any], writes: Any) -> list[Any]:
    """A reducer for the peer's `DeltaChannel`: cheaper than `add_messages`, since it has no ids."""
    return [*state, *(m for w in writes for m in (w if isinstance(w, list) else [w]))]


def _schema(impl: Implementation, *, delta: bool) -> Any:
    if not delta:
        return impl.MessagesState
    from langgraph.channels import DeltaChannel

    return TypedDict("Deltas", {"messages": Annotated[list[Any], DeltaChannel(_appended)]})


def _graph(impl: Implementation, kept: Any, said: list[str], *, delta: bool = False) -> Any:
    message = impl.AIMessage

    def say(state: Any) -> dict[str, Any]:
        return {"messages": [message(said[len(state["messages"]) - 1])]}

    def more(state: Any) -> str:
        return "say" if len(state["messages"]) <= len(said) else impl.END

    builder = impl.StateGraph(_schema(impl, delta=delta)).add_node("say", say)
    builder = builder.add_edge(impl.START, "say").add_conditional_edges("say", more)
    return builder.compile(checkpointer=kept)


def _thread(name: str) -> Any:
    return {**_OPTIONS, "configurable": {"thread_id": name}}


def _opening(impl: Implementation) -> Any:
    return {"messages": [impl.message("HumanMessage")("go")]}


def _timed(run: Callable[[], Any], per: int) -> Costs:
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu / per, "wall": wall / per}


# --- one long conversation ------------------------------------------------------------------------


def talk(contestant: str, at: Place, steps: int) -> Costs:
    """One conversation; also what it left behind, before and after its database is closed."""
    with ExitStack() as stack:
        if contestant == "raw":
            run, empty = _raw(at, steps, stack)
        elif contestant == "dbos":
            run, empty = _dbos(at, steps, stack)
        else:
            run, empty = _conversation(contestant, at, steps, stack)
        costs = _timed(run, steps)
        costs["open"] = at.size() - empty
    costs["closed"] = at.size() - empty
    return costs


def _conversation(
    contestant: str, at: Place, steps: int, stack: ExitStack
) -> tuple[Callable[[], Any], int]:
    impl = Implementation(PEER if contestant == "delta" else contestant)
    kept = stack.enter_context(saver(impl, at))
    empty = at.size()
    graph = _graph(impl, kept, texts(steps), delta=contestant == "delta")

    def run() -> None:
        said = graph.invoke(_opening(impl), _thread("1"), durability="sync")
        assert len(said["messages"]) == steps + 1

    return run, empty


def _raw(at: Place, steps: int, stack: ExitStack) -> tuple[Callable[[], Any], int]:
    said = [text.encode() for text in texts(steps)]
    if at.database == "sqlite":
        import sqlite3

        conn: Any = sqlite3.connect(at.target, isolation_level=None)
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute(f"PRAGMA synchronous = {'FULL' if at.kind == 'sqlite-full' else 'NORMAL'}")
        sql = "INSERT INTO said VALUES (?, ?)"
    else:
        import psycopg

        conn = psycopg.connect(at.target, autocommit=True, prepare_threshold=None)
        sql = "INSERT INTO said VALUES (%s, %s)"
    stack.callback(conn.close)
    kind = "blob" if at.database == "sqlite" else "bytea"
    conn.execute(f"CREATE TABLE said (n integer PRIMARY KEY, text {kind} NOT NULL)")

    def run() -> None:
        for row in enumerate(said):
            conn.execute(sql, row)

    return run, at.size()


def _dbos(at: Place, steps: int, stack: ExitStack) -> tuple[Callable[[], Any], int]:
    """The same loop as a durable function whose steps return the messages."""
    from dbos import DBOS

    said = texts(steps)
    url = at.target.replace("postgresql:", "postgresql+psycopg:")
    options: Any = {
        "name": "bench",
        "system_database_url": f"sqlite:///{url}" if at.database == "sqlite" else url,
        "log_level": "ERROR",
        "run_admin_server": False,
    }
    DBOS(config=options)

    @DBOS.step()
    def say(n: int) -> str:
        return said[n]

    @DBOS.workflow()
    def converse(count: int) -> int:
        return len([say(n) for n in range(count)])

    DBOS.launch()
    stack.callback(DBOS.destroy)
    return lambda: converse(steps), at.size()


def hold(contestant: str, at: Place, steps: int) -> Costs:
    """Bytes that a saver in memory keeps of one conversation.

    Reducers and caches keep something of the last few runs, whatever their saver. So others run
    before and after, with savers that go: what is kept of them is the same both times.
    """
    impl = Implementation(contestant)
    graph = _graph(impl, impl.InMemorySaver(), texts(steps))

    def others() -> None:
        for _ in range(_OTHERS):
            other = _graph(impl, impl.InMemorySaver(), texts(_WARM))
            other.invoke(_opening(impl), _thread("1"), durability="sync")

    tracemalloc.start()
    others()
    empty = at.size()
    graph.invoke(_opening(impl), _thread("1"), durability="sync")
    others()
    return {"closed": at.size() - empty}


# --- an interrupted thread ------------------------------------------------------------------------


def resume(contestant: str, at: Place, messages: int) -> Costs:
    """Answering a question on a thread that holds many messages, each time with a new graph."""
    impl = Implementation(contestant)
    said, asks, end = texts(messages), impl.type("interrupt"), impl.END
    message = impl.AIMessage

    def say(state: Any) -> dict[str, Any]:
        return {"messages": [message(said[len(state["messages"]) - 1])]}

    def ask(state: Any) -> dict[str, Any]:
        asks("go on?")
        return {}

    def build(kept: Any) -> Any:
        builder = impl.StateGraph(impl.MessagesState).add_node("say", say).add_node("ask", ask)
        builder = builder.add_edge(impl.START, "say").add_conditional_edges(
            "say", lambda s: "say" if len(s["messages"]) <= messages else "ask"
        )
        builder = builder.add_conditional_edges("ask", lambda s: "ask", ["ask", end])
        return builder.compile(checkpointer=kept)

    with saver(impl, at) as kept:
        build(kept).invoke(_opening(impl), _thread("1"), durability="sync")
        graph = build(kept)

        def again() -> None:
            for _ in range(_RESUMES):
                answer = impl.type("Command")(resume="yes")
                told = graph.invoke(answer, _thread("1"), durability="sync")
                assert len(told["messages"]) == messages + 1

        return _timed(again, _RESUMES)


# --- many short conversations ---------------------------------------------------------------------


def crowd(contestant: str, at: Place, runs: int) -> Costs:
    """Conversations of a few steps, all at the same time, in one event loop."""
    impl = Implementation(contestant)
    said, message, end = texts(TURNS), impl.AIMessage, impl.END
    human = impl.message("HumanMessage")  # looked up once: an import costs as much as a node

    async def say(state: Any) -> dict[str, Any]:
        return {"messages": [message(said[len(state["messages"]) - 1])]}

    async def more(state: Any) -> str:
        return "say" if len(state["messages"]) <= TURNS else end

    async def all_of_them() -> Costs:
        async with async_saver(impl, at) as kept:
            builder = impl.StateGraph(impl.MessagesState).add_node("say", say)
            builder = builder.add_edge(impl.START, "say").add_conditional_edges("say", more)
            graph = builder.compile(checkpointer=kept)

            async def one(name: str) -> None:
                given = {"messages": [human("go")]}
                told = await graph.ainvoke(given, _thread(name), durability="sync")
                assert len(told["messages"]) == TURNS + 1

            await asyncio.gather(*(one(f"warm{n}") for n in range(_WARM)))
            cpu, wall = time.process_time(), time.perf_counter()
            await asyncio.gather(*(one(str(n)) for n in range(runs)))
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            return {"cpu": cpu / runs, "wall": wall / runs}

    return asyncio.run(all_of_them())


_WORKS = {"talk": talk, "hold": hold, "resume": resume, "crowd": crowd}


def main(work: str, contestant: str, kind: str, size: str, url: str | None = None) -> None:
    """Measure once, after a small run that pays for what is first used."""
    if work == "talk" and contestant != "dbos":
        with place(kind, url) as at:
            talk(contestant, at, _WARM)
    with place(kind, url) as at:
        print(json.dumps(_WORKS[work](contestant, at, int(size))))


if __name__ == "__main__":
    main(*sys.argv[1:])
