"""A compiled graph's calls: `invoke` and `stream`, sync and async."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from plait.common.closing import aclose
from plait.constants import ONLY_DUE, TOOLS_MODE
from plait.drivers.base import Part
from plait.engine.plan import GraphPlan, Reads
from plait.errors import ConfigError, nearest
from plait.pregel.configs import one_input
from plait.pregel.parts import afinish, aparts_of, finish, parts_of, result_of, shaped
from plait.pregel.run import MODES, Options, Run
from plait.runnables.base import Runnable
from plait.typing import ContextT
from plait.warnings import warn_renamed

if TYPE_CHECKING:
    from plait.runnables.config import ConfigLike
    from plait.runtime import RunControl
    from plait.types import Durability, StreamMode

DEBUG_MODES = ("updates", "values")
"""What `debug=True` prints."""
_NO_MODES: frozenset[str] = frozenset()


class Called(Runnable[Any, Any], Generic[ContextT]):
    """A compiled graph as far as it is called."""

    plan: GraphPlan
    stream_mode: str | Sequence[str]
    debug: bool

    def invoke(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        stream_mode: StreamMode | Sequence[StreamMode] | None = "values",
        print_mode: StreamMode | Sequence[StreamMode] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Any:
        """Run the graph to its end, or to where it waits, and return its output.

        Args:
            input: the input; None continues a stored thread; a Command answers or steers it.
            config: whose `configurable["thread_id"]` says which thread, where there is a saver.
            context: the run context that nodes find in `runtime.context`.
            stream_mode: "values" returns the final state; another mode, or a list of modes, the
                list of all parts (None: of the mode in which the graph streams by itself).
            print_mode: modes that are printed while it runs, without being returned.
            output_keys: the keys to return (None: those of the output schema).
            interrupt_before: nodes to stop before ("*": all).
            interrupt_after: nodes to stop after ("*": all).
            durability: "sync" (default), "async" or "exit"; see `plait.types.Durability`.
            subgraphs: a list of parts also holds those of nested graphs, each part led by its
                namespace.
            version: "v2" returns a `GraphOutput` (state and questions apart), and parts of
                streams as dicts of type, ns and data.
            control: asks the run, from outside, to stop between two super-steps (`RunControl`).
            **kwargs: `deadline=` says when the run must have ended, here or where it is continued
                (seconds from now, or a datetime); `debug=True` prints what happens; others go to
                nodes that take `**kwargs`.

        Returns:
            The state; with the questions under "__interrupt__" where the run waits for answers.

        Raises:
            ConfigError: a keyword that no node takes, an unknown mode, no thread id.
            GraphDrained: the run was asked to stop; it can be resumed.
            GraphRecursionError: more super-steps than the config's `recursion_limit`.
            ThreadBusyError: another live run owns the thread.
        """
        mode = self._collected(stream_mode)
        run = self._run(
            "sync",
            input,
            config,
            mode,
            print_mode,
            output_keys,
            interrupt_before,
            interrupt_after,
            durability,
            subgraphs=subgraphs,
            context=context,
            extras=kwargs,
            control=control,
        )
        if not run.modes and not run.has_listeners():
            finish(run)
            return result_of(run, stream_mode, [], version)
        asked = _asked(mode)
        ns = run.ns if asked else ()
        parts: list[Any] = []
        for part in self._drive(run):
            if asked and part[1] in asked and (subgraphs or part[0] == ns):
                parts.append(shaped(part, run, mode, subgraphs, version))
        return result_of(run, stream_mode, parts, version)

    async def ainvoke(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        stream_mode: StreamMode | Sequence[StreamMode] | None = "values",
        print_mode: StreamMode | Sequence[StreamMode] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Any:
        """`invoke`, in an event loop: async nodes run on it, sync nodes in worker threads."""
        mode = self._collected(stream_mode)
        run = self._run(
            "async",
            input,
            config,
            mode,
            print_mode,
            output_keys,
            interrupt_before,
            interrupt_after,
            durability,
            subgraphs=subgraphs,
            context=context,
            extras=kwargs,
            control=control,
        )
        if not run.modes and not run.has_listeners():
            await afinish(run)
            return result_of(run, stream_mode, [], version)
        asked = _asked(mode)
        ns = run.ns if asked else ()
        parts: list[Any] = []
        async for part in self._adrive(run):
            if asked and part[1] in asked and (subgraphs or part[0] == ns):
                parts.append(shaped(part, run, mode, subgraphs, version))
        return result_of(run, stream_mode, parts, version)

    def _collected(self, given: str | Sequence[str] | None) -> str | Sequence[str]:
        """The mode or modes whose parts are the result; none where that is the final state."""
        if given == "values":
            return ()
        return self.stream_mode if given is None else given

    def stream(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        stream_mode: StreamMode | Sequence[StreamMode] | None = None,
        print_mode: StreamMode | Sequence[StreamMode] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Run the graph and yield what happens, as it happens.

        Args:
            stream_mode: one mode yields its payloads; a list of modes yields (mode, payload).
                "values": the state after each super-step; "updates": what each node wrote;
                "messages": (chunk, metadata) of what models say; "custom": what nodes write with
                a stream writer; "tools": tool calls; "tasks", "checkpoints", "debug".
            subgraphs: also yield what nested graphs tell, each part led by its namespace.

        The other arguments, and the errors, are those of `invoke`. Leaving the loop, or closing
        the iterator, stops the run.
        """
        mode = stream_mode if stream_mode is not None else self.stream_mode
        run = self._run(
            "sync",
            input,
            config,
            mode,
            print_mode,
            self.plan.stream if output_keys is None else output_keys,
            interrupt_before,
            interrupt_after,
            durability,
            subgraphs=subgraphs,
            context=context,
            extras=kwargs,
            control=control,
        )
        asked = _asked(mode)
        for part in self._drive(run):
            if part[1] in asked and (subgraphs or part[0] == run.ns):
                told = shaped(part, run, mode, subgraphs, version)
                if run.listening is not None and run.listening.hears_chunks:
                    run.listening.chunk(told)
                yield told

    async def astream(
        self,
        input: Any = None,
        config: ConfigLike | None = None,
        *,
        context: ContextT | Mapping[str, Any] | None = None,
        stream_mode: StreamMode | Sequence[StreamMode] | None = None,
        print_mode: StreamMode | Sequence[StreamMode] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        durability: Durability | None = None,
        subgraphs: bool = False,
        control: RunControl | None = None,
        version: Literal["v1", "v2"] = "v1",
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """`stream` in an event loop; the arguments and the errors are the same."""
        mode = stream_mode if stream_mode is not None else self.stream_mode
        run = self._run(
            "async",
            input,
            config,
            mode,
            print_mode,
            self.plan.stream if output_keys is None else output_keys,
            interrupt_before,
            interrupt_after,
            durability,
            subgraphs=subgraphs,
            context=context,
            extras=kwargs,
            control=control,
        )
        asked = _asked(mode)
        parts = self._adrive(run)
        try:
            async for part in parts:
                if part[1] in asked and (subgraphs or part[0] == run.ns):
                    told = shaped(part, run, mode, subgraphs, version)
                    if run.listening is not None and run.listening.hears_chunks:
                        await cast("Any", run.listening.chunk(told))
                    yield told
        finally:
            await aclose(parts)

    def _run(
        self,
        native: Literal["sync", "async"],
        given: Any,
        config: ConfigLike | None,
        stream_mode: str | Sequence[str],
        print_mode: str | Sequence[str],
        output_keys: Reads | Sequence[str] | None,
        before: Sequence[str] | str | None,
        after: Sequence[str] | str | None,
        durability: str | None,
        *,
        context: Any,
        extras: dict[str, Any],
        control: RunControl | None,
        subgraphs: bool,
    ) -> Run:
        """One call, from its arguments to a run that a driver can take."""
        debugs, deadline, only_due = self.debug, None, False
        if extras:
            only_due = extras.pop(ONLY_DUE, False)
            said = extras.pop("debug", None)
            debugs = debugs if said is None else said
            deadline = extras.pop("deadline", None)
            given = one_input(given, extras)
            if "checkpoint_during" in extras:
                durability = _older_durability(extras.pop("checkpoint_during"), durability)
        printed = _asked(print_mode or DEBUG_MODES) if print_mode or debugs else ()
        modes = _known_modes(_asked(stream_mode), printed) if stream_mode or printed else _NO_MODES
        options = Options()
        options.modes = modes
        options.printed = printed
        options.output_keys = output_keys
        options.interrupt_before = before
        options.interrupt_after = after
        options.durability = durability
        options.subgraphs = subgraphs
        options.context = context
        options.extras = extras
        options.control = control
        options.deadline = deadline
        run = Run(self, given, config, options, native)  # pyright: ignore[reportArgumentType]
        if only_due:
            run.loop.spec.only_due = True
        if TOOLS_MODE in modes:
            from plait.pregel.tool_stream import listen_to_tools  # few runs stream their tools

            listen_to_tools(run)
        return run

    def _drive(self, run: Run) -> Generator[Part, None, None]:
        """The parts of a run; those who listen are told of it."""
        if not run.has_listeners():
            return parts_of(run)
        from plait.pregel.listening import told  # few runs have listeners

        return told(run, parts_of(run))

    def _adrive(self, run: Run) -> AsyncGenerator[Part, None]:
        """`_drive` in an event loop."""
        if not run.has_listeners():
            return aparts_of(run)
        from plait.pregel.listening import atold  # as above

        return atold(run, aparts_of(run))


def _known_modes(asked: tuple[str, ...], printed: tuple[str, ...]) -> frozenset[str]:
    """The modes of a run.

    Raises:
        ConfigError: there is no such mode.
    """
    modes = frozenset({*asked, *printed})
    unknown = modes - MODES
    if unknown:
        name = sorted(unknown)[0]
        raise ConfigError(f"Unknown stream mode {name!r}. {nearest(name, sorted(MODES))}")
    return modes


def _older_durability(during: bool | None, durability: str | None) -> str | None:
    """The durability that the older `checkpoint_during` asks for (None: it was not given).

    Raises:
        ConfigError: both were given.
    """
    if during is None:
        return durability
    warn_renamed("checkpoint_during", stacklevel=4)
    if durability is not None:
        raise ConfigError(
            "checkpoint_during= and durability= were both given; durability= is the one to keep."
        )
    return "async" if during else "exit"


def _asked(mode: str | Sequence[str]) -> tuple[str, ...]:
    return (mode,) if isinstance(mode, str) else tuple(mode)
