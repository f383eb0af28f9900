"""From a node of the builder to a node of the plan: calling it, and what its result writes."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from warnings import warn

from plait.callbacks.context import is_finding
from plait.constants import ROOT, START
from plait.engine.plan import Awaited, ByHand, NodePlan, Reads, View, Writes
from plait.engine.tasks import Task
from plait.errors import (
    InvalidNodeError,
    InvalidUpdateError,
    ParentCommand,
    UnknownKeyWarning,
    nearest,
)
from plait.graph.branch import Branch, goto_writes
from plait.graph.policies import NOTHING, Policies, cache_plan, is_graph
from plait.graph.routes import may_route
from plait.graph.schema import (
    Declared,
    coercion,
    is_pydantic,
    is_state_class,
    updates_of_object,
)
from plait.pregel.binding import Binding, is_runnable, merge, merged
from plait.pregel.scope import Detached
from plait.pregel.unknown import guard, is_guard
from plait.scope import Scope, heard
from plait.types import Command, RunContext, Send
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.engine.spec import RunSpec
    from plait.engine.state import State

Coerce = Callable[[Any], Any]
Managed = tuple[tuple[str, Callable[[int, int], Any]], ...]
"""Keys that the run computes: (key, function of the super-step and the last one allowed)."""


@dataclass(slots=True, eq=False)
class NodeSpec:
    """What `add_node` was told."""

    name: str
    binding: Binding
    runnable: Any
    """The Runnable behind the node, or None for a plain function."""
    input_schema: Any
    metadata: dict[str, Any] | None = None
    policies: Policies = NOTHING
    """What it says of retries, limits, caches and errors; else the graph's defaults hold."""
    defer: bool = False
    ends: Mapping[str, str] | tuple[str, ...] = ()
    """Where its Commands may go, for pictures and for the check of reachability."""
    writes: frozenset[str] | None = None
    """The keys that it declares to write; None: any."""
    former: tuple[str, ...] = ()
    """The names it had before, oldest first."""

    @property
    def may_route(self) -> bool:
        """Whether it might return a Command or a Send that it does not declare."""
        handler = self.policies.handler
        if handler is not None and may_route(handler):
            return True
        return not self.ends and may_route(self.runnable or self.binding.function)


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


class Writer:
    """What a node's result writes: the update, the edges, the conditional edges.

    Args:
        name: the node.
        keys: every key of the graph's state.
        nodes: every node that may be routed to.
        edges: the writes of its plain edges.
        branches: its conditional edges, with what each reads.
    """

    def __init__(
        self,
        name: str,
        keys: Mapping[str, Any],
        nodes: Mapping[str, Any],
        edges: Writes,
        branches: Sequence[Exit],
    ) -> None:
        self.name = name
        self.keys = keys
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
        if spec is not None and is_graph(spec.runnable):
            return  # its output holds keys that it keeps for itself, too
        for key in update:
            if key not in self.keys:
                warn(
                    f"Node {self.name!r} wrote key {key!r}, which no schema of the graph knows; it "
                    f"is dropped. {nearest(key, self.keys)}",
                    UnknownKeyWarning,
                    stacklevel=2,
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
            chosen = branch.binding.call(given, _NO_SCOPE)
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
_NO_SCOPE: Scope = Detached("update_state is following the edges of the node")


def _has_command(items: Sequence[Any]) -> bool:
    return any(isinstance(item, (Command, Send)) for item in items)


def managed_keys(schema: Declared) -> Managed:
    """The keys of a schema that the run computes."""
    return tuple((key, kind.get) for key, kind in schema.managed.items())


def node_plan(
    spec: NodeSpec,
    reads: Reads,
    managed: Managed,
    writer: Writer,
    triggers: tuple[str, ...],
    policies: Policies,
    handler: NodePlan | None,
) -> NodePlan:
    """The plan of a node: its code bound to its writer.

    Args:
        managed: the keys it reads that the run computes.
        policies: those of the node, and the graph's defaults.
        handler: the plan of its error handler.
    """
    coerce = coercion(spec.input_schema) if isinstance(reads, View) else None
    call = None if spec.binding.is_async else _sync_call(spec, coerce, writer)
    acall = _async_call(spec, coerce, writer)
    guarded = is_guard(policies.unknown) and not _goes_on(spec)
    if guarded:
        call, acall = guard(policies.unknown, call, acall, writer.finish)
    return NodePlan(
        spec.name,
        call,
        acall,
        reads=reads,
        retry=policies.retry or (),
        timeout=policies.timeout,
        cache=cache_plan(policies.cache, spec.runnable or spec.binding.function, spec.name),
        guarded=guarded,
        handler=handler,
        defer=spec.defer,
        triggers=triggers,
        subgraph=_saved_graph(spec.runnable),
        managed=managed,
        metadata=spec.metadata,
        branch_reads=tuple(way.reads for way in writer.branches),
        command=lambda task, command: writer.finish(task, command, _NO_SCOPE),
        former=spec.former,
        update=writer.by_hand,
        code=spec.runnable or spec.binding.function,
        handed=coerce,
    )


def _goes_on(spec: NodeSpec) -> bool:
    """Whether a node is a graph that goes on where it was, rather than run again.

    Raises:
        InvalidNodeError: it is, and has a policy of its own for an unknown outcome.
    """
    if _saved_graph(spec.runnable) is None:
        return False
    if is_guard(spec.policies.unknown):
        raise InvalidNodeError(
            f"Node {spec.name!r} is a graph, so on_unknown says nothing of it: it goes on at its "
            "own checkpoint. Give on_unknown to the nodes inside it that must not be repeated."
        )
    return True


def _saved_graph(runnable: Any) -> Any:
    """The compiled graph behind a node, if it may keep checkpoints."""
    if not hasattr(runnable, "plan") or getattr(runnable, "checkpointer", None) is False:
        return None
    return runnable


def _sync_call(
    spec: NodeSpec, coerce: Coerce | None, writer: Writer
) -> Callable[[Task, Scope], Writes]:
    function, finish = spec.binding.call, writer.finish
    if spec.binding.is_generator:
        function = _merging(function)

    if coerce is None and spec.binding.is_bare:
        bare = spec.binding.function  # the ordinary node, without a call in between

        def call_bare(task: Task, scope: Scope) -> Writes:
            result = bare(task.input)
            if type(result) is not dict:
                result = _invoked(result, task.input, scope)
            return finish(task, result, scope)

        return call_bare

    def call(task: Task, scope: Scope) -> Writes:
        given = task.input
        if coerce is not None and not task.is_push:
            given = coerced(coerce, given, spec.name)
        result = function(given, scope)
        if type(result) is not dict:
            result = _invoked(result, given, scope)
        return finish(task, result, scope)

    return call


def _invoked(result: Any, given: Any, scope: Scope) -> Any:
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


def _merging(function: Callable[[Any, Scope], Any]) -> Callable[[Any, Scope], Any]:
    return lambda state, scope: merged(function(state, scope))


def _async_call(
    spec: NodeSpec, coerce: Coerce | None, writer: Writer
) -> Callable[[Task, Scope], Coroutine[Any, Any, Writes]] | None:
    binding = spec.binding
    routes_async = any(way.branch.binding.is_async for way in writer.branches)
    if not binding.is_async and spec.runnable is None and not routes_async:
        return None
    function, finish = binding.call, writer.afinish
    runnable = spec.runnable
    finds_config = is_graph(runnable) or (runnable is not None and is_finding(runnable.ainvoke))

    if coerce is None and binding.is_async and binding.is_bare and runnable is None:
        bare = binding.function

        def acall_bare(task: Task, scope: Scope) -> Coroutine[Any, Any, Writes]:
            return finish(task, task.input, bare(task.input), scope)

        return acall_bare

    def acall(task: Task, scope: Scope) -> Coroutine[Any, Any, Writes]:
        given = task.input
        if coerce is not None and not task.is_push:
            given = coerced(coerce, given, spec.name)
        if runnable is not None:
            awaited = runnable.ainvoke(given, None if finds_config else scope.config())
        elif not binding.is_async:
            awaited = _in_executor(function, given, scope)
        elif binding.is_generator:
            awaited = _amerged(function(given, scope))
        else:
            awaited = function(given, scope)
        return finish(task, given, awaited, scope)

    return acall


async def _in_executor(function: Callable[[Any, Scope], Any], given: Any, scope: Scope) -> Any:
    from plait.runnables.config import run_in_executor  # asyncio is running: it is loaded

    return await run_in_executor(None, function, given, scope)


async def _amerged(chunks: AsyncIterator[Any]) -> Any:
    result = None
    async for chunk in chunks:
        result = merge(result, chunk)
    return result


async def _known(result: Any) -> Any:
    return result


def start_plan(input_schema: Any, keys: Mapping[str, Any], writer: Writer) -> NodePlan:
    """The plan of the virtual node that applies the input.

    Args:
        input_schema: what the graph takes.
        keys: the keys of the input schema; what else is given does not enter.
        writer: of the edges that leave the start.
    """
    check = None
    taken = frozenset(keys)
    if is_pydantic(input_schema) and keys.keys() != writer.keys.keys():
        check = coercion(input_schema)

    def given(entered: Any, run: RunSpec) -> Any:
        if writer.root:
            return entered
        if type(entered) is not dict:
            if isinstance(entered, Command) or not is_state_class(entered.__class__):
                return cast("Any", entered)
            return dict(updates_of_object(entered, keys))
        known = cast("dict[str, Any]", entered)
        if check is not None:
            coerced(check, known, START)
        if taken.issuperset(known):
            return known
        if not run.ns:  # a nested graph is handed all of its parent's state
            _warn_of_input(known, keys, input_schema)
        return {key: value for key, value in known.items() if key in keys}

    def acall(task: Task, scope: Scope) -> Coroutine[Any, Any, Writes]:
        entered = _known(given(task.input, task.step.spec))
        return writer.afinish(task, MISSING, entered, scope)

    return NodePlan(
        START,
        lambda task, scope: writer.finish(task, given(task.input, task.step.spec), scope),
        acall,
        reads=START,
        triggers=(START,),
        hidden=True,
        told=bool(writer.branches),
        update=writer.by_hand,
        own=None if writer.branches else lambda entered, run: writer.update(given(entered, run)),
    )


def _warn_of_input(given: Mapping[str, Any], keys: Mapping[str, Any], schema: Any) -> None:
    for key in given:
        if key not in keys:
            meant = nearest(key, keys)
            if key in ("resume", "goto"):  # a Command that was taken apart, by HTTP for example
                meant = f"Did you mean Command({key}=...), which is an input of its own?"
            warn(
                f"The input has key {key!r}, which {getattr(schema, '__name__', schema)} does not "
                f"know; it is dropped. {meant}",
                UnknownKeyWarning,
                stacklevel=2,
            )


def coerced(coerce: Coerce, values: Any, name: str) -> Any:
    """The state object a node is handed; a validation error says whose it is."""
    try:
        return coerce(values)
    except Exception as error:
        where = "input of the graph" if name == START else f"input of node {name!r}"
        error.add_note(f"While validating the {where}.")
        raise
