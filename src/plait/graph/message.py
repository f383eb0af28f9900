"""`add_messages`: how a list of messages takes new ones. Also `MessagesState`.

The reducer never changes the list it is given. It assigns ids to message objects that have none, as
the peer does, so that a node's own object and the stored one go by one id.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, overload

from plait.common.ids import new_id
from plait.errors import ConfigError
from plait.messages import AnyMessage as AnyMessage
from plait.messages import BaseMessage as BaseMessage
from plait.messages.base import give_id, id_epoch
from plait.messages.convert import (
    MessageLikeRepresentation,
    convert_to_message,
    convert_to_messages,
    message_chunk_to_message,
)
from plait.messages.foreign import is_chunk
from plait.pregel.scope import TaskScope
from plait.scope import current_scope

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    class MessagesState(TypedDict):
        """A state with one key, `messages`, reduced by `add_messages`."""

        messages: Annotated[list[AnyMessage], add_messages]


Messages = list[MessageLikeRepresentation] | MessageLikeRepresentation
"""What `add_messages` takes: one thing that is made a message, or a list of them."""

REMOVE_ALL_MESSAGES = "__remove_all__"
"""The id of the `RemoveMessage` that deletes every message before it."""

Format = Literal["langchain-openai"] | None


@overload
def add_messages(left: Any, right: Any, *, format: Format = None) -> list[Any]: ...
@overload
def add_messages(*, format: Format = None) -> Callable[[Any, Any], list[Any]]: ...
def add_messages(left: Any = None, right: Any = None, *, format: Format = None) -> Any:
    """The messages of `left`, with those of `right` appended, or put where their id already stands.

    Args:
        left: The messages so far: a list (or a single one) of messages, dicts, pairs, strings.
        right: New messages, likewise. A `RemoveMessage` deletes the message of its id; one with the
            id `REMOVE_ALL_MESSAGES` deletes everything before it, also in `right`.
        format: "langchain-openai" gives contents in OpenAI's form.
    Returns:
        A new list; without `left` and `right`, a reducer with this `format`.
    Raises:
        ValueError: an unknown id is to be deleted, only one side is given, or `format` is unknown.
        MessageCoercionError: something is no message.

    >>> from plait.messages import AIMessage, HumanMessage, RemoveMessage
    >>> messages = add_messages([HumanMessage("hi", id="1")], AIMessage("hello", id="2"))
    >>> [m.text for m in add_messages(messages, [HumanMessage("hey", id="1"), RemoveMessage("2")])]
    ['hey']
    """
    if left is None and right is None:
        return partial(add_messages, format=format)
    if left is None or right is None:
        missing = "left" if left is None else "right"
        raise ValueError(
            f"Must specify non-null arguments for both 'left' and 'right', but {missing!r} is None."
        )
    if format not in (None, "langchain-openai"):
        raise ValueError(f"Unrecognized {format=}. Expected one of 'langchain-openai', None.")
    merged = merge(left, right)
    return in_openai_form(merged) if format else merged


def push_message(message: Any, *, state_key: str | None = "messages") -> AnyMessage:
    """Show a message in the `messages` stream at once, and add it to the state.

    Args:
        message: a message, or what can be made one; it must have an id, since the stream and the
            state must agree on which message it is.
        state_key: the key of the state that takes it; None only streams it.

    Returns:
        The message.

    Raises:
        ValueError: it has no id.
        ConfigError: called outside of a running graph.
        InvalidUpdateError: the state has no such key.
    """
    scope = current_scope.get()
    if not isinstance(scope, TaskScope):
        raise ConfigError("push_message() was called outside of a running graph (of a node).")
    whole = convert_to_message(message)
    if is_chunk(whole):
        whole = message_chunk_to_message(whole)
    if whole.id is None:
        raise ValueError(
            "Message ID is required: push_message() needs a message with an id, such as "
            "AIMessage('...', id='...')."
        )
    scope.write_message(whole, [], {})
    if state_key is not None:
        scope.push(state_key, whole)
    return cast("AnyMessage", whole)


def new_messages(given: Any) -> list[Any]:
    """What was given as messages: coerced, chunks made whole, ids assigned."""
    messages: list[Any] = [*given] if isinstance(given, list) else [given]
    if not WHOLE.issuperset(map(type, messages)):
        messages = [whole(message) for message in messages]
    for message in messages:
        if message.id is None:
            give_id(message, new_id())
    return messages


def whole(value: Any) -> Any:
    """A whole message, from whatever stands for one."""
    if value.__class__ in WHOLE:
        return value
    message = convert_to_message(value)
    if is_chunk(message):
        message = message_chunk_to_message(message)
    kind = message.__class__
    WHOLE.add(kind)
    if isinstance(message, BaseMessage) and getattr(kind, "type", "remove") != "remove":
        OWN.add(kind)
    return message


WHOLE: set[type[Any]] = set()
"""Classes of whole messages seen so far: their instances need no conversion."""
OWN: set[type[Any]] = set()
"""Those of them that are plait's own, and delete nothing."""


class Index:
    """Where each id stands in one list of messages: the newest result of a chain of appends.

    Reading 3,000 ids costs more than all else that an append does, so the index of a result is
    kept and grows with the next append. It is believed only while the list holds what it held (a
    comparison by identity, in C) and no message anywhere got another id meanwhile.

    A super-step may merge into one list several times: for path functions that look ahead, and to
    keep. So an index knows the list that it last grew from, and can go back to it.
    """

    __slots__ = ("base", "before", "epoch", "foreign", "messages", "places", "result")

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages
        self.places = {m.id: n for n, m in enumerate(messages)}
        self.foreign = not all(issubclass(c, BaseMessage) for c in set(map(type, messages)))
        self.epoch = id_epoch()
        self.result = messages
        self.base: list[Any] | None = None
        """The list that was appended to, if the result is nothing but that."""
        self.before = 0
        """How long it was."""

    def fits(self, left: list[Any]) -> bool:
        """Whether the index still tells where the ids of `left` stand."""
        if self.epoch != id_epoch():
            return False
        if left is self.base:
            self._shrink()
        elif left is not self.result:
            return False
        try:
            return self.messages == left
        except (TypeError, ValueError):
            # Somebody put other objects into the list, and they do not compare (numpy arrays).
            return False

    def _shrink(self) -> None:
        """Forgets what was appended last."""
        for message in self.messages[self.before :]:
            del self.places[message.id]
        del self.messages[self.before :]

    def grow_from(self, left: Any) -> None:
        """What is appended now is appended to `left`."""
        self.base, self.before = left, len(self.messages)

    def append(self, message: Any) -> None:
        """Notes one more message at the end."""
        self.foreign = self.foreign or not isinstance(message, BaseMessage)
        self.places[message.id] = len(self.messages)
        self.messages.append(message)

    def replace(self, place: int, message: Any) -> None:
        """Notes another message of the same id."""
        self.foreign = self.foreign or not isinstance(message, BaseMessage)
        self.messages[place] = message
        self.base = None


RECENT_LIMIT = 8
RECENT: OrderedDict[int, Index] = OrderedDict()
"""The indexes of the last few results, by the identity of the result (which each keeps alive)."""
BASES: dict[int, int] = {}
"""By the identity of the list that a result grew from: that of the result."""


def taken(left: Any) -> Index | None:
    """The index of an append that made the left side, or that was made to it before."""
    kept = RECENT.pop(BASES.get(id(left), id(left)), None)
    if kept is not None:
        BASES.pop(id(kept.base), None)
    return kept


def kept(index: Index) -> list[Any]:
    """A new list of what an index holds; keeps the index, if plait sees every change of an id."""
    result = index.messages.copy()
    if not index.foreign:
        index.result = result
        RECENT[id(result)] = index
        if index.base is not None:
            BASES[id(index.base)] = id(result)
        if len(RECENT) > RECENT_LIMIT:
            BASES.pop(id(RECENT.popitem(last=False)[1].base), None)
    return result


def merge(left: Any, right: Any) -> list[Any]:
    """A new list: the messages of `left` with those of `right` merged into it."""
    index = taken(left)
    new = new_messages(right)
    deletes = not OWN.issuperset(map(type, new))
    if deletes:
        for n in range(len(new) - 1, -1, -1):
            if new[n].id == REMOVE_ALL_MESSAGES and is_removal(new[n]):
                return new[n + 1 :]
    if index is None or not index.fits(left):
        index = Index(new_messages(left))
    index.grow_from(left)
    removed: set[str] = set()
    for message in new:
        place = index.places.get(message.id)
        if deletes and is_removal(message):
            if place is None:
                raise ValueError(
                    f"Attempting to delete a message with an ID that doesn't exist ('{message.id}')"
                )
            removed.add(message.id)
        elif place is None:
            index.append(message)
        else:
            removed.discard(message.id)
            index.replace(place, message)
    if removed:
        return [m for m in index.messages if m.id not in removed]
    return kept(index)


def is_removal(message: Any) -> bool:
    """Whether a message asks for a deletion."""
    return message.type == "remove"


def in_openai_form(messages: list[Any]) -> list[Any]:
    """Messages whose contents are in OpenAI's form."""
    from plait.messages.openai import convert_to_openai_messages

    return convert_to_messages(convert_to_openai_messages(messages))


def __getattr__(name: str) -> Any:
    # MessagesState stands on typing_extensions, which is slow to import: made when asked for.
    if name == "MessageGraph":
        from importlib import import_module  # a graph stands on this module's reducer

        return import_module("plait.graph.message_graph").MessageGraph
    if name != "MessagesState":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from typing_extensions import TypedDict

    # Not as a class: its annotations would stay strings here.
    MessagesState = TypedDict(  # noqa: UP013
        "MessagesState", {"messages": Annotated[list[AnyMessage], add_messages]}
    )
    MessagesState.__module__ = __name__
    MessagesState.__doc__ = "A state with one key, `messages`, reduced by `add_messages`."
    globals()[name] = MessagesState
    return MessagesState
