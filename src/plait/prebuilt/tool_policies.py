"""What a ToolNode promises of the calls of a tool: how long, how often, how many at once, recorded.

A call that is under a policy is a step of the run around, like a call of a `@task`: the engine
bounds it, tries it again, and keeps what became of it. Outside of a graph it is a run of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from typing import Any

from plait.engine.retries import policies_of
from plait.errors import NodeTimeoutError, ToolDefinitionError, nearest
from plait.func import TaskFunction, entrypoint
from plait.prebuilt.gate import Gate
from plait.prebuilt.tool_errors import ToolTimeoutError
from plait.pregel.scope import TaskScope
from plait.pregel.unknown import checked_policy
from plait.runtime import Runtime, get_runtime
from plait.scope import current_scope
from plait.tools.output import as_output
from plait.types import RetryPolicy, TimeoutPolicy

Call = Mapping[str, Any]
Work = Callable[[Runtime[Any] | None], Any]
"""Runs the tool, with the runtime of the step that the call is; None: it is none of this run."""

_work: ContextVar[Work] = ContextVar("plait_tool_work")
"""What runs the tool: the arguments of a step are only what it is recorded under."""


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """How the calls of a tool are run.

    >>> ToolPolicy(timeout=5, retry_policy=RetryPolicy(max_attempts=2)).max_concurrency
    """

    timeout: float | timedelta | TimeoutPolicy | None = None
    """How long one attempt may take; then the model is told so, or a `ToolTimeoutError` raised."""
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None
    """Which errors of the tool are tried again."""
    max_concurrency: int | None = None
    """How many calls of the tool run at once, of all runs of this process. Waiting for one's turn
    counts as no part of the attempt, unless the config has a `max_concurrency` too."""

    def __post_init__(self) -> None:
        if self.max_concurrency is not None and self.max_concurrency < 1:
            raise ToolDefinitionError(
                f"ToolPolicy(max_concurrency={self.max_concurrency!r}) would let no call run: give "
                "a number above 0, or None for no bound."
            )


NO_POLICY = ToolPolicy()


class Supervised:
    """The calls of one tool, under its policy.

    Args:
        name: The tool's.
        policy: Its limits.
        on_unknown: What happens to calls whose process died while they ran.
    """

    def __init__(self, name: str, policy: ToolPolicy, on_unknown: Any) -> None:
        self._name = name
        self._retry = policies_of(policy.retry_policy)
        self._timeout = TimeoutPolicy.coerce(policy.timeout)
        self._unknown = checked_policy(on_unknown)
        self._gate = None if policy.max_concurrency is None else Gate(policy.max_concurrency)

    def run(self, call: Call, work: Work) -> Any:
        """Run a call by `work`; gives what answers it: a message, a Command, a list of them.

        Raises:
            ToolTimeoutError: It took too long.
        """
        gate = self._gate
        if gate is None:
            return self._answer(call, self._run(call, work))
        if _has_few_places():
            turn = partial(_unless_given_up, work)
            return self._answer(call, self._run(call, lambda own: gate.run(partial(turn, own))))
        return self._answer(call, gate.run(partial(self._run, call, work)))

    async def arun(self, call: Call, work: Work) -> Any:
        """The async twin of `run`."""
        gate = self._gate
        if gate is None:
            return self._answer(call, await self._arun(call, work))
        if _has_few_places():
            return self._answer(
                call, await self._arun(call, lambda own: gate.arun(partial(work, own)))
            )
        return self._answer(call, await gate.arun(partial(self._arun, call, work)))

    def _run(self, call: Call, work: Work) -> Any:
        inside = self._is_step()
        if inside is None:
            return work(None)
        given, marked = _arguments(call), _work.set(work if inside else partial(_apart, work))
        try:
            return self._task(**given).result() if inside else self._alone.invoke(given)
        except NodeTimeoutError as error:
            raise self._named(error) from error
        finally:
            _work.reset(marked)

    async def _arun(self, call: Call, work: Work) -> Any:
        inside = self._is_step()
        if inside is None:
            return await work(None)
        given, marked = _arguments(call), _work.set(work if inside else partial(_apart, work))
        try:
            return await (self._atask(**given) if inside else self._aalone.ainvoke(given))
        except NodeTimeoutError as error:
            raise self._named(error) from error
        finally:
            _work.reset(marked)

    def _is_step(self) -> bool | None:
        """Whether the call is a step of the run around, else a run of its own; None: it is neither,
        since nothing is recorded and nothing is bounded."""
        scope = current_scope.get()
        if isinstance(scope, TaskScope) and scope.run.storage is not None:
            return True
        return isinstance(scope, TaskScope) if self._retry or self._timeout else None

    def _named(self, error: NodeTimeoutError) -> Exception:
        return ToolTimeoutError(error) if error.node == self._name else error

    def _answer(self, call: Call, result: Any) -> Any:
        """What a call gave; what an `on_unknown` function found is not a message yet."""
        return as_output(result, None, call["id"], self._name, "success")

    # --- as steps, made when first needed --------------------------------------------------------

    @cached_property
    def _task(self) -> TaskFunction[..., Any]:
        return self._step(_step)

    @cached_property
    def _atask(self) -> TaskFunction[..., Any]:
        return self._step(_astep)

    def _step(self, code: Callable[..., Any]) -> TaskFunction[..., Any]:
        retry, unknown = self._retry, self._unknown
        return TaskFunction(
            code, self._name, retry, None, self._timeout, unknown, part_of_node=True
        )

    @cached_property
    def _alone(self) -> Any:
        def run(given: Call) -> Any:
            return self._task(**given).result()

        return entrypoint()(run)

    @cached_property
    def _aalone(self) -> Any:
        async def run(given: Call) -> Any:
            return await self._atask(**given)

        return entrypoint()(run)


def _step(name: str, args: Any, id: str | None) -> Any:
    return _work.get()(get_runtime())


async def _astep(name: str, args: Any, id: str | None) -> Any:
    return await _work.get()(get_runtime())


def _has_few_places() -> bool:
    """Whether the run around bounds how many tasks run at once.

    A call then waits for its turn as a task, not in the node that makes it: a node that waited with
    the last place taken would keep out the task of the call whose turn it is.
    """
    scope = current_scope.get()
    return isinstance(scope, TaskScope) and scope.run.loop.spec.max_concurrency is not None


def _unless_given_up(work: Work, own: Runtime[Any] | None) -> Any:
    """Run a tool whose turn has come, if its time was not over before."""
    scope = current_scope.get()
    if isinstance(scope, TaskScope):
        scope.check_heard()
    return work(own)


def _apart(work: Work, own: Runtime[Any] | None) -> Any:
    """Run a tool in a run of its own, which has nothing that the tool's runtime lacks."""
    return work(None)


def _arguments(call: Call) -> dict[str, Any]:
    """What a call is recorded under: what the model said, not what the program fills."""
    return {"name": call["name"], "args": call["args"], "id": call["id"]}


def supervised(
    tools: Mapping[str, Any], policies: Mapping[str, ToolPolicy] | ToolPolicy | None, journal: bool
) -> dict[str, Supervised]:
    """The tools whose calls are more than calls of a function, by name.

    Args:
        tools: All tools of a node.
        policies: By the names of tools; or one for all.
        journal: Whether every call is recorded.

    Raises:
        ToolDefinitionError: A policy is none, or for a tool that is not there.
        InvalidNodeError: An `on_unknown` of a tool is no policy.
    """
    given: Mapping[str, Any] = (
        dict.fromkeys(tools, policies) if isinstance(policies, ToolPolicy) else policies or {}
    )
    for name, policy in given.items():
        if name not in tools:
            raise ToolDefinitionError(
                f"ToolNode has a policy for {name!r}, but no such tool. {nearest(name, tools)}"
            )
        if not isinstance(policy, ToolPolicy):
            raise ToolDefinitionError(
                f"The policy of tool {name!r} must be a ToolPolicy, not {policy!r}: "
                "policies={'name': ToolPolicy(timeout=5)}."
            )
    found: dict[str, Supervised] = {}
    for name, tool in tools.items():
        policy, unknown = given.get(name, NO_POLICY), getattr(tool, "on_unknown", None)
        if journal or unknown is not None or policy != NO_POLICY:
            found[name] = Supervised(name, policy, unknown)
    return found


__all__ = ["Supervised", "ToolPolicy", "supervised"]
