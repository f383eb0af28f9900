"""What the result of a node writes: its update, its edges, its conditional edges."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from warnings import warn

from plait.constants import ROOT, START
from plait.engine.plan import Awaited, ByHand, Reads, Writes
from plait.engine.tasks import Task
from plait.errors import InvalidUpdateError, ParentCommand, UnknownKeyWarning, nearest
from plait.graph.branch import Branch, goto_writes
from plait.graph.policies import gives_a_state, is_graph
from plait.graph.schema import has_a_key, is_state_class, updates_of_object
from plait.pregel.scope import Detached
from plait.runnables.known import is_runnable
from plait.scope import Scope, heard
from plait.types import Command, RunContext, Send
from plait.typing import MISSING
from plait.warnings import program_level

if TYPE_CHECKING:
    from plait.engine.state import State

Coerce = Callable[[Any], Any]
Managed = tuple[tuple[str, Callable[[int, int], Any]], ...]
"""Keys that the run computes: (key, function of the super-step and the last one allowed)."""


class Exit(NamedTuple):
    """A conditional edge, and what its path function is handed."""

    branch: Branch
    reads: Reads
    coerce: Coerce | None
    managed: Managed
    passing: frozenset[str]
    """Those of the keys that live for one super-step: without a write they are gone by then."""
    knows: frozenset[str] | None
    """The keys that it reads, if it is also handed what the node returned under others."""

    def given(self, state: State, writes: Writes, step: int, stop: int, result: Any) -> Any:
        """The state with `writes`, after `result`, in super-step `step` of at most `stop`."""
        values = state.peek(self.reads, writes)
        if self.passing:
            for key in self.passing.difference([name for name, _ in writes]):
                values.pop(key, None)
        if self.managed:
            for key, compute in self.managed:
                values[key] = compute(step, stop)
        if self.knows is not None and isinstance(result, dict):
            told = cast("dict[str, Any]", result)
            if not self.knows.issuperset(told):
                return {**told, **values}
        return values if self.coerce is None else self.coerce(values)


def warn_of_object(value: Any, what: str, keys: Mapping[str, Any]) -> None:
    """Warn of an object that has no key of the state: a message, say, that was to be in one."""
    cls = type(value).__name__
    warn(
        f"An object of {cls}, {what}, has no key of the state; it is dropped. A dict, "
        f"{{key: value}}, says which key it is for. {nearest(cls, keys)}",
        UnknownKeyWarning,
        stacklevel=program_level(),
    )


class Writer:
    """What a node's result writes: the update, the edges, the conditional edges.

    Args:
        name: the node.
        keys: every key of the graph's state.
        nodes: every node that may be routed to.
        edges: the writes of its plain edges.
        branches: its conditional edges, with what each reads.
        former: the former names of keys, to those of today.
    """

    def __init__(
        self,
        name: str,
        keys: Mapping[str, Any],
        nodes: Mapping[str, Any],
        edges: Writes,
        branches: Sequence[Exit],
        former: Mapping[str, str],
    ) -> None:
        self.name = name
        self.keys = keys
        self.former = former
        self._begins = name == START
        """Whether its path functions may see the whole input."""
        self._all_keys = frozenset(keys)
        self.root = ROOT in keys
        self.nodes = nodes
        self.edges = edges
        self.branches = branches
        self._known: dict[tuple[Branch, str], Writes] = {}

    def update(self, result: Any) -> Writes:
        """The writes of the result itself: its update and its goto, then the plain edges."""
        update: Any = result
        if type(result) is dict and not self.root:
            if self._all_keys.issuperset(update):
                return [*update.items(), *self.edges]
            self._unknown(update)
            return [*self._known_items(update), *self.edges]
        return [*self._values(result), *self._gotos(result), *self.edges]

    def _known_items(self, update: Mapping[str, Any]) -> Writes:
        """The items of an update whose keys the state has."""
        return [item for item in update.items() if item[0] in self.keys]

    def _values(self, result: Any) -> Writes:
        if isinstance(result, Command):
            command = cast("Command[Any]", result)
            if command.graph is not None:
                if command.graph != Command.PARENT:
                    raise InvalidUpdateError(
                        f"Node {self.name!r} returned Command(graph={command.graph!r}). graph= is "
                        "None (this graph) or Command.PARENT (the graph around it)."
                    )
                raise ParentCommand(command)
            return [] if command.update is None else self._command_update(command.update)
        if isinstance(result, RunContext):
            result = cast("RunContext[Any]", result).state
        if self.root:
            return self._root_values(result)
        if result is None or isinstance(result, Send):
            return []
        if isinstance(result, dict):
            known = cast("dict[str, Any]", result)
            if not known.keys() <= self.keys.keys():
                self._unknown(known)
            return self._known_items(known)
        if isinstance(result, (list, tuple)) and _has_command(cast("Sequence[Any]", result)):
            items = cast("Sequence[Any]", result)
            return [write for item in items for write in self._values(item)]
        if is_state_class(cast("Any", result).__class__):
            if not has_a_key(result, self.keys):
                warn_of_object(result, f"what node {self.name!r} returned", self.keys)
            return updates_of_object(result, self.keys)
        raise InvalidUpdateError(f"Expected dict, got {result!r} {self._instead(result)}")

    def _instead(self, result: Any) -> str:
        """What was wrong with a result, and what may stand in its place."""
        if self.name == START:
            return (
                "as the input. Pass a dict of keys of the state, a state object, or a Command: "
                "Command(resume=answer) answers a question."
            )
        if inspect.isawaitable(result):
            return (
                f"from node {self.name!r}: nobody awaits what a sync function returns. Make the "
                "node an async function."
            )
        return (
            f"from node {self.name!r}. Return a dict of the keys to update, a Command, a list that "
            "contains Commands, a state object, or None."
        )

    def _root_values(self, result: Any) -> Writes:
        if isinstance(result, (list, tuple)) and _has_command(cast("Sequence[Any]", result)):
            return [
                write
                for item in cast("Sequence[Any]", result)
                for write in (self._values(item) if isinstance(item, Command) else [(ROOT, item)])
            ]
        return [] if result is None else [(ROOT, result)]

    def _command_update(self, update: Any) -> Writes:
        if self.root:
            return [(ROOT, update)]
        if isinstance(update, (list, tuple)):
            pairs = cast("Sequence[Any]", update)
            if all(isinstance(p, (list, tuple)) and len(cast("Sequence[Any]", p)) == 2
                   and isinstance(p[0], str) for p in pairs):  # fmt: skip
                update = cast("Any", pairs)
                for key, _ in update:
                    if key not in self.keys:
                        self._unknown({key: None})
                return [(key, value) for key, value in update if key in self.keys]
        return self._values(update)

    def _gotos(self, result: Any) -> Writes:
        if isinstance(result, Command):
            goto = cast("Command[Any]", result).goto
            return goto_writes(goto, self.nodes, self.name) if goto or goto == "" else []
        if isinstance(result, Send):
            return goto_writes(result, self.nodes, self.name)
        if isinstance(result, (list, tuple)):
            return [
                write
                for item in cast("Sequence[Any]", result)
                if isinstance(item, (Command, Send))
                for write in self._gotos(item)
            ]
        return []

    def _unknown(self, update: Mapping[Any, Any]) -> None:
        spec = self.nodes.get(self.name)
        if spec is not None and gives_a_state(spec.behind):
            return  # its output holds keys that it keeps for itself, too
        for key in update:
            if key not in self.keys:
                warn(
                    f"Node {self.name!r} wrote key {key!r}, which no schema of the graph knows; it "
                    f"is dropped. {nearest(key, self.keys, self.former)}",
                    UnknownKeyWarning,
                    stacklevel=program_level(),
                )

    # --- running ---------------------------------------------------------------------------------

    def finish(self, task: Task, result: Any, scope: Scope) -> Writes:
        """All writes of a node's result."""
        writes = self.update(heard(scope, result))
        if scope.pushed is not None:
            writes[:0] = scope.pushed
        return self._routed(task, result, writes, scope) if self.branches else writes

    def _routed(self, task: Task, result: Any, writes: Writes, scope: Scope) -> Writes:
        """The writes of a node, and those of its conditional edges."""
        step = task.step
        if self._begins:
            result = task.input
        for index, way in enumerate(self.branches):
            branch = way.branch
            state = way.given(step.state, writes, step.number, step.stop, result)
            if scope.heard is None or branch.binding.is_async:
                chosen = branch.binding.call(state, scope)
            else:
                chosen = self._told(way, index, state, scope)
            if branch.binding.is_async:
                chosen.close()
                raise self._no_sync(branch)
            writes.extend(self._ways(branch, chosen))
        return writes

    async def afinish(
        self, task: Task, given: Any, awaited: Awaitable[Any], scope: Scope
    ) -> Writes:
        """`finish` of what `awaited` comes to, where path functions may be async.

        Each coroutine more between a node and its driver would cost as much as a quick node, so
        there is this one alone.

        Args:
            given: what the node was given, for a Runnable that it returns; MISSING: its result is
                taken as it is.
        """
        result = await awaited
        if type(result) is not dict and given is not MISSING:
            result = await _ainvoked(result, given, scope)
        writes = self.update(heard(scope, result))
        if scope.pushed is not None:
            writes[:0] = scope.pushed
        step = task.step
        if self._begins:
            result = task.input
        for index, way in enumerate(self.branches):
            branch = way.branch
            state = way.given(step.state, writes, step.number, step.stop, result)
            if not branch.binding.is_async:
                if scope.heard is None:
                    chosen = branch.binding.call(state, scope)
                else:
                    chosen = self._told(way, index, state, scope)
            elif scope.heard is None:
                chosen = await branch.binding.call(state, scope)
            else:
                choose = partial(branch.binding.call, state, scope)
                chosen = await scope.heard.aroute(choose, branch.name, self._place(index), state)
            writes.extend(self._ways(branch, chosen))
        return writes

    def _ways(self, branch: Branch, chosen: Any) -> Writes:
        """What a path function's result writes; a name leads the same way each time."""
        if type(chosen) is not str:
            return branch.writes(chosen, self.nodes)
        known = self._known.get((branch, chosen))
        if known is None:
            known = self._known[branch, chosen] = branch.writes(chosen, self.nodes)
        return known

    def _told(self, way: Exit, index: int, state: Any, scope: Scope) -> Any:
        """What a path function says, where somebody listens."""
        branch = way.branch
        assert scope.heard is not None
        choose = partial(branch.binding.call, state, scope)
        name = None if branch.is_untold else branch.name
        return scope.heard.route(choose, name, self._place(index), state)

    def _place(self, index: int) -> int:
        """Which step after the node's own code a conditional edge is: the update, edges, it."""
        return 2 + len(self.edges) + index

    def by_hand(self, state: State, values: Any) -> ByHand:
        """What `update_state` writes in the node's name: the update, then where it leads."""
        writes = self.update(values)
        for way in self.branches:
            branch = way.branch
            given = way.given(state, writes, 0, _FAR, values)
            chosen = branch.binding.call(given, NO_SCOPE)
            if branch.binding.is_async:
                chosen = yield Awaited(chosen, self._no_sync(branch))
            writes.extend(self._ways(branch, chosen))
        return writes

    def _no_sync(self, branch: Branch) -> TypeError:
        return TypeError(
            f'No synchronous function provided to "{branch.name}": the path function after '
            f"{self.name!r} is async. Use the async API of the graph (ainvoke, astream, "
            "aupdate_state)."
        )


_FAR = 10_000
"""How many super-steps are left where no run counts them."""
NO_SCOPE: Scope = Detached("update_state is following the edges of the node")


def _has_command(items: Sequence[Any]) -> bool:
    return any(isinstance(item, (Command, Send)) for item in items)


def invoked(result: Any, given: Any, scope: Scope) -> Any:
    """What a node amounts to that returned a Runnable: what that makes of the node's input."""
    if not is_runnable(result):
        return result
    awaiting = scope.awaiting()
    if awaiting is not None:
        return awaiting(_ainvoked(result, given, scope))
    return result.invoke(given, None if is_graph(result) else scope.config())


async def _ainvoked(result: Any, given: Any, scope: Scope) -> Any:
    if not is_runnable(result):
        return result
    return await result.ainvoke(given, None if is_graph(result) else scope.config())
