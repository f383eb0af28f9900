"""`collect_runs` and `register_configure_hook`, where LangChain has them."""

from plait.callbacks.hooks import register_configure_hook
from plait.tracing.run_collector import collect_runs

__all__ = ["collect_runs", "register_configure_hook"]
