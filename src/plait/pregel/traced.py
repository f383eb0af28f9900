"""What tracers record of a node with a `TracePolicy`: what the policy makes of input and output.

Other handlers, streams and the node itself get the values as they are; so do tracers for what runs
inside the node.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from plait.types import TracePolicy

logger = logging.getLogger(__name__)

_TRACERS = {"AsyncBaseTracer", "BaseTracer", "Tracer"}
"""The classes that record runs: langchain_core's and plait's."""


class ShownTracer:
    """A tracer that is shown a node's own run as its policy says.

    Args:
        tracer: the tracer.
        policy: of the node.
    """

    def __init__(self, tracer: Any, policy: TracePolicy) -> None:
        self._tracer = tracer
        self._policy = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tracer, name)

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> Any:
        """The node starts."""
        shown = _shown(self._policy.process_inputs, inputs)
        return self._tracer.on_chain_start(serialized, shown, **kwargs)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> Any:
        """The node has ended."""
        shown = _shown(self._policy.process_outputs, outputs)
        return self._tracer.on_chain_end(shown, **kwargs)


def show(handlers: list[Any], policy: TracePolicy) -> list[Any]:
    """The handlers of a node's own run, where its tracers follow the policy."""
    return [ShownTracer(each, policy) if _is_tracer(each) else each for each in handlers]


def _is_tracer(handler: Any) -> bool:
    return any(cls.__name__ in _TRACERS for cls in type(handler).__mro__)


def _shown(process: Callable[[Any], Any] | None, value: Any) -> Any:
    if process is None:
        return value
    try:
        return process(value)
    except Exception:
        logger.exception("A function of a TracePolicy has failed: the value is recorded as it is")
        return value


__all__ = ["show"]
