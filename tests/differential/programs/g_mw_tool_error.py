"""ToolErrorMiddleware: which errors of tools the model is told, and how."""

from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware, ToolRetryMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

from .scripted import model_of


@tool
def divide(a: int, b: int) -> float:
    """Divide."""
    return a / b


@tool
def find(key: str) -> str:
    """Find."""
    raise KeyError(key)


@tool
def ask(what: str) -> str:
    """Ask."""
    return interrupt(what)


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def agent_of(*calls, middleware, **options):
    script = [AIMessage("", tool_calls=list(calls)), AIMessage("done")]
    return create_agent(model_of(*script), [divide, find, ask], middleware=middleware, **options)


def told(result):
    return [
        (m.content, m.status, m.name, m.tool_call_id)
        for m in result["messages"]
        if m.type == "tool"
    ]


def run(*calls, **options):
    return told(agent_of(*calls, **options).invoke({"messages": [("user", "go")]}))


def on_error(error, request):
    if isinstance(error, ZeroDivisionError):
        return f"{request.tool_call['name']}: {type(error).__name__}"


def case_an_error_that_is_told(env):
    return run(call("divide", a=1, b=0), middleware=[ToolErrorMiddleware(on_error)])


def case_a_result(env):
    return run(call("divide", a=1, b=2), middleware=[ToolErrorMiddleware(on_error)])


def case_an_error_that_is_not(env):
    return env.error(lambda: run(call("find", key="x"), middleware=[ToolErrorMiddleware(on_error)]))


def case_blocks(env):
    def blocks(error, request):
        return [{"type": "text", "text": "no"}]

    return run(call("divide", a=1, b=0), middleware=[ToolErrorMiddleware(blocks)])


def case_an_empty_text(env):
    middleware = [ToolErrorMiddleware(lambda error, request: "")]
    return env.error(lambda: run(call("divide", a=1, b=0), middleware=middleware))


def case_some_tools(env):
    def always(error, request):
        return "told"

    return [
        env.error(
            lambda: run(
                call("divide", a=1, b=0), middleware=[ToolErrorMiddleware(always, tools=tools)]
            )
        )
        for tools in (["divide"], [divide], [find], ["nobody"], [])
    ]


def case_wrong_arguments_of_a_call(env):
    result = run(call("divide", a="x", b=0), middleware=[ToolErrorMiddleware(on_error)])
    return [status for _, status, *_ in result]


def case_questions_pass(env):
    middleware = [ToolErrorMiddleware(lambda error, request: "told")]
    agent = agent_of(call("ask", what="?"), middleware=middleware, checkpointer=env.saver())
    config = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "go")]}, config)
    return told(agent.invoke(Command(resume="yes"), config))


def case_after_retries(env):
    middleware = [
        ToolErrorMiddleware(on_error),
        ToolRetryMiddleware(max_retries=1, initial_delay=0, on_failure="error"),
    ]
    return run(call("divide", a=1, b=0), middleware=middleware)


def case_without_a_handler(env):
    return env.error(lambda: ToolErrorMiddleware())


def case_an_async_handler_in_a_sync_run(env):
    async def later(error, request):
        return "told"

    middleware = [ToolErrorMiddleware(aon_error=later)]
    return env.error(lambda: run(call("divide", a=1, b=0), middleware=middleware))


async def case_async_runs(env):
    async def later(error, request):
        return "told later"

    found = []
    for handler in (
        ToolErrorMiddleware(aon_error=later),
        ToolErrorMiddleware(on_error),
        ToolErrorMiddleware(on_error, aon_error=later),
    ):
        agent = agent_of(call("divide", a=1, b=0), middleware=[handler])
        found.append(told(await agent.ainvoke({"messages": [("user", "go")]})))
    return found
