"""What one run is asked to do, and where its ids and its clock come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from plait.engine.plan import GraphPlan, Reads, Writes
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.engine.formers import FormerStep

_NOTHING: Final[Mapping[str, Any]] = {}

NONE_YET: Final[Any] = MappingProxyType[Any, Any]({})
"""A dict of a run while there is nothing in it: who puts something in makes one (`x or {}`). Runs
are many, and most of what they could keep never comes up."""
NO_ITEMS: Final[Any] = ()
"""The same for lists and sets."""


class Env(Protocol):
    """Clock, ids and chance of a run; the engine has none of its own."""

    def checkpoint_id(self) -> str:
        """A new id; later ids sort after earlier ones."""
        ...

    def new_id(self) -> str:
        """A new id without order."""
        ...

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        ...

    def jitter(self) -> float:
        """A number in [0, 1)."""
        ...


class Nested(Protocol):
    """The place of a nested run."""

    @property
    def ns(self) -> str:
        """Its namespace (made when it is asked for)."""
        ...

    @property
    def former(self) -> FormerStep | None:
        """Where the run stopped in whose place this one begins anew; known once it has loaded."""
        ...

    def is_late(self) -> bool:
        """Whether a task around it took too long, so that nobody waits for what it runs."""
        ...


class RunSpec:
    """One call of a graph, translated for the engine.

    Runs are many and say little: what they leave out stays on the class.

    Args:
        plan: the graph.
        input: the new input; None continues what is stored.
        saved: whether there is a saver.
        thread_id: the thread, for messages.
        ns: the namespace of the run's checkpoints (None: what `nest` says).
    """

    resume: Any = MISSING
    """The answer to pending interrupts (`Command(resume=)`)."""
    null_writes: Writes | None = None
    """What a Command given as input writes, in no task's name."""
    durability: Literal["sync", "async", "exit"] = "sync"
    checkpoint_id: str | None = None
    """The checkpoint to start from; None means the latest."""
    inside: Mapping[str, str] = _NOTHING
    """The checkpoints of nested graphs to replay from, by namespace, within `checkpoint_id`."""
    untrodden: bool = False
    """Whether nobody can have stored anything for the run: then nobody needs to look."""
    within: tuple[str, str] | None = None
    """The super-step that a nested run is part of: its namespace and checkpoint. What the run
    finds stored under the same one is its own: it goes on with it and ignores the input."""
    caller: str | None = None
    """Of a graph with memory, whose namespace is one for all tasks of a node: the task that runs
    it, where its super-step may have several. Each goes on with what it has stored itself."""
    answers: Mapping[str, Any]
    """Answers that the parent run was given, by question id."""
    heard: set[str] | None = None
    """Where the caller of the run answers questions: those whose answers have been taken. The runs
    inside share it."""
    modes: frozenset[str] = frozenset()
    output: Reads | None = None
    """What `values` and `updates` carry; None: the graph's output."""
    inline: Literal["sync", "async", "none"] = "none"
    """Which nodes may run inline: those with a sync form, an async form, or none (because
    somebody listens mid-task)."""
    interrupt_before: frozenset[str] | None = frozenset()
    interrupt_after: frozenset[str] | None = frozenset()
    recursion_limit: int = 10_007
    """Super-steps it may take (by default as many as the peer's)."""
    step_timeout: float | None = None
    """Seconds that a super-step may take."""
    deadline: float | None = None
    """When the run must have ended, in seconds since the epoch; None: what its thread has stored,
    if it goes on."""
    only_due: bool = False
    """Whether the run does nothing, and says so, where its thread waits for nothing that is due."""
    cache: Any = None
    """Where results of nodes are kept (its drivers' to use); None: nothing is looked up."""
    max_concurrency: int | None = None
    nest: Nested | None = None
    """What knows the namespace, where that is not said."""

    @cached_property
    def ns(self) -> str:
        """The namespace of the run's checkpoints."""
        return "" if self.nest is None else self.nest.ns

    parents: Mapping[str, str] = _NOTHING
    """Namespace to checkpoint id of the runs this one is nested in."""
    configurable: Mapping[str, Any] = _NOTHING
    metadata: Mapping[str, Any] = _NOTHING
    """Stored with every checkpoint."""
    task_metadata: Mapping[str, Any] = _NOTHING
    """Reported with every started task."""

    def __init__(
        self,
        plan: GraphPlan,
        input: Any = None,
        saved: bool = False,
        thread_id: Any = None,
        ns: str | None = None,
    ) -> None:
        self.plan = plan
        self.input = input
        self.saved = saved
        self.thread_id = thread_id
        self.answers = _NOTHING
        if ns is not None:
            self.ns = ns

    @property
    def where(self) -> str:
        """Names the thread in messages."""
        thread_id = self.thread_id
        return f"graph {self.plan.name!r}" if thread_id is None else f"thread {thread_id!r}"


@dataclass(slots=True)
class Outcome:
    """How a run ended, when it did not end in an error."""

    value: Any
    """The output: what the graph's output schema reads; None where nothing was written to it."""
    interrupts: tuple[Any, ...] = ()
    stopped: bool = False
    """A static breakpoint stopped it."""
    inside: bool = False
    """That breakpoint is one of a graph inside it."""
