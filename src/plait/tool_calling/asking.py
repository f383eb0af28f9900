"""Asking a person about tool calls: the one place where approvals meet `interrupt()`."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, TypeVar

from plait.answers import AnswerCheck
from plait.scope import current_tool_call
from plait.tool_calling.approval import Approval
from plait.types import interrupt

AnswerT = TypeVar("AnswerT")


def ask(
    request: Any,
    approvals: Sequence[Approval],
    read: Callable[[Any], AnswerT],
    *,
    shown: dict[str, Any] | None = None,
) -> AnswerT:
    """Stop until a person has decided about these calls, and return what `read` makes of it.

    The question is bound to the calls (see `bound`). An answer that `read` refuses leaves it open.

    Args:
        request: What the person is shown.
        approvals: The calls that the answer decides about.
        read: Checks an answer; raises an error if it is none.
        shown: The JSON schema of the answer, for whoever shows the question.

    Raises:
        GraphInterrupt: There is no answer yet. Let it pass.
        ConfigError: Nothing that could wait runs here.
    """
    with bound(approvals):
        return interrupt(request, response_schema=AnswerCheck(read, shown))


@contextmanager
def bound(approvals: Sequence[Approval]) -> Generator[None]:
    """Questions that are asked inside hold only for these calls, exactly as they are.

    Their ids are made of what the approvals are bound to. If a call has changed by the time its
    answer comes (other arguments, another tool, another call), the answer does not reach it: the
    person is asked again, and shown what would run now.
    """
    about = "".join(each.binding for each in approvals)
    key = "approval:" + blake2b(about.encode(), digest_size=16).hexdigest()
    outer = current_tool_call.get()
    token = current_tool_call.set(key if outer is None else f"{outer}/{key}")
    try:
        yield
    finally:
        current_tool_call.reset(token)


__all__ = ["ask", "bound"]
