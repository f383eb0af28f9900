"""Ids and namespaces, there and here.

Everything about a stored thread hangs on ids that derive from others: a task's from its
checkpoint's, a namespace from its task's. Checkpoint ids become plait's form, from the time that
LangGraph's carry, so that they sort before those of runs to come; the rest follows as in a run.
The same id always becomes the same one, so that an import can be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b

from plait.common.ids import uuid_form
from plait.constants import NS_END, NS_SEP, PULL, PUSH
from plait.engine.namespaces import inside
from plait.engine.tasks import order_of, task_id
from plait.errors import CorruptCheckpointError
from plait.importing.rows import PeerTask

_TICKS_TO_1970 = 0x01B21DD213814000
"""What UUIDs of version 6 count from 1582, in ticks of 100 ns."""
_PULLED = re.compile(rf"~{PULL}, (.*)", re.DOTALL)
_PUSHED = re.compile(rf"~{PUSH}, (\d{{1,10}}), \d{{1,10}}")


@lru_cache(maxsize=4096)
def checkpoint_id(id: str) -> str:
    """The id that a checkpoint of LangGraph's has here.

    Raises:
        CorruptCheckpointError: It does not say when it was made.

    >>> checkpoint_id("1f1e5ec1-e43a-6f4e-bfff-4558b7255de3")[:18]
    '01a1ffd8-f42f-7161'
    """
    ms, below = divmod(_nanoseconds(id), 1_000_000)
    fine = (below << 26) // 1_000_000
    tail = blake2b(id.encode("utf-8", "surrogatepass"), digest_size=6).digest()
    bits = ms << 80 | 0x7000_8000 << 48 | (fine >> 14) << 64 | (fine & 0x3FFF) << 48
    return uuid_form(f"{bits | int.from_bytes(tail, 'big'):032x}")


def _nanoseconds(id: str) -> int:
    """When a checkpoint was made, since 1970: its id is a UUID of version 6, or (once) a time."""
    bare = id.replace("-", "")
    try:
        if len(id) == 36 and len(bare) == 32 and bare[12] == "6":
            ns = (int(bare[:12] + bare[13:16], 16) - _TICKS_TO_1970) * 100
        else:
            ns = int(datetime.fromisoformat(id).timestamp() * 1_000_000) * 1000
    except (ValueError, OverflowError):
        ns = -1
    if not 0 <= ns < 1 << 68:
        raise CorruptCheckpointError(
            f"Checkpoint id {id!r:.80} is none of LangGraph's: it does not say when it was made."
        )
    return ns


def order_in(path: str) -> str | None:
    """A task's place in its super-step, as plait names it; None for `@task` calls and others.

    >>> order_in("~__pregel_pull, plan"), order_in("~__pregel_push, 0000000002, 0000000000")
    ('__pregel_pull~plan', '__pregel_push~0000000002~False')
    """
    if (pulled := _PULLED.fullmatch(path)) is not None:
        return order_of((PULL, pulled[1]))
    pushed = _PUSHED.fullmatch(path)
    return None if pushed is None else order_of((PUSH, int(pushed[1]), False))


def pulled_node(path: str) -> str | None:
    """The node of a task that its triggers started."""
    found = _PULLED.fullmatch(path)
    return None if found is None else found[1]


def pushed_place(path: str) -> int | None:
    """Which `Send` of its super-step started a task."""
    found = _PUSHED.fullmatch(path)
    return None if found is None else int(found[1])


class Places:
    """Namespaces of one thread, and the tasks that they are named after.

    Args:
        tasks: The tasks that have stored something.
    """

    def __init__(self, tasks: Iterable[PeerTask]) -> None:
        self._tasks = {task.id: task for task in tasks}
        self._known: dict[str, str] = {"": ""}

    def namespace(self, ns: str, parents: Mapping[str, str]) -> str:
        """A namespace as it is called here.

        Args:
            ns: What it is called there.
            parents: The checkpoints around it, by namespace (from its own first checkpoint): they
                tell of tasks that have not stored anything.
        """
        if ns not in self._known:
            outer, _, level = ns.rpartition(NS_SEP)
            here = self.namespace(outer, parents)
            node, colon, task = level.partition(NS_END)
            if colon:
                self._known[ns] = inside(here, node, self._task(outer, here, node, task, parents))
            else:
                self._known[ns] = f"{here}{NS_SEP}{level}" if here else level
        return self._known[ns]

    def _task(self, outer: str, here: str, node: str, task: str, parents: Mapping[str, str]) -> str:
        """The id here of the task that a level of a namespace names."""
        stored = self._tasks.get(task)
        order = None if stored is None else order_in(stored.path)
        at = parents.get(outer) if stored is None else stored.checkpoint
        if at is None:
            return task  # what it belongs to is not known: nothing will look for what is inside
        return task_id(checkpoint_id(at), here, node, order or order_of((PULL, node)))


__all__ = ["Places", "checkpoint_id", "order_in", "pulled_node", "pushed_place"]
