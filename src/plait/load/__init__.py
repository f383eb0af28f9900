"""Objects as JSON and back, in the field's form (`langchain_core.load`). Data names no code.

What may be made again is a closed list: classes that are data, or those that the caller passes.
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

# Not lazily: the module `load`, imported later, would stand in the place of the function.
from plait.load.dump import dumpd, dumps
from plait.load.load import InitValidator, load, loads

if TYPE_CHECKING:
    from plait.load.serializable import Serializable

__getattr__ = lazily(__name__, {"Serializable": "serializable"})

__all__ = ["InitValidator", "Serializable", "dumpd", "dumps", "load", "loads"]
