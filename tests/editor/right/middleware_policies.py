from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from plait.agents import create_agent
from plait.agents.middleware import (
    AgentMiddleware,
    AgentState,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
    after_model,
    hook_config,
)
from plait.agents.structured_output import ToolStrategy
from plait.checkpoint.memory import InMemorySaver
from plait.messages import AIMessage, HumanMessage
from plait.runtime import Runtime
from plait.testing import ScriptedChatModel
from plait.tools import ToolRuntime, tool
from plait.types import Command


@dataclass
class Context:
    user_id: str


class Contact(BaseModel):
    """Contact."""

    name: str = Field(description="name")


@tool
def account(runtime: ToolRuntime[Context]) -> str:
    """Get account."""
    return runtime.context.user_id


@tool(parse_docstring=True)
def send(to: str, body: str) -> str:
    """Send an email.

    Args:
        to: whom
        body: what
    """
    return f"{to} {body}"


@after_model(can_jump_to=["end"])
async def stop(state: AgentState, runtime: Runtime[Context]) -> dict[str, Any] | None:
    if len(state["messages"]) > 10:
        return {"jump_to": "end"}
    return None


class Limit(AgentMiddleware[AgentState, Context]):
    def __init__(self, most: int):
        super().__init__()
        self.most = most

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: AgentState, runtime: Runtime[Context]) -> dict[str, Any] | None:
        return (
            {"messages": [AIMessage("x")], "jump_to": "end"}
            if len(state["messages"]) > self.most
            else None
        )


model = ScriptedChatModel(
    [
        AIMessage("", tool_calls=[{"name": "send", "args": {"to": "a", "body": "b"}, "id": "1"}]),
        AIMessage("", tool_calls=[{"name": "Contact", "args": {"name": "a"}, "id": "2"}]),
    ]
)
agent = create_agent(
    model=model,
    tools=[account, send],
    middleware=[
        HumanInTheLoopMiddleware(
            interrupt_on={"send": {"allowed_decisions": ["approve", "reject"]}, "account": False}
        ),
        ModelCallLimitMiddleware(run_limit=5),
        Limit(20),
        ToolRetryMiddleware(max_retries=2),
        SummarizationMiddleware(model=model, trigger=("tokens", 4000), keep=("messages", 20)),
    ],
    context_schema=Context,
    response_format=ToolStrategy(Contact),
    checkpointer=InMemorySaver(),
)
config = {"configurable": {"thread_id": "1"}}
r = agent.invoke({"messages": [HumanMessage("x")]}, config=config, context=Context("u"))
q = r["__interrupt__"][0].value["action_requests"][0]
print(q["name"], q["args"])
r = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config, context=Context("u"))
print(r["structured_response"])
