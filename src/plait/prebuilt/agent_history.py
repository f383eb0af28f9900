"""Tool calls without an answer in an agent's history: found, and answered so that it goes on.

A run that is cancelled, fails or dies between a tool call and its result leaves such calls behind.
When the thread then gets a new message, what the tools of that run had finished is on record beside
the checkpoint that it left; the other calls are answered with a word about what happened.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import is_
from typing import Any, NotRequired, Required, cast, get_args, get_origin, get_type_hints

from plait.errors import InvalidValueError
from plait.graph.message import add_messages
from plait.messages import ToolMessage
from plait.messages.foreign import kind_of
from plait.prebuilt.malformed import with_answers
from plait.prebuilt.turns import is_word_of, strays, turns, word_id
from plait.pregel.scope import TaskScope
from plait.scope import current_scope
from plait.types import StateSnapshot

INTERRUPTED_TEMPLATE = (
    "Interrupted: tool {tool_name!r} has not answered this call, or the run was stopped before it "
    "could. It is not known whether it did its work."
)


class ClosedHistory:
    """Looks for open calls before each turn: at the messages that came since the last look.

    What it has found without open calls it knows again by identity. Of several conversations, the
    one that it saw last is looked at in this way, the others from their start.

    Args:
        look: Finds the open calls of messages.
    """

    __slots__ = ("_closed", "_look")

    def __init__(self, look: Callable[[Sequence[Any]], list[Any]]) -> None:
        self._look = look
        self._closed: list[Any] = []

    def open_calls(self, messages: Sequence[Any]) -> list[Any]:
        """The open calls of a history."""
        closed = self._closed
        known = len(closed)
        goes_on = known <= len(messages) and all(map(is_, closed, messages))
        calls = self._look(messages[known:] if goes_on else messages)
        if calls and goes_on:  # an answer may stand before its call
            calls = self._look(messages)
        if not calls:
            self._closed = [*messages]
        return calls


class HistoryRepair:
    """Answers what an agent's history left open, before each turn of its model."""

    __slots__ = ("_closed",)

    def __init__(self) -> None:
        self._closed = ClosedHistory(open_calls)

    def mended(self, messages: Sequence[Any]) -> list[Any] | None:
        """The messages with an answer to each call that has none; None if there is no such call."""
        readable = with_answers(messages)
        messages = messages if readable is None else readable
        calls = self._closed.open_calls(messages)
        if not calls:
            return readable
        lost = _lost(calls, messages)
        return repaired(messages, stored_answers(lost) if lost else {})

    async def amended(self, messages: Sequence[Any]) -> list[Any] | None:
        """The async twin of `mended`."""
        readable = with_answers(messages)
        messages = messages if readable is None else readable
        calls = self._closed.open_calls(messages)
        if not calls:
            return readable
        lost = _lost(calls, messages)
        return repaired(messages, await astored_answers(lost) if lost else {})


class HistoryCheck:
    """Refuses what an agent's history left open, before each turn of its model."""

    __slots__ = ("_closed",)

    def __init__(self) -> None:
        self._closed = ClosedHistory(unanswered_calls)

    def mended(self, messages: Sequence[Any]) -> None:
        """Nothing is mended.

        Raises:
            InvalidValueError: There are tool calls without an answer.
        """
        calls = self._closed.open_calls(messages)
        if calls:
            shown = ", ".join(f"{one['name']} ({one['id']})" for one in calls[:3])
            raise InvalidValueError(
                f"Found tool calls without a ToolMessage that answers them: {shown}. Models refuse "
                "such a history. Add a ToolMessage with the tool_call_id of each, or remove the "
                "AIMessage that calls them; an agent with repair_history=True answers them itself."
            )

    async def amended(self, messages: Sequence[Any]) -> None:
        """The async twin of `mended`."""
        self.mended(messages)


class MalformedRepair:
    """Answers the calls that could not be read, and no others, before each turn of the model."""

    __slots__ = ()

    def mended(self, messages: Sequence[Any]) -> list[Any] | None:
        """See `with_answers`."""
        return with_answers(messages)

    async def amended(self, messages: Sequence[Any]) -> list[Any] | None:
        """The async twin of `mended`."""
        return with_answers(messages)


def keeps_repairs(schema: Any) -> bool:
    """Whether a state can take a history anew: its messages are those of `add_messages`."""
    hint = get_type_hints(schema, include_extras=True)["messages"]
    if get_origin(hint) in (Required, NotRequired):
        (hint,) = get_args(hint)
    return add_messages in getattr(hint, "__metadata__", ())


def unanswered_calls(messages: Sequence[Any]) -> list[Any]:
    """The tool calls that no message answers, wherever it stands."""
    calls: list[Any] = []
    answered: set[str] = set()
    for message in messages:
        kind = kind_of(message)
        if kind == "tool":
            answered.add(message.tool_call_id)
        elif kind == "ai":
            calls += message.tool_calls
    return [call for call in calls if call["id"] not in answered]


def open_calls(messages: Sequence[Any]) -> list[Any]:
    """The tool calls that have no answer of their own: right after the message that makes them, or
    elsewhere. The answer to an earlier call of the same id is none, nor one elsewhere that is bound
    to its message (see `turns`).
    """
    late: list[tuple[Any, Any]] = []
    waiting: dict[str, Any] = {}
    maker: Any = None
    elsewhere: dict[str, list[Any]] = {}
    for message in messages:
        kind = kind_of(message)
        if kind != "tool":
            late += [(maker, call) for call in waiting.values()]
            maker = message
            waiting = {call["id"]: call for call in message.tool_calls} if kind == "ai" else {}
        elif waiting.pop(message.tool_call_id, None) is None:
            elsewhere.setdefault(message.tool_call_id, []).append(message)
    calls: list[Any] = []
    for maker, call in (*late, *((maker, call) for call in waiting.values())):
        answers = elsewhere.get(call["id"])
        if answers and not is_word_of(answers[0], maker):
            answers.pop(0)
        elif call["id"] is not None:
            calls.append(call)
    return calls


def _lost(calls: Sequence[Any], messages: Sequence[Any]) -> list[Any]:
    """The open calls whose answers only the thread's checkpoints may have.

    Where an id is that of several calls, nobody can tell whose answer is stored under it.
    """
    answered = {one.tool_call_id for one in messages if kind_of(one) == "tool"}
    made = Counter(call["id"] for one in messages for call in getattr(one, "tool_calls", ()))
    return [one for one in calls if one["id"] not in answered and made[one["id"]] == 1]


def repaired(messages: Sequence[Any], stored: Mapping[str, Any]) -> list[Any]:
    """The messages, with an answer to each open call right after the message that makes it: one
    that stands elsewhere, a stored one, or a word about the interruption.

    Args:
        messages: The history.
        stored: Answers by the id of their call, where there are any.

    >>> from plait.messages import AIMessage, HumanMessage
    >>> call = {"name": "add", "args": {}, "id": "1"}
    >>> history = [AIMessage("", tool_calls=[call]), HumanMessage("Well?")]
    >>> [message.type for message in repaired(history, {})]
    ['ai', 'tool', 'human']
    """
    found = list(turns(messages))
    elsewhere = strays(found)
    moved: set[int] = set()
    for head, answers in found:
        calls = [one for one in getattr(head, "tool_calls", ()) if one["id"] is not None]
        direct = {one.tool_call_id: one for one in answers}
        late = {call["id"] for call in calls} - direct.keys()
        others = [elsewhere[one][0] for one in late if elsewhere.get(one)]
        if len(others) == len(late) and not any(is_word_of(one, head) for one in others):
            for one in others:  # answered, wherever: this part is as it was
                elsewhere[one.tool_call_id].pop(0)
            continue
        given: list[Any] = []
        for call in calls:
            answer = direct.pop(call["id"], None)
            if answer is None and elsewhere.get(call["id"]):
                answer = elsewhere[call["id"]].pop(0)
                moved.add(id(answer))
            given.append(answer or stored.get(call["id"]) or _interrupted(head, call))
        answers[:] = [*given, *direct.values()]
    return [one for head, answers in found if id(head) not in moved for one in (head, *answers)]


def _interrupted(message: Any, call: Mapping[str, Any]) -> ToolMessage:
    """What answers a call of a message that nothing else will answer."""
    name, call_id = call["name"], call["id"]
    told = INTERRUPTED_TEMPLATE.format(tool_name=name)
    word = word_id(message, call_id)
    return ToolMessage(told, name=name, tool_call_id=call_id, status="error", id=word)


def stored_answers(calls: Collection[Any]) -> dict[str, Any]:
    """What the tools of a stopped run had answered, by the id of the call.

    Call it in the run that comes after: it reads the thread's checkpoints back to the calls.
    """
    search = _Search(calls)
    if search.graph is not None:
        for snapshot in search.graph.get_state_history(search.config):
            if search.ends_with(snapshot):
                break
    return search.found


async def astored_answers(calls: Collection[Any]) -> dict[str, Any]:
    """The async twin of `stored_answers`."""
    search = _Search(calls)
    if search.graph is not None:
        async for snapshot in search.graph.aget_state_history(search.config):
            if search.ends_with(snapshot):
                break
    return search.found


class _Search:
    """Looks for answers in the checkpoints that the run around comes from, newest first."""

    def __init__(self, calls: Collection[Any]) -> None:
        self.found: dict[str, Any] = {}
        """The answers, by the id of the call."""
        self._wanted = {call["id"]: call for call in calls}
        self.graph: Any = None
        """Whose checkpoints to read; None: there are none."""
        self.config: Any = None
        """Addresses them."""
        self._line: set[str | None] = set()
        """The next checkpoint of the line; of the run's own, the last may not be stored yet."""
        self._ended: set[str | None] = set()
        """Checkpoints whose super-step has ended in another branch: its answers belong there."""
        scope = current_scope.get()
        if isinstance(scope, TaskScope) and scope.run.storage is not None:
            root = run = scope.run
            while root.parent is not None:
                root = root.parent.run
            thread = root.configurable["thread_id"]
            self.graph = root.graph
            self.config = {"configurable": {"thread_id": thread, "checkpoint_ns": run.ns_path}}
            self._line = {run.loop.checkpoint_id, run.loop.parent_id}

    def ends_with(self, snapshot: StateSnapshot) -> bool:
        """Take the answers of a checkpoint; whether the calls were made, or changed, after it."""
        here_id, parent_id = _id_of(snapshot.config), _id_of(snapshot.parent_config)
        if here_id not in self._line:  # of another branch
            if snapshot.metadata and snapshot.metadata.get("source") == "loop":
                self._ended.add(parent_id)
            return False
        self._line = {parent_id}
        written = () if here_id in self._ended else _messages_of(snapshot)
        messages = _written(snapshot.values) or ()
        made = [call for one in messages for call in getattr(one, "tool_calls", None) or ()]
        here = {call["id"] for call in made if call == self._wanted.get(call["id"])}
        for message in written:
            if kind_of(message) == "tool" and message.tool_call_id in here:
                self.found.setdefault(message.tool_call_id, message)
        return not here


def _id_of(config: Any) -> str | None:
    return config["configurable"]["checkpoint_id"] if config else None


def _messages_of(snapshot: StateSnapshot) -> Iterator[Any]:
    """The messages that finished tasks of a stopped super-step wrote."""
    for task in snapshot.tasks:
        written = _written(task.result)
        if isinstance(written, dict):  # several writes of one task
            written = [one for part in cast("Any", written).get("$writes", ()) for one in part]
        if isinstance(written, list):
            yield from cast("list[Any]", written)


def _written(values: Any) -> Any:
    return cast("dict[str, Any]", values).get("messages") if isinstance(values, dict) else None


__all__ = [
    "ClosedHistory",
    "HistoryCheck",
    "HistoryRepair",
    "MalformedRepair",
    "keeps_repairs",
    "open_calls",
    "repaired",
    "unanswered_calls",
]
