"""One task of a super-step: its stable id, its place in the order, what it wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from plait.common.ids import uuid_form
from plait.constants import CALL, PULL, PUSH
from plait.engine.namespaces import inside
from plait.engine.plan import NodePlan, Writes
from plait.engine.questions import Questions
from plait.engine.records import TaskWrites

if TYPE_CHECKING:
    from plait.engine.formers import Former
    from plait.engine.journal import Calls, Recorded
    from plait.engine.limits import Limit
    from plait.engine.spec import RunSpec
    from plait.engine.state import State
    from plait.errors import NodeError
    from plait.types import TimeoutPolicy

_NO_WRITES: Writes = []


_BEGUN = blake2b(digest_size=16)
"""To copy it costs less than to make one."""


def digest(*parts: str) -> str:
    """128 bits that stand for `parts`, as 32 hex digits."""
    made = _BEGUN.copy()
    made.update("\0".join(parts).encode("utf-8", "surrogatepass"))
    return made.hexdigest()


def task_id(base: str, ns: str, name: str, order: str) -> str:
    """The id of a task: it derives from its place alone."""
    return uuid_form(digest(base, ns, name, order))


def is_task_id(id: str, base: str, ns: str, name: str, order: str) -> bool:
    """Whether this is the id of the task of a place, at a lower price than to make that."""
    return id.replace("-", "") == digest(base, ns, name, order)


def order_of(path: tuple[Any, ...]) -> str:
    """See `Task.order`."""
    if path[0] is PULL:
        return _pulled(path[1])
    place = _pushed(path[1])
    return f"{place}~False" if path[2] is False else f"{place}~{path[2]}"


@lru_cache(maxsize=4096)
def _pulled(name: str) -> str:
    return f"{PULL}~{name}"


@lru_cache(maxsize=4096)
def _pushed(number: int) -> str:
    return f"{PUSH}~{number:010d}"


class UnnamedWrites(TaskWrites):
    """The outcome of a task whose id nobody has asked for yet: it is made when it is read."""

    __slots__ = ("_base", "_identity", "_ns", "known_id")

    def __init__(
        self, checkpoint_id: str, base: str, ns: str, identity: str, path: str, writes: Writes
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.path = path
        self.writes = writes
        self.merge = False
        self.derived = True
        self._base = base
        self._ns = ns
        self._identity = identity
        self.known_id: str | None = None
        """The id, if somebody has asked for it."""

    @property
    def task_id(self) -> str:  # type: ignore[override]
        made = self.known_id
        if made is None:
            made = self.known_id = task_id(self._base, self._ns, self._identity, self.path)
        return made


class Step:
    """What the tasks of one super-step share.

    Args:
        base: what task ids derive from where there is no checkpoint: the run's own id.
        spec: of the run.
        stop: the last super-step that the recursion limit allows.
    """

    __slots__ = ("_base", "checkpoint_id", "number", "spec", "state", "stop")

    def __init__(
        self,
        number: int,
        base: Callable[[], str],
        checkpoint_id: str,
        spec: RunSpec,
        state: State,
        stop: int = 0,
    ) -> None:
        self.number = number
        self.checkpoint_id = checkpoint_id
        self.spec = spec
        self.state = state
        self.stop = stop
        self._base = base

    @property
    def ns(self) -> str:
        """The namespace of the run."""
        return self.spec.ns

    @property
    def base(self) -> str:
        """What task ids derive from: the checkpoint's id, else the run's id and step."""
        return self.checkpoint_id or f"{self._base()}:{self.number}"


class Task:
    """One execution of one node (or of one `@task` call) in one super-step."""

    # Most tasks never need these: they stay on the class until they are set.
    calls: Calls | None = None
    """The `@task` calls that its code makes."""
    writes: Writes = _NO_WRITES
    prior: Writes = _NO_WRITES
    """Interrupts, answers and errors of earlier attempts, kept beside the task's outcome."""
    error: BaseException | None = None
    parent: Task | None = None
    """The task whose code called this one (a `@task`)."""
    call: Any = None
    """The driver's handle of that call."""
    key = ""
    """What tells that call from the others of its parent (see `journal`), or a `Send` that may run
    ahead from all others of its super-step (see `frontier`)."""
    sender: Task | None = None
    """Of a task by `Send` that runs ahead: the task that sent it, until its place is known."""
    record: Recorded | None = None
    """That call, as it goes on record."""
    former: Former | None = None
    """The task in whose place it runs since its thread was written to by hand."""
    first_attempt_at: float | None = None
    born: str | None = None
    """The name its node had when the task was made, where that was another (see `migration`)."""
    limit: Limit | None = None
    """What watches how long the current attempt takes."""
    given_up = 0
    """Attempts up to this number took too long: nothing that their code says counts any more."""
    starts = 0
    """Of a guarded task: how many starts are on record."""
    started = False
    """Whether the last of them was in this run, and is what this attempt stands on."""
    unknown = False
    """Whether the last of them has no known outcome: what becomes of it is to be settled first."""
    handled = False
    """Whether it failed for good and its error handler runs in its place."""
    failed: NodeError | None = None
    """Of an error handler: what it handles."""
    cached: bool | None = None
    """Whether its writes came from the cache; None: nobody has looked."""
    _id: str | None = None

    def __init__(
        self,
        node: NodePlan,
        path: tuple[Any, ...],
        triggers: Sequence[str],
        input: Any,
        step: Step,
    ) -> None:
        self.node = node
        self.path = path
        self.triggers = triggers
        self.input = input
        self.step = step
        self.attempt = 1
        self.saved = False
        """Whether its writes were acknowledged."""
        self.questions: Questions | None = None
        self.timeout: TimeoutPolicy | None = None
        """How long an attempt may take, where the `Send` that made the task says so."""
        # Each task in a worker has it: what is not set here would take a dict of its own.
        self.thread: int | None = None
        """The worker thread that its code runs in, if it is in one."""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def identity(self) -> str:
        """The node's name in what derives from the task: its id, the namespace inside it."""
        return self.born or self.node.name

    @property
    def id(self) -> str:
        """Stable over crashes and resumes: the task's idempotency key (made when asked for)."""
        made = self._id
        if made is None:
            step = self.step
            base = (step.checkpoint_id or step.base) if self.parent is None else self.parent.id
            identity = self.born or self.node.name
            made = task_id(base, step.spec.ns, identity, self.key or order_of(self.path))
            self._id = made
        return made

    def outcome(self, writes: Writes) -> TaskWrites:
        """What is stored of the task: `writes` under its id."""
        step, order = self.step, order_of(self.path)
        if self.record is not None:
            writes = [*writes, (CALL, list(self.record))]
        if self._id is not None or self.key or self.parent is not None:
            return TaskWrites(step.checkpoint_id, self.id, order, writes)
        identity, made_at = self.born or self.node.name, step.checkpoint_id
        return UnnamedWrites(made_at, made_at or step.base, step.spec.ns, identity, order, writes)

    @property
    def order(self) -> str:
        """Sorts tasks into the order in which their writes apply, whoever finished first.

        Triggered nodes by name, then `Send`s by their position.
        """
        return order_of(self.path)

    @property
    def ns(self) -> str:
        """The checkpoint namespace of what runs inside this task."""
        return inside(self.step.spec.ns, self.born or self.node.name, self._id or self.id)

    @property
    def is_push(self) -> bool:
        return self.path[0] is PUSH

    def asked(self) -> Questions:
        """The task's questions (made when the first one is asked)."""
        if self.questions is None:
            self.questions = Questions(self.id, self.step.spec.heard)
        return self.questions
