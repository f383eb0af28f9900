"""Calls spelled in ways that few programs use: inputs, limits, and entries of a config."""

import operator
from typing import Annotated, ClassVar, TypedDict

from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send
from pydantic import BaseModel


class State(TypedDict):
    log: Annotated[list, operator.add]


def logged(env, **kwargs):
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"log": ["a"]}, destinations=("b",))
    builder.add_node("b", lambda state: {"log": [f"b {state.get('x')}"]})
    builder.add_edge(START, "a")
    return builder.compile(**kwargs)


THREAD = {"configurable": {"thread_id": "1"}}


def history(graph, config):
    return [
        (each.metadata["source"], each.metadata["step"], each.values, each.next)
        for each in graph.get_state_history(config)
    ]


def case_a_send_as_the_input(env):
    return logged(env).invoke(Send("b", {"x": 1}))


def case_a_send_as_a_later_input(env):
    graph = logged(env, checkpointer=env.saver())
    graph.invoke({"log": ["i"]}, THREAD)
    return graph.invoke(Send("b", {"x": 1}), THREAD), history(graph, THREAD)


def case_a_send_in_the_command_of_an_input(env):
    return logged(env).invoke(Command(goto=Send("b", {"x": 1})))


def case_commands_and_dicts_in_a_list_as_the_input(env):
    graph = logged(env)
    return (
        graph.invoke([Command(update={"log": ["i"]})]),
        env.error(lambda: graph.invoke([{"log": ["i"]}])),
    )


def case_a_list_of_sends_as_the_input(env):
    return env.error(lambda: logged(env).invoke([Send("b", {"x": 1})]))


def case_a_call_without_an_input(env):
    graph = logged(env, checkpointer=env.saver(), interrupt_before=["a"])
    graph.invoke({"log": ["i"]}, THREAD)
    return env.error(lambda: graph.invoke(config=THREAD))


def case_a_limit_as_json_has_it(env):
    graph = logged(env)
    return graph.invoke({"log": []}, {"recursion_limit": 10.0})


def case_a_limit_as_a_text(env):
    return env.error(lambda: logged(env).invoke({"log": []}, {"recursion_limit": "10"}))


def case_a_limit_between_two_numbers(env):
    return env.error(lambda: logged(env).invoke({"log": []}, {"recursion_limit": 9.5}))


def case_the_older_name_of_a_checkpoint_id(env):
    graph = logged(env, checkpointer=env.saver())
    graph.invoke({"log": ["i"]}, THREAD)
    first = list(graph.get_state_history(THREAD))[-1].config["configurable"]["checkpoint_id"]
    config = {"configurable": {"thread_id": "1", "thread_ts": first}}
    return graph.get_state(config).values


class Sized(BaseModel):
    KIND: ClassVar[str] = "sized"
    n: int = 0


def sized(node):
    return StateGraph(Sized).add_node("a", node).add_edge(START, "a").compile()


def case_a_class_variable_is_read(env):
    return sized(lambda state: {"n": len(state.KIND) + state.n}).invoke({"n": 1})


def case_a_class_variable_is_written(env):
    return sized(lambda state: {"n": state.n + 1, "KIND": "other"}).invoke({"n": 1})


def case_a_saver_in_the_config(env):
    graph, saver = logged(env), env.saver()
    config = {"configurable": {"thread_id": "1", CONFIG_KEY_CHECKPOINTER: saver}}
    results = [graph.invoke({"log": ["i"]}, config) for _ in range(2)]
    graph.update_state(config, {"log": ["u"]}, as_node="a")
    parts = list(graph.stream({"log": ["j"]}, config, stream_mode="checkpoints"))
    stored = sum(1 for _ in saver.list(THREAD))
    return results, graph.get_state(config).values, history(graph, config), len(parts), stored


async def case_a_saver_in_the_config_of_async_calls(env):
    graph = logged(env)
    async with env.asaver() as saver:
        config = {"configurable": {"thread_id": "1", CONFIG_KEY_CHECKPOINTER: saver}}
        result = await graph.ainvoke({"log": ["i"]}, config)
        return result, (await graph.aget_state(config)).values


def case_a_saver_in_the_config_stands_before_that_of_the_graph(env):
    graph = logged(env, checkpointer=env.saver("own"))
    config = {"configurable": {"thread_id": "1", CONFIG_KEY_CHECKPOINTER: env.saver("other")}}
    graph.invoke({"log": ["i"]}, config)
    return history(graph, THREAD), history(graph, config)


def case_a_saver_in_the_config_of_a_graph_that_keeps_nothing(env):
    graph = logged(env, checkpointer=False)
    config = {"configurable": {"thread_id": "1", CONFIG_KEY_CHECKPOINTER: env.saver()}}
    return graph.invoke({"log": ["i"]}, config), sum(1 for _ in env.saver().list(THREAD))


def case_a_graph_inside_with_a_saver_in_the_config(env):
    builder = StateGraph(State)
    builder.add_node("inner", logged(env))
    builder.add_edge(START, "inner")
    config = {"configurable": {"thread_id": "1", CONFIG_KEY_CHECKPOINTER: env.saver()}}
    graph = builder.compile()
    return graph.invoke({"log": ["i"]}, config), history(graph, config)


async def case_invoke_in_the_mode_of_the_graph(env):
    graph = logged(env)
    return [
        graph.invoke({"log": ["i"]}, stream_mode=None),
        graph.invoke({"log": ["i"]}, stream_mode=None, version="v2"),
        await graph.ainvoke({"log": ["i"]}, stream_mode=None),
    ]
