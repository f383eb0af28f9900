"""Who said what, for models of providers that ignore the names of messages: names in the text."""

import re
from collections.abc import Callable
from typing import Any, Literal, cast

from plait.errors import ConfigError
from plait.messages.convert import convert_to_messages
from plait.messages.foreign import kind_of
from plait.runnables.functions import RunnableLambda
from plait.runnables.sequence import RunnableSequence

AgentNameMode = Literal["inline"]

_NAMED = re.compile(r"\s*<name>.*?</name>\s*<content>(?P<content>.*)</content>\s*", re.DOTALL)


def with_agent_name(model: Any, agent_name_mode: AgentNameMode) -> Any:
    """A model that is told in the text who said what, and whose own text is freed of such marks.

    Args:
        model: A chat model, maybe with tools.
        agent_name_mode: "inline": `<name>agent</name><content>text</content>`.

    Raises:
        ConfigError: Another mode.
    """
    if agent_name_mode != "inline":
        raise ConfigError(f"Invalid agent name mode {agent_name_mode!r}: there is only 'inline'.")
    return RunnableSequence(
        RunnableLambda(_marked), model, RunnableLambda(remove_inline_agent_name)
    )


def add_inline_agent_name(message: Any) -> Any:
    """A message of a named agent with the name in its text; any other as it is.

    >>> from plait.messages import AIMessage
    >>> add_inline_agent_name(AIMessage("hi", name="ann")).content
    '<name>ann</name><content>hi</content>'
    """
    if kind_of(message) != "ai" or not message.name:
        return message

    def named(text: str) -> str:
        return f"<name>{message.name}</name><content>{text}</content>"

    return _with_text(message, named)


def remove_inline_agent_name(message: Any) -> Any:
    """A message without such marks in its text.

    >>> from plait.messages import AIMessage
    >>> remove_inline_agent_name(AIMessage("<name>ann</name><content>hi</content>")).content
    'hi'
    """

    def bare(text: str) -> str:
        found = _NAMED.fullmatch(text)
        return found["content"] if found else text

    return _with_text(message, bare) if kind_of(message) == "ai" else message


def _marked(given: Any) -> list[Any]:
    """The model's input as messages that say who speaks."""
    if hasattr(given, "to_messages"):
        given = given.to_messages()
    if isinstance(given, str):
        given = [given]
    return [add_inline_agent_name(one) for one in convert_to_messages(given)]


def _with_text(message: Any, change: Callable[[str], str]) -> Any:
    """The message with its text changed: the whole of it, or the first block of text."""
    content: Any = message.content
    if isinstance(content, str):
        changed: Any = change(content)
    else:
        blocks = cast("list[Any]", content)
        at = next((i for i, one in enumerate(blocks) if _text_of(one) is not None), None)
        if at is None:
            return message
        text = change(cast("str", _text_of(blocks[at])))
        block = text if isinstance(blocks[at], str) else {**blocks[at], "text": text}
        changed = [*blocks[:at], block, *blocks[at + 1 :]]
    return message if changed == content else message.model_copy(update={"content": changed})


def _text_of(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    is_text = isinstance(block, dict) and cast("dict[str, Any]", block).get("type") == "text"
    return cast("dict[str, Any]", block).get("text") if is_text else None


__all__ = [
    "AgentNameMode",
    "add_inline_agent_name",
    "remove_inline_agent_name",
    "with_agent_name",
]
