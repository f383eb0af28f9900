"""What a compiled graph is to the engine: an immutable plan, made once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from plait.channels.base import BaseChannel
from plait.channels.binop import BinaryOperatorAggregate
from plait.channels.last_value import LastValue
from plait.engine.fingerprint import fingerprint_of
from plait.engine.migration import NO_RENAMES, Migration, Renames
from plait.errors import InvalidGraphError
from plait.scope import Scope
from plait.types import CachePolicy, RetryPolicy, TimeoutPolicy

if TYPE_CHECKING:
    from plait.engine.spec import RunSpec
    from plait.engine.tasks import Task

Writes: TypeAlias = list[tuple[str, Any]]
"""(channel, value) pairs, in the order they were written."""
Channel: TypeAlias = BaseChannel[Any, Any, Any]


class Awaited(NamedTuple):
    """What has to be awaited before the writes of an update by hand are known."""

    what: Coroutine[Any, Any, Any]
    """An async path function; what it comes to goes back to the generator."""
    no_sync: TypeError
    """What is raised where nothing can be awaited."""


ByHand: TypeAlias = Generator[Awaited, Any, Writes]
"""Finds what an update by hand writes, and asks for what it has to know."""


class View:
    """A set of keys that is read together: a node's input schema, a graph's output."""

    __slots__ = ("keys", "members")

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)
        self.members = frozenset(keys)


Reads: TypeAlias = View | str
"""What is read: several keys as a dict, or one channel's bare value."""


@dataclass(frozen=True, slots=True, eq=False)
class CachePlan:
    """Where results of a node are cached."""

    namespace: tuple[str, ...]
    """Whose results they are: cleared together."""
    policy: CachePolicy


@dataclass(frozen=True, slots=True, eq=False)
class NodePlan:
    """One node, ready to run.

    `call` and `acall` run the user's code and its writers on a task's input and return what it
    wrote. `call` is None for nodes that can only run in an event loop; `acall` is None for those
    that an async run takes off the loop.
    """

    name: str
    call: Callable[[Task, Scope], Writes] | None
    acall: Callable[[Task, Scope], Coroutine[Any, Any, Writes]] | None = None
    reads: Reads = ""
    triggers: tuple[str, ...] = ()
    """The channels whose write lets it run."""
    retry: tuple[RetryPolicy, ...] = ()
    timeout: TimeoutPolicy | None = None
    """How long an attempt may take."""
    guarded: bool = False
    """Whether it must not be repeated where nobody knows what became of it (see `guards`)."""
    handler: NodePlan | None = None
    """What runs in its place when it has failed for good."""
    cache: CachePlan | None = None
    """Which results of others it may take for its own."""
    defer: bool = False
    hidden: bool = False
    managed: tuple[tuple[str, Callable[[int, int], Any]], ...] = ()
    """Keys of its input that the run computes: (key, function of step and stop)."""
    subgraph: Any = None
    """The compiled graph that the node is, if it keeps checkpoints of its own."""
    metadata: Mapping[str, Any] | None = None
    tags: tuple[str, ...] = ()
    command: Callable[[Task, Any], Writes] | None = None
    """What the node writes when a subgraph inside it returns a Command for this graph."""
    former: tuple[str, ...] = ()
    """The names it had before, oldest first."""
    branch_reads: tuple[Reads, ...] = ()
    """What its conditional edges read."""
    update: Callable[[Any, Any], ByHand] | None = None
    """(state, values) -> what `update_state(as_node=...)` writes in the node's name."""
    told: bool = True
    """Whether those who listen to the run hear of it: not the start, unless it decides anything."""
    shown: Callable[[Any], Any] | None = None
    """Its input as those who listen see it; None: as its code is handed it."""
    handed: Callable[[Any], Any] | None = None
    """Makes the state object that its code is handed from the keys that it reads; None: a dict."""
    code: Any = None
    """The function or Runnable that the user gave, for those who look at it or call it alone."""
    enters: Callable[[Any, RunSpec], Writes] | None = None
    """Of the start: what an input writes, its conditional edges aside; refuses what is none."""
    own: Callable[[Any, RunSpec], Writes] | None = None
    """The engine's own code, in place of a user's, for an input of a run: it needs no context, and
    never waits."""
    inside: list[Any] = field(default_factory=list[Any], init=False, repr=False)
    """The graph that it runs, once somebody has looked for it (see `inside.graph_inside`)."""
    inline: frozenset[str] = field(init=False)
    """In which runs it may run inline (see `RunSpec.inline`): in none where its runner must be able
    to leave it, or to store its start."""

    def __post_init__(self) -> None:
        forms = {"sync": self.own or self.call, "async": self.own or self.acall, "none": self.own}
        apart = self.timeout is not None or self.guarded
        fitting = () if apart else [form for form, code in forms.items() if code is not None]
        object.__setattr__(self, "inline", frozenset(fitting))

    @property
    def first_name(self) -> str:
        """The name it was born with: what is stored for the node as such goes by it."""
        return self.former[0] if self.former else self.name


@dataclass(frozen=True, slots=True)
class Foresight:
    """What an eager run knows of a node before it has run."""

    needs: frozenset[str] | None
    """The keys that it and its conditional edges read; None: it never runs ahead."""
    sent: frozenset[str] | None
    """The same where a `Send` runs it: what it is given is in the `Send`."""
    writes: frozenset[str]
    """The keys that it may write."""
    leads: frozenset[str]
    """The nodes that may run right after it, but for those that wait for others too: by a join, or
    because they are deferred."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphPlan:
    """A compiled graph."""

    name: str
    nodes: Mapping[str, NodePlan]
    channels: Mapping[str, Channel]
    """Prototypes; a run copies those that it touches."""
    readers: Mapping[str, tuple[str, ...]]
    """Channel to the nodes that it triggers."""
    routes: Mapping[str, str]
    """Routing channels (no value, never stored) to the node that a write of them triggers."""
    input: str | tuple[str, ...]
    output: Reads
    stream: Reads
    """What `values` of streams and snapshots read (the whole public state)."""
    interrupt_before: frozenset[str] | None = frozenset()
    """Nodes to stop before; None means every node."""
    interrupt_after: frozenset[str] | None = frozenset()
    entry: str | None = None
    """The node that applies the input (StateGraph's `__start__`)."""
    edges: object = ()
    """Where nodes may lead, for the fingerprint only: anything with a stable `repr`."""
    version: int = 1
    """The version of the state's schema."""
    migrations: Mapping[int, Migration] = field(default_factory=dict[int, Migration])
    """Version to what brings the values of a state from there to the next version."""
    renames: Renames = NO_RENAMES
    fingerprint: str = field(init=False)
    """Stored in each checkpoint: tells graphs of this shape from others."""
    foresight: Mapping[str, Foresight] | None = None
    """By node, for an eager schedule; None: every task waits for its super-step."""
    initial: frozenset[str] = field(init=False)
    """Channels that hold a value before anything was written."""
    step_scoped: frozenset[str] = field(init=False)
    finish_scoped: tuple[str, ...] = field(init=False)
    untracked: frozenset[str] = field(init=False)
    simple: frozenset[str] = field(init=False)
    """Channels that hold the last value and trigger nobody."""
    plain: frozenset[str] = field(init=False)
    """Channels that, once written, simply hold a value that triggers nobody by itself."""
    deferring: frozenset[str] = field(init=False)
    """The nodes that are deferred."""
    guarded: bool = field(init=False)
    """Whether any node is."""

    def __post_init__(self) -> None:
        check_texts("Node", self.nodes)
        check_texts("Channel", self.channels)

        def named(test: Callable[[Channel], bool]) -> tuple[str, ...]:
            return tuple(name for name, channel in self.channels.items() if test(channel))

        derived: dict[str, object] = {
            "initial": frozenset(named(lambda c: c.is_available())),
            "step_scoped": frozenset(named(lambda c: c.step_scoped)),
            "finish_scoped": named(lambda c: c.finish_scoped),
            "plain": frozenset(
                name
                for name in named(lambda c: type(c) in (LastValue, BinaryOperatorAggregate))
                if name not in self.readers
            ),
            "simple": frozenset(
                name for name in named(lambda c: type(c) is LastValue) if name not in self.readers
            ),
            "untracked": frozenset(named(lambda c: not c.persisted)),
            "deferring": frozenset(name for name, node in self.nodes.items() if node.defer),
            "guarded": any(node.guarded for node in self.nodes.values()),
            "fingerprint": fingerprint_of(self.nodes, self.channels, self.edges, self.version),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)


def check_texts(kind: str, names: Iterable[str]) -> None:
    """Refuse names that cannot be stored, before anything runs under them.

    Raises:
        InvalidGraphError: one has half of a surrogate pair, so it is no text in UTF-8.
    """
    for name in names:
        if not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name):
            raise InvalidGraphError(
                f"{kind} name {name!r} has half of a surrogate pair, which is no text in UTF-8 and "
                "cannot be stored; choose another name."
            )
