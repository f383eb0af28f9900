"""How a claim stays alive while its run does: one daemon thread per process renews all leases.

It starts with the first claim that other processes can see, wakes several times per lease, has
every held lease of a saver renewed in one statement, and ends when nothing is held any more. It
works on connections of its own, so that neither a node that blocks nor a long transaction delays
it; and it waits for no answer, so that a server that hangs costs the runs on other ones nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import partial
from threading import Event, Lock, Thread
from typing import Any, TypeAlias
from weakref import WeakSet

from plait.checkpoint.log.claims import Hold
from plait.checkpoint.log.identity import lease_time
from plait.checkpoint.log.requests import Renew
from plait.errors import StorageUnavailableError

_log = logging.getLogger(__name__)
_Renewing: TypeAlias = Callable[[Renew], Any]
"""A saver's `renew`."""
_Lanes: TypeAlias = dict[float, list[tuple[int, int]]]
"""The root lanes that it holds and their fences, by the length of their leases."""
_BEATS = 4
"""Renewals per lease: three may fail before it is lost."""


class Heart:
    """A thread and what it keeps alive."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Nothing is held: at the start, and in a forked child."""
        self._lock = Lock()
        self._holds: WeakSet[Hold] = WeakSet()
        self._wake = Event()
        self._running = False
        self._pause = 0.0
        """How long the thread sleeps now, unless it is woken."""
        self._asked: set[_Renewing] = set()
        """The savers whose storage has not answered yet."""

    def keep(self, hold: Hold) -> None:
        """Renew a hold's lease until it is given back, lost or dropped.

        Raises:
            StorageUnavailableError: The system has no thread for it.
        """
        with self._lock:
            self._holds.add(hold)
            if self._running:
                if hold.lease_seconds / _BEATS < self._pause:
                    self._wake.set()
                return
            self._running = True
        try:
            Thread(target=self._beat, name="plait-heartbeat", daemon=True).start()
        except BaseException as error:  # the next claim tries again
            with self._lock:
                self._running = False
            if isinstance(error, RuntimeError):
                raise StorageUnavailableError(
                    f"The claim of thread {hold.thread_id!r} must be renewed while the run goes "
                    f"on, and the system has no thread for that ({error}). Nothing was run. Run "
                    "again when there are fewer threads, or let the process have more (`ulimit "
                    "-u`, the limits of its container)."
                ) from error
            raise

    def _beat(self) -> None:
        while True:
            with self._lock:
                shortest = min((hold.lease_seconds for hold in self._holds), default=1.0)
                self._pause = shortest / _BEATS
            self._wake.wait(self._pause)
            self._wake.clear()
            with self._lock:
                held = [hold for hold in self._holds if hold.held and not hold.gone()]
                self._holds = WeakSet(held)
                if not held:
                    self._running = False
                    return
            self._renew(held)
            del held  # a dropped hold must not live on here

    def _renew(self, held: list[Hold]) -> None:
        """Ask each saver's storage; one that still owes an answer is not asked again."""
        savers: dict[_Renewing, _Lanes] = {}
        for hold in held:
            if hold.root is not None and hold.renew is not None:
                lanes = savers.setdefault(hold.renew, {})
                lanes.setdefault(hold.lease_seconds, []).append((hold.root, hold.fence))
        with self._lock:
            free = savers.keys() - self._asked
            self._asked |= free
        for renew in free:
            ask = partial(self._ask, renew, savers[renew])
            try:
                Thread(target=ask, name="plait-renewal", daemon=True).start()
            except RuntimeError:  # the system has no thread: then the others must wait
                ask()

    def _ask(self, renew: _Renewing, lanes: _Lanes) -> None:
        """One statement for each length of lease."""
        try:
            for seconds, claims in lanes.items():
                renew(Renew(claims, lease_time() + seconds))
        except Exception as error:
            _log.warning(
                "The leases of %d threads that run here could not be renewed: %s. The next beat "
                "tries again; a run whose lease was lost is refused at its next commit.",
                sum(map(len, lanes.values())),
                error,
            )
        finally:
            with self._lock:
                self._asked.discard(renew)


heart = Heart()

os.register_at_fork(after_in_child=heart.reset)
