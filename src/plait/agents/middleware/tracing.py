"""What tracers record of the nodes of middleware: as its own policy says, else the process's."""

from functools import partial
from typing import Any, Literal

from plait.agents.middleware.base import AgentMiddleware
from plait.errors import ConfigError
from plait.types import TracePolicy

_Side = Literal["process_inputs", "process_outputs"]

_of_process: TracePolicy | None = None


def configure_trace_policy(policy: TracePolicy | None) -> None:
    """Set what tracers record of the hooks of middleware that has no `trace_policy` of its own.

    It holds for the whole process, and for agents that exist already; call it once, at the start.

    Args:
        policy: The policy; None: hooks are recorded as they are.

    Raises:
        ConfigError: It is no TracePolicy.

    >>> from plait.types import omit_payload
    >>> configure_trace_policy(TracePolicy(process_inputs=omit_payload))
    >>> configure_trace_policy(None)
    """
    global _of_process
    if policy is not None and not isinstance(policy, TracePolicy):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(
            f"configure_trace_policy() got {policy!r}, which is no TracePolicy: pass "
            "TracePolicy(process_inputs=function, process_outputs=function), or None."
        )
    _of_process = policy


def policy_of(middleware: AgentMiddleware[Any, Any, Any]) -> TracePolicy:
    """The policy for the nodes of a middleware: which one counts is looked up as they run."""
    return TracePolicy(
        process_inputs=partial(_shown, middleware, "process_inputs"),
        process_outputs=partial(_shown, middleware, "process_outputs"),
    )


def _shown(middleware: AgentMiddleware[Any, Any, Any], side: _Side, value: Any) -> Any:
    policy = middleware.trace_policy or _of_process
    process = getattr(policy, side, None)
    return value if process is None else process(value)


__all__ = ["configure_trace_policy", "policy_of"]
