"""Runnables: what nodes, models, tools and graphs have in common. Names load on first use."""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.runnables.addable import AddableDict, aadd, add
    from plait.runnables.base import Runnable, coerce_to_runnable
    from plait.runnables.binding import RunnableBinding, RunnableBindingBase
    from plait.runnables.branch import RunnableBranch
    from plait.runnables.config import (
        RunnableConfig,
        ensure_config,
        get_async_callback_manager_for_config,
        get_callback_manager_for_config,
        get_config_list,
        merge_configs,
        patch_config,
        run_in_executor,
        set_config_context,
    )
    from plait.runnables.configurable import (
        DynamicRunnable,
        RunnableConfigurableAlternatives,
        RunnableConfigurableFields,
    )
    from plait.runnables.each import RunnableEach
    from plait.runnables.executors import ContextThreadPoolExecutor, get_executor_for_config
    from plait.runnables.fallbacks import RunnableWithFallbacks
    from plait.runnables.fields import (
        ConfigurableField,
        ConfigurableFieldMultiOption,
        ConfigurableFieldSingleOption,
        ConfigurableFieldSpec,
        get_unique_config_specs,
    )
    from plait.runnables.functions import RunnableLambda, chain
    from plait.runnables.generators import RunnableGenerator
    from plait.runnables.history import RunnableWithMessageHistory
    from plait.runnables.likes import RunnableLike
    from plait.runnables.parallel import RunnableMap, RunnableParallel
    from plait.runnables.passthrough import RunnableAssign, RunnablePassthrough, RunnablePick
    from plait.runnables.retry import ExponentialJitterParams, RunnableRetry
    from plait.runnables.router import RouterInput, RouterRunnable
    from plait.runnables.sequence import RunnableSequence
    from plait.runnables.serializable import RunnableSerializable
    from plait.runnables.told_runs import Run

_NAMES = {
    "addable": ("AddableDict", "aadd", "add"),
    "base": ("Runnable", "coerce_to_runnable"),
    "binding": ("RunnableBinding", "RunnableBindingBase"),
    "branch": ("RunnableBranch",),
    "config": (
        "RunnableConfig",
        "ensure_config",
        "get_async_callback_manager_for_config",
        "get_callback_manager_for_config",
        "get_config_list",
        "merge_configs",
        "patch_config",
        "run_in_executor",
        "set_config_context",
    ),
    "configurable": (
        "DynamicRunnable",
        "RunnableConfigurableAlternatives",
        "RunnableConfigurableFields",
    ),
    "each": ("RunnableEach",),
    "executors": ("ContextThreadPoolExecutor", "get_executor_for_config"),
    "fallbacks": ("RunnableWithFallbacks",),
    "fields": (
        "ConfigurableField",
        "ConfigurableFieldMultiOption",
        "ConfigurableFieldSingleOption",
        "ConfigurableFieldSpec",
        "get_unique_config_specs",
    ),
    "functions": ("RunnableLambda", "chain"),
    "generators": ("RunnableGenerator",),
    "history": ("RunnableWithMessageHistory",),
    "likes": ("RunnableLike",),
    "parallel": ("RunnableMap", "RunnableParallel"),
    "passthrough": ("RunnableAssign", "RunnablePassthrough", "RunnablePick"),
    "retry": ("ExponentialJitterParams", "RunnableRetry"),
    "router": ("RouterInput", "RouterRunnable"),
    "sequence": ("RunnableSequence",),
    "serializable": ("RunnableSerializable",),
    "told_runs": ("Run",),
}

__getattr__ = lazily(__name__, {name: module for module, names in _NAMES.items() for name in names})

__all__ = [
    "AddableDict",
    "ConfigurableField",
    "ConfigurableFieldMultiOption",
    "ConfigurableFieldSingleOption",
    "ConfigurableFieldSpec",
    "ContextThreadPoolExecutor",
    "DynamicRunnable",
    "ExponentialJitterParams",
    "RouterInput",
    "RouterRunnable",
    "Run",
    "Runnable",
    "RunnableAssign",
    "RunnableBinding",
    "RunnableBindingBase",
    "RunnableBranch",
    "RunnableConfig",
    "RunnableConfigurableAlternatives",
    "RunnableConfigurableFields",
    "RunnableEach",
    "RunnableGenerator",
    "RunnableLambda",
    "RunnableLike",
    "RunnableMap",
    "RunnableParallel",
    "RunnablePassthrough",
    "RunnablePick",
    "RunnableRetry",
    "RunnableSequence",
    "RunnableSerializable",
    "RunnableWithFallbacks",
    "RunnableWithMessageHistory",
    "aadd",
    "add",
    "chain",
    "coerce_to_runnable",
    "ensure_config",
    "get_async_callback_manager_for_config",
    "get_callback_manager_for_config",
    "get_config_list",
    "get_executor_for_config",
    "get_unique_config_specs",
    "merge_configs",
    "patch_config",
    "run_in_executor",
    "set_config_context",
]
