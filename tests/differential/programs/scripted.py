"""What programs about agents share: a model that says its script, its tool calls, two tools."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool


class Scripted(BaseChatModel):
    """Says what its script says, and keeps what it was asked, in the form that `noted` gives it."""

    script: list
    seen: Any = None

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        named = [one if isinstance(one, dict) else {"name": one.name} for one in tools]
        return self.bind(tools=named, **kwargs)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.seen.append(self.noted(messages, stop, kwargs))
        said = self.script.pop(0) if self.script else "the end"
        if isinstance(said, Exception):
            raise said
        message = AIMessage(said) if isinstance(said, str) else said
        return ChatResult(generations=[ChatGeneration(message=message)])

    def noted(self, messages, stop, kwargs):
        return [(m.type, m.content) for m in messages], kwargs


def model_of(*script):
    return Scripted(script=list(script), seen=[])


def call(tool_name, id="1", **args):
    return {"name": tool_name, "args": args, "id": id, "type": "tool_call"}


def ai(*calls, text=""):
    return AIMessage(text, tool_calls=list(calls))


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def mul(a: int, b: int) -> int:
    """Multiply."""
    return a * b
