"""`LLMToolEmulator`: a model plays the tools, so that an agent can be tried out without them."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.internal_call_transformer import (
    InternalCallTransformer,
    internal_call,
)
from plait.agents.middleware.named_tools import names_of
from plait.chat_models.guests import as_chat_model
from plait.errors import ConfigError
from plait.messages import HumanMessage, ToolMessage
from plait.prebuilt.tool_node import ToolCallRequest
from plait.types import Command

_CALL = internal_call("tool_emulation")

_PROMPT = """\
Play a tool: answer as it would, with made-up data that could be true.

Name: {name}
Description: {description}
Arguments: {args}

Give the result of the tool alone, without any comment."""


class LLMToolEmulator(AgentMiddleware[Any, Any, Any]):
    """Lets a model answer in place of tools, which do not run.

    Args:
        tools: which tools, by name or as objects (None: all).
        model: the model that plays them: a chat model or "provider:name".

    Raises:
        ConfigError: There is no model, or `tools` are none.

    >>> from plait.chat_models.fake import FakeListChatModel
    >>> sorted(LLMToolEmulator(tools=["search"], model=FakeListChatModel(responses=["x"])).emulated)
    ['search']
    """

    transformers = (InternalCallTransformer,)

    def __init__(self, *, tools: Sequence[Any] | None = None, model: Any = None) -> None:
        super().__init__()
        if model is None:
            raise ConfigError(
                "LLMToolEmulator needs the model that plays the tools: "
                "LLMToolEmulator(model='provider:name'), or a chat model."
            )
        self.model = as_chat_model(model)
        self.emulated = None if tools is None else names_of(tools, "tools")
        """The names of the tools that are played; None: all."""

    @property
    def emulate_all(self) -> bool:
        """Whether all tools are played."""
        return self.emulated is None

    @property
    def tools_to_emulate(self) -> set[str]:
        """The names of the tools that are played; none, where all are."""
        return set(self.emulated or ())

    @property
    def tools_by_option(self) -> Mapping[str, Collection[str]]:
        """By option, the names of tools that it was given."""
        return {"tools": self.emulated or ()}

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Ask the model in place of the tool."""
        if not self._plays(request):
            return handler(request)
        return _result(request, self.model.invoke([_asked(request)], _CALL))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """The async twin of `wrap_tool_call`."""
        if not self._plays(request):
            return await handler(request)
        return _result(request, await self.model.ainvoke([_asked(request)], _CALL))

    def _plays(self, request: ToolCallRequest) -> bool:
        return self.emulated is None or request.tool_call["name"] in self.emulated


def _asked(request: ToolCallRequest) -> HumanMessage:
    call = request.tool_call
    description = getattr(request.tool, "description", None) or "(none)"
    prompt = _PROMPT.format(name=call["name"], description=description, args=call["args"])
    return HumanMessage(prompt)


def _result(request: ToolCallRequest, said: Any) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(said.content, tool_call_id=str(call["id"]), name=call["name"])


__all__ = ["LLMToolEmulator"]
