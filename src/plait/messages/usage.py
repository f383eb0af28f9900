"""Token counts of model calls: added up, taken apart."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import TYPE_CHECKING, Any, cast

from plait.messages.fields import check_dict, reject

if TYPE_CHECKING:
    from plait.messages.content import UsageMetadata

REQUIRED = ("input_tokens", "output_tokens", "total_tokens")
DETAILS = {
    "input_token_details": ("audio", "cache_creation", "cache_read"),
    "output_token_details": ("audio", "reasoning"),
}
KNOWN = (*REQUIRED, *DETAILS)


def check_usage(where: str, value: Any) -> UsageMetadata | None:
    """None, or a dict with the three counts; a whole number may be a float, as JSON may have it."""
    if value is None:
        return None
    usage = check_dict(where, value)
    for key in REQUIRED:
        count = usage.get(key)
        if not isinstance(count, int):
            usage[key] = _whole(f"{where}.{key}", count)
    made = in_order(usage, KNOWN)
    for key, known in DETAILS.items():
        if isinstance(made.get(key), dict):
            made[key] = in_order(made[key], known)
    return cast("UsageMetadata", made)


def _whole(where: str, count: Any) -> int:
    if not isinstance(count, float) or not count.is_integer():
        raise reject(where, "an int", count)
    return int(count)


def in_order(counts: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """The counts with the known ones first, so that equal counts are written alike."""
    return {k: counts[k] for k in known if k in counts} | counts


def combine(left: dict[str, Any], right: dict[str, Any], op: Callable[[int, int], int]) -> Any:
    """Two nested dicts of counts as one, key by key; a missing count is 0."""
    combined: dict[str, Any] = {}
    for key in (*left, *(k for k in right if k not in left)):
        a, b = left.get(key), right.get(key)
        if isinstance(a, dict) or isinstance(b, dict):
            combined[key] = combine(cast("Any", a or {}), cast("Any", b or {}), op)
        else:
            combined[key] = op(a or 0, b or 0)
    return combined


def add_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """The sum of two usages; None counts as nothing.

    >>> one = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    >>> add_usage(one, one)
    {'input_tokens': 2, 'output_tokens': 4, 'total_tokens': 6}
    """
    if not left or not right:
        return left or right or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    return combine(cast("dict[str, Any]", left), cast("dict[str, Any]", right), add)


def subtract_usage(left: UsageMetadata | None, right: UsageMetadata | None) -> UsageMetadata:
    """What is left of a usage after taking another away; no count goes below 0."""
    if not left or not right:
        return left or right or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    given = cast("dict[str, Any]", left), cast("dict[str, Any]", right)
    return combine(*given, lambda a, b: max(a - b, 0))
