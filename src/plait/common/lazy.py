"""Names of a package that load when they are first used, so that importing it stays cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package (PEP 562): its names, which its `dir()` has, too, and the
    modules inside it.

    Args:
        package: its `__name__`.
        homes: name to the module that has it: inside the package, or with its whole path.

    >>> import plait.drawing
    >>> load = lazily("plait.drawing", {"Marks": "marks", "END": "plait.constants"})
    >>> load("END"), load("Marks").__name__
    ('__end__', 'Marks')
    """

    def load(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            value = _module_inside(package, name)
        else:
            value = getattr(import_module(home if "." in home else f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    module = sys.modules[package]
    vars(module).setdefault("__dir__", lambda: sorted({*vars(module), *homes}))
    return load


def _module_inside(package: str, name: str) -> ModuleType:
    """A module that a package which loads all of its own at once would have as an attribute."""
    whole = f"{package}.{name}"
    is_package = "__path__" in vars(sys.modules[package])
    if name.startswith("_") or not is_package or find_spec(whole) is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return import_module(whole)
