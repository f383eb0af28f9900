"""A database with threads in it, to which everything happens that can, and what it must hold.

Threads take turns, fail, ask, are answered, cancelled, cut off at any storage request; are forked,
copied, pruned, swept, deleted; savers are opened again, keys of encryption added, nodes and keys
renamed. After each of it every checkpoint of every thread must read as the model says
(`lives_graph.step` of its parent), and no row may be left without an owner.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Literal, TypeAlias

from plait.checkpoint.log.keys import unpack
from plait.checkpoint.log.requests import (
    ListLanes,
    ReadCheckpoints,
    ReadLane,
    ReadWrites,
)
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.postgres import PostgresSaver
from plait.checkpoint.serde.encrypted import EncryptedSerializer
from plait.checkpoint.sqlite import SqliteSaver
from plait.drivers.env import run_env
from plait.drivers.sim import SimEnv
from plait.testing import FaultySaver, InjectedFailure
from plait.testing.faults import InjectedCrash
from plait.types import Command

from .lives_graph import (
    Boom,
    Interrupted,
    Maker,
    Point,
    Trouble,
    answer_to,
    fed,
    migrated,
    step,
)

Kind: TypeAlias = Literal["memory", "sqlite", "postgres"]
MOST_LIVES = 40
LATEST = 25
"""The last storage request of a call that trouble may hit."""
_LOST = (Boom, Interrupted, InjectedFailure, InjectedCrash, asyncio.CancelledError)
_PENDING = (("__start__",), ("edit",), ("ask",))
"""What would still be to come after an update in the name of `memo`."""
_GROWING = ("items", "log", "count")


class Cut(FaultySaver):
    """A saver that fails at a request, or cancels the task that runs there and goes on."""

    cancel_at = 0
    task: asyncio.Task[Any] | None = None

    async def aexecute(self, request: Any) -> Any:
        """Do a request, and perhaps cancel before it."""
        if self.task is not None and self.requests + 1 == self.cancel_at:
            self.task.cancel()
        return await super().aexecute(request)


class World:
    """One database and the threads in it.

    Args:
        seed: What happens.
        kind: Which saver.
        target: Its file, or URL.
    """

    def __init__(self, seed: int, kind: Kind, target: Any) -> None:
        self.random = Random(seed)
        self.kind: Kind = kind
        self.target = target
        self.cuts = seed % 2 == 1
        """Whether there is trouble at storage requests."""
        self.keys = {"k0": bytes(32)} if seed % 3 == 0 else {}
        self.memory = InMemorySaver() if kind == "memory" else None
        self.env = SimEnv(seed)
        self.trouble = Trouble()
        self.version = 1
        self.threads: dict[str, dict[str, Point]] = {}
        """By thread: what each of its checkpoints must hold."""
        self.heads: dict[str, str] = {}
        self.turns = self.names = 0
        self.deaths = 0
        self.done: list[str] = []
        self.saver: Any = None
        self.open()

    # --- the process -----------------------------------------------------------------------------

    def open(self) -> None:
        """A new process: nothing is left but what is stored."""
        self.close()
        serde = EncryptedSerializer.from_keys(self.keys) if self.keys else None
        if self.memory is not None:
            saver: Any = self.memory
            if serde is not None:
                saver.serde = serde
        elif self.kind == "sqlite":
            saver = SqliteSaver(self.target, serde=serde)
        else:
            saver = PostgresSaver(self.target, serde=serde, max_connections=2)
        self.saver = Cut(saver)
        self.graph = Maker(self.version, self.trouble).build(self.saver)

    def close(self) -> None:
        """End the process."""
        saver, self.saver, self.graph = self.saver, None, None
        if saver is not None and self.memory is None:
            saver.saver.close()
        gc.collect()

    def call(self, name: str, *args: Any, on: Any = None, **options: Any) -> Any:
        """Call a method of the graph, or of a saver; sync or async, as it happens."""
        target = self.graph if on is None else on
        token = run_env.set(self.env)
        try:
            if self.random.random() < 0.5:
                return getattr(target, name)(*args, **options)
            return asyncio.run(self._acall(getattr(target, f"a{name}"), args, options))
        finally:
            self.saver.task = None  # with it goes what a dead run still refers to
            run_env.reset(token)

    async def _acall(self, method: Any, args: Any, options: Any) -> Any:
        self.saver.task = asyncio.current_task()
        return await method(*args, **options)

    def attempt(self, name: str, *args: Any, **options: Any) -> tuple[bool, Any]:
        """A call that trouble may cut off: whether it came to its end, and its result."""
        saver = self.saver
        if self.cuts and self.random.random() < 0.4:
            at = self.random.randint(1, LATEST)
            if self.random.random() < 0.2:
                saver.cancel_at = saver.requests + at
            else:
                saver.at = saver.requests + at
                saver.fault = self.random.choice(
                    ("raise", "commit then raise", "crash", "commit then crash")
                )
        done, result = True, None
        try:
            result = self.call(name, *args, **options)
        except _LOST:
            done = False
            gc.collect()  # a claim of which nobody knows ends with the session that asked for it
        del saver
        crashed = self.saver.failed and self.saver.fault.endswith("crash")
        self.saver.at = self.saver.cancel_at = 0
        if crashed:
            self.deaths += 1
            self.trouble.errors.clear()
            self.open()
        return done, result

    def until_done(self, name: str, *args: Any, **options: Any) -> Any:
        """Call again until nothing cuts it off."""
        for _ in range(MOST_LIVES):
            on = self.saver if hasattr(self.saver, name) else None
            done, result = self.attempt(name, *args, on=on, **options)
            if done:
                return result
        raise AssertionError(f"{name} does not end")

    # --- turns -----------------------------------------------------------------------------------

    def turn(self) -> None:
        """A new input to a thread, wherever it stands; a new thread now and then."""
        new = not self.threads or (len(self.threads) < 4 and self.random.random() < 0.3)
        thread = self.new_name() if new else self.any_thread()
        self.turns += 1
        given: dict[str, Any] = {
            "items": [f"in{self.turns}"],
            "turn": {"n": self.turns, "asks": self.random.random() < 0.3},
        }
        if self.version == 2:
            given["turn"]["v"] = 2
        if "notes" not in self.head(thread).values:
            given |= {"notes": [], "box": {}}
        config = at(thread)
        if self.random.random() < 0.15 and self.threads.get(thread):
            config = at(thread, self.any_id(thread))
            if "notes" not in self.point(thread, config).values:
                given |= {"notes": [], "box": {}}
        self.go(thread, given, config)

    def go_on(self) -> None:
        """Go on with a thread where it stands, or from an old checkpoint."""
        thread = self.any_thread()
        config = at(thread)
        if self.random.random() < 0.4:
            config = at(thread, self.any_id(thread))
        self.go(thread, None, config)

    def go(self, thread: str, given: Any, config: Any) -> None:
        """Run a thread, through trouble, mostly to its end."""
        config = {**config, "metadata": {"run_id": f"run{self.random.randrange(4)}"}}
        for _ in range(MOST_LIVES):
            durability = self.random.choice(("sync", "sync", "async", "exit"))
            self.make_trouble(durability)
            before = self.head_id(thread)
            self.done.append(f"{thread}:{durability}")
            done, result = self.attempt("invoke", deepcopy(given), config, durability=durability)
            moved = self.head_id(thread) != before
            self.learn(thread, given, config)
            if moved:
                config = {**at(thread), "metadata": config["metadata"]}
            if self.random.random() < 0.15:
                return  # leave it where it is
            if not done:
                if moved or isinstance(given, Command):
                    given = None
                if given is None and self.head(thread).number == -2:
                    return
                continue
            asked = (result or {}).get("__interrupt__", ())
            if not asked:
                return
            given = Command(resume={each.id: answer_to(each.value) for each in asked})
        raise AssertionError(f"thread {thread} does not end")

    def make_trouble(self, durability: str) -> None:
        """Something may go wrong in a node.

        What a node has changed in place before it fails, `exit` stores: no copy is made in time.
        """
        self.trouble.errors.clear()
        if self.random.random() < 0.3:
            name = self.random.choice(("edit", "memo", "h2", "h4", "left", "right", "ask"))
            if durability == "exit" and name == "edit":
                return
            error: BaseException = Boom(name) if self.random.random() < 0.7 else Interrupted(name)
            self.trouble.errors[name] = error

    def fork(self) -> None:
        """Change the state by hand, at the head or at an old checkpoint."""
        thread = self.any_thread()
        id = self.any_id(thread)
        config = at(thread) if self.random.random() < 0.4 else at(thread, id)
        point = self.point(thread, config)
        if "notes" not in point.values or point.next in _PENDING:
            return
        self.turns += 1
        update: dict[str, Any] = {"items": [f"by hand {self.turns}"]}
        if self.random.random() < 0.5:
            update["notes"] = [*deepcopy(point.values["notes"])[1:], "by hand"]
        before = set(self.threads[thread])
        for _ in range(MOST_LIVES):
            done, _ = self.attempt("update_state", config, update, self.now("memo"))
            made = [id for id in self.ids_of(thread) if id not in before]
            assert done <= len(made) <= 1, made
            if made:
                values = fed(point.values, update)
                new = Point(values, ("left", "right"), point.memory, version=self.version)
                self.add(thread, made[0], new)
                return
            if self.random.random() < 0.5:
                return

    # --- tending ---------------------------------------------------------------------------------

    def copy(self) -> None:
        """Copy a thread."""
        source, target = self.any_thread(), self.new_name()
        for _ in range(MOST_LIVES):
            done, _ = self.attempt("copy_thread", source, target, on=self.saver)
            if done:
                self.threads[target] = dict(self.threads[source])
                self.heads[target] = self.heads[source]
                return
            self.until_done("delete_thread", target)

    def prune(self) -> None:
        """Prune some threads by any rule."""
        names = self.random.sample(list(self.threads), min(2, len(self.threads)))
        keep: int | None = self.random.choice((None, 1, 2, 3, 5, 8, 12))
        older = None
        if self.random.random() < 0.3:
            whens = sorted(p.when for name in names for p in self.threads[name].values())
            older = datetime.fromisoformat(self.random.choice(whens)) + timedelta(seconds=0.5)
        strategy = "delete" if self.random.random() < 0.15 else "keep_latest"
        self.until_done("prune", names, strategy=strategy, keep_last=keep, older_than=older)
        count = keep if keep is not None else int(strategy == "keep_latest")
        for name in names:
            newest = sorted(self.threads[name], reverse=True)
            if count == 0 and older is None:
                self.gone(name)
                continue
            kept = {
                id
                for n, id in enumerate(newest)
                if n < count
                or (count > 0 and id == self.heads[name])
                or (older and datetime.fromisoformat(self.threads[name][id].when) >= older)
            }
            self.keep(name, kept)

    def drop_runs(self) -> None:
        """Delete what some runs stored."""
        runs = {f"run{self.random.randrange(4)}"}
        self.until_done("delete_for_runs", list(runs))
        for name in list(self.threads):
            points = self.threads[name]
            for id, point in points.items():  # what these runs remembered may be gone, too
                points[id] = replace(point, memory=None)
            self.keep(name, {id for id, p in points.items() if p.run not in runs})

    def keep(self, name: str, kept: set[str]) -> None:
        """So much of a thread is left."""
        if not kept:
            return self.gone(name)
        self.threads[name] = {id: p for id, p in self.threads[name].items() if id in kept}
        if self.heads[name] not in kept:
            self.heads[name] = max(kept)
        return None

    def gone(self, name: str) -> None:
        """Nothing of a thread is left."""
        del self.threads[name], self.heads[name]

    def delete(self) -> None:
        """Delete a thread."""
        name = self.any_thread()
        self.until_done("delete_thread", name)
        self.gone(name)

    def sweep(self) -> None:
        """Delete the threads that nobody used for a while."""
        now = datetime.fromtimestamp(self.env.now(), UTC)
        ttl = self.random.randint(1, 400)
        self.until_done("sweep", ttl=ttl, now=now)
        for name in list(self.threads):
            when = datetime.fromisoformat(self.head(name).when)
            if when + timedelta(seconds=ttl) <= now:
                self.gone(name)

    def reopen(self) -> None:
        """Another process goes on: perhaps with another key."""
        if self.keys and self.random.random() < 0.5:
            number = len(self.keys)
            self.keys[f"k{number}"] = bytes([number]) * 32
        self.open()

    def deploy(self) -> None:
        """The second version of the graph goes live."""
        self.version = 2
        self.open()

    # --- the model -------------------------------------------------------------------------------

    def new_name(self) -> str:
        self.names += 1
        return f"t{self.names}"

    def any_thread(self) -> str:
        return self.random.choice(list(self.threads))

    def any_id(self, thread: str) -> str:
        return self.random.choice(sorted(self.threads[thread]))

    def now(self, name: str) -> str:
        return Maker(self.version, self.trouble).now(name)

    def head(self, thread: str) -> Point:
        """Where a thread stands."""
        id = self.heads.get(thread)
        return (
            self.seen(self.threads[thread][id]) if id else Point({}, (), (), version=self.version)
        )

    def point(self, thread: str, config: Any) -> Point:
        """What a config names."""
        id = config["configurable"].get("checkpoint_id")
        return self.seen(self.threads[thread][id]) if id else self.head(thread)

    def seen(self, point: Point) -> Point:
        """A point as the graph of today shows it."""
        if point.version == self.version:
            return point
        values, given = migrated(point.values), migrated(point.given)
        return replace(point, values=values, given=given, version=self.version)

    def head_id(self, thread: str) -> str | None:
        row = self.saver.saver.execute(ReadLane(thread, ""))
        return None if row is None or row.head is None else unpack(row.head)

    def ids_of(self, thread: str) -> list[str]:
        row = self.saver.saver.execute(ReadLane(thread, ""))
        rows = [] if row is None else self.saver.saver.execute(ReadCheckpoints(row.lane))
        return [unpack(each.id) for each in rows]

    def add(self, thread: str, id: str, point: Point) -> None:
        """A checkpoint is new: keep what it must hold, and what is known from it alone."""
        snapshot = self.graph.get_state(at(thread, id))
        parent = snapshot.parent_config
        self.threads.setdefault(thread, {})[id] = replace(
            point,
            parent=parent and parent["configurable"]["checkpoint_id"],
            when=snapshot.created_at,
            run=snapshot.metadata.get("run_id"),
            number=snapshot.metadata["step"],
        )
        self.heads[thread] = id

    def learn(self, thread: str, given: Any, config: Any) -> None:
        """Hold what a run has stored against what it must come to from where it began."""
        known = self.threads.get(thread, {})
        new = [id for id in self.ids_of(thread) if id not in known]
        asked = config["configurable"].get("checkpoint_id")
        for id in new:
            snapshot = self.graph.get_state(at(thread, id))
            above = snapshot.parent_config and snapshot.parent_config["configurable"]
            parent = known[above["checkpoint_id"]] if above else None
            before = self.seen(parent) if parent else Point({}, (), (), version=self.version)
            point = before
            source = snapshot.metadata["source"]
            times = snapshot.metadata["step"] - before.number
            if isinstance(given, dict) and id == new[0]:
                point = replace(point, next=("__start__",), given=given)
                times -= 1
            elif source == "fork":
                times = 0
            replayed = given is None and above and above["checkpoint_id"] == asked
            for n in range(times):
                if (
                    replayed
                    and n == times - 1
                    and snapshot.next == tuple(map(self.now, point.next))
                ):
                    break  # `exit` stores no copy of what a replay began at
                point = replace(step(point), version=self.version)
            self.add(thread, id, trusted(point, snapshot.values))
            known = self.threads[thread]
            self.look(thread, id, snapshot)

    # --- held to it ------------------------------------------------------------------------------

    def look(self, thread: str, id: str, snapshot: Any) -> None:
        """One checkpoint reads as it must."""
        point = self.seen(self.threads[thread][id])
        values = dict(snapshot.values)
        if "total" in values:
            values["count"] = values.pop("total")
        found, right = plain(values), plain(point.values)
        keys = sorted(found.keys() | right.keys())
        odd = {k: (found.get(k), right.get(k)) for k in keys if found.get(k) != right.get(k)}
        assert not odd, f"{thread} {id} {snapshot.metadata} {snapshot.next}: stored, right: {odd}"
        names = tuple(map(self.now, point.next))
        assert snapshot.next == names, (thread, id, snapshot.next, names)

    def check(self) -> None:
        """Every checkpoint of every thread reads as it must, and nothing else is there."""
        for thread, points in self.threads.items():
            history = list(self.graph.get_state_history(at(thread)))
            ids = [each.config["configurable"]["checkpoint_id"] for each in history]
            assert ids == sorted(points, reverse=True), (thread, ids, sorted(points))
            for id, snapshot in zip(ids, history, strict=True):
                self.look(thread, id, snapshot)
            id = self.any_id(thread)
            self.look(thread, id, self.call("get_state", at(thread, id), subgraphs=True))
            newest = self.call("get_state", at(thread))
            assert newest.config["configurable"]["checkpoint_id"] == self.heads[thread]
            if set(newest.next) == set(map(self.now, self.head(thread).next)):
                self.look(thread, self.heads[thread], newest)  # else it shows what tasks wrote
        self.check_rows()

    def check_rows(self) -> None:
        """No row is left without what it belongs to."""
        execute = self.saver.saver.execute
        lanes = execute(ListLanes())
        for lane in lanes:
            ids = {row.id for row in execute(ReadCheckpoints(lane.lane))}
            if lane.thread_id not in self.threads:  # a run died when it had claimed a new thread
                assert self.head_id(lane.thread_id) is None, f"{lane} is left"
                continue
            writes = execute(ReadWrites(lane.lane, bytes(16), b"\xff" * 16))
            assert {row.checkpoint for row in writes} <= ids, f"writes of nothing in {lane}"
            assert lane.head in ids, f"no head in {lane}"
        if self.kind == "sqlite":
            conn = self.saver.saver._database._conn  # pyright: ignore[reportPrivateUsage]
            for table in ("checkpoints", "versions", "writes"):
                rows = conn.execute(f"SELECT DISTINCT lane FROM {table}").fetchall()
                assert {row[0] for row in rows} <= {lane.lane for lane in lanes}, table

    def rows(self) -> list[Any]:
        """All checkpoints. Of values a saver may keep more or fewer versions; and what a task wrote
        whose neighbour failed is there or not, as they finish."""
        execute = self.saver.saver.execute
        found: list[Any] = []
        for lane in sorted(execute(ListLanes()), key=lambda lane: (lane.thread_id, lane.ns)):
            found.append((lane.thread_id, lane.ns, lane.head))
            found += [(row.id, row.parent) for row in execute(ReadCheckpoints(lane.lane))]
        return found

    # --- all together ----------------------------------------------------------------------------

    def live(self, steps: int) -> None:
        """Do so many things, and hold the database to the model after each."""
        acts: list[Callable[[], None]] = [
            *[self.turn] * 8, *[self.go_on] * 3, *[self.fork] * 3, self.copy, *[self.prune] * 2,
            self.drop_runs, self.delete, self.sweep, *[self.reopen] * 2, self.deploy,
        ]  # fmt: skip
        for _ in range(steps):
            act = self.random.choice(acts) if self.threads else self.turn
            self.done.append(act.__name__)
            self.env.clock += self.random.randint(1, 20)
            act()
            self.check()


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Values without what is as good as absent."""
    return {key: v for key, v in values.items() if v or key not in _GROWING}


def trusted(point: Point, stored: dict[str, Any]) -> Point:
    """A point with what was said out of a memory that nobody knows."""
    items = point.values.get("items", [])
    if None not in items:
        return point
    said = [new if old is None else old for old, new in zip(items, stored["items"], strict=True)]
    return replace(point, values={**point.values, "items": said})


def at(thread: str, id: str | None = None) -> Any:
    """The config of a thread, or of a checkpoint."""
    place = {"thread_id": thread}
    return {"configurable": place | ({"checkpoint_id": id} if id else {})}
