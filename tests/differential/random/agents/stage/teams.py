"""Several agents in one graph: nodes that hand on to each other, or tools of one of them."""

from typing import Annotated, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, Send

from .actions import Player
from .agents import agent_of
from .react import Around, react_of


def handoff(spec):
    """A tool that hands on to another agent of the team."""
    to, form = spec["to"], spec["form"]

    @tool(f"to_{to}")
    def hand_on(
        state: Annotated[Any, InjectedState],
        call_id: Annotated[str, InjectedToolCallId],
        why: str = "",
    ) -> Any:
        """Hand on."""
        said = ToolMessage(f"to {to} {why}", tool_call_id=call_id, id=f"said {call_id}")
        known = state["messages"]
        update: dict[str, Any] = {"messages": [*known, said], "notes": [to]}
        if form == "last":
            update["messages"] = [known[-1], said]
        if form == "none":
            return Command(graph=Command.PARENT, goto=to)
        if form == "send":
            return Command(graph=Command.PARENT, goto=[Send(to, update)])
        if form == "text":
            return f"{to} is busy"
        return Command(graph=Command.PARENT, goto=to, update=update)

    return hand_on


def asking(spec, agent):
    """A tool that asks another agent."""
    name, form = spec["ask"], spec["form"]

    def answer(found, call_id):
        text = found["messages"][-1].text
        if form == "text":
            return text
        said = ToolMessage(text, tool_call_id=call_id)
        return Command(update={"messages": [said]})

    def ask(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Ask another."""
        return answer(agent.invoke({"messages": [("user", text)]}), call_id)

    async def aask(text: str, call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Ask another."""
        return answer(await agent.ainvoke({"messages": [("user", text)]}), call_id)

    made = tool(f"ask_{name}")(ask)
    made.coroutine = aask
    return made


def team_of(spec, env, log):
    """The graph of a program."""
    builder = StateGraph(Around)
    made: dict[str, Any] = {}
    names = [one["name"] for one in spec["members"]]
    for one in reversed(spec["members"]):
        more = [handoff(other) for other in one.get("to", [])]
        more += [asking(other, made[other["ask"]]) for other in one.get("asks", [])]
        build = react_of if one["kind"] == "react" else agent_of
        made[one["name"]] = build({**one, "more_tools": more}, env, log)
    for name in names[:1] if spec["by"] == "tools" else names:
        builder.add_node(name, made[name])
    builder.add_edge(START, names[0])
    if spec["by"] == "chain":
        for start, end in zip(names, [*names[1:], END], strict=True):
            builder.add_edge(start, end)
    options = {"checkpointer": env.saver()} if spec.get("saver") else {}
    return builder.compile(**options, store=env.store() if spec.get("store") else None)


def play(spec, env):
    """What came of a program: of building the team, then of each action."""
    log: list = []
    built = env.error(lambda: team_of(spec, env, log))
    if not isinstance(built, tuple):
        return {"built": built}
    return {"played": Player(built[1], env).play(spec["actions"]), "seen": log}
