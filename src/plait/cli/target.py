"""From `module:attribute` on the command line to a graph or a function."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from traceback import extract_tb, format_exception_only
from types import ModuleType
from typing import Any, cast

from plait.errors import ConfigError, nearest
from plait.graph.state import StateGraph
from plait.pregel.main import Pregel


def load_graph(target: str, app_dir: str = ".") -> Pregel:
    """The graph that a module holds, compiled if it is not.

    Args:
        target: `package.module:attribute`.
        app_dir: the folder that the module is looked for first.

    Raises:
        ConfigError: there is no such module or attribute, it fails, or it is no graph.
    """
    found = _load(target, app_dir)
    if isinstance(found, StateGraph):
        return cast("StateGraph", found).compile()
    if not isinstance(found, Pregel):
        raise ConfigError(
            f"{target} is {type(found).__name__}, no graph. Name a StateGraph or what its "
            "compile() returns."
        )
    return cast("Pregel", found)


def load_function(target: str, app_dir: str = ".") -> Callable[..., Any]:
    """A function that a module holds; arguments and errors as for `load_graph`."""
    found = _load(target, app_dir)
    if not callable(found):
        raise ConfigError(f"{target} is {type(found).__name__}, no function.")
    return cast("Callable[..., Any]", found)


def _load(target: str, app_dir: str) -> Any:
    name, colon, attribute = target.partition(":")
    if not (name and colon and attribute) or name.startswith("."):
        raise ConfigError(f"{target!r} is no `module:attribute`, such as `shop.graphs:support`.")
    folder = str(Path(app_dir).resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = _imported(name, folder)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            known = [each for each in vars(module) if not each.startswith("_")]
            raise ConfigError(f"Module {name!r} has no {attribute!r}. {nearest(attribute, known)}")
        found = getattr(found, part)
    return found


def _imported(name: str, folder: str) -> ModuleType:
    """A module of the program's.

    Raises:
        ConfigError: There is none, or its code fails.
    """
    try:
        return import_module(name)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            raise ConfigError(
                f"There is no module {missing!r} in {folder} or on Python's path. Start the "
                "command where your program starts, or pass --app-dir."
            ) from error
        told = "".join(format_exception_only(error)).strip()
        raise ConfigError(f"Module {name!r} fails when it is imported{_at(error)}: {told}") from (
            error
        )


def _at(error: Exception) -> str:
    """Where a module failed; nothing, where Python's own machinery did, as for a slip of syntax."""
    own = ("<frozen ", importlib.__file__, __file__)
    frames = [at for at in extract_tb(error.__traceback__) if not at.filename.startswith(own)]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
