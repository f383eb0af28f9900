"""Simulations: `simulate` plays one schedule of a compiled graph; the same seed, the same one.

A crash abandons everything but what the saver holds. How a run goes is up to its driver
(`sim_driver`), which also says what a simulation cannot show.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Coroutine,
    Generator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from plait.common.ids import id_source
from plait.drivers.base import (
    Part,
    ScopeFactory,
    Storage,
    driver_source,
)
from plait.drivers.env import run_env
from plait.drivers.sim_driver import AsyncSimDriver, SimDriver
from plait.drivers.sim_world import (
    Crash,
    Happening,
    SimEnv,
    SimulatedCrash,
    SimulationError,
    World,
)
from plait.engine.loop import Loop


class Simulation(World):
    """The life of one simulated process, and the source of its drivers."""

    @contextmanager
    def running(self) -> Generator[Simulation]:
        """Inside, runs of compiled graphs are simulated."""
        tokens = (driver_source.set(self), run_env.set(self.env), id_source.set(self.env.new_id))
        try:
            yield self
        finally:
            driver_source.reset(tokens[0])
            run_env.reset(tokens[1])
            id_source.reset(tokens[2])
            self.drop(None)

    def sync(self, loop: Loop, scope: ScopeFactory, storage: Storage | None) -> SimDriver:
        """The driver of a run that `invoke` or `stream` began."""
        return SimDriver(self, loop, scope, storage)

    def aio(self, loop: Loop, scope: ScopeFactory, storage: Storage | None) -> AsyncSimDriver:
        """The driver of a run that `ainvoke` or `astream` began."""
        return AsyncSimDriver(self, loop, scope, storage)


# --- one schedule --------------------------------------------------------------------------------

Flavor: TypeAlias = Literal["sync", "async"]


@dataclass(slots=True)
class SimResult:
    """What one life of a simulated process left behind."""

    seed: int
    parts: list[Part] = field(default_factory=list[Part])
    """(namespace, mode, payload) of every part that its consumer got."""
    trace: list[Happening] = field(default_factory=list[Happening])
    requests: int = 0
    """How many storage requests it made."""
    crashed: bool = False
    error: Exception | None = None
    """What the run raised, where the caller asked to `catch` it."""

    @property
    def states(self) -> list[Any]:
        """The states of the root graph, where `values` was streamed."""
        return [payload for ns, mode, payload in self.parts if mode == "values" and not ns]

    @property
    def effects(self) -> list[tuple[str, str]]:
        """(task id, node) of each time a task's code began."""
        return [(each.id, each.detail) for each in self.trace if each.what == "began"]


def simulate(
    graph: Any,
    input: Any,
    config: Mapping[str, Any] | None = None,
    *,
    seed: int,
    crash_at: Crash | None = None,
    env: SimEnv | None = None,
    flavor: Flavor = "sync",
    stream_mode: Sequence[str] = ("values", "updates"),
    listen: Callable[[Part], None] | None = None,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    **options: Any,
) -> SimResult:
    """Run a compiled graph once, in the order that a seed decides.

    Args:
        graph: the compiled graph.
        input: as for `invoke`.
        config: as for `invoke`.
        seed: decides who runs when, what is handed over together, and what is written late.
        crash_at: the storage request at which the process dies.
        env: clock and ids, to go on with those of an earlier life on the same thread.
        flavor: "async" runs the async form of nodes that have both.
        stream_mode: what the result's `parts` hold.
        listen: hears each part when it is told.
        catch: errors of the run that are a result like any other.
        options: as for `stream` (`durability`, `subgraphs`, `context`, ...).

    Returns:
        What happened, up to the end of the run or the crash.

    Raises:
        SimulationError: nothing can happen any more, or a node awaits a real event.

    >>> from plait.graph import START, StateGraph
    >>> builder = StateGraph(dict)
    >>> _ = builder.add_node("a", lambda state: {"said": "hello"})
    >>> _ = builder.add_edge(START, "a")
    >>> simulate(builder.compile(), {}, seed=1).states[-1]
    {'said': 'hello'}
    """
    simulation = Simulation(seed, env=env, crash=crash_at, listen=listen)
    result = SimResult(seed, trace=simulation.trace)
    keep = result.parts.append
    nested = options.setdefault("subgraphs", False)
    modes = list(stream_mode)

    async def play() -> None:
        async for part in graph.astream(input, config, stream_mode=modes, **options):
            keep(part if nested else ((), *part))

    with simulation.running():
        try:
            if flavor == "async":
                _play_out(play())
            else:
                for part in graph.stream(input, config, stream_mode=modes, **options):
                    keep(part if nested else ((), *part))
        except SimulatedCrash:
            result.crashed = True
        except catch as error:
            result.error = error
    result.requests = simulation.requests
    return result


def _play_out(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise SimulationError("The run awaits a real event; a simulation has no event loop.")


__all__ = [
    "AsyncSimDriver",
    "Crash",
    "Happening",
    "SimDriver",
    "SimEnv",
    "SimResult",
    "SimulatedCrash",
    "Simulation",
    "SimulationError",
    "simulate",
]
