"""Structured queries: a text to search for and a filter, which a visitor translates for a store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from plait.errors import InvalidValueError
from plait.objects.model_face import ModelFace


class Operator(str, Enum):  # noqa: UP042 - users compare and format it as the field's
    """How filters combine."""

    AND = "and"
    OR = "or"
    NOT = "not"


class Comparator(str, Enum):  # noqa: UP042
    """How an attribute compares with a value."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAIN = "contain"
    LIKE = "like"
    IN = "in"
    NIN = "nin"


class Visitor(ABC):
    """Translates queries: derive from it for the filters of a store.

    `allowed_comparators` and `allowed_operators` say what the store knows (None: everything).
    """

    allowed_comparators: Sequence[Comparator] | None = None
    allowed_operators: Sequence[Operator] | None = None

    def _validate_func(self, func: Operator | Comparator) -> None:
        """Refuse what the store does not know."""
        is_operator = isinstance(func, Operator)
        known = self.allowed_operators if is_operator else self.allowed_comparators
        if known and func not in known:
            what = "operator" if is_operator else "comparator"
            raise InvalidValueError(
                f"{type(self).__name__} knows no {what} {func.value!r}. Known: "
                f"{', '.join(repr(each.value) for each in known)}."
            )

    @abstractmethod
    def visit_operation(self, operation: Operation) -> Any:
        """Translate filters that are combined."""

    @abstractmethod
    def visit_comparison(self, comparison: Comparison) -> Any:
        """Translate a comparison."""

    @abstractmethod
    def visit_structured_query(self, structured_query: StructuredQuery) -> Any:
        """Translate a whole query."""


class Expr(ModelFace):
    """A part of a query; it hands itself to the visitor's method for it."""

    _visited_as: ClassVar[str] = "expr"

    def accept(self, visitor: Visitor) -> Any:
        """What the visitor makes of it."""
        return getattr(visitor, f"visit_{self._visited_as}")(self)


class FilterDirective(Expr):
    """A filter: a comparison, or an operation on filters."""


@dataclass
class Comparison(FilterDirective):
    """An attribute of the metadata compared with a value.

    >>> Comparison(comparator=Comparator.EQ, attribute="year", value=2024)
    Comparison(comparator=<Comparator.EQ: 'eq'>, attribute='year', value=2024)
    """

    __plait_fields__ = ("comparator", "attribute", "value")
    _visited_as: ClassVar[str] = "comparison"

    comparator: Comparator
    attribute: str
    value: Any = None

    def __post_init__(self) -> None:
        self.comparator = Comparator(self.comparator)


@dataclass
class Operation(FilterDirective):
    """Filters that are combined."""

    __plait_fields__ = ("operator", "arguments")
    _visited_as: ClassVar[str] = "operation"

    operator: Operator
    arguments: list[FilterDirective]

    def __post_init__(self) -> None:
        self.operator = Operator(self.operator)


@dataclass
class StructuredQuery(Expr):
    """What is searched for, among what, and how many are wanted."""

    __plait_fields__ = ("query", "filter", "limit")
    _visited_as: ClassVar[str] = "structured_query"

    query: str
    filter: FilterDirective | None = None
    limit: int | None = None


__all__ = [
    "Comparator",
    "Comparison",
    "Expr",
    "FilterDirective",
    "Operation",
    "Operator",
    "StructuredQuery",
    "Visitor",
]
