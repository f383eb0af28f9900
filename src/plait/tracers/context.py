"""`collect_runs`, where LangChain has it."""

from plait.tracing.run_collector import collect_runs

__all__ = ["collect_runs"]
