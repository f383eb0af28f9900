"""Haystack's Agent over time: stopped anywhere, killed anywhere, answered in another process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import InvalidInputError
from plait.graph import START, StateGraph
from plait.haystack import (
    Agent,
    AgentBreakpoint,
    Breakpoint,
    BreakpointException,
    ChatMessage,
    PipelineRuntimeError,
    PipelineSnapshot,
    ToolBreakpoint,
    ToolCall,
    create_tool_from_function,
    tool,
)
from plait.testing import every_crash_point
from plait.types import Command

from .script import Answering, Scripted, add, call, pay, say, user

ROOT = Path(__file__).parents[2]


@tool
def boom(x: str) -> str:
    """Fail."""
    raise ValueError(x)


def count(n: int, total: int = 0) -> dict[str, int]:
    """Count on."""
    return {"total": total + n, "n": n}


counting = create_tool_from_function(
    count,
    inputs_from_state={"total": "total"},
    outputs_to_state={"total": {"source": "total"}, "seen": {"source": "n"}},
)
SCHEMA = {"total": {"type": int}, "seen": {"type": list[int]}}

calls = st.one_of(
    st.builds(lambda a: ToolCall("add", {"a": a, "b": 1}), st.integers(0, 9)),
    st.builds(lambda n: ToolCall("count", {"n": n}, "id"), st.integers(0, 9)),
    st.just(ToolCall("boom", {"x": "1"})),
    st.just(ToolCall("nope", {})),
    st.just(ToolCall("add", {"a": 1})),
)
turns = st.lists(st.lists(calls, min_size=1, max_size=3), max_size=4)
points = st.one_of(
    st.builds(Breakpoint, st.just("chat_generator"), st.integers(0, 4)),
    st.builds(
        ToolBreakpoint,
        st.just("tool_invoker"),
        st.integers(0, 4),
        tool_name=st.sampled_from([None, "add", "count"]),
    ),
)
exits = st.sampled_from([["text"], ["count"], ["add", "text"]])


@settings(deadline=None, max_examples=60)
@given(turns, points, exits, st.integers(1, 5))
def test_a_run_that_is_stopped_anywhere_ends_as_an_undisturbed_one(asked, point, ends, steps):
    replies = [say(f"turn {n}", tool_calls=called) for n, called in enumerate(asked)]

    def fresh():
        return Agent(
            chat_generator=Answering([*replies, say("done")]),
            tools=[add, boom, counting],
            state_schema=SCHEMA,
            system_prompt="S",
            exit_conditions=ends,
            max_agent_steps=steps,
        )

    expected = fresh().run([user("go")], total=5)
    try:
        done = fresh().run([user("go")], total=5, break_point=AgentBreakpoint("a", point))
    except BreakpointException as stop:
        data = json.loads(json.dumps(stop.pipeline_snapshot.to_dict()))
        done = fresh().run([], snapshot=PipelineSnapshot.from_dict(data).agent_snapshot)
    assert done == expected


def test_an_agent_that_is_killed_anywhere_ends_as_an_undisturbed_one(tmp_path):
    def workflow(saver, effects):
        agent = Agent(
            chat_generator=Answering([call("count", n=2), call("count", n=3), say("done")]),
            tools=[counting],
            state_schema=SCHEMA,
            checkpointer=saver,
        )
        thread = {"configurable": {"thread_id": "t"}}
        if not agent.graph.get_state(thread).values.get("messages"):
            done = agent.run([user("go")], config=thread, total=10)
        else:
            done = agent.graph.invoke(None, thread)
        return [m.text for m in done["messages"]], done["total"], done["seen"]

    report = every_crash_point(workflow, tmp_path)
    assert len(report.points) > 10


ASK = """
import sys
from plait.checkpoint.sqlite import SqliteSaver
from plait.haystack import Agent
from plait.types import Command
from tests.haystack.script import Answering, call, pay, say, user

with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    agent = Agent(
        chat_generator=Answering([call("pay", amount=5), say("done")]),
        tools=[pay],
        checkpointer=saver,
    )
    given = [user("pay")] if sys.argv[2] == "ask" else Command(resume=True)
    done = agent.run(given, config={"configurable": {"thread_id": "1"}})
    for question in done.get("__interrupt__", ()):
        print(question.value)
    print(*[r.result for m in done["messages"] for r in m.tool_call_results])
"""


def test_an_answer_reaches_a_process_that_has_never_seen_the_run(tmp_path):
    def run(what):
        done = subprocess.run(
            [sys.executable, "-c", ASK, str(tmp_path / "threads.sqlite"), what],
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\n")

    assert run("ask")[0] == "Pay 5?"
    assert run("answer")[0] == "paid"


def test_what_a_conversation_costs_grows_with_it_and_no_faster(tmp_path):
    def bytes_of(turns):
        path = tmp_path / f"{turns}.sqlite"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            replies = [call("add", str(n), a=n, b=1) for n in range(turns)]
            agent = Agent(
                chat_generator=Answering([*replies, say("done")]), tools=[add], checkpointer=saver
            )
            agent.run([user("go")], config={"configurable": {"thread_id": "1"}})
        return path.stat().st_size

    assert bytes_of(90) < 3.5 * bytes_of(30)


@pytest.mark.parametrize("answer", ["paid", "refused"])
def test_parallel_questions_are_answered_by_their_ids(tmp_path, answer):
    asked = [ToolCall("pay", {"amount": n}, str(n)) for n in (1, 2, 3)]
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        agent = Agent(
            chat_generator=Answering([say(tool_calls=asked), say("done")]),
            tools=[pay],
            checkpointer=saver,
        )
        thread = {"configurable": {"thread_id": "1"}}
        questions = agent.run([user("pay")], config=thread)["__interrupt__"]
        assert {q.value for q in questions} == {"Pay 1?", "Pay 2?", "Pay 3?"}
        answers = {q.id: (q.value == "Pay 2?") == (answer == "paid") for q in questions}
        done = agent.run(Command(resume=answers), config=thread)
    results = [m.tool_call_result.result for m in done["messages"][2:5]]
    other = "refused" if answer == "paid" else "paid"
    assert results == [other, answer, other]


class MessagesOfAgents(TypedDict):
    messages: list[ChatMessage]


THREAD = {"configurable": {"thread_id": "1"}}


def told(done):
    return [(m.role.value, m.text or [r.error for r in m.tool_call_results]) for m in done]


@pytest.mark.parametrize("call_id", ["1", None])
def test_the_next_message_answers_the_calls_that_a_stopped_run_left(call_id):
    stop = AgentBreakpoint("a", ToolBreakpoint("tool_invoker"))
    asked = say(tool_calls=[ToolCall("add", {"a": n, "b": 1}, call_id and f"{n}") for n in (1, 2)])
    generator = Scripted(asked, say("Fine."), say("Yes."))
    agent = Agent(chat_generator=generator, tools=[add], checkpointer=InMemorySaver())
    with pytest.raises(BreakpointException):
        agent.run([user("1 + 1?")], config=THREAD, break_point=stop)
    first = agent.run([user("Never mind.")], config=THREAD)["messages"]
    assert told(first) == [
        ("user", "1 + 1?"),
        ("assistant", []),
        ("tool", [True]),
        ("tool", [True]),
        ("user", "Never mind."),
        ("assistant", "Fine."),
    ]
    assert first[2].tool_call_result.result.startswith("Interrupted: tool 'add' has not answered")
    assert [m.tool_call_result.origin for m in first[2:4]] == first[1].tool_calls
    later = agent.run([user("Sure?")], config=THREAD)["messages"]
    assert told(later[6:]) == [("user", "Sure?"), ("assistant", "Yes.")]


def test_a_message_to_the_graph_itself_answers_open_calls_too():
    asked = say(tool_calls=[ToolCall("pay", {"amount": n}, f"{n}") for n in (1, 2)])
    generator = Scripted(asked, say("Fine."), call("add", a=1, b=2), say("3"))
    agent = Agent(chat_generator=generator, tools=[pay, add], checkpointer=InMemorySaver())
    agent.graph.invoke({"messages": [user("pay")]}, THREAD)
    done = agent.graph.invoke({"messages": [user("No.")]}, THREAD)["messages"]
    answers = [("tool", [True]), ("tool", [True]), ("user", "No."), ("assistant", "Fine.")]
    assert told(done[2:]) == answers
    done = agent.graph.invoke({"messages": [user("1 + 2?")]}, THREAD)["messages"]
    assert told(done[6:]) == [
        ("user", "1 + 2?"),
        ("assistant", []),
        ("tool", [False]),
        ("assistant", "3"),
    ]


@pytest.mark.parametrize("count", [1, 2])
def test_a_conversation_that_comes_to_the_graph_itself_begins_with_the_prompt(count):
    def agent_of(*replies):
        return Agent(
            chat_generator=Scripted(*replies),
            tools=[add],
            system_prompt="Be brief.",
            checkpointer=InMemorySaver(),
        )

    replies = [*[call("add", a=1, b=2)] * (count - 1), say("Fine."), say("Yes.")]
    agent, other = agent_of(*replies), agent_of(*replies)
    for text in ("Well?", "Sure?"):
        done = agent.graph.invoke({"messages": [user(text)]}, THREAD)
        assert done["messages"] == other.run([user(text)], config=THREAD)["messages"]
    assert [m.text for m in done["messages"] if m.is_from("system")] == ["Be brief."]
    assert agent.chat_generator.seen == other.chat_generator.seen
    builder = StateGraph(MessagesOfAgents).add_node("helper", agent_of(*replies).graph)
    around = builder.add_edge(START, "helper").compile()
    first = around.invoke({"messages": [user("Well?")]})["messages"]
    assert [m.text for m in first if m.is_from("system")] == ["Be brief."]
    again = agent_of(say("Yes.")).graph.invoke({"messages": [*first, user("Sure?")]}, THREAD)
    assert [m.text for m in again["messages"] if m.is_from("system")] == ["Be brief."]


async def test_a_message_instead_of_an_answer_closes_the_question():
    generator = Scripted(call("pay", amount=5), say("Fine."))
    agent = Agent(chat_generator=generator, tools=[pay], checkpointer=InMemorySaver())
    assert "__interrupt__" in await agent.run_async([user("pay")], config=THREAD)
    done = await agent.run_async([user("No.")], config=THREAD)
    assert told(done["messages"][2:]) == [("tool", [True]), ("user", "No."), ("assistant", "Fine.")]


def test_calls_that_the_program_answers_itself_are_answered_once():
    asked = call("lamp", "7", on=True)
    agent = Agent(chat_generator=Scripted(asked, say("It is on.")), checkpointer=InMemorySaver())
    done = agent.run([user("Light!")], config=THREAD)
    answer = ChatMessage.from_tool("on", done["last_message"].tool_call)
    done = agent.run([answer], config=THREAD)
    assert told(done["messages"][2:]) == [("tool", [False]), ("assistant", "It is on.")]


def test_a_message_instead_of_an_answer_has_all_steps_of_a_new_run():
    generator = Scripted(call("pay", amount=5), call("add", a=1, b=2), say("Fine."))
    agent = Agent(
        chat_generator=generator,
        tools=[pay, add],
        max_agent_steps=2,
        checkpointer=InMemorySaver(),
    )
    assert "__interrupt__" in agent.graph.invoke({"messages": [user("pay")]}, THREAD)
    done = agent.graph.invoke({"messages": [user("No. Add.")]}, THREAD)
    assert done["messages"][-1].text == "Fine."


@pytest.mark.parametrize("flavor", ["sync", "async"])
async def test_an_answer_that_a_program_gives_in_the_place_of_the_model_ends_the_run(flavor):
    generator = Scripted(call("pay", amount=5))
    agent = Agent(chat_generator=generator, tools=[pay], checkpointer=InMemorySaver())
    given = {"messages": [user("pay"), call("pay", amount=5), say("Not today.")]}
    given["component_visits"] = {"chat_generator": 1, "tool_invoker": 0}
    if flavor == "async":
        done = await agent.graph.ainvoke(given, THREAD)
    else:
        done = agent.graph.invoke(given, THREAD)
    assert [message.text for message in done["messages"]] == ["pay", None, "Not today."]
    assert generator.seen == []


def test_none_goes_on_where_a_run_has_failed():
    tried = []

    def once(n: int) -> int:
        tried.append(n)
        if len(tried) == 1:
            raise ConnectionError("down")
        return n

    agent = Agent(
        chat_generator=Scripted(call("once", n=3), say("3")),
        tools=[create_tool_from_function(once)],
        raise_on_tool_invocation_failure=True,
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(PipelineRuntimeError, match="down"):
        agent.run([user("n?")], config=THREAD)
    done = agent.run(None, config=THREAD)
    assert told(done["messages"][2:]) == [("tool", [False]), ("assistant", "3")]
    assert tried == [3, 3]


@pytest.mark.parametrize("given", [{"total": 1}, {"system_prompt": "Be brief."}])
@pytest.mark.parametrize("messages", [None, Command(resume=True)])
def test_what_a_run_that_goes_on_would_not_see_is_refused(messages, given):
    agent = Agent(
        chat_generator=Scripted(call("pay", amount=5), say("done")),
        tools=[pay],
        state_schema=SCHEMA,
        checkpointer=InMemorySaver(),
    )
    agent.run([user("pay")], config=THREAD)
    with pytest.raises(InvalidInputError, match=r"Command\(update="):
        agent.run(messages, config=THREAD, **given)
