"""The logs that `astream_log` yields, where LangChain has them."""

from plait.runnables.run_log import RunLog, RunLogPatch

__all__ = ["RunLog", "RunLogPatch"]
