"""What hooks, wrappers and tools of agents change in place: what of that the thread keeps."""

from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    after_model,
    before_agent,
    before_model,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.prebuilt import InjectedState, ToolRuntime, create_react_agent

from .scripted import add, ai, call, model_of, mul

USER = {"messages": [("user", "hi")]}
ADD = call("add", "1", a=1, b=2)


class Log(AgentState):
    log: NotRequired[list]


def thread(name="1"):
    return {"configurable": {"thread_id": name}}


def shown(messages):
    return [(m.type, m.content, getattr(m, "tool_calls", None) or m.name) for m in messages]


def play(env, *middleware, script=(ai(ADD), "end"), tools=(add, mul), **more):
    """Two turns; what each gave, what the thread holds, and what the model was shown."""
    model = model_of(
        *(one.model_copy(deep=True) if not isinstance(one, str) else one for one in script)
    )
    agent = create_agent(
        model,
        [*tools],
        middleware=[*middleware],
        state_schema=Log,
        checkpointer=env.saver(),
        **more,
    )
    first = agent.invoke({**USER, "log": []}, thread())
    second = agent.invoke(USER, thread())
    kept = agent.get_state(thread()).values
    return (
        shown(first["messages"]),
        shown(second["messages"]),
        kept["log"],
        shown(kept["messages"]),
        model.seen,
    )


def case_tools_of_a_request(env):
    @wrap_model_call
    def fewer(request, handler):
        if len(request.messages) == 1:
            request.tools.pop()
        return handler(request)

    model = model_of(ai(ADD), "end")
    create_agent(model, [add, mul], middleware=[fewer]).invoke(USER)
    return [seen[1] for seen in model.seen]


def case_a_response(env):
    @wrap_model_call
    def more(request, handler):
        response = handler(request)
        response.result.append(HumanMessage("appended"))
        return response

    return play(env, more, script=("one", "two"))


def case_arguments_in_a_wrapper(env):
    @wrap_tool_call
    def other(request, handler):
        request.tool_call["args"]["a"] = 40
        return handler(request)

    return play(env, other)


def case_an_answer_in_a_wrapper(env):
    @wrap_tool_call
    def louder(request, handler):
        result = handler(request)
        result.content += "!"
        result.name = "renamed"
        return result

    return play(env, louder)


def case_what_no_write_names(env):
    """Only a saver that writes whole states keeps it: the one in SQLite, of LangGraph's."""

    @after_model
    def note(state, runtime):
        state["log"].append(len(state["messages"]))

    with SqliteSaver.from_conn_string(str(env.tmp_path / "own.sqlite")) as saver:
        agent = create_agent(
            model_of("one"), [], middleware=[note], state_schema=Log, checkpointer=saver
        )
        result = agent.invoke({**USER, "log": []}, thread())
        return result["log"], agent.get_state(thread()).values["log"]


def case_calls_in_a_hook(env):
    @after_model
    def other(state, runtime):
        for one in state["messages"][-1].tool_calls:
            one["args"]["b"] = 50

    return play(env, other)


def case_the_question_in_a_hook(env):
    @before_agent
    def upper(state, runtime):
        state["messages"][-1].content = state["messages"][-1].content.upper()

    return play(env, upper)


def case_keys_that_a_hook_takes_away(env):
    @after_model
    def gone(state, runtime):
        del state["log"]

    agent = create_agent(model_of("one"), [], middleware=[gone], state_schema=Log)
    result = agent.invoke({**USER, "log": [1]})
    return shown(result["messages"]), result["log"]


def case_the_state_in_tools(env):
    @tool
    def note(x: list[int], state: Annotated[dict, InjectedState], runtime: ToolRuntime) -> str:
        """Note."""
        x.append(9)
        state["messages"].append(HumanMessage("from a tool"))
        runtime.state["messages"].append(HumanMessage("from its runtime"))
        return str(x)

    return play(env, tools=[note], script=(ai(call("note", x=[1])), "end"))


def case_the_state_in_tools_of_a_react_agent(env):
    @tool
    def note(x: list[int], state: Annotated[dict, InjectedState]) -> str:
        """Note."""
        x.append(9)
        state["messages"].append(HumanMessage("from a tool"))
        return str(x)

    results = []
    for version in ("v1", "v2"):
        model = model_of(ai(call("note", x=[1])), "end")
        agent = create_react_agent(model, [note], version=version, checkpointer=env.saver())
        result = agent.invoke(USER, thread(version))
        results.append(
            (shown(result["messages"]), shown(agent.get_state(thread(version)).values["messages"]))
        )
    return results


def case_hooks_of_a_react_agent(env):
    def pre(state):
        state["messages"].append(HumanMessage("pre"))
        return {}

    def post(state):
        state["messages"][-1].content += "!"
        return {}

    model = model_of(ai(ADD), "end")
    agent = create_react_agent(
        model, [add], pre_model_hook=pre, post_model_hook=post, checkpointer=env.saver()
    )
    result = agent.invoke(USER, thread())
    return shown(result["messages"]), model.seen


def case_prompts_of_a_react_agent(env):
    def prompt(state):
        state["messages"].append(HumanMessage("prompted"))
        return state["messages"]

    model = model_of(ai(ADD), "end")
    agent = create_react_agent(model, [add], prompt=prompt, checkpointer=env.saver())
    return shown(agent.invoke(USER, thread())["messages"]), model.seen


def case_the_caller_changes_what_it_gave_and_got(env):
    given: dict[str, Any] = {"messages": [HumanMessage("hi", id="1")], "log": [1]}
    agent = create_agent(model_of("one", "two"), [], state_schema=Log, checkpointer=env.saver())
    result = agent.invoke(given, thread())
    given["log"].append(2)
    given["messages"][0].content = "changed"
    result["messages"][-1].content = "changed too"
    result["log"].append(3)
    kept = agent.get_state(thread()).values
    return shown(kept["messages"]), kept["log"], len(given["messages"])


def case_the_context_and_config(env):
    @before_model
    def count(state, runtime):
        runtime.context["n"] = runtime.context.get("n", 0) + 1

    given: dict[str, Any] = {"n": 0}
    agent = create_agent(model_of(ai(ADD), "end"), [add], middleware=[count], context_schema=dict)
    agent.invoke(USER, context=given)
    return given
