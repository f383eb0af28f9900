"""Tasks of which nobody knows what became of them (see `engine.guards`), looked for in a thread."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from plait.checkpoint.base.port import Plan, Reading, Snapshot
from plait.constants import CALL, STARTED
from plait.drivers.env import SYSTEM
from plait.engine.inside import graph_inside
from plait.engine.loop import Loop
from plait.engine.namespaces import numbered, remembered
from plait.engine.records import snapshot_of
from plait.engine.report import is_outcome
from plait.engine.spec import RunSpec
from plait.engine.tasks import Task
from plait.pregel.nested import around

if TYPE_CHECKING:
    from plait.pregel.main import Pregel


def cut_off_at(stored: Snapshot) -> set[str]:
    """The ids of the pending tasks of a checkpoint that were cut off, or called one that was."""
    cut = {id for id, channel, mark in stored.writes if channel == STARTED and mark[1]}
    if not cut:
        return cut
    callers = {id: call[0] for id, channel, call in stored.writes if channel == CALL}
    ended = _ended(stored)
    found: set[str] = set()
    for task_id in cut - ended:
        while task_id in callers:
            task_id = callers[task_id]
        found.add(task_id)
    return found - ended


def _ended(stored: Snapshot) -> set[str]:
    return {id for id, channel, _ in stored.writes if is_outcome([(channel, None)])}


def is_cut_off_inside(lane: Reading, stored: Snapshot, task: Task) -> Plan[bool]:
    """Whether a graph that a pending task of a checkpoint runs was left in the midst of such a one.

    Args:
        lane: Where the checkpoint is.
        stored: The checkpoint.
        task: One of its tasks.
    """
    inner = graph_inside(task.node)
    if inner is None or task.id in _ended(stored):
        return False
    memory = inner.checkpointer is True
    outer = remembered(lane.ns, task.node.first_name) if memory else task.ns
    for nth in count():
        nested = lane.nested(numbered(outer, nth))
        found = yield from nested.look()
        if found is None:
            return False
        snapshot = snapshot_of(found)
        if around(snapshot.metadata).get(lane.ns) == stored.id and (
            yield from _is_cut_off(inner, nested, snapshot)
        ):
            return True
    return False


def _is_cut_off(graph: Pregel, lane: Reading, stored: Snapshot) -> Plan[bool]:
    if cut_off_at(stored):
        return True
    spec = RunSpec(graph.plan, saved=True, ns=lane.ns, thread_id=lane.thread_id)
    loop = Loop(spec, SYSTEM)
    loop.restore(stored)
    for task in loop.prepare(known_only=True):
        if (yield from is_cut_off_inside(lane, stored, task)):
            return True
    return False
