"""Several agents: memory of each, questions inside, streams, errors that name names, pictures."""

import asyncio
import warnings
from pathlib import Path
from typing import Annotated, Any

import pytest
from tests.agents.scripted import THREAD, call, calls
from tests.streaming.graph_server import served
from typing_extensions import TypedDict

from plait.agents import create_agent, create_agent_tool
from plait.agents.middleware import (
    ModelCallLimitMiddleware,
    ToolCallLimitMiddleware,
    before_model,
)
from plait.agents.supervisor import create_handoff_tool, create_supervisor
from plait.agents.swarm import SwarmState, create_swarm
from plait.agents.swarm import create_handoff_tool as swarm_handoff
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError, InvalidUpdateError, UnknownNodeError
from plait.func import entrypoint
from plait.graph import END, START, MessagesState, StateGraph
from plait.managed import RemainingSteps
from plait.messages import AIMessage, ToolMessage
from plait.prebuilt import create_react_agent
from plait.pregel.remote import RemoteGraph
from plait.testing import Effects, every_crash_point, until_done
from plait.testing.models import ScriptedChatModel
from plait.tools import InjectedToolCallId, tool
from plait.types import Command, interrupt

USER: Any = {"messages": [("user", "hi")]}


def to(name: str, id: str = "1") -> AIMessage:
    return calls(call(f"transfer_to_{name}", id))


def said(state: Any) -> list[str]:
    return [f"{one.name or one.type}: {one.text}" for one in state["messages"]]


def worker(name: str, *script: Any, tools: Any = (), **options: Any) -> Any:
    return create_react_agent(ScriptedChatModel(script), list(tools), name=name, **options)


def team(script: list[Any], *agents: Any, **options: Any) -> StateGraph[Any]:
    return create_supervisor(list(agents), model=ScriptedChatModel(script), **options)


@tool
def ask(what: str) -> str:
    """Ask a person."""
    return f"{what} {interrupt(what)}"


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(return_direct=True)
def quote(of: str) -> str:
    """The price of something."""
    return f"{of}: 3"


# --- supervisors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["react", "create_agent"])
def test_a_question_inside_an_agent_reaches_the_caller_and_its_answer_the_agent(kind: str) -> None:
    asking = [calls(call("ask", "a", what="sure?")), "it is settled"]
    if kind == "react":
        agent = worker("clerk", *asking, tools=[ask])
    else:
        agent = create_agent(ScriptedChatModel(asking), [ask], name="clerk")
    app = team([to("clerk"), "done"], agent).compile(checkpointer=InMemorySaver())
    [question] = app.invoke(USER, THREAD)["__interrupt__"]
    assert question.value == "sure?"
    ended = app.invoke(Command(resume={question.id: "yes"}), THREAD)
    assert "clerk: it is settled" in said(ended)
    assert said(ended)[-1] == "supervisor: done"


def test_questions_of_agents_that_work_at_once_surface_together() -> None:
    both = calls(call("transfer_to_ann", "1"), call("transfer_to_ben", "2"))
    ann = worker("ann", calls(call("ask", "a", what="ann?")), "ann is done", tools=[ask])
    ben = worker("ben", calls(call("ask", "b", what="ben?")), "ben is done", tools=[ask])
    app = team([both, "done"], ann, ben, parallel_tool_calls=True)
    graph = app.compile(checkpointer=InMemorySaver())
    asked = graph.invoke(USER, THREAD)["__interrupt__"]
    assert sorted(one.value for one in asked) == ["ann?", "ben?"]
    answers = {one.id: f"re {one.value}" for one in asked}
    ended = graph.invoke(Command(resume=answers), THREAD)
    assert {"ann: ann is done", "ben: ben is done"} <= set(said(ended))


def test_the_turn_of_a_team_goes_on_in_another_process(tmp_path: Path) -> None:
    file = str(tmp_path / "threads.db")
    asking = worker("clerk", calls(call("ask", "a", what="sure?")), tools=[ask])
    with SqliteSaver.from_conn_string(file) as saver:
        team([to("clerk")], asking).compile(checkpointer=saver).invoke(USER, THREAD)
    answering = worker("clerk", "it is settled", tools=[ask])
    with SqliteSaver.from_conn_string(file) as saver:
        app = team(["done"], answering).compile(checkpointer=saver)
        ended = app.invoke(Command(resume="yes"), THREAD)
    assert said(ended)[-1] == "supervisor: done"


def test_an_agent_with_a_memory_of_its_own_remembers_what_the_others_never_see() -> None:
    model = ScriptedChatModel([calls(call("add", "a", a=1, b=2)), "it is 3", "still 3"])
    agent = create_react_agent(model, [add], name="math", checkpointer=True)
    graph = team([to("math"), "one", to("math", "2"), "two"], agent)
    app = graph.compile(checkpointer=InMemorySaver())
    app.invoke(USER, THREAD)
    ended = app.invoke({"messages": [("user", "again")]}, THREAD)
    assert "tool: 3" not in said(ended)
    seen = [message.text for message in model.calls[-1].messages]
    assert "3" in seen
    other: Any = {"configurable": {"thread_id": "2"}}
    assert app.get_state(other).values == {}


@pytest.mark.parametrize(
    ("mode", "kept"),
    [("last_message", ["it is 3"]), ("full_history", ["", "3", "it is 3"])],
)
def test_the_output_mode_says_what_of_an_agent_is_kept(mode: Any, kept: list[str]) -> None:
    agent = worker("math", calls(call("add", "a", a=1, b=2)), "it is 3", tools=[add])
    options: Any = {"output_mode": mode, "add_handoff_messages": False}
    ended = team([to("math"), "done"], agent, **options).compile().invoke(USER)
    assert [one.text for one in ended["messages"]] == ["hi", *kept, "done"]


def test_a_memory_takes_the_other_handoffs_of_a_message_in_their_place() -> None:
    both = calls(call("transfer_to_poet", "1"), call("transfer_to_clerk", "2"))
    poet = ScriptedChatModel(["a rhyme", "another"])
    agent = create_react_agent(poet, [], name="poet", checkpointer=True)
    app = team([both, "done", to("poet", "3"), "done"], agent, worker("clerk", "counted")).compile(
        checkpointer=InMemorySaver()
    )
    for _ in range(2):
        app.invoke(USER, THREAD)
    heard = [(m.type, getattr(m, "tool_call_id", None)) for m in poet.calls[-1].messages]
    assert heard[1:5] == [("ai", None), ("tool", "1"), ("tool", "2"), ("ai", None)]


def test_the_last_message_of_an_agent_that_ends_with_answers_of_tools_is_kept_with_its_calls() -> (
    None
):
    both = calls(call("quote", "a", of="tea"), call("add", "b", a=1, b=2))
    agent = create_react_agent(ScriptedChatModel([both]), [quote, add], name="clerk")
    model = ScriptedChatModel([to("clerk", "1"), "done"])
    create_supervisor([agent], model=model).compile().invoke(USER)
    heard = [(m.type, getattr(m, "tool_call_id", None)) for m in model.calls[-1].messages]
    assert heard[3:6] == [("ai", None), ("tool", "a"), ("tool", "b")]


def test_streams_with_subgraphs_tell_what_happens_inside_each_agent() -> None:
    agent = worker("math", calls(call("add", "a", a=1, b=2)), "it is 3", tools=[add])
    app = team([to("math"), "all done"], agent).compile()
    parts = app.stream(USER, stream_mode="messages", subgraphs=True)
    tokens: dict[str, str] = {}
    for namespace, (chunk, _) in parts:
        where = namespace[0].split(":")[0] if namespace else ""
        tokens[where] = tokens.get(where, "") + chunk.text
    assert "it is 3" in tokens["math"]
    assert "all done" in tokens["supervisor"]


def test_async_streams_tell_the_same_updates_as_sync_ones() -> None:
    def make() -> Any:
        agent = worker("math", calls(call("add", "a", a=1, b=2)), "it is 3", tools=[add])
        return team([to("math"), "done"], agent).compile()

    def shape(part: Any) -> Any:
        namespace, update = part
        return tuple(one.split(":")[0] for one in namespace), sorted(update)

    async def run() -> list[Any]:
        parts = make().astream(USER, stream_mode="updates", subgraphs=True)
        return [shape(part) async for part in parts]

    sync = [shape(part) for part in make().stream(USER, stream_mode="updates", subgraphs=True)]
    assert asyncio.run(run()) == sync
    assert (("math",), ["tools"]) in sync


def test_the_picture_shows_the_team() -> None:
    drawn = team([], worker("math"), worker("poet")).compile().get_graph()
    edges = {(one.source, one.target) for one in drawn.edges}
    assert edges == {
        (START, "supervisor"),
        ("supervisor", "math"),
        ("supervisor", "poet"),
        ("supervisor", END),
        ("math", "supervisor"),
        ("poet", "supervisor"),
    }


def test_a_tool_of_the_supervisor_beside_a_handoff_is_answered_in_the_history() -> None:
    both = calls(call("add", "1", a=1, b=1), call("transfer_to_math", "2"))
    app = team([both, "done"], worker("math", "it is 3"), tools=[add]).compile()
    messages = app.invoke(USER)["messages"]
    asked = {one["id"] for message in messages for one in getattr(message, "tool_calls", ())}
    answered = [one.tool_call_id for one in messages if one.type == "tool"]
    assert asked == set(answered)
    assert len(answered) == len(asked)


def test_an_agent_that_says_nothing_leaves_the_other_handoffs_of_a_message() -> None:
    @before_model(can_jump_to=["end"])
    def closed(state: Any, runtime: Any) -> dict[str, Any]:
        return {"jump_to": "end"}

    silent = create_agent(ScriptedChatModel([]), middleware=[closed], name="silent")
    both = calls(call("transfer_to_math", "1"), call("transfer_to_silent", "2"))
    model = ScriptedChatModel([both, "done"])
    create_supervisor([worker("math", "it is 3"), silent], model=model).compile().invoke(USER)
    heard = [
        ([one["id"] for one in getattr(m, "tool_calls", ())], getattr(m, "tool_call_id", None))
        for m in model.calls[-1].messages
    ]
    assert heard[1:4] == [(["1", "2"], None), ([], "1"), ([], "2")]


def test_a_handoff_to_nobody_is_refused_with_the_nearest_name() -> None:
    tools = [create_handoff_tool(agent_name="mathh")]
    with pytest.raises(UnknownNodeError, match=r"transfer_to_mathh.*supervisor.*'mathh'.*'math'"):
        team([], worker("math"), tools=tools)
    lost = worker("alice", tools=[swarm_handoff(agent_name="Bobb")])
    with pytest.raises(UnknownNodeError, match=r"transfer_to_bobb.*agent 'alice'.*'bob'"):
        create_swarm([lost, worker("bob")], default_active_agent="alice")


def test_errors_of_a_team_say_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="needs a name"):
        team([], create_react_agent(ScriptedChatModel([]), []))
    with pytest.raises(ConfigError, match="Two agents are called 'math'"):
        team([], worker("math"), worker("math"))
    with pytest.raises(ConfigError, match="like the supervisor"):
        team([], worker("supervisor"))
    with pytest.raises(ConfigError, match=r"none to \['poet'\]"):
        team([], worker("math"), worker("poet"), tools=[create_handoff_tool(agent_name="math")])
    with pytest.raises(ConfigError, match="'full_history'"):
        team([], worker("math"), output_mode="everything")
    with pytest.raises(ConfigError, match="'inline'"):
        team([], worker("math"), include_agent_name="outline")


@pytest.mark.parametrize("mode", ["last_message", "full_history"])
def test_an_agent_on_a_server_works_as_one_here(mode: Any) -> None:
    with served(worker("ann", *["ann is done"] * 2)) as server:
        ann = RemoteGraph("ann", url=server.url)
        both = calls(call("transfer_to_ann", "1"), call("transfer_to_ben", "2"))
        script = [both, calls(call("ann", "3", task="more?")), "done"]
        app = team(
            script, ann, worker("ben", "ben is done"), output_mode=mode,
            tools=[create_agent_tool(ann)],
        )  # fmt: skip
        ended = app.compile().invoke(USER)
    assert {"ann: ann is done", "ben: ben is done"} <= set(said(ended))
    assert [one.text for one in ended["messages"] if one.name == "ann"][-1] == "ann is done"
    asked = [
        one["id"] for message in ended["messages"] for one in getattr(message, "tool_calls", ())
    ]
    answered = [one.tool_call_id for one in ended["messages"] if one.type == "tool"]
    assert sorted(asked) == sorted(answered)


def test_an_agent_may_say_data() -> None:
    @entrypoint()
    def ann(state: Any) -> Any:
        return {"messages": [{"role": "assistant", "content": "dear ann"}]}

    ann.name = "ann"
    both = calls(call("transfer_to_ann", "1"), call("transfer_to_ben", "2"))
    ended = team([both, "done"], ann, worker("ben", "ben is done")).compile().invoke(USER)
    assert "dear ann" in [one.text for one in ended["messages"]]


def test_an_agent_that_gives_no_messages_is_named() -> None:
    class Odd(TypedDict, total=False):
        answer: str

    def answer(state: Odd) -> Odd:
        return {"answer": "42"}

    odd = StateGraph(Odd).add_node("a", answer).add_edge(START, "a").compile(name="odd")
    with pytest.raises(InvalidUpdateError, match=r"Agent 'odd'.*'messages'"):
        team([to("odd")], odd).compile().invoke(USER)


def test_supervisors_lead_supervisors() -> None:
    inner = team([to("math"), "inner done"], worker("math", "3"), supervisor_name="lead")
    app = team([to("research"), "done"], inner.compile(name="research")).compile()
    assert said(app.invoke(USER))[-1] == "supervisor: done"


# --- swarms --------------------------------------------------------------------------------------


def pair(alice: list[Any], bob: list[Any], **options: Any) -> StateGraph[Any]:
    return create_swarm(
        [
            worker("alice", *alice, tools=[add, ask, swarm_handoff(agent_name="bob")]),
            worker("bob", *bob, tools=[swarm_handoff(agent_name="alice")]),
        ],
        default_active_agent="alice",
        **options,
    )


def test_each_thread_of_a_swarm_knows_who_was_active_last() -> None:
    app = pair([to("bob"), "alice here"], ["ahoy", "arr"]).compile(checkpointer=InMemorySaver())
    assert said(app.invoke(USER, THREAD))[-1] == "bob: ahoy"
    other: Any = {"configurable": {"thread_id": "2"}}
    assert said(app.invoke(USER, other))[-1] == "alice: alice here"
    assert said(app.invoke({"messages": [("user", "more")]}, THREAD))[-1] == "bob: arr"
    assert app.get_state(THREAD).values["active_agent"] == "bob"


def test_a_question_inside_a_swarm_waits_and_the_conversation_goes_on() -> None:
    asking = [calls(call("ask", "a", what="sure?")), to("bob", "2")]
    app = pair(asking, ["ahoy"]).compile(checkpointer=InMemorySaver())
    assert [one.value for one in app.invoke(USER, THREAD)["__interrupt__"]] == ["sure?"]
    assert said(app.invoke(Command(resume="yes"), THREAD))[-1] == "bob: ahoy"


def test_calls_beside_a_handoff_of_a_swarm_leave_a_history_that_models_take() -> None:
    both = calls(call("add", "1", a=1, b=2), call("transfer_to_bob", "2"))
    messages = pair([both], ["ahoy"]).compile().invoke(USER)["messages"]
    answers = {one.tool_call_id: one.text for one in messages if one.type == "tool"}
    assert answers["2"] == "Successfully transferred to bob"
    assert "not waited for" in answers["1"]
    assert messages[-1].text == "ahoy"


def test_errors_of_a_swarm_say_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'alice'"):
        create_swarm([worker("alice")], default_active_agent="alicia")
    with pytest.raises(ConfigError, match="MessagesState from SwarmState"):
        pair([], [], state_schema=MessagesState)


def test_a_wider_state_travels_with_a_handoff() -> None:
    class Wider(SwarmState):
        topic: str

    def rename(state: Any) -> Any:
        return {"topic": "dogs"}

    alice = create_agent(
        ScriptedChatModel([to("bob")]), [swarm_handoff(agent_name="bob")], name="alice"
    )
    bob = StateGraph(Wider).add_node("rename", rename).add_edge(START, "rename")
    agents = [alice, bob.compile(name="bob")]
    app = create_swarm(agents, default_active_agent="alice", state_schema=Wider).compile()
    assert app.invoke({**USER, "topic": "cats"})["topic"] == "dogs"


# --- agents as tools -----------------------------------------------------------------------------


def test_an_agent_as_a_tool_sees_its_task_only_and_answers_the_call() -> None:
    model = ScriptedChatModel(["Roses are red."])
    poet = create_react_agent(model, [], name="poet")
    outer = worker(
        "boss", calls(call("poet", task="a line")), "done", tools=[create_agent_tool(poet)]
    )
    ended = outer.invoke(USER)
    assert "poet: Roses are red." in said(ended)
    assert [one.text for one in model.calls[0].messages] == ["a line"]


def test_an_agent_as_a_tool_may_ask_and_remember() -> None:
    model = ScriptedChatModel([calls(call("ask", "a", what="sure?")), "settled", "again"])
    clerk = create_react_agent(model, [ask], name="clerk", checkpointer=True)
    script = [
        calls(call("clerk", "1", task="one")),
        "x",
        calls(call("clerk", "2", task="two")),
        "y",
    ]
    outer = worker("boss", *script, tools=[create_agent_tool(clerk)], checkpointer=InMemorySaver())
    assert [one.value for one in outer.invoke(USER, THREAD)["__interrupt__"]] == ["sure?"]
    outer.invoke(Command(resume="yes"), THREAD)
    ended = outer.invoke({"messages": [("user", "more")]}, THREAD)
    assert said(ended)[-2:] == ["clerk: again", "boss: y"]
    assert [one.text for one in model.calls[-1].messages] == [
        "one",
        "",
        "sure? yes",
        "settled",
        "two",
    ]


def test_agents_as_tools_work_at_the_same_time() -> None:
    ann = create_agent_tool(worker("ann", "ann's part"))
    ben = create_agent_tool(worker("ben", "ben's part"), description="Ask ben.")
    both = calls(call("ann", "1", task="a"), call("ben", "2", task="b"))
    outer = worker("boss", both, "done", tools=[ann, ben])

    async def run() -> Any:
        return await outer.ainvoke(USER)

    ended = asyncio.run(run())
    assert said(ended)[-3:] == ["ann: ann's part", "ben: ben's part", "boss: done"]
    assert (ann.description, ben.description) == ("Ask agent 'ann' for help", "Ask ben.")


# --- what travels with a handoff -----------------------------------------------------------------


def test_private_counts_of_an_agents_middleware_stay_its_own_and_nobody_is_warned() -> None:
    def made(name: str, other: str, *script: Any) -> Any:
        limits = [ModelCallLimitMiddleware(run_limit=4), ToolCallLimitMiddleware(run_limit=4)]
        tools = [swarm_handoff(agent_name=other)]
        return create_agent(ScriptedChatModel(script), tools, middleware=limits, name=name)

    agents = [made("alice", "bob", to("bob")), made("bob", "alice", "ahoy")]
    app = create_swarm(agents, default_active_agent="alice").compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert said(app.invoke(USER))[-1] == "bob: ahoy"


def test_what_a_tool_changed_before_a_handoff_is_not_lost() -> None:
    class Wider(SwarmState):
        topic: str
        remaining_steps: RemainingSteps

    @tool
    def rename(topic: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Rename the topic."""
        answer = ToolMessage("renamed", tool_call_id=tool_call_id)
        return Command(update={"topic": topic, "messages": [answer]})

    alice = worker(
        "alice",
        calls(call("rename", topic="dogs")),
        to("bob", "2"),
        tools=[rename, swarm_handoff(agent_name="bob")],
        state_schema=Wider,
    )
    agents = [alice, worker("bob", "ahoy")]
    app = create_swarm(agents, default_active_agent="alice", state_schema=Wider).compile()
    ended = app.invoke({**USER, "topic": "cats"})
    assert ended["topic"] == "dogs"
    assert said(ended)[-1] == "bob: ahoy"


# --- crashes -------------------------------------------------------------------------------------


def test_a_team_that_is_killed_anywhere_ends_as_if_undisturbed(tmp_path: Path) -> None:
    def workflow(saver: Any, effects: Effects) -> Any:
        def look(where: str) -> str:
            """Look somewhere."""
            effects.note("looked", where)
            return f"nothing in {where}"

        def seeker(messages: list[Any]) -> Any:
            found = messages[-1].type == "tool" and messages[-1].name == "look"
            return "nothing there" if found else calls(call("look", "l", where="box"))

        def lead(messages: list[Any]) -> Any:
            heard = any(one.name == "seeker" for one in messages)
            return "it is lost" if heard else to("seeker", "t")

        agent = create_react_agent(ScriptedChatModel(seeker), [look], name="seeker")
        team = create_supervisor([agent], model=ScriptedChatModel(lead))
        ended = until_done(team.compile(checkpointer=saver), USER, THREAD)
        return [(one.type, one.name, one.text) for one in ended["messages"]]

    report = every_crash_point(workflow, tmp_path, stride=4)
    assert report.counts("looked box") <= {1, 2}
    assert report.deaths > 5
