"""What a Command as an input writes to a thread that waits, once something else is done with it."""

from operator import add
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, Overwrite, Send, interrupt

THREAD = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    log: Annotated[list, add]
    n: int


def waiting(env, command, **options):
    """A thread that waits, and to which a Command has written; `other` is never in its turn."""
    graph = StateGraph(State)
    graph.add_node("ask", lambda s: {"log": [interrupt("well?")]})
    graph.add_node("other", lambda s: {"log": ["other"]}, **options)
    graph.add_edge(START, "ask")
    app = graph.compile(checkpointer=env.saver())
    app.invoke({"log": ["first"]}, THREAD)
    app.invoke(command, THREAD)
    return app


def standing(app):
    state = app.get_state(THREAD)
    return [state.values, state.next, [one.value for one in state.interrupts]]


def ended(app, given):
    """What is told of a turn, how the thread stands, and what came before."""
    told = app.invoke(given, THREAD)["log"]
    past = [(one.values, one.metadata["source"]) for one in app.get_state_history(THREAD)]
    return [told, standing(app), past]


UPDATE = Command(update={"log": ["written"], "n": 5})


def case_a_new_input_after_an_update(env):
    return ended(waiting(env, UPDATE), {"log": ["second"]})


def case_a_new_input_after_two_updates(env):
    app = waiting(env, UPDATE)
    app.invoke(Command(update={"log": ["again"]}), THREAD)
    return ended(app, {"log": ["second"]})


def in_turn(env, *updates):
    app = waiting(env, UPDATE)
    for one in updates:
        told = app.invoke(Command(update=one), THREAD)
    there = standing(app)
    app.update_state(app.get_state(THREAD).config, {"log": ["by hand"]}, as_node="other")
    return [told["log"], told.get("n"), there, app.get_state(THREAD).values]


def case_updates_of_a_key_that_takes_one_value(env):
    twice = [("n", 1), ("n", 2)]
    found = [
        env.error(lambda: in_turn(env, {"n": 6}, {"n": 7})),
        env.error(lambda: in_turn(env, {"n": 6}, {"log": ["more"]}, {"n": 7})),
        env.error(lambda: in_turn(env, {"log": Overwrite(["a"])}, {"log": Overwrite(["b"])})),
        env.error(lambda: in_turn(env, {"log": Overwrite(["a"])}, {"log": ["b"]})),
        env.error(lambda: in_turn(env, twice)),
    ]
    return found


def case_inputs_and_updates_in_turn(env):
    app = waiting(env, UPDATE)
    found = [ended(app, {"log": ["second"]}), ended(app, Command(update={"log": ["again"]}))]
    return [*found, ended(app, {"log": ["third"]}), ended(app, Command(resume="yes"))]


def case_a_new_input_after_a_command_that_leads_on(env):
    found = []
    for goto in ("other", [Send("other", {})], "__end__"):
        app = waiting(env, Command(update={"log": ["written"]}, goto=goto))
        app.invoke({"log": ["second"]}, THREAD)
        found.append(standing(app))
    return found


def case_a_new_input_after_a_command_that_leads_to_a_deferred_node(env):
    app = waiting(env, Command(update={"log": ["written"]}, goto="other"), defer=True)
    told = app.invoke({"log": ["second"]}, THREAD)["log"]
    return [told, app.invoke(Command(resume="yes"), THREAD)["log"]]


def case_what_is_done_at_the_checkpoint_that_was_written_to(env):
    found = []
    for given in (None, {"log": ["new"]}, Command(update={"log": ["more"]}), Command(resume="x")):
        app = waiting(env, UPDATE)
        at = app.get_state(THREAD).config
        app.invoke({"log": ["second"]}, THREAD)
        told = app.invoke(given, at)
        found.append([told["log"], told["n"], app.get_state(at).values])
    return found


async def case_async(env):
    app = waiting(env, UPDATE)
    async with env.asaver() as saver:
        app = app.copy({"checkpointer": saver})
        return (await app.ainvoke({"log": ["second"]}, THREAD))["log"]


def case_an_update_by_hand_after_an_update(env):
    app = waiting(env, UPDATE)
    app.update_state(THREAD, {"log": ["by hand"]})
    return standing(app)
