"""plait: a durable runtime for agent workflows written as graphs.

The names that most programs need are here and load when they are first used; the rest lives in
the modules that mirror LangGraph's public paths (`plait.graph`, `plait.types`, ...).

>>> import plait
>>> plait.END
'__end__'
"""

from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.checkpoint.memory import InMemorySaver
    from plait.checkpoint.sqlite import SqliteSaver
    from plait.constants import END, START
    from plait.func import entrypoint, task
    from plait.graph.renames import RenamedFrom
    from plait.graph.state import StateGraph
    from plait.types import Command, Send, interrupt

_HOME = {
    "END": "plait.constants",
    "START": "plait.constants",
    "Command": "plait.types",
    "InMemorySaver": "plait.checkpoint.memory",
    "RenamedFrom": "plait.graph.renames",
    "Send": "plait.types",
    "SqliteSaver": "plait.checkpoint.sqlite",
    "StateGraph": "plait.graph.state",
    "entrypoint": "plait.func",
    "interrupt": "plait.types",
    "task": "plait.func",
}


__getattr__ = lazily(__name__, _HOME)


__all__ = [
    "END",
    "START",
    "Command",
    "InMemorySaver",
    "RenamedFrom",
    "Send",
    "SqliteSaver",
    "StateGraph",
    "entrypoint",
    "interrupt",
    "task",
]
