"""Signs of life of a task with an idle timeout: whatever its code does that callbacks tell of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from plait.callbacks.handlers import BaseCallbackHandler

Beat: TypeAlias = Callable[[], None]


class SignsOfLife(BaseCallbackHandler):
    """Hears every event inside a task: a model that streams, a tool that starts."""

    run_inline = True
    """Told in the thread where it happens: it only takes the time."""
    hears_no_run = True
    """It may be the only one that listens to a task, whose run then has no id."""

    def __init__(self, beat: Beat) -> None:
        self._beat = beat


def _listen(name: str) -> Callable[..., None]:
    def on_event(self: SignsOfLife, *args: Any, **kwargs: Any) -> None:
        self._beat()  # pyright: ignore[reportPrivateUsage]

    on_event.__name__ = name
    return on_event


for _name in [name for name in dir(BaseCallbackHandler) if name.startswith("on_")]:
    setattr(SignsOfLife, _name, _listen(_name))

__all__ = ["SignsOfLife"]
