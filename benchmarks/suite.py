"""Owns the run: measures the wanted cases one after the other and makes figures of them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from statistics import median

from benchmarks import makespan, memory, startup
from benchmarks.cases import (
    CASES,
    GROWTHS,
    IMPORT,
    IMPORT_BOUNDS,
    IMPORT_CORE,
    IMPORT_CORE_BOUNDS,
    IMPORT_MODULES,
    MAKESPAN,
    MAKESPAN_BOUNDS,
    MEMORY,
    MEMORY_BOUNDS,
    MEMORY_TASKS,
    MEMORY_TASKS_QUICK,
    Case,
    Growth,
    case_named,
)
from benchmarks.implementations import PEER, PLAIT
from benchmarks.measure import growth, interleave
from benchmarks.memory import FLOOR
from benchmarks.report import Costs, Figure

_MICRO = 1e6
_MILLI = 1e3
_MEGABYTE = 1e6


def run(wanted: set[str], roots: list[str], *, quick: bool) -> Iterator[Figure]:
    """Measure figures one after the other.

    Args:
        wanted: names of figures; the cases that a growth figure is fitted through come with it.
        roots: import roots to measure, the peer first.
        quick: fewer rounds, and without the slowest cases.

    Yields:
        Each figure when it is done; one that failed carries its error.
    """
    needed = wanted.union(*(set(one.cases) for one in GROWTHS if one.name in wanted))
    seconds: dict[str, dict[str, list[float]]] = {}
    for case in CASES:
        rounds = case.quick_rounds if quick else case.rounds
        if case.name in needed and rounds:
            yield _timed(case, roots, rounds, seconds)
    for one in GROWTHS:
        if one.name in wanted and all(name in seconds for name in one.cases):
            yield _grown(one, seconds)
    if {IMPORT, IMPORT_MODULES} & wanted:
        yield from _imported(roots, rounds=2 if quick else 9)
    if IMPORT_CORE in wanted:
        yield _imported_core(roots, rounds=2 if quick else 9)
    if MAKESPAN in wanted:
        yield _makespan(roots, rounds=1 if quick else 3)
    for name, run_as_async in MEMORY.items():
        if name in wanted and not (quick and run_as_async):
            yield _remembered(name, roots, run_as_async=run_as_async, quick=quick)


def _failure(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _costs(by_contestant: Mapping[str, float]) -> Costs:
    return Costs(by_contestant.get(PEER), by_contestant.get(PLAIT), by_contestant.get(FLOOR))


def _timed(
    case: Case, roots: list[str], rounds: int, seconds: dict[str, dict[str, list[float]]]
) -> Figure:
    """Time one case and leave its samples in ``seconds``, for the growth figures."""
    try:
        with ExitStack() as stack:
            jobs = {name: case.job(name) for name in (*roots, FLOOR)}
            for job in jobs.values():
                stack.callback(job.close)
            samples = interleave(jobs, rounds=rounds, warmups=case.warmups)
    except Exception as error:  # whatever a program raises is that figure's outcome
        return Figure(case.name, case.title, case.unit, bounds=case.bounds, error=_failure(error))
    seconds[case.name] = samples
    scale = _MICRO / case.units
    costs = _costs({name: median(spent) * scale for name, spent in samples.items()})
    return Figure(case.name, case.title, case.unit, costs, case.bounds, samples=samples)


def _grown(one: Growth, seconds: Mapping[str, Mapping[str, list[float]]]) -> Figure:
    sizes = {case_named(name).size: seconds[name] for name in one.cases}
    exponents = {
        who: growth({size: samples[who] for size, samples in sizes.items()})
        for who in next(iter(sizes.values()))
    }
    return Figure(one.name, one.title, "exponent", _costs(exponents), one.bounds, is_ratio=False)


def _imported(roots: list[str], *, rounds: int) -> Iterator[Figure]:
    """The two import figures; their floor is the import of asyncio alone."""
    time_title, modules_title = "import of the graph module, CPU", "modules that it loads"
    statements = {root: f"import {root}.graph" for root in roots} | {FLOOR: "import asyncio"}
    try:
        costs = startup.import_costs(statements, rounds=rounds)
    except Exception as error:
        yield Figure(IMPORT, time_title, "ms", bounds=IMPORT_BOUNDS, error=_failure(error))
        return
    samples = {name: cost.seconds for name, cost in costs.items()}
    spent = _costs({name: median(seconds) * _MILLI for name, seconds in samples.items()})
    yield Figure(IMPORT, time_title, "ms", spent, IMPORT_BOUNDS, samples=samples)
    modules = _costs({name: cost.modules for name, cost in costs.items()})
    yield Figure(IMPORT_MODULES, modules_title, "modules", modules, IMPORT_BOUNDS)


def _imported_core(roots: list[str], *, rounds: int) -> Figure:
    """The import of what chains are made of, without graphs."""
    title = "import of the core (peer: langchain_core.runnables), CPU"
    known = {PEER: "import langchain_core.runnables", PLAIT: "import plait, plait.runnables.base"}
    statements = {root: known[root] for root in roots} | {FLOOR: "import asyncio"}
    try:
        costs = startup.import_costs(statements, rounds=rounds)
    except Exception as error:
        return Figure(IMPORT_CORE, title, "ms", bounds=IMPORT_CORE_BOUNDS, error=_failure(error))
    samples = {name: cost.seconds for name, cost in costs.items()}
    spent = _costs({name: median(seconds) * _MILLI for name, seconds in samples.items()})
    return Figure(IMPORT_CORE, title, "ms", spent, IMPORT_CORE_BOUNDS, samples=samples)


def _makespan(roots: list[str], *, rounds: int) -> Figure:
    """The wall clock of slow branches; the floor is their critical path."""
    title = "makespan of slow branches, eager schedule (peer: super-steps), wall clock"
    try:
        spans = makespan.makespans(roots, rounds=rounds)
    except Exception as error:
        return Figure(MAKESPAN, title, "x critical path", error=_failure(error))
    costs = _costs({**spans, FLOOR: 1.0})
    return Figure(MAKESPAN, title, "x critical path", costs, MAKESPAN_BOUNDS, is_ratio=False)


def _remembered(name: str, roots: list[str], *, run_as_async: bool, quick: bool) -> Figure:
    tasks = MEMORY_TASKS_QUICK if quick else MEMORY_TASKS
    title = f"peak memory, fan-out of {tasks:,}, {'async' if run_as_async else 'sync'}"
    try:
        peaks = memory.peaks_of_fanout([*roots, FLOOR], tasks, run_as_async=run_as_async)
    except Exception as error:
        return Figure(name, title, "MB", bounds=MEMORY_BOUNDS, error=_failure(error))
    costs = _costs({who: peak / _MEGABYTE for who, peak in peaks.items()})
    return Figure(name, title, "MB", costs, MEMORY_BOUNDS)
