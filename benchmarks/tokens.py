"""Owns the workload of tokens: a fake chat model in a node, read from the ``messages`` stream."""

from collections.abc import AsyncIterator, Iterator
from itertools import cycle
from typing import Any

from benchmarks.implementations import Implementation
from benchmarks.measure import Job, run_async


def _words(tokens: int) -> list[str]:
    """Words and the spaces between them: ``tokens`` pieces of a stream, an odd number."""
    return ["word" if n % 2 == 0 else " " for n in range(tokens)]


def tokens(impl: Implementation, count: int, *, run_as_async: bool) -> Job:
    """One node invokes a model, and the consumer reads each of its tokens."""
    answer = impl.AIMessage("".join(_words(count)))
    model = impl.GenericFakeChatModel(messages=cycle([answer]))

    def talk(state: Any) -> dict[str, list[Any]]:
        return {"messages": [model.invoke(state["messages"])]}

    async def atalk(state: Any) -> dict[str, list[Any]]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = impl.StateGraph(impl.MessagesState)
    builder.add_node("talk", atalk if run_as_async else talk)
    builder.add_edge(impl.START, "talk")
    graph = builder.compile()
    given = {"messages": [("user", "talk")]}

    def run() -> list[str]:
        return [chunk.content for chunk, _ in graph.stream(given, stream_mode="messages")]

    async def run_coroutines() -> list[str]:
        return [chunk.content async for chunk, _ in graph.astream(given, stream_mode="messages")]

    return Job(lambda: run_async(run_coroutines())) if run_as_async else Job(run)


def chain(impl: Implementation, count: int) -> Job:
    """Prompt, model, parser: each piece of the answer goes through as it comes."""
    prompt = impl.piece("prompts", "ChatPromptTemplate")([("system", "{a}"), ("human", "{b}")])
    model = impl.GenericFakeChatModel(messages=cycle([impl.AIMessage("".join(_words(count)))]))
    talk = prompt | model | impl.piece("output_parsers", "StrOutputParser")()
    return Job(lambda: list(talk.stream({"a": "x", "b": "y"})))


def chain_floor(count: int) -> Job:
    """A generator."""
    return floor(count, run_as_async=False)


def floor(count: int, *, run_as_async: bool) -> Job:
    """Two generators, one in the other."""

    def said() -> Iterator[str]:
        yield from _words(count)

    def run() -> list[str]:
        return [token for token in said()]  # noqa: C416 - as the program: one by one

    async def asaid() -> AsyncIterator[str]:
        for token in _words(count):
            yield token

    async def run_coroutines() -> list[str]:
        return [token async for token in asaid()]

    return Job(lambda: run_async(run_coroutines())) if run_as_async else Job(run)
