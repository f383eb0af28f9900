"""What a `RemoteGraph` says to a server and hears from it, without any I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from plait.constants import INTERRUPT, NS_SEP
from plait.engine.events import Chunk
from plait.errors import GraphInterrupt, MissingThreadIdError
from plait.pregel.scope import TaskScope
from plait.runnables.config import RunnableConfig
from plait.scope import current_scope
from plait.types import Command, Interrupt, PregelTask, Send, StateSnapshot

ADDRESS = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")
"""Entries of `configurable` that say where a run is; a server gets them as arguments."""
_MODES_ON_THE_WIRE = {"messages": "messages-tuple"}


class RemoteException(RuntimeError):
    """The server reported an error of the run: its argument is what the server told."""


class RemotePart(NamedTuple):
    """One part of a stream of several modes."""

    event: str
    """The mode."""
    data: Any
    id: str | None = None


# --- what is said --------------------------------------------------------------------------------


def sent_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of a config can be sent: plain values, without what addresses a checkpoint."""
    sent: dict[str, Any] = {}
    if "recursion_limit" in config:
        sent["recursion_limit"] = config["recursion_limit"]
    if config.get("tags"):
        sent["tags"] = [tag for tag in config["tags"] if isinstance(tag, str)]
    if config.get("metadata"):
        sent["metadata"] = _plain(config["metadata"])
    configurable: dict[str, Any] = config.get("configurable") or {}
    sent["configurable"] = _plain({k: v for k, v in configurable.items() if k not in ADDRESS})
    return sent


class _Unsent:
    """Stands for a value that has no form on the wire."""


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        plain = {k: _plain(v) for k, v in cast("Mapping[Any, Any]", value).items()}
        return {k: v for k, v in plain.items() if isinstance(k, str) and v is not _Unsent}
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in cast("Sequence[Any]", value)]
        return [item for item in items if item is not _Unsent]
    return _Unsent


def address(config: RunnableConfig | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The thread and checkpoint that a config names (None: it names nothing)."""
    configurable: dict[str, Any] = (config or {}).get("configurable") or {}
    named = {key: configurable[key] for key in ADDRESS if configurable.get(key) is not None}
    return named or None


def thread_of(config: Mapping[str, Any]) -> str:
    """The thread that a config names.

    Raises:
        MissingThreadIdError: it names none.
    """
    configurable: dict[str, Any] = config.get("configurable") or {}
    thread_id = configurable.get("thread_id")
    if thread_id is None:
        raise MissingThreadIdError(
            "The call of a remote graph's thread needs "
            'config={"configurable": {"thread_id": ...}}.'
        )
    return thread_id


def sent_command(command: Command[Any]) -> dict[str, Any]:
    """A Command as data."""
    goto: Any = command.goto
    many = isinstance(goto, (list, tuple))
    routes = [_sent_route(route) for route in (cast("list[Any]", goto) if many else [goto])]
    return {
        "graph": command.graph,
        "update": command.update,
        "resume": command.resume,
        "goto": routes if many else routes[0],
    }


def _sent_route(route: Any) -> Any:
    return {"node": route.node, "input": route.arg} if isinstance(route, Send) else route


# --- what is heard -------------------------------------------------------------------------------


def config_of(checkpoint: Mapping[str, Any]) -> RunnableConfig:
    """The config that addresses a checkpoint which the server named."""
    configurable: dict[str, Any] = {
        "thread_id": checkpoint["thread_id"],
        "checkpoint_ns": checkpoint.get("checkpoint_ns"),
        "checkpoint_id": checkpoint.get("checkpoint_id"),
        "checkpoint_map": checkpoint.get("checkpoint_map") or {},
    }
    return {"configurable": configurable}


def snapshot_of(state: Mapping[str, Any]) -> StateSnapshot:
    """A thread's state as the server tells it."""
    parent = state.get("parent_checkpoint")
    return StateSnapshot(
        values=state["values"],
        next=tuple(state.get("next") or ()),
        config=config_of(state["checkpoint"]),
        metadata=state.get("metadata"),
        created_at=state.get("created_at"),
        parent_config=None if parent is None else config_of(parent),
        tasks=tuple(_task_of(task) for task in state.get("tasks") or ()),
        interrupts=_questions(state.get("interrupts") or ()),
    )


def _task_of(task: Mapping[str, Any]) -> PregelTask:
    state: Any = task.get("state")
    if state is not None:
        state = snapshot_of(state)
    elif task.get("checkpoint"):
        state = {"configurable": task["checkpoint"]}
    return PregelTask(
        id=task["id"],
        name=task["name"],
        path=(),
        error=Exception(task["error"]) if task.get("error") else None,
        interrupts=_questions(task.get("interrupts") or ()),
        state=state,
        result=task.get("result"),
    )


def _questions(told: Sequence[Any]) -> tuple[Interrupt, ...]:
    return tuple(
        one
        if isinstance(one, Interrupt)
        else Interrupt(one["value"], **({"id": one["id"]} if one.get("id") else {}))
        for one in told
    )


class Reception:
    """The modes that a caller wants of a remote run, and what becomes of each of its events.

    Inside a task the events also go to the stream of the graph around it, and a question of the
    remote run becomes a question of the task.
    """

    def __init__(
        self, stream_mode: str | Sequence[str] | None, *, subgraphs: bool, version: str
    ) -> None:
        self.single = stream_mode is None or isinstance(stream_mode, str)
        asked = (stream_mode or "updates",) if self.single else stream_mode
        self.asked = tuple(cast("Sequence[str]", asked))
        self.version = version
        self.wants_subgraphs = subgraphs
        scope = current_scope.get()
        self.scope = scope if isinstance(scope, TaskScope) else None
        outer = self.scope.run if self.scope is not None and self.scope.run.subgraphs else None
        self.passed = frozenset(outer.modes) if outer is not None else frozenset[str]()
        self.subgraphs = subgraphs or outer is not None
        self.questions: tuple[Interrupt, ...] | None = None  # None: it did not stop
        self._state: Any = None
        self._told: set[str] = set()  # ids of the questions that came with a state

    @property
    def modes(self) -> list[str]:
        """The modes to ask the server for; questions come with `updates`."""
        modes = dict.fromkeys((*self.asked, *sorted(self.passed), "updates"))
        return [_MODES_ON_THE_WIRE.get(mode, mode) for mode in modes]

    def heard(self, event: str, data: Any) -> Iterator[Any]:
        """What the caller is told of one event: nothing, or one part.

        Raises:
            RemoteException: the run failed.
        """
        mode, *levels = event.split(NS_SEP)
        if mode == "error":
            raise RemoteException(data)
        if mode in ("messages", "messages-tuple"):
            mode, data = "messages", tuple(data)
        if mode == "updates" and not levels and _asks(data):
            # Each waiting task tells its own questions; a breakpoint has none.
            self.questions = (*(self.questions or ()), *_questions(data[INTERRUPT]))
            if self.scope is not None:
                return
        if self.scope is not None and mode in self.passed:
            ns = (*self.scope.task.ns.split(NS_SEP), *levels)
            self.scope.deliver(Chunk(ns, mode, data), self.scope.run)
        if mode in self.asked and (self.wants_subgraphs or not levels):
            yield self._shaped(tuple(levels), mode, data)

    def ended(self) -> Iterator[Any]:
        """What the caller is told at the end: questions that came with no state.

        Raises:
            GraphInterrupt: it waits for answers, and runs inside a task, which then waits too.
        """
        if self.questions is None:
            return
        if self.scope is not None:
            raise GraphInterrupt(self.questions)
        untold = tuple(each for each in self.questions if each.id not in self._told)
        if untold and self.version == "v2" and "values" in self.asked:
            yield {"type": "values", "ns": (), "data": self._state, "interrupts": untold}

    def _shaped(self, ns: tuple[str, ...], mode: str, data: Any) -> Any:
        if self.version == "v2":
            questions: tuple[Interrupt, ...] = ()
            if mode == "values":
                data, questions = self._parted(ns, data)
            return {"type": mode, "ns": ns, "data": data, "interrupts": questions}
        if self.wants_subgraphs:
            return (ns, data) if self.single else (ns, mode, data)
        return data if self.single else RemotePart(mode, data)

    def _parted(self, ns: tuple[str, ...], data: Any) -> tuple[Any, tuple[Interrupt, ...]]:
        """A state, and the questions that came with it."""
        questions: tuple[Interrupt, ...] = ()
        if _asks(data):
            questions = _questions(data[INTERRUPT])
            data = {key: value for key, value in data.items() if key != INTERRUPT}
        if not ns:
            self._state = data
            self._told.update(each.id for each in questions)
        return data, questions


def _asks(data: Any) -> bool:
    return isinstance(data, dict) and INTERRUPT in data
