"""`on_unknown`: what happens where nobody knows whether a node did its work.

The engine stores the start of such a node before it runs (`engine.guards`). When a start is found
without an outcome, what is here runs in place of the node's code, as the task's own attempt.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from plait.engine.guards import RUN_AGAIN
from plait.engine.likeness import likeness
from plait.errors import InvalidAnswerError, InvalidNodeError, nearest
from plait.types import UnknownOutcome
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.engine.plan import Writes
    from plait.engine.tasks import Task
    from plait.scope import Scope


Verify: TypeAlias = Callable[[UnknownOutcome], Any]
"""Looks what became of a task: returns (or, async, resolves to) the node's result, or MISSING."""
OnUnknown: TypeAlias = Literal["retry", "ask"] | Verify

_Call: TypeAlias = "Callable[[Task, Scope], Writes]"
_AsyncCall: TypeAlias = "Callable[[Task, Scope], Coroutine[Any, Any, Writes]]"
_Finish: TypeAlias = "Callable[[Task, Any, Scope], Writes]"

AGAIN: Final = "run_again"
"""The answer that has the task run again. The other one is `{"done": result}`."""


def checked_policy(policy: Any) -> Any:
    """A policy as an author gave it.

    Raises:
        InvalidNodeError: it is none.
    """
    if policy is None or policy in ("retry", "ask") or callable(policy):
        return policy
    raise InvalidNodeError(
        f"on_unknown={policy!r} is no policy. Give 'ask', 'retry' or a function that takes an "
        f"UnknownOutcome and returns the result or MISSING. {nearest(policy, ('ask', 'retry'))}"
    )


def is_guard(policy: OnUnknown | None) -> bool:
    """Whether a policy says that a task must not simply run again."""
    return policy is not None and policy != "retry"


def guard(
    policy: OnUnknown | None,
    call: _Call | None,
    acall: _AsyncCall | None,
    finish: _Finish,
    shown: Callable[[Any], Any] | None = None,
    *,
    tells_input: bool = False,
) -> tuple[_Call | None, _AsyncCall | None]:
    """The code of a node behind its policy.

    Args:
        policy: what decides where the outcome of the last start is not known.
        call: the node's code.
        acall: its async code.
        finish: what a result of the node writes.
        shown: its input as the policy sees it.
        tells_input: a question about it shows the input, which is plain data.

    Raises:
        InvalidNodeError: the policy is an async function, and the node has sync code.
    """
    if call is not None and inspect.iscoroutinefunction(policy):
        raise InvalidNodeError(
            f"on_unknown={policy!r} is async, and the node it belongs to is not. Give it a sync "
            "function, or make the node async."
        )

    def about(task: Task) -> UnknownOutcome:
        given = task.input if shown is None else shown(task.input)
        return UnknownOutcome(task.name, task.id, task.starts, given, likeness((given,), {}))

    def decided(task: Task, scope: Scope) -> Any:
        """What the policy found: the task's result, or MISSING."""
        if policy == "ask":
            return _ask(about(task), scope, tells_input)
        return cast("Verify", policy)(about(task))

    def settle(task: Task, result: Any, scope: Scope) -> Writes:
        return RUN_AGAIN if result is MISSING else finish(task, result, scope)

    def guarded(task: Task, scope: Scope) -> Writes:
        assert call is not None
        if not task.unknown:
            return call(task, scope)
        return settle(task, decided(task, scope), scope)

    async def aguarded(task: Task, scope: Scope) -> Writes:
        assert acall is not None
        if not task.unknown:
            return await acall(task, scope)
        result = decided(task, scope)
        if inspect.isawaitable(result):
            result = await result
        return settle(task, result, scope)

    return None if call is None else guarded, None if acall is None else aguarded


def _ask(outcome: UnknownOutcome, scope: Scope, tells_input: bool) -> Any:
    """Ask a person what became of the task."""
    question: dict[str, Any] = {
        "unknown_outcome": outcome.node,
        "task_id": outcome.task_id,
        "attempt": outcome.attempt,
        "input_digest": outcome.input_digest,
        "message": (
            f"{outcome.node!r} was cut off while it ran (attempt {outcome.attempt}); nobody knows "
            f"whether its work was done. Answer {{'done': result}} or {AGAIN!r}."
        ),
    }
    if tells_input:
        question["input"] = outcome.input
    return scope.interrupt(question, f"unknown:{outcome.attempt}", _Answer())


class _Answer:
    """The shape of the answer, as `interrupt(response_schema=)` takes it."""

    json: Final[dict[str, Any]] = {
        "anyOf": [
            {"const": AGAIN},
            {"type": "object", "required": ["done"], "additionalProperties": False,
             "properties": {"done": {}}},
        ]
    }  # fmt: skip

    def check(self, answer: Any) -> Any:
        """The result that an answer gives, or MISSING.

        Raises:
            InvalidAnswerError: it is neither answer.
        """
        if answer == AGAIN:
            return MISSING
        if isinstance(answer, dict) and [*cast("dict[str, Any]", answer)] == ["done"]:
            return cast("dict[str, Any]", answer)["done"]
        raise InvalidAnswerError(
            f"{answer!r} does not say what became of the task. Answer {{'done': result}}, with "
            f"what the node would have returned, or {AGAIN!r}. The question stays open."
        )


__all__ = ["OnUnknown", "Verify", "checked_policy", "guard", "is_guard"]
