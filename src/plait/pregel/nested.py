"""Nested runs: where they keep their checkpoints, and from which of them they start.

A nested run starts from one of these, the first that applies:

1. what the same task of its parent has stored already, or somebody wrote by hand before the graph
   had ever begun: it goes on there;
2. the checkpoint that a replay names for it (its *origin*): it starts from a fork of it;
3. if the graph has memory (`checkpointer=True`): the state it was left in by the past of its
   parent. After a replay or a fork that is not the newest one, but the newest of those that were
   made before the point in time that the parent went back to. Tasks beside each other do not see
   what the others leave there;
4. nothing: its input alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from plait.checkpoint.base.port import Mark, Plan, Session, Snapshot
from plait.constants import NS_END, NS_SEP
from plait.engine.formers import FormerStep
from plait.engine.frontier import Frontier
from plait.engine.namespaces import inside, numbered, remembered
from plait.engine.past import before, ran_before
from plait.engine.records import Origin, snapshot_of
from plait.engine.restore import is_of
from plait.engine.tasks import task_id

if TYPE_CHECKING:
    from plait.engine.formers import Former
    from plait.engine.loop import Loop
    from plait.engine.tasks import Task
    from plait.pregel.main import Pregel
    from plait.pregel.scope import TaskScope

MARKS = 8
"""How many checkpoints are looked at together; the one that is wanted is most often near."""


class Nest:
    """The place of one nested run: its namespace, and the task around it."""

    __slots__ = ("_memory", "_ns", "_nth", "_scope", "former")

    def __init__(self, graph: Pregel, scope: TaskScope) -> None:
        self._scope = scope
        self._nth = scope.next_child()
        self._memory = graph.checkpointer is True
        self._ns: str | None = None
        self.former: FormerStep | None = None
        """Where the run stopped in whose place this one begins anew; known once it has loaded, or
        at once where nothing is stored of the two."""
        former = scope.task.former
        if former is not None:
            self.former = FormerStep(self._former_ns(former), "", 0, (), former.open)

    @property
    def ns(self) -> str:
        """The namespace of the run (made when it is asked for)."""
        made = self._ns
        if made is None:
            task = self._scope.task
            outer = remembered(self._lasting(), task.node.first_name) if self._memory else task.ns
            made = self._ns = numbered(outer, self._nth)
        return made

    @property
    def caller(self) -> str | None:
        """See `RunSpec.caller`."""
        task = self._scope.task
        return task.id if self._memory and task.is_push else None

    def _lasting(self) -> str:
        """The namespace of the graph around, under the first names of nodes: those stay."""
        names: dict[str, str] = {}
        scope = self._scope.run.parent
        while scope is not None:
            names[scope.task.identity] = scope.task.node.first_name
            scope = scope.run.parent
        levels = self._scope.task.step.ns.split(NS_SEP)
        return NS_SEP.join(names.get(name := level.split(NS_END)[0], name) for level in levels)

    def is_late(self) -> bool:
        """Whether a task around it took too long, so that nobody waits for what it runs."""
        scope: TaskScope | None = self._scope
        while scope is not None:
            if scope.run.loop.is_expired(scope.task):
                return True
            scope = scope.run.parent
        return False

    def load(self, session: Session) -> Plan[Snapshot | None]:
        """Where the run starts (see the head of this file)."""
        step, former = self._scope.task.step, self._scope.task.former
        if former is not None:
            self.former = yield from self._stopped(session, former)
        head = yield from session.load(None)
        if head is not None:
            self._take_over(head)
            if self._is_own(head.metadata, head.frontier.get("caller")):
                return head
        if self._memory and head is not None and head.id > (step.checkpoint_id or ""):
            own = yield from self._own(session, head.id)
            if own is not None:
                return own
        origin = self._origin()
        if origin is not None:
            lane = session if origin.ns == self.ns else session.nested(origin.ns)
            found = yield from lane.load(origin.checkpoint_id)
            if found is not None:
                found.origin = origin
                return found
        if head is None or not self._memory:
            return None
        return (yield from self._remembered(session, head))

    def _take_over(self, head: Snapshot) -> None:
        """What somebody wrote before the graph had ever begun counts as made where it begins now:
        in the task that has the namespace, or, of a graph with memory, in a run that goes on."""
        if around(head.metadata) or (self._memory and not self._scope.run.loop.went_on):
            return
        step = self._scope.task.step
        head.metadata = {**head.metadata, "parents": {step.ns: step.checkpoint_id}}

    def _is_own(self, metadata: Mapping[str, Any], caller: str | None) -> bool:
        """Whether this task has made a checkpoint, in this attempt or an earlier one."""
        step = self._scope.task.step
        made = around(metadata).get(step.ns)
        return made == step.checkpoint_id and is_of(self.caller, caller)

    def _own(self, session: Session, newest: str) -> Plan[Snapshot | None]:
        """What this task has stored in a memory to which others beside it have written since."""
        since, at = self._scope.task.step.checkpoint_id or "", newest
        while True:
            page: list[Mark] = yield from session.marks(at, MARKS)
            for mark in page:
                if mark.id <= since:
                    return None
                if self._is_own(mark.metadata, mark.caller):
                    return (yield from session.load(mark.id))
            if len(page) < MARKS:
                return None
            at = page[-1].id

    def is_untrodden(self) -> bool:
        """Whether nobody can have stored anything for this run: then nobody needs to look.

        Its namespace derives from the task around it, whose id derives from the checkpoint that the
        task stands on. Where the run around has made that checkpoint itself, nobody ran the task
        before; and in this run it is its first attempt.
        """
        loop = self._scope.run.loop
        if self._memory or loop.went_on or loop.origin is not None or loop.plan.foresight:
            return False
        task: Task | None = self._scope.task
        if task.former is not None:
            return False
        while task is not None and task.attempt == 1:
            task = task.parent
        return task is None

    def _origin(self) -> Origin | None:
        """What a replay of the task around it names for this run."""
        replayed, task = self._scope.run.loop.origin, self._scope.task
        if replayed is None:
            return None
        outer = replayed.ns
        then = task_id(replayed.checkpoint_id, outer, task.identity, task.key or task.order)
        whole = self.ns if self._memory else inside(outer, task.identity, then)
        ns = whole if self._memory else numbered(whole, self._nth)
        asked = replayed.inside.get(ns)
        return None if asked is None else Origin(ns, asked, replayed.inside)

    # --- what it stands for ----------------------------------------------------------------------

    def _former_ns(self, former: Former) -> str:
        """The namespace of the run in whose place this one begins anew."""
        if self._memory:
            return self.ns
        return numbered(former.inside(self._scope.task.identity), self._nth)

    def _stopped(self, session: Session, former: Former) -> Plan[FormerStep | None]:
        """Where that run stopped: at the newest checkpoint that it has made."""
        lane = session.nested(self._former_ns(former))
        at: str | None = None
        while True:
            page = yield from lane.marks(at, MARKS)
            for mark in page:
                if not self._memory or self._is_of_former(mark):
                    stored = yield from lane.look(mark.id)
                    if stored is None:  # it was pruned meanwhile
                        return None
                    checkpoint = snapshot_of(stored)
                    sends = Frontier.restored(checkpoint.frontier).sends
                    number = checkpoint.metadata["step"] + 1
                    return FormerStep(lane.ns, checkpoint.id, number, sends, former.open)
            if len(page) < MARKS:
                return None
            at = page[-1].id

    def _is_of_former(self, mark: Mark) -> bool:
        """Whether a checkpoint of a graph with memory was made inside the former task."""
        task = self._scope.task
        while task.parent is not None:  # what was called derives from the task that called it
            task = task.parent
        former = task.former
        assert former is not None
        made = around(mark.metadata).get(former.ns)
        if made is None:
            return False
        return task_id(made, former.ns, task.identity, task.order) == former.id

    # --- memory ----------------------------------------------------------------------------------

    def _remembered(self, session: Session, head: Snapshot) -> Plan[Snapshot | None]:
        """The state that belongs to the past of the runs around this one, as it was last.

        Most often that is the newest one. What was made in the latest super-step counts, whenever
        it was stored: somebody may have written to an older one since.
        """
        caller = head.frontier.get("caller")
        if self._is_recent(around(head.metadata)) and not self._is_beside(head.metadata, caller):
            return head
        best: Mark | None = None
        latest: tuple[str, ...] = ()
        told: Mapping[str, str] = {}
        at: str | None = head.id
        while at is not None:
            page: list[Mark] = yield from session.marks(at, MARKS)
            for mark in page:
                if latest and mark.id <= latest[0]:
                    break  # made before the super-step of what was found: so are all that follow
                parents = around(mark.metadata)
                when = tuple(parents.values())
                if parents == told or when <= latest:
                    continue
                if self._is_beside(mark.metadata, mark.caller):
                    continue
                told = parents
                if (yield from self._happened(session, parents)):
                    best, latest = mark, when
            else:
                at = page[-1].id if len(page) > 1 else None
                continue
            break
        return None if best is None else (yield from session.load(best.id))

    def _is_beside(self, metadata: Mapping[str, Any], caller: str | None) -> bool:
        """Whether a task that runs beside this one, or beside one around it, has made it. What one
        and the same task calls has its order from the program, and is no such task."""
        parents = around(metadata)
        scope: TaskScope | None = self._scope
        inner: str | None = None
        while scope is not None:
            task = scope.task
            if parents.get(task.step.ns) == task.step.checkpoint_id:
                same = is_of(self.caller, caller) if inner is None else inner in parents
                return task.parent is None and not same
            inner, scope = task.step.ns, scope.run.parent
        return False

    def _is_recent(self, parents: Mapping[str, str]) -> bool:
        """Whether this very run has made it, or somebody before any run."""
        return not parents or any(
            parents.get(ns, "") >= loop.began for ns, loop in self._outwards()
        )

    def _happened(self, session: Session, parents: Mapping[str, str]) -> Plan[bool]:
        """Whether the super-steps that a state was made in are part of the past."""
        for ns, loop in self._outwards():
            made = parents.get(ns)
            if made is not None:
                if made >= loop.began or (loop.went_on and made == _id_of(loop.start)):
                    return True
                if (yield from _in_the_past(session.nested(ns), loop.start, made)):
                    return True
            origin = loop.came_from
            if origin is not None and origin.ns != ns and origin.ns in parents:
                lane = session.nested(origin.ns)
                if (yield from _in_the_past(lane, loop.start, parents[origin.ns])):
                    return True
        return False

    def _outwards(self) -> Iterator[tuple[str, Loop]]:
        """The runs around this one, from the inside out, each with its namespace."""
        scope: TaskScope | None = self._scope
        while scope is not None:
            yield scope.run.ns_path, scope.run.loop
            scope = scope.run.parent


def around(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Namespace to checkpoint of the runs around the one that made a checkpoint."""
    return metadata.get("parents") or {}


def _id_of(mark: Mark | None) -> str | None:
    return None if mark is None else mark.id


def _in_the_past(lane: Session, start: Mark | None, made: str) -> Plan[bool]:
    """Whether the super-step on checkpoint `made` ran on the way to checkpoint `start`."""
    known: dict[str, Mark] = {}
    while start is not None and made < start.id:
        at = before(start)
        if at is not None and at not in known:
            page = yield from lane.marks(at, MARKS)
            known = {mark.id: mark for mark in page}
        above = None if at is None else known.get(at)
        ran = ran_before(start, above, made)
        if ran is not None:
            return ran
        start = above
    return False
