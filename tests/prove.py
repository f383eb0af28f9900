"""The proof of durability: `python -m tests.prove` (`make prove`) does the full counts.

Each row prints its figures as soon as it is done; they go to `docs/proof.json` and `docs/proof.md`,
and the README quotes some.
A failure prints the command that replays it. `--row 4` does one row, `--sample` a few seconds'
worth, `--times 50` fifty times the counts; the default test run does the sample
(`tests/test_proof.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic
from traceback import format_exc
from typing import Any

from tests.durability.savers import new_place
from tests.postgres.server import NoServer, Server
from tests.proof import company, kills, network, owners, statements, suites
from tests.proof.parts import Figure, Part, Row, Scene, added

from plait.version import __version__

DOCS = Path(__file__).parent.parent / "docs"
FIGURES, TABLE = DOCS / "proof.json", DOCS / "proof.md"
README = DOCS.parent / "README.md"
QUOTATION = re.compile("(?<=<!-- written by make prove -->\n).*?(?=\n\n)", re.DOTALL)
"""Where the README quotes figures."""

ROWS: dict[int, Row] = {
    1: Row("SIGKILL before and after storage calls of workflows with fan-out, subgraphs, "
           "interrupts, calls and error handlers", "tests/durability/test_kill.py",
           (Part("SQLite", kills.kills, 1000, 8),
            Part("Postgres", kills.kills, 200, 3, "postgres"))),
    2: Row("every nth storage call raises, commits and then raises, or hangs",
           "tests/durability/test_faults.py",
           (Part("SQLite", kills.faults, 240, 10),
            Part("Postgres", kills.faults, 240, 4, "postgres"))),
    3: Row("simulated schedules with crashes and zombies, against a reference model", "tests/sim",
           (Part("orders, crashes, zombies", suites.schedules, 400, 4),
            Part("zombies after the end", suites.stale, 2000, 40))),
    4: Row("2, 8, 32 processes resume one thread", "tests/durability/test_owners.py",
           (Part("SQLite", owners.races, 200, 20, light=owners.few),
            Part("Postgres", owners.races, 200, 20, "postgres", light=owners.few))),
    5: Row("the owner is stopped past its lease, another run finishes, the owner goes on",
           "tests/durability/test_owners.py",
           (Part("SQLite", owners.zombies, 50, 1),
            Part("Postgres", owners.zombies, 50, 1, "postgres"))),
    6: Row("mutated and swapped records, payloads of published attacks",
           "tests/checkpoint/test_serde_fuzz.py, tests/checkpoint/test_encrypted.py, "
           "tests/importing/test_hostile_bytes.py",
           (Part("records", suites.tampering, 1, 0),
            Part("import", suites.attacks, 1, 0))),
    7: Row("hostile thread ids, namespaces, filter keys and operators",
           "tests/store/test_oracle.py, plait.testing.savers",
           (Part("SQLite", suites.names, 50, 2),
            Part("Postgres", suites.names, 50, 1, "postgres"),
            Part("SQL for SQLite", statements.in_sqlite, 8, 1),
            Part("SQL for Postgres", statements.in_postgres, 8, 1, "postgres"))),
    8: Row("disk full; connections cut, backends terminated, the server restarted; a pool of 2 "
           "with 200 runs", "tests/postgres/test_connections.py, tests/postgres/test_proxy.py",
           (Part("disk full", network.disk_full, 80, 4),
            Part("backends terminated", network.terminated, 10, 1, "postgres"),
            Part("restarted", network.restarted, 6, 0, "postgres"),
            Part("pool of 2", network.small_pool, 2, 0, "postgres"),
            Part("cut at every command", network.every_command, 200, 6, "postgres"))),
    9: Row("cancelled at every command", "tests/durability/test_ordinary.py",
           (Part("SQLite", kills.cancels, 90, 6),
            Part("Postgres", kills.cancels, 90, 4, "postgres"))),
    10: Row("files of threads and items that each release wrote, SQLite and Postgres",
            "tests/durability/test_releases.py",
            (Part("files", suites.releases, 1, 0),)),
    11: Row("one conformance suite over memory, SQLite, Postgres, sync and async",
            "tests/testing/test_savers.py, tests/postgres/test_conformance.py",
            (Part("savers", suites.savers, 1, 0),
             Part("stores", suites.stores, 1, 0))),
    12: Row("threads, event loops and processes run, answer, fork, replay, read, copy, prune and "
            "delete the same threads as they like; calls are cancelled, a process is killed",
            "tests/test_proof.py",
            (Part("memory", company.in_memory, 60, 3),
             Part("SQLite", company.processes, 60, 2),
             Part("Postgres", company.processes, 20, 1, "postgres"))),
    13: Row("a thread goes back: replays and forks from any checkpoint, into subgraphs too, "
            "against a reference model", "tests/sim/test_travel.py",
            (Part("journeys", suites.journeys, 600, 5),
             Part("with crashes", suites.broken_journeys, 400, 5))),
}  # fmt: skip
"""The table. Parts whose sample is 0 are run whole by the tests that their row names."""


QUOTES = (
    (1, "SIGKILL at storage calls", "runs, kills", "lost, repeated or re-run"),
    (2, "storage calls that raise, commit and then raise, or hang", "points", "other states"),
    (3, "simulated schedules", "schedules, crashes, zombies", "differences from the model"),
    (4, "2, 8 and 32 processes resume one thread", "rounds, processes", "ran twice"),
    (5, "an owner stopped past its lease comes back", "rounds", "stale commits"),
    (6, "records and checkpoints of attackers", "mutated: typed error, swapped: typed error, "
     "attacks on the import", "imports_or_executions"),
    (7, "hostile names", "queries, SQL texts of the saver, SQL texts of the store",
     "texts that depend on names"),
    (8, "full disks, lost connections, restarted servers", "runs, backends terminated", "lost"),
    (9, "cancelled at every command", "cancels", "leaked tasks, threads, connections"),
    (10, "files that each release wrote", "releases, files", "broken"),
    (11, "one suite over all savers and stores", "promises kept", "broken"),
    (12, "threads used, pruned and killed at random", "operations, kills", "lost or broken"),
    (13, "replays and forks from any checkpoint, into subgraphs", "schedules, crashes",
     "differences from the model"),
)  # fmt: skip
"""What the README quotes: row, what was done, figures of how often, and of what went wrong."""


@contextmanager
def replayed(row: int, part: Part, seed: int) -> Iterator[None]:
    """Failures inside say how to play them alone."""
    try:
        yield
    except Exception as error:
        error.add_note(
            f'replay: .venv/bin/python -m tests.prove --row {row} --part "{part.name}" '
            f"--seed {seed}"
        )
        raise


def prove(row: int, part: Part, seeds: Iterable[int], server: Server | None) -> Figure:
    """Do a part of a row for these seeds; returns the sum of its figures."""
    total: Figure = {}
    for seed in seeds:
        with (
            TemporaryDirectory() as folder,
            new_place(part.kind, Path(folder), server) as place,
            replayed(row, part, seed),
        ):
            total = added(total, part.work(seed, Scene(Path(folder), place, server)))
    return total


@contextmanager
def a_server() -> Iterator[Server | None]:
    """A Postgres server, where one can run."""
    try:
        server = Server.find()
    except NoServer as why:
        print(f"without Postgres: {why}", flush=True)
        yield None
        return
    try:
        yield server
    finally:
        server.stop()


def write(figures: dict[str, Any]) -> None:
    """Write down what was done: `docs/proof.json`, as a table `docs/proof.md`, and in the README
    what it quotes."""
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    TABLE.write_text(table(figures))
    README.write_text(QUOTATION.sub(lambda _: quoted(figures), README.read_text()))


def quoted(figures: dict[str, Any]) -> str:
    """The table of the README."""
    lines = ["| what is done to it | how often | what went wrong |", "|---|---|---|"]
    for number, title, often, wrong in QUOTES:
        flat: Counter[str] = Counter()
        for part in figures["rows"].get(str(number), {}).values():
            flat.update(_counts(part))
        times = [
            f"{flat[name]:,} {_spoken(name).replace(': typed error', ' (typed errors)')}"
            for name in often.split(", ")
            if name in flat
        ]
        lines.append(f"| {title} | {', '.join(times)} | {flat[wrong]:,} {_spoken(wrong)} |")
    return "\n".join(lines)


def table(figures: dict[str, Any]) -> str:
    """The text of `docs/proof.md`."""
    lines = [
        "# Proof",
        "",
        "What `make prove` has found: each row is a promise, broken in every way that we could "
        "think of. Written by `tests/prove.py`; a part that failed is not here.",
        "",
        "The default test run does a sample: of row 3, 20,000 schedules, 12,000 of them with "
        "crashes and zombies (`python -m tests.prove --row 3 --times 50` plays a million); of row "
        "4, 20 rounds on each database, with 2 and 8 processes, never 32; of the others, what the "
        "last column names and some seeds of each part (`tests/test_proof.py`).",
        "",
        "| # | test | figures | seconds | looked at by default in |",
        "|---|---|---|---|---|",
    ]
    for number, row in ROWS.items():
        done = figures["rows"].get(str(number), {})
        told = "<br>".join(f"**{name}**: {_told(part)}" for name, part in done.items())
        seconds = sum(part.get("seconds", 0) for part in done.values())
        where = ", ".join(f"`{name}`" for name in row.tests.split(", "))
        lines.append(f"| {number} | {row.title} | {told or '(not run)'} | {seconds} | {where} |")
    days: dict[str, list[str]] = {}
    for number in filter(figures["days"].__contains__, map(str, ROWS)):
        days.setdefault(figures["days"][number], []).append(number)
    when = "; ".join(f"{day}: rows {', '.join(days[day])}" for day in sorted(days))
    lines += ["", f"{when}. plait {figures['plait']}, Python {figures['python']}, "
              f"{figures['cpus']} CPUs."]  # fmt: skip
    return "\n".join(lines) + "\n"


def _told(part: Figure) -> str:
    """The figures of one part in a line."""
    return ", ".join(f"{value:,} {_spoken(name)}" for name, value in _counts(part).items())


def _counts(part: Figure) -> dict[str, int]:
    """The figures of one part that are numbers."""
    flat = {**part, **part.get("outcomes", {})}
    return {name: value for name, value in flat.items() if type(value) is int and name != "seconds"}


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def begun() -> dict[str, Any]:
    """What is written down already, for rows that are done one by one."""
    found: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    return {
        "plait": __version__,
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "days": found.get("days", {}),
        "rows": found.get("rows", {}),
    }


def main() -> None:
    """Prove rows, print their figures, and write down those that were done in full."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", type=int, choices=list(ROWS))
    parser.add_argument("--part", help="only the part of this name")
    parser.add_argument("--seed", type=int, help="only this one: a replay")
    parser.add_argument("--times", type=int, default=1, help="so many times the counts")
    parser.add_argument("--sample", action="store_true")
    given = parser.parse_args()
    full = given.part is given.seed is None and not given.sample
    figures, broken = begun(), False
    with a_server() as server:
        for number in ROWS if given.row is None else [given.row]:
            done: dict[str, Figure] = {}
            for part in ROWS[number].parts:
                if given.part not in (None, part.name) or (part.kind == "postgres" and not server):
                    continue
                seeds: Iterable[int] = range(part.full * given.times)
                if given.seed is not None:
                    seeds = [given.seed]
                elif given.sample:
                    seeds = part.sampled(Random(number))
                began = monotonic()
                try:
                    found = prove(number, part, seeds, server)
                except Exception:
                    broken = True
                    print(f"row {number}, {part.name}: BROKEN\n{format_exc()}", flush=True)
                    continue
                done[part.name] = {**found, "seconds": round(monotonic() - began)}
                print(f"row {number}, {part.name}: {done[part.name]}", flush=True)
            if full:
                figures["rows"][str(number)] = done
                figures["days"][str(number)] = f"{datetime.now(UTC):%Y-%m-%d}"
                write(figures)
    sys.exit(broken)


if __name__ == "__main__":
    main()
