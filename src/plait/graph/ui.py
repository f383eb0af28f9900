"""Messages for a user interface: components with props that nodes show, change and take away."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast

from typing_extensions import TypedDict

from plait.common.ids import new_id
from plait.errors import ConfigError
from plait.messages import AnyMessage
from plait.pregel.scope import TaskScope
from plait.scope import current_scope


class UIMessage(TypedDict):
    """A component to show."""

    type: Literal["ui"]
    id: str
    name: str
    """The component's name."""
    props: dict[str, Any]
    metadata: dict[str, Any]
    """Where it comes from (run, message) and whether its props were `merge`d."""


class RemoveUIMessage(TypedDict):
    """Takes a shown component away."""

    type: Literal["remove-ui"]
    id: str


AnyUIMessage: TypeAlias = UIMessage | RemoveUIMessage


def push_ui_message(
    name: str,
    props: dict[str, Any],
    *,
    id: str | None = None,
    metadata: dict[str, Any] | None = None,
    message: AnyMessage | None = None,
    state_key: str | None = "ui",
    merge: bool = False,
) -> UIMessage:
    """Show a component in the `custom` stream at once, and add it to the state.

    Args:
        name: the component's name.
        props: its props.
        id: the component; the same id again replaces it (default: a new one).
        metadata: added to what says which run it comes from.
        message: the message that it belongs to.
        state_key: the key of the state that takes it (see `ui_message_reducer`); None only
            streams it.
        merge: add `props` to those of the component that has this id.

    Raises:
        ConfigError: called outside of a running graph.
        InvalidUpdateError: the state has no such key.
    """
    scope = _scope("push_ui_message")
    config = scope.config()
    run_id = config.get("run_id")
    shown: UIMessage = {
        "type": "ui",
        "id": id or new_id(),
        "name": name,
        "props": props,
        "metadata": {
            "merge": merge,
            "run_id": None if run_id is None else str(run_id),
            "tags": config.get("tags"),
            "name": config.get("run_name"),
            **(metadata or {}),
        },
    }
    if message is not None and message.id:
        shown["metadata"]["message_id"] = message.id
    return cast("UIMessage", _show(scope, shown, state_key))


def delete_ui_message(id: str, *, state_key: str = "ui") -> RemoveUIMessage:
    """Take a component away, in the `custom` stream and in the state.

    Raises:
        ConfigError: called outside of a running graph.
        ValueError: when the super-step ends, and the state has no component of this id.
    """
    scope = _scope("delete_ui_message")
    return cast("RemoveUIMessage", _show(scope, {"type": "remove-ui", "id": id}, state_key))


def _scope(name: str) -> TaskScope:
    scope = current_scope.get()
    if not isinstance(scope, TaskScope):
        raise ConfigError(f"{name}() was called outside of a running graph (of a node).")
    return scope


def _show(scope: TaskScope, shown: AnyUIMessage, state_key: str | None) -> AnyUIMessage:
    scope.write_custom(shown)
    if state_key is not None:
        scope.push(state_key, shown)
    return shown


def ui_message_reducer(
    left: list[AnyUIMessage] | AnyUIMessage, right: list[AnyUIMessage] | AnyUIMessage
) -> list[AnyUIMessage]:
    """How a list of components takes new ones: by id, in place; a removal takes one out.

    Raises:
        ValueError: a removal of an id that is not there.

    >>> chart = {"type": "ui", "id": "1", "name": "chart", "props": {"x": 1}, "metadata": {}}
    >>> more = {**chart, "props": {"y": 2}, "metadata": {"merge": True}}
    >>> ui_message_reducer([chart], [more])[0]["props"]
    {'x': 1, 'y': 2}
    >>> ui_message_reducer([chart], [{"type": "remove-ui", "id": "1"}])
    []
    """
    shown = {message["id"]: message for message in _listed(left)}
    gone: set[str] = set()
    for message in _listed(right):
        name = message["id"]
        if message["type"] == "remove-ui":
            if name not in shown:
                raise ValueError(
                    "Attempting to delete an UI message with an ID that doesn't exist "
                    f"({name!r}). There are: {', '.join(map(repr, shown)) or 'none'}."
                )
            gone.add(name)
            continue
        gone.discard(name)
        before = shown.get(name)
        if message["metadata"].get("merge") and before is not None and before["type"] == "ui":
            props = {**before["props"], **message["props"]}
            message = cast("UIMessage", {**message, "props": props})
        shown[name] = message
    return [message for name, message in shown.items() if name not in gone]


def _listed(given: list[AnyUIMessage] | AnyUIMessage) -> list[AnyUIMessage]:
    return given if isinstance(given, list) else [given]


__all__ = [
    "AnyUIMessage",
    "RemoveUIMessage",
    "UIMessage",
    "delete_ui_message",
    "push_ui_message",
    "ui_message_reducer",
]
