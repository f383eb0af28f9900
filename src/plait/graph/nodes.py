"""From a node of the builder to a node of the plan: how it is called, and with what."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from warnings import warn

from plait.callbacks.context import is_finding
from plait.common.failures import note
from plait.constants import START
from plait.engine.mentioned import innermost
from plait.engine.plan import NodePlan, Reads, View, Writes
from plait.engine.tasks import Task
from plait.errors import InvalidNodeError, UnknownKeyWarning, nearest
from plait.graph.policies import NOTHING, Policies, cache_plan, is_graph
from plait.graph.routes import may_route
from plait.graph.schema import (
    Declared,
    coercion,
    has_a_key,
    is_pydantic,
    is_state_class,
    updates_of_object,
)
from plait.graph.writing import NO_SCOPE, Coerce, Managed, Writer, invoked, warn_of_object
from plait.pregel.binding import Binding, merge, merged
from plait.pregel.node import NodeCode
from plait.pregel.unknown import guard, is_guard
from plait.runnables.config import run_in_executor
from plait.scope import Scope
from plait.types import CachePolicy, Command, RetryPolicy, Send, TimeoutPolicy
from plait.typing import MISSING
from plait.warnings import program_level

if TYPE_CHECKING:
    from plait.engine.spec import RunSpec


@dataclass(slots=True, eq=False)
class NodeSpec:
    """What `add_node` was told."""

    name: str
    binding: Binding
    behind: Any
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
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None
    """As it was given."""

    @property
    def code(self) -> Any:
        """What it runs, as it was given."""
        return self.behind or self.binding.function

    @property
    def runnable(self) -> Any:
        """What it runs, as a Runnable, which runs alone, without the graph."""
        return self.behind or NodeCode((self.binding.function,), self.name)

    @property
    def cache_policy(self) -> CachePolicy | None:
        """When its result is taken from the cache."""
        return self.policies.cache

    @property
    def timeout(self) -> TimeoutPolicy | None:
        """How long an attempt may take."""
        return self.policies.timeout

    @property
    def may_route(self) -> bool:
        """Whether it might return a Command or a Send that it does not declare."""
        handler = self.policies.handler
        if handler is not None and may_route(handler):
            return True
        return not self.ends and may_route(self.code)


def managed_keys(schema: Declared) -> Managed:
    """The keys of a schema that the run computes."""
    return tuple((key, kind.at) for key, kind in schema.managed.items())


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
        cache=cache_plan(policies.cache, spec.code, spec.name),
        guarded=guarded,
        handler=handler,
        defer=spec.defer,
        triggers=triggers,
        subgraph=_saved_graph(spec.behind),
        managed=managed,
        metadata=spec.metadata,
        branch_reads=tuple(way.reads for way in writer.branches),
        command=lambda task, command: writer.finish(task, command, NO_SCOPE),
        former=spec.former,
        update=writer.by_hand,
        code=spec.code,
        handed=coerce,
    )


def _goes_on(spec: NodeSpec) -> bool:
    """Whether a node is a graph that goes on where it was, rather than run again.

    Raises:
        InvalidNodeError: it is, and has a policy of its own for an unknown outcome.
    """
    if _saved_graph(spec.behind) is None:
        return False
    if is_guard(spec.policies.unknown):
        raise InvalidNodeError(
            f"Node {spec.name!r} is a graph, so on_unknown says nothing of it: it goes on at its "
            "own checkpoint. Give on_unknown to the nodes inside it that must not be repeated."
        )
    return True


def _saved_graph(runnable: Any) -> Any:
    """The compiled graph behind a node, if it may keep checkpoints."""
    runnable = innermost(runnable)
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
                result = invoked(result, task.input, scope)
            return finish(task, result, scope)

        return call_bare

    def call(task: Task, scope: Scope) -> Writes:
        given = task.input
        if coerce is not None and not task.is_push:
            given = coerced(coerce, given, spec.name)
        result = function(given, scope)
        if type(result) is not dict:
            result = invoked(result, given, scope)
        return finish(task, result, scope)

    return call


def _merging(function: Callable[[Any, Scope], Any]) -> Callable[[Any, Scope], Any]:
    return lambda state, scope: merged(function(state, scope))


def _async_call(
    spec: NodeSpec, coerce: Coerce | None, writer: Writer
) -> Callable[[Task, Scope], Coroutine[Any, Any, Writes]] | None:
    binding = spec.binding
    routes_async = any(way.branch.binding.is_async for way in writer.branches)
    if not binding.is_async and spec.behind is None and not routes_async:
        return None
    function, finish = binding.call, writer.afinish
    runnable = spec.behind
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
            awaited = run_in_executor(None, function, given, scope)
        elif binding.is_generator:
            awaited = _amerged(function(given, scope))
        else:
            awaited = function(given, scope)
        return finish(task, given, awaited, scope)

    return acall


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
            if isinstance(entered, Command | Send) or not is_state_class(entered.__class__):
                return cast("Any", entered)
            if not run.ns and not has_a_key(entered, keys):
                warn_of_object(entered, "the input", keys)
            return dict(updates_of_object(entered, keys))
        known = cast("dict[str, Any]", entered)
        if check is not None:
            coerced(check, known, START)
        if taken.issuperset(known):
            return known
        if not run.ns:  # a nested graph is handed all of its parent's state
            _warn_of_input(known, keys, input_schema, writer.former)
        return {key: value for key, value in known.items() if key in keys}

    def enters(entered: Any, run: RunSpec) -> Writes:
        return writer.update(given(entered, run))

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
        enters=enters,
        own=None if writer.branches else enters,
    )


def _warn_of_input(
    given: Mapping[str, Any], keys: Mapping[str, Any], schema: Any, former: Mapping[str, str]
) -> None:
    for key in given:
        if key not in keys:
            meant = nearest(key, keys, former)
            if key in ("resume", "goto"):  # a Command that was taken apart, by HTTP for example
                meant = f"Did you mean Command({key}=...), which is an input of its own?"
            warn(
                f"The input has key {key!r}, which {getattr(schema, '__name__', schema)} does not "
                f"know; it is dropped. {meant}",
                UnknownKeyWarning,
                stacklevel=program_level(),
            )


def coerced(coerce: Coerce, values: Any, name: str) -> Any:
    """The state object a node is handed; a validation error says whose it is."""
    try:
        return coerce(values)
    except Exception as error:
        where = "input of the graph" if name == START else f"input of node {name!r}"
        note(error, f"While validating the {where}.")
        raise
