"""How a run begins: from a stored checkpoint and a caller's input to the first super-step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.channels.overwrite import MAY_OVERWRITE, overwritten
from plait.constants import (
    AHEAD,
    AHEAD_TASK_ID,
    ERROR,
    FAILED,
    INTERRUPT,
    NULL_TASK_ID,
    PULL,
    RESUME,
    TASKS,
)
from plait.engine.alarms import check_due, ring
from plait.engine.commands import Claim, Command, Commit, Load, Newest, SaveWrites
from plait.engine.formers import Former, former_of
from plait.engine.frontier import Frontier
from plait.engine.journal import MARKS, recorded_calls
from plait.engine.migration import warn_of_dropped
from plait.engine.plan import GraphPlan, NodePlan, Writes
from plait.engine.questions import Pending, Standing, answerable, asker_of, is_answer_map
from plait.engine.records import Origin, Snapshot, TaskWrites
from plait.engine.report import is_outcome, is_shown
from plait.engine.starts import adopt_starts
from plait.engine.tasks import Task
from plait.engine.tasks import task_id as id_of
from plait.errors import (
    ConfigError,
    EmptyInputError,
    InvalidInputError,
    UnknownCheckpointError,
    UnknownInterruptError,
    UnregisteredTypeError,
)
from plait.timers import TimedInterrupt
from plait.types import Send
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.engine.loop import Loop
    from plait.engine.spec import RunSpec

Begin = Generator[Command, Any, None]


def unknown_checkpoint(checkpoint_id: str, where: str) -> UnknownCheckpointError:
    """The error of a call that names a checkpoint which its thread does not have."""
    return UnknownCheckpointError(
        f"Checkpoint {checkpoint_id!r} does not exist on {where}. List what exists with "
        "get_state_history(config)."
    )


def entered(loop: Loop) -> bool:
    """Begin a run at once, if nothing of it is stored and nobody can tell how it begins."""
    spec, plan = loop.spec, loop.plan
    if spec.saved or spec.input is None or spec.null_writes is not None or not _is_unseen(loop):
        return False
    loop.restore(None)
    _enter(loop, plan.nodes[plan.entry or ""])
    return True


def begin(loop: Loop) -> Begin:
    """Load, understand the input, and leave the loop before its first super-step."""
    spec = loop.spec
    looks = spec.saved and not spec.untrodden
    snapshot = cast("Snapshot | None", (yield Load(spec.checkpoint_id))) if looks else None
    if snapshot is None and spec.checkpoint_id is not None:
        raise unknown_checkpoint(spec.checkpoint_id, spec.where)
    loop.restore(snapshot)
    if spec.only_due:
        check_due(loop, snapshot)
    if loop.moved is not None:
        warn_of_dropped(loop.plan, loop.moved, spec.where)
    if snapshot is not None and spec.resume is not MISSING and _says_go_on(loop, snapshot):
        spec.resume = MISSING
    continuing = spec.input is None or _same_step(spec, snapshot)
    if snapshot is not None and snapshot.origin is not None:
        yield from _replay(loop, snapshot)
    elif spec.resume is not MISSING or spec.null_writes is not None:
        yield from _command(loop, snapshot)
    elif not continuing:
        yield from _fresh(loop, snapshot)
    elif snapshot is None:
        raise EmptyInputError(
            f"Received no input for {loop.plan.input}: {spec.where} has nothing to continue. "
            "Pass an input to start it."
        )
    elif not spec.inside and (yield from _stands_there(loop, snapshot)):
        yield from _continue(loop, snapshot)
    else:
        yield from _replay(loop, snapshot)
    start = loop.start
    loop.went_on = start is not None and loop.checkpoint_id == start.id
    old = loop.went_on and spec.checkpoint_id is not None  # ids after its own may be another's
    loop.began = (loop.next_id() if old else loop.checkpoint_id) or ""


def _says_go_on(loop: Loop, snapshot: Snapshot) -> bool:
    """Whether an answer to nothing in particular means no more than "go on": nothing was asked, and
    the thread stands at a static breakpoint, of this graph or of one inside."""
    spec = loop.spec
    asked = [value for _, channel, value in snapshot.writes if channel == INTERRUPT]
    if is_answer_map(spec.resume) or loop.asked or any(asked):
        return False
    following = loop.frontier.names()
    before = _are_among(following, spec.interrupt_before)
    after = bool(following) and _are_among(loop.last, spec.interrupt_after)
    return bool(asked) or before or after


def _are_among(names: Sequence[str], breakpoints: frozenset[str] | None) -> bool:
    """Whether a node is a breakpoint (None: every one is)."""
    return bool(names) and (breakpoints is None or not breakpoints.isdisjoint(names))


def _same_step(spec: RunSpec, snapshot: Snapshot | None) -> bool:
    """Whether a nested run finds what an earlier attempt of the same task has stored."""
    if spec.within is None or snapshot is None:
        return False
    ns, checkpoint_id = spec.within
    parents: Mapping[str, str] = snapshot.metadata.get("parents") or {}
    return parents.get(ns) == checkpoint_id and is_of(spec.caller, snapshot.frontier.get("caller"))


def is_of(caller: str | None, stored: str | None) -> bool:
    """Whether a checkpoint that says who ran its graph is one of this caller's. (One that an older
    build has stored does not say it.)"""
    return stored is None or stored == caller


def _fresh(loop: Loop, snapshot: Snapshot | None) -> Begin:
    """A new input: what was going to run is dropped, the input is written."""
    plan, state = loop.plan, loop.state
    loop.origin = loop.asked = None
    loop.deadline = loop.spec.deadline
    if snapshot is not None:
        _keep_update(loop, snapshot)
        state.drop(loop.frontier.pulls)
    deferred = loop.frontier.deferred
    if _is_unseen(loop):
        _enter(loop, plan.nodes[plan.entry or ""])
        return
    loop.frontier = state.advance(input_writes(plan, loop.spec.input))
    loop.frontier.deferred = deferred
    loop.last = ()
    if loop.saving:
        try:
            yield Commit(loop.new_checkpoint("input"), claim=True, soon=_starts_at_once(loop))
        except UnregisteredTypeError:
            _refuse(loop)
            raise
    elif loop.spec.saved:
        yield Claim()
        loop.unsaved_checkpoint("input")
    loop.step += 1


def _starts_at_once(loop: Loop) -> bool:
    """Whether the super-step that comes first is the engine's own: the input enters the state."""
    plan, stops = loop.plan, loop.spec.interrupt_before
    return (
        plan.entry is not None
        and plan.foresight is None
        and plan.nodes[plan.entry].own is not None
        and [*loop.frontier.pulls] == [plan.entry]
        and not loop.frontier.sends
        and (stops is None or plan.entry not in stops)
    )


def _refuse(loop: Loop) -> None:
    """An input that cannot be stored may be none at all: then the start says what is wrong."""
    plan = loop.plan
    if plan.entry is not None and (enters := plan.nodes[plan.entry].enters) is not None:
        enters(loop.spec.input, loop.spec)


def _is_unseen(loop: Loop) -> bool:
    """Whether nobody can tell the super-step of the start from the beginning of the run."""
    plan = loop.plan
    if loop.spec.saved or loop.modes or plan.entry is None or plan.foresight is not None:
        return False
    return plan.nodes[plan.entry].own is not None


def _enter(loop: Loop, start: NodePlan) -> None:
    """The super-step of the start, at once."""
    assert start.own is not None
    writes = start.own(loop.spec.input, loop.spec)
    loop.frontier = frontier = loop.state.advance(writes)
    if not (frontier.pulls or frontier.sends):
        loop.state.finish(frontier)
    loop.last = (start.name,)
    if is_shown(writes, loop.output):
        loop.show_output()
    loop.step += 2  # that of the input, and that of the start


def input_writes(plan: GraphPlan, given: Any) -> Writes:
    """What an input writes.

    Raises:
        InvalidInputError: several channels take the input, and it is no dict.
        EmptyInputError: it has none of their keys.
    """
    if isinstance(plan.input, str):
        return [(plan.input, given)]
    if not isinstance(given, dict):
        raise InvalidInputError(
            f"Expected the input of {plan.name!r} to be a dict with keys among "
            f"{list(plan.input)}, got {given!r}."
        )
    known = cast("dict[str, Any]", given)
    writes = [(key, known[key]) for key in known if key in plan.input]
    if not writes:
        raise EmptyInputError(f"Received no input for {list(plan.input)}: got keys {list(known)}.")
    return writes


def _command(loop: Loop, snapshot: Snapshot | None) -> Begin:
    """A Command as input: answers for tasks that wait, writes and routes in no task's name."""
    spec = loop.spec
    writes = spec.null_writes or []
    if snapshot is None:
        if spec.resume is not MISSING:
            if not spec.saved:
                raise ConfigError(
                    f"Cannot use Command(resume=...) without checkpointer: {loop.plan.name!r} "
                    "keeps no threads, so nothing waits in it. Compile it with "
                    "checkpointer=InMemorySaver() or SqliteSaver(...), and have it ask again."
                )
            raise UnknownInterruptError(
                f"Nothing waits for an answer on {spec.where}: it has no checkpoint yet.",
                reason="not_pending",
            )
        yield from _fresh(loop, None)  # the start node writes its update and follows its goto
        return
    if spec.resume is MISSING and not (yield from _stands_there(loop, snapshot)):
        yield from _replay(loop, snapshot, writes)
        return
    saved = ring(loop, snapshot)
    if spec.resume is not MISSING:
        saved.extend(_answers(loop, snapshot))
    if writes:
        marked = [
            *_of_commands(snapshot),
            *writes,
            *(loop.moved.mark if loop.moved is not None else ()),
        ]
        saved.append(TaskWrites(snapshot.id, NULL_TASK_ID, "", marked))
    adopt(loop, snapshot, writes, goes_on=spec.checkpoint_id is None)
    loop.check_nodes()
    if loop.saving:
        yield SaveWrites(saved, claim=True)
    else:
        yield Claim()
        loop.deferred_writes.extend(saved)
    _greet(loop)


def _answers(loop: Loop, snapshot: Snapshot) -> list[TaskWrites]:
    """Give the caller's answers to the tasks that asked; returns what is stored of that."""
    spec = loop.spec
    spec.heard = set()
    pending = Pending(snapshot.writes)
    if loop.asked:
        asked_anew = {each for qid in pending.questions for each in pending.tasks_of[qid]}
        for task in loop.prepare(known_only=True):
            if task.id not in asked_anew and task.order in loop.asked:
                pending.stand_in(task.id, answerable(loop.asked[task.order]))
    again = not pending.questions and spec.checkpoint_id is not None
    if again:
        pending.reopen(snapshot.writes)
    saved: list[TaskWrites] = []
    written = snapshot.by_task()
    matched = pending.match(spec.resume, spec.where)
    loop.answered = loop.answered.union(*matched.values())
    for task_id, answers in matched.items():
        given = {**pending.answers.get(task_id, {}), **answers}
        left = written.get(task_id, [])
        if again or is_outcome(left):
            # Another answer at an old checkpoint, or one to a task in whose name the thread was
            # written to since: what came of the first one, or was written, is dropped.
            left = [(channel, value) for channel, value in left if channel == INTERRUPT]
            saved.append(TaskWrites(snapshot.id, task_id, "", [*left, (RESUME, given)]))
        else:
            saved.append(TaskWrites(snapshot.id, task_id, "", [(RESUME, given)], merge=True))
        written[task_id] = [*left, (RESUME, given)]
    snapshot.writes = [(id, *write) for id, writes in written.items() for write in writes]
    return saved


def _continue(loop: Loop, snapshot: Snapshot) -> Begin:
    """No input: go on where the thread stopped."""
    saved = ring(loop, snapshot)
    adopt(loop, snapshot, goes_on=True)
    loop.check_nodes()
    if saved and loop.saving:
        yield SaveWrites(saved, claim=True)
    else:
        yield Claim()
        loop.deferred_writes.extend(saved)
    _greet(loop)


def _replay(loop: Loop, snapshot: Snapshot, writes: Sequence[tuple[str, Any]] = ()) -> Begin:
    """No input at an addressed checkpoint: a fork of it, without what its tasks had done.

    Args:
        writes: what a Command as input writes to it.
    """
    _keep_update(loop, snapshot, writes)
    origin = snapshot.origin
    if origin is not None and origin.ns != loop.spec.ns:
        loop.state.touch_whole()  # it lies in the lane of another task: take it over
        loop.stored_id = None
    elif origin is None and loop.spec.inside:
        origin = Origin(loop.spec.ns, snapshot.id, loop.spec.inside)
    loop.origin, loop.asked = origin, None
    loop.check_nodes()
    if loop.saving:
        yield Commit(loop.new_checkpoint("fork"), claim=True)
    else:
        yield Claim()
        loop.unsaved_checkpoint("fork")
    loop.step += 1
    _greet(loop)


def _keep_update(loop: Loop, snapshot: Snapshot, writes: Sequence[tuple[str, Any]] = ()) -> None:
    """What a Command wrote to a checkpoint is part of its state, whatever becomes of its tasks.

    (Where a run goes on with these tasks, `adopt` takes it over.)

    Args:
        writes: what another Command, which is the input, writes besides.
    """
    _write_in_turn(loop, _of_commands(snapshot), writes)


def _of_commands(snapshot: Snapshot) -> list[tuple[str, Any]]:
    """What Commands wrote to a checkpoint."""
    return [(c, v) for task_id, c, v in snapshot.writes if task_id == NULL_TASK_ID]


def _write_in_turn(
    loop: Loop, written: Sequence[tuple[str, Any]], writes: Sequence[tuple[str, Any]]
) -> None:
    """Apply what Commands wrote between two super-steps, each after the one before: a key that
    takes one value, or is overwritten, takes one of each of them.

    Args:
        written: what earlier ones wrote.
        writes: what one more writes.
    """
    channels = loop.plan.channels
    rounds: list[list[tuple[str, Any]]] = []
    reached: dict[str, int] = {}
    whole: set[str] = set()
    for turn in (*([one] for one in written), writes):
        places: dict[str, int] = {}
        for name, value in turn:
            overwrites = type(value) in MAY_OVERWRITE and overwritten(value)[0]
            if name not in places:
                apart = overwrites or name in whole or (name in channels and channels[name].single)
                again = name in reached and apart
                places[name] = reached.get(name, 0) + again
                whole.discard(name)
            if overwrites:
                whole.add(name)
            rounds.extend([] for _ in range(len(rounds), places[name] + 1))
            rounds[places[name]].append((name, value))
        reached |= places
    for one in rounds:
        loop.state.write(one, loop.frontier)


def _stands_there(loop: Loop, snapshot: Snapshot) -> Generator[Command, Any, bool]:
    """Whether the thread stands at the checkpoint that a run is to go on from.

    Who went back by hand names the checkpoint that came of it. That is no replay: it is the newest.
    """
    if loop.spec.checkpoint_id is None:
        return True
    if snapshot.metadata.get("source") not in ("update", "fork"):
        return False
    return (yield Newest()) == snapshot.id


def _greet(loop: Loop) -> None:
    """A resumed run first tells the state it starts from."""
    loop.resumed = True
    loop.show_output()
    if "values" in loop.modes:
        loop.emit_values()


def adopt(
    loop: Loop,
    snapshot: Snapshot,
    writes: Sequence[tuple[str, Any]] = (),
    *,
    goes_on: bool = False,
) -> None:
    """Take over what tasks of the checkpoint's super-step had done before.

    Args:
        writes: what a Command, which is the input, writes besides.
        goes_on: the loop makes the next checkpoint of the thread, which may have a reserved id.
            Others (forks, updates by hand) must not: two checkpoints would have one id.
    """
    by_task = snapshot.by_task() if snapshot.writes else {}
    _write_in_turn(loop, by_task.pop(NULL_TASK_ID, ()), writes)
    if not snapshot.writes:
        return
    for _, ids in by_task.pop(AHEAD_TASK_ID, ()):
        if goes_on:
            loop.ahead = {**loop.ahead, **ids}
    loop.journal = by_task
    loop.recorded = recorded_calls(by_task)


def settle_from_journal(task: Task, journal: dict[str, Writes], answers: dict[str, Any]) -> None:
    """Give a prepared task its earlier outcome: finished, or with questions and answers."""
    task.former = former_of(task)
    if task.former is not None:
        task.asked().former = task.former
    stored = journal.get(task.id)
    if stored is not None:
        task.prior = _left_by_earlier_attempts(stored)
        if is_outcome(stored):
            task.writes = [(c, v) for c, v in stored if c != AHEAD and c not in MARKS]
            task.saved = True
            return
        if task.node.handler is not None and _adopt_failure(task, stored):
            return
        if task.node.guarded:
            adopt_starts(task, stored)
        for channel, value in task.prior:
            if channel == RESUME:
                task.asked().answers.update(value)
            elif channel == INTERRUPT:
                for question in value:
                    if type(question) is TimedInterrupt:
                        task.asked().timed[question.id] = question
    if answers:
        task.asked().answers.update(answers)


def _left_by_earlier_attempts(stored: Writes) -> Writes:
    """The questions, errors and answers of a task. All its answers are one write: a task that asks
    again and again would else keep those of each turn beside those of every turn before."""
    left = [(channel, value) for channel, value in stored if channel in (INTERRUPT, ERROR)]
    answers = {id: answer for c, value in stored if c == RESUME for id, answer in value.items()}
    return [*left, (RESUME, answers)] if answers else left


def stand_for(task: Task, asked: Standing, answered: Container[str]) -> None:
    """A task takes the place of one that was asking when the thread was written to by hand.

    Args:
        asked: its open questions, and its id (see `standing_of`).
        answered: the questions that the caller of the run answers.
    """
    questions, asker = task.asked(), asker_of(asked)
    if asker is None:
        questions.stand_in(asked, answered)
    else:
        task.former = questions.former = Former(task.step.ns, asker, asked)


def _adopt_failure(task: Task, stored: Writes) -> bool:
    """Whether a task had failed for good, so that its error handler runs in its place."""
    for channel, value in stored:
        if channel == FAILED:
            task.error = value
            task.saved = task.handled = True
    return task.handled


def rename_ahead(snapshot: Snapshot, former: Mapping[str, str], ns: str) -> None:
    """Tasks that finished ahead of their super-step are found under today's names of nodes.

    Tasks of the stored super-step keep the ids that they were born with (see `migration`). The
    super-steps to come are made anew, with today's names, so what is on record for them moves.

    Args:
        former: former name of a node to today's.
    """
    bases: dict[int, str] = {}
    for task, channel, ids in snapshot.writes:
        if task == AHEAD_TASK_ID and channel == AHEAD:
            bases.update(ids)
    if not bases or not former:
        return
    names: dict[str, list[str]] = {}
    for name, now in former.items():
        names.setdefault(now, [now]).append(name)
    today: dict[str, str] = {}
    for _, base in sorted(bases.items()):  # who sends comes before what it sent
        for now, then in names.items():
            for name in then:
                order = f"{PULL}~{name}"
                today[id_of(base, ns, name, order)] = id_of(base, ns, now, f"{PULL}~{now}")
        for sender, number, send in _numbered_sends(snapshot):
            key = f"{number}~{today.get(sender, sender)}"
            for name in names.get(send.node, (send.node,)):
                sent = id_of(base, ns, name, f"{number}~{sender}")
                today[sent] = id_of(base, ns, send.node, key)
    snapshot.writes = [(today.get(task, task), c, value) for task, c, value in snapshot.writes]


def _numbered_sends(snapshot: Snapshot) -> list[tuple[str, int, Send]]:
    """The `Send`s of finished tasks: who sent each, and as its which."""
    numbers: Counter[str] = Counter()
    found: list[tuple[str, int, Send]] = []
    for task, channel, value in snapshot.writes:
        if channel == TASKS:
            found.append((task, numbers[task], value))
            numbers[task] += 1
    return found


def restored_frontier(snapshot: Snapshot | None) -> Frontier:
    """What the stored checkpoint says runs next."""
    return Frontier() if snapshot is None else Frontier.restored(snapshot.frontier)
