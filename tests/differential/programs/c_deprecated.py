"""Older spellings: they work, and warn under the names that programs filter by."""

import warnings
from importlib import import_module

from langgraph.channels import EphemeralValue
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Interrupt, RetryPolicy
from langgraph.warnings import (
    LangGraphDeprecatedSinceV05,
    LangGraphDeprecatedSinceV10,
    LangGraphDeprecatedSinceV11,
    LangGraphDeprecationWarning,
)
from typing_extensions import TypedDict

from .scripted import model_of

CONFIG = {"configurable": {"thread_id": "1"}}
ONCE = RetryPolicy(max_attempts=1)


class State(TypedDict, total=False):
    a: str


class Other(TypedDict, total=False):
    a: str


def told(call):
    """What a call returns, and the classes of the warnings that it tells."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [
        w.category.__name__ for w in caught if issubclass(w.category, DeprecationWarning)
    ]


def nothing(state):
    return {}


def made(saver=None, **older):
    builder = StateGraph(State, **older)
    builder.add_node("n", nothing)
    builder.add_edge(START, "n")
    return builder.compile(saver)


def case_schemas_of_a_graph(env):
    def name(schema):
        return schema and schema.__name__

    return [
        told(lambda: name(StateGraph(State, config_schema=Other).context_schema)),
        told(lambda: name(StateGraph(State, State, config_schema=Other).context_schema)),
        told(lambda: name(StateGraph(State, config_schema=None).context_schema)),
        told(lambda: name(StateGraph(State, input=Other).input_schema)),
        told(lambda: name(StateGraph(State, input=Other, input_schema=State).input_schema)),
        told(lambda: name(StateGraph(State, output=Other).output_schema)),
    ]


def case_nodes(env):
    def attempts(**given):
        tried = []

        def flaky(state):
            tried.append(1)
            if len(tried) < 3:
                raise ConnectionError
            return {"a": "x"}

        builder = StateGraph(State)
        builder.add_node("n", flaky, **given)
        builder.add_edge(START, "n")
        return env.error(lambda: builder.compile().invoke({"a": ""})), len(tried)

    soon = RetryPolicy(initial_interval=0.001, jitter=False)
    builder = StateGraph(State)
    return [
        told(lambda: attempts(retry=soon)),
        told(lambda: attempts(retry=soon, retry_policy=ONCE)),
        told(lambda: builder.add_node("n", nothing, input=Other).nodes["n"].input_schema.__name__),
    ]


def case_functions(env):
    def decorated(name):
        def flow(x, runtime):
            return x

        flow.__name__ = name
        return flow

    return [
        told(lambda: len(task(retry=ONCE)(nothing).retry_policy)),
        told(lambda: entrypoint(retry=ONCE).retry_policy.max_attempts),
        told(lambda: entrypoint(config_schema=Other).context_schema.__name__),
        told(lambda: entrypoint(retry=ONCE)(decorated("one")).invoke(1)),
    ]


def case_pregel_by_hand(env):
    node = NodeBuilder().subscribe_only("a").do(nothing).write_to("a")
    given = {"nodes": {"n": node}, "channels": {"a": EphemeralValue(dict)}}
    given |= {"input_channels": "a", "output_channels": "a", "config_type": Other}
    return told(lambda: Pregel(**given).context_schema.__name__)


def case_checkpoint_during(env):
    app = made(env.saver())
    return [
        told(lambda: app.invoke({"a": "1"}, CONFIG, checkpoint_during=False)),
        told(lambda: app.invoke({"a": "1"}, CONFIG, checkpoint_during=True)),
        told(lambda: list(app.stream({"a": "1"}, CONFIG, checkpoint_during=True))),
        told(lambda: list(app.stream({"a": "1"}, CONFIG, checkpoint_during=None))),
        told(
            lambda: env.error(
                lambda: app.invoke({"a": ""}, CONFIG, checkpoint_during=True, durability="exit")
            )
        ),
        len(list(app.get_state_history(CONFIG))),
    ]


def case_config_schema(env):
    app = made()
    return [
        told(lambda: app.config_schema().__name__),
        told(lambda: sorted(app.get_config_jsonschema())),
    ]


def case_the_context_of_an_agent(env):
    def made_with(**schemas):
        agent, classes = told(lambda: create_react_agent(model_of(), [], **schemas))
        return agent.context_schema, classes.count("LangGraphDeprecatedSinceV10") - once

    # The peer warns of `create_react_agent` itself, too.
    once = len(told(lambda: create_react_agent(model_of(), []))[1])
    given = [
        made_with(config_schema=Other),
        made_with(config_schema=Other, context_schema=State),
        made_with(context_schema=State),
    ]
    known = {State: "State", Other: "Other"}
    unknown = env.error(lambda: create_react_agent(model_of(), [], context_shema=State))
    return [(known[schema], warned) for schema, warned in given], unknown


def case_interrupts(env):
    def raised():
        errors = import_module(f"{StateGraph.__module__.split('.')[0]}.errors")
        return errors.NodeInterrupt("x", id="i").args[0][0].value

    return [
        told(lambda: Interrupt("x", id="i").interrupt_id),
        told(lambda: Interrupt("x", resumable=True, when="during").value),
        told(lambda: Interrupt("x", id="i", ns=["n:1"]).id),
        told(raised),
    ]


def case_names_that_moved(env):
    constants = import_module(f"{StateGraph.__module__.split('.')[0]}.constants")
    names = ("Send", "Interrupt", "INTERRUPT", "RESUME", "ERROR", "INPUT", "PREVIOUS", "NS_SEP")
    more = ("NS_END", "PUSH", "PULL", "NULL_TASK_ID")
    return [
        (getattr(getattr(constants, name), "__name__", getattr(constants, name)))
        for name in (*names, *more)
    ]


def case_message_graph_and_graph_output(env):
    graph = import_module(f"{StateGraph.__module__.split('.')[0]}.graph")
    types = import_module(f"{StateGraph.__module__.split('.')[0]}.types")
    return [
        told(lambda: type(graph.MessageGraph()).__name__),
        told(lambda: types.GraphOutput({"a": 1})["a"]),
    ]


def case_the_warnings_themselves(env):
    kinds = LangGraphDeprecatedSinceV05, LangGraphDeprecatedSinceV10, LangGraphDeprecatedSinceV11
    made = [kind("It is old.") for kind in kinds]
    made.append(LangGraphDeprecationWarning("It is old", since=(0, 7)))
    return [
        (str(w), w.message, w.since, w.expected_removal, issubclass(type(w), DeprecationWarning))
        for w in made
    ]


def case_unknown_keywords_of_constructors(env):
    return [
        type(env.error(lambda: StateGraph(State, zzz=1))).__name__,
        type(env.error(lambda: StateGraph(State).add_node("n", nothing, zzz=1))).__name__,
        type(env.error(lambda: task(zzz=1)(nothing))).__name__,
        type(env.error(lambda: entrypoint(zzz=1))).__name__,
    ]
