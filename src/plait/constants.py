"""Names that graphs, channels and streams agree on. The public ones have the peer's values."""

from sys import intern
from typing import Final

START: Final = intern("__start__")
"""The virtual node that brings the input into a graph."""
END: Final = intern("__end__")
"""The virtual node that ends a branch of a graph."""
TAG_NOSTREAM: Final = intern("nostream")
"""A tag that keeps a chat model's tokens out of the `messages` stream."""
TAG_HIDDEN: Final = intern("langsmith:hidden")
"""A tag that keeps a node or edge out of traces and streams."""
CONF: Final = intern("configurable")

INPUT: Final = intern("__input__")
"""`as_node` of an update that stands for a graph's input."""
COPY: Final = intern("__copy__")
"""`as_node` of an update that forks a checkpoint as it is."""
ERROR: Final = intern("__error__")
"""The reserved channel of a task's error."""
INTERRUPT: Final = intern("__interrupt__")
"""The reserved channel of a task's interrupts; also their key in streams and results."""
RESUME: Final = intern("__resume__")
"""The reserved channel of the answers to a task's interrupts."""
RETURN: Final = intern("__return__")
"""The reserved channel of a task's own result (functional API)."""
NO_WRITES: Final = intern("__no_writes__")
"""The reserved channel that marks a finished task which wrote nothing."""
TASKS: Final = intern("__pregel_tasks")
"""The reserved channel of `Send`s."""
PREVIOUS: Final = intern("__previous__")
"""The channel that keeps the last saved value of an entrypoint."""
FRONTIER: Final = intern("__frontier__")
"""Where savers that only know whole values keep what runs next."""
ROOT: Final = intern("__root__")
"""The channel of a state that is one value instead of a mapping."""
PULL: Final = intern("__pregel_pull")
PUSH: Final = intern("__pregel_push")
NULL_TASK_ID: Final = intern("00000000-0000-0000-0000-000000000000")
"""The task id of writes that no task made (a Command's update, a caller's answer)."""
NS_SEP: Final = intern("|")
"""Separates the levels of a checkpoint namespace."""
NS_END: Final = intern(":")
"""Separates the node's name from its task id in one level of a checkpoint namespace."""
RESERVED: Final = frozenset({INPUT, ERROR, INTERRUPT, RESUME, RETURN, NO_WRITES, TASKS, PREVIOUS,
                             FRONTIER, PULL, PUSH})  # fmt: skip
"""Names that neither a node nor a state key may have."""

__all__ = ["CONF", "END", "START", "TAG_HIDDEN", "TAG_NOSTREAM"]
