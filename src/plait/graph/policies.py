"""What happens around a node's code: retries, limits, caches and error handlers, as declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from plait.callbacks.context import is_finding
from plait.constants import DEFAULT_HANDLER, HANDLER
from plait.engine.plan import CachePlan
from plait.engine.retries import policies_of
from plait.errors import InvalidNodeError
from plait.pregel.binding import Binding
from plait.pregel.caching import checked_cache_policy, namespace_of
from plait.pregel.main import Pregel
from plait.pregel.unknown import OnUnknown, checked_policy
from plait.runnables.fallbacks import RunnableWithFallbacks
from plait.runnables.known import is_runnable
from plait.runnables.sequence import RunnableSequence
from plait.types import CachePolicy, RetryPolicy, TimeoutPolicy, TracePolicy


@dataclass(frozen=True, slots=True, eq=False)
class Policies:
    """What a node says of itself, or a graph of its nodes; None says nothing."""

    retry: tuple[RetryPolicy, ...] | None = None
    cache: CachePolicy | None = None
    timeout: TimeoutPolicy | None = None
    handler: Any = None
    """What runs when the node has failed for good."""
    unknown: OnUnknown | None = None
    """What decides where nobody knows what became of the node."""

    @classmethod
    def of(
        cls,
        retry: RetryPolicy | Sequence[RetryPolicy] | None,
        cache: CachePolicy | None,
        timeout: Any,
        handler: Any,
        unknown: OnUnknown | None = None,
    ) -> Policies:
        """Policies as an author gives them.

        Raises:
            ValueError: a limit is not above 0; TypeError: it is no number of seconds.
            InvalidNodeError: a policy is none.
        """
        return cls(
            None if retry is None else policies_of(retry),
            checked_cache_policy(cache),
            TimeoutPolicy.coerce(timeout),
            handler,
            checked_policy(unknown),
        )

    def over(self, defaults: Policies) -> Policies:
        """These policies, and those of `defaults` where these say nothing."""
        return Policies(
            defaults.retry if self.retry is None else self.retry,
            self.cache or defaults.cache,
            self.timeout or defaults.timeout,
            self.handler or defaults.handler,
            self.unknown or defaults.unknown,
        )

    def for_handlers(self) -> Policies:
        """What of a graph's defaults holds for error handlers.

        Their results are never cached, and they do not handle their own errors.
        """
        return Policies(self.retry, None, self.timeout, None)


NOTHING = Policies()


def cache_plan(policy: CachePolicy | None, code: Any, name: str) -> CachePlan | None:
    """Where the results of a node are cached."""
    return None if policy is None else CachePlan((*namespace_of(code), name), policy)


def check_trace_policy(node: str, policy: Any) -> TracePolicy:
    """The trace policy of a node; the peer's is one, too.

    Raises:
        InvalidNodeError: it is none.
    """
    for name in ("process_inputs", "process_outputs"):
        if not callable(getattr(policy, name, None)) and getattr(policy, name, policy) is not None:
            raise InvalidNodeError(
                f"Node {node!r} has trace_policy={policy!r}, which is no TracePolicy: pass "
                "TracePolicy(process_inputs=function, process_outputs=function)."
            )
    return policy


def checked_metadata(node: str, metadata: Any) -> dict[str, Any] | None:
    """The metadata of a node, which streams and traces show.

    Raises:
        InvalidNodeError: it is no dict.
    """
    if not metadata:
        return None
    if not isinstance(metadata, Mapping):
        raise InvalidNodeError(f"Node {node!r} has metadata={metadata!r}, which is no dict.")
    return cast("dict[str, Any]", metadata)


def bind(node: str, action: Any) -> tuple[Binding, Any]:
    """The code of a node: how to call it, and the Runnable that it is, if it is one.

    Raises:
        InvalidNodeError: it is no function, no Runnable, and no dict of these (run together).
    """
    if isinstance(action, dict):
        from plait.runnables.base import coerce_to_runnable  # few nodes are dicts

        action = coerce_to_runnable(action)
    if not callable(action) and not hasattr(action, "invoke"):
        hint = " Compile it first." if hasattr(action, "compile") else ""
        raise InvalidNodeError(
            f"Node {node!r} must be a function or a Runnable, got {action!r}.{hint}"
        )
    if is_runnable(action):
        return Binding(_runnable_caller(action), node), action
    return Binding(action, node), None


def _runnable_caller(runnable: Any) -> Callable[..., Any]:
    def call(state: Any, config: Any) -> Any:
        return runnable.invoke(state, config)

    def call_graph(state: Any) -> Any:
        return runnable.invoke(state)

    finds = is_graph(runnable) or is_finding(runnable.invoke)
    return call_graph if finds else call


def is_graph(runnable: Any) -> bool:
    """Whether it is a graph of ours, which finds the config of the task around it by itself.

    One with a config of its own (`with_config`) must be handed it: what the caller says wins.
    """
    kind = cast("Any", type(runnable))
    if getattr(kind, "invoke", None) is not Pregel.invoke or runnable.config:
        return False
    return kind.ainvoke is Pregel.ainvoke


def gives_a_state(runnable: Any) -> bool:
    """Whether what it gives is the state of a graph: of ours, of a server's, or of another package.

    What is bound to a graph, and what retries it, has the graph's methods, too.
    """
    while isinstance(runnable, RunnableSequence):
        runnable = cast("Any", runnable).last
    if isinstance(runnable, RunnableWithFallbacks):
        runnable = cast("Any", runnable).runnable
    return hasattr(runnable, "get_subgraphs")


def handler_name(node: str | None) -> str:
    """The name of a node's own error handler (None: of the default one)."""
    return DEFAULT_HANDLER if node is None else HANDLER + node


__all__ = [
    "NOTHING",
    "Policies",
    "bind",
    "cache_plan",
    "gives_a_state",
    "handler_name",
    "is_graph",
]
