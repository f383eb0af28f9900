"""AgentExecutor once more: agents that write XML or ask themselves, iterators, memory, events."""

import asyncio
import time

from langchain_classic.agents import (
    AgentExecutor,
    AgentOutputParser,
    BaseSingleActionAgent,
    Tool,
    create_json_chat_agent,
    create_react_agent,
    create_self_ask_with_search_agent,
    create_structured_chat_agent,
    create_tool_calling_agent,
    create_xml_agent,
    tool,
)
from langchain_classic.agents.agent import (
    MultiActionAgentOutputParser,
    RunnableAgent,
    RunnableMultiActionAgent,
)
from langchain_classic.agents.format_scratchpad import (
    format_log_to_messages,
    format_log_to_str,
    format_to_openai_functions,
    format_to_tool_messages,
    format_xml,
)
from langchain_classic.agents.output_parsers import (
    JSONAgentOutputParser,
    ReActJsonSingleInputOutputParser,
    ReActSingleInputOutputParser,
    SelfAskOutputParser,
    ToolsAgentOutputParser,
    XMLAgentOutputParser,
)
from langchain_core.agents import AgentAction, AgentActionMessageLog, AgentFinish, AgentStep
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import StructuredTool, ToolException

from .scripted import Scripted, add, ai, call


class Stopped(Scripted):
    """Keeps where the model was to stop, too."""

    def noted(self, messages, stop, kwargs):
        return [(m.type, m.content) for m in messages], stop


def model_of(*script):
    return Stopped(script=list(script), seen=[])


@tool
def search(query: str) -> str:
    """Search the web."""
    return f"found {query}"


@tool
async def asearch(query: str) -> str:
    """Search the web."""
    return f"afound {query}"


TOOLS = [add, search]
PROMPT = ChatPromptTemplate.from_messages(
    [
        ("system", "You help."),
        MessagesPlaceholder("chat_history", optional=True),
        ("human", "{input}"),
        MessagesPlaceholder("agent_scratchpad"),
    ]
)
REACT = PromptTemplate.from_template(
    "Tools: {tools} Names: {tool_names}\nQuestion: {input}\n{agent_scratchpad}"
)
XML = PromptTemplate.from_template("Tools: {tools}\nQ: {input}\n{agent_scratchpad}")
ASK = PromptTemplate.from_template("Q: {input}\n{agent_scratchpad}")
ACTION = "Thought: x\nAction: search\nAction Input: cats"


def calling(model, tools=TOOLS, **options):
    return AgentExecutor(
        agent=create_tool_calling_agent(model, tools, PROMPT), tools=tools, **options
    )


def reacting(model, tools=TOOLS, **options):
    return AgentExecutor(agent=create_react_agent(model, tools, REACT), tools=tools, **options)


def case_xml(env):
    model = model_of(
        "<tool>search</tool><tool_input>cats</tool_input>",
        "<tool>search</tool>\n<tool_input>dogs</tool_input>",
        "<final_answer>meow</final_answer>",
    )
    ex = AgentExecutor(
        agent=create_xml_agent(model, TOOLS, XML), tools=TOOLS, return_intermediate_steps=True
    )
    return ex.invoke({"input": "x"}), model.seen


def case_xml_stream(env):
    model = model_of(
        "<tool>search</tool><tool_input>cats</tool_input>", "<final_answer>meow</final_answer>"
    )
    ex = AgentExecutor(agent=create_xml_agent(model, TOOLS, XML), tools=TOOLS)
    return list(ex.stream({"input": "x"}))


def case_xml_left_open(env):
    model = model_of("<tool>search</tool><tool_input>cats", "<final_answer>meow</final_answer>")
    ex = AgentExecutor(
        agent=create_xml_agent(model, TOOLS, XML), tools=TOOLS, return_intermediate_steps=True
    )
    return ex.invoke({"input": "x"})["intermediate_steps"][0][0].tool_input


def case_xml_stop(env):
    out = []
    for stop in (True, False, ["X"]):
        model = model_of("<final_answer>x</final_answer>")
        agent = create_xml_agent(model, TOOLS, XML, stop_sequence=stop)
        out.append((agent.invoke({"input": "x", "intermediate_steps": []}), model.seen))
    return out


def case_xml_parse(env):
    p = XMLAgentOutputParser()
    texts = [
        "<tool>search</tool><tool_input>cats</tool_input>",
        "<tool>search</tool><tool_input>cats",
        "<tool>search</tool>",
        "hm <tool> search </tool> then <tool_input> cats </tool_input> yes",
        "<final_answer>x</final_answer>",
        "<final_answer>x",
        "so: <final_answer>a\nb</final_answer> end",
        "text",
        "",
        "<tool></tool><tool_input></tool_input>",
        "<final_answer></final_answer>",
    ]
    return [env.error(lambda t=t: p.parse(t)) for t in texts]


def case_xml_format(env):
    a = AgentAction("search", "q", "l")
    return (
        format_xml([(a, "o"), (a, 3)]),
        format_xml([]),
        format_xml([(AgentAction("<b>", "<i>", "l"), "<o>")]),
    )


def case_self_ask(env):
    lookup = Tool("Intermediate Answer", lambda q: f"found {q}", "Search.")
    model = model_of(
        "Yes.\nFollow up: Who is it?", "Follow up: When?", "So the final answer is: Ada"
    )
    ex = AgentExecutor(
        agent=create_self_ask_with_search_agent(model, [lookup], ASK),
        tools=[lookup],
        return_intermediate_steps=True,
    )
    return ex.invoke({"input": "x"}), model.seen


def case_self_ask_errors(env):
    model = model_of("x")
    lookup = Tool("Intermediate Answer", lambda q: f"found {q}", "Search.")
    return (
        env.error(lambda: create_self_ask_with_search_agent(model, TOOLS, ASK)),
        env.error(lambda: create_self_ask_with_search_agent(model, [search], ASK)),
        env.error(
            lambda: create_self_ask_with_search_agent(
                model, [lookup], PromptTemplate.from_template("{input}")
            )
        ),
        env.error(lambda: create_xml_agent(model, TOOLS, ASK)),
        env.error(lambda: create_react_agent(model, TOOLS, ASK)),
    )


def case_self_ask_parse(env):
    p = SelfAskOutputParser()
    texts = [
        "Follow up: who?",
        "Followup: who?",
        "a\nFollow up: who?\n",
        "So the final answer is: x",
        "a\nSo the final answer is: x y",
        "hm",
        "",
        "Follow up:",
        "Follow up:who",
    ]
    return [env.error(lambda t=t: p.parse(t)) for t in texts]


def case_iter(env):
    model = model_of(ai(call("add", a=1, b=2), call("search", "2", query="q")), "3")
    return list(calling(model).iter({"input": "x"}))


def case_iter_steps(env):
    model = model_of(ai(call("add", a=1, b=2)), "3")
    ex = calling(model, return_intermediate_steps=True)
    out = []
    for step in ex.iter({"input": "x"}):
        out.append(sorted(step))
        if step.get("intermediate_step"):
            action, value = step["intermediate_step"][0]
            out.append((action.tool, action.tool_input, value))
    return out


def case_iter_of_unknown_options(env):
    return env.error(lambda: calling(model_of("x")).iter({"input": "x"}, yield_actions=True))


def case_iter_of_text(env):
    return list(reacting(model_of(ACTION, "Final Answer: y")).iter({"input": "x"}))


def case_iter_run_info(env):
    model = model_of("3")
    parts = list(calling(model).iter({"input": "x"}, include_run_info=True))
    return [sorted(one) for one in parts]


def case_iter_limits(env):
    model = model_of(*[ai(call("add", str(i), a=1, b=i)) for i in range(5)])
    return list(calling(model, max_iterations=2).iter({"input": "x"}))


def case_iter_left(env):
    model = model_of(ai(call("add", a=1, b=2)), ai(call("add", "2", a=1, b=2)), "3")
    for _ in calling(model).iter({"input": "x"}):
        break
    return len(model.seen)


class Slow(BaseSingleActionAgent):
    """Asks for a tool that takes time, for ever."""

    @property
    def input_keys(self):
        return ["input"]

    def plan(self, intermediate_steps, callbacks=None, **kwargs):
        return AgentAction("wait", "0.15", "l")

    async def aplan(self, intermediate_steps, callbacks=None, **kwargs):
        return AgentAction("wait", "0.15", "l")


def waits():
    async def await_(seconds):
        await asyncio.sleep(float(seconds))
        return "slept"

    def wait(seconds):
        time.sleep(float(seconds))
        return "slept"

    return Tool("wait", wait, "Waits.", coroutine=await_)


def case_time_is_up(env):
    ex = AgentExecutor(agent=Slow(), tools=[waits()], max_execution_time=0.25, max_iterations=None)
    return ex.invoke({"input": "x"})


async def case_time_is_up_async(env):
    ex = AgentExecutor(agent=Slow(), tools=[waits()], max_execution_time=0.25, max_iterations=None)
    return await ex.ainvoke({"input": "x"})


def case_stopping_methods(env):
    ex = AgentExecutor(
        agent=Slow(), tools=[waits()], max_iterations=1, early_stopping_method="nonsense"
    )
    more = calling(
        model_of(ai(call("add", a=1, b=2))), max_iterations=1, early_stopping_method="nonsense"
    )
    return (
        env.error(lambda: ex.invoke({"input": "x"})),
        env.error(lambda: more.invoke({"input": "x"})),
    )


def case_own_stopped_response(env):
    class Mine(Slow):
        def return_stopped_response(self, early_stopping_method, intermediate_steps, **kwargs):
            return AgentFinish(
                {"output": (early_stopping_method, len(intermediate_steps), kwargs)}, "l"
            )

    ex = AgentExecutor(
        agent=Mine(),
        tools=[Tool("wait", lambda s: s, "W.")],
        max_iterations=2,
        early_stopping_method="x",
    )
    return ex.invoke({"input": "i", "more": 1})


def case_parser_sends_to_the_model(env):
    class Strict(ReActSingleInputOutputParser):
        def parse(self, text):
            if "nonsense" in text:
                raise OutputParserException(
                    "bad", observation="Look again", llm_output=text, send_to_llm=True
                )
            return super().parse(text)

    out = []
    for handle in (True, "Check", lambda e: f"<{e}|{e.observation}>", False):
        model = model_of("nonsense", "Final Answer: y")
        agent = create_react_agent(model, TOOLS, REACT, output_parser=Strict())
        ex = AgentExecutor(
            agent=agent, tools=TOOLS, handle_parsing_errors=handle, return_intermediate_steps=True
        )
        out.append((env.error(lambda: ex.invoke({"input": "x"})), model.seen))
    return out


def case_parser_raises_plainly(env):
    class Strict(AgentOutputParser):
        def parse(self, text):
            if "nonsense" in text:
                raise OutputParserException("bad text")
            return AgentFinish({"output": text}, text)

    out = []
    for handle in (True, "Check", lambda e: f"<{e}|{e.observation}>"):
        model = model_of("nonsense", "fine")
        agent = create_react_agent(model, TOOLS, REACT, output_parser=Strict())
        ex = AgentExecutor(
            agent=agent, tools=TOOLS, handle_parsing_errors=handle, return_intermediate_steps=True
        )
        out.append((env.error(lambda: ex.invoke({"input": "x"})), model.seen))
    return out


async def case_parsing_errors_async(env):
    model = model_of("nonsense", "Final Answer: y")
    ex = reacting(model, handle_parsing_errors="Check", return_intermediate_steps=True)
    return await ex.ainvoke({"input": "x"}), model.seen


def case_parsing_errors_count(env):
    model = model_of(*["nonsense"] * 9)
    ex = reacting(
        model, handle_parsing_errors="C", max_iterations=3, return_intermediate_steps=True
    )
    return ex.invoke({"input": "x"}), len(model.seen)


def case_parsing_errors_are_told(env):
    heard = []

    class Hears(BaseCallbackHandler):
        def on_tool_start(self, serialized, input_str, **kwargs):
            heard.append((serialized.get("name"), input_str))

        def on_tool_end(self, output, **kwargs):
            heard.append(output)

        def on_agent_action(self, action, **kwargs):
            heard.append((action.tool, action.tool_input, action.log))

    model = model_of("nonsense", "Final Answer: y")
    reacting(model, handle_parsing_errors="C").invoke({"input": "x"}, {"callbacks": [Hears()]})
    return heard


def case_tool_exceptions(env):
    def fails(query: str) -> str:
        """Fails."""
        raise ToolException("no " + query)

    out = []
    for handle in (True, "Sorry", lambda e: f"<{e}>", False):
        one = StructuredTool.from_function(fails, handle_tool_error=handle)
        model = model_of(ai(call("fails", query="q")), "ok")
        ex = calling(model, [one], return_intermediate_steps=True)
        out.append(env.error(lambda ex=ex: ex.invoke({"input": "x"})))
    return out


def case_validation_errors(env):
    def fails(query: int) -> str:
        """Fails."""
        return "fine"

    out = []
    for handle in (True, "Sorry", lambda e: "wrong", False):
        one = StructuredTool.from_function(fails, handle_validation_error=handle)
        model = model_of(ai(call("fails", query="q")), "ok")
        ex = calling(model, [one], return_intermediate_steps=True)
        out.append(env.error(lambda ex=ex: ex.invoke({"input": "x"})))
    return out


async def case_async_tools(env):
    model = model_of(ai(call("asearch", query="q")), "ok")
    ex = calling(model, [asearch], return_intermediate_steps=True)
    return await ex.ainvoke({"input": "x"})


def case_async_tool_in_sync(env):
    model = model_of(ai(call("asearch", query="q")), "ok")
    ex = calling(model, [asearch])
    return env.error(lambda: ex.invoke({"input": "x"}))


def case_no_tools(env):
    return calling(model_of("hi"), []).invoke({"input": "x"})


def case_return_direct_of_several(env):
    one = Tool("one", lambda q: f"one {q}", "One.", return_direct=True)
    model = model_of("Action: one\nAction Input: a", "Final Answer: b")
    ex = reacting(model, [one, search], return_intermediate_steps=True)
    return ex.invoke({"input": "x"}), list(
        reacting(model_of("Action: one\nAction Input: a"), [one, search]).iter({"input": "x"})
    )


async def case_return_direct_async(env):
    one = Tool("one", lambda q: f"one {q}", "One.", return_direct=True)
    ex = reacting(model_of("Action: one\nAction Input: a"), [one, search])
    return await ex.ainvoke({"input": "x"})


def history():
    return InMemoryChatMessageHistory()


def case_message_history(env):
    kept = {}
    model = model_of(ai(call("add", a=1, b=2)), "3", "you said hi")
    ex = RunnableWithMessageHistory(
        calling(model),
        lambda session_id: kept.setdefault(session_id, history()),
        input_messages_key="input",
        history_messages_key="chat_history",
    )
    config = {"configurable": {"session_id": "1"}}
    first, second = ex.invoke({"input": "hi"}, config), ex.invoke({"input": "and?"}, config)
    return first, second, kept["1"].messages, model.seen


def case_in_a_chain(env):
    model = model_of(ai(call("add", a=1, b=2)), "3")
    chain = (
        {"input": RunnablePassthrough()}
        | calling(model)
        | RunnableLambda(lambda x: x["output"])
        | StrOutputParser()
    )
    return chain.invoke("1+2?")


def case_batch(env):
    def build():
        agent = RunnableAgent(
            runnable=RunnableLambda(
                lambda x: AgentFinish({"output": 1 // x["input"]}, ""),
            ),
        )
        return AgentExecutor(agent=agent, tools=TOOLS)

    return (
        build().batch([{"input": 1}, {"input": 2}]),
        build().batch([{"input": 1}, {"input": 0}], return_exceptions=True),
        build().map().invoke([{"input": 1}]),
    )


def case_fallbacks(env):
    bad = calling(model_of(ValueError("down")))
    good = calling(model_of("fine"))
    return bad.with_fallbacks([good]).invoke({"input": "x"})


def case_output_keys_of_several(env):
    agent = RunnableAgent(
        runnable=RunnableLambda(lambda x: AgentFinish({"answer": 1, "why": 2}, "l")),
        input_keys_arg=["question"],
        return_keys_arg=["answer", "why"],
    )
    ex = AgentExecutor(agent=agent, tools=TOOLS)
    return ex.input_keys, ex.output_keys, ex.invoke({"question": "q"}), ex.invoke("q")


def case_fields(env):
    ex = calling(model_of("x"))
    names = ("max_iterations", "max_execution_time", "early_stopping_method", "verbose")
    more = ("handle_parsing_errors", "return_intermediate_steps", "trim_intermediate_steps")
    before = [getattr(ex, name) for name in names + more]
    ex.max_iterations = 3
    ex.return_intermediate_steps = True
    return (
        before,
        ex.max_iterations,
        ex.output_keys,
        ex.invoke({"input": "x"}),
        [one.name for one in ex.tools],
    )


def case_unknown_fields(env):
    agent = create_tool_calling_agent(model_of("x"), TOOLS, PROMPT)

    def made():
        return type(AgentExecutor(agent=agent, tools=TOOLS, max_iteration=3)).__name__

    return env.error(made)


def case_from_agent_and_tools(env):
    agent = create_tool_calling_agent(model_of("x"), TOOLS, PROMPT)
    ex = AgentExecutor.from_agent_and_tools(agent=agent, tools=TOOLS, max_iterations=2)
    return ex.max_iterations, ex.invoke({"input": "x"})


def case_extra_inputs(env):
    model = model_of("x")
    return calling(model).invoke({"input": "x", "user": "ada", "chat_history": []})


async def case_events(env):
    model = model_of(ai(call("add", a=1, b=2)), "3")
    ex = calling(model).with_config({"run_name": "Agent"})
    out = []
    async for one in ex.astream_events({"input": "x"}, version="v2"):
        if one["event"] in ("on_tool_start", "on_tool_end", "on_chat_model_start"):
            out.append((one["event"], one["name"], str(one["data"].get("output"))))
        # The peer tells of the last chunk after the end.
        if one["name"] == "Agent" and one["event"] != "on_chain_stream":
            out.append((one["event"], one["data"]))
    return out


async def case_tags_and_metadata(env):
    ex = calling(model_of("x"), tags=["mine"], metadata={"who": "me"})
    out = []
    async for one in ex.astream_events({"input": "x"}, version="v2"):
        if one["event"] == "on_chain_start" and one["name"] == "AgentExecutor":
            out.append((sorted(one["tags"]), one["metadata"]))
        if one["event"] == "on_chat_model_start":
            out.append(("mine" in one["tags"], "who" in one["metadata"]))
    return out


def case_structured_chat_parsing(env):
    prompt = ChatPromptTemplate.from_messages(
        [("system", "{tools} {tool_names}"), ("human", "{input}\n\n{agent_scratchpad}")]
    )
    texts = [
        'A:\n```json\n{"action": "search", "action_input": {"query": "cats"}}\n```',
        '```\n{"action": "Final Answer", "action_input": {"a": 1}}\n```',
        "just text",
        '```\n{"action": "search"}\n```',
        '{"action": "search", "action_input": "x"}',
        '```\n[{"action": "search", "action_input": "x"}]\n```',
        "```\nnot json\n```",
    ]
    return [
        env.error(
            lambda t=t: create_structured_chat_agent(model_of(t), TOOLS, prompt).invoke(
                {"input": "x", "intermediate_steps": []}
            )
        )
        for t in texts
    ]


def case_json_chat_history(env):
    prompt = ChatPromptTemplate.from_messages(
        [
            ("system", "{tools} {tool_names}"),
            MessagesPlaceholder("chat_history", optional=True),
            ("human", "{input}"),
            MessagesPlaceholder("agent_scratchpad"),
        ]
    )
    model = model_of('{"action": "Final Answer", "action_input": "y"}')
    agent = create_json_chat_agent(
        model, TOOLS, prompt, stop_sequence=False, template_tool_response="<{observation}>"
    )
    steps = [(AgentAction("search", "q", "log"), "found")]
    given = {"input": "x", "intermediate_steps": steps, "chat_history": [HumanMessage("before")]}
    return agent.invoke(given), model.seen


def case_message_formatter(env):
    def formatted(steps):
        return [SystemMessage(f"{len(steps)} steps")]

    model = model_of(ai(call("add", a=1, b=2)), "3")
    agent = create_tool_calling_agent(model, TOOLS, PROMPT, message_formatter=formatted)
    AgentExecutor(agent=agent, tools=TOOLS).invoke({"input": "x"})
    return model.seen


def case_steps_and_actions(env):
    a = AgentAction("t", "i", "l")
    return (
        AgentStep(action=a, observation="o").messages,
        a.messages,
        AgentFinish({"output": "x"}, "l").messages,
        AgentFinish({"a": 1, "b": 2}, "l").messages,
        AgentActionMessageLog(
            tool="t", tool_input="i", log="l", message_log=[AIMessage("m")]
        ).messages,
        AgentAction(tool="t", tool_input={"a": 1}, log="").messages,
    )


def case_formats(env):
    a = AgentAction("t", "i", "l")
    return (
        format_log_to_str([(a, "o")], "Obs: ", "Th: "),
        format_log_to_messages([(a, "o")], "<{observation}>"),
        format_to_openai_functions([(a, "o")]),
        format_to_tool_messages([]),
    )


def case_multi_parser(env):
    class Several(MultiActionAgentOutputParser):
        def parse(self, text):
            if text == "done":
                return AgentFinish({"output": "yes"}, text)
            return [AgentAction("search", one, text) for one in text.split()]

    model = model_of("a b", "done")
    runnable = (
        RunnableLambda(lambda x: f"{x['input']} {len(x['intermediate_steps'])}") | model | Several()
    )
    agent = RunnableMultiActionAgent(runnable=runnable)
    ex = AgentExecutor(agent=agent, tools=TOOLS, return_intermediate_steps=True)
    return ex.invoke({"input": "x"}), model.seen


def case_tools_of_text(env):
    one = Tool(name="Calc", func=lambda s: str(len(s)), description="Count.")
    model = model_of("Action: Calc\nAction Input: abc\n", "Final Answer: 3")
    ex = reacting(model, [one], return_intermediate_steps=True)
    return ex.invoke({"input": "x"}), model.seen


def case_same_tool_twice(env):
    model = model_of(ai(call("search", query="q")), "3")
    ex = calling(model, [search, Tool("search", lambda q: "second", "Second.")])
    return ex.invoke({"input": "x"})


def case_tool_agent_sees_tools(env):
    class Bound(Stopped):
        def noted(self, messages, stop, kwargs):
            return [t["name"] for t in kwargs["tools"]]

    model = Bound(script=["x"], seen=[])
    calling(model).invoke({"input": "x"})
    return model.seen


def case_error_of_the_model(env):
    ex = calling(model_of(RuntimeError("down")))
    return env.error(lambda: ex.invoke({"input": "x"})), env.error(
        lambda: list(ex.stream({"input": "x"}))
    )


def case_steps_given(env):
    model = model_of("3")
    steps = [(AgentAction("search", "q", "l"), "o")]
    return env.error(lambda: calling(model).invoke({"input": "x", "intermediate_steps": steps}))


def case_stream_limits_react(env):
    ex = reacting(model_of(*[ACTION] * 4), max_iterations=2, return_intermediate_steps=True)
    return list(ex.stream({"input": "x"}))


def case_final_answer_and_action(env):
    out = []
    for handle in (False, True):
        model = model_of(
            "Action: search\nAction Input: q\nObservation: o\nFinal Answer: z", "Final Answer: y"
        )
        out.append(
            env.error(lambda: reacting(model, handle_parsing_errors=handle).invoke({"input": "x"}))
        )
    return out


def case_tool_calling_parse_more(env):
    p = ToolsAgentOutputParser()
    return (
        p.invoke(AIMessage("", tool_calls=[call("t", None, a=1)])),
        p.invoke(AIMessage("", tool_calls=[call("t", "1")])),
        p.invoke(AIMessage([{"type": "text", "text": "x"}], tool_calls=[call("t", "1", a=1)])),
        env.error(lambda: p.invoke("text")),
    )


def case_json_parse_partial(env):
    p = JSONAgentOutputParser()
    texts = [
        '```json\n{"action": "search", "action_input": "cats"',
        '{"action": "search", "action_input": "a\nb"}',
        "```json\n{'action': 'x'}\n```",
        '{"action": "Final Answer"}',
        '{"action": null, "action_input": "x"}',
        "[]",
        "3",
    ]
    return [env.error(lambda t=t: p.parse(t)) for t in texts]


def case_trim_of_nothing(env):
    out = []
    for trim in (0, -3, 5):
        model = model_of(*[ACTION] * 3, "Final Answer: x")
        reacting(model, trim_intermediate_steps=trim).invoke({"input": "x"})
        out.append([text[0][0][1].count("Observation") for text in model.seen])
    return out


def case_numbers_as_text(env):
    model = model_of(*[ACTION] * 5)
    ex = reacting(model, max_iterations="2", max_execution_time="60", handle_parsing_errors=1)
    return (
        ex.max_iterations,
        ex.max_execution_time,
        ex.handle_parsing_errors,
        ex.invoke({"input": "x"}),
    )


def case_options_that_are_none(env):
    def made(**options):
        try:
            return type(reacting(model_of(), **options)).__name__
        except ValueError:  # pydantic's, or plait's
            return "ValueError"

    return [
        made(**one)
        for one in (
            {"max_iterations": 2.5},
            {"max_iterations": "many"},
            {"max_execution_time": "long"},
            {"early_stopping_method": None},
            {"early_stopping_method": 3},
            {"handle_parsing_errors": 3},
            {"handle_parsing_errors": None},
            {"handle_parsing_errors": []},
            {"handle_parsing_errors": {"a": 1}},
            {"trim_intermediate_steps": "x"},
            {"trim_intermediate_steps": None},
            {"tags": "a"},
            {"metadata": 3},
            {"memory": 3},
            {"callbacks": 3},
        )
    ]


def case_fences(env):
    p = ReActJsonSingleInputOutputParser()
    return [
        p.parse(text)
        for text in (
            '```{"action": "search", "action_input": "cats"}```',
            "Final Answer: run\n```python\nprint(1)\n```",
            '```\n{"action": "search", "action_input": "cats"}\n```\nFinal Answer: meow',
        )
    ]


def case_inputs_with_lines(env):
    p = ReActSingleInputOutputParser()
    texts = (
        "Action: a\nAction Input: b\n",
        "Action: a\nAction Input:\nb\nc\n\n",
        "Action: a\nAction Input: b  ",
    )
    return [p.parse(text).tool_input for text in texts]
