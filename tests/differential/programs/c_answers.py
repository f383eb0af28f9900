"""Questions that say which shape their answer has."""

import operator
from dataclasses import dataclass
from typing import Annotated

from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import NodeError, is_invalid_resume
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

CONFIG = {"configurable": {"thread_id": "1"}}


class Review(BaseModel):
    ok: bool
    stars: int = 3


class Plain(TypedDict):
    ok: bool


@dataclass
class Record:
    ok: bool


JSON = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


class State(TypedDict, total=False):
    a: object


def shown(value):
    return (type(value).__name__, vars(value)) if hasattr(value, "__dict__") else value


def made(saver, *schemas):
    def node(state):
        return {"a": [shown(interrupt("?", response_schema=schema)) for schema in schemas]}

    builder = StateGraph(State)
    builder.add_node("n", node)
    builder.add_edge(START, "n")
    return builder.compile(saver)


def answered(app, *answers):
    first = app.invoke({"a": 0}, CONFIG)["__interrupt__"]
    told = [first[0].response_schema]
    for answer in answers:
        try:
            result = app.invoke(Command(resume=answer), CONFIG)
            told.append((result["a"], len(result.get("__interrupt__", ()))))
        except ValueError as error:
            state = app.get_state(CONFIG)
            told.append((is_invalid_resume(error), state.next, len(state.interrupts)))
    return told


def case_answers_that_fit(env):
    asked = [
        (Review, {"ok": True}),
        (Plain, {"ok": True}),
        (Record, {"ok": True}),
        (bool, True),
        (int | None, 5),
        (JSON, {"ok": True}),
        (JSON, "anything"),
        (None, 1),
    ]
    return [answered(made(InMemorySaver(), schema), answer) for schema, answer in asked]


def case_answer_that_does_not_fit_is_asked_again(env):
    return answered(made(env.saver(), Review), {"ok": "zz"}, 5, {"ok": False})


def case_second_of_two_questions(env):
    app = made(env.saver(), Review, bool)
    return answered(app, {"ok": True}, "zz", True)


def case_question_of_a_subgraph(env):
    inner = made(None, bool)
    builder = StateGraph(State)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    return answered(builder.compile(env.saver()), "zz", True)


async def case_async(env):
    async with env.asaver() as saver:

        async def node(state):
            return {"a": shown(interrupt("?", response_schema=Review))}

        builder = StateGraph(State)
        builder.add_node("n", node)
        builder.add_edge(START, "n")
        app = builder.compile(saver)
        await app.ainvoke({"a": 0}, CONFIG)
        refused = await env.aerror(app.ainvoke(Command(resume={"ok": "zz"}), CONFIG))
        state = await app.aget_state(CONFIG)
        last = await app.ainvoke(Command(resume={"ok": True}), CONFIG)
        return refused, state.next, len(state.interrupts), last


def case_other_errors(env):
    return is_invalid_resume(ValueError()), is_invalid_resume(RuntimeError("x"))


def asking(way):
    """A node that asks, with something around it or in it that handles errors."""

    def asks(state):
        return {"a": interrupt("?", response_schema=Review).ok}

    def handle(state, error: NodeError):
        return {"a": "handled"}

    always = RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False, retry_on=Exception)
    chain = RunnableLambda(asks)
    return {
        "policy": (asks, {"retry_policy": always}),
        "handler": (asks, {"error_handler": handle}),
        "retry": (chain.with_retry(wait_exponential_jitter=False), {}),
        "fallback": (chain.with_fallbacks([RunnableLambda(lambda state: {"a": "other"})]), {}),
    }[way]


def case_an_answer_that_does_not_fit_where_errors_are_handled(env):
    found = []
    for way in ("policy", "handler", "retry", "fallback"):
        node, more = asking(way)
        app = StateGraph(State).add_node("n", node, **more).add_edge(START, "n")
        app = app.compile(env.saver(way))
        app.invoke({"a": 0}, CONFIG)
        wrong = env.error(lambda app=app: app.invoke(Command(resume="zz"), CONFIG))
        found.append((wrong, app.get_state(CONFIG).next))
    return found


class Asked(TypedDict, total=False):
    a: Annotated[list, operator.add]


def asking_three(saver, inside):
    """Three questions at once, in a graph or in one that is its node."""

    def ask(name):
        return {"a": [(name, interrupt(name, response_schema=bool))]}

    builder = StateGraph(Asked).add_node("ask", ask)
    builder.add_conditional_edges(START, lambda state: [Send("ask", n) for n in "xyz"], ["ask"])
    if not inside:
        return builder.compile(saver)
    around = StateGraph(Asked).add_node("inner", builder.compile()).add_edge(START, "inner")
    return around.compile(saver)


def case_several_answers_that_do_not_fit(env):
    found = []
    for inside in (False, True):
        app = asking_three(env.saver(str(inside)), inside)
        ids = {one.value: one.id for one in app.invoke({"a": []}, CONFIG)["__interrupt__"]}
        for answers in ({"x": "no way", "y": "never"}, {"y": True}):
            resume = Command(resume={ids[name]: answer for name, answer in answers.items()})
            answer = env.error(lambda app=app, resume=resume: app.invoke(resume, CONFIG)["a"])
            left = sorted(one.value for one in app.get_state(CONFIG).interrupts)
            found.append((answer, left))
    return found
