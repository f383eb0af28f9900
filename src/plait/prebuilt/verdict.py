"""What a rule says of the tool calls of a message, worked out once for all tasks that ask."""

from collections.abc import Callable, Sequence
from typing import Any, Generic

from typing_extensions import TypeVar

T = TypeVar("T", default=bool)


class Verdict(Generic[T]):
    """A rule over the tool calls of one message, and what it said last.

    Each of many calls of a turn asks it when it is done: were the calls looked at each time, the
    work would grow with their square.

    Args:
        rule: What is asked about the calls.

    >>> verdict = Verdict(lambda calls: len(calls) > 1)
    >>> from plait.messages import AIMessage
    >>> verdict.on(AIMessage("", tool_calls=[{"name": "add", "args": {}, "id": "1"}]))
    False
    """

    def __init__(self, rule: Callable[[Sequence[Any]], T]) -> None:
        self._rule = rule
        self._last: tuple[Any, Any, T] | None = None

    def on(self, message: Any) -> T:
        """What the rule says of the calls of a message, which may have none."""
        calls = getattr(message, "tool_calls", ())
        last = self._last
        if last is None or last[0] is not message or last[1] is not calls:
            last = self._last = (message, calls, self._rule(calls))
        return last[2]

    def forget(self) -> None:
        """Look anew the next time: the calls may have been changed in place."""
        self._last = None


__all__ = ["Verdict"]
