"""What is the same for all checkpoints of a graph: how its state is shown, who runs next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from plait.constants import FAILED, PULL, PUSH, RETURN, START, STATE_VERSION
from plait.engine import report
from plait.engine.inside import graph_inside
from plait.engine.journal import MARKS
from plait.engine.namespaces import inside
from plait.engine.plan import GraphPlan, View
from plait.engine.records import CONTAINERS
from plait.engine.tasks import order_of
from plait.types import Send
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.pregel.main import Pregel

TELLING = frozenset({FAILED, STATE_VERSION})
"""Channels of tasks' writes that the engine makes something of."""
SPECIAL = TELLING | MARKS | {RETURN}
"""Channels of tasks' writes that are no plain update of the state."""
_SEATINGS = 256
"""Sets of nodes that run together, whose seats are kept."""

Seat: TypeAlias = "tuple[str, tuple[Any, ...], str, bool]"
"""A node that is about to run: its name, its task's path and order, whether a graph runs in it."""
Row: TypeAlias = "tuple[Sequence[Seat], tuple[str, ...]]"
"""The nodes that run together, and their names."""
_EMPTY: Row = ((), ())


class Address:
    """What addresses the checkpoints of one lane, and of those inside their tasks."""

    __slots__ = ("ns", "thread_id")

    def __init__(self, thread_id: str, ns: str) -> None:
        self.thread_id = thread_id
        self.ns = ns

    def config(self, id: str, metadata: Mapping[str, Any]) -> Any:
        """The config of a checkpoint."""
        if self.ns:
            thread = {"thread_id": self.thread_id}
            return report.config_of(thread, self.ns, id, metadata.get("parents"))
        place = {"thread_id": self.thread_id, "checkpoint_ns": "", "checkpoint_id": id}
        return {"configurable": place}

    def inside(self, name: str, id: str) -> dict[str, Any]:
        """The config of the checkpoints of the graph inside a task."""
        ns = inside(self.ns, name, id)
        return {"configurable": {"thread_id": self.thread_id, "checkpoint_ns": ns}}


class Layout:
    """What is the same for all checkpoints of a graph."""

    def __init__(self, plan: GraphPlan) -> None:
        self.plan = plan
        self.declared = {name: at for at, name in enumerate(plan.nodes)} | {START: -1}
        stream = plan.stream
        self.keys: tuple[str, ...] | None = None
        """The keys of the state, if their values are stored as they are shown."""
        self.members: frozenset[str] = frozenset()
        """The same as a set."""
        if isinstance(stream, View) and stream.members <= plan.plain:
            self.keys, self.members = tuple(stream.keys), stream.members
        self.only: str | None = self.keys[0] if self.keys and len(self.keys) == 1 else None
        """The same key, if there is but one."""
        self._template: dict[str, Any] = dict.fromkeys(self.keys or ())
        """The keys in their order."""
        self._rows: dict[tuple[str, ...], Row | None] = {(): _EMPTY}

    @classmethod
    def of(cls, graph: Pregel) -> Layout:
        """The layout of a graph, made when one of its threads is first looked at."""
        layout = graph.layout
        if layout is None or layout.plan is not graph.plan:
            layout = graph.layout = cls(graph.plan)
        return layout

    def show(self, held: Mapping[str, Any], shared: bool) -> dict[str, Any]:
        """The values of the state's keys, where they are stored as they are shown.

        Args:
            held: by key.
            shared: whether containers there are still somebody else's.
        """
        template = self._template
        values: dict[str, Any] = {**template, **held}
        if len(held) == len(values) == len(template):  # it holds these keys and no others
            if shared:
                for key, value in held.items():
                    if type(value) in CONTAINERS:
                        values[key] = value.copy()
            return values
        values = {}
        for key in template:
            if key in held:
                value = held[key]
                values[key] = value.copy() if shared and type(value) in CONTAINERS else value
            elif key in self.plan.initial:  # a reducer starts with something
                values[key] = self.plan.channels[key].from_checkpoint(MISSING).get()
        return values

    def row(self, frontier: Mapping[str, Any]) -> Row | None:
        """The nodes that run next; None where only the engine can tell."""
        if frontier.get("graph") != self.plan.fingerprint:
            return None
        if "asked" in frontier or "senders" in frontier:
            return None
        row = self._named(tuple(frontier["next"])) if "next" in frontier else _EMPTY
        if row is None or "sends" not in frontier:
            return row
        sends: Sequence[Send] = frontier["sends"]
        sent = [self._sent(place, send) for place, send in enumerate(sends)]
        return [*sent, *row[0]], (*[name for name, *_ in sent], *row[1])

    def _named(self, names: tuple[str, ...]) -> Row | None:
        """The seats of nodes that run next; None where the engine must say who sits there."""
        if names in self._rows:
            return self._rows[names]
        if len(self._rows) >= _SEATINGS:
            self._rows.clear()
        row = self._rows[names] = self._seated(names)
        return row

    def _seated(self, names: Sequence[str]) -> Row | None:
        seats: list[Seat] = []
        for name in sorted(names, key=lambda name: self.declared.get(name, -1)):
            node = self.plan.nodes.get(name)
            if node is None or not isinstance(node.reads, View):
                return None  # its code is gone, or it may have nothing to read
            path = (PULL, name)
            seats.append((name, path, order_of(path), graph_inside(node) is not None))
        return seats, tuple(name for name, *_ in seats)

    def _sent(self, place: int, send: Send) -> Seat:
        path = (PUSH, place, False)
        node = self.plan.nodes[send.node]
        return node.name, path, order_of(path), graph_inside(node) is not None
