"""The eager schedule: a task whose inputs are certain does not wait for its super-step.

Checkpoints, their order and their contents are those of the ordinary schedule; only the work starts
earlier. While a slow task of the current super-step runs, what its finished siblings lead to is
known already: those nodes will run in the next super-step, and what they lead to in the one after.
Such a node starts at once if nothing that is still *open* (running, or known to run) can write a
key that it reads. Its outcome is kept, and stored, until its super-step comes.

What a node may write is declared, or read off its return annotation (`plan.Foresight`). A node that
writes something else fails, so that a wrong declaration cannot change a result.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from plait.channels.named_barrier_value import NamedBarrierValue
from plait.constants import AHEAD, PULL, PUSH, RESERVED, TASKS
from plait.engine import restore
from plait.engine.commands import SaveWrites
from plait.engine.events import TaskFailed
from plait.engine.loop import Loop
from plait.engine.plan import Reads, Writes
from plait.engine.records import TaskWrites
from plait.engine.reporting import task_order
from plait.engine.running import WAIT
from plait.engine.spec import Env, RunSpec
from plait.engine.state import State
from plait.engine.storing import Flow
from plait.engine.tasks import Step, Task
from plait.errors import EmptyChannelError, GraphInterrupt, InvalidUpdateError


class Level:
    """A super-step, the current one or one to come, as far as it is known."""

    __slots__ = (
        "consumed",
        "done",
        "expected",
        "joins",
        "number",
        "open",
        "sends",
        "tasks",
        "written",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.tasks: dict[str, Task] = {}
        """Tasks that were prepared, by their order."""
        self.consumed: set[str] = set()
        """The triggers of those tasks."""
        self.expected: dict[str, None] = {}
        """Nodes that will run in it and have no task yet."""
        self.open: Counter[str] = Counter()
        """How many tasks of a node are expected or running."""
        self.written: dict[str, list[tuple[str, Any]]] = {}
        """What finished tasks wrote: channel -> (order of the task, value)."""
        self.done: set[str] = set()
        """The orders of finished tasks."""
        self.joins: set[str] = set()
        """Joins that finished tasks of the super-step before have written to."""
        self.sends: dict[str, list[tuple[tuple[Any, ...], Any]]] = {}
        """Expected `Send`s whose place among all is known: node -> (path, argument)."""

    def add(self, task: Task) -> None:
        """A task of this super-step was prepared."""
        self.tasks[task.order] = task
        self.consumed.update(task.triggers)

    def updates(self, channel: str) -> list[Any]:
        """What finished tasks wrote to a channel, in the order in which it will apply."""
        return [value for _, value in sorted(self.written.get(channel, ()), key=_by_order)]


def _by_order(write: tuple[str, Any]) -> str:
    return write[0]


class Foreseen:
    """The state as a task of a coming super-step will find it, for the keys that it reads."""

    __slots__ = ("_all", "_level", "_state")

    def __init__(self, state: State, levels: list[Level], level: Level) -> None:
        self._state = state
        self._all = levels
        self._level = level

    @property
    def _before(self) -> list[Level]:
        """The super-steps that end before it begins: fewer, as the run goes on."""
        return self._all[: self._all.index(self._level)]

    def channel(self, name: str, extra: Sequence[Any] = ()) -> Any:
        """A copy of a channel with everything applied that is known to be written to it."""
        channel = self._state.channel(name).copy()
        for level in self._before:
            if name in level.consumed:
                channel.consume()
            updates = level.updates(name)
            if updates:
                channel.update(updates)
        if extra:
            channel.update(extra)
        return channel

    def read(self, reads: Reads) -> Any:
        """What `reads` will read.

        Raises:
            EmptyChannelError: `reads` names one channel, and nothing will be in it.
        """
        return self.peek(reads, [])

    def peek(self, reads: Reads, writes: Writes) -> Any:
        """What `reads` will read once `writes` apply as well."""
        if isinstance(reads, str):
            return self.channel(reads, [v for name, v in writes if name == reads]).get()
        values: dict[str, Any] = self._state.read(reads)
        touched = {name for level in self._before for name in level.written}
        touched.update(name for name, _ in writes)
        for name in touched & reads.members:
            values[name] = self.channel(name, [v for key, v in writes if key == name]).get()
        return values


class EagerLoop(Loop):
    """A loop that starts tasks of coming super-steps as soon as their inputs are certain."""

    __slots__ = (
        "_announced",
        "_foresight",
        "_joins",
        "_levels",
        "_postponed",
        "_senders",
        "_sent",
        "_told",
    )

    def __init__(self, spec: RunSpec, env: Env) -> None:
        super().__init__(spec, env)
        assert spec.plan.foresight is not None
        self._foresight = spec.plan.foresight
        self._joins = frozenset(
            name
            for name in spec.plan.readers
            if isinstance(spec.plan.channels[name], NamedBarrierValue)
        )
        self._levels: list[Level] = []
        """The current super-step, then those to come."""
        self._senders: deque[Task] = deque()
        """Tasks of the current super-step whose `Send`s have no place yet, in their order."""
        self._sent = 0
        self._postponed: dict[Task, BaseException] = {}
        """Errors and questions of early tasks, until their super-step comes."""
        self._told = -2
        """The super-step whose stored outcomes a resumed run has told."""
        self._announced: set[int] = set()
        """The levels whose reserved checkpoint ids are stored."""

    # --- where the loop asks ---------------------------------------------------------------------

    def prepare(self, *, known_only: bool = False) -> list[Task]:
        tasks = super().prepare(known_only=known_only)
        if known_only:  # only looked at
            return tasks
        del self._levels[:1]
        if not self._levels:
            self._levels.append(Level(self.step))
        level = self._levels[0]
        for place, prepared in enumerate(tasks):
            running = level.tasks.get(prepared.order)
            if running is not None and not prepared.saved:
                tasks[place] = running
            level.add(tasks[place])
        level.expected, level.sends = {}, {}
        level.open = Counter(task.name for task in tasks if task.order not in level.done)
        self._senders = deque(sorted(tasks, key=task_order))
        self._sent = 0
        for task in tasks:
            if task.saved:
                self._close(task)
        return tasks

    def _alone(self, todo: list[Task]) -> Task | None:
        early = self._inflight or self._waiting or self._timers or self._postponed
        if early or len(self._levels) > 1 or len(self._levels[0].tasks) != 1:
            return None
        return super()._alone(todo)

    def _execute(self, todo: list[Task]) -> Flow:
        started = {*self._inflight, *self._waiting, *self._timers, *self._postponed}
        fresh = [task for task in todo if task not in started]
        if len(self._levels[0].tasks) == len(self._levels) == 1 and not started:
            yield from super()._execute(fresh)
            return
        replayed: list[Any] = []
        for task in todo:
            postponed = self._postponed.pop(task, None)
            if postponed is not None:
                self._inflight[task] = task.attempt
                replayed.append(TaskFailed(task, task.attempt, postponed))
        self._waiting.extendleft(reversed(fresh))
        self._look_ahead()
        yield from self._start_more()
        if not replayed and self._busy():
            replayed = yield WAIT
        yield from self._settle(replayed)

    def _apply(self, tasks: list[Task]) -> list[Task]:
        # what just ended early is in the journal, which moves on with the commit
        self._unsaved = [task for task in self._unsaved if not self._is_early(task)]
        if self.modes and self.journal and self._told != self.step:
            early = [task for task in tasks if (AHEAD, self.step) in self.journal.get(task.id, ())]
            self._report_done(early)
        return super()._apply(tasks)

    def _busy(self) -> bool:
        running = chain(self._inflight, self._waiting, self._timers)
        if self._failure is not None or self._asks():
            return any(True for _ in running)
        return any(not self._is_early(task) for task in running)

    def _start_more(self) -> Flow:
        if self.saving and not self._announced.issuperset(self.ahead):
            self._announced = set(self.ahead)
            yield SaveWrites(self._reserved())
        yield from super()._start_more()

    def _asks(self) -> bool:
        return any(not self._is_early(task) for task in self._interrupted)

    def _interrupt(self, tasks: list[Task]) -> Any:
        self._forget_early_questions()
        return (yield from super()._interrupt(tasks))

    def _fail(self) -> Flow:
        self._forget_early_questions()
        yield from super()._fail()

    def _forget_early_questions(self) -> None:
        """What early tasks have asked is not told: they ask again when their super-step comes."""
        early = [task for task in self._interrupted if self._is_early(task)]
        for task in early:
            del self._interrupted[task]

    def _acknowledge(self, *, release: bool = False, extra: Sequence[TaskWrites] = ()) -> Flow:
        yield from super()._acknowledge(release=release, extra=[self._anchored(e) for e in extra])

    def _anchored(self, outcome: TaskWrites) -> TaskWrites:
        """An outcome of a coming super-step is stored with the current checkpoint."""
        for number, reserved in self.ahead.items():
            if reserved == outcome.checkpoint_id:
                writes: Writes = [(AHEAD, number), *outcome.writes]
                self.journal[outcome.task_id] = writes
                return TaskWrites(
                    self.checkpoint_id or "", outcome.task_id, outcome.path, writes, outcome.merge
                )
        return outcome

    def _conclude(self, task: Task, writes: Writes, resolved: list[Task]) -> None:
        super()._conclude(task, writes, resolved)
        if not self._unsaved or self._unsaved[-1] is not task:
            return
        wrong = self._undeclared(task)
        if wrong is not None:
            self._unsaved.pop()
            self._give_up(task, wrong, resolved)
            return
        if self._is_early(task):
            self.journal[task.id] = [*self._early_mark(task), *task.writes]
        if task.parent is None:
            self._close(task)
            self._look_ahead()

    def _is_handled(self, task: Task, error: BaseException) -> bool:
        return not self._is_early(task) and super()._is_handled(task, error)

    def _give_up(self, task: Task, error: BaseException, resolved: list[Task]) -> None:
        if task.parent is None and self._is_early(task):
            self._postponed[task] = error
        else:
            super()._give_up(task, error, resolved)

    def _asked(self, task: Task, error: GraphInterrupt, resolved: list[Task]) -> None:
        if task.parent is None and self._is_early(task):
            self._postponed[task] = error
        else:
            super()._asked(task, error, resolved)

    def _outcome_of(self, task: Task) -> TaskWrites:
        outcome = super()._outcome_of(task)
        if not self._is_early(task):
            return outcome
        writes = [*self._early_mark(task), *outcome.writes]
        return TaskWrites(self.checkpoint_id or "", task.id, task.order, writes)

    def _report_kept(self, tasks: Sequence[Task]) -> None:
        self._told = self.step
        super()._report_kept(tasks)

    def _report_done(self, done: Sequence[Task]) -> None:
        super()._report_done([task for task in done if not self._is_early(task)])

    # --- looking ahead ---------------------------------------------------------------------------

    def _level_number(self, task: Task) -> int:
        while task.parent is not None:
            task = task.parent
        return task.step.number

    def _is_early(self, task: Task) -> bool:
        return self._level_number(task) > self._levels[0].number

    def _early_mark(self, task: Task) -> Writes:
        return [(AHEAD, self._level_number(task))]

    def _undeclared(self, task: Task) -> InvalidUpdateError | None:
        """The error of a task that wrote a key which its node does not declare."""
        known = self._foresight.get(task.name)
        if known is None or task.parent is not None:
            return None
        keys: frozenset[str] = frozenset()
        if not isinstance(self.plan.stream, str):
            keys = self.plan.stream.members
        for name, _ in task.writes:
            if name in keys and name not in known.writes:
                return InvalidUpdateError(
                    f"Node {task.name!r} wrote key {name!r}, which it does not declare to write "
                    f"({sorted(known.writes)}). The eager schedule relies on that: name the "
                    "key in add_node(..., writes=[...]) or in the node's return annotation."
                )
        return None

    def _close(self, task: Task) -> None:
        """A task is done: note what it wrote, and what it leads to."""
        level = self._levels[task.step.number - self._levels[0].number]
        order = task.order
        if order in level.done:
            return
        level.done.add(order)
        level.open[task.name if task.failed is None else task.failed.node] -= 1
        following = self._after(level)
        for name, value in task.writes:
            node = self.plan.routes.get(name)
            if node is not None:
                self._expect(following, node)
            elif name == TASKS:
                following.open[value.node] += 1
            elif name not in RESERVED:
                level.written.setdefault(name, []).append((order, value))
        following.joins.update(name for name, _ in task.writes if name in self._joins)

    def _after(self, level: Level) -> Level:
        place = self._levels.index(level) + 1
        if place == len(self._levels):
            self._levels.append(Level(level.number + 1))
        return self._levels[place]

    def _expect(self, level: Level, node: str) -> None:
        """A node is known to run in a coming super-step."""
        order = f"{PULL}~{node}"
        if node in level.expected or order in level.tasks or self.plan.nodes[node].defer:
            return
        level.expected[node] = None
        level.open[node] += 1

    def _look_ahead(self) -> None:
        """Start expected nodes whose inputs are certain."""
        if self._failure is not None or self._asks():
            return
        for place, (written, running) in enumerate(self._may_happen()):
            level = self._levels[place]
            if level.number > self.stop:
                return
            self._expect_joined(level, running)
            for task in self._certain(level, written) if place else ():
                level.add(task)
                restore.settle_from_journal(task, self.journal, dict(self.spec.answers))
                if task.saved:
                    self._close(task)
                else:
                    self._waiting.append(task)

    def _expect_joined(self, level: Level, running: set[str]) -> None:
        """Expect the nodes behind joins that are complete, whatever else happens before.

        Args:
            running: the nodes that may run before; one that a join leads to would use it up.
        """
        for name in level.joins:
            readers = self.plan.readers[name]
            if running.isdisjoint(readers) and self._foreseen(level).channel(name).is_available():
                for node in readers:
                    self._expect(level, node)

    def _may_happen(self) -> Iterator[tuple[set[str], set[str]]]:
        """For each known level: what tasks of earlier levels may still write, and may still run.

        What is open may lead on; a join only if all that it waits for has run or may run.
        """
        written: set[str] = set()
        running: set[str] = set()
        following: set[str] = set()
        for place, level in enumerate(self._levels):  # it grows when a stored outcome leads on
            yield written, running
            now = following | {node for node, count in level.open.items() if count}
            running = running | now
            written = written.union(*(self._foresight[node].writes for node in now))
            following = set[str]().union(*(self._foresight[node].leads for node in now))
            if now and place + 1 < len(self._levels):
                following |= self._joined(self._levels[place + 1], running)

    def _joined(self, level: Level, running: set[str]) -> set[str]:
        """The nodes behind joins that may have fired when a level begins."""
        foreseen = self._foreseen(level)
        found: set[str] = set()
        for name in self._joins:
            join = foreseen.channel(name)
            if join.names <= join.seen | running:
                found.update(self.plan.readers[name])
        return found

    def _certain(self, level: Level, written: set[str]) -> Iterator[Task]:
        """Tasks of a coming super-step that may start now."""
        foreseen = self._foreseen(level)
        for node in [name for name in level.expected if self._is_certain(name, written)]:
            plan = self.plan.nodes[node]
            try:
                given = foreseen.read(plan.reads)
            except EmptyChannelError:
                continue
            for key, compute in plan.managed:
                given[key] = compute(level.number, self.stop)
            del level.expected[node]
            yield Task(plan, (PULL, node), plan.triggers, given, self._step_of(level, foreseen))
        if level is self._levels[1]:
            yield from self._certain_sends(level, foreseen, written)

    def _is_certain(self, node: str, written: set[str]) -> bool:
        known = self._foresight.get(node)
        return known is not None and known.needs is not None and known.needs.isdisjoint(written)

    def _certain_sends(self, level: Level, foreseen: Foreseen, written: set[str]) -> Iterator[Task]:
        """`Send`s of the current super-step that may start: their place among all is known."""
        while self._senders and self._senders[0].order in self._levels[0].done:
            sender = self._senders.popleft()
            for send in (value for name, value in sender.writes if name == TASKS):
                place, self._sent = (PUSH, self._sent, False), self._sent + 1
                level.sends.setdefault(send.node, []).append((place, send.arg))
        for node in [name for name in level.sends if self._is_certain(name, written)]:
            for path, given in level.sends.pop(node):
                plan = self.plan.nodes[node]
                yield Task(plan, path, (PUSH,), given, self._step_of(level, foreseen))

    def _foreseen(self, level: Level) -> Foreseen:
        return Foreseen(self.state, self._levels, level)

    def _step_of(self, level: Level, foreseen: Foreseen) -> Step:
        checkpoint_id = ""
        if self.spec.saved:
            if level.number not in self.ahead:
                self.ahead[level.number] = self.env.checkpoint_id()
            checkpoint_id = self.ahead[level.number]
        state: Any = foreseen
        return Step(level.number, self.run_id_of, checkpoint_id, self.spec, state, self.stop)


__all__ = ["EagerLoop"]
