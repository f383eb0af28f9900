"""The closed table of plait's own classes that may be stored, by stable wire names.

The names ("plait:HumanMessage") do not depend on where a class lives, so files stay readable when
plait's modules are rearranged. A module is loaded when one of its names is first met: it is one of
those written here, never one that bytes name.
"""

import sys
from importlib import import_module

_MODULES: dict[str, tuple[str, ...]] = {
    "plait.agents.actions": (
        "AgentAction",
        "AgentActionMessageLog",
        "AgentFinish",
        "AgentStep",
        "ToolAgentAction",
    ),
    "plait.documents": ("Document",),
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
    "plait.runnables.addable": ("AddableDict",),
    "plait.types": (
        "Command",
        "Interrupt",
        "Overwrite",
        "Send",
        "StateUpdate",
        "TimeoutPolicy",
    ),
    "plait.timers": ("TimedInterrupt", "TimedOut"),
}
_HOME: dict[str, str] = {f"plait:{n}": module for module, names in _MODULES.items() for n in names}


def own_class(name: str) -> type | None:
    """The class of plait that has this wire name, or None."""
    module = _HOME.get(name)
    if module is None:
        return None
    loaded = sys.modules.get(module) or import_module(module)
    return getattr(loaded, name.removeprefix("plait:"))


def own_name(cls: type) -> str | None:
    """The wire name of a class of plait itself, or None. A user's subclass is not plait's."""
    if not cls.__module__.startswith("plait."):
        return None
    name = f"plait:{cls.__qualname__}"
    return name if own_class(name) is cls else None
