"""The stream mode `messages`: tokens of models, and messages that nodes return.

A `MessageStream` is a callback handler in the config of the run, so that every model called in a
node tells it of its tokens, plait's and langchain_core's. A message is told once: tokens of an id
stand for the message of that id, and what a node was handed is never told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, cast
from uuid import UUID

from plait.callbacks.handlers import TokenListener
from plait.common.ids import new_id
from plait.common.reflection import is_annotated, own_annotations
from plait.constants import TAG_NOSTREAM
from plait.messages import AIMessageChunk
from plait.messages.base import BaseMessage, give_id
from plait.messages.foreign import is_foreign_class, is_message
from plait.pregel.scope import TaskScope
from plait.scope import current_scope
from plait.types import Command

_CLASS, _ID = attrgetter("__class__"), attrgetter("id")
_STEP_TAGS = ("seq:step:", "graph:step:")


class MessageStream(TokenListener):
    """Tells the `messages` stream of one run, and of those inside it if it streams subgraphs."""

    raise_error = True
    run_inline = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._models: dict[UUID, tuple[TaskScope, dict[str, Any]]] = {}
        self._streamed: set[UUID] = set()

    # --- what nodes are handed and return --------------------------------------------------------

    def saw(self, given: Any) -> None:
        """A node is handed these messages: they are known."""
        for run in _runs_in(given):
            self._seen.update(map(_ID, run))

    def returned(self, scope: TaskScope, result: Any, metadata: Mapping[str, Any]) -> None:
        """A node returned this: tell the messages in it that are news."""
        for message in messages_in(result):
            self.tell_whole(scope, message, dict(metadata))

    def tell_whole(self, scope: TaskScope, message: Any, metadata: dict[str, Any]) -> None:
        """Tell a message unless it is known; one without an id gets its id here."""
        if not message.id:
            give_id(message, new_id())
        if message.id not in self._seen:
            self.tell(scope, message, metadata)

    def tell(self, scope: TaskScope, message: Any, metadata: dict[str, Any]) -> None:
        """Tell a message or a chunk of one."""
        if message.id:
            self._seen.add(message.id)
        scope.send("messages", (message, metadata))

    # --- what models say -------------------------------------------------------------------------

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A model was asked: what it says belongs to the task that runs here."""
        scope = current_scope.get()
        if not isinstance(scope, TaskScope) or scope.run.message_stream is not self:
            return
        if tags and TAG_NOSTREAM in tags:
            return
        about = dict(metadata or {})
        shown = [tag for tag in tags or () if not tag.startswith(_STEP_TAGS)]
        if shown:
            about["tags"] = shown
        self._models[run_id] = (scope, about)

    def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: Any = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """A model said a token."""
        asked = self._models.get(run_id)
        if asked is None:
            return
        message = getattr(chunk, "message", None)
        if message is None:  # a model that tells tokens by hand
            message = AIMessageChunk(content=cast("Any", token), id=f"lc_run--{run_id}")
        self._streamed.add(run_id)
        self.tell(asked[0], message, asked[1])

    def on_llm_end(
        self, response: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """A model has answered: the answer is told whole if it was not told in tokens."""
        asked = self._models.pop(run_id, None)
        message = _answer_of(response)
        if asked is None or message is None:
            return
        if run_id in self._streamed:
            self._streamed.discard(run_id)
            self._seen.add(message.id)
        else:
            self.tell_whole(asked[0], message, asked[1])

    def on_llm_error(
        self,
        error: BaseException,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """A model failed: nothing more comes."""
        self._models.pop(run_id, None)
        self._streamed.discard(run_id)


def _answer_of(response: Any) -> Any:
    """The first message of an `LLMResult`, if a chat model gave it."""
    generations: Sequence[Sequence[Any]] = response.generations
    if not generations or not generations[0]:
        return None
    return getattr(generations[0][0], "message", None)


def messages_in(value: Any) -> Iterator[Any]:
    """The messages of a state or an update: alone, in a list, or under its keys.

    >>> from plait.messages import AIMessage
    >>> update = {"messages": [AIMessage("a")], "last": AIMessage("b"), "n": 1}
    >>> [message.text for message in messages_in(update)]
    ['a', 'b']
    """
    return chain.from_iterable(_runs_in(value))


def _runs_in(value: Any) -> Iterator[Sequence[Any]]:
    """`messages_in` by runs: the messages of each list, and those alone."""
    if is_message(value):
        yield (value,)
    elif isinstance(value, Command):
        yield from _runs_in(cast("Command[Any]", value).update)
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[Any]", value):
            if is_message(item):
                yield (item,)
            elif isinstance(item, (Command, Mapping)):
                yield from _runs_in(item)
    elif isinstance(value, Mapping):
        yield from _in_fields(cast("Mapping[Any, Any]", value))
    elif is_annotated(kind := cast("Any", type(value))):
        slots = {
            name: getattr(value, name) for name in own_annotations(kind) if hasattr(value, name)
        }
        yield from _in_fields(getattr(value, "__dict__", slots))


def _in_fields(fields: Mapping[Any, Any]) -> Iterator[Sequence[Any]]:
    for held in fields.values():
        if isinstance(held, (list, tuple)):
            yield _of_list(cast("Sequence[Any]", held))
        elif is_message(held):
            yield (held,)


def _of_list(items: Sequence[Any]) -> Sequence[Any]:
    """The messages of a list. Each class is asked once: a state may hold thousands of items."""
    classes = set(map(_CLASS, items))
    told = {cls for cls in classes if issubclass(cls, BaseMessage) or is_foreign_class(cls)}
    if len(told) == len(classes):
        return items
    return [item for item in items if item.__class__ in told] if told else ()


__all__ = ["MessageStream", "messages_in"]
