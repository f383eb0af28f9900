"""Every family of random programs, by its name."""

from typing import Any

from .agents.family import AGENTS
from .family import Family
from .functional.family import FUNCTIONAL, WORKFLOWS
from .graphs.family import GRAPHS, INSIDES, STREAMS, TRAVELS
from .haystack.family import Haystack
from .runnables.family import RUNNABLES

FAMILIES: dict[str, Family[Any]] = {
    family.name: family
    for family in (
        GRAPHS,
        TRAVELS,
        INSIDES,
        STREAMS,
        FUNCTIONAL,
        WORKFLOWS,
        *AGENTS,
        Haystack(),
        *RUNNABLES,
    )
}
"""Graphs, time travel, streams, functional API, agents, runnables with what they are made of."""
