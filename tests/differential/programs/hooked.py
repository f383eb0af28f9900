"""What programs about middleware share: middleware with all hooks, and runs of it."""

import inspect

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage

from .scripted import add, ai, call, model_of

USER = {"messages": [("user", "hi")]}
KINDS = ("before_agent", "before_model", "after_model", "after_agent")

REPAIRS = "repair_history" in inspect.signature(create_agent).parameters
UNREPAIRED = {"repair_history": False} if REPAIRS else {}
"""For histories with open calls: what plait does with them is a documented difference."""

ONE = ai(call("add", a=1, b=2))


def all_hooks(name):
    """Middleware that notes each of its hooks in the messages."""

    def hook(kind):
        def run(self, state, runtime):
            return {"messages": [HumanMessage(f"{name} {kind}")]}

        return run

    return type(name, (AgentMiddleware,), {kind: hook(kind) for kind in KINDS})()


def run(middleware, *script, tools=(add,), given=USER, **more):
    """The updates of one run, and what the model was asked."""
    model = model_of(*(script or (ONE, "done")))
    agent = create_agent(model, list(tools), middleware=middleware, **more)
    return list(agent.stream(given, {"recursion_limit": 20})), model.seen


async def arun(middleware, *script, tools=(add,), **more):
    model = model_of(*(script or (ONE, "done")))
    agent = create_agent(model, list(tools), middleware=middleware, **more)
    return [part async for part in agent.astream(USER, {"recursion_limit": 20})], model.seen


def picture(graph):
    drawn = graph.get_graph()
    edges = sorted((one.source, one.target, one.conditional) for one in drawn.edges)
    return list(drawn.nodes), edges
