"""People at an agent: approvals of several kinds in one thread, answered here and elsewhere."""

import asyncio

from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    PIIMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
    after_agent,
    after_model,
    before_model,
    dynamic_prompt,
    wrap_model_call,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_dev_utils.tool_calling import human_in_the_loop, human_in_the_loop_async
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from .desks import ADD, USER, said, thread
from .scripted import add, ai, call, model_of, mul

APPROVE = {"type": "approve"}
MUL = call("mul", "2", a=3, b=4)


OWN = {"metadata", "hitl_decided_tool_calls"}
"""What tasks and the private state of approvals have on one side only (both have their rows)."""


def asked(result):
    return [one.value for one in result.get("__interrupt__", [])]


def edit(name, **args):
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def decisions(*given):
    return Command(resume={"decisions": [*given]})


def gated(env, script, *middleware, on=None, tools=(add, mul), **more):
    """An agent as a new process would make it: the script is what its model has left to say."""
    people = HumanInTheLoopMiddleware(on or {"add": True, "mul": True})
    return create_agent(
        model_of(*script),
        [*tools],
        middleware=[*middleware, people],
        checkpointer=env.saver(),
        **more,
    )


def case_asked_here_and_answered_elsewhere(env):
    first = gated(env, [ai(ADD, MUL)]).invoke(USER, thread())
    second = gated(env, ["done"])
    waiting = second.get_state(thread())
    done = second.invoke(decisions(APPROVE, {"type": "respond", "message": "twelve"}), thread())
    third = gated(env, ["again"]).invoke(USER, thread())
    return (
        asked(first),
        waiting.next,
        [i.value for i in waiting.interrupts],
        said(done),
        said(third),
    )


def case_streams_of_a_question_and_its_answer(env):
    modes = ["updates", "values", "messages", "custom", "tasks", "checkpoints"]
    parts = [*gated(env, [ai(ADD)]).stream(USER, thread(), stream_mode=modes)]
    more = [
        *gated(env, ["done"]).stream(decisions(edit("add", a=2, b=2)), thread(), stream_mode=modes)
    ]
    return [
        [(m, sorted({*p} - OWN) if isinstance(p, dict) else p[0].content) for m, p in run]
        for run in (parts, more)
    ]


async def case_asked_in_sync_and_answered_in_async(env):
    if env.kind == "sqlite":
        gated(env, [ai(ADD)]).invoke(USER, thread())
        async with env.asaver() as saver:
            people = HumanInTheLoopMiddleware({"add": True})
            agent = create_agent(model_of("done"), [add], middleware=[people], checkpointer=saver)
            return said(await agent.ainvoke(decisions(APPROVE), thread()))
    agent = gated(env, [ai(ADD), "done"])
    await asyncio.to_thread(agent.invoke, USER, thread())
    return said(await agent.ainvoke(decisions(APPROVE), thread()))


def case_rejected_and_called_again(env):
    again = call("add", "9", a=9, b=9)
    gated(env, [ai(ADD)]).invoke(USER, thread())
    second = gated(env, [ai(again)]).invoke(
        decisions({"type": "reject", "message": "no"}), thread()
    )
    return asked(second), said(gated(env, ["fine"]).invoke(decisions(APPROVE), thread()))


def case_a_fork_before_the_answer(env):
    agent = gated(env, [ai(ADD), "one", "two"])
    agent.invoke(USER, thread())
    at = agent.get_state(thread()).config
    first = agent.invoke(decisions(APPROVE), thread())
    again = agent.invoke(None, at)
    fork = agent.invoke(decisions({"type": "reject"}), thread())
    return said(first), asked(again), said(fork), len([*agent.get_state_history(thread())])


def case_approvals_with_exit_durability(env):
    first = gated(env, [ai(ADD)]).invoke(USER, thread(), durability="exit")
    done = gated(env, ["done"]).invoke(decisions(APPROVE), thread(), durability="exit")
    return asked(first), said(done), len([*gated(env, []).get_state_history(thread())])


def case_an_answer_with_an_update(env):
    gated(env, [ai(ADD)]).invoke(USER, thread())
    command = Command(resume={"decisions": [APPROVE]}, update={"messages": [HumanMessage("and")]})
    return env.error(lambda: said(gated(env, ["done"]).invoke(command, thread())))


def case_a_new_question_in_the_place_of_an_answer(env):
    gated(env, [ai(ADD)]).invoke(USER, thread())
    result = gated(env, ["I see"]).invoke({"messages": [("user", "wait")]}, thread())
    return said(result), asked(result)


def case_descriptions_from_the_state(env):
    def about(tool_call, state, runtime):
        return f"{tool_call['name']} after {len(state['messages'])} for {runtime.context}"

    def often(request):
        return request.tool_call["args"]["a"] > 1 and len(request.state["messages"]) < 9

    on = {"add": {"allowed_decisions": ["approve"], "description": about, "when": often}}
    small, large = call("add", "1", a=1, b=1), call("add", "2", a=2, b=2)
    agent = gated(env, [ai(small, large), "done"], on=on, context_schema=dict)
    first = agent.invoke(USER, thread(), context={"user": "ann"})
    return asked(first), said(agent.invoke(decisions(APPROVE), thread(), context={"user": "ann"}))


def case_a_stack_of_middleware_over_turns(env):
    def stack():
        return [
            TodoListMiddleware(system_prompt="Plan."),
            PIIMiddleware("email", apply_to_tool_results=True),
            ModelCallLimitMiddleware(thread_limit=6),
            ToolCallLimitMiddleware(tool_name="mul", run_limit=1),
            ToolRetryMiddleware(max_retries=1, initial_delay=0),
        ]

    results = []
    gated(env, [ai(ADD, MUL)], *stack()).invoke({"messages": [("user", "I am a@b.org")]}, thread())
    results.append(
        said(gated(env, ["one"], *stack()).invoke(decisions(APPROVE, APPROVE), thread()))
    )
    for text in ("two", "three"):
        given = {"messages": [("user", text)]}
        results.append(said(gated(env, [text], *stack()).invoke(given, thread())))
    return results


def case_questions_in_every_hook(env):
    @before_model
    def before(state, runtime):
        return {"messages": [HumanMessage(f"b {interrupt('before')}")]}

    @after_model
    def after(state, runtime):
        interrupt("after")

    @after_agent
    def last(state, runtime):
        return {"messages": [HumanMessage(f"l {interrupt('last')}")]}

    @wrap_model_call
    def around(request, handler):
        return handler(request.override(system_prompt=f"s {interrupt('around')}"))

    def agent(*script):
        hooks = [before, after, last, around]
        return create_agent(model_of(*script), [], middleware=hooks, checkpointer=env.saver())

    result, seen = agent("said").invoke(USER, thread()), []
    while asked(result):
        seen.append(asked(result))
        result = agent("said").invoke(Command(resume=f"a{len(seen)}"), thread())
    return seen, said(result)


def case_a_question_in_a_prompt(env):
    @dynamic_prompt
    def prompt(request):
        return f"You serve {interrupt('who')}"

    model = model_of("said")
    agent = create_agent(model, [], middleware=[prompt], checkpointer=env.saver())
    first = agent.invoke(USER, thread())
    done = agent.invoke(Command(resume="ann"), thread())
    return asked(first), said(done), model.seen


@human_in_the_loop
def sell(item: str) -> str:
    """Sell."""
    return f"sold {item}"


def double(params):
    answer = interrupt({"tool": params["tool_call_name"], "args": params["tool_call_args"]})
    if answer == "twice":
        given = params["tool_call_args"]
        return [params["tool"].invoke(given), params["tool"].invoke(given)]
    return answer


@human_in_the_loop(handler=double)
def ship(item: str) -> str:
    """Ship."""
    return f"shipped {item}"


def case_decorated_tools_in_both_kinds_of_agents(env):
    results = []
    for kind, make in (("agent", create_agent), ("react", create_react_agent)):

        def agent(*script, make=make):
            return make(model_of(*script), [sell, ship], checkpointer=env.saver())

        both = ai(call("sell", "1", item="a"), call("ship", "2", item="b"))
        first = agent(both).invoke(USER, thread(kind))
        by_tool = {i.value.get("tool", "sell"): i.id for i in first["__interrupt__"]}
        answers = {
            by_tool["sell"]: {"type": "edit", "args": {"item": "z"}},
            by_tool["ship"]: "twice",
        }
        results.append(said(agent("done").invoke(Command(resume=answers), thread(kind))))
    return results


def case_what_handlers_return(env):
    results = []
    returned = {
        "none": None,
        "dict": {"a": 1},
        "blocks": [{"type": "text", "text": "t"}],
        "number": 3,
        "message": ToolMessage("own", tool_call_id="1"),
        "command": Command(update={"messages": [ToolMessage("cmd", tool_call_id="1")]}),
    }
    for name, value in returned.items():

        @human_in_the_loop(handler=lambda params, value=value: value)
        def act(x: int) -> str:
            """Act."""
            return "acted"

        agent = create_agent(model_of(ai(call("act", x=1)), "done"), [act])
        results.append((name, env.error(lambda agent=agent: said(agent.invoke(USER)))))
    return results


async def case_async_decorated_tools_beside_gates(env):
    @human_in_the_loop_async
    async def fetch(url: str) -> str:
        """Fetch."""
        await asyncio.sleep(0)
        return f"got {url}"

    async with env.asaver() as saver:
        people = HumanInTheLoopMiddleware({"add": True}, interrupt_mode="per_call")
        agent = create_agent(
            model_of(ai(ADD, call("fetch", "5", url="u")), "done"),
            [add, fetch],
            middleware=[people],
            checkpointer=saver,
        )
        first = await agent.ainvoke(USER, thread())
        values = sorted((i.value for i in first["__interrupt__"]), key=str)
        answers = {
            i.id: {"type": "accept"} if "action_request" in i.value else APPROVE
            for i in first["__interrupt__"]
        }
        return values, said(await agent.ainvoke(Command(resume=answers), thread()))


def case_a_gated_tool_that_ends_the_loop(env):
    @tool(return_direct=True)
    def finish(text: str) -> str:
        """Finish."""
        return f"finished {text}"

    results = []
    for name, decision in {
        "approve": APPROVE,
        "reject": {"type": "reject"},
        "respond": {"type": "respond", "message": "r"},
    }.items():
        agent = gated(
            env, [ai(call("finish", text="x")), "after"], on={"finish": True}, tools=[finish]
        )
        agent.invoke(USER, thread(name))
        results.append(said(agent.invoke(decisions(decision), thread(name))))
    return results


class Answer(BaseModel):
    total: int


def case_a_gate_and_a_form_of_the_answer(env):
    form = {"response_format": ToolStrategy(Answer)}
    gated(env, [ai(ADD)], **form).invoke(USER, thread())
    result = gated(env, [ai(call("Answer", "7", total=3))], **form).invoke(
        decisions(APPROVE), thread()
    )
    return said(result), result["structured_response"]


def case_a_gate_inside_an_agent_that_is_a_tool(env):
    def boss(*script):
        inner = create_agent(
            model_of(ai(ADD), "sum"), [add], middleware=[HumanInTheLoopMiddleware({"add": True})]
        )

        @tool
        def ask(text: str) -> str:
            """Ask."""
            return inner.invoke({"messages": [("user", text)]})["messages"][-1].content

        return create_agent(model_of(*script), [ask], checkpointer=env.saver())

    first = boss(ai(call("ask", "a", text="x"), call("ask", "b", text="y"))).invoke(USER, thread())
    answers = {i.id: {"decisions": [APPROVE]} for i in first["__interrupt__"]}
    return len(answers), said(boss("done").invoke(Command(resume=answers), thread()))


def case_state_changed_while_a_person_thinks(env):
    gated(env, [ai(ADD)]).invoke(USER, thread())
    agent = gated(env, ["done"])
    agent.update_state(thread(), {"messages": [HumanMessage("note")]}, as_node="model")
    state = agent.get_state(thread())
    return state.next, env.error(lambda: said(agent.invoke(None, thread())))


def case_the_question_is_dropped_by_a_hand(env):
    gated(env, [ai(ADD)]).invoke(USER, thread())
    agent = gated(env, ["fine"])
    last = agent.get_state(thread()).values["messages"][-1]
    agent.update_state(thread(), {"messages": [AIMessage("never mind", id=last.id)]})
    state = agent.get_state(thread())
    return state.next, said(state.values), said(agent.invoke(None, thread()) or {"messages": []})


def case_custom_parts_around_a_question(env):
    @tool
    def work(x: int) -> str:
        """Work."""
        get_stream_writer()({"before": x})
        answer = interrupt("go?")
        get_stream_writer()({"after": answer})
        return answer

    def agent(*script):
        return create_agent(model_of(*script), [work], checkpointer=env.saver())

    first = [*agent(ai(call("work", x=1))).stream(USER, thread(), stream_mode="custom")]
    return first, [*agent("done").stream(Command(resume="yes"), thread(), stream_mode="custom")]


def case_a_gate_of_a_tool_node_by_hand(env):
    @human_in_the_loop
    def refund(euro: int) -> str:
        """Refund."""
        return f"refunded {euro}"

    def graph():
        builder = StateGraph(MessagesState).add_node("tools", ToolNode([refund, add]))
        return builder.add_edge(START, "tools").compile(checkpointer=env.saver())

    given = {"messages": [ai(call("refund", "1", euro=1), call("add", "2", a=1, b=2))]}
    first = graph().invoke(given, thread())
    done = graph().invoke(Command(resume={"type": "edit", "args": {"euro": 2}}), thread())
    return asked(first), said(done)


def case_an_agent_that_is_stopped_and_gated(env):
    agent = gated(env, [ai(ADD), "done"], interrupt_before=["tools"])
    agent.invoke(USER, thread())
    at_gate = agent.get_state(thread()).next
    agent.invoke(decisions(APPROVE), thread())
    before_tools = agent.get_state(thread()).next
    return at_gate, before_tools, said(agent.invoke(None, thread()))


def case_twenty_calls_to_decide_about(env):
    calls = [call("add", str(n), a=n, b=n) for n in range(20)]
    agent = gated(env, [ai(*calls), "done"])
    first = agent.invoke(USER, thread())
    given = [APPROVE if n % 2 else {"type": "reject", "message": str(n)} for n in range(20)]
    done = agent.invoke(decisions(*given), thread())
    return len(asked(first)[0]["action_requests"]), sorted(said(done), key=str)
