"""Runnables: what nodes, models, tools and graphs have in common. Names load on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.runnables.base import (
        Runnable,
        RunnableBinding,
        RunnableSequence,
        coerce_to_runnable,
    )
    from plait.runnables.config import (
        RunnableConfig,
        ensure_config,
        get_config_list,
        merge_configs,
        patch_config,
        run_in_executor,
        set_config_context,
    )
    from plait.runnables.functions import RunnableLambda
    from plait.runnables.passthrough import RunnablePassthrough

_HOMES = {
    "Runnable": "base",
    "RunnableBinding": "base",
    "RunnableConfig": "config",
    "RunnableLambda": "functions",
    "RunnablePassthrough": "passthrough",
    "RunnableSequence": "base",
    "coerce_to_runnable": "base",
    "ensure_config": "config",
    "get_config_list": "config",
    "merge_configs": "config",
    "patch_config": "config",
    "run_in_executor": "config",
    "set_config_context": "config",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


__all__ = [
    "Runnable",
    "RunnableBinding",
    "RunnableConfig",
    "RunnableLambda",
    "RunnablePassthrough",
    "RunnableSequence",
    "coerce_to_runnable",
    "ensure_config",
    "get_config_list",
    "merge_configs",
    "patch_config",
    "run_in_executor",
    "set_config_context",
]
