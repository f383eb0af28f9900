"""Tracers: what happens in a run, as spans of OpenTelemetry, lines on the console, or collected.

A tracer is a handler: pass it in the config's `callbacks`. Names load on first use. The logs that
`astream_log` yields are here too, under the path where LangChain has them.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.runnables.run_log import RunLog, RunLogPatch
    from plait.runnables.told_runs import Run
    from plait.tracing.base import TracedRun, Tracer
    from plait.tracing.console import ConsoleCallbackHandler, ConsoleTracer
    from plait.tracing.otel import OpenTelemetryTracer
    from plait.tracing.run_collector import RunCollectorCallbackHandler, collect_runs
    from plait.tracing.runs import BaseTracer

_HOMES = {
    "BaseTracer": "runs",
    "ConsoleCallbackHandler": "console",
    "ConsoleTracer": "console",
    "OpenTelemetryTracer": "otel",
    "Run": "plait.runnables.listeners",
    "RunCollectorCallbackHandler": "run_collector",
    "RunLog": "plait.runnables.run_log",
    "RunLogPatch": "plait.runnables.run_log",
    "TracedRun": "base",
    "Tracer": "base",
    "collect_runs": "run_collector",
}

__getattr__ = lazily(__name__, _HOMES)

__all__ = [
    "BaseTracer",
    "ConsoleCallbackHandler",
    "ConsoleTracer",
    "OpenTelemetryTracer",
    "Run",
    "RunCollectorCallbackHandler",
    "RunLog",
    "RunLogPatch",
    "TracedRun",
    "Tracer",
    "collect_runs",
]
