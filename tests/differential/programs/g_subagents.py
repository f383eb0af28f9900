"""create_agent: `run.subagents`, the runs of named agents inside the run of an agent."""

import asyncio

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.stream import AsyncSubgraphRunStream, SubgraphRunStream
from langgraph.types import Command, interrupt


class Script(BaseChatModel):
    """Says its messages one after the other."""

    says: list

    @property
    def _llm_type(self):
        return "script"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        said = self.says.pop(0)
        if isinstance(said, Exception):
            raise said
        return ChatResult(generations=[ChatGeneration(message=said)])


def calls(*made):
    """A message that calls tools: pairs of tool and id."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": {"q": "?"}, "id": id} for name, id in made], id="m1"
    )


def helper(name="helper", says=None, tools=(), **given):
    model = Script(says=says or [AIMessage(f"{name} says.", id=f"of {name}")])
    return create_agent(model, list(tools), name=name, **given)


def asking(inner, name="ask"):
    """A tool that asks a graph."""

    @tool(name)
    def ask(q: str) -> str:
        """Ask."""
        return inner.invoke({"messages": [("user", q)]})["messages"][-1].text

    return ask


def aasking(inner, name="ask"):
    """`asking` in an event loop."""

    @tool(name)
    async def ask(q: str) -> str:
        """Ask."""
        return (await inner.ainvoke({"messages": [("user", q)]}))["messages"][-1].text

    return ask


def boss(*tools, made=(("ask", "c1"),), **given):
    says = [calls(*made), AIMessage("Done.", id="m2")]
    return create_agent(Script(says=says), list(tools), **given)


def around(inner, **compiled):
    """A graph that only runs another one."""
    builder = StateGraph(MessagesState)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    return builder.compile(**compiled)


QUESTION = {"messages": [("user", "go")]}


def start(agent, config=None, given=QUESTION, **more):
    return agent.stream_events(given, config, version="v3", **more)


async def astart(agent, config=None, given=QUESTION, **more):
    return await agent.astream_events(given, config, version="v3", **more)


def about(sub):
    return {
        "name": sub.name,
        "cause": sub.cause,
        "graph_name": sub.graph_name,
        "node": [level.partition(":")[0] for level in sub.path],
        "is the task": sub.trigger_call_id == sub.path[-1].partition(":")[2],
        "status": sub.status,
        "error": sub.error,
    }


def told(run):
    """Each subagent as it begins and as it is when it has been read."""
    found = []
    for sub in run.subagents:
        begun = about(sub)
        said = [(message.node, str(message.text)) for message in sub.messages]
        found.append((begun, said, about(sub)))
    return found


def case_an_agent_that_a_tool_asks(env):
    return told(start(boss(asking(helper()))))


async def case_an_agent_that_a_tool_asks_async(env):
    run = await astart(boss(aasking(helper())))
    found = []
    async for sub in run.subagents:
        begun = about(sub)
        said = [(message.node, await message.text) async for message in sub.messages]
        found.append((begun, said, about(sub), isinstance(sub, AsyncSubgraphRunStream)))
    return found, (await run.output())["messages"][-1].text


def case_projections(env):
    run = start(boss(asking(helper())))
    own = sorted(run.extensions), run.extensions["subagents"] is run.subagents
    return own, [
        (sorted(sub.extensions), isinstance(sub, SubgraphRunStream)) for sub in run.subagents
    ]


def case_states_of_a_subagent(env):
    run = start(boss(asking(helper())))
    texts = []
    for sub in run.subagents:
        texts += [[m.text for m in value["messages"]] for value in sub.values]
        texts.append([m.text for m in sub.output["messages"]])
        texts.append((sub.interrupted, sub.interrupts, sub.status))
    return texts, [m.text for m in run.output["messages"]]


def case_tool_calls_of_a_subagent(env):
    @tool
    def add(q: str) -> str:
        """Add."""
        return q + "!"

    inner = helper(says=[calls(("add", "i1")), AIMessage("Added.", id="m9")], tools=[add])
    run = start(boss(asking(inner)))
    return [
        [(call.tool_name, call.tool_call_id, call.input) for call in sub.tool_calls]
        for sub in run.subagents
    ]


def case_events_of_a_subagent(env):
    run = start(boss(asking(helper())))
    return [[(e["method"], e.get("seq")) for e in sub] for sub in run.subagents]


def case_subagents_are_no_events(env):
    return [event["method"] for event in start(boss(asking(helper())))]


def case_agents_without_a_name(env):
    return told(start(boss(asking(helper(None)))))


def case_an_agent_that_is_called_as_the_one_around_it(env):
    return told(start(boss(asking(helper("same")), name="same")))


def case_a_named_agent_asks_an_unnamed_one(env):
    return told(start(boss(asking(helper(None)), name="boss")))


def case_a_named_agent_asks_a_graph(env):
    return told(start(boss(asking(around(lambda s: {"messages": [("ai", "x")]})), name="boss")))


def case_an_unnamed_agent_asks_a_graph(env):
    return told(start(boss(asking(around(lambda s: {"messages": [("ai", "x")]})))))


def case_a_subagent_in_a_graph(env):
    """The agent is nested in a graph that the tool runs."""
    run = start(boss(asking(around(helper()))))
    return told(run)


def case_subagents_of_a_subgraph(env):
    run = start(boss(asking(around(helper()))))
    return [(s.graph_name, told(s)) for s in run.subgraphs]


def case_a_subagent_in_a_graph_of_a_named_agent(env):
    return told(start(boss(asking(around(helper())), name="boss")))


def case_subagents_of_subagents(env):
    middle = helper(
        "middle", says=[calls(("ask", "c2")), AIMessage("Mid.", id="m7")], tools=[asking(helper())]
    )
    run = start(boss(asking(middle)))
    return [(about(sub), told(sub)) for sub in run.subagents]


def case_only_those_of_the_run_itself(env):
    middle = helper(
        "middle", says=[calls(("ask", "c2")), AIMessage("Mid.", id="m7")], tools=[asking(helper())]
    )
    return [about(sub) for sub in start(boss(asking(middle))).subagents]


def case_an_agent_after_another(env):
    one, two = asking(helper("one"), "one"), asking(helper("two"), "two")
    says = [calls(("one", "c1")), calls(("two", "c2")), AIMessage("Done.", id="m2")]
    return told(start(create_agent(Script(says=says), [one, two])))


def case_agents_at_once(env):
    one, two = asking(helper("one"), "one"), asking(helper("two"), "two")
    run = start(boss(one, two, made=(("one", "c1"), ("two", "c2"))))
    return sorted((sub.name, sub.cause["tool_call_id"]) for sub in run.subagents), [
        m.text for m in run.output["messages"]
    ]


def case_an_agent_is_asked_twice(env):
    says = [AIMessage("First.", id="a"), AIMessage("Second.", id="b")]
    inner = helper(says=says)

    @tool
    def ask(q: str) -> str:
        """Ask twice."""
        inner.invoke(QUESTION)
        return inner.invoke(QUESTION)["messages"][-1].text

    return told(start(boss(ask)))


def case_a_subagent_fails(env):
    run = start(boss(asking(helper(says=[ValueError("no")]))))
    found = []

    def read():
        for sub in run.subagents:
            found.append((sub, env.error(lambda sub=sub: list(sub.messages))))

    error = env.error(read)
    return error, [(about(sub), told) for sub, told in found], env.error(lambda: found[0][0].output)


async def case_a_subagent_fails_async(env):
    run = await astart(boss(aasking(helper(says=[ValueError("no")]))))
    found = []

    async def read():
        async for sub in run.subagents:
            found.append(sub)

    error = await env.aerror(read())
    return error, [about(sub) for sub in found], await env.aerror(found[0].output())


def case_a_subagent_asks(env):
    @tool
    def question(q: str) -> str:
        """Ask somebody."""
        return interrupt("really?")

    inner = helper(says=[calls(("question", "i1")), AIMessage("Asked.", id="m9")], tools=[question])
    agent = boss(asking(inner), checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    run = start(agent, config)
    first = [
        (about(sub), sub.interrupted, [i.value for i in sub.interrupts], about(sub))
        for sub in run.subagents
    ]
    told_first = first, run.interrupted, [i.value for i in run.interrupts]
    run = start(agent, config, Command(resume="yes"))
    return told_first, told(run), run.output["messages"][-1].text


def case_subagents_and_subgraphs(env):
    run = start(boss(asking(helper())))
    found = []
    for name, nested in run.interleave("subagents", "subgraphs"):
        found.append((name, nested.graph_name, [str(m.text) for m in nested.messages]))
    return found


def case_both_at_once(env):
    run = start(boss(asking(helper())))
    return [(name, sub.graph_name) for name, sub in run.interleave("subagents", "subgraphs")]


async def case_agents_at_once_each_read_by_a_task(env):
    one, two = aasking(helper("one"), "one"), aasking(helper("two"), "two")
    run = await astart(boss(one, two, made=(("one", "c1"), ("two", "c2"))))

    async def read(sub):
        said = [await message.text async for message in sub.messages]
        return sub.name, said, sub.status, (await sub.output())["messages"][-1].text

    reading = [asyncio.create_task(read(sub)) async for sub in run.subagents]
    return sorted(await asyncio.gather(*reading))


def case_graphs_have_none(env):
    run = start(around(helper()))
    return sorted(run.extensions), [sorted(sub.extensions) for sub in run.subgraphs]


def case_an_agent_that_is_left(env):
    run = start(boss(asking(helper())))
    with run:
        for sub in run.subagents:
            break
    return about(sub), list(sub.messages), sub.output
