"""Programs as how-to guides have them: handoffs, reviews, workers, chains; written small."""

import operator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    dynamic_prompt,
    wrap_model_call,
)
from langchain.tools import InjectedState, InjectedStore, ToolRuntime, tool
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.language_models import BaseChatModel, LanguageModelLike
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    filter_messages,
    merge_message_runs,
    trim_messages,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import InjectedToolCallId
from langgraph.channels import BinaryOperatorAggregate, LastValue, Topic
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.pregel import Pregel
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel

THREAD = {"configurable": {"thread_id": "1"}}
SESSION = {"configurable": {"session_id": "a"}}


class Scripted(BaseChatModel):
    """Says what its script says, and keeps what it was shown."""

    script: list
    shown: list = []  # noqa: RUF012 (a field: each model has its own)

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.shown.append([(message.type, message.text) for message in messages])
        said = self.script.pop(0) if self.script else "the end"
        message = AIMessage(said) if isinstance(said, str) else said
        return ChatResult(generations=[ChatGeneration(message=message)])


class State(TypedDict):
    x: int
    log: Annotated[list, operator.add]


def hello():
    return HumanMessage("hi", id="hi")


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def ai(*calls):
    return AIMessage("", tool_calls=list(calls))


def line(*nodes, schema=State, **options):
    """A graph of nodes one after the other."""
    builder = StateGraph(schema)
    names = [f"n{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        builder.add_node(name, node)
    for before, after in zip([START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder.compile(**options)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


# --- several agents -------------------------------------------------------------------------------


class Swarm(MessagesState):
    active: str


def agent_of(model: LanguageModelLike, *tools, **options):
    return create_react_agent(model, [*tools], **options)


def hand_over(agent):
    @tool(f"transfer_to_{agent}", description=f"Hand over to {agent}.")
    def transfer(
        state: Annotated[dict, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
    ):
        done = ToolMessage(f"over to {agent}", name="transfer", tool_call_id=tool_call_id)
        update = {"messages": [*state["messages"], done], "active": agent}
        return Command(goto=agent, graph=Command.PARENT, update=update)

    return transfer


def swarm(**options):
    alice = create_react_agent(
        Scripted(script=[ai(call("transfer_to_bob"))]), [hand_over("bob")], prompt="You are Alice"
    )
    bob = agent_of(Scripted(script=["ahoy", "again"]), hand_over("alice"), prompt="You are Bob")
    builder = StateGraph(Swarm).add_node("alice", alice).add_node("bob", bob)
    builder.add_conditional_edges(START, first_speaker, ["alice", "bob"])
    return builder.compile(**options)


def first_speaker(state):
    return state.get("active") or "alice"


def case_a_swarm_goes_on_with_who_spoke_last(env):
    graph = swarm(checkpointer=env.saver())
    return graph.invoke({"messages": "hi"}, THREAD), graph.invoke({"messages": "more"}, THREAD)


def case_tasks_that_hand_over_have_no_result(env):
    return [
        [*swarm().stream({"messages": [hello()]}, stream_mode=mode, subgraphs=True)]
        for mode in ("tasks", "debug", "updates")
    ]


def case_a_supervisor_assigns_work(env):
    def assign(agent):
        @tool(f"to_{agent}")
        def go(
            state: Annotated[MessagesState, InjectedState],
            tool_call_id: Annotated[str, InjectedToolCallId],
        ) -> Command:
            """Assign."""
            done = ToolMessage("ok", tool_call_id=tool_call_id, name=f"to_{agent}")
            given = {**state, "messages": [*state["messages"], done]}
            return Command(goto=[Send(agent, given)], graph=Command.PARENT)

        return go

    maths = create_react_agent(
        Scripted(script=[ai(call("add", a=1, b=2)), "it is 3"]), [add], name="maths"
    )
    writer = create_react_agent(Scripted(script=["written"]), [], name="writer")
    model = Scripted(script=[ai(call("to_writer", "w")), ai(call("to_maths", "m")), "all done"])
    boss = create_react_agent(model, [assign("writer"), assign("maths")], name="boss")
    builder = StateGraph(MessagesState)
    builder.add_node(boss, destinations=("writer", "maths", END)).add_node(writer).add_node(maths)
    builder.add_edge(START, "boss").add_edge("writer", "boss").add_edge("maths", "boss")
    graph = builder.compile(checkpointer=env.saver())
    updates = [*graph.stream({"messages": "go"}, THREAD, subgraphs=True, stream_mode="updates")]
    return updates, model.shown, graph.get_graph(xray=True).draw_mermaid()


def case_a_question_of_the_agent_that_took_over(env):
    @tool
    def book(hotel: str) -> str:
        """Book."""
        return f"{hotel}: {interrupt({'book': hotel})}"

    flight = create_react_agent(
        Scripted(script=[ai(call("transfer_to_hotel"))]), [hand_over("hotel")]
    )
    hotel = create_react_agent(Scripted(script=[ai(call("book", "b", hotel="Ritz")), "ok"]), [book])
    builder = StateGraph(Swarm).add_node("flight", flight).add_node("hotel", hotel)
    graph = builder.add_edge(START, "flight").compile(checkpointer=env.saver())
    asked = [*graph.stream({"messages": "go"}, THREAD, subgraphs=True, stream_mode="tasks")]
    state = graph.get_state(THREAD, subgraphs=True)
    answered = [*graph.stream(Command(resume="yes"), THREAD, subgraphs=True)]
    return asked, state, answered


def case_an_agent_inside_a_tool_is_reviewed(env):
    calc = create_agent(
        Scripted(script=[ai(call("add", "s", a=1, b=2)), "three"]),
        [add],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"add": True})],
    )

    @tool
    def ask_calc(question: str) -> str:
        """Ask the calculator."""
        return calc.invoke({"messages": [HumanMessage(question, id="q")]})["messages"][-1].text

    boss = create_agent(
        Scripted(script=[ai(call("ask_calc", "b", question="1 + 2")), "done"]),
        [ask_calc],
        checkpointer=env.saver(),
    )
    asked = boss.invoke({"messages": [hello()]}, THREAD)
    return asked, boss.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)


# --- agents, their tools and what they know -------------------------------------------------------


@dataclass
class Who:
    user: str


class Support(AgentState):
    step: str


def case_a_runtime_of_one_type(env):
    @dynamic_prompt
    def prompt(request):
        kept = request.runtime.store.get(("likes",), request.runtime.context.user)
        return f"likes {kept.value if kept else None}"

    @tool
    def remember(what: str, runtime: ToolRuntime[Who]) -> str:
        """Remember."""
        runtime.store.put(("likes",), runtime.context.user, {"what": what})
        return "ok"

    model = Scripted(script=[ai(call("remember", what="tea")), "done", "again"])
    agent = create_agent(
        model, [remember], middleware=[prompt], context_schema=Who, store=env.store()
    )
    agent.invoke({"messages": [hello()]}, context=Who("ann"))
    agent.invoke({"messages": [hello()]}, context=Who("ann"))
    return model.shown, remember.args


def case_a_runtime_of_context_and_state(env):
    @tool
    def record(status: str, runtime: ToolRuntime[None, Support]) -> Command:
        """Record."""
        told = ToolMessage(f"was {runtime.state.get('step')}", tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [told], "step": status})

    seen = []

    @wrap_model_call
    def by_step(request, handler):
        step = request.state.get("step", "first")
        seen.append(step)
        return handler(request.override(system_message=SystemMessage(f"step {step}")))

    model = Scripted(script=[ai(call("record", status="second")), "end"])
    agent = create_agent(
        model, [record], state_schema=Support, middleware=[by_step], checkpointer=env.saver()
    )
    return agent.invoke({"messages": [hello()]}, THREAD), seen, model.shown


def case_the_places_where_middleware_may_end(env):
    agent = create_agent(
        Scripted(script=[]),
        [add],
        middleware=[PIIMiddleware("email"), SummarizationMiddleware(model=Scripted(script=[]))],
    )
    edges = agent.get_graph().edges
    return sorted((edge.source, edge.target, edge.conditional) for edge in edges)


def case_answers_in_commands_have_the_name_of_their_tool(env):
    def answered(update, graph=None):
        @tool("tool")
        def run(tool_call_id: Annotated[str, InjectedToolCallId]):
            """Run."""
            mine = ToolMessage("mine", tool_call_id=tool_call_id, name="other")
            return Command(update=update(mine), graph=graph)

        agent = create_agent(Scripted(script=[ai(call("tool", "c"))]), [run])
        outer = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent")
        said = outer.compile().invoke({"messages": [hello()]})["messages"]
        return [message.name for message in said if message.type == "tool"]

    more = ToolMessage("more", tool_call_id="x", name="kept")
    return [
        answered(lambda mine: {"messages": [mine]}),
        answered(lambda mine: {"messages": [more, mine]}),
        answered(lambda mine: {"messages": [mine]}, Command.PARENT),
    ]


def case_type_arguments_are_for_type_checkers(env):
    def build() -> CompiledStateGraph[State, Who, State, State]:
        builder: StateGraph[State, Who] = StateGraph[State, Who](State, Who)
        return builder.add_node("n", node).add_edge(START, "n").compile()

    def node(state: State, runtime: Runtime[Who]):
        return {"log": [runtime.context.user]}

    asked = [
        *(ToolRuntime[Who], ToolRuntime[Who, State], CompiledStateGraph[State], entrypoint[Who]),
        *(Pregel[State, Who], StateGraph[State, Who, State, State], LastValue[int], Topic[str]),
        *(BinaryOperatorAggregate[int], HumanInTheLoopMiddleware[State, Who]),
    ]
    return build().invoke({"log": []}, context=Who("ann")), len(asked)


def case_names_that_programs_import(env):
    return [
        one.__name__
        for one in (
            *(InjectedState, InjectedStore, ToolRuntime, ToolCallRequest, tool),
            *(ToolCall, UsageMetadata),
        )
    ]


# --- nodes and what they return -------------------------------------------------------------------


def case_nodes_that_return_a_runnable(env):
    graph = line(lambda state: {"log": ["inner", sorted(state)]})
    nested = RunnableLambda(lambda state: RunnableLambda(lambda state: {"log": [state["x"]]}))
    configured = RunnableLambda(lambda state, config: {"log": [config["metadata"]["m"]]})
    return [
        env.error(lambda one=one: line(lambda state: one).invoke({"x": 1, "log": ["before"]}))
        for one in (graph, nested, configured.with_config(metadata={"m": 5}))
    ]


async def case_async_nodes_that_return_a_runnable(env):
    async def inner(state):
        return {"log": ["inner"]}

    async def node(state):
        return RunnableLambda(inner)

    async def graph_of_it(state):
        return line(inner)

    return (
        await line(node).ainvoke({"x": 1, "log": []}),
        await line(graph_of_it).ainvoke({"x": 1, "log": []}),
    )


def case_a_returned_graph_asks(env):
    asking = line(lambda state: {"log": [interrupt("sure?")]})
    graph = line(lambda state: asking, checkpointer=env.saver())
    return graph.invoke({"log": []}, THREAD), graph.invoke(Command(resume="yes"), THREAD)


def case_objects_that_are_no_update(env):
    class Empty:
        pass

    class Plain:
        def __init__(self):
            self.log = ["lost"]

    class Declared:
        log: list

        def __init__(self):
            self.log = ["kept"]

    class Model(BaseModel):
        log: list = ["kept"]

    class Derived(Declared):
        pass

    return [
        env.error(lambda made=made: line(lambda state: made()).invoke({"log": []}))
        for made in (Empty, Plain, object, Declared, Model, Derived)
    ]


# --- workers, reviews, workflows ------------------------------------------------------------------


def case_workers_that_ask_are_answered_by_id(env):
    class Work(TypedDict):
        topic: str
        draft: str
        log: Annotated[list, operator.add]

    def draft(state):
        return {"draft": state["topic"].upper()}

    def ask(state):
        return {"log": [f"{state['draft']}: {interrupt(state['topic'])}"]}

    class Topics(TypedDict):
        topics: list
        log: Annotated[list, operator.add]

    builder = StateGraph(Topics).add_node("work", line(draft, ask, schema=Work))
    builder.add_node("end", lambda state: {"log": [len(state["log"])]})
    builder.add_conditional_edges(
        START, lambda state: [Send("work", {"topic": topic}) for topic in state["topics"]], ["work"]
    )
    graph = builder.add_edge("work", "end").compile(checkpointer=env.saver())
    graph.invoke({"topics": ["a", "b", "c"]}, THREAD)
    ids = {asked.value: asked.id for asked in graph.get_state(THREAD).interrupts}
    graph.invoke(Command(resume={ids["b"]: "B"}), THREAD)
    waiting = sorted(asked.value for asked in graph.get_state(THREAD).interrupts)
    return waiting, graph.invoke(Command(resume={ids["a"]: "A", ids["c"]: "C"}), THREAD)


def case_a_plan_that_a_person_changes(env):
    def plan(state):
        return {"log": ["a", "b"]}

    def review(state) -> Command[Literal["n2", "__end__"]]:
        answer = interrupt({"plan": state["log"]})
        if answer == "stop":
            return Command(goto=END)
        return Command(goto="n2", update={"log": [answer]})

    builder = StateGraph(State).add_node("plan", plan).add_node("review", review)
    builder.add_node("n2", lambda state: {"x": len(state["log"])})
    graph = (
        builder.add_edge(START, "plan").add_edge("plan", "review").compile(checkpointer=env.saver())
    )
    other = {"configurable": {"thread_id": "2"}}
    for config in (THREAD, other):
        graph.invoke({"log": []}, config)
    graph.update_state(THREAD, {"log": ["by hand"]})
    return (
        graph.invoke(Command(resume="c"), THREAD),
        graph.invoke(Command(resume="stop"), other),
        graph.get_graph().draw_mermaid(),
    )


def case_tasks_inside_a_node_that_asks(env):
    ran = []

    @task
    def double(number):
        ran.append(number)
        return number * 2

    def node(state):
        doubled = [future.result() for future in [double(number) for number in range(3)]]
        return {"log": [*doubled, interrupt("go on?"), double(9).result()]}

    graph = line(node, checkpointer=env.saver())
    asked = graph.invoke({"log": []}, THREAD)
    return asked, graph.invoke(Command(resume="yes"), THREAD), sorted(ran)


def case_a_graph_inside_a_workflow_asks(env):
    graph = line(lambda state: {"log": [interrupt("inside?")]})

    @task
    def prepare(number):
        return number + 1

    @entrypoint(checkpointer=env.saver())
    def workflow(number):
        return graph.invoke({"log": [prepare(number).result()]})["log"]

    return (
        workflow.invoke(1, THREAD),
        workflow.get_state(THREAD, subgraphs=True),
        workflow.invoke(Command(resume="yes"), THREAD),
    )


def case_what_waits_is_answered_at_its_own_place(env):
    def ask(tag):
        return lambda state: {"log": [tag + interrupt(tag)]}

    inner = line(ask("inner"))
    builder = StateGraph(State).add_node("own", ask("own")).add_node("inner", inner)
    builder.add_node("after", line(ask("first"), ask("second")))
    builder.add_edge(START, "own").add_edge(START, "inner").add_edge(["own", "inner"], "after")
    graph = builder.compile(checkpointer=env.saver())
    graph.invoke({"log": []}, THREAD)
    ids = {asked.value: asked.id for asked in graph.get_state(THREAD).interrupts}
    answered = [graph.invoke(Command(resume={ids["inner"]: "1"}), THREAD)]
    answered += [graph.invoke(Command(resume=word), THREAD) for word in "234"]
    return answered, graph.get_state(THREAD).values


def case_a_failed_subgraph_goes_on_after_an_edit(env):
    def careful(state):
        if state["x"] < 5:
            raise ValueError("too small")
        return {"log": ["done"]}

    prepare = line(lambda state: {"log": ["prepared"]}, careful)
    graph = line(lambda state: {"log": ["begun"]}, prepare, checkpointer=env.saver())
    failed = env.error(lambda: graph.invoke({"log": [], "x": 1}, THREAD))
    graph.update_state(THREAD, {"x": 9})
    return failed, graph.get_state(THREAD).next, graph.invoke(None, THREAD)


# --- chains ---------------------------------------------------------------------------------------


def case_functions_over_messages_in_chains(env):
    messages = [HumanMessage("a", id="1"), AIMessage("b"), HumanMessage("c")]
    people, merged = filter_messages(include_types="human"), merge_message_runs()
    last = trim_messages(max_tokens=1, token_counter=len)
    texts = RunnableLambda(lambda messages: [message.content for message in messages])
    return [
        (people | merged | texts).invoke(messages),
        (people | last | texts).invoke(messages),
        people.pipe(merged).invoke(messages),
        people.batch([messages, messages]),
        [*people.stream(messages)],
        (RunnableLambda(list) | people | len).invoke(messages),
        ({"people": people, "last": last} | RunnableLambda(sorted)).invoke(messages),
        people.get_name(),
    ]


async def case_functions_over_messages_are_heard(env):
    people = filter_messages(include_types="human")
    chain = people | merge_message_runs()
    events = chain.astream_events([HumanMessage("a")], version="v2")
    return [(event["event"], event["name"]) async for event in events]


def case_messages_that_only_call_tools_are_shown(env):
    calls = [call("add", a=1)]
    wrong = [{"name": "add", "args": "{", "id": "1", "error": "no JSON"}]
    return [
        message.pretty_repr()
        for message in (
            *(AIMessage("", tool_calls=calls), AIMessage("x", tool_calls=calls), AIMessage("")),
            *(AIMessage([], tool_calls=calls), AIMessage("", name="ann", tool_calls=calls)),
            *(AIMessage("", invalid_tool_calls=wrong), HumanMessage(""), AIMessage([])),
        )
    ]


def case_names_of_runs_around_a_history(env):
    class Names(BaseCallbackHandler):
        def __init__(self):
            self.told = []

        def on_chain_start(self, serialized, inputs, **kwargs):
            self.told.append((kwargs.get("name"), kwargs["tags"]))

    told = []
    for keys in ({}, {"input_messages_key": "q", "history_messages_key": "past"}):
        names = Names()
        history = InMemoryChatMessageHistory()
        chain = RunnableWithMessageHistory(
            RunnableLambda(lambda given: "said"), lambda session_id, it=history: it, **keys
        )
        chain.invoke({"q": "hi"} if keys else [hello()], {**SESSION, "callbacks": [names]})
        told.append(names.told[: 4 if keys else 2])
    return told


def case_errors_as_listeners_see_them(env):
    told: list[Any] = []
    failing = RunnableLambda(lambda number: number + 1).with_listeners(
        on_error=lambda run: told.append(run.error.splitlines()[0])
    )
    return env.error(lambda: failing.invoke("text")), told
