"""Every family of random programs, by its name."""

from typing import Any

from .agents.family import AGENTS
from .family import Family
from .functional.family import FUNCTIONAL
from .graphs.family import GRAPHS
from .haystack.family import Haystack
from .runnables.family import RUNNABLES

FAMILIES: dict[str, Family[Any]] = {
    family.name: family for family in (GRAPHS, FUNCTIONAL, *AGENTS, Haystack(), *RUNNABLES)
}
"""Graphs, the functional API, six families of agents, and nine of runnables and their parts."""
