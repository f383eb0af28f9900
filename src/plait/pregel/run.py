"""One call of a compiled graph: its config, its storage, its driver, and its streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, cast

from plait.callbacks.context import has_listeners
from plait.common.forks import this_process
from plait.constants import CONFIG_KEY_CHECKPOINTER, NS_SEP, PREVIOUS, RUNTIME, TOOLS_MODE
from plait.drivers.base import Storage
from plait.drivers.env import run_env
from plait.engine.loop import Loop
from plait.engine.plan import GraphPlan, Reads, View
from plait.engine.spec import RunSpec
from plait.engine.tasks import Task
from plait.errors import ConfigError, NodeCancelledError, nearest
from plait.pregel.by_hand import breakpoints_of_call
from plait.pregel.configs import inherited, is_plain, run_config, told_metadata
from plait.pregel.later import INSTEAD, refuse
from plait.pregel.nested import Nest
from plait.pregel.scope import TaskScope
from plait.pregel.storage import asked_checkpoint, open_storage
from plait.runnables.config import KNOWN_KEYS, with_handler
from plait.runtime import ExecutionInfo, RunControl, Runtime, ServerInfo
from plait.scope import Here, current_scope
from plait.types import Command
from plait.typing import MISSING

if TYPE_CHECKING:
    from plait.cache.base import BaseCache
    from plait.pregel.caching import CachedResults
    from plait.pregel.listening import Listening
    from plait.pregel.main import Pregel
    from plait.pregel.messages import MessageStream

LIVE_MODES = frozenset({"custom", "messages", TOOLS_MODE})
"""Modes whose parts come from inside running tasks."""
MODES = LIVE_MODES | {"values", "updates", "checkpoints", "tasks", "debug"}
DURABILITIES = ("sync", "async", "exit")


class Options:
    """What a caller may say of one run, besides input and config. Who makes one says all of it."""

    __slots__ = (
        "context",
        "control",
        "deadline",
        "durability",
        "extras",
        "interrupt_after",
        "interrupt_before",
        "modes",
        "output_keys",
        "printed",
        "subgraphs",
    )

    modes: frozenset[str]
    printed: tuple[str, ...]
    """Those of the modes whose parts are printed."""
    output_keys: Reads | Sequence[str] | None
    interrupt_before: Sequence[str] | str | None
    interrupt_after: Sequence[str] | str | None
    durability: str | None
    subgraphs: bool
    context: Any
    extras: dict[str, Any]
    control: RunControl | None
    deadline: Any
    """When the run must have ended, as the caller says it."""


@lru_cache(maxsize=256)
def _levels(path: str) -> tuple[str, ...]:
    return tuple(path.split(NS_SEP))


class Run:
    """One run of one graph."""

    __slots__ = (
        "_config",
        "_of_all",
        "_server_info",
        "caller",
        "context",
        "driver",
        "extras",
        "given",
        "graph",
        "is_watched",
        "listening",
        "loop",
        "message_stream",
        "modes",
        "nest",
        "parent",
        "printed",
        "process",
        "storage",
        "store",
        "subgraphs",
    )

    driver: Any

    def __init__(
        self,
        graph: Pregel,
        given: Any,
        config: Mapping[str, Any] | None,
        options: Options,
        native: Literal["sync", "async"],
    ) -> None:
        self.graph = graph
        self.given = given
        self.process = this_process()
        """In which it runs: chunks of a forked child would reach nobody."""
        parent, self.caller = _around(config)
        self.parent = parent
        self._config: dict[str, Any] | None = None
        self._of_all: tuple[dict[str, Any], dict[str, Any], dict[str, Any]] | None = None
        if config is not None or graph.config or not is_plain(parent):
            self._config = run_config(cast(Any, graph.config), config)
        self._server_info: ServerInfo | Any | None = MISSING
        self.extras = options.extras
        self.printed = options.printed
        if self.extras:
            _check_extras(graph, self.extras)
        self.nest = None if parent is None else Nest(graph, parent)
        self.context = options.context
        if options.context is not None:
            self.context = graph.coerce_context(options.context)
        self._inherit(options)
        self.listening: Listening | None = None
        """Those who listen to the run, once it has begun and if there are any."""
        self.message_stream = self._message_stream(options)
        self.storage: Storage | None = self._open_storage(options)
        self.loop = _loop(self._spec(given, options, native))
        self.loop.control = options.control
        if parent is not None and options.control is None:
            self.loop.control = parent.run.loop.control or parent.run.control

    @property
    def config(self) -> dict[str, Any]:
        """The complete config of the run. Where nobody said anything it is made when asked for."""
        made = self._config
        if made is None:
            made = self._config = inherited(self.parent)
        return made

    @property
    def configurable(self) -> dict[str, Any]:
        """What the config configures."""
        return (self._config or self.config).get("configurable") or {}

    @property
    def thread_id(self) -> Any:
        """The thread that the config names."""
        return self.loop.spec.thread_id

    def has_listeners(self) -> bool:
        """Whether anybody is to be told of the run by callbacks."""
        return self._config is not None and has_listeners(self._config)

    @property
    def ns_path(self) -> str:
        """The namespace of the run."""
        return "" if self.nest is None else self.nest.ns

    @property
    def ns(self) -> tuple[str, ...]:
        """The namespace of the run, level by level."""
        path = self.ns_path
        return _levels(path) if path else ()

    def _inherit(self, options: Options) -> None:
        """Take from the options, and from the run this one is nested in."""
        parent = self.parent
        graph = self.graph
        self.modes = options.modes
        self.subgraphs = options.subgraphs
        self.store = graph.store
        self.is_watched = False
        """Whether a task around it may have taken too long, unless it gives signs of life."""
        if parent is None:
            if self._config is not None and RUNTIME in self.configurable:
                self._adopt(self.configurable[RUNTIME], options)
            return
        outer, task = parent.run, parent.task
        self.is_watched = outer.is_watched or task.limit is not None or task.parent is not None
        if outer.subgraphs:
            self.subgraphs = True
            self.modes = options.modes | outer.modes
        if outer.store is not None:
            self.store = outer.store
        if options.context is None:
            self.context = outer.context

    def _adopt(self, runtime: Any, options: Options) -> None:
        """Take what a server's runtime provides; it may be of a class of its own."""
        store = getattr(runtime, "store", None)
        if store is not None:
            self.store = store
        if options.context is None:
            self.context = getattr(runtime, "context", None)

    def _told_by_server(self) -> ServerInfo | None:
        """What the server says that runs the graph, in the config or in the runtime it gave."""
        given = self.configurable.get(RUNTIME)
        told = given.server_info if isinstance(given, Runtime) else None
        return ServerInfo.of(self.configurable) or told

    def _message_stream(self, options: Options) -> MessageStream | None:
        """What tells messages: this run's, or that of a run around it which streams subgraphs."""
        outer = None if self.parent is None else self.parent.run
        if outer is not None and outer.subgraphs and outer.message_stream is not None:
            return outer.message_stream
        if "messages" not in options.modes:
            return None if self.caller is None else self.caller.run.message_stream
        from plait.pregel.messages import MessageStream  # loads messages; few runs stream them

        stream = MessageStream()
        self.config["callbacks"] = with_handler(self.config.get("callbacks"), stream)
        return stream

    def stopped(self) -> bool:
        """Whether a run around this one was told to stop."""
        scope = self.parent
        while scope is not None:
            task, run = scope.task, scope.run
            if scope.attempt <= task.given_up or run.driver.is_cancelled(task):
                return True
            scope = run.parent
        return False

    @property
    def control(self) -> RunControl:
        """Asks this run, and those around it, to drain."""
        control = self.loop.control
        if control is None:
            control = self.loop.control = RunControl()
        return control

    def _teach_outermost(self) -> None:
        """The thread is the outermost graph's: it stores what this graph's schemas name, too."""
        scope = self.parent
        assert scope is not None
        while scope.run.parent is not None:
            scope = scope.run.parent
        registry = scope.run.graph.registry()
        if registry is not None:
            self.graph.teach(registry)

    def _cache_of(self, cache: BaseCache[Any]) -> CachedResults:
        """Where results of nodes are looked up."""
        from plait.checkpoint.serde import GLOBAL, Codec  # only graphs that cache need it
        from plait.checkpoint.serde.jsonplus import types_of
        from plait.pregel.caching import CachedResults

        known = types_of(getattr(cache, "serde", None))
        return CachedResults(cache, Codec((self.graph.registry() or GLOBAL).beside(known)))

    def _open_storage(self, options: Options) -> Storage | None:
        graph, parent = self.graph, self.parent
        durability = options.durability or "sync"
        if durability not in DURABILITIES:
            raise ConfigError(
                f"Unknown durability {durability!r}. {nearest(durability, DURABILITIES)}"
            )
        if graph.checkpointer is False:
            return None
        if parent is not None:
            outer = parent.run.storage
            if outer is None:
                return None
            self._teach_outermost()
            session = outer.session.nested(self.ns_path)
            assert self.nest is not None
            guard = parent.check_heard
            return Storage(outer.saver, session, outer.durability, self.nest.load, guard, outer)
        if self._config is not None and self.configurable.get(CONFIG_KEY_CHECKPOINTER):
            return open_storage(graph, self.configurable, durability)
        if graph.checkpointer is True:
            raise ConfigError(
                f"Graph {graph.name!r} was compiled with checkpointer=True, which asks for its "
                "parent's saver, but it runs as a root graph. Compile it with a saver."
            )
        if graph.checkpointer is None:
            return None
        return open_storage(graph, self.configurable, durability)

    # --- what the engine is told -----------------------------------------------------------------

    def _spec(self, given: Any, options: Options, native: Literal["sync", "async"]) -> RunSpec:
        graph, plan, parent, storage = self.graph, self.graph.plan, self.parent, self.storage
        modes, config = self.modes, self._config
        before, after = options.interrupt_before, options.interrupt_after
        live = modes and (modes & LIVE_MODES or self.subgraphs or graph.calls_tasks())
        if storage is not None and type(given) is not dict and given is not None:
            given = graph.as_input(given)
        spec = RunSpec(plan, given, storage is not None)
        if config is not None:
            spec.thread_id = self.configurable.get("thread_id")
            if "recursion_limit" in config:
                spec.recursion_limit = config["recursion_limit"]
            spec.max_concurrency = config.get("max_concurrency")
        elif parent is not None:
            outer = parent.run.loop.spec
            spec.thread_id = outer.thread_id
            spec.recursion_limit = outer.recursion_limit
            spec.max_concurrency = outer.max_concurrency
        if self.nest is None:
            spec.ns = ""
        else:
            spec.nest = self.nest
        spec.modes = modes
        spec.inline = "none" if live or graph.step_timeout else native
        spec.interrupt_before = (
            breakpoints_of_call(plan, before) if before else plan.interrupt_before
        )
        spec.interrupt_after = breakpoints_of_call(plan, after) if after else plan.interrupt_after
        if options.output_keys is not None:
            spec.output = _output(plan, options.output_keys)
        if graph.step_timeout:
            spec.step_timeout = _step_limit(graph)
        if options.deadline is not None:
            spec.deadline = _deadline(options.deadline)
        if graph.cache is not None:
            spec.cache = self._cache_of(graph.cache)
        if isinstance(given, Command):
            command = cast("Command[Any]", given)
            spec.resume = MISSING if command.resume is None else command.resume
            spec.null_writes = graph.command_writes(command)
        if parent is not None and parent.task.questions is not None:
            spec.answers = parent.task.questions.answers
            spec.heard = parent.run.loop.spec.heard
        if storage is not None:
            self._say_where(spec, storage)
        if modes:
            spec.configurable = self._public_configurable()
            spec.task_metadata = self._task_metadata()
        return spec

    def _say_where(self, spec: RunSpec, storage: Storage) -> None:
        """What the engine is told of a run that is stored: where it stands, what is kept of it."""
        parent = self.parent
        spec.ns = self.ns_path
        spec.durability = cast(Any, storage.durability)
        if parent is None:
            spec.checkpoint_id, spec.inside = asked_checkpoint(self.configurable)
        else:
            step, outer = parent.task.step, parent.run.loop.spec
            spec.within = outer.ns, step.checkpoint_id
            if self.nest is not None:
                spec.untrodden, spec.caller = self.nest.is_untrodden(), self.nest.caller
            spec.parents = {**outer.parents, outer.ns: step.checkpoint_id}
            if self._config is None and parent.task.node.metadata is None:
                spec.metadata = outer.metadata
                return
        spec.metadata = stored_metadata(self.configurable, self.config)

    def _public_configurable(self) -> dict[str, Any]:
        """What checkpoints that are told are addressed by; the thread's id as it is stored."""
        public = {
            key: value
            for key, value in self.configurable.items()
            if key not in ("checkpoint_id", "thread_ts")
        }
        if public.get("thread_id") is not None:
            public["thread_id"] = str(public["thread_id"])
        return public

    def _task_metadata(self) -> dict[str, Any]:
        shown = own_metadata({"metadata": told_metadata(self.config, self.configurable)})
        if self.config.get("tags"):
            shown["tags"] = list(self.config["tags"])
        return shown

    # --- what tasks are told ---------------------------------------------------------------------

    def scope(self, task: Task, main: Here) -> TaskScope:
        """What the code inside `task` sees; `main` is the task's own thread of control.

        Raises:
            NodeCancelledError: the run is nested in one that was told to stop.
        """
        if self.parent is not None:
            if self.is_watched:
                self.parent.progress()
            if self.stopped():
                raise NodeCancelledError(
                    task.name, f"Task {task.name!r} does not start: a run around it was stopped."
                )
        scope = TaskScope(self, task, main)
        if self.listening is not None:
            scope.heard = self.listening.of(scope)
        return scope

    def task_config(self, task: Task) -> dict[str, Any]:
        """The RunnableConfig of a task: the run's, with where it runs."""
        if self._of_all is None:
            self._of_all = self._config_of_all()
        common, facts, configurable = self._of_all
        node, ns = task.node, task.ns
        metadata: dict[str, Any] = {
            **facts,
            "langgraph_step": task.step.number,
            "langgraph_node": node.name,
            "langgraph_triggers": tuple(task.triggers),
            "langgraph_path": task.path,
            "langgraph_checkpoint_ns": ns,
        }
        if node.metadata:
            metadata.update(node.metadata)
        config: dict[str, Any] = {
            **common,
            "metadata": metadata,
            "configurable": {**configurable, "checkpoint_ns": ns},
        }
        if node.tags:
            config["tags"] = [*config.get("tags", ()), *node.tags]
        return config

    def _config_of_all(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """What the configs of all tasks share: their entries, metadata, and configurable."""
        config = self.config
        common = {k: v for k, v in config.items() if k not in ("run_id", "run_name") and v}
        common.setdefault("callbacks", None)
        facts = told_metadata(config, self.configurable)
        return common, facts, {**self.configurable, "checkpoint_id": None}

    def task_runtime(self, scope: TaskScope) -> Runtime[Any]:
        """The Runtime of a task."""
        task = scope.task
        if task.first_attempt_at is None:
            task.first_attempt_at = self.loop.env.now()
        if self._server_info is MISSING:
            self._server_info = self._told_by_server()
        return Runtime(
            context=self.context,
            store=self.store,
            stream_writer=scope.write_custom,
            heartbeat=scope.heartbeat,
            control=self.control,
            server_info=self._server_info,
            previous=(
                self.loop.state.read_or_none(PREVIOUS)
                if PREVIOUS in self.graph.plan.channels
                else None
            ),
            execution_info=cast("Any", partial(self._execution_info, task, task.attempt)),
        )

    def _execution_info(self, task: Task, attempt: int) -> ExecutionInfo:
        thread_id, run_id = self.thread_id, self.config.get("run_id")
        return ExecutionInfo(
            checkpoint_id=task.step.checkpoint_id,
            checkpoint_ns=task.ns,
            task_id=task.id,
            thread_id=None if thread_id is None else str(thread_id),
            run_id=None if run_id is None else str(run_id),
            node_attempt=attempt,
            node_first_attempt_time=task.first_attempt_at,
        )


def _loop(spec: RunSpec) -> Loop:
    """The loop of a run. With breakpoints it keeps the ordinary schedule, to stop between steps."""
    plan = spec.plan
    eager = plan.foresight is not None
    if eager and spec.interrupt_before == frozenset() == spec.interrupt_after:
        from plait.engine.eager import EagerLoop  # few graphs ask for it

        return EagerLoop(spec, run_env.get())
    return Loop(spec, run_env.get())


_ADDRESS = frozenset(
    {"thread_id", "checkpoint_id", "checkpoint_ns", "thread_ts", "checkpoint_map", "thread_busy"}
)
"""Keys that say where a run is and how it gets there, not what it is about."""


_OWN = ("source", "step", "parents")
"""What each checkpoint says of itself."""


def stored_metadata(
    configurable: Mapping[str, Any], *configs: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What a checkpoint keeps of the configs of a run: metadata, plain entries of configurable."""
    facts = {
        key: value
        for key, value in configurable.items()
        if isinstance(value, (str, int, float, bool)) and not key.startswith("__")
    }
    for key in _ADDRESS:
        facts.pop(key, None)
    for config in configs:
        facts.update(own_metadata(config))
    for key in _OWN:
        facts.pop(key, None)
    return facts


def own_metadata(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """A config's metadata, without what says where a run is."""
    given: dict[str, Any] = {} if config is None else config.get("metadata") or {}
    return {
        key: value
        for key, value in given.items()
        if key not in _ADDRESS and not key.startswith("langgraph_")
    }


def _check_extras(graph: Pregel, extras: Mapping[str, Any]) -> None:
    """Refuse keywords of a call that nobody would ever look at."""
    for key, value in extras.items():
        if key in INSTEAD:
            refuse(f"A call of graph {graph.name!r}", **{key: value})
            continue
        if not graph.takes_extras:
            raise ConfigError(
                f"Graph {graph.name!r} was called with {key}=, which is no argument of the call, "
                f"and no node takes **kwargs. {_belongs(key)}"
            )


def _belongs(key: str) -> str:
    """Where what a keyword says is said."""
    if key in KNOWN_KEYS:
        return f"It belongs into the config: config={{{key!r}: ...}}."
    if key in _ADDRESS:
        return f"It belongs into the config: config={{'configurable': {{{key!r}: ...}}}}."
    return nearest(key, _ARGUMENTS)


_ARGUMENTS = (
    "config", "context", "deadline", "debug", "durability", "interrupt_after", "interrupt_before",
    "output_keys", "print_mode", "stream_mode", "subgraphs", "version",
)  # fmt: skip


def _around(
    config: Mapping[str, Any] | None,
) -> tuple[TaskScope | None, TaskScope | None]:
    """The task that a call is nested in; or else, if the call addresses another thread than that
    task's, the task where its run streams subgraphs, and so hears of the call."""
    scope = current_scope.get()
    if not isinstance(scope, TaskScope):
        return None, None
    if config is None:
        return scope, None
    asked: dict[str, Any] = config.get("configurable") or {}
    thread_id = asked.get("thread_id")
    is_nested = thread_id is None or thread_id == scope.run.thread_id
    if is_nested:
        return scope, None
    return None, scope if scope.run.subgraphs else None


def _deadline(given: Any) -> float:
    """A deadline in seconds since the epoch: a datetime, or a length of time from now."""
    from plait.timers import epoch_of, seconds_of  # few runs have one

    if hasattr(given, "tzinfo"):
        return epoch_of(given, "deadline=")
    return run_env.get().now() + seconds_of(given, "deadline=")


def _step_limit(graph: Pregel) -> float:
    """How long a super-step may take.

    Raises:
        ConfigError: the graph's `step_timeout` is no length of time.
    """
    from plait.timers import seconds_of  # few graphs have one

    return seconds_of(cast("Any", graph.step_timeout), f"step_timeout of graph {graph.name!r}")


def _output(plan: GraphPlan, keys: Reads | Sequence[str]) -> Reads:
    if isinstance(keys, View):
        return keys
    for key in (keys,) if isinstance(keys, str) else keys:
        if key not in plan.channels:
            meant = nearest(key, plan.channels, plan.renames.keys)
            raise ConfigError(f"Key {key!r} is not in channels. {meant}")
    return keys if isinstance(keys, str) else View(keys)
