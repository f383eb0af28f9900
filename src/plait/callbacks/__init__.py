"""Who listens to a run: handlers, and the managers that tell them what happens.

Names load on first use, so that code which only asks `has_listeners` pays for nothing else.
"""

from typing import TYPE_CHECKING

from plait.callbacks.context import has_listeners, var_child_runnable_config
from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.callbacks.base import BaseCallbackManager, Callbacks
    from plait.callbacks.custom import adispatch_custom_event, dispatch_custom_event
    from plait.callbacks.events import AsyncRunManager, BaseRunManager, RunManager
    from plait.callbacks.graph import (
        GraphCallbackHandler,
        GraphInterruptEvent,
        GraphLifecycleEvent,
        GraphLifecycleStatus,
        GraphResumeEvent,
        get_async_graph_callback_manager_for_config,
        get_sync_graph_callback_manager_for_config,
    )
    from plait.callbacks.groups import (
        AsyncCallbackManagerForChainGroup,
        CallbackManagerForChainGroup,
        atrace_as_chain_group,
        trace_as_chain_group,
    )
    from plait.callbacks.handlers import AsyncCallbackHandler, BaseCallbackHandler
    from plait.callbacks.manager import (
        AsyncCallbackManager,
        AsyncCallbackManagerForChainRun,
        AsyncCallbackManagerForLLMRun,
        AsyncCallbackManagerForRetrieverRun,
        AsyncCallbackManagerForToolRun,
        AsyncParentRunManager,
        CallbackManager,
        CallbackManagerForChainRun,
        CallbackManagerForLLMRun,
        CallbackManagerForRetrieverRun,
        CallbackManagerForToolRun,
        ParentRunManager,
    )
    from plait.callbacks.mixins import (
        CallbackManagerMixin,
        ChainManagerMixin,
        LLMManagerMixin,
        RetrieverManagerMixin,
        RunManagerMixin,
        ToolManagerMixin,
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
    "AsyncCallbackManagerForChainGroup": "groups",
    "AsyncCallbackManagerForChainRun": "manager",
    "AsyncCallbackManagerForLLMRun": "manager",
    "AsyncCallbackManagerForRetrieverRun": "manager",
    "AsyncCallbackManagerForToolRun": "manager",
    "AsyncParentRunManager": "manager",
    "AsyncRunManager": "events",
    "BaseCallbackHandler": "handlers",
    "BaseCallbackManager": "base",
    "BaseRunManager": "events",
    "CallbackManager": "manager",
    "CallbackManagerForChainGroup": "groups",
    "CallbackManagerForChainRun": "manager",
    "CallbackManagerForLLMRun": "manager",
    "CallbackManagerForRetrieverRun": "manager",
    "CallbackManagerForToolRun": "manager",
    "CallbackManagerMixin": "mixins",
    "Callbacks": "base",
    "ChainManagerMixin": "mixins",
    "FileCallbackHandler": "printing",
    "GraphCallbackHandler": "graph",
    "GraphInterruptEvent": "graph",
    "GraphLifecycleEvent": "graph",
    "GraphLifecycleStatus": "graph",
    "GraphResumeEvent": "graph",
    "LLMManagerMixin": "mixins",
    "ParentRunManager": "manager",
    "RetrieverManagerMixin": "mixins",
    "RunManager": "events",
    "RunManagerMixin": "mixins",
    "StdOutCallbackHandler": "printing",
    "StreamingStdOutCallbackHandler": "printing",
    "ToolManagerMixin": "mixins",
    "UsageMetadataCallbackHandler": "usage",
    "adispatch_custom_event": "custom",
    "atrace_as_chain_group": "groups",
    "dispatch_custom_event": "custom",
    "get_async_graph_callback_manager_for_config": "graph",
    "get_sync_graph_callback_manager_for_config": "graph",
    "get_usage_metadata_callback": "usage",
    "trace_as_chain_group": "groups",
}


__getattr__ = lazily(__name__, _HOMES)


__all__ = [
    "AsyncCallbackHandler",
    "AsyncCallbackManager",
    "AsyncCallbackManagerForChainGroup",
    "AsyncCallbackManagerForChainRun",
    "AsyncCallbackManagerForLLMRun",
    "AsyncCallbackManagerForRetrieverRun",
    "AsyncCallbackManagerForToolRun",
    "AsyncParentRunManager",
    "AsyncRunManager",
    "BaseCallbackHandler",
    "BaseCallbackManager",
    "BaseRunManager",
    "CallbackManager",
    "CallbackManagerForChainGroup",
    "CallbackManagerForChainRun",
    "CallbackManagerForLLMRun",
    "CallbackManagerForRetrieverRun",
    "CallbackManagerForToolRun",
    "CallbackManagerMixin",
    "Callbacks",
    "ChainManagerMixin",
    "FileCallbackHandler",
    "GraphCallbackHandler",
    "GraphInterruptEvent",
    "GraphLifecycleEvent",
    "GraphLifecycleStatus",
    "GraphResumeEvent",
    "LLMManagerMixin",
    "ParentRunManager",
    "RetrieverManagerMixin",
    "RunManager",
    "RunManagerMixin",
    "StdOutCallbackHandler",
    "StreamingStdOutCallbackHandler",
    "ToolManagerMixin",
    "UsageMetadataCallbackHandler",
    "adispatch_custom_event",
    "atrace_as_chain_group",
    "dispatch_custom_event",
    "get_async_graph_callback_manager_for_config",
    "get_sync_graph_callback_manager_for_config",
    "get_usage_metadata_callback",
    "has_listeners",
    "trace_as_chain_group",
    "var_child_runnable_config",
]
