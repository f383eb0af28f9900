"""Who this process is among all that may own threads, and the clock that leases are told by.

A claim says of its owner: boot, pid namespace, pid, when it started, host, and (with a number that
tells one claim of a process from another) where its clock began. Leases lie in the storage as
seconds since the epoch, yet their clock is no wall clock, which may be set, and which goes on while
the machine sleeps: it is the machine's steady one, and began at the wall clock's time when its
process first looked. Whoever shares that steady clock (same boot, same time namespace) tells the
lease by it; others have their wall clock. Where there is no `/proc`, all have.
"""

from __future__ import annotations

import os
import socket
from itertools import count
from pathlib import Path
from time import monotonic, time
from typing import NamedTuple

_UNKNOWN = "?"


class Identity(NamedTuple):
    """What tells one process from every other, on this host and elsewhere."""

    boot: str
    pid_namespace: str
    pid: int
    started: str
    host: str


class Owner(NamedTuple):
    """What the text of a claim says."""

    process: Identity
    steady: str
    """Which steady clock it has; "": none that can be named."""
    began: float
    """The time since the epoch when that clock would have shown zero."""


class _Mine:
    """The identity of this process, made anew in a forked child."""

    def __init__(self) -> None:
        self._mine: Owner | None = None
        self._prefix = self._suffix = ""
        self._serials = count(1)

    def get(self) -> Owner:
        if self._mine is None or self._mine.process.pid != os.getpid():
            self._mine = _look()
            process, steady, began = self._mine
            boot, namespace, pid, started, host = process
            self._prefix = f"{boot}|{namespace}|{pid}|{started}|{host}|"
            self._suffix = f"@{steady}@{began!r}" if steady else ""
        return self._mine

    def token(self) -> str:
        """The text of a new claim."""
        self.get()
        return f"{self._prefix}{next(self._serials)}{self._suffix}"


def _look() -> Owner:
    pid = os.getpid()
    boot, clock = _read("/proc/sys/kernel/random/boot_id"), _link("/proc/self/ns/time")
    process = Identity(
        boot,
        _link("/proc/self/ns/pid"),
        pid,
        _started(pid) or _UNKNOWN,
        socket.gethostname().replace("|", "_"),
    )
    named = _UNKNOWN not in (boot, clock)
    return Owner(process, clock if named else "", time() - monotonic())


def _read(path: str) -> str:
    try:
        return Path(path).read_text("ascii").strip()
    except OSError:
        return _UNKNOWN


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return _UNKNOWN


def _started(pid: int) -> str | None:
    """When a process of this host started, in ticks since boot; None: no such live process."""
    stat = _read(f"/proc/{pid}/stat")
    fields = stat.rpartition(")")[2].split()  # the name before ")" may hold anything
    if len(fields) < 20 or fields[0] in "ZX":  # a zombie runs nothing any more
        return None
    return fields[19]


_mine = _Mine()
new_token = _mine.token


def is_mine(owner: Owner) -> bool:
    """Whether it is this process."""
    return owner.process == _mine.get().process


def parse(text: str) -> Owner | None:
    """What a claim says of its owner; None: nothing that plait knows."""
    parts = text.split("|")
    if len(parts) != 6 or not parts[2].isdecimal():
        return None
    boot, namespace, pid, started, host, claim = parts
    process = Identity(boot, namespace, int(pid), started, host)
    _, steady, began = (*claim.split("@"), "", "")[:3]
    try:
        return Owner(process, steady, float(began))
    except ValueError:  # older plaits give the number of the claim alone
        return Owner(process, "", 0.0)


def is_dead(owner: Owner) -> bool:
    """Whether its process cannot be alive. Says no wherever it cannot know."""
    mine, other = _mine.get().process, owner.process
    if _UNKNOWN in (mine.boot, mine.pid_namespace, mine.started, other.boot, other.started):
        return False
    if (other.boot, other.pid_namespace) != (mine.boot, mine.pid_namespace):
        return False
    return _started(other.pid) != other.started


def lease_time() -> float:
    """What time it is by the clock that the leases of this process are told by."""
    mine = _mine.get()
    return monotonic() + mine.began if mine.steady else time()


def time_for(owner: Owner | None) -> float:
    """What time it is for the lease of an owner."""
    mine = _mine.get()
    if owner is None or not mine.steady:
        return time()
    if (owner.steady, owner.process.boot) != (mine.steady, mine.process.boot):
        return time()
    return monotonic() + owner.began


__all__ = [
    "Identity",
    "Owner",
    "is_dead",
    "is_mine",
    "lease_time",
    "new_token",
    "parse",
    "time_for",
]
