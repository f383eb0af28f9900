"""Before new code goes live: what it makes of the threads that a database holds.

`check` restores the newest checkpoint of every thread the way a run would, without running,
claiming or storing anything. The only code of the user's that it calls are migration functions, and
reducers where tasks have written, on values that it throws away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from plait.channels.untracked_value import UntrackedValue
from plait.checkpoint.base.port import Plan, Session, Snapshot
from plait.checkpoint.log.progress import Progress, Tell
from plait.checkpoint.log.requests import LaneRow, ListLanes, ListThreads
from plait.checkpoint.serde.lacking import lacking
from plait.constants import NS_END, ROUTE, TASKS
from plait.drivers.env import SYSTEM
from plait.engine.inside import graph_inside
from plait.engine.loop import Loop
from plait.engine.migration import Moved, lost_join
from plait.engine.namespaces import node_names, remembered
from plait.engine.questions import Pending
from plait.engine.reporting import task_order
from plait.engine.restore import adopt
from plait.engine.spec import RunSpec
from plait.engine.tasks import Task
from plait.errors import ConfigError, GraphError, StorageError, UnknownNodeError, nearest, renaming
from plait.graph.schema import required
from plait.graph.state import StateGraph
from plait.pregel.main import Pregel
from plait.pregel.nested import around
from plait.stored import checked_graph, lists_threads
from plait.types import Send

Verdict: TypeAlias = Literal["resumes", "migrates", "breaks"]
PAGE = 256
"""Threads that are listed at once."""
UNREAD = "?"
"""The checkpoint of a thread that cannot be read."""


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


def check(
    graph: Pregel | StateGraph[Any],
    saver: Any,
    *,
    threads: Callable[[str], bool] | None = None,
    progress: Tell = None,
) -> DeployReport:
    """Which stored threads resume, migrate or break under a graph, and why.

    Args:
        graph: the new code: a compiled graph, or one that still is to be compiled.
        saver: holds the threads. They are read only, and only the newest checkpoint of each.
        threads: says of a thread's id whether it is the graph's, where several graphs keep their
            threads in one database; None: all are.
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
    return _native(saver).run(_check(_compiled(graph), saver, threads, progress))


async def acheck(
    graph: Pregel | StateGraph[Any],
    saver: Any,
    *,
    threads: Callable[[str], bool] | None = None,
    progress: Tell = None,
) -> DeployReport:
    """`check` without blocking the event loop."""
    return await _native(saver).arun(_check(_compiled(graph), saver, threads, progress))


def _compiled(graph: Pregel | StateGraph[Any]) -> Pregel:
    found: Any = graph.compile() if isinstance(graph, StateGraph) else graph
    return checked_graph(found)


def _native(saver: Any) -> Any:
    if lists_threads(saver):
        return saver
    raise ConfigError(
        f"{type(saver).__name__} cannot list the heads of its threads: check_deploy reads "
        "plait's own savers (InMemorySaver, SqliteSaver, PostgresSaver)."
    )


def _check(
    graph: Pregel, saver: Any, wanted: Callable[[str], bool] | None, tell: Tell
) -> Plan[DeployReport]:
    report = DeployReport(graph.plan.name, graph.plan.version)
    after, done, more = 0, 0, True
    while more:
        page: list[LaneRow] = yield ListThreads(after, PAGE)
        for row in page:
            if wanted is not None and not wanted(row.thread_id):
                continue
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
    root = _Lane(graph, session, ThreadReport(row.thread_id))
    stored = yield from root.load()
    if stored is not None:
        yield from root.check(stored)
    if root.moved:
        yield from _memories(root)
    return root.report


def _memories(root: _Lane) -> Plan[None]:
    """The graphs with a memory of their own (`checkpointer=True`): which of them no node leads to
    any more, and whether the others can read theirs."""
    lanes: list[LaneRow] = yield ListLanes(root.report.thread_id)
    for row in lanes:
        if not row.ns or NS_END in row.ns:
            continue
        graph = root.graph
        for level in node_names(row.ns):
            plan = graph.plan
            node = plan.nodes.get(plan.renames.nodes.get(level, level))
            inner = None if node is None else graph_inside(node)
            if inner is None:
                why = f"no node of that name is a graph. {nearest(level, plan.nodes)}"
                root.lose_memory(row.ns, level, why)
                break
            graph = inner
        else:
            name = [*node_names(row.ns)][-1]
            if graph.checkpointer is not True:
                root.lose_memory(row.ns, name, "it has not been compiled with checkpointer=True.")
            elif row.ns.endswith(name):  # of several that one node calls, only the first is known
                yield from root.check_memory(graph, row.ns)


class _Lane:
    """One lane of a thread: the graph that it belongs to, and what was found out about it.

    Args:
        graph: today's.
        session: reads the lane.
        report: takes the findings.
        lasting: the namespace under the first names of nodes, in which memories stay.
    """

    def __init__(
        self, graph: Pregel, session: Session, report: ThreadReport, lasting: str = ""
    ) -> None:
        self.graph = graph
        self.plan = graph.plan
        self.session = session
        self.report = report
        self.lasting = lasting
        self.checkpoint_id = ""
        self.moved = False
        """Whether a graph of another shape has stored it, or it cannot be read."""

    def load(self) -> Plan[Snapshot | None]:
        """The lane's newest checkpoint; one that cannot be read is a finding."""
        try:
            stored: Snapshot | None = yield from self.session.load()
        except StorageError as error:
            self.moved = True
            self.checkpoint_id = self.report.checkpoint_id or UNREAD
            self.report.checkpoint_id = self.checkpoint_id
            self._found("breaks", f"it cannot be read: {error}")
            return None
        if stored is not None:
            self.checkpoint_id = stored.id
        return stored

    def check(self, stored: Snapshot) -> Plan[None]:
        """Restore a checkpoint that a run goes on from, and those of the graphs in its tasks."""
        if self.session.ns == "":
            frontier = stored.frontier
            self.report.checkpoint_id = stored.id
            sends = [send.node for send in frontier.get("sends", ())]
            self.report.next = (*sends, *sorted(frontier.get("next", ())))
            self.report.questions = len(Pending(stored.writes).questions)
        loop = self.restored(stored)
        if loop is not None:
            yield from self._follow(loop, stored)

    def restored(self, stored: Snapshot) -> Loop | None:
        """A loop that stands where a checkpoint says, or a finding."""
        session = self.session
        spec = RunSpec(self.plan, saved=True, ns=session.ns, thread_id=session.thread_id)
        loop = Loop(spec, SYSTEM)
        try:
            loop.restore(stored)
        except (GraphError, StorageError) as error:  # the latter: a key holds an unknown type
            self.moved = True
            unread = isinstance(error, StorageError)
            self._found("breaks", f"it cannot be read: {error}" if unread else str(error))
            return None
        if loop.moved is not None:
            self.moved = True
            self._tell_moved(loop.moved)
            self._tell_untracked(stored)
        self._tell_lacking(loop)
        return loop

    def _tell_untracked(self, stored: Snapshot) -> None:
        for key in stored.values:
            if isinstance(self.plan.channels.get(key), UntrackedValue):
                what = f"key {key!r} is not stored any more (UntrackedValue): what it holds is lost"
                self._found("loses", what, key)

    def _tell_lacking(self, loop: Loop) -> None:
        """Objects that were stored before their classes got a field."""
        for key in self.plan.channels:
            for cls, names in lacking(loop.state.channel(key).checkpoint()).items():
                self._found(
                    "breaks",
                    f"key {key!r} holds {cls.__qualname__} that was stored without its "
                    f"{', '.join(map(repr, names))}. Give that a default (of a default_factory: "
                    "list, dict or the like), or write a migration that sets it.",
                    key,
                )

    def _follow(self, loop: Loop, stored: Snapshot) -> Plan[None]:
        """What would run next, and the graphs inside of it."""
        missing = {name for name in self._named(loop, stored) if name not in self.plan.nodes}
        for name in sorted(missing):
            self._found(
                "breaks",
                f"node {name!r} is about to run, and graph {self.plan.name!r} does not have it. "
                f"{nearest(name, self.plan.nodes)} Declare it with {renaming(name)} if it was "
                "renamed.",
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
        pending = Pending(stored.writes)
        self._tell_gone(pending, loop.gone_handlers(tasks))
        for task in tasks:
            if not task.saved:
                self._look_at_input(task)
                asked = [each for each in pending.questions if task.id in pending.tasks_of[each]]
                yield from self._look_inside(task, asked)
        self._try_writes(loop, sorted((task for task in tasks if task.saved), key=task_order))

    def _look_at_input(self, task: Task) -> None:
        """Whether a node's schema, if that is a class, can be made from the state."""
        builder: StateGraph[Any] | None = getattr(self.graph, "builder", None)
        spec = None if builder is None or task.is_push else builder.nodes.get(task.name)
        if spec is None or not isinstance(task.input, dict):
            return
        given = cast("dict[str, Any]", task.input)
        lacking = [key for key in required(spec.input_schema) if key not in given]
        if lacking:
            self._found(
                "breaks",
                f"node {task.name!r} is to be handed {spec.input_schema.__name__}, and the thread "
                f"has nothing for its {', '.join(map(repr, lacking))}. Give that a default, or "
                "write a migration that sets it.",
                task.identity,
            )

    def _tell_gone(self, pending: Pending, handlers: set[str]) -> None:
        """Questions of error handlers that their nodes do not have any more."""
        asked = pending.questions
        gone = [each for each in asked if not handlers.isdisjoint(pending.tasks_of[each])]
        if gone:
            self._found(
                "loses",
                f"an error handler that is gone waits for an answer to {', '.join(gone)}, which "
                "would reach nobody. Put it back, or move the thread on by update_state().",
            )

    # --- the graphs inside -----------------------------------------------------------------------

    def _look_inside(self, task: Task, asked: list[str]) -> Plan[None]:
        """The graph in a task that is to run, and whether all that was asked can be asked again.

        Args:
            asked: the questions that the task waits with.
        """
        lasting = remembered(self.lasting, task.node.first_name)
        own, memory = self.session.nested(task.ns), self.session.nested(lasting)
        inner = graph_inside(task.node)
        lane: _Lane | None = None
        elsewhere = [own, memory]
        if inner is not None and inner.checkpointer is not False:
            here = elsewhere.pop(1 if inner.checkpointer is True else 0)
            lane = _Lane(inner, here, self.report, lasting)
            stored = yield from lane.load()
            if stored is not None and self._made(stored):
                yield from lane.check(stored)
                reached = Pending(stored.writes).questions
                asked = [each for each in asked if each not in reached]
        elif not self.moved:
            return  # the same code takes it up
        if asked:
            former = yield from self._questions_in(elsewhere)
            self._lose(task, [each for each in asked if each in former], former=True)
            if lane is not None and task.node.subgraph is not None:
                self._lose(task, [each for each in asked if each not in former])

    def _made(self, stored: Snapshot) -> bool:
        """Whether the super-step in which the lane stands has made a checkpoint of a graph inside:
        what a graph with memory has of earlier ones, is where nothing waits."""
        return around(stored.metadata).get(self.session.ns) == self.checkpoint_id

    def _questions_in(self, lanes: Sequence[Session]) -> Plan[set[str]]:
        """What waits in lanes that no graph reads any more."""
        found: set[str] = set()
        for lane in lanes:
            try:
                stored: Snapshot | None = yield from lane.load()
            except StorageError:
                continue  # and nobody will
            if stored is not None and self._made(stored):
                found.update(Pending(stored.writes).questions)
        return found

    def _lose(self, task: Task, lost: list[str], *, former: bool = False) -> None:
        """Answers that will reach nobody: a node that was a graph and is none now cannot ask again,
        nor the other way round, nor a graph that keeps its checkpoints in another place.

        Args:
            former: a graph asked that kept its checkpoints where today's code reads none.
        """
        if not lost:
            return
        if not former:
            then, now = "its code", "is a graph"
        elif task.node.subgraph is None:
            then, now = "a graph inside", "runs none"
        else:
            then, now = "a graph inside", "is a graph with another checkpointer="
        self._found(
            "loses",
            f"node {task.name!r} waits for an answer to {', '.join(lost)}, which {then} asked, "
            f"and now it {now}: the answer would reach nobody. Put back what asked, or move "
            "the thread on by update_state().",
            task.identity,
        )

    # --- memories --------------------------------------------------------------------------------

    def check_memory(self, graph: Pregel, ns: str) -> Plan[None]:
        """Whether a graph with memory can read what it has from earlier super-steps."""
        lane = _Lane(graph, self.session.nested(ns), self.report, ns)
        stored = yield from lane.load()
        if stored is not None:
            lane.restored(stored)

    def lose_memory(self, ns: str, level: str, why: str) -> None:
        """A memory that no graph reads any more."""
        what = f"the memory of graph {level!r} is out of reach: {why}"
        self.report.findings.append(Finding("loses", what, level, ns))

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
        for join in moved.joins:
            self._found("loses", lost_join(join, plan.name))

    def _found(self, effect: Any, what: str, name: str = "") -> None:
        finding = Finding(effect, what, name, self.session.ns, self.checkpoint_id)
        if finding not in self.report.findings:
            self.report.findings.append(finding)


__all__ = ["DeployReport", "Finding", "ThreadReport", "Verdict", "acheck", "check"]
