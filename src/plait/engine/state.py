"""The live channels of one run, and how a super-step's writes change them.

A super-step costs what it touches: channels are made when first touched, the dicts that nodes
read are kept up to date key by key, and who runs next comes from the channels just written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import filterfalse
from operator import is_
from typing import Any, NoReturn, TypeAlias

from plait.channels.base import at_most_one
from plait.channels.overwrite import MAY_OVERWRITE, overwritten
from plait.common.failures import note
from plait.constants import RESERVED, ROUTE, START, TASKS
from plait.engine.frontier import Frontier
from plait.engine.plan import Channel, GraphPlan, Reads, View, Writes
from plait.engine.records import Unmade
from plait.engine.spec import NO_ITEMS
from plait.engine.tasks import Task
from plait.errors import EmptyChannelError, InvalidUpdateError, UnknownNodeError, nearest
from plait.types import Send
from plait.typing import MISSING

_MANY = 16
"""From how many writes on it pays to look at them together."""
_MUTABLE = {dict, set}
"""Updates that may change without a trace."""
_NO_VIEWS: list[dict[str, Any]] = []
Before: TypeAlias = tuple[set[str], dict[str, Any], dict[str, Channel], set[str], set[str]]
"""(channels, what each holds: values and live ones, those changed since the last checkpoint, those
that hold something for one step)."""
Foreseen: TypeAlias = "tuple[Any, Any, tuple[Any, ...] | None, list[Any]]"
"""(what a key held, an update, its items if it is a list, what the key will hold). A path function
has the state reduced for it to look at; where nothing changed since, it is not reduced again."""


def _last(key: str, updates: Sequence[Any]) -> Any:
    """What a key without a reducer holds after the updates of one super-step."""
    value = updates[0] if len(updates) == 1 else at_most_one(key, updates)
    found, inner = overwritten(value)
    return inner if found else value


def _holding(prototype: Channel, name: str, stored: Any) -> Channel:
    """A live channel with what is stored of it.

    Raises:
        InvalidUpdateError: that is not what such a channel stores: the key was of another kind.
    """
    try:
        return prototype.from_checkpoint(stored)
    except Exception as error:
        raise InvalidUpdateError(
            f"what is stored of key {name!r} does not fit its {type(prototype).__name__} ({error})."
        ) from error


def _is_of(foreseen: Foreseen, channel: Any, updates: Sequence[Any]) -> bool:
    """Whether just these updates of the channel were reduced, and are as they were."""
    before, update, given, _ = foreseen
    if len(updates) > 1 or updates[0] is not update or channel.value is not before:
        return False
    return given is None or (len(update) == len(given) and all(map(is_, update, given)))


def _who_wrote(key: str, tasks: Sequence[Task]) -> str:
    """For whoever reads that a key could not take what was written to it."""
    times = Counter(task.name for task in tasks for name, _ in task.writes if name == key)
    shown = [
        "the input" if node == START else f"node {node!r}" + (f" ({n} times)" if n > 1 else "")
        for node, n in times.items()
    ]
    return f"Key {key!r} was written by {', '.join(shown)}."


class _ViewsOf(dict[str, list[dict[str, Any]]]):
    """The live views that have a key, of the keys that were written since there are views."""

    __slots__ = ("all",)

    all: dict[View, dict[str, Any]]
    """The live views."""

    def __missing__(self, key: str) -> list[dict[str, Any]]:
        if not self.all:
            return _NO_VIEWS
        views: list[dict[str, Any]] = []
        for view, values in self.all.items():
            if key in view.members:
                views.append(values)
        self[key] = views
        return views


class State:
    """The channels of one run."""

    __slots__ = (
        "_channels",
        "_foreseen",
        "_fresh",
        "_gone",
        "_refused",
        "_values",
        "_views",
        "_views_of",
        "changed",
        "plan",
    )

    def __init__(self, plan: GraphPlan, stored: Mapping[str, Any] | None = None) -> None:
        self.plan = plan
        self._channels: dict[str, Channel] = {}
        self._values: dict[str, Any] = {}
        """The values of `plan.simple` keys, which need no channel to hold them."""
        self._views_of = _ViewsOf()
        self._views: dict[View, dict[str, Any]] = {}
        self._views_of.all = self._views
        self._foreseen: dict[str, Foreseen] = {}
        """What looks ahead have reduced since the last write, of the keys that hold lists."""
        self._fresh: set[str] = NO_ITEMS
        """Step-scoped channels that hold something now."""
        self.changed: set[str] = set()
        """Channels changed since the last checkpoint."""
        self._gone: Sequence[str] = ()
        """Channels that the last checkpoint has and the graph has no more."""
        self._refused: str | None = None
        """The key that could not take its writes, on the way from `write` to `apply`."""
        if stored:
            prototypes = plan.channels
            for name, value in stored.items():
                prototype = prototypes.get(name)
                if type(value) is Unmade and prototype is not None:
                    value = value.made()
                if name in plan.simple:
                    self._values[name] = value
                elif prototype is not None:
                    self._channels[name] = _holding(prototype, name, value)
            self._fresh = set(plan.step_scoped & self._channels.keys())

    def channel(self, name: str) -> Channel:
        """The live channel of this name, made when first asked for."""
        channel = self._channels.get(name)
        if channel is None:
            prototype = self.plan.channels[name]
            if name in self.plan.simple:  # made to be looked at
                return prototype.from_checkpoint(self._values.get(name, MISSING))
            channel = self._channels[name] = prototype.from_checkpoint(MISSING)
            self._forget_views()
        return channel

    # --- reading ---------------------------------------------------------------------------------

    def read(self, reads: Reads) -> Any:
        """What a node or stream reads: a new dict of the keys that hold something, or one value.

        The keys are in the order of the schema: programs print states, and put them into prompts.

        Raises:
            EmptyChannelError: `reads` names one channel and it holds nothing.
        """
        if isinstance(reads, str):
            return self.channel(reads).get()
        values = self._views.get(reads)
        return (self._view(reads) if values is None else values).copy()

    def read_or_none(self, reads: Reads) -> Any:
        """Like `read`; an empty single channel reads as None."""
        try:
            return self.read(reads)
        except EmptyChannelError:
            return None

    def _view(self, view: View) -> dict[str, Any]:
        """The live dict of a view; callers copy it."""
        values = self._views.get(view)
        if values is None:
            values = self._views[view] = self._filled(view)
            for key, views in self._views_of.items():
                if key in view.members:
                    views.append(values)
        return values

    def _filled(self, view: View) -> dict[str, Any]:
        """Every key of a view that holds something, in the order of the schema."""
        held, simple = self._channels, self._values
        if len(simple) >= len(view.keys):
            if tuple(simple) == view.keys:
                return simple.copy()
            if simple.keys() >= view.members:
                return {key: simple[key] for key in view.keys}
        initial, plain = self.plan.initial, self.plan.plain
        values: dict[str, Any] = {}
        for key in view.keys:
            if key in simple:
                values[key] = simple[key]
            elif key in held or key in initial:
                channel = held.get(key) or self.channel(key)
                if key in plain:
                    value = channel.value  # type: ignore[attr-defined]
                    if value is not MISSING:
                        values[key] = value
                elif channel.is_available():
                    values[key] = channel.get()
        return values

    def _forget_views(self) -> None:
        """A key that was empty may hold something: it is to stand in its place among the others."""
        self._views.clear()
        self._views_of.clear()

    def peek(self, reads: Reads, writes: Writes) -> Any:
        """What `reads` would read if `writes` were applied; nothing is changed."""
        if isinstance(reads, str):
            updates = [value for name, value in writes if name == reads]
            return self._preview(reads, updates) if updates else self.read(reads)
        values = self._view(reads).copy()
        simple, members = self.plan.simple, reads.members
        grouped: dict[str, list[Any]] = {}
        for name, value in writes:
            if name in members:
                if name in grouped:
                    grouped[name].append(value)
                else:
                    grouped[name] = [value]
        held = len(values)
        for name, updates in grouped.items():
            if name in simple and len(updates) == 1 and type(updates[0]) not in MAY_OVERWRITE:
                values[name] = updates[0]
            else:
                try:
                    values[name] = self._preview(name, updates)
                except EmptyChannelError:  # a topic that was written nothing
                    values.pop(name, None)
                    held -= 1
        if len(values) > held:
            return {key: values[key] for key in reads.keys if key in values}
        return values

    def _preview(self, name: str, updates: Sequence[Any]) -> Any:
        if name in self.plan.simple:
            return _last(name, updates)
        channel = self._channels.get(name) or self.plan.channels[name].from_checkpoint(MISSING)
        preview = channel.copy()
        preview.update(updates)
        after: Any = preview.get()
        if after.__class__ is not list or len(updates) > 1 or name not in self.plan.plain:
            return after
        before: Any = channel.value  # type: ignore[attr-defined]
        update: Any = updates[0]
        if after is before or update.__class__ in _MUTABLE:
            return after  # it, or what it was made of, may change unseen
        given = (*update,) if update.__class__ is list else None
        self._foreseen[name] = before, update, given, after
        return after.copy()  # others may change what they are shown

    # --- writing ---------------------------------------------------------------------------------

    def write(self, writes: Sequence[tuple[str, Any]], frontier: Frontier) -> None:
        """Apply writes as a super-step's: grouped by channel, in order; extends `frontier`."""
        plan = self.plan
        prototypes, routes, simple = plan.channels, plan.routes, plan.simple
        if len(writes) > _MANY:  # of so many, most are values: see those at once
            writes = self._write_simple(writes)
        last: dict[str, Any] = {}
        grouped: dict[str, list[Any]] = {}
        for name, value in writes:
            if name in simple:
                if name in last:
                    self._refused = name
                    at_most_one(name, (last[name], value))
                last[name] = _last(name, (value,)) if type(value) in MAY_OVERWRITE else value
            elif name in prototypes:
                values = grouped.get(name)
                if values is None:
                    grouped[name] = [value]
                else:
                    values.append(value)
            elif name in routes:
                node = routes[name]
                if node in plan.deferring:
                    frontier.deferred = frontier.deferred or {}
                    frontier.deferred[node] = None
                else:
                    frontier.pulls[node] = None
            elif name == TASKS:
                self._check_send(value)
                if frontier.sends:
                    frontier.sends.append(value)
                else:
                    frontier.sends = [value]
            elif name not in RESERVED:
                self._refuse(name)
        if last:
            self._set(last)
        if not grouped:
            return
        plain = plan.plain
        foreseen = self._foreseen
        if foreseen:
            self._foreseen = {}
        for name, values in grouped.items():
            channel = self._channels.get(name) or self.channel(name)
            if name in foreseen and _is_of(foreseen[name], channel, values):
                channel.value = foreseen[name][3]  # type: ignore[attr-defined]
            else:
                try:
                    if not channel.update(values):
                        continue
                except Exception:
                    self._refused = name
                    raise
            if name in plain:
                self.changed.add(name)
                for view in self._views_of[name]:
                    view[name] = channel.value  # type: ignore[attr-defined]
            else:
                self._touch(name, frontier)

    def _write_simple(self, writes: Sequence[tuple[str, Any]]) -> Sequence[tuple[str, Any]]:
        """Apply the writes of `plan.simple` keys, if each has one; returns the others."""
        last = dict(writes)
        if len(last) < len(writes):
            return writes
        others = list(filterfalse(self.plan.simple.__contains__, last))
        rest = [(name, last.pop(name)) for name in others]
        if not MAY_OVERWRITE.isdisjoint(map(type, last.values())):
            last = {name: _last(name, (value,)) for name, value in last.items()}
        self._set(last)
        return rest

    def _set(self, values: dict[str, Any]) -> None:
        """New values of `plan.simple` keys."""
        held = self._values
        size = len(held)
        held |= values
        changed = self.changed
        for name in values:
            changed.add(name)
        if len(held) > size:
            self._forget_views()
            return
        if len(self._views) > 1:
            for name, value in values.items():
                for view in self._views_of[name]:
                    view[name] = value
            return
        for view, shown in self._views.items():
            members = view.members
            for name, value in values.items():
                if name in members:
                    shown[name] = value

    def _refuse(self, name: str) -> NoReturn:
        """The error of a write to a channel that does not exist."""
        plan = self.plan
        if name.startswith(ROUTE):
            node = name.removeprefix(ROUTE)
            raise UnknownNodeError(
                f"A stored task leads to node {node!r}, which graph {plan.name!r} no longer has. "
                f"{nearest(node, plan.nodes)} Put the node back, or declare its new name: "
                "add_node(..., renamed_from=...)."
            )
        raise InvalidUpdateError(
            f"A task wrote to channel {name!r}, which graph {plan.name!r} does not have. "
            + nearest(name, plan.channels)
        )

    def apply(self, tasks: Sequence[Task]) -> Frontier:
        """End a super-step: apply its tasks' writes, in order; returns what runs next."""
        try:
            if len(tasks) == 1:
                self._consume(tasks[0].triggers)
                return self.advance(tasks[0].writes)
            for triggers in dict.fromkeys([task.triggers for task in tasks]):
                self._consume(triggers)
            return self.advance([write for task in tasks for write in task.writes])
        except Exception as error:
            if self._refused is not None:
                note(error, _who_wrote(self._refused, tasks))
                self._refused = None
            raise

    def advance(self, writes: Sequence[tuple[str, Any]]) -> Frontier:
        """Apply writes as the end of a super-step: what lives for one step expires."""
        frontier = Frontier()
        expiring = self._fresh
        if not expiring:
            self.write(writes, frontier)
            return frontier
        self._fresh = NO_ITEMS
        self.write(writes, frontier)
        for name in expiring.difference(self._fresh):
            if self.channel(name).update(()):
                self._touch(name, frontier)
        return frontier

    def finish(self, frontier: Frontier) -> None:
        """Nothing is left to run: tell the channels and nodes that waited for this."""
        for name in self.plan.finish_scoped:
            if self.channel(name).finish():
                self._touch(name, frontier)
        frontier.undefer()

    def drop(self, nodes: Iterable[str]) -> None:
        """What was going to run is dropped: its triggers count as used."""
        for node in nodes:
            if node in self.plan.nodes:
                self._consume(self.plan.nodes[node].triggers)

    def _consume(self, triggers: Sequence[str]) -> None:
        prototypes = self.plan.channels
        for trigger in triggers:
            if trigger in prototypes and self.channel(trigger).consume():
                self._touch(trigger, None)

    def still_triggered(self, nodes: Iterable[str]) -> list[str]:
        """Those of `nodes` whose trigger outlives a super-step and still stands (joins)."""
        prototypes = self.plan.channels
        return [
            node
            for node in nodes
            if node in self.plan.nodes
            and any(
                trigger in prototypes and self.channel(trigger).is_available()
                for trigger in self.plan.nodes[node].triggers
            )
        ]

    def _touch(self, name: str, frontier: Frontier | None) -> None:
        """A channel changed: keep views and dirty marks, and see whom it triggers."""
        channel = self._channels[name]
        self.changed.add(name)
        available = channel.is_available()
        views = self._views_of[name]
        if views:
            if available and name in views[0]:
                value = channel.get()
                for view in views:
                    view[name] = value
            elif available:
                self._forget_views()
            else:
                for view in views:
                    view.pop(name, None)
        if not available:
            return
        if name in self.plan.step_scoped:
            self._fresh = self._fresh or set()
            self._fresh.add(name)
        if frontier is not None:
            for node in self.plan.readers.get(name, ()):
                frontier.pulls[node] = None

    def _check_send(self, value: Any) -> None:
        if type(value) is not Send and not isinstance(value, Send):
            raise InvalidUpdateError(f"Expected a Send, got {value!r}.")
        if value.node not in self.plan.nodes:
            raise UnknownNodeError(
                f"Send names node {value.node!r}, which graph {self.plan.name!r} does not have. "
                + nearest(value.node, self.plan.nodes)
            )

    def moved(self, changed: Iterable[str], gone: Iterable[str]) -> None:
        """The stored checkpoint differs from this state by these channels (see `migration`)."""
        self.touch_all(changed)
        self._gone = [*self._gone, *gone]

    def touch_all(self, names: Iterable[str]) -> None:
        """Mark channels as changed, so that the next checkpoint stores them again."""
        held = self._channels.keys() | self._values.keys()
        self.changed.update(name for name in names if name in held)

    def touch_whole(self) -> None:
        """Mark every channel as changed: the next checkpoint says what each holds, or that it is
        empty, whatever it builds on."""
        held = self._channels.keys() | self._values.keys()
        self.touch_all(held)
        self._gone = [*self._gone, *(name for name in self.plan.channels if name not in held)]

    # --- taking back -----------------------------------------------------------------------------

    def before(self, tasks: Sequence[Task]) -> Before:
        """What the end of a super-step of these tasks is going to change, as it is now."""
        names = {name for task in tasks for name, _ in task.writes}
        names.update(*[task.triggers for task in tasks], self._fresh, self.plan.finish_scoped)
        values = {name: self._values[name] for name in names if name in self._values}
        held = {name: self._channels[name].copy() for name in names if name in self._channels}
        return names, values, held, names & self.changed, set(self._fresh)

    def put_back(self, before: Before) -> None:
        """Take back what was changed since, as far as that came."""
        names, values, held, changed, self._fresh = before
        for name in names:
            self._values.pop(name, None)
            self._channels.pop(name, None)
        self._values.update(values)
        self._channels.update(held)
        self.changed.difference_update(names - changed)
        self._forget_views()

    # --- storing ---------------------------------------------------------------------------------

    def take_changes(self) -> tuple[dict[str, Any], list[str]]:
        """What a checkpoint must store since the last one: changed values, emptied channels."""
        changed: dict[str, Any] = {}
        removed: list[str] = []
        if self._gone:
            removed, self._gone = [*self._gone], ()
        for name in sorted(self.changed) if len(self.changed) > 1 else self.changed:
            if name in self._values:
                changed[name] = self._values[name]
                continue
            channel = self._channels[name]
            if channel.persisted:
                value = channel.checkpoint()
                if value is MISSING:
                    removed.append(name)
                else:
                    changed[name] = value
        self.changed.clear()
        return changed, removed
