"""Answers of a declared shape: the `response_schema` of `interrupt()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class AnswerSchema:
    """The shape of an answer, given as a type.

    >>> schema = AnswerSchema(bool)
    >>> schema.json, schema.check("yes")
    ({'type': 'boolean'}, True)
    """

    __slots__ = ("_adapter", "json")

    def __init__(self, schema: Any) -> None:
        from pydantic import TypeAdapter  # only where a question declares a type

        self._adapter: TypeAdapter[Any] = TypeAdapter(schema)
        self.json: dict[str, Any] | None = self._adapter.json_schema()
        """What whoever shows the question is told of the shape."""

    def check(self, answer: Any) -> Any:
        """The answer as an object of the type.

        Raises:
            ValidationError: it is none.
        """
        return self._adapter.validate_python(answer)


class AnswerCheck(AnswerSchema):
    """The shape of an answer, given as a function that checks it.

    Args:
        check: given an answer, returns what `interrupt()` returns for it. If it raises, the
            question stays open.
        json: what whoever shows the question is told of the shape, as a JSON schema.
    """

    __slots__ = ("_check",)

    def __init__(self, check: Callable[[Any], Any], json: dict[str, Any] | None = None) -> None:
        self._check = check
        self.json = json

    def check(self, answer: Any) -> Any:
        """The answer, as the function returns it."""
        return self._check(answer)


__all__ = ["AnswerCheck", "AnswerSchema"]
