"""Objects as JSON and back, in the field's form (`langchain_core.load`). Data names no code.

What may be made again is a closed list: messages, and the classes that the caller passes.
"""

from typing import TYPE_CHECKING

from plait.lazy import lazily

if TYPE_CHECKING:
    from plait.load.dumping import dumpd, dumps
    from plait.load.loading import load, loads
    from plait.load.serializable import Serializable

_HOMES = {
    "Serializable": "serializable",
    "dumpd": "dumping",
    "dumps": "dumping",
    "load": "loading",
    "loads": "loading",
}

__getattr__ = lazily(__name__, _HOMES)

__all__ = ["Serializable", "dumpd", "dumps", "load", "loads"]
