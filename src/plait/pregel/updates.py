"""Writing to a thread by hand: `update_state` and its bulk form, as plans over its storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.checkpoint.base.port import Plan, Session, Snapshot, TaskWrites
from plait.constants import CALL, COPY, END, INPUT, PUSH, START
from plait.drivers.base import Storage
from plait.drivers.env import run_env
from plait.engine.frontier import Frontier, without
from plait.engine.likeness import likeness
from plait.engine.loop import Loop
from plait.engine.plan import Awaited, Writes
from plait.engine.questions import Pending, Standing, said_of, timeless
from plait.engine.report import config_of, is_outcome
from plait.engine.restore import adopt, input_writes, unknown_checkpoint
from plait.engine.spec import RunSpec
from plait.engine.tasks import Task, order_of
from plait.errors import ConfigError, InvalidUpdateError, nearest
from plait.pregel.cut_off import cut_off_at, is_cut_off_inside
from plait.pregel.run import stored_metadata
from plait.pregel.scope import TaskScope
from plait.pregel.snapshots import addressed
from plait.pregel.storage import checkpoint_id_of
from plait.scope import current_scope
from plait.types import Send, StateUpdate

if TYPE_CHECKING:
    from plait.pregel.main import Pregel


def update_state(
    graph: Pregel, config: Any, values: Any, as_node: str | None, task_id: str | None
) -> Any:
    """See `Pregel.update_state`."""
    return bulk_update_state(graph, config, [[StateUpdate(values, as_node, task_id)]])


async def aupdate_state(
    graph: Pregel, config: Any, values: Any, as_node: str | None, task_id: str | None
) -> Any:
    """See `Pregel.aupdate_state`."""
    return await abulk_update_state(graph, config, [[StateUpdate(values, as_node, task_id)]])


def bulk_update_state(
    graph: Pregel, config: Any, supersteps: Sequence[Sequence[StateUpdate]]
) -> Any:
    """See `Pregel.bulk_update_state`."""
    storage, plan = _prepared(graph, config, supersteps)
    result = storage.saver.run(_until_awaited(plan, plan.send, None))
    if isinstance(result, Awaited):
        result.what.close()
        return storage.saver.run(_until_awaited(plan, plan.throw, result.no_sync))
    return result


async def abulk_update_state(
    graph: Pregel, config: Any, supersteps: Sequence[Sequence[StateUpdate]]
) -> Any:
    """See `Pregel.abulk_update_state`."""
    storage, plan = _prepared(graph, config, supersteps)
    result = await storage.saver.arun(_until_awaited(plan, plan.send, None))
    while isinstance(result, Awaited):
        try:
            chosen = await result.what
        except BaseException as error:
            result = await storage.saver.arun(_until_awaited(plan, plan.throw, error))
        else:
            result = await storage.saver.arun(_until_awaited(plan, plan.send, chosen))
    return result


def _until_awaited(plan: Plan[Any], go_on: Callable[[Any], Any], value: Any) -> Plan[Any]:
    """The next stretch of a plan, which no saver has to wait in: up to an async path function.

    Args:
        go_on: `send` or `throw` of the plan.
        value: what it is called with.

    Returns:
        The `Awaited` that the plan stopped for, or what the plan returned.
    """
    try:
        step = go_on(value)
        while not isinstance(step, Awaited):
            try:
                done = yield step
            except BaseException as error:
                step = plan.throw(error)
            else:
                step = plan.send(done)
        return step
    except StopIteration as end:
        return end.value


def _prepared(
    graph: Pregel, config: Any, supersteps: Sequence[Sequence[StateUpdate]]
) -> tuple[Storage, Plan[Any]]:
    graph, configurable, storage = addressed(graph, config)
    if not supersteps or not all(supersteps):
        raise ConfigError(
            "There is nothing to write: each super-step needs at least one StateUpdate."
        )
    updates = [[_checked(update) for update in step] for step in supersteps]
    session, claims = _session(storage, configurable)
    facts = stored_metadata(configurable, graph.config, config)
    return storage, _plan(graph, configurable, facts, session, claims, updates)


def _checked(update: Any) -> StateUpdate:
    """One update, which may be given as a plain tuple."""
    if isinstance(update, tuple) and 1 <= len(cast("tuple[Any, ...]", update)) <= 3:
        return StateUpdate(*update)
    raise InvalidUpdateError(
        f"Expected StateUpdate(values, as_node, task_id), got {update!r}: supersteps is a list of "
        "lists of updates."
    )


def _plan(
    graph: Pregel,
    configurable: dict[str, Any],
    facts: dict[str, Any],
    session: Session,
    claims: bool,
    supersteps: Sequence[Sequence[StateUpdate]],
) -> Plan[Any]:
    """Write one super-step after the other; returns the config of the last checkpoint."""
    address = {"thread_id": session.thread_id}
    at, parents = checkpoint_id_of(configurable), None
    for updates in supersteps:
        one = _Update(graph, configurable, facts, session, claims)
        at, parents = yield from one.plan(at, updates)
        first = updates[0]
        if first.as_node == COPY and isinstance(first.values, (list, tuple)) and first.values:
            one = _Update(graph, configurable, facts, session, claims)
            at, parents = yield from one.plan(at, [_checked(update) for update in first.values])
    return config_of(address, session.ns, at, parents)


def _session(storage: Storage, configurable: dict[str, Any]) -> tuple[Session, bool]:
    """The session to write with, and whether it must claim the thread.

    Inside a node of a run on the same thread, the update belongs to that run's claim.
    """
    scope = current_scope.get()
    if isinstance(scope, TaskScope) and scope.run.storage is not None:
        outer = scope.run.storage.session
        if outer.thread_id == storage.session.thread_id:
            return outer.nested(configurable.get("checkpoint_ns") or ""), False
    return storage.session, True


def _by_place(sends: Sequence[Send]) -> Iterator[tuple[str, Send]]:
    """Each of a super-step's `Send`s with the place of its task."""
    for number, send in enumerate(sends):
        yield order_of((PUSH, number, False)), send


def _saying(send: Send, untracked: frozenset[str], says_all: bool) -> tuple[str, str]:
    """What a `Send` is known by: its node and, if that is to count, what it says."""
    return send.node, likeness((without(send.arg, untracked),), {}) if says_all else ""


class _Update:
    """One update of one thread; its checkpoint keeps some facts of the config."""

    def __init__(
        self,
        graph: Pregel,
        configurable: dict[str, Any],
        facts: dict[str, Any],
        session: Session,
        claims: bool,
    ) -> None:
        self.graph = graph
        self.configurable = configurable
        self.session = session
        self.claims = claims
        spec = RunSpec(graph.plan, saved=True, ns=session.ns, thread_id=session.thread_id)
        spec.metadata = facts
        self.loop = Loop(spec, run_env.get())

    def plan(
        self, asked: str | None, updates: Sequence[StateUpdate]
    ) -> Plan[tuple[str, Mapping[str, str]]]:
        """Load, write, commit one super-step.

        Returns:
            The new checkpoint's id, and those of the checkpoints around it.
        """
        try:
            return (yield from self._update(asked, updates))
        except BaseException:
            if self.claims:  # the load may have taken the thread
                yield from self.session.release()
            raise

    def _update(
        self, asked: str | None, updates: Sequence[StateUpdate]
    ) -> Plan[tuple[str, Mapping[str, str]]]:
        stored = yield from self.session.load(asked, to_write=self.claims)
        if stored is None and asked is not None:
            raise unknown_checkpoint(asked, self.loop.spec.where)
        spec = self.loop.spec
        if stored is not None:
            spec.parents = stored.metadata.get("parents") or {}
        self.loop.restore(stored)
        self.loop.origin = None
        if stored is not None and self.claims:
            yield from self._check_known(stored, updates)
        is_newest = asked is None or (yield from self._is_newest(asked))
        questions = self._open_questions(stored, is_newest) if stored is not None else {}
        sent = self.loop.frontier.sends
        kept: list[TaskWrites] = []
        source = "update"
        values, as_node, _ = updates[0]
        if stored is None and as_node != INPUT:
            self.loop.step = 0
        if len(updates) > 1:
            kept = yield from self._as_nodes(self._all_named(updates), stored)
        elif as_node == COPY:
            source = self._copy(stored)
        elif as_node == INPUT:
            source = self._as_input(values)
        elif values is None and as_node is None and stored is not None:
            self._named(None, stored)  # a new checkpoint with the same state and next nodes
        elif values is None and as_node == END:
            self._end(stored)
        else:
            named = updates[0]._replace(as_node=self._named(as_node, stored))
            kept = yield from self._as_nodes([named], stored)
        if questions:
            now = self._places_now(sent)
            self.loop.asked = {now[at]: ids for at, ids in questions.items() if at in now}
        if not is_newest:
            kept = []  # an edit of one branch is not what another one begins with
        checkpoint = self.loop.new_checkpoint(source)
        yield from self.session.commit(checkpoint, kept, claim=self.claims, release=self.claims)
        return checkpoint.id, spec.parents

    def _check_known(self, stored: Snapshot, updates: Sequence[StateUpdate]) -> Plan[None]:
        """Refuse to forget that nobody knows what became of a task: in the new super-step it would
        simply be repeated. Who ends the super-step, goes back, or says what it did, may."""
        named = {update.as_node for update in updates}
        if named & {COPY, END}:
            return
        tasks = [task for task in self.loop.prepare(known_only=True) if task.name not in named]
        cut = cut_off_at(stored)
        for task in tasks:
            if task.id in cut:
                raise self._not_known(f"Node {task.name!r}", task.name)
            if (yield from is_cut_off_inside(self.session, stored, task)):
                raise self._not_known(f"A task of the graph inside node {task.name!r}", task.name)

    def _not_known(self, what: str, node: str) -> InvalidUpdateError:
        return InvalidUpdateError(
            f"{what} on {self.loop.spec.where} was cut off while it ran, and nobody knows whether "
            "its work was done; after this update it would be repeated. Go on with the thread "
            "first, invoke(None, config), so that its on_unknown policy is asked; or say by "
            f"as_node={node!r} what the node did."
        )

    def _is_newest(self, checkpoint_id: str) -> Plan[bool]:
        """Whether a checkpoint is the thread's newest: nothing was made of it, or after it."""
        newest = yield from self.session.marks(None, 1)
        return bool(newest) and newest[0].id == checkpoint_id

    def _open_questions(self, stored: Snapshot, is_newest: bool) -> dict[str, Standing]:
        """What the pending tasks wait for: place of a task to its questions, and its id.

        Their tasks get new ids, and ask again; who answers the old question need not know. Those of
        a task that has asked again since an update before take the place of the older ones. Times
        run on, but not for the fork of an old checkpoint: there, a question begins to wait anew.
        """
        pending = Pending(stored.writes, with_sleeps=is_newest)
        anew: dict[str, dict[str, Any]] = {}
        if pending.questions:
            places = {task.id: task.order for task in self.loop.prepare(known_only=True)}
            callers = {id: call[0] for id, channel, call in stored.writes if channel == CALL}
            # The answers to a graph inside are on record around it: who has ended was answered.
            ended = {id for id, channel, _ in stored.writes if is_outcome([(channel, None)])}
            for qid in pending.questions:
                if not ended.isdisjoint(pending.tasks_of[qid]):
                    continue
                for task_id in pending.tasks_of[qid]:
                    while task_id in callers:
                        task_id = callers[task_id]
                    if task_id in places:
                        said = said_of(pending.questions[qid], task_id)
                        anew.setdefault(places[task_id], {})[qid] = said
        asked = {**(self.loop.asked or {}), **anew}
        return {at: dict(ids) if is_newest else timeless(ids) for at, ids in asked.items()}

    def _places_now(self, sent: Sequence[Send]) -> dict[str, str]:
        """Places of tasks before the update, and those of the tasks that stand for them now.

        A `Send` is known by its node and what it says: at its position there may be another one,
        and an answer is not to be taken for that. The only one may say something else than before,
        as a node may read another state.
        """
        now, untracked = self.loop.frontier.sends, self.loop.plan.untracked
        says_all = len(sent) > 1 or len(now) > 1
        free: dict[Any, list[str]] = {}
        for at, send in _by_place(now):
            free.setdefault(_saying(send, untracked, says_all), []).append(at)
        tasks = self.loop.prepare(known_only=True)
        places = {task.order: task.order for task in tasks if not task.is_push}
        for at, send in _by_place(sent):
            same = free.get(_saying(send, untracked, says_all))
            if same:
                places[at] = same.pop(0)
        return places

    def _copy(self, stored: Snapshot | None) -> str:
        """A sibling of the checkpoint: same values, same parent, none of its tasks' writes."""
        if stored is None:
            raise InvalidUpdateError("Cannot copy a non-existent checkpoint")
        loop = self.loop
        loop.state.touch_whole()
        loop.stored_id = loop.checkpoint_id = stored.parent_id
        loop.copied = stored.id
        loop.spec.metadata = {}
        return "fork"

    def _as_input(self, values: Any) -> str:
        if values is None:
            raise InvalidUpdateError(f"as_node={INPUT!r} needs an input: values is None.")
        loop = self.loop
        before = loop.frontier
        loop.frontier = loop.state.advance(input_writes(loop.plan, values))
        loop.frontier.pulls = {**before.pulls, **loop.frontier.pulls}
        loop.frontier.sends = before.sends
        return "input"

    def _end(self, stored: Snapshot | None) -> None:
        """As if the super-step had ended here: what finished counts, the rest will not run."""
        loop = self.loop
        loop.frontier = Frontier() if stored is None else self._finished(stored)

    def _finished(self, stored: Snapshot) -> Frontier:
        loop = self.loop
        adopt(loop, stored)
        tasks = [task for task in loop.prepare(known_only=True) if task.saved]
        loop.journal = {}
        return loop.state.apply(tasks) if tasks else Frontier()

    def _named(self, as_node: str | None, stored: Snapshot | None) -> str:
        """In whose name the update is made."""
        nodes = self.graph.plan.nodes
        if as_node is not None:
            if as_node not in nodes:
                former = self.graph.plan.renames.nodes
                raise InvalidUpdateError(
                    f"Node {as_node} does not exist in graph {self.graph.name!r}. "
                    + nearest(as_node, (name for name in nodes if name != START), former)
                )
            return as_node
        last = set(self.loop.last if stored is not None else ())
        if START in nodes and (not last or (len(last) == 1 and not last & nodes.keys())):
            return START
        if len(last or nodes) == 1:
            return next(iter(last or nodes))
        raise InvalidUpdateError(
            "Ambiguous update, specify as_node: the last super-step ran "
            f"{', '.join(sorted(last)) or 'nothing yet'}. Pass "
            "as_node= to say after which of them the run goes on."
        )

    def _all_named(self, updates: Sequence[StateUpdate]) -> list[StateUpdate]:
        """Several updates of one super-step: each must say in whose name it is made."""
        for update in updates:
            if update.as_node is None:
                raise InvalidUpdateError(
                    "Several updates in one super-step stand for nodes that ran beside each "
                    "other: pass as_node= with each."
                )
            if update.as_node in (COPY, END, INPUT):
                raise InvalidUpdateError(
                    f"as_node={update.as_node!r} is a super-step of its own: pass it alone."
                )
            self._named(update.as_node, None)
        return list(updates)

    def _as_nodes(
        self, updates: Sequence[StateUpdate], stored: Snapshot | None
    ) -> Plan[list[TaskWrites]]:
        """The end of a super-step in which these nodes ran; returns what their tasks wrote."""
        loop = self.loop
        if stored is not None:
            adopt(loop, stored)
        pending = [] if stored is None else loop.prepare(known_only=True)
        all_writes: Writes = []
        kept: list[TaskWrites] = []
        for values, as_node, task_id in updates:
            node = loop.plan.nodes[cast(str, as_node)]
            assert node.update is not None
            writes: Writes = yield from node.update(loop.state, values)
            all_writes += writes
            outcome = self._outcome(pending, node.name, writes, task_id)
            if outcome is not None:
                kept.append(outcome)
        before = loop.frontier
        loop.frontier = loop.state.advance(all_writes)
        loop.frontier.deferred = {**before.deferred, **loop.frontier.deferred}
        named = [cast(str, update.as_node) for update in updates]
        turn = self._whose_turn(before, named)
        loop.frontier.pulls.update(dict.fromkeys(loop.state.still_triggered(before.pulls)))
        if not loop.frontier:
            loop.state.finish(loop.frontier)
        loop.frontier.pulls.update(dict.fromkeys(turn))
        loop.last = tuple(named)
        loop.journal = {}
        return kept

    def _whose_turn(self, before: Frontier, named: Sequence[str]) -> list[str]:
        """The deferred nodes that were next: an update in the name of others leaves them their
        turn. One that the update itself leads to waits again until nothing else is left."""
        past = {*named, *self.loop.frontier.deferred}
        return [n for n in before.pulls if n in self.loop.plan.deferring and n not in past]

    def _outcome(
        self, pending: list[Task], as_node: str, writes: Writes, task_id: str | None
    ) -> TaskWrites | None:
        """The update also is the outcome of the pending task it stands for, if that has none, and
        its checkpoint is the newest: what a task of an old checkpoint did stays what it did."""
        moved = self.loop.moved
        mark = moved.mark if moved is not None else ()
        for task in pending:
            if task.name == as_node and task_id in (None, task.id):
                pending.remove(task)
                if task.saved:
                    return None
                outcome = [*task.prior, *writes, *mark]
                return TaskWrites(task.step.checkpoint_id, task.id, task.order, outcome)
        return None
