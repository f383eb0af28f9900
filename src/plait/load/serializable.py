"""`Serializable`: a pydantic base whose instances can be written as JSON, secrets left out."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from plait.objects.written import Written


class Serializable(Written, BaseModel):
    """Pydantic fields, written by `plait.load.dumps` if `is_lc_serializable` says so.

    >>> from plait.load import dumpd
    >>> class Point(Serializable):
    ...     x: int
    ...     @classmethod
    ...     def is_lc_serializable(cls):
    ...         return True
    >>> dumpd(Point(x=1))["kwargs"]
    {'x': 1}
    """

    model_config = ConfigDict(extra="ignore")

    def __repr_args__(self) -> Any:
        fields = type(self).model_fields
        for name, value in super().__repr_args__():
            if name not in fields or self._is_kept(name, fields[name]):
                yield name, value
