"""Jumps to the tools, where some calls of the model's message, or all, are answered already."""

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ToolCallLimitMiddleware,
    after_model,
    before_model,
    hook_config,
)
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from .scripted import add, ai, call, model_of, mul

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}
BOTH = (call("add", "1", a=1, b=2), call("mul", "2", a=3, b=4))


def play(env, *middleware, answer=None):
    """What the messages are, and what the model was asked last."""
    model = model_of(ai(*BOTH), "done", "more")
    agent = create_agent(model, [add, mul], middleware=middleware, checkpointer=env.saver())
    result = agent.invoke(USER, THREAD)
    if answer is not None:
        result = agent.invoke(Command(resume={"decisions": answer}), THREAD)
    return [(m.type, m.content) for m in result["messages"]], model.seen[-1][0]


class Once(AgentMiddleware):
    """Jumps to the tools after the model's first message, with answers to some of its calls."""

    def __init__(self, *answers):
        self.answers, self.jumped = answers, False

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state, runtime):
        if self.jumped:
            return None
        self.jumped = True
        told = [ToolMessage(f"kept {id}", tool_call_id=id) for id in self.answers]
        return {"jump_to": "tools", "messages": told}


def case_nothing_is_answered(env):
    return [play(env, Once()), play(env, Once(), HumanInTheLoopMiddleware({"mul": False}))]


def case_nothing_is_answered_and_a_person_approves(env):
    return play(env, Once(), HumanInTheLoopMiddleware({"add": True}), answer=[{"type": "approve"}])


def case_some_are_answered_by_the_hook(env):
    return play(env, Once("1"))


def case_all_are_answered_by_the_hook(env):
    return play(env, Once("2", "1"))


def case_a_person_has_refused_one(env):
    asks = HumanInTheLoopMiddleware({"add": True})
    return play(env, Once(), asks, answer=[{"type": "reject", "message": "no"}])


def case_a_limit_has_refused_one(env):
    return play(env, Once(), ToolCallLimitMiddleware(tool_name="mul", run_limit=0))


def case_a_hook_that_is_not_the_last(env):
    @after_model
    def last(state, runtime):
        return None

    return play(env, last, Once("1"))


def case_before_the_model_when_all_are_answered(env):
    jumps = []

    @before_model(can_jump_to=["tools"])
    def again(state, runtime):
        if state["messages"][-1].type == "tool" and not jumps:
            jumps.append(1)
            return {"jump_to": "tools"}
        return None

    return play(env, again)
