"""Differences that docs/compatibility.md names: what the families cannot avoid, and let pass."""

from typing import Any

ERRORS = {
    # the peer's error, plait's: the row that says so
    ("ValidationError", "InvalidMessageError"): "Fields of messages",
    ("KeyError", "InvalidMessageError"): "Fields of messages",
    ("TypeError", "InvalidMessageError"): "Fields of messages",
    ("ValidationError", "InvalidInputError"): "Fields of messages",  # and of documents
    ("NotImplementedError", "MissingVariablesError"): "",  # which of two branches fails first
    ("ValidationError", "InvalidTemplateError"): "Fields of prompts and parsers",
    ("ValidationError", "TypeError"): "Fields of prompts and parsers",
    ("ValidationError", "NotImplementedError"): "Sync calls of async tools",
    ("ValueError", "NotImplementedError"): "Sync calls of async tools",
    ("TypeError", "NotImplementedError"): "Sync calls of async tools",
}


ANYWHERE = {
    # an error of the peer that stands for a row wherever it is found
    "UnboundLocalError": "Streams without a chunk",
}


def is_expected(oracle: Any, ours: Any) -> bool:
    """Whether two results differ by nothing but a documented error."""
    theirs, mine = _error(oracle), _error(ours)
    if theirs and mine and (theirs, mine) in ERRORS:
        return True
    if _is_picture(ours) and theirs:
        return theirs == "ValueError"  # "ASCII pictures of loops"
    return any(f"'$error': {name!r}" in repr(oracle) for name in ANYWHERE)


def _error(result: Any) -> Any:
    """The name of the error that a call ended with, beside what handlers heard until then or
    without."""
    if (
        isinstance(result, tuple)
        and result[:1] == ("returned",)
        and isinstance(result[1], list | tuple)
    ):
        result = result[1][0] if result[1] else None
    return result.get("$error") if isinstance(result, dict) else None


def _is_picture(result: Any) -> bool:
    """Whether a call returned a picture made of characters."""
    return isinstance(result, tuple) and isinstance(result[-1], str) and "+---" in result[-1]
