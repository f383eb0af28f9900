"""What a graph declares of its past: former names of nodes and keys, versions of its state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from plait.common.reflection import unqualified
from plait.constants import JOIN, ROOT
from plait.engine.migration import NO_RENAMES, Migration, Renames, former_names, todays_names
from plait.errors import InvalidGraphError

if TYPE_CHECKING:
    from plait.graph.state import StateGraph


class RenamedFrom:
    """Says in the annotation of a key which names it had before, oldest first.

    A thread that was stored under an old name is restored under the new one; its next commit
    stores the new name.

    >>> from typing import Annotated, TypedDict
    >>> class State(TypedDict):
    ...     topic: Annotated[str, RenamedFrom("subject")]
    """

    __slots__ = ("names",)

    def __init__(self, *names: str) -> None:
        self.names = former_names(names, "RenamedFrom")

    def __repr__(self) -> str:
        return f"RenamedFrom({', '.join(map(repr, self.names))})"


def split_metadata(hint: Any) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """What an annotation says of a key: its metadata without `RenamedFrom`, its former names."""
    metadata: tuple[Any, ...] = getattr(hint, "__metadata__", ())
    if not any(isinstance(each, RenamedFrom) for each in metadata):
        return metadata, ()
    names = [name for each in metadata if isinstance(each, RenamedFrom) for name in each.names]
    return tuple(each for each in metadata if not isinstance(each, RenamedFrom)), tuple(names)


def former_keys(hints: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The former names of the keys that a schema declares."""
    found: dict[str, tuple[str, ...]] = {}
    for key, hint in hints.items():
        names = split_metadata(unqualified(hint))[1]
        if names:
            found[key] = names
    return found


def renames_of(builder: StateGraph[Any]) -> Renames:
    """What the graph's nodes and keys were called before.

    Raises:
        InvalidGraphError: a former name is in use, or two claim it.
    """
    nodes = todays_names("Node", {name: spec.former for name, spec in builder.nodes.items()})
    keys = todays_names("Key", {key: builder.former_keys.get(key, ()) for key in builder.channels})
    if not nodes and not keys:
        return NO_RENAMES
    known = {name: [name, *spec.former] for name, spec in builder.nodes.items()}
    joins = [
        (_called(known, starts, end), join_name(starts, end))
        for starts, end in builder.waiting_edges
        if any(len(known[name]) > 1 for name in (*starts, end))
    ]
    return Renames(nodes, keys, joins)


def join_name(starts: Iterable[str], end: str) -> str:
    """The channel of an edge that waits for several nodes."""
    return f"{JOIN}{'+'.join(starts)}:{end}"


def _called(known: Mapping[str, list[str]], starts: Iterable[str], end: str) -> re.Pattern[str]:
    """What matches every name that a join may have had."""

    def one_of(name: str) -> str:
        return f"(?:{'|'.join(map(re.escape, known[name]))})"

    return re.compile(JOIN + r"\+".join(map(one_of, starts)) + ":" + one_of(end))


def check_versions(
    version: int, migrations: Mapping[int, Migration], keys: Iterable[str]
) -> dict[int, Migration]:
    """The migrations of a graph, by the version that each starts from.

    Raises:
        InvalidGraphError: they do not lead to `version` without a gap, or the state has no keys.
    """
    if type(version) is not int or version < 1:
        raise InvalidGraphError(
            f"The version of a graph is a whole number from 1, got {version!r}."
        )
    steps = sorted(migrations)
    if steps and ROOT in keys:
        raise InvalidGraphError(
            "Migrations take and return a dict of values, but this state is one value. Give it a "
            "schema with keys."
        )
    if steps != list(range(version - len(steps), version)) or (steps and steps[0] < 1):
        raise InvalidGraphError(
            f"A graph of version {version} has migrations from {steps}: they must lead to the "
            f"version one by one, the last from {version - 1}. (Versions that no thread has any "
            "more may be left out at the beginning.)"
        )
    for step, migrate in migrations.items():
        if not callable(migrate) or iscoroutinefunction(migrate):
            raise InvalidGraphError(
                f"The migration from version {step} must be a function of a dict of values that "
                f"returns one, and not async, got {migrate!r}."
            )
    return dict(migrations)


def edges_of(builder: StateGraph[Any]) -> object:
    """Where the graph's nodes may lead, for its fingerprint."""
    branches = [
        (source, name, sorted((branch.ends or {}).values()))
        for source, found in builder.branches.items()
        for name, branch in found.items()
    ]
    return [sorted(builder.edges), sorted(builder.waiting_edges), sorted(branches)]
