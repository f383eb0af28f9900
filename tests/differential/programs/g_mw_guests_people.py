"""LangChain's own HumanInTheLoopMiddleware, in its agent and in plait's.

It is imported by its name as a text, which the harness does not replace: both sides are given the
same object.
"""

from importlib import import_module

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.types import Command

Reviewed = import_module("langchain.agents.middleware").HumanInTheLoopMiddleware
their_messages = import_module("langchain_core.messages")

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}
BOTH = {"add": True, "mul": True}
APPROVE = {"type": "approve"}
REJECT = {"type": "reject", "message": "Too much."}
RESPOND = {"type": "respond", "message": "It is 40."}


class Scripted(BaseChatModel):
    """Says what its script says."""

    script: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self.script.pop(0))])


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def mul(a: int, b: int) -> int:
    """Multiply."""
    return a * b


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def edit(name, **args):
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def agent_of(env, on, saver=None, **options):
    calls = [call("add", a=1, b=2), call("mul", "2", a=3, b=4)]
    script = [AIMessage("", tool_calls=calls), AIMessage("done")]
    middleware = [Reviewed(on, **options)]
    saver = saver or env.saver()
    return create_agent(
        Scripted(script=script), [add, mul], middleware=middleware, checkpointer=saver
    )


def state_of(agent):
    snapshot = agent.get_state(THREAD)
    values = {k: v for k, v in snapshot.values.items() if k != "hitl_decided_tool_calls"}
    asked = sorted((one.value for one in snapshot.interrupts), key=str)
    return values, snapshot.next, asked


def run(env, on, *answers, **options):
    agent = agent_of(env, on, **options)
    agent.invoke(USER, THREAD)
    found = [state_of(agent)]
    for answer in answers:
        agent.invoke(answer(agent) if callable(answer) else answer, THREAD)
        found.append(state_of(agent))
    return found


def decide(*decisions):
    return Command(resume={"decisions": list(decisions)})


def each(**decisions):
    """Answers to questions about single calls, by the name of the tool."""

    def answer(agent):
        asked = agent.get_state(THREAD).interrupts
        return Command(resume={one.id: decisions[one.value["name"]] for one in asked})

    return answer


def case_approve(env):
    return run(env, {"add": True}, decide(APPROVE))


def case_edit(env):
    return run(env, {"add": True}, decide(edit("add", a=20, b=20)))


def case_edit_without_a_notice(env):
    return run(env, {"add": True}, decide(edit("mul", a=20, b=2)), edit_notice=None)


def case_reject(env):
    return run(env, {"add": True}, decide(REJECT))


def case_respond(env):
    return run(env, {"add": True}, decide(RESPOND))


def case_several(env):
    return run(env, BOTH, decide(APPROVE, REJECT))


def case_several_in_other_words(env):
    answer = decide(edit("add", a=0, b=0), RESPOND)
    return run(env, BOTH, answer, description_prefix="Well?")


def case_nothing_is_gated(env):
    return run(env, {"add": False})


def case_each_alone(env):
    return run(env, BOTH, each(add=APPROVE, mul=REJECT), interrupt_mode="per_call")


def case_each_alone_changed(env):
    answer = each(add=edit("add", a=0, b=0), mul=RESPOND)
    return run(env, BOTH, answer, interrupt_mode="per_call")


def case_what_is_open(env):
    on = {"add": {"allowed_decisions": ["approve", "reject"], "description": "Add?"}}
    agent = agent_of(env, on)
    agent.invoke(USER, THREAD)
    return state_of(agent), env.error(lambda: agent.invoke(decide(RESPOND), THREAD))


def functions():
    """Policies whose functions are given LangChain's messages."""

    def described(tool_call, state, runtime):
        kinds = [isinstance(one, their_messages.BaseMessage) for one in state["messages"]]
        return f"{tool_call['name']} {kinds} {runtime.context}"

    def wanted(request):
        last = request.state["messages"][-1]
        return isinstance(last, their_messages.AIMessage) and request.tool_call["args"]["a"] > 2

    policy = {"allowed_decisions": ["approve"], "description": described, "when": wanted}
    return {"add": policy, "mul": policy}


def case_functions_of_a_policy(env):
    return run(env, functions(), decide(APPROVE))


def case_functions_of_a_policy_alone(env):
    return run(env, functions(), each(mul=APPROVE), interrupt_mode="per_call")


def case_another_name(env):
    class Careful(Reviewed):
        def __init__(self):
            super().__init__({"add": True})

    agent = create_agent(Scripted(script=[]), [add], middleware=[Careful()])
    return sorted(agent.get_graph().nodes)


async def case_async(env):
    async with env.asaver() as saver:
        agent = agent_of(env, BOTH, saver)
        await agent.ainvoke(USER, THREAD)
        await agent.ainvoke(decide(APPROVE, REJECT), THREAD)
        return (await agent.aget_state(THREAD)).values["messages"]
