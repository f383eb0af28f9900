"""Processes for tests: forked from a warm parent, killed on request, always reaped.

Forking needs a POSIX system. `fork` runs a function in a child that tells lines on a pipe.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

GAVE_UP = 60.0
"""Seconds after which a test stops waiting for a process; no test passes by waiting."""


@dataclass
class Child:
    """A forked process, and a pipe on which it tells lines."""

    pid: int
    told: int
    status: int | None = None
    rest: bytes = b""

    def hear(self) -> str:
        """The next line the child tells ("": it has ended)."""
        deadline = monotonic() + GAVE_UP
        while b"\n" not in self.rest:
            poll = select.poll()
            poll.register(self.told, select.POLLIN)
            if not poll.poll(max(0.0, deadline - monotonic()) * 1000):
                raise TimeoutError(f"process {self.pid} told nothing for {GAVE_UP} s")
            data = os.read(self.told, 65536)
            if not data:
                break
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Its exit code; minus the signal that ended it."""
        if self.status is None:
            said: list[str] = []
            while line := self.hear():
                said.append(line)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self.told)
            if self.status not in (0, -signal.SIGKILL):
                raise AssertionError(f"a worker failed ({self.status}): " + "\n".join(said))
        return self.status

    def kill(self) -> None:
        """End it, if it lives, and reap it."""
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self.told)


def fork(work: Callable[[Callable[[str], Any]], Any]) -> Child:
    """Run `work(tell)` in a forked process; it exits with 0, or with 1 when work raised."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = os.pipe()
    with warnings.catch_warnings():  # the child runs nothing of the threads that Python warns of
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(theirs)
        return Child(pid, ours)
    code = 1
    try:
        os.close(ours)

        def tell(line: str) -> None:
            os.write(theirs, line.encode() + b"\n")

        try:
            work(tell)
            code = 0
        except BaseException:
            tell(traceback.format_exc())
    finally:
        os._exit(code)
