"""What the parts of an agent are handed of the run's config, which is made only where it is asked
for."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from plait.agents import create_agent
from plait.callbacks import BaseCallbackHandler
from plait.chat_models import BaseChatModel, ChatGeneration, ChatResult
from plait.messages import AIMessage
from plait.prebuilt import create_react_agent
from plait.runnables.config import ensure_config
from plait.tools import StructuredTool, tool

CONFIG: Any = {"configurable": {"thread_id": "1", "who": "Ada"}, "tags": ["t"]}
MADE: list[Callable[..., Any]] = [create_agent, create_react_agent]


class Model(BaseChatModel):
    """Calls `echo` once; keeps what it sees of the config inside its own code."""

    seen: list[Any] = []  # noqa: RUF012 - a field

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(ensure_config())
        calls: Any = [{"name": "echo", "args": {"text": "hi"}, "id": "1"}]
        message = AIMessage("done") if len(messages) > 1 else AIMessage("", tool_calls=calls)
        return ChatResult([ChatGeneration(message=message)])

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        return self._generate(messages)


class HandedModel(Model):
    """Keeps the configs that it is handed."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        self.seen.append(config)
        return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        self.seen.append(config)
        return await super().ainvoke(input, config, **kwargs)


class HandedTool(StructuredTool):
    """Keeps the configs that it is handed."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        SEEN_BY_TOOL.append(config)
        return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        SEEN_BY_TOOL.append(config)
        return await super().ainvoke(input, config, **kwargs)


SEEN_BY_TOOL: list[Any] = []


def echo(text: str) -> str:
    """Say it again."""
    SEEN_BY_TOOL.append(ensure_config())
    return text


async def aecho(text: str) -> str:
    """Say it again."""
    return echo(text)


def run(agent: Any, config: Any, *, run_as_async: bool) -> Any:
    given = {"messages": [("user", "go")]}
    if run_as_async:
        return asyncio.run(agent.ainvoke(given, config))
    return agent.invoke(given, config)


def told(config: Any) -> tuple[Any, ...]:
    """What says which run and which node a config is of."""
    where = config["metadata"]["langgraph_node"], config["metadata"]["langgraph_step"]
    return config["configurable"]["who"], config["tags"], *where


@pytest.mark.parametrize("run_as_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("kind", [Model, HandedModel])
def test_code_inside_an_agent_finds_the_config_of_its_node(
    make: Any, kind: Any, run_as_async: bool
) -> None:
    model, name = kind(), "model" if make is create_agent else "agent"
    model.seen = []
    SEEN_BY_TOOL.clear()
    made = (StructuredTool if kind is Model else HandedTool).from_function(echo, coroutine=aecho)
    run(make(model, [made]), CONFIG, run_as_async=run_as_async)
    steps = [told(config) for config in model.seen]
    each = 1 if kind is Model else 2
    assert steps == [("Ada", ["t"], name, step) for step in (1, 3) for _ in range(each)]
    assert [told(config) for config in SEEN_BY_TOOL] == [("Ada", ["t"], "tools", 2)] * each


class Hears(BaseCallbackHandler):
    """Notes which models and tools are told of."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.heard.append("model")

    def on_tool_start(self, *args: Any, **kwargs: Any) -> None:
        self.heard.append("tool")


@pytest.mark.parametrize("run_as_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("make", MADE)
def test_a_handler_in_the_config_hears_the_model_and_the_tools(
    make: Any, run_as_async: bool
) -> None:
    model = Model()
    model.seen = []
    hears = Hears()
    agent = make(model, [tool("echo")(aecho if run_as_async else echo)])
    run(agent, {**CONFIG, "callbacks": [hears]}, run_as_async=run_as_async)
    assert hears.heard == ["model", "tool", "model"]
