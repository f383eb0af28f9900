"""Clock, ids and chance of runs: the system's, unless a context brings its own."""

from __future__ import annotations

import time
from contextvars import ContextVar
from os import urandom
from random import random
from threading import Lock

from plait.common.forks import renew_in_child
from plait.common.ids import new_id
from plait.engine.spec import Env


class SystemEnv:
    """The real world. Checkpoint ids are UUIDs of version 7 (RFC 9562) that sort by creation,
    strictly within this process and by the millisecond between processes."""

    def __init__(self) -> None:
        self._last = 0
        self._head = (0, "")
        """The last millisecond of an id, and how ids of it begin."""
        self.after_fork()
        renew_in_child(self)

    def after_fork(self) -> None:
        """A process tells its ids from those of others, its parent too."""
        self._lock = Lock()
        self._node = urandom(5).hex()

    def checkpoint_id(self) -> str:
        # 48 bits of milliseconds, 12 + 14 bits of the time below, the rest tells processes apart.
        ns = time.time_ns()
        with self._lock:
            if ns <= self._last:
                ns = self._last + 1
            self._last = ns
        ms, below = divmod(ns, 1_000_000)
        head = self._head
        if head[0] != ms:
            head = self._head = (ms, f"{ms >> 16:08x}-{ms & 0xFFFF:04x}")
        fine = (below << 26) // 1_000_000
        tail = 0x70_00_80_00_00 | fine >> 14 << 24 | (fine & 0x3FFF) << 8 | below & 0xFF
        return f"{head[1]}-{tail.to_bytes(5, 'big').hex('-', -2)}{self._node}"

    def new_id(self) -> str:
        return new_id()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def jitter(self) -> float:
        return random()


SYSTEM = SystemEnv()

run_env: ContextVar[Env] = ContextVar("plait_run_env", default=SYSTEM)
"""Clock, ids and chance of the runs of this context; tests set it to make runs reproducible."""
