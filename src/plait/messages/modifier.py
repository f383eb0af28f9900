"""`RemoveMessage`: asks the reducer `add_messages` to delete the message of an id."""

from typing import Any, Literal

from plait.messages.base import BaseMessage


class RemoveMessage(BaseMessage):
    """Asks `add_messages` to delete the message whose id it carries.

    >>> RemoveMessage("1").id
    '1'
    """

    __slots__ = ()
    type: Literal["remove"] = "remove"  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, id: str | None, **kwargs: Any) -> None:
        if kwargs.pop("content", None):
            raise ValueError("RemoveMessage does not support 'content' field.")
        super().__init__("", id=id, **kwargs)
