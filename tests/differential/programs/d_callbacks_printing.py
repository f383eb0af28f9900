"""Handlers that print, and the modules that programs import callbacks from."""

import contextlib
import io

from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.callbacks.base import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.callbacks.file import FileCallbackHandler
from langchain_core.callbacks.manager import (
    CallbackManager,
    CallbackManagerForToolRun,
    dispatch_custom_event,
)
from langchain_core.callbacks.stdout import StdOutCallbackHandler
from langchain_core.callbacks.streaming_stdout import StreamingStdOutCallbackHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool


def play(handler):
    handler.on_chain_start({"name": "x", "id": ["a", "b"]}, {})
    handler.on_chain_start({"id": ["a", "b"]}, {})
    handler.on_chain_start(None, {}, name="n")
    handler.on_chain_start({}, {})
    handler.on_chain_end({"o": 1})
    handler.on_agent_action(AgentAction("t", "i", "log\n"))
    handler.on_agent_action(AgentAction("t", "i", "log\n"), color="green")
    handler.on_tool_end("out")
    handler.on_tool_end("out", color="red", observation_prefix="Obs: ", llm_prefix="Thought:")
    handler.on_tool_end(5, observation_prefix="o", llm_prefix=None)
    handler.on_text("text")
    handler.on_text("text", color="yellow", end="!")
    handler.on_text("e", end="\n")
    handler.on_agent_finish(AgentFinish({}, "done"))
    handler.on_agent_finish(AgentFinish({}, "done"), color="blue")


def printed(work):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        work()
    return out.getvalue()


def case_standard_output(env):
    colors = (None, "pink", "blue", "green", "red", "yellow")
    return [printed(lambda c=c: play(StdOutCallbackHandler(c))) for c in colors]


def case_files(env):
    path = env.tmp_path / "log.txt"
    found = []
    for mode, color in (("a", None), ("a", "green"), ("w", "green")):
        with FileCallbackHandler(str(path), mode=mode, color=color) as handler:
            play(handler)
        found.append(path.read_text())
    return found


def case_files_that_are_closed(env):
    with FileCallbackHandler(str(env.tmp_path / "log.txt")) as handler:
        pass
    handler.close()
    return env.error(lambda: handler.on_text("x"))


def case_chains(env):
    chain = RunnableLambda(len, name="first") | RunnableLambda(str, name="second")
    return printed(lambda: chain.invoke("abc", {"callbacks": [StdOutCallbackHandler()]}))


def case_tokens(env):
    model = FakeListChatModel(responses=["token by token"])
    chain = ChatPromptTemplate.from_template("{x}") | model
    handlers = {"callbacks": [StreamingStdOutCallbackHandler()]}
    return (
        printed(lambda: list(chain.stream({"x": 1}, handlers))),
        printed(lambda: chain.invoke({"x": 1}, handlers)),
    )


def case_modules(env):
    heard = []

    class Hears(BaseCallbackHandler):
        def on_custom_event(self, name, data, **kw):
            heard.append((name, data))

    def says(x):
        dispatch_custom_event("said", x)
        return x

    RunnableLambda(says).invoke(1, {"callbacks": [Hears()]})
    return heard, AsyncCallbackHandler, CallbackManagerForToolRun, issubclass(Hears, object)


def add(a: int) -> int:
    """Add one."""
    return a + 1


async def case_tools_that_print(env):
    loud = StructuredTool.from_function(add, verbose=True)
    quiet = StructuredTool.from_function(add)
    async_loud = io.StringIO()
    with contextlib.redirect_stdout(async_loud):
        await loud.ainvoke({"a": 1})
        await quiet.arun({"a": 2}, verbose=True)
    already = {"callbacks": [StdOutCallbackHandler()]}
    return [
        printed(lambda: loud.invoke({"a": 1})),
        printed(lambda: loud.invoke({"a": 1}, already)),
        printed(lambda: loud.run({"a": 1}, verbose=False)),
        printed(lambda: quiet.invoke({"a": 1})),
        printed(lambda: quiet.run({"a": 1}, True, "green", "red")),
        async_loud.getvalue(),
        [type(one).__name__ for one in CallbackManager.configure(verbose=True).handlers],
        CallbackManager.configure(verbose=True).inheritable_handlers,
    ]
