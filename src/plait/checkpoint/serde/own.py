"""The closed table of plait's own classes that may be stored, by stable wire names.

The names ("plait:HumanMessage") do not depend on where a class lives, so files stay readable when
plait's modules are rearranged. A module is loaded when one of its names is first met: it is one of
those written here, never one that bytes name.
"""

import sys
from importlib import import_module

_NAMED: dict[str, tuple[str, ...]] = {
    "plait.agents.actions": (
        "AgentAction",
        "AgentActionMessageLog",
        "AgentFinish",
        "AgentStep",
        "ToolAgentAction",
    ),
    "plait.chat_models.results": (
        "ChatGeneration",
        "ChatGenerationChunk",
        "ChatResult",
        "Generation",
        "GenerationChunk",
        "LLMResult",
        "RunInfo",
    ),
    "plait.documents": ("Document",),
    "plait.documents.blob": ("Blob",),
    "plait.messages": (
        "AIMessage",
        "AIMessageChunk",
        "ChatMessage",
        "ChatMessageChunk",
        "FunctionMessage",
        "FunctionMessageChunk",
        "HumanMessage",
        "HumanMessageChunk",
        "RemoveMessage",
        "SystemMessage",
        "SystemMessageChunk",
        "ToolMessage",
        "ToolMessageChunk",
    ),
    "plait.prebuilt.sent": ("SentCall",),
    "plait.prompt_values": (
        "ChatPromptValue",
        "ChatPromptValueConcrete",
        "ImagePromptValue",
        "StringPromptValue",
    ),
    "plait.runnables.addable": ("AddableDict",),
    "plait.store.base.items": ("GetOp", "Item", "SearchItem"),
    "plait.types": (
        "Command",
        "Interrupt",
        "Overwrite",
        "PregelTask",
        "Send",
        "StateSnapshot",
        "StateUpdate",
        "TimeoutPolicy",
    ),
    "plait.timers": ("TimedInterrupt", "TimedOut"),
}
_BY_PLACE: dict[str, tuple[str, ...]] = {
    "plait.haystack.images": ("ImageContent",),
    "plait.haystack.messages": (
        "ChatMessage",
        "ChatRole",
        "ReasoningContent",
        "TextContent",
        "ToolCall",
        "ToolCallResult",
    ),
}
"""Classes that share their names with others of plait: written under "module:name"."""
_HOME: dict[str, tuple[str, str]] = {
    f"plait:{name}": (module, name) for module, names in _NAMED.items() for name in names
} | {
    # Also what was written before a class had a name of its own, by graphs whose schemas name it.
    f"{module}:{name}": (module, name)
    for module, names in (_NAMED | _BY_PLACE).items()
    for name in names
}


def own_class(name: str) -> type | None:
    """The class of plait that has this wire name, or None."""
    home = _HOME.get(name)
    if home is None:
        return None
    module, attribute = home
    return getattr(sys.modules.get(module) or import_module(module), attribute)


def own_name(cls: type) -> str | None:
    """The wire name of a class of plait itself, or None. A user's subclass is not plait's."""
    if not cls.__module__.startswith("plait."):
        return None
    for name in (f"plait:{cls.__qualname__}", f"{cls.__module__}:{cls.__qualname__}"):
        own = own_class(name)
        # A class of plait that goes by the name of its parent is stored as that.
        if own is not None and issubclass(cls, own):
            return name
    return None
