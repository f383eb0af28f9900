"""Turns what a program returned into plain data that two implementations can be compared by.

Messages, snapshots, commands, dataclasses, models and errors become tagged dicts. Ids become
`<id:1>`, `<id:2>`... by order of first appearance (mappings are walked in sorted order), so equal
ids stay equal and different ids stay different; timestamps become `<time>`.
"""

import dataclasses
import datetime
import enum
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pydantic

_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b", re.I
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")
_VERSION = re.compile(r"(\d{32})\.[\d.e+-]+")

# Public types of the peer, by class name: the fields that are compared (fields that only one side
# has are its own affair).
_FIELDS: dict[str, Sequence[str]] = {
    "StateSnapshot": (
        *("values", "next", "config", "metadata", "created_at"),
        *("parent_config", "tasks", "interrupts"),
    ),
    "PregelTask": ("id", "name", "path", "error", "interrupts", "state", "result"),
    "Interrupt": ("value", "id"),
    "Command": ("graph", "update", "resume", "goto"),
    "Send": ("node", "arg"),
    "Overwrite": ("value",),
    "CheckpointTuple": ("config", "checkpoint", "metadata", "parent_config", "pending_writes"),
}
_MESSAGE_FIELDS = (
    *("type", "content", "id", "name", "additional_kwargs", "response_metadata"),
    *("tool_calls", "invalid_tool_calls", "usage_metadata", "tool_call_chunks"),
    *("tool_call_id", "status", "artifact", "example", "role"),
)
# Values under these keys are ids whatever they look like.
_ID_KEYS = {"checkpoint_id", "thread_ts", "task_id", "run_id", "interrupt_id"}


@dataclasses.dataclass(frozen=True)
class ErrorInfo:
    """What `env.error` saw: the class of an error and the names of all its classes."""

    name: str
    mro: tuple[str, ...]
    text: str = dataclasses.field(default="", compare=False)

    @classmethod
    def of(cls, error: BaseException) -> "ErrorInfo":
        """The info of a caught error."""
        names = tuple(c.__name__ for c in type(error).__mro__ if c is not object)
        return cls(type(error).__name__, names, str(error))


@dataclasses.dataclass(frozen=True)
class Difference:
    """The first place where two results part."""

    path: str
    oracle: Any
    plait: Any

    def __str__(self) -> str:
        return f"at {self.path}\n  langgraph: {self.oracle!r}\n  plait:     {self.plait!r}"


class Normaliser:
    """One walk over one side's result; remembers which ids it has met."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._texts: dict[str, str] = {}  # searched before: states tell the same ones over and over

    def plain(self, value: Any, key: Any = None) -> Any:
        """`value` as plain data; `key` is the name under which it was found."""
        if type(value) is str:  # of millions of values, nearly all
            return self._id(value) if key in _ID_KEYS and value else self._text(value)
        if isinstance(value, bool | int | float | bytes) or value is None:
            return value.value if isinstance(value, enum.Enum) else value
        if isinstance(value, enum.Enum):
            return {"$enum": f"{type(value).__name__}.{value.name}"}
        if isinstance(value, str):
            return self._id(value) if key in _ID_KEYS and value else self._text(value)
        if isinstance(value, ErrorInfo):
            return {"$error": value.name, "mro": value.mro}
        if isinstance(value, BaseException):
            return self.plain(ErrorInfo.of(value))
        if isinstance(value, type):
            return {"$class": value.__name__}
        return self._composite(value)

    def _composite(self, value: Any) -> Any:
        classes = [c.__name__ for c in type(value).__mro__]
        if "BaseMessage" in classes:
            fields = {f: getattr(value, f) for f in _MESSAGE_FIELDS if hasattr(value, f)}
            return self._tagged(type(value).__name__, fields)
        for name in classes:
            if name in _FIELDS:
                fields = {f: getattr(value, f, "<missing>") for f in _FIELDS[name]}
                if name in ("PregelTask", "Interrupt") and fields["id"]:
                    fields["id"] = self._id(fields["id"])
                return self._tagged(type(value).__name__, fields)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._tagged(type(value).__name__, value._asdict())
        if isinstance(value, pydantic.BaseModel):
            return self._tagged(type(value).__name__, dict(value))
        if dataclasses.is_dataclass(value):
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return self._tagged(type(value).__name__, fields)
        return self._collection(value)

    def _collection(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self.plain(item) for item in value)
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        if isinstance(value, deque):
            return {"$deque": [self.plain(item) for item in value]}
        if isinstance(value, set | frozenset):
            return {"$set": sorted((self.plain(item) for item in value), key=repr)}
        if isinstance(value, datetime.datetime | datetime.date | datetime.timedelta):
            return {"$time": repr(value)}
        if hasattr(value, "tolist") and hasattr(value, "dtype"):
            return {"$array": str(value.dtype), "items": value.tolist()}
        if callable(value):
            return {"$callable": getattr(value, "__name__", type(value).__name__)}
        if hasattr(value, "__dict__") and "_programs_" in type(value).__module__:
            return self._tagged(type(value).__name__, vars(value))
        return {"$object": type(value).__name__}  # what is inside a library's object is its affair

    def _tagged(self, name: str, fields: Mapping[str, Any]) -> dict[Any, Any]:
        return {"$": name, **self._mapping(fields)}

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        # Sorted, so that placeholders do not depend on the order in which a side filled a dict.
        keys = sorted(value, key=lambda k: (type(k).__name__, str(k)))
        return {self._key(k): self.plain(value[k], k) for k in keys}

    def _key(self, key: Any) -> Any:
        plain = self.plain(key)
        return plain if plain.__hash__ else repr(plain)

    def _text(self, text: str) -> str:
        if text in self._ids:
            return self._ids[text]
        known = self._texts.get(text)
        if known is None:
            known = _VERSION.sub(lambda m: f"<version {int(m[1])}>", text)
            known = _ID.sub(lambda m: self._id(m[0]), _TIME.sub("<time>", known))
            self._texts[text] = known
        return known

    def _id(self, text: str) -> str:
        return self._ids.setdefault(text, f"<id:{len(self._ids) + 1}>")


def normalise(value: Any) -> Any:
    """The plain form of one side's result.

    >>> normalise(({"b": 1}, [ValueError("no")]))
    ({'b': 1}, [{'$error': 'ValueError', 'mro': ('ValueError', 'Exception', 'BaseException')}])
    """
    return Normaliser().plain(value)


def difference(oracle: Any, plait: Any, path: str = "result") -> Difference | None:
    """The first difference between two plain values, or None.

    An error of plait matches when every class of the peer's error is among its classes: whatever
    `except` clause catches the one catches the other.

    >>> str(difference([1, {"a": 2}], [1, {"a": 3}])).splitlines()[0]
    "at result[1]['a']"
    """
    if type(oracle) is not type(plait):
        return Difference(path, oracle, plait)
    if isinstance(oracle, dict):
        if "$error" in oracle and "$error" in plait:
            missing = set(oracle["mro"]) - set(plait["mro"])
            return Difference(path, oracle, plait) if missing else None
        return _first([*((k, f"{path}[{k!r}]") for k in _all_keys(oracle, plait))], oracle, plait)
    if isinstance(oracle, list | tuple):
        if len(oracle) != len(plait):
            found = _first(
                [(i, f"{path}[{i}]") for i in range(_shorter(oracle, plait))], oracle, plait
            )
            at = f" (first differing item: {found})" if found else ""
            return Difference(
                f"{path}: {len(oracle)} items against {len(plait)}{at}", oracle, plait
            )
        return _first([(i, f"{path}[{i}]") for i in range(len(oracle))], oracle, plait)
    same = oracle == plait or (oracle != oracle and plait != plait)  # NaN is equal to NaN here
    return None if same else Difference(path, oracle, plait)


_ABSENT = type("Absent", (), {"__repr__": lambda self: "<absent>"})()


def errors_of_another_kind(oracle: Any, plait: Any) -> set[str]:
    """The peer's errors that plait has another kind of error in the place of.

    >>> theirs, ours = normalise([[KeyError("a")], [ValueError("a")]])
    >>> errors_of_another_kind(theirs, ours)
    {'KeyError'}
    """
    if isinstance(oracle, dict) and isinstance(plait, dict):
        if "$error" in oracle and "$error" in plait:
            return {oracle["$error"]} if difference(oracle, plait) else set()
        pairs = [(oracle[key], plait[key]) for key in oracle if key in plait]
    elif isinstance(oracle, list | tuple) and isinstance(plait, list | tuple):
        pairs = [*zip(oracle, plait, strict=False)]
    else:
        return set()
    return {name for pair in pairs for name in errors_of_another_kind(*pair)}


def _all_keys(oracle: dict[Any, Any], plait: dict[Any, Any]) -> list[Any]:
    return [*oracle, *(k for k in plait if k not in oracle)]


def _shorter(oracle: Sequence[Any], plait: Sequence[Any]) -> int:
    return min(len(oracle), len(plait))


def _first(steps: Iterable[tuple[Any, str]], oracle: Any, plait: Any) -> Difference | None:
    for step, path in steps:
        if isinstance(oracle, dict):
            ours, theirs = oracle.get(step, _ABSENT), plait.get(step, _ABSENT)
        else:
            ours, theirs = oracle[step], plait[step]
        if found := difference(ours, theirs, path):
            return found
    return None
