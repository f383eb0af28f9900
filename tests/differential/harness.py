"""Runs one source file on langgraph (the oracle) and on plait, and compares what it returns.

A program is a file in `programs/`, written against LangGraph 1.x only. Its cases are the functions
`case_<name>(env)`, sync or async. Each returns any value: states, lists of stream parts, snapshots,
`env.error(...)` results. The file is loaded twice: as it is, and with its import roots replaced
(`loading.py`).

What `env` offers (see `Env`):
    env.saver(name="main")     a saver; memory or sqlite, the case then runs once on each. The same
                               name again gives the same database (sqlite: over a new connection,
                               as a new process would see it); another name, another database.
    async with env.asaver(name="main") as saver       its async twin
    env.store(name="main")     a store; memory or sqlite, as with savers
    async with env.astore(name="main") as store       its async twin
    env.error(lambda: ...)     runs it, returns the class of its error (or ("returned", value))
    await env.aerror(coro)     its async twin
    env.tmp_path  env.kind     a fresh directory; "memory", "sqlite" or "" when no saver is used

Rules for programs:
  - Return what matters and nothing that the peer leaves undefined: parallel tasks finish in any
    order, so sort `updates` parts (or lists that several nodes append to from outside the state)
    before returning them.
  - Keep module-level state out: both sides load the file afresh, but each only once.
  - What several programs share is a file beside them that holds no case, and no underscore in its
    name: `from .scripted import model_of`. Each side loads it for itself.
  - Ids, checkpoint ids and timestamps need no care: `normal.py` replaces them by placeholders.
  - Errors compare by class: plait's may be a subclass of the peer's. Texts are not compared.
  - An exception that leaves a case on the oracle is a fault of the corpus.

To run: `python -m pytest tests/differential -k "a_graph"`, or without pytest
    python -m tests.differential.harness [--oracle-only] [--show] [PATTERN ...]
where PATTERN is a part of a case id such as `a_graph::fan_out[sqlite]`. `--oracle-only` (or
PLAIT_ORACLE_ONLY=1, for pytest too) checks the corpus itself: each case runs twice on the oracle
and must give the same result; `--show` prints the oracle's result.
"""

import argparse
import ast
import asyncio
import contextlib
import inspect
import os
import pprint
import signal
import sqlite3
import sys
import tempfile
import traceback
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from tests.oracle import collected_here

from .differences import COMPATIBILITY, KNOWN_DIFFERENCES, NOT_YET
from .loading import Side, load, programs
from .normal import ErrorInfo, difference, errors_of_another_kind, normalise

WATCHDOG_SECONDS = 60  # A run that hangs is stopped and reported, so that the rest still runs.
ORACLE_TRIES = 3  # How often an oracle that races with itself is asked for its answer.


@dataclass(frozen=True)
class Case:
    """One function of one program, on one kind of saver ("" when it uses none)."""

    program: str
    name: str
    kind: str

    @property
    def title(self) -> str:
        """The id without its saver, as `KNOWN_DIFFERENCES` spells it."""
        return f"{self.program}::{self.name}"

    @property
    def id(self) -> str:
        """The id of the test item."""
        return f"{self.title}[{self.kind}]" if self.kind else self.title

    @property
    def replay(self) -> str:
        """The one command that runs this case alone."""
        return f".venv/bin/python -m tests.differential.harness --show '{self.id}'"


class Env:
    """What a case is given: savers of its kind, a directory, and a catcher of errors."""

    def __init__(self, side: Side, kind: str, tmp_path: Path) -> None:
        self.kind = kind
        self.tmp_path = tmp_path
        self._root = side
        self._memory: dict[str, Any] = {}
        self._stores: dict[str, Any] = {}
        self._open = contextlib.ExitStack()

    def saver(self, name: str = "main") -> Any:
        """A sync saver on the database `name`."""
        if self.kind == "memory":
            return self._memory_saver(name)
        sqlite = import_module(f"{self._root}.checkpoint.sqlite")
        connection = sqlite3.connect(self._file(name), check_same_thread=False)
        self._open.callback(connection.close)
        saver = sqlite.SqliteSaver(connection)
        if hasattr(saver, "close"):  # plait's savers own more than the connection
            self._open.callback(saver.close)
        return saver

    @contextlib.asynccontextmanager
    async def asaver(self, name: str = "main") -> AsyncIterator[Any]:
        """An async saver on the database `name`, inside `async with`."""
        if self.kind == "memory":
            yield self._memory_saver(name)
            return
        aio = import_module(f"{self._root}.checkpoint.sqlite.aio")
        async with aio.AsyncSqliteSaver.from_conn_string(self._file(name)) as saver:
            yield saver

    def store(self, name: str = "main") -> Any:
        """A sync store on the database `name`."""
        if self.kind == "memory":
            return self._memory_store(name)
        sqlite = import_module(f"{self._root}.store.sqlite")
        store = self._open.enter_context(sqlite.SqliteStore.from_conn_string(self._items(name)))
        store.setup()
        return store

    @contextlib.asynccontextmanager
    async def astore(self, name: str = "main") -> AsyncIterator[Any]:
        """An async store on the database `name`, inside `async with`."""
        if self.kind == "memory":
            yield self._memory_store(name)
            return
        aio = import_module(f"{self._root}.store.sqlite.aio")
        async with aio.AsyncSqliteStore.from_conn_string(self._items(name)) as store:
            await store.setup()
            yield store

    def error(self, call: Callable[[], Any]) -> Any:
        """The error that `call` raises, as comparable data; `("returned", value)` if none."""
        try:
            return ("returned", call())
        except Exception as error:
            return ErrorInfo.of(error)

    async def aerror(self, awaitable: Awaitable[Any]) -> Any:
        """The error that awaiting raises; `("returned", value)` if none."""
        try:
            return ("returned", await awaitable)
        except (Exception, asyncio.CancelledError) as error:
            return ErrorInfo.of(error)

    def close(self) -> None:
        """Closes every connection that was opened."""
        self._open.close()

    def _memory_saver(self, name: str) -> Any:
        if name not in self._memory:
            memory = import_module(f"{self._root}.checkpoint.memory")
            self._memory[name] = memory.InMemorySaver()
        return self._memory[name]

    def _memory_store(self, name: str) -> Any:
        if name not in self._stores:
            memory = import_module(f"{self._root}.store.memory")
            self._stores[name] = memory.InMemoryStore()
        return self._stores[name]

    def _file(self, name: str) -> str:
        return str(self.tmp_path / f"{name}.sqlite")

    def _items(self, name: str) -> str:
        return str(self.tmp_path / f"{name}.items.sqlite")


def cases() -> list[Case]:
    """Every case of every program, found by reading the files, without importing anything."""
    return [case for path in programs() for case in _cases_of(path)]


@cache
def _cases_of(path: Path) -> tuple[Case, ...]:
    tree = ast.parse(path.read_text(), filename=str(path))
    functions = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    users = _saver_users(functions)
    return tuple(
        Case(path.stem, name.removeprefix("case_"), kind)
        for name in functions
        if name.startswith("case_")
        for kind in (("memory", "sqlite") if name in users else ("",))
    )


def _saver_users(functions: dict[str, Any]) -> set[str]:
    """The functions that ask for a saver or store, themselves or through others of the file."""
    asks: set[str] = set()
    calls: dict[str, set[str]] = {}
    for name, node in functions.items():
        inner = list(ast.walk(node))
        if any(isinstance(n, ast.Attribute) and _asks(n) for n in inner):
            asks.add(name)
        calls[name] = {n.id for n in inner if isinstance(n, ast.Name) and n.id in functions}
    while more := {name for name in functions if name not in asks and calls[name] & asks}:
        asks |= more
    return asks


def _asks(attribute: ast.Attribute) -> bool:
    """Whether `env.saver` or the like is meant; other objects have a `store`, too."""
    owner = attribute.value
    is_env = isinstance(owner, ast.Name) and owner.id == "env"
    return attribute.attr in ("saver", "asaver") or (
        is_env and attribute.attr in ("store", "astore")
    )


def run(case: Case, side: Side) -> Any:
    """The result of a case on one side, as plain data; its exception propagates."""
    function = getattr(load(case.program, side), f"case_{case.name}")
    with tempfile.TemporaryDirectory(prefix="plait-diff-") as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings are compared by tests of their own
        env = Env(side, case.kind, Path(directory))
        try:
            with watchdog(), cleared_away(side):
                if inspect.iscoroutinefunction(function):
                    return normalise(asyncio.run(function(env)))
                return normalise(function(env))
        finally:
            env.close()


@contextlib.contextmanager
def cleared_away(side: Side) -> Iterator[None]:
    """The oracle leaves nothing behind for whoever comes later.

    Haystack asks the classes of `Annotated[...]` for annotations. Python then keeps an empty dict
    of them there, which every such alias seems to have as its own, and LangGraph takes the next one
    that is the state of a graph for a schema of keys.
    """
    if side != "langgraph":
        yield
        return
    with collected_here():
        yield
    for kind in type(Annotated[Any, ""]).__mro__:
        if "__annotations__" in vars(kind):
            del kind.__annotations__


@contextlib.contextmanager
def watchdog(
    seconds: int = WATCHDOG_SECONDS, error: type[BaseException] = TimeoutError
) -> Iterator[None]:
    """Stops what hangs, by an error that is raised in it."""

    def stop(*_: Any) -> None:
        raise error(f"the case did not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Disagreement(AssertionError):
    """The two sides differ (or, for a known difference, no longer do)."""


def check(case: Case) -> Any:
    """Runs a case on both sides and compares; returns the oracle's result.

    An oracle that races with itself has several right answers: it is asked again, `ORACLE_TRIES`
    times at most, until one of them is plait's. plait itself has one try.

    Raises:
        Disagreement: with the first differing path, both values, and the command to replay it.
    """
    if oracle_only():
        expected, again = run(case, "langgraph"), run(case, "langgraph")
        if found := difference(expected, again):
            raise Disagreement(f"{case.id}: the oracle itself is not deterministic\n{found}")
        return expected
    load(case.program, "plait")  # a missing module or name is never a known difference
    ours: list[Any] = []
    for tries_left in reversed(range(ORACLE_TRIES)):
        try:
            expected = run(case, "langgraph")
            ours = ours or [_outcome(case)]
            _judge(case, expected, ours[0])
            return expected
        except Exception:
            if not tries_left:
                raise
    raise AssertionError("unreachable: the last try returns or raises")


def _judge(case: Case, expected: Any, ours: Any) -> None:
    found = f"{ours}langgraph: {expected!r}" if isinstance(ours, _Raised) else None
    found = found or difference(expected, ours)
    row = KNOWN_DIFFERENCES.get(case.title)
    if row is None and found is not None:
        raise Disagreement(f"{case.id}: plait differs\n{found}\nreplay: {case.replay}")
    if row is not None and found is None:
        raise Disagreement(
            f"{case.id}: no longer differs; delete it from differences.py, and the row {row!r}"
        )
    if row is not None:
        _look_at_row(case, row, errors_of_another_kind(expected, ours))


def _look_at_row(case: Case, row: str, errors: set[str]) -> None:
    """There is the row, and it names each of the peer's errors that has another kind here."""
    lines = COMPATIBILITY.read_text().splitlines()
    text = next((line for line in lines if line.startswith(f"| **{row}** |")), None)
    if text is None:
        raise Disagreement(f"{case.id}: {COMPATIBILITY} has no row {row!r}")
    if unnamed := {name for name in errors if f"`{name}`" not in text}:
        raise Disagreement(
            f"{case.id}: plait raises another kind of error than {sorted(unnamed)}, and the row "
            f"{row!r} does not name that"
        )


class _Raised(str):
    """What plait raised instead of a result, as text."""


def _outcome(case: Case) -> Any:
    try:
        return run(case, "plait")
    except (Exception, asyncio.CancelledError):
        return _Raised(f"plait raised:\n{traceback.format_exc()}")


def _brief(error: BaseException) -> str:
    """The error and where in our own files it came from; nobody needs the peer's frames."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "site-packages" not in frame.filename]
    return "".join([*traceback.format_list(ours), *traceback.format_exception_only(error)])


def oracle_only() -> bool:
    """Whether only the corpus is being checked."""
    return os.environ.get("PLAIT_ORACLE_ONLY") == "1"


def main(arguments: list[str] | None = None) -> int:
    """The command line: prints one line per case and every failure; 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.harness")
    parser.add_argument("patterns", nargs="*", help="parts of case ids")
    parser.add_argument("--oracle-only", action="store_true", help="check the corpus itself")
    parser.add_argument("--show", action="store_true", help="print the oracle's result")
    options = parser.parse_args(arguments)
    if options.oracle_only:
        os.environ["PLAIT_ORACLE_ONLY"] = "1"
    failed = ran = 0
    for case in cases():
        if options.patterns and not any(p in case.id for p in options.patterns):
            continue
        ran += 1
        later = NOT_YET.get(case.title) if not oracle_only() else None
        try:
            result = check(case)
        except Exception as error:
            if later is not None:
                print(f"later  {case.id} (issue {later})")
                continue
            failed += 1
            text = str(error) if isinstance(error, Disagreement) else _brief(error)
            print(f"FAILED {case.id}\n{text}\n")
        else:
            if later is not None:
                failed += 1
                print(f"FAILED {case.id}\nit passes: delete it from NOT_YET\n")
                continue
            print(f"ok     {case.id}")
            if options.show:
                pprint.pp(result, width=110)
    print(f"{ran} cases, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
