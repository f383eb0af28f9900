"""Message templates: a message of a role whose text, or blocks of content, are templates."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from plait.errors import InvalidTemplateError, MissingVariablesError
from plait.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage
from plait.messages.pretty import title_line
from plait.prompts.dict import DictPromptTemplate
from plait.prompts.image import ImagePromptTemplate
from plait.prompts.message import BaseMessagePromptTemplate
from plait.prompts.prompt import PromptTemplate
from plait.prompts.string import StringPromptTemplate
from plait.prompts.template_formats import PromptTemplateFormat

BlockTemplate = StringPromptTemplate | ImagePromptTemplate | DictPromptTemplate
"""What a block of a message's content can be made by."""


_OF_FILES = ("encoding", "partial_variables", "template_format")
"""What says how the text in a file is read."""


class BaseStringMessagePromptTemplate(BaseMessagePromptTemplate):
    """A message whose text is a template. A subclass defines `format`.

    Args:
        prompt: The template.
        additional_kwargs: Given to each message.
    """

    __plait_namespace__ = ("langchain", "prompts", "chat")

    prompt: StringPromptTemplate
    additional_kwargs: dict[str, Any] = {}  # noqa: RUF012 - a field, copied for each instance

    @classmethod
    def from_template(
        cls,
        template: str,
        template_format: PromptTemplateFormat = "f-string",
        partial_variables: Mapping[str, Any] | None = None,
        *,
        input_variables: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """From the text of the template.

        Args:
            template: The text.
            template_format: "f-string" or "mustache".
            partial_variables: Values that are known ahead.
            input_variables: Accepted for programs that give them; the text itself names them.
            kwargs: Further fields of the template (`additional_kwargs`).
        """
        del input_variables
        prompt = PromptTemplate.from_template(
            template, template_format=template_format, partial_variables=partial_variables
        )
        return cls(prompt=prompt, **kwargs)

    @classmethod
    def from_template_file(
        cls, template_file: str | Path, input_variables: Sequence[str] | None = None, **kwargs: Any
    ) -> Self:
        """From a file that holds the text of the template.

        Args:
            template_file: Its path.
            input_variables: Accepted for programs that give them; the text itself names them.
            kwargs: What `PromptTemplate.from_file` takes (`template_format`, `partial_variables`,
                `encoding`), and further fields of the template (`additional_kwargs`).
        """
        own = {key: kwargs.pop(key) for key in _OF_FILES if key in kwargs}
        return cls(prompt=PromptTemplate.from_file(template_file, **own), **kwargs)

    @property
    def input_variables(self) -> list[str]:
        """The names in the template."""
        return self.prompt.input_variables

    @abstractmethod
    def format(self, **kwargs: Any) -> Any:
        """The message with the values filled in."""

    async def aformat(self, **kwargs: Any) -> Any:
        """The async twin of `format`."""
        return self.format(**kwargs)

    def format_messages(self, **kwargs: Any) -> list[Any]:
        """The message with the values filled in, in a list."""
        return [self.format(**kwargs)]

    async def aformat_messages(self, **kwargs: Any) -> list[Any]:
        """The async twin of `format_messages`."""
        return [await self.aformat(**kwargs)]

    def pretty_repr(self, html: bool = False) -> str:
        """A title and the text for people."""
        role = type(self).__name__.replace("MessagePromptTemplate", " Message")
        return f"{title_line(role, bold=html)}\n\n{self.prompt.pretty_repr(html=html)}"


class ChatMessagePromptTemplate(BaseStringMessagePromptTemplate):
    """A message of a role of your own.

    >>> ChatMessagePromptTemplate.from_template("{x}", role="critic").format(x="no").role
    'critic'
    """

    role: str

    def format(self, **kwargs: Any) -> ChatMessage:
        """The message with the values filled in."""
        text = self.prompt.format(**kwargs)
        return ChatMessage(text, role=self.role, additional_kwargs=self.additional_kwargs)


class ContentMessagePromptTemplate(BaseStringMessagePromptTemplate):
    """A message whose content is a template, or a list of blocks that are."""

    prompt: StringPromptTemplate | list[Any]  # pyright: ignore[reportIncompatibleVariableOverride]
    _message: ClassVar[type[Any]]

    @classmethod
    def from_template(
        cls,
        template: str | Sequence[Any],
        template_format: PromptTemplateFormat = "f-string",
        partial_variables: Mapping[str, Any] | None = None,
        *,
        input_variables: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """From a text, or a list of texts, blocks of text, images and other blocks.

        Args:
            template: The text or the list.
            template_format: "f-string" or "mustache".
            partial_variables: Values that are known ahead; of a text only.
            input_variables: Accepted for programs that give them; the template itself names them.
            kwargs: Further fields of the template (`additional_kwargs`).

        Raises:
            InvalidTemplateError: It is none of these.
        """
        del input_variables
        if isinstance(template, str):
            return super().from_template(template, template_format, partial_variables, **kwargs)
        if not isinstance(template, (list, tuple)):
            raise InvalidTemplateError(f"Invalid template: {template!r}. Give a text or a list.")
        if partial_variables:
            raise InvalidTemplateError(
                "Partial variables are not supported for list of templates: give them to the "
                "whole prompt."
            )
        blocks = [_block(block, template_format) for block in cast("Sequence[Any]", template)]
        return cls(prompt=blocks, **kwargs)

    @property
    def input_variables(self) -> list[str]:
        """The names in the template, or in its blocks."""
        if not isinstance(self.prompt, list):
            return self.prompt.input_variables
        blocks = cast("list[BlockTemplate]", self.prompt)
        return [name for block in blocks for name in block.input_variables]

    def format(self, **kwargs: Any) -> Any:
        """The message with the values filled in."""
        content: Any
        if isinstance(self.prompt, list):
            blocks = cast("list[BlockTemplate]", self.prompt)
            filled = (_filled(block, kwargs) for block in blocks)
            content = [block for block in filled if block is not None]
        else:
            content = self.prompt.format(**kwargs)
        if self.additional_kwargs:
            return self._message(content, additional_kwargs=self.additional_kwargs)
        return self._message(content)

    def pretty_repr(self, html: bool = False) -> str:
        """A title and the content for people."""
        if not isinstance(self.prompt, list):
            return super().pretty_repr(html)
        role = type(self).__name__.replace("MessagePromptTemplate", " Message")
        blocks = [block.pretty_repr(html=html) for block in self.prompt]
        return "\n\n".join([title_line(role, bold=html), *blocks])


class HumanMessagePromptTemplate(ContentMessagePromptTemplate):
    """What a human says.

    >>> HumanMessagePromptTemplate.from_template("Hi {name}").format(name="Ann").content
    'Hi Ann'
    """

    _message = HumanMessage


class AIMessagePromptTemplate(ContentMessagePromptTemplate):
    """What a model says."""

    _message = AIMessage


class SystemMessagePromptTemplate(ContentMessagePromptTemplate):
    """What the system says."""

    _message = SystemMessage


def _block(block: Any, template_format: PromptTemplateFormat) -> BlockTemplate:
    if isinstance(block, str):
        return PromptTemplate.from_template(block, template_format=template_format)
    if not isinstance(block, dict):
        raise InvalidTemplateError(
            f"Invalid template: {block!r}. A block of content is a text or a dict."
        )
    fields = cast("dict[str, Any]", block)
    if isinstance(fields.get("text"), str) and fields.keys() <= {"type", "text"}:
        return PromptTemplate.from_template(fields["text"], template_format=template_format)
    if "image_url" in fields and fields.keys() <= {"type", "image_url"}:
        image = fields["image_url"]
        if isinstance(image, str):
            image = {"url": image}
        if not isinstance(image, dict):
            raise InvalidTemplateError(f"Invalid image template: {fields!r}. Give a url or a dict.")
        given = cast("dict[str, Any]", image)
        return ImagePromptTemplate(template=given, template_format=template_format)
    return DictPromptTemplate(template=fields, template_format=template_format)


def _filled(block: BlockTemplate, values: dict[str, Any]) -> dict[str, Any] | None:
    """A block with its values; None for an empty text, which providers refuse."""
    if missing := [name for name in block.input_variables if name not in values]:
        raise MissingVariablesError(
            f"A block of a message is missing variables {missing}. Received: {sorted(values)}. "
            "Give them to the prompt, or ahead of time to its `partial`."
        )
    wanted = {name: values[name] for name in block.input_variables}
    if isinstance(block, ImagePromptTemplate):
        return {"type": "image_url", "image_url": block.format(**wanted)}
    if isinstance(block, DictPromptTemplate):
        return block.format(**wanted)
    text = block.format(**wanted)
    return {"type": "text", "text": text} if text else None


__all__ = [
    "AIMessagePromptTemplate",
    "BaseStringMessagePromptTemplate",
    "ChatMessagePromptTemplate",
    "HumanMessagePromptTemplate",
    "SystemMessagePromptTemplate",
]
