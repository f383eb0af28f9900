"""Names that graphs, channels and streams agree on. The public ones have the peer's values."""

from sys import intern
from typing import Any, Final, Literal

START: Literal["__start__"] = "__start__"
"""The virtual node that brings the input into a graph."""
END: Literal["__end__"] = "__end__"
"""The virtual node that ends a branch of a graph."""
TAG_NOSTREAM: Literal["nostream"] = "nostream"
"""A tag that keeps a chat model's tokens out of the `messages` stream."""
TAG_HIDDEN: Literal["langsmith:hidden"] = "langsmith:hidden"
"""A tag that keeps a node or edge out of traces and streams."""
CONF: Final = intern("configurable")
CONFIG_KEY_CHECKPOINTER: Final = intern("__pregel_checkpointer")
"""The key of `configurable` under which the peer hands its saver to nested graphs."""

INPUT: Final = intern("__input__")
"""`as_node` of an update that stands for a graph's input."""
COPY: Final = intern("__copy__")
"""`as_node` of an update that forks a checkpoint as it is."""
ERROR: Final = intern("__error__")
"""The reserved channel of a task's error."""
FAILED: Final = intern("__failed__")
"""The reserved channel of the error of a task that its error handler is to handle."""
HANDLER: Final = "__error_handler__"
"""What the name of a node's error handler begins with; the node's name follows."""
DEFAULT_HANDLER: Final = "__default_error_handler__"
"""The name of the error handler of nodes that have none of their own."""
INTERRUPT: Final = intern("__interrupt__")
"""The reserved channel of a task's interrupts; also their key in streams and results."""
RESUME: Final = intern("__resume__")
"""The reserved channel of the answers to a task's interrupts."""
RETURN: Final = intern("__return__")
"""The reserved channel of a task's own result (functional API)."""
CALL: Final = intern("__call__")
"""The reserved channel that says of which call of a `@task` an outcome is (`engine.journal`)."""
STARTED: Final = intern("__started__")
"""The reserved channel that says how often a task that must not be repeated has started, and
whether its last start has no known outcome (see `engine.guards`)."""
AGAIN: Final = intern("__again__")
"""What is "written" to say that a task whose outcome was not known shall run again."""
NO_WRITES: Final = intern("__no_writes__")
"""The reserved channel that marks a finished task which wrote nothing."""
STATE_VERSION: Final = intern("__state_version__")
"""The reserved channel that says of which version of the state a task's writes are, where that is
not the version of their checkpoint."""
TASKS: Final = intern("__pregel_tasks")
"""The reserved channel of `Send`s."""
RUNTIME: Final = intern("__pregel_runtime")
"""The key of `configurable` under which a server hands a runtime to a run."""
PREVIOUS: Final = intern("__previous__")
"""The channel that keeps the last saved value of an entrypoint."""
FRONTIER: Final = intern("__frontier__")
"""Where savers that only know whole values keep what runs next."""
ROOT: Final = intern("__root__")
"""The channel of a state that is one value instead of a mapping."""
PULL: Final = intern("__pregel_pull")
PUSH: Final = intern("__pregel_push")
ROUTE: Final = intern("branch:to:")
"""What the names of routing channels begin with; the node's name follows."""
JOIN: Final = intern("join:")
"""What the names of joins begin with; the names of their nodes follow."""
NULL_TASK_ID: Final = intern("00000000-0000-0000-0000-000000000000")
"""The task id of writes that no task made (a Command's update, a caller's answer)."""
AHEAD: Final = intern("__ahead__")
"""Marks what an eager run stored of super-steps that were still to come."""
AHEAD_TASK_ID: Final = intern("ffffffff-ffff-ffff-ffff-ffffffffffff")
"""The task id under which an eager run stores the checkpoint ids that it has reserved."""
NS_SEP: Final = intern("|")
"""Separates the levels of a checkpoint namespace."""
NS_END: Final = intern(":")
"""Separates the node's name from its task id in one level of a checkpoint namespace."""
ONLY_DUE: Final = "__only_due__"
"""The keyword of a call that goes on with a thread only where a time that it waits for has come."""
TOOLS_MODE: Final = intern("tools")
"""The stream mode of tool calls, which a callback handler of the run tells."""
RESERVED: Final = frozenset(
    {
        INPUT, CALL, ERROR, INTERRUPT, RESUME, RETURN, NO_WRITES, TASKS, PREVIOUS,
        FRONTIER, PULL, PUSH, AHEAD, AGAIN, STARTED, STATE_VERSION,
    }
)  # fmt: skip
"""Names that neither a node nor a state key may have."""

__all__ = [
    "CONF",
    "CONFIG_KEY_CHECKPOINTER",
    "END",
    "START",
    "TAG_HIDDEN",
    "TAG_NOSTREAM",
    "TASKS",
]


def __getattr__(name: str) -> Any:
    """Names that lived here before 1.0."""
    if name not in ("Interrupt", "Send"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module
    from warnings import warn

    warn(
        import_module("plait.warnings").LangGraphDeprecatedSinceV10(
            f"Importing {name} from plait.constants is deprecated. Please use "
            f"'from plait.types import {name}' instead."
        ),
        stacklevel=2,
    )
    return getattr(import_module("plait.types"), name)
