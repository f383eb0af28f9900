"""The promise, shown: a worker is killed halfway, another one goes on, and nothing is done twice.

    python examples/kill.py ROOT OUT [FINISH]     a worker; `survey.py --demo` starts two of them

The first worker finishes FINISH documents and then stalls with a few in hand, as on a slow network,
so that the SIGKILL always hits the same point. The second gets no such orders: it finds a database,
and goes on. Each inspection begins by appending a line to a file; that file, not the database, is
what the counting trusts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

from inspection import documents
from workflow import AT_ONCE, Place, build, database, go_on, inspect, note_effect

from plait.runtime import Runtime


def demonstrate(place: Place) -> None:
    """Run the survey up to its question, in two processes, of which the first is killed."""
    for name in ("survey.sqlite", "survey.sqlite-wal", "survey.sqlite-shm", "effects.log"):
        (place.out / name).unlink(missing_ok=True)
    total = len(documents(place.root, place.out))
    finish, in_hand = total // 2, min(AT_ONCE, total - total // 2)

    print(f"A survey of {total} documents: one task each, {AT_ONCE} at a time\n")
    first = start_worker(place, finish)
    try:
        expect(first, {"acknowledged": finish, "stalled": in_hand})
    finally:
        first.send_signal(signal.SIGKILL)
    print(f"   process {first.pid}   {finish} documents acknowledged, {in_hand} in its hands")
    print(f"   process {first.pid}   killed: SIGKILL (exit status {first.wait()})")

    kept = acknowledged(place)
    second = start_worker(place)
    said, _ = second.communicate()
    done = said.count("acknowledged")
    print(f"   process {second.pid}   opened the database: {len(kept)} documents are done")
    print(f"   process {second.pid}   did the other {done}, and stopped to ask a person")
    print(f"   process {second.pid}   ended (exit status {second.returncode})")
    if second.returncode:
        sys.exit("The second worker failed; what it said stands above.")
    compare(place, kept, first.pid)


def compare(place: Place, kept: set[str], killed: int) -> None:
    """What began before and after the kill, by the file that every inspection appends to."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for line in (place.out / "effects.log").read_text("utf-8").splitlines():
        pid, task_id, path = line.split(" ", 2)
        began = before if int(pid) == killed else after
        if path in began:
            sys.exit(f"The promise is broken: one process began {path} twice.")
        began[path] = task_id
    in_flight, fresh = before.keys() - kept, after.keys() - before.keys()
    same = sum(before[path] == after.get(path) for path in in_flight)
    print("\nWhat the tasks themselves wrote into effects.log as they began\n")
    print(
        f"   acknowledged before the kill   {len(kept):5}   ran again: {len(kept & after.keys())}"
    )
    print(
        f"   in flight at the kill          {len(in_flight):5}   ran again: {same}, same task ids"
    )
    print(f"   not begun before the kill      {len(fresh):5}   ran once")
    if kept & after.keys() or same < len(in_flight):
        sys.exit("The promise is broken.")


def acknowledged(place: Place) -> set[str]:
    """The documents whose findings are in the database, as any process can see."""
    with database(place) as saver:
        tasks = build(saver).get_state(place.thread).tasks
    results = [task.result for task in tasks if task.result is not None]
    return {finding.path for result in results for finding in result["findings"]}


# --- Workers -------------------------------------------------------------------------------------


def start_worker(place: Place, *orders: int) -> subprocess.Popen[str]:
    """Start this file as a process of its own."""
    command = [sys.executable, __file__, str(place.root), str(place.out), *map(str, orders)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def expect(worker: subprocess.Popen[str], lines: dict[str, int]) -> None:
    """Read what a worker says until it has said each word as often as expected."""
    missing = Counter(lines)
    assert worker.stdout is not None
    while missing.total() > 0:
        said = worker.stdout.readline()
        if not said:
            sys.exit(f"The worker ended too early (exit status {worker.wait()}).")
        missing[said.strip()] -= 1


def work(place: Place, finish: int | None) -> None:
    """Be a worker: run until the question, and say each document that is safe."""

    def inspect_or_stall(path: str, runtime: Runtime[Place]) -> Any:
        if path in few:
            return inspect(path, runtime)
        note_effect(runtime, path)
        say("stalled")
        return Event().wait()

    few = set(documents(place.root, place.out)[:finish])
    with database(place) as saver:
        for _ in go_on(build(saver, inspect_or_stall), place):
            say("acknowledged")


def say(word: str) -> None:
    """Tell the parent process; one write, since several threads may speak at once."""
    os.write(1, f"{word}\n".encode())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: kill.py ROOT OUT [FINISH]; to see it: python examples/survey.py --demo")
    root, out, *orders = sys.argv[1:]
    with suppress(KeyboardInterrupt):  # whoever started it says that it is stopped
        work(Place(Path(root), Path(out)), int(orders[0]) if orders else None)
