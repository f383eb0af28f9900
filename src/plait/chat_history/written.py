"""Messages as the text that databases hold: JSON in the field's form, of what can be read again."""

from typing import Any

from plait.load import dumps, loads
from plait.messages import BaseMessage
from plait.messages.errors import InvalidMessageError
from plait.messages.foreign import is_message


def written(message: BaseMessage) -> str:
    """A message as text.

    Raises:
        InvalidMessageError: It is no message, or not all of it could be read again: one such text
            would hide all other messages of its session.
    """
    text = dumps(message)
    try:
        again: Any = loads(text)
    except (ValueError, NotImplementedError) as error:
        raise InvalidMessageError(
            f"A {type(message).__name__} cannot be kept in a chat history: it could not be read "
            f"again ({error}). Keep texts, numbers, lists and dicts in a message, of a class that "
            "plait knows."
        ) from error
    if not is_message(again):
        raise InvalidMessageError(
            f"A chat history keeps messages, not {message!r:.200}. Make messages of texts and "
            "dicts with convert_to_messages([...])."
        )
    return text


__all__ = ["written"]
