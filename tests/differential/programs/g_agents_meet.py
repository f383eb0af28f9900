"""Options of `create_agent` that meet: tools that return directly, people, interceptors, limits."""

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, wrap_model_call, wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

from .scripted import add, ai, call, model_of

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}


@tool(return_direct=True)
def direct(x: int) -> str:
    """Return directly."""
    return f"direct {x}"


def shown(result):
    return [(m.type, m.content, m.name) for m in result["messages"]]


# --- which tool ran says whether the agent ends --------------------------------------------------


def edited(env, name, called, **args):
    """A person puts another tool in the place of the one that the model calls."""
    agent = create_agent(
        model_of(ai(called), "after"),
        [direct, add],
        middleware=[HumanInTheLoopMiddleware({called["name"]: True})],
        checkpointer=env.saver(),
    )
    agent.invoke(USER, THREAD)
    decision = {"type": "edit", "edited_action": {"name": name, "args": args}}
    return shown(agent.invoke(Command(resume={"decisions": [decision]}), THREAD))


def case_a_person_puts_a_tool_that_returns_directly(env):
    return edited(env, "direct", call("add", a=1, b=1), x=5)


def case_a_person_puts_a_tool_after_which_the_model_goes_on(env):
    return edited(env, "add", call("direct", x=5), a=1, b=1)


def case_an_interceptor_puts_another_tool(env):
    @wrap_tool_call
    def swap(request, handler):
        to, args = (add, {"a": 5, "b": 5})
        if request.tool_call["name"] == "add":
            to, args = (direct, {"x": 7})
        changed = {**request.tool_call, "name": to.name, "args": args}
        return handler(request.override(tool_call=changed, tool=to))

    return [
        shown(
            create_agent(model_of(ai(*calls), "after"), [direct, add], middleware=[swap]).invoke(
                USER
            )
        )
        for calls in (
            [call("direct", x=1)],
            [call("add", a=1, b=1)],
            [call("add", a=1, b=1), call("add", "2", a=1, b=1)],
            [call("direct", x=1), call("add", "2", a=1, b=1)],
        )
    ]


def case_names_that_answers_give_themselves(env):
    def answered(names, calls):
        @wrap_tool_call
        def answer(request, handler):
            id = request.tool_call["id"]
            if id not in names:
                return handler(request)
            return ToolMessage("mine", tool_call_id=id, name=names[id])

        agent = create_agent(model_of(ai(*calls), "after"), [direct, add], middleware=[answer])
        return shown(agent.invoke(USER))

    first = {"direct": call("direct", x=1), "add": call("add", a=1, b=1), "none": call("none")}
    second = {"": [], "direct": [call("direct", "2", x=1)], "none": [call("none", "2")]}
    given = [{}, {"1": "add"}, {"1": "direct"}, {"2": "add"}, {"1": None}, {"1": "x", "2": "x"}]
    return [
        answered(names, [one, *more])
        for one in first.values()
        for more in second.values()
        for names in given
    ]


# --- what middleware puts into a request ---------------------------------------------------------


def case_a_text_as_the_system_message(env):
    @wrap_model_call
    def kind(request, handler):
        return handler(request.override(system_message="Be kind."))

    model = model_of("x")
    create_agent(model, [add], middleware=[kind]).invoke(USER)
    return model.seen
