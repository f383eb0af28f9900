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


def is_expected(oracle: Any, ours: Any) -> bool:
    """Whether two results differ by nothing but a documented error."""
    if isinstance(oracle, dict) and isinstance(ours, dict):
        return (oracle.get("$error"), ours.get("$error")) in ERRORS
    return False
