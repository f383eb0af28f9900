"""Haystack's Agent: conversations, exits, errors of tools, state, streaming; in sync calls."""

# ruff: noqa: UP006, UP035 (types as older programs write them)

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import logging
from contextlib import contextmanager
from typing import Any, List

from haystack import component
from haystack.components.agents import Agent
from haystack.core.errors import PipelineRuntimeError
from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall
from haystack.tools import Tool, Toolset, create_tool_from_function, tool

say = ChatMessage.from_assistant
user = ChatMessage.from_user


@component
class Scripted:
    def __init__(self, *replies):
        self.replies = list(replies)
        self.seen = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None):
        self.seen.append((len(messages), [one.name for one in tools] if tools else tools))
        reply = self.replies.pop(0)
        if streaming_callback:
            for word in (reply.text or "").split():
                streaming_callback(StreamingChunk(word))
        return {"replies": reply if isinstance(reply, list) else [reply]}


def call(name, call_id="1", **arguments):
    return say(tool_calls=[ToolCall(name, arguments, call_id)])


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def boom(x: str) -> str:
    """Fail."""
    raise ValueError("boom " + x)


def agent(*replies, **kwargs):
    made = Agent(chat_generator=Scripted(*replies), **kwargs)
    made.warm_up()
    return made


def case_tool_then_answer(env):
    it = agent(call("add", a=1, b=2), say("3"), tools=[add])
    return it.run([user("1 + 2?")]), it.chat_generator.seen


def case_several_turns_of_tools(env):
    it = agent(*(call("add", str(n), a=n, b=1) for n in range(4)), say("done"), tools=[add])
    return it.run([user("count")]), it.chat_generator.seen


def case_answer_at_once(env):
    return agent(say("hello"), tools=[add]).run([user("hi")])


def case_without_tools(env):
    it = agent(say("hello"))
    return it.run([user("hi")]), it.chat_generator.seen


def case_without_tools_a_call_is_the_answer(env):
    return agent(call("add", a=1, b=2), say("never")).run([user("hi")])


def case_empty_list_of_tools(env):
    return agent(say("hello"), tools=[]).run([user("hi")])


def case_system_prompt(env):
    return agent(say("hello"), system_prompt="Be kind.").run([user("hi")])


def case_system_prompt_of_the_call(env):
    return agent(say("hello"), system_prompt="Be kind.").run(
        [user("hi")], system_prompt="Be brief."
    )


def case_system_prompts_that_are_empty(env):
    kind = [agent(say("hello"), system_prompt=its) for its in ("Be kind.", "", None)]
    return [one.run([user("hi")], system_prompt="") for one in kind]


def case_system_prompt_before_a_system_message(env):
    messages = [ChatMessage.from_system("mine"), user("hi")]
    return agent(say("hello"), system_prompt="Be kind.").run(messages)


def case_only_system_messages(env):
    return agent(say("hello")).run([ChatMessage.from_system("x")])


def case_no_messages(env):
    return agent(say("hello")).run([])


def case_exit_by_a_tool(env):
    it = agent(call("add", a=1, b=2), say("never"), tools=[add], exit_conditions=["add"])
    return it.run([user("hi")]), it.chat_generator.seen


def case_exit_by_a_tool_among_others(env):
    both = say(
        "two",
        tool_calls=[ToolCall("boom", {"x": "1"}, "1"), ToolCall("add", {"a": 1, "b": 2}, "2")],
    )
    it = agent(both, say("never"), tools=[add, boom], exit_conditions=["add", "text"])
    return it.run([user("hi")])


def case_text_exits_although_only_a_tool_should(env):
    return agent(say("thinking"), tools=[add], exit_conditions=["add"]).run([user("hi")])


def case_failed_exit_tool_does_not_exit(env):
    it = agent(
        call("boom", x="1"),
        call("boom", x="2"),
        say("sorry"),
        tools=[boom],
        exit_conditions=["boom"],
    )
    return it.run([user("hi")])


def case_one_of_two_calls_of_the_exit_tool_failed(env):
    both = say(tool_calls=[ToolCall("add", {"a": 1}, "1"), ToolCall("add", {"a": 1, "b": 2}, "2")])
    return agent(both, say("again"), tools=[add], exit_conditions=["add"]).run([user("hi")])


def case_unknown_exit_condition(env):
    return env.error(lambda: agent(tools=[add], exit_conditions=["nope"]))


def case_exit_condition_without_tools(env):
    return env.error(lambda: agent(exit_conditions=["add"]))


def case_max_agent_steps(env):
    it = agent(*(call("add", str(n), a=n, b=1) for n in range(9)), tools=[add], max_agent_steps=3)
    return it.run([user("hi")]), len(it.chat_generator.seen)


def case_one_agent_step(env):
    return agent(call("add", a=1, b=2), say("never"), tools=[add], max_agent_steps=1).run(
        [user("hi")]
    )


def case_no_agent_steps(env):
    return agent(say("never"), tools=[add], max_agent_steps=0).run([user("hi")])


def case_fewer_steps_than_none(env):
    return agent(say("never"), tools=[add], max_agent_steps=-1).run([user("hi")])


def case_tool_error_is_told(env):
    return agent(call("boom", x="1"), say("sorry"), tools=[boom]).run([user("hi")])


def case_tool_error_is_raised(env):
    it = agent(call("boom", x="1"), tools=[boom], raise_on_tool_invocation_failure=True)
    try:
        return it.run([user("hi")])
    except Exception as error:
        cause = error.__cause__
        return (
            type(error).__name__,
            str(error),
            error.component_name,
            error.component_type.__name__,
            (type(cause).__name__, str(cause), cause.tool_name),
        )


def case_unknown_tool_is_told(env):
    return agent(call("nope", x="1"), say("sorry"), tools=[boom, add]).run([user("hi")])


def case_unknown_tool_is_raised(env):
    it = agent(call("nope", x="1"), tools=[add], raise_on_tool_invocation_failure=True)
    try:
        return it.run([user("hi")])
    except Exception as error:
        return type(error).__name__, str(error), type(error.__cause__).__name__


def case_arguments_that_do_not_fit(env):
    it = agent(call("add", a=1), call("add", a=1, b=2, c=3), say("sorry"), tools=[add])
    return it.run([user("hi")])


def case_parallel_calls(env):
    calls = [ToolCall("add", {"a": n, "b": 1}, str(n)) for n in range(6)]
    return agent(say("all", tool_calls=calls), say("done"), tools=[add]).run([user("hi")])


def case_parallel_calls_some_of_which_fail(env):
    calls = [
        ToolCall("add", {"a": 1, "b": 2}, "1"),
        ToolCall("boom", {"x": "q"}, "2"),
        ToolCall("nope", {}, "3"),
        ToolCall("add", {"a": 5, "b": 2}, "4"),
    ]
    return agent(say("all", tool_calls=calls), say("done"), tools=[add, boom]).run([user("hi")])


def case_calls_without_ids(env):
    calls = [ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 3, "b": 4})]
    return agent(say(tool_calls=calls), say("done"), tools=[add]).run([user("hi")])


def case_several_replies(env):
    it = agent([say("one"), call("add", a=1, b=2)], [say("two"), say("three")], tools=[add])
    return it.run([user("hi")])


def case_calls_in_the_history_do_not_run(env):
    it = agent(call("add", "2", a=3, b=4), say("done"), tools=[add, boom])
    return it.run([user("hi"), call("boom", "1", x="old")])


def case_toolset(env):
    it = agent(call("add", a=1, b=2), say("done"), tools=Toolset([add, boom]))
    return it.run([user("hi")]), it.chat_generator.seen


def case_toolset_that_grows(env):
    tools = Toolset([add])
    it = agent(call("add", a=1, b=2), call("boom", x="1"), say("done"), tools=tools)
    tools.add(boom)
    return it.run([user("hi")]), it.chat_generator.seen


def case_list_of_tools_that_grows(env):
    tools = [add]
    it = agent(call("boom", x="1"), say("done"), tools=tools)
    tools.append(boom)
    return it.run([user("hi")]), it.chat_generator.seen


def case_two_tools_of_one_name(env):
    return env.error(lambda: agent(tools=[add, add]))


def case_tools_of_one_run_by_name(env):
    it = agent(say("x"), tools=[add, boom])
    return it.run([user("hi")], tools=["boom"]), it.chat_generator.seen


def case_tools_of_one_run(env):
    it = agent(call("boom", x="1"), say("x"), tools=[add])
    return it.run([user("hi")], tools=[boom]), it.chat_generator.seen


def case_tools_of_one_run_without_others(env):
    it = agent(call("add", a=1, b=2), say("x"))
    return it.run([user("hi")], tools=[add]), it.chat_generator.seen


def case_tools_of_one_run_named_twice(env):
    it = agent(call("add", a=1, b=2), say("3"), tools=[add, boom])
    done = it.run([user("hi")], tools=["add", "add"])
    return done, it.chat_generator.seen


def case_unknown_names_of_tools(env):
    it = agent(say("x"), tools=[add])
    return (
        env.error(lambda: it.run([user("hi")], tools=["nope"])),
        env.error(lambda: it.run([user("hi")], tools=5)),
        env.error(lambda: agent(say("x")).run([user("hi")], tools=["add"])),
    )


def case_generator_that_fails(env):
    try:
        return agent(tools=[add]).run([user("hi")])
    except Exception as error:
        return (
            type(error).__name__,
            str(error),
            error.component_name,
            type(error.__cause__).__name__,
        )


@component
class WithoutTools:
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]):
        return {"replies": [say("x")]}


def case_generator_that_takes_no_tools(env):
    return (
        env.error(lambda: Agent(chat_generator=WithoutTools(), tools=[add])),
        env.error(lambda: Agent(chat_generator=WithoutTools())),
    )


@component
class Cold:
    def __init__(self):
        self.warmed = 0

    def warm_up(self):
        self.warmed += 1

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None):
        return {"replies": [say("warm")]}


def case_warm_up(env):
    it = Agent(chat_generator=Cold(), tools=[add])
    before = env.error(lambda: it.run([user("hi")]))
    it.warm_up()
    it.warm_up()
    return before, it.run([user("hi")]), it.chat_generator.warmed


def case_agent_that_needs_no_warm_up(env):
    return Agent(chat_generator=Scripted(say("x")), tools=[add]).run([user("hi")])


def search(query: str, repo: str):
    """Search."""
    return {"docs": [query, repo], "n": len(query), "summary": "found"}


SCHEMA = {
    "repository": {"type": str},
    "documents": {"type": list},
    "n": {"type": int},
    "last": {"type": dict},
}


def case_state_in_and_out(env):
    searching = create_tool_from_function(
        search,
        inputs_from_state={"repository": "repo"},
        outputs_to_state={
            "documents": {"source": "docs"},
            "n": {"source": "n", "handler": lambda old, new: (old or 0) + 10 * new},
            "last": {},
        },
    )
    it = agent(
        call("search", query="abc"),
        call("search", query="de", repo="theirs"),
        say("done"),
        tools=[searching],
        state_schema=SCHEMA,
    )
    return it.run([user("hi")], repository="mine"), searching.parameters


def case_state_that_a_tool_needs_and_nobody_gave(env):
    searching = create_tool_from_function(search, inputs_from_state={"repository": "repo"})
    it = agent(call("search", query="abc"), say("done"), tools=[searching], state_schema=SCHEMA)
    return it.run([user("hi")])


def case_state_by_the_names_of_parameters(env):
    def where(query: str, repository: str = "nowhere"):
        return repository

    asking = Tool(
        "where", "Where.", {"type": "object", "properties": {"query": {"type": "string"}}}, where
    )
    it = agent(call("where", query="q"), say("done"), tools=[asking], state_schema=SCHEMA)
    return it.run([user("hi")], repository="mine"), agent(
        call("where", query="q"), say("done"), tools=[asking], state_schema=SCHEMA
    ).run([user("hi")])


def case_value_that_the_state_lacks(env):
    it = agent(say("x"), state_schema={"n": {"type": int}})
    return env.error(lambda: it.run([user("hi")], m=1))


def case_key_that_the_state_lacks(env):
    it = agent(
        call("search", query="abc", repo="r"),
        say("done"),
        tools=[create_tool_from_function(search, outputs_to_state={"nope": {"source": "docs"}})],
        state_schema=SCHEMA,
        raise_on_tool_invocation_failure=True,
    )
    return env.error(lambda: it.run([user("hi")]))


def case_source_that_the_result_lacks(env):
    it = agent(
        call("search", query="abc", repo="r"),
        say("done"),
        tools=[
            create_tool_from_function(search, outputs_to_state={"documents": {"source": "nope"}})
        ],
        state_schema=SCHEMA,
    )
    return it.run([user("hi")])


def failing(old, new):
    raise ValueError("no")


def case_handler_that_fails(env):
    it = agent(
        call("search", query="abc", repo="r"),
        say("done"),
        tools=[
            create_tool_from_function(
                search, outputs_to_state={"documents": {"source": "docs", "handler": failing}}
            )
        ],
        state_schema=SCHEMA,
    )
    return it.run([user("hi")])


def summed(old, new):
    return (old or 0) + new


def case_handler_of_the_schema(env):
    schema = {"n": {"type": int, "handler": summed}}
    searching = create_tool_from_function(search, outputs_to_state={"n": {"source": "n"}})
    it = agent(
        call("search", query="abc", repo="r"),
        call("search", query="ab", repo="r"),
        say("done"),
        tools=[searching],
        state_schema=schema,
    )
    return it.run([user("hi")], n=100)


def case_result_that_is_no_dict(env):
    def five(x: str):
        return 5

    it = agent(
        call("five", x="1"),
        say("done"),
        tools=[create_tool_from_function(five, outputs_to_state={"n": {"source": "n"}})],
        state_schema=SCHEMA,
    )
    return it.run([user("hi")])


def case_messages_of_a_tool(env):
    def whisper(x: str):
        return {"said": [user("whispered " + x)]}

    it = agent(
        call("whisper", x="1"),
        say("done"),
        tools=[
            create_tool_from_function(whisper, outputs_to_state={"messages": {"source": "said"}})
        ],
    )
    return it.run([user("hi")])


def case_schemas_that_are_none(env):
    return [
        env.error(lambda: agent(state_schema={"x": {}})),
        env.error(lambda: agent(state_schema={"x": {"type": "int"}})),
        env.error(lambda: agent(state_schema={"x": {"type": int, "handler": 5}})),
        env.error(lambda: agent(state_schema={"messages": {"type": int}})),
    ]


def case_keys_that_a_run_takes_for_itself(env):
    return [
        env.error(lambda: agent(say("x"), tools=[add], state_schema={key: {"type": str}}))
        for key in ("break_point", "snapshot", "system_prompt", "tools", "self")
    ]


def case_messages_as_older_programs_write_them(env):
    it = agent(say("x"), tools=[add], state_schema={"messages": {"type": List[ChatMessage]}})
    return it.run([user("hi")])


def case_schema_of_an_agent(env):
    return agent(
        state_schema={"x": {"type": list[str]}, "last_message": {"type": int}}
    ).state_schema


def case_streaming(env):
    heard = []
    it = agent(call("add", a=1, b=2), say("done now"), tools=[add])
    it.run([user("hi")], streaming_callback=heard.append)
    return heard


def case_streaming_of_parallel_calls(env):
    heard = []
    calls = [
        ToolCall("add", {"a": 1, "b": 2}, "1"),
        ToolCall("nope", {}, "3"),
        ToolCall("boom", {"x": "q"}, "2"),
    ]
    it = agent(say("all", tool_calls=calls), say("done"), tools=[add, boom])
    it.run([user("hi")], streaming_callback=heard.append)
    return heard


def case_streaming_callback_of_the_agent(env):
    heard, other = [], []
    it = agent(say("a b"), say("c d"), tools=[add], streaming_callback=heard.append)
    it.run([user("hi")])
    it.run([user("hi")], streaming_callback=other.append)
    return heard, other


def case_streaming_callback_for_tools(env):
    def telling(x: str, streaming_callback=None):
        if streaming_callback:
            streaming_callback(StreamingChunk("from the tool"))
        return x

    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    results = []
    for passed in (True, False):
        heard = []
        it = agent(
            call("telling", x="1"),
            say("done"),
            tools=[Tool("telling", "Tell.", schema, telling)],
            tool_invoker_kwargs={"enable_streaming_callback_passthrough": passed},
        )
        it.run([user("hi")], streaming_callback=heard.append)
        results.append([(one.content, one.finish_reason) for one in heard])
    return results


def case_async_callback_in_a_sync_run(env):
    async def hear(chunk):
        pass

    return (
        env.error(lambda: agent(say("x")).run([user("hi")], streaming_callback=hear)),
        env.error(lambda: agent(say("x"), streaming_callback=hear).run([user("hi")])),
    )


def case_results_as_json(env):
    def shown(x: str):
        return {"a": "é", "l": [1, None]}

    it = agent(
        call("shown", x="1"),
        say("done"),
        tools=[create_tool_from_function(shown)],
        tool_invoker_kwargs={"convert_result_to_json_string": True},
    )
    return it.run([user("hi")])


def case_results_as_text(env):
    def shown(x: str):
        return {"a": "é", "l": [1, None], "m": say("hey")}

    def nothing(x: str):
        return None

    def message(x: str):
        return say("hey")

    tools = [create_tool_from_function(one) for one in (shown, nothing, message)]
    calls = [ToolCall(one.name, {"x": ""}, one.name) for one in tools]
    return agent(say(tool_calls=calls), say("done"), tools=tools).run([user("hi")])


def case_outputs_to_string(env):
    results = []
    for config in (
        {"source": "summary"},
        {"source": "docs", "handler": lambda docs: "H" + str(docs)},
        {"handler": lambda whole: "H" + str(whole)},
        {"source": "nope"},
        {"handler": failing},
        {},
    ):
        searching = create_tool_from_function(search)
        searching.outputs_to_string = config
        it = agent(call("search", query="a", repo="r"), say("done"), tools=[searching])
        results.append(it.run([user("hi")])["messages"][2])
    return results


def case_unknown_arguments_of_the_invoker(env):
    return env.error(lambda: agent(tools=[add], tool_invoker_kwargs={"nope": 1}))


def case_attributes(env):
    it = agent(say("x"), tools=[add], system_prompt="S", state_schema={"n": {"type": int}})
    return (
        it.tools,
        it.exit_conditions,
        it.system_prompt,
        it.max_agent_steps,
        it.state_schema,
        it.streaming_callback,
        it.raise_on_tool_invocation_failure,
        it.tool_invoker_kwargs,
    )


def case_no_generators(env):
    return [env.error(lambda it=it: Agent(chat_generator=it)) for it in (None, 3, object())]


def case_errors_of_components(env):
    made = [
        PipelineRuntimeError.from_exception("ranker", Scripted, ValueError("no words")),
        PipelineRuntimeError.from_invalid_output("ranker", Scripted, ["no", "dict"]),
    ]
    return [(str(e), e.component_name, e.component_type, e.pipeline_snapshot) for e in made]


@contextmanager
def heard():
    """How many warnings of the agent are logged meanwhile."""
    told = []

    class Counts(logging.Handler):
        def emit(self, record):
            told.append(record.levelname)

    root, handler = logging.getLogger(), Counts(logging.WARNING)
    root.addHandler(handler)
    try:
        yield told
    finally:
        root.removeHandler(handler)


def case_warnings(env):
    found = []
    for tools in (None, [], Toolset([]), [add], Toolset([add])):
        with heard() as told:
            agent(say("x"), tools=tools)
        found.append([*told])
    for messages in ([ChatMessage.from_system("s")], [user("hi")]):
        with heard() as told:
            agent(say("x"), tools=[add]).run(messages)
        found.append([*told])
    with heard() as told:
        agent(call("add", a=1, b=2), tools=[add], max_agent_steps=1).run([user("hi")])
    return found, told
