"""The functional API: `@entrypoint` runs a function durably, `@task` records its steps.

A task called inside an entrypoint (or inside a node of any graph) starts at the call, beside
others; its result is recorded once, so that the function can start again after an interrupt or a
crash without doing it twice.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    ParamSpec,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from plait.channels.ephemeral_value import EphemeralValue
from plait.channels.last_value import LastValue
from plait.common.reflection import is_routine, signature
from plait.constants import END, PREVIOUS, RETURN, START
from plait.engine.called import Made, tasks_called
from plait.engine.journal import CallMark
from plait.engine.likeness import likeness
from plait.engine.migration import Renames, former_names, todays_names
from plait.engine.plan import ByHand, CachePlan, GraphPlan, NodePlan, Writes, check_texts
from plait.engine.retries import policies_of
from plait.engine.state import State
from plait.engine.tasks import Task
from plait.errors import ConfigError, InvalidGraphError, InvalidNodeError, NotSupportedError
from plait.pregel.binding import Binding, provided
from plait.pregel.caching import (
    checked_cache_policy,
    namespace_of,
    tell_of_missing_cache,
    warn_of_missing_cache,
)
from plait.pregel.main import Pregel
from plait.pregel.scope import TaskScope
from plait.pregel.unknown import OnUnknown, checked_policy, guard, is_guard
from plait.scope import Scope, current_scope, heard
from plait.types import (
    CachePolicy,
    Checkpointer,
    RetryPolicy,
    TimeoutPolicy,
    ensure_valid_checkpointer,
    ensure_valid_memory,
)
from plait.typing import subscriptable
from plait.warnings import take_renamed

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")

if TYPE_CHECKING:
    from collections.abc import Generator
    from concurrent.futures import Future
    from datetime import timedelta
    from typing import Protocol

    from plait.cache.base import BaseCache
    from plait.store.base import BaseStore

    class TaskFuture(Future[T]):
        """What a call of a task gives, as type checkers see it: in sync code it is a
        `concurrent.futures.Future`, in async code one of asyncio's."""

        def __await__(self) -> Generator[Any, None, T]: ...

    class TaskDecorator(Protocol):
        """`@task(...)` with arguments: it keeps the types of the function."""

        @overload
        def __call__(self, function: Callable[P, Awaitable[T]], /) -> TaskFunction[P, T]: ...
        @overload
        def __call__(self, function: Callable[P, T], /) -> TaskFunction[P, T]: ...


class TaskFunction(Generic[P, T]):
    """A function whose calls inside a run are recorded. Made by `task`.

    Args:
        part_of_node: those who stream or listen hear of the node that calls it, not of the call;
            its calls race; their arguments are plain data, which a question about them shows.
    """

    def __init__(
        self,
        function: Callable[P, T] | Callable[P, Awaitable[T]],
        name: str | None,
        retry: tuple[RetryPolicy, ...],
        cache: CachePolicy | None,
        timeout: TimeoutPolicy | None,
        unknown: OnUnknown | None = None,
        *,
        part_of_node: bool = False,
    ) -> None:
        self.func = _called(function, "task")
        if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidNodeError(f"A task's name is a text; {_name_of(function)!r} got {name!r}.")
        self.name = name or _name_of(function)
        check_texts("Task", (self.name,))
        self.retry_policy = retry
        self.cache_policy = checked_cache_policy(cache)
        self.timeout = timeout
        self.on_unknown = checked_policy(unknown)
        self._in_turn = not part_of_node
        Made.tasks = True
        self.plan = _task_plan(function, self.name, retry, cache, timeout, unknown, part_of_node)
        update_wrapper(self, function)
        if name:
            self.__name__ = name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> TaskFuture[T]:
        """Start a call; returns its future: `.result()` in sync code, `await` in async code."""
        scope = current_scope.get()
        if not isinstance(scope, TaskScope):
            raise ConfigError(
                f"Task {self.name!r} was called outside of a running graph (called get_config "
                "outside of a runnable context). Call it in an entrypoint, a node or a task."
            )
        scope.check_heard()
        run, task = scope.run, scope.task
        if self.cache_policy is not None and run.graph.cache is None:
            remedy = "Give the graph one (cache=InMemoryCache())"
            tell_of_missing_cache(run.graph.plan.name, f"task {self.name!r}", remedy, 2)
        mark = None
        if run.storage is not None or task.node.retry:  # the call may be asked for again
            mark = CallMark(likeness(args, kwargs), self._in_turn and scope.is_main())
        return run.driver.call(task, self.plan, (args, kwargs), mark)

    def clear_cache(self, cache: BaseCache[Any]) -> None:
        """Drop the cached results of this task, of all graphs that use the cache."""
        cache.clear([namespace_of(self.func)])

    async def aclear_cache(self, cache: BaseCache[Any]) -> None:
        """`clear_cache` in an event loop."""
        await cache.aclear([namespace_of(self.func)])


def _called(function: T, decorator: str) -> T:
    """What a decorator is put on, if it can be called."""
    if callable(function):
        return function
    is_name = decorator == "task" and isinstance(function, str)
    remedy = f" To name a task, write @task(name={function!r})." if is_name else ""
    raise InvalidNodeError(f"@{decorator} was put on {function!r}, which is no function.{remedy}")


def _name_of(function: Any) -> str:
    """What a callable is called: by its own name, that of what it is a partial of, or its class."""
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return str(getattr(function, "__name__", type(function).__name__))


def _task_plan(
    function: Callable[..., Any],
    name: str,
    retry: tuple[RetryPolicy, ...],
    cache: CachePolicy | None,
    timeout: TimeoutPolicy | None,
    unknown: OnUnknown | None,
    part_of_node: bool,
) -> NodePlan:
    run = provided(function)

    def call(task: Task, scope: Scope) -> Writes:
        args, kwargs = task.input
        return [(RETURN, heard(scope, run(*args, **kwargs)))]

    async def acall(task: Task, scope: Scope) -> Writes:
        args, kwargs = task.input
        return [(RETURN, heard(scope, await run(*args, **kwargs)))]

    def shown(given: Any) -> Any:
        bound = signature(function).bind_partial(*given[0], **given[1])  # the run gives others
        bound.apply_defaults()
        return dict(bound.arguments)

    is_async = inspect.iscoroutinefunction(function)
    code: Any = None if is_async else call
    acode: Any = acall if is_async else None
    if is_guard(unknown):
        code, acode = guard(unknown, code, acode, _returned, shown, tells_input=part_of_node)
    return NodePlan(
        name,
        code,
        acode,
        retry=retry,
        guarded=is_guard(unknown),
        timeout=timeout,
        cache=None if cache is None else CachePlan(namespace_of(function), cache),
        hidden=part_of_node,
        told=not part_of_node,
        shown=shown,
    )


def _returned(task: Task, result: Any, scope: Scope) -> Writes:
    return [(RETURN, result)]


@overload
def task(function: Callable[P, Awaitable[T]], /) -> TaskFunction[P, T]: ...
@overload
def task(function: Callable[P, T], /) -> TaskFunction[P, T]: ...
@overload
def task(
    function: None = None,
    /,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    on_unknown: OnUnknown | None = None,
    **older: Any,
) -> TaskDecorator: ...
def task(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
    on_unknown: OnUnknown | None = None,
    **older: Any,
) -> Any:
    """Make a function a task: its calls start at once, run beside each other, and are recorded.

    Of the parameters `config`, `runtime`, `writer`, `store` and `previous`, the run provides what
    a call leaves out.

    Args:
        function: sync or async; its result must be storable.
        name: the task's name (default: the function's).
        retry_policy: when its errors are retried.
        cache_policy: when a result is taken from the cache of the graph that calls the task.
        timeout: how long one attempt may take, in seconds or as a `TimeoutPolicy`.
        on_unknown: what happens, instead of another run, to a call whose process died while it
            ran: "ask" a person, or a function that looks (see `StateGraph.add_node`).
        older: the deprecated `retry`.

    Raises:
        ValueError: the timeout is not above 0; TypeError: it is no number of seconds.
        InvalidNodeError: `function` is none, `name` no text, or a policy is none.
        InvalidGraphError: the name has half of a surrogate pair, so it cannot be stored.

    >>> @task
    ... def double(n: int) -> int:
    ...     return n * 2
    >>> @entrypoint()
    ... def workflow(numbers: list[int]) -> int:
    ...     return sum(call.result() for call in [double(n) for n in numbers])
    >>> workflow.invoke([1, 2])
    6
    """
    given = take_renamed("task()", older, ("retry",), retry_policy=retry_policy)
    policies = policies_of(given["retry_policy"])
    limit = TimeoutPolicy.coerce(timeout)
    if function is not None:
        return TaskFunction(function, name, policies, cache_policy, limit, on_unknown)

    def decorate(decorated: Callable[..., Any]) -> TaskFunction[..., Any]:
        return TaskFunction(decorated, name, policies, cache_policy, limit, on_unknown)

    return decorate


@subscriptable
class entrypoint:
    """Make a function a durable workflow with the methods of a compiled graph.

    The function takes one input and may ask for `previous` (what the last run on the thread
    saved), `config`, `runtime`, `writer`, `store`.

    Args:
        checkpointer: the saver that keeps its threads.
        store: long-term memory.
        context_schema: the type of the run context.
        retry_policy: when errors of the whole function are retried.
        cache: where results are kept, of the workflow and of the tasks that it calls.
        cache_policy: when the workflow's own result is taken from the cache.
        timeout: how long one attempt may take, in seconds or as a `TimeoutPolicy`.
        renamed_from: the names that the function had before, oldest first: threads that were
            stored under one go on.
        older: the deprecated `config_schema` and `retry`.
    """

    def __init__(
        self,
        checkpointer: Checkpointer = None,
        store: BaseStore | None = None,
        cache: BaseCache[Any] | None = None,
        context_schema: type[Any] | None = None,
        cache_policy: CachePolicy | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        *,
        renamed_from: str | Sequence[str] = (),
        **older: Any,
    ) -> None:
        given = take_renamed(
            "entrypoint()",
            older,
            ("config_schema", "retry"),
            context_schema=context_schema,
            retry_policy=retry_policy,
        )
        if is_routine(checkpointer):
            name = _name_of(checkpointer)
            raise TypeError(f"Write @entrypoint() above {name}, with parentheses.")
        self.checkpointer = ensure_valid_checkpointer(checkpointer)
        ensure_valid_memory(store, cache)
        self.store = store
        self.context_schema = given["context_schema"]
        self.retry_policy = given["retry_policy"]
        self.cache = cache
        self.cache_policy = checked_cache_policy(cache_policy)
        self.timeout = TimeoutPolicy.coerce(timeout)
        self.former = former_names(renamed_from, "renamed_from of entrypoint()")

    @dataclass(slots=True)
    class final(Generic[R, S]):
        """Returns one value and saves another for the thread's next run."""

        value: R
        save: S

    def __call__(self, function: Callable[..., Any]) -> Pregel:
        """The workflow.

        Raises:
            InvalidNodeError: it is no function.
            InvalidGraphError: it has no parameter for the input, or its name is a former one too.
            NotSupportedError: a generator function.

        Warns:
            UnusedCachePolicyWarning: the workflow has a cache policy, and no cache.
        """
        name = getattr(function, "__name__", type(function).__name__)
        binding = Binding(_called(function, "entrypoint"), name)
        if binding.is_generator:
            raise NotSupportedError(
                f"Entrypoint {_name_of(function)!r} is a generator function. Generators are not "
                "supported in the functional API: what they yield would be no result. Return the "
                "result, and tell what comes before it with get_stream_writer(), in streams of "
                '"custom".'
            )
        if not binding.takes_state:
            raise InvalidGraphError(f"Entrypoint {name!r} needs a parameter for its input.")
        plan = GraphPlan(
            name=name,
            nodes={name: _entry_plan(binding, name, self)},
            channels=_channels(),
            readers={START: (name,)},
            routes={},
            input=START,
            output=END,
            stream=END,
            renames=Renames(todays_names("Workflow", {name: self.former})),
        )
        warn_of_missing_cache(plan, self.cache, "Use @entrypoint(cache=InMemoryCache())")
        return Workflow(
            plan=plan,
            checkpointer=self.checkpointer,
            store=self.store,
            cache=self.cache,
            stream_mode="updates",
            context_schema=self.context_schema,
            function=function,
            binding=binding,
        )


class Workflow(Pregel):
    """A function made durable by `entrypoint`."""

    def __init__(self, *, function: Callable[..., Any], binding: Binding, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._function = function
        self._takes_extras = binding.takes_extras
        self._registry: Any = None
        self._annotated: tuple[Any, ...] | None = None
        """Its function, and those of the tasks that it calls, once they were looked for."""

    @property
    def takes_extras(self) -> bool:
        return self._takes_extras

    def registry(self) -> Any:
        """The closed registry of this workflow: what the annotations of its function, and of the
        tasks that it calls, name. Made when first stored."""
        if self._registry is None:
            from plait.checkpoint.serde import GLOBAL  # only workflows that store need it

            registry = self._registry = GLOBAL.child()
            self.teach(registry)
        return self._registry

    def calls_tasks(self) -> bool:
        return True

    def teach(self, registry: Any) -> None:
        if self._annotated is None:
            self._annotated = (self._function, *tasks_called(self._function))
        for function in self._annotated:
            registry.register_schema(function)

    @property
    def InputType(self) -> Any:
        """How the function's first parameter is annotated (Any: it is not)."""
        first = next(iter(signature(self._function).parameters))
        return get_type_hints(self._function).get(first, Any)

    @property
    def OutputType(self) -> Any:
        """What the function is annotated to return; of an `entrypoint.final`, its value."""
        returned = get_type_hints(self._function).get("return", Any)
        if returned is entrypoint.final:
            return Any
        return get_args(returned)[0] if get_origin(returned) is entrypoint.final else returned


def _channels() -> dict[str, Any]:
    channels: dict[str, Any] = {
        START: EphemeralValue(object),
        END: LastValue(object),
        PREVIOUS: LastValue(object),
    }
    for key, channel in channels.items():
        channel.key = key
    return channels


def _entry_plan(binding: Binding, name: str, declared: entrypoint) -> NodePlan:
    policy = declared.cache_policy

    def writes(result: Any) -> Writes:
        if isinstance(result, entrypoint.final):
            final = cast("entrypoint.final[Any, Any]", result)
            return [(END, final.value), (PREVIOUS, final.save)]
        return [(END, result), (PREVIOUS, result)]

    def call(task: Task, scope: Scope) -> Writes:
        return writes(heard(scope, binding.call(task.input, scope)))

    async def acall(task: Task, scope: Scope) -> Writes:
        return writes(heard(scope, await binding.call(task.input, scope)))

    def by_hand(state: State, values: Any) -> ByHand:
        yield from ()
        return writes(values)

    is_async = binding.is_async
    return NodePlan(
        name,
        None if is_async else call,
        acall if is_async else None,
        reads=START,
        triggers=(START,),
        retry=policies_of(declared.retry_policy),
        timeout=declared.timeout,
        cache=policy and CachePlan((*namespace_of(binding.function), name), policy),
        code=binding.function,
        update=by_hand,
        former=declared.former,
    )


__all__ = ["TaskFunction", "entrypoint", "task"]
