"""Owns the figures of durability: ``python -m benchmarks.durability [--quick] [--only NAME]``.

Conversations (see ``conversations``) in memory, in a SQLite file and in Postgres, durability
``sync``: bytes stored, CPU and wall time, many at once, resumed; beside LangGraph with its savers,
its opt-in ``DeltaChannel``, DBOS on the same loop, and the floor, which is one plain row per
commit in the same mode. ``sqlite-full`` is SQLite with ``synchronous=FULL``, as the peer's savers
have it; plait's default is ``NORMAL``. Every measurement is a process of its own; CPU leaves out
the database server's.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median

from benchmarks import conversations, report
from benchmarks.implementations import PEER, PLAIT
from benchmarks.measure import growth
from benchmarks.places import server
from benchmarks.report import Bounds, Costs, Figure

_ROUNDS = 3
_MICRO = 1e6
_MILLI = 1e3
_DATABASES = ("sqlite", "postgres")
_MODES = ("sqlite", "sqlite-full", "postgres")

_BYTES = Bounds(must=2, aim=1.4)
_CPU = {
    "memory": Bounds(must=30, aim=100),
    "sqlite": Bounds(must=10, aim=30),
    "sqlite-full": Bounds(must=10, aim=30),
    "postgres": Bounds(must=10, aim=20),
}


@dataclass
class Bench:
    """What is measured, how large, and what was measured so far.

    Args:
        url: the Postgres server.
        quick: smaller and once.
    """

    url: str
    quick: bool
    known: dict[tuple[str, ...], conversations.Costs] = field(
        default_factory=dict[tuple[str, ...], conversations.Costs]
    )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Lengths of conversations."""
        return (100, 300) if self.quick else (100, 300, 1000, 3000)

    @property
    def usual(self) -> int:
        """The length at which contestants are compared."""
        return 300 if self.quick else 1000

    @property
    def crowd(self) -> int:
        """How many conversations go on at the same time."""
        return 200 if self.quick else 1000

    def costs(self, work: str, who: str, kind: str, size: int) -> conversations.Costs:
        """The costs of a measurement, made once; of several rounds, the medians."""
        key = (work, who, kind, str(size))
        if key not in self.known:
            rounds = 1 if self.quick or who not in (PLAIT, "raw") or work == "hold" else _ROUNDS
            url = self.url if kind == "postgres" else None
            found = [conversations.measure(work, who, kind, size, url) for _ in range(rounds)]
            self.known[key] = {name: median(one[name] for one in found) for name in found[0]}
        return self.known[key]


def _ratio(bench: Bench, who: str, kind: str, size: int, state: str = "closed") -> float:
    """Bytes stored of a conversation, by the bytes of its texts."""
    work = "hold" if kind == "memory" else "talk"
    return bench.costs(work, who, kind, size)[state] / (size * conversations.MESSAGE)


def _bytes(bench: Bench, kind: str) -> Figure:
    sizes, usual = bench.sizes, bench.usual
    plait = max(_ratio(bench, PLAIT, kind, size) for size in sizes)
    floor = None if kind == "memory" else _ratio(bench, "raw", kind, usual)
    costs = Costs(_ratio(bench, PEER, kind, usual), plait, floor)
    title = f"bytes stored, {kind}, the most of n = {', '.join(f'{n:,}' for n in sizes)}"
    return Figure(f"bytes-{kind}", title, "x raw", costs, _BYTES, is_ratio=False)


def _bytes_open(bench: Bench) -> Figure:
    each = [_ratio(bench, PLAIT, "sqlite", size, "open") for size in bench.sizes]
    floor = _ratio(bench, "raw", "sqlite", bench.usual, "open")
    shown = " / ".join(f"{ratio:.2f}" for ratio in each)
    title = f"the same with the log beside the open file ({shown})"
    costs = Costs(None, max(each), floor)
    return Figure("bytes-sqlite-open", title, "x raw", costs, _BYTES, is_ratio=False)


def _bytes_growth(bench: Bench, kind: str) -> Figure:
    sizes = bench.sizes
    exponent = growth({n: [_ratio(bench, PLAIT, kind, n) * n] for n in sizes})
    bounds = Bounds(must=1.05, aim=1.0)
    return Figure(f"bytes-{kind}-growth", f"growth of total bytes with n, {kind}", "exponent",
                  Costs(plait=exponent), bounds, is_ratio=False)  # fmt: skip


def _cpu(bench: Bench, kind: str) -> Figure:
    size = bench.usual
    peer, plait = (bench.costs("talk", who, kind, size)["cpu"] * _MICRO for who in (PEER, PLAIT))
    return Figure(f"cpu-{kind}", f"CPU per step, {kind}, {size:,} steps", "us",
                  Costs(peer, plait), _CPU[kind])  # fmt: skip


def _cpu_growth(bench: Bench, kind: str) -> Figure:
    short, long = bench.sizes[0], bench.sizes[-1]
    grown = (
        bench.costs("talk", PLAIT, kind, long)["cpu"]
        / bench.costs("talk", PLAIT, kind, short)["cpu"]
    )
    return Figure(f"cpu-{kind}-growth", f"CPU per step, {kind}, at {long:,} / at {short}", "x",
                  Costs(plait=grown), Bounds(must=2, aim=1.2), is_ratio=False)  # fmt: skip


def _step(bench: Bench, kind: str, clock: str) -> Figure:
    """A whole step, of the graph and its storage, by the floor of its storage."""
    size = bench.usual
    plait, raw = (bench.costs("talk", who, kind, size)[clock] for who in (PLAIT, "raw"))
    driver = {"postgres": "psycopg", "sqlite": "sqlite3"}.get(kind, "sqlite3 (synchronous=FULL)")
    costs = Costs(bench.costs("talk", PEER, kind, size)[clock] / raw, plait / raw, 1.0)
    return Figure(f"step-{kind}-{clock}", f"step by raw {driver} insert, {clock}", "x raw",
                  costs, Bounds(must=4, aim=2), is_ratio=False)  # fmt: skip


def _crowd(bench: Bench, kind: str) -> Figure:
    size = bench.crowd
    costs = Costs(
        *(bench.costs("crowd", who, kind, size)["wall"] * _MILLI for who in (PEER, PLAIT))
    )
    title = f"{size:,} conversations of {conversations.TURNS} steps at once, {kind}, wall"
    return Figure(f"crowd-{kind}", title, "ms/run", costs, Bounds(must=10, aim=30))


def _resume(bench: Bench, kind: str) -> Figure:
    size = bench.usual
    costs = Costs(
        *(bench.costs("resume", who, kind, size)["cpu"] * _MILLI for who in (PEER, PLAIT))
    )
    title = f"resume of an interrupted thread, {size:,} messages, {kind}, CPU"
    return Figure(f"resume-{kind}", title, "ms", costs, Bounds(must=5, aim=20))


def _delta_bytes(bench: Bench) -> Figure:
    size = bench.sizes[-1]
    costs = Costs(*(_ratio(bench, who, "sqlite", size) for who in ("delta", PLAIT)))
    title = f"bytes stored (peer: with DeltaChannel), sqlite, {size:,} steps"
    return Figure("delta-bytes", title, "x raw", costs, Bounds(must=8, aim=14))


def _delta_cpu(bench: Bench) -> Figure:
    size = bench.sizes[-1]
    costs = Costs(
        *(bench.costs("talk", who, "sqlite", size)["cpu"] * _MICRO for who in ("delta", PLAIT))
    )
    title = f"CPU per step (peer: with DeltaChannel), sqlite, {size:,} steps"
    return Figure("delta-cpu", title, "us", costs, Bounds(must=4, aim=8))


def _dbos(bench: Bench, kind: str, clock: str) -> Figure:
    size = bench.usual
    dbos, plait, raw = (
        bench.costs("talk", who, kind, size)[clock] * _MICRO for who in ("dbos", PLAIT, "raw")
    )
    return Figure(f"dbos-{kind}-{clock}", f"step (peer: DBOS on the same loop), {kind}, {clock}",
                  "us", Costs(dbos, plait, raw))  # fmt: skip


def _figures() -> dict[str, Callable[[Bench], Figure]]:
    """The figures by name, in the order of the table."""
    made: dict[str, Callable[[Bench], Figure]] = {}
    for kind in ("memory", *_DATABASES):
        made[f"bytes-{kind}"] = lambda bench, kind=kind: _bytes(bench, kind)
        if kind == "sqlite":
            made["bytes-sqlite-open"] = _bytes_open
        made[f"bytes-{kind}-growth"] = lambda bench, kind=kind: _bytes_growth(bench, kind)
    for kind in ("memory", *_MODES):
        made[f"cpu-{kind}"] = lambda bench, kind=kind: _cpu(bench, kind)
        made[f"cpu-{kind}-growth"] = lambda bench, kind=kind: _cpu_growth(bench, kind)
    for kind in _MODES:
        for clock in ("cpu", "wall"):
            made[f"step-{kind}-{clock}"] = lambda bench, kind=kind, clock=clock: _step(
                bench, kind, clock
            )
    for kind in _MODES:
        made[f"crowd-{kind}"] = lambda bench, kind=kind: _crowd(bench, kind)
    for kind in _DATABASES:
        made[f"resume-{kind}"] = lambda bench, kind=kind: _resume(bench, kind)
    made["delta-bytes"], made["delta-cpu"] = _delta_bytes, _delta_cpu
    for kind in _DATABASES:
        for clock in ("cpu", "wall"):
            made[f"dbos-{kind}-{clock}"] = lambda bench, kind=kind, clock=clock: _dbos(
                bench, kind, clock
            )
    return made


FIGURES = _figures()


def run(names: list[str], bench: Bench) -> Iterator[Figure]:
    """Measure figures one after the other; one that failed carries its error."""
    for name in names:
        try:
            yield FIGURES[name](bench)
        except subprocess.CalledProcessError as error:
            yield Figure(name, "see the traceback above", "", error=str(error))


def main() -> int:
    """Measure, print the table, and say by the exit code whether everything ran."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter conversations, once")
    parser.add_argument("--only", action="append", metavar="NAME", help="a figure or a family")
    parser.add_argument("--url", default=os.environ.get("PLAIT_TEST_POSTGRES_URL"))
    arguments = parser.parse_args()
    wanted = [
        name
        for name in FIGURES
        if not arguments.only or any(f"{name}-".startswith(f"{one}-") for one in arguments.only)
    ]
    if not wanted:
        sys.exit(f"No figure has this name. There are: {', '.join(FIGURES)}.")
    started = time.monotonic()
    figures: list[Figure] = []
    with server(arguments.url) as url:
        for figure in run(wanted, Bench(url, arguments.quick)):
            print(
                f"{time.monotonic() - started:6.1f} s  {figure.name}", file=sys.stderr, flush=True
            )
            figures.append(figure)
    print(report.machine())
    print("Medians, each measurement in a process of its own; ratio = peer / plait.\n")
    print(report.table(figures))
    return int(any(figure.error is not None for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
