"""The conformance suite of savers with plait's commit port: what they promise besides LangGraph's.

Derive from `NativeSaverConformance` as from `SaverConformance`. It asks for commits that are whole,
one owner per thread, stale owners that are refused, and threads that can be pruned, copied, listed
and deleted.
"""

from __future__ import annotations

import asyncio
import dataclasses
import operator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypedDict

from plait.checkpoint.base import new_checkpoint_id
from plait.checkpoint.base.port import NewCheckpoint, TaskWrites
from plait.checkpoint.log.identity import lease_time
from plait.checkpoint.log.keys import pack
from plait.checkpoint.log.requests import (
    Done,
    DropLanes,
    LaneRow,
    ListLanes,
    ListThreads,
    ReadLane,
    ReadWrites,
    Refused,
    Renew,
    Transact,
)
from plait.errors import StorageError, ThreadBusyError
from plait.graph import START, StateGraph
from plait.testing.crashes import auntil_done, until_done
from plait.testing.faults import FaultySaver, InjectedFailure
from plait.testing.savers import (
    SaverConformance,
    SaverFace,
    Surface,
    config,
    promise,
    refused,
    small_graph,
)
from plait.types import Command, interrupt

_TS = "2026-01-01T00:00:00.000000+00:00"


class Said(TypedDict, total=False):
    """The state of the graphs here."""

    items: Annotated[list[str], operator.add]


def chat(saver: Any) -> Any:
    """Each call appends what it is told, and an answer."""

    def answer(said: Said) -> Said:
        return {"items": [f"re: {said.get('items', [])[-1]}"]}

    builder: Any = StateGraph(Said)
    return builder.add_node(answer).add_edge(START, "answer").compile(checkpointer=saver)


def nested(saver: Any) -> Any:
    """A graph inside a node, which asks."""

    def ask(said: Said) -> Said:
        return {"items": [interrupt("well?")]}

    def calls(said: Said) -> Said:
        return {"items": inner.invoke({"items": []})["items"]}

    builder: Any = StateGraph(Said)
    inner = builder.add_node(ask).add_edge(START, "ask").compile()
    outer: Any = StateGraph(Said)
    return outer.add_node(calls).add_edge(START, "calls").compile(checkpointer=saver)


def _shown(snapshot: Any) -> tuple[Any, ...]:
    return snapshot.values, snapshot.next, snapshot.config["configurable"], snapshot.created_at


async def _next_claim(saver: SaverFace, plan: Any) -> Transact:
    """Do the requests of a plan up to its claim, which is left to be done."""
    request = next(plan)
    while not (type(request) is Transact and request.claim is not None):
        request = plan.send(await saver.execute(request))
    return request


class NativeSaverConformance(SaverConformance):
    """What a saver with plait's commit port promises besides."""

    @promise
    async def test_of_two_claims_at_once_one_succeeds(self, saver: SaverFace) -> None:
        sessions = [saver.saver.open_session("t", policy=each) for each in ("reject", "takeover")]
        claims = [await _next_claim(saver, each.claim()) for each in sessions]
        answers = [await saver.execute(claim) for claim in claims]
        assert [type(each) for each in answers] == [Done, Refused]

    @promise
    async def test_a_claim_of_an_owner_that_was_renewed_meanwhile_is_refused(
        self, saver: SaverFace
    ) -> None:
        await saver.run(saver.saver.open_session("t").claim())
        claim = await _next_claim(saver, saver.saver.open_session("t", policy="takeover").claim())
        row: LaneRow = await saver.execute(ReadLane("t", ""))
        await saver.execute(Renew([(row.lane, row.fence)], lease_time() + 3600.0))
        assert type(await saver.execute(claim)) is Refused
        assert (await saver.execute(ReadLane("t", ""))).owner == row.owner

    @promise
    async def test_a_stale_owner_disturbs_nobody(self, saver: SaverFace) -> None:
        old = saver.saver.open_session("t")
        await saver.run(old.commit(_checkpoint(n=1), claim=True))
        before: LaneRow = await saver.execute(ReadLane("t", ""))
        new = saver.saver.open_session("t", policy="takeover")
        await saver.run(new.claim())
        row: LaneRow = await saver.execute(ReadLane("t", ""))
        await saver.execute(Renew([(before.lane, before.fence)], lease_time() + 3600.0))
        await saver.run(old.release())
        dropped = await saver.execute(DropLanes([before.lane], "t", before.fence))
        assert type(dropped) is Refused
        assert (await saver.execute(ReadLane("t", "")))._replace(clock=None) == row._replace(
            clock=None
        )
        await refused(saver.run(saver.saver.open_session("t").claim()), ThreadBusyError)
        await saver.run(new.release())
        free: LaneRow = await saver.execute(ReadLane("t", ""))
        assert (free.owner, free.lease) == (None, None)
        await saver.execute(Renew([(row.lane, row.fence)], lease_time() + 3600.0))
        assert (await saver.execute(ReadLane("t", ""))).lease is None, "nobody holds it any more"
        await saver.run(saver.saver.open_session("t").claim())

    @promise
    async def test_one_run_owns_a_thread(self, saver: SaverFace) -> None:
        first, second = saver.saver.open_session("t"), saver.saver.open_session("t")
        await saver.run(first.commit(_checkpoint(n=1), claim=True))
        await refused(saver.run(second.commit(_checkpoint(n=2), claim=True)), ThreadBusyError)
        await saver.run(first.release())
        await saver.run(saver.saver.open_session("t").claim())

    @promise
    async def test_a_stale_owner_stores_nothing(self, saver: SaverFace) -> None:
        for what in ("commit", "save writes"):  # each first: a run that was refused asks no more
            old = saver.saver.open_session(what)
            new = saver.saver.open_session(what, policy="takeover")
            first = _checkpoint(n=1)
            await saver.run(old.commit(first, claim=True))
            await saver.run(new.claim())
            before = await saver.call("usage", what)
            writes = [TaskWrites(first.id, new_checkpoint_id(), "", [("n", 5)])]
            if what == "commit":
                late = old.commit(_checkpoint(first.id, n=2), writes)
            else:
                late = old.save_writes(writes)
            await refused(saver.run(late), ThreadBusyError)
            assert (await saver.call("usage", what)) == before
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

    @promise
    async def test_a_pruned_thread_is_whole_and_smaller(self, saver: SaverFace) -> None:
        graph, at = chat(saver.saver), {"configurable": {"thread_id": "t"}}
        for number in range(6):
            await saver.invoke(graph, {"items": [f"{number}" * 60]}, at)
        history, before = list(graph.get_state_history(at)), await saver.call("usage", "t")
        await saver.call("prune", ["t"], keep_last=4)
        again = chat(saver.saver)
        kept = list(again.get_state_history(at))
        assert [_shown(each) for each in kept] == [_shown(each) for each in history[:4]]
        after = await saver.call("usage", "t")
        assert after.total < before.total
        assert after.by_channel["items"] <= before.by_channel["items"]
        done = await saver.invoke(again, {"items": ["last"]}, at)
        assert done["items"] == [*history[0].values["items"], "last", "re: last"]
        fork = await saver.invoke(again, None, kept[1].config)
        assert fork["items"] == history[0].values["items"]
        (newest, *gone) = [each.checkpoint["id"] for each in await saver.list(config())]
        await saver.call("prune", ["t"])
        assert await saver.ids(config()) == [newest]
        lane = (await saver.execute(ReadLane("t", ""))).lane
        for id in gone:
            assert await saver.execute(ReadWrites(lane, pack(id))) == []
        assert (await saver.call("usage", "t")).total < after.total
        await saver.call("prune", ["t"], strategy="delete")
        assert await saver.list({"configurable": {"thread_id": "t"}}) == []

    @promise
    async def test_a_copy_is_whole_and_apart(self, saver: SaverFace) -> None:
        graph, at = nested(saver.saver), {"configurable": {"thread_id": "t"}}
        asked = await saver.invoke(graph, {"items": ["in"]}, at)
        assert [each.value for each in asked["__interrupt__"]] == ["well?"]
        await saver.call("copy_thread", "t", "copy")
        copy = {"configurable": {"thread_id": "copy"}}
        lanes = [
            sorted([lane.ns for lane in await saver.execute(ListLanes(each))])
            for each in ("t", "copy")
        ]
        assert lanes[0] == lanes[1]
        assert len(lanes[0]) == 2
        for there in (copy, at):
            done = await saver.invoke(
                graph, Command(resume=there["configurable"]["thread_id"]), there
            )
            assert done == {"items": ["in", there["configurable"]["thread_id"]]}
        await saver.call("delete_thread", "t")
        assert await saver.execute(ListLanes("t")) == []
        assert graph.get_state(copy).values == {"items": ["in", "copy"]}
        assert (await saver.call("usage", "t")).total == 0

    @promise
    async def test_what_was_deleted_leaves_nothing_to_a_thread_of_its_name(
        self, saver: SaverFace
    ) -> None:
        session = saver.saver.open_session("t")
        first = _checkpoint(n=1)
        writes = [TaskWrites(first.id, new_checkpoint_id(), "", [("n", 2)])]
        await saver.run(session.commit(first, claim=True))
        await saver.run(session.save_writes(writes))
        await saver.run(session.release())
        stale = saver.saver.open_session("t")
        await saver.run(stale.load(to_write=True))
        await saver.call("delete_thread", "t")
        await refused(
            saver.run(stale.commit(_checkpoint(first.id, n=3), claim=True)), ThreadBusyError
        )
        anew = saver.saver.open_session("t")
        await saver.run(anew.commit(dataclasses.replace(first, changed={"m": 1}), claim=True))
        await refused(saver.run(session.save_writes(writes)), ThreadBusyError)
        found = await saver.run(anew.load())
        assert (found.values, list(found.writes)) == ({"m": 1}, [])

    @promise
    async def test_threads_are_listed_once_each_page_by_page(self, saver: SaverFace) -> None:
        names = [f"t{number}" for number in range(7)]
        for number, name in enumerate(names):
            for ns in ("", "inner")[: 1 + number % 2]:
                session = saver.saver.open_session(name, ns)
                await saver.run(session.commit(_checkpoint(n=1), claim=True, release=True))
        await saver.call("delete_thread", "t3")
        listed, after = list[str](), 0
        while page := await saver.execute(ListThreads(after, 2)):
            assert len(page) <= 2
            listed += [row.thread_id for row in page]
            after = page[-1].lane
        assert listed == [name for name in names if name != "t3"]

    @promise
    async def test_a_sweep_takes_what_is_over_and_nothing_else(self, saver: SaverFace) -> None:
        graph = chat(saver.saver)
        for name, more in (
            ("brief", {"thread_ttl": 60}),
            ("kept", {}),
            ("long", {"thread_ttl": 9e9}),
        ):
            at = {"configurable": {"thread_id": name, **more}}
            await saver.invoke(graph, {"items": ["x"]}, at)
        later = datetime.now(UTC) + timedelta(hours=1)
        assert (await saver.call("sweep")) == ([], [])
        assert (await saver.call("sweep", now=later)) == (["brief"], [])
        assert (await saver.call("sweep", now=later, ttl=60)) == (["kept"], [])
        assert [row.thread_id for row in await saver.execute(ListThreads())] == ["long"]


def _checkpoint(parent: str | None = None, **values: Any) -> NewCheckpoint:
    return NewCheckpoint(new_checkpoint_id(), parent, _TS, {}, {}, values)


__all__ = ["NativeSaverConformance"]
