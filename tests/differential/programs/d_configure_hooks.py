"""Handlers that libraries register with `register_configure_hook`, as those that trace do."""

import os
from contextvars import ContextVar
from typing import TypedDict

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers.context import register_configure_hook
from langgraph.graph import END, START, StateGraph


class Hears(BaseCallbackHandler):
    def __init__(self):
        self.heard = []

    def on_chain_start(self, serialized, inputs, **kwargs):
        self.heard.append(("chain", kwargs.get("name")))

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.heard.append(("model", messages[0][-1].content))

    def on_tool_start(self, serialized, input_str, **kwargs):
        self.heard.append(("tool", input_str))


HEARING = ContextVar("hearing", default=None)
register_configure_hook(HEARING, True)


class hearing:
    def __enter__(self):
        self.handler = Hears()
        self.token = HEARING.set(self.handler)
        return self.handler

    def __exit__(self, *raised):
        HEARING.reset(self.token)


class State(TypedDict):
    text: str


@tool
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


def graph():
    def ask(state: State):
        model = GenericFakeChatModel(messages=iter([AIMessage("hello")]))
        return {"text": model.invoke(state["text"]).content}

    def loud(state: State):
        return {"text": shout.invoke({"text": state["text"]})}

    builder = StateGraph(State).add_node("ask", ask).add_node("loud", loud)
    return builder.add_edge(START, "ask").add_edge("ask", "loud").add_edge("loud", END).compile()


LENGTH = RunnableLambda(len, name="length")


def case_a_runnable(env):
    with hearing() as handler:
        LENGTH.invoke("four")
        LENGTH.invoke("four", {"tags": ["a"]})
        LENGTH.batch(["a", "b"])
        list(LENGTH.stream("four"))
    LENGTH.invoke("unheard")
    return handler.heard


async def case_a_runnable_async(env):
    with hearing() as handler:
        await LENGTH.ainvoke("four")
        await LENGTH.abatch(["a", "b"])
        [each async for each in LENGTH.astream("four")]
    await LENGTH.ainvoke("unheard")
    return handler.heard


def case_beside_callbacks_that_are_given(env):
    other = Hears()
    with hearing() as handler:
        LENGTH.invoke("four", {"callbacks": [other]})
        LENGTH.invoke("four", {"callbacks": [handler]})
        (LENGTH | RunnableLambda(str, name="text")).invoke("four", {"callbacks": [other]})
    return handler.heard, other.heard


def case_a_graph_and_what_it_calls(env):
    with hearing() as handler:
        graph().invoke({"text": "hi"})
        graph().invoke({"text": "ho"}, {"tags": ["a"]})
    graph().invoke({"text": "unheard"})
    return handler.heard


async def case_a_graph_async(env):
    with hearing() as handler:
        await graph().ainvoke({"text": "hi"})
        [part async for part in graph().astream({"text": "ho"}, {"recursion_limit": 5})]
    return handler.heard


def case_set_inside_of_a_node(env):
    found = []

    def node(state: State):
        with hearing() as handler:
            LENGTH.invoke("four")
        found.extend(handler.heard)
        LENGTH.invoke("unheard")
        return {}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    builder.compile().invoke({"text": "hi"})
    return found


def case_an_environment_variable_asks(env):
    made = []

    class Counts(Hears):
        def __init__(self):
            super().__init__()
            made.append(self)

    name = "PLAIT_TEST_CONFIGURE_HOOK"
    register_configure_hook(ContextVar("counts", default=None), True, Counts, name)
    told = []
    for value in ("", "0", "false", "true", "1"):
        os.environ[name] = value
        before = sum(len(each.heard) for each in made)
        LENGTH.invoke("four")
        told.append((value, sum(len(each.heard) for each in made) - before))
    del os.environ[name]
    try:
        register_configure_hook(ContextVar("none", default=None), True, None, name)
    except ValueError as error:
        told.append(type(error).__mro__[-4] is not None)
    return told
