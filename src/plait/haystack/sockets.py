"""plait's agent as a component of Haystack's own pipelines: what it takes and gives, as they ask.

A pipeline of Haystack's asks a component for its sockets, and connects those whose types fit. So
the types here are Haystack's, and nothing of it is imported before a pipeline asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Optional, Union, cast

from plait.errors import NotSupportedError
from plait.haystack.components import Input
from plait.haystack.guests import is_their_message
from plait.haystack.messages import ChatMessage


class HaystackComponent:
    """What makes an agent a component to Haystack's pipelines. Derive from it.

    It is found by the names of its attributes, so that no class of Haystack's is needed.
    """

    __haystack_supports_async__ = True
    __haystack_added_to_pipeline__: str | None = None

    state_schema: dict[str, Any]
    """The keys that a run takes and gives."""

    def __getattr__(self, name: str) -> Any:
        if name not in ("__haystack_input__", "__haystack_output__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        sockets = _taken(self) if name == "__haystack_input__" else _given(self)
        object.__setattr__(self, name, sockets)
        return sockets

    def model_inputs(self) -> dict[str, Input]:
        """What a model may give the agent where it is a tool: nothing that steers its runs."""
        filled = {key: Input(kind, None) for key, kind in _state(self).items()}
        return {
            "messages": Input(list[ChatMessage]),
            **filled,
            "system_prompt": Input(Optional[str], None),  # noqa: UP045
        }


_CALLBACK: Any = Union[Callable[[Any], None], Callable[[Any], Awaitable[None]], None]  # noqa: UP007
"""As Haystack's agent has it: of one callable alone, its ComponentTool can make no JSON schema."""


def refuse_pipeline_breakpoint(keys: Iterable[str]) -> None:
    """Refuse what Haystack's pipeline hands to an agent that it is to stop inside.

    Raises:
        NotSupportedError: There is such.
    """
    if "parent_snapshot" in keys:
        raise NotSupportedError(
            "A breakpoint of Haystack's Pipeline cannot stop plait's Agent inside. Stop the agent "
            "by agent.run(break_point=...), or the pipeline at another component."
        )


def in_kind(result: dict[str, Any], messages: Any) -> dict[str, Any]:
    """What a run gave, its messages in the kind that it was given: plait's, or Haystack's own."""
    if not isinstance(messages, Iterable) or not any(
        is_their_message(one) for one in cast("Iterable[Any]", messages)
    ):
        return result
    made = _message_class()
    return {key: _converted(value, made.from_dict) for key, value in result.items()}


def _converted(value: Any, convert: Callable[[dict[str, Any]], Any]) -> Any:
    if isinstance(value, ChatMessage):
        return convert(value.to_dict())
    if not isinstance(value, list):
        return value
    items = cast("list[Any]", value)
    held = any(isinstance(one, ChatMessage) for one in items)
    return [_converted(one, convert) for one in items] if held else items


def _taken(agent: HaystackComponent) -> Any:
    """The sockets of what a run takes."""
    from haystack.core.component import InputSocket  # pyright: ignore[reportMissingImports]
    from haystack.core.component.sockets import Sockets  # pyright: ignore[reportMissingImports]

    socket: Any = InputSocket
    options: dict[str, Any] = {
        **_state(agent),
        "streaming_callback": _CALLBACK,
        "break_point": Any,
        "snapshot": Any,
        "system_prompt": Optional[str],  # noqa: UP045 (Haystack reads these)
        "tools": Union[list[Any], list[str], None],  # noqa: UP007
    }
    sockets = {key: socket(key, kind, default_value=None) for key, kind in options.items()}
    sockets["messages"] = socket("messages", list[_message_class()])
    return cast("Any", Sockets)(agent, sockets, socket)


def _given(agent: HaystackComponent) -> Any:
    """The sockets of what a run gives."""
    from haystack.core.component import OutputSocket  # pyright: ignore[reportMissingImports]
    from haystack.core.component.sockets import Sockets  # pyright: ignore[reportMissingImports]

    socket, message = cast("Any", OutputSocket), _message_class()
    types = {"last_message": message, **_state(agent), "messages": list[message]}
    sockets = {key: socket(key, kind) for key, kind in types.items()}
    return cast("Any", Sockets)(agent, sockets, socket)


def _state(agent: HaystackComponent) -> dict[str, Any]:
    schema: Mapping[str, Any] = agent.state_schema
    return {key: config["type"] for key, config in schema.items() if key != "messages"}


def _message_class() -> Any:
    from haystack.dataclasses import (
        ChatMessage as Theirs,  # pyright: ignore[reportMissingImports]
    )

    return Theirs


__all__ = ["HaystackComponent", "in_kind", "refuse_pipeline_breakpoint"]
