"""What the rows of the proof are made of: parts, each with its work, counts and database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

from tests.durability.savers import Kind, Place
from tests.postgres.server import Server

Figure: TypeAlias = dict[str, Any]


class Scene(NamedTuple):
    """Where one piece of work is done: an empty folder, and a new and empty database."""

    folder: Path
    db: Place
    server: Server | None

    @property
    def postgres(self) -> Server:
        """The server."""
        assert self.server is not None
        return self.server


Work: TypeAlias = Callable[[int, Scene], Figure]
"""Does what one seed says, and returns what it counted; a broken promise raises."""


@dataclass(frozen=True)
class Part:
    """One piece of work, done for many seeds."""

    name: str
    work: Work
    full: int
    """How many seeds in full."""
    sample: int
    """How many as a sample."""
    kind: Kind = "sqlite"
    light: Callable[[int], bool] | None = None
    """Which seeds are quick enough for a sample (None: all)."""

    def sampled(self, chance: Random) -> list[int]:
        """Seeds of a sample."""
        quick = [seed for seed in range(self.full) if self.light is None or self.light(seed)]
        return chance.sample(quick, self.sample)


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    title: str
    tests: str
    """Where the default run looks at the same promise."""
    parts: tuple[Part, ...]


MOST = ("slowest", "SQL texts")
"""How figures begin that are no sums."""


def added(total: Figure, more: Figure) -> Figure:
    """Figures of two pieces of work together: sums, and the most of what is no sum."""
    out = dict(total)
    for name, value in more.items():
        old = out.get(name)
        if old is None or type(value) not in (int, float):
            out[name] = value
        else:
            out[name] = max(old, value) if name.startswith(MOST) else old + value
    return out
