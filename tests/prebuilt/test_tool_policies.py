"""Policies of tools: limits on calls, attempts, how many run at once, and what is on record."""

from __future__ import annotations

import asyncio
from collections import Counter
from threading import Event, Lock
from typing import Any

import pytest

from plait.chat_models.fake import GenericFakeChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.errors import (
    InvalidNodeError,
    NodeCancelledError,
    NodeTimeoutError,
    ToolDefinitionError,
)
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage, ToolMessage
from plait.prebuilt import ToolNode, ToolPolicy, ToolRuntime, create_react_agent
from plait.prebuilt.gate import Gate
from plait.prebuilt.tool_node import ToolTimeoutError
from plait.tools import tool
from plait.types import Command, RetryPolicy, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}
AT_ONCE = RetryPolicy(initial_interval=0.0, jitter=False)
PLACES = ("alone", "graph", "thread")


def called(*names: str) -> dict[str, Any]:
    made: list[Any] = [
        {"name": name, "args": {"n": n}, "id": f"call-{n}"} for n, name in enumerate(names)
    ]
    return {"messages": [AIMessage("", tool_calls=made)]}


def placed(node: ToolNode, place: str) -> Any:
    """A node where it is called alone, in a graph without threads, and in one with them."""
    if place == "alone":
        return node
    graph = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools")
    return graph.compile(InMemorySaver() if place == "thread" else None)


def run(runnable: Any, given: Any, flavor: str) -> Any:
    if flavor == "async":
        return asyncio.run(runnable.ainvoke(given, THREAD))
    return runnable.invoke(given, THREAD)


def answers(state: dict[str, Any]) -> dict[str, tuple[str, str]]:
    told = [m for m in state["messages"] if m.type == "tool"]
    return {m.tool_call_id: (m.status, m.content) for m in told}


@tool
def quick(n: int) -> str:
    """Answer at once."""
    return f"quick {n}"


@pytest.mark.parametrize("place", PLACES)
def test_a_hung_tool_among_five_does_not_hold_back_the_others(place: str) -> None:
    release, ended, refused = Event(), Event(), list[str]()

    @tool
    def hangs(n: int) -> str:
        """Wait for ever."""
        release.wait(30)
        try:
            interrupt("late?")
        except NodeCancelledError:
            refused.append("refused")
        ended.set()
        return "late"

    node = ToolNode([quick, hangs], policies={"hangs": ToolPolicy(timeout=0.05)})
    state = placed(node, place).invoke(called("quick", "quick", "hangs", "quick", "quick"), THREAD)
    assert not ended.is_set()
    told = answers(state)
    status, content = told.pop("call-2")
    assert status == "error"
    assert content.startswith("Error: tool 'hangs' gave no result within 0.05 s")
    assert told == {f"call-{n}": ("success", f"quick {n}") for n in (0, 1, 3, 4)}
    release.set()
    assert ended.wait(30)
    assert refused == ["refused"], "what it still does is refused"


def test_what_a_tool_writes_after_its_time_is_not_streamed() -> None:
    release, ended, outcome = Event(), Event(), list[str]()

    @tool
    def hangs(n: int, runtime: ToolRuntime[Any, Any]) -> str:
        """Write, wait, and write again."""
        runtime.stream_writer("in time")
        release.wait(30)
        try:
            runtime.stream_writer("late")
        except NodeCancelledError:
            outcome.append("refused")
        ended.set()
        return "late"

    @tool
    def waits(n: int) -> str:
        """Keep the node running until the late one has ended."""
        assert ended.wait(30)
        return "waited"

    def given_up(request: Any, execute: Any) -> Any:
        message = execute(request)
        if message.status == "error":
            release.set()
        return message

    limits = {"hangs": ToolPolicy(timeout=0.05)}
    graph = placed(ToolNode([hangs, waits], policies=limits, wrap_tool_call=given_up), "graph")
    seen = list[Any]()
    for mode, part in graph.stream(called("hangs", "waits"), stream_mode=["custom", "updates"]):
        seen.append(part if mode == "custom" else mode)
    assert seen == ["in time", "updates"]
    assert outcome == ["refused"]


@pytest.mark.parametrize("place", PLACES)
async def test_a_hung_async_tool_is_cancelled(place: str) -> None:
    cleaned = list[str]()

    @tool
    async def hangs(n: int) -> str:
        """Wait for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("up")
        return "never"

    node = ToolNode([quick, hangs], policies=ToolPolicy(timeout=0.5))
    state = await placed(node, place).ainvoke(called("quick", "hangs"), THREAD)
    assert [status for status, _ in answers(state).values()] == ["success", "error"]
    assert cleaned == ["up"]


def test_a_timeout_is_raised_where_the_model_is_told_nothing() -> None:
    release = Event()

    @tool
    def hangs(n: int) -> str:
        """Wait for ever."""
        release.wait(30)
        return "late"

    limits = {"hangs": ToolPolicy(timeout=0.02)}
    silent = ToolNode([hangs], handle_tool_errors=False, policies=limits)
    with pytest.raises(ToolTimeoutError, match="hangs") as caught:
        placed(silent, "thread").invoke(called("hangs"), THREAD)
    assert (caught.value.node, caught.value.kind, caught.value.timeout) == ("hangs", "run", 0.02)
    own = ToolNode([hangs], handle_tool_errors="too slow", policies=limits)
    assert answers(own.invoke(called("hangs"))) == {"call-0": ("error", "too slow")}
    release.set()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_tool_is_tried_again(place: str, flavor: str) -> None:
    attempts = list[int]()

    @tool
    def flaky(n: int) -> str:
        """Fail twice."""
        attempts.append(n)
        if len(attempts) < 3:
            raise ConnectionError("down")
        return "up"

    node = ToolNode([flaky], policies={"flaky": ToolPolicy(retry_policy=AT_ONCE)})
    assert answers(run(placed(node, place), called("flaky"), flavor)) == {
        "call-0": ("success", "up")
    }
    assert attempts == [0, 0, 0]


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_arguments_that_do_not_fit_are_told_at_once(flavor: str) -> None:
    told = list[Any]()

    def wrap(request: Any, execute: Any) -> Any:
        told.append(request.tool_call["args"])
        return execute(request)

    node = ToolNode([quick], policies=ToolPolicy(retry_policy=AT_ONCE), wrap_tool_call=wrap)
    call: Any = {"name": "quick", "args": {"n": "x"}, "id": "1"}
    state = run(placed(node, "graph"), {"messages": [AIMessage("", tool_calls=[call])]}, flavor)
    ((status, content),) = answers(state).values()
    assert status == "error"
    assert "Error invoking tool 'quick'" in content
    assert told == [{"n": "x"}]


def test_a_tool_fails_for_good_after_its_attempts() -> None:
    attempts = list[int]()

    @tool
    def down(n: int) -> str:
        """Fail."""
        attempts.append(n)
        raise ConnectionError("down")

    policies = {"down": ToolPolicy(retry_policy=RetryPolicy(0.0, max_attempts=2, jitter=False))}
    with pytest.raises(ConnectionError):
        placed(ToolNode([down], policies=policies), "thread").invoke(called("down"), THREAD)
    assert attempts == [0, 0]
    told = ToolNode([down], policies=policies, handle_tool_errors=True)
    assert answers(told.invoke(called("down")))["call-0"][0] == "error"


class Counting:
    """Counts how many calls are inside at once."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.now = self.most = 0

    def __enter__(self) -> None:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.now -= 1


def test_a_bound_of_one_tool_does_not_bound_the_others() -> None:
    bounded, all_met = Counting(), Event()
    met = Counter[str]()

    @tool
    def narrow(n: int) -> str:
        """One at a time, and only after all the wide ones have met."""
        with bounded:
            assert all_met.wait(30)
        return "narrow"

    @tool
    def wide(n: int) -> str:
        """Three at a time."""
        with bounded.lock:
            met["wide"] += 1
            if met["wide"] == 3:
                all_met.set()
        assert all_met.wait(30)
        return "wide"

    node = ToolNode([narrow, wide], policies={"narrow": ToolPolicy(max_concurrency=1)})
    state = placed(node, "graph").invoke(called(*["narrow"] * 3, *["wide"] * 3), THREAD)
    assert len(answers(state)) == 6
    assert bounded.most == 1


async def test_a_bound_holds_over_all_runs_of_the_process() -> None:
    inside = Counting()

    @tool
    async def narrow(n: int) -> str:
        """Work."""
        with inside:
            for _ in range(5):
                await asyncio.sleep(0)
        return "done"

    graph = placed(ToolNode([narrow], policies=ToolPolicy(max_concurrency=2)), "graph")
    runs = (graph.ainvoke(called(*["narrow"] * 3)) for _ in range(4))
    assert sum(len(answers(state)) for state in await asyncio.gather(*runs)) == 12
    assert inside.most == 2


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("flavor", ["sync", "async"])
@pytest.mark.parametrize("places", [1, 2])
def test_a_bound_of_the_tool_goes_with_a_bound_of_the_run(
    version: Any, flavor: str, places: int
) -> None:
    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    inside = Counting()

    @tool
    def narrow(n: int) -> str:
        """Work."""
        with inside:
            return f"{n}"

    model = Scripted(messages=iter([*called(*["narrow"] * 5)["messages"], "done"]))
    node = ToolNode([narrow], policies=ToolPolicy(timeout=60, max_concurrency=1))
    agent = create_react_agent(model, node, version=version, checkpointer=InMemorySaver())
    config: Any = {**THREAD, "max_concurrency": places}
    state: Any = (
        asyncio.run(agent.ainvoke({"messages": "hi"}, config))
        if flavor == "async"
        else agent.invoke({"messages": "hi"}, config)
    )
    assert [content for _, content in answers(state).values()] == list("01234")
    assert inside.most == 1


def test_a_call_whose_time_is_over_before_its_turn_never_runs() -> None:
    release, ran = Event(), list[int]()

    @tool
    def hangs(n: int) -> str:
        """Wait."""
        ran.append(n)
        release.wait(30)
        return "late"

    node = ToolNode([hangs], policies=ToolPolicy(timeout=1, max_concurrency=1))
    graph = placed(node, "graph")
    state = graph.invoke(called("hangs", "hangs"), {"max_concurrency": 4})
    assert [status for status, _ in answers(state).values()] == ["error", "error"]
    release.set()
    after = graph.invoke(called("hangs"), {"max_concurrency": 4})  # comes after the one that waited
    assert answers(after) == {"call-0": ("success", "late")}
    assert len(ran) == 2


async def test_who_is_cancelled_while_waiting_holds_no_place() -> None:
    gate, first, going = Gate(1), asyncio.Event(), asyncio.Event()

    async def hold() -> str:
        going.set()
        await first.wait()
        return "held"

    async def go() -> str:
        return "went"

    holding = asyncio.create_task(gate.arun(hold))
    await going.wait()
    waiting = asyncio.create_task(gate.arun(go))
    after = asyncio.create_task(gate.arun(go))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    first.set()
    assert await asyncio.gather(holding, after) == ["held", "went"]
    assert await gate.arun(go) == "went"
    assert waiting.cancelled()


@pytest.mark.parametrize("flavor", ["sync", "async"])
@pytest.mark.parametrize("journal", [True, False])
def test_recorded_calls_do_not_run_again_when_one_of_five_asked(flavor: str, journal: bool) -> None:
    effects = Counter[int]()

    @tool
    def act(n: int) -> str:
        """Have an effect."""
        effects[n] += 1
        return f"acted {n}"

    @tool
    def ask(n: int) -> str:
        """Ask a person."""
        return interrupt("well?")

    graph = placed(ToolNode([act, ask], journal=journal), "thread")
    given = called("act", "act", "ask", "act", "act")
    assert run(graph, given, flavor)["__interrupt__"][0].value == "well?"
    told = answers(run(graph, Command(resume="fine"), flavor))
    assert told["call-2"] == ("success", "fine")
    assert told["call-4"] == ("success", "acted 4")
    assert effects == dict.fromkeys((0, 1, 3, 4), 1 if journal else 2)


def test_several_recorded_questions_surface_together() -> None:
    @tool
    def ask(n: int) -> str:
        """Ask a person, twice."""
        return f"{interrupt(f'a {n}')} {interrupt(f'b {n}')}"

    graph = placed(ToolNode([ask], journal=True), "thread")
    asked = graph.invoke(called("ask", "ask"), THREAD)["__interrupt__"]
    assert sorted(one.value for one in asked) == ["a 0", "a 1"]
    asked = graph.invoke(Command(resume={one.id: one.value for one in asked}), THREAD)
    asked = asked["__interrupt__"]
    assert sorted(one.value for one in asked) == ["b 0", "b 1"]
    end = graph.invoke(Command(resume={one.id: one.value for one in asked}), THREAD)
    assert [content for _, content in answers(end).values()] == ["a 0 b 0", "a 1 b 1"]


def test_recorded_results_of_all_kinds_are_the_same_again() -> None:
    @tool(response_format="content_and_artifact")
    def artifact(n: int) -> Any:
        """Give an artifact."""
        return [{"type": "text", "text": "é"}], {"n": n}

    @tool
    def command(n: int, runtime: ToolRuntime[Any, Any]) -> Any:
        """Update the state."""
        return Command(update={"messages": [ToolMessage("é", tool_call_id=runtime.tool_call_id)]})

    @tool
    def ask(n: int) -> str:
        """Ask a person."""
        return interrupt("well?")

    def messages(journal: bool) -> list[Any]:
        graph = placed(ToolNode([artifact, command, ask], journal=journal), "thread")
        graph.invoke(called("artifact", "command", "ask"), THREAD)
        end = graph.invoke(Command(resume="fine"), THREAD)["messages"][1:]
        return [(m.content, m.name, m.status, m.artifact, m.tool_call_id) for m in end]

    assert messages(journal=True) == messages(journal=False)


def test_those_who_stream_see_the_node_and_not_its_calls() -> None:
    def parts(journal: bool) -> list[Any]:
        graph = placed(ToolNode([quick], journal=journal), "thread")
        modes = ["updates", "tasks", "custom"]
        seen: list[Any] = []
        for mode, part in graph.stream(called("quick", "quick"), THREAD, stream_mode=modes):
            seen.append((mode, sorted(part)))
        return seen

    assert parts(journal=True) == parts(journal=False)


def test_policies_that_are_none_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="Did you mean 'quick'"):
        ToolNode([quick], policies={"quik": ToolPolicy()})
    with pytest.raises(ToolDefinitionError, match="must be a ToolPolicy"):
        ToolNode([quick], policies={"quick": 5})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ToolDefinitionError, match="above 0"):
        ToolPolicy(max_concurrency=0)
    with pytest.raises(ValueError, match="greater than 0"):
        ToolNode([quick], policies=ToolPolicy(timeout=-1))

    @tool(on_unknown="aks")
    def charge(n: int) -> str:
        """Charge."""
        return "charged"

    with pytest.raises(InvalidNodeError, match="Did you mean 'ask'"):
        ToolNode([charge])


async def test_who_is_cancelled_as_it_is_given_a_place_gives_it_on() -> None:
    gate, going = Gate(1), asyncio.Event()

    async def go() -> str:
        return "went"

    holding = asyncio.create_task(gate.arun(going.wait))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(gate.arun(go))
    await asyncio.sleep(0)
    holding.add_done_callback(lambda _: waiting.cancel())
    going.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await asyncio.wait_for(gate.arun(go), 30) == "went"


async def test_async_code_that_is_inside_goes_through_again() -> None:
    gate = Gate(1)

    async def go() -> str:
        return "inside"

    assert await asyncio.wait_for(gate.arun(lambda: gate.arun(go)), 30) == "inside"


@pytest.mark.parametrize("flavor", ["sync", "async"])
def test_a_limit_that_struck_inside_a_tool_is_not_taken_for_the_one_of_its_policy(
    flavor: str,
) -> None:
    """As where a tool runs a graph, one of whose nodes takes too long."""

    @tool
    def work(n: int) -> str:
        """Run something inside."""
        raise NodeTimeoutError("inner", 2.0, kind="run", run_timeout=1.0)

    node = placed(ToolNode([work], policies=ToolPolicy(timeout=30)), "graph")
    with pytest.raises(NodeTimeoutError, match="inner") as caught:
        run(node, called("work"), flavor)
    assert not isinstance(caught.value, ToolTimeoutError)
