"""Ways to run a compiled graph: invoke, batch, stream, inputs that are empty or wrong."""

import asyncio
from operator import add
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


def app_of(*nodes, schema=State, **options):
    graph = StateGraph(schema)
    for i, node in enumerate(nodes):
        graph.add_node(f"n{i}", node)
        graph.add_edge(f"n{i - 1}" if i else START, f"n{i}")
    return graph.compile(**options)


def plus(state):
    return {"n": state.get("n", 0) + 1}


def case_empty_inputs(env):
    app = app_of(plus)
    return [env.error(lambda v=v: app.invoke(v)) for v in ({}, None, [], "", 0)]


def case_wrong_inputs(env):
    app = app_of(plus)
    return [env.error(lambda v=v: app.invoke(v)) for v in ("text", 5, ["a"], [1, 2])]


def case_input_as_pairs(env):
    return env.error(lambda: app_of(plus).invoke([("n", 5)]))


def case_empty_input_of_nodes_that_write_nothing(env):
    app = app_of(lambda s: None)
    return [app.invoke({}), app.invoke({"n": 1}), list(app.stream({}, stream_mode="values"))]


def case_only_unwritten_reducer_keys(env):
    return app_of(lambda s: {"log": []}).invoke({})


def case_none_as_value(env):
    app = app_of(lambda s: {"n": None})
    return [app.invoke({"n": None}), app.invoke({"n": 3})]


async def case_empty_input_async(env):
    return [await env.aerror(app_of(plus).ainvoke(v)) for v in ({}, None)]


def case_invoke_none_with_a_saver(env):
    app = app_of(plus, checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    return [
        env.error(lambda: app.invoke(None, config)),
        app.invoke({"n": 1}, config),
        env.error(lambda: app.invoke(None, config)),
        app.invoke({}, config),
    ]


def case_missing_thread_id(env):
    app = app_of(plus, checkpointer=env.saver())
    return [
        env.error(lambda: app.invoke({"n": 1})),
        env.error(lambda: app.invoke({}, {})),
    ]


def case_missing_thread_id_in_get_state(env):
    app = app_of(plus, checkpointer=env.saver())
    return env.error(lambda: app.get_state({"configurable": {}}))


def case_state_without_a_saver(env):
    app = app_of(plus)
    config = {"configurable": {"thread_id": "1"}}
    return [
        env.error(lambda: app.get_state(config)),
        env.error(lambda: list(app.get_state_history(config))),
        env.error(lambda: app.update_state(config, {"n": 1})),
    ]


def case_batch(env):
    app = app_of(plus, plus)
    return app.batch([{"n": i} for i in range(5)])


def case_batch_with_errors(env):
    app = app_of(lambda s: {"n": 10 // s["n"]})
    return [
        app.batch([{"n": 1}, {"n": 0}, {"n": 5}], return_exceptions=True),
        env.error(lambda: app.batch([{"n": 1}, {"n": 0}])),
        app.batch([]),
    ]


def case_batch_with_configs(env):
    def node(state, config):
        return {"n": config["configurable"]["x"]}

    configs = [{"configurable": {"x": i}} for i in range(3)]
    return app_of(node).batch([{}, {}, {}], configs)


async def case_abatch(env):
    return await app_of(plus).abatch([{"n": i} for i in range(5)])


async def case_gather(env):
    app = app_of(plus)
    return await asyncio.gather(*(app.ainvoke({"n": i}) for i in range(5)))


def case_stream_default_mode(env):
    return list(app_of(plus, plus).stream({"n": 1}))


def case_stream_mode_as_list(env):
    return list(app_of(plus, plus).stream({"n": 1}, stream_mode=["values", "updates"]))


async def case_astream(env):
    app = app_of(plus, plus)
    return [
        [part async for part in app.astream({"n": 1})],
        [part async for part in app.astream({"n": 1}, stream_mode="values")],
    ]


def case_invoke_with_stream_mode(env):
    app = app_of(plus, plus)
    return [
        app.invoke({"n": 1}, stream_mode="updates"),
        app.invoke({"n": 1}, stream_mode=["values", "updates"]),
        app.invoke({"n": 1}, stream_mode=["updates"]),
    ]


def case_unknown_keyword_of_a_call(env):
    return env.error(lambda: app_of(plus).invoke({"n": 1}, thread_id="1"))


def case_unknown_stream_mode(env):
    return env.error(lambda: list(app_of(plus).stream({"n": 1}, stream_mode="unknown")))


def case_tuple_of_stream_modes(env):
    return list(app_of(plus).stream({"n": 1}, stream_mode=("values", "updates")))


def case_graph_in_a_pipe(env):
    chain = (
        RunnableLambda(lambda n: {"n": n}) | app_of(plus) | RunnableLambda(lambda s: s["n"] * 10)
    )
    return chain.invoke(4)


def case_result_is_a_plain_dict(env):
    result = app_of(plus).invoke({"n": 1})
    result["n"] = 100
    return [isinstance(result, dict), result]


def case_runs_do_not_share_state(env):
    app = app_of(lambda s: {"log": ["x"]})
    return [app.invoke({}), app.invoke({}), app.invoke({"log": [1]})]


def case_input_is_not_mutated(env):
    given = {"log": [1], "n": 1}
    app = app_of(lambda s: {"log": ["x"], "n": 2})
    return [app.invoke(given), given]


def case_nodes_get_their_own_dict(env):
    def grab(state):
        state["n"] = 99
        state["new"] = 1
        return {"log": [sorted(state)]}

    return app_of(grab, lambda s: {"log": [s["n"], sorted(s)]}).invoke({"n": 1})


def case_half_read_stream(env):
    ran = []

    def node(state):
        ran.append(state["n"])
        return {"n": state["n"] + 1}

    stream = app_of(node, node, node).stream({"n": 0})
    first = next(stream)
    stream.close()
    return [first, ran[0]]


def case_with_types_and_bind(env):
    app = app_of(plus)
    return [app.with_retry(stop_after_attempt=2).invoke({"n": 1}), app.pick("n").invoke({"n": 1})]


def case_copy_of_a_compiled_graph(env):
    app = app_of(plus, name="first")
    copy = app.copy({"name": "second"})
    return [app.name, copy.name, copy.invoke({"n": 1})]


def case_default_interrupts_of_compile(env):
    app = app_of(plus, plus, interrupt_before=["n1"], checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    first = app.invoke({"n": 0}, config)
    return [first, app.get_state(config).next, app.invoke(None, config), app.get_state(config).next]


def case_messages_input_forms(env):
    app = app_of(lambda s: {"messages": ("ai", str(len(s["messages"])))}, schema=MessagesState)
    return [
        app.invoke({"messages": "text"}),
        app.invoke({"messages": [("user", "a"), {"role": "user", "content": "b"}]}),
        app.invoke({}),
    ]


def case_step_by_step_values(env):
    graph = StateGraph(State)
    graph.add_node("a", lambda s: {"log": ["a"]})
    graph.add_node("b", lambda s: {"log": ["b"]})
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    graph.add_edge("b", END)
    return list(graph.compile().stream({"n": 1}, stream_mode="values"))


def case_many_steps(env):
    graph = StateGraph(State)
    graph.add_node("n", plus)
    graph.add_edge(START, "n")
    graph.add_conditional_edges("n", lambda s: "n" if s["n"] < 300 else END)
    return graph.compile().invoke({"n": 0}, {"recursion_limit": 1000})
