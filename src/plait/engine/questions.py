"""Interrupts: questions with stable ids, and the answers that reach them.

An id derives from the task and a label inside it, never from arrival order:

- a `key=` (or tool call id): the key and its ordinal;
- a call of a batch, or of parallel steps: its place among them, and its ordinal there;
- a call in the task's own thread of control: its ordinal, since that order is the program's;
- a call elsewhere inside the task (another thread or asyncio task, so calls may race): the digest
  of the question itself. Two equal questions that race cannot be told apart: a named error.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from plait.constants import ERROR, INTERRUPT, RESUME
from plait.engine.likeness import likeness
from plait.errors import (
    GraphInterrupt,
    InterruptRaceError,
    InterruptTimeoutError,
    UnknownInterruptError,
    mark_invalid_resume,
)
from plait.timers import TimedInterrupt, TimedOut
from plait.types import Interrupt

if TYPE_CHECKING:
    from plait.engine.formers import Former
    from plait.engine.plan import Writes
    from plait.timers import Timer


Standing: TypeAlias = "Mapping[str, Any]"
"""Open questions of a task that was written past by hand, by id, each with the task that asked it.
Of one that waits for a time, that is a list: the task, the time, and whether nobody is asked."""
_OWN, _CALLED = "like:", "call:"
NOBODY = _CALLED
"""Stands for a call that asked a question which another one had asked before: see `stranger`."""


def question_id(task_id: str, label: str) -> str:
    """The id of the question with this label inside this task: 32 hex digits."""
    return blake2b(f"{task_id}\0{label}".encode(), digest_size=16).hexdigest()


def stranger(value: Any, *, called: bool = False) -> str:
    """What stands in the place of the task that asked a question, where nobody knows it.

    Args:
        value: the question.
        called: whether a call of the task that waits asked it, and not that task's own code.
    """
    return (_CALLED if called else _OWN) + likeness((value,), {})


def _order_of_calls(ns: str) -> tuple[int, str]:
    return len(ns), ns  # the nth graph of a task has |n behind the namespace of the first


class Questions:
    """What one attempt of one task has asked, and the answers it was given."""

    __slots__ = (
        "_met",
        "answers",
        "counts",
        "former",
        "handed_on",
        "heard",
        "inside",
        "main",
        "open",
        "refused",
        "strangers",
        "task_id",
        "timed",
        "to_hand_on",
    )

    def __init__(self, task_id: str, heard: set[str] | None = None) -> None:
        self.task_id = task_id
        self.heard = heard
        """Questions whose answers have been taken, by this task or another of the run (see
        `RunSpec.heard`)."""
        self.answers: dict[str, Any] = {}
        """Question id to answer."""
        self.open: dict[str, Interrupt] = {}
        """Questions of this attempt that have no answer."""
        self.inside: dict[str, tuple[Interrupt, ...]] = {}
        """Those of the graphs that the task has called, by their namespaces."""
        self.refused: set[str] = set()
        """Questions of this attempt, and of what it has called, whose answers do not fit."""
        self.counts: dict[str, int] = {}
        self.strangers: Mapping[str, str] = {}
        """Open questions of an imported task's own code, in their order, and what they are like
        (see `stranger`). Nobody knows where in it they were asked."""
        self.to_hand_on: dict[str, str] = {}
        """Questions of an imported task's calls that are answered now: what they are like to id.
        The first call that asks the same takes the answer."""
        self.handed_on: dict[str, str] = {}
        """Those of the task that called this one."""
        self.former: Former | None = None
        """The task in whose place this one runs since then: an answer to a question of it reaches
        the one with the same label."""
        self._met: set[str] = set()
        """The strangers whose answers were taken."""
        self.timed: dict[str, TimedInterrupt] = {}
        """Questions of earlier runs that wait for a time: it is counted from when they came up."""
        self.main: Any = None
        """The thread of control in which the task itself runs when it asks."""

    def restart(self) -> None:
        """A new attempt begins."""
        self.open = {}
        self.inside = {}
        self.refused = set()
        self.counts = {}
        self._met = set()

    def ask(
        self,
        value: Any,
        key: str | None,
        who: Any,
        schema: Any,
        timer: Timer | None = None,
        now: float = 0.0,
    ) -> Any:
        """The answer to this question; raises GraphInterrupt while there is none."""
        shape = getattr(schema, "json", schema)
        label = self._label(value if timer is None else timer.label(value), key, who)
        id = question_id(self.task_id, label)
        if timer is None:
            asked = Interrupt(value, id, response_schema=shape)
        else:
            asked = self.timed.get(id)
            if asked is None:
                asked = timer.question(value, id, shape, now, self._due_before(label))
                if timer.sleeps and asked.due <= now:
                    return None
        if asked.id in self.answers:
            return self._checked(asked.id, schema, asked)
        before = self._asked_before(label, value)
        if before is not None:
            return self._checked(before, schema, asked)
        if self.handed_on and (before := self.handed_on.pop(stranger(value, called=True), None)):
            self.answers[asked.id] = self.answers[before]
            return self._checked(before, schema, asked)
        self.open[asked.id] = asked
        raise GraphInterrupt((asked,))

    def stand_in(self, asked: Mapping[str, str], answered: Container[str]) -> None:
        """Take the answers to questions of an imported task.

        Args:
            asked: the questions, and what they are like.
            answered: those that the caller of the run answers. What calls were told before is
                theirs: another one that asks the same is asked anew.
        """
        self.strangers = {id: like for id, like in asked.items() if not like.startswith(_CALLED)}
        likes = [*asked.values()]
        self.to_hand_on = {
            like: id
            for id, like in asked.items()
            if like.startswith(_CALLED) and id in answered and likes.count(like) == 1
        }

    def hand_on(self, called: Questions) -> None:
        """A call of the task may ask what calls of it were asking."""
        called.handed_on = self.to_hand_on or self.handed_on
        called.answers.update({id: self.answers[id] for id in called.handed_on.values()})

    def asked_inside(self) -> dict[str, Interrupt]:
        """What graphs inside ask, in the order in which the task called them."""
        places = sorted(self.inside, key=_order_of_calls) if self.inside else ()
        return {asked.id: asked for ns in places for asked in self.inside[ns]}

    def _due_before(self, label: str) -> float | None:
        """Until when the question waits in whose place this one is asked."""
        if self.former is None:
            return None
        return due_of(self.former.open.get(question_id(self.former.id, label), ""))

    def _asked_before(self, label: str, value: Any) -> str | None:
        """The question of before, answered since, in whose place this one is asked."""
        if self.former is not None:
            asked = question_id(self.former.id, label)
            return asked if asked in self.answers and asked in self.former.open else None
        for asked, like in self.strangers.items():
            # Calls in the task's own thread of control come in the program's order; of those that
            # race, the question itself tells which one asked.
            may_be = label.startswith("main:") or like == stranger(value)
            if may_be and asked not in self._met:
                if asked not in self.answers:
                    return None
                self._met.add(asked)
                return asked
        return None

    def _checked(self, question: str, schema: Any, asked: Interrupt) -> Any:
        """The answer to a question, in the shape that the question declares.

        Args:
            question: the id under which it was answered.
            asked: the question. Its default is the program's own word, and fits as it is.
        """
        answer = self.answers[question]
        if type(answer) is TimedOut and type(asked) is TimedInterrupt:
            answer = asked.late_answer
        if self.heard is not None:
            self.heard.add(question)
        if type(answer) is TimedOut:
            raise InterruptTimeoutError(
                f"Nobody has answered in time: the question had until {answer.due:.0f} (seconds "
                "since the epoch). Catch this error where interrupt(timeout=...) is called, or "
                "give it a default=."
            )
        if schema is None or isinstance(schema, dict):
            return answer
        try:
            return schema.check(answer)
        except Exception as error:
            if _is_default(asked, answer):
                return answer
            self.refused.add(question)
            mark_invalid_resume(error, question)
            raise

    def _label(self, value: Any, key: str | None, who: Any) -> str:
        """What tells the question apart from the others of its task."""
        if key is not None:
            label = f"key:{key}"
        elif who == self.main:
            label = "main"
        else:
            label = "side:" + blake2b(repr(value).encode(), digest_size=16).hexdigest()
        nth = self.counts.get(label, 0)
        self.counts[label] = nth + 1
        if nth and label.startswith("side:"):
            raise InterruptRaceError(
                f"interrupt({value!r}) was called twice with the same question by concurrent code "
                "inside one task, so answers could be swapped. Give each call its own key: "
                "interrupt(value, key=...)."
            )
        return f"{label}:{nth}"


def _is_default(asked: Interrupt, answer: Any) -> bool:
    """Whether an answer is the one that a question has where nobody gives one."""
    if type(asked) is not TimedInterrupt or not asked.has_default:
        return False
    return likeness((answer,), {}) == likeness((asked.default,), {})


def standing_of(record: Mapping[str, Any] | None) -> dict[str, Standing] | None:
    """What a checkpoint made by hand says of open questions: place of a task to the questions it
    stands for, and who asked them. Imported threads say what they are like (see `stranger`); those
    that an earlier plait has imported, nothing ("")."""
    if record is None:
        return None
    return {
        place: asked if type(asked) is dict else dict.fromkeys(asked, "")
        for place, asked in record.items()
    }


def asker_of(asked: Standing) -> str | None:
    """The task that asked such questions; None: nobody knows."""
    *_, said = asked.values()
    asker = cast(str, said if isinstance(said, str) else said[0])
    return None if not asker or asker.startswith((_OWN, _CALLED)) else asker


def said_of(question: Interrupt, asker: str) -> Any:
    """What stands for who asked a question (see `Standing`)."""
    timed = type(question) is TimedInterrupt
    return [asker, question.due, question.sleeps] if timed else asker


def due_of(asker: Any) -> float | None:
    """The time that such a question waits for, if it does."""
    return None if isinstance(asker, str) else asker[1]


def answerable(asked: Standing) -> list[str]:
    """Those of such questions that somebody may answer: others sleep."""
    return [id for id, said in asked.items() if isinstance(said, str) or not said[2]]


def timeless(asked: Standing) -> dict[str, Any]:
    """Such questions, waiting for nothing but an answer."""
    return {id: said if isinstance(said, str) else said[0] for id, said in asked.items()}


def standing(prior: Writes, refused: frozenset[str] = frozenset()) -> Writes:
    """What a failed task keeps of its earlier attempts: its questions, and the answers to them.

    Args:
        prior: what they left.
        refused: questions whose answers did not fit: they are open again.
    """
    kept: Writes = []
    for channel, value in prior:
        if channel == RESUME and not refused.isdisjoint(value):
            value = {name: answer for name, answer in value.items() if name not in refused}
        if channel != ERROR:
            kept.append((channel, value))
    return kept


def is_answer_map(resume: Any) -> bool:
    """Whether a resume value maps interrupt ids (32 hex digits) to answers.

    >>> is_answer_map({"0" * 32: "yes"}), is_answer_map({"approved": True}), is_answer_map({})
    (True, False, False)
    """
    return (
        isinstance(resume, dict)
        and bool(resume)  # pyright: ignore[reportUnknownArgumentType]
        and all(isinstance(k, str) and len(k) == 32 and _is_hex(k) for k in resume)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    )


def _is_hex(text: str) -> bool:
    return all(c in "0123456789abcdef" for c in text)


class Pending:
    """The questions of a stored checkpoint, by task, without those already answered."""

    __slots__ = ("answers", "questions", "tasks_of")

    def __init__(
        self, writes: Iterable[tuple[str, str, Any]], *, with_sleeps: bool = False
    ) -> None:
        self.questions: dict[str, Interrupt] = {}
        self.tasks_of: dict[str, dict[str, None]] = {}
        """Question id to the task that asked and those around it, which wait with it."""
        self.answers: dict[str, dict[str, Any]] = {}
        """Task id to the answers it was given before."""
        for task_id, channel, value in writes:
            if channel == INTERRUPT:
                for question in value:
                    if type(question) is TimedInterrupt and question.sleeps and not with_sleeps:
                        continue  # nobody is asked
                    self.questions[question.id] = question
                    self.tasks_of.setdefault(question.id, {})[task_id] = None
            elif channel == RESUME:
                self.answers.setdefault(task_id, {}).update(value)
        answered = {qid for given in self.answers.values() for qid in given}
        for qid in answered & self.questions.keys():
            del self.questions[qid]

    def stand_in(self, task_id: str, former: Iterable[str]) -> None:
        """Take answers to `former` questions for a task that stands for the one that asked."""
        given = self.answers.get(task_id, {})
        for qid in former:
            if qid not in given:
                self.questions[qid] = Interrupt(None, qid)
                self.tasks_of[qid] = {task_id: None}

    def reopen(self, writes: Iterable[tuple[str, str, Any]]) -> None:
        """Take other answers to the questions that were asked last. Those that their tasks had
        asked before keep theirs."""
        for task_id, channel, value in writes:
            if channel == INTERRUPT:
                for question in value:
                    self.questions[question.id] = question
                    self.tasks_of.setdefault(question.id, {})[task_id] = None
        self.answers = {
            task_id: {qid: answer for qid, answer in given.items() if qid not in self.questions}
            for task_id, given in self.answers.items()
        }

    def match(self, resume: Any, where: str) -> dict[str, dict[str, Any]]:
        """Task id to {question id: answer} for what the caller answers.

        Raises:
            UnknownInterruptError: nothing waits, an id is unknown or stale, or a bare answer
                could belong to several questions.
        """
        ids = tuple(self.questions)
        if is_answer_map(resume):
            given: Mapping[str, Any] = resume
            unknown = [qid for qid in given if qid not in self.questions]
            if unknown:
                raise UnknownInterruptError(
                    f"No interrupt {unknown[0]!r} is pending on {where}: it was answered before "
                    "(by somebody, or by its timeout), its task is gone since update_state(), it "
                    f"belongs to another run, or it never existed. Pending: {list(ids)}.",
                    reason="not_pending",
                    interrupt_ids=unknown,
                    pending_ids=ids,
                )
        elif len(ids) == 1:
            given = {ids[0]: resume}
        elif ids:
            raise UnknownInterruptError(
                f"When there are multiple pending interrupts, you must specify the interrupt id "
                f"when resuming. {len(ids)} wait on {where}: pass "
                "Command(resume={interrupt_id: answer, ...}) with ids from get_state().interrupts.",
                reason="ambiguous",
                pending_ids=ids,
            )
        else:
            raise UnknownInterruptError(
                f"Nothing waits for an answer on {where}: it was answered before (by somebody, or "
                "by its timeout), or the run never asked. Look at get_state(config).interrupts; "
                "pass an input to start a new run.",
                reason="not_pending",
            )
        matched: dict[str, dict[str, Any]] = {}
        for qid, answer in given.items():
            for task_id in self.tasks_of[qid]:
                matched.setdefault(task_id, {})[qid] = answer
        return matched
