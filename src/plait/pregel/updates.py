"""Writing to a thread by hand: `update_state`, as a plan over the thread's storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from plait.checkpoint.base.port import Plan, Session, Snapshot, TaskWrites
from plait.constants import COPY, END, INPUT, START
from plait.drivers.base import Storage
from plait.engine.frontier import Frontier
from plait.engine.loop import Loop
from plait.engine.plan import Writes
from plait.engine.report import config_of
from plait.engine.restore import adopt
from plait.engine.spec import RunSpec
from plait.errors import InvalidUpdateError, UnknownCheckpointError, nearest
from plait.pregel import run as runs
from plait.pregel.snapshots import addressed, checkpoint_id_of
from plait.scope import current_scope

if TYPE_CHECKING:
    from plait.pregel.main import Pregel


def update_state(
    graph: Pregel, config: Any, values: Any, as_node: str | None, task_id: str | None
) -> Any:
    """See `Pregel.update_state`."""
    storage, plan = _prepared(graph, config, values, as_node, task_id)
    return storage.saver.run(plan)


async def aupdate_state(
    graph: Pregel, config: Any, values: Any, as_node: str | None, task_id: str | None
) -> Any:
    """See `Pregel.aupdate_state`."""
    storage, plan = _prepared(graph, config, values, as_node, task_id)
    return await storage.saver.arun(plan)


def _prepared(
    graph: Pregel, config: Any, values: Any, as_node: str | None, task_id: str | None
) -> tuple[Storage, Plan[Any]]:
    graph, configurable, storage = addressed(graph, config)
    session, claims = _session(storage, configurable)
    update = _Update(graph, configurable, session, claims)
    return storage, update.plan(values, as_node, task_id)


def _session(storage: Storage, configurable: dict[str, Any]) -> tuple[Session, bool]:
    """The session to write with, and whether it must claim the thread.

    Inside a node of a run on the same thread, the update belongs to that run's claim.
    """
    from plait.pregel.scope import TaskScope

    scope = current_scope.get()
    if isinstance(scope, TaskScope) and scope.run.storage is not None:
        outer = scope.run.storage.session
        if outer.thread_id == storage.session.thread_id:
            return outer.nested(configurable.get("checkpoint_ns") or ""), False
    return storage.session, True


class _Update:
    """One update of one thread."""

    def __init__(
        self, graph: Pregel, configurable: dict[str, Any], session: Session, claims: bool
    ) -> None:
        self.graph = graph
        self.configurable = configurable
        self.session = session
        self.claims = claims
        spec = RunSpec(
            graph.plan,
            saved=True,
            ns=session.ns,
            metadata=runs.stored_metadata(configurable, graph.config),
            where=f"thread {session.thread_id!r}",
        )
        self.loop = Loop(spec, runs.current_env())

    def plan(self, values: Any, as_node: str | None, task_id: str | None) -> Plan[Any]:
        """Load, write, commit; returns the config of the new checkpoint."""
        asked = checkpoint_id_of(self.configurable)
        stored = yield from self.session.load(asked)
        if stored is None and asked is not None:
            raise UnknownCheckpointError(
                f"Checkpoint {asked!r} does not exist on {self.loop.spec.where}."
            )
        self.loop.restore(stored)
        kept: list[TaskWrites] = []
        source = "update"
        if stored is None and as_node != INPUT:
            self.loop.step = 0
        if as_node == COPY:
            source = self._copy(stored)
        elif as_node == INPUT:
            source = self._as_input(values)
        elif values is None and as_node is None and stored is not None:
            pass  # a new checkpoint with the same state and the same next nodes
        elif values is None and as_node == END:
            self._end(stored)
        else:
            kept = self._as_node(values, self._named(as_node, stored), stored, task_id)
        checkpoint = self.loop.new_checkpoint(source)
        yield from self.session.commit(checkpoint, kept, claim=self.claims, release=self.claims)
        address = {"thread_id": self.session.thread_id}
        return config_of(address, self.session.ns, checkpoint.id)

    def _copy(self, stored: Snapshot | None) -> str:
        """A sibling of the checkpoint: same values, same parent, none of its tasks' writes."""
        if stored is None:
            raise InvalidUpdateError("Cannot copy a non-existent checkpoint")
        loop = self.loop
        loop.state.touch_all(stored.values)
        loop.stored_id = loop.checkpoint_id = stored.parent_id
        return "fork"

    def _as_input(self, values: Any) -> str:
        loop = self.loop
        before = loop.frontier
        loop.frontier = loop.state.advance([(cast(str, loop.plan.input), values)])
        loop.frontier.pulls = {**before.pulls, **loop.frontier.pulls}
        loop.frontier.sends = before.sends
        return "input"

    def _end(self, stored: Snapshot | None) -> None:
        """As if the run had ended here: nothing is next."""
        loop = self.loop
        if stored is not None:
            adopt(loop, stored)
            tasks = [task for task in loop.prepare() if task.saved]
            if tasks:
                loop.state.apply(tasks)
            loop.journal = {}
        loop.frontier = Frontier()

    def _named(self, as_node: str | None, stored: Snapshot | None) -> str:
        """In whose name the update is made."""
        nodes = self.graph.plan.nodes
        if as_node is not None:
            if as_node not in nodes:
                raise InvalidUpdateError(
                    f"Node {as_node} does not exist in graph {self.graph.name!r}. "
                    + nearest(as_node, (name for name in nodes if name != START))
                )
            return as_node
        last = self.loop.last
        if stored is None or not last:
            return START
        if len(set(last)) == 1:
            return last[0] if last[0] in nodes else START
        raise InvalidUpdateError(
            f"Ambiguous update, specify as_node: the last super-step ran {', '.join(last)}. Pass "
            "as_node= to say after which of them the run goes on."
        )

    def _as_node(
        self, values: Any, as_node: str, stored: Snapshot | None, task_id: str | None
    ) -> list[TaskWrites]:
        loop = self.loop
        if stored is not None:
            adopt(loop, stored)
        node = loop.plan.nodes[as_node]
        assert node.update is not None
        writes: Writes = node.update(loop.state, values)
        kept: list[TaskWrites] = []
        if stored is not None:
            kept = self._outcomes(as_node, writes, task_id)
        before = loop.frontier
        loop.frontier = loop.state.advance(writes)
        loop.frontier.deferred = {**before.deferred, **loop.frontier.deferred}
        for name in loop.state.still_triggered(before.pulls):
            loop.frontier.pulls[name] = None
        if not loop.frontier:
            loop.state.finish(loop.frontier)
        loop.last = (as_node,)
        loop.journal = {}
        return kept

    def _outcomes(self, as_node: str, writes: Writes, task_id: str | None) -> list[TaskWrites]:
        """The update also is the outcome of the pending task it stands for."""
        for task in self.loop.prepare():
            if task.name == as_node and task_id in (None, task.id):
                return [
                    TaskWrites(task.step.checkpoint_id, task.id, task.order, [*task.prior, *writes])
                ]
        return []
