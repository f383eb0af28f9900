"""Agents whose run stopped between a tool call and its result: the next turn goes on."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any

import pytest

from plait.agents import create_agent
from plait.agents.middleware import HumanInTheLoopMiddleware, after_model
from plait.chat_models.fake import GenericFakeChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.errors import InvalidValueError
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage, HumanMessage, ToolMessage
from plait.prebuilt import create_react_agent
from plait.prebuilt.agent_history import open_calls, repaired
from plait.prebuilt.chat_agent_executor import AgentState, AgentStatePydantic
from plait.testing.models import ScriptedChatModel
from plait.tools import InjectedToolCallId, tool
from plait.types import Command, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}, "max_concurrency": 1}
"""The tools of a step one after the other, so that what was done before one failed is known."""
AGAIN: Any = {"messages": "are you there?"}


class Scripted(GenericFakeChatModel):
    """Says its script, and keeps what it was asked."""

    seen: Any = None

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen.append([(m.type, m.content) for m in messages])
        return super()._generate(messages, *args, **kwargs)


def scripted(*said: Any) -> Scripted:
    return Scripted(messages=iter(said), seen=[])


def calls(*names: str) -> AIMessage:
    made: Any = [{"name": name, "args": {"n": n}, "id": str(n)} for n, name in enumerate(names)]
    return AIMessage("", tool_calls=made)


def note(n: int) -> str:
    """Take a note."""
    return f"noted {n}"


def fail(n: int) -> str:
    """Fail."""
    raise ConnectionError("down")


def ask(n: int) -> str:
    """Ask a person."""
    return interrupt("well?")


def agent_of(model: Any, **options: Any) -> Any:
    return create_react_agent(model, [note, fail, ask], checkpointer=InMemorySaver(), **options)


def shapes(state: Any) -> list[tuple[str, str]]:
    return [(m.type, m.content.split(":")[0]) for m in state["messages"]]


REPAIRED = [
    ("human", "hi"),
    ("ai", ""),
    ("tool", "noted 0"),
    ("tool", "Interrupted"),
    ("human", "are you there?"),
]


@pytest.mark.parametrize("other", ["fail", "ask"])
def test_what_finished_keeps_its_result_and_the_rest_is_told_as_interrupted(other: str) -> None:
    model = scripted(calls("note", other), "yes", "still")
    agent = agent_of(model)
    try:
        agent.invoke({"messages": "hi"}, THREAD)
    except ConnectionError:
        assert other == "fail"
    state = agent.invoke(AGAIN, THREAD)
    assert shapes(state) == [*REPAIRED, ("ai", "yes")]
    assert [(m.tool_call_id, m.status) for m in state["messages"] if m.type == "tool"] == [
        ("0", "success"),
        ("1", "error"),
    ]
    assert [(kind, text.split(":")[0]) for kind, text in model.seen[-1]] == REPAIRED
    assert agent.get_state(THREAD).next == ()
    after = agent.invoke({"messages": "and now?"}, THREAD)
    assert after["messages"][:6] == state["messages"], "it is repaired once"
    assert shapes(after)[6:] == [("human", "and now?"), ("ai", "still")]


def test_answers_of_another_branch_do_not_count() -> None:
    agent = agent_of(scripted(calls("note"), "noted", "yes"))
    agent.invoke({"messages": "hi"}, THREAD)
    before = next(s for s in agent.get_state_history(THREAD) if s.next == ("tools",))
    edited = before.values["messages"][-1].model_copy(
        update={"tool_calls": [{"name": "note", "args": {"n": 7}, "id": "0"}]}
    )
    fork = agent.update_state(before.config, {"messages": [edited]}, as_node="agent")
    assert shapes(agent.invoke(AGAIN, fork)) == [
        ("human", "hi"),
        ("ai", ""),
        ("tool", "Interrupted"),
        ("human", "are you there?"),
        ("ai", "yes"),
    ]


def test_what_a_call_had_given_before_it_was_changed_is_no_answer_to_it() -> None:
    agent = agent_of(scripted(calls("note", "fail"), "yes"), version="v2")
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": "hi"}, THREAD)
    said = agent.get_state(THREAD).values["messages"][1]
    changed = [{**said.tool_calls[0], "args": {"n": 7}}, said.tool_calls[1]]
    edited = said.model_copy(update={"tool_calls": changed})
    agent.update_state(THREAD, {"messages": [edited]}, as_node="agent")
    told = [(m.tool_call_id, m.status) for m in agent.invoke(AGAIN, THREAD)["messages"][2:4]]
    assert told == [("0", "error"), ("1", "error")]


def test_what_a_tool_wrote_in_several_parts_is_found() -> None:
    @tool
    def tell(n: int, id: Annotated[str, InjectedToolCallId]) -> Any:
        """Tell, and answer."""
        return [
            Command(update={"messages": [HumanMessage("by the way")]}),
            ToolMessage(f"told {n}", tool_call_id=id),
        ]

    model = scripted(calls("tell", "fail"), "yes")
    agent = create_react_agent(model, [tell, fail], checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": "hi"}, THREAD)
    assert shapes(agent.invoke(AGAIN, THREAD)) == [
        ("human", "hi"),
        ("ai", ""),
        ("tool", "told 0"),
        ("tool", "Interrupted"),
        ("human", "are you there?"),
        ("ai", "yes"),
    ]


def test_the_answer_to_a_call_that_could_not_be_read_stays_where_others_are_missing() -> None:
    broken: Any = {"name": "note", "args": "{", "id": "b", "error": None}
    asked = AIMessage("", tool_calls=calls("note").tool_calls, invalid_tool_calls=[broken])
    history = [asked, ToolMessage("unread", tool_call_id="b"), HumanMessage("well?")]
    told = [(m.type, getattr(m, "tool_call_id", None)) for m in repaired(history, {})]
    assert told == [("ai", None), ("tool", "0"), ("tool", "b"), ("human", None)]


@pytest.mark.parametrize("way", ["input", "replay", "update"])
def test_what_was_decided_in_another_branch_is_decided_there(way: str) -> None:
    asks = HumanInTheLoopMiddleware({"note": True})
    agent = create_agent(
        scripted(calls("note"), "refused", "yes"),
        [note],
        middleware=[asks],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": "hi"}, THREAD)
    asked = agent.get_state(THREAD).config
    agent.invoke(Command(resume={"decisions": [{"type": "reject"}]}), THREAD)
    if way == "replay":
        agent.invoke(None, asked)
    elif way == "update":
        agent.update_state(asked, {"messages": []}, as_node="model")
    again = agent.invoke(AGAIN, asked if way == "input" else THREAD)
    assert shapes(again)[2] == ("tool", "Interrupted")


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_cancelled_run_leaves_a_thread_that_goes_on(version: Any) -> None:
    began = asyncio.Event()

    async def hangs(n: int) -> str:
        """Wait for ever."""
        began.set()
        await asyncio.Event().wait()
        return "never"

    model = scripted(calls("hangs"), "yes")
    agent = create_react_agent(model, [hangs], checkpointer=InMemorySaver(), version=version)
    running = asyncio.create_task(agent.ainvoke({"messages": "hi"}, THREAD))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    state = await agent.ainvoke(AGAIN, THREAD)
    assert shapes(state) == [REPAIRED[0], REPAIRED[1], REPAIRED[3], REPAIRED[4], ("ai", "yes")]


async def test_what_finished_in_an_async_run_keeps_its_result() -> None:
    noted = asyncio.Event()

    async def anote(n: int) -> str:
        """Take a note."""
        noted.set()
        return f"noted {n}"

    async def afail(n: int) -> str:
        """Fail after the note was taken."""
        await noted.wait()
        await asyncio.sleep(0)
        raise ConnectionError("down")

    tools = [anote, afail]
    agent = create_react_agent(
        scripted(calls("anote", "afail"), "yes"), tools, checkpointer=InMemorySaver()
    )
    with pytest.raises(ConnectionError):
        await agent.ainvoke({"messages": "hi"}, THREAD)
    assert shapes(await agent.ainvoke(AGAIN, THREAD)) == [*REPAIRED, ("ai", "yes")]


def test_an_agent_that_does_not_repair_its_history_refuses_it() -> None:
    agent = agent_of(scripted(calls("fail"), "yes"), repair_history=False)
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": "hi"}, THREAD)
    with pytest.raises(InvalidValueError, match="repair_history=True"):
        agent.invoke(AGAIN, THREAD)


def test_a_history_that_the_caller_hands_in_is_repaired_too() -> None:
    agent = create_react_agent(scripted("yes"), [note])
    given: Any = [("user", "hi"), calls("note"), ("user", "are you there?")]
    state = agent.invoke({"messages": given})
    assert shapes(state) == [REPAIRED[0], REPAIRED[1], REPAIRED[3], REPAIRED[4], ("ai", "yes")]


def test_a_pydantic_state_is_repaired() -> None:
    agent = agent_of(scripted(calls("note", "fail"), "yes"), state_schema=AgentStatePydantic)
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": "hi"}, THREAD)
    assert shapes(agent.invoke(AGAIN, THREAD)) == [*REPAIRED, ("ai", "yes")]


def test_a_state_with_another_reducer_is_repaired_for_the_model_alone() -> None:
    class Growing(AgentState):
        messages: Annotated[list[Any], operator.add]  # pyright: ignore[reportIncompatibleVariableOverride]

    model = scripted(calls("fail"), "yes")
    agent = agent_of(model, state_schema=Growing)
    with pytest.raises(ConnectionError):
        agent.invoke({"messages": [HumanMessage("hi")]}, THREAD)
    state = agent.invoke({"messages": [HumanMessage("are you there?")]}, THREAD)
    assert [m.type for m in state["messages"]] == ["human", "ai", "human", "ai"]
    assert [kind for kind, _ in model.seen[-1]] == ["human", "ai", "tool", "human"]


def test_what_a_hook_hands_to_the_model_is_repaired_for_the_model_alone() -> None:
    model = scripted("yes")

    def trim(state: Any) -> Any:
        return {"llm_input_messages": [calls("note"), HumanMessage("trimmed")]}

    agent = create_react_agent(model, [note], pre_model_hook=trim)
    state = agent.invoke({"messages": "hi"})
    assert [m.type for m in state["messages"]] == ["human", "ai"]
    assert [kind for kind, _ in model.seen[-1]] == ["ai", "tool", "human"]


def test_an_agent_with_a_memory_of_its_own_inside_a_graph_goes_on() -> None:
    model = scripted(calls("note", "fail"), "yes")
    inner = create_react_agent(model, [note, fail], checkpointer=True, name="inner")

    def node(state: Any) -> Any:
        try:
            said = inner.invoke({"messages": state["messages"][-1:]})["messages"][-1:]
        except ConnectionError:
            said = [AIMessage("sorry")]
        return {"messages": said}

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")
    compiled = graph.compile(InMemorySaver())
    assert shapes(compiled.invoke({"messages": "hi"}, THREAD))[-1] == ("ai", "sorry")
    assert shapes(compiled.invoke(AGAIN, THREAD))[-1] == ("ai", "yes")
    assert [(kind, text.split(":")[0]) for kind, text in model.seen[-1]] == REPAIRED


def test_answers_stand_right_after_their_call_in_its_order() -> None:
    late = ToolMessage("late", tool_call_id="1")
    history = [calls("note", "note", "note"), HumanMessage("hm"), late]
    stored = {"2": ToolMessage("stored", tool_call_id="2")}
    found = repaired(history, stored)
    assert [m.content.split(":")[0] for m in found] == ["", "Interrupted", "late", "stored", "hm"]
    answered = [calls("note"), HumanMessage("hm"), ToolMessage("late", tool_call_id="0")]
    assert repaired(answered, {}) == answered
    assert open_calls(answered) == []


def test_a_history_in_which_a_late_answer_is_the_only_one_stays_as_it_was() -> None:
    model = scripted("yes")
    history: Any = [calls("note"), HumanMessage("hm"), ToolMessage("late", tool_call_id="0")]
    state = create_react_agent(model, [note]).invoke({"messages": history})
    assert [m.type for m in state["messages"]] == ["ai", "human", "tool", "ai"]


def test_ids_that_each_turn_uses_again_do_not_answer_the_calls_of_the_next() -> None:
    model = scripted(calls("note"), "noted", calls("note"), "yes")
    agent = create_react_agent(
        model, [note], checkpointer=InMemorySaver(), interrupt_before=["tools"]
    )
    agent.invoke({"messages": "hi"}, THREAD)
    agent.invoke(None, THREAD)
    agent.invoke({"messages": "again"}, THREAD)
    state = agent.invoke(AGAIN, THREAD)
    told = [m.content.split(":")[0] for m in state["messages"] if m.type == "tool"]
    assert told == ["noted 0", "Interrupted"]
    assert [m.type for m in state["messages"]][4:] == ["human", "ai", "tool", "human", "ai"]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_call_that_could_not_be_read_is_answered_in_its_place(way: str) -> None:
    broken: Any = {"name": "note", "args": "{", "id": "b", "error": None}
    both = AIMessage("", tool_calls=calls("fail").tool_calls, invalid_tool_calls=[broken])
    model = scripted(AIMessage("", invalid_tool_calls=[broken]), both, "yes")
    agent = agent_of(model)

    def turn(given: Any) -> Any:
        if way == "sync":
            return agent.invoke(given, THREAD)
        return asyncio.run(agent.ainvoke(given, THREAD))

    turn({"messages": "hi"})
    with pytest.raises(ConnectionError):
        turn(AGAIN)
    state = turn(AGAIN)
    unread = "Tool call note with id b could not be executed"
    told = [(m.type, m.content.split(" - ")[0].split(": ")[0]) for m in state["messages"]]
    assert told[1:3] == [("ai", ""), ("tool", unread)]
    assert ("tool", "Interrupted") in told
    assert [kind for kind, _ in model.seen[-1]] == [m.type for m in state["messages"][:-1]]


def test_an_agent_that_repairs_nothing_leaves_calls_that_could_not_be_read() -> None:
    broken: Any = {"name": "note", "args": "{", "id": "b", "error": None}
    model = scripted(AIMessage("", invalid_tool_calls=[broken]), "yes")
    agent = agent_of(model, repair_history=False)
    agent.invoke({"messages": "hi"}, THREAD)
    agent.invoke(AGAIN, THREAD)
    assert [kind for kind, _ in model.seen[-1]] == ["human", "ai", "human"]


def inside_a_graph(model: Any, make: Any, **options: Any) -> Any:
    inner = make(model, [note], name="inner", **options)
    graph = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
    return graph.compile(InMemorySaver())


def read(messages: Any) -> list[Any]:
    """What a provider reads: of each message its kind, and the calls that it makes or answers."""
    return [
        (m.type, [one["id"] for one in (*m.tool_calls, *m.invalid_tool_calls)])
        if m.type == "ai"
        else (m.type, getattr(m, "tool_call_id", None))
        for m in messages
    ]


@after_model(can_jump_to=["end"])
def stops(state: Any, runtime: Any) -> Any:
    return {"jump_to": "end"}


@pytest.mark.parametrize("make", [create_react_agent, create_agent])
def test_a_call_that_could_not_be_read_keeps_its_answer_in_a_graph_around(make: Any) -> None:
    broken: Any = {"name": "note", "args": "{", "id": "b", "error": None}
    unread = AIMessage("", invalid_tool_calls=[broken])
    model = ScriptedChatModel([unread, "yes", unread, "yes", "well"])
    graph = inside_a_graph(model, make)
    for _ in range(5):
        graph.invoke({"messages": "hi"}, THREAD)
    pair = [("ai", ["b"]), ("tool", "b"), ("human", None), ("ai", [])]
    assert read(model.calls[-1].messages) == [
        *(("human", None), *pair),
        *(("human", None), *pair),
        ("human", None),
    ]


def test_a_call_that_did_not_run_keeps_its_answer_in_a_graph_around() -> None:
    model = ScriptedChatModel([calls("note", "note"), "yes", "well"])
    graph = inside_a_graph(model, create_agent, middleware=[stops])
    for _ in range(3):
        graph.invoke({"messages": "hi"}, THREAD)
    assert read(model.calls[-1].messages) == [
        ("human", None),
        *(("ai", ["0", "1"]), ("tool", "0"), ("tool", "1")),
        *(("human", None), ("ai", []), ("human", None)),
    ]


def test_agents_that_work_at_once_give_one_answer_to_a_call_of_the_graph_around() -> None:
    model = ScriptedChatModel(["yes", "yes", "well", "well"])
    graph = StateGraph(MessagesState)
    for name in ("one", "two"):
        graph.add_node(name, create_react_agent(model, [note], name=name)).add_edge(START, name)
    compiled = graph.compile(InMemorySaver())
    compiled.invoke({"messages": [("user", "hi"), calls("note"), ("user", "well?")]}, THREAD)
    state = compiled.invoke(AGAIN, THREAD)
    assert [m.tool_call_id for m in state["messages"] if m.type == "tool"] == ["0"]
    assert read(model.calls[-1].messages)[:3] == [("human", None), ("ai", ["0"]), ("tool", "0")]
