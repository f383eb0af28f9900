"""An agent as a tool: another agent gives it a task, and gets its answer."""

from typing import Any

from plait.agents.handoffs import described, names_of, tool_name
from plait.messages import HumanMessage
from plait.messages.convert import convert_to_messages
from plait.runnables.config import RunnableConfig
from plait.tools import BaseTool, StructuredTool


def create_agent_tool(
    agent: Any, *, name: str | None = None, description: str | None = None
) -> BaseTool:
    """A tool that lets an agent work on a task, out of sight, and answers with what it said last.

    The agent sees the task and nothing else of the conversation. One that is compiled with
    `checkpointer=True` remembers its earlier tasks on the thread; of several tools of one agent,
    only one may (they share the memory of the node `tools`). Its questions to people
    (`interrupt`) reach the caller of the outer graph.

    Args:
        agent: A compiled graph over messages.
        name: The tool's; by default the agent's.
        description: What the model reads that may call it.

    Returns:
        The tool; its one argument is `task`.

    Raises:
        ConfigError: There is no name.

    >>> from plait.prebuilt import create_react_agent
    >>> from plait.testing.models import ScriptedChatModel
    >>> poet = create_react_agent(ScriptedChatModel(["Roses are red."]), [], name="poet")
    >>> create_agent_tool(poet).invoke({"task": "Write a line."})
    'Roses are red.'
    """
    own = name or names_of([agent])[0]

    def work(task: str, config: RunnableConfig) -> str:
        return _answer(agent.invoke(_asked(task), config))

    async def awork(task: str, config: RunnableConfig) -> str:
        return _answer(await agent.ainvoke(_asked(task), config))

    return StructuredTool.from_function(
        work, awork, name=tool_name("", own), description=description or described(own)
    )


def _asked(task: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(task)]}


def _answer(output: Any) -> str:
    return str(convert_to_messages(output["messages"])[-1].text)  # a server tells them as data


__all__ = ["create_agent_tool"]
