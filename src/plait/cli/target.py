"""From `module:attribute` on the command line to a graph."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
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
        ConfigError: there is no such module or attribute, or it is no graph.
    """
    name, colon, attribute = target.partition(":")
    if not (name and colon and attribute):
        raise ConfigError(f"{target!r} is no `module:attribute`, such as `shop.graphs:support`.")
    folder = str(Path(app_dir).resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module is there; what it needs is not
        raise ConfigError(
            f"There is no module {error.name!r} in {folder} or on Python's path. Start the command "
            "where your program starts, or pass --app-dir."
        ) from error
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            known = [each for each in vars(module) if not each.startswith("_")]
            raise ConfigError(f"Module {name!r} has no {attribute!r}. {nearest(attribute, known)}")
        found = getattr(found, part)
    if isinstance(found, StateGraph):
        return cast("StateGraph", found).compile()
    if not isinstance(found, Pregel):
        raise ConfigError(
            f"{target} is {type(found).__name__}, no graph. Name a StateGraph or what its "
            "compile() returns."
        )
    return cast("Pregel", found)
