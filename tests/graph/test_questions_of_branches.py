"""Calls of a batch and parallel steps inside one node ask each for itself, whoever makes them."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Thread
from typing import Any, TypedDict

import pytest

from plait.checkpoint.memory import InMemorySaver
from plait.func import task
from plait.graph import START, StateGraph
from plait.runnables import RunnableLambda, RunnableParallel, batching
from plait.types import Command, interrupt

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    answers: Any


def ask(question: str) -> str:
    return f"{question} {interrupt(question)}"


def asking(work: Callable[[], Any]) -> Any:
    """A graph whose node does this work."""
    builder = StateGraph(State).add_node("node", lambda state: {"answers": work()})
    return builder.add_edge(START, "node").compile(checkpointer=InMemorySaver())


def by_others(work: Callable[[], None]) -> None:
    """Another thread makes all the calls that are left."""
    thread = Thread(target=work)
    thread.start()
    thread.join()


def by_nobody(work: Callable[[], None]) -> None:
    """No other thread comes in time: the caller makes each call itself."""


@pytest.mark.parametrize("later", [by_others, by_nobody])
@pytest.mark.parametrize("first", [by_others, by_nobody])
@pytest.mark.filterwarnings("error")
def test_answers_reach_their_questions_whichever_threads_ask(
    monkeypatch: pytest.MonkeyPatch, first: Any, later: Any
) -> None:
    graph = asking(lambda: RunnableLambda(ask).batch(["a", "b", "c"]))
    monkeypatch.setattr(batching, "on_a_thread", first)
    asked = graph.invoke({}, CONFIG)["__interrupt__"]
    assert sorted(one.value for one in asked) == ["a", "b", "c"]
    monkeypatch.setattr(batching, "on_a_thread", later)
    ids = {one.value: one.id for one in asked}
    left = graph.invoke(Command(resume={ids["c"]: "C"}), CONFIG)["__interrupt__"]
    assert sorted(one.value for one in left) == ["a", "b"]
    assert {one.value: one.id for one in left} == {"a": ids["a"], "b": ids["b"]}
    answers = {ids["a"]: "A", ids["b"]: "B"}
    assert graph.invoke(Command(resume=answers), CONFIG)["answers"] == ["a A", "b B", "c C"]


@pytest.mark.filterwarnings("error")
def test_equal_questions_of_parallel_steps_are_told_apart() -> None:
    steps = RunnableParallel(left=lambda x: ask("sure?"), right=lambda x: ask("sure?"))
    graph = asking(lambda: steps.invoke(None))
    left, right = graph.invoke({}, CONFIG)["__interrupt__"]
    done = graph.invoke(Command(resume={left.id: 1, right.id: 2}), CONFIG)["answers"]
    assert sorted(done.values()) == ["sure? 1", "sure? 2"]


@pytest.mark.filterwarnings("error")
def test_async_calls_of_a_batch_ask_under_the_same_ids() -> None:
    async def aask(question: str) -> str:
        return ask(question)

    batch = RunnableLambda(ask, afunc=aask)
    graph = asking(lambda: batch.batch(["a", "b"]))
    ids = {one.value: one.id for one in graph.invoke({}, CONFIG)["__interrupt__"]}

    async def node(state: State) -> State:
        return {"answers": await batch.abatch(["a", "b"])}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    later = builder.compile(checkpointer=graph.checkpointer)
    answers = {ids["a"]: "A", ids["b"]: "B"}
    done = asyncio.run(later.ainvoke(Command(resume=answers), CONFIG))
    assert done["answers"] == ["a A", "b B"]


def fail(x: Any) -> None:
    raise ValueError("fails")


def test_a_failure_beside_a_question_is_raised() -> None:
    steps = RunnableParallel(asks=lambda x: ask("sure?"), fails=fail)
    with pytest.raises(ValueError, match="fails"):
        asking(lambda: steps.invoke(None)).invoke({}, CONFIG)


def awaiting(work: Callable[[], Awaitable[Any]]) -> Any:
    """A graph whose async node awaits this work."""

    async def node(state: State) -> State:
        return {"answers": await work()}

    builder = StateGraph(State).add_node("node", node)
    return builder.add_edge(START, "node").compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.filterwarnings("error")
async def test_equal_questions_that_sync_code_asks_on_threads_are_told_apart(batched: bool) -> None:
    asks = RunnableLambda(ask)

    async def as_completed() -> list[Any]:
        done = {index: output async for index, output in asks.abatch_as_completed(["sure?"] * 2)}
        return [done[0], done[1]]

    graph = awaiting(lambda: asks.abatch(["sure?"] * 2) if batched else as_completed())
    answers: list[str] = []
    result = await graph.ainvoke({}, CONFIG)
    while asked := result.get("__interrupt__"):
        given = {one.id: f"{len(answers)}{place}" for place, one in enumerate(asked)}
        answers += given.values()
        result = await graph.ainvoke(Command(resume=given), CONFIG)
    assert result["answers"] == [f"sure? {answer}" for answer in answers]


@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.filterwarnings("error")
async def test_what_a_node_awaits_on_a_thread_asks_in_its_turn(calls: int) -> None:
    twice = RunnableLambda(lambda question: [ask(question), ask(question)])

    async def in_one_batch() -> Any:
        return (await twice.abatch(["sure?"]))[0]

    async def one_by_one() -> Any:
        return [await RunnableLambda(ask).ainvoke("sure?") for _ in range(2)]

    graph = awaiting(in_one_batch if calls == 1 else one_by_one)
    await graph.ainvoke({}, CONFIG)
    await graph.ainvoke(Command(resume="A"), CONFIG)
    done = await graph.ainvoke(Command(resume="B"), CONFIG)
    assert done["answers"] == ["sure? A", "sure? B"]


@pytest.mark.parametrize("later", [by_others, by_nobody])
@pytest.mark.parametrize("first", [by_others, by_nobody])
def test_recorded_calls_of_a_batch_are_found_whichever_threads_make_them(
    monkeypatch: pytest.MonkeyPatch, first: Any, later: Any
) -> None:
    worked: list[str] = []

    @task
    def work(what: str) -> str:
        worked.append(what)
        return what.upper()

    def asks_before_a(what: str) -> str:
        if what == "a":
            interrupt("go on?")
        return work(what).result()

    graph = asking(lambda: RunnableLambda(asks_before_a).batch(["a", "b", "c"]))
    monkeypatch.setattr(batching, "on_a_thread", first)
    graph.invoke({}, CONFIG)
    monkeypatch.setattr(batching, "on_a_thread", later)
    done = graph.invoke(Command(resume="yes"), CONFIG)
    assert done["answers"] == ["A", "B", "C"]
    assert sorted(worked) == ["a", "b", "c"]


class Inner(TypedDict, total=False):
    question: str
    answer: str


INNER: Any = (
    StateGraph(Inner)
    .add_node("ask", lambda state: {"answer": ask(state["question"])})
    .add_edge(START, "ask")
    .compile()
)


def through_a_graph(question: str) -> str:
    return INNER.invoke({"question": question})["answer"]


def answered(graph: Any, answer: Callable[[Any], Any], call: Callable[[Any], Any]) -> Any:
    """What a graph comes to when each of its questions is answered in turn."""
    result = call({})
    while asked := result.get("__interrupt__"):
        result = call(Command(resume={one.id: answer(one.value) for one in asked}))
    return result["answers"]


@pytest.mark.parametrize("later", [by_others, by_nobody])
@pytest.mark.parametrize("first", [by_others, by_nobody])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.filterwarnings("error")
def test_graphs_that_calls_of_a_batch_run_are_found_again_by_their_call(
    monkeypatch: pytest.MonkeyPatch, first: Any, later: Any, depth: int
) -> None:
    asks = RunnableLambda(through_a_graph)
    twice = RunnableLambda(lambda letter: asks.batch([f"{letter}1", f"{letter}2"]))
    batch = (asks if depth == 1 else twice).batch
    after = RunnableLambda(through_a_graph).invoke
    graph = asking(lambda: [*batch(["a", "b", "c"]), after("last")])
    orders = iter([first])

    def call(given: Any) -> Any:
        monkeypatch.setattr(batching, "on_a_thread", next(orders, later))
        return graph.invoke(given, CONFIG)

    flat = ["a A", "b B", "c C"]
    nested = [[f"{letter}{n} {letter.upper()}{n}" for n in "12"] for letter in "abc"]
    found = answered(graph, str.upper, call)
    assert found == [*(flat if depth == 1 else nested), "last LAST"]


@pytest.mark.filterwarnings("error")
def test_a_graph_in_a_batch_asks_under_the_same_ids_when_it_is_streamed() -> None:
    batch = RunnableLambda(through_a_graph)
    graph = asking(lambda: batch.batch(["a", "b"], {"max_concurrency": 1}))
    first, second = graph.invoke({}, CONFIG)["__interrupt__"]
    resume = Command(resume={first.id: "A"})
    chunks = list(graph.stream(resume, CONFIG, stream_mode=["custom", "values"], subgraphs=True))
    ((left,),) = [chunk["__interrupt__"] for ns, _, chunk in chunks[-1:] if not ns]
    assert (left.value, left.id) == ("b", second.id)


@pytest.mark.filterwarnings("error")
def test_streamed_parallel_steps_ask_under_the_ids_of_invoked_ones() -> None:
    steps = RunnableParallel(left=lambda x: ask("sure?"), right=lambda x: ask("sure?"))
    invoked = asking(lambda: steps.invoke(None))
    left, right = invoked.invoke({}, CONFIG)["__interrupt__"]
    saver = invoked.checkpointer
    builder = StateGraph(State).add_node(
        "node", lambda state: {"answers": list(steps.stream(None))}
    )
    streamed = builder.add_edge(START, "node").compile(checkpointer=saver)
    done = streamed.invoke(Command(resume={left.id: 1, right.id: 2}), CONFIG)["answers"]
    merged = {key: value for chunk in done for key, value in chunk.items()}
    assert merged == {"left": "sure? 1", "right": "sure? 2"}


def test_graphs_beside_each_other_ask_together_and_are_answered_one_by_one() -> None:
    runs: list[str] = []

    def begin(state: State) -> State:
        runs.append(state["answers"])
        return {}

    builder = StateGraph(State).add_sequence(
        [("begin", begin), ("ask", lambda state: {"answers": ask(state["answers"])})]
    )
    inner = builder.add_edge(START, "begin").compile()
    graph = asking(
        lambda: [each["answers"] for each in inner.batch([{"answers": x} for x in "abc"])]
    )
    asked = graph.invoke({}, CONFIG)["__interrupt__"]
    assert [one.value for one in asked] == ["a", "b", "c"]
    assert graph.get_state(CONFIG).interrupts == tuple(asked)
    ids = {one.value: one.id for one in asked}
    left = graph.invoke(Command(resume={ids["b"]: "B"}), CONFIG)["__interrupt__"]
    assert [(one.value, one.id) for one in left] == [("a", ids["a"]), ("c", ids["c"])]
    answers = {ids["a"]: "A", ids["c"]: "C"}
    assert graph.invoke(Command(resume=answers), CONFIG)["answers"] == ["a A", "b B", "c C"]
    assert sorted(runs) == ["a", "b", "c"]
