"""`astream_events` (v2) over a graph: nodes, models, path functions, custom events, filters."""

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt


def model(*texts, **fields):
    return GenericFakeChatModel(messages=iter([AIMessage(t) for t in texts]), **fields)


def to_end(state):
    return END


def whole():
    """A graph with a model, a custom event, a plain node, a nested graph and a path function."""
    said = model("one two")

    async def talk(state):
        await adispatch_custom_event("about to talk", {"n": 1})
        return {"messages": [await said.ainvoke(state["messages"])]}

    def plain(state):
        return {"messages": [AIMessage("plain", id="p")]}

    inner = StateGraph(MessagesState)
    inner.add_node("deep", plain)
    inner.add_edge(START, "deep")
    builder = StateGraph(MessagesState)
    builder.add_node("talk", talk)
    builder.add_node("plain", plain)
    builder.add_node("sub", inner.compile(name="Inner"))
    builder.add_edge(START, "talk")
    builder.add_edge("talk", "plain")
    builder.add_edge("plain", "sub")
    builder.add_conditional_edges("sub", to_end)
    return builder.compile()


def given():
    return {"messages": [HumanMessage("hi", id="in")]}


async def events(runnable, value, **options):
    found = []
    options.setdefault("version", "v2")
    async for event in runnable.astream_events(value, **options):
        event = dict(event)
        metadata = event["metadata"].items()
        event["metadata"] = {k: v for k, v in metadata if not k.startswith(("ls_", "lc_"))}
        found.append(event)
    return found


def short(found):
    return [(e["event"], e["name"], e["run_id"], e["parent_ids"], e["tags"]) for e in found]


async def case_everything(env):
    return await events(whole(), given())


async def case_config(env):
    config = {"run_name": "mine", "tags": ["t"], "metadata": {"k": 1}}
    return await events(whole(), given(), config=config)


async def case_stream_modes(env):
    found = await events(whole(), given(), stream_mode=["values", "custom"])
    return [e for e in found if e["name"] == "LangGraph"]


async def case_filters(env):
    filters = [
        {"include_names": ["plain"]},
        {"include_types": ["chat_model"]},
        {"include_tags": ["graph:step:2"]},
        {"include_names": ["plain"], "include_types": ["chat_model"]},
        {"exclude_names": ["talk", "LangGraph"]},
        {"exclude_types": ["chain"]},
        {"exclude_tags": ["seq:step:1"]},
        {"include_types": ["chain"], "exclude_names": ["LangGraph"]},
    ]
    return [short(await events(whole(), given(), **each)) for each in filters]


async def case_input_of_the_first_event_of_a_filter(env):
    found = await events(whole(), given(), include_names=["plain"])
    return [e["data"] for e in found]


async def case_sync_nodes(env):
    said = model("one two")

    def talk(state):
        dispatch_custom_event("sync", [1])
        return {"messages": [said.invoke("x")]}

    builder = StateGraph(MessagesState)
    builder.add_node("talk", talk)
    builder.add_edge(START, "talk")
    return await events(builder.compile(), given())


async def case_questions(env):
    builder = StateGraph(MessagesState)
    builder.add_node("ask", lambda s: {"messages": [AIMessage(interrupt("?"), id="a")]})
    builder.add_edge(START, "ask")
    async with env.asaver() as saver:
        graph = builder.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}}
        first = await events(graph, given(), config=config)
        return first, await events(graph, Command(resume="A"), config=config)


async def case_errors(env):
    def fail(state):
        raise ValueError("no")

    async def consume():
        options = {"version": "v2"}
        async for event in builder.compile().astream_events(given(), **options):
            found.append((event["event"], event["name"]))

    builder = StateGraph(MessagesState)
    builder.add_node("fail", fail)
    builder.add_edge(START, "fail")
    found = []
    return await env.aerror(consume()), found


async def case_models(env):
    return await events(model("one two"), "hi")


async def case_functions(env):
    return await events(RunnableLambda(lambda x: x + 1, name="more"), 1)


async def case_functions_inside_nodes(env):
    inner = RunnableLambda(lambda x: x + 1, name="more")

    async def node(state):
        await inner.ainvoke(1)
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("n", node)
    builder.add_edge(START, "n")
    return await events(builder.compile(), given())


async def case_unknown_version(env):
    async def consume():
        async for _ in whole().astream_events(given(), version="v7"):
            pass

    return await env.aerror(consume())


async def case_closing(env):
    found = []
    stream = whole().astream_events(given(), version="v2")
    async for event in stream:
        found.append((event["event"], event["name"]))
        if event["event"] == "on_custom_event":
            break
    await stream.aclose()
    return found


async def case_retries_that_are_watched(env):
    attempts = []

    def flaky(state):
        attempts.append(1)
        if len(attempts) < 2:
            raise ValueError("not yet")
        return {"messages": [AIMessage("hi", id="a")]}

    node = RunnableLambda(flaky).with_retry(wait_exponential_jitter=False)
    builder = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")

    async def watched():
        return [event async for event in builder.compile().astream_events(given(), version="v2")]

    found = await env.aerror(watched())
    return found if not isinstance(found, tuple) else found[1][-1]["data"], len(attempts)
