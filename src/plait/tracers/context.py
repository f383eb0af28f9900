"""`collect_runs` and `register_configure_hook`, where LangChain has them."""

from plait.tracing.context import collect_runs, register_configure_hook

__all__ = ["collect_runs", "register_configure_hook"]
