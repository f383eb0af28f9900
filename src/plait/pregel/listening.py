"""Telling those who listen what a run of a graph does: the run, its nodes, their path functions.

Used only where `has_listeners` says that somebody hears: callbacks in the config or inherited, or
the stream mode `messages`. The code of a node then runs under a config whose callbacks are the
children of the node's own run, found by context variable too (langchain_core's as well, where that
package is loaded), so that a model called inside a node without a config is heard.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, cast

from plait.callbacks.context import var_child_runnable_config
from plait.callbacks.inside import inside
from plait.callbacks.manager import AsyncCallbackManager, CallbackManager
from plait.common.closing import STARTED, aclose, read_inside
from plait.constants import TAG_HIDDEN
from plait.drivers.base import Part
from plait.engine.plan import Writes
from plait.engine.report import handed_to
from plait.engine.tasks import Task
from plait.pregel.configs import told_metadata
from plait.pregel.traced import show
from plait.pregel.turning_points import TurningPoints
from plait.scope import Scope
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.pregel.run import Run
    from plait.pregel.scope import TaskScope


def told(run: Run, parts: Generator[Part, None, None]) -> Generator[Part, None, None]:
    """The parts of a run whose start and end are told.

    Args:
        run: the run.
        parts: what drives it to its end.
    """
    config = _root_config(run)
    manager = CallbackManager.of_config(config)
    name = config.get("run_name") or run.graph.get_name()
    own = manager.on_chain_start(None, run.given, config.get("run_id"), name=name)
    run.listening = Listening(run, own)
    messages = _messages_of_node(run, name)
    try:
        yield from parts
        run.listening.turning.ended(run.driver.outcome)
    except BaseException as error:
        own.on_chain_error(error)
        raise
    messages(run.driver.outcome.value)
    own.on_chain_end(run.driver.outcome.value)


@read_inside
async def atold(run: Run, parts: AsyncGenerator[Part, None]) -> AsyncGenerator[Part, None]:
    """`told` in an event loop."""
    yield STARTED
    config = _root_config(run)
    manager = AsyncCallbackManager.of_config(config)
    name = config.get("run_name") or run.graph.get_name()
    own = await manager.on_chain_start(None, run.given, config.get("run_id"), name=name)
    run.listening = Listening(run, own)
    messages = _messages_of_node(run, name)
    try:
        async for part in parts:
            yield part
        await run.listening.turning.aended(run.driver.outcome)
    except BaseException as error:
        await aclose(parts)
        await own.on_chain_error(error)
        raise
    messages(run.driver.outcome.value)
    await own.on_chain_end(run.driver.outcome.value)


def _root_config(run: Run) -> dict[str, Any]:
    """The config of the run's own events: with the thread, and where a nested run belongs."""
    run.config["metadata"] = told_metadata(run.config, run.configurable)
    return run.config


def _messages_of_node(run: Run, name: str) -> Callable[[Any], None]:
    """Tells the `messages` stream what a run has given, if it counts as its node's.

    A graph that has the name of the node that runs it counts, as agents in a graph of agents do:
    what it gives is told with the metadata of its own config (`lc_agent_name`).
    """
    around = run.parent
    stream = None if around is None else around.run.message_stream
    if around is None or stream is None or around.task.name != name:
        return _tell_nobody
    stream.saw(run.given)
    return lambda value: stream.returned(around, value, run.config["metadata"])


def _tell_nobody(_: Any) -> None:
    """What a run gives is no node's."""


class Listening:
    """One run that somebody listens to.

    Args:
        run: the run.
        own: the manager of its own run, sync or async.
    """

    __slots__ = ("_children", "_own", "_run", "hears_chunks", "turning")

    def __init__(self, run: Run, own: Any) -> None:
        self._run = run
        self._own = own
        self._children: dict[Task, Any] = {}
        self.hears_chunks = any(hasattr(each, "on_chain_stream") for each in own.handlers)
        """Whether anybody wants to hear of the chunks of the run's stream."""
        self.turning = TurningPoints(run, own)
        """Tells when the run stops to ask, and when it goes on."""

    def of(self, scope: TaskScope) -> HeardTask | None:
        """How the code of a task is entered; None where nobody needs to hear of it."""
        return HeardTask(self, scope) if scope.task.node.told else None

    def chunk(self, chunk: Any) -> Awaitable[None] | None:
        """The run has yielded a chunk of its stream."""
        return self._own.tell("on_chain_stream", "ignore_chain", chunk)

    def manager(self, task: Task, metadata: Mapping[str, Any], kind: Any) -> Any:
        """The manager that starts the run of a task: under its graph, or the task that called it.

        Args:
            task: the task.
            metadata: the metadata of its config.
            kind: the class of the manager, sync or async.
        """
        run, parent = self._run, self._children.get(cast("Any", task.parent))
        tags = [*(run.config.get("tags") or ()), *task.node.tags]
        if task.node.hidden:
            tags.append(TAG_HIDDEN)
        around = parent or self._own.get_child(f"graph:step:{task.step.number}")
        return kind.configure(around, inheritable_tags=tags, inheritable_metadata=metadata)

    def began(self, task: Task, child: Any) -> None:
        """The run of a task began; `child` is the manager of what runs inside it."""
        self._children[task] = child

    def ended(self, task: Task) -> None:
        """The run of a task ended."""
        self._children.pop(task, None)

    def saw_input(self, given: Any) -> None:
        """A task is handed messages: they are no news for the `messages` stream."""
        if self._run.message_stream is not None:
            self._run.message_stream.saw(given)

    def saw_result(self, scope: TaskScope, result: Any, metadata: Mapping[str, Any]) -> None:
        """A task gave a result: the `messages` stream tells those of it that it has not told."""
        if self._run.message_stream is not None:
            self._run.message_stream.returned(scope, result, metadata)


class HeardTask:
    """One attempt of a task that somebody listens to.

    Args:
        listening: the run it is part of.
        scope: what its code sees.
    """

    __slots__ = ("_given", "_listening", "_metadata", "_own", "_scope", "result")

    def __init__(self, listening: Listening, scope: TaskScope) -> None:
        node = scope.task.node
        self._listening = listening
        self._scope = scope
        self._given = handed_to(scope.task) if node.shown is None else node.shown(scope.task.input)
        self._metadata: dict[str, Any] = {}
        self._own: Any = None
        self.result: Any = MISSING
        """What the node's code returned, once it has."""

    def call(self, call: Callable[[Task, Scope], Writes]) -> Writes:
        """Run the task's code as a run of its own."""
        task, scope = self._scope.task, self._scope
        self._listening.turning.going_on()
        manager = self._begin(CallbackManager)
        own = self._own = manager.on_chain_start(None, self._given, name=task.name)
        self._begin_inside(own.get_child("seq:step:1"))
        try:
            with inside(own):
                writes = call(task, scope)
            self._tell_messages()
        except BaseException as error:
            self._listening.ended(task)
            own.on_chain_error(error)
            raise
        self._listening.ended(task)
        own.tell("on_chain_stream", "ignore_chain", self.result)
        own.on_chain_end(self.result)
        return writes

    async def acall(self, call: Callable[[Task, Scope], Awaitable[Writes]]) -> Writes:
        """`call` for async code."""
        task, scope = self._scope.task, self._scope
        await self._listening.turning.agoing_on()
        manager = self._begin(AsyncCallbackManager)
        own = self._own = await manager.on_chain_start(None, self._given, name=task.name)
        self._begin_inside(own.get_child("seq:step:1"))
        try:
            with inside(own):
                writes = await call(task, scope)
            self._tell_messages()
        except BaseException as error:
            self._listening.ended(task)
            await own.on_chain_error(error)
            raise
        self._listening.ended(task)
        await own.tell("on_chain_stream", "ignore_chain", self.result)
        await own.on_chain_end(self.result)
        return writes

    def route(self, choose: Callable[[], Any], name: str | None, place: int, state: Any) -> Any:
        """Call a path function as a run under the node's.

        Args:
            choose: calls it.
            name: its name; None: it is a Runnable, which tells of itself.
            place: which step after the node's own code it is.
            state: what it is handed.
        """
        child = self._child(place)
        if name is None:
            self._enter(child)
            return choose()
        own = CallbackManager.adopt(child).on_chain_start(None, state, name=name)
        self._enter(own.get_child())
        try:
            with inside(own):
                chosen = choose()
        except BaseException as error:
            own.on_chain_error(error)
            raise
        own.on_chain_end(chosen)
        return chosen

    async def aroute(
        self, choose: Callable[[], Awaitable[Any]], name: str, place: int, state: Any
    ) -> Any:
        """`route` for async code."""
        child = AsyncCallbackManager.adopt(self._child(place))
        own = await child.on_chain_start(None, state, name=name)
        self._enter(own.get_child())
        try:
            with inside(own):
                chosen = await choose()
        except BaseException as error:
            await own.on_chain_error(error)
            raise
        await own.on_chain_end(chosen)
        return chosen

    def _begin(self, kind: Any) -> Any:
        scope, listening = self._scope, self._listening
        self._metadata = scope.config()["metadata"]
        listening.saw_input(self._given)
        manager = listening.manager(scope.task, self._metadata, kind)
        policy = scope.run.graph.trace_policies.get(scope.task.name)
        if policy is not None:
            manager.handlers = show(manager.handlers, policy)
        return manager

    def _begin_inside(self, child: Any) -> None:
        self._listening.began(self._scope.task, child)
        self._enter(child)

    def _enter(self, child: Any) -> None:
        """What the task's code runs from now on, it runs under `child`."""
        config = self._scope.use({**self._scope.config(), "callbacks": child})
        var_child_runnable_config.set(config)
        langchain = sys.modules.get("langchain_core.runnables.config")
        if langchain is not None:
            langchain.var_child_runnable_config.set(config)

    def _child(self, place: int) -> Any:
        code = 0 if self._scope.task.node.hidden else 1  # the start has no code of its own
        child = self._own.get_child(f"seq:step:{code + place}")
        child.add_tags(list(child.inheritable_tags))  # the inherited ones come last
        return child

    def _tell_messages(self) -> None:
        if self.result is MISSING:
            self.result = None
        if not self._scope.task.node.hidden:
            self._listening.saw_result(self._scope, self.result, self._metadata)


__all__ = ["HeardTask", "Listening", "atold", "told"]
