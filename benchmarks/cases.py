"""Owns the list of figures: which work, which size, which must and aim, how many rounds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks import (
    agents,
    changes,
    floors,
    functional,
    haystack,
    messages,
    programs,
    runnables,
    stores,
    threads,
    tokens,
    tools,
    travel,
)
from benchmarks.implementations import Implementation
from benchmarks.measure import Job, repeated
from benchmarks.memory import FLOOR
from benchmarks.report import Bounds

INFORMS = Bounds()


@dataclass(frozen=True)
class Case:
    """One timed workload.

    Args:
        name: how the command line calls it.
        title: what the table says.
        program: builds the job for an implementation.
        floor: builds the job of plain Python.
        size: steps, nodes or tasks, handed to both.
        unit: of the figure, for one of ``per``.
        bounds: must and aim, as peer / plait.
        rounds: timed rounds of the full run.
        quick_rounds: those of ``--quick``; 0 leaves the case out.
        warmups: rounds before the timed ones; 0 where a smaller case has warmed the same code.
        per: how many units one run is made of; ``size`` when not given.
        times: how often the work is done in a round, so that none is as short as a millisecond.
    """

    name: str
    title: str
    program: Callable[[Implementation, int], Job]
    floor: Callable[[int], Job]
    size: int
    unit: str
    bounds: Bounds
    rounds: int
    quick_rounds: int
    warmups: int = 1
    per: int | None = None
    times: int = 1

    @property
    def units(self) -> int:
        """How many units a round is made of."""
        return (self.per or self.size) * self.times

    def job(self, contestant: str) -> Job:
        """The workload of one contestant (an import root, or the floor), ready to run."""
        if contestant == FLOOR:
            return repeated(self.floor(self.size), self.times)
        return repeated(self.program(Implementation(contestant), self.size), self.times)


def _pair(
    name: str,
    title: str,
    program: Callable[..., Job],
    floor: Callable[..., Job],
    size: int,
    unit: str,
    bounds: Bounds,
    rounds: int,
    quick_rounds: tuple[int, int] = (2, 2),
    warmups: int = 1,
    per: int | None = None,
    times: int = 1,
) -> tuple[Case, Case]:
    """The sync and the async case of one workload."""
    sync, asynchronous = (
        Case(
            name + ("-async" if run_as_async else ""),
            title + (", async" if run_as_async else ", sync"),
            partial(program, run_as_async=run_as_async),
            partial(floor, run_as_async=run_as_async),
            size,
            unit,
            bounds,
            rounds,
            quick_rounds[run_as_async],
            warmups,
            per,
            times,
        )
        for run_as_async in (False, True)
    )
    return sync, asynchronous


_LOOP = Bounds(15, 30)
_KEPT = {None: "", "memory": ", InMemorySaver", "sqlite": ", SQLite"}

CASES: tuple[Case, ...] = (
    *_pair("loop", "loop of 1,000 steps", programs.loop, floors.loop, 1_000, "us/step", _LOOP, 7),
    Case(
        "loop-two-nodes",
        "loop of 1,000 steps, two nodes, sync",
        partial(programs.loop, run_as_async=False, nodes=("tick", "tock")),
        partial(floors.loop, run_as_async=False),
        1_000,
        "us/step",
        _LOOP,
        5,
        0,
    ),
    Case(
        "loop-async-sync-nodes",
        "loop of 1,000 steps, async run of sync nodes",
        partial(programs.loop, run_as_async=True, sync_nodes=True),
        partial(floors.loop, run_as_async=True),
        1_000,
        "us/step",
        INFORMS,
        3,
        0,
    ),
    *_pair(
        "sequence",
        "sequence of 1,000 nodes",
        programs.sequence,
        floors.sequence,
        1_000,
        "us/node",
        Bounds(20, 50),
        5,
    ),
    *_pair(
        "fanout-100",
        "fan-out of 100 tasks",
        programs.fanout,
        floors.fanout,
        100,
        "us/task",
        INFORMS,
        15,
        (5, 5),
    ),
    *_pair(
        "fanout-1000",
        "fan-out of 1,000 tasks",
        programs.fanout,
        floors.fanout,
        1_000,
        "us/task",
        Bounds(10, 20),
        7,
    ),
    *_pair(
        "fanout-10000",
        "fan-out of 10,000 tasks",
        programs.fanout,
        floors.fanout,
        10_000,
        "us/task",
        Bounds(15, 30),
        3,
        (1, 0),
        warmups=0,
    ),
    *_pair(
        "wide",
        "1,000 keys, loop of 1,000",
        programs.wide,
        floors.wide,
        1_000,
        "us/step",
        Bounds(100, 250),
        3,
    ),
    *_pair(
        "saved-loop",
        "loop of 1,000, InMemorySaver",
        programs.saved_loop,
        floors.saved_loop,
        1_000,
        "us/step",
        Bounds(20, 50),
        5,
        (1, 1),
    ),
    *_pair(
        "entrypoint",
        "entrypoint with 1,000 tasks",
        functional.entrypoint,
        functional.entrypoint_floor,
        1_000,
        "us/task",
        Bounds(10, 25),
        5,
    ),
    *_pair(
        "saved-entrypoint",
        "entrypoint with 1,000 tasks, InMemorySaver",
        partial(functional.entrypoint, saved=True),
        functional.entrypoint_floor,
        1_000,
        "us/task",
        Bounds(10, 25),
        5,
        (1, 1),
    ),
    *_pair(
        "entrypoint-in-turn",
        "entrypoint with 1,000 tasks, one after the other",
        partial(functional.entrypoint, in_turn=True),
        partial(functional.entrypoint_floor, in_turn=True),
        1_000,
        "us/task",
        INFORMS,
        3,
        (0, 0),
    ),
    *_pair(
        "tokens",
        "1,001 tokens of a model (messages)",
        tokens.tokens,
        tokens.floor,
        1_001,
        "us/token",
        INFORMS,
        9,
        (3, 3),
    ),
    *_pair(
        "tools",
        "@tool with a pydantic schema, 1,000 calls",
        tools.tools,
        tools.floor,
        1_000,
        "us/call",
        Bounds(5, 15),
        9,
        (3, 3),
    ),
    *(
        case
        for kept, durability in (
            (None, None),
            ("memory", None),
            ("sqlite", None),
            ("sqlite", "async"),
        )
        for turns in (10, 100)
        for case in _pair(
            "-".join(filter(None, ("agent", str(turns), kept, durability and "behind"))),
            f"create_react_agent, {turns} tool turns{_KEPT[kept]}"
            f"{', written behind' if durability else ''}",
            partial(agents.agent, saver=kept, durability=durability),
            agents.floor,
            turns,
            "us/turn",
            Bounds(10, 30),
            7 if turns == 10 else 5,
            (2, 2) if turns == 10 else (1, 0),
            times=100 // turns,
        )
    ),
    *(
        case
        for name, make in (("create-agent", agents.CREATE), ("middleware", agents.MIDDLEWARE))
        for turns in (10, 100)
        for case in _pair(
            f"{name}-{turns}",
            f"{make}, {turns} tool turns",
            partial(agents.agent, make=make),
            agents.floor,
            turns,
            "us/turn",
            Bounds(10, 30),
            7 if turns == 10 else 5,
            (2, 2) if turns == 10 else (1, 0),
            times=100 // turns,
        )
    ),
    *_pair(
        "agent-parallel",
        f"create_react_agent, {agents.PARALLEL} tools at once",
        agents.parallel,
        agents.parallel_floor,
        agents.PARALLEL,
        "us/call",
        Bounds(10, 30),
        7,
        per=agents.PARALLEL * agents.RUNS,
    ),
    *(
        case
        for turns in (10, 100)
        for case in _pair(
            f"haystack-{turns}",
            f"Haystack-style Agent against haystack-ai, {turns} tool turns",
            haystack.agent,
            haystack.floor,
            turns,
            "us/turn",
            Bounds(3, 5),
            5 if turns == 10 else 3,
            (2, 2) if turns == 10 else (1, 0),
            times=100 // turns,
        )
    ),
    *_pair(
        "messages-compare",
        "construct twice and compare 10,000 messages",
        messages.compare,
        messages.floor_compare,
        10_000,
        "us/message",
        Bounds(3, 8),
        15,
        (2, 2),
    ),
    *_pair(
        "messages-convert",
        "convert 10,000 messages to OpenAI's form",
        messages.convert,
        messages.floor_convert,
        10_000,
        "us/message",
        Bounds(3, 8),
        45,
        (2, 2),
    ),
    *_pair(
        "first-event",
        "first event (updates), 10 nodes",
        programs.first_event,
        floors.first_event,
        10,
        "us/event",
        Bounds(5, 15),
        15,
        (5, 5),
        per=programs.STREAMS_PER_RUN,
    ),
    *_pair(
        "first-values-event",
        "first event (values), 10 nodes",
        partial(programs.first_event, mode="values"),
        partial(floors.first_event, mode="values"),
        10,
        "us/event",
        INFORMS,
        15,
        (5, 5),
        per=programs.STREAMS_PER_RUN,
    ),
    *(
        Case(
            f"store-{kind}-{work}",
            f"{work} of 1,000 items, store in {kind}",
            partial(stores.store, kind=kind, work=work),
            partial(stores.floor, kind=kind, work=work),
            1_000,
            "us/search" if work in ("search", "range") else "us/item",
            INFORMS,
            7,
            2,
            per=stores.SEARCHES if work in ("search", "range") else None,
        )
        for kind in ("memory", "sqlite")
        for work in ("put", "get", "batch", "search", "range")
    ),
    *(
        Case(
            f"subgraphs-{count}{'-saved' if saved else ''}",
            f"{count} subgraphs beside each other{', InMemorySaver' if saved else ''}, sync",
            partial(travel.subgraphs, saved=saved),
            travel.subgraphs_floor,
            count,
            "us/subgraph",
            Bounds(12, 30),
            11,
            3,
            times=100 // count,
        )
        for saved in (False, True)
        for count in (10, 100)
    ),
    Case(
        "history",
        "history of a thread of 1,000 steps",
        travel.history,
        travel.history_floor,
        1_000,
        "us/checkpoint",
        Bounds(20, 100),
        5,
        2,
        times=10,
    ),
    Case(
        "get-state",
        "get_state after 1,000 steps",
        travel.get_state,
        travel.get_state_floor,
        1_000,
        "us/call",
        Bounds(5, 10),
        5,
        2,
        per=100,
        times=10,
    ),
    *(
        Case(
            f"history-{kind}-{saver}",
            f"history of 300 steps, {kind}, {saver}",
            partial(threads.history, kind=kind, saver=saver),
            partial(threads.history_floor, kind=kind),
            300,
            "us/checkpoint",
            Bounds(20, 100),
            5,
            2,
        )
        for kind in threads.KINDS
        for saver in ("memory", "sqlite")
    ),
    *(
        Case(
            f"history-{name}-{saver}",
            f"history of {steps:,} steps, conversation, {saver}, {title}",
            partial(threads.walk, saver=saver, states=states),
            partial(threads.walk_floor, states=states),
            steps,
            "us/checkpoint",
            Bounds(20, 100),
            2,
            quick,
        )
        for name, title, states in (
            ("listed", "no state looked at", False),
            ("walked", "each state looked at", True),
        )
        for saver, steps, quick in (("memory", 1_000, 0), ("sqlite", 300, 2))
    ),
    *(
        Case(
            f"get-state-{kind}-{saver}",
            f"get_state after 1,000 steps, {kind}, {saver}",
            partial(threads.state, kind=kind, saver=saver),
            partial(threads.state_floor, kind=kind),
            1_000,
            "us/call",
            Bounds(5, 10),
            7,
            2,
            per=threads.CALLS,
        )
        for kind in threads.KINDS
        for saver in ("memory", "sqlite")
    ),
    *(
        Case(
            f"threads-{how}-{saver}",
            f"{title}, list of 300, {saver}",
            partial(threads.some, how=how, saver=saver),
            partial(threads.some_floor, how=how),
            300,
            "us/call",
            INFORMS,
            7,
            2,
            per=threads.CALLS,
        )
        for how, title in (
            ("last", "get_state_history with limit=1"),
            ("found", "get_state_history with a filter that one meets"),
            ("tuple", "get_tuple of a saver"),
            ("listed", "list of a saver with limit=9"),
        )
        for saver in ("memory", "sqlite")
    ),
    *(
        Case(
            f"threads-{how}-{saver}",
            f"{title}, {saver}",
            partial(work, saver=saver),
            floor,
            size,
            unit,
            INFORMS,
            7,
            2,
            per=threads.CALLS,
        )
        for how, title, work, floor, size, unit in (
            (
                *("crowd", "list of a saver over 200 threads with limit=10"),
                *(threads.crowd, threads.crowd_floor, 200, "us/call"),
            ),
            (
                *("crowd-all", "list of a saver over 30 threads"),
                partial(threads.crowd, limit=None),
                *(partial(threads.crowd_floor, limit=None), 30, "us/call"),
            ),
            (
                *("crowd-many", "list of a saver over 300 threads"),
                partial(threads.crowd, limit=None),
                *(partial(threads.crowd_floor, limit=None), 300, "us/call"),
            ),
            (
                *("crowd-found", "list of a saver over 300 threads, one checkpoint of each"),
                partial(threads.crowd, limit=None, wanted={"step": 0}),
                *(partial(threads.crowd_floor, found=301), 300, "us/call"),
            ),
            (
                *("long", "get_state of 300 messages of 1 KB"),
                *(threads.long, threads.long_floor, 300, "us/call"),
            ),
            (
                *("turns", "one turn more of a conversation of 100 messages"),
                *(threads.turns, threads.turns_floor, 100, "us/turn"),
            ),
        )
        for saver in ("memory", "sqlite")
    ),
    *(
        Case(
            f"changes-{how}-{saver}",
            f"{title}, 4,000 of them, {saver}",
            partial(changes.changed, how=how, saver=saver),
            partial(changes.floor, how=how),
            4_000,
            "us/step",
            INFORMS,
            5,
            0,
            per=changes.STEPS,
        )
        for how, (title, *_) in changes.WORKS.items()
        for saver in ("memory", "sqlite")
    ),
    *(
        Case(name, title, work, floor, size, unit, bounds, 7, 3)
        for name, title, work, floor, size, unit, bounds in (
            (
                *("chain", "invoke of a sequence of 10 lambdas"),
                *(runnables.sequence, runnables.sequence_floor, 200, "us/call", Bounds(8, 20)),
            ),
            (
                *("chain-parallel", "invoke of a RunnableParallel of 10 lambdas"),
                *(runnables.parallel, runnables.parallel_floor, 100, "us/call", Bounds(8, 20)),
            ),
            (
                *("chain-batch", "batch of 1,000 of a lambda"),
                *(runnables.batch, runnables.batch_floor, 1_000, "us/input", Bounds(8, 20)),
            ),
            (
                *("chain-tokens", "1,001 tokens through prompt, model, parser"),
                *(tokens.chain, tokens.chain_floor, 1_001, "us/token", Bounds(5, 15)),
            ),
            (
                *("chain-stream", "1,000 chunks through a chain of three"),
                *(runnables.stream, runnables.stream_floor, 1_000, "us/chunk", INFORMS),
            ),
        )
    ),
)


@dataclass(frozen=True)
class Growth:
    """An exponent fitted through cases of different size."""

    name: str
    title: str
    cases: tuple[str, ...]
    bounds: Bounds


_LINEAR = Bounds(1.05, 1.0)
GROWTHS = tuple(
    Growth(
        f"fanout-growth{suffix}",
        f"fan-out, growth of CPU from 100 to 10,000, {mode}",
        tuple(f"fanout-{size}{suffix}" for size in (100, 1_000, 10_000)),
        _LINEAR,
    )
    for suffix, mode in (("", "sync"), ("-async", "async"))
)

IMPORT, IMPORT_MODULES = "import", "import-modules"
IMPORT_BOUNDS = Bounds(4, 9)
IMPORT_CORE = "import-core"
IMPORT_CORE_BOUNDS = Bounds(5, 10)
MEMORY = {"memory": False, "memory-async": True}
MEMORY_BOUNDS = Bounds(3, 5)
MAKESPAN = "makespan"
MAKESPAN_BOUNDS = Bounds(1.05, 1.0)
MEMORY_TASKS, MEMORY_TASKS_QUICK = 10_000, 1_000


def names() -> list[str]:
    """Every figure there is, in the order of the table."""
    return [
        *(case.name for case in CASES),
        *(one.name for one in GROWTHS),
        IMPORT,
        IMPORT_MODULES,
        IMPORT_CORE,
        MAKESPAN,
        *MEMORY,
    ]


def case_named(name: str) -> Case:
    """The timed case of that name.

    Raises:
        LookupError: there is none.
    """
    for case in CASES:
        if case.name == name:
            return case
    raise LookupError(f"No program {name!r}. There are: {', '.join(c.name for c in CASES)}.")
