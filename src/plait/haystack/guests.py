"""Objects of Haystack itself where plait's own would go: generators, tools, messages.

Both sides write the same plain data, so that is how they are converted. Nothing of Haystack's is
imported before an object of its is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from plait.errors import InvalidInputError
from plait.haystack.messages import ChatMessage
from plait.haystack.streaming import StreamingChunk
from plait.haystack.tools import Tool, Toolset, flatten_tools_or_toolsets
from plait.tools.guests import is_haystack_tool


class GuestGenerator:
    """A chat generator of Haystack's as one of plait's.

    Args:
        guest: The generator.
    """

    def __init__(self, guest: Any) -> None:
        self.guest = guest

    def run(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ) -> dict[str, Any]:
        """Answer a conversation."""
        heard: dict[str, Any] = {}
        if streaming_callback is not None:
            heard["streaming_callback"] = _hear(streaming_callback)
        return _replies(self.guest.run(**_given(messages, tools), **heard))


class AsyncGuestGenerator(GuestGenerator):
    """The same for a generator that can be awaited."""

    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ) -> dict[str, Any]:
        """The async twin of `run`."""
        heard: dict[str, Any] = {}
        if streaming_callback is not None:

            async def hear(chunk: Any) -> None:
                await streaming_callback(StreamingChunk.from_dict(chunk.to_dict()))

            heard["streaming_callback"] = hear
        return _replies(await self.guest.run_async(**_given(messages, tools), **heard))


def worker_of(generator: Any) -> Any:
    """The generator that does the work: Haystack's own, where it stands behind one of plait's."""
    return generator.guest if isinstance(generator, GuestGenerator) else generator


def _hear(callback: Callable[[StreamingChunk], None]) -> Callable[[Any], None]:
    return lambda chunk: callback(StreamingChunk.from_dict(chunk.to_dict()))


def _given(messages: list[ChatMessage], tools: Any) -> dict[str, Any]:
    from haystack.dataclasses import (  # there is a generator of its
        ChatMessage as Theirs,  # pyright: ignore[reportMissingImports]
    )

    made: Any = Theirs
    theirs = [made.from_dict(message.to_dict()) for message in messages]
    return {
        "messages": theirs,
        "tools": [_their_tool(tool) for tool in flatten_tools_or_toolsets(tools)],
    }


def _their_tool(tool: Tool) -> Any:
    from haystack.tools import Tool as Theirs  # pyright: ignore[reportMissingImports]

    made: Any = Theirs
    return made(**tool.tool_spec, function=tool.function)


def _replies(outputs: Any) -> dict[str, Any]:
    return {"replies": [own_message(reply) for reply in outputs["replies"]]}


def own_message(message: Any) -> ChatMessage:
    """A message of plait's, which one of Haystack's becomes.

    Raises:
        InvalidInputError: It is neither.
    """
    if isinstance(message, ChatMessage):
        return message
    if is_their_message(message):
        return ChatMessage.from_dict(message.to_dict())
    raise InvalidInputError(
        f"An agent takes messages, not {message!r:.200}. Make them with ChatMessage.from_user and "
        "its like."
    )


def own_messages(messages: Any) -> list[ChatMessage]:
    """A conversation in messages of plait's.

    Raises:
        InvalidInputError: It is none.
    """
    if isinstance(messages, (str, Mapping)) or not isinstance(messages, Iterable):
        raise InvalidInputError(f"An agent takes a list of messages, not {messages!r:.200}.")
    return [own_message(message) for message in cast("Iterable[Any]", messages)]


def is_their_message(value: Any) -> bool:
    """Whether a value is a message of Haystack itself."""
    return _is_theirs(value, "ChatMessage")


def own(value: Any, kind: Any) -> Any:
    """A breakpoint or snapshot of plait's, which one of Haystack's becomes; others as they are."""
    return kind.from_dict(value.to_dict()) if _is_theirs(value, kind.__name__) else value


def _is_theirs(value: Any, name: str) -> bool:
    return type(value).__name__ == name and _is_of(type(value))


def _is_of(kind: Any) -> bool:
    return kind.__module__.startswith("haystack.")


def own_tools(tools: Any) -> Any:
    """Tools of plait's, which those of Haystack become; a Toolset stays one."""
    if tools is None or isinstance(tools, (Toolset, str)) or not hasattr(tools, "__iter__"):
        return tools
    if _is_toolset(tools):
        return GuestToolset.of(tools)
    made = [_own_tool(tool) for tool in tools]
    if all(own is given for own, given in zip(made, tools, strict=True)):
        return tools  # the program may add to its list later
    return made if isinstance(tools, (list, tuple)) else Toolset(flatten_tools_or_toolsets(made))


class GuestTool(Tool):
    """A tool of a class of Haystack's own, such as a component or a pipeline as a tool."""

    guest: Any

    @classmethod
    def of(cls, guest: Any) -> Tool:
        """The tool; a plain one is a plain one here, too."""
        is_plain = type(guest).__name__ == "Tool"
        made = (Tool if is_plain else cls)(
            name=guest.name,
            description=guest.description,
            parameters=guest.parameters,
            function=guest.function,
            outputs_to_string=guest.outputs_to_string,
            inputs_from_state=guest.inputs_from_state,
            outputs_to_state=guest.outputs_to_state,
        )
        if isinstance(made, GuestTool):
            made.guest = guest
        return made

    def warm_up(self) -> None:
        """Get what is behind the tool ready."""
        self.guest.warm_up()

    def to_dict(self) -> dict[str, Any]:
        """As plain data, which only Haystack reads."""
        return self.guest.to_dict()


class GuestToolset(Toolset):
    """A set of tools of Haystack's, which may know its tools only when it is warm."""

    guest: Any

    @classmethod
    def of(cls, guest: Any) -> Toolset:
        """The set, with its tools as they are now."""
        made = cls([_own_tool(one) for one in guest])
        made.guest = guest
        return made

    def warm_up(self) -> None:
        """Get ready what the tools share."""
        self.guest.warm_up()
        self.tools = [_own_tool(one) for one in self.guest]


def _own_tool(tool: Any) -> Any:
    if is_haystack_tool(tool):
        return GuestTool.of(tool)
    return GuestToolset.of(tool) if _is_toolset(tool) else tool


def _is_toolset(value: Any) -> bool:
    return any(base.__name__ == "Toolset" and _is_of(base) for base in type(value).__mro__)


__all__ = [
    "AsyncGuestGenerator",
    "GuestGenerator",
    "is_their_message",
    "own",
    "own_message",
    "own_messages",
    "own_tools",
    "worker_of",
]
