"""`Written`: what objects say that `plait.load.dumps` writes, or describes, as JSON."""

from typing import Any, ClassVar, cast


def not_implemented(thing: object, its_id: list[str]) -> dict[str, Any]:
    """The written form of what cannot be made again."""
    return {"lc": 1, "type": "not_implemented", "id": its_id, "repr": repr(thing)}


class Written:
    """An object with `model_fields` that is written as its id and its constructor's arguments.

    Of a runnable, its name is written as well, for people who read it.

    Classes whose objects are data have a `__plait_namespace__`: where the field knows them. A
    program's class says so by `is_lc_serializable`. Of others it is written what they were.
    """

    __slots__ = ()
    __plait_namespace__: ClassVar[tuple[str, ...] | None] = None

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Whether instances may be written; off by default."""
        return cls.__plait_namespace__ is not None

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """Where the class is, as the first parts of its id."""
        return list(cls.__plait_namespace__ or cls.__module__.split("."))

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
        named = getattr(self, "get_name", None)
        name = {} if named is None else {"name": named()}
        if not self.is_lc_serializable():
            return {**self.to_json_not_implemented(), **name}
        fields: dict[str, Any] = cast("Any", type(self)).model_fields
        kept = {n: getattr(self, n) for n, field in fields.items() if self._is_kept(n, field)}
        kept.update(self.lc_attributes)
        for field, secret in self.lc_secrets.items():
            if kept.get(field) is not None:
                kept[field] = {"lc": 1, "type": "secret", "id": [secret]}
        return {"lc": 1, "type": "constructor", "id": self.lc_id(), "kwargs": kept, **name}

    def to_json_not_implemented(self) -> dict[str, Any]:
        """The description of an object that may not be written."""
        return not_implemented(self, self.lc_id())

    def _is_kept(self, name: str, field: Any) -> bool:
        """Fields that say nothing (None, or empty by default) are left out."""
        value = getattr(self, name)
        if field.exclude:
            return False
        if field.is_required() or value:
            return True
        held = {each: getattr(self, each) for each in cast("Any", type(self)).model_fields}
        return value != field.get_default(call_default_factory=True, validated_data=held)


__all__ = ["Written", "not_implemented"]
