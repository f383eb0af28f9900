"""Tracers under the path that LangChain documents; they live in `plait.tracing`."""

from plait.tracing import (
    BaseTracer,
    ConsoleCallbackHandler,
    Run,
    RunCollectorCallbackHandler,
    RunLog,
    RunLogPatch,
    collect_runs,
)

__all__ = [
    "BaseTracer",
    "ConsoleCallbackHandler",
    "Run",
    "RunCollectorCallbackHandler",
    "RunLog",
    "RunLogPatch",
    "collect_runs",
]
