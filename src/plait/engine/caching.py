"""Results of nodes that are taken from a cache; `storing` puts them there.

A cached result is an outcome like any other: it is stored, and told (marked as cached). A task that
was given answers is neither looked up nor kept, since its result is not that of its input alone.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from plait.constants import ERROR
from plait.engine.commands import Command, ReadCache
from plait.engine.handlers import Handlers
from plait.engine.storing import Flow
from plait.engine.tasks import Task


class Caching(Handlers):
    """The side of a loop that spares work whose result is known."""

    __slots__ = ()

    def _look_up(self, tasks: Sequence[Task]) -> Generator[Command, Any, list[Task]]:
        """Settle tasks whose results are cached; returns the others."""
        asked = [task for task in tasks if _is_cacheable(task)]
        if asked:
            found = yield ReadCache(asked)
            for task in asked:
                task.cached = task in found
                if task.cached:
                    task.writes = found[task]
                    self._unsaved.append(task)
        return [task for task in tasks if not task.cached]

    def _look_up_calls(self, resolved: list[Task]) -> Flow:
        """Settle calls of `@task`s whose results are cached."""
        fresh = [task for task in self._waiting if task.parent is not None and task.cached is None]
        missed = set((yield from self._look_up(fresh)))
        hits = [task for task in fresh if task not in missed]
        for task in hits:
            self._waiting.remove(task)
        resolved.extend(hits)


def _is_cacheable(task: Task) -> bool:
    if task.node.cache is None or task.cached is not None:
        return False
    if any(channel != ERROR for channel, _ in task.prior):  # it has asked
        return False
    return task.questions is None or not task.questions.answers


__all__ = ["Caching"]
