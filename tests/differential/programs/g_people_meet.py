"""Two middlewares that ask people, in one agent: what one has decided, the other does not undo."""

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
    wrap_model_call,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import RemoveMessage
from langgraph.types import Command, interrupt

from .scripted import add, ai, call, model_of, mul

USER = {"messages": [("user", "hi")]}
APPROVE = {"type": "approve"}
REJECT = {"type": "reject"}
ADD = {"add": True}
MUL = {"mul": True}


class Second(HumanInTheLoopMiddleware):
    """Has a name of its own, so that an agent takes both."""


def edit(name, **args):
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def play(env, on, answers, modes=("batched", "batched")):
    """What was asked, and how the run ended; of middlewares, the last one asks first."""
    thread = {"configurable": {"thread_id": repr((on, answers, modes))}}
    agent = create_agent(
        model_of(ai(call("add", a=1, b=2), call("mul", "2", a=3, b=4)), "done"),
        [add, mul],
        middleware=[
            HumanInTheLoopMiddleware(on[0], interrupt_mode=modes[0]),
            Second(on[1], interrupt_mode=modes[1]),
        ],
        checkpointer=env.saver(),
    )
    asked, result = [], agent.invoke(USER, thread)
    for answer in answers:
        asked.append([each.value for each in result.get("__interrupt__", [])])
        given = answer if "decisions" in answer or modes[1] != modes[0] else {"decisions": [answer]}
        result = agent.invoke(Command(resume=given), thread)
    left = [each.value for each in result.get("__interrupt__", [])]
    return asked, left, [(m.type, m.content) for m in result["messages"]]


def case_each_asks_about_its_own_tool(env):
    return [
        play(env, (ADD, MUL), [APPROVE, APPROVE]),
        play(env, (MUL, ADD), [APPROVE, REJECT]),
    ]


def case_an_edit_of_the_last_that_was_asked(env):
    return [
        play(env, (ADD, MUL), [APPROVE, edit("mul", a=5, b=5)]),
        play(env, (ADD, ADD), [APPROVE, edit("add", a=5, b=5)]),
        play(env, (ADD, ADD), [edit("add", a=6, b=6), edit("add", a=5, b=5)]),
    ]


def case_an_edit_of_the_first_that_was_asked(env):
    return [
        play(env, (ADD, MUL), [edit("mul", a=5, b=5), APPROVE]),
        play(env, (ADD, MUL), [edit("mul", a=5, b=5), REJECT]),
    ]


def case_the_same_call_is_decided_about_twice(env):
    return [
        play(env, (ADD, ADD), answers)
        for answers in (
            [APPROVE, REJECT],
            [edit("add", a=6, b=6), APPROVE],
        )
    ]


def case_calls_that_a_limit_has_refused(env):
    agent = create_agent(
        model_of(ai(call("add", a=1, b=2), call("add", "2", a=3, b=4)), "done"),
        [add],
        middleware=[HumanInTheLoopMiddleware(ADD), ToolCallLimitMiddleware(run_limit=1)],
        checkpointer=env.saver(),
    )
    asked = agent.invoke(USER, {"configurable": {"thread_id": "1"}})["__interrupt__"]
    return [one["args"] for each in asked for one in each.value["action_requests"]]


def case_one_asks_at_once_and_one_as_calls_start(env):
    batch = {"decisions": [APPROVE]}
    modes = ("batched", "per_call")
    return [
        play(env, (ADD, ADD), [batch, APPROVE], modes),
        play(env, (ADD, ADD), [batch, REJECT], modes),
        play(env, (ADD, ADD), [{"decisions": [edit("add", a=5, b=5)]}, APPROVE], modes),
        play(env, (ADD, ADD), [batch, APPROVE], modes[::-1]),
    ]


def around(env, answers, outer="per_call"):
    """Both ask about one call: the outer one as it starts, the inner one before, all at once."""
    thread = {"configurable": {"thread_id": repr((answers, outer))}}
    agent = create_agent(
        model_of(ai(call("add", a=1, b=2)), "done"),
        [add, mul],
        middleware=[
            HumanInTheLoopMiddleware(ADD, interrupt_mode=outer),
            Second(ADD, edit_notice="Changed."),
        ],
        checkpointer=env.saver(),
    )
    result = agent.invoke(USER, thread)
    for answer in answers:
        result = agent.invoke(Command(resume=answer), thread)
    return [(m.type, m.content) for m in result["messages"]]


def case_an_edit_as_the_call_starts_of_what_was_approved_before(env):
    batch = {"decisions": [APPROVE]}
    return [
        around(env, [batch, edit("add", a=5, b=5)]),
        around(env, [{"decisions": [edit("add", a=7, b=7)]}, APPROVE]),
        around(env, [batch, REJECT]),
    ]


def case_an_edit_as_the_call_starts_of_what_was_edited_before(env):
    return around(env, [{"decisions": [edit("add", a=7, b=7)]}, edit("add", a=5, b=5)])


async def case_an_edit_as_the_call_starts_async(env):
    thread = {"configurable": {"thread_id": "1"}}
    async with env.asaver() as saver:
        agent = create_agent(
            model_of(ai(call("add", a=1, b=2)), "done"),
            [add, mul],
            middleware=[HumanInTheLoopMiddleware(ADD, interrupt_mode="per_call"), Second(ADD)],
            checkpointer=saver,
        )
        await agent.ainvoke(USER, thread)
        await agent.ainvoke(Command(resume={"decisions": [APPROVE]}), thread)
        result = await agent.ainvoke(Command(resume=edit("add", a=5, b=5)), thread)
    return [(m.type, m.content) for m in result["messages"]]


class TakesBack(AgentMiddleware):
    """Removes the answers of calls that were refused."""

    def after_model(self, state, runtime):
        told = [m for m in state["messages"] if m.type == "tool" and "rejected" in m.content]
        return {"messages": [RemoveMessage(m.id) for m in told]}


def case_a_refusal_that_a_hook_takes_back(env):
    agent = create_agent(
        model_of(ai(call("add", a=1, b=2)), "done"),
        [add],
        middleware=[TakesBack(), HumanInTheLoopMiddleware(ADD), Second(ADD)],
        checkpointer=env.saver(),
    )
    thread = {"configurable": {"thread_id": "1"}}
    agent.invoke(USER, thread)
    agent.invoke(Command(resume={"decisions": [APPROVE]}), thread)
    result = agent.invoke(Command(resume={"decisions": [REJECT]}), thread)
    asked = [each.value for each in result.get("__interrupt__", [])]
    return asked, [(m.type, m.content) for m in result["messages"]]


@wrap_model_call
def may_i(request, handler):
    """Asks before the model is."""
    interrupt("may I?", response_schema=bool)
    return handler(request)


def case_a_wrong_answer_and_middleware_that_handles_errors(env):
    alone = HumanInTheLoopMiddleware(ADD, interrupt_mode="per_call")
    found = []
    for number, middleware in enumerate(
        [
            [ToolRetryMiddleware(initial_delay=0), alone],
            [ToolErrorMiddleware(lambda error, request: "told"), alone],
            [ModelFallbackMiddleware(model_of("another")), may_i],
        ]
    ):
        thread = {"configurable": {"thread_id": f"wrong {number}"}}
        model = model_of(ai(call("add", a=1, b=2)), "done")
        agent = create_agent(model, [add], middleware=middleware, checkpointer=env.saver())
        agent.invoke(USER, thread)
        wrong = Command(resume={"type": "maybe"})
        answer = env.error(lambda agent=agent, one=wrong, its=thread: agent.invoke(one, its))
        found.append((answer, agent.get_state(thread).next))
    return found


def case_calls_that_give_the_structured_response(env):
    form = ToolStrategy({"title": "total", "type": "object", "properties": {}})
    model = model_of(ai(call("total", euro=5)), "done")
    people = HumanInTheLoopMiddleware({"total": True})
    saver = env.saver()
    agent = create_agent(
        model, [add], middleware=[people], response_format=form, checkpointer=saver
    )
    result = agent.invoke(USER, {"configurable": {"thread_id": "form"}})
    return len(result.get("__interrupt__", ())), result["structured_response"]
