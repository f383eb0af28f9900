"""Namespaces: where a graph inside a task keeps its checkpoints, derived from names of nodes.

- Each run of a task has a namespace of its own: `outer|node:task-id`. Task ids derive from places,
  so a replayed task finds the same one, and another task never does.
- A graph with memory (`checkpointer=True`) has one for ever: `outer|node`, without any id.
- The second graph that one task calls adds its number: `outer|node:task-id|1`.

A renamed node keeps the name it was born with, here as in its tasks' ids (see `migration`).
"""

from __future__ import annotations

from collections.abc import Iterator

from plait.constants import NS_END, NS_SEP


def inside(outer: str, name: str, task_id: str) -> str:
    """The namespace of what runs inside one task.

    >>> inside("", "plan", "7f"), inside("plan:7f", "search", "a1")
    ('plan:7f', 'plan:7f|search:a1')
    """
    own = f"{name}{NS_END}{task_id}"
    return f"{outer}{NS_SEP}{own}" if outer else own


def remembered(outer: str, name: str) -> str:
    """The namespace of a graph with memory: the same for every task of the node.

    >>> remembered("plan:7f", "search")
    'plan|search'
    """
    levels = [level.split(NS_END)[0] for level in outer.split(NS_SEP)] if outer else []
    return NS_SEP.join([*levels, name])


def numbered(ns: str, nth: int) -> str:
    """The namespace of the nth graph (from 0) that one task calls.

    >>> numbered("plan:7f", 0), numbered("plan:7f", 1)
    ('plan:7f', 'plan:7f|1')
    """
    return f"{ns}{NS_SEP}{nth}" if nth else ns


def node_names(ns: str) -> Iterator[str]:
    """The nodes that lead to a namespace, from the outside in.

    >>> list(node_names("plan:7f|1|search:a1"))
    ['plan', 'search']
    """
    for level in ns.split(NS_SEP) if ns else ():
        if not level.isdigit():
            yield level.split(NS_END)[0]
