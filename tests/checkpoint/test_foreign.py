"""Savers written against LangGraph's base class work: LangGraph's own, and a toy of forty lines."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from plait.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, arun_plan, run_plan
from plait.checkpoint.base.foreign import MARK, PAGE, Call, ForeignSession, arun_call, run_call
from plait.checkpoint.base.port import NewCheckpoint, Snapshot, TaskWrites
from plait.checkpoint.serde import Codec, Registry
from plait.constants import INTERRUPT, NULL_TASK_ID, RESUME
from plait.errors import ConfigError, CorruptCheckpointError, WeakDurabilityWarning
from plait.messages import HumanMessage
from plait.types import Interrupt, Send

pytestmark = pytest.mark.filterwarnings("ignore::plait.errors.WeakDurabilityWarning")


class ToySaver(BaseCheckpointSaver[int]):
    """Keeps what it is given in dicts, by reference, as a beginner would."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[tuple[str, str, str], Any] = {}
        self.writes: dict[tuple[str, str, str], list[Any]] = {}

    @staticmethod
    def _key(config: Any) -> tuple[str, str, str]:
        c = config["configurable"]
        return c["thread_id"], c["checkpoint_ns"], c.get("checkpoint_id", "")

    def _tuple(self, key: tuple[str, str, str]) -> CheckpointTuple:
        checkpoint, metadata, parent = self.stored[key]
        return CheckpointTuple(
            _config(*key), checkpoint, metadata, parent and _config(*parent), self.writes.get(key)
        )

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        return next(self.list(config), None)

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None
    ) -> Iterator[CheckpointTuple]:
        thread, ns, wanted = self._key(config)
        old = before and before["configurable"]["checkpoint_id"]
        for key in sorted((k for k in self.stored if k[:2] == (thread, ns)), reverse=True)[:]:
            metadata = self.stored[key][1]
            if (wanted and key[2] != wanted) or (old and key[2] >= old) or limit == 0:
                continue
            if all(metadata.get(k) == v for k, v in (filter or {}).items()):
                limit = limit and limit - 1
                yield self._tuple(key)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        thread, ns, parent = self._key(config)
        key = (thread, ns, checkpoint["id"])
        self.stored[key] = (checkpoint, metadata, (thread, ns, parent) if parent else None)
        return _config(*key)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        kept = self.writes.setdefault(self._key(config), [])
        kept.extend((task_id, channel, value) for channel, value in writes)


def _config(thread: str, ns: str, id: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}


Run = Callable[[Any], Awaitable[Any]]
"""Runs a plan on the saver of a case."""


@dataclass
class Case:
    saver: Any
    run: Run


@asynccontextmanager
async def opened(kind: str, path: Path) -> AsyncIterator[Case]:
    def sync(saver: Any) -> Case:
        async def run(plan: Any) -> Any:
            return run_plan(plan, lambda request: run_call(saver, request))

        return Case(saver, run)

    def awaited(saver: Any) -> Case:
        async def run(plan: Any) -> Any:
            return await arun_plan(plan, lambda request: arun_call(saver, request))

        return Case(saver, run)

    if kind == "toy":
        yield sync(ToySaver())
    elif kind == "toy, async run":
        yield awaited(ToySaver())
    elif kind == "memory":
        yield sync(InMemorySaver())
    elif kind == "memory, async run":
        yield awaited(InMemorySaver())
    elif kind == "sqlite":
        with SqliteSaver.from_conn_string(str(path / "db")) as saver:
            yield sync(saver)
    else:
        async with AsyncSqliteSaver.from_conn_string(str(path / "db")) as saver:
            yield awaited(saver)


KINDS = ["toy", "toy, async run", "memory", "memory, async run", "sqlite", "async sqlite"]


@pytest.fixture(params=KINDS)
async def case(request: Any, tmp_path: Path) -> AsyncIterator[Case]:
    async with opened(request.param, tmp_path) as made:
        yield made


def checkpoint(
    n: int, changed: Any = None, parent: int | None = None, **more: Any
) -> NewCheckpoint:
    return NewCheckpoint(
        id=f"{n:08d}",
        parent_id=None if parent is None else f"{parent:08d}",
        ts="2026-01-01T00:00:00+00:00",
        metadata={"source": "loop", "step": n, "parents": {}},
        frontier={"pulls": {"a": ["start"]}, "sends": [Send("b", (n,))]},
        changed=changed or {},
        **more,
    )


def writes(n: int, task: str, *pairs: tuple[str, Any], **more: Any) -> TaskWrites:
    return TaskWrites(f"{n:08d}", task, more.pop("path", task), pairs, **more)


@dataclass
class Thing:
    x: int


REGISTRY = Registry(None)
REGISTRY.register(Thing)


def session(case: Case, thread: str = "t", ns: str = "") -> ForeignSession:
    return ForeignSession(case.saver, thread, ns, {}, Codec(REGISTRY))


async def load(case: Case, n: int | None = None, thread: str = "t", ns: str = "") -> Snapshot:
    return await case.run(session(case, thread, ns).load(None if n is None else f"{n:08d}"))


async def test_an_empty_thread_has_no_checkpoint(case: Case) -> None:
    assert await load(case) is None


async def test_values_of_every_type_come_back_in_a_new_session(case: Case) -> None:
    values = {
        "plain": {"a": [1, 2.5, None, "x", b"y", True]},
        "messages": [HumanMessage("hi", id="1")],
        "thing": Thing(1),
        "odd": {1: (2, {3})},
        "marked": {MARK: 1},
        "big": 2**80,
        "text": "\ud800",
    }
    await case.run(session(case).commit(checkpoint(1, values), claim=True))
    found = await load(case)
    assert found.values == values
    assert type(found.values["odd"][1]) is tuple
    assert found.frontier == checkpoint(1).frontier
    assert (found.id, found.parent_id, found.ts) == ("00000001", None, checkpoint(1).ts)
    assert found.metadata["step"] == 1


async def test_checkpoints_keep_what_did_not_change_and_drop_what_was_removed(case: Case) -> None:
    run = session(case)
    await case.run(run.commit(checkpoint(1, {"a": [1], "b": 1, "c": 1})))
    await case.run(run.commit(checkpoint(2, {"a": [1, 2]}, parent=1)))
    await case.run(session(case).commit(checkpoint(3, {"d": 4}, parent=2, removed=["b"])))
    await case.run(session(case).commit(checkpoint(4, {"b": 5}, parent=3)))
    assert (await load(case, 1)).values == {"a": [1], "b": 1, "c": 1}
    assert (await load(case, 2)).values == {"a": [1, 2], "b": 1, "c": 1}
    assert (await load(case, 3)).values == {"a": [1, 2], "c": 1, "d": 4}
    assert (await load(case)).values == {"a": [1, 2], "b": 5, "c": 1, "d": 4}


async def test_a_fork_builds_on_its_parent(case: Case) -> None:
    run = session(case)
    await case.run(run.commit(checkpoint(1, {"a": 1, "b": 1})))
    await case.run(run.commit(checkpoint(2, {"a": 2}, parent=1)))
    await case.run(run.commit(checkpoint(3, {"b": 3}, parent=1)))
    found = await load(case)
    assert (found.values, found.parent_id) == ({"a": 1, "b": 3}, "00000001")


async def test_what_is_mutated_later_is_not_what_was_stored(case: Case) -> None:
    items = [{"x": 1}]
    run = session(case)
    plan = run.commit(checkpoint(1, {"items": items}))
    items[0]["x"] = 2  # after the call, before the plan runs
    await case.run(plan)
    items[0]["x"] = 3
    first = await load(case)
    assert first.values == {"items": [{"x": 1}]}
    first.values["items"].append("mine")
    assert (await load(case)).values == {"items": [{"x": 1}]}


async def test_acknowledged_writes_come_back_in_task_order(case: Case) -> None:
    run = session(case)
    await case.run(run.commit(checkpoint(1, {"a": 1})))
    await case.run(run.save_writes([writes(1, "t2", ("a", (2,)), ("b", Thing(2)), path="02")]))
    await case.run(run.save_writes([writes(1, "t1", ("a", 1), path="01")]))
    expected = [("t1", "a", 1), ("t2", "a", (2,)), ("t2", "b", Thing(2))]
    assert (await load(case)).writes == expected


async def test_writes_of_a_step_ride_on_its_commit(case: Case) -> None:
    run = session(case)
    await case.run(run.commit(checkpoint(1, {"a": 1})))
    await case.run(run.commit(checkpoint(2, {"a": 2}, parent=1), [writes(1, "t", ("a", 2))]))
    assert (await load(case, 1)).writes == [("t", "a", 2)]
    assert (await load(case)).writes == []


async def test_later_writes_replace_or_merge_across_sessions(case: Case) -> None:
    await case.run(session(case).commit(checkpoint(1, {"a": 1})))
    question = [Interrupt("q", "i")]

    async def save(*pairs: Any, task: str = "t", merge: bool = False) -> Any:
        await case.run(session(case).save_writes([writes(1, task, *pairs, merge=merge)]))
        return [(c, v) for t, c, v in (await load(case)).writes if t == task]

    assert await save((INTERRUPT, question)) == [(INTERRUPT, question)]
    asked = [(INTERRUPT, question), (RESUME, ["yes"])]
    assert await save((RESUME, ["yes"]), merge=True) == asked
    more = [(INTERRUPT, question), (RESUME, ["yes", "no"])]
    assert await save((RESUME, ["yes", "no"]), merge=True) == more
    assert await save(("a", 1), ("a", 2), ("b", 3)) == [("a", 1), ("a", 2), ("b", 3)]
    assert await save(("c", 4)) == [("c", 4)]
    assert await save(("a", 1), task=NULL_TASK_ID, merge=True) == [("a", 1)]
    assert await save(("b", 2), (RESUME, 1), task=NULL_TASK_ID, merge=True) == [
        ("a", 1), ("b", 2), (RESUME, 1),
    ]  # fmt: skip
    assert await save(("a", 9), task=NULL_TASK_ID, merge=True) == [
        ("b", 2), (RESUME, 1), ("a", 9),
    ]  # fmt: skip


async def test_namespaces_and_threads_are_apart(case: Case) -> None:
    run = session(case)
    await case.run(run.commit(checkpoint(1, {"a": 1})))
    await case.run(run.nested("sub:1").commit(checkpoint(2, {"a": 2})))
    await case.run(session(case, "other").commit(checkpoint(3, {"a": 3})))
    assert (await load(case)).values == {"a": 1}
    assert (await load(case, ns="sub:1")).values == {"a": 2}
    assert (await load(case, thread="other")).values == {"a": 3}


async def read(case: Case, **how: Any) -> list[int]:
    return [int(s.id) for plan in session(case).history(**how) for s in await case.run(plan)]


async def test_history_is_read_newest_first_page_by_page(case: Case) -> None:
    run = session(case)
    last = PAGE * 2 + 3
    for n in range(1, last + 1):
        await case.run(run.commit(checkpoint(n, {"n": n}, parent=n - 1 or None)))
    assert await read(case) == list(range(last, 0, -1))
    assert await read(case, limit=PAGE + 1) == list(range(last, last - PAGE - 1, -1))
    assert await read(case, limit=0) == []
    assert await read(case, before=f"{3:08d}") == [2, 1]
    assert await read(case, filter={"step": 5}) == [5]


async def test_claims_cost_nothing_and_ask_nothing(case: Case) -> None:
    run = session(case)
    assert list(run.claim()) == []
    assert list(run.release()) == []


# --- The saver itself ----------------------------------------------------------------------------


def test_the_weaker_promise_is_announced_once_for_each_saver() -> None:
    saver = ToySaver()
    with pytest.warns(WeakDurabilityWarning, match="ToySaver has no fence"):
        ForeignSession(saver, "t")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ForeignSession(saver, "t2")
    with pytest.warns(WeakDurabilityWarning):
        ForeignSession(ToySaver(), "t")


def test_the_users_configurable_keys_reach_the_saver_and_the_engines_do_not() -> None:
    saver = ToySaver()
    config = {"configurable": {"tenant": "x", "__engine": 1, "checkpoint_id": "old"}, "tags": ["a"]}
    plan = ForeignSession(saver, "t", "ns", config).load()
    request = next(plan)
    assert request == Call(
        "get_tuple",
        (
            {
                "configurable": {"tenant": "x", "thread_id": "t", "checkpoint_ns": "ns"},
                "tags": ["a"],
            },
        ),
    )


def test_an_async_only_saver_is_refused_by_name_in_a_sync_run() -> None:
    class AsyncOnly(BaseCheckpointSaver[int]):
        async def aget_tuple(self, config: Any) -> None:
            return None

    saver = AsyncOnly()
    plan = ForeignSession(saver, "t").load()
    with pytest.raises(ConfigError, match="AsyncOnly cannot be used by a sync run"):
        run_plan(plan, lambda request: run_call(saver, request))
    plan = ForeignSession(saver, "t").load()
    assert asyncio.run(arun_plan(plan, lambda request: arun_call(saver, request))) is None


def test_a_savers_error_reaches_the_caller() -> None:
    class Broken(ToySaver):
        def put(self, *args: Any) -> Any:
            raise OSError("disk full")

    saver = Broken()
    plan = ForeignSession(saver, "t").commit(checkpoint(1, {"a": 1}))
    with pytest.raises(OSError, match="disk full"):
        run_plan(plan, lambda request: run_call(saver, request))


def test_damaged_values_in_a_saver_are_refused() -> None:
    saver = ToySaver()
    do = lambda plan: run_plan(plan, lambda request: run_call(saver, request))  # noqa: E731
    do(ForeignSession(saver, "t").commit(checkpoint(1, {"a": (1,)}), [writes(1, "t", ("a", 1))]))
    stored = saver.stored["t", "", "00000001"][0]["channel_values"]
    for bad in ({MARK: b"\xc1"}, {MARK: "text"}):
        stored["a"] = bad
        with pytest.raises(CorruptCheckpointError):
            do(ForeignSession(saver, "t").load())
    stored["a"] = 1
    saver.writes["t", "", "00000001"][0][2].pop("batch")
    with pytest.raises(CorruptCheckpointError):
        do(ForeignSession(saver, "t").load())


def test_the_order_of_storage_is_writes_first_then_the_checkpoint() -> None:
    plan = ForeignSession(ToySaver(), "t").commit(
        checkpoint(2, {"a": 1}), [writes(1, "x", ("a", 1))]
    )
    asked: list[str] = []

    def note(request: Call) -> Any:
        asked.append(request.method)

    run_plan(plan, note)
    assert asked == ["get_tuple", "put_writes", "put"]
