"""Who listens to a run: handlers, and the managers that tell them what happens.

Names load on first use, so that code which only asks `has_listeners` pays for nothing else.
"""

from typing import TYPE_CHECKING

from plait.callbacks.context import has_listeners, var_child_runnable_config
from plait.lazy import lazily

if TYPE_CHECKING:
    from plait.callbacks.base import BaseCallbackManager, Callbacks
    from plait.callbacks.custom import adispatch_custom_event, dispatch_custom_event
    from plait.callbacks.graph import (
        GraphCallbackHandler,
        GraphInterruptEvent,
        GraphLifecycleEvent,
        GraphLifecycleStatus,
        GraphResumeEvent,
        get_async_graph_callback_manager_for_config,
        get_sync_graph_callback_manager_for_config,
    )
    from plait.callbacks.handlers import AsyncCallbackHandler, BaseCallbackHandler
    from plait.callbacks.manager import (
        AsyncCallbackManager,
        AsyncCallbackManagerForChainRun,
        AsyncCallbackManagerForLLMRun,
        AsyncCallbackManagerForRetrieverRun,
        AsyncCallbackManagerForToolRun,
        CallbackManager,
        CallbackManagerForChainRun,
        CallbackManagerForLLMRun,
        CallbackManagerForRetrieverRun,
        CallbackManagerForToolRun,
    )
    from plait.callbacks.printing import (
        FileCallbackHandler,
        StdOutCallbackHandler,
        StreamingStdOutCallbackHandler,
    )
    from plait.callbacks.usage import UsageMetadataCallbackHandler, get_usage_metadata_callback

_HOMES = {
    "AsyncCallbackHandler": "handlers",
    "AsyncCallbackManager": "manager",
    "AsyncCallbackManagerForChainRun": "manager",
    "AsyncCallbackManagerForLLMRun": "manager",
    "AsyncCallbackManagerForRetrieverRun": "manager",
    "AsyncCallbackManagerForToolRun": "manager",
    "BaseCallbackHandler": "handlers",
    "BaseCallbackManager": "base",
    "CallbackManager": "manager",
    "CallbackManagerForChainRun": "manager",
    "CallbackManagerForLLMRun": "manager",
    "CallbackManagerForRetrieverRun": "manager",
    "CallbackManagerForToolRun": "manager",
    "Callbacks": "base",
    "FileCallbackHandler": "printing",
    "GraphCallbackHandler": "graph",
    "GraphInterruptEvent": "graph",
    "GraphLifecycleEvent": "graph",
    "GraphLifecycleStatus": "graph",
    "GraphResumeEvent": "graph",
    "StdOutCallbackHandler": "printing",
    "StreamingStdOutCallbackHandler": "printing",
    "UsageMetadataCallbackHandler": "usage",
    "adispatch_custom_event": "custom",
    "dispatch_custom_event": "custom",
    "get_async_graph_callback_manager_for_config": "graph",
    "get_sync_graph_callback_manager_for_config": "graph",
    "get_usage_metadata_callback": "usage",
}


__getattr__ = lazily(__name__, _HOMES)


__all__ = [
    "AsyncCallbackHandler",
    "AsyncCallbackManager",
    "AsyncCallbackManagerForChainRun",
    "AsyncCallbackManagerForLLMRun",
    "AsyncCallbackManagerForRetrieverRun",
    "AsyncCallbackManagerForToolRun",
    "BaseCallbackHandler",
    "BaseCallbackManager",
    "CallbackManager",
    "CallbackManagerForChainRun",
    "CallbackManagerForLLMRun",
    "CallbackManagerForRetrieverRun",
    "CallbackManagerForToolRun",
    "Callbacks",
    "FileCallbackHandler",
    "GraphCallbackHandler",
    "GraphInterruptEvent",
    "GraphLifecycleEvent",
    "GraphLifecycleStatus",
    "GraphResumeEvent",
    "StdOutCallbackHandler",
    "StreamingStdOutCallbackHandler",
    "UsageMetadataCallbackHandler",
    "adispatch_custom_event",
    "dispatch_custom_event",
    "get_async_graph_callback_manager_for_config",
    "get_sync_graph_callback_manager_for_config",
    "get_usage_metadata_callback",
    "has_listeners",
    "var_child_runnable_config",
]
