"""Questions met less often: beside finished siblings, in path functions, many at once."""

import asyncio
import operator
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableLambda, RunnableParallel
from langgraph.cache.memory import InMemoryCache
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]
    x: int


class Items(TypedDict, total=False):
    items: Annotated[list, operator.add]


def by_text(parts):
    """Parts of tasks that run beside each other come in any order there."""
    return sorted(parts, key=repr)


def values_of(parts):
    """What the parts say, without ids, whose order is that of the parts."""

    def plain(value):
        if isinstance(value, dict) and "value" in value:
            return plain(value["value"])
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items() if key != "id"}
        if isinstance(value, (list, tuple)):
            return sorted(map(plain, value), key=repr)
        return getattr(value, "value", value)

    return plain(list(parts))


def asking(count, kept=True, **options):
    """`count` tasks that ask twice, and one that finishes."""
    builder = StateGraph(State, output_schema=Items)
    builder.add_node("q", lambda s: {"items": [interrupt(s["x"]), interrupt("again")]})
    builder.add_node("k", lambda s: {"items": ["k"]} if kept else None)
    builder.add_edge(START, "k")
    builder.add_conditional_edges(
        START, lambda s: [Send("q", {"x": i}) for i in range(count)], ["q"]
    )
    return builder.compile(**options)


def around(inner, **options):
    builder = StateGraph(Items)
    builder.add_node("sub", inner)
    builder.add_node("z", lambda s: {"items": ["z"]})
    builder.add_edge(START, "sub")
    builder.add_edge(START, "z")
    return builder.compile(**options)


MODES = ("values", "updates", "tasks", ["values", "updates"])


def case_each_waiting_task_is_a_part(env):
    found = []
    for mode in MODES:
        for kept in (True, False):
            graph = asking(2, kept, checkpointer=env.saver())
            config = {"configurable": {"thread_id": f"{mode}{kept}"}}
            found.append(values_of(graph.stream({"items": []}, config, stream_mode=mode)))
            first = {i.value: i.id for i in graph.get_state(config).interrupts}[0]
            answer = Command(resume={first: "A"})
            found.append(values_of(graph.stream(answer, config, stream_mode=mode)))
            found.append(values_of([graph.invoke(None, config)]))
    return found


async def case_each_waiting_task_is_a_part_async(env):
    found = []
    async with env.asaver() as saver:
        for mode in MODES:
            graph = asking(2, checkpointer=saver)
            config = {"configurable": {"thread_id": f"{mode}"}}
            stream = graph.astream({"items": []}, config, stream_mode=mode, version="v2")
            found.append(values_of([part async for part in stream]))
    return found


def case_what_finished_comes_last(env):
    graph = asking(1, checkpointer=env.saver())
    return [
        list(graph.stream({"items": []}, CONFIG, stream_mode="values")),
        list(graph.stream(Command(resume="A"), CONFIG, stream_mode="values")),
        list(graph.stream(Command(resume="B"), CONFIG, stream_mode="values")),
    ]


def case_one_output_key(env):
    graph = asking(1, checkpointer=env.saver())
    modes = ["values", "updates"]
    return by_text(graph.stream({"items": []}, CONFIG, stream_mode=modes, output_keys="items"))


def case_a_breakpoint_beside_questions(env):
    graph = asking(2, checkpointer=env.saver())
    stream = graph.stream({"items": []}, CONFIG, stream_mode=["values"], interrupt_after=["k"])
    return values_of(stream)


def case_questions_of_one_subgraph_are_one_part(env):
    found = []
    for mode in ("values", "updates"):
        for subgraphs in (False, True):
            graph = around(asking(2), checkpointer=env.saver())
            config = {"configurable": {"thread_id": f"{mode}{subgraphs}"}}
            options = {"stream_mode": mode, "subgraphs": subgraphs}
            parts = list(graph.stream({"items": []}, config, **options))
            found.append(values_of([part[1] if subgraphs else part for part in parts]))
    return found


def wheel(calls, saver, cache):
    """A fan-out of subgraphs: each has a flaky node, cached and retried, and asks."""

    def flaky(state):
        calls.append(("flaky", state["x"]))
        if state["x"] == 2 and calls.count(("flaky", 2)) == 1:
            raise ConnectionError("once")
        return {"items": [f"f{state['x']}"]}

    def ask(state):
        calls.append(("ask", state["x"]))
        return {"items": [interrupt(state["x"])]}

    inner = StateGraph(State, output_schema=Items)
    retry = RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False)
    kept = CachePolicy() if cache else None
    inner.add_node("flaky", flaky, retry_policy=retry, cache_policy=kept)
    inner.add_node("ask", ask)
    inner.add_edge(START, "flaky")
    inner.add_edge("flaky", "ask")
    outer = StateGraph(State)
    outer.add_node("sub", inner.compile(cache=InMemoryCache() if cache else None))
    outer.add_node("end", lambda s: {"items": ["end"]})
    outer.add_conditional_edges(
        START, lambda s: [Send("sub", {"items": [], "x": i}) for i in (1, 2, 3)], ["sub"]
    )
    outer.add_edge("sub", "end")
    return outer.compile(checkpointer=saver)


def waiting(snapshot):
    asked = sorted(i.value for task in snapshot.tasks for i in task.interrupts)
    return snapshot.values, snapshot.next, asked


def history(graph):
    found = graph.get_state_history(CONFIG)
    return [(s.metadata["source"], s.metadata["step"], s.next, s.values) for s in found]


def wheel_answered(env, cache, **options):
    calls = []
    graph = wheel(calls, env.saver(), cache)
    told = [graph.invoke({"items": []}, CONFIG, **options).get("items")]
    asked = graph.get_state(CONFIG)
    ids = {i.value: i.id for i in asked.interrupts}
    told.append(graph.invoke(Command(resume={ids[2]: "two"}), CONFIG, **options).get("items"))
    between = waiting(graph.get_state(CONFIG))
    answers = Command(resume={ids[1]: "one", ids[3]: "three"})
    told.append(graph.invoke(answers, CONFIG, **options))
    return told, waiting(asked), between, sorted(calls), history(graph)


def case_fan_out_of_subgraphs_with_cache_and_retry(env):
    return wheel_answered(env, cache=True)


def case_fan_out_of_subgraphs_with_exit_durability(env):
    return wheel_answered(env, cache=False, durability="exit")


async def case_fan_out_of_subgraphs_async(env):
    calls = []
    async with env.asaver() as saver:
        graph = wheel(calls, saver, cache=True)
        told = [(await graph.ainvoke({"items": []}, CONFIG)).get("items")]
        asked = await graph.aget_state(CONFIG)
        ids = {i.value: i.id for i in asked.interrupts}
        told.append((await graph.ainvoke(Command(resume={ids[2]: "two"}), CONFIG)).get("items"))
        told.append(await graph.ainvoke(Command(resume={ids[1]: "one", ids[3]: "three"}), CONFIG))
    return told, waiting(asked), sorted(calls)


def case_a_retried_node_that_asks_twice(env):
    calls = []

    def node(state):
        calls.append(1)
        if len(calls) in (1, 3):
            raise ConnectionError
        return {"items": [interrupt("q1"), interrupt("q2"), len(calls)]}

    policies = [
        RetryPolicy(retry_on=KeyError),
        RetryPolicy(retry_on=ConnectionError, max_attempts=2, initial_interval=0, jitter=False),
    ]
    builder = StateGraph(State)
    builder.add_node("n", node, retry_policy=policies)
    builder.add_edge(START, "n")
    graph = builder.compile(checkpointer=env.saver())
    inputs = [{"items": []}, Command(resume="a"), Command(resume="b")]
    return [graph.invoke(given, CONFIG) for given in inputs]


def case_a_path_function_that_asks(env):
    builder = StateGraph(State)
    builder.add_node("a", lambda s: {"items": ["a"]})
    builder.add_node("b", lambda s: {"items": ["b"]})
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda s: interrupt("where?"), ["b", END])
    graph = builder.compile(checkpointer=env.saver())
    asked = graph.invoke({"items": []}, CONFIG)
    return asked, waiting(graph.get_state(CONFIG)), graph.invoke(Command(resume="b"), CONFIG)


def case_a_path_function_of_the_start_that_asks(env):
    builder = StateGraph(State)
    builder.add_node("b", lambda s: {"items": ["b"]})
    builder.add_conditional_edges(START, lambda s: interrupt("where?"), ["b", END])
    graph = builder.compile(checkpointer=env.saver())
    asked = graph.invoke({"items": []}, CONFIG)
    return asked, waiting(graph.get_state(CONFIG)), graph.invoke(Command(resume="b"), CONFIG)


def answered(env, answers):
    found = []
    for number, answer in enumerate(answers):
        builder = StateGraph(State).add_node("q", lambda s: {"items": [interrupt("q")]})
        graph = builder.add_edge(START, "q").compile(checkpointer=env.saver())
        config = {"configurable": {"thread_id": str(number)}}
        graph.invoke({"items": []}, config)
        command = Command(resume=answer)
        found.append(env.error(lambda g=graph, c=config, a=command: g.invoke(a, c)))
    return found


def case_answers_that_look_like_none(env):
    return answered(env, [{"a": 1}, [], 0, "", False, {"x" * 32: 1}, [1, 2]])


def case_dicts_as_answers(env):
    return answered(env, [{}, {1: 2}])


def case_none_while_asked_asks_again(env):
    builder = StateGraph(State).add_node("q", lambda s: {"items": [interrupt("q")]})
    graph = builder.add_edge(START, "q").compile(checkpointer=env.saver())
    inputs = ({"items": []}, None, None, Command(resume=1))
    return [graph.invoke(given, CONFIG) for given in inputs]


def case_a_graph_that_asks_is_replaced_by_a_function_that_asks(env):
    saver = env.saver()

    def built(node):
        builder = StateGraph(Items).add_node("in", node).add_edge(START, "in")
        return builder.compile(checkpointer=saver)

    inner = StateGraph(Items).add_node("ask", lambda s: {"items": [interrupt("go on?")]})
    built(inner.add_edge(START, "ask").compile()).invoke({}, CONFIG)
    now = built(lambda s: {"items": [interrupt("which way?")]})
    return values_of(now.invoke(Command(resume="yes"), CONFIG).items()), now.get_state(CONFIG).next


def case_a_question_under_retries(env):
    calls = []

    def asks(state):
        calls.append(1)
        return {"items": [interrupt("sure?")]}

    retried = RunnableLambda(asks).with_retry(stop_after_attempt=3, wait_exponential_jitter=False)
    graph = StateGraph(State).add_node("node", retried).add_edge(START, "node")
    graph = graph.compile(checkpointer=env.saver())
    asked = graph.invoke({"items": []}, CONFIG)["__interrupt__"]
    values = [question.value for question in asked]
    return values, graph.invoke(Command(resume="yes"), CONFIG), len(calls)


def case_a_question_under_fallbacks(env):
    asks = RunnableLambda(lambda state: {"items": [interrupt("sure?")]})
    either = asks.with_fallbacks([RunnableLambda(lambda state: {"items": ["fallback"]})])
    graph = StateGraph(State).add_node("node", either).add_edge(START, "node")
    graph = graph.compile(checkpointer=env.saver())
    return [
        env.error(lambda: graph.invoke({"items": []}, CONFIG)),
        env.error(lambda: graph.invoke(Command(resume="yes"), CONFIG)),
    ]


def case_graphs_as_parallel_steps_that_ask(env):
    inner = StateGraph(State).add_node("ask", lambda state: {"items": [interrupt(state["x"])]})
    inner = inner.add_edge(START, "ask").compile()

    def node(state):
        results = inner.batch([{"items": [], "x": x} for x in range(3)])
        return {"items": [result["items"] for result in results]}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node")
    graph = graph.compile(checkpointer=env.saver())
    return [question.value for question in graph.invoke({"items": []}, CONFIG)["__interrupt__"]]


async def case_tasks_of_asyncio_that_ask(env):
    async def node(state):
        async def ask(question):
            return interrupt(question)

        return {"items": await asyncio.gather(ask("a?"), ask("b?"))}

    async with env.asaver() as saver:
        builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
        asked = await builder.compile(checkpointer=saver).ainvoke({"items": []}, CONFIG)
        return [question.value for question in asked["__interrupt__"]]


def case_parallel_steps_that_ask(env):
    class Answers(TypedDict, total=False):
        answers: dict

    steps = RunnableParallel(a=lambda x: interrupt("a?"), b=lambda x: interrupt("b?"))
    graph = StateGraph(Answers).add_node("node", lambda state: {"answers": steps.invoke(None)})
    graph = graph.add_edge(START, "node").compile(checkpointer=env.saver())
    asked = graph.invoke({}, CONFIG)["__interrupt__"]
    return [question.value for question in asked]
