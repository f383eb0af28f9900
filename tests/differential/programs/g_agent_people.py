"""HumanInTheLoopMiddleware: decisions about tool calls, at once and one by one; what runs then."""

from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    after_model,
    before_agent,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command

from .scripted import add, ai, call, model_of, mul

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}
ALL = {"add": True, "mul": True}
APPROVE = {"type": "approve"}
REJECT = {"type": "reject"}


def one():
    return ai(call("add", a=1, b=2))


def two():
    return ai(call("add", a=1, b=2), call("mul", "2", a=3, b=4))


def edit(name, **args):
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def decide(*decisions):
    return Command(resume={"decisions": list(decisions)})


def shown(update):
    """An update without the key in which only plait keeps what a decision is bound to."""
    if not isinstance(update, dict):
        return update
    return {k: v for k, v in update.items() if k != "hitl_decided_tool_calls"} or None


def agent_of(env, on, *script, tools=(add, mul), more=(), **options):
    return create_agent(
        model_of(*script, "done"),
        list(tools),
        middleware=[HumanInTheLoopMiddleware(on, **options), *more],
        checkpointer=env.saver(),
    )


def stream(agent, given):
    """The updates of a run, those of tools and questions beside each other sorted by their text."""
    parts = [
        (node, shown(one))
        for part in agent.stream(given, THREAD)
        for node, update in part.items()
        if node != "__metadata__"
        for one in (update if node == "__interrupt__" else [update])
    ]
    places = [index for index, (node, _) in enumerate(parts) if node in ("tools", "__interrupt__")]
    values = sorted((parts[index] for index in places), key=str)
    for index, part in zip(places, values, strict=True):
        parts[index] = part
    return parts


def run(env, on, message, *answers, **options):
    """What happens until the person is asked, and after each answer."""
    agent = agent_of(env, on, message, **options)
    found = [stream(agent, USER)]
    for answer in answers:
        found.append(stream(agent, answer(agent) if callable(answer) else answer))
    state = agent.get_state(THREAD)
    return found, shown(state.values), state.next


def by_id(**decisions):
    """Answers to questions about single calls, by the name of the tool."""

    def answer(agent):
        asked = agent.get_state(THREAD).interrupts
        chosen = {each.id: decisions.get(each.value["name"]) for each in asked}
        return Command(resume={id: said for id, said in chosen.items() if said})

    return answer


# --- all at once ---------------------------------------------------------------------------------


def case_approve(env):
    return run(env, ALL, one(), decide(APPROVE))


def case_edit(env):
    return run(env, ALL, one(), decide(edit("add", a=5, b=5)))


def case_edit_to_another_tool(env):
    return run(env, {"add": True}, one(), decide(edit("mul", a=5, b=5)))


def case_reject(env):
    return run(env, ALL, one(), decide(REJECT))


def case_reject_with_a_reason(env):
    return run(env, ALL, one(), decide({**REJECT, "message": "too late"}))


def case_respond(env):
    return run(env, ALL, one(), decide({"type": "respond", "message": "42"}))


def case_two_calls(env):
    return run(env, ALL, two(), decide(APPROVE, edit("mul", a=5, b=5)))


def case_two_calls_one_rejected(env):
    return run(env, ALL, two(), decide(REJECT, APPROVE))


def case_one_of_two_is_gated(env):
    return run(env, {"mul": True, "add": False}, two(), decide(APPROVE))


def case_one_of_two_is_rejected(env):
    return run(env, {"mul": True}, two(), decide(REJECT))


def case_nothing_is_gated(env):
    return run(env, {"other": True, "add": False}, two())


def case_nothing_is_called(env):
    return run(env, ALL, "only text")


def case_descriptions(env):
    def describe(call, state, runtime):
        return f"{call} {len(state['messages'])} {type(runtime).__name__}"

    on = {
        "add": {"allowed_decisions": ["approve"], "description": "Adds."},
        "mul": {"allowed_decisions": ["approve", "edit"], "description": describe},
    }
    return run(env, on, two(), decide(APPROVE, APPROVE))


def case_schemas_of_arguments(env):
    on = {"add": {"allowed_decisions": ["approve"], "args_schema": {"type": "object"}}}
    agent = agent_of(env, on, one())
    return agent.invoke(USER, THREAD)["__interrupt__"][0].value["review_configs"]


def case_a_prefix(env):
    return run(env, ALL, one(), decide(APPROVE), description_prefix="Look at this")


def case_when(env):
    def large(request):
        return request.tool_call["args"]["a"] > 2

    on = {name: {"allowed_decisions": ["approve", "reject"], "when": large} for name in ALL}
    return run(env, on, two(), decide(REJECT))


def case_when_it_never_holds(env):
    on = {name: {"allowed_decisions": ["approve"], "when": lambda request: False} for name in ALL}
    return run(env, on, two())


def case_notices(env):
    change = decide(edit("add", a=5, b=5))
    return run(env, ALL, one(), change, edit_notice=None)


def case_a_notice_of_ones_own(env):
    return run(env, ALL, one(), decide(edit("add", a=5, b=5)), edit_notice="Changed.")


def case_notices_in_blocks(env):
    @tool
    def look(a: int) -> Any:
        """Look."""
        return [{"type": "text", "text": "B"}]

    @tool
    def quiet(a: int) -> str:
        """Say nothing."""
        return ""

    calls = ai(call("look", a=1), call("quiet", "2", a=1))
    answer = decide(edit("look", a=2), edit("quiet", a=2))
    return run(env, {"look": True, "quiet": True}, calls, answer, tools=(look, quiet))


def case_notices_in_commands(env):
    @tool
    def note(text: str, id: Annotated[str, InjectedToolCallId]) -> Any:
        """Note."""
        told = ToolMessage(text, tool_call_id=id)
        return Command(update={"messages": [told, HumanMessage("more")]})

    message = ai(call("note", text="a"))
    return run(env, {"note": True}, message, decide(edit("note", text="é")), tools=(note,))


def case_edits_that_do_not_fit(env):
    return run(env, ALL, one(), decide(edit("add", a="x")))


def case_a_wrong_number_of_decisions(env):
    return env.error(lambda: run(env, ALL, two(), decide(APPROVE)))


def case_a_decision_that_is_not_open(env):
    on = {"add": {"allowed_decisions": ["approve"]}}
    return env.error(lambda: run(env, on, one(), decide(REJECT)))


def case_answers_that_are_none(env):
    def agent():
        return agent_of(env, ALL, one())

    answers = decide(edit("add")), decide({"type": "respond"}), Command(resume="yes")
    found = []
    for number, answer in enumerate(answers):
        config = {"configurable": {"thread_id": str(number)}}
        asking = agent()
        asking.invoke(USER, config)
        answer = decide({"type": "edit"}) if number == 0 else answer
        found.append(env.error(lambda a=answer, c=config, g=asking: g.invoke(a, c)))
    return found


def case_bad_policies(env):
    return [
        env.error(lambda: HumanInTheLoopMiddleware({"add": {"allowed_decisions": []}})),
        env.error(lambda: HumanInTheLoopMiddleware({"add": {}})),
        env.error(lambda: HumanInTheLoopMiddleware(ALL, interrupt_mode="never")),
    ]


def case_a_tool_that_does_not_exist(env):
    return env.error(lambda: run(env, ALL, one(), decide(edit("nope", a=5))))


def case_two_turns(env):
    """Both turns of the model have the same call ids."""
    agent = agent_of(env, ALL, one(), ai(call("mul", a=2, b=2)))
    found = [stream(agent, USER), stream(agent, decide(edit("add", a=9, b=9)))]
    return [*found, stream(agent, decide(APPROVE)), shown(agent.get_state(THREAD).values)]


def case_with_other_middleware(env):
    class Around(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            answer = handler(request)
            return answer.model_copy(update={"content": f"<{answer.content}>"})

    told = []
    look = after_model(name="Look")(lambda state, runtime: told.append(len(state["messages"])))
    answer = decide(edit("add", a=5, b=5))
    return run(env, ALL, one(), answer, more=[Around(), look]), told


async def case_async(env):
    async with env.asaver() as saver:
        agent = create_agent(
            model_of(two(), "done"),
            [add, mul],
            middleware=[HumanInTheLoopMiddleware(ALL)],
            checkpointer=saver,
        )
        asked = await agent.ainvoke(USER, THREAD)
        result = await agent.ainvoke(decide(edit("add", a=7, b=7), REJECT), THREAD)
        return asked, shown(result)


def case_a_picture(env):
    drawn = agent_of(env, ALL).get_graph()
    edges = sorted((each.source, each.target, each.conditional) for each in drawn.edges)
    return list(drawn.nodes), edges


def case_a_call_that_a_hook_makes(env):
    """The peer runs it, and asks nobody."""

    @before_agent(can_jump_to=["tools"])
    def first(state, runtime):
        return {"messages": [one()], "jump_to": "tools"}

    agent = agent_of(env, ALL, more=[first])
    return [sorted(part) for part in agent.stream(USER, THREAD)]


def case_calls_that_changed_since(env):
    """The peer runs what nobody has approved."""

    def change(state, runtime):
        last = state["messages"][-1]
        if not getattr(last, "tool_calls", None):
            return None
        return {"messages": [AIMessage("", id=last.id, tool_calls=[call("add", a=100, b=100)])]}

    agent = create_agent(
        model_of(one(), "done"),
        [add],
        middleware=[after_model(name="Change")(change), HumanInTheLoopMiddleware(ALL)],
        checkpointer=env.saver(),
    )
    agent.invoke(USER, THREAD)
    return env.error(lambda: agent.invoke(decide(APPROVE), THREAD)["messages"][-2].content)


def case_calls_with_one_id(env):
    """The peer runs the edit of one in the place of both."""
    calls = ai(call("add", a=1, b=2), call("add", a=3, b=4))
    agent = agent_of(env, ALL, calls)
    agent.invoke(USER, THREAD)
    result = agent.invoke(decide(APPROVE, edit("add", a=9, b=9)), THREAD)
    return sorted(m.content[-2:] for m in result["messages"] if m.type == "tool")


# --- one by one ----------------------------------------------------------------------------------


def alone(env, on, message, *answers, **options):
    return run(env, on, message, *answers, interrupt_mode="per_call", **options)


def case_alone_approve(env):
    return alone(env, ALL, two(), by_id(add=APPROVE, mul=APPROVE))


def case_alone_reject_and_respond(env):
    return alone(env, ALL, two(), by_id(add=REJECT, mul={"type": "respond", "message": "42"}))


def case_alone_edit(env):
    return alone(env, ALL, two(), by_id(add=edit("add", a=5, b=5), mul=APPROVE))


def case_alone_one_after_the_other(env):
    return alone(env, ALL, two(), by_id(mul=REJECT), by_id(add=APPROVE))


def case_alone_one_of_two_is_gated(env):
    return alone(env, {"mul": True}, two(), by_id(mul=APPROVE))


def case_alone_a_bare_answer(env):
    return alone(env, ALL, one(), Command(resume=APPROVE))


def case_alone_when(env):
    def large(request):
        return request.tool_call["args"]["a"] > 2

    on = {name: {"allowed_decisions": ["approve", "reject"], "when": large} for name in ALL}
    return alone(env, on, two(), by_id(mul=REJECT))


def case_alone_schemas(env):
    agent = agent_of(env, ALL, one(), interrupt_mode="per_call")
    (asked,) = agent.invoke(USER, THREAD)["__interrupt__"]
    branches = asked.response_schema["$defs"]
    return asked.value, sorted(branches), branches["add"], branches["EditedAction"]


def case_alone_bad_answers(env):
    return [
        env.error(lambda: alone(env, ALL, one(), Command(resume={"type": "never"}))),
        env.error(lambda: alone(env, {"add": True}, one(), Command(resume=edit("mul", a=1, b=1)))),
        env.error(lambda: alone(env, ALL, one(), Command(resume=edit("add", a="x")))),
    ]


async def case_alone_async(env):
    async with env.asaver() as saver:
        agent = create_agent(
            model_of(two(), "done"),
            [add, mul],
            middleware=[HumanInTheLoopMiddleware(ALL, interrupt_mode="per_call")],
            checkpointer=saver,
        )
        asked = (await agent.ainvoke(USER, THREAD))["__interrupt__"]
        said = {each.id: REJECT if each.value["name"] == "add" else APPROVE for each in asked}
        return sorted(each.value["name"] for each in asked), shown(
            await agent.ainvoke(Command(resume=said), THREAD)
        )
