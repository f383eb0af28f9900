"""One thread of LangGraph's as plait's: its checkpoints, what runs next, what tasks have done.

What LangGraph decides anew at each start, from the versions of channels, plait keeps as a record
of what runs next. It is read off the names of channels (`branch:to:<node>`, `join:<nodes>:<node>`)
and off the tasks that have stored something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, cast

from plait.checkpoint.base.port import NewCheckpoint, TaskWrites
from plait.checkpoint.log.records import is_dict, is_list
from plait.checkpoint.serde import RemoteError
from plait.constants import (
    ERROR,
    INTERRUPT,
    JOIN,
    NS_END,
    NS_SEP,
    NULL_TASK_ID,
    RESUME,
    RETURN,
    ROUTE,
    START,
    TASKS,
)
from plait.engine.questions import NOBODY, question_id, stranger
from plait.engine.tasks import task_id
from plait.errors import CorruptCheckpointError, StorageError, UnregisteredTypeError
from plait.importing.calls import damaged
from plait.importing.known import Known
from plait.importing.places import Places, checkpoint_id, order_in, pulled_node, pushed_place
from plait.importing.rows import PeerCheckpoint, PeerWrite, Source
from plait.importing.values import Decoder, Stored, Tree
from plait.types import Interrupt, Send

PEER_ID = "langgraph_checkpoint_id"
"""The key of a checkpoint's metadata that keeps the id it had."""

_FORMAT = 4
"""Today's. In those before, `Send`s lie nowhere but among the writes of the parent's tasks."""
_DELTAS = "counters_since_delta_snapshot"
_NO_OUTCOME = frozenset({ERROR, INTERRUPT, RESUME})
_NOT_NODES = frozenset({"__input__", INTERRUPT})


class Step(NamedTuple):
    """One checkpoint to write, with the outcomes of tasks that belong into its transaction."""

    checkpoint: NewCheckpoint
    writes: list[TaskWrites]


class PeerThread:
    """A thread of LangGraph's, read through the eyes of plait.

    Args:
        source: The database.
        thread_id: Which thread.
        known: Builds the objects in it.
    """

    def __init__(self, source: Source, thread_id: str, known: Known) -> None:
        self.source = source
        self.thread_id = thread_id
        self.parents = source.parents(thread_id)
        self.places = Places(source.tasks(thread_id))
        self.decoder = Decoder(known.build)
        self.asked_inside: set[str] = set()
        """Questions of the graphs inside, which only pass through the tasks around them."""
        self.calls = 0
        """Results of `@task` calls that wait for their entrypoint to go on."""
        self.older = 0
        """Checkpoints of a format before today's."""
        self.by_hand = False
        """Whether it has no channel that says which node comes next."""
        self.lacking: dict[str, int] = {}
        """Key to in how many checkpoints its value is not stored."""

    def lanes(self) -> list[Lane]:
        """The thread's namespaces, the innermost first."""
        depth = sorted(self.parents, key=lambda ns: (-len(ns.split(NS_SEP)) if ns else 0, ns))
        return [Lane(self, ns) for ns in depth]

    def notes(self) -> list[str]:
        """What a reader of the report should know."""
        found: list[str] = []
        if self.calls:
            found.append(
                f"{self.calls} results of @task calls are left behind: LangGraph does not store "
                "whose they are, so the calls are made again when the entrypoint goes on"
            )
        if self.older:
            found.append(
                f"{self.older} checkpoints are of an older format: their values are there, what "
                "was to run next may not be"
            )
        if self.by_hand:
            found.append(
                "it is of no StateGraph and no entrypoint, but of a Pregel that was made by hand: "
                "what was to run next is not known, so it is at its end here"
            )
        for key, count in self.lacking.items():
            found.append(
                f"{count} older checkpoints are without a value of key {key!r}: it was a "
                "DeltaChannel, of which LangGraph stores the updates"
            )
        return found


class _Past(NamedTuple):
    """What must be remembered of a checkpoint for its children."""

    versions: Mapping[str, Any]
    stored: frozenset[str]
    sends: list[Any]
    writes: list[PeerWrite]


class Lane:
    """One namespace of a thread."""

    def __init__(self, thread: PeerThread, ns: str) -> None:
        self.thread = thread
        self.ns = ns
        self._parents = thread.parents[ns]
        self._followed = frozenset(self._parents.values())
        self._newest = max(self._parents)
        self._waiting = set(self._followed)
        """Checkpoints whose tasks' outcomes go along with their first child."""
        self._past: dict[str, _Past] = {}
        self._starters: dict[str, None] = {}
        """Nodes that the input itself triggers."""

    def ids(self) -> set[str]:
        """Its checkpoints, by their ids here."""
        return {checkpoint_id(id) for id in self._parents}

    def is_working(self) -> bool:
        """Whether tasks of its newest checkpoint have stored something."""
        thread = self.thread
        return bool(thread.source.writes(thread.thread_id, self.ns, self._newest))

    @cached_property
    def here(self) -> str:
        """The namespace as it is called here."""
        if not self.ns:
            return ""
        rows = self.thread.source.checkpoints(self.thread.thread_id, self.ns)
        first = next(iter(rows), None)
        if first is None:
            raise damaged(f"the checkpoints that namespace {self.ns!r} is to hold are not there")
        return self.thread.places.namespace(self.ns, _text_map(first.metadata.get("parents")))

    def steps(self) -> Iterator[Step]:
        """The checkpoints, oldest first.

        Raises:
            CorruptCheckpointError: Something stored cannot be read.
            UnregisteredTypeError: A value is of a type that is not known.
        """
        thread = self.thread
        for peer in thread.source.checkpoints(thread.thread_id, self.ns):
            yield self._step(peer)
            thread.decoder.turn()

    def _step(self, peer: PeerCheckpoint) -> Step:
        thread = self.thread
        self._check(peer)
        parent = self._past.get(peer.parent or "")
        own = thread.source.writes(thread.thread_id, self.ns, peer.id)
        routing = {name for name in peer.held if name.startswith((ROUTE, JOIN)) or name == TASKS}
        changed = {
            name
            for name in peer.held - routing
            if parent is None
            or name not in parent.stored
            or parent.versions.get(name) != peer.versions.get(name)
        }
        trees = peer.load(changed | routing)
        signals = {name: self._value(trees[name], name, peer.id) for name in routing}
        values = {name: self._value(trees[name], name, peer.id) for name in changed}
        values |= _joins(signals)
        stored = (peer.held - routing) | _joins(signals).keys()
        if peer.format < _FORMAT and parent is not None and TASKS not in signals:
            sent = (each for each in parent.writes if each.channel == TASKS)
            signals[TASKS] = [self._written(each, cast("str", peer.parent)) for each in sent]
        past = _Past(peer.versions, stored, _sends(signals), own)
        self._past[peer.id] = past
        frontier = self._frontier(peer, signals, past)
        if parent is not None:
            frontier["last"] = tuple(_names(parent))
        writes: list[TaskWrites] = []
        if parent is not None and peer.parent in self._waiting:
            self._waiting.discard(peer.parent)
            writes += self._outcomes(cast("str", peer.parent), parent)
        if peer.id not in self._followed:
            writes += self._outcomes(peer.id, past)
            thread.calls += sum(write.channel == RETURN for write in own)
        new = NewCheckpoint(
            checkpoint_id(peer.id),
            None if parent is None else checkpoint_id(cast("str", peer.parent)),
            peer.ts,
            self._metadata(peer),
            frontier,
            values,
            [] if parent is None else sorted(parent.stored - stored),
        )
        return Step(new, writes)

    def _check(self, peer: PeerCheckpoint) -> None:
        """Count what is old, and what lacks a value; refuse the newest checkpoint if it does."""
        thread, is_newest = self.thread, peer.id == self._newest
        thread.older += peer.format < _FORMAT
        if is_newest and not self.ns and peer.format == _FORMAT:
            routed = (name == START or name.startswith((ROUTE, JOIN)) for name in peer.versions)
            thread.by_hand = not any(routed)
        deltas = peer.metadata.get(_DELTAS)
        for name in deltas or ():
            if name in peer.held or name not in peer.versions:
                continue
            if is_newest and self._goes_on(peer):
                raise UnregisteredTypeError(
                    f"{self._where(name, peer.id)}: it is a DeltaChannel, of which LangGraph "
                    "stores the updates and not the value. Give the key an ordinary reducer in the "
                    "old program, and write its value once with update_state"
                )
            thread.lacking[name] = thread.lacking.get(name, 0) + 1

    def _goes_on(self, newest: PeerCheckpoint) -> bool:
        """Whether a run may go on from the newest checkpoint: graphs inside are begun anew by each
        super-step around them, if they have no memory."""
        if not self.ns or NS_END not in self.ns.rpartition(NS_SEP)[2]:
            return True
        around = _text_map(newest.metadata.get("parents"))
        return around.get("") == max(self.thread.parents.get("", ()), default=None)

    def _metadata(self, peer: PeerCheckpoint) -> dict[str, Any]:
        kept = {key: value for key, value in peer.metadata.items() if key != _DELTAS}
        around = _text_map(peer.metadata.get("parents"))
        if around:
            kept["parents"] = {
                self.thread.places.namespace(ns, around): checkpoint_id(id)
                for ns, id in around.items()
            }
        return {**kept, PEER_ID: peer.id}

    # --- what runs next --------------------------------------------------------------------------

    def _frontier(
        self, peer: PeerCheckpoint, signals: Mapping[str, Any], past: _Past
    ) -> dict[str, Any]:
        for node, seen in peer.seen.items():
            if START in seen and node not in _NOT_NODES:
                self._starters[node] = None
        next, deferred = dict[str, None](), dict[str, None]()
        for name, value in signals.items():
            node, ready = _signalled(name, value)
            new = peer.seen.get(node, {}).get(name) != peer.versions.get(name)
            if ready and new:
                next[node] = None
            elif name.startswith(ROUTE) and not ready:
                deferred[node] = None
        began = [node for each in past.writes if (node := pulled_node(each.path)) is not None]
        if START in peer.held and not began:
            began = list(self._starters) or [START]
        next.update(dict.fromkeys(began))
        frontier: dict[str, Any] = {}
        if next:
            frontier["next"] = list(next)
        if past.sends:
            frontier["sends"] = past.sends
        if deferred:
            frontier["deferred"] = list(deferred)
        asked = self._asked(peer.id, past)
        if asked:
            frontier["asked"] = asked
        return frontier

    def _asked(self, id: str, past: _Past) -> dict[str, dict[str, str]]:
        """The questions that tasks wait with, by their ids there: answers to these are taken."""
        found: dict[str, dict[str, str]] = {}
        inside = self.thread.asked_inside
        done = {each.task for each in past.writes if each.channel not in _NO_OUTCOME}
        open, called = dict[PeerWrite, list[Interrupt]](), set[str]()
        again = set[str]()  # what calls have asked that are made again
        for each in past.writes:
            if each.channel != INTERRUPT:
                continue
            questions, is_call = self._questions(each, id), order_in(each.path) is None
            if each.task not in done:
                open[each] = questions
                called.update(question.id for question in questions if is_call)
            elif is_call:
                again.update(stranger(question.value, called=True) for question in questions)
        for each, questions in open.items():
            order = order_in(each.path)
            mine = [question for question in questions if question.id not in inside]
            if order is not None and mine:
                likes = {q.id: stranger(q.value, called=q.id in called) for q in mine}
                found[order] = {k: NOBODY if like in again else like for k, like in likes.items()}
        if self.ns:
            inside.update(question.id for each in open.values() for question in each)
        return found

    # --- what tasks have done --------------------------------------------------------------------

    def _outcomes(self, id: str, past: _Past) -> list[TaskWrites]:
        """What the tasks of a checkpoint have stored."""
        by_task: dict[tuple[str, str], list[PeerWrite]] = {}
        for each in past.writes:
            by_task.setdefault((each.task, each.path), []).append(each)
        found: list[TaskWrites] = []
        base = checkpoint_id(id)
        for (task, path), writes in by_task.items():
            if task == NULL_TASK_ID:
                kept = [(w.channel, self._written(w, id)) for w in writes if w.channel != RESUME]
                if kept:
                    found.append(TaskWrites(base, NULL_TASK_ID, "", kept))
                continue
            order, node = order_in(path), _node(path, past.sends)
            if order is None or node is None:
                continue
            name = task_id(base, self.here, node, order)
            kept = [(w.channel, self._outcome(w, id, name)) for w in writes]
            if any(w.channel not in _NO_OUTCOME for w in writes):  # all that it asked is answered
                asked = [q.id for channel, each in kept if channel == INTERRUPT for q in each]
                kept += [(RESUME, dict.fromkeys(asked))] * bool(asked)
            found.append(TaskWrites(base, name, order, kept))
        return found

    def _outcome(self, write: PeerWrite, id: str, task: str) -> Any:
        if write.channel == INTERRUPT:
            return self._questions(write, id)
        value = self._written(write, id)
        if write.channel == RESUME:
            answers = value if is_list(value) else [value]
            return {question_id(task, f"main:{nth}"): each for nth, each in enumerate(answers)}
        if write.channel == ERROR:
            kind, _, message = str(value).partition("(")
            return RemoteError(kind, message.removesuffix(")"))
        return value

    def _questions(self, write: PeerWrite, id: str) -> list[Interrupt]:
        value = self._written(write, id)
        questions = cast("list[Any]", value) if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(each, Interrupt) for each in questions):
            raise self._placed(damaged("these are no interrupts"), write.channel, id)
        return list(questions)

    # --- values ----------------------------------------------------------------------------------

    def _written(self, write: PeerWrite, id: str) -> Any:
        return self._value(Stored(write.tag, write.data), write.channel, id)

    def _value(self, tree: Tree, key: str, id: str) -> Any:
        try:
            return self.thread.decoder.value(tree)
        except StorageError as error:
            raise self._placed(error, key, id) from error

    def _placed(self, error: StorageError, key: str, id: str) -> StorageError:
        """The same error, saying which thread and key it is about."""
        known = isinstance(error, (UnregisteredTypeError, CorruptCheckpointError))
        kind = type(error) if known else CorruptCheckpointError
        return kind(f"{self._where(key, id)}: {str(error).removesuffix('.')}.")

    def _where(self, key: str, id: str) -> str:
        ns = f", namespace {self.ns!r}" if self.ns else ""
        return f"Thread {self.thread.thread_id!r}, key {key!r} (checkpoint {id}{ns})"


def _signalled(name: str, value: Any) -> tuple[str, bool]:
    """The node that a routing channel triggers, and whether it does by now."""
    if name.startswith(ROUTE):
        waits = is_list(value) and len(value) == 2 and value[1] is False
        return name.removeprefix(ROUTE), not waits
    if name.startswith(JOIN):
        sources, _, node = name.removeprefix(JOIN).rpartition(":")
        seen, finished = _join(value)
        full = len("+".join(seen)) == len(sources)  # names may have a "+" themselves
        return node, full and finished is not False
    return "", False


def _join(value: Any) -> tuple[list[str], bool | None]:
    """Who has reached a join, and (where it is deferred) whether nothing else is left to run."""
    if is_list(value) and len(value) == 2 and type(value[1]) is bool:
        return sorted(value[0]), value[1]
    return sorted(cast("set[str]", value)), None


def _joins(signals: Mapping[str, Any]) -> dict[str, Any]:
    """Joins that somebody has reached, as plait stores them."""
    found: dict[str, Any] = {}
    for name, value in signals.items():
        if name.startswith(JOIN):
            seen, finished = _join(value)
            if seen:
                found[name] = seen if finished is None else (seen, finished)
    return found


def _sends(signals: Mapping[str, Any]) -> list[Any]:
    return [each for each in signals.get(TASKS) or () if isinstance(each, Send)]


def _node(path: str, sends: list[Any]) -> str | None:
    """The node that a task runs."""
    place = pushed_place(path)
    if place is None:
        return pulled_node(path)
    return sends[place].node if place < len(sends) else None


def _names(past: _Past) -> list[str]:
    """The nodes that ran from a checkpoint."""
    names = (_node(write.path, past.sends) for write in past.writes)
    return sorted({name for name in names if name is not None})


def _text_map(value: Any) -> dict[str, str]:
    """A mapping from text to text; what is none is none."""
    if not is_dict(value):
        return {}
    return {k: each for k, each in value.items() if isinstance(k, str) and isinstance(each, str)}


__all__ = ["PEER_ID", "Lane", "PeerThread", "Step"]
