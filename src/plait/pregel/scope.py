"""What code inside a running task sees of its run, and what it sees where no task runs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from plait.common.belongings import Belongings, belongings_of
from plait.common.forks import this_process
from plait.common.ids import new_id
from plait.constants import START, TAG_NOSTREAM, TOOLS_MODE
from plait.drivers.base import Closed
from plait.engine.events import Chunk
from plait.engine.tasks import Task
from plait.errors import ConfigError, InvalidUpdateError, NodeCancelledError, NodeError, nearest
from plait.runnables.config import ensure_config, with_handler
from plait.runnables.places import branch_in, path_of
from plait.scope import Heard, Here, Scope, current_scope, thread_of_control

if TYPE_CHECKING:
    from plait.pregel.run import Run
    from plait.runtime import Runtime
    from plait.timers import Timer

_HEARD_OUTSIDE = frozenset({"messages", TOOLS_MODE})
"""Modes in which a stream with subgraphs also hears of graphs that its tasks call on other
threads."""


class TaskScope:
    """One attempt of one task, as the code inside it sees it."""

    __slots__ = (
        "_children",
        "_config",
        "_main",
        "_runtime",
        "attempt",
        "heard",
        "pushed",
        "run",
        "task",
    )

    def __init__(self, run: Run, task: Task, main: Here) -> None:
        self.run = run
        self.task = task
        self.attempt = task.attempt
        self._main = main
        self._config: Any = None
        self._runtime: Runtime[Any] | None = None
        self._children = 0
        self.heard: Heard | None = None
        """How those who listen are told of the task."""
        self.pushed: list[tuple[str, Any]] | None = None
        """What the code wrote to the state before it returned (`push_message`)."""
        if task.questions is not None:
            task.questions.restart()

    def interrupt(
        self, value: Any, key: str | None, response_schema: Any, timer: Timer | None = None
    ) -> Any:
        self.check_heard()
        here = thread_of_control()
        if key is None and (branch := path_of(self, here)) is not None:
            key = f"#{branch}"
        questions = self.task.asked()
        questions.main = self._main
        if timer is None:
            return questions.ask(value, key, here, response_schema)
        if timer.sleeps and self.run.storage is None:
            raise ConfigError(
                f"Node {self.task.name!r} calls sleep(), which ends the run until the time has "
                "come: compile the graph with a checkpointer, so that the thread is kept."
            )
        now = self.run.loop.env.now()
        return questions.ask(value, key, here, response_schema, timer, now)

    def check_heard(self) -> None:
        """Code of an attempt that took too long may still run, in its thread: nobody hears it.

        Raises:
            NodeCancelledError: this is such an attempt.
        """
        if self.attempt <= self.task.given_up:
            raise NodeCancelledError(
                self.task.name,
                f"Attempt {self.attempt} of task {self.task.name!r} exceeded its timeout and was "
                "given up; what it still does is refused.",
            )

    def heartbeat(self) -> None:
        """The code gives a sign of life."""
        self.progress(heartbeat=True)

    def progress(self, *, heartbeat: bool = False) -> None:
        """The code has done something that can be seen: no idle timeout strikes now."""
        scope: TaskScope | None = self
        while scope is not None:
            task: Task | None = scope.task
            while task is not None:
                if task.limit is not None:
                    task.limit.refresh(heartbeat=heartbeat)
                task = task.parent
            scope = scope.run.parent if scope.run.is_watched else None

    def failure(self) -> NodeError:
        """Of an error handler: what it handles.

        Raises:
            ConfigError: the task is no error handler.
        """
        if self.task.failed is None:
            raise ConfigError(
                f"Node {self.task.name!r} asks for a NodeError, but it handles no error. Only what "
                "add_node(error_handler=...) names is told of one."
            )
        return self.task.failed

    def is_untold(self) -> bool:
        """Whether the code runs under the config of its run alone: nobody has changed it, or seen
        it who might."""
        if self._config is not None or self.heard is not None:
            return False
        limit = self.task.limit
        return (limit is None or not limit.listens) and not self.run.has_listeners()

    def is_main(self) -> bool:
        """Whether the code runs in the task's own thread of control: not beside it, nor as one of
        several calls that the task makes at once, of which chance runs one or the other there."""
        here = thread_of_control()
        return here == self._main and path_of(self, here) is None

    def config(self) -> Any:
        if self._config is None:
            self._config = self.run.task_config(self.task)
            if self.task.limit is not None and self.task.limit.listens:
                self._hear_progress(self._config)
        return self._config

    def _hear_progress(self, config: dict[str, Any]) -> None:
        """Let callbacks tell that the code is alive."""
        from plait.pregel.progress import SignsOfLife  # few tasks have an idle timeout

        config["callbacks"] = with_handler(config["callbacks"], SignsOfLife(self.progress))

    def use(self, config: dict[str, Any]) -> dict[str, Any]:
        """Hand the task's code this config from now on."""
        self._config = config
        return config

    def runtime(self) -> Runtime[Any]:
        if self._runtime is None:
            self._runtime = self.run.task_runtime(self)
        return self._runtime

    def state(self) -> Any:
        """What the task's node reads of the state, where its task was sent something else."""
        step, node = self.task.step, self.task.node
        state = step.state.read_or_none(node.reads)
        if not node.managed or state is None:
            return state
        return {**state, **{key: compute(step.number, step.stop) for key, compute in node.managed}}

    def extras(self) -> dict[str, Any]:
        """The extra keywords of the call of the graph."""
        return self.run.extras

    def write_custom(self, chunk: Any) -> None:
        """Send a chunk to the `custom` stream, if anybody listens to it."""
        self.send("custom", chunk)

    def send(self, mode: str, payload: Any) -> None:
        """Send a chunk to a stream mode, if anybody listens to it.

        Raises:
            NodeCancelledError: the task took too long, or the stream was closed.
        """
        self.check_heard()
        run = self.run
        self.progress()
        if mode in run.modes:
            self.deliver(Chunk(run.ns, mode, payload), run)
        elif run.caller is not None and mode in _HEARD_OUTSIDE:
            run.caller.send(mode, payload)

    def deliver(self, chunk: Chunk, run: Run) -> None:
        """Hand a chunk to the stream of a run: this task's, or one around it.

        Raises:
            NodeCancelledError: the stream was closed, or the task took too long.
            ConfigError: this process was forked from that of the run.
        """
        if self.attempt <= self.task.given_up:
            self.check_heard()
        if run.process is not this_process():
            raise ConfigError(
                f"This process was forked while task {self.task.name!r} ran, and is inside no "
                "task: what it writes to a stream would reach nobody. Hand it to the process of "
                "the run (a pipe, the result of a pool's worker), and write it there."
            )
        try:
            run.driver.deliver(chunk)
        except Closed:
            raise NodeCancelledError(
                self.task.name,
                f"Task {self.task.name!r} was stopped while it wrote to a stream: the stream was "
                "closed, and the run with it.",
            ) from None

    def emit_token(
        self, token: Any, id: str | None, tags: Sequence[str], metadata: Mapping[str, Any]
    ) -> Any:
        """Send a token to the `messages` stream; returns the chunk that was sent."""
        chunk = chunk_of(token, id, f"msg-{self.task.id}")
        told = [*(self.config().get("tags") or ()), *tags]
        if TAG_NOSTREAM not in told:
            self.write_message(chunk, told, metadata)
        return chunk

    def write_message(self, message: Any, tags: list[str], metadata: Mapping[str, Any]) -> None:
        """Send a message, or a chunk of one, to the `messages` stream, if anybody listens to it.

        Raises:
            NodeCancelledError: the task took too long, or the stream was closed.
        """
        self.check_heard()
        self.progress()
        stream = self.run.message_stream
        if stream is not None:
            about = {**self.config()["metadata"], **metadata}
            if tags:
                about["tags"] = tags
            stream.tell(self, message, about)

    async def room(self) -> None:
        """Suspend until the stream of the run has room for more."""
        run: Run | None = self.run
        while run is not None:
            room = getattr(run.driver, "room", None)  # drivers of threads make writers wait
            if room is not None:
                await room()
            run = None if run.parent is None else run.parent.run

    def belongings(self) -> Belongings:
        """What the tasks of the run share until it ends."""
        return belongings_of(self.run.loop)

    def awaiting(self) -> Callable[[Coroutine[Any, Any, Any]], Any] | None:
        """How sync code gets what a coroutine comes to; None: its run has no event loop."""
        complete = getattr(self.run.driver, "complete", None)
        return None if complete is None else partial(complete, self.task, self.attempt)

    def push(self, key: str, value: Any) -> None:
        """Write to a key of the state before what the task returns.

        Raises:
            InvalidUpdateError: the graph has no such key.
        """
        channels = self.run.graph.plan.channels
        if key not in channels:
            raise InvalidUpdateError(
                f"Node {self.task.name!r} pushed to key {key!r}, which the state does not have. "
                f"{nearest(key, (name for name in channels if name != START))}"
            )
        if self.pushed is None:
            self.pushed = []
        self.pushed.append((key, value))

    def next_child(self) -> int:
        """The number, from 0, of the graph that the task runs now."""
        branch = branch_in(self)
        return self.take(1) if branch is None else branch.number(branch.take(1), self)

    def take(self, count: int) -> int:
        """The first of `count` numbers in a row for graphs that the task runs."""
        first, self._children = self._children, self._children + count
        return first


def chunk_of(token: Any, id: str | None, default: str) -> Any:
    """A token as a chunk of a message; its id is `id`, its own, or the default."""
    from plait.messages import AIMessageChunk  # only those who stream messages need it

    chunk: Any = AIMessageChunk(content=token) if isinstance(token, str) else token
    if id is not None or not chunk.id:
        chunk.id = id or default
    return chunk


class Detached:
    """What code sees that runs in no task: a node called alone, or a route taken by hand.

    Args:
        why: why nobody can be asked anything here, for the error.
        config: the config that the code is handed.
    """

    __slots__ = ("_config", "_why", "heard", "pushed")

    def __init__(self, why: str, config: Mapping[str, Any] | None = None) -> None:
        self.heard: Heard | None = None
        self.pushed: list[tuple[str, Any]] | None = None
        self._why = why
        self._config = config or {}

    def interrupt(
        self, value: Any, key: str | None, response_schema: Any, timer: Timer | None = None
    ) -> Any:
        raise ConfigError(f"interrupt() cannot be called here: {self._why}.")

    def config(self) -> Any:
        return {"configurable": {}, "metadata": {}, **self._config}

    def is_untold(self) -> bool:
        return False

    def runtime(self) -> Runtime[Any]:
        from plait.runtime import Runtime  # few nodes that run alone ask for one

        return Runtime()

    def extras(self) -> dict[str, Any]:
        return {}

    def failure(self) -> NodeError:
        raise ConfigError(f"There is no error to handle: {self._why}.")

    def write_custom(self, chunk: Any) -> None:
        return None

    def emit_token(
        self, token: Any, id: str | None, tags: Sequence[str], metadata: Mapping[str, Any]
    ) -> Any:
        return chunk_of(token, id, new_id())

    async def room(self) -> None:
        return None

    def belongings(self) -> None:
        return None

    def awaiting(self) -> Callable[[Coroutine[Any, Any, Any]], Any] | None:
        return None


def scope_for(config: Mapping[str, Any] | None) -> Scope:
    """The scope of a node's code that is called directly: the running task's, if there is one."""
    scope = current_scope.get()
    if scope is not None:
        return scope
    return Detached("the node was called alone, outside of a graph", ensure_config(config))
