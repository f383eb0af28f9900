"""create_react_agent: versions, prompts, hooks, structured responses, steps, questions, graphs."""

from typing import Annotated, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState, AgentStatePydantic
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from .scripted import Scripted, add, ai, call

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}
BOTH = ("v1", "v2")


class Answering(Scripted):
    """A scripted model that answers in a form with the number of messages it was shown."""

    def with_structured_output(self, schema, **kwargs):
        def answer(messages):
            self.seen.append(("structured", [m.content for m in messages], bool(schema)))
            return {"answer": len(messages)}

        return RunnableLambda(answer)


def model_of(*script):
    return Answering(script=list(script), seen=[])


@tool(return_direct=True)
def direct(a: int) -> str:
    """Ends the loop."""
    return f"direct {a}"


@tool
def ask(what: str) -> str:
    """Ask a person."""
    return f"answer {interrupt(what)}"


TWO = ai(call("add", a=1, b=2), call("add", "2", a=3, b=4))


def picture(graph):
    drawn = graph.get_graph()
    edges = sorted((one.source, one.target, one.conditional) for one in drawn.edges)
    return sorted(drawn.nodes), edges


def case_a_loop(env):
    found = []
    for version in BOTH:
        model = model_of(TWO, ai(call("add", "3", a=0, b=0)), "done")
        agent = create_react_agent(model, [add], version=version)
        found += [agent.invoke(USER), model.seen, picture(agent), agent.name]
    return found


async def case_a_loop_async(env):
    found = []
    for version in BOTH:
        model = model_of(TWO, "done")
        agent = create_react_agent(model, [add], version=version, prompt="Be kind.", name="ada")
        found += [await agent.ainvoke(USER), model.seen]
    return found


def case_streams(env):
    found = []
    for version in BOTH:
        agent = create_react_agent(
            model_of(ai(call("add", a=1, b=2)), "done"), [add], version=version
        )
        found.append(list(agent.stream(USER, stream_mode=["updates", "values"])))
    return found


def case_tasks_of_the_tools(env):
    agent = create_react_agent(model_of(TWO, "done"), [add])
    parts = agent.stream(USER, stream_mode="tasks")
    inputs = [p["input"] for p in parts if p["name"] == "tools" and "input" in p]
    return [(i["__type"], i["tool_call"], sorted(i["state"])) for i in inputs]


def case_without_tools(env):
    found = []
    for version in BOTH:
        agent = create_react_agent(model_of("done"), [], version=version)
        found += [agent.invoke(USER), picture(agent)]
    return found


def case_errors_of_tools(env):
    @tool
    def boom(a: int) -> int:
        """Fail."""
        raise ValueError("no")

    def agent(**args):
        return create_react_agent(model_of(ai(call("boom", **args)), "done"), [boom])

    node = ToolNode([boom], handle_tool_errors=True)
    handled = create_react_agent(model_of(ai(call("boom", a=1)), "done"), node)
    unknown = create_react_agent(model_of(ai(call("nope", a=1)), "done"), [boom])
    return [
        env.error(lambda: agent(a=1).invoke(USER)),
        agent(a="x").invoke(USER),
        handled.invoke(USER),
        unknown.invoke(USER),
    ]


def case_prompts(env):
    def with_config(state, config):
        return f"{len(state['messages'])} {config['configurable']['thread_id']}"

    prompts = [
        "Be kind.",
        SystemMessage("Be brief."),
        lambda state: [HumanMessage("instead")],
        with_config,
        RunnableLambda(lambda state: [*state["messages"], ("user", "more")]),
    ]
    found = []
    for prompt in prompts:
        model = model_of("done")
        create_react_agent(model, [add], prompt=prompt).invoke(USER, THREAD)
        found.append(model.seen)
    return [*found, env.error(lambda: create_react_agent(model_of(), [add], prompt=5))]


async def case_async_prompt(env):
    async def prompt(state):
        return [HumanMessage("instead")]

    model = model_of("done")
    await create_react_agent(model, [add], prompt=prompt).ainvoke(USER)
    return model.seen


def case_structured_responses(env):
    found = []
    for version in BOTH:
        for form in ({"title": "x"}, ("Sum up.", {"title": "x"})):
            model = model_of(ai(call("add", a=1, b=2)), "done")
            agent = create_react_agent(model, [add], response_format=form, version=version)
            found += [agent.invoke(USER), model.seen, picture(agent)]
    model = model_of(ai(call("direct", a=1)))
    agent = create_react_agent(model, [direct], response_format={"title": "x"})
    return [*found, agent.invoke(USER), picture(agent)]


async def case_structured_responses_async(env):
    model = model_of("done")
    agent = create_react_agent(model, [], response_format={"title": "x"})
    return await agent.ainvoke(USER), model.seen, picture(agent)


def case_hooks_before_the_model(env):
    hooks = [
        lambda state: {"llm_input_messages": [HumanMessage("only")]},
        lambda state: {"messages": [RemoveMessage("__remove_all__"), HumanMessage("new", id="n")]},
        lambda state: {"llm_input_messages": []},
    ]
    found = []
    for hook in hooks:
        model = model_of(ai(call("add", a=1, b=2)), "done")
        agent = create_react_agent(model, [], pre_model_hook=hook, prompt="Be kind.")
        model.script.pop(0)
        found += [agent.invoke(USER), model.seen, picture(agent)]
    return found


def case_hooks_before_the_model_in_a_loop(env):
    model = model_of(ai(call("add", a=1, b=2)), "done")
    hook = lambda state: {"llm_input_messages": state["messages"][-2:]}  # noqa: E731
    agent = create_react_agent(model, [add, direct], pre_model_hook=hook)
    return agent.invoke(USER), model.seen, picture(agent)


def case_hooks_after_the_model(env):
    class State(AgentState):
        seen: int

    def count(state):
        return {"seen": state.get("seen", 0) + 1}

    def answer(state):
        last = state["messages"][-1]
        refused = [c for c in getattr(last, "tool_calls", []) if c["args"].get("a") == 1]
        return {"messages": [ToolMessage("refused", tool_call_id=c["id"]) for c in refused]}

    found = []
    for hook in (count, answer):
        for script in ((TWO, "done"), (ai(call("add", a=1, b=2)), "done"), ("done",)):
            model = model_of(*script)
            agent = create_react_agent(model, [add], post_model_hook=hook, state_schema=State)
            found += [agent.invoke(USER), model.seen]
    everything = create_react_agent(
        model_of(),
        [add, direct],
        pre_model_hook=count,
        post_model_hook=count,
        response_format={"title": "x"},
    )
    nothing = create_react_agent(
        model_of(), [], post_model_hook=count, response_format={"title": "x"}
    )
    return [*found, picture(agent), picture(everything), picture(nothing)]


def case_hooks_after_no_answer_of_the_model(env):
    class Echo(Scripted):
        said: Any = None

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            return ChatResult(generations=[ChatGeneration(message=self.said)])

    def run(said, hook):
        agent = create_react_agent(Echo(script=[], seen=[], said=said), [add], post_model_hook=hook)
        return env.error(lambda: agent.invoke(USER, {"recursion_limit": 10}))

    said = HumanMessage("me?"), ToolMessage("done", tool_call_id="1")
    emptied = {"messages": [RemoveMessage("__remove_all__")]}
    return [*(run(one, lambda s: {}) for one in said), run(AIMessage("a"), lambda s: emptied)]


def case_tools_that_end_the_loop(env):
    found = []
    for version in BOTH:
        for script in (
            (ai(call("direct", a=1)),),
            (ai(call("direct", a=1), call("add", "2", a=1, b=1)), "never"),
            (ai(call("add", "2", a=1, b=1)), ai(call("direct", a=1))),
        ):
            agent = create_react_agent(model_of(*script), [add, direct], version=version)
            found.append(agent.invoke(USER))
        found.append(picture(agent))
    return found


def case_steps_that_run_out(env):
    found = []
    for version in BOTH:
        for limit in range(1, 7):
            for name in ("add", "direct"):
                args = {"a": 1, "b": 2} if name == "add" else {"a": 1}
                script = [ai(call("add", "0", a=1, b=2)), *(ai(call(name, **args)) for _ in "123")]
                agent = create_react_agent(model_of(*script), [add, direct], version=version)
                found.append(env.error(lambda: agent.invoke(USER, {"recursion_limit": limit})))
    return found


def case_histories(env):
    agent = create_react_agent(model_of("a", "b"), [add])
    answered = [("user", "a"), ai(call("add", a=1, b=2)), ToolMessage("3", tool_call_id="1")]
    return [agent.invoke({"messages": answered}), agent.invoke({"messages": []})]


def case_open_calls(env):
    agent = create_react_agent(model_of("a"), [add])
    history = [("user", "a"), ai(call("add", a=1, b=2)), ("user", "b")]
    return env.error(lambda: agent.invoke({"messages": history}))


def case_models_that_are_picked(env):
    first, second = model_of("first"), model_of("second")

    def pick(state, runtime):
        model = second if runtime.context and runtime.context["better"] else first
        return model.bind_tools([add])

    agent = create_react_agent(pick, [add], context_schema=dict)
    return [
        agent.invoke(USER),
        agent.invoke(USER, context={"better": True}),
        first.seen,
        second.seen,
    ]


async def case_models_that_are_picked_async(env):
    model = model_of("done")

    async def pick(state, runtime):
        return model

    agent = create_react_agent(pick, [add], response_format={"title": "x"})
    return await agent.ainvoke(USER), env.error(lambda: agent.invoke(USER)), model.seen


def case_runnables_that_answer(env):
    answers = RunnableLambda(lambda given: AIMessage(f"{len(given)} so far"))
    asks = RunnableLambda(lambda given: HumanMessage("and you?"))
    agents = [
        *(create_react_agent(one, []) for one in (answers, answers | (lambda said: said), asks)),
        *(
            create_react_agent(lambda state, runtime, one=one: one, [add])
            for one in (answers, asks)
        ),
    ]
    return [agent.invoke(USER) for agent in agents]


async def case_runnables_that_answer_async(env):
    answers = RunnableLambda(lambda given: AIMessage(f"{len(given)} so far"))

    async def pick(state, runtime):
        return answers

    return [await create_react_agent(one, []).ainvoke(USER) for one in (answers, pick)]


def case_tools_of_a_model_that_its_agent_lacks(env):
    return env.error(lambda: create_react_agent(model_of("a").bind_tools([add]), []).invoke(USER))


def case_models_with_tools(env):
    model = model_of("a", "b", "c")
    found = [
        create_react_agent(model.bind_tools([add]), [add]).invoke(USER),
        create_react_agent(model, [add, {"type": "search"}]).invoke(USER),
        create_react_agent(model, [{"type": "search"}]).invoke(USER),
        env.error(lambda: create_react_agent(model.bind_tools([]), [add])),
        env.error(lambda: create_react_agent(model.bind_tools([direct]), [add])),
    ]
    return found, model.seen


def case_states(env):
    class Lacking(TypedDict):
        messages: list

    class Lacking2(TypedDict):
        messages: list
        remaining_steps: int

    class Wider(AgentState):
        user: str

    @tool
    def who(x: int, user: Annotated[str, InjectedState("user")]) -> str:
        """The user."""
        return user

    @tool
    def rename(to: str, id: Annotated[str, InjectedToolCallId]) -> Command:
        """Rename the user."""
        told = ToolMessage("renamed", tool_call_id=id)
        return Command(update={"user": to, "messages": [told]})

    found = []
    for version in BOTH:
        script = ai(call("rename", to="Bob")), ai(call("who", "2", x=1)), "done"
        agent = create_react_agent(
            model_of(*script), [who, rename], state_schema=Wider, version=version
        )
        found.append(agent.invoke({**USER, "user": "Ada"}))
    pydantic = create_react_agent(
        model_of(ai(call("add", a=1, b=2)), "done"), [add], state_schema=AgentStatePydantic
    )
    return [
        *found,
        pydantic.invoke(USER),
        env.error(lambda: create_react_agent(model_of(), [add], state_schema=Lacking)),
        env.error(
            lambda: create_react_agent(
                model_of(), [add], state_schema=Lacking2, response_format={"title": "x"}
            )
        ),
    ]


def case_pydantic_state_with_a_hook(env):
    class State(AgentStatePydantic):
        user: str = "u"

    model = model_of("done")
    agent = create_react_agent(
        model,
        [add],
        state_schema=State,
        pre_model_hook=lambda state: {"llm_input_messages": [HumanMessage(state.user)]},
    )
    return agent.invoke(USER), model.seen


def case_arguments_that_are_wrong(env):
    return [
        env.error(lambda: create_react_agent(model_of(), [add], unknown=1)),
        env.error(lambda: create_react_agent(model_of(), [add], version="v3")),
    ]


def case_memory(env):
    model = model_of("one", ai(call("add", a=1, b=2)), "two")
    agent = create_react_agent(model, [add], checkpointer=env.saver())
    agent.invoke(USER, THREAD)
    return agent.invoke({"messages": "again"}, THREAD), agent.get_state(THREAD).next, model.seen


def case_stores(env):
    @tool
    def remember(fact: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Remember."""
        store.put(("facts",), "1", {"fact": fact})
        return "kept"

    store = env.store()
    agent = create_react_agent(
        model_of(ai(call("remember", fact="x")), "done"), [remember], store=store
    )
    return agent.invoke(USER), store.get(("facts",), "1").value


def case_questions_of_tools(env):
    agent = create_react_agent(
        model_of(ai(call("ask", what="a"), call("add", "2", a=1, b=2)), "done"),
        [ask, add],
        checkpointer=env.saver(),
    )
    asked = agent.invoke(USER, THREAD)
    return [one.value for one in asked["__interrupt__"]], agent.invoke(
        Command(resume="yes"), THREAD
    )


def case_two_questions_at_once(env):
    agent = create_react_agent(
        model_of(ai(call("ask", what="a"), call("ask", "2", what="b")), "done"),
        [ask],
        checkpointer=env.saver(),
    )
    asked = agent.invoke(USER, THREAD)["__interrupt__"]
    answers = {one.id: one.value.upper() for one in asked}
    return sorted(one.value for one in asked), agent.invoke(Command(resume=answers), THREAD)


async def case_questions_of_tools_async(env):
    async with env.asaver() as saver:
        agent = create_react_agent(
            model_of(ai(call("ask", what="a")), "done"), [ask], checkpointer=saver, version="v1"
        )
        asked = await agent.ainvoke(USER, THREAD)
        told = [one.value for one in asked["__interrupt__"]]
        return told, await agent.ainvoke(Command(resume="yes"), THREAD)


def case_stops(env):
    model = model_of(ai(call("add", a=1, b=2)), "done")
    agent = create_react_agent(
        model,
        [add],
        checkpointer=env.saver(),
        interrupt_before=["tools"],
        interrupt_after=["tools"],
    )
    found = [agent.invoke(USER, THREAD), agent.get_state(THREAD).next]
    found += [agent.invoke(None, THREAD), agent.get_state(THREAD).next]
    return [*found, agent.invoke(None, THREAD)]


class Heard(BaseCallbackHandler):
    run_inline = True

    def __init__(self):
        self.inside, self.runs = [], []

    def on_chain_start(self, serialized, inputs, **kwargs):
        outer = ("LangGraph", "agent", "tools", "should_continue")
        (self.runs if kwargs.get("name") in outer else self.inside).append(kwargs.get("name"))

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.runs.append("model")

    def on_tool_start(self, serialized, input_str, **kwargs):
        self.runs.append(("tool", kwargs["inputs"]))

    def on_tool_end(self, output, **kwargs):
        self.runs.append(("answer", output.content))


def heard_of(version):
    heard = Heard()
    agent = create_react_agent(model_of(TWO, "done"), ToolNode([add], tags=["t"]), version=version)
    agent.invoke(USER, {"callbacks": [heard], "max_concurrency": 1})
    return heard


def case_runs_that_handlers_hear(env):
    return [heard_of(version).runs for version in BOTH]


def case_runs_inside_the_model_node(env):
    return heard_of("v2").inside


def case_an_agent_in_a_graph(env):
    from langgraph.graph import START, MessagesState, StateGraph

    agent = create_react_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add], name="adder")
    graph = StateGraph(MessagesState).add_node(agent).add_edge(START, "adder").compile()
    return graph.invoke(USER), list(graph.get_graph().nodes)
