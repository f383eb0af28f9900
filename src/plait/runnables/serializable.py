"""`RunnableSerializable`: the base of runnables whose fields are pydantic fields."""

from pydantic import ConfigDict

from plait.load.serializable import Serializable
from plait.runnables.base import Input, Output, Runnable


class RunnableSerializable(Serializable, Runnable[Input, Output]):
    """A runnable with pydantic fields. Derive from it, annotate fields, define `invoke`.

    >>> class Repeat(RunnableSerializable[str, str]):
    ...     times: int = 2
    ...     def invoke(self, input, config=None, **kwargs):
    ...         return input * self.times
    >>> Repeat(times=3).invoke("ab")
    'ababab'
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())

    name: str | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """The name that handlers see."""


__all__ = ["RunnableSerializable"]
