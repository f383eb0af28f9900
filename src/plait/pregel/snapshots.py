"""Reading threads back: from stored checkpoints to `StateSnapshot`s."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.checkpoint.base.port import Plan, Session, Snapshot
from plait.constants import ERROR, INTERRUPT, NS_SEP, START
from plait.drivers.base import Storage
from plait.drivers.env import SYSTEM
from plait.engine import report
from plait.engine.inside import graph_inside
from plait.engine.loop import Loop
from plait.engine.namespaces import node_names, remembered
from plait.engine.reporting import task_order
from plait.engine.restore import adopt
from plait.engine.spec import RunSpec
from plait.engine.tasks import Task
from plait.errors import ConfigError, InvalidUpdateError, UnknownNodeError
from plait.pregel.nested import MARKS, around
from plait.pregel.storage import checkpoint_id_of, open_storage
from plait.runnables.config import merge_configs
from plait.types import Interrupt, PregelTask, StateSnapshot

if TYPE_CHECKING:
    from plait.pregel.main import Pregel


DEEPEST = 32
"""How deep graphs are looked for inside each other: those that call each other have no end."""


def addressed(graph: Pregel, config: Any) -> tuple[Pregel, dict[str, Any], Storage]:
    """What a config addresses: the graph (of its namespace), its configurable, its storage.

    Raises:
        ConfigError: the graph has no saver or no such subgraph, or the config no thread id.
    """
    merged = merge_configs(graph.config, config)
    configurable: dict[str, Any] = merged.get("configurable") or {}
    if graph.checkpointer in (None, True, False):
        raise ConfigError(
            f"No checkpointer set: graph {graph.name!r} keeps no threads. Compile it with "
            "checkpointer=InMemorySaver() or SqliteSaver(...)."
        )
    ns = configurable.get("checkpoint_ns") or ""
    return graph_at(graph, ns), configurable, open_storage(graph, configurable, ns=ns)


def graph_at(graph: Pregel, ns: str) -> Pregel:
    """The graph whose checkpoints a namespace of `graph` holds.

    Raises:
        ConfigError: a level of the namespace names no node that runs a graph.
    """
    for name in node_names(ns):
        node = graph.plan.nodes.get(graph.plan.renames.nodes.get(name, name))
        inner = None if node is None else graph_inside(node)
        if inner is None:
            raise ConfigError(
                f"checkpoint_ns {ns!r} names {name!r}, which is no graph inside {graph.name!r}. "
                "Take the namespace from get_state(config, subgraphs=True).tasks[i].state.config."
            )
        graph = inner
    return graph


def subgraphs(
    graph: Pregel, namespace: str | None, recurse: bool, around: str = ""
) -> Iterator[tuple[str, Pregel]]:
    """See `Pregel.get_subgraphs`."""
    for name, node in graph.plan.nodes.items():
        ns = f"{around}{NS_SEP}{name}" if around else name
        if namespace is not None and not f"{namespace}{NS_SEP}".startswith(f"{ns}{NS_SEP}"):
            continue
        inner = graph_inside(node)
        if inner is None:
            continue
        if namespace in (None, ns):
            yield ns, inner
        if recurse and namespace != ns and around.count(NS_SEP) < DEEPEST:
            yield from subgraphs(inner, namespace, True, ns)


def get_state(graph: Pregel, config: Any, subgraphs: bool) -> StateSnapshot:
    """See `Pregel.get_state`."""
    graph, configurable, storage = addressed(graph, config)
    return storage.saver.run(_read(graph, configurable, storage.session, subgraphs))


async def aget_state(graph: Pregel, config: Any, subgraphs: bool) -> StateSnapshot:
    """See `Pregel.aget_state`."""
    graph, configurable, storage = addressed(graph, config)
    return await storage.saver.arun(_read(graph, configurable, storage.session, subgraphs))


def _read(
    graph: Pregel, configurable: Mapping[str, Any], session: Session, subgraphs: bool
) -> Plan[StateSnapshot]:
    """Read a lane's checkpoint, and with `subgraphs` those of the graphs inside its tasks."""
    checkpoint_id = checkpoint_id_of(configurable)
    stored = yield from session.load(checkpoint_id)
    if stored is None:
        config = cast(Any, {"configurable": dict(configurable)})
        return StateSnapshot({}, (), config, None, None, None, (), ())
    snapshot = snapshot_of(graph, stored, session, pending=checkpoint_id is None)
    if not subgraphs:
        return snapshot
    tasks: list[PregelTask] = []
    for task in snapshot.tasks:
        if task.state is not None:
            node = graph.plan.nodes[task.name]
            inner = graph_inside(node)
            place: dict[str, Any] = task.state["configurable"]
            if inner.checkpointer is True:
                memory = session.nested(remembered(session.ns, node.first_name))
                place = {**place, "checkpoint_ns": memory.ns}
                place |= yield from _made_in(memory, session.ns, stored.id)
            nested = session.nested(place["checkpoint_ns"])
            state = yield from _read(inner, place, nested, True)
            task = task._replace(state=state)
        tasks.append(task)
    return snapshot._replace(tasks=tuple(tasks))


def _made_in(memory: Session, ns: str, checkpoint_id: str) -> Plan[dict[str, str]]:
    """The newest state of a graph with memory that a super-step of its parent has made.

    Returns:
        What addresses it; nothing where that is the newest of all, or there is none.
    """
    at: str | None = None
    while True:
        page = yield from memory.marks(at, MARKS)
        for mark in page:
            made = around(mark.metadata).get(ns)
            if made == checkpoint_id:
                return {} if at is None and mark is page[0] else {"checkpoint_id": mark.id}
            if made is None or made < checkpoint_id:
                return {}
        if len(page) < MARKS:
            return {}
        at = page[-1].id


def history(
    graph: Pregel, config: Any, filter: Any, before: Any, limit: int | None
) -> Iterator[StateSnapshot]:
    """See `Pregel.get_state_history`."""
    graph, configurable, storage = addressed(graph, config)
    for page in _pages(storage, configurable, filter, before, limit):
        for stored in storage.saver.run(page):
            yield snapshot_of(graph, stored, storage.session, pending=False)


async def ahistory(
    graph: Pregel, config: Any, filter: Any, before: Any, limit: int | None
) -> AsyncIterator[StateSnapshot]:
    """See `Pregel.aget_state_history`."""
    graph, configurable, storage = addressed(graph, config)
    for page in _pages(storage, configurable, filter, before, limit):
        for stored in await storage.saver.arun(page):
            yield snapshot_of(graph, stored, storage.session, pending=False)


def _pages(
    storage: Storage,
    configurable: dict[str, Any],
    filter: Any,
    before: Any,
    limit: int | None,
) -> Iterator[Any]:
    one = checkpoint_id_of(configurable)
    if one is not None:
        yield _only(storage, one, filter, limit)
        return
    asked: dict[str, Any] = {} if before is None else before.get("configurable") or {}
    limit_id = checkpoint_id_of(asked)
    yield from storage.session.history(before=limit_id, limit=limit, filter=filter)


def _only(
    storage: Storage, checkpoint_id: str, filter: dict[str, Any] | None, limit: int | None
) -> Plan[list[Snapshot]]:
    """The history of a config that addresses one checkpoint: that one."""
    stored = yield from storage.session.load(checkpoint_id)
    if stored is None or limit == 0:
        return []
    matches = all(stored.metadata.get(key) == value for key, value in (filter or {}).items())
    return [stored] if matches else []


def snapshot_of(
    graph: Pregel, stored: Snapshot, session: Session, *, pending: bool
) -> StateSnapshot:
    """One stored checkpoint as users see it.

    Args:
        pending: show what finished tasks of its super-step wrote as part of the state, and only
            the others as next (a thread as it stands); else the checkpoint as it was.
    """
    loop = Loop(RunSpec(graph.plan, saved=True, ns=session.ns), SYSTEM)
    loop.restore(stored)
    try:
        adopt(loop, stored)
        tasks = loop.prepare()
    except UnknownNodeError:
        tasks = None  # its code is gone: the thread can still be looked at
    else:
        declared = {name: at for at, name in enumerate(graph.plan.nodes)}
        declared[START] = -1
        tasks.sort(key=lambda task: -1 if task.is_push else declared[task.name])
    open_of = _unanswered if pending else interrupts_of
    nodes, handlers = _apart(tasks or ())
    done = [task for task in (*nodes, *handlers) if task.saved and not task.handled]
    settled = {task.path for task in done}
    if not pending:
        done, settled = [], set[Any]()
    values = loop.values_with(done, graph.plan.stream)
    if tasks is None:
        following = loop.frontier.names()
    elif done and len(settled) == len(nodes):
        following = _after(loop, done)
    else:
        following = [task.name for task in nodes if task.path not in settled]
    shown = tuple(
        _task(task, graph, session.thread_id, () if task in done else open_of(task))
        for task in (*nodes, *(task for task in handlers if open_of(task)))
    )
    asked = tuple(question for task in shown for question in task.interrupts)

    def config_of(checkpoint_id: str | None) -> Any:
        address = {"thread_id": session.thread_id}
        parents: Any = stored.metadata.get("parents")
        return report.config_of(address, session.ns, checkpoint_id, parents)

    return StateSnapshot(
        values=values,
        next=tuple(following),
        config=config_of(stored.id),
        metadata=stored.metadata,
        created_at=stored.ts,
        parent_config=config_of(stored.parent_id),
        tasks=shown,
        interrupts=asked,
    )


def _apart(tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """The tasks of nodes, and those of error handlers that run in the place of some."""
    nodes = [task for task in tasks if task.failed is None]
    return nodes, [task for task in tasks if task.failed is not None]


def _after(loop: Loop, done: list[Task]) -> list[str]:
    """What runs after a super-step whose tasks all finished, but which was not committed.

    The run stopped between the two (a crash, a failing storage): the thread is not at its end.
    """
    try:
        frontier = loop.state.apply(sorted(done, key=task_order))
    except (InvalidUpdateError, UnknownNodeError):
        return [task.name for task in done]  # it cannot be committed either: say where it stands
    if not frontier:
        loop.state.finish(frontier)
    return frontier.names()


def interrupts_of(task: Task) -> tuple[Interrupt, ...]:
    """The questions a stored task has asked."""
    return tuple(q for channel, value in task.prior if channel == INTERRUPT for q in value)


def _unanswered(task: Task) -> tuple[Interrupt, ...]:
    """The questions a task still waits with; an answer may be stored before what came of it."""
    answers = task.questions.answers if task.questions is not None else {}
    return tuple(question for question in interrupts_of(task) if question.id not in answers)


def _task(task: Task, graph: Pregel, thread_id: str, asked: tuple[Interrupt, ...]) -> PregelTask:
    error = next((value for channel, value in task.prior if channel == ERROR), None)
    state = report.nested_config(task, {"thread_id": thread_id})
    result = None
    if task.saved and not task.handled:
        result = report.result_of(task.writes, graph.plan.stream)
        if isinstance(graph.plan.stream, str):
            result = result.get(graph.plan.stream)
    return PregelTask(task.id, task.name, task.path, error, asked, state, result)
