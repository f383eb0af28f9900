"""How a run begins: from a stored checkpoint and a caller's input to the first super-step."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

from plait.constants import ERROR, INTERRUPT, NULL_TASK_ID, RESUME
from plait.engine.commands import Claim, Command, Commit, Load, SaveWrites
from plait.engine.frontier import Frontier
from plait.engine.plan import Writes
from plait.engine.questions import Pending
from plait.engine.records import Snapshot, TaskWrites
from plait.engine.report import is_outcome
from plait.engine.tasks import Task
from plait.errors import (
    EmptyInputError,
    InvalidUpdateError,
    UnknownCheckpointError,
    UnknownInterruptError,
)
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.engine.loop import Loop

Begin = Generator[Command, Any, None]


def begin(loop: Loop) -> Begin:
    """Load, understand the input, and leave the loop before its first super-step."""
    spec = loop.spec
    snapshot = cast("Snapshot | None", (yield Load(spec.checkpoint_id))) if spec.saved else None
    if snapshot is None and spec.checkpoint_id is not None:
        raise UnknownCheckpointError(
            f"Checkpoint {spec.checkpoint_id!r} does not exist on {spec.where}. List what exists "
            "with get_state_history(config)."
        )
    loop.restore(snapshot)
    continuing = spec.input is None or (spec.continuing and snapshot is not None)
    if spec.resume is not MISSING or spec.null_writes is not None:
        yield from _command(loop, snapshot)
    elif not continuing:
        yield from _fresh(loop, snapshot)
    elif snapshot is None:
        raise EmptyInputError(
            f"Received no input for {loop.plan.input}: {spec.where} has nothing to continue. "
            "Pass an input to start it."
        )
    elif spec.checkpoint_id is not None and not _untouched_fork(snapshot):
        yield from _replay(loop, snapshot)
    else:
        yield from _continue(loop, snapshot)


def _fresh(loop: Loop, snapshot: Snapshot | None) -> Begin:
    """A new input: what was going to run is dropped, the input is written."""
    plan, state = loop.plan, loop.state
    if snapshot is not None:
        state.drop(loop.frontier.pulls)
    deferred = loop.frontier.deferred
    loop.frontier = state.advance(_input_writes(loop))
    loop.frontier.deferred = deferred
    loop.last = ()
    if loop.saving:
        yield Commit(loop.new_checkpoint("input"), claim=True)
    elif loop.spec.saved:
        yield Claim()
        loop.unsaved_checkpoint("input")
    loop.step += 1
    if plan.entry is None:
        loop.shown = True
        if "values" in loop.modes:
            loop.emit_values()


def _input_writes(loop: Loop) -> Writes:
    plan, given = loop.plan, loop.spec.input
    if isinstance(plan.input, str):
        return [(plan.input, given)]
    if not isinstance(given, dict):
        raise InvalidUpdateError(
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
                raise RuntimeError("Cannot use Command(resume=...) without checkpointer")
            raise UnknownInterruptError(
                f"Nothing waits for an answer on {spec.where}: it has no checkpoint yet.",
                reason="not_pending",
            )
        yield from _fresh(loop, None)  # the start node writes its update and follows its goto
        return
    pending = Pending(snapshot.writes)
    saved: list[TaskWrites] = []
    if spec.resume is not MISSING:
        for task_id, answers in pending.match(spec.resume, spec.where).items():
            given = {**pending.answers.get(task_id, {}), **answers}
            saved.append(TaskWrites(snapshot.id, task_id, "", [(RESUME, given)], merge=True))
            snapshot.writes.append((task_id, RESUME, given))
    if writes:
        earlier = [(c, v) for task_id, c, v in snapshot.writes if task_id == NULL_TASK_ID]
        saved.append(TaskWrites(snapshot.id, NULL_TASK_ID, "", [*earlier, *writes]))
        snapshot.writes.extend((NULL_TASK_ID, channel, value) for channel, value in writes)
    adopt(loop, snapshot)
    if loop.saving:
        yield SaveWrites(saved, claim=True)
    else:
        yield Claim()
        loop.deferred_writes.extend(saved)
    _greet(loop)


def _continue(loop: Loop, snapshot: Snapshot) -> Begin:
    """No input: go on where the thread stopped."""
    adopt(loop, snapshot)
    yield Claim()
    _greet(loop)


def _replay(loop: Loop, snapshot: Snapshot) -> Begin:
    """No input at an addressed checkpoint: a fork of it, without what its tasks had done."""
    if loop.saving:
        yield Commit(loop.new_checkpoint("fork"), claim=True)
    else:
        yield Claim()
        loop.unsaved_checkpoint("fork")
    loop.step += 1
    _greet(loop)


def _untouched_fork(snapshot: Snapshot) -> bool:
    """Whether a checkpoint was made by hand and nothing has run from it yet."""
    return snapshot.metadata.get("source") in ("update", "fork") and not snapshot.writes


def _greet(loop: Loop) -> None:
    """A resumed run first tells the state it starts from."""
    loop.resumed = loop.shown = True
    if "values" in loop.modes:
        loop.emit_values()


def adopt(loop: Loop, snapshot: Snapshot) -> None:
    """Take over what tasks of the checkpoint's super-step had done before."""
    if not snapshot.writes:
        return
    by_task: dict[str, Writes] = {}
    for task_id, channel, value in snapshot.writes:
        by_task.setdefault(task_id, []).append((channel, value))
    null_writes = by_task.pop(NULL_TASK_ID, None)
    if null_writes:
        loop.state.write(null_writes, loop.frontier)
    loop.journal = by_task


def settle_from_journal(task: Task, journal: dict[str, Writes], answers: dict[str, Any]) -> None:
    """Give a prepared task its earlier outcome: finished, or with questions and answers."""
    stored = journal.get(task.id)
    if stored is not None:
        task.prior = [(c, v) for c, v in stored if c in (INTERRUPT, RESUME, ERROR)]
        if is_outcome(stored):
            task.writes = [(c, v) for c, v in stored if c not in (INTERRUPT, RESUME, ERROR)]
            task.saved = True
            return
        for channel, value in task.prior:
            if channel == RESUME:
                task.asked().answers.update(value)
    if answers:
        task.asked().answers.update(answers)


def restored_frontier(snapshot: Snapshot | None) -> Frontier:
    """What the stored checkpoint says runs next."""
    return Frontier() if snapshot is None else Frontier.restored(snapshot.frontier)
