"""`Serializable`: a pydantic base whose instances can be written as JSON, secrets left out."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from plait.load.registry import not_implemented


class Serializable(BaseModel):
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

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Whether instances may be written; off by default."""
        return False

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """Where the class is, as the first parts of its id."""
        return cls.__module__.split(".")

    @classmethod
    def lc_id(cls) -> list[str]:
        """What the class is called in the written form."""
        return [*cls.get_lc_namespace(), cls.__name__.partition("[")[0]]

    @property
    def lc_secrets(self) -> dict[str, str]:
        """Fields that are secret, each with the name under which its value is asked for again."""
        return {}

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """More constructor arguments to write."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """The object in the written form; one that may not be written, as its description."""
        if not self.is_lc_serializable():
            return self.to_json_not_implemented()
        names = filter(self._is_kept, type(self).model_fields)
        kept = {name: getattr(self, name) for name in names}
        kept.update(self.lc_attributes)
        for name, secret in self.lc_secrets.items():
            if kept.get(name) is not None:
                kept[name] = {"lc": 1, "type": "secret", "id": [secret]}
        return {"lc": 1, "type": "constructor", "id": self.lc_id(), "kwargs": kept}

    def to_json_not_implemented(self) -> dict[str, Any]:
        """The description of an object that may not be written."""
        return not_implemented(self, self.lc_id())

    def __repr_args__(self) -> Any:
        fields = type(self).model_fields
        shown = super().__repr_args__()
        return [(k, v) for k, v in shown if k not in fields or self._is_kept(k or "")]

    def _is_kept(self, name: str) -> bool:
        """Fields that say nothing (None, or empty by default) are left out."""
        field = type(self).model_fields[name]
        value = getattr(self, name)
        if field.exclude:
            return False
        if field.is_required() or value:
            return True
        return value != field.get_default(call_default_factory=True)
