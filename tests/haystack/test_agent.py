"""Haystack's Agent beyond Haystack: threads, questions to people, streams, pictures, models."""

import asyncio
from functools import partial
from typing import Annotated, Any, ClassVar, TypedDict

import langchain_core.language_models.fake_chat_models as lc
import langchain_core.messages as lc_messages
import pytest
from pydantic import Field

from plait.callbacks import BaseCallbackHandler
from plait.chat_models.fake import FakeListChatModel, ScriptedChatModel
from plait.checkpoint.memory import InMemorySaver
from plait.config import get_stream_writer
from plait.errors import InvalidInputError, InvalidValueError, ToolDefinitionError
from plait.graph import START, StateGraph
from plait.haystack import (
    Agent,
    ChatMessage,
    ComponentTool,
    PipelineRuntimeError,
    SchemaGenerationError,
    State,
    StreamingChunk,
    Tool,
    ToolCall,
    ToolInvocationError,
    ToolInvoker,
    Toolset,
    component,
    create_tool_from_function,
    merge_lists,
)
from plait.messages import AIMessage
from plait.prebuilt import ToolPolicy
from plait.types import Command, RetryPolicy, interrupt

from .script import Scripted, add, call, pay, say, user


def thread(name="1"):
    return {"configurable": {"thread_id": name}}


def test_a_thread_remembers_and_hears_the_system_prompt_once():
    generator = Scripted(say("one"), say("two"), say("three"))
    agent = Agent(chat_generator=generator, system_prompt="S", checkpointer=InMemorySaver())
    agent.run([user("a")], config=thread())
    second = agent.run([user("b")], config=thread())
    assert [m.text for m in second["messages"]] == ["S", "a", "one", "b", "two"]
    other = agent.run([user("c")], config=thread("2"))
    assert [m.text for m in other["messages"]] == ["S", "c", "three"]


async def test_a_thread_remembers_in_async_runs_too():
    agent = Agent(
        chat_generator=Scripted(say("one"), say("two")),
        system_prompt="S",
        checkpointer=InMemorySaver(),
    )
    await agent.run_async([user("a")], config=thread())
    second = await agent.run_async([user("b")], config=thread())
    assert [m.text for m in second["messages"]] == ["S", "a", "one", "b", "two"]


def test_each_turn_of_a_thread_has_all_its_steps():
    turns = [call("add", a=1, b=1), say("done")] * 3
    agent = Agent(
        chat_generator=Scripted(*turns),
        tools=[add],
        max_agent_steps=2,
        checkpointer=InMemorySaver(),
    )
    for _ in range(3):
        assert agent.run([user("go")], config=thread())["last_message"].text == "done"


def test_values_of_the_state_are_kept_in_a_thread_and_replaced_by_a_call():
    def note(text: str):
        """Note."""
        return {"notes": text}

    noting = create_tool_from_function(note, outputs_to_state={"notes": {"source": "notes"}})
    agent = Agent(
        chat_generator=Scripted(call("note", text="a"), say("x"), call("note", text="b"), say("y")),
        tools=[noting],
        state_schema={"notes": {"type": list[str]}, "n": {"type": int}},
        checkpointer=InMemorySaver(),
    )
    agent.run([user("go")], config=thread(), n=1)
    done = agent.run([user("go")], config=thread(), n=2)
    assert (done["notes"], done["n"]) == (["a", "b"], 2)


def test_a_handler_that_changes_a_value_in_place_loses_nothing():
    def grow(old, new):
        old = [] if old is None else old
        old.append(new)
        return old

    def note(text: str):
        """Note."""
        return {"note": text}

    noting = create_tool_from_function(
        note, outputs_to_state={"notes": {"source": "note", "handler": grow}}
    )
    saver = InMemorySaver()
    replies = [call("note", text="a"), call("note", text="b"), say("x")]
    schema = {"notes": {"type": list[str]}}
    agent = Agent(
        chat_generator=Scripted(*replies), tools=[noting], state_schema=schema, checkpointer=saver
    )
    agent.run([user("go")], config=thread())
    assert agent.graph.get_state(thread()).values["notes"] == ["a", "b"]


@pytest.mark.parametrize("answer", [True, False])
def test_a_tool_waits_for_a_person_and_goes_on_with_the_answer(answer):
    agent = Agent(
        chat_generator=Scripted(call("pay", amount=5), say("done")),
        tools=[pay],
        checkpointer=InMemorySaver(),
    )
    waiting = agent.run([user("pay")], config=thread())
    assert [question.value for question in waiting["__interrupt__"]] == ["Pay 5?"]
    done = agent.run(Command(resume=answer), config=thread())
    result = done["messages"][2].tool_call_result
    assert (result.result, result.error) == ("paid" if answer else "refused", False)


async def test_a_tool_waits_for_a_person_in_async_runs_too():
    agent = Agent(
        chat_generator=Scripted(call("pay", amount=5), say("done")),
        tools=[pay],
        checkpointer=InMemorySaver(),
    )
    assert "__interrupt__" in await agent.run_async([user("pay")], config=thread())
    done = await agent.run_async(Command(resume=True), config=thread())
    assert done["messages"][2].tool_call_result.result == "paid"


async def test_an_async_tool_waits_for_a_person_too():
    async def ask(what: str) -> str:
        """Ask."""
        return f"{what}: {interrupt(what)}"

    agent = Agent(
        chat_generator=Scripted(call("ask", what="Sure?"), say("done")),
        tools=[create_tool_from_function(ask)],
        checkpointer=InMemorySaver(),
    )
    first = await agent.run_async([user("ask")], config=thread())
    assert [one.value for one in first["__interrupt__"]] == ["Sure?"]
    done = await agent.run_async(Command(resume="yes"), config=thread())
    assert done["messages"][2].tool_call_result.result == "Sure?: yes"


async def test_no_more_async_tools_run_at_once_than_there_are_workers():
    running, most = 0, 0

    async def work(n: int) -> int:
        """Work beside the others."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return n

    calls = [ToolCall("work", {"n": n}, str(n)) for n in range(6)]
    invoker = ToolInvoker([create_tool_from_function(work)], max_workers=2)
    done = await invoker.run_async([say(tool_calls=calls)])
    told = [message.tool_call_result.result for message in done["tool_messages"]]
    assert (told, most) == ([*"012345"], 2)


def test_questions_of_calls_without_ids_get_their_own_answers():
    both = say(tool_calls=[ToolCall("pay", {"amount": 1}), ToolCall("pay", {"amount": 2})])
    agent = Agent(
        chat_generator=Scripted(both, say("done")), tools=[pay], checkpointer=InMemorySaver()
    )
    asked = agent.run([user("pay")], config=thread())["__interrupt__"]
    answers = {one.id: one.value == "Pay 2?" for one in asked}
    done = agent.run(Command(resume=answers), config=thread())
    told = [message.tool_call_result.result for message in done["messages"][2:4]]
    assert told == ["refused", "paid"]


def test_tools_that_have_answered_do_not_run_again_after_a_question():
    ran = []

    def once(x: str) -> str:
        """Once."""
        ran.append(x)
        return x

    both = say(
        tool_calls=[*call("once", "1", x="a").tool_calls, *call("pay", "2", amount=1).tool_calls]
    )
    agent = Agent(
        chat_generator=Scripted(both, say("done")),
        tools=[create_tool_from_function(once), pay],
        checkpointer=InMemorySaver(),
        tool_invoker_kwargs={"journal": True},
    )
    agent.run([user("go")], config=thread())
    done = agent.run(Command(resume=True), config=thread())
    assert [m.tool_call_result.result for m in done["messages"][2:4]] == ["a", "paid"]
    assert ran == ["a"]


def test_an_error_leaves_a_thread_that_can_go_on():
    generator = Scripted(call("add", a=1, b=2))
    agent = Agent(chat_generator=generator, tools=[add], checkpointer=InMemorySaver())
    with pytest.raises(PipelineRuntimeError, match="chat_generator"):
        agent.run([user("go")], config=thread())
    generator.replies.append(say("mended"))
    assert agent.graph.invoke(None, thread())["messages"][-1].text == "mended"
    assert generator.seen == [1, 3, 3]


@pytest.mark.parametrize("given", [None, {}, {"reply": "x"}])
async def test_a_generator_that_gives_no_replies_is_named(given):
    class Odd:
        def run(self, messages, tools=None):
            return given

    with pytest.raises(PipelineRuntimeError, match=r"Odd returned .*'replies'"):
        Agent(chat_generator=Odd()).run([ChatMessage.from_user("hi")])
    with pytest.raises(PipelineRuntimeError, match=r"Odd returned .*'replies'"):
        await Agent(chat_generator=Odd()).run_async([ChatMessage.from_user("hi")])


def test_the_graph_streams_what_each_component_did():
    agent = Agent(chat_generator=Scripted(call("add", a=1, b=2), say("done")), tools=[add])
    parts = list(agent.graph.stream({"messages": [user("go")]}, stream_mode="updates"))
    assert [name for part in parts for name in part] == [
        "chat_generator", "tool_invoker", "chat_generator",
    ]  # fmt: skip


def test_the_tokens_of_a_chat_model_are_in_the_stream_of_messages():
    agent = Agent(chat_generator=FakeListChatModel(responses=["hello"]))
    stream = agent.graph.stream({"messages": [user("go")]}, stream_mode="messages")
    assert "".join(chunk.content for chunk, _ in stream) == "hello"


async def test_a_callback_may_hand_pieces_on_to_the_stream_of_the_graph():
    def hand_on(chunk):
        get_stream_writer()(chunk)

    async def hand_on_later(chunk):
        get_stream_writer()(chunk)

    replies = [call("add", a=1, b=2), say("all done")]
    given = {"messages": [user("go")]}
    agent = Agent(chat_generator=Scripted(*replies), tools=[add], streaming_callback=hand_on)
    chunks = list(agent.graph.stream(given, stream_mode="custom"))
    agent = Agent(chat_generator=Scripted(*replies), tools=[add], streaming_callback=hand_on_later)
    later = [chunk async for chunk in agent.graph.astream(given, stream_mode="custom")]
    for heard in (chunks, later):
        assert [c.content for c in heard if c.content] == ["all", "done"]
        assert [c.tool_call_result.result for c in heard if c.tool_call_result] == ["3"]


async def test_tools_may_speak_to_an_async_callback_too():
    def tell(text: str, streaming_callback: Any = None) -> str:
        """Tell."""
        streaming_callback(StreamingChunk(f"{text} from a thread"))
        return text

    async def tell_later(text: str) -> str:
        """Tell later."""
        return text

    expert = Agent(
        chat_generator=Scripted(call("tell_later", text="two"), say("three")),
        tools=[create_tool_from_function(tell_later)],
    )
    asked = call("expert", messages=[user("and you?").to_dict()])
    agent = Agent(
        chat_generator=Scripted(call("tell", text="one"), asked, say("four")),
        tools=[create_tool_from_function(tell), ComponentTool(expert, "expert", "Knows.")],
        tool_invoker_kwargs={"enable_streaming_callback_passthrough": True},
    )
    heard = []

    async def hear(chunk):
        heard.append(chunk.content)

    done = await agent.run_async([user("go")], streaming_callback=hear)
    assert [text for text in heard if text] == ["one from a thread", "three", "four"]
    assert "'result': 'two'" in done["messages"][4].tool_call_result.result


def test_handlers_hear_of_the_components_of_the_model_and_of_the_tools():
    class Listener(BaseCallbackHandler):
        heard: ClassVar[list] = []

        def on_chat_model_start(self, serialized, messages, **kwargs):
            self.heard.append(len(messages[0]))

        def on_tool_start(self, serialized, input_str, **kwargs):
            self.heard.append(input_str)

    asked = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": "1"}])
    agent = Agent(chat_generator=ScriptedChatModel([asked, AIMessage("3")]), tools=[add])
    agent.run([user("go")], config={"callbacks": [Listener()]})
    assert Listener.heard == [1, "{'a': 1, 'b': 2}", 3]


def test_the_graph_is_drawn():
    drawn = Agent(chat_generator=Scripted(), tools=[add]).graph.get_graph().draw_mermaid()
    assert "chat_generator -.-> tool_invoker" in drawn
    assert "tool_invoker -.-> chat_generator" in drawn


def test_an_agent_is_a_node_of_a_larger_graph():
    class State(TypedDict):
        messages: Annotated[list[ChatMessage], merge_lists]

    agent = Agent(chat_generator=Scripted(call("add", a=1, b=2), say("3")), tools=[add])
    builder = StateGraph(State)
    builder.add_node("helper", agent.graph)
    builder.add_node("closing", lambda state: {"messages": [say("bye")]})
    builder.add_edge(START, "helper").add_edge("helper", "closing")
    done = builder.compile().invoke({"messages": [user("go")]})
    assert [m.text for m in done["messages"]][-2:] == ["3", "bye"]


def test_a_chat_model_of_plaits_calls_tools():
    asked = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": "1"}])
    model = ScriptedChatModel([asked, AIMessage("3")])
    done = Agent(chat_generator=model, tools=[add]).run([user("1 + 2?")])
    assert done["messages"][2].tool_call_result.result == "3"
    assert done["last_message"].text == "3"


async def test_a_chat_model_of_langchains_answers_and_streams():
    messages = [lc_messages.AIMessage("hello you")] * 3
    agent = Agent(chat_generator=lc.GenericFakeChatModel(messages=iter(messages)))
    assert agent.run([user("hi")])["last_message"].text == "hello you"
    heard = []
    agent.run([user("hi")], streaming_callback=heard.append)
    assert "".join(chunk.content for chunk in heard) == "hello you"
    assert heard[0].start
    assert not heard[-1].start

    later = []

    async def hear(chunk):
        later.append(chunk)

    await agent.run_async([user("hi")], streaming_callback=hear)
    assert "".join(chunk.content for chunk in later) == "hello you"


def test_policies_hold_for_tools_of_an_agent():
    tried = []

    def flaky(x: str) -> str:
        """Flaky."""
        tried.append(x)
        if len(tried) < 3:
            raise OSError("not yet")
        return "there"

    retry = RetryPolicy(max_attempts=3, initial_interval=0, retry_on=ToolInvocationError)
    agent = Agent(
        chat_generator=Scripted(call("flaky", x="a"), say("done")),
        tools=[create_tool_from_function(flaky)],
        tool_invoker_kwargs={"policies": {"flaky": ToolPolicy(retry_policy=retry)}},
    )
    done = agent.run([user("go")])
    assert done["messages"][2].tool_call_result.result == "there"
    assert len(tried) == 3


def test_a_state_key_called_config_is_the_state_s():
    agent = Agent(chat_generator=Scripted(say("x")), state_schema={"config": {"type": dict}})
    assert agent.run([user("go")], config={"a": 1})["config"] == {"a": 1}


def test_tools_and_messages_of_another_kind_are_refused_by_name():
    with pytest.raises(ToolDefinitionError, match="no Tool and no Toolset"):
        Agent(chat_generator=Scripted(), tools=[5])
    with pytest.raises(InvalidInputError, match="from_user"):
        Agent(chat_generator=Scripted(say("x"))).run(["hi"])
    with pytest.raises(InvalidInputError, match="No chat model"):
        Agent(chat_generator=5)
    with pytest.raises(InvalidValueError, match="component_visits"):
        _ = Agent(chat_generator=Scripted(), state_schema={"component_visits": {"type": int}}).graph
    with pytest.raises(InvalidValueError, match="AgentBreakpoint"):
        Agent(chat_generator=Scripted()).run([user("x")], break_point="chat_generator")


def test_an_async_tool_of_a_sync_run_is_an_error_that_says_so():
    async def later(x: str) -> str:
        """Later."""
        return x

    agent = Agent(
        chat_generator=Scripted(call("later", x="a"), say("sorry")),
        tools=[create_tool_from_function(later)],
    )
    result = agent.run([user("go")])["messages"][2].tool_call_result
    assert result.error
    assert "run_async" in result.result


def test_a_graph_that_was_looked_at_before_runs_the_tools_that_a_set_knows_later():
    class Remote(Toolset):
        def warm_up(self):
            self.tools.append(add)

    agent = Agent(
        chat_generator=Scripted(call("add", a=1, b=2), say("3")),
        tools=Remote([]),
        exit_conditions=["text"],
    )
    assert agent.graph.get_graph().nodes
    agent.warm_up()
    done = agent.graph.invoke({"messages": [user("go")]})
    assert done["messages"][2].tool_call_result.result == "3"


def test_sets_of_tools_are_warmed_up_once():
    warmed = []

    class Remote(Toolset):
        def warm_up(self):
            warmed.append("set")

    class Lazy(Tool):
        def warm_up(self):
            warmed.append("tool")

    lazy = Lazy("lazy", "d", {"type": "object"}, lambda: 1)
    agent = Agent(chat_generator=Scripted(say("x")), tools=Remote([lazy]))
    agent.warm_up()
    agent.warm_up()
    assert warmed == ["set", "tool"]


@pytest.mark.parametrize("thing", [partial(int, base=2), 5])
def test_what_is_no_function_is_no_tool_and_the_way_out_is_told(thing):
    with pytest.raises(ToolDefinitionError, match="Wrap what it calls in a def"):
        create_tool_from_function(thing, name="thing")


def test_a_parameter_is_described_by_a_field_of_pydantic_s():
    def look(city: Annotated[str, Field(description="the city", min_length=1)]) -> str:
        "Look."
        return city

    shown = create_tool_from_function(look).parameters["properties"]["city"]
    assert shown == {"description": "the city", "minLength": 1, "type": "string"}


@component
class Shelf:
    """A shelf."""

    @component.output_types(book=str)
    def run(self, query: str, place: "Nothing" = None):  # noqa: F821  # pyright: ignore
        return {"book": f"{query} at {place}"}


def test_what_no_model_sees_of_a_component_may_be_annotated_with_anything():
    shelf = ComponentTool(Shelf(), inputs_from_state={"place": "place"})
    assert list(shelf.parameters["properties"]) == ["query"]
    assert shelf.invoke(query="knots", place="left") == {"book": "knots at left"}
    with pytest.raises(SchemaGenerationError, match="'place', 'Nothing', cannot be resolved"):
        ComponentTool(Shelf())


def test_what_is_no_tool_is_in_no_set():
    with pytest.raises(ToolDefinitionError, match="got 'add'"):
        Toolset(["add"])


def test_a_dict_is_no_state_of_an_invoker():
    with pytest.raises(InvalidInputError, match=r"state is a State, not \{'a': 1\}"):
        ToolInvoker([add]).run([call("add", a=1, b=2)], {"a": 1})  # pyright: ignore


def test_the_state_fills_parameters_in_their_order():
    def show(x: int, a: int, m: int) -> None:
        raise ValueError("no")

    schema = {key: {"type": int} for key in "amx"}
    state = State(schema, {"a": 1, "m": 2, "x": 3})
    invoker = ToolInvoker([create_tool_from_function(show)], raise_on_failure=False)
    call = ChatMessage.from_assistant(tool_calls=[ToolCall("show", {})])
    told = invoker.run([call], state)["tool_messages"][0].tool_call_result.result
    assert "{'x': 3, 'a': 1, 'm': 2}" in told


@pytest.mark.parametrize("replies", [None, "text", ["text"], [None]])
async def test_replies_that_are_none_are_told_of_the_generator(replies):
    class Odd:
        def run(self, messages, tools=None):
            return {"replies": replies}

    agent = Agent(chat_generator=Odd(), tools=[add])
    with pytest.raises(PipelineRuntimeError, match="Odd returned"):
        agent.run([user("a")])
    with pytest.raises(PipelineRuntimeError, match="Odd returned"):
        await agent.run_async([user("a")])


@pytest.mark.parametrize("messages", [user("a"), "a", {"role": "user"}, 5])
def test_what_is_no_list_of_messages_is_refused(messages):
    with pytest.raises(InvalidInputError, match="takes a list of messages"):
        Agent(chat_generator=Scripted(say("b")), tools=[add]).run(messages)


@pytest.mark.parametrize("steps", [None, "3"])
def test_steps_that_are_no_number_are_refused(steps):
    with pytest.raises(InvalidInputError, match="max_agent_steps is a number"):
        Agent(chat_generator=Scripted(say("b")), tools=[add], max_agent_steps=steps)
