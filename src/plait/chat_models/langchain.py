"""A chat model of LangChain's as plait's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from plait.chat_models.base import BaseChatModel
from plait.chat_models.language import LangSmithParams
from plait.chat_models.results import ChatGeneration, ChatGenerationChunk, ChatResult
from plait.errors import MissingExtraError
from plait.messages import AIMessageChunk, messages_from_dict, messages_to_dict
from plait.messages.foreign import is_foreign
from plait.runnables.base import Runnable

try:
    import langchain_core.messages as theirs  # pyright: ignore[reportMissingImports]
except ModuleNotFoundError as error:
    raise MissingExtraError(
        "Chat models of LangChain need its package langchain-core, which is not installed. Install "
        "it: pip install langchain-core."
    ) from error

THEIRS: Any = theirs
# plait tells its own handlers; those of a LangChain run around would hear everything twice.
SILENT: dict[str, Any] = {"callbacks": []}


class LangChainChatModel(BaseChatModel):
    """A chat model of LangChain's: asked by its public methods, with messages of its own kind.

    Args:
        guest: The model, or what its `bind_tools` and `bind` made of it.
    """

    def __init__(self, guest: Any, **fields: Any) -> None:
        super().__init__(**fields)
        self.guest = guest

    def __repr__(self) -> str:
        return f"LangChainChatModel({self.guest!r})"

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """The name of the guest."""
        return super().get_name(suffix, name=name or self.name or self.guest.get_name())

    @property
    def _llm_type(self) -> str:
        return getattr(self.guest, "_llm_type", "langchain")

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return self.guest._get_ls_params(stop, **kwargs)

    @property
    def profile(self) -> Any:
        """What the guest says that it can do."""
        return getattr(self.guest, "profile", None)

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(getattr(self.guest, "_identifying_params", {}))

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[Any, Any]:
        """The guest with tools; those of plait's go in as such that only describe."""
        foreign = [tool if _is_theirs(tool) else _their_tool(tool) for tool in tools]
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return LangChainChatModel(self.guest.bind_tools(foreign, **kwargs), name=self.name)

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = self.guest.invoke(to_theirs(messages), SILENT, stop=stop, **kwargs)
        return ChatResult([ChatGeneration(to_ours(answer))])

    async def _agenerate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = await self.guest.ainvoke(to_theirs(messages), SILENT, stop=stop, **kwargs)
        return ChatResult([ChatGeneration(to_ours(answer))])

    def _stream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self.guest.stream(to_theirs(messages), SILENT, stop=stop, **kwargs):
            yield ChatGenerationChunk(_chunk(chunk))

    async def _astream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in self.guest.astream(to_theirs(messages), SILENT, stop=stop, **kwargs):
            yield ChatGenerationChunk(_chunk(chunk))


def to_theirs(messages: Sequence[Any]) -> list[Any]:
    """Messages as LangChain's; those that are already stay as they are."""
    return [
        message
        if is_foreign(message)
        else THEIRS.messages_from_dict(messages_to_dict([message]))[0]
        for message in messages
    ]


def to_ours(message: Any) -> Any:
    """A message of LangChain's as plait's."""
    return messages_from_dict(THEIRS.messages_to_dict([message]))[0]


def _chunk(message: Any) -> Any:
    """A chunk of plait's; a model that does not stream gives one whole message."""
    ours = to_ours(message)
    if isinstance(ours, AIMessageChunk):
        return ours
    said = {k: v for k, v in ours.__plait_state__().items() if k != "content"}
    return AIMessageChunk(ours.content, **said)


def _their_tool(tool: Any) -> Any:
    """A tool of LangChain's with the schema of one of plait's.

    A dict would do for most models; some make more of a tool (ChatOpenAI: a strict schema, where
    the answer has to fit one).
    """
    from langchain_core.tools import StructuredTool  # pyright: ignore

    from plait.chat_models.wire import described  # loads pydantic

    about = described(tool)
    extras = getattr(tool, "extras", None)
    return StructuredTool(
        name=about["name"],
        description=about.get("description") or "",
        args_schema=about["parameters"],
        **({"extras": extras} if extras else {}),
    )


def _is_theirs(tool: Any) -> bool:
    return isinstance(tool, dict) or type(tool).__module__.startswith("langchain")


__all__ = ["LangChainChatModel"]
