"""AgentExecutor in odd uses: as a tool, in chains, artifacts, tokens, printed steps, run trees."""

import contextlib
import io
import re
import uuid
from typing import Any

from langchain_classic.agents import (
    AgentExecutor,
    BaseSingleActionAgent,
    Tool,
    create_json_chat_agent,
    create_react_agent,
    create_structured_chat_agent,
    create_tool_calling_agent,
    create_xml_agent,
    tool,
)
from langchain_classic.agents.format_scratchpad.log import format_log_to_str
from langchain_classic.agents.format_scratchpad.openai_tools import (
    format_to_openai_tool_messages,
)
from langchain_classic.agents.output_parsers.openai_tools import OpenAIToolsAgentOutputParser
from langchain_classic.agents.output_parsers.react_single_input import (
    ReActSingleInputOutputParser,
)
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.callbacks import BaseCallbackHandler, StdOutCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import BaseTool, StructuredTool

from .scripted import Scripted, add, ai, call


class Stopped(Scripted):
    def noted(self, messages, stop, kwargs):
        return [(m.type, m.content) for m in messages]


def model_of(*script):
    return Stopped(script=list(script), seen=[])


@tool
def search(query: str) -> str:
    """Search the web."""
    return f"found {query}"


TOOLS = [add, search]
PROMPT = ChatPromptTemplate.from_messages(
    [("system", "You help."), ("human", "{input}"), MessagesPlaceholder("agent_scratchpad")]
)
REACT = PromptTemplate.from_template("{tools} {tool_names}\nQ: {input}\n{agent_scratchpad}")
JSONCHAT = ChatPromptTemplate.from_messages(
    [
        ("system", "{tools} {tool_names}"),
        ("human", "{input}"),
        MessagesPlaceholder("agent_scratchpad"),
    ]
)
STRUCT = ChatPromptTemplate.from_messages(
    [("system", "{tools} {tool_names}"), ("human", "{input}\n\n{agent_scratchpad}")]
)
ACTION = "Thought: x\nAction: search\nAction Input: cats"


def calling(model, tools=TOOLS, **options):
    agent = create_tool_calling_agent(model, tools, PROMPT)
    return AgentExecutor(agent=agent, tools=tools, **options)


def reacting(model, tools=TOOLS, **options):
    return AgentExecutor(agent=create_react_agent(model, tools, REACT), tools=tools, **options)


def case_as_a_tool(env):
    ex = calling(model_of("fine"))
    made = ex.as_tool(name="helper", description="Helps.", arg_types={"input": str})
    return made.name, made.description, sorted(made.args), made.invoke({"input": "x"})


def case_as_a_tool_of_another(env):
    inner = calling(model_of("inner"))

    @tool
    def helper(task: str) -> str:
        """Helps."""
        return inner.invoke({"input": task})["output"]

    ex = calling(model_of(ai(call("helper", task="t")), "outer"), [helper])
    return ex.invoke({"input": "x"})


def case_picked_and_assigned(env):
    return (
        calling(model_of("a")).pick("output").invoke({"input": "x"}),
        calling(model_of("a")).assign(more=lambda x: x["output"] * 2).invoke({"input": "x"}),
        (calling(model_of("a")) | (lambda x: x["output"])).invoke({"input": "x"}),
        RunnablePassthrough.assign(done=calling(model_of("a"))).invoke({"input": "x"}),
        calling(model_of("a")).with_retry().invoke({"input": "x"}),
        calling(model_of("a")).with_config(tags=["t"]).invoke({"input": "x"}),
    )


def case_retries(env):
    model = model_of(ValueError("once"), "fine")
    return calling(model).with_retry(stop_after_attempt=2).invoke({"input": "x"}), len(model.seen)


def case_artifacts(env):
    def look(query: str) -> tuple[str, dict]:
        """Look."""
        return f"saw {query}", {"raw": 1}

    one = StructuredTool.from_function(look, response_format="content_and_artifact")
    model = model_of(ai(call("look", query="q")), "ok")
    ex = calling(model, [one], return_intermediate_steps=True)
    return ex.invoke({"input": "x"})["intermediate_steps"][0][1], model.seen[1]


def case_observations(env):
    def give(kind: str) -> Any:
        """Give."""
        return {"none": None, "dict": {"a": 1}, "list": [1, "é"], "number": 3, "text": ""}[kind]

    one = StructuredTool.from_function(give)
    out = []
    for kind in ("none", "dict", "list", "number", "text"):
        model = model_of(ai(call("give", kind=kind)), "ok")
        ex = calling(model, [one], return_intermediate_steps=True)
        out.append((ex.invoke({"input": "x"})["intermediate_steps"][0][1], model.seen[1][-1]))
        model = model_of(f"Action: give\nAction Input: {kind}", "Final Answer: ok")
        ex = reacting(model, [one], return_intermediate_steps=True)
        out.append((ex.invoke({"input": "x"})["intermediate_steps"][0][1], model.seen[1][-1]))
    return out


def case_tokens(env):
    def streaming():
        return GenericFakeChatModel(messages=iter([AIMessage("Final Answer: a b c")]))

    class Bound(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

    calls = AgentExecutor(
        agent=create_tool_calling_agent(
            Bound(messages=iter([AIMessage("hello big world")])), TOOLS, PROMPT
        ),
        tools=TOOLS,
    )
    text = AgentExecutor(agent=create_react_agent(streaming(), TOOLS, REACT), tools=TOOLS)
    return calls.invoke({"input": "x"}), [c["output"] for c in text.stream({"input": "x"})]


async def case_token_events(env):
    class Bound(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

    out = []
    for whole in (True, False):
        model = Bound(messages=iter([AIMessage("hello big world")]))
        agent = create_tool_calling_agent(model, TOOLS, PROMPT)
        ex = AgentExecutor(agent=agent, tools=TOOLS, stream_runnable=whole)
        tokens = []
        async for one in ex.astream_events({"input": "x"}, version="v2"):
            if one["event"] == "on_chat_model_stream":
                tokens.append(one["data"]["chunk"].content)
        out.append(tokens)
    return out


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def printed(run):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        run()
    return plain(out.getvalue())


def case_printed_steps(env):
    return (
        printed(lambda: calling(model_of("fine"), verbose=True).invoke({"input": "x"})),
        printed(
            lambda: reacting(model_of(ACTION, "Final Answer: y"), verbose=True).invoke(
                {"input": "x"}
            )
        ),
        printed(
            lambda: calling(model_of(ai(call("add", a=1, b=2)), "3"), verbose=True).invoke(
                {"input": "x"}
            )
        ),
    )


class Tells(BaseCallbackHandler):
    """Keeps what it is told of chains, tools and models."""

    def __init__(self):
        self.told = []

    def on_chain_start(self, serialized, inputs, *, parent_run_id=None, name=None, **kwargs):
        if parent_run_id is None:
            self.told.append(("start", name, inputs))

    def on_chain_end(self, outputs, *, parent_run_id=None, **kwargs):
        if parent_run_id is None:
            self.told.append(("end", outputs))

    def on_chain_error(self, error, *, parent_run_id=None, **kwargs):
        if parent_run_id is None:
            self.told.append(("error", type(error).__name__))

    def on_chat_model_start(self, serialized, messages, **kwargs):
        self.told.append(("model", [len(one) for one in messages]))

    def on_tool_start(self, serialized, input_str, *, inputs=None, **kwargs):
        self.told.append(("tool", serialized["name"], input_str, inputs))

    def on_tool_end(self, output, **kwargs):
        self.told.append(("tool end", output))

    def on_tool_error(self, error, **kwargs):
        self.told.append(("tool error", type(error).__name__))

    def on_agent_action(self, action, **kwargs):
        self.told.append(("action", action.tool))


def case_told(env):
    @tool
    def fails(query: str) -> str:
        """Fails."""
        raise ValueError("no")

    out = []
    for model, tools in (
        (model_of(ai(call("add", a=1, b=2)), "3"), TOOLS),
        (model_of(ai(call("fails", query="q")), "3"), [fails]),
        (model_of(ValueError("down")), TOOLS),
    ):
        tells = Tells()
        env.error(
            lambda model=model, tools=tools: calling(model, tools).invoke(
                {"input": "x"}, {"callbacks": [tells]}
            )
        )
        out.append(tells.told)
    return out


def case_run_name(env):
    tells = Tells()
    config = {"callbacks": [tells], "run_name": "mine"}
    calling(model_of("fine")).invoke({"input": "x"}, config)
    return tells.told


def case_parsing_errors_of_other_agents(env):
    out = []
    for make, prompt in (
        (create_json_chat_agent, JSONCHAT),
        (create_structured_chat_agent, STRUCT),
    ):
        model = model_of("nonsense", '```\n{"action": "Final Answer", "action_input": "y"}\n```')
        agent = make(model, TOOLS, prompt)
        ex = AgentExecutor(agent=agent, tools=TOOLS, handle_parsing_errors="Mend it")
        out.append((ex.invoke({"input": "x"}), [one[-1][1][-40:] for one in model.seen][:1]))
    return out


def case_xml_errors_are_handled(env):
    prompt = PromptTemplate.from_template("{tools}\n{input}\n{agent_scratchpad}")
    model = model_of("nonsense", "<final_answer>y</final_answer>")
    ex = AgentExecutor(
        agent=create_xml_agent(model, TOOLS, prompt), tools=TOOLS, handle_parsing_errors=True
    )
    return env.error(lambda: ex.invoke({"input": "x"}))


def case_tool_of_one_dict(env):
    class Look(BaseTool):
        name: str = "look"
        description: str = "Look."

        def _run(self, where: str, deep: bool = False) -> str:
            return f"{where} {deep}"

    out = []
    for text in ("here", '{"where": "here", "deep": true}'):
        model = model_of(f"Action: look\nAction Input: {text}", "Final Answer: ok")
        ex = reacting(model, [Look()], return_intermediate_steps=True)
        out.append(env.error(lambda ex=ex: ex.invoke({"input": "x"})["intermediate_steps"][0][1]))
    model = model_of(
        '```\n{"action": "look", "action_input": {"where": "there", "deep": true}}\n```',
        '```\n{"action": "Final Answer", "action_input": "ok"}\n```',
    )
    agent = create_structured_chat_agent(model, [Look()], STRUCT)
    ex = AgentExecutor(agent=agent, tools=[Look()], return_intermediate_steps=True)
    out.append(ex.invoke({"input": "x"})["intermediate_steps"][0][1])
    return out, model.seen[0][0]


def case_inputs_of_all_kinds(env):
    def agent(x):
        return AgentFinish({"output": sorted(x)}, "")

    ex = AgentExecutor(agent=RunnableLambda(agent), tools=TOOLS)
    return (
        ex.invoke({"input": None}),
        ex.invoke({}),
        ex.invoke({"input": [HumanMessage("a")], "b": 1}),
    )


def case_output_shadows_an_input(env):
    ex = AgentExecutor(
        agent=RunnableLambda(lambda x: AgentFinish({"output": "new"}, "")), tools=TOOLS
    )
    return ex.invoke({"input": 1, "output": "old"})


def case_changed_between_calls(env):
    model = model_of(*[ACTION] * 9)
    ex = reacting(model, max_iterations=1)
    ex.invoke({"input": "x"})
    first = len(model.seen)
    ex.max_iterations = 3
    ex.invoke({"input": "x"})
    return first, len(model.seen)


def case_tools_changed_later(env):
    ex = reacting(model_of("Action: more\nAction Input: a", "Final Answer: b"))
    ex.return_intermediate_steps = True
    ex.tools = [*ex.tools, Tool("more", lambda s: f"more {s}", "More.")]
    return ex.invoke({"input": "x"})["intermediate_steps"][0][1]


def case_listeners(env):
    heard = []
    ex = calling(model_of("fine")).with_listeners(
        on_start=lambda run: heard.append(("start", run.name)),
        on_end=lambda run: heard.append(("end", run.outputs)),
    )
    ex.invoke({"input": "x"})
    return heard


def case_schemas(env):
    ex = calling(model_of("fine"))
    return (
        ex.get_input_schema().model_json_schema()["type"],
        ex.get_name(),
        ex.input_keys,
        ex.output_keys,
    )


def case_actions_of_strangers(env):
    def agent(x):
        if x["intermediate_steps"]:
            return AgentFinish({"output": x["intermediate_steps"][-1][1]}, "")
        return [AgentAction("search", "a", ""), AgentAction("nope", "b", "")]

    ex = AgentExecutor(agent=RunnableLambda(agent), tools=TOOLS, return_intermediate_steps=True)
    return env.error(lambda: ex.invoke({"input": "x"}))


def case_no_actions(env):
    ex = AgentExecutor(agent=RunnableLambda(lambda x: []), tools=TOOLS, max_iterations=2)
    return env.error(lambda: ex.invoke({"input": "x"}))


def case_handlers_print(env):
    ex = calling(model_of(ai(call("add", a=1, b=2)), "3"))
    return printed(lambda: ex.invoke({"input": "x"}, {"callbacks": [StdOutCallbackHandler()]}))[:40]


def case_agents_of_a_guide(env):
    model = model_of(ai(call("add", a=1, b=2)), "3")
    agent = (
        {
            "input": lambda x: x["input"],
            "agent_scratchpad": lambda x: format_to_openai_tool_messages(x["intermediate_steps"]),
        }
        | PROMPT
        | model.bind_tools(TOOLS)
        | OpenAIToolsAgentOutputParser()
    )
    ex = AgentExecutor(agent=agent, tools=TOOLS, verbose=False)
    text = model_of(ACTION, "Final Answer: meow")
    reacts = (
        {
            "input": lambda x: x["input"],
            "agent_scratchpad": lambda x: format_log_to_str(x["intermediate_steps"]),
        }
        | PromptTemplate.from_template("{input} {agent_scratchpad}")
        | text.bind(stop=["\nObservation"])
        | ReActSingleInputOutputParser()
    )
    more = AgentExecutor(agent=reacts, tools=TOOLS)
    return ex.invoke({"input": "1+2?"}), model.seen, more.invoke({"input": "cats?"}), text.seen


def case_printed_once(env):
    ex = reacting(model_of(ACTION, "Final Answer: y"), verbose=True)
    text = printed(lambda: ex.invoke({"input": "x"}, {"callbacks": [StdOutCallbackHandler()]}))
    return [
        text.count(one) for one in ("new AgentExecutor", "Thought: x", "found cats", "Answer: y")
    ]


def case_printed_errors(env):
    ex = reacting(
        model_of("nonsense", "Action: nope\nAction Input: a", "Final Answer: y"),
        verbose=True,
        handle_parsing_errors="Mend it",
    )
    return printed(lambda: ex.invoke({"input": "x"})).replace("\n", "|")[-60:]


class Ready(BaseSingleActionAgent):
    """Has an answer at once."""

    @property
    def input_keys(self):
        return ["input"]

    def plan(self, intermediate_steps, callbacks=None, **kwargs):
        return AgentFinish({"output": kwargs["input"] + "!"}, "")

    async def aplan(self, intermediate_steps, callbacks=None, **kwargs):
        return self.plan(intermediate_steps, **kwargs)


def case_older_calls(env):
    ex = AgentExecutor(agent=Ready(), tools=TOOLS)
    more = AgentExecutor(agent=Ready(), tools=TOOLS, return_intermediate_steps=True)
    return [
        ex.run("x"),
        ex.run({"input": "x"}),
        ex.run(input="x"),
        ex("x"),
        ex({"input": "x"}, return_only_outputs=True, tags=["t"], run_name="n"),
        sorted(ex("x", include_run_info=True)),
        ex.apply([{"input": "x"}, {"input": "y"}]),
        more("x"),
        env.error(lambda: ex.run()),
        env.error(lambda: ex.run("x", "y")),
        env.error(lambda: ex.run("x", input="y")),
        env.error(lambda: ex({"other": "x"})),
        env.error(lambda: more.run("x")),
        env.error(lambda: calling(model_of("fine")).run("x")),
    ]


async def case_older_calls_async(env):
    ex = AgentExecutor(agent=Ready(), tools=TOOLS)
    return await ex.arun("x"), await ex.arun(input="x"), await ex.acall("x", True)


def case_a_tuple_of_actions(env):
    def decide(given):
        if given["intermediate_steps"]:
            return AgentFinish({"output": "done"}, "")
        return AgentAction("search", "a", ""), AgentAction("search", "b", "")

    class Mine(RunnableLambda):
        @property
        def OutputType(self):
            return list[AgentAction] | AgentFinish

    ex = AgentExecutor(agent=Mine(decide), tools=TOOLS, return_intermediate_steps=True)
    return ex.invoke({"input": "x"})


def case_a_tool_call_named_as_the_tool_of_errors(env):
    ex = calling(model_of(ai(call("_Exception", x=1)), "fine"), return_intermediate_steps=True)
    given = ex.invoke({"input": "x"})
    return given["output"], given["intermediate_steps"][0][1]


class Ending(BaseSingleActionAgent):
    """Ends at once, with some values; it names others."""

    names: list[str]
    values: dict[str, Any]

    @property
    def input_keys(self):
        return ["input"]

    @property
    def return_values(self):
        return self.names

    def plan(self, intermediate_steps, callbacks=None, **kwargs):
        return AgentFinish(self.values, "")

    async def aplan(self, intermediate_steps, callbacks=None, **kwargs):
        return AgentFinish(self.values, "")


async def case_ends_that_lack_values(env):
    out = []
    for names, values in (
        (["output"], {}),
        (["a", "b"], {"a": 1}),
        (["a"], {"a": None, "b": 2}),
        ([], {"z": 1}),
    ):
        ex = AgentExecutor(agent=Ending(names=names, values=values), tools=TOOLS)
        out += [
            env.error(lambda ex=ex: ex.invoke({"input": "x"})),
            env.error(lambda ex=ex: list(ex.stream({"input": "x"}))),
            env.error(lambda ex=ex: list(ex.iter({"input": "x"}))),
            await env.aerror(ex.ainvoke({"input": "x"}, return_only_outputs=True)),
        ]
    return out


def case_stopped_without_what_it_names(env):
    ex = AgentExecutor(agent=Ending(names=["answer"], values={}), tools=TOOLS, max_iterations=0)
    return env.error(lambda: ex.invoke({"input": "x"}))


async def case_run_info(env):
    ex = AgentExecutor(agent=Ready(), tools=TOOLS)
    known = uuid.UUID(int=7)
    named = ex.invoke({"input": "x"}, {"run_id": known}, include_run_info=True)
    return (
        sorted(ex.invoke({"input": "x"}, include_run_info=True)),
        sorted(ex.invoke({"input": "x"}, include_run_info=True, return_only_outputs=True)),
        sorted(await ex.ainvoke({"input": "x"}, include_run_info=True)),
        [sorted(one) for one in ex.batch([{"input": "x"}] * 2, include_run_info=True)],
        named["__run"].run_id.int,
        ex.invoke({"input": "x"}, include_run_info=False),
    )
