"""Prompt values: what a prompt template gives, ready for a text model and for a chat model."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, cast

from plait.messages import AnyMessage, BaseMessage, HumanMessage, get_buffer_string
from plait.objects.abstract import Abstract
from plait.objects.model_face import ModelFace


class PromptValue(Abstract, ModelFace):
    """What a model can be asked with, as text or as messages."""

    __slots__ = ()

    @abstractmethod
    def to_string(self) -> str:
        """The prompt as text."""

    @abstractmethod
    def to_messages(self) -> list[Any]:
        """The prompt as messages."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        own: dict[str, Any] = {"title": cls.__name__, "type": "object"}
        fields = {name: schema for name, schema in _SCHEMAS.items() if hasattr(cls, name)}
        kind = getattr(cls, "type", None)
        if isinstance(kind, str):
            fields["type"] = {"const": kind, "type": "string"}
        required = [name for name in fields if name != "type"]
        return {**own, "properties": fields, "required": required} if fields else own

    def _values(self) -> dict[str, Any]:
        slots = (
            cast("Sequence[str]", vars(kind).get("__slots__", ())) for kind in type(self).__mro__
        )
        return {name: getattr(self, name) for names in slots for name in names}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == cast("PromptValue", other)._values()

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown(', ')})"

    def __str__(self) -> str:
        return self._shown(" ")

    def _shown(self, between: str) -> str:
        return between.join(f"{name}={value!r}" for name, value in self._values().items())


_SCHEMAS: dict[str, Any] = {
    "text": {"type": "string"},
    "messages": {"type": "array", "items": {"type": "object"}},
    "image_url": {"type": "object"},
}


class StringPromptValue(PromptValue):
    """A text.

    >>> StringPromptValue(text="hi").to_messages()[0].type
    'human'
    """

    __plait_namespace__ = ("langchain", "prompts", "base")

    __slots__ = ("text",)
    __plait_fields__ = ("text", "type")
    text: str
    type: Literal["StringPromptValue"] = "StringPromptValue"

    def __init__(self, text: str) -> None:
        self.text = text

    def to_string(self) -> str:
        """The text."""
        return self.text

    def to_messages(self) -> list[Any]:
        """The text as what a human says."""
        return [HumanMessage(self.text)]


class ChatPromptValue(PromptValue):
    """Messages.

    >>> ChatPromptValue(messages=[HumanMessage("hi")]).to_string()
    'Human: hi'
    """

    __plait_namespace__ = ("langchain", "prompts", "chat")

    __slots__ = ("messages",)
    __plait_fields__ = ("messages",)

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.messages = messages

    def to_string(self) -> str:
        """The messages as lines of text."""
        return get_buffer_string(self.messages)

    def to_messages(self) -> list[Any]:
        """The messages, in a new list."""
        return list(self.messages)


class ChatPromptValueConcrete(ChatPromptValue):
    """Messages of known kinds: what schemas name."""

    __slots__ = ()
    __plait_fields__ = ("messages", "type")
    type: Literal["ChatPromptValueConcrete"] = "ChatPromptValueConcrete"
    messages: Sequence[AnyMessage]


class ImageURL(TypedDict, total=False):
    """Where an image is, and how closely a model should look (`auto`, `low`, `high`)."""

    detail: Literal["auto", "low", "high"]
    url: str


class ImagePromptValue(PromptValue):
    """An image."""

    __plait_namespace__ = ("langchain", "schema", "prompt")

    __slots__ = ("image_url",)
    __plait_fields__ = ("image_url", "type")
    image_url: "ImageURL"
    type: Literal["ImagePromptValue"] = "ImagePromptValue"

    def __init__(self, image_url: ImageURL) -> None:
        self.image_url = image_url

    def to_string(self) -> str:
        """The address of the image."""
        return self.image_url.get("url", "")

    def to_messages(self) -> list[Any]:
        """The image as what a human shows."""
        return [HumanMessage([cast("dict[str, Any]", self.image_url)])]


__all__ = [
    "ChatPromptValue",
    "ChatPromptValueConcrete",
    "ImagePromptValue",
    "ImageURL",
    "PromptValue",
    "StringPromptValue",
]
