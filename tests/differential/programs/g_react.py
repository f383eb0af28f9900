"""Agents at work: streams, stops, histories, graphs of agents, what tools know of the run."""

from typing import Annotated, Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.config import get_store, get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import (
    InjectedState,
    InjectedStore,
    ToolNode,
    ToolRuntime,
    create_react_agent,
    tools_condition,
)
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

THREAD = {"configurable": {"thread_id": "1"}}
USER = {"messages": [("user", "hi")]}
BOTH = ("v1", "v2")


class Scripted(BaseChatModel):
    """Says what its script says."""

    script: list
    schemas: Any = None
    fails: int = 0

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def with_structured_output(self, schema, **kwargs):
        name = schema.get("title", "dict") if isinstance(schema, dict) else schema.__name__
        return RunnableLambda(lambda messages: {"schema": name, "seen": len(messages)})

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if self.fails:
            self.fails -= 1
            raise ConnectionError("no model")
        said = self.script.pop(0) if self.script else "the end"
        message = AIMessage(said) if isinstance(said, str) else said
        return ChatResult(generations=[ChatGeneration(message=message)])


class Streaming(Scripted):
    """The same, word by word."""

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        said = self.script.pop(0) if self.script else "the end"
        if isinstance(said, str):
            for word in said.split(" "):
                chunk = ChatGenerationChunk(message=AIMessageChunk(content=word))
                if run_manager:
                    run_manager.on_llm_new_token(word, chunk=chunk)
                yield chunk
            return
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_calls=said.tool_calls))


def model_of(*script, **fields):
    return Scripted(script=list(script), **fields)


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def ai(*calls):
    return AIMessage("", tool_calls=list(calls))


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
async def aadd(a: int, b: int) -> int:
    """Add, later."""
    return a + b


@tool
def ask(what: str) -> str:
    """Ask a person."""
    return f"answer {interrupt(what)}"


def said(state):
    return [(m.type, m.content, m.name) for m in state["messages"]]


def tokens(parts):
    return [(type(m).__name__, m.content, about["langgraph_node"]) for m, about in parts]


# --- streams -------------------------------------------------------------------------------------


def case_messages(env):
    found = []
    for version in BOTH:
        script = ai(call("add", a=1, b=2)), "it is three"
        agent = create_react_agent(model_of(*script), [add], version=version)
        found.append(tokens(agent.stream(USER, stream_mode="messages")))
    return found


async def case_messages_async(env):
    agent = create_react_agent(model_of(ai(call("aadd", a=1, b=2)), "three"), [aadd])
    parts = [part async for part in agent.astream(USER, stream_mode="messages")]
    return tokens(parts)


def case_tokens(env):
    agent = create_react_agent(
        Streaming(script=[ai(call("add", a=1, b=2)), "it is three"]), [add], prompt="Be kind."
    )
    return tokens(agent.stream(USER, stream_mode="messages"))


async def case_tokens_async(env):
    agent = create_react_agent(Streaming(script=[ai(call("aadd", a=1, b=2)), "so it is"]), [aadd])
    found = []
    async for mode, part in agent.astream(USER, stream_mode=["messages", "updates"]):
        found.append(tokens([part]) if mode == "messages" else part)
    return found


def case_what_tools_write(env):
    @tool
    def progress(steps: int, runtime: ToolRuntime) -> str:
        """Tell how it goes."""
        for n in range(steps):
            runtime.stream_writer({"step": n})
        get_stream_writer()("last")
        return "done"

    found = []
    for version in BOTH:
        agent = create_react_agent(
            model_of(ai(call("progress", steps=2)), "done"), [progress], version=version
        )
        found.append(list(agent.stream(USER, stream_mode=["custom", "updates"])))
    return found


def case_debug(env):
    agent = create_react_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add])
    return [
        (part["step"], part["type"], part["payload"].get("name"))
        for part in agent.stream(USER, stream_mode="debug")
    ]


def case_checkpoints(env):
    agent = create_react_agent(
        model_of(ai(call("add", a=1, b=2)), "done"), [add], checkpointer=env.saver()
    )
    return [
        (part["metadata"]["step"], part["next"], len(part["values"].get("messages", ())))
        for part in agent.stream(USER, THREAD, stream_mode="checkpoints")
    ]


def case_events_of_the_graph(env):
    agent = create_react_agent(
        model_of(ai(call("ask", what="a"), call("add", "2", a=1, b=2)), "done"),
        [ask, add],
        checkpointer=env.saver(),
        version="v1",
    )
    first = list(agent.stream(USER, THREAD, stream_mode=["updates", "values"]))
    return first, list(agent.stream(Command(resume="yes"), THREAD, stream_mode="updates"))


def case_subgraph_streams(env):
    agent = create_react_agent(model_of(ai(call("add", a=1, b=2)), "done"), [add], name="inner")
    outer = StateGraph(MessagesState).add_node("inner", agent).add_edge(START, "inner")
    graph = outer.compile(checkpointer=env.saver())
    parts = graph.stream(USER, THREAD, stream_mode="updates", subgraphs=True)
    return [([one.split(":")[0] for one in ns], part) for ns, part in parts]


# --- stops, answers, histories -------------------------------------------------------------------


def case_stop_after_tools(env):
    agent = create_react_agent(
        model_of(ai(call("add", a=1, b=2)), "done"),
        [add],
        checkpointer=env.saver(),
        interrupt_after=["tools"],
    )
    first = agent.invoke(USER, THREAD)
    return said(first), agent.get_state(THREAD).next, said(agent.invoke(None, THREAD))


def case_a_call_edited_before_it_runs(env):
    found = []
    for version in BOTH:
        agent = create_react_agent(
            model_of(ai(call("add", a=1, b=2)), "done"),
            [add],
            checkpointer=env.saver(version),
            interrupt_before=["tools"],
            version=version,
        )
        agent.invoke(USER, THREAD)
        last = agent.get_state(THREAD).values["messages"][-1]
        last.tool_calls[0]["args"]["a"] = 40
        agent.update_state(THREAD, {"messages": [last]}, as_node="agent")
        found.append((agent.get_state(THREAD).next, said(agent.invoke(None, THREAD))))
    return found


def case_a_call_rejected_before_it_runs(env):
    agent = create_react_agent(
        model_of(ai(call("add", a=1, b=2)), "what a pity"),
        [add],
        checkpointer=env.saver(),
        interrupt_before=["tools"],
    )
    agent.invoke(USER, THREAD)
    refused = ToolMessage("no", tool_call_id="1", name="add")
    agent.update_state(THREAD, {"messages": [refused]}, as_node="tools")
    return agent.get_state(THREAD).next, said(agent.invoke(None, THREAD))


def case_history(env):
    agent = create_react_agent(
        model_of(ai(call("add", a=1, b=2)), "done", "again"), [add], checkpointer=env.saver()
    )
    agent.invoke(USER, THREAD)
    history = list(agent.get_state_history(THREAD))
    shown = [(s.next, s.metadata["step"], s.metadata["source"]) for s in history]
    before = next(s for s in history if s.next == ("agent",))
    return shown, said(agent.invoke(None, before.config))


def case_a_call_that_waited(env):
    agent = create_react_agent(
        model_of(ai(call("add", a=1, b=2)), "done"),
        [add],
        checkpointer=env.saver(),
        interrupt_before=["tools"],
    )
    agent.invoke(USER, THREAD)
    parts = agent.stream(None, THREAD, stream_mode="tasks")
    return [sorted(part["input"]) for part in parts if part["name"] == "tools" and "input" in part]


def case_a_model_that_fails(env):
    agent = create_react_agent(
        model_of(ai(call("add", a=1, b=2)), "done", fails=1), [add], checkpointer=env.saver()
    )
    failed = env.error(lambda: agent.invoke(USER, THREAD))
    return failed, agent.get_state(THREAD).next, said(agent.invoke(None, THREAD))


def case_a_tool_that_fails(env):
    found = []
    for version in BOTH:
        runs = []

        @tool
        def flaky(n: int) -> str:
            """Fail once."""
            runs.append(n)
            if n == 2 and runs.count(2) == 1:
                raise ConnectionError("down")
            return f"up {n}"

        agent = create_react_agent(
            model_of(ai(call("flaky", n=1), call("flaky", "2", n=2)), "done"),
            [flaky],
            checkpointer=env.saver(version),
            version=version,
        )
        failed = env.error(lambda: agent.invoke(USER, {**THREAD, "max_concurrency": 1}))
        found.append((failed, agent.get_state(THREAD).next, said(agent.invoke(None, THREAD))))
    return found


async def case_a_tool_that_fails_async(env):
    runs = []

    @tool
    async def flaky(n: int) -> str:
        """Fail once."""
        runs.append(n)
        if len(runs) == 1:
            raise ConnectionError("down")
        return f"up {n}"

    async with env.asaver() as saver:
        agent = create_react_agent(
            model_of(ai(call("flaky", n=1)), "done"), [flaky], checkpointer=saver
        )
        failed = await env.aerror(agent.ainvoke(USER, THREAD))
        state = await agent.aget_state(THREAD)
        return failed, state.next, said(await agent.ainvoke(None, THREAD))


def case_questions_asked_twice(env):
    @tool
    def twice(what: str) -> str:
        """Ask two questions."""
        return f"{interrupt(what)} {interrupt('sure?')}"

    agent = create_react_agent(
        model_of(ai(call("twice", what="a")), "done"), [twice], checkpointer=env.saver()
    )
    first = agent.invoke(USER, THREAD)["__interrupt__"]
    second = agent.invoke(Command(resume="x"), THREAD)["__interrupt__"]
    last = agent.invoke(Command(resume="y"), THREAD)
    return [one.value for one in (*first, *second)], said(last)


def case_human_interrupts(env):
    @tool
    def pay(amount: int) -> str:
        """Pay, if a person agrees."""
        request = {
            "action_request": {"action": "pay", "args": {"amount": amount}},
            "config": {
                "allow_accept": True,
                "allow_edit": True,
                "allow_respond": True,
                "allow_ignore": False,
            },
            "description": "Pay?",
        }
        answer = interrupt([request])[0]
        if answer["type"] == "edit":
            amount = answer["args"]["args"]["amount"]
        return f"{answer['type']} {amount}"

    agent = create_react_agent(
        model_of(ai(call("pay", amount=5)), "done"), [pay], checkpointer=env.saver()
    )
    asked = agent.invoke(USER, THREAD)["__interrupt__"][0].value
    edited = {"type": "edit", "args": {"action": "pay", "args": {"amount": 3}}}
    return asked, said(agent.invoke(Command(resume=[edited]), THREAD))


def case_an_interceptor_that_asks(env):
    def approve(request, execute):
        answer = interrupt({"tool": request.tool_call["name"], "args": request.tool_call["args"]})
        if answer == "no":
            return ToolMessage("refused", tool_call_id=request.tool_call["id"], status="error")
        changed = {**request.tool_call, "args": {**request.tool_call["args"], **answer}}
        return execute(request.override(tool_call=changed))

    found = []
    for n, answer in enumerate(("no", {"b": 40})):
        agent = create_react_agent(
            model_of(ai(call("add", a=1, b=2)), "done"),
            ToolNode([add], wrap_tool_call=approve),
            checkpointer=env.saver(str(n)),
        )
        asked = agent.invoke(USER, THREAD)["__interrupt__"][0].value
        found.append((asked, said(agent.invoke(Command(resume=answer), THREAD))))
    return found


# --- graphs of agents ----------------------------------------------------------------------------


def loop_of(model, tools, saver=None):
    def ask_model(state):
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", ask_model).add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model").add_edge("tools", "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "tools", "__end__": END})
    return graph.compile(checkpointer=saver)


def case_a_loop_by_hand(env):
    two = ai(call("add", a=1, b=2), call("add", "2", a=3, b=4))
    graph = loop_of(model_of(two, "done", "again"), [add], env.saver())
    first = list(graph.stream(USER, THREAD, stream_mode="updates"))
    return first, said(graph.invoke(USER, THREAD)), graph.get_graph().draw_mermaid()


async def case_a_loop_by_hand_async(env):
    graph = loop_of(model_of(ai(call("aadd", a=1, b=2)), "done"), [aadd])
    return [part async for part in graph.astream(USER, stream_mode="updates")]


def case_a_handoff(env):
    @tool
    def to_writer(id: Annotated[str, InjectedToolCallId], state: Annotated[dict, InjectedState]):
        """Hand over to the writer."""
        told = ToolMessage("handed over", tool_call_id=id)
        update = {"messages": [*state["messages"], told]}
        return Command(goto="writer", graph=Command.PARENT, update=update)

    found = []
    for version in BOTH:
        reader = create_react_agent(
            model_of(ai(call("to_writer"))), [to_writer], name="reader", version=version
        )
        writer = create_react_agent(model_of("written"), [add], name="writer", version=version)
        graph = StateGraph(MessagesState)
        graph.add_node("reader", reader, destinations=("writer",)).add_node("writer", writer)
        compiled = graph.add_edge(START, "reader").compile(checkpointer=env.saver(version))
        found.append((said(compiled.invoke(USER, THREAD)), compiled.get_state(THREAD).next))
    return found


def case_an_agent_as_a_tool(env):
    inner = create_react_agent(model_of(ai(call("add", a=1, b=2)), "three"), [add])

    @tool
    def expert(question: str) -> str:
        """Ask the expert."""
        return inner.invoke({"messages": [("user", question)]})["messages"][-1].content

    agent = create_react_agent(model_of(ai(call("expert", question="?")), "done"), [expert])
    return said(agent.invoke(USER))


def case_a_question_inside_an_inner_agent(env):
    inner = create_react_agent(model_of(ai(call("ask", what="deep")), "answered"), [ask])
    outer = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
    graph = outer.compile(checkpointer=env.saver())
    asked = graph.invoke(USER, THREAD)["__interrupt__"]
    return [one.value for one in asked], said(graph.invoke(Command(resume="yes"), THREAD))


def case_an_agent_with_a_memory_of_its_own(env):
    inner = create_react_agent(model_of("one", "two"), [add], checkpointer=True)
    counts = []

    def node(state):
        inside = inner.invoke({"messages": state["messages"][-1:]})
        counts.append(len(inside["messages"]))
        return {"messages": inside["messages"][-1:]}

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")
    compiled = graph.compile(checkpointer=env.saver())
    compiled.invoke(USER, THREAD)
    return said(compiled.invoke(USER, THREAD)), counts


# --- what tools know -----------------------------------------------------------------------------


def case_config_context_and_state(env):
    class State(AgentState):
        user: str

    class Context(TypedDict):
        city: str

    @tool
    def about(
        x: int,
        config: RunnableConfig,
        runtime: ToolRuntime,
        user: Annotated[str, InjectedState("user")],
        left: Annotated[int, InjectedState("remaining_steps")],
    ) -> str:
        """All that is around."""
        key = config["configurable"]["key"]
        whole = sorted(runtime.state)
        return f"{x} {key} {runtime.context['city']} {user} {left} {whole} {runtime.tool_call_id}"

    found = []
    for version in BOTH:
        agent = create_react_agent(
            model_of(ai(call("about", x=1, user="mallory")), "done"),
            [about],
            state_schema=State,
            context_schema=Context,
            version=version,
        )
        config = {"configurable": {"key": "k"}, "recursion_limit": 12}
        given = {**USER, "user": "ada"}
        found.append(said(agent.invoke(given, config, context={"city": "Rome"})))
    return found


async def case_stores_async(env):
    @tool
    async def remember(fact: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Remember."""
        await store.aput(("facts",), "1", {"fact": fact})
        return "kept"

    @tool
    async def recall(runtime: ToolRuntime) -> str:
        """Recall."""
        inside = await get_store().aget(("facts",), "1")
        return f"{(await runtime.store.aget(('facts',), '1')).value} {inside.value}"

    async with env.astore() as store:
        script = ai(call("remember", fact="x")), ai(call("recall", "2")), "done"
        agent = create_react_agent(model_of(*script), [remember, recall], store=store)
        return said(await agent.ainvoke(USER))


def case_a_store_that_is_not_there(env):
    @tool
    def remember(fact: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Remember."""
        return "kept"

    agent = create_react_agent(model_of(ai(call("remember", fact="x"))), [remember])
    told = create_react_agent(
        model_of(ai(call("remember", fact="x"))), ToolNode([remember], handle_tool_errors=True)
    )
    return env.error(lambda: agent.invoke(USER)), env.error(lambda: said(told.invoke(USER)))


def case_blocks_and_artifacts(env):
    @tool(response_format="content_and_artifact")
    def picture(q: str) -> tuple:
        """A picture."""
        return [{"type": "text", "text": q}, {"type": "image_url", "image_url": "u"}], {"é": [1]}

    agent = create_react_agent(
        model_of(ai(call("picture", q="é")), "done"), [picture], checkpointer=env.saver()
    )
    agent.invoke(USER, THREAD)
    message = agent.get_state(THREAD).values["messages"][2]
    return message.content, message.artifact, message.status, message.name


def case_commands_of_tools(env):
    class State(AgentState):
        n: int

    @tool
    def bump(by: int, id: Annotated[str, InjectedToolCallId]) -> Command:
        """Add to n."""
        return Command(update={"n": by, "messages": [ToolMessage("bumped", tool_call_id=id)]})

    @tool
    def several(id: Annotated[str, InjectedToolCallId]) -> list:
        """A message and an update."""
        return [ToolMessage("told", tool_call_id=id), Command(update={"n": 7})]

    found = []
    for version in BOTH:
        script = ai(call("bump", by=3)), ai(call("several", "2")), "done"
        agent = create_react_agent(
            model_of(*script), [bump, several], state_schema=State, version=version
        )
        final = agent.invoke(USER)
        found.append((said(final), final["n"]))
    return found


# --- hooks, prompts, answers in a form -----------------------------------------------------------


async def case_async_hooks(env):
    class State(AgentState):
        seen: list

    async def before(state):
        return {"llm_input_messages": state["messages"][-1:], "seen": [len(state["messages"])]}

    async def after(state):
        return {"seen": [*state["seen"], "after"]}

    agent = create_react_agent(
        model_of(ai(call("aadd", a=1, b=2)), "done"),
        [aadd],
        state_schema=State,
        pre_model_hook=RunnableLambda(before),
        post_model_hook=after,
    )
    parts = [part async for part in agent.astream(USER, stream_mode="updates")]
    return parts, env.error(lambda: agent.invoke(USER))


class Answer(BaseModel):
    """An answer."""

    text: str


class TypedAnswer(TypedDict):
    """An answer."""

    text: str


def case_forms_of_answers(env):
    function = {"name": "answer", "description": "x", "parameters": {"type": "object"}}
    found = []
    for form in (Answer, TypedAnswer, function, ("Answer.", Answer)):
        agent = create_react_agent(model_of("done"), [add], response_format=form)
        found.append(agent.invoke(USER)["structured_response"])
    return found


async def case_forms_of_answers_streamed(env):
    agent = create_react_agent(
        model_of(ai(call("aadd", a=1, b=2)), "done"), [aadd], response_format=Answer
    )
    return [part async for part in agent.astream(USER, stream_mode="updates")]


async def case_prompts_async(env):
    async def prompt(state):
        return [HumanMessage(f"{len(state['messages'])} messages")]

    found = []
    for given in (prompt, RunnableLambda(prompt), "Be kind."):
        agent = create_react_agent(model_of("done"), [], prompt=given)
        found.append(said(await agent.ainvoke(USER)))
    return found


def case_a_model_for_each_context(env):
    class Context(TypedDict):
        size: Literal["small", "large"]

    models = {"small": model_of("small"), "large": model_of("large")}

    def pick(state, runtime):
        runtime.stream_writer(f"picked at {len(state['messages'])}")
        return models[runtime.context["size"]]

    agent = create_react_agent(pick, [add], context_schema=Context, prompt="Be kind.")
    return [
        list(agent.stream(USER, context={"size": size}, stream_mode=["custom", "updates"]))
        for size in ("small", "large")
    ]


def case_drawn(env):
    def hook(state):
        return {"llm_input_messages": state["messages"]}

    found = []
    for version in BOTH:
        for options in (
            {},
            {"response_format": Answer},
            {"pre_model_hook": hook},
            {"pre_model_hook": hook, "response_format": Answer},
            {"post_model_hook": hook},
            {"pre_model_hook": hook, "post_model_hook": hook, "response_format": Answer},
        ):
            for tools in ([], [add]):
                agent = create_react_agent(model_of(), tools, version=version, **options)
                found.append(agent.get_graph().draw_mermaid())
    return found


def case_schemas(env):
    agent = create_react_agent(model_of(), [add], context_schema=TypedAnswer, name="ada")
    shown = agent.get_context_jsonschema()
    return agent.name, sorted(agent.get_input_jsonschema()["properties"]), shown["properties"]


def case_batches(env):
    agent = create_react_agent(model_of("same", "same", "same"), [add])
    return [said(one) for one in agent.batch([USER, USER, USER], {"max_concurrency": 1})]


async def case_batches_async(env):
    agent = create_react_agent(model_of("same", "same"), [])
    return [said(one) for one in await agent.abatch([USER, USER])]


def case_many_calls_at_once(env):
    many = ai(*(call("add", str(n), a=n, b=n) for n in range(12)))
    found = []
    for version in BOTH:
        agent = create_react_agent(model_of(many, "done"), [add], version=version)
        found.append(said(agent.invoke(USER, {"max_concurrency": 3})))
    return found


def case_no_tools_at_all(env):
    agent = create_react_agent(
        model_of("done"), ToolNode([]), checkpointer=env.saver(), prompt="Be kind."
    )
    return said(agent.invoke(USER, THREAD)), sorted(agent.get_graph().nodes)


def case_things_that_are_no_tools(env):
    return [
        env.error(lambda: create_react_agent(model_of(), [5])),
        env.error(lambda: create_react_agent(model_of(), [lambda x: x])),
    ]
