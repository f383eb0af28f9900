"""The public names of LangGraph exist in plait, and take the same arguments.

What is not there yet, or never will be, is in `PENDING` with its reason; a row that has become
stale is an error.
"""

import importlib
import inspect
import warnings
from types import ModuleType
from typing import Any

import pytest

MODULES = """
    graph graph.message graph.state graph.ui types func runtime errors config constants typing
    managed managed.base managed.is_last_step
    pregel pregel.remote pregel.debug pregel.protocol pregel.types
    channels channels.any_value channels.base channels.binop channels.delta
    channels.ephemeral_value channels.last_value channels.named_barrier_value channels.topic
    channels.untracked_value
    checkpoint.base checkpoint.memory checkpoint.sqlite checkpoint.sqlite.aio
    checkpoint.serde.base checkpoint.serde.encrypted checkpoint.serde.event_hooks
    checkpoint.serde.jsonplus checkpoint.serde.types
    store.base store.base.batch store.base.embed store.memory store.sqlite store.sqlite.aio
    cache.base cache.memory cache.redis cache.sqlite
    warnings version callbacks
    stream stream.run_stream stream.stream_channel stream.transformers
    prebuilt prebuilt.chat_agent_executor prebuilt.interrupt prebuilt.tool_node
    prebuilt.tool_validator
"""

OWN_TYPES = "a type variable of the peer's own annotations"
DELTA = "plait stores differences in every channel; savers need no extra method for it"
EVENTS = "plait refuses unregistered types when they are written, so there is nothing to tell"
PENDING = {
    "checkpoint.base.DeltaChannelHistory": DELTA,
    "checkpoint.serde.event_hooks": EVENTS,
    "checkpoint.serde.jsonplus.InvalidModuleError": EVENTS,
    "checkpoint.sqlite.aio.T": OWN_TYPES,
    "store.base.batch.F": OWN_TYPES,
}
"""Module, or what is in one, without the root: why plait does not have it."""


def peer(module: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"langgraph.{module}")


def ours(module: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"plait.{module}")


def public(module: ModuleType) -> list[str]:
    """What a module offers: its `__all__`, else what it defines under public names."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


@pytest.mark.parametrize("module", [m for m in MODULES.split() if m not in PENDING])
def test_every_public_name_of_the_peer_is_there(module: str) -> None:
    here = ours(module)
    missing = [
        name
        for name in public(peer(module))
        if f"{module}.{name}" not in PENDING and not hasattr(here, name)
    ]
    assert not missing


@pytest.mark.parametrize("entry", PENDING)
def test_what_is_pending_is_in_the_peer_and_not_here(entry: str) -> None:
    if entry in MODULES.split():
        names = public(peer(entry))
        try:
            here = ours(entry)
        except ImportError:
            return
        assert not all(hasattr(here, name) for name in names), f"{entry} is there: delete its row"
        return
    module = max((m for m in MODULES.split() if entry.startswith(f"{m}.")), key=len)
    path = entry.removeprefix(f"{module}.")
    assert has(peer(module), path)
    assert not has(ours(module), path), f"{entry} is there: delete its row"


def has(module: ModuleType, path: str) -> bool:
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


GRAPH_METHODS = """
    __init__ add_node add_edge add_sequence add_conditional_edges set_entry_point set_finish_point
    set_conditional_entry_point set_node_defaults validate compile
"""
COMPILED_METHODS = """
    invoke ainvoke stream astream get_state aget_state get_state_history aget_state_history
    update_state aupdate_state bulk_update_state abulk_update_state get_subgraphs aget_subgraphs
    get_graph aget_graph get_name with_config copy clear_cache aclear_cache validate
    get_input_schema get_output_schema get_input_jsonschema get_output_jsonschema
    get_context_jsonschema config_schema get_config_jsonschema astream_events batch abatch
"""
BUILDER_METHODS = """
    subscribe_only subscribe_to read_from do write_to meta add_retry_policies add_cache_policy
    set_timeout build
"""
REMOTE_METHODS = """
    __init__ copy with_config get_graph aget_graph get_state aget_state get_state_history
    aget_state_history bulk_update_state abulk_update_state update_state aupdate_state stream
    astream astream_events invoke ainvoke
"""
SIGNATURES = [
    *(("graph", f"StateGraph.{name}") for name in GRAPH_METHODS.split()),
    *(("graph.state", f"CompiledStateGraph.{name}") for name in COMPILED_METHODS.split()),
    ("graph", "add_messages"),
    *(("graph.ui", f"{name}_ui_message") for name in ("push", "delete")),
    ("graph.ui", "ui_message_reducer"),
    ("pregel", "Pregel.__init__"),
    *(("pregel", f"NodeBuilder.{name}") for name in BUILDER_METHODS.split()),
    *(("pregel.remote", f"RemoteGraph.{name}") for name in REMOTE_METHODS.split()),
    *(("pregel.debug", name) for name in ("map_debug_tasks", "map_debug_task_results")),
    *(("pregel.debug", name) for name in ("map_debug_checkpoint", "tasks_w_writes")),
    *(("func", name) for name in ("task", "entrypoint.__init__", "entrypoint.final.__init__")),
    *(("types", name) for name in ("interrupt", "Command.__init__", "Send.__init__")),
    *(("types", f"{name}.__init__") for name in ("TimeoutPolicy", "CachePolicy", "TracePolicy")),
    *(("types", f"{name}.__init__") for name in ("Overwrite", "GraphOutput", "Interrupt")),
    *(("types", f"{name}.__new__") for name in ("RetryPolicy", "PregelTask", "StateUpdate")),
    ("types", "PregelExecutableTask.__init__"),
    ("types", "StateSnapshot.__new__"),
    *(("runtime", f"{name}.__init__") for name in ("Runtime", "ExecutionInfo", "ServerInfo")),
    *(("runtime", f"Runtime.{name}") for name in ("merge", "override", "patch_execution_info")),
    ("prebuilt", "create_react_agent"),
    ("prebuilt", "ToolNode.__init__"),
    ("prebuilt", "ValidationNode.__init__"),
    ("prebuilt", "tools_condition"),
    ("prebuilt.tool_node", "ToolCallRequest.override"),
    ("prebuilt.tool_node", "ToolInvocationError.__init__"),
    ("runtime", "RunControl.request_drain"),
    ("runtime", "get_runtime"),
    *(("errors", f"{name}.__init__") for name in ("NodeTimeoutError", "UnknownInterruptError")),
    *(("errors", f"{name}.__init__") for name in ("NodeError", "NodeCancelledError")),
    *(("errors", f"{name}.__init__") for name in ("GraphDrained", "NodeInterrupt")),
    *(("channels", f"{name}.__init__") for name in ("DeltaChannel", "Topic", "EphemeralValue")),
    *(("channels", f"{name}.__init__") for name in ("BinaryOperatorAggregate", "LastValue")),
    *(("channels", f"{name}.__init__") for name in ("NamedBarrierValue", "UntrackedValue")),
    ("checkpoint.memory", "InMemorySaver.__init__"),
    ("checkpoint.memory", "PersistentDict.__init__"),
    *(("checkpoint.base", f"BaseCheckpointSaver.{name}") for name in ("get_tuple", "list", "put")),
    *(("checkpoint.base", f"BaseCheckpointSaver.{name}") for name in ("put_writes", "prune")),
    *(("store.base", f"BaseStore.{name}") for name in ("get", "put", "search", "delete")),
    ("store.base", "BaseStore.list_namespaces"),
    *(("cache.base", f"BaseCache.{name}") for name in ("get", "set", "clear")),
    ("warnings", "LangGraphDeprecationWarning.__init__"),
]
"""(module, what) whose parameters are compared."""

_CATCH_ALL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def parameters(module: ModuleType, path: str) -> dict[str, inspect.Parameter]:
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    return dict(inspect.signature(found).parameters)


@pytest.mark.parametrize(("module", "path"), SIGNATURES, ids=lambda value: str(value))
def test_every_parameter_of_the_peer_is_taken(module: str, path: str) -> None:
    theirs, here = parameters(peer(module), path), parameters(ours(module), path)
    rest = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in here.values())
    named = [name for name, p in theirs.items() if p.kind not in _CATCH_ALL]
    assert [name for name in named if name not in here and not rest] == []
    required = [
        name
        for name, p in here.items()
        if p.default is p.empty and p.kind not in _CATCH_ALL and name not in theirs
    ]
    assert required == []
    positional = [
        name
        for name, p in theirs.items()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and name in here
    ]
    assert positional == [
        name
        for name, p in here.items()
        if name in positional and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
