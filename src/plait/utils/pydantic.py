"""Whether something is a pydantic model; pydantic is loaded only if the program has loaded it."""

import sys
from typing import Any


def is_basemodel_subclass(cls: type[Any]) -> bool:
    """Whether it is a class of pydantic models.

    >>> is_basemodel_subclass(int)
    False
    """
    base = _base()
    return base is not None and isinstance(cls, type) and issubclass(cls, base)  # pyright: ignore[reportUnnecessaryIsInstance]


def is_basemodel_instance(obj: Any) -> bool:
    """Whether it is an object of a pydantic model."""
    base = _base()
    return base is not None and isinstance(obj, base)


def _base() -> Any:
    module = sys.modules.get("pydantic")
    return None if module is None else module.BaseModel


__all__ = ["is_basemodel_instance", "is_basemodel_subclass"]
