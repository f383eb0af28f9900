"""Waiting for a time, durably: `sleep`, `sleep_until`, and questions that nobody answers in time.

A node that waits for a time ends its run, as with `interrupt()`: nothing keeps a process or a
thread waiting, and the time is stored with the thread. The next call on the thread after that time
goes on; `plait timers run` makes such calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from math import inf, modf
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from plait.errors import ConfigError, ConfigTypeError
from plait.scope import current_scope
from plait.types import Interrupt
from plait.typing import MISSING

if TYPE_CHECKING:
    from datetime import timedelta

Seconds: TypeAlias = "float | timedelta"
_LAST = datetime.max.replace(microsecond=0, tzinfo=UTC)
_LAST_EPOCH = _LAST.timestamp()
_FIRST = datetime.min.replace(tzinfo=UTC)
_FIRST_EPOCH = _FIRST.timestamp()


@dataclass(init=False, slots=True)
class TimedInterrupt(Interrupt):
    """A question that waits until a time, and is then answered by itself."""

    due: float
    """When, in seconds since the epoch."""
    default: Any
    """The answer then, if `has_default`."""
    has_default: bool
    sleeps: bool
    """Whether nobody is asked anything: the task waits for the time alone."""

    def __init__(
        self,
        value: Any,
        id: str,
        *,
        due: float,
        default: Any = MISSING,
        sleeps: bool = False,
        response_schema: Any = None,
    ) -> None:
        Interrupt.__init__(self, value, id, response_schema=response_schema)
        self.due = due
        self.has_default = default is not MISSING
        self.default = default if self.has_default else None
        self.sleeps = sleeps

    @property
    def at(self) -> datetime:
        """When, in UTC; the last moment of the calendar for what lies beyond."""
        return moment_of(self.due)

    @property
    def late_answer(self) -> Any:
        """The answer once the time has come."""
        return self.default if self.has_default or self.sleeps else TimedOut(self.due)

    def __hash__(self) -> int:
        return hash(self.id)


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The answer to a question that has no default and was not answered in time."""

    due: float


class Timer:
    """Until when a question waits, as the code that asks it says."""

    __slots__ = ("_at", "_default", "_given", "_seconds", "sleeps")

    def __init__(
        self,
        seconds: float = 0.0,
        at: float | None = None,
        *,
        default: Any = MISSING,
        sleeps: bool = False,
    ) -> None:
        self._seconds = seconds
        self._at = at
        self._default = default
        self.sleeps = sleeps
        self._given = seconds if at is None else at

    def label(self, value: Any) -> Any:
        """What tells the question from others where calls race."""
        return f"sleep {self._given}" if self.sleeps else value

    def question(
        self, value: Any, id: str, schema: Any, now: float, due: float | None
    ) -> TimedInterrupt:
        """The question, asked for the first time.

        Args:
            due: the time that it has, where it is asked in the place of another one.
        """
        if due is None:
            due = now + self._seconds if self._at is None else self._at
        asked = TimedInterrupt(
            value, id, due=due, default=self._default, sleeps=self.sleeps, response_schema=schema
        )
        if self.sleeps:
            asked.value = {"sleep_until": asked.at.isoformat()}
        return asked


def moment_of(epoch: float) -> datetime:
    """A time in seconds since the epoch, in UTC; the first or last moment of the calendar for what
    lies beyond it.

    >>> moment_of(float("inf")).year, moment_of(float("-inf")).year
    (9999, 1)
    """
    if epoch > _LAST_EPOCH:
        return _LAST
    return _FIRST if epoch < _FIRST_EPOCH else datetime.fromtimestamp(epoch, UTC)


def seconds_of(given: Seconds, what: str) -> float:
    """A length of time in seconds.

    Raises:
        ConfigError: it is no number of seconds above 0.
    """
    seconds: Any = given
    if hasattr(given, "total_seconds"):
        seconds = cast("timedelta", given).total_seconds()
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise ConfigError(f"{what} must be a number of seconds above 0, got {given!r}.")
    return _float(seconds)


def answer_timer(timeout: Seconds | None, default: Any, schema: Any) -> Timer:
    """The timer of `interrupt(timeout=, default=, response_schema=)`.

    Raises:
        ConfigError: there is a default and no timeout, the timeout is no length of time, or the
            default is neither None nor of the schema.
    """
    if timeout is None:
        raise ConfigError(
            "interrupt(default=...) is the answer when nobody answers in time: give it a timeout= "
            "(seconds, or a timedelta) too."
        )
    if not (default is MISSING or default is None or schema is None or isinstance(schema, dict)):
        try:
            schema.check(default)
        except Exception as error:
            raise ConfigError(
                f"interrupt(default={default!r}) does not fit its response_schema, which every "
                f"other answer must: {error}"
            ) from error
    return Timer(seconds_of(timeout, "The timeout of interrupt()"), default=default)


def sleep(seconds: Seconds, *, key: str | None = None) -> None:
    """Let some time pass before the node goes on; the run ends here as waiting.

    The time is counted from the first call, and is stored: processes may end meanwhile. The next
    call on the thread after it (`graph.invoke(None, config)`, or `plait timers run`) runs the node
    again from its start, and this call then returns at once. Put what must not be done twice
    before it into a `@task`.

    Args:
        seconds: how long; a number or a timedelta.
        key: names the wait where calls race inside one task (see `interrupt`).

    Raises:
        GraphInterrupt: the time has not come. Let it pass.
        ConfigError: called outside of a running graph, or in one without a saver.
    """
    _wait(Timer(seconds_of(seconds, "sleep()"), sleeps=True), key)


def sleep_until(when: datetime | float, *, key: str | None = None) -> None:
    """Let the node go on at a time; the run ends here as waiting, unless it has come already.

    Args:
        when: a datetime with a time zone, or seconds since the epoch.
        key: names the wait where calls race inside one task (see `interrupt`).

    Raises:
        GraphInterrupt: the time has not come. Let it pass.
        ConfigError: the datetime has no time zone; otherwise as `sleep`.
    """
    _wait(Timer(at=epoch_of(when, "sleep_until()"), sleeps=True), key)


def epoch_of(when: datetime | float, what: str) -> float:
    """A time in seconds since the epoch.

    Raises:
        ConfigError: it is no time, or has no time zone.
    """
    given: Any = when
    if isinstance(given, (int, float)) and not isinstance(given, bool) and given == given:
        return _float(given)
    if not isinstance(given, datetime):
        raise ConfigTypeError(
            f"{what} was given {given!r}, which is no time. Give a datetime with a time zone, or "
            "seconds since the epoch."
        )
    when = given
    if when.tzinfo is None:
        raise ConfigError(
            f"{what} was given {when!r}, which has no time zone, so it is not clear when that is. "
            "Use datetime.now(timezone.utc) + ..., or when.astimezone()."
        )
    return when.timestamp()


def _float(number: float) -> float:
    """A number of seconds; what is too large for a float is as far away as time goes."""
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def text_of(epoch: float) -> str:
    """A time as ISO 8601 in UTC, to the microsecond.

    >>> text_of(0)
    '1970-01-01T00:00:00.000000+00:00'
    """
    fraction, second = modf(epoch)
    micros = round(fraction * 1e6)  # as datetime rounds
    if micros >= 1_000_000:
        second, micros = second + 1, 0
    elif micros < 0:
        second, micros = second - 1, micros + 1_000_000
    return f"{_text_of_second(second)}.{micros:06d}+00:00"


@lru_cache(maxsize=8)  # a run makes hundreds of checkpoints in one second
def _text_of_second(second: float) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:19]


def _wait(timer: Timer, key: str | None) -> None:
    scope = current_scope.get()
    if scope is None:
        raise ConfigError(
            "sleep() was called outside of a running graph. Call it in a node, a tool or a task."
        )
    scope.interrupt(None, key, None, timer)


__all__ = ["TimedInterrupt", "TimedOut", "sleep", "sleep_until"]
