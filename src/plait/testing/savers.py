"""The conformance suites of savers: derive from one, say how to open yours, and run pytest.

    from contextlib import asynccontextmanager
    from plait.testing.savers import SaverConformance

    class TestMySaver(SaverConformance):
        @asynccontextmanager
        async def open(self):
            yield MySaver()

`SaverConformance` is for any saver with LangGraph's port (`put`, `put_writes`, `get_tuple`,
`list`). `NativeSaverConformance` adds what plait's commit port promises: commits that are whole,
one owner per thread, stale owners refused. Every promise is checked through the sync and through
the async methods. Nothing but the standard library is needed; failed promises are `assert`s.
"""

from __future__ import annotations

import asyncio
import operator
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypedDict

from plait.checkpoint.base import CheckpointTuple, empty_checkpoint, new_checkpoint_id
from plait.checkpoint.base.port import NewCheckpoint, TaskWrites
from plait.errors import StorageError, ThreadBusyError
from plait.graph import START, StateGraph
from plait.testing.crashes import auntil_done, until_done
from plait.testing.faults import FaultySaver, InjectedFailure
from plait.types import Command, interrupt

Surface: TypeAlias = Literal["sync", "async"]
HOSTILE = (
    *("a'b", 'a"b', "') OR 1=1 --", "a|b", "50%", "a_b", "", " ", "*", "é", "日本", "\U0001f600"),
    *("a\\b", "a/b", "$.x", "{}", "x" * 500),
)
"""Names that are text like any other, though something may read more into them."""
_TS = "2026-01-01T00:00:00.000000+00:00"


class SaverFace:
    """One surface of a saver: its sync methods (each called on a thread) or its async ones."""

    def __init__(self, saver: Any, surface: Surface) -> None:
        self.saver = saver
        self.surface: Surface = surface

    async def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A method, or its async twin."""
        if self.surface == "async":
            return await getattr(self.saver, f"a{name}")(*args, **kwargs)
        return await asyncio.to_thread(getattr(self.saver, name), *args, **kwargs)

    async def get(self, at: Any) -> CheckpointTuple:
        """A checkpoint that must be there."""
        found = await self.call("get_tuple", at)
        assert found is not None, f"nothing at {at!r}"
        return found

    async def list(self, *args: Any, **kwargs: Any) -> list[CheckpointTuple]:
        """All that `list` or `alist` gives."""
        if self.surface == "async":
            return [each async for each in self.saver.alist(*args, **kwargs)]
        return await asyncio.to_thread(lambda: list(self.saver.list(*args, **kwargs)))

    async def put(
        self, at: Any, values: dict[str, Any], metadata: Any = None, version: int = 1
    ) -> Any:
        """Put a checkpoint of these values; returns its config."""
        versions = dict.fromkeys(values, version)
        checkpoint = {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}
        facts = metadata or {"source": "loop", "step": 1}
        return await self.call("put", at, checkpoint, facts, versions)

    async def run(self, plan: Any) -> Any:
        """Run a plan of a session."""
        return await self.call("run", plan)

    async def invoke(self, graph: Any, *args: Any) -> Any:
        """Run a graph that has this saver."""
        if self.surface == "async":
            return await graph.ainvoke(*args)
        return await asyncio.to_thread(graph.invoke, *args)


_Check: TypeAlias = Callable[[Any, SaverFace], Awaitable[None]]


def promise(check: _Check) -> Callable[[Any], None]:
    """A test method from an async check: run on each surface, each time over a new saver."""

    def test(self: SaverConformance) -> None:
        for surface in self.surfaces:
            asyncio.run(self.check(check, surface))

    # Not functools.wraps: pytest would take the arguments of the check for fixtures.
    test.__name__, test.__qualname__ = check.__name__, check.__qualname__
    return test


async def refused(awaitable: Awaitable[Any], *errors: type[BaseException]) -> None:
    """Assert that a call fails as it must."""
    try:
        result = await awaitable
    except errors:
        return
    raise AssertionError(f"expected {[each.__name__ for each in errors]}, got {result!r}")


def config(thread: str = "t", ns: str = "", id: str | None = None) -> Any:
    """The config of a checkpoint, or (without an id) of a thread's newest."""
    address = {"thread_id": thread, "checkpoint_ns": ns}
    return {"configurable": address if id is None else {**address, "checkpoint_id": id}}


class Items(TypedDict, total=False):
    """The state of the suite's graph."""

    items: Annotated[list[str], operator.add]


def small_graph(saver: Any) -> Any:
    """`a`, then a question, then `c`."""
    builder: Any = StateGraph(Items)
    builder.add_node("a", _adds(lambda: "a"))
    builder.add_node("ask", _adds(lambda: interrupt("well?")))
    builder.add_node("c", _adds(lambda: "c"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "ask")
    builder.add_edge("ask", "c")
    return builder.compile(checkpointer=saver)


def _adds(item: Callable[[], Any]) -> Callable[[Items], Items]:
    return lambda _: {"items": [item()]}


class SaverConformance(ABC):
    """What every saver promises. Derive from it and define `open`."""

    surfaces: ClassVar[tuple[Surface, ...]] = ("sync", "async")
    """Which methods the saver has."""
    deletes: ClassVar[bool] = True
    """Whether it has `delete_thread`."""

    @abstractmethod
    def open(self) -> AbstractAsyncContextManager[Any]:
        """An empty saver, each time anew."""

    async def check(self, check: _Check, surface: Surface) -> None:
        """One promise, over a new saver."""
        async with self.open() as saver:
            await check(self, SaverFace(saver, surface))

    @promise
    async def test_what_was_put_is_got_back_whole(self, saver: SaverFace) -> None:
        values = {"a": [1, [2.5, "x"], True], "b": {"k": None}}
        at = await saver.put(config(), values, {"source": "loop", "step": 3})
        found = await saver.get(at)
        assert found.checkpoint["channel_values"] == values
        assert {**found.metadata}.items() >= {"source": "loop", "step": 3}.items()
        assert found.config.get("configurable") == at["configurable"]
        newest = await saver.get(config())
        assert newest.checkpoint["id"] == found.checkpoint["id"]

    @promise
    async def test_what_was_never_put_is_none(self, saver: SaverFace) -> None:
        assert await saver.call("get_tuple", config("nobody")) is None
        assert await saver.call("get_tuple", config(id=new_checkpoint_id())) is None
        assert await saver.list(config("nobody")) == []

    @promise
    async def test_a_child_names_its_parent(self, saver: SaverFace) -> None:
        first = await saver.put(config(), {"n": 1})
        second = await saver.put(first, {"n": 2}, version=2)
        found = await saver.get(second)
        assert found.parent_config is not None
        parent = found.parent_config["configurable"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
        assert parent["checkpoint_id"] == first["configurable"]["checkpoint_id"]
        assert (await saver.get(first)).checkpoint["channel_values"] == {"n": 1}

    @promise
    async def test_history_is_newest_first_with_limit_before_and_filter(
        self, saver: SaverFace
    ) -> None:
        at, made = config(), list[Any]()
        for number in range(6):
            at = await saver.put(at, {"n": number}, {"source": "loop", "step": number}, number + 1)
            made.append(at["configurable"]["checkpoint_id"])
        found = [each.checkpoint["id"] for each in await saver.list(config())]
        assert found == made[::-1]
        some = await saver.list(config(), limit=2)
        assert [each.checkpoint["id"] for each in some] == made[:-3:-1]
        before = await saver.list(config(), before=config(id=made[2]))
        assert [each.checkpoint["id"] for each in before] == made[1::-1]
        third = await saver.list(config(), filter={"step": 3})
        assert [each.checkpoint["id"] for each in third] == [made[3]]
        assert await saver.list(config(), filter={"step": "3' OR '1'='1"}) == []

    @promise
    async def test_names_are_any_text_and_stay_apart(self, saver: SaverFace) -> None:
        for number, name in enumerate(HOSTILE):
            await saver.put(config(name), {"n": number})
            await saver.put(config("t", name), {"n": -number})
        for number, name in enumerate(HOSTILE):
            assert (await saver.get(config(name))).checkpoint["channel_values"] == {"n": number}
            found = await saver.list(config("t", name))
            assert [each.checkpoint["channel_values"] for each in found] == [{"n": -number}]

    @promise
    async def test_writes_come_back_with_their_checkpoint(self, saver: SaverFace) -> None:
        at = await saver.put(config(), {"n": 1})
        await saver.call("put_writes", at, [("n", 2), ("m", [3])], "task-1")
        await saver.call("put_writes", at, [("n", 4)], "task-2")
        found = await saver.get(at)
        assert sorted(map(repr, found.pending_writes or [])) == sorted(
            map(repr, [("task-1", "n", 2), ("task-1", "m", [3]), ("task-2", "n", 4)])
        )

    @promise
    async def test_writes_put_twice_are_kept_once(self, saver: SaverFace) -> None:
        at = await saver.put(config(), {"n": 1})
        for _ in range(2):
            await saver.call("put_writes", at, [("n", 2)], "task-1")
        assert len((await saver.get(at)).pending_writes or []) == 1

    @promise
    async def test_what_the_program_changes_afterwards_is_not_stored(
        self, saver: SaverFace
    ) -> None:
        values: dict[str, Any] = {"items": [1]}
        at = await saver.put(config(), values)
        values["items"].append(2)
        found = await saver.get(at)
        found.checkpoint["channel_values"]["items"].append(3)
        assert (await saver.get(at)).checkpoint["channel_values"] == {"items": [1]}

    @promise
    async def test_a_deleted_thread_is_gone_and_others_stay(self, saver: SaverFace) -> None:
        if not self.deletes:
            return
        for thread in ("t", "other"):
            at = await saver.put(config(thread), {"n": 1})
            await saver.call("put_writes", at, [("n", 2)], "task-1")
            await saver.put(config(thread, "inner"), {"n": 1})
        await saver.call("delete_thread", "t")
        assert await saver.list(config("t")) == []
        assert await saver.call("get_tuple", config("t", "inner")) is None
        assert len(await saver.list(config("other"))) == 1

    @promise
    async def test_a_graph_asks_and_goes_on(self, saver: SaverFace) -> None:
        graph, at = small_graph(saver.saver), {"configurable": {"thread_id": "g"}}
        asked = await saver.invoke(graph, {"items": []}, at)
        assert [each.value for each in asked["__interrupt__"]] == ["well?"]
        again = small_graph(saver.saver)
        done = await saver.invoke(again, Command(resume="yes"), at)
        assert done == {"items": ["a", "yes", "c"]}
        assert len(await saver.list(at)) == 5


class NativeSaverConformance(SaverConformance):
    """What a saver with plait's commit port promises besides."""

    @promise
    async def test_one_run_owns_a_thread(self, saver: SaverFace) -> None:
        first, second = saver.saver.open_session("t"), saver.saver.open_session("t")
        await saver.run(first.commit(_checkpoint(n=1), claim=True))
        await refused(saver.run(second.commit(_checkpoint(n=2), claim=True)), ThreadBusyError)
        await saver.run(first.release())
        await saver.run(saver.saver.open_session("t").claim())

    @promise
    async def test_a_stale_owner_stores_nothing(self, saver: SaverFace) -> None:
        old = saver.saver.open_session("t")
        new = saver.saver.open_session("t", policy="takeover")
        first = _checkpoint(n=1)
        await saver.run(old.commit(first, claim=True))
        await saver.run(new.claim())
        writes = [TaskWrites(first.id, new_checkpoint_id(), "", [("n", 5)])]
        await refused(saver.run(old.commit(_checkpoint(first.id, n=2))), ThreadBusyError)
        await refused(saver.run(old.save_writes(writes)), ThreadBusyError)
        found = await saver.run(new.load())
        assert (found.values, list(found.writes)) == ({"n": 1}, [])

    @promise
    async def test_a_commit_that_failed_left_nothing_or_all(self, saver: SaverFace) -> None:
        for fault in ("raise", "commit then raise"):
            session = saver.saver.open_session(fault)
            first = _checkpoint(n=1)
            await saver.run(session.commit(first, claim=True, release=True))
            requests = FaultySaver(saver.saver)
            await SaverFace(requests, saver.surface).run(requests.open_session(fault).load())
            faulty = FaultySaver(saver.saver, at=requests.requests + 1, fault=fault)
            face = SaverFace(faulty, saver.surface)
            broken = faulty.open_session(fault)
            await face.run(broken.load())
            second = _checkpoint(first.id, n=2)
            writes = [TaskWrites(first.id, new_checkpoint_id(), "", [("n", 2)])]
            commit = broken.commit(second, writes, claim=True, release=True)
            await refused(face.run(commit), InjectedFailure, StorageError)
            await face.run(broken.release())
            found = await saver.run(saver.saver.open_session(fault).load())
            whole = fault == "commit then raise"
            assert (found.id, found.values) == ((second if whole else first).id,
                                                {"n": 2 if whole else 1})  # fmt: skip
            before = await saver.run(saver.saver.open_session(fault).load(first.id))
            assert len(list(before.writes)) == whole

    @promise
    async def test_what_a_graph_did_is_there_after_every_failure(self, saver: SaverFace) -> None:
        at = {"configurable": {"thread_id": "t"}}
        for request in range(1, 60):
            at = {"configurable": {"thread_id": f"t{request}"}}
            faulty = FaultySaver(saver.saver, at=request, fault="raise")
            graph = small_graph(faulty)
            for _ in range(2):  # the error may come once
                try:
                    await self._finish(graph, at, saver.surface)
                except (InjectedFailure, StorageError):
                    assert faulty.failed
            state = small_graph(saver.saver).get_state(at)
            assert (state.values, state.next) == ({"items": ["a", "yes", "c"]}, ())
            if not faulty.failed:
                return
        raise AssertionError("the graph never ran without a failure")

    async def _finish(self, graph: Any, at: Any, surface: Surface) -> None:
        if surface == "async":
            await auntil_done(graph, {"items": []}, at, answer="yes")
        else:
            await asyncio.to_thread(until_done, graph, {"items": []}, at, answer="yes")


def _checkpoint(parent: str | None = None, **values: Any) -> NewCheckpoint:
    return NewCheckpoint(new_checkpoint_id(), parent, _TS, {}, {}, values)


__all__ = ["NativeSaverConformance", "SaverConformance", "SaverFace", "promise", "refused"]
