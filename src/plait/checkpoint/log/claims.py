"""Who owns a thread: holds, and the judgement of a claim.

A claim is a compare-and-swap on the root lane: the claimer reads fence, owner and lease, judges
whether the owner must be respected, and takes the lane only if fence and lease are still what it
judged. Each claim bumps the fence; each commit of the owner names its fence, so whoever lost the
lane is refused.

An owner must be respected while its lease lasts, except: it is provably dead on this host (same
boot, same pid namespace; the pid is gone or was given to a younger process); it is a run of this
very process that was dropped, that is parked (its stream waits for a consumer that went on to
start another run), or whose event loop was closed; or the policy is "takeover".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakValueDictionary

from plait.checkpoint.base.plans import Pause
from plait.checkpoint.base.port import Plan
from plait.checkpoint.log.identity import (
    Owner,
    is_dead,
    is_mine,
    lease_time,
    new_token,
    parse,
    time_for,
)
from plait.checkpoint.log.requests import Claim, Done, LaneRow, ReadLane, Refused, Transact
from plait.errors import ConfigError, SupersededError, ThreadBusyError, nearest

Policy: TypeAlias = Literal["reject", "wait", "takeover", "allow"]
"""What a claim does when another run owns the thread; "allow" never claims, as the peer."""

POLICIES: Final = ("reject", "wait", "takeover", "allow")


def check_policy(policy: str) -> None:
    """Raise a ConfigError unless it is the name of a policy."""
    if policy not in POLICIES:
        raise ConfigError(
            f"Unknown policy {policy!r} for a thread that is busy. {nearest(policy, POLICIES)}"
        )


LEASE: Final = 30.0
"""Seconds that a claim lasts unless renewed."""
_FIRST_PAUSE: Final = 0.02
_LAST_PAUSE: Final = 0.5


_live: WeakValueDictionary[str, Hold] = WeakValueDictionary()


def _never() -> bool:
    return False


class Hold:
    """One run's hold on a thread, shared by the sessions of all its namespaces."""

    __slots__ = (
        "__weakref__",
        "_busy",
        "_keep",
        "asking",
        "fence",
        "gone",
        "held",
        "lease_seconds",
        "leaving",
        "looked",
        "over",
        "parked",
        "policy",
        "refused",
        "renew",
        "root",
        "seen",
        "superseded",
        "thread_id",
        "token",
    )

    def __init__(
        self,
        thread_id: str,
        policy: Policy,
        lease_seconds: float = LEASE,
        renew: Callable[[Any], Any] | None = None,
        keep: Callable[[Hold], None] | None = None,
    ) -> None:
        self.thread_id = thread_id
        self.policy = policy
        self.lease_seconds = lease_seconds
        self.renew = renew
        """Renews leases in the storage (None: no other process can see the claim)."""
        self._keep = keep
        self._busy = False
        self.held = False
        self.asking = False
        """Whether it asks the storage for the claim, which may have it before we hear of it."""
        self.leaving = False
        """Set by the driver when the run is stopped: it does not go on waiting for the thread."""
        self.parked = False
        """Set by the driver while a stream waits for its consumer."""
        self.gone = _never
        """Set by a driver: whether what drives it has ended (its event loop was closed)."""
        self.over = False
        """Whether the claim was given back: the run has ended, whatever of it still goes on."""
        self.refused = False
        """Whether the claim was lost to another run; then nothing of this one is stored."""
        self.superseded = False
        self.fence = 0
        self.root: int | None = None
        self.looked = False
        """Whether a load has looked at the root lane since the last claim."""
        self.seen: LaneRow | None = None
        """What it saw (None: no lane yet), so that a claim need not read it again."""
        self.token = ""

    def driven(self) -> bool:
        """Whether the run goes on, as far as it is up to this process."""
        return not self.parked and not self.gone()

    def look(self, root: LaneRow | None) -> None:
        """Note the root lane as a load begins. An owner at work now may store what the rest of
        the load does not see, so a claim after it is refused even if the owner dies meanwhile."""
        self.looked, self.seen = True, root
        self._busy = root is not None and _respected(root)

    def comes_first(self) -> bool:
        """Whether a run must claim before it loads, by the root lane that was just looked at.

        Whoever waits or takes over loads what the owner before it left. An owner that is not
        respected (dead, frozen past its lease, parked) may come back between load and claim and
        store outcomes of tasks, which move neither head nor fence: the claim stops it first.
        """
        if self.policy == "reject":
            return self.seen is not None and self.seen.owner is not None and not self._busy
        return self.policy != "allow"

    def acquire(self, batch: Transact, moved: Callable[[LaneRow | None], bool]) -> Plan[Done]:
        """Claim the thread with this transaction, by the policy.

        Args:
            batch: The first transaction of the run.
            moved: Says of the root lane (None: there is none) whether it left the checkpoint that
                the batch builds on.

        Raises:
            ThreadBusyError: Another live run owns the thread, or one finished in between, or the
                thread was deleted.
        """
        self.token = token = new_token()
        row, looked = self.seen, self.looked
        self.seen, self.looked = None, False
        busy, self._busy = self._busy, False
        if not looked:
            row = yield ReadLane(self.thread_id, "")
        pause = _FIRST_PAUSE
        while True:
            if row is not None and self.policy != "takeover" and (busy or _respected(row)):
                if self.policy != "wait" or self.leaving:
                    raise _busy(row)
                busy = False
                yield Pause(pause)
                pause = min(pause * 2, _LAST_PAUSE)
                row = yield ReadLane(self.thread_id, "")
                continue
            if moved(row):
                raise _moved(self.thread_id, row)
            fence, lease = (row.fence, row.lease) if row else (batch.seed, None)
            batch.claim = Claim(fence, lease, token, lease_time() + self.lease_seconds)
            _live[token], self.asking = self, True  # first: others see it as soon as it is stored
            try:
                answer: Done | Refused = yield batch
                if isinstance(answer, Done):
                    self._took(answer.root, fence + 1, row)
                    return answer
            except BaseException:  # it may have been stored all the same: then give it back
                self.fence, self.held = fence + 1, True
                raise
            finally:
                self.asking = False
            row = answer.root

    def _took(self, root: int, fence: int, row: LaneRow | None) -> None:
        if row is not None and row.owner is not None:
            previous = _live.get(row.owner)
            if previous is not None:
                previous.superseded = True
        self.root, self.fence, self.held = root, fence, True
        self.superseded = self.refused = False
        if self._keep is not None:
            self._keep(self)

    def give_back(self) -> None:
        """The run has ended, and the storage knows."""
        self.held, self.over = False, True

    def lost(self, root: LaneRow | None) -> ThreadBusyError:
        """The error of a commit that was refused because the fence moved on."""
        self.held, self.refused = False, True
        if self.superseded:
            return SupersededError(
                f"This run of thread {self.thread_id!r} was left half-read, and a later run on "
                "the same thread took over. What it had committed is kept; read the later run, "
                "or read a stream to its end before you start the next."
            )
        if root is None:
            return ThreadBusyError(
                f"Thread {self.thread_id!r} was deleted while this run was going on; nothing of "
                "this commit was stored."
            )
        return ThreadBusyError(
            f"Thread {self.thread_id!r} was taken over by {_name(_owner_of(root))}; this run lost "
            f"its claim (fence {self.fence}, now {root.fence}) and nothing of it was stored. Its "
            "process was stopped, or cut off from the database, for longer than its lease, or a "
            "clock was set forward. Read the thread's state to see how the other run went on."
        )


def _clock(row: LaneRow, owner: Owner | None) -> float:
    """What time it was by the clock that the row's lease is told by."""
    return row.clock if row.clock is not None else time_for(owner)


def _respected(row: LaneRow) -> bool:
    """Whether the owner of a root lane may still be at work."""
    if row.owner is None:
        return False
    owner = parse(row.owner)
    if owner is not None and is_mine(owner):
        hold = _live.get(row.owner)  # its lease does not matter: we know whether it lives
        return hold is not None and (hold.held or hold.asking) and hold.driven()
    if row.lease is None or row.lease <= _clock(row, owner):
        return False
    return owner is None or not is_dead(owner)


def is_owned(row: LaneRow) -> bool:
    """Whether a live run owns the thread of a root lane, as far as can be seen from here."""
    return _respected(row)


def _name(owner: Owner | None) -> str:
    if owner is None:
        return "another run"
    if is_mine(owner):
        return "another run of this process"
    return f"another run (process {owner.process.pid} on host {owner.process.host!r})"


def _owner_of(row: LaneRow) -> Owner | None:
    return parse(row.owner) if row.owner is not None else None


def _busy(row: LaneRow) -> ThreadBusyError:
    owner = _owner_of(row)
    now = _clock(row, owner)
    left = max(0.0, (row.lease or now) - now)
    return ThreadBusyError(
        f"Thread {row.thread_id!r} is owned by {_name(owner)}; its claim lasts {left:.0f} s more "
        "unless it is renewed. Wait for that run to end, or choose what to do when a thread is "
        'busy, by thread_busy= of the saver or of one call\'s configurable: "wait" (start when it '
        'is free), "takeover" (stop the other run at its next commit) or "allow" (run both, '
        "without protection)."
    )


def _moved(thread_id: str, row: LaneRow | None) -> ThreadBusyError:
    if row is None:
        return ThreadBusyError(
            f"Thread {thread_id!r} was deleted after this run read its state; nothing was stored. "
            "Run again: it starts a new thread."
        )
    return ThreadBusyError(
        f"Another run on thread {thread_id!r} moved it on after this run read its state; nothing "
        "was stored. Run again: it starts from the new state."
    )
