"""What the tasks of one run share while it lasts (a shell, a connection), closed where it ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from threading import Lock, RLock
from typing import Any, Protocol, TypeVar, cast

from plait.errors import ConfigError


class Closable(Protocol):
    """Something that has an end."""

    def close(self) -> None:
        """End it; what has ended does nothing."""
        ...


class Owner(Protocol):
    """A run, as far as it owns something."""

    belongings: Belongings | None


ThingT = TypeVar("ThingT", bound=Closable)
_owning = Lock()


class Belongings:
    """The things of one run, each under a key. Any thread may ask for them.

    >>> class Shell:
    ...     def close(self):
    ...         print("closed")
    >>> things = Belongings()
    >>> things.shared("shell", Shell) is things.shared("shell", Shell)
    True
    >>> things.close()
    closed
    """

    __slots__ = ("_ended", "_making", "_things")

    def __init__(self) -> None:
        self._things: dict[Hashable, Closable] = {}
        self._making = RLock()
        self._ended = False

    def shared(self, key: Hashable, make: Callable[[], ThingT]) -> ThingT:
        """The thing of this key, made by whoever asks first; the others wait for it.

        Raises:
            ConfigError: the run has ended.
        """
        with self._making:
            if not self._ended and key not in self._things:
                self._things[key] = make()
            thing = self._things.get(key)
            if thing is None or self._ended:  # it may have ended meanwhile: nobody waits for this
                self.end(key)
                raise ConfigError(
                    "Code that has outlived its run asks for what belonged to it. Have the node "
                    "wait for what it starts before it returns."
                )
            return cast("ThingT", thing)

    def get(self, key: Hashable) -> Any:
        """The thing of this key (None: there is none)."""
        return self._things.get(key)

    def end(self, key: Hashable) -> None:
        """Close the thing of this key, if there is one."""
        thing = self._things.pop(key, None)
        if thing is not None:
            thing.close()

    def close(self) -> None:
        """Close all, those that were made last first; nothing is made any more."""
        self._ended = True
        with ExitStack() as closing:  # whatever one of them raises, the others are closed
            for key in [*self._things]:
                closing.callback(self.end, key)


def belongings_of(run: Owner) -> Belongings:
    """What a run owns, from now on."""
    with _owning:
        if run.belongings is None:
            run.belongings = Belongings()
        return run.belongings


def left_by(run: Owner) -> Belongings | None:
    """What a run that has ended leaves, for its driver to close; it will own nothing any more."""
    with _owning:
        left, run.belongings = run.belongings, _NOTHING
    return left


_NOTHING = Belongings()
_NOTHING.close()

__all__ = ["Belongings", "Closable", "belongings_of", "left_by"]
