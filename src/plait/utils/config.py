"""What reads configs, under the path that LangGraph documents (`langgraph.utils.config`)."""

from typing import Any

from plait.config import get_config, get_store
from plait.runnables.config import RunnableConfig, ensure_config


def patch_configurable(config: RunnableConfig | None, patch: dict[str, Any]) -> RunnableConfig:
    """A config with more in its `configurable`; what was there under the same keys is replaced.

    >>> patch_configurable({"configurable": {"a": 1, "b": 1}}, {"b": 2})
    {'configurable': {'a': 1, 'b': 2}}
    """
    given: RunnableConfig = config or {}
    return {**given, "configurable": {**(given.get("configurable") or {}), **patch}}


__all__ = ["ensure_config", "get_config", "get_store", "patch_configurable"]
