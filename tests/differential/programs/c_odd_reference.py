"""Programs in the manner of the reference documents, and what lies beside them."""

import operator
from typing import Annotated, TypedDict

import aiosqlite
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessageGraph, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, Send, StreamWriter, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}


class Items(TypedDict, total=False):
    items: Annotated[list, operator.add]


def on(thread, **more):
    return {"configurable": {"thread_id": str(thread), **more}}


def add(value):
    return lambda state: {"items": [value]}


def case_a_dict_as_the_state(env):
    def my_node(state: dict, config: RunnableConfig):
        return {"results": f"Hello, {state['input']}! {config['configurable']['user']}"}

    def my_other_node(state: dict):
        return state

    builder = StateGraph(dict)
    builder.add_node("my_node", my_node)
    builder.add_node("other_node", my_other_node)
    builder.add_edge(START, "my_node")
    builder.add_edge("my_node", "other_node")
    graph = builder.compile(checkpointer=env.saver())
    config = on(1, user="u")
    modes = ["updates", "values", "tasks"]
    told = list(graph.stream({"input": "y"}, config, stream_mode=modes))
    return told, graph.get_state(config).values


def case_jokes(env):
    class Overall(TypedDict):
        subjects: list[str]
        jokes: Annotated[list[str], operator.add]

    class Joke(TypedDict):
        subject: str

    def continue_to_jokes(state: Overall):
        return [Send("generate_joke", {"subject": s}) for s in state["subjects"]]

    def generate_joke(state: Joke):
        return {"jokes": [f"joke {state['subject']}"]}

    builder = StateGraph(Overall)
    builder.add_node("node_a", lambda s: {"subjects": ["cats", "dogs"]})
    builder.add_node(generate_joke)
    builder.set_entry_point("node_a")
    builder.add_conditional_edges("node_a", continue_to_jokes)
    builder.set_finish_point("generate_joke")
    graph = builder.compile()
    return graph.invoke({"subjects": []}), graph.get_graph().draw_mermaid()


def case_a_person_who_approves_or_rejects(env):
    def human_review_node(state):
        decision = interrupt({"question": "请审核以下内容:", "output": state["items"]})
        return Command(goto="approved_node" if decision == "approve" else "rejected_node")

    builder = StateGraph(Items)
    builder.add_node(human_review_node)
    builder.add_node("approved_node", add("ok"))
    builder.add_node("rejected_node", add("no"))
    builder.add_edge(START, "human_review_node")
    found = []
    for decision in ("approve", "reject"):
        graph, config = builder.compile(checkpointer=env.saver()), on(decision)
        found.append(graph.invoke({"items": ["x"]}, config))
        found.append(graph.invoke(Command(resume=decision), config=config))
    return found


def case_tools_condition_with_names_of_ones_own(env):
    @tool
    def search(q: str) -> str:
        """Search."""
        return "found " + q

    def agent(state):
        if len(state["messages"]) > 1:
            return {"messages": [AIMessage("done", id="a2")]}
        call = {"name": "search", "args": {"q": "x"}, "id": "c"}
        return {"messages": [AIMessage("", id="a1", tool_calls=[call])]}

    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("retrieve", ToolNode([search]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition, {"tools": "retrieve", END: END})
    builder.add_edge("retrieve", "agent")
    told = builder.compile().invoke({"messages": [HumanMessage("q", id="h")]})
    return [(message.type, message.content) for message in told["messages"]]


def case_a_graph_of_messages(env):
    builder = MessageGraph()
    builder.add_node("a", lambda messages: AIMessage(f"{len(messages)}", id="a"))
    builder.add_node("b", lambda messages: [HumanMessage("b", id="b"), ("ai", "t")])
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    graph = builder.compile(checkpointer=env.saver())
    turns = [graph.invoke(given, CONFIG) for given in (HumanMessage("hi", id="h"), "again")]
    return [[(message.type, message.content) for message in turn] for turn in turns]


def case_a_sequence_as_a_node(env):
    class Question(TypedDict, total=False):
        q: str
        a: str
        ctx: dict

    chain = {
        "q": lambda s: s["q"],
        "ctx": RunnableLambda(lambda s: {"c": s["q"]}),
    } | RunnablePassthrough.assign(a=lambda d: d["q"] + str(d["ctx"]))
    graph = StateGraph(Question).add_node("c", chain).add_edge(START, "c").compile()
    return list(graph.stream({"q": "x"}, stream_mode=["values", "updates"]))


async def case_everything_async(env):
    async def path(state):
        return [Send("w", {"items": [i]}) for i in range(3)]

    async def work(state, config: RunnableConfig, *, writer: StreamWriter):
        writer(state["items"])
        return {"items": state["items"]}

    async def end(state):
        return Command(update={"items": ["end"]}, goto=END)

    builder = StateGraph(Items)
    builder.add_node("w", work)
    builder.add_node("end", end, defer=True)
    builder.add_conditional_edges(START, path, ["w"])
    builder.add_edge("w", "end")
    async with env.asaver() as saver:
        graph = builder.compile(checkpointer=saver)
        stream = graph.astream({"items": []}, CONFIG, stream_mode=["values", "custom"])
        parts = [part async for part in stream]
        states = [state.next async for state in graph.aget_state_history(CONFIG)]
        await graph.aupdate_state(CONFIG, {"items": ["u"]}, as_node="w")
        following = (await graph.aget_state(CONFIG)).next
        values = [part for mode, part in parts if mode == "values"]
        custom = sorted(part for mode, part in parts if mode == "custom")
        return values, custom, states, following, await graph.ainvoke(None, CONFIG)


def case_code_that_changes_under_a_thread(env):
    class Old(TypedDict, total=False):
        a: int
        gone: str

    class New(TypedDict, total=False):
        a: int
        fresh: Annotated[list, operator.add]

    old = StateGraph(Old).add_node("x", lambda s: {"a": 1, "gone": "g"})
    old.add_node("y", lambda s: {"a": 2}).add_edge(START, "x").add_edge("x", "y")
    old.compile(checkpointer=env.saver(), interrupt_before=["y"]).invoke({"a": 0}, CONFIG)
    new = StateGraph(New).add_node("y", lambda s: {"fresh": [s.get("gone"), s["a"]]})
    new.add_node("z", lambda s: {"fresh": ["z"]}).add_edge(START, "y").add_edge("y", "z")
    graph = new.compile(checkpointer=env.saver())
    state = graph.get_state(CONFIG)
    return state.values, state.next, graph.invoke(None, CONFIG), graph.invoke({"a": 9}, CONFIG)


def case_a_key_that_newer_code_does_not_know(env):
    """The older code runs again after the newer one (a roll-back)."""

    class Old(TypedDict, total=False):
        a: int
        gone: str

    class New(TypedDict, total=False):
        a: int

    old = StateGraph(Old).add_node("x", lambda s: {"a": 1}).add_edge(START, "x")
    new = StateGraph(New).add_node("x", lambda s: {"a": 2}).add_edge(START, "x")
    with SqliteSaver.from_conn_string(str(env.tmp_path / "threads.sqlite")) as saver:
        before = old.compile(checkpointer=saver)
        before.invoke({"gone": "g"}, CONFIG)
        new.compile(checkpointer=saver).invoke({"a": 0}, CONFIG)
        return before.get_state(CONFIG).values


async def case_a_connection_of_aiosqlite(env):
    async with aiosqlite.connect(str(env.tmp_path / "threads.sqlite")) as conn:
        builder = StateGraph(Items).add_node("a", add("a")).add_edge(START, "a")
        return await builder.compile(checkpointer=AsyncSqliteSaver(conn)).ainvoke({}, CONFIG)


def case_names_of_runnables_in_a_sequence(env):
    named = RunnableLambda(lambda s: {"items": ["c"]}, name="named")
    builder = StateGraph(Items).add_sequence([("a", add("a")), named])
    builder.add_edge(START, "a")
    return sorted(builder.nodes), builder.compile().invoke({"items": []})
