"""The conformance suites of savers: derive from one, say how to open yours, and run pytest.

    from contextlib import asynccontextmanager
    from plait.testing.savers import SaverConformance

    class TestMySaver(SaverConformance):
        @asynccontextmanager
        async def open(self):
            yield MySaver()

`SaverConformance` is for any saver with LangGraph's port (`put`, `put_writes`, `get_tuple`,
`list`); what plait's commit port promises besides is in `native_savers`. Every promise is checked
through the sync and through the async methods. Nothing but the standard library is needed; failed
promises are `assert`s.
"""

from __future__ import annotations

import asyncio
import operator
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, ClassVar, TypeAlias, TypedDict

from plait.checkpoint.base import CheckpointTuple, empty_checkpoint, new_checkpoint_id
from plait.constants import INTERRUPT, RESUME
from plait.graph import START, StateGraph
from plait.testing.surfaces import Surface, through
from plait.types import Command, interrupt

HOSTILE = (
    *("a'b", 'a"b', "') OR 1=1 --", "a|b", "50%", "a_b", "", " ", "*", "é", "日本", "\U0001f600"),
    *("a\\b", "a/b", "$.x", "{}", "x" * 500, "x" * 500 + "y", "A_B", "e\u0301", "a ", "t|a"),
)
"""Names that are text like any other, though something may read more into them."""
PLAIN: list[Any] = [
    *(None, True, False, 0, -1, 2**60, 1.0, -0.5, 1e-7, "", "\u00e9", "e\u0301", " a \r\nb\t"),
    *("a\0b", "x" * 100_000, b"", b"\0\xff", b"y" * 100_000, [], {}, [[]]),
    *({"z": 1, "a": {"": None}}, {2: "two", 1: "one"}),
]
"""Values that JSON, text and narrow columns change."""


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
        self, at: Any, values: dict[str, Any], metadata: Any = None, version: int = 1, **more: Any
    ) -> Any:
        """Put a checkpoint of these values, and what `more` says of it; returns its config."""
        versions = dict.fromkeys(values, version)
        checkpoint: dict[str, Any] = {
            **empty_checkpoint(),
            "channel_values": values,
            "channel_versions": versions,
            **more,
        }
        facts = metadata or {"source": "loop", "step": 1}
        new = {k: v for k, v in checkpoint["channel_versions"].items() if v == version}
        return await self.call("put", at, checkpoint, facts, new)

    async def values(self, at: Any) -> dict[str, Any]:
        """The values of a checkpoint that must be there."""
        return (await self.get(at)).checkpoint["channel_values"]

    async def writes(self, at: Any) -> list[tuple[str, str, Any]]:
        """What tasks wrote at a checkpoint that must be there; of each task in its order."""
        return sorted((await self.get(at)).pending_writes or [], key=lambda each: each[0])

    async def ids(self, *args: Any, **kwargs: Any) -> list[str]:
        """The ids of the checkpoints that `list` gives."""
        return [each.checkpoint["id"] for each in await self.list(*args, **kwargs)]

    async def run(self, plan: Any) -> Any:
        """Run a plan of a session."""
        return await self.call("run", plan)

    async def execute(self, request: Any) -> Any:
        """Do one storage request."""
        return await self.call("execute", request)

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
            with through(surface):
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


def unlike(given: dict[Any, Any], found: dict[Any, Any]) -> list[str]:
    """What became of values that did not come back with their types, and in order."""
    return [
        f"{value!r:.60} became {repr(found[key]) if key in found else 'nothing':.60}"
        for key, value in given.items()
        if key not in found or repr(found[key]) != repr(value)
    ]


def id_of(at: Any) -> str:
    """The id of the checkpoint that a config names."""
    return at["configurable"]["checkpoint_id"]


def told(found: CheckpointTuple) -> dict[str, Any]:
    """What a tuple says of its checkpoint, in a form that can be compared."""
    checkpoint = found.checkpoint
    parent: Any = found.parent_config
    return {
        "config": config_of(found.config),
        "parent": parent and config_of(parent),
        "ts": checkpoint["ts"],
        "values": repr(checkpoint["channel_values"]),  # by type, and in order
        "versions": checkpoint["channel_versions"],
        "writes": sorted(found.pending_writes or [], key=lambda each: each[0]),
    }


def config_of(at: Any) -> tuple[str, ...]:
    """Thread, namespace and checkpoint of a config."""
    keys = ("thread_id", "checkpoint_ns", "checkpoint_id")
    return tuple(at["configurable"][key] for key in keys)


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
        await saver.put(config(ns="inner"), {"a": 2})
        named = await saver.get({"configurable": {"thread_id": "t"}})
        assert named.checkpoint["id"] == found.checkpoint["id"], (
            "without a namespace: the outermost"
        )

    @promise
    async def test_what_was_never_put_is_none(self, saver: SaverFace) -> None:
        assert await saver.call("get_tuple", config("nobody")) is None
        assert await saver.call("get_tuple", config(id=new_checkpoint_id())) is None
        assert await saver.list(config("nobody")) == []
        await saver.put(config(), {"n": 1})
        assert await saver.call("get_tuple", config(id=new_checkpoint_id())) is None
        assert await saver.call("get_tuple", config(ns="nowhere")) is None

    @promise
    async def test_a_child_names_its_parent(self, saver: SaverFace) -> None:
        first = await saver.put(config(), {"n": 1})
        second = await saver.put(first, {"n": 2}, version=2)
        assert (await saver.get(first)).parent_config is None
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
    async def test_a_filter_names_what_must_be_equal(self, saver: SaverFace) -> None:
        facts = {"source": "loop", "step": 1, "a.b": 1, "a": {"b": 2}, "it's": "x"}
        (first, second) = [
            id_of(await saver.put(config(), {"n": 1}, {**facts, **more}))
            for more in ({}, {"step": 2, "own": "y"})
        ]
        for wanted, found in (
            ({}, [second, first]),
            ({"step": 1}, [first]),
            ({"step": "1"}, []),
            ({"source": "loop"}, [second, first]),
            ({"source": "LOOP"}, []),
            ({"source": "lo_p"}, []),
            ({"own": "y"}, [second]),
            ({"own": "y", "step": 1}, []),
            ({"nobody": "y"}, []),
            ({"a.b": 1}, [second, first]),
            ({"a.b": 2}, []),
            ({"a": {"b": 2}}, [second, first]),
            ({"it's": "x"}, [second, first]),
        ):
            assert await saver.ids(config(), filter=wanted) == found, wanted
        assert await saver.list(config(), limit=0) == []

    @promise
    async def test_a_history_is_of_what_was_asked_for(self, saver: SaverFace) -> None:
        made: list[Any] = []
        for number in range(4):
            facts = {"source": "loop" if number % 2 else "input", "step": number // 2}
            made.append(await saver.put(config(), {"n": number}, facts))
        inner = await saver.put(config(ns="inner"), {"n": 9})
        other = await saver.put(config("other"), {"n": 9})
        ids = [id_of(at) for at in made]
        assert await saver.ids(config(), filter={"source": "input", "step": 1}) == [ids[2]]
        assert await saver.ids(config(), filter={"source": "input"}, limit=2) == [ids[2], ids[0]]
        before = {"before": config(id=ids[3]), "limit": 1}
        assert await saver.ids(config(), filter={"source": "loop"}, **before) == [ids[1]]
        assert await saver.ids(config(id=ids[1])) == [ids[1]]
        assert await saver.ids(config(ns="inner")) == [id_of(inner)]
        assert await saver.ids(config("other")) == [id_of(other)]
        assert sorted(await saver.ids(None)) == sorted([*ids, id_of(inner), id_of(other)])
        whole = await saver.ids({"configurable": {"thread_id": "t"}})
        assert sorted(whole) == sorted([*ids, id_of(inner)]), "without a namespace: all of them"

    @promise
    async def test_the_newest_is_the_one_with_the_greatest_id(self, saver: SaverFace) -> None:
        old, new, newer = (new_checkpoint_id() for _ in range(3))
        await saver.put(config(), {"n": 2}, version=2, id=new)
        await saver.put(config(), {"n": 1}, id=old)
        await saver.put(config(ns="inner"), {"n": 3}, id=newer)
        assert await saver.values(config()) == {"n": 2}
        assert await saver.ids(config()) == [new, old]

    @promise
    async def test_a_history_tells_what_is_told_of_each_alone(self, saver: SaverFace) -> None:
        facts = {"source": "loop", "step": 2, "parents": {"": "x"}, "deep": [1, {"k": None}],
                 "none": None, "a.b": 1}  # fmt: skip
        ts = "2020-02-03T04:05:06.789012+00:00"
        seen = {"node": {"n": 1}}
        first = await saver.put(config(ns="inner"), {"n": 1}, facts, ts=ts, versions_seen=seen)
        await saver.call("put_writes", first, [("n", 2), ("m", [3])], "task-1")
        second = await saver.put(first, {"n": 2}, facts, version=2)
        alone = [await saver.get(second), await saver.get(first)]
        listed = await saver.list(config(ns="inner"))
        assert list(map(told, listed)) == list(map(told, alone))
        for found in (*alone, *listed):
            assert {**found.metadata}.items() >= facts.items()
        assert told(alone[1])["ts"] == ts
        assert alone[1].checkpoint["versions_seen"] == seen
        assert [told(each)["versions"] for each in alone] == [{"n": 2}, {"n": 1}]
        assert told(alone[0])["parent"] == config_of(first)

    @promise
    async def test_plain_values_keep_their_types_and_order(self, saver: SaverFace) -> None:
        values = {f"key {number}": value for number, value in enumerate(PLAIN)} | {"all": PLAIN}
        at = await saver.put(config(), values)
        found = await saver.values(at)
        assert unlike(values, found) == []

    @promise
    async def test_plain_writes_keep_their_types_and_order(self, saver: SaverFace) -> None:
        id = new_checkpoint_id()
        writes = [(f"key {number}", value) for number, value in enumerate(PLAIN)]
        writes += [("all", PLAIN), ("all", None)]
        await saver.call("put_writes", config(id=id), [("early", 1)], "task-1")
        at = await saver.put(config(), {"n": 1}, id=id)
        await saver.call("put_writes", at, writes, "task-2")
        early, *found = await saver.writes(at)
        assert early == ("task-1", "early", 1), "they may come before their checkpoint"
        assert [each[:2] for each in found] == [("task-2", channel) for channel, _ in writes]
        assert unlike(dict(enumerate(PLAIN)), {n: each[2] for n, each in enumerate(found)}) == []
        assert (repr(found[-2][2]), found[-1][2]) == (repr(PLAIN), None)

    @promise
    async def test_what_did_not_change_is_kept_and_what_was_removed_is_gone(
        self, saver: SaverFace
    ) -> None:
        first = await saver.put(config(), {"a": [1], "b": 1})
        versions = {"a": 1, "b": 2}
        both = {"a": [1], "b": 2}
        second = await saver.put(first, both, version=2, channel_versions=versions)
        third = await saver.put(
            second, {"a": [1]}, version=3, channel_versions={**versions, "b": 3}
        )
        assert await saver.values(first) == {"a": [1], "b": 1}
        assert await saver.values(second) == both
        assert await saver.values(third) == {"a": [1]}

    @promise
    async def test_a_checkpoint_that_is_put_twice_is_there_once(self, saver: SaverFace) -> None:
        id = new_checkpoint_id()
        at = await saver.put(config(), {"n": 1}, id=id)
        await saver.call("put_writes", at, [("n", 2)], "task-1")
        await saver.put(config(), {"n": 1}, id=id)
        assert await saver.ids(config()) == [id]
        assert await saver.writes(at) == [("task-1", "n", 2)]
        await saver.put(config(), {"n": 3}, version=2, id=id)
        assert (await saver.values(at), await saver.ids(config())) == ({"n": 3}, [id])

    @promise
    async def test_names_are_any_text_and_stay_apart(self, saver: SaverFace) -> None:
        names = (*HOSTILE, "a\nb", "a\tb")
        for number, name in enumerate(names):
            await saver.put(config(name), {"n": number})
            await saver.put(config("t", name), {"n": -number})
        for number, name in enumerate(names):
            assert (await saver.get(config(name))).checkpoint["channel_values"] == {"n": number}
            found = await saver.list(config("t", name))
            assert [each.checkpoint["channel_values"] for each in found] == [{"n": -number}]

    @promise
    async def test_writes_come_back_with_their_checkpoint(self, saver: SaverFace) -> None:
        at = await saver.put(config(), {"n": 1})
        await saver.call("put_writes", at, [("n", 2), ("m", [3])], "task-1")
        await saver.call("put_writes", at, [("n", 4)], "task-2")
        wrote = [("task-1", "n", 2), ("task-1", "m", [3]), ("task-2", "n", 4)]
        assert await saver.writes(at) == wrote
        after = await saver.put(at, {"n": 2}, version=2)
        same: dict[str, Any] = {"id": id_of(at)}
        others = [await saver.put(config(*each), {"n": 1}, **same) for each in (("t", "i"), ("u",))]
        await saver.call("put_writes", at, [("late", 5)], "task-3")
        assert await saver.writes(at) == [*wrote, ("task-3", "late", 5)]
        for other in (after, *others):
            assert await saver.writes(other) == []

    @promise
    async def test_writes_put_twice_are_kept_once(self, saver: SaverFace) -> None:
        at = await saver.put(config(), {"n": 1})
        for _ in range(2):
            await saver.call("put_writes", at, [("n", 2)], "task-1")
        assert len((await saver.get(at)).pending_writes or []) == 1

    @promise
    async def test_a_write_stays_and_what_a_task_says_of_itself_is_replaced(
        self, saver: SaverFace
    ) -> None:
        at = await saver.put(config(), {"n": 1})
        await saver.call("put_writes", at, [(INTERRUPT, "first?")], "task-1")
        await saver.call("put_writes", at, [("n", 2)], "task-1")
        await saver.call("put_writes", at, [("n", 8), ("m", 3)], "task-1")
        await saver.call("put_writes", at, [(INTERRUPT, "second?")], "task-1")
        await saver.call("put_writes", at, [(RESUME, ["yes"])], "task-1")
        wrote = await saver.writes(at)
        assert [each for each in wrote if each[1] in "nm"] == [
            ("task-1", "n", 2),
            ("task-1", "m", 3),
        ]
        said = {(channel, repr(value)) for _, channel, value in wrote if channel not in "nm"}
        assert said == {(INTERRUPT, "'second?'"), (RESUME, "['yes']")}

    @promise
    async def test_what_the_program_changes_afterwards_is_not_stored(
        self, saver: SaverFace
    ) -> None:
        values: dict[str, Any] = {"items": [1]}
        facts: dict[str, Any] = {"source": "loop", "step": 1, "deep": [1]}
        write = [1]
        at = await saver.put(config(), values, facts)
        await saver.call("put_writes", at, [("items", write)], "task-1")
        for mine in (values["items"], facts["deep"], write):
            mine.append(2)
        for found in (await saver.get(at), *await saver.list(config())):
            metadata: Any = found.metadata
            for given in (found.checkpoint["channel_values"]["items"], metadata["deep"]):
                given.append(3)
            found.checkpoint["channel_versions"]["items"] = 99
            (wrote,) = found.pending_writes or []
            wrote[2].append(3)
        again: Any = await saver.get(at)
        assert again.checkpoint["channel_values"] == {"items": [1]}
        assert again.checkpoint["channel_versions"] == {"items": 1}
        assert again.metadata["deep"] == [1]
        assert again.pending_writes == [("task-1", "items", [1])]

    @promise
    async def test_a_deleted_thread_is_gone_and_others_stay(self, saver: SaverFace) -> None:
        if not self.deletes:
            return
        id = new_checkpoint_id()
        others = ("other", "t2", "T", "t_", "t%", "")
        for thread in ("t", *others):
            at = await saver.put(config(thread), {"n": 1}, id=id)
            await saver.call("put_writes", at, [("n", 2)], "task-1")
            await saver.put(config(thread, "inner"), {"n": 1})
        await saver.call("delete_thread", "t")
        assert await saver.list(config("t")) == []
        assert await saver.call("get_tuple", config("t", "inner")) is None
        for thread in others:
            assert len(await saver.list(config(thread))) == 1
            assert len(await saver.writes(config(thread))) == 1
        await saver.call("delete_thread", "t")
        again = await saver.put(config(), {"n": 1}, id=id)
        assert await saver.writes(again) == []

    @promise
    async def test_versions_grow(self, saver: SaverFace) -> None:
        version, versions = None, list[Any]()
        for _ in range(120):
            version = saver.saver.get_next_version(version, None)
            versions.append(version)
        assert versions == sorted(set(versions))

    @promise
    async def test_puts_beside_each_other_are_all_kept(self, saver: SaverFace) -> None:
        await asyncio.gather(
            *(saver.put(config(f"t{n % 5}", f"{n % 2}"), {"n": n}) for n in range(40))
        )
        for thread in range(5):
            assert len(await saver.list({"configurable": {"thread_id": f"t{thread}"}})) == 8

    @promise
    async def test_sync_and_async_methods_reach_the_same_threads(self, saver: SaverFace) -> None:
        if len(self.surfaces) < 2:
            return
        other = SaverFace(saver.saver, "sync" if saver.surface == "async" else "async")
        at = await saver.put(config(), {"n": 1})
        await other.call("put_writes", at, [("n", 2)], "task-1")
        assert told(await other.get(config())) == told(await saver.get(config()))
        assert await other.ids(config()) == [id_of(at)]

    @promise
    async def test_a_graph_asks_and_goes_on(self, saver: SaverFace) -> None:
        graph, at = small_graph(saver.saver), {"configurable": {"thread_id": "g"}}
        asked = await saver.invoke(graph, {"items": []}, at)
        assert [each.value for each in asked["__interrupt__"]] == ["well?"]
        again = small_graph(saver.saver)
        done = await saver.invoke(again, Command(resume="yes"), at)
        assert done == {"items": ["a", "yes", "c"]}
        assert len(await saver.list(at)) == 5


__all__ = [
    "SaverConformance",
    "SaverFace",
    "Surface",
    "config",
    "promise",
    "refused",
    "small_graph",
]
