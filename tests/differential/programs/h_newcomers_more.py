"""Programs as newcomers write them from the tutorials: many agents, plans, retrieval, streams."""

import operator
import sqlite3
import uuid
from typing import Annotated, Literal

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableParallel, RunnablePassthrough
from langchain_core.tools import InjectedToolCallId, create_retriever_tool, tool
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.config import get_stream_writer
from langgraph.errors import GraphRecursionError
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import (
    InjectedState,
    ToolNode,
    create_react_agent,
    tools_condition,
)
from langgraph.types import Command, RetryPolicy, Send, interrupt
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from .newcomers import calls, says, shown

CONFIG = {"configurable": {"thread_id": "1"}}


# --- many agents ----------------------------------------------------------------------------------


def case_a_network_of_agents(env):
    class Route(TypedDict):
        next: Literal["researcher", "coder", "FINISH"]

    routes = iter(["researcher", "coder", "FINISH"])
    members = ["researcher", "coder"]

    class State(MessagesState):
        next: str

    def supervisor(state: State) -> Command[Literal["researcher", "coder", "__end__"]]:
        response: Route = {"next": next(routes)}
        goto = response["next"]
        if goto == "FINISH":
            goto = END
        return Command(goto=goto, update={"next": goto})

    def member(name):
        agent = create_react_agent(says(f"{name} is done"), tools=[], prompt=f"You are a {name}.")

        def node(state: State) -> Command[Literal["supervisor"]]:
            result = agent.invoke(state)
            last = HumanMessage(content=result["messages"][-1].content, name=name)
            return Command(update={"messages": [last]}, goto="supervisor")

        return node

    builder = StateGraph(State)
    builder.add_edge(START, "supervisor")
    builder.add_node("supervisor", supervisor)
    for name in members:
        builder.add_node(name, member(name))
    graph = builder.compile()
    told = []
    for ns, chunk in graph.stream({"messages": [("user", "go")]}, subgraphs=True):
        told.append((len(ns), sorted(chunk)))
    return told, graph.get_graph().draw_mermaid()


def case_handoffs_between_agents(env):
    def make_handoff_tool(agent_name):
        @tool(f"transfer_to_{agent_name}", description=f"Ask {agent_name} for help.")
        def handoff(
            state: Annotated[dict, InjectedState],
            tool_call_id: Annotated[str, InjectedToolCallId],
        ):
            message = {
                "role": "tool",
                "content": f"Transferred to {agent_name}",
                "name": f"transfer_to_{agent_name}",
                "tool_call_id": tool_call_id,
            }
            return Command(
                goto=agent_name,
                graph=Command.PARENT,
                update={"messages": [*state["messages"], message]},
            )

        return handoff

    travel = create_react_agent(
        says(calls("transfer_to_hotel", {})), [make_handoff_tool("hotel")], name="travel"
    )
    hotel = create_react_agent(says("Stay here."), [make_handoff_tool("travel")], name="hotel")
    builder = StateGraph(MessagesState)
    builder.add_node("travel", travel)
    builder.add_node("hotel", hotel)
    builder.add_edge(START, "travel")
    graph = builder.compile()
    done = graph.invoke({"messages": [("user", "Where to?")]})
    return shown(done["messages"])


def case_a_hierarchy_of_teams(env):
    class State(MessagesState):
        steps: Annotated[list[str], operator.add]

    def worker(name):
        def work(state: State):
            return {"messages": [AIMessage(name, name=name)], "steps": [name]}

        return work

    def team(name, workers):
        builder = StateGraph(State)
        previous = START
        for each in workers:
            builder.add_node(each, worker(each))
            builder.add_edge(previous, each)
            previous = each
        return builder.compile(name=name)

    def top(state: State) -> Command[Literal["research", "writing", "__end__"]]:
        done = [each for each in state["steps"] if each.startswith("go ")]
        goto = {0: "research", 1: "writing"}.get(len(done), END)
        return Command(goto=goto, update={"steps": [f"go {goto}"]})

    builder = StateGraph(State).add_node("top", top)
    builder.add_node("research", team("research", ["search", "scrape"]))
    builder.add_node(
        "writing", lambda s: team("writing", ["outline"]).invoke(s) and {"steps": ["wrote"]}
    )
    builder.add_edge("research", "top").add_edge("writing", "top").add_edge(START, "top")
    graph = builder.compile()
    return graph.invoke({"messages": [], "steps": []})["steps"], graph.get_graph(
        xray=1
    ).draw_mermaid()


# --- plans and loops ------------------------------------------------------------------------------


def plan_and_execute(env):
    class PlanExecute(TypedDict):
        input: str
        plan: list[str]
        past_steps: Annotated[list[tuple], operator.add]
        response: str

    class Plan(BaseModel):
        """Plan to follow."""

        steps: list[str] = Field(description="in order")

    async def plan_step(state: PlanExecute):
        return {"plan": Plan(steps=["find", "tell"]).steps}

    async def execute_step(state: PlanExecute):
        return {"past_steps": [(state["plan"][0], f"did {state['plan'][0]}")]}

    async def replan_step(state: PlanExecute):
        left = state["plan"][1:]
        return {"plan": left} if left else {"response": state["past_steps"][-1][1]}

    def should_end(state: PlanExecute):
        if state.get("response"):
            return END
        return "agent"

    workflow = StateGraph(PlanExecute)
    workflow.add_node("planner", plan_step)
    workflow.add_node("agent", execute_step)
    workflow.add_node("replan", replan_step)
    workflow.add_edge(START, "planner")
    workflow.add_edge("planner", "agent")
    workflow.add_edge("agent", "replan")
    workflow.add_conditional_edges("replan", should_end, ["agent", END])
    app = workflow.compile()

    async def run():
        told = []
        async for event in app.astream({"input": "go"}, config={"recursion_limit": 50}):
            told += [(k, v) for k, v in event.items() if k != "__end__"]
        return told

    return run()


async def case_plan_and_execute_async(env):
    return await plan_and_execute(env)


def case_reflection(env):
    writer, critic = says("draft 1", "draft 2", "draft 3"), says("too long", "too short", "fine")

    class State(TypedDict):
        messages: Annotated[list, add_messages]

    def generation(state: State) -> State:
        return {"messages": [writer.invoke(state["messages"])]}

    def reflection(state: State) -> State:
        swap = {"ai": HumanMessage, "human": AIMessage}
        translated = [state["messages"][0]]
        translated += [swap[m.type](content=m.content) for m in state["messages"][1:]]
        return {"messages": [HumanMessage(content=critic.invoke(translated).content)]}

    def should_continue(state: State):
        return END if len(state["messages"]) > 5 else "reflect"

    builder = StateGraph(State)
    builder.add_node("generate", generation)
    builder.add_node("reflect", reflection)
    builder.add_edge(START, "generate")
    builder.add_conditional_edges("generate", should_continue)
    builder.add_edge("reflect", "generate")
    graph = builder.compile(checkpointer=env.saver())
    done = graph.invoke({"messages": [HumanMessage("Essay")]}, CONFIG)
    return shown(done["messages"]), len(list(graph.get_state_history(CONFIG)))


def case_map_reduce_of_jokes(env):
    class OverallState(TypedDict):
        topic: str
        subjects: list
        jokes: Annotated[list, operator.add]
        best: str

    class JokeState(TypedDict):
        subject: str

    def generate_topics(state: OverallState):
        return {"subjects": [f"{state['topic']} {n}" for n in range(3)]}

    def generate_joke(state: JokeState):
        return {"jokes": [f"joke about {state['subject']}"]}

    def continue_to_jokes(state: OverallState):
        return [Send("generate_joke", {"subject": s}) for s in state["subjects"]]

    def best_joke(state: OverallState):
        return {"best": max(state["jokes"])}

    graph = StateGraph(OverallState)
    graph.add_node("generate_topics", generate_topics)
    graph.add_node("generate_joke", generate_joke)
    graph.add_node("best_joke", best_joke)
    graph.add_edge(START, "generate_topics")
    graph.add_conditional_edges("generate_topics", continue_to_jokes, ["generate_joke"])
    graph.add_edge("generate_joke", "best_joke")
    graph.add_edge("best_joke", END)
    app = graph.compile()
    return app.invoke({"topic": "animal"}), app.get_graph().draw_mermaid()


def case_an_orchestrator_with_workers(env):
    class Section(BaseModel):
        name: str
        description: str

    class State(TypedDict):
        topic: str
        sections: list[Section]
        completed: Annotated[list, operator.add]
        final_report: str

    class WorkerState(TypedDict):
        section: Section
        completed: Annotated[list, operator.add]

    def orchestrator(state: State):
        return {"sections": [Section(name=f"s{n}", description="d") for n in range(2)]}

    def llm_call(state: WorkerState):
        return {"completed": [f"{state['section'].name}: {state['section'].description}"]}

    def synthesizer(state: State):
        return {"final_report": "\n\n---\n\n".join(state["completed"])}

    def assign(state: State):
        return [Send("llm_call", {"section": s}) for s in state["sections"]]

    builder = StateGraph(State)
    builder.add_node("orchestrator", orchestrator)
    builder.add_node("llm_call", llm_call)
    builder.add_node("synthesizer", synthesizer)
    builder.add_edge(START, "orchestrator")
    builder.add_conditional_edges("orchestrator", assign, ["llm_call"])
    builder.add_edge("llm_call", "synthesizer")
    builder.add_edge("synthesizer", END)
    done = builder.compile().invoke({"topic": "x"})
    return done["final_report"], [s.name for s in done["sections"]]


def case_an_evaluator_and_an_optimizer(env):
    class Feedback(BaseModel):
        grade: Literal["funny", "not funny"]
        feedback: str

    grades = iter(
        [Feedback(grade="not funny", feedback="more"), Feedback(grade="funny", feedback="")]
    )

    class State(TypedDict, total=False):
        joke: str
        topic: str
        feedback: str
        grade: str

    def generate(state: State):
        return {"joke": f"{state['topic']} {state.get('feedback', 'first')}"}

    def evaluate(state: State):
        grade = next(grades)
        return {"grade": grade.grade, "feedback": grade.feedback}

    def route(state: State):
        return "Accepted" if state["grade"] == "funny" else "Rejected + Feedback"

    builder = StateGraph(State)
    builder.add_node("generate", generate)
    builder.add_node("evaluate", evaluate)
    builder.add_edge(START, "generate")
    builder.add_edge("generate", "evaluate")
    paths = {"Accepted": END, "Rejected + Feedback": "generate"}
    builder.add_conditional_edges("evaluate", route, paths)
    graph = builder.compile()
    return graph.invoke({"topic": "cats"}), graph.get_graph().draw_mermaid()


def case_a_loop_with_a_limit(env):
    class State(TypedDict):
        aggregate: Annotated[list, operator.add]

    def a(state: State):
        return {"aggregate": ["A"]}

    def b(state: State):
        return {"aggregate": ["B"]}

    def route(state: State) -> Literal["b", END]:
        return "b" if len(state["aggregate"]) < 70 else END

    builder = StateGraph(State).add_node(a).add_node(b)
    builder.add_edge(START, "a").add_conditional_edges("a", route).add_edge("b", "a")
    graph = builder.compile()
    try:
        graph.invoke({"aggregate": []}, {"recursion_limit": 4})
    except GraphRecursionError:
        return "Recursion Error", len(
            graph.invoke({"aggregate": []}, {"recursion_limit": 100})["aggregate"]
        )


# --- retrieval and databases ----------------------------------------------------------------------

TEXTS = ["agents plan and act", "prompts steer models", "attacks fool models"]


def retriever():
    store = InMemoryVectorStore(embedding=DeterministicFakeEmbedding(size=16))
    store.add_documents([Document(page_content=t, metadata={"n": n}) for n, t in enumerate(TEXTS)])
    return store.as_retriever(search_kwargs={"k": 1})


def case_a_chain_for_retrieval(env):
    prompt = ChatPromptTemplate.from_template("Answer from {context}: {question}")

    def format_docs(docs):
        return "\n\n".join(doc.page_content for doc in docs)

    chain = (
        {"context": retriever() | format_docs, "question": RunnablePassthrough()}
        | prompt
        | says("They plan.")
        | StrOutputParser()
    )
    sources = RunnableParallel({"docs": retriever(), "question": RunnablePassthrough()}).assign(
        answer=prompt.partial(context="x") | says("Plans.") | StrOutputParser()
    )
    told = sources.invoke(TEXTS[0])
    return chain.invoke(TEXTS[0]), told["answer"], [d.page_content for d in told["docs"]]


def case_an_agentic_retrieval(env):
    lookup = create_retriever_tool(retriever(), "retrieve_posts", "Search the blog posts.")

    class GradeDocuments(BaseModel):
        """Grade documents."""

        binary_score: str = Field(description="'yes' or 'no'")

    scores = iter(["no", "yes"])
    llm = says(
        calls("retrieve_posts", {"query": TEXTS[1]}),
        "better question",
        calls("retrieve_posts", {"query": TEXTS[0]}, id="c2"),
        "They plan.",
    )

    def respond(state: MessagesState):
        return {"messages": [llm.bind_tools([lookup]).invoke(state["messages"])]}

    def grade(state: MessagesState) -> Literal["generate_answer", "rewrite_question"]:
        score = GradeDocuments(binary_score=next(scores)).binary_score
        return "generate_answer" if score == "yes" else "rewrite_question"

    def rewrite_question(state: MessagesState):
        response = llm.invoke([{"role": "user", "content": state["messages"][0].content}])
        return {"messages": [{"role": "user", "content": response.content}]}

    def generate_answer(state: MessagesState):
        return {"messages": [llm.invoke([{"role": "user", "content": "answer"}])]}

    workflow = StateGraph(MessagesState)
    workflow.add_node(respond)
    workflow.add_node("retrieve", ToolNode([lookup]))
    workflow.add_node(rewrite_question)
    workflow.add_node(generate_answer)
    workflow.add_edge(START, "respond")
    workflow.add_conditional_edges("respond", tools_condition, {"tools": "retrieve", END: END})
    workflow.add_conditional_edges("retrieve", grade)
    workflow.add_edge("generate_answer", END)
    workflow.add_edge("rewrite_question", "respond")
    graph = workflow.compile()
    told = []
    for chunk in graph.stream({"messages": [{"role": "user", "content": "What do agents do?"}]}):
        told += [(node, shown(add_messages([], u["messages"]))) for node, u in chunk.items()]
    return told, graph.get_graph().draw_mermaid()


def case_an_agent_for_sql(env):
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.executescript("create table t(a int); insert into t values (1), (2);")

    @tool
    def list_tables() -> str:
        """List tables."""
        return ", ".join(r[0] for r in db.execute("select name from sqlite_master"))

    @tool
    def run_query(query: str) -> str:
        """Run a query."""
        try:
            return str(db.execute(query).fetchall())
        except sqlite3.Error as error:
            return f"Error: {error!r}"

    llm = says(
        calls("run_query", {"query": "select count(*) from nope"}),
        calls("run_query", {"query": "select count(*) from t"}, id="c2"),
        "Two.",
    )

    def first_call(state: MessagesState):
        call = {"name": "list_tables", "args": {}, "id": "abc", "type": "tool_call"}
        message = AIMessage(content="", tool_calls=[call])
        answer = list_tables.invoke(call)
        return {"messages": [message, answer, AIMessage(f"Available tables: {answer.content}")]}

    def query_gen(state: MessagesState):
        return {"messages": [llm.invoke(state["messages"])]}

    def should_continue(state: MessagesState) -> Literal[END, "run"]:
        return "run" if state["messages"][-1].tool_calls else END

    builder = StateGraph(MessagesState)
    builder.add_node(first_call).add_node(query_gen)
    builder.add_node("run", ToolNode([run_query]))
    builder.add_edge(START, "first_call").add_edge("first_call", "query_gen")
    builder.add_conditional_edges("query_gen", should_continue).add_edge("run", "query_gen")
    done = builder.compile().invoke({"messages": [("user", "How many?")]})
    return shown(done["messages"])


# --- streams --------------------------------------------------------------------------------------


def case_streams_of_tokens_and_progress(env):
    llm = says("a short poem")

    def write(state: MessagesState):
        writer = get_stream_writer()
        writer({"progress": "start"})
        answer = llm.invoke(state["messages"], {"tags": ["poem"]})
        writer({"progress": "end"})
        return {"messages": [answer]}

    graph = StateGraph(MessagesState).add_node(write).add_edge(START, "write").compile()
    told = []
    for mode, chunk in graph.stream(
        {"messages": "go"}, stream_mode=["updates", "messages", "custom"]
    ):
        if mode == "messages":
            message, metadata = chunk
            told.append((mode, message.content, metadata["langgraph_node"], metadata.get("tags")))
        else:
            told.append((mode, chunk if mode == "custom" else sorted(chunk)))
    return told


async def case_events_of_an_agent(env):
    @tool
    async def magic(x: int) -> int:
        """Magic."""
        return x + 2

    call = calls("magic", {"x": 1}, content="calling magic")
    agent = create_react_agent(says(call, "three it is"), [magic])
    told = []
    async for event in agent.astream_events({"messages": [("user", "magic 1")]}, version="v2"):
        kind = event["event"]
        if kind == "on_chat_model_stream":
            told.append((kind, event["data"]["chunk"].content))
        elif kind in ("on_tool_start", "on_tool_end"):
            told.append((kind, event["name"], event["data"].get("input")))
    return told


def case_streams_of_subgraphs(env):
    class SubState(TypedDict):
        foo: str
        bar: str

    class State(TypedDict):
        foo: str

    sub = StateGraph(SubState)
    sub.add_node("s1", lambda s: {"bar": "bar"})
    sub.add_node("s2", lambda s: {"foo": s["foo"] + s["bar"]})
    sub.add_edge(START, "s1").add_edge("s1", "s2")
    builder = StateGraph(State)
    builder.add_node("node_1", lambda s: {"foo": "hi! " + s["foo"]})
    builder.add_node("node_2", sub.compile())
    builder.add_edge(START, "node_1").add_edge("node_1", "node_2")
    graph = builder.compile()
    told = [
        (tuple(each.split(":")[0] for each in ns), chunk)
        for ns, chunk in graph.stream({"foo": "foo"}, stream_mode="updates", subgraphs=True)
    ]
    return told, [
        p["type"] for p in graph.stream({"foo": "f"}, stream_mode=["values"], version="v2")
    ]


# --- persistence and recovery ---------------------------------------------------------------------


def case_editing_the_past(env):
    class State(TypedDict, total=False):
        topic: str
        joke: str

    def generate_topic(state: State):
        return {"topic": "socks"}

    def write_joke(state: State):
        return {"joke": f"joke about {state['topic']}"}

    builder = StateGraph(State).add_node(generate_topic).add_node(write_joke)
    builder.add_edge(START, "generate_topic").add_edge("generate_topic", "write_joke")
    graph = builder.compile(checkpointer=env.saver())
    config = {"configurable": {"thread_id": str(uuid.uuid4())}}
    first = graph.invoke({}, config)
    states = list(graph.get_state_history(config))
    new_config = graph.update_state(states[1].config, values={"topic": "chickens"})
    forked = graph.invoke(None, new_config)
    nexts = [(each.next, each.values) for each in graph.get_state_history(config)]
    return first, [each.next for each in states], forked, nexts


def case_breakpoints_of_compile(env):
    class State(TypedDict):
        input: str

    builder = StateGraph(State)
    for name in ("step_1", "step_2", "step_3"):
        builder.add_node(name, lambda s, name=name: {"input": s["input"] + name[-1]})
    builder.add_edge(START, "step_1").add_edge("step_1", "step_2").add_edge("step_2", "step_3")
    builder.add_edge("step_3", END)
    graph = builder.compile(checkpointer=env.saver(), interrupt_before=["step_3"])
    told = list(graph.stream({"input": "x"}, CONFIG, stream_mode="values"))
    waits = graph.get_state(CONFIG).next
    graph.update_state(CONFIG, {"input": "edited"})
    return told, waits, list(graph.stream(None, CONFIG, stream_mode="values"))


def case_validating_what_people_type(env):
    class State(TypedDict):
        age: int

    def ask_age(state: State):
        question = "How old are you?"
        while True:
            answer = interrupt(question)
            if not isinstance(answer, int) or answer < 0:
                question = f"'{answer}' is not a valid age. How old are you?"
                continue
            break
        return {"age": answer}

    graph = StateGraph(State).add_node(ask_age).add_edge(START, "ask_age").compile(env.saver())
    told = [graph.invoke({}, CONFIG)["__interrupt__"][0].value]
    for answer in ("ten", -5):
        told.append(graph.invoke(Command(resume=answer), CONFIG)["__interrupt__"][0].value)
    return told, graph.invoke(Command(resume=25), CONFIG)


def case_going_on_after_an_error(env):
    attempts = []

    @task()
    def slow():
        attempts.append("slow")
        return "Ran slow task."

    @task()
    def flaky():
        attempts.append("flaky")
        if attempts.count("flaky") == 1:
            raise ValueError("Failure")
        return "OK"

    @entrypoint(checkpointer=env.saver())
    def main(inputs, writer):
        done = slow().result()
        flaky().result()
        return done

    try:
        main.invoke({"any": "x"}, CONFIG)
    except ValueError:
        attempts.append("failed")
    return main.invoke(None, CONFIG), attempts


def case_retries_of_a_node(env):
    tried = []

    def query(state: MessagesState):
        tried.append(1)
        if len(tried) < 3:
            raise ConnectionError("down")
        return {"messages": AIMessage("ok")}

    builder = StateGraph(MessagesState)
    policy = RetryPolicy(max_attempts=5, initial_interval=0.001, jitter=False)
    builder.add_node("query", query, retry_policy=policy)
    graph = builder.add_edge(START, "query").compile()
    return shown(graph.invoke({"messages": []})["messages"]), len(tried)


def case_memory_of_a_workflow(env):
    @entrypoint(checkpointer=env.saver())
    def accumulate(n: int, *, previous: int | None) -> entrypoint.final[int, int]:
        previous = previous or 0
        return entrypoint.final(value=previous, save=previous + n)

    return [accumulate.invoke(n, CONFIG) for n in (1, 2, 3)]


def case_an_essay_that_is_reviewed(env):
    @task
    def write_essay(topic: str) -> str:
        return f"An essay about topic: {topic}"

    @entrypoint(checkpointer=env.saver())
    def workflow(topic: str) -> dict:
        essay = write_essay("cat").result()
        is_approved = interrupt({"essay": essay, "action": "Please approve/reject the essay"})
        return {"essay": essay, "is_approved": is_approved}

    told = []
    for item in workflow.stream("cat", CONFIG):
        told.append(
            {k: [each.value for each in v] if k == "__interrupt__" else v for k, v in item.items()}
        )
    return told, list(workflow.stream(Command(resume=True), CONFIG))
