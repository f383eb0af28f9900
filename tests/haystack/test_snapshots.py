"""Snapshots: resumed in another process, exchanged with Haystack itself, refused if damaged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from plait.haystack import (
    Agent,
    AgentBreakpoint,
    AgentSnapshot,
    Breakpoint,
    BreakpointException,
    ComponentTool,
    DeserializationError,
    OpenAIChatGenerator,
    PipelineInvalidPipelineSnapshotError,
    PipelineRuntimeError,
    PipelineState,
    Secret,
    ToolBreakpoint,
    ToolCall,
    component,
    load_pipeline_snapshot,
    register,
    save_pipeline_snapshot,
)
from plait.haystack import create_tool_from_function as own_tool

from .script import Scripted, add, call, plus, say, user

ROOT = Path(__file__).parents[2]

RESUME = """
import sys
from plait.haystack import Agent, load_pipeline_snapshot
from tests.haystack.script import Scripted, add, say

snapshot = load_pipeline_snapshot(sys.argv[1]).agent_snapshot
agent = Agent(chat_generator=Scripted(say("done")), tools=[add], state_schema={"n": {"type": int}})
done = agent.run([], snapshot=snapshot)
print(done["messages"][2].tool_call_result.result, done["n"], done["last_message"].text)
"""


def agent(*replies, **kwargs):
    schema = {"n": {"type": int}}
    return Agent(
        chat_generator=Scripted(*replies), **{"tools": [add], "state_schema": schema, **kwargs}
    )


def stopped(break_point, *replies, **kwargs):
    with pytest.raises(BreakpointException) as stop:
        agent(*replies, **kwargs).run(
            [user("go")], n=4, break_point=AgentBreakpoint("helper", break_point)
        )
    return stop.value


def at_tools(**kwargs):
    return stopped(ToolBreakpoint("tool_invoker", **kwargs), call("add", a=1, b=2))


def test_another_process_goes_on_from_an_edited_file(tmp_path):
    path = at_tools(snapshot_file_path=str(tmp_path)).pipeline_snapshot_file_path
    data = json.loads(Path(path).read_text())
    values = AgentSnapshot.from_dict(data["agent_snapshot"]).values
    values["n"] = 40
    values["messages"][-1]["content"][0]["tool_call"]["arguments"]["a"] = 100
    Path(path).write_text(json.dumps(data))
    done = subprocess.run(
        [sys.executable, "-c", RESUME, path], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["102", "40", "done"], done.stderr


def test_a_snapshot_is_only_read():
    snapshot = at_tools().pipeline_snapshot.agent_snapshot
    before = json.dumps(snapshot.to_dict())
    for _ in range(2):
        assert agent(say("done")).run([], snapshot=snapshot)["last_message"].text == "done"
    assert json.dumps(snapshot.to_dict()) == before


def test_snapshots_are_taken_as_an_object_as_a_pipelines_and_as_data():
    whole = at_tools().pipeline_snapshot
    forms = [whole, whole.agent_snapshot, whole.agent_snapshot.to_dict()]
    for form in forms:
        assert agent(say("done")).run([], snapshot=form)["n"] == 4


def test_haystack_itself_goes_on_from_a_snapshot_of_plaits():
    haystack = pytest.importorskip("haystack.components.agents")
    from haystack import component
    from haystack.dataclasses import ChatMessage
    from haystack.dataclasses.breakpoints import AgentSnapshot as Theirs
    from haystack.tools import create_tool_from_function

    rows = [{"at": 1}, {"at": None}, {"at": "z"}]
    schema = {"n": {"type": int}, "rows": {"type": list[dict]}}
    asker = agent(call("plus", a=1, b=2), tools=[own_tool(plus)], state_schema=schema)
    point = AgentBreakpoint("helper", ToolBreakpoint("tool_invoker"))
    with pytest.raises(BreakpointException) as stop:
        asker.run([user("go")], n=4, rows=rows, break_point=point)
    data = stop.value.pipeline_snapshot.agent_snapshot.to_dict()

    @component
    class Generator:
        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools=None):
            return {"replies": [ChatMessage.from_assistant("done")]}

    theirs = haystack.Agent(
        chat_generator=Generator(),
        tools=[create_tool_from_function(plus)],
        state_schema=schema,
    )
    done = theirs.run([], snapshot=Theirs.from_dict(json.loads(json.dumps(data))))
    assert [m.text for m in done["messages"]] == ["go", None, None, "done"]
    assert (done["messages"][2].tool_call_result.result, done["n"], done["rows"]) == ("3", 4, rows)


def test_plait_goes_on_from_a_snapshot_of_haystacks():
    haystack = pytest.importorskip("haystack.components.agents")
    from haystack import component
    from haystack.core.errors import BreakpointException as TheirStop
    from haystack.dataclasses import ChatMessage, ToolCall
    from haystack.dataclasses import breakpoints as theirs
    from haystack.tools import create_tool_from_function

    @component
    class Generator:
        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools=None):
            asked = ToolCall("plus", {"a": 1, "b": 2}, "1")
            return {"replies": [ChatMessage.from_assistant(tool_calls=[asked])]}

    point = theirs.AgentBreakpoint("helper", theirs.ToolBreakpoint("tool_invoker"))
    made = haystack.Agent(
        chat_generator=Generator(),
        tools=[create_tool_from_function(plus)],
        state_schema={"n": {"type": int}},
    )
    with pytest.raises(TheirStop) as stop:
        made.run([ChatMessage.from_user("go")], n=4, break_point=point)
    data = json.loads(json.dumps(stop.value.pipeline_snapshot.to_dict()))
    ours = agent(say("done"), tools=[own_tool(plus)])
    done = ours.run([], snapshot=data["agent_snapshot"])
    assert [m.text for m in done["messages"]] == ["go", None, None, "done"]
    assert (done["messages"][2].tool_call_result.result, done["n"]) == ("3", 4)


def test_a_snapshot_never_decides_what_runs():
    data = at_tools().pipeline_snapshot.agent_snapshot.to_dict()
    text = json.dumps(data).replace("tests.haystack.script.add", "os.system")
    done = agent(say("done")).run([], snapshot=json.loads(text))
    assert done["messages"][2].tool_call_result.result == "3"


def test_a_snapshot_of_unknown_classes_is_refused_with_the_line_that_helps():
    data = at_tools().pipeline_snapshot.agent_snapshot.to_dict()
    text = json.dumps(data).replace("haystack.dataclasses.chat_message.ChatMessage", "evil.Thing")
    with pytest.raises(DeserializationError, match=r"plait\.haystack\.register\(Thing\)"):
        agent(say("x")).run([], snapshot=json.loads(text))


def inputs(data):
    return data["component_inputs"]["tool_invoker"]["serialized_data"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.pop("component_inputs"),
        lambda data: data.pop("break_point"),
        lambda data: data["component_inputs"].pop("tool_invoker"),
        lambda data: data["component_inputs"]["tool_invoker"]["serialized_data"].pop("state"),
        lambda data: inputs(data).update(state=5),
        lambda data: inputs(data).update(messages=5),
        lambda data: inputs(data)["state"]["data"].update(serialization_schema={}),
        lambda data: inputs(data)["state"]["data"].update(
            serialized_data=[], serialization_schema={}
        ),
        lambda data: data.update(component_visits=None),
        lambda data: data.update(component_visits={"chat_generator": "1"}),
    ],
)
def test_a_damaged_snapshot_is_refused(damage):
    data = at_tools().pipeline_snapshot.agent_snapshot.to_dict()
    damage(data)
    with pytest.raises(PipelineInvalidPipelineSnapshotError):
        agent(say("x")).run([], snapshot=data)


def test_a_snapshot_with_values_that_the_agent_does_not_know_is_refused():
    snapshot = at_tools().pipeline_snapshot
    with pytest.raises(PipelineInvalidPipelineSnapshotError, match="state_schema"):
        agent(say("x"), state_schema={}).run([], snapshot=snapshot)


def test_a_file_that_holds_something_else_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text("{}")
    with pytest.raises(PipelineInvalidPipelineSnapshotError):
        load_pipeline_snapshot(path)


def test_the_name_of_a_file_says_agent_component_and_visit(tmp_path):
    point = Breakpoint("chat_generator", 1, str(tmp_path))
    error = stopped(point, call("add", a=1, b=2))
    assert Path(error.pipeline_snapshot_file_path).name.startswith("helper_chat_generator_1_")


def test_any_snapshot_is_saved_and_loaded(tmp_path):
    snapshot = at_tools().pipeline_snapshot
    assert snapshot.pipeline_state == PipelineState(
        inputs={}, component_visits={}, pipeline_outputs={}
    )
    paths = [save_pipeline_snapshot(snapshot, tmp_path / "new" / "folder")]
    with pytest.raises(FileExistsError):  # never over another one
        save_pipeline_snapshot(snapshot, tmp_path / "new" / "folder")
    assert [str(path) for path in (tmp_path / "new" / "folder").iterdir()] == paths
    loaded = load_pipeline_snapshot(paths[0])
    assert loaded.to_dict() == snapshot.to_dict()
    done = agent(say("done")).run([], snapshot=loaded)
    assert done["messages"][2].tool_call_result.result == "3"


def test_an_error_s_snapshot_is_from_before_the_tools():
    def note(text: str):
        """Note."""
        return {"notes": [text]}

    def fail(text: str):
        """Fail, at first."""
        if not healthy:
            raise ValueError(text)
        return {"notes": [text]}

    healthy = []
    tools = [own_tool(f, outputs_to_state={"notes": {"source": "notes"}}) for f in (note, fail)]
    for one in tools:
        register(one.function, f"tests.{one.name}")
    both = say(tool_calls=[ToolCall("note", {"text": "a"}), ToolCall("fail", {"text": "b"})])

    def fresh(*replies):
        return agent(
            *replies,
            tools=tools,
            state_schema={"notes": {"type": list[str]}},
            raise_on_tool_invocation_failure=True,
        )

    with pytest.raises(PipelineRuntimeError) as failed:
        fresh(both).run([user("go")], notes=["0"])
    snapshot = failed.value.pipeline_snapshot
    assert snapshot.agent_snapshot.values["notes"] == ["0"]
    healthy.append(True)
    assert fresh(say("done")).run([], snapshot=snapshot)["notes"] == ["0", "a", "b"]


def test_all_replies_of_a_generator_wait_for_their_tools():
    @component
    class Twice:
        def run(self, messages, tools=None):
            replies = [call("add", "1", a=1, b=1), call("add", "2", a=2, b=2)]
            return {"replies": replies if len(messages) == 1 else [say("done")]}

    def fresh():
        return Agent(chat_generator=Twice(), tools=[add])

    expected = fresh().run([user("go")])
    with pytest.raises(BreakpointException) as stop:
        fresh().run([user("go")], break_point=AgentBreakpoint("a", ToolBreakpoint("tool_invoker")))
    snapshot = json.loads(json.dumps(stop.value.pipeline_snapshot.to_dict()))["agent_snapshot"]
    assert fresh().run([], snapshot=snapshot) == expected
    assert [r.result for m in expected["messages"] for r in m.tool_call_results] == ["2", "4"]


def test_a_breakpoint_leaves_a_thread_that_can_go_on():
    from plait.checkpoint.memory import InMemorySaver

    config = {"configurable": {"thread_id": "1"}}
    made = agent(call("add", a=1, b=2), say("done"), checkpointer=InMemorySaver())
    with pytest.raises(BreakpointException):
        made.run(
            [user("go")],
            config=config,
            break_point=AgentBreakpoint("helper", ToolBreakpoint("tool_invoker")),
        )
    assert made.graph.invoke(None, config)["messages"][-1].text == "done"


class Unwritable:
    def to_dict(self):
        raise RuntimeError("no form")


def test_what_failed_is_told_even_if_nothing_can_be_written():
    class Down:
        def run(self, messages, tools=None):
            raise ConnectionError("down")

    keyed = OpenAIChatGenerator(api_key=Secret.from_token("k"))  # a key is never written
    helper = ComponentTool(Agent(chat_generator=keyed, tools=[add]), name="helper")
    for agent, values in (
        (Agent(chat_generator=Down(), tools=[helper]), {}),
        (
            Agent(chat_generator=Down(), tools=[add], state_schema={"it": {"type": Unwritable}}),
            {"it": Unwritable()},
        ),
    ):
        with pytest.raises(PipelineRuntimeError, match="down") as told:
            agent.run([user("go")], **values)
        assert told.value.pipeline_snapshot is None
        assert isinstance(told.value.__cause__, ConnectionError)
