"""A run with `exit` durability, as it was when its last super-step had ended.

Such a run stores its state when it ends, and also when it fails. If it fails while the writes of a
super-step are applied (a reducer that raises, two values for one key, a Ctrl-C), some keys have
them and some have not; what is stored is the state before, with the writes of the tasks beside it,
as `sync` durability has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from plait.engine.tasks import Task

if TYPE_CHECKING:
    from plait.engine.loop import Loop

_REPLACED = (
    "asked",
    "checkpoint_id",
    "deferred_writes",
    "frontier",
    "journal",
    "last",
    "moved",
    "origin",
    "parent_id",
    "source",
    "step",
)
"""What the end of a super-step puts something else in the place of."""


class Whole:
    """The run before the writes of `tasks` are applied."""

    __slots__ = ("_ahead", "_kept", "_state", "_unsaved")

    def __init__(self, loop: Loop, tasks: Sequence[Task], unsaved: Sequence[Task]) -> None:
        self._state = loop.state.before(tasks)
        self._kept: dict[str, Any] = {name: getattr(loop, name) for name in _REPLACED}
        self._ahead = dict(loop.ahead)
        self._unsaved = list(unsaved)

    def put_back(self, loop: Loop) -> list[Task]:
        """Let the run be as it was; returns the tasks whose outcomes are not stored yet."""
        loop.state.put_back(self._state)
        for name, value in self._kept.items():
            setattr(loop, name, value)
        loop.ahead = self._ahead
        return self._unsaved


__all__ = ["Whole"]
