"""What generated programs of the functional API are written with, on either side."""

from typing import Any


def brief(value: Any) -> str:
    """A value as a short text, so that what comes of many steps stays small."""
    text = repr(value).replace('"', "").replace("'", "").replace("\\", "")
    return text if len(text) < 60 else f"{text[:40]}..{len(text)}"
