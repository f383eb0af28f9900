"""Serialized agents: what they may name, and what becomes of other names."""

import json
import sys
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.errors import ConfigError, InvalidValueError
from plait.haystack import (
    Agent,
    AgentBreakpoint,
    ChatMessage,
    ChatModelGenerator,
    ComponentInfo,
    ComponentTool,
    DeserializationError,
    ImageContent,
    OpenAIChatGenerator,
    PipelineState,
    ReasoningContent,
    Secret,
    SerializationError,
    State,
    StreamingChunk,
    TextContent,
    Tool,
    ToolBreakpoint,
    ToolCall,
    ToolCallDelta,
    ToolCallResult,
    ToolInvoker,
    Toolset,
    component,
    register,
)
from plait.haystack.registry import name_of
from plait.haystack.type_names import deserialize_type, serialize_type
from plait.haystack.values import read_value, write_value
from plait.prebuilt import ToolPolicy

from .script import Scripted, add


def through_json(payload):
    return json.loads(json.dumps(payload))


def with_generator(name):
    kind = "haystack.components.agents.agent.Agent"
    return {"type": kind, "init_parameters": {"chat_generator": {"type": name}}}


def test_nothing_is_imported_because_data_names_it(tmp_path, monkeypatch):
    (tmp_path / "trap_of_plait.py").write_text("raise SystemExit('the trap was imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    data = add.to_dict()
    data["data"]["function"] = "trap_of_plait.run"
    with pytest.raises(DeserializationError, match=r"plait\.haystack\.register\(run\)"):
        Tool.from_dict(data)
    state = {"schema": {"v": {"type": "trap_of_plait.Thing"}}, "data": {}}
    with pytest.raises(DeserializationError, match="not registered"):
        State.from_dict(state)
    agent = with_generator("trap_of_plait.Generator")
    with pytest.raises(DeserializationError, match="not registered"):
        Agent.from_dict(agent)
    assert "trap_of_plait" not in sys.modules


def test_builtins_that_do_things_are_not_known():
    for name in ("builtins.eval", "builtins.exec", "os.system", "builtins.__import__"):
        data = add.to_dict()
        data["data"]["function"] = name
        with pytest.raises(DeserializationError):
            Tool.from_dict(data)


def test_a_function_gets_a_name_by_one_line():
    def nested(a: int) -> int:
        return a

    made = Tool("nested", "d", {"type": "object"}, nested)
    with pytest.raises(SerializationError, match="register"):
        made.to_dict()
    register(nested, "tests.nested")
    assert Tool.from_dict(through_json(made.to_dict())).invoke(a=3) == 3


class Shelf:
    """Found by the class that it is asked of."""

    @classmethod
    def look(cls, a: int) -> str:
        return f"{cls.__name__} {a}"


class Small(Shelf):
    """Has the method from its base."""


def test_a_class_method_is_written_as_that_of_the_class_it_is_of():
    made = Tool("look", "d", {"type": "object"}, Small.look)
    assert Tool.from_dict(through_json(made.to_dict())).invoke(a=3) == "Small 3"


def written_things():
    generator = OpenAIChatGenerator(api_key=Secret.from_env_var("PATH"), tools=[add])
    state = State({"n": {"type": list[int]}}, {"n": [1]})
    agent = Agent(chat_generator=generator, tools=[add], state_schema={"n": {"type": int}})
    return [agent, generator, ToolInvoker([add]), add, Toolset([add]), state, generator.api_key]


def parts():
    asked = ToolCall("add", {"a": 1}, "1")
    thought = ReasoningContent("hm", {"a": 1})
    answer = ChatMessage.from_assistant("hi", tool_calls=[asked], reasoning=thought)
    point = AgentBreakpoint("a", ToolBreakpoint("tool_invoker", 1, tool_name="add"))
    info = ComponentInfo("a.B", "b")
    result = ToolCallResult("3", asked, False)
    return [
        *(
            asked,
            thought,
            answer,
            info,
            result,
            TextContent("hi"),
            ImageContent("aGk=", "image/png"),
        ),
        *(point, point.break_point, PipelineState({}, {"a": 1}, {})),
        StreamingChunk("", {"a": 1}, info, 0, [ToolCallDelta(0, "add")]),
        StreamingChunk("", index=0, tool_call_result=result),
        StreamingChunk("", index=0, reasoning=thought),
    ]


def damaged(written, data):
    """One entry, however deep, is something else or gone."""
    inner = written
    while isinstance(inner, (dict, list)) and inner:
        keys = sorted(inner) if isinstance(inner, dict) else range(len(inner))
        place, holder = data.draw(st.sampled_from(keys)), inner
        inner = holder[place]
        if data.draw(st.booleans()):
            break
    other = data.draw(st.sampled_from([None, 5, "x", [], {}, [None], {"type": "x"}, "os.system"]))
    holder[place] = other
    if isinstance(holder, dict) and data.draw(st.booleans()):
        del holder[place]
    return written


def refused(read, written):
    """What was raised; nothing, or an error of plait's."""
    raised = None
    try:
        read(written)
    except Exception as error:
        raised = error
    assert raised is None or type(raised).__module__.startswith("plait."), repr(raised)
    return raised


@given(st.sampled_from(range(len(written_things()))), st.data())
def test_damaged_data_gives_typed_errors(which, data):
    thing = written_things()[which]
    refused(type(thing).from_dict, damaged(through_json(thing.to_dict()), data))


@pytest.mark.filterwarnings("ignore:What kind of image")
@given(st.sampled_from(parts()), st.data())
def test_damaged_parts_give_typed_errors(part, data):
    refused(type(part).from_dict, damaged(through_json(part.to_dict()), data))


@pytest.mark.parametrize("part", parts(), ids=lambda part: type(part).__name__)
def test_what_is_no_data_of_a_part_is_told_of_it(part):
    for other in (None, 5, "x", [], [1], {}, {"zz": 1}):
        assert isinstance(refused(type(part).from_dict, other), InvalidValueError)


def test_what_is_no_data_of_a_secret_is_told_of_it():
    for other in (None, 5, "x", [], {}, {"type": "token"}, {"type": "env_var"}):
        assert isinstance(refused(Secret.from_dict, other), DeserializationError)


@pytest.mark.parametrize("kind", [Agent, Tool, Toolset, State, ToolInvoker, ChatModelGenerator])
def test_what_is_no_data_of_a_class_is_told_of_it(kind):
    for data in ({"init_parameters": 5, "data": 5, "schema": 5}, {"init_parameters": {"zz": 1}}):
        with pytest.raises(DeserializationError):
            kind.from_dict({**data, "type": name_of(kind), "data": 5, "schema": 5})


def test_a_class_of_components_must_be_one():
    with pytest.raises(DeserializationError, match="as a class"):
        Agent.from_dict(with_generator("builtins.len"))


def test_a_model_by_its_name_is_written_and_back():
    agent = Agent(chat_generator="openai:gpt-5", tools=[add])
    back = Agent.from_dict(through_json(agent.to_dict()), max_agent_steps=3)
    assert isinstance(back.chat_generator, ChatModelGenerator)
    assert (back.chat_generator.model, back.max_agent_steps) == ("openai:gpt-5", 3)


def hear(chunk):
    pass


@pytest.mark.parametrize("kind", [ChatModelGenerator, OpenAIChatGenerator])
def test_all_that_a_generator_was_given_is_written_and_back(monkeypatch, kind):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    model = "gpt-5" if kind is OpenAIChatGenerator else "openai:gpt-5"
    more = {"generation_kwargs": {"n": 2}, "streaming_callback": hear, "tools": [add]}
    data = through_json(kind(model=model, **more).to_dict())
    back = kind.from_dict(data)
    assert type(back) is kind
    assert (back.model, back.generation_kwargs) == (model, {"n": 2})
    assert (back.streaming_callback, back.tools) == (hear, [add])
    assert back.to_dict() == data


def test_an_invoker_is_written_with_its_journal_and_not_without_its_policies():
    data = through_json(ToolInvoker([add], journal=True).to_dict())
    assert ToolInvoker.from_dict(data).journal is True
    assert "journal" not in ToolInvoker([add]).to_dict()["init_parameters"], "Haystack's has none"
    given = {"policies": {"add": ToolPolicy(timeout=1)}}
    agent = Agent(chat_generator="openai:gpt-5", tools=[add], tool_invoker_kwargs=given)
    for written in (ToolInvoker([add], **given).to_dict, agent.to_dict):
        with pytest.raises(SerializationError, match="Policies"):
            written()


def test_a_model_that_is_an_object_is_not_written():
    from plait.chat_models.fake import FakeListChatModel

    with pytest.raises(SerializationError, match="openai:gpt-5"):
        Agent(chat_generator=FakeListChatModel(responses=[])).to_dict()


def test_an_agent_of_haystacks_own_is_read(monkeypatch):
    haystack = pytest.importorskip("haystack.components.agents")
    from haystack.components.generators.chat import OpenAIChatGenerator as Theirs
    from haystack.tools import create_tool_from_function

    monkeypatch.setenv("OPENAI_API_KEY", "k")
    theirs = haystack.Agent(
        chat_generator=Theirs(model="gpt-5"),
        tools=[create_tool_from_function(add.function)],
        state_schema={"n": {"type": int}},
    )
    data = through_json(theirs.to_dict())
    ours = Agent.from_dict(json.loads(json.dumps(data)))
    assert isinstance(ours.chat_generator, OpenAIChatGenerator)
    assert ours.to_dict() == data


def test_a_key_is_never_written(monkeypatch):
    generator = OpenAIChatGenerator(api_key=Secret.from_token("sk-secret"))
    with pytest.raises(ConfigError, match="Cannot serialize"):
        generator.to_dict()
    assert "sk-secret" not in repr(generator.api_key)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        OpenAIChatGenerator()


def test_a_component_that_does_not_keep_its_arguments_is_not_written():
    with pytest.raises(SerializationError, match=r"Keep it as self\.told"):
        Agent(chat_generator=Forgetful("x")).to_dict()


class Forgetful(Scripted):
    def __init__(self, told):
        super().__init__()


@dataclass
class Point:
    x: int
    y: int = 0


plain = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(), st.binary(max_size=8),
    st.floats(allow_nan=False, allow_infinity=False), st.dates(), st.datetimes(),
    st.builds(Point, st.integers(0, 9)), st.text().map(ChatMessage.from_user),
)  # fmt: skip
hashable = st.one_of(st.integers(0, 99), st.text(max_size=3))
values = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=4), inner, max_size=4),
        st.sets(hashable, max_size=3),
        st.frozensets(hashable, max_size=3),
    ),
    max_leaves=12,
)


@given(values)
def test_a_value_comes_back_as_it_was(value):
    register(Point)
    back = read_value(through_json(write_value(value)))
    assert back == value
    assert type(back) is type(value)


def test_what_has_no_form_is_refused_with_its_place():
    with pytest.raises(SerializationError, match=r"\['a'\]\[1\]"):
        write_value({"a": [1, object()]})


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        {"serialization_schema": 5, "serialized_data": 1},
        {"serialization_schema": {"type": "array"}, "serialized_data": 1},
        {"serialization_schema": {"type": "object"}, "serialized_data": []},
        {"serialization_schema": {"type": "datetime.datetime"}, "serialized_data": "soon"},
        {"serialization_schema": {"type": "nowhere.Thing"}, "serialized_data": {}},
        {"serialization_schema": {"type": "typing.Callable"}, "serialized_data": "os.system"},
        {"serialization_schema": {"type": ["x"]}, "serialized_data": 1},
    ],
)
def test_damaged_data_is_refused(payload):
    with pytest.raises(DeserializationError):
        read_value(payload)


def test_a_list_that_a_program_has_changed_is_read_as_it_is_now():
    register(Point)
    written = write_value([{"a": 1}, {"a": Point(1, 2)}])
    rows = written["serialized_data"]
    assert read_value({**written, "serialized_data": [*rows, {"a": 3}]})[2] == {"a": 3}
    assert read_value({**written, "serialized_data": rows[:1]}) == [{"a": 1}]


def test_dates_are_dates_again():
    moment = {"at": datetime(2026, 1, 2, 3, 4), "on": date(2026, 1, 2)}
    assert read_value(through_json(write_value(moment))) == moment


types = st.recursive(
    st.sampled_from([int, str, float, bool, list, dict, ChatMessage, Point]),
    lambda inner: st.one_of(
        inner.map(lambda t: list[t]),
        st.tuples(st.just(str), inner).map(lambda pair: dict[pair]),
        inner.map(lambda t: tuple[t, ...]),
        inner.map(lambda t: t | None),
    ),
    max_leaves=5,
)


@given(types)
def test_a_type_comes_back_as_it_was(kind):
    register(Point)
    assert deserialize_type(serialize_type(kind)) == kind


@pytest.mark.parametrize(
    "text",
    ["", "list[", "list[int", "int]", "list[int]x", "[int]", "int | ", "a b", "__import__('os')"],
)
def test_texts_that_are_no_types_are_refused(text):
    with pytest.raises(DeserializationError):
        deserialize_type(text)


@given(st.text(max_size=20))
def test_no_text_is_anything_but_a_type_or_refused(text):
    try:
        deserialize_type(text)
    except DeserializationError:
        pass


@component
class Shouter:
    """Says it loudly."""

    def __init__(self, times: int = 1) -> None:
        self.times = times

    @component.output_types(text=str)
    def run(self, text: str) -> dict[str, Any]:
        return {"text": text.upper() * self.times}


def test_a_component_as_a_tool_is_written_and_read_back() -> None:
    made = ComponentTool(Shouter(2), outputs_to_state={"said": {"source": "text"}})
    agent = Agent(chat_generator=Shouting(), tools=[made], state_schema={"said": {"type": str}})
    again = Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
    (tool,) = again.tools
    assert isinstance(tool, ComponentTool)
    assert tool.to_dict() == made.to_dict()
    assert tool.invoke(text="hi") == {"text": "HIHI"}
    assert tool.parameters == made.parameters


def test_a_component_that_nobody_has_registered_is_not_made() -> None:
    written = ComponentTool(Shouter()).to_dict()
    written["data"]["component"]["type"] = "subprocess.Popen"
    with pytest.raises(DeserializationError):
        ComponentTool.from_dict(written)


@component
class Shouting:
    """A chat generator."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: Any, tools: Any = None) -> dict[str, Any]:
        return {"replies": [ChatMessage.from_assistant("x")]}
