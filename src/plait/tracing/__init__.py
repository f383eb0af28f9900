"""Tracers: what happens in a run, as spans of OpenTelemetry or as lines on the console.

A tracer is a handler: pass it in the config's `callbacks`. Names load on first use.
"""

from typing import TYPE_CHECKING

from plait.lazy import lazily

if TYPE_CHECKING:
    from plait.tracing.base import TracedRun, Tracer
    from plait.tracing.console import ConsoleTracer
    from plait.tracing.otel import OpenTelemetryTracer

_HOMES = {
    "ConsoleTracer": "console",
    "OpenTelemetryTracer": "otel",
    "TracedRun": "base",
    "Tracer": "base",
}

__getattr__ = lazily(__name__, _HOMES)

__all__ = ["ConsoleTracer", "OpenTelemetryTracer", "TracedRun", "Tracer"]
