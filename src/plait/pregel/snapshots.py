"""Reading threads back: which checkpoints a config addresses, read and shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from plait.callbacks.context import inherited_config
from plait.checkpoint.base.port import Plan, Reading, Stored
from plait.constants import NS_END, NS_SEP
from plait.drivers.base import PlanRunner, Storage
from plait.engine.inside import graph_inside
from plait.engine.namespaces import node_names, remembered
from plait.engine.records import id_of, metadata_of
from plait.engine.restore import is_of
from plait.errors import ConfigError
from plait.pregel.configs import check_config
from plait.pregel.nested import MARKS, around
from plait.pregel.storage import checkpoint_id_of, open_reading, open_storage, saver_of
from plait.pregel.viewer import Viewer
from plait.runnables.config import ensure_config, merge_configs
from plait.types import PregelTask, StateSnapshot

if TYPE_CHECKING:
    from plait.engine.plan import NodePlan
    from plait.pregel.main import Pregel


DEEPEST = 32
"""How deep graphs are looked for inside each other: those that call each other have no end."""


def addressed(graph: Pregel, config: Any) -> tuple[Pregel, dict[str, Any], Storage]:
    """What a config addresses: the graph (of its namespace), its configurable, its storage.

    Raises:
        ConfigError: the graph has no saver or no such subgraph, or the config no thread id.
    """
    at, configurable, ns = _place(graph, config)
    return at, configurable, open_storage(graph, configurable, ns=ns)


def _to_read(graph: Pregel, config: Any) -> tuple[Pregel, dict[str, Any], PlanRunner, Reading]:
    """`addressed`, for those who only look: what runs their plans, and the lane.

    The lane of a graph that no node declares, one that a tool calls say, is read as the state of
    the graph around it: LangGraph does so, too.
    """
    at, configurable, ns = _place(graph, config, lenient=True)
    return at, configurable, *open_reading(graph, configurable, ns)


def _place(
    graph: Pregel, config: Any, *, lenient: bool = False
) -> tuple[Pregel, dict[str, Any], str]:
    configurable = _only_configurable(graph, config)
    if configurable is None:
        check_config(config)
        both = graph.config and config
        merged = (
            merge_configs(graph.config, config) if both else ensure_config(config or graph.config)
        )
        configurable = cast("dict[str, Any]", merged.get("configurable") or {})
    if graph.checkpointer is False or saver_of(graph, configurable) in (None, True):
        raise ConfigError(
            f"No checkpointer set: graph {graph.name!r} keeps no threads. Compile it with "
            "checkpointer=InMemorySaver() or SqliteSaver(...)."
        )
    ns = configurable.get("checkpoint_ns") or ""
    if not ns:
        return graph, configurable, ns
    levels = [*_inwards(graph, ns, lenient=lenient)]
    at = levels[-1][1] if levels else graph
    is_task = NS_END in ns.rpartition(NS_SEP)[2]
    if at.checkpointer is True and is_task and len(levels) == len([*node_names(ns)]):
        # A task's `state` names the task; what the graph remembers lies under its node's name.
        ns = NS_SEP.join(node.first_name for node, _ in levels)
        configurable = {**configurable, "checkpoint_ns": ns}
    return at, configurable, ns


def _only_configurable(graph: Pregel, config: Any) -> dict[str, Any] | None:
    """What is configurable, where that is all that a config says and nothing else has a say."""
    told: Any = config
    if graph.config or type(config) is not dict or len(told) != 1:
        return None
    configurable = found = told.get("configurable")
    if type(configurable) is not dict or inherited_config() is not None:
        return None
    return found


def _lasting(graph: Pregel, ns: str, subgraphs: bool) -> str | None:
    """A namespace of `graph` under the first names of nodes, in which memories stay: asked for by
    who looks at the graphs inside. None where nobody knows which they are."""
    if not subgraphs:
        return None
    with suppress(ConfigError):
        return NS_SEP.join(node.first_name for node, _ in _inwards(graph, ns))
    return None


def _inwards(graph: Pregel, ns: str, *, lenient: bool = False) -> Iterator[tuple[NodePlan, Pregel]]:
    """The nodes that lead to a namespace, each with the graph that it runs; where one runs none
    that is known, the way ends there if `lenient`.

    Raises:
        ConfigError: a level of the namespace names no node that runs a graph.
    """
    for name in node_names(ns):
        node = graph.plan.nodes.get(graph.plan.renames.nodes.get(name, name))
        inner = None if node is None else graph_inside(node)
        if node is None or inner is None:
            if lenient:
                return
            raise ConfigError(
                f"checkpoint_ns {ns!r} names {name!r}, which is no graph inside {graph.name!r}. "
                "Take the namespace from get_state(config, subgraphs=True).tasks[i].state.config."
            )
        yield node, inner
        graph = inner


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
    at, configurable, saver, lane = _to_read(graph, config)
    return _as_asked(
        saver.run(_read(at, configurable, lane, _lasting(graph, lane.ns, subgraphs))), graph, config
    )


async def aget_state(graph: Pregel, config: Any, subgraphs: bool) -> StateSnapshot:
    """See `Pregel.aget_state`."""
    at, configurable, saver, lane = _to_read(graph, config)
    return _as_asked(
        await saver.arun(_read(at, configurable, lane, _lasting(graph, lane.ns, subgraphs))),
        graph,
        config,
    )


def _as_asked(snapshot: StateSnapshot, graph: Pregel, config: Any) -> StateSnapshot:
    """A snapshot; that of an empty thread has the whole config that it was asked with.

    Raises:
        ConfigError: it is of a namespace that no graph has, and nothing is stored there.
    """
    if snapshot.metadata is not None:
        return snapshot
    list(_inwards(graph, cast("Any", snapshot.config)["configurable"].get("checkpoint_ns") or ""))
    asked = cast("dict[str, Any]", config)
    if graph.config:
        both = merge_configs(graph.config, config)
        asked = {key: value for key, value in both.items() if value or key in asked}
    return snapshot._replace(config={**asked, **snapshot.config})


def _read(
    graph: Pregel, configurable: Mapping[str, Any], lane: Reading, lasting: str | None
) -> Plan[StateSnapshot]:
    """Read a lane's checkpoint, and with `lasting` (see there) those of the graphs in its tasks."""
    checkpoint_id = checkpoint_id_of(configurable)
    stored = yield from lane.look(checkpoint_id)
    if stored is None:
        config = cast(Any, {"configurable": dict(configurable)})
        return StateSnapshot({}, (), config, None, None, None, (), ())
    snapshot = Viewer(graph, lane).show(stored, checkpoint_id is None)
    if lasting is None:
        return snapshot
    tasks: list[PregelTask] = []
    for task in snapshot.tasks:
        if task.state is not None:
            node = graph.plan.nodes[task.name]
            inner = graph_inside(node)
            place: dict[str, Any] = task.state["configurable"]
            within = remembered(lasting, node.first_name)
            if inner.checkpointer is True:
                place = {**place, "checkpoint_ns": within}
                place |= yield from _made_in(lane.nested(within), lane.ns, id_of(stored), task.id)
            nested = lane.nested(place["checkpoint_ns"])
            state = yield from _read(inner, place, nested, within)
            task = task._replace(state=state)
        tasks.append(task)
    return snapshot._replace(tasks=tuple(tasks))


def _made_in(memory: Reading, ns: str, checkpoint_id: str, task_id: str) -> Plan[dict[str, str]]:
    """The newest state of a graph with memory that a task of its parent has made.

    Returns:
        What addresses it; nothing where that is the newest of all, or there is none.
    """
    at: str | None = None
    while True:
        page = yield from memory.marks(at, MARKS)
        for mark in page:
            made = around(mark.metadata).get(ns)
            if made == checkpoint_id and is_of(task_id, mark.caller):
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
    graph, configurable, saver, lane = _to_read(graph, config)
    viewer = Viewer(graph, lane)
    for page in _pages(lane, configurable, filter, before, limit):
        for snapshots in viewer.history(saver.run(page)):
            while snapshots:  # what was given out is not kept: its state may be large
                yield snapshots.pop()


async def ahistory(
    graph: Pregel, config: Any, filter: Any, before: Any, limit: int | None
) -> AsyncIterator[StateSnapshot]:
    """See `Pregel.aget_state_history`."""
    graph, configurable, saver, lane = _to_read(graph, config)
    viewer = Viewer(graph, lane)
    for page in _pages(lane, configurable, filter, before, limit):
        for snapshots in viewer.history(await saver.arun(page)):
            while snapshots:
                yield snapshots.pop()


def _pages(
    lane: Reading,
    configurable: dict[str, Any],
    filter: Any,
    before: Any,
    limit: int | None,
) -> Iterator[Any]:
    _check_page(filter, before, limit)
    one = checkpoint_id_of(configurable)
    if one is not None:
        yield _only(lane, one, filter, limit)
        return
    asked: dict[str, Any] = {} if before is None else before.get("configurable") or {}
    limit_id = checkpoint_id_of(asked)
    yield from lane.history(before=limit_id, limit=limit, filter=filter)


def _check_page(filter: Any, before: Any, limit: Any) -> None:
    """Raise ConfigError where the arguments of `get_state_history` are none."""
    if limit is not None and (not isinstance(limit, int) or limit < 0):
        raise ConfigError(f"limit is a number of checkpoints, or None for all; got {limit!r}.")
    if before is not None and not isinstance(before, Mapping):
        raise ConfigError(
            f"before is the config of a checkpoint, such as a snapshot's `config`; got {before!r}."
        )
    if filter is not None and not isinstance(filter, Mapping):
        raise ConfigError(f'filter is a dict of metadata, such as {{"step": 1}}; got {filter!r}.')


def _only(
    lane: Reading, checkpoint_id: str, filter: dict[str, Any] | None, limit: int | None
) -> Plan[list[Stored]]:
    """The history of a config that addresses one checkpoint: that one."""
    stored = yield from lane.look(checkpoint_id)
    if stored is None or limit == 0:
        return []
    metadata = metadata_of(stored)
    matches = all(metadata.get(key) == value for key, value in (filter or {}).items())
    return [stored] if matches else []
