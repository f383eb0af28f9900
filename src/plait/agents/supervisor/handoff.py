"""Handoffs from a supervisor to its agents and back: their tools, and the messages that tell."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

from plait.agents.handoffs import (
    DESTINATION,
    carried_along,
    described,
    messages_of,
    tool_name,
    transferred,
)
from plait.constants import END
from plait.ids import new_id
from plait.messages import AIMessage, ToolMessage
from plait.messages.foreign import kind_of
from plait.prebuilt.injection import InjectedState
from plait.prebuilt.tool_node import ToolNode
from plait.runnables.config import RunnableConfig
from plait.tools import BaseTool, InjectedToolCallId, tool
from plait.types import Command, Send

METADATA_KEY_HANDOFF_DESTINATION = DESTINATION
METADATA_KEY_IS_HANDOFF_BACK = "__is_handoff_back"


def create_handoff_tool(
    *,
    agent_name: str,
    name: str | None = None,
    description: str | None = None,
    add_handoff_messages: bool = True,
) -> BaseTool:
    """A tool by which a supervisor hands off to one of its agents.

    Args:
        agent_name: The agent: the name of its node.
        name: The tool's; by default `transfer_to_<agent>`.
        description: What the supervisor's model reads.
        add_handoff_messages: The handoff stays in the conversation: the tool call, and a message
            that answers it.

    Returns:
        The tool.

    >>> create_handoff_tool(agent_name="math").name
    'transfer_to_math'
    """
    name = name or tool_name("transfer_to_", agent_name)

    @tool(name, description=description or described(agent_name))
    def hand_off(
        state: Annotated[Any, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
    ) -> Command[Any]:
        messages = messages_of(state)
        asked, rest = messages[-1], carried_along(state)
        answer = transferred(agent_name, name, tool_call_id)
        alone = len(asked.tool_calls) == 1
        told = messages[:-1]
        if add_handoff_messages:
            told = [*told, asked if alone else _only(asked, tool_call_id), answer]
        if alone:
            return Command(goto=agent_name, graph=Command.PARENT, update={**rest, "messages": told})
        return Command(goto=[Send(agent_name, {**rest, "messages": told})], graph=Command.PARENT)

    hand_off.metadata = {DESTINATION: agent_name}
    return hand_off


def _only(message: Any, call_id: str) -> Any:
    """A message with one of its tool calls: what the agent that is called is shown of it."""
    calls = [call for call in message.tool_calls if call["id"] == call_id]
    return message.model_copy(update={"tool_calls": calls})


def create_handoff_back_messages(
    agent_name: str, supervisor_name: str
) -> tuple[AIMessage, ToolMessage]:
    """The messages that tell that an agent is done and its supervisor goes on."""
    call_id = new_id()
    name = tool_name("transfer_back_to_", supervisor_name)
    is_back = {METADATA_KEY_IS_HANDOFF_BACK: True}
    return (
        AIMessage(
            f"Transferring back to {supervisor_name}",
            name=agent_name,
            tool_calls=[{"name": name, "args": {}, "id": call_id, "type": "tool_call"}],
            response_metadata=is_back,
        ),
        ToolMessage(
            f"Successfully transferred back to {supervisor_name}",
            name=name,
            tool_call_id=call_id,
            response_metadata=is_back,
        ),
    )


def create_forward_message_tool(supervisor_name: str = "supervisor") -> BaseTool:
    """A tool by which a supervisor gives an agent's last message as its own answer, word by word.

    Args:
        supervisor_name: Who signs the answer.
    """

    @tool("forward_message")
    def forward(from_agent: str, state: Annotated[Any, InjectedState]) -> Any:
        """Give the last message of an agent to the user as it is, as the final answer.

        Use this when that message answers the user in full, instead of saying it again.

        Args:
            from_agent: The name of the agent whose message it is.
        """
        said = [one for one in messages_of(state) if kind_of(one) == "ai"]
        wanted = from_agent.lower()
        for message in reversed(said):
            if (message.name or "").lower() == wanted and not _is_back(message):
                answer = AIMessage(message.content, name=supervisor_name, id=new_id())
                return Command(graph=Command.PARENT, goto=END, update={"messages": [answer]})
        names = {message.name for message in said if message.name}
        return f"Could not find message from source agent {from_agent}. Found names: {names}"

    return forward


def _is_back(message: Any) -> bool:
    return METADATA_KEY_IS_HANDOFF_BACK in message.response_metadata


class HandoffNode(ToolNode):
    """A ToolNode whose handoffs leave together, and take the answers of the other tools along.

    Args:
        node: The node with a supervisor's tools.
        more: Tools that it has besides.
    """

    def __init__(self, node: ToolNode, more: Sequence[BaseTool] = ()) -> None:
        self.__dict__.update(vars(node))
        self._tools = {**node.tools_by_name, **{one.name: one for one in more}}
        self._injections = {}

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the tools."""
        return _together(super().invoke(input, config, **kwargs), input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        return _together(await super().ainvoke(input, config, **kwargs), input)


def _together(result: Any, state: Any) -> Any:
    """The results of one turn; where some are handoffs, one Command that leaves nothing behind.

    A Command to the graph around ends the supervisor's own graph, so it must hold all that was said
    in there: the messages so far, the one that calls the tools, and what all of them answered.
    """
    parts = cast("list[Any]", result) if isinstance(result, list) else [result]
    leaving = next((one for one in parts if _sends(one)), None)
    if leaving is None:
        return cast("Any", result)
    sends = _sends(leaving)
    answers: list[Any] = [
        one for send in sends for one in send.arg["messages"][-1:] if kind_of(one) == "tool"
    ]
    update = carried_along(state)
    for part in parts:
        held: Any = part.update if isinstance(part, Command) else part
        if isinstance(held, dict):
            update.update(cast("dict[str, Any]", held))
            answers += update.pop("messages", [])
    *told, asked = messages_of(state)
    by_call = {one.tool_call_id: one for one in answers if kind_of(one) == "tool"}
    calls = [call for call in asked.tool_calls if call["id"] in by_call]
    if calls:
        told.append(asked.model_copy(update={"tool_calls": calls}))
        told += [by_call[call["id"]] for call in calls]
    update["messages"] = told
    leave: Command[Any] = Command(goto=sends, graph=Command.PARENT, update=update)
    return leave


def _sends(part: Any) -> list[Send]:
    """The Sends by which handoffs leave; none if the part is something else."""
    if not isinstance(part, Command) or part.graph != Command.PARENT:
        return []
    goto: Any = cast("Command[Any]", part).goto
    items = cast("list[Any]", goto) if isinstance(goto, list) else []
    return [one for one in items if isinstance(one, Send)]


__all__ = [
    "METADATA_KEY_HANDOFF_DESTINATION",
    "METADATA_KEY_IS_HANDOFF_BACK",
    "HandoffNode",
    "create_forward_message_tool",
    "create_handoff_back_messages",
    "create_handoff_tool",
]
