"""LangGraph's saver port: the same names, signatures and small behaviours as the peer's."""

import inspect
from typing import Any

import langgraph.checkpoint.base as theirs
import pytest

import plait.checkpoint.base as ours
from plait.checkpoint.base import arun_plan, run_plan
from plait.checkpoint.serde.base import SerializerProtocol

METHODS = [
    f"{prefix}{name}"
    for name in ("get", "get_tuple", "list", "put", "put_writes", "delete_thread",
                 "delete_for_runs", "copy_thread", "prune")
    for prefix in ("", "a")
] + ["get_next_version"]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods_have_the_peers_parameters(name: str) -> None:
    mine = inspect.signature(getattr(ours.BaseCheckpointSaver, name)).parameters
    peers = inspect.signature(getattr(theirs.BaseCheckpointSaver, name)).parameters
    assert [(p.name, p.kind, p.default) for p in mine.values()] == [
        (p.name, p.kind, p.default) for p in peers.values()
    ]


@pytest.mark.parametrize(
    "name",
    ["empty_checkpoint", "copy_checkpoint", "create_checkpoint", "get_checkpoint_id",
     "get_checkpoint_metadata", "get_serializable_checkpoint_metadata"],
)  # fmt: skip
def test_functions_have_the_peers_parameters(name: str) -> None:
    mine = inspect.signature(getattr(ours, name)).parameters
    peers = inspect.signature(getattr(theirs, name)).parameters
    assert [(p.name, p.kind, p.default) for p in mine.values()] == [
        (p.name, p.kind, p.default) for p in peers.values()
    ]


def test_constants_and_tuple_fields_are_the_peers() -> None:
    assert ours.WRITES_IDX_MAP == theirs.WRITES_IDX_MAP
    assert set(ours.EXCLUDED_METADATA_KEYS) == set(theirs.EXCLUDED_METADATA_KEYS)
    assert ours.CheckpointTuple._fields == theirs.CheckpointTuple._fields
    assert ours.LATEST_VERSION == theirs.LATEST_VERSION


async def test_what_a_saver_does_not_implement_says_so() -> None:
    saver: Any = ours.BaseCheckpointSaver()
    for call in (
        lambda: saver.get_tuple({}), lambda: saver.get({}), lambda: saver.list(None),
        lambda: saver.put({}, {}, {}, {}), lambda: saver.put_writes({}, [], "t"),
        lambda: saver.delete_thread("t"), lambda: saver.copy_thread("a", "b"),
        lambda: saver.prune(["t"]), lambda: saver.delete_for_runs(["r"]),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="BaseCheckpointSaver does not implement"):
            call()
    for call in (
        lambda: saver.aget_tuple({}), lambda: saver.aget({}), lambda: saver.aput({}, {}, {}, {}),
        lambda: saver.aput_writes({}, [], "t"), lambda: saver.adelete_thread("t"),
        lambda: saver.acopy_thread("a", "b"), lambda: saver.aprune([]),
        lambda: saver.adelete_for_runs([]), lambda: anext(saver.alist(None)),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError):
            await call()


def test_versions_grow() -> None:
    for saver in (ours.BaseCheckpointSaver[Any](), theirs.BaseCheckpointSaver[Any]()):
        assert saver.get_next_version(None, None) == 1
        assert saver.get_next_version(3, None) == 4
        assert saver.get_next_version(1.5, None) == 2.5
        with pytest.raises(NotImplementedError):
            saver.get_next_version("3.1", None)


CONFIGS: list[Any] = [
    {"configurable": {"thread_id": "t", "checkpoint_id": "c"}},
    {"configurable": {"thread_id": "t"}},
    {"configurable": {"checkpoint_id": "a", "thread_ts": "b"}},
    {"configurable": {"thread_id": "t", "user": "a\0b", "n": 1, "o": object(), "__x": 1}},
    {"configurable": {}, "metadata": {"m": 1, "l": [1], "s": "a\0b", "thread_id": "q", "step": 9}},
    {"configurable": {"run_id": "r", "flag": True, "f": 1.5}, "run_id": "rr"},
]


@pytest.mark.parametrize("config", CONFIGS)
def test_ids_and_metadata_of_configs_are_the_peers(config: Any) -> None:
    assert ours.get_checkpoint_id(config) == theirs.get_checkpoint_id(config)
    metadata: Any = {"source": "loop", "step": 1, "parents": {}, "note": "x\0y"}
    assert ours.get_checkpoint_metadata(config, metadata) == theirs.get_checkpoint_metadata(
        config, metadata
    )


def test_the_old_name_of_a_checkpoint_id_is_accepted() -> None:
    config: Any = {"configurable": {"thread_id": "t", "thread_ts": "old"}}
    assert ours.get_checkpoint_id(config) == "old"


def test_checkpoint_ids_sort_by_time_and_look_like_the_peers() -> None:
    ids = [ours.new_checkpoint_id() for _ in range(100)]
    assert [i[:18] for i in ids] == sorted(i[:18] for i in ids)
    before, after = theirs.empty_checkpoint()["id"], theirs.empty_checkpoint()["id"]
    assert before[:13] <= ours.new_checkpoint_id()[:13]
    assert len(after) == len(ids[0])
    assert ids[0][14] == after[14] == "6"


def test_copies_and_successors_leave_the_original_alone() -> None:
    class Channel:
        def checkpoint(self) -> Any:
            return 7

    first = ours.empty_checkpoint()
    first["channel_values"]["a"] = 1
    first["channel_versions"]["a"] = 1
    copied = ours.copy_checkpoint(first)
    copied["channel_values"]["a"] = 2
    copied["channel_versions"]["b"] = 1
    following = ours.create_checkpoint(first, {"a": Channel(), "b": Channel()}, 1)
    assert following["channel_values"] == {"a": 7}
    assert following["id"] > first["id"]
    assert first["channel_values"] == {"a": 1}
    assert first["channel_versions"] == {"a": 1}


def test_a_saver_has_a_serializer_that_reads_what_it_writes() -> None:
    class Upper:
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "upper", str(obj).upper().encode()

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            return data[1].decode()

    saver = ours.BaseCheckpointSaver[int]()
    assert saver.serde.loads_typed(saver.serde.dumps_typed((1, {2}))) == (1, {2})
    assert isinstance(Upper(), SerializerProtocol)
    assert ours.BaseCheckpointSaver[int](serde=Upper()).serde.dumps_typed("x") == ("upper", b"X")


# --- Plans ---------------------------------------------------------------------------------------


def plan() -> Any:
    total = yield 1
    try:
        total += yield 2
    except KeyError:
        total += 100
    return total


async def test_plans_are_driven_alike_by_both_runners() -> None:
    def execute(request: int) -> int:
        return request * 10

    def failing(request: int) -> int:
        if request == 2:
            raise KeyError(request)
        return request

    async def aexecute(request: int) -> int:
        return execute(request)

    async def afailing(request: int) -> int:
        return failing(request)

    assert run_plan(plan(), execute) == await arun_plan(plan(), aexecute) == 30
    assert run_plan(plan(), failing) == await arun_plan(plan(), afailing) == 101


async def test_what_a_plan_does_not_catch_reaches_the_caller() -> None:
    def broken(request: int) -> int:
        raise OSError("disk")

    async def abroken(request: int) -> int:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        run_plan(plan(), broken)
    with pytest.raises(OSError, match="disk"):
        await arun_plan(plan(), abroken)
