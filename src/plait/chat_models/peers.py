"""What of langchain_core deals in language, in chains of plait's: models, parsers and prompts.

They know messages and prompt values of their own kind only, so what comes in is made that. What
they give stays as it is: whatever of plait's comes next takes messages of langchain_core.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from plait.chat_models.guests import is_langchain_model
from plait.messages import BaseMessage
from plait.prompt_values import PromptValue, StringPromptValue
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig

_LANGUAGE = (
    ("langchain_core.language_models.base", "BaseLanguageModel"),
    ("langchain_core.output_parsers.base", "BaseLLMOutputParser"),
    ("langchain_core.prompts.base", "BasePromptTemplate"),
)
_INSIDE = ("bound", "first", "runnable")
"""Where a binding, a sequence, and a runnable with fallbacks have what is given the input."""


def adopted(thing: Any) -> Any:
    """A runnable of another library as a step of a chain.

    Args:
        thing: The runnable. One that does not deal in language stays as it is.
    """
    inner = thing
    while not isinstance(inner, _language()):
        name = next((name for name in _INSIDE if hasattr(inner, name)), None)
        if name is None or not type(inner).__module__.startswith("langchain_core."):
            return thing
        inner = getattr(inner, name)
    return PeerRunnable(thing)


def _language() -> tuple[type[Any], ...]:
    """The classes of what deals in language, as far as they are loaded."""
    return tuple(
        getattr(sys.modules[module], name) for module, name in _LANGUAGE if module in sys.modules
    )


class PeerRunnable(Runnable[Any, Any]):
    """A model, parser or prompt of langchain_core's that is given messages of its own kind.

    Args:
        guest: It, or what its `bind`, `with_retry` or `|` made of it.
    """

    def __init__(self, guest: Any) -> None:
        self.guest = guest

    def __repr__(self) -> str:
        return repr(self.guest)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "guest":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name == "bind_tools" and is_langchain_model(self.guest):
            from plait.chat_models.langchain import LangChainChatModel  # it is there

            return LangChainChatModel(self.guest).bind_tools
        return getattr(self.guest, name)

    # --- what it says about itself ---------------------------------------------------------------

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The name of the guest."""
        return self.guest.get_name(suffix, name=name)

    @property
    def InputType(self) -> Any:
        """That of the guest."""
        return self.guest.InputType

    @property
    def OutputType(self) -> Any:
        """That of the guest."""
        return self.guest.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """That of the guest."""
        return self.guest.get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> Any:
        """That of the guest."""
        return self.guest.get_output_schema(config)

    @property
    def config_specs(self) -> Any:
        """What can be configured in the guest."""
        return self.guest.config_specs

    def get_graph(self, config: RunnableConfig | None = None) -> Any:
        """The graph of the guest."""
        return self.guest.get_graph(config)

    # --- calls -----------------------------------------------------------------------------------

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Invoke the guest."""
        return self.guest.invoke(_theirs(input), config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Invoke the guest."""
        return await self.guest.ainvoke(_theirs(input), config, **kwargs)

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Stream the guest."""
        return self.guest.stream(_theirs(input), config, **kwargs)

    def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Stream the guest."""
        return self.guest.astream(_theirs(input), config, **kwargs)

    def transform(
        self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Transform with the guest."""
        return self.guest.transform(map(_theirs, input), config, **kwargs)

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Transform with the guest."""
        return self.guest.atransform((_theirs(each) async for each in input), config, **kwargs)


def _theirs(value: Any) -> Any:
    """What is given, with langchain_core's messages and prompt values in place of plait's."""
    from plait.chat_models.langchain import to_theirs  # it is there

    if isinstance(value, BaseMessage):
        return to_theirs([value])[0]
    if isinstance(value, PromptValue):
        values = import_module("langchain_core.prompt_values")
        if isinstance(value, StringPromptValue):
            return values.StringPromptValue(text=value.text)
        return values.ChatPromptValue(messages=to_theirs(value.to_messages()))
    if isinstance(value, Mapping):
        given = cast("Mapping[Any, Any]", value)
        changed = {key: _theirs(each) for key, each in given.items()}
        return changed if any(changed[key] is not given[key] for key in changed) else given
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        made = [_theirs(each) for each in items]
        return made if any(a is not b for a, b in zip(made, items, strict=True)) else items
    return value


__all__ = ["PeerRunnable", "adopted"]
