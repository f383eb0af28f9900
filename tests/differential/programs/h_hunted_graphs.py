"""Realistic graphs in which several features meet: caches, deferred nodes, retries, forks."""

import asyncio
import operator
from typing import Annotated, Any, TypedDict

from langgraph.cache.memory import InMemoryCache
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt

from .waiting import until


class State(TypedDict, total=False):
    n: int
    log: Annotated[list, operator.add]


THREAD = {"configurable": {"thread_id": "1"}}
FAST = RetryPolicy(initial_interval=0.001, jitter=False, max_attempts=3)


def says(text):
    return lambda state: {"log": [text]}


def history(graph, config=THREAD):
    return [
        (one.metadata["source"], one.metadata["step"], one.values, one.next, len(one.tasks))
        for one in graph.get_state_history(config)
    ]


def sorted_parts(parts):
    return sorted(map(repr, parts))


def case_a_deferred_node_after_unequal_branches_with_a_question(env):
    builder = StateGraph(State)
    builder.add_node("long_1", says("l1"))
    builder.add_node("long_2", lambda state: {"log": [interrupt("go on?")]})
    builder.add_node("short", says("s"))
    builder.add_node("join", says("join"), defer=True)
    builder.add_edge(START, "long_1").add_edge(START, "short")
    builder.add_edge("long_1", "long_2").add_edge("long_2", "join").add_edge("short", "join")
    graph = builder.compile(checkpointer=env.saver())
    first = graph.invoke({"log": []}, THREAD)
    waiting = graph.get_state(THREAD).next
    return first["log"], waiting, graph.invoke(Command(resume="yes"), THREAD), history(graph)


def case_a_cached_node_in_a_loop(env):
    calls = []

    def square(state):
        calls.append(state["n"])
        return {"log": [state["n"] ** 2]}

    builder = StateGraph(State)
    builder.add_node("square", square, cache_policy=CachePolicy(key_func=lambda s: str(s["n"])))
    builder.add_node("next", lambda state: {"n": (state["n"] + 1) % 3})
    builder.add_edge(START, "square").add_edge("square", "next")
    builder.add_conditional_edges(
        "next", lambda state: "square" if len(state["log"]) < 7 else END, ["square", END]
    )
    graph = builder.compile(cache=InMemoryCache())
    return graph.invoke({"n": 0, "log": []}), calls


def case_cached_sends(env):
    calls = []

    def worker(given):
        calls.append(given["n"])
        return {"log": [given["n"] * 10]}

    builder = StateGraph(State)
    builder.add_node("plan", lambda state: {"n": 1})
    builder.add_node("worker", worker, cache_policy=CachePolicy())
    builder.add_edge(START, "plan")
    builder.add_conditional_edges(
        "plan", lambda state: [Send("worker", {"n": n}) for n in (1, 2, 3)], ["worker"]
    )
    graph = builder.compile(cache=InMemoryCache())
    first = graph.invoke({"log": []})
    parts = list(graph.stream({"log": []}, stream_mode="updates"))
    return first, sorted_parts(parts), sorted(calls)


def case_a_cached_subgraph(env):
    calls = []
    inner = StateGraph(State)
    inner.add_node("inside", lambda state: calls.append(1) or {"log": ["inside"]})
    inner.add_edge(START, "inside")
    builder = StateGraph(State)
    builder.add_node("sub", inner.compile(), cache_policy=CachePolicy())
    builder.add_edge(START, "sub")
    graph = builder.compile(cache=InMemoryCache())
    return [graph.invoke({"n": 1, "log": []}) for _ in range(2)], len(calls)


def case_retries_of_parallel_nodes_and_what_is_streamed(env):
    tries = {"a": 0, "b": 0}

    def flaky(name, until):
        def node(state, runtime: Runtime):
            tries[name] += 1
            runtime.stream_writer(f"{name}{tries[name]}")
            if tries[name] < until:
                raise ConnectionError(name)
            return {"log": [name]}

        return node

    builder = StateGraph(State)
    builder.add_node("a", flaky("a", 2), retry_policy=FAST)
    builder.add_node("b", flaky("b", 3), retry_policy=FAST)
    builder.add_edge(START, "a").add_edge(START, "b")
    graph = builder.compile(checkpointer=env.saver())
    parts = list(graph.stream({"log": []}, THREAD, stream_mode=["custom", "updates"]))
    return sorted_parts(parts), graph.get_state(THREAD).values, history(graph)


def case_a_failed_node_beside_a_good_one_goes_on(env):
    calls = []

    def good(state):
        calls.append("good")
        return {"log": ["good"]}

    def bad(state):
        calls.append("bad")
        if calls.count("bad") < 2:
            until(lambda: any(task.result for task in graph.get_state(THREAD).tasks))
            raise KeyError("bad")
        return {"log": ["bad"]}

    builder = StateGraph(State)
    builder.add_node("good", good)
    builder.add_node("bad", bad)
    builder.add_node("end", says("end"))
    builder.add_edge(START, "good").add_edge(START, "bad").add_edge(["good", "bad"], "end")
    graph = builder.compile(checkpointer=env.saver())

    error = env.error(lambda: graph.invoke({"log": []}, THREAD))
    waiting = graph.get_state(THREAD).next
    return error, sorted(waiting), graph.invoke(None, THREAD), calls.count("bad")


def case_forks_of_a_fork(env):
    builder = StateGraph(State)
    for name in ("a", "b", "c"):
        builder.add_node(name, says(name))
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"log": ["i"]}, THREAD)
    before_b = next(one for one in graph.get_state_history(THREAD) if one.next == ("b",))
    fork = graph.update_state(before_b.config, {"log": ["fork"]})
    graph.invoke(None, fork)
    again = next(one for one in graph.get_state_history(THREAD) if one.next == ("c",))
    second = graph.update_state(again.config, {"log": ["again"]}, as_node="b")
    result = graph.invoke(None, second)
    return result, history(graph)


def case_a_replay_of_a_loop_with_a_changed_state(env):
    builder = StateGraph(State)
    builder.add_node("step", lambda state: {"n": state["n"] + 1, "log": [state["n"]]})
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if s["n"] < 4 else END)
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"n": 0, "log": []}, THREAD)
    at = next(one for one in graph.get_state_history(THREAD) if one.values.get("n") == 2)
    config = graph.update_state(at.config, {"n": 3}, as_node="step")
    return graph.get_state(config).next, graph.invoke(None, config), history(graph)


def case_memory_of_a_subgraph_over_turns_and_a_fork(env):
    inner = StateGraph(State)
    inner.add_node("inside", lambda state: {"log": [f"in{len(state['log'])}"]})
    inner.add_edge(START, "inside")
    builder = StateGraph(State)
    builder.add_node("sub", inner.compile(checkpointer=True))
    builder.add_edge(START, "sub")
    graph = builder.compile(checkpointer=env.saver())
    results = [graph.invoke({"log": [turn]}, THREAD)["log"] for turn in ("x", "y")]
    inside = graph.get_state(THREAD, subgraphs=True)
    return results, inside.values["log"]


def case_stores_in_tools_of_a_flow(env):
    store = InMemoryStore()

    def remember(state, runtime: Runtime):
        runtime.store.put(("log", runtime.context["user"]), f"k{state['n']}", {"n": state["n"]})
        return {"n": state["n"] + 1}

    def recall(state, runtime: Runtime):
        found = runtime.store.search(("log", runtime.context["user"]))
        return {"log": sorted(item.value["n"] for item in found)}

    builder = StateGraph(State, context_schema=dict)
    builder.add_node("remember", remember)
    builder.add_node("recall", recall)
    builder.add_edge(START, "remember")
    builder.add_conditional_edges(
        "remember", lambda s: "remember" if s["n"] < 3 else "recall", ["remember", "recall"]
    )
    graph = builder.compile(store=store)
    results = [graph.invoke({"n": n, "log": []}, context={"user": "u"}) for n in (0, 2)]
    return results, store.list_namespaces()


def case_a_command_that_updates_and_sends(env):
    builder = StateGraph(State)

    def plan(state):
        sends = [Send("work", {"n": n}) for n in range(3)]
        return Command(update={"log": ["plan"]}, goto=[*sends, "side"])

    builder.add_node("plan", plan, destinations=("work", "side"))
    builder.add_node("work", lambda given: {"log": [given["n"]]})
    builder.add_node("side", says("side"))
    builder.add_edge(START, "plan")
    graph = builder.compile(checkpointer=env.saver())
    return graph.invoke({"log": []}, THREAD), history(graph)


def case_a_subgraph_that_hands_over_to_its_parent(env):
    inner = StateGraph(State)

    def leaves(state):
        return Command(graph=Command.PARENT, goto="other", update={"log": ["left"], "n": 9})

    inner.add_node("first", says("first"))
    inner.add_node("leaves", leaves)
    inner.add_edge(START, "first").add_edge("first", "leaves")
    builder = StateGraph(State)
    builder.add_node("sub", inner.compile(), destinations=("other",))
    builder.add_node("other", lambda state: {"log": [state["n"]]})
    builder.add_edge(START, "sub")
    graph = builder.compile(checkpointer=env.saver())
    parts = list(graph.stream({"log": []}, THREAD, stream_mode="updates", subgraphs=True))
    return [(len(ns), part) for ns, part in parts], graph.get_state(THREAD).values


def case_a_question_in_a_sent_task_among_others(env):
    def work(given):
        if given["n"] == 1:
            return {"log": [f"asked {interrupt({'n': given['n']})}"]}
        return {"log": [f"did {given['n']}"]}

    builder = StateGraph(State)
    builder.add_node("plan", lambda state: {})
    builder.add_node("work", work)
    builder.add_node("end", says("end"))
    builder.add_edge(START, "plan").add_edge("work", "end")
    builder.add_conditional_edges(
        "plan", lambda state: [Send("work", {"n": n}) for n in range(3)], ["work"]
    )
    graph = builder.compile(checkpointer=env.saver())
    first = list(graph.stream({"log": []}, THREAD, stream_mode="updates"))
    asked = [question.value for question in graph.get_state(THREAD).interrupts]
    second = list(graph.stream(Command(resume="ok"), THREAD, stream_mode="updates"))
    return sorted_parts(first), asked, second, graph.get_state(THREAD).values


def case_breakpoints_and_edits_at_each_stop(env):
    builder = StateGraph(State)
    for name in ("a", "b", "c"):
        builder.add_node(name, says(name))
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    graph = builder.compile(checkpointer=env.saver(), interrupt_after="*")
    seen = [graph.invoke({"log": []}, THREAD)]
    while graph.get_state(THREAD).next:
        graph.update_state(THREAD, {"log": ["edit"]})
        seen.append((graph.get_state(THREAD).next, graph.invoke(None, THREAD)))
    return seen, history(graph)


def case_output_keys_and_modes_of_version_2(env):
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"n": 1, "log": ["a"]})
    builder.add_node("b", lambda state: {"log": [interrupt("q")]})
    builder.add_edge(START, "a").add_edge("a", "b")
    graph = builder.compile(checkpointer=env.saver())
    output = graph.invoke({"log": []}, THREAD, output_keys=["n"], version="v2")
    parts = list(
        graph.stream(Command(resume=5), THREAD, stream_mode=["values", "updates"], version="v2")
    )
    return output.value, [one.value for one in output.interrupts], parts


async def case_an_async_flow_with_a_timeout_and_a_handler(env):
    async def slow(state):
        await asyncio.sleep(5)

    builder = StateGraph(State)
    builder.add_node("slow", slow, timeout=0.05, error_handler=lambda state: {"log": ["handled"]})
    builder.add_node("end", says("end"))
    builder.add_edge(START, "slow").add_edge("slow", "end")
    async with env.asaver() as saver:
        graph = builder.compile(checkpointer=saver)
        result = await graph.ainvoke({"log": []}, THREAD)
        return result, [one.next async for one in graph.aget_state_history(THREAD)]


async def case_async_runs_side_by_side_on_threads_of_their_own(env):
    async def node(state):
        await asyncio.sleep(0)
        return {"n": state["n"] + 1, "log": [state["n"]]}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    builder.add_conditional_edges("node", lambda s: "node" if s["n"] % 5 else END, ["node", END])
    async with env.asaver() as saver:
        graph = builder.compile(checkpointer=saver)
        configs = [{"configurable": {"thread_id": str(n)}} for n in range(4)]
        inputs = [{"n": n * 10, "log": []} for n in range(4)]
        return await asyncio.gather(
            *(graph.ainvoke(one, config) for one, config in zip(inputs, configs, strict=True))
        )


def case_batches_of_a_stored_graph(env):
    builder = StateGraph(State).add_node("a", says("a")).add_edge(START, "a")
    graph = builder.compile(checkpointer=env.saver())
    configs = [{"configurable": {"thread_id": str(n)}} for n in range(3)]
    results = graph.batch([{"log": [n]} for n in range(3)], configs)
    return results, [graph.get_state(config).values for config in configs]


def case_a_workflow_over_turns_with_previous_and_a_fork(env):
    @task
    def add(a, b):
        return a + b

    @entrypoint(checkpointer=env.saver())
    def total(n: int, *, previous: Any = None):
        value = add(n, previous or 0).result()
        return entrypoint.final(value={"total": value}, save=value)

    results = [total.invoke(n, THREAD) for n in (1, 2, 3)]
    old = [one for one in total.get_state_history(THREAD) if not one.next][1]
    return results, old.values, total.invoke(10, old.config), total.get_state(THREAD).values


def case_a_workflow_with_questions_between_cached_tasks(env):
    calls = []

    @task(cache_policy=CachePolicy())
    def cost(n):
        calls.append(n)
        return n * 2

    @entrypoint(checkpointer=env.saver(), cache=InMemoryCache())
    def flow(n: int):
        first = cost(n).result()
        answer = interrupt({"first": first})
        return first + cost(n).result() + cost(answer).result()

    asked = flow.invoke(3, THREAD)["__interrupt__"][0].value
    return asked, flow.invoke(Command(resume=4), THREAD), calls


def case_a_workflow_that_calls_a_graph_that_asks(env):
    inner = StateGraph(State)
    inner.add_node("asks", lambda state: {"log": [interrupt("inner?")]})
    inner.add_edge(START, "asks")
    graph = inner.compile()

    @task
    def before(n):
        return n + 1

    @entrypoint(checkpointer=env.saver())
    def flow(n: int):
        value = before(n).result()
        return {"log": graph.invoke({"log": [value]})["log"], "then": interrupt("outer?")}

    first = [one.value for one in flow.invoke(1, THREAD)["__interrupt__"]]
    second = [one.value for one in flow.invoke(Command(resume="i"), THREAD)["__interrupt__"]]
    return first, second, flow.invoke(Command(resume="o"), THREAD)


def case_a_workflow_that_retries_a_task_and_streams(env):
    tries = []

    @task(retry_policy=FAST)
    def flaky(n):
        tries.append(n)
        if len(tries) < 3:
            raise ConnectionError
        return n

    @entrypoint(checkpointer=env.saver())
    def flow(n: int, *, writer):
        writer("begin")
        value = flaky(n).result()
        writer("end")
        return value

    return list(flow.stream(1, THREAD, stream_mode=["custom", "updates", "values"])), len(tries)


def case_a_workflow_whose_task_fails_and_goes_on(env):
    calls = []

    @task
    def steady(n):
        calls.append("steady")
        return n

    @task
    def shaky(n):
        calls.append("shaky")
        if calls.count("shaky") == 1:
            raise ValueError("once")
        return n * 10

    @entrypoint(checkpointer=env.saver())
    def flow(n: int):
        return steady(n).result() + shaky(n).result()

    error = env.error(lambda: flow.invoke(1, THREAD))
    state = flow.get_state(THREAD)
    return error, state.next, flow.invoke(None, THREAD), calls


def case_projections_of_version_3_with_a_question(env):
    builder = StateGraph(State)
    builder.add_node("a", says("a"))
    builder.add_node("b", lambda state: {"log": [interrupt("q")]})
    builder.add_edge(START, "a").add_edge("a", "b")
    graph = builder.compile(checkpointer=env.saver())
    run = graph.stream_events({"log": []}, THREAD, version="v3")
    first = list(run.values), run.interrupted, [one.value for one in run.interrupts]
    run = graph.stream_events(Command(resume="r"), THREAD, version="v3")
    return first, run.output, run.interrupted


def case_debug_of_a_subgraph_that_retries(env):
    tries = []

    def flaky(state):
        tries.append(1)
        if len(tries) < 2:
            raise ConnectionError
        return {"log": ["inside"]}

    inner = StateGraph(State).add_node("flaky", flaky, retry_policy=FAST).add_edge(START, "flaky")
    builder = StateGraph(State).add_node("sub", inner.compile()).add_edge(START, "sub")
    graph = builder.compile(checkpointer=env.saver())
    parts = graph.stream({"log": []}, THREAD, stream_mode="tasks", subgraphs=True)
    return [
        (len(ns), part.get("name"), part.get("result"), part.get("error")) for ns, part in parts
    ]
