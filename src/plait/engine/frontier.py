"""What runs next: the nodes that were triggered, the `Send`s, and the deferred nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plait.types import Send


class Frontier:
    """What the next super-step consists of, and what waits for the end.

    It is stored with each checkpoint, so that resuming needs no scan over nodes or versions.
    """

    __slots__ = ("deferred", "pulls", "sends")

    def __init__(self) -> None:
        self.pulls: dict[str, list[str]] = {}
        """Node name to the channels that triggered it."""
        self.sends: list[Send] = []
        self.deferred: dict[str, list[str]] = {}
        """Nodes (`defer=True`) that run once nothing else is left to run."""

    def __bool__(self) -> bool:
        return bool(self.pulls or self.sends)

    def pull(self, node: str, trigger: str) -> None:
        """Let `node` run because `trigger` was written."""
        triggers = self.pulls.get(node)
        if triggers is None:
            self.pulls[node] = [trigger]
        elif trigger not in triggers:
            triggers.append(trigger)

    def defer(self, node: str, trigger: str) -> None:
        """Let `node` run when nothing else is left to run."""
        self.deferred.setdefault(node, [trigger])

    def undefer(self) -> None:
        """Nothing else is left: the deferred nodes' turn."""
        self.pulls.update(self.deferred)
        self.deferred = {}

    def names(self) -> list[str]:
        """The nodes of the next super-step: `Send`s in order, then triggered nodes by name."""
        return [*(send.node for send in self.sends), *sorted(self.pulls)]

    def clear(self) -> None:
        """Forget what was to run next (a new input replaces it)."""
        self.pulls, self.sends = {}, []

    def record(self, untracked: frozenset[str]) -> dict[str, Any]:
        """What a checkpoint stores; values of `untracked` keys in Sends stay out of it."""
        record: dict[str, Any] = {}
        if self.pulls:
            record["next"] = self.pulls
        if self.sends:
            record["sends"] = [_storable(s, untracked) for s in self.sends] if untracked else (
                self.sends
            )  # fmt: skip
        if self.deferred:
            record["deferred"] = self.deferred
        return record

    @classmethod
    def restored(cls, record: Mapping[str, Any]) -> Frontier:
        """The frontier that a checkpoint stored."""
        new = cls()
        new.pulls = {name: list(triggers) for name, triggers in record.get("next", {}).items()}
        new.sends = list(record.get("sends", ()))
        new.deferred = {n: list(triggers) for n, triggers in record.get("deferred", {}).items()}
        return new


def _storable(send: Send, untracked: frozenset[str]) -> Send:
    """`send` without values of keys that are never stored."""
    if not isinstance(send.arg, dict) or untracked.isdisjoint(send.arg):  # pyright: ignore[reportUnknownArgumentType]
        return send
    kept = {k: v for k, v in send.arg.items() if k not in untracked}  # pyright: ignore[reportUnknownVariableType]
    return Send(send.node, kept, timeout=send.timeout)
