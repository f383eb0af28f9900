"""`ChatMessage` and the parts of its content, as Haystack's components exchange them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Self, TypeVar, cast

from plait.errors import InvalidValueError
from plait.haystack.errors import reading_part
from plait.haystack.images import ImageContent

Part = TypeVar("Part")


class ChatRole(str, Enum):  # noqa: UP042 (a StrEnum's str() is another)
    """Who says a message."""

    USER = "user"
    SYSTEM = "system"
    ASSISTANT = "assistant"
    TOOL = "tool"

    @staticmethod
    def from_str(string: str) -> ChatRole:
        """The role of this name.

        Raises:
            InvalidValueError: There is none.
        """
        try:
            return ChatRole(string)
        except ValueError:
            known = [role.value for role in ChatRole]
            raise InvalidValueError(
                f"Unknown chat role {string!r}. Roles are {', '.join(known)}."
            ) from None


@dataclass
class TextContent:
    """Text."""

    text: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TextContent:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            return cls(**data)


@dataclass
class ToolCall:
    """A tool that the model calls.

    Args:
        tool_name: Which tool.
        arguments: With what.
        id: What tells this call from others, if the model says so.
    """

    tool_name: str
    arguments: dict[str, Any]
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolCall:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            return cls(**data)


@dataclass
class ToolCallResult:
    """What came of a tool call.

    Args:
        result: What the model is told.
        origin: The call.
        error: Whether it failed.
    """

    result: str
    origin: ToolCall
    error: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolCallResult:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            return cls(data["result"], ToolCall.from_dict(data["origin"]), data["error"])


@dataclass
class ReasoningContent:
    """What the model thought before it answered.

    Args:
        reasoning_text: The thought.
        extra: What the provider adds.
    """

    reasoning_text: str
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ReasoningContent:
        """From plain data.

        Raises:
            InvalidValueError: It is damaged.
        """
        with reading_part(cls):
            return cls(**data)


Content = TextContent | ToolCall | ToolCallResult | ImageContent | ReasoningContent

_PARTS: dict[str, Any] = {
    "text": TextContent,
    "image": ImageContent,
    "reasoning": ReasoningContent,
    "tool_call": ToolCall,
    "tool_call_result": ToolCallResult,
}
"""The key of a part in a serialized message, and its class."""


_GONE = frozenset({"role", "content", "meta", "name"})
"""What messages of Haystack 1 were made of: programs that were written for them are told."""


@dataclass
class ChatMessage:
    """A message of a conversation.

    Made by `from_user`, `from_system`, `from_assistant` and `from_tool`.

    >>> ChatMessage.from_user("Hi!").text
    'Hi!'
    """

    _role: ChatRole
    _content: Sequence[Content]
    _name: str | None = None
    _meta: dict[str, Any] = field(default_factory=dict[str, Any])

    def __new__(cls, *args: Any, **given: Any) -> Self:
        if given and not _GONE.isdisjoint(given):
            raise TypeError(
                f"ChatMessage does not take {', '.join(sorted(_GONE & given.keys()))}: make a "
                "message by from_user(text), from_system(text), from_assistant(text, "
                "tool_calls=...) or from_tool(result, origin=...)."
            )
        return super().__new__(cls)

    def __len__(self) -> int:
        return len(self._content)

    @property
    def role(self) -> ChatRole:
        """Who says it."""
        return self._role

    @property
    def meta(self) -> dict[str, Any]:
        """What else is known about it: model, usage, and the like."""
        return self._meta

    @property
    def name(self) -> str | None:
        """The participant's name."""
        return self._name

    @property
    def texts(self) -> list[str]:
        """All texts."""
        return [part.text for part in self._all(TextContent)]

    @property
    def text(self) -> str | None:
        """The first text."""
        return texts[0] if (texts := self.texts) else None

    @property
    def tool_calls(self) -> list[ToolCall]:
        """All tools that it calls."""
        return self._all(ToolCall)

    @property
    def tool_call(self) -> ToolCall | None:
        """The first tool that it calls."""
        return self._first(ToolCall)

    @property
    def tool_call_results(self) -> list[ToolCallResult]:
        """All results of tool calls."""
        return self._all(ToolCallResult)

    @property
    def tool_call_result(self) -> ToolCallResult | None:
        """The first result of a tool call."""
        return self._first(ToolCallResult)

    @property
    def images(self) -> list[ImageContent]:
        """All images."""
        return self._all(ImageContent)

    @property
    def image(self) -> ImageContent | None:
        """The first image."""
        return self._first(ImageContent)

    @property
    def reasonings(self) -> list[ReasoningContent]:
        """All thoughts."""
        return self._all(ReasoningContent)

    @property
    def reasoning(self) -> ReasoningContent | None:
        """The first thought."""
        return self._first(ReasoningContent)

    def _all(self, kind: type[Part]) -> list[Part]:
        return [part for part in self._content if isinstance(part, kind)]

    def _first(self, kind: type[Part]) -> Part | None:
        return next((part for part in self._content if isinstance(part, kind)), None)

    def is_from(self, role: ChatRole | str) -> bool:
        """Whether someone of this role says it.

        Raises:
            InvalidValueError: There is no such role.
        """
        wanted = role if isinstance(role, ChatRole) else ChatRole.from_str(role)
        return self._role == wanted

    @classmethod
    def from_user(
        cls,
        text: str | None = None,
        meta: dict[str, Any] | None = None,
        name: str | None = None,
        *,
        content_parts: Sequence[TextContent | str | ImageContent] | None = None,
    ) -> ChatMessage:
        """A message of the user.

        Args:
            text: What the user says.
            meta: What else is known.
            name: The participant's name.
            content_parts: Texts and images, instead of `text`.

        Raises:
            InvalidValueError: Not exactly one of `text` and `content_parts`, or another part.
        """
        if text is None and content_parts is None:
            raise InvalidValueError("A user's message needs text or content_parts.")
        if content_parts is None:
            return cls(ChatRole.USER, [TextContent(cast("str", text))], name, meta or {})
        if text is not None:
            raise InvalidValueError("Give a user's message text or content_parts, not both.")
        parts = [TextContent(p) if isinstance(p, str) else p for p in content_parts]
        for part in cast("list[Any]", parts):
            if not isinstance(part, (TextContent, ImageContent)):
                raise InvalidValueError(f"A user's message holds texts and images, not {part!r}.")
        if not parts:
            raise InvalidValueError("A user's message holds at least one text or image.")
        return cls(ChatRole.USER, parts, name, meta or {})

    @classmethod
    def from_system(
        cls, text: str, meta: dict[str, Any] | None = None, name: str | None = None
    ) -> ChatMessage:
        """What the model is told about its task."""
        return cls(ChatRole.SYSTEM, [TextContent(text)], name, meta or {})

    @classmethod
    def from_assistant(
        cls,
        text: str | None = None,
        meta: dict[str, Any] | None = None,
        name: str | None = None,
        tool_calls: list[ToolCall] | None = None,
        *,
        reasoning: str | ReasoningContent | None = None,
    ) -> ChatMessage:
        """What the model says.

        Args:
            text: Its answer.
            meta: Model, usage, and the like.
            name: The participant's name.
            tool_calls: Tools that it calls.
            reasoning: What it thought.

        Raises:
            InvalidInputError: `reasoning` is something else.
        """
        content: list[Content] = []
        if isinstance(reasoning, str):
            reasoning = ReasoningContent(reasoning)
        if reasoning is not None:
            if not isinstance(cast("Any", reasoning), ReasoningContent):
                raise InvalidValueError(
                    f"reasoning is a text or ReasoningContent, not {type(reasoning).__name__}."
                )
            content.append(reasoning)
        if text is not None:
            content.append(TextContent(text))
        content.extend(tool_calls or ())
        return cls(ChatRole.ASSISTANT, content, name, meta or {})

    @classmethod
    def from_tool(
        cls,
        tool_result: str,
        origin: ToolCall,
        error: bool = False,
        meta: dict[str, Any] | None = None,
    ) -> ChatMessage:
        """What came of a tool call."""
        result = ToolCallResult(tool_result, origin, error)
        return cls(ChatRole.TOOL, [result], None, meta or {})

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        >>> ChatMessage.from_system("Be kind.").to_dict()["content"]
        [{'text': 'Be kind.'}]
        """
        return {
            "role": self._role.value,
            "meta": self._meta,
            "name": self._name,
            "content": [_part_to_dict(part) for part in self._content],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ChatMessage:
        """From plain data; a text instead of a list of parts will do.

        Raises:
            InvalidValueError: Role or content is missing or unknown.
        """
        if not isinstance(cast("Any", data), Mapping):
            raise InvalidValueError(f"A serialized message is a dict, not {data!r:.200}")
        name, meta = data.get("name", data.get("_name")), data.get("meta", data.get("_meta"))
        role = data.get("role", data.get("_role"))
        content = data.get("content", data.get("_content"))
        if role is None:
            raise InvalidValueError(
                f"A serialized message needs a 'role'. There are: {sorted(data)}."
            )
        if content is None:
            raise InvalidValueError(f"A serialized message needs 'content': {dict(data)!r:.200}")
        if isinstance(content, str):
            parts: Any = [TextContent(content)]
        elif isinstance(content, list):
            parts = [_part_from_dict(part) for part in cast("list[Any]", content)]
        else:
            raise InvalidValueError(
                f"The content of a message is a text or a list, not {content!r:.200}"
            )
        return cls(ChatRole.from_str(role), parts, name, meta or {})

    def to_openai_dict_format(self, require_tool_call_ids: bool = True) -> dict[str, Any]:
        """As OpenAI's chat API takes it.

        Args:
            require_tool_call_ids: Refuse tool calls without an id, as OpenAI does.

        Raises:
            InvalidValueError: It has no such form, or a tool call has no id.
        """
        from plait.haystack.openai_format import to_openai  # few need it

        return to_openai(self, require_tool_call_ids)

    @classmethod
    def from_openai_dict_format(cls, message: Mapping[str, Any]) -> ChatMessage:
        """From OpenAI's form.

        Raises:
            InvalidValueError: A field is missing or unknown.
        """
        from plait.haystack.openai_format import from_openai  # few need it

        return from_openai(message)


def _part_to_dict(part: Any) -> dict[str, Any]:
    if isinstance(part, TextContent):
        return {"text": part.text}
    key = next((key for key, kind in _PARTS.items() if isinstance(part, kind)), None)
    if key is None:
        raise InvalidValueError(
            f"A message holds texts, images, thoughts, tool calls and results, not {part!r}."
        )
    return {key: part.to_dict()}


def _part_from_dict(part: Any) -> Any:
    if isinstance(part, Mapping) and len(cast("Any", part)) == 1:
        ((key, value),) = cast("Mapping[str, Any]", part).items()
        if key == "text":
            return TextContent(value)
        if key in _PARTS:
            return _PARTS[key].from_dict(value)
    raise InvalidValueError(
        f"Unknown part of a message: {part!r:.200}. It is one of {', '.join(_PARTS)}."
    )


__all__ = [
    "ChatMessage",
    "ChatRole",
    "Content",
    "ReasoningContent",
    "TextContent",
    "ToolCall",
    "ToolCallResult",
]
