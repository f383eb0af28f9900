"""`MessagesPlaceholder`: a place for messages that are given when the prompt is used."""

from typing import Any

from plait.errors import InvalidTemplateError, InvalidValueError, MissingVariablesError
from plait.messages import convert_to_messages
from plait.messages.pretty import title_line
from plait.prompts.message import BaseMessagePromptTemplate
from plait.prompts.string import marked


class MessagesPlaceholder(BaseMessagePromptTemplate):
    """A place for messages: of a conversation, say.

    Args:
        variable_name: The name of the messages.
        optional: They may be left out.
        n_messages: Only so many are kept, the last ones.

    Raises:
        InvalidTemplateError: `variable_name` is no text, `optional` is neither True nor False, or
            `n_messages` is no whole number above 0.

    >>> MessagesPlaceholder("history", n_messages=1).format_messages(history=["a", "b"])[0].content
    'b'
    """

    __plait_namespace__ = ("langchain", "prompts", "chat")

    variable_name: str
    optional: bool = False
    n_messages: int | None = None

    def __init__(self, variable_name: str, *, optional: bool = False, **values: Any) -> None:
        super().__init__(variable_name=variable_name, optional=optional, **values)
        name: Any = variable_name
        if not isinstance(name, str):
            raise InvalidTemplateError(
                f"The name of a placeholder is text, not {name!r}. Pass variable_name='...'."
            )
        if optional not in (True, False):
            raise InvalidTemplateError(
                f"The placeholder {variable_name!r} has optional={optional!r}: pass True or False."
            )
        self.optional = bool(optional)
        if self.n_messages is not None:
            self.n_messages = _count(variable_name, self.n_messages)

    @property
    def input_variables(self) -> list[str]:
        """Its name, unless it is optional."""
        return [] if self.optional else [self.variable_name]

    def format_messages(self, **kwargs: Any) -> list[Any]:
        """The messages that were given; texts, tuples and dicts among them become messages.

        Raises:
            MissingVariablesError: None were given.
            InvalidValueError: What was given is no list.
        """
        name = self.variable_name
        if name not in kwargs and not self.optional:
            raise MissingVariablesError(
                f"The placeholder {name!r} needs messages. Given: {list(kwargs)}. Pass a list, or "
                "make the placeholder optional."
            )
        given: Any = kwargs.get(name, [])
        if not isinstance(given, list):
            raise InvalidValueError(
                f"variable {name} should be a list of base messages, got {given!r} of type "
                f"{type(given)}"
            )
        messages = convert_to_messages(given)
        return messages if self.n_messages is None else messages[-self.n_messages :]

    def pretty_repr(self, html: bool = False) -> str:
        """A title and the name."""
        shown = marked(self.variable_name) if html else f"{{{self.variable_name}}}"
        return f"{title_line('Messages Placeholder', bold=html)}\n\n{shown}"


def _count(name: str, given: Any) -> int:
    """How many messages a placeholder keeps, checked."""
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if not isinstance(given, int) or given < 1:
        raise InvalidTemplateError(
            f"The placeholder {name!r} keeps n_messages={given!r}: keep a whole number of messages "
            "that is at least 1, or leave n_messages out to keep all."
        )
    return int(given)


__all__ = ["MessagesPlaceholder"]
