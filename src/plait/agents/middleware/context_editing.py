"""`ContextEditingMiddleware`: what the model reads is pruned; the conversation itself stays."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.named_tools import names_of
from plait.agents.middleware.options import (
    check_counts,
    check_functions,
    check_list,
    check_numbers,
    check_texts,
)
from plait.agents.middleware.requests import ModelRequest, ModelResponse
from plait.errors import ConfigError, ConfigTypeError, nearest
from plait.messages import AIMessage, ToolMessage
from plait.messages.foreign import kind_of
from plait.messages.tokens import count_tokens_approximately

TokenCounter = Callable[[Sequence[Any]], int]
DEFAULT_TOOL_PLACEHOLDER = "[cleared]"
COUNTS = ("approximate", "model")
_MARK = "context_editing"
"""Under this key of its `response_metadata` a message says how it was edited."""


class ContextEdit(Protocol):
    """What prunes messages. They are copies: it may change them and their list."""

    def apply(self, messages: list[Any], *, count_tokens: TokenCounter) -> None:
        """Prune the messages, in place."""
        ...


@dataclass(slots=True)
class ClearToolUsesEdit:
    """Clears the results of old tool calls once the messages get long.

    Args:
        trigger: how many tokens the messages may have before anything is cleared.
        clear_at_least: how many tokens to clear, oldest results first (0: all that may be).
        keep: how many of the newest results stay.
        clear_tool_inputs: also clear the arguments of the calls.
        exclude_tools: the tools whose results stay.
        placeholder: what is put in place of a result.

    >>> call = {"name": "search", "args": {"query": "q"}, "id": "1"}
    >>> messages = [AIMessage("", tool_calls=[call]), ToolMessage("long " * 99, tool_call_id="1")]
    >>> ClearToolUsesEdit(trigger=50, keep=0).apply(messages, count_tokens=lambda found: 100)
    >>> messages[1].content
    '[cleared]'
    """

    trigger: int = 100_000
    clear_at_least: int = 0
    keep: int = 3
    clear_tool_inputs: bool = False
    exclude_tools: Sequence[str] = ()
    placeholder: str = DEFAULT_TOOL_PLACEHOLDER

    def __post_init__(self) -> None:
        names_of(self.exclude_tools, "exclude_tools")
        check_counts(keep=self.keep)
        check_numbers(trigger=self.trigger, clear_at_least=self.clear_at_least)
        check_texts(placeholder=self.placeholder)

    def apply(self, messages: list[Any], *, count_tokens: TokenCounter) -> None:
        """Clear results, in place of the list; a cleared message is a new one."""
        tokens = count_tokens(messages)
        if tokens <= self.trigger:
            return
        results = [at for at, message in enumerate(messages) if kind_of(message) == "tool"]
        for at in results[: -self.keep] if self.keep else results:
            asked = _asked(messages, at)
            if asked is None or not self._may_clear(messages[at], messages[asked]):
                continue
            messages[at] = self._cleared(messages[at])
            if self.clear_tool_inputs:
                messages[asked] = _without_args(messages[asked], messages[at].tool_call_id)
            if self.clear_at_least and tokens - count_tokens(messages) >= self.clear_at_least:
                return

    def _may_clear(self, result: ToolMessage, asked: AIMessage) -> bool:
        if result.response_metadata.get(_MARK, {}).get("cleared"):
            return False
        return (result.name or _call_of(asked, result)["name"]) not in self.exclude_tools

    def _cleared(self, result: ToolMessage) -> ToolMessage:
        mark = {"cleared": True, "strategy": "clear_tool_uses"}
        return result.model_copy(
            update={
                "artifact": None,
                "content": self.placeholder,
                "response_metadata": {**result.response_metadata, _MARK: mark},
            }
        )


class ContextEditingMiddleware(AgentMiddleware[Any, Any, Any]):
    """Prunes the messages that go to the model, once they get long.

    Args:
        edits: what prunes them, in this order (default: one `ClearToolUsesEdit`).
        token_count_method: "approximate" estimates; "model" asks the model, for the system message
            and the tools as well.
        token_counter: counts the tokens of messages, in place of these.

    Raises:
        ConfigError: An unknown way to count, or something that cannot edit.

    >>> ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=2_000)]).edits[0].keep
    3
    """

    def __init__(
        self,
        *,
        edits: Iterable[ContextEdit] | None = None,
        token_count_method: Literal["approximate", "model"] = "approximate",
        token_counter: TokenCounter | None = None,
    ) -> None:
        super().__init__()
        if token_count_method not in COUNTS:
            raise ConfigError(
                f"Unknown token_count_method {token_count_method!r}. "
                f"{nearest(token_count_method, COUNTS)}"
            )
        check_functions(token_counter=token_counter)
        self.edits = [ClearToolUsesEdit()] if edits is None else _checked(edits)
        self.token_count_method = token_count_method
        self.token_counter = token_counter

    @property
    def tools_by_option(self) -> Mapping[str, Collection[str]]:
        """By option, the names of tools that it was given."""
        return {
            "exclude_tools": [
                name
                for edit in self.edits
                if isinstance(edit, ClearToolUsesEdit)
                for name in names_of(edit.exclude_tools, "exclude_tools")
            ]
        }

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Call the model with fewer words."""
        return handler(self._edited(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The async twin of `wrap_model_call`."""
        return await handler(self._edited(request))

    def _edited(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if not request.messages:
            return request
        # An edit of the user's may change messages; ours replaces them.
        ours = all(isinstance(edit, ClearToolUsesEdit) for edit in self.edits)
        messages = list(request.messages) if ours else deepcopy(request.messages)
        for edit in self.edits:
            edit.apply(messages, count_tokens=self._counter(request))
        return request.override(messages=messages)

    def _counter(self, request: ModelRequest[Any]) -> TokenCounter:
        if self.token_counter is not None:
            return self.token_counter
        if self.token_count_method == "approximate":
            return count_tokens_approximately
        system = [] if request.system_message is None else [request.system_message]
        count = request.model.get_num_tokens_from_messages
        return lambda messages: count([*system, *messages], request.tools)


def _checked(edits: Any) -> list[ContextEdit]:
    check_list("edits", edits, "edits")
    given: list[Any] = [*edits]
    for one in given:
        if isinstance(one, type) or not callable(getattr(one, "apply", None)):
            raise ConfigTypeError(
                f"edits has {one!r:.200}, which is no edit: give objects with a method apply(), "
                "such as ClearToolUsesEdit()."
            )
    return given


def _asked(messages: Sequence[Any], at: int) -> int | None:
    """The place of the message whose tool call a result answers."""
    wanted = messages[at].tool_call_id
    for place in range(at - 1, -1, -1):
        message = messages[place]
        if kind_of(message) == "ai":
            found = any(call["id"] == wanted for call in message.tool_calls)
            return place if found else None
    return None


def _call_of(asked: AIMessage, result: ToolMessage) -> Any:
    return next(call for call in asked.tool_calls if call["id"] == result.tool_call_id)


def _without_args(asked: AIMessage, call_id: str) -> AIMessage:
    """The message with empty arguments of one call."""
    cleared = asked.response_metadata.get(_MARK, {}).get("cleared_tool_inputs", [])
    mark = {"cleared_tool_inputs": [*cleared, call_id]}
    return asked.model_copy(
        update={
            "response_metadata": {**asked.response_metadata, _MARK: mark},
            "tool_calls": [
                {**call, "args": {}} if call["id"] == call_id else call for call in asked.tool_calls
            ],
        }
    )


__all__ = ["ClearToolUsesEdit", "ContextEditingMiddleware"]
