"""`ChatPromptTemplate`: messages, message templates and placeholders, filled in together."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self, cast

from plait.common.lazy import lazily
from plait.errors import InvalidTemplateError
from plait.messages import AnyMessage, BaseMessage, get_buffer_string
from plait.prompt_values import ChatPromptValue
from plait.prompts.base import BasePromptTemplate
from plait.prompts.message import BaseMessagePromptTemplate
from plait.prompts.placeholder import MessagesPlaceholder
from plait.prompts.roles import (
    AIMessagePromptTemplate,
    BaseStringMessagePromptTemplate,
    ChatMessagePromptTemplate,
    HumanMessagePromptTemplate,
    SystemMessagePromptTemplate,
)
from plait.prompts.template_formats import PromptTemplateFormat


class UnknownMessageError(InvalidTemplateError, NotImplementedError):
    """Something among the messages of a chat prompt is none."""


class BaseChatPromptTemplate(BasePromptTemplate, init=False):
    """A prompt that is messages. A subclass defines `format_messages`."""

    @abstractmethod
    def format_messages(self, **kwargs: Any) -> list[Any]:
        """The messages with the values filled in."""

    async def aformat_messages(self, **kwargs: Any) -> list[Any]:
        """The async twin of `format_messages`."""
        return self.format_messages(**kwargs)

    def format(self, **kwargs: Any) -> str:
        """The messages as text."""
        return get_buffer_string(self.format_messages(**kwargs))

    async def aformat(self, **kwargs: Any) -> str:
        """The async twin of `format`."""
        return get_buffer_string(await self.aformat_messages(**kwargs))

    def format_prompt(self, **kwargs: Any) -> ChatPromptValue:
        """The messages as a prompt value."""
        return ChatPromptValue(self.format_messages(**kwargs))

    async def aformat_prompt(self, **kwargs: Any) -> ChatPromptValue:
        """The async twin of `format_prompt`."""
        return ChatPromptValue(await self.aformat_messages(**kwargs))

    def pretty_repr(self, html: bool = False) -> str:
        """The messages for people, with the names of variables in the place of values."""
        raise NotImplementedError(f"{type(self).__name__} has no text to show.")

    def pretty_print(self) -> None:
        """Print the messages for people."""
        print(self.pretty_repr())


class ChatPromptTemplate(BaseChatPromptTemplate):
    """A chat as a prompt: a Runnable from the values of its variables to messages.

    Args:
        messages: Each a message (kept as it is), a message template, a placeholder, a text (of a
            human), a pair of role and text, or a dict of `role` and `content`. The role
            "placeholder" makes an optional `MessagesPlaceholder`.
        template_format: How the texts are written: "f-string" or "mustache".
        values: The fields of `BasePromptTemplate`. `input_variables` come from the messages;
            `validate_template=True` checks given ones instead.

    Raises:
        InvalidTemplateError: A text cannot be read, or something is no message.

    >>> prompt = ChatPromptTemplate([
    ...     ("system", "You are {who}."), MessagesPlaceholder("said"), ("human", "{question}")
    ... ])
    >>> prompt.input_variables
    ['question', 'said', 'who']
    >>> value = prompt.invoke({"who": "Ann", "said": [("ai", "Hi!")], "question": "How are you?"})
    >>> [message.content for message in value.to_messages()]
    ['You are Ann.', 'Hi!', 'How are you?']
    """

    __plait_namespace__ = ("langchain", "prompts", "chat")

    messages: list[Any]
    validate_template: bool = False

    def __init__(
        self,
        messages: Sequence[Any],
        *,
        template_format: PromptTemplateFormat = "f-string",
        **values: Any,
    ) -> None:
        parts = [_part(message, template_format) for message in messages]
        names, optional = _variables(parts)
        ahead: dict[str, Any] = dict(values.get("partial_variables") or {})
        given = values.get("input_variables")
        if values.get("validate_template") and given is not None:
            _check_names(names, given)
        for name in optional:
            ahead.setdefault(name, [])
        types = {
            part.variable_name: list[AnyMessage]
            for part in parts
            if isinstance(part, MessagesPlaceholder)
        }
        values["input_types"] = {**types, **values.get("input_types", {})}
        values["partial_variables"] = ahead
        values["optional_variables"] = sorted(optional)
        values["input_variables"] = sorted(names.difference(ahead))
        super().__init__(messages=parts, **values)

    @property
    def _prompt_type(self) -> str:
        return "chat"

    @classmethod
    def from_messages(
        cls, messages: Sequence[Any], template_format: PromptTemplateFormat = "f-string"
    ) -> Self:
        """From messages, as the constructor takes them."""
        return cls(messages, template_format=template_format)

    @classmethod
    def from_template(cls, template: str, **kwargs: Any) -> Self:
        """A chat of one message of a human, from its text."""
        prompt = HumanMessagePromptTemplate.from_template(template, **kwargs)
        return cls([prompt])

    def format_messages(self, **kwargs: Any) -> list[Any]:
        """The messages with the values filled in.

        Raises:
            MissingVariablesError: A variable has no value.
        """
        values = self._with_partials(kwargs)
        out: list[Any] = []
        for part in self.messages:
            if isinstance(part, BaseMessage):
                out.append(part)
            else:
                out.extend(part.format_messages(**values))
        return out

    async def aformat_messages(self, **kwargs: Any) -> list[Any]:
        """The async twin of `format_messages`."""
        values = self._with_partials(kwargs)
        out: list[Any] = []
        for part in self.messages:
            if isinstance(part, BaseMessage):
                out.append(part)
            else:
                out.extend(await part.aformat_messages(**values))
        return out

    def partial(self, **kwargs: Any) -> Self:
        """The same chat with values of some variables given ahead."""
        return self._changed_copy(partial_variables={**self.partial_variables, **kwargs})

    def append(self, message: Any) -> None:
        """Add a message at the end, in place."""
        self.extend([message])

    def extend(self, messages: Sequence[Any]) -> None:
        """Add messages at the end, in place."""
        whole = self._changed_copy(messages=[*self.messages, *messages])
        vars(self).update(vars(whole))

    def __add__(self, other: Any) -> "ChatPromptTemplate":
        """This chat and more: another chat, a message, a text, or a sequence of them."""
        partials = dict(self.partial_variables)
        if isinstance(other, ChatPromptTemplate):
            partials.update(other.partial_variables)
            more = other.messages
        elif isinstance(other, _ONE_PART):
            more = [other]
        elif isinstance(other, (list, tuple)):
            more = list(cast("Sequence[Any]", other))
        else:
            raise UnknownMessageError(
                f"A chat prompt and {type(other).__name__} do not add. Add a chat prompt, a "
                "message, a text, or a list of them."
            )
        return ChatPromptTemplate([*self.messages, *more], partial_variables=partials)

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, index: int | slice) -> Any:
        """A message; of a slice, a chat of those messages."""
        if not isinstance(index, slice):
            return self.messages[index]
        kept = self.messages[index]
        names, _ = _variables(kept)
        ahead = {name: value for name, value in self.partial_variables.items() if name in names}
        return ChatPromptTemplate(kept, partial_variables=ahead)

    def pretty_repr(self, html: bool = False) -> str:
        """The messages for people, with the names of variables in the place of values."""
        return "\n\n".join(part.pretty_repr(html=html) for part in self.messages)


_ONE_PART = (str, BaseMessage, BaseMessagePromptTemplate, BaseChatPromptTemplate)


def _variables(parts: Sequence[Any]) -> tuple[set[str], set[str]]:
    """The names that messages need, and those of optional placeholders."""
    names: set[str] = set()
    optional: set[str] = set()
    for part in parts:
        if isinstance(part, MessagesPlaceholder) and part.optional:
            optional.add(part.variable_name)
            names.add(part.variable_name)
        elif isinstance(part, (BaseMessagePromptTemplate, BaseChatPromptTemplate)):
            names.update(part.input_variables)
    return names, optional


def _check_names(names: set[str], given: Sequence[str]) -> None:
    if names != set(given):
        raise InvalidTemplateError(
            f"Got mismatched input_variables. Expected: {sorted(names)}. Got: {list(given)}"
        )


_ROLES: dict[str, type[Any]] = {
    "human": HumanMessagePromptTemplate,
    "user": HumanMessagePromptTemplate,
    "ai": AIMessagePromptTemplate,
    "assistant": AIMessagePromptTemplate,
    "system": SystemMessagePromptTemplate,
}


def _part(message: Any, template_format: PromptTemplateFormat) -> Any:
    """A message, message template or chat prompt from what stands for one."""
    if isinstance(message, (BaseMessage, BaseMessagePromptTemplate, BaseChatPromptTemplate)):
        return message
    if isinstance(message, str):
        return HumanMessagePromptTemplate.from_template(message, template_format)
    if isinstance(message, dict):
        fields = cast("dict[str, Any]", message)
        if fields.keys() != {"role", "content"}:
            raise InvalidTemplateError(
                f"Expected dict to have exact keys 'role' and 'content'. Got: {fields}"
            )
        message = (fields["role"], fields["content"])
    if not isinstance(message, (tuple, list)):
        raise UnknownMessageError(
            f"Unsupported message type: {type(message)}. Give a message, a message template, a "
            "placeholder, a text, or a pair of role and text."
        )
    pair = cast("Sequence[Any]", message)
    if len(pair) != 2:
        raise InvalidTemplateError(f"Expected 2-tuple of (role, template), got {pair!r}")
    role, template = pair
    if role == "placeholder":
        return _placeholder(template)
    if not isinstance(role, str):
        return _of_class(role, template, template_format)
    kind = _ROLES.get(role)
    if kind is None:
        known = ", ".join(repr(known) for known in _ROLES)
        raise InvalidTemplateError(
            f"Unexpected message type: {role!r}. Use one of {known}, or 'placeholder'."
        )
    return kind.from_template(template, template_format)


def _of_class(kind: Any, template: Any, template_format: PromptTemplateFormat) -> Any:
    """From a class of messages, or of message templates, in the place of the role."""
    if isinstance(kind, type) and issubclass(kind, BaseStringMessagePromptTemplate):
        return kind.from_template(template, template_format)
    named = cast("Any", kind)
    role = getattr(named, "type", None)
    return _part((role if isinstance(role, str) else repr(named), template), template_format)


def _placeholder(template: Any) -> MessagesPlaceholder:
    if isinstance(template, str):
        return MessagesPlaceholder(_placeholder_name(template), optional=True)
    pair: Any = template
    if not isinstance(template, (list, tuple)) or len(pair) != 2:
        raise InvalidTemplateError(
            f"Unexpected arguments for a placeholder: {template!r}. Give '{{name}}', or "
            "['{name}', is_optional]."
        )
    name, optional = pair
    if not isinstance(optional, bool):
        raise InvalidTemplateError(f"Expected is_optional to be a boolean. Got: {optional!r}")
    return MessagesPlaceholder(_placeholder_name(name), optional=optional)


def _placeholder_name(text: Any) -> str:
    if not isinstance(text, str) or text[:1] != "{" or text[-1:] != "}":
        raise InvalidTemplateError(
            f"Invalid placeholder template: {text!r}. Expected a variable name surrounded by "
            "curly braces."
        )
    return text[1:-1]


__getattr__ = lazily(__name__, {"MessageLikeRepresentation": "plait.messages.convert"})

__all__ = [
    "AIMessagePromptTemplate",
    "BaseChatPromptTemplate",
    "BaseMessagePromptTemplate",
    "BaseStringMessagePromptTemplate",
    "ChatMessagePromptTemplate",
    "ChatPromptTemplate",
    "HumanMessagePromptTemplate",
    "MessagesPlaceholder",
    "SystemMessagePromptTemplate",
]
