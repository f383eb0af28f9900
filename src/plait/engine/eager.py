"""The eager schedule: a task whose inputs are certain does not wait for its super-step.

Checkpoints, their order and their contents are those of the ordinary schedule; only the work starts
earlier. While a slow task of the current super-step runs, what its finished siblings lead to is
known already: those nodes will run in the next super-step, and what they lead to in the one after.
Such a node starts at once if nothing that is still *open* (running, or known to run) can write a
key that it reads. Its outcome is kept, and stored, until its super-step comes.

What a node may write, and where it may lead, is declared or read off its annotations and edges
(`plan.Foresight`). A node that does something else fails, so that a wrong declaration cannot change
a result.

The place of a `Send` among all of its super-step is known only once everybody has sent. A task that
starts before is told from the others by who sent it and as its which (`frontier.send_key`); its id
derives from that, and the checkpoint says so, for whoever goes on with the thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from plait.channels.named_barrier_value import NamedBarrierValue
from plait.constants import AHEAD, PULL, PUSH, RESERVED
from plait.engine import restore
from plait.engine.commands import SaveWrites
from plait.engine.events import TaskFailed
from plait.engine.frontier import send_key, sends_of
from plait.engine.loop import Loop
from plait.engine.plan import Channel, Reads, Writes
from plait.engine.records import TaskWrites
from plait.engine.running import WAIT
from plait.engine.spec import Env, RunSpec
from plait.engine.storing import Flow
from plait.engine.tasks import Step, Task
from plait.errors import ConfigError, EmptyChannelError, GraphInterrupt, InvalidUpdateError
from plait.types import Send


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
        """Tasks that were prepared, by their `_name`."""
        self.consumed: set[str] = set()
        """The triggers of those tasks."""
        self.expected: dict[str, None] = {}
        """Nodes that will run in it and have no task yet."""
        self.open: Counter[str] = Counter()
        """How many tasks of a node are expected or running."""
        self.written: dict[str, list[tuple[Task, Any]]] = {}
        """What finished tasks wrote: channel -> (task, value)."""
        self.done: set[str] = set()
        """The names of finished tasks."""
        self.joins: set[str] = set()
        """Joins that finished tasks of the super-step before have written to."""
        self.sends: dict[str, list[tuple[Task, int, Send]]] = {}
        """`Send`s to a node that have no task yet: who sent each, and as its which."""

    def add(self, task: Task) -> None:
        """A task of this super-step was prepared."""
        self.tasks[_name(task)] = task
        self.consumed.update(task.triggers)

    def updates(self, channel: str) -> list[Any]:
        """What finished tasks wrote to a channel, in the order in which it will apply."""
        written = self.written.get(channel, ())
        return [value for _, value in sorted(written, key=lambda write: _rank(write[0]))]


def _name(task: Task) -> str:
    """What tells a task from the others of its super-step, whether its place is known or not."""
    return task.key or task.order


def _rank(task: Task) -> tuple[Any, ...]:
    """Sorts the tasks of a super-step as their writes apply, before their places are known.

    `Send`s apply in the order of who sent them, after triggered nodes.
    """
    numbers: list[int] = []
    while task.sender is not None:
        numbers.append(task.path[1])
        task = task.sender
    return (*(PUSH for _ in numbers), *task.path[:2], *reversed(numbers))


class Foreseen:
    """What is certain of the state, as a task of a coming super-step will find it.

    Nobody changes it any more, so that the task may look at it in a thread of its own.
    """

    __slots__ = ("_channels",)

    def __init__(self, channels: dict[str, Channel]) -> None:
        self._channels = channels

    def read(self, reads: Reads) -> Any:
        """What `reads` will read.

        Raises:
            EmptyChannelError: `reads` names one channel, and nothing will be in it.
        """
        return self.peek(reads, [])

    def read_or_none(self, reads: Reads) -> Any:
        """Like `read`; an empty single channel reads as None."""
        try:
            return self.read(reads)
        except EmptyChannelError:
            return None

    def peek(self, reads: Reads, writes: Writes) -> Any:
        """What `reads` will read once `writes` apply as well."""
        if isinstance(reads, str):
            return self._channel(reads, writes).get()
        channels = {key: self._channel(key, writes) for key in reads.keys}
        return {key: channel.get() for key, channel in channels.items() if channel.is_available()}

    def _channel(self, key: str, writes: Writes) -> Channel:
        channel = self._channels.get(key)
        if channel is None:
            raise ConfigError(
                f"A task that a Send started ahead of its super-step reads key {key!r} of the "
                "state, which others may still write. Send it what it needs, or compile the graph "
                "without schedule='eager'."
            )
        updates = [value for name, value in writes if name == key]
        if updates:
            channel = channel.copy()
            channel.update(updates)
        return channel


class EagerLoop(Loop):
    """A loop that starts tasks of coming super-steps as soon as their inputs are certain."""

    __slots__ = (
        "_announced",
        "_foresight",
        "_joins",
        "_levels",
        "_postponed",
        "_told",
    )

    def __init__(self, spec: RunSpec, env: Env) -> None:
        super().__init__(spec, env)
        self.ahead, self.journal = {}, {}
        assert spec.plan.foresight is not None
        self._foresight = spec.plan.foresight
        self._joins = frozenset(
            name
            for name in spec.plan.readers
            if type(spec.plan.channels[name]) is NamedBarrierValue  # others fire at the end
        )
        self._levels: list[Level] = []
        """The current super-step, then those to come."""
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
            running = level.tasks.get(_name(prepared))
            if running is not None:
                running.path, running.sender = prepared.path, None
                if not prepared.saved:
                    tasks[place] = running
            level.add(tasks[place])
        level.expected, level.sends = {}, {}
        level.open = Counter(task.name for task in tasks if _name(task) not in level.done)
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

    def _may_be_early(self) -> bool:
        return not self.spec.saved or super()._may_be_early()

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

    def _has_asked(self, task: Task) -> None:
        if not self._is_early(task):
            super()._has_asked(task)

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
        return TaskWrites(self.checkpoint_id or "", task.id, outcome.path, writes)

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
        """The error of a task that did what its node does not declare."""
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
        return self._astray(task, known.leads)

    def _astray(self, task: Task, leads: frozenset[str]) -> InvalidUpdateError | None:
        """The error of a task that led to a node which its node does not declare."""
        if task.name == self.plan.entry or task.failed is not None:
            return None  # Commands given as input, or by error handlers, lead anywhere
        routed = [node for name, _ in task.writes if (node := self.plan.routes.get(name))]
        led = [node for node in routed if not self.plan.nodes[node].defer]
        for node in (*led, *(send.node for send in sends_of(task))):
            if node not in leads:
                return InvalidUpdateError(
                    f"Node {task.name!r} led to node {node!r}, which it does not declare "
                    f"({sorted(leads)}). The eager schedule relies on that: name the node in "
                    "add_conditional_edges(..., path_map=[...]), add_node(..., destinations=(...)) "
                    "or the return annotation Command[Literal[...]]."
                )
        return None

    def _close(self, task: Task) -> None:
        """A task is done: note what it wrote, and what it leads to."""
        level = self._levels[task.step.number - self._levels[0].number]
        if _name(task) in level.done:
            return
        level.done.add(_name(task))
        level.open[task.name if task.failed is None else task.failed.node] -= 1
        following = self._after(level)
        for name, value in task.writes:
            node = self.plan.routes.get(name)
            if node is not None:
                self._expect(following, node)
            elif name not in RESERVED:
                level.written.setdefault(name, []).append((task, value))
        for number, send in enumerate(sends_of(task)):
            if send.node not in self.plan.nodes:
                continue  # the end of the super-step refuses it
            following.open[send.node] += 1
            following.sends.setdefault(send.node, []).append((task, number, send))
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
            if running.isdisjoint(readers) and self._channel(level, name).is_available():
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
            following = set[str]()
            if not now:
                continue
            running = running | now
            written = written.union(*(self._foresight[node].writes for node in now))
            following.update(*(self._foresight[node].leads for node in now))
            if place + 1 < len(self._levels):
                following |= self._joined(self._levels[place + 1], running)

    def _joined(self, level: Level, running: set[str]) -> set[str]:
        """The nodes behind joins that may have fired when a level begins."""
        found: set[str] = set()
        for name in self._joins:
            join = self._channel(level, name)
            if join.names <= join.seen | running:
                found.update(self.plan.readers[name])
        return found

    def _certain(self, level: Level, written: set[str]) -> Iterator[Task]:
        """Tasks of a coming super-step that may start now."""
        for node in list(level.expected):
            foreseen = self._foreseen(level, self._foresight[node].needs, written)
            if foreseen is None:
                continue
            plan = self.plan.nodes[node]
            given = foreseen.read(plan.reads)
            for key, compute in plan.managed:
                given[key] = compute(level.number, self.stop)
            del level.expected[node]
            yield Task(plan, (PULL, node), plan.triggers, given, self._step_of(level, foreseen))
        for node in list(level.sends):
            foreseen = self._foreseen(level, self._foresight[node].sent, written)
            if foreseen is None:
                continue
            plan, step = self.plan.nodes[node], self._step_of(level, foreseen)
            for sender, number, send in level.sends.pop(node):
                task = Task(plan, (PUSH, number, sender.id), (PUSH,), send.arg, step)
                task.key, task.sender = send_key(sender, number), sender
                task.timeout = send.timeout
                yield task

    def _foreseen(
        self, level: Level, needs: frozenset[str] | None, written: set[str]
    ) -> Foreseen | None:
        """What a task needs of the state, if that is certain."""
        if needs is None or not needs.isdisjoint(written):
            return None
        try:
            return Foreseen({name: self._channel(level, name) for name in needs})
        except Exception:  # writes that do not fit: the end of their super-step refuses them
            return None

    def _channel(self, level: Level, name: str) -> Any:
        """A copy of a channel with everything applied that is known to be written to it."""
        channel = self.state.channel(name).copy()
        for before in self._levels[: self._levels.index(level)]:
            if name in before.consumed:
                channel.consume()
            updates = before.updates(name)
            if updates:
                channel.update(updates)
        return channel

    def _step_of(self, level: Level, foreseen: Foreseen) -> Step:
        checkpoint_id = ""
        if self.spec.saved:
            if level.number not in self.ahead:
                self.ahead[level.number] = self.next_id()
            checkpoint_id = self.ahead[level.number]
        state: Any = foreseen
        return Step(level.number, self.run_id_of, checkpoint_id, self.spec, state, self.stop)


__all__ = ["EagerLoop"]
