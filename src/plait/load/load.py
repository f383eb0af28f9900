"""`loads`, `load`: written objects made again. Nothing is imported by a name in the data."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from plait.load.dump import ESCAPED
from plait.load.registry import data_classes, message_classes

InitValidator = Callable[[tuple[str, ...], dict[str, Any]], None]
"""Looks at the id of a class and what an object of it is to be made of; raises to refuse."""

Allowed = Iterable[type[Any]] | Literal["all", "core", "messages"] | None


def load(
    obj: Any,
    *,
    allowed_objects: Allowed = None,
    secrets_map: Mapping[str, str] | None = None,
    secrets_from_env: bool = False,
    valid_namespaces: Sequence[str] | None = None,
    ignore_unserializable_fields: bool = False,
    init_validator: InitValidator | None = None,
) -> Any:
    """Objects from plain data.

    Args:
        obj: What `dumpd` gave.
        allowed_objects: Which classes may be made: "messages"; "core" or "all", which is the
            default (messages, documents, prompts, parsers, and what models and agents say); or
            those of a list.
        secrets_map: The values of secrets by name; others are None.
        secrets_from_env: Look other secrets up in the environment. The data chooses the names:
            only for data that you trust.
        valid_namespaces: Accepted for programs that give them; a class that is among the
            `allowed_objects` may be made wherever it stands.
        ignore_unserializable_fields: Make None of what could not be written.
        init_validator: Called with the id of each class and what it is to be made of, before it
            is made; to refuse, it raises.

    Raises:
        ValueError: The data names a class that may not be made.
        NotImplementedError: The data describes an object that could not be written.

    >>> from plait.load import dumpd
    >>> from plait.messages import HumanMessage
    >>> load(dumpd(HumanMessage("hi"))).content
    'hi'
    """
    known = message_classes() if allowed_objects == "messages" else data_classes()
    if allowed_objects is not None and not isinstance(allowed_objects, str):
        known = {tuple(_id_of(each)): each for each in allowed_objects}
    del valid_namespaces
    loader = _Loader(known, secrets_map or {}, secrets_from_env)
    loader.skips, loader.validate = ignore_unserializable_fields, init_validator
    return loader.made(obj)


def loads(text: str, **kwargs: Any) -> Any:
    """Objects from JSON text; arguments and errors are those of `load`."""
    return load(json.loads(text), **kwargs)


class _Loader:
    def __init__(
        self, known: Mapping[tuple[str, ...], Any], secrets: Mapping[str, str], from_env: bool
    ) -> None:
        self._known = known
        self._secrets = secrets
        self._from_env = from_env
        self.skips = False
        self.validate: InitValidator | None = None

    def made(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self.made(item) for item in cast("list[Any]", data)]
        if not isinstance(data, dict):
            return data
        written = cast("dict[str, Any]", data)
        if len(written) == 1 and ESCAPED in written:
            inner = written[ESCAPED]
            return {key: self._unescaped(value) for key, value in inner.items()}
        kind = written.get("type") if written.get("lc") == 1 else None
        if kind == "secret":
            return self._secret(written["id"][0])
        if kind == "not_implemented":
            if self.skips:
                return None
            raise NotImplementedError(
                f"The data describes an object that could not be written: {written.get('id')}"
            )
        if kind == "constructor":
            return self._constructed(written)
        return {key: self.made(value) for key, value in written.items()}

    def _unescaped(self, data: Any) -> Any:
        """Data under an escape: as it is, but for escapes inside."""
        if isinstance(data, list):
            return [self._unescaped(item) for item in cast("list[Any]", data)]
        return self.made(data)

    def _secret(self, name: str) -> str | None:
        if name in self._secrets:
            return self._secrets[name]
        return os.environ.get(name) if self._from_env else None

    def _constructed(self, written: dict[str, Any]) -> Any:
        its_id = tuple(written.get("id") or ())
        cls = self._known.get(its_id)
        if cls is None:
            raise ValueError(
                f"Deserialization of {its_id} is not allowed. Pass its class in "
                "`allowed_objects`, if you trust the data."
            )
        kwargs = {key: self.made(value) for key, value in written.get("kwargs", {}).items()}
        if self.validate is not None:
            self.validate(its_id, kwargs)
        made = getattr(cls, "model_validate", None)
        return cls(**kwargs) if made is None else made(kwargs)


def _id_of(cls: Any) -> list[str]:
    if hasattr(cls, "lc_id"):
        return cls.lc_id()
    return [*cls.__module__.split("."), cls.__name__]


__all__ = ["InitValidator", "load", "loads"]
