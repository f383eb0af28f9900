"""What random programs found, made small: several nodes of one super-step that fail."""

import operator
import threading
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def beside(saver, **nodes):
    builder = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder.compile(checkpointer=saver)


def shown(snapshot):
    tasks = [(task.name, task.error, task.result) for task in snapshot.tasks]
    return snapshot.values, snapshot.next, tasks


def case_each_error_of_a_super_step_is_kept(env):
    together, calls = threading.Barrier(3), []

    def fails(name):
        def node(state):
            if calls.count(name) == 0:
                calls.append(name)
                together.wait()
                raise ValueError("no")
            calls.append(name)
            return {"items": [name]}

        return node

    def works(state):
        calls.append("c")
        together.wait()
        return {"items": ["c"]}

    app = beside(env.saver(), a=fails("a"), b=fails("b"), c=works)
    first = env.error(lambda: app.invoke({"items": ["in"]}, CONFIG))
    stopped = shown(app.get_state(CONFIG))
    return first, stopped, app.invoke(None, CONFIG), sorted(calls)


async def case_each_error_of_a_super_step_is_kept_async(env):
    async def fails(state):
        raise ValueError("no")

    async def works(state):
        return {"items": ["c"]}

    async with env.asaver() as saver:
        app = beside(saver, a=fails, b=fails, c=works)
        first = await env.aerror(app.ainvoke({"items": ["in"]}, CONFIG))
        return first, shown(await app.aget_state(CONFIG))
