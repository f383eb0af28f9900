"""Logs of runs: what is ours about them. The rest is compared in `d_runnables_log`."""

import asyncio

import pytest

from plait.runnables import RunnableGenerator, RunnableLambda
from plait.runnables.run_log import applied, changes
from plait.tracing import RunLogPatch


async def test_names_with_slashes_and_tildes_stand_in_the_state_as_they_are() -> None:
    step = RunnableLambda(str.upper, name="a/b~c")
    chain = step | step
    logs = [log async for log in chain.astream_log("x", diff=False)]
    assert set(logs[-1].state["logs"]) == {"a/b~c", "a/b~c:2"}
    assert logs[-1].state["logs"]["a/b~c:2"]["final_output"] == {"output": "X"}
    patches = [patch async for patch in chain.astream_log("x")]
    assert patches[1].ops[0]["path"] == "/logs/a~1b~0c"


async def test_a_run_whose_reader_leaves_is_stopped() -> None:
    stopped = asyncio.Event()

    async def spell(_):
        try:
            while True:
                yield "a"
                await asyncio.sleep(0)
        finally:
            stopped.set()

    patches = RunnableGenerator(spell).astream_log("x")
    async for patch in patches:
        if patch.ops[0]["path"] == "/streamed_output/-":
            break
    await patches.aclose()
    assert stopped.is_set()


async def test_a_failing_run_tells_what_it_knew_and_raises() -> None:
    def fail(_):
        raise KeyError("gone")

    seen = []

    async def read():
        async for log in (RunnableLambda(len) | fail).astream_log("abc", diff=False):
            seen.append(log.state)

    with pytest.raises(KeyError):
        await read()
    assert seen[-1]["logs"]["len"]["final_output"] == {"output": 3}
    assert seen[-1]["logs"]["fail"]["final_output"] == {}
    assert seen[-1]["final_output"] is None


def test_earlier_states_do_not_change() -> None:
    first = RunLogPatch({"op": "replace", "path": "", "value": {"a": []}})
    more = RunLogPatch({"op": "add", "path": "/a/-", "value": {"b": 1}})
    one = first + more
    two = one + more
    assert (one.state, two.state) == ({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 1}]})
    assert two.state["a"][1] is not more.ops[0]["value"]


def test_an_operation_on_nothing_is_an_error() -> None:
    with pytest.raises(KeyError, match="nothing to replace"):
        applied({"a": 1}, [{"op": "replace", "path": "/b", "value": 1}])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, 1),
        ({"a": 1, "b": 2}, {"b": 3, "c/d": [1]}),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}, 4]}}),
        ([1, 2, 3, 4], [1, 5]),
        ({"a": True}, {"a": 1}),
        ([1], []),
    ],
)
def test_changes_lead_from_the_old_to_the_new(old, new) -> None:
    got = applied({"x": old}, list(changes("/x", old, new)))["x"]
    assert got == new
    assert repr(got) == repr(new) or isinstance(new, dict)
