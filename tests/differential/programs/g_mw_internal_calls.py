"""How streams and handlers tell the calls of models that middleware makes for itself."""

from langchain.agents import create_agent
from langchain.agents.middleware import (
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    SummarizationMiddleware,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool


class Script(BaseChatModel):
    says: list

    @property
    def _llm_type(self):
        return "script"

    def bind_tools(self, tools, **kwargs):
        return self

    def with_structured_output(self, schema, **kwargs):
        return self | RunnableLambda(lambda message: {"tools": ["add"]})

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self.says.pop(0))])


@tool
def add(a: int) -> int:
    """Adds."""
    return a


@tool
def other(a: int) -> int:
    """Does something else."""
    return a


CALL = {"name": "add", "args": {"a": 1}, "id": "c1"}


class Sources(BaseCallbackHandler):
    """What the metadata of each call of a model says of its source."""

    def __init__(self):
        self.seen = []

    def on_chat_model_start(self, serialized, messages, *, metadata=None, **kwargs):
        self.seen.append((metadata or {}).get("lc_source"))


def _agent(kind):
    own = Script(says=[AIMessage("for itself", id="own"), AIMessage("again", id="own again")])
    middleware = {
        "summary": lambda: SummarizationMiddleware(
            own, trigger=("messages", 3), keep=("messages", 1)
        ),
        "emulator": lambda: LLMToolEmulator(model=own),
        "selector": lambda: LLMToolSelectorMiddleware(model=own, max_tools=1),
    }[kind]()
    says = [AIMessage("", tool_calls=[CALL], id="a"), AIMessage("done", id="b")]
    return create_agent(Script(says=says), [add, other], middleware=[middleware])


def _sources(parts):
    return [(message.id, told.get("lc_source")) for message, told in parts if message.type == "ai"]


def case_sources_in_streams_of_messages(env):
    given = {"messages": ["one", "two"]}
    return [
        _sources(_agent(kind).stream(given, {"metadata": {"mine": 1}}, stream_mode="messages"))
        for kind in ("summary", "emulator")
    ]


async def case_sources_that_handlers_are_told(env):
    told = []
    given = {"messages": ["one", "two"]}
    for kind in ("summary", "emulator", "selector"):
        sync, later = Sources(), Sources()
        _agent(kind).invoke(given, {"callbacks": [sync]})
        await _agent(kind).ainvoke(given, {"callbacks": [later]})
        told.append((sync.seen, later.seen))
    return told
