"""AgentExecutor, the agents and parsers it runs, their scratchpads, streams and errors."""

from langchain_classic.agents import (
    AgentExecutor,
    BaseMultiActionAgent,
    BaseSingleActionAgent,
    create_json_chat_agent,
    create_openai_tools_agent,
    create_react_agent,
    create_structured_chat_agent,
    create_tool_calling_agent,
)
from langchain_classic.agents.agent import RunnableAgent, RunnableMultiActionAgent
from langchain_classic.agents.format_scratchpad import (
    format_log_to_messages,
    format_log_to_str,
    format_to_openai_function_messages,
    format_to_tool_messages,
)
from langchain_classic.agents.output_parsers import (
    JSONAgentOutputParser,
    ReActJsonSingleInputOutputParser,
    ReActSingleInputOutputParser,
    ToolsAgentOutputParser,
)
from langchain_classic.agents.output_parsers.tools import ToolAgentAction
from langchain_core.agents import AgentAction, AgentActionMessageLog, AgentFinish
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import Tool, tool

from .scripted import Scripted, add, ai, call


class Stopped(Scripted):
    """Keeps where the model was to stop, too."""

    def noted(self, messages, stop, kwargs):
        return [(m.type, m.content) for m in messages], kwargs.get("tools"), stop


def model_of(*script):
    return Stopped(script=list(script), seen=[])


@tool
def search(query: str) -> str:
    """Search the web."""
    return f"found {query}"


@tool
def listing(query: str) -> list:
    """A list."""
    return [{"q": query}, 2]


@tool(return_direct=True)
def direct(query: str) -> str:
    """Ends."""
    return f"direct {query}"


@tool
def broken(query: str) -> str:
    """Fails."""
    raise ValueError("no " + query)


TOOLS = [add, search, listing]
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
JSONCHAT = ChatPromptTemplate.from_messages(
    [
        ("system", "Tools {tools} names {tool_names}"),
        MessagesPlaceholder("chat_history", optional=True),
        ("human", "{input}"),
        MessagesPlaceholder("agent_scratchpad"),
    ]
)
STRUCT = ChatPromptTemplate.from_messages(
    [
        ("system", "Tools {tools} names {tool_names}"),
        MessagesPlaceholder("chat_history", optional=True),
        ("human", "{input}\n\n{agent_scratchpad}"),
    ]
)


def tool_agent(model, tools=TOOLS):
    return create_tool_calling_agent(model, tools, PROMPT)


def case_tool_calling(env):
    model = model_of(ai(call("add", a=1, b=2)), "3")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS, return_intermediate_steps=True)
    return ex.invoke({"input": "1+2?"}), model.seen, type(ex.agent).__name__


async def case_tool_calling_async(env):
    model = model_of(ai(call("add", a=1, b=2), call("search", "2", query="x")), "3")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS, return_intermediate_steps=True)
    return await ex.ainvoke({"input": "1+2?"}), model.seen


def case_two_calls(env):
    model = model_of(
        ai(call("add", a=1, b=2), call("listing", "2", query="x"), text="thinking"), "3"
    )
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS, return_intermediate_steps=True)
    return ex.invoke({"input": "1+2?", "chat_history": [HumanMessage("before")]}), model.seen


def case_string_input(env):
    model = model_of("hi")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS)
    keys = AgentExecutor(agent=tool_agent(model_of("hi")), tools=TOOLS)
    return (
        env.error(lambda: ex.invoke("hello")),
        ex.input_keys,
        ex.output_keys,
        keys.return_intermediate_steps,
    )


def case_missing_input(env):
    ex = AgentExecutor(agent=tool_agent(model_of("hi")), tools=TOOLS)
    return env.error(lambda: ex.invoke({}))


def case_stream(env):
    model = model_of(ai(call("add", a=1, b=2), call("listing", "2", query="x")), "3")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS)
    return list(ex.stream({"input": "1+2?"}))


async def case_astream(env):
    model = model_of(ai(call("add", a=1, b=2), call("listing", "2", query="x")), "3")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS, return_intermediate_steps=True)
    return [c async for c in ex.astream({"input": "1+2?"})]


def case_stream_react(env):
    model = model_of(
        "Thought: x\nAction: search\nAction Input: cats", "Thought: done\nFinal Answer: meow"
    )
    ex = AgentExecutor(agent=create_react_agent(model, TOOLS, REACT), tools=TOOLS)
    return list(ex.stream({"input": "cats?"})), model.seen


def case_max_iterations(env):
    out = []
    for n in (0, 1, 2):
        model = model_of(*[ai(call("add", str(i), a=1, b=i)) for i in range(5)])
        ex = AgentExecutor(
            agent=tool_agent(model), tools=TOOLS, max_iterations=n, return_intermediate_steps=True
        )
        out.append((ex.invoke({"input": "x"}), len(model.seen)))
        model = model_of(*[ai(call("add", str(i), a=1, b=i)) for i in range(5)])
        ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS, max_iterations=n)
        out.append(list(ex.stream({"input": "x"})))
    return out


def case_many_iterations(env):
    model = model_of(*[ai(call("add", str(i), a=1, b=i)) for i in range(40)])
    ex = AgentExecutor(
        agent=tool_agent(model), tools=TOOLS, max_iterations=None, return_intermediate_steps=True
    )
    return len(ex.invoke({"input": "x"})["intermediate_steps"])


def case_default_iterations(env):
    model = model_of(*[ai(call("add", str(i), a=1, b=i)) for i in range(40)])
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS, return_intermediate_steps=True)
    r = ex.invoke({"input": "x"})
    return len(r["intermediate_steps"]), r["output"]


def case_max_time(env):
    model = model_of(*[ai(call("add", str(i), a=1, b=i)) for i in range(5)])
    ex = AgentExecutor(
        agent=tool_agent(model), tools=TOOLS, max_execution_time=0.0, return_intermediate_steps=True
    )
    return ex.invoke({"input": "x"}), len(model.seen)


def case_generate_stop(env):
    model = model_of(*[ai(call("add", str(i), a=1, b=i)) for i in range(5)])
    ex = AgentExecutor(
        agent=tool_agent(model), tools=TOOLS, max_iterations=1, early_stopping_method="generate"
    )
    return env.error(lambda: ex.invoke({"input": "x"}))


def case_unknown_tool(env):
    model = model_of(ai(call("nope", a=1)), "ok")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS, return_intermediate_steps=True)
    return ex.invoke({"input": "x"}), model.seen[1]


def case_unknown_tool_react(env):
    model = model_of("Thought: x\nAction: nope\nAction Input: cats", "Final Answer: meow")
    ex = AgentExecutor(
        agent=create_react_agent(model, TOOLS, REACT), tools=TOOLS, return_intermediate_steps=True
    )
    return ex.invoke({"input": "x"}), list(
        AgentExecutor(
            agent=create_react_agent(
                model_of("Action: nope\nAction Input: cats", "Final Answer: meow"), TOOLS, REACT
            ),
            tools=TOOLS,
        ).stream({"input": "x"})
    )


def case_tool_error(env):
    model = model_of(ai(call("broken", query="x")), "ok")
    ex = AgentExecutor(agent=tool_agent(model, [broken]), tools=[broken])
    return env.error(lambda: ex.invoke({"input": "x"}))


def case_bad_args(env):
    model = model_of(ai(call("add", a="x", b=2)), "ok")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS)
    return env.error(lambda: ex.invoke({"input": "x"}))


def case_return_direct(env):
    model = model_of("Thought: x\nAction: direct\nAction Input: cats", "Final Answer: meow")
    ex = AgentExecutor(
        agent=create_react_agent(model, [direct], REACT),
        tools=[direct],
        return_intermediate_steps=True,
    )
    model2 = model_of("Thought: x\nAction: direct\nAction Input: cats", "Final Answer: meow")
    ex2 = AgentExecutor(agent=create_react_agent(model2, [direct], REACT), tools=[direct])
    return ex.invoke({"input": "x"}), list(ex2.stream({"input": "x"}))


def case_return_direct_multi(env):
    def run():
        model = model_of(ai(call("direct", query="q")), "ok")
        ex = AgentExecutor(
            agent=tool_agent(model, [direct]), tools=[direct], return_intermediate_steps=True
        )
        return ex.invoke({"input": "x"})

    return env.error(run)


def parse_cases(handle):
    model = model_of("nonsense", "Final Answer: meow")
    ex = AgentExecutor(
        agent=create_react_agent(model, TOOLS, REACT),
        tools=TOOLS,
        return_intermediate_steps=True,
        handle_parsing_errors=handle,
    )
    return ex, model


def case_parsing_errors(env):
    out = []
    for handle in (False, True, "Check!", lambda e: f"bad: {type(e).__name__}"):
        ex, model = parse_cases(handle)
        out.append((env.error(lambda: ex.invoke({"input": "x"})), model.seen[1:]))
    return out


def case_parsing_errors_stream(env):
    ex, _ = parse_cases(True)
    return list(ex.stream({"input": "x"}))


def case_parsing_errors_kinds(env):
    out = []
    for text in (
        "Action: search\nFinal Answer: x\nAction Input: y",
        "Thought: hm",
        "Action: search",
        "Thought: a\nAction: search\nno input",
        "Action: search\nAction Input: y\nFinal Answer: z",
    ):
        out.append(env.error(lambda: ReActSingleInputOutputParser().parse(text)))
        try:
            ReActSingleInputOutputParser().parse(text)
        except OutputParserException as e:
            out.append((str(e)[:60], e.observation, e.llm_output, e.send_to_llm))
    return out


def case_react_parse(env):
    p = ReActSingleInputOutputParser()
    texts = [
        "Thought: x\nAction: search\nAction Input: cats",
        'Action: search \nAction Input: "cats"\n',
        "Action 1: search\nAction Input 1: a\nb",
        "I know\nFinal Answer: yes\nno",
        "Action: [search]\nAction Input: x",
        "Final Answer:",
        "Action:search\nAction Input:",
    ]
    return [p.parse(t) for t in texts]


def case_json_parse(env):
    p = JSONAgentOutputParser()
    texts = [
        '```json\n{"action": "search", "action_input": "cats"}\n```',
        '{"action": "Final Answer", "action_input": "x"}',
        'hm\n```\n{"action": "add", "action_input": {"a": 1, "b": 2}}\n```\nrest',
        '[{"action": "search", "action_input": "1"}, {"action":"b","action_input":""}]',
        '{"action": "search"}',
        '{"action": "Final Answer", "action_input": {"a":1}}',
        '{"action": "search", "action_input": null}',
    ]
    bad = ["hello", '{"foo": 1}', ""]
    return (
        [p.parse(t) for t in texts],
        [env.error(lambda t=t: p.parse(t)) for t in bad],
        [env.error(lambda t=t: p.invoke(AIMessage(t))) for t in texts[:1]],
    )


def case_react_json_parse(env):
    p = ReActJsonSingleInputOutputParser()
    texts = ['Thought\n```\n{"action": "search", "action_input": "cats"}\n```', "Final Answer: x"]
    bad = [
        "hello",
        '```\n{"foo": 1}\n```',
        'Final Answer: x ```{"action":"a","action_input":"b"}```',
    ]
    return [p.parse(t) for t in texts], [env.error(lambda t=t: p.parse(t)) for t in bad]


def case_tools_parse(env):
    p = ToolsAgentOutputParser()
    msgs = [
        AIMessage("bye"),
        ai(call("add", a=1, b=2), call("search", "9", query="q"), text="hm"),
        AIMessage(
            "",
            additional_kwargs={
                "tool_calls": [
                    {
                        "id": "7",
                        "type": "function",
                        "function": {"name": "search", "arguments": '{"__arg1": "x"}'},
                    }
                ]
            },
        ),
        AIMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ai(call("search", __arg1="x")),
        AIMessage(
            "",
            additional_kwargs={
                "tool_calls": [
                    {"id": "7", "type": "function", "function": {"name": "search", "arguments": ""}}
                ]
            },
        ),
    ]
    bad = [
        AIMessage(
            "",
            additional_kwargs={
                "tool_calls": [
                    {
                        "id": "7",
                        "type": "function",
                        "function": {"name": "search", "arguments": "{bad"},
                    }
                ]
            },
        ),
        HumanMessage("x"),
    ]
    return (
        [p.invoke(m) for m in msgs],
        [env.error(lambda m=m: p.invoke(m)) for m in bad],
        env.error(lambda: p.parse("x")),
    )


def case_scratchpads(env):
    a = AgentAction(tool="search", tool_input="q", log="Thought: x\nAction: search")
    b = AgentAction(tool="search", tool_input="q", log="second")
    m = AgentActionMessageLog(
        tool="search", tool_input={"q": 1}, log="l", message_log=[AIMessage("m")]
    )
    t = ToolAgentAction(
        tool="search",
        tool_input={"q": 1},
        log="l",
        message_log=[AIMessage("m", tool_calls=[call("search", "5", q=1)])],
        tool_call_id="5",
    )
    return [
        format_log_to_str([(a, "obs"), (b, 3)]),
        format_log_to_str([(a, "obs")], observation_prefix="O: ", llm_prefix="T: "),
        format_log_to_str([]),
        format_log_to_messages([(a, "obs"), (b, "3")]),
        format_log_to_messages([(a, "obs")], template_tool_response="R {observation}!"),
        format_to_tool_messages([(a, "obs"), (t, {"x": "é"}), (t, [1]), (t, object)][:3]),
        format_to_tool_messages([(m, "x")]),
        format_to_openai_function_messages([(m, "x"), (a, [1])]),
        format_to_openai_function_messages([(a, {"é": 1})]),
    ]


def case_single_action_agent(env):
    class Mine(BaseSingleActionAgent):
        limit: int = 2

        @property
        def input_keys(self):
            return ["question"]

        def plan(self, intermediate_steps, callbacks=None, **kwargs):
            if len(intermediate_steps) < self.limit:
                return AgentAction(
                    tool="search",
                    tool_input=kwargs["question"] + str(len(intermediate_steps)),
                    log="l",
                )
            return AgentFinish({"output": intermediate_steps[-1][1]}, "done")

        async def aplan(self, intermediate_steps, callbacks=None, **kwargs):
            return self.plan(intermediate_steps, callbacks, **kwargs)

    ex = AgentExecutor(agent=Mine(), tools=[search], return_intermediate_steps=True)
    ex2 = AgentExecutor(agent=Mine(limit=1), tools=[search])
    return (
        ex.invoke({"question": "q"}),
        ex2.invoke("cats"),
        ex.input_keys,
        ex.output_keys,
        ex2.invoke({"question": "a", "other": 1}),
        list(ex2.stream("cats")),
        ex2.batch(["a", "b"]),
        Mine().return_values,
        Mine().get_allowed_tools(),
    )


async def case_multi_action_agent(env):
    class Mine(BaseMultiActionAgent):
        @property
        def input_keys(self):
            return ["input"]

        def plan(self, intermediate_steps, callbacks=None, **kwargs):
            if not intermediate_steps:
                return [AgentAction("search", "a", "l"), AgentAction("add", {"a": 1, "b": 2}, "l2")]
            return AgentFinish({"output": "x"}, "")

        async def aplan(self, intermediate_steps, callbacks=None, **kwargs):
            return self.plan(intermediate_steps)

    ex = AgentExecutor(agent=Mine(), tools=TOOLS, return_intermediate_steps=True)
    return ex.invoke("q"), await ex.ainvoke("q"), await ex.abatch(["a", "b"])


def case_plan(env):
    agent = RunnableAgent(
        runnable=RunnableLambda(
            lambda x: AgentFinish({"output": (x["input"], len(x["intermediate_steps"]))}, "")
        )
    )
    multi = RunnableMultiActionAgent(
        runnable=RunnableLambda(lambda x: [AgentAction("a", "b", "c")]), stream_runnable=False
    )
    return (
        agent.plan([], input="x"),
        agent.plan([(AgentAction("a", "b", "c"), "d")], None, input="x"),
        multi.plan([], input="x"),
        agent.input_keys,
        agent.return_values,
        agent.return_stopped_response("force", []),
    )


class Hears(BaseCallbackHandler):
    def __init__(self):
        self.heard = []

    def on_agent_action(self, action, **kwargs):
        self.heard.append(("action", action.tool, action.tool_input))

    def on_agent_finish(self, finish, **kwargs):
        self.heard.append(("finish", finish.return_values))

    def on_tool_start(self, serialized, input_str, **kwargs):
        self.heard.append(("tool", serialized["name"], input_str))

    def on_tool_end(self, output, **kwargs):
        self.heard.append(("tool end", output))


def case_callbacks(env):
    out = []
    for where in ("constructor", "call"):
        h = Hears()
        model = model_of(ai(call("add", a=1, b=2)), "3")
        ex = AgentExecutor(
            agent=tool_agent(model), tools=TOOLS, callbacks=[h] if where == "constructor" else None
        )
        ex.invoke({"input": "x"}, {"callbacks": [h]} if where == "call" else None)
        out.append(h.heard)
    h = Hears()
    ex, _ = parse_cases(True)
    ex.invoke({"input": "x"}, {"callbacks": [h]})
    out.append(h.heard)
    h = Hears()
    model = model_of(
        "Thought: x\nAction: nope\nAction Input: cats",
        "Thought: x\nAction: search\nAction Input: cats",
        "Final Answer: meow",
    )
    ex = AgentExecutor(agent=create_react_agent(model, TOOLS, REACT), tools=TOOLS)
    ex.invoke({"input": "x"}, {"callbacks": [h]})
    out.append(h.heard)
    return out


def case_trim(env):
    out = []
    for trim in (-1, 1, 2, lambda steps: steps[:1]):
        model = model_of(
            *[f"Action: search\nAction Input: {i}" for i in range(3)], "Final Answer: x"
        )
        ex = AgentExecutor(
            agent=create_react_agent(model, TOOLS, REACT),
            tools=TOOLS,
            trim_intermediate_steps=trim,
            return_intermediate_steps=True,
        )
        r = ex.invoke({"input": "x"})
        out.append(
            (len(r["intermediate_steps"]), [s[0][0][1].count("Observation") for s in model.seen])
        )
    return out


def case_json_chat(env):
    model = model_of(
        '```json\n{"action": "search", "action_input": "cats"}\n```',
        '```json\n{"action": "Final Answer", "action_input": "meow"}\n```',
    )
    ex = AgentExecutor(
        agent=create_json_chat_agent(
            model, TOOLS, JSONCHAT, template_tool_response="R: {observation}"
        ),
        tools=TOOLS,
        return_intermediate_steps=True,
    )
    return ex.invoke({"input": "x"}), model.seen


def case_structured_chat(env):
    model = model_of(
        'Thought: hm\nAction:\n```\n{"action": "add", "action_input": {"a": 1, "b": 2}}\n```',
        'Action:\n```\n{"action": "Final Answer", "action_input": "meow"}\n```',
    )
    ex = AgentExecutor(
        agent=create_structured_chat_agent(model, TOOLS, STRUCT),
        tools=TOOLS,
        return_intermediate_steps=True,
    )
    return ex.invoke({"input": "x"}), model.seen


def case_openai_tools(env):
    model = model_of(ai(call("search", query="q")), "ok")
    ex = AgentExecutor(
        agent=create_openai_tools_agent(model, TOOLS, PROMPT),
        tools=TOOLS,
        return_intermediate_steps=True,
    )
    return ex.invoke({"input": "x"}), model.seen


def case_creation_errors(env):
    m = model_of()
    bad = ChatPromptTemplate.from_messages([("human", "{input}")])
    return [
        env.error(lambda: create_tool_calling_agent(m, TOOLS, bad)),
        env.error(lambda: create_react_agent(m, TOOLS, PromptTemplate.from_template("{input}"))),
        env.error(lambda: create_json_chat_agent(m, TOOLS, bad)),
        env.error(lambda: create_structured_chat_agent(m, TOOLS, bad)),
        env.error(lambda: AgentExecutor(agent=tool_agent(m))),
        env.error(lambda: AgentExecutor(agent=3, tools=TOOLS)),
    ]


def case_stop(env):
    out = []
    for stop in (True, False, ["X"]):
        model = model_of("Final Answer: x")
        agent = create_react_agent(model, TOOLS, REACT, stop_sequence=stop)
        out.append((agent.invoke({"input": "x", "intermediate_steps": []}), model.seen))
    return out


def case_lcel_agent(env):
    model = model_of(
        '{"action": "search", "action_input": "cats"}',
        '{"action": "Final Answer", "action_input": "meow"}',
    )
    prompt = PromptTemplate.from_template("{input} {agent_scratchpad}")
    agent = (
        RunnablePassthrough.assign(
            agent_scratchpad=lambda x: format_log_to_str(x["intermediate_steps"])
        )
        | prompt
        | model
        | JSONAgentOutputParser()
    )
    ex = AgentExecutor(agent=agent, tools=TOOLS, return_intermediate_steps=True)
    return ex.invoke({"input": "x"}), model.seen, type(ex.agent).__name__, ex.input_keys


def case_lookup(env):
    ex = AgentExecutor(agent=tool_agent(model_of()), tools=TOOLS)
    return ex.lookup_tool("add").name, env.error(lambda: ex.lookup_tool("x"))


def case_iter(env):
    model = model_of(ai(call("add", a=1, b=2)), "3")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS)
    return list(ex.iter({"input": "x"}))


async def case_aiter(env):
    model = model_of(ai(call("add", a=1, b=2)), "3")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS)
    return [x async for x in ex.iter({"input": "x"})]


def case_return_only_outputs(env):
    model = model_of("3")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS)
    return ex.invoke({"input": "x"}, return_only_outputs=True)


def case_text_tools(env):
    up = Tool("up", str.upper, "Upper.")
    model = model_of("Action: up\nAction Input: cats", "Final Answer: meow")
    ex = AgentExecutor(
        agent=create_react_agent(model, [up], REACT), tools=[up], return_intermediate_steps=True
    )
    model2 = model_of(ai(call("up", __arg1="dogs")), "x")
    ex2 = AgentExecutor(agent=tool_agent(model2, [up]), tools=[up], return_intermediate_steps=True)
    return ex.invoke({"input": "x"}), model.seen[0], ex2.invoke({"input": "x"})


def case_react_two_args(env):
    model = model_of("Action: add\nAction Input: cats", "Final Answer: meow")
    ex = AgentExecutor(agent=create_react_agent(model, TOOLS, REACT), tools=TOOLS)
    return env.error(lambda: ex.invoke({"input": "x"}))


def case_more_return_values(env):
    ex = AgentExecutor(
        agent=RunnableLambda(lambda x: AgentFinish({"output": 1, "more": 2}, "l")), tools=TOOLS
    )
    bad = AgentExecutor(
        agent=RunnableLambda(lambda x: AgentFinish({"answer": 1}, "l")), tools=TOOLS
    )
    bad2 = AgentExecutor(agent=RunnableLambda(lambda x: "text"), tools=TOOLS)
    return (
        ex.invoke({"input": "x"}),
        env.error(lambda: bad.invoke({"input": "x"})),
        env.error(lambda: bad2.invoke({"input": "x"})),
        list(ex.stream({"input": 1})),
    )


async def case_events_by_name(env):
    model = model_of(ai(call("add", a=1, b=2)), "3")
    ex = AgentExecutor(agent=tool_agent(model), tools=TOOLS, name="Helper")
    named = ex.with_config({"run_name": "Agent"})
    out = []
    for executor in (ex, named):
        heard = executor.astream_events({"input": "x"}, version="v2")
        out.append(
            [
                (each["event"], each["name"], each["data"])
                async for each in heard
                if each["name"] in ("Helper", "Agent") and each["event"] != "on_chain_stream"
            ]
        )
        model.script += [ai(call("add", a=1, b=2)), "3"]
    return out
