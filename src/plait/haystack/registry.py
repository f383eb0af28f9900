"""The closed registry: which classes and functions serialized data may name, and under which name.

Data written here has Haystack's names for what both have, so agents and snapshots can be exchanged
with it. A name is looked up in tables and nowhere else: nothing is imported because data says so.
The program's own functions and classes get in when it registers them, and when it makes a tool, a
handler of a state or a component of them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Hashable
from importlib import import_module
from inspect import isclass, ismethod
from typing import Any, TypeVar, cast

from plait.haystack.errors import DeserializationError, SerializationError

T = TypeVar("T")

_HOMES: dict[str, str] = {
    "haystack.components.agents.agent.Agent": "agent",
    "haystack.components.agents.state.state.State": "state",
    "haystack.components.agents.state.state_utils.merge_lists": "state",
    "haystack.components.agents.state.state_utils.replace_values": "state",
    "haystack.components.generators.chat.openai.OpenAIChatGenerator": "openai",
    "haystack.components.generators.utils.print_streaming_chunk": "streaming",
    "haystack.components.tools.tool_invoker.ToolInvoker": "invoker",
    "haystack.dataclasses.breakpoints.AgentBreakpoint": "breakpoints",
    "haystack.dataclasses.breakpoints.AgentSnapshot": "breakpoints",
    "haystack.dataclasses.breakpoints.Breakpoint": "breakpoints",
    "haystack.dataclasses.breakpoints.PipelineSnapshot": "breakpoints",
    "haystack.dataclasses.breakpoints.PipelineState": "breakpoints",
    "haystack.dataclasses.breakpoints.ToolBreakpoint": "breakpoints",
    "haystack.dataclasses.chat_message.ChatMessage": "messages",
    "haystack.dataclasses.chat_message.ChatRole": "messages",
    "haystack.dataclasses.chat_message.ReasoningContent": "messages",
    "haystack.dataclasses.chat_message.TextContent": "messages",
    "haystack.dataclasses.chat_message.ToolCall": "messages",
    "haystack.dataclasses.chat_message.ToolCallResult": "messages",
    "haystack.dataclasses.image_content.ImageContent": "images",
    "haystack.dataclasses.streaming_chunk.ComponentInfo": "streaming",
    "haystack.dataclasses.streaming_chunk.StreamingChunk": "streaming",
    "haystack.dataclasses.streaming_chunk.ToolCallDelta": "streaming",
    "haystack.tools.component_tool.ComponentTool": "component_tool",
    "haystack.tools.tool.Tool": "tools",
    "haystack.tools.toolset.Toolset": "tools",
    "plait.haystack.ChatModelGenerator": "generators",
}
"""Names of what plait has, and its modules; each is loaded when its name is met."""

_BUILTINS = (
    *("bool", "bytes", "dict", "float", "frozenset", "int", "list", "object", "set", "str"),
    *("tuple", "len", "max", "min", "repr", "sorted", "sum"),
)
_ours: dict[str, str] = {
    f"plait.haystack.{home}.{name.rpartition('.')[2]}": name for name, home in _HOMES.items()
}
_known: dict[str, Any] = {f"builtins.{name}": getattr(builtins, name) for name in _BUILTINS}
_names: dict[Any, str] = {}
_registered: set[str] = set()
"""Names that the program gave on purpose."""


def register(thing: T, name: str | None = None) -> T:
    """Let serialized data name a function or a class of the program.

    Args:
        thing: The function or class. Usable as a decorator.
        name: The name; by default its module and qualified name.

    Returns:
        `thing`.

    Raises:
        SerializationError: It has no name of its own (a lambda, a nested function) and none was
            given.

    >>> register(str.upper, "shops.shout")
    <method 'upper' of 'str' objects>
    >>> lookup("shops.shout")("hi")
    'HI'
    """
    name = name or name_of(thing)
    _known[name] = thing
    _names[thing] = name
    _registered.add(name)
    return thing


def remember(thing: Any) -> None:
    """Register what the program uses as a tool, handler or component, if it has a name."""
    if _unnamed(thing) is None and (name := name_of(thing)) not in _registered:
        _known[name] = thing  # also where a module was loaded again


def name_of(thing: Any) -> str:
    """The name under which data knows a class or function.

    Raises:
        SerializationError: It has none.
    """
    if isinstance(thing, Hashable) and thing in _names:
        return _names[thing]
    if (why := _unnamed(thing)) is not None:
        raise SerializationError(
            f"Serialization of {why} is not supported: {thing!r}. Define it at the top of a module,"
            " or give it a name: plait.haystack.register(thing, 'a name')."
        )
    name = ".".join(cast("tuple[str, str]", _place(thing)))
    return _ours.get(name, name)


def _place(thing: Any) -> tuple[Any, Any]:
    """The module of a thing, and its name there; a class method's is that of the class it is of."""
    if ismethod(thing) and isclass(thing.__self__):
        return thing.__self__.__module__, f"{thing.__self__.__qualname__}.{thing.__name__}"
    return getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)


def _unnamed(thing: Any) -> str | None:
    """What kind of nameless thing it is; None: it has a name."""
    module, qualname = _place(thing)
    if qualname is None or not module:
        return "objects without a name"
    if "<lambda>" in qualname:
        return "lambdas"
    if "<locals>" in qualname:
        return "nested functions and local classes"
    return "bound methods" if ismethod(thing) and not isclass(thing.__self__) else None


def lookup(name: Any) -> Any:
    """What a name in data means.

    Raises:
        DeserializationError: Nothing known has this name.
    """
    if not isinstance(name, str):
        raise DeserializationError(f"A name in data is a text, not {name!r:.100}.")
    if name in _known:
        return _known[name]
    wire = _ours.get(name, name)
    if wire in _HOMES:
        found = getattr(import_module(f"plait.haystack.{_HOMES[wire]}"), wire.rpartition(".")[2])
        _known[wire] = _known[name] = found
        return found
    short = name.rpartition(".")[2]
    raise DeserializationError(
        f"The data names {name!r}, which is not registered, and plait imports nothing because data "
        f"says so. If it is yours, register it first: plait.haystack.register({short})"
    )


def lookup_class(name: Any) -> type:
    """The class that a name in data means.

    Raises:
        DeserializationError: There is none.
    """
    found = lookup(name)
    if not isclass(found):
        raise DeserializationError(f"The data names {name!r} as a class, and it is {found!r}.")
    return found


def lookup_function(name: Any) -> Callable[..., Any]:
    """The function that a name in data means.

    Raises:
        DeserializationError: There is none.
    """
    found = lookup(name)
    if not callable(found):
        raise DeserializationError(f"The data names {name!r} as a function, and it is {found!r}.")
    return cast("Callable[..., Any]", found)


def is_name_of(name: Any, thing: Any) -> bool:
    """Whether a name in data means this class or function."""
    return _ours.get(name, name) == name_of(thing)


def serialize_callable(callable_handle: Callable[..., Any]) -> str:
    """Haystack's name of `name_of`, for components that write themselves."""
    return name_of(callable_handle)


def deserialize_callable(callable_handle: str) -> Callable[..., Any]:
    """Haystack's name of `lookup_function`, for components that are read again."""
    return lookup_function(callable_handle)


__all__ = [
    "deserialize_callable",
    "is_name_of",
    "lookup",
    "lookup_class",
    "lookup_function",
    "name_of",
    "register",
    "remember",
    "serialize_callable",
]
