"""What an agent asks a person about an action, and what the person answers."""

from typing import Any, Literal

from typing_extensions import TypedDict


class HumanInterruptConfig(TypedDict):
    """Which answers are open to the person."""

    allow_ignore: bool
    """The action may be skipped."""
    allow_respond: bool
    """A text may be given back instead."""
    allow_edit: bool
    """The action may be changed."""
    allow_accept: bool
    """The action may be taken as it is."""


class ActionRequest(TypedDict):
    """The action that an agent wants to take."""

    action: str
    """Its name, such as that of a tool."""
    args: dict[str, Any]
    """Its arguments by name."""


class HumanInterrupt(TypedDict):
    """The value of an `interrupt()` that asks a person about an action.

    >>> HumanInterrupt(
    ...     action_request=ActionRequest(action="rm", args={"path": "a"}),
    ...     config=HumanInterruptConfig(
    ...         allow_ignore=True, allow_respond=False, allow_edit=False, allow_accept=True
    ...     ),
    ...     description="Delete it?",
    ... )["action_request"]
    {'action': 'rm', 'args': {'path': 'a'}}
    """

    action_request: ActionRequest
    config: HumanInterruptConfig
    description: str | None


class HumanResponse(TypedDict):
    """What the person answers."""

    type: Literal["accept", "ignore", "response", "edit"]
    args: str | ActionRequest | None
    """None of "accept" and "ignore", a text of "response", the changed action of "edit"."""


__all__ = ["ActionRequest", "HumanInterrupt", "HumanInterruptConfig", "HumanResponse"]
