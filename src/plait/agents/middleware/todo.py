"""`TodoListMiddleware`: the model keeps a list of what it has to do, in the agent's state."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.options import check_texts
from plait.agents.middleware.requests import ModelRequest, ModelResponse
from plait.agents.middleware.state import AgentState, OmitFromInput, ResponseT, answered_calls
from plait.messages import SystemMessage, ToolMessage
from plait.messages.foreign import kind_of
from plait.runtime import Runtime
from plait.tools import InjectedToolCallId, StructuredTool
from plait.types import Command

TOOL = "write_todos"

WRITE_TODOS_SYSTEM_PROMPT = """\
You can keep a list of steps with the tool `write_todos`. Use it for work of three steps or more, \
and not for small requests. Write the list before you begin, set a step to in_progress when you \
start it and to completed as soon as it is done, and change the list when you learn something. \
Each call replaces the whole list, so make one call at a time. The user does not see the list: say \
what was asked for in your last message."""

WRITE_TODOS_TOOL_DESCRIPTION = """\
Replace the list of steps of your present task.

Use it when a task needs three steps or more, when the user names several things to do, or when \
the user asks for a list. Leave it out when the task is small.

Pass the whole list each time. A step is `pending` (not begun), `in_progress` (being worked on) or \
`completed` (done, with nothing left open). While work is left, at least one step is in_progress. \
Steps may be added, changed and dropped; those that are completed stay as they are. A step that \
cannot be finished stays in_progress, with a new step that says what has to be solved."""

_PARALLEL = (
    f"Not done: {TOOL} was called several times at once, and each call replaces the whole list. "
    "Call it once."
)


class Todo(TypedDict):
    """One step of the model's list."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


class PlanningState(AgentState[ResponseT]):
    """The state of an agent with a list of steps."""

    todos: NotRequired[Annotated[list[Todo], OmitFromInput]]


def _write(todos: list[Todo], tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Put a list of steps into the state."""
    said = ToolMessage(f"Updated todo list to {todos}", tool_call_id=tool_call_id)
    return Command(update={"todos": todos, "messages": [said]})


async def _awrite(
    todos: list[Todo], tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command[Any]:
    return _write(todos, tool_call_id)


def _tool(description: str) -> StructuredTool:
    return StructuredTool.from_function(_write, _awrite, name=TOOL, description=description)


write_todos = _tool(WRITE_TODOS_TOOL_DESCRIPTION)
"""The tool, for graphs without the middleware; they need `todos` in their state."""


class TodoListMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives the model a tool, `write_todos`, to plan its work with; the list is `state["todos"]`.

    Args:
        system_prompt: what is added to the system message.
        tool_description: what the model reads about the tool.

    Raises:
        ConfigTypeError: one is no text.

    >>> TodoListMiddleware().tools[0].name
    'write_todos'
    """

    state_schema = PlanningState

    def __init__(
        self,
        *,
        system_prompt: str = WRITE_TODOS_SYSTEM_PROMPT,
        tool_description: str = WRITE_TODOS_TOOL_DESCRIPTION,
    ) -> None:
        super().__init__()
        check_texts(system_prompt=system_prompt, tool_description=tool_description)
        self.system_prompt = system_prompt
        self.tool_description = tool_description
        self.tools = [_tool(tool_description)]

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Tell the model about the list."""
        return handler(self._told(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The async twin of `wrap_model_call`."""
        return await handler(self._told(request))

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Refuse several lists at once."""
        messages = state["messages"]
        said = next((one for one in reversed(messages) if kind_of(one) == "ai"), None)
        calls = [] if said is None else [call for call in said.tool_calls if call["name"] == TOOL]
        if len(calls) < 2:
            return None
        answered = answered_calls(state)
        left = [call["id"] for call in calls if call["id"] not in answered]
        refused = [ToolMessage(_PARALLEL, tool_call_id=one, status="error") for one in left]
        return {"messages": refused}

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The async twin of `after_model`."""
        return self.after_model(state, runtime)

    def _told(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        system = request.system_message
        blocks: list[Any] = [] if system is None else [*system.content_blocks]
        text = f"\n\n{self.system_prompt}" if blocks else self.system_prompt
        message = SystemMessage([*blocks, {"type": "text", "text": text}])
        return request.override(system_message=message)


__all__ = ["PlanningState", "Todo", "TodoListMiddleware", "write_todos"]
