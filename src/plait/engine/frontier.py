"""What runs next: the nodes that were triggered, the `Send`s, and the deferred nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.constants import TASKS
from plait.engine.plan import Writes
from plait.engine.spec import NO_ITEMS, NONE_YET
from plait.types import Send

if TYPE_CHECKING:
    from plait.engine.tasks import Task


class Frontier:
    """What the next super-step consists of, and what waits for the end.

    It is stored with each checkpoint, so that resuming needs no scan over nodes or versions.
    """

    __slots__ = ("deferred", "pulls", "senders", "sends")

    def __init__(self) -> None:
        self.pulls: dict[str, None] = {}
        """The nodes that were triggered."""
        self.sends: list[Send] = NO_ITEMS
        self.senders: Sequence[str] = ()
        """Of each `Send` its `send_key`, where tasks may have run before their places were known:
        then their ids derive from it."""
        self.deferred: dict[str, None] = NONE_YET
        """Nodes (`defer=True`) that run once nothing else is left to run."""

    def __bool__(self) -> bool:
        return bool(self.pulls or self.sends)

    def undefer(self) -> None:
        """Nothing else is left: the deferred nodes' turn."""
        if self.deferred:
            self.pulls.update(self.deferred)
            self.deferred = NONE_YET

    def names(self) -> list[str]:
        """The nodes of the next super-step: `Send`s in order, then triggered nodes by name."""
        return [*(send.node for send in self.sends), *sorted(self.pulls)]

    def record(self, untracked: frozenset[str]) -> dict[str, Any]:
        """What a checkpoint stores; values of `untracked` keys in Sends stay out of it."""
        record: dict[str, Any] = {}
        if self.pulls:
            record["next"] = list(self.pulls)
        if self.sends:
            sends = self.sends
            record["sends"] = [_storable(s, untracked) for s in sends] if untracked else sends
            if self.senders:
                record["senders"] = self.senders
        if self.deferred:
            record["deferred"] = list(self.deferred)
        return record

    @classmethod
    def restored(cls, record: Mapping[str, Any]) -> Frontier:
        """The frontier that a checkpoint stored."""
        new = cls()
        new.pulls = dict.fromkeys(record.get("next", ()))
        new.sends = list(record.get("sends", ()))
        new.senders = record.get("senders", ())
        new.deferred = dict.fromkeys(record.get("deferred", ()))
        return new


def sends_of(task: Task) -> list[Send]:
    """The `Send`s of a finished task, in their order."""
    return [value for name, value in task.writes if name == TASKS]


def send_key(sender: Task, number: int) -> str:
    """What tells a `Send` from all others of a super-step: who sent it, and as its which."""
    return f"{number}~{sender.id}"


def without(value: Any, untracked: frozenset[str]) -> Any:
    """A dict without the keys that are never stored; any other value as it is."""
    if not isinstance(value, dict):
        return value
    known = cast("dict[str, Any]", value)
    if untracked.isdisjoint(known):
        return known
    return {k: v for k, v in known.items() if k not in untracked}


def stored_writes(writes: Writes, untracked: frozenset[str]) -> Writes:
    """Those of a task's writes that are stored, with Sends stripped of untracked keys."""
    return [
        (name, _storable(value, untracked) if isinstance(value, Send) else value)
        for name, value in writes
        if name not in untracked
    ]


def _storable(send: Send, untracked: frozenset[str]) -> Send:
    kept = without(send.arg, untracked)
    return send if kept is send.arg else Send(send.node, kept, timeout=send.timeout)
