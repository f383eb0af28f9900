"""`LLMToolSelectorMiddleware`: a model picks the tools that another one is shown."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.internal_call_transformer import (
    InternalCallTransformer,
    internal_call,
)
from plait.agents.middleware.named_tools import names_of
from plait.agents.middleware.options import check_counts, check_limits, check_texts
from plait.agents.middleware.requests import ModelRequest, ModelResponse
from plait.chat_models.guests import as_chat_model
from plait.errors import InvalidValueError, nearest
from plait.messages import HumanMessage, SystemMessage
from plait.messages.foreign import kind_of

_CALL = internal_call("tool_selection")

DEFAULT_SYSTEM_PROMPT = "Pick the tools that help most with what the user asks for."

OnParsingFailure: TypeAlias = (
    Literal["error", "none", "all"] | list[str] | Callable[[Any], list[str]]
)
"""Which tools are shown where the answer was no selection."""


class _Choice(NamedTuple):
    """What the model that selects is asked."""

    model: Any
    messages: list[Any]
    names: list[str]


class LLMToolSelectorMiddleware(AgentMiddleware[Any, Any, Any]):
    """Shows the agent's model only the tools that a model picks for the user's last message.

    Args:
        model: "provider:name", or the chat model that picks; by default the agent's.
        system_prompt: What it is told to do.
        max_tools: How many it may pick (None: any number); of more, the first count.
        always_include: Names of tools that are always shown, and do not count.
        max_retries: How often it is asked again when its answer is no selection.
        on_parsing_failure: Which tools are shown then: an error ("error"), "none", "all", these,
            or those that a function of the last answer names. `max_tools` does not bound them.

    Raises:
        ConfigError: A number is negative, or an option is no such thing.

    >>> LLMToolSelectorMiddleware(max_tools=3).max_tools
    3
    """

    transformers = (InternalCallTransformer,)

    def __init__(
        self,
        *,
        model: Any = None,
        system_prompt: str = DEFAULT_SYSTEM_PROMPT,
        max_tools: int | None = None,
        always_include: list[str] | None = None,
        max_retries: int = 1,
        on_parsing_failure: OnParsingFailure = "error",
    ) -> None:
        check_counts(max_retries=max_retries)
        check_limits(max_tools=max_tools)
        check_texts(system_prompt=system_prompt)
        names_of(always_include or (), "always_include")
        self.model: Any = None if model is None else as_chat_model(model)
        self.system_prompt = system_prompt
        self.max_tools = max_tools
        self.always_include = [getattr(one, "name", one) for one in always_include or ()]
        self.max_retries = max_retries
        self.on_parsing_failure = on_parsing_failure

    @property
    def tools_by_option(self) -> Mapping[str, Collection[str]]:
        """By option, the names of tools that it was given."""
        return {"always_include": self.always_include}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Let a model pick, then call the agent's with what it picked."""
        choice = self._choice(request)
        if choice is None:
            return handler(request)
        chooser = choice.model.with_structured_output(self._schema(request, choice.names))
        answer: Any = None
        for _ in range(self.max_retries + 1):
            answer = chooser.invoke(choice.messages, _CALL)
            if _names_in(answer) is not None:
                break
        return handler(self._narrowed(request, choice.names, answer))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The async twin of `wrap_model_call`."""
        choice = self._choice(request)
        if choice is None:
            return await handler(request)
        chooser = choice.model.with_structured_output(self._schema(request, choice.names))
        answer: Any = None
        for _ in range(self.max_retries + 1):
            answer = await chooser.ainvoke(choice.messages, _CALL)
            if _names_in(answer) is not None:
                break
        return await handler(self._narrowed(request, choice.names, answer))

    def _choice(self, request: ModelRequest[Any]) -> _Choice | None:
        """What is asked; None where there is nothing to pick.

        Raises:
            InvalidValueError: A tool that is always to be shown is none of the agent's, or there
                is no message of the user.
        """
        known = [one.name for one in request.tools if not isinstance(one, Mapping)]
        for name in self.always_include if known else ():
            if name not in known:
                raise InvalidValueError(
                    f"always_include names {name!r}, which is no tool of the agent. "
                    f"{nearest(name, known)}"
                )
        names = [name for name in known if name not in self.always_include]
        if not names:
            return None
        asked = next((one for one in reversed(request.messages) if kind_of(one) == "human"), None)
        if asked is None:
            raise InvalidValueError(
                "LLMToolSelectorMiddleware picks tools for the user's last message, and the "
                "conversation has none."
            )
        prompt = self.system_prompt
        if self.max_tools is not None:
            prompt += f"\nPick at most {self.max_tools}, the most useful first; more do not count."
        model = self.model if self.model is not None else request.model
        return _Choice(model, [SystemMessage(prompt), HumanMessage(asked.content)], names)

    def _schema(self, request: ModelRequest[Any], names: Sequence[str]) -> dict[str, Any]:
        """The JSON schema of a selection: names out of those there are, each with its purpose."""
        tools = {one.name: one for one in request.tools if not isinstance(one, Mapping)}
        options = [{"const": name, "description": tools[name].description} for name in names]
        return {
            "title": "ToolSelectionResponse",  # as LangChain has it: scripted models answer by it
            "description": "The tools to use.",
            "type": "object",
            "properties": {
                "tools": {
                    "type": "array",
                    "items": {"anyOf": options},
                    "description": "Names of tools, the most useful first.",
                }
            },
            "required": ["tools"],
        }

    def _narrowed(
        self, request: ModelRequest[Any], names: Sequence[str], answer: Any
    ) -> ModelRequest[Any]:
        """The request with the tools that were picked, those always shown, and the provider's own.

        Raises:
            InvalidValueError: The answer is no selection, or names a tool that is not there.
        """
        made = _names_in(answer)
        picked = self._instead(answer, names) if made is None else made
        for name in picked:
            if name not in names and name not in self.always_include:
                raise InvalidValueError(
                    f"Tool {name!r} was picked, which is none of the agent's. "
                    f"{nearest(name, names)}"
                )
        if made:  # what is shown anyway does not count
            picked = [name for name in dict.fromkeys(picked) if name in names][: self.max_tools]
        own: list[Any] = [one for one in request.tools if isinstance(one, Mapping)]
        tools = [one for one in request.tools if not isinstance(one, Mapping)]
        always = [one for one in tools if one.name in self.always_include]
        shown = [one for one in tools if one.name in picked and one not in always]
        return request.override(tools=[*shown, *always, *own])

    def _instead(self, answer: Any, names: Sequence[str]) -> list[str]:
        """The names of the tools that are shown where there is no selection."""
        policy = self.on_parsing_failure
        if callable(policy):
            return list(policy(answer))
        if not isinstance(policy, str):
            return list(policy)
        if policy in ("none", "all"):
            return list(names) if policy == "all" else []
        raise InvalidValueError(
            f"The model that picks tools answered {answer!r:.200} instead of a dict with a list "
            "of 'tools'. Say what to do then by on_parsing_failure, or take another model."
        )


def _names_in(answer: Any) -> list[str] | None:
    """The names in a selection; None if it is none."""
    found: Any = cast("Any", answer).get("tools") if isinstance(answer, Mapping) else None
    return cast("list[str]", found) if isinstance(found, list) else None


__all__ = ["DEFAULT_SYSTEM_PROMPT", "LLMToolSelectorMiddleware", "OnParsingFailure"]
