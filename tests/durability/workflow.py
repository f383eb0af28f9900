"""The workflow that the kill tests run: a sequence, a fan-out, a question, an end.

Every node leaves "begin" and "done" lines in a file opened for appending, under its task id, so
that what happened is counted outside the database under test.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

from plait.func import entrypoint, task
from plait.graph import START, StateGraph
from plait.runtime import get_runtime
from plait.types import Command, Send, interrupt

DOCUMENTS = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]
CONFIG: Any = {"configurable": {"thread_id": "kill"}, "max_concurrency": 2}
NESTED = {"trail": ["plan", "one", "two:yes", "three", "tail"], "sizes": []}
"""The final state of the workflow with a graph inside a node."""
CALLS = {"trail": ["6", "8", "yes", "15"]}
"""The final state of the workflow that calls tasks."""
EXPECTED = {
    "trail": ["plan", "prepare", *DOCUMENTS, "reduce", "ask:yes", "finish", "tail"],
    "sizes": [1, 2, 3, 4, 5, 6],
    "total": 21,
}
"""The final state of a run that nothing disturbed."""


class Journal:
    """Lines in a file that only grows; each is one atomic append."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def add(self, *words: str) -> None:
        """Append one line."""
        with self.path.open("ab", buffering=0) as file:
            file.write((" ".join(words) + "\n").encode())

    def lines(self) -> list[list[str]]:
        """All lines so far, as words."""
        return [line.split() for line in self.path.read_text().splitlines()]


class State(TypedDict, total=False):
    trail: Annotated[list[str], operator.add]
    sizes: Annotated[list[int], operator.add]
    total: int


Work = Callable[[Any], dict[str, Any]]


def noting(journal: Journal, api: str) -> Callable[[str, Work], Any]:
    """Makes nodes that note in the journal when they begin and when they are done."""

    def node(name: str, work: Work) -> Any:
        def run(given: Any) -> dict[str, Any]:
            info = get_runtime().execution_info
            journal.add("begin", name, info.task_id, str(info.node_attempt))
            update = work(given)
            journal.add("done", name, info.task_id)
            return update

        async def arun(given: Any) -> dict[str, Any]:
            return run(given)

        return arun if api == "async" else run

    return node


def build_nested(saver: Any, journal: Journal, api: str) -> Any:
    """A workflow with a graph inside a node, which asks in its middle."""
    node = noting(journal, api)
    inner = chain(
        None,
        ("one", node("one", lambda _: {"trail": ["one"]})),
        ("two", node("two", lambda _: {"trail": [f"two:{interrupt('go on?')}"]})),
        ("three", node("three", lambda _: {"trail": ["three"]})),
    )

    def call(state: Any) -> dict[str, Any]:
        return {"trail": inner.invoke({"trail": []})["trail"]}

    async def acall(state: Any) -> dict[str, Any]:
        return {"trail": (await inner.ainvoke({"trail": []}))["trail"]}

    return chain(
        saver,
        ("plan", node("plan", lambda _: {"trail": ["plan"]})),
        ("inner", acall if api == "async" else call),
        ("tail", node("tail", lambda _: {"trail": ["tail"]})),
    )


CALLED = ["fetch", "left", "right", "leaf", "after"]
"""The tasks of the workflow that calls tasks; "leaf" is called by "left" and by "right"."""


def calls(saver: Any, journal: Journal, api: str, *, node: bool) -> Any:
    """Code that calls tasks, one after the other, beside each other and inside each other.

    Args:
        node: the code is a node of a graph instead of an entrypoint.
    """
    made = noting(journal, api)
    tasks: dict[str, Any] = {}

    def leaf(x: int) -> int:
        return x + 1

    async def acalling(x: int) -> int:
        return await tasks["leaf"](x) * 2

    def calling(x: int) -> int:
        return tasks["leaf"](x).result() * 2

    for name in CALLED:
        work: Any = leaf if name not in ("left", "right") else calling
        if api == "async" and work is calling:
            tasks[name] = task(name=name)(anoting(journal, name, acalling))
        else:
            tasks[name] = task(name=name)(made(name, work))

    def code(given: Any) -> Any:
        begun = tasks["fetch"](1).result()
        beside = [tasks["left"](begun), tasks["right"](begun + 1)]
        done = [call.result() for call in beside]
        answer = interrupt("go on?")
        return {"trail": [*map(str, done), answer, str(tasks["after"](sum(done)).result())]}

    async def acode(given: Any) -> Any:
        begun = await tasks["fetch"](1)
        beside = [tasks["left"](begun), tasks["right"](begun + 1)]
        done = [await call for call in beside]
        answer = interrupt("go on?")
        return {"trail": [*map(str, done), answer, str(await tasks["after"](sum(done)))]}

    work = acode if api == "async" else code
    return chain(saver, ("code", work)) if node else entrypoint(checkpointer=saver)(work)


def anoting(journal: Journal, name: str, work: Any) -> Any:
    """An async node that notes in the journal when it begins and when it is done."""

    async def arun(given: Any) -> Any:
        info = get_runtime().execution_info
        journal.add("begin", name, info.task_id, str(info.node_attempt))
        update = await work(given)
        journal.add("done", name, info.task_id)
        return update

    return arun


def build_calls(saver: Any, journal: Journal, api: str) -> Any:
    """An entrypoint that calls tasks."""
    return calls(saver, journal, api, node=False)


def build_steps(saver: Any, journal: Journal, api: str) -> Any:
    """A graph with a node that calls tasks."""
    return calls(saver, journal, api, node=True)


HANDLED = {"trail": ["plan", "handled:yes:broken", "tail"]}
"""The final state of the workflow with a node that fails and an error handler that asks."""


def build_handled(saver: Any, journal: Journal, api: str) -> Any:
    """A workflow whose node fails for good, beside one that does not; its error handler asks."""
    node = noting(journal, api)

    def fails(state: Any) -> Any:
        info = get_runtime().execution_info
        journal.add("done", "broken", info.task_id)  # its failure is an outcome like any other
        raise RuntimeError("beyond repair")

    def handle(state: Any) -> Any:
        answer = interrupt("go on?")
        return Command(goto="tail", update={"trail": [f"handled:{answer}:broken"]})

    builder: Any = StateGraph(State)
    builder.add_node("plan", node("plan", lambda _: {"trail": ["plan"]}))
    builder.add_node("broken", node("broken", fails), error_handler=node("handler", handle))
    builder.add_node("sibling", node("sibling", lambda _: {"sizes": []}))
    builder.add_node("tail", node("tail", lambda _: {"trail": ["tail"]}))
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "broken")
    builder.add_edge("plan", "sibling")
    return builder.compile(checkpointer=saver)


def chain(saver: Any, *nodes: tuple[str, Any]) -> Any:
    """Nodes one after the other."""
    builder: Any = StateGraph(State)
    for name, node in nodes:
        builder.add_node(name, node)
    for first, then in pairwise([START, *(name for name, _ in nodes)]):
        builder.add_edge(first, then)
    return builder.compile(checkpointer=saver)


def build(saver: Any, journal: Journal, api: str) -> Any:
    """The compiled workflow; with `api="async"` its nodes are coroutines."""
    node = noting(journal, api)

    def step(name: str) -> Any:
        return node(name, lambda state: {"trail": [name]})

    builder: Any = StateGraph(State)
    builder.add_node("plan", step("plan"))
    builder.add_node("prepare", step("prepare"))
    builder.add_node("work", node("work", lambda doc: {"trail": [doc], "sizes": [len(doc)]}))
    builder.add_node(
        "reduce", node("reduce", lambda s: {"trail": ["reduce"], "total": sum(s["sizes"])})
    )
    builder.add_node("ask", node("ask", lambda s: {"trail": [f"ask:{interrupt('go on?')}"]}))
    builder.add_node("finish", step("finish"))
    builder.add_node("tail", step("tail"))
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "prepare")
    builder.add_conditional_edges(
        "prepare", lambda _: [Send("work", doc) for doc in DOCUMENTS], ["work"]
    )
    builder.add_edge("work", "reduce")
    for first, then in (("reduce", "ask"), ("ask", "finish"), ("finish", "tail")):
        builder.add_edge(first, then)
    return builder.compile(checkpointer=saver)


def next_input(state: Any) -> Any:
    """What the thread needs to go on: an input, an answer, nothing, or (...) it has finished."""
    if state.created_at is None:
        return {"trail": []}
    if any(task.interrupts for task in state.tasks):
        return Command(resume="yes")
    return None if state.next else ...


def finish(graph: Any, durability: str) -> None:
    """Go on until the workflow has ended."""
    while (given := next_input(graph.get_state(CONFIG))) is not ...:
        graph.invoke(given, CONFIG, durability=durability)


async def afinish(graph: Any, durability: str) -> None:
    """`finish` with the async API."""
    while (given := next_input(await graph.aget_state(CONFIG))) is not ...:
        await graph.ainvoke(given, CONFIG, durability=durability)
