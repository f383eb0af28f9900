"""Groups of errors: what a `TaskGroup` in a node raises when one of its tasks asks."""

import asyncio
import operator
from typing import Annotated, TypedDict

from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    items: Annotated[list, operator.add]


def alone(node, **options):
    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile(**options)


async def together(*calls):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]


async def ask(question):
    return interrupt(question)


async def answered(graph, given):
    asked = await graph.ainvoke(given, CONFIG)
    answers = {question.id: f"{question.value} yes" for question in asked["__interrupt__"]}
    return await graph.ainvoke(Command(resume=answers), CONFIG)


async def case_a_question_in_a_task_group(env):
    async def node(state):
        return {"items": await together(ask("a?"))}

    async with env.asaver() as saver:
        graph = alone(node, checkpointer=saver)
        return await env.aerror(answered(graph, {"items": []}))


async def case_a_graph_that_asks_in_a_task_group(env):
    async def asks(state):
        return {"items": [await ask("a?")]}

    inner = alone(asks)

    async def node(state):
        (found,) = await together(inner.ainvoke({"items": []}))
        return found

    async with env.asaver() as saver:
        graph = alone(node, checkpointer=saver)
        return await env.aerror(answered(graph, {"items": []}))


async def case_a_task_that_asks_in_a_task_group(env):
    @task
    async def asks():
        return await ask("a?")

    async def call():
        return await asks()

    async with env.asaver() as saver:

        @entrypoint(checkpointer=saver)
        async def flow(given):
            return await together(call())

        return await env.aerror(answered(flow, 1))


async def case_a_command_for_the_parent_in_a_task_group(env):
    inner = alone(lambda state: Command(graph=Command.PARENT, update={"items": ["up"]}))

    async def node(state):
        await together(inner.ainvoke({"items": []}))

    return await env.aerror(alone(node).ainvoke({"items": []}))


async def case_a_failure_beside_a_question_in_a_task_group(env):
    async def fails():
        raise ValueError

    async def node(state):
        await together(ask("a?"), fails())

    async with env.asaver() as saver:
        return await env.aerror(alone(node, checkpointer=saver).ainvoke({"items": []}, CONFIG))
