"""A thread that was imported before: whether it stands as it was left, and what is new of it.

LangGraph keeps answers, and what tasks have done, beside the checkpoint that they belong to, as
plait does. So either side may have gone on although its newest checkpoint is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from plait.checkpoint.base.port import Plan, TaskWrites
from plait.checkpoint.log.keys import unpack
from plait.checkpoint.log.records import is_dict
from plait.checkpoint.log.requests import LaneRow, ListLanes
from plait.checkpoint.log.session import LogSession
from plait.checkpoint.serde import Codec
from plait.constants import ERROR, INTERRUPT, RESUME
from plait.importing.threads import PeerThread

At: TypeAlias = "tuple[str, str]"
"""A namespace and a checkpoint, as they are called here."""
_Done: TypeAlias = "Mapping[str, Mapping[str, list[Any]]]"
"""What tasks have done: task to channel to values."""


class Again(NamedTuple):
    """What becomes of a thread that is here already."""

    left: bool
    """Whether nobody has gone on with it here."""
    stale: frozenset[At] = frozenset()
    """Newest checkpoints of which LangGraph has stored more than what is here."""
    whole: bool = False
    """Whether all of it is here."""


def compare(thread: PeerThread, session: LogSession) -> Plan[Again]:
    """Compare a thread of LangGraph's with what was imported of it.

    Args:
        thread: What LangGraph has by now.
        session: Of the thread here; it is loaded.

    Raises:
        CorruptCheckpointError: Something stored cannot be read.
    """
    lanes = {lane.here: lane for lane in thread.lanes()}
    rows: list[LaneRow] = yield ListLanes(session.thread_id)
    heads = {row.ns: unpack(row.head) for row in rows if row.head is not None}
    if any(ns not in lanes or head not in lanes[ns].ids() for ns, head in heads.items()):
        return Again(left=False)
    working = {here for here, lane in lanes.items() if lane.is_working()}
    whole = heads.keys() >= working  # of others, the thread may have been pruned
    whole = whole and all(head == max(lanes[ns].ids()) for ns, head in heads.items())
    if whole and not working:
        return Again(left=True, whole=True)
    there, stale = _outcomes(thread), set[At]()
    for ns, head in heads.items():
        snapshot = yield from (session if ns == "" else session.nested(ns)).load(head)
        assert snapshot is not None, "the head of a lane is there"
        here = _by_task((id, [(channel, value)]) for id, channel, value in snapshot.writes)
        done = there.get((ns, head), {})
        if not _explains(session.codec, done, here):
            return Again(left=False)
        if head == max(lanes[ns].ids()) and not _same(session.codec, done, here):
            stale.add((ns, head))
    return Again(True, frozenset(stale), whole and not stale)


def _outcomes(thread: PeerThread) -> dict[At, _Done]:
    """What tasks of each checkpoint have done there by now."""
    found: dict[At, list[TaskWrites]] = {}
    for lane in thread.lanes():
        for step in lane.steps():
            for task in step.writes:
                found.setdefault((lane.here, task.checkpoint_id), []).append(task)
    return {at: _by_task((each.task_id, each.writes) for each in tasks)
            for at, tasks in found.items()}  # fmt: skip


def _by_task(writes: Iterable[tuple[str, Iterable[tuple[str, Any]]]]) -> _Done:
    found: dict[str, dict[str, list[Any]]] = {}
    for task, parts in writes:
        for channel, value in parts:
            found.setdefault(task, {}).setdefault(channel, []).append(value)
    return found


def _explains(codec: Codec, there: _Done, here: _Done) -> bool:
    """Whether all that stands here may have been imported: questions and errors may have come to
    others since, and answers and results only become more."""
    for task, channels in here.items():
        known = there.get(task, {})
        for channel, values in channels.items():
            if channel == RESUME:
                answers = _answers(codec, known.get(RESUME, ()))
                if not _answers(codec, values).items() <= answers.items():
                    return False
            elif channel in (ERROR, INTERRUPT):
                continue
            elif codec.dumps(values) != codec.dumps(known.get(channel)):
                return False
    return True


def _answers(codec: Codec, values: Iterable[Any]) -> dict[str, bytes]:
    """Question to answer, encoded."""
    found: dict[str, Any] = {}
    for value in values:
        found.update(value if is_dict(value) else {"": value})
    return {id: codec.dumps(answer) for id, answer in found.items()}


def _same(codec: Codec, *sides: _Done) -> bool:
    there, here = ({k: codec.dumps(sorted(v.items())) for k, v in each.items()} for each in sides)
    return there == here


__all__ = ["Again", "compare"]
