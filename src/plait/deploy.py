"""Before new code goes live: what it makes of the threads that a database holds.

`check` restores the newest checkpoint of every thread the way a run would, without running,
claiming or storing anything. The only code of the user's that it calls are migration functions, and
reducers where tasks have written, on values that it throws away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from plait.checkpoint.base.port import Plan, Session, Snapshot
from plait.checkpoint.log.requests import LaneRow, ListLanes, ListThreads
from plait.checkpoint.log.retention import Progress, Tell
from plait.constants import NS_END, NS_SEP, ROUTE, TASKS
from plait.drivers.env import SYSTEM
from plait.engine.inside import graph_inside
from plait.engine.loop import Loop
from plait.engine.migration import Moved
from plait.engine.questions import Pending
from plait.engine.reporting import task_order
from plait.engine.restore import adopt
from plait.engine.spec import RunSpec
from plait.engine.tasks import Task
from plait.errors import ConfigError, GraphError, StorageError, UnknownNodeError, nearest
from plait.graph.state import StateGraph
from plait.pregel.main import Pregel
from plait.types import Send

Verdict: TypeAlias = Literal["resumes", "migrates", "breaks"]
PAGE = 256
"""Threads that are listed at once."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that new code makes of a stored thread."""

    effect: Literal["migrates", "loses", "breaks"]
    """`loses`: it goes on, but something that is stored is out of reach from then on."""
    what: str
    name: str = ""
    """The node or key that it is about."""
    ns: str = ""
    """The graph inside the thread ("": the thread's own)."""
    checkpoint_id: str = ""


@dataclass(slots=True)
class ThreadReport:
    """What new code makes of one thread."""

    thread_id: str
    checkpoint_id: str = ""
    next: tuple[str, ...] = ()
    """The nodes that are left to run, under their stored names; none: the thread is at its end."""
    questions: int = 0
    """How many interrupts wait for an answer."""
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def verdict(self) -> Verdict:
        """The worst of its findings."""
        effects = {finding.effect for finding in self.findings}
        if "breaks" in effects:
            return "breaks"
        return "migrates" if effects else "resumes"

    @property
    def loses(self) -> bool:
        """Whether something that is stored will be out of reach."""
        return any(finding.effect == "loses" for finding in self.findings)


@dataclass(slots=True)
class DeployReport:
    """What new code makes of the threads of a database."""

    graph: str
    version: int
    threads: list[ThreadReport] = field(default_factory=list[ThreadReport])

    def of(self, verdict: Verdict) -> list[ThreadReport]:
        """The threads with this verdict."""
        return [thread for thread in self.threads if thread.verdict == verdict]

    @property
    def ok(self) -> bool:
        """Whether no thread breaks."""
        return not self.of("breaks")


def check(graph: Pregel | StateGraph[Any], saver: Any, *, progress: Tell = None) -> DeployReport:
    """Which stored threads resume, migrate or break under a graph, and why.

    Args:
        graph: the new code: a compiled graph, or one that still is to be compiled.
        saver: holds the threads. They are read only, and only the newest checkpoint of each.
        progress: is called after each thread, with its id and how many are done.

    Raises:
        ConfigError: the saver cannot list threads (it is not one of plait's).
        InvalidGraphError: the graph cannot be compiled.

    >>> from plait import START, InMemorySaver, StateGraph
    >>> saver, thread = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    >>> builder = StateGraph(dict).add_node("draft", lambda state: state).add_edge(START, "draft")
    >>> old = builder.compile(checkpointer=saver, interrupt_before=["draft"])
    >>> _ = old.invoke({"topic": "braids"}, thread)
    >>> new = StateGraph(dict).add_node("drafts", lambda state: state).add_edge(START, "drafts")
    >>> [(thread.verdict, thread.findings[0].name) for thread in check(new, saver).threads]
    [('breaks', 'draft')]
    """
    return _native(saver).run(_check(_compiled(graph), saver, progress))


async def acheck(
    graph: Pregel | StateGraph[Any], saver: Any, *, progress: Tell = None
) -> DeployReport:
    """`check` without blocking the event loop."""
    return await _native(saver).arun(_check(_compiled(graph), saver, progress))


def _compiled(graph: Pregel | StateGraph[Any]) -> Pregel:
    return graph.compile() if isinstance(graph, StateGraph) else graph


def _native(saver: Any) -> Any:
    if hasattr(saver, "open_session") and hasattr(saver, "arun"):
        return saver
    raise ConfigError(
        f"{type(saver).__name__} cannot list the heads of its threads: check_deploy reads "
        "plait's own savers (InMemorySaver, SqliteSaver)."
    )


def _check(graph: Pregel, saver: Any, tell: Tell) -> Plan[DeployReport]:
    report = DeployReport(graph.plan.name, graph.plan.version)
    after, done, more = 0, 0, True
    while more:
        page: list[LaneRow] = yield ListThreads(after, PAGE)
        for row in page:
            thread = yield from _thread(graph, saver, row)
            if thread.checkpoint_id:
                report.threads.append(thread)
            done += 1
            if tell is not None:
                tell(Progress(row.thread_id, done, None))
        more = len(page) == PAGE
        after = page[-1].lane if page else after
    return report


def _thread(graph: Pregel, saver: Any, row: LaneRow) -> Plan[ThreadReport]:
    session = saver.open_session(row.thread_id, "", registry=graph.registry())
    report = ThreadReport(row.thread_id)
    same = yield from _Lane(graph, session, report).check()
    if not same:
        yield from _memories(graph, row.thread_id, report)
    return report


def _memories(graph: Pregel, thread_id: str, report: ThreadReport) -> Plan[None]:
    """Graphs with a memory of their own (`checkpointer=True`) that no node leads to any more."""
    lanes: list[LaneRow] = yield ListLanes(thread_id)
    for lane in lanes:
        if not lane.ns or NS_END in lane.ns:
            continue
        plan = graph.plan
        for level in lane.ns.split(NS_SEP):
            node = plan.nodes.get(plan.renames.nodes.get(level, level))
            inner = None if node is None else graph_inside(node)
            if inner is None:
                report.findings.append(
                    Finding(
                        "loses",
                        f"the memory of graph {level!r} is out of reach: no node of that name is a "
                        f"graph. {nearest(level, plan.nodes)}",
                        level,
                        lane.ns,
                    )
                )
                break
            plan = inner.plan


class _Lane:
    """One lane of a thread: the graph that it belongs to, and what was found out about it."""

    def __init__(self, graph: Pregel, session: Session, report: ThreadReport) -> None:
        self.graph = graph
        self.plan = graph.plan
        self.session = session
        self.report = report
        self.checkpoint_id = ""

    def check(self) -> Plan[bool]:
        """Restore the lane's newest checkpoint, and those of the graphs in its pending tasks.

        Returns:
            Whether a graph of this very shape has stored it.
        """
        root = self.session.ns == ""
        try:
            stored: Snapshot | None = yield from self.session.load()
        except StorageError as error:
            self.checkpoint_id = self.report.checkpoint_id or "?"
            self.report.checkpoint_id = self.checkpoint_id
            self._found("breaks", f"it cannot be read: {error}")
            return False
        if stored is None:
            return True
        self.checkpoint_id = stored.id
        frontier = stored.frontier
        if root:
            self.report.checkpoint_id = stored.id
            sends = [send.node for send in frontier.get("sends", ())]
            self.report.next = (*sends, *sorted(frontier.get("next", ())))
            self.report.questions = len(Pending(stored.writes).questions)
        loop = Loop(self._spec(), SYSTEM)
        try:
            loop.restore(stored)
        except GraphError as error:
            self._found("breaks", str(error))
            return False
        if loop.moved is not None:
            self._tell_moved(loop.moved)
        yield from self._follow(loop, stored)
        return loop.moved is None

    def _spec(self) -> RunSpec:
        session = self.session
        return RunSpec(self.plan, saved=True, ns=session.ns, thread_id=session.thread_id)

    def _follow(self, loop: Loop, stored: Snapshot) -> Plan[None]:
        """What would run next, and the graphs inside of it."""
        missing = {name for name in self._named(loop, stored) if name not in self.plan.nodes}
        for name in sorted(missing):
            self._found(
                "breaks",
                f"node {name!r} is about to run, and graph {self.plan.name!r} does not have it. "
                f"{nearest(name, self.plan.nodes)} Declare it with "
                f"add_node(..., renamed_from={name!r}) if it was renamed.",
                name,
            )
        try:
            adopt(loop, stored)
            tasks = loop.prepare(known_only=True)
        except GraphError as error:
            if not missing:
                self._found("breaks", str(error))
            return
        except Exception as error:  # of a reducer
            self._found("breaks", f"what was given to it by hand does not fit: {error!r}")
            return
        if self.session.ns == "":
            left = list(self.report.next)
            for task in tasks:
                if task.saved and task.identity in left:
                    left.remove(task.identity)
            self.report.next = tuple(left)
        pending = Pending(stored.writes) if loop.moved is not None else None
        for task in tasks:
            if task.saved:
                continue
            inner = graph_inside(task.node)
            if pending is not None:
                asked = [each for each in pending.questions if task.id in pending.tasks_of[each]]
                yield from self._try_answers(task, asked, inner)
            if inner is not None and inner.checkpointer is not True:
                yield from _Lane(inner, self.session.nested(task.ns), self.report).check()
        self._try_writes(loop, sorted((task for task in tasks if task.saved), key=task_order))

    def _try_answers(self, task: Task, asked: list[str], inner: Any) -> Plan[None]:
        """Whether a task can still ask what it waits to be answered, if other code takes it up: a
        node that was a graph and is none now cannot, nor the other way round."""
        is_graph = task.node.subgraph is not None and inner.checkpointer is None
        if not asked or not (inner is None or is_graph):
            return
        stored: Snapshot | None = yield from self.session.nested(task.ns).load()
        inside = Pending(() if stored is None else stored.writes).questions.keys()
        lost = [each for each in asked if (each in inside) is not is_graph]
        if lost:
            now, then = ("is a graph", "its code") if is_graph else ("runs none", "a graph inside")
            self._found(
                "loses",
                f"node {task.name!r} waits for an answer to {', '.join(lost)}, which {then} asked, "
                f"and now it {now}: the answer would reach nobody. Put back what asked, or move "
                "the thread on by update_state().",
                task.identity,
            )

    def _try_writes(self, loop: Loop, done: list[Task]) -> None:
        """What tasks of a super-step that is not at its end have written, given to the reducers."""
        names = ", ".join(repr(task.name) for task in done)
        try:
            if done:
                loop.state.apply(done)
        except UnknownNodeError:
            return  # told by its name
        except Exception as error:  # of a reducer, too
            self._found(
                "breaks",
                f"what {names} wrote does not fit the state: {error!r}. Let the reducer take it, "
                "or move the thread on by update_state().",
                done[0].name if len(done) == 1 else "",
            )

    def _named(self, loop: Loop, stored: Snapshot) -> Iterator[str]:
        """Every node that what is stored leads to."""
        yield from loop.frontier.names()
        yield from loop.frontier.deferred
        for _, channel, value in stored.writes:
            if channel.startswith(ROUTE):
                yield channel.removeprefix(ROUTE)
            elif channel == TASKS and isinstance(value, Send):
                yield value.node

    def _tell_moved(self, moved: Moved) -> None:
        plan = self.plan
        for now, former in moved.pulls.items():
            self._found("migrates", f"the task of node {former!r} goes on as {now!r}", former)
        for former in sorted(set(moved.sends.values())):
            now = plan.renames.nodes[former]
            self._found("migrates", f"what was sent to {former!r} goes to {now!r}", former)
        for former, now in moved.renamed.items():
            self._found("migrates", f"key {former!r} becomes {now!r}", former)
        if moved.version != plan.version:
            what = f"the state goes from version {moved.version} to {plan.version}"
            self._found("migrates", what)
        for key in (*moved.lost, *moved.dropped):
            self._found(
                "loses",
                f"key {key!r} is not in the state any more: what it holds is out of reach. "
                f"{nearest(key, plan.channels)} Declare it with "
                f"Annotated[..., RenamedFrom({key!r})] if it was renamed.",
                key,
            )

    def _found(self, effect: Any, what: str, name: str = "") -> None:
        finding = Finding(effect, what, name, self.session.ns, self.checkpoint_id)
        if finding not in self.report.findings:
            self.report.findings.append(finding)


__all__ = ["DeployReport", "Finding", "ThreadReport", "Verdict", "acheck", "check"]
