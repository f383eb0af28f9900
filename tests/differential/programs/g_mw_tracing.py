"""configure_trace_policy: what tracers record of the hooks of middleware without a policy."""

from importlib import import_module
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    TracePolicy,
    before_model,
    configure_trace_policy,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

BaseTracer: Any = import_module("langchain_core.tracers").BaseTracer  # the peer's, on both sides


class Once(BaseChatModel):
    @property
    def _llm_type(self):
        return "once"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])


class Tracer(BaseTracer):
    def __init__(self):
        super().__init__()
        self.seen = []

    def _persist_run(self, run):
        pass

    def _on_run_update(self, run):
        if "Plain" in run.name or "Own" in run.name or "hook" in run.name:
            self.seen.append((run.name, sorted(run.inputs), sorted(run.outputs or {})))


class Plain(AgentMiddleware):
    def before_model(self, state, runtime):
        return {"messages": []}


class Own(AgentMiddleware):
    trace_policy = TracePolicy(process_inputs=lambda given: {"own": 1})

    def before_model(self, state, runtime):
        return {"messages": []}


@before_model
def hook(state, runtime):
    return {"messages": []}


POLICY = TracePolicy(
    process_inputs=lambda given: {"hidden": 1}, process_outputs=lambda given: {"left out": 1}
)


def recorded(agent):
    tracer = Tracer()
    agent.invoke({"messages": "hi"}, {"callbacks": [tracer]})
    return tracer.seen


def case_for_the_process(env):
    agent = create_agent(Once(), middleware=[Plain(), Own(), hook])
    found = [recorded(agent)]
    try:
        configure_trace_policy(POLICY)
        found.append(recorded(agent))
        found.append(recorded(create_agent(Once(), middleware=[Plain(), Own(), hook])))
    finally:
        configure_trace_policy(None)
    return found, recorded(agent)


def case_one_that_is_none(env):
    """The peer takes it."""
    try:
        return env.error(lambda: configure_trace_policy("everything"))
    finally:
        configure_trace_policy(None)
