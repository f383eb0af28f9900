"""Differences that docs/compatibility.md names: what the families cannot avoid, and let pass."""

from typing import Any

ERRORS = {
    # the peer's error, plait's: the row that says so
    ("ValidationError", "InvalidMessageError"): "Fields of messages",
    ("KeyError", "InvalidMessageError"): "Fields of messages",
    ("TypeError", "InvalidMessageError"): "Fields of messages",
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
    both = isinstance(oracle, dict) and isinstance(ours, dict)
    if both and (oracle.get("$error"), ours.get("$error")) in ERRORS:
        return True
    return any(f"'$error': {name!r}" in repr(oracle) for name in ANYWHERE)
