"""`dumps`, `dumpd`: objects as JSON text, or as the plain data of it."""

import json
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any, cast

from plait.objects.written import not_implemented

ESCAPED = "__lc_escaped__"
"""Marks a dict of the user that looks like a written object, and is data."""


def dumpd(obj: Any) -> Any:
    """`obj` as plain data. Objects that cannot be written become descriptions of themselves.

    >>> from plait.messages import HumanMessage
    >>> dumpd(HumanMessage("hi"))["id"]
    ['langchain', 'schema', 'messages', 'HumanMessage']
    """
    if obj is None or isinstance(obj, (str, int, float, bool)):
        return obj
    if isinstance(obj, (list, tuple)):
        return [dumpd(item) for item in cast("list[Any]", obj)]
    if isinstance(obj, Mapping):
        plain = {str(key): dumpd(value) for key, value in cast("dict[Any, Any]", obj).items()}
        return {ESCAPED: plain} if "lc" in plain or ESCAPED in plain else plain
    if not isinstance(obj, type) and callable(getattr(obj, "to_json", None)):
        return _written(obj.to_json())
    is_named = isinstance(obj, (type, FunctionType, BuiltinFunctionType)) and obj.__module__
    kind = cast("type[Any]", obj if is_named else type(obj))
    return not_implemented(obj, [*kind.__module__.split("."), kind.__name__])


def _written(described: dict[str, Any]) -> dict[str, Any]:
    if described.get("type") != "constructor":
        return described
    given: dict[str, Any] = described["kwargs"]
    kwargs = {key: value if _is_secret(value) else dumpd(value) for key, value in given.items()}
    return {**described, "kwargs": kwargs}


def _is_secret(value: Any) -> bool:
    marks = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return marks.keys() == {"lc", "type", "id"} and marks["type"] == "secret"


def dumps(obj: Any, *, pretty: bool = False, **kwargs: Any) -> str:
    """`obj` as JSON text.

    Args:
        obj: What to write.
        pretty: Indented, for people.
        kwargs: For `json.dumps`.
    """
    if pretty:
        kwargs.setdefault("indent", 2)
    return json.dumps(dumpd(obj), **kwargs)
