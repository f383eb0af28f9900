"""A compiled graph is a runnable, and composes with everything that composes runnables."""

from typing import TypedDict

from plait.graph import START, StateGraph
from plait.runnables import ConfigurableField, RunnableLambda, RunnableParallel, RunnablePassthrough


class State(TypedDict, total=False):
    n: int


def graph_of(node):
    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile()


GRAPH = graph_of(lambda state: {"n": state["n"] + 1})


async def test_between_two_lambdas():
    chain = RunnableLambda(lambda n: {"n": n}) | GRAPH | (lambda state: state["n"] * 10)
    assert chain.invoke(1) == 20
    assert await chain.ainvoke(1) == 20
    assert chain.batch([1, 2]) == [20, 30]
    told = RunnableLambda(lambda n: {"n": n}) | GRAPH | (lambda updates: updates["node"]["n"] * 10)
    assert list(told.stream(1)) == [20]  # what a graph streams by default are updates


def test_batches_of_a_graph():
    assert GRAPH.batch([{"n": n} for n in range(20)]) == [{"n": n + 1} for n in range(20)]
    assert sorted(GRAPH.batch_as_completed([{"n": 1}, {"n": 2}])) == [(0, {"n": 2}), (1, {"n": 3})]


def test_in_a_parallel_and_an_assign():
    assert RunnableParallel(a=GRAPH, b=GRAPH).invoke({"n": 1}) == {"a": {"n": 2}, "b": {"n": 2}}
    assert RunnablePassthrough.assign(g=GRAPH).invoke({"n": 1}) == {"n": 1, "g": {"n": 2}}


def test_a_failing_graph_is_tried_again():
    left = [ValueError("once")]

    def flaky(state):
        if left:
            raise left.pop()
        return {"n": state["n"] + 1}

    graph = graph_of(flaky)
    assert graph.with_retry(wait_exponential_jitter=False).invoke({"n": 1}) == {"n": 2}


def test_a_failing_graph_falls_back():
    def bad(state):
        raise ValueError

    assert graph_of(bad).with_fallbacks([GRAPH]).invoke({"n": 1}) == {"n": 2}


def test_the_parts_of_a_graph_stream_through_a_chain():
    chain = RunnableLambda(lambda n: {"n": n}) | GRAPH
    assert list(chain.stream(1)) == list(GRAPH.stream({"n": 1}))
    assert list((GRAPH | RunnablePassthrough()).stream({"n": 1})) == list(GRAPH.stream({"n": 1}))


def test_a_graph_bound_to_a_config_and_alternatives():
    seen = []

    def look(state, config):
        seen.append((config["configurable"].get("who"), config.get("tags")))
        return {}

    graph = graph_of(look)
    graph.with_config(configurable={"who": "ann"}, tags=["t"]).invoke({"n": 1})
    chosen = GRAPH.configurable_alternatives(ConfigurableField(id="which"), other=graph)
    chosen.invoke({"n": 1}, {"configurable": {"which": "other", "who": "bob"}})
    assert [who for who, _ in seen] == ["ann", "bob"]
    assert chosen.invoke({"n": 1}) == {"n": 2}


def test_a_chain_is_a_node():
    chain = RunnableLambda(lambda state: state["n"]) | {"n": lambda n: n * 5}
    assert graph_of(chain).invoke({"n": 3}) == {"n": 15}


async def test_listeners_and_events_of_a_graph():
    heard = []
    GRAPH.with_listeners(on_end=lambda run: heard.append(run.outputs)).invoke({"n": 1})
    assert heard == [{"n": 2}]
    chain = RunnableLambda(lambda n: {"n": n}) | GRAPH
    names = [event["name"] async for event in chain.astream_events(1) if "start" in event["event"]]
    assert names[0] == "RunnableSequence"
    assert {"LangGraph", "node"} <= set(names)
