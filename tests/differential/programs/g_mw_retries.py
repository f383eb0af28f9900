"""Model and tool calls tried again, other models in the place of one that fails, tools selected."""

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    LLMToolSelectorMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    ToolRetryMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
    OutputParserException,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from pydantic import BaseModel

USER = {"messages": [("user", "hi")]}
AT_ONCE = {"initial_delay": 0.0, "jitter": False}


class Scripted(BaseChatModel):
    """Says what its script says, and keeps what it was asked; exceptions are raised."""

    script: list
    seen: Any = None
    picks: Any = None

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        named = [one.get("name", "?") if isinstance(one, dict) else one.name for one in tools]
        return self.bind(tools=named, **kwargs)

    def with_structured_output(self, schema, **kwargs):
        def pick(messages):
            self.picks.append(
                (
                    [
                        (m["role"], m["content"]) if isinstance(m, dict) else (m.type, m.content)
                        for m in messages
                    ],
                    schema,
                )
            )
            return self.script.pop(0)

        return RunnableLambda(pick)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.seen.append(kwargs.get("tools"))
        said = self.script.pop(0) if self.script else "the end"
        if isinstance(said, Exception):
            raise said
        message = AIMessage(said) if isinstance(said, str) else said
        return ChatResult(generations=[ChatGeneration(message=message)])


def model_of(*script):
    return Scripted(script=list(script), seen=[], picks=[])


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


class Answer(BaseModel):
    number: int


def ai(*calls):
    return AIMessage("", tool_calls=list(calls))


class Flaky:
    """A tool that fails the first times."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.calls = 0

    def tool(self, name="flaky"):
        @tool(name)
        def flaky(query: str) -> str:
            """Flaky."""
            self.calls += 1
            if self.errors:
                raise self.errors.pop(0)
            return f"found {query}"

        return flaky


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def search(query: str) -> str:
    """Search the web."""
    return f"found {query}"


@tool
def paint(what: str) -> str:
    """Paint a picture."""
    return f"painted {what}"


def shown(result):
    return [
        (one.type, one.name, one.content, getattr(one, "status", None))
        for one in result["messages"]
    ]


def retried(script, **options):
    model = model_of(*script)
    made = create_agent(model, [add], middleware=[ModelRetryMiddleware(**{**AT_ONCE, **options})])
    return made, model


def case_model_recovers(env):
    made, model = retried([ValueError("a"), KeyError("b"), "fine"])
    return shown(made.invoke(USER)), len(model.seen)


def case_model_given_up(env):
    made, model = retried([ValueError("a"), ValueError("b"), ValueError("c"), "fine"])
    once, _ = retried([ValueError("a")], max_retries=0)
    return shown(made.invoke(USER)), len(model.seen), shown(once.invoke(USER))


def case_model_given_up_otherwise(env):
    errors = [ValueError("a"), ValueError("b")]
    raised, _ = retried(list(errors), max_retries=1, on_failure="error")
    told, _ = retried(list(errors), max_retries=1, on_failure=lambda error: f"oh {error}")
    return env.error(lambda: raised.invoke(USER)), shown(told.invoke(USER))


def case_model_given_up_with_what_is_no_text(env):
    blocks, _ = retried(
        [ValueError("a")], max_retries=0, on_failure=lambda error: [{"type": "text", "text": "oh"}]
    )
    message, _ = retried([ValueError("a")], max_retries=0, on_failure=lambda error: AIMessage("oh"))
    try:
        return message.invoke(USER)
    except ValueError:
        return shown(blocks.invoke(USER))


def case_model_errors_that_count(env):
    out = []
    for retry_on in ((KeyError,), lambda error: "again" in str(error)):

        def run(retry_on=retry_on):
            made, _ = retried([ValueError("no"), "fine"], retry_on=retry_on)
            return shown(made.invoke(USER))

        out.append(env.error(run))
    made, model = retried(
        [ValueError("again"), "fine"], retry_on=lambda error: "again" in str(error)
    )
    return out, shown(made.invoke(USER)), len(model.seen)


async def case_model_async(env):
    made, _ = retried([ValueError("a"), "fine"])
    lost, _ = retried([ValueError("a")] * 3)
    return shown(await made.ainvoke(USER)), shown(await lost.ainvoke(USER))


class Hopeless(ModelRateLimitError):
    is_retryable = False


class Hopeful(ModelInvalidRequestError):
    is_retryable = True


def case_errors_say_themselves_whether_to_try_again(env):
    plain = [ModelError, ModelRateLimitError, ModelAPIError, ModelConnectionError]
    refused = [ModelAuthenticationError, ModelPermissionDeniedError, ModelInvalidRequestError]
    others = [ModelNotFoundError, ModelTimeoutError, ContextOverflowError, OutputParserException]
    found = []
    for kind in [*plain, *refused, *others, Hopeless, Hopeful]:
        model = model_of(kind("no"), "yes")
        agent = create_agent(model, middleware=[ModelRetryMiddleware(max_retries=1, **AT_ONCE)])
        answer = env.error(lambda agent=agent: agent.invoke(USER)["messages"][-1].content)
        found.append((kind.__name__, answer, len(model.seen)))
    return found


def case_answers_in_another_form_are_asked_for_again(env):
    wrong = ai(call("Answer", number="x"))
    right = ai(call("Answer", number=1))
    model = model_of(wrong, right)
    form = ToolStrategy(Answer, handle_errors=False)
    again = ModelRetryMiddleware(max_retries=1, **AT_ONCE)
    agent = create_agent(model, middleware=[again], response_format=form)
    return agent.invoke(USER)["structured_response"].number


def case_model_refused(env):
    options = [
        {"max_retries": -1},
        {"initial_delay": -1},
        {"max_delay": -1},
        {"backoff_factor": -1},
    ]
    return [env.error(lambda o=o: ModelRetryMiddleware(**o)) for o in options] + [
        env.error(lambda o=o: ToolRetryMiddleware(**o)) for o in options
    ]


def tooled(flaky, *calls, **options):
    model = model_of(ai(*(calls or (call("flaky", query="x"),))), "done")
    middleware = [ToolRetryMiddleware(**{**AT_ONCE, **options})]
    return create_agent(model, [flaky.tool(), add], middleware=middleware)


def case_tool_recovers(env):
    flaky = Flaky(ValueError("a"), KeyError("b"))
    return shown(tooled(flaky).invoke(USER)), flaky.calls


def case_tool_given_up(env):
    flaky = Flaky(*[ValueError("a")] * 5)
    once = Flaky(ValueError("a"))
    return (
        shown(tooled(flaky).invoke(USER)),
        flaky.calls,
        shown(tooled(once, max_retries=0).invoke(USER)),
    )


def case_tool_given_up_otherwise(env):
    out = []
    for on_failure in ("error", "raise", "return_message", "continue", lambda error: f"oh {error}"):

        def run(on_failure=on_failure):
            flaky = Flaky(ValueError("a"))
            return shown(tooled(flaky, max_retries=0, on_failure=on_failure).invoke(USER))

        out.append(env.error(run))
    return out


def case_tool_errors_that_count(env):
    flaky = Flaky(ValueError("a"), ValueError("b"))
    other = Flaky(KeyError("a"))
    made = tooled(flaky, retry_on=(ValueError,))
    return (
        shown(made.invoke(USER)),
        env.error(lambda: tooled(other, retry_on=(ValueError,)).invoke(USER)),
        other.calls,
    )


def case_tools_that_count(env):
    out = []
    for names in (["flaky"], [Flaky().tool()], ["add"], []):

        def run(names=names):
            flaky = Flaky(ValueError("a"))
            return shown(tooled(flaky, tools=names).invoke(USER)), flaky.calls

        out.append(env.error(run))
    return out


def case_tools_beside_each_other(env):
    flaky = Flaky(ValueError("a"))
    made = tooled(flaky, call("flaky", "1", query="x"), call("add", "2", a=1, b=2))
    return shown(made.invoke(USER)), flaky.calls


def case_bad_arguments_of_a_tool(env):
    flaky = Flaky()
    made = tooled(flaky, call("add", "1", a="one", b=2))
    return shown(made.invoke(USER))


def case_unknown_tool(env):
    made = tooled(Flaky(), call("nope", "1", a="one"))
    return [row[:2] for row in shown(made.invoke(USER))]


async def case_tool_async(env):
    flaky = Flaky(ValueError("a"))
    lost = Flaky(*[ValueError("a")] * 5)
    return shown(await tooled(flaky).ainvoke(USER)), shown(await tooled(lost).ainvoke(USER))


def case_fallbacks(env):
    first, second, third = model_of(ValueError("1")), model_of(KeyError("2")), model_of("third")
    made = create_agent(first, [add], middleware=[ModelFallbackMiddleware(second, third)])
    return shown(made.invoke(USER)), len(first.seen), len(second.seen), third.seen


def case_no_fallback_needed(env):
    second = model_of("second")
    made = create_agent(model_of("first"), [], middleware=[ModelFallbackMiddleware(second)])
    return shown(made.invoke(USER)), second.seen


def case_all_fail(env):
    middleware = [ModelFallbackMiddleware(model_of(KeyError("2")))]
    made = create_agent(model_of(ValueError("1")), [], middleware=middleware)
    return env.error(lambda: made.invoke(USER))


async def case_fallback_async(env):
    middleware = [ModelFallbackMiddleware(model_of("second"))]
    made = create_agent(model_of(ValueError("1")), [], middleware=middleware)
    return shown(await made.ainvoke(USER))


def case_fallback_of_each_call(env):
    first = model_of(ai(call("add", a=1, b=2)), ValueError("x"))
    made = create_agent(first, [add], middleware=[ModelFallbackMiddleware(model_of("second"))])
    return shown(made.invoke(USER))


def case_retry_inside_fallback(env):
    first = model_of(ValueError("1"), ValueError("2"))
    retry = ModelRetryMiddleware(max_retries=1, on_failure="error", **AT_ONCE)
    made = create_agent(first, [], middleware=[ModelFallbackMiddleware(model_of("second")), retry])
    return shown(made.invoke(USER)), len(first.seen)


ALL = [add, search, paint]


def selecting(script, main=None, **options):
    chooser = model_of(*script)
    main = main or model_of("done")
    middleware = [LLMToolSelectorMiddleware(model=chooser, **options)]
    return create_agent(main, ALL, middleware=middleware), main, chooser


def outline(schema):
    if not isinstance(schema, dict):
        return type(schema).__name__
    tools = schema["properties"]["tools"]
    options = tools["items"].get("anyOf", [])
    return (
        sorted(schema["properties"]),
        schema.get("required"),
        sorted(str(one.get("const")) for one in options),
    )


def case_selected(env):
    made, main, chooser = selecting([{"tools": ["search"]}])
    made.invoke(USER)
    asked, schema = chooser.picks[0]
    return main.seen, [row for row in asked if row[0] in ("human", "user")], outline(schema)


def case_selected_in_each_call(env):
    main = model_of(ai(call("search", query="x")), "done")
    made, _, chooser = selecting([{"tools": ["search"]}, {"tools": ["paint", "add"]}], main)
    result = made.invoke(USER)
    return main.seen, shown(result), [len(asked) for asked, _ in chooser.picks]


def case_selected_at_most(env):
    made, main, _ = selecting([{"tools": ["paint", "search", "add"]}], max_tools=2)
    made.invoke(USER)
    return main.seen


def case_always_there(env):
    options = {"max_tools": 1, "always_include": ["add"]}
    made, main, chooser = selecting([{"tools": ["paint", "search"]}], **options)
    made.invoke(USER)
    _, schema = chooser.picks[0]
    unknown, _, _ = selecting([{"tools": []}], always_include=["nope"])
    return main.seen, outline(schema), env.error(lambda: unknown.invoke(USER))


def case_unknown_selected(env):
    made, main, _ = selecting([{"tools": ["nope"]}, {"tools": ["nope"]}])
    return env.error(lambda: made.invoke(USER)), main.seen


def case_twice_selected(env):
    made, main, _ = selecting([{"tools": ["add", "add", "search"]}], max_tools=2)
    made.invoke(USER)
    return main.seen


def case_malformed_selections(env):
    out = []
    for policy in ("error", "none", "all", ["search"], lambda answer: ["paint"]):

        def run(policy=policy):
            made, main, chooser = selecting([{"x": 1}, None, "z"], on_parsing_failure=policy)
            made.invoke(USER)
            return main.seen, len(chooser.picks)

        out.append(env.error(run))
    made, main, chooser = selecting([{"x": 1}, {"tools": ["search"]}])
    made.invoke(USER)
    return out, main.seen, len(chooser.picks)


def case_no_tools_to_select(env):
    chooser = model_of()
    made = create_agent(model_of("x"), [], middleware=[LLMToolSelectorMiddleware(model=chooser)])
    return shown(made.invoke(USER)), chooser.picks


def case_selection_asks_about_the_last_question(env):
    made, _, chooser = selecting([{"tools": ["search"]}])
    messages = [HumanMessage("first"), AIMessage("a"), HumanMessage("second")]
    made.invoke({"messages": messages})
    return [row for row in chooser.picks[0][0] if row[0] in ("human", "user")]


def case_selected_by_the_agents_model(env):
    model = model_of({"tools": ["search"]}, "done")
    made = create_agent(model, ALL, middleware=[LLMToolSelectorMiddleware()])
    made.invoke(USER)
    return model.seen, len(model.picks)


def case_own_selection_prompt(env):
    made, _, chooser = selecting([{"tools": []}], system_prompt="Pick well.")
    made.invoke(USER)
    return chooser.picks[0][0][0]


async def case_selected_async(env):
    made, main, _ = selecting([{"tools": ["search"]}])
    await made.ainvoke(USER)
    return main.seen


def case_selector_refused(env):
    return [
        env.error(lambda: LLMToolSelectorMiddleware(max_retries=-1)),
        env.error(lambda: LLMToolSelectorMiddleware(on_parsing_failure="x")),
    ]
