"""Optional packages: a helpful error where one is missing."""

from importlib import import_module
from typing import Any


def guard_import(
    module_name: str, *, pip_name: str | None = None, package: str | None = None
) -> Any:
    """A module of an optional package.

    Args:
        module_name: The module; its name is the program's own, never data.
        pip_name: What its package is called; by default like the module.
        package: What a relative name is relative to.

    Raises:
        ImportError: It is not installed; the message says how to install it.

    >>> guard_import("json").dumps([1])
    '[1]'
    """
    try:
        return import_module(module_name, package)
    except ImportError as missing:
        name = pip_name or module_name.partition(".")[0].replace("_", "-")
        raise ImportError(
            f"Could not import {module_name}. Install it: pip install {name}"
        ) from missing


__all__ = ["guard_import"]
