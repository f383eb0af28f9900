"""langchain_core's messages and documents as data; plait's own where it is not loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from plait.checkpoint.serde.own import own_class
from plait.checkpoint.serde.shapes import shape_of

PREFIX = "langchain_core:"
_MODULES = {
    f"{name}{suffix}": "langchain_core.messages"
    for name in ("AIMessage", "ChatMessage", "FunctionMessage", "HumanMessage", "SystemMessage",
                 "ToolMessage")
    for suffix in ("", "Chunk")
} | {
    "RemoveMessage": "langchain_core.messages",
    "Document": "langchain_core.documents",
}  # fmt: skip


def langchain_name(cls: type) -> str | None:
    """The wire name of a message or document class of langchain_core, or None for any other."""
    module = _MODULES.get(cls.__name__)
    if module is None or not cls.__module__.startswith(module):
        return None
    return PREFIX + cls.__name__ if _loaded(cls.__name__) is cls else None


def langchain_decoder(name: str) -> Callable[[Any], Any] | None:
    """A function from state to object for a wire name of this module, or None."""
    short = name.removeprefix(PREFIX)
    if short == name or short not in _MODULES:
        return None
    cls = _loaded(short)
    if cls is not None:
        return shape_of(cls)[1]
    ours: Any = own_class(f"plait:{short}")

    def decode(state: Any) -> Any:
        attributes, was_set, extra, _ = state
        given = {n: v for n, v in attributes.items() if n in was_set and n != "type"}
        return ours(**given, **(extra or {}))

    return decode


def _loaded(name: str) -> Any:
    module = sys.modules.get(_MODULES[name])
    return getattr(module, name, None) if module is not None else None
