"""`BaseMessagePromptTemplate`: something that gives messages when variables are filled in."""

from abc import abstractmethod
from typing import Any

from plait.objects.abstract import Abstract
from plait.objects.fields import AnnotatedFields


class BaseMessagePromptTemplate(Abstract, AnnotatedFields, init=False):
    """What stands among the messages of a chat prompt. A subclass defines `format_messages`."""

    @property
    @abstractmethod
    def input_variables(self) -> list[str]:
        """The names it needs."""

    @abstractmethod
    def format_messages(self, **kwargs: Any) -> list[Any]:
        """The messages with the values filled in."""

    async def aformat_messages(self, **kwargs: Any) -> list[Any]:
        """The async twin of `format_messages`."""
        return self.format_messages(**kwargs)

    def pretty_repr(self, html: bool = False) -> str:
        """The messages for people."""
        raise NotImplementedError(f"{type(self).__name__} has no text to show.")

    def pretty_print(self) -> None:
        """Print the messages for people."""
        print(self.pretty_repr())

    def __add__(self, other: Any) -> Any:
        """A chat prompt of this and what follows."""
        from plait.prompts.chat import ChatPromptTemplate  # that module builds on this one

        return ChatPromptTemplate([self]) + other


__all__ = ["BaseMessagePromptTemplate"]
