"""`HandoffNode`: runs a supervisor's tools so that handoffs of one message leave together.

A Command to the graph around ends the supervisor's own graph. So it must hold all that was said in
there: the messages so far, the one that calls the tools, and what all of them answered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from plait.agents.handoffs import carried_along, destination_of, messages_of
from plait.constants import END
from plait.messages.foreign import kind_of
from plait.prebuilt.tool_node import WITH_CONTEXT, ToolNode
from plait.prebuilt.turns import word_id
from plait.runnables.config import RunnableConfig
from plait.tools import BaseTool
from plait.types import Command, Send


class HandoffNode(ToolNode):
    """A ToolNode whose handoffs leave together, and take along what was said before them.

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
        turn = self._turn(input)
        if turn is None:
            return {self.messages_key: []}
        return turn.told(super().invoke(turn.input, config, **kwargs))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The async twin of `invoke`."""
        turn = self._turn(input)
        if turn is None:
            return {self.messages_key: []}
        return turn.told(await super().ainvoke(turn.input, config, **kwargs))

    def _turn(self, input: Any) -> "Turn | None":
        """What is to be run for an input; None where the task of another call does it.

        After a `post_model_hook` each call that it left open is a task of its own. If one of them
        is a handoff, the first task runs them all.
        """
        one: Any = None
        state = input
        if isinstance(input, Mapping):
            given = cast("Mapping[str, Any]", input)
            if given.get("__type") == WITH_CONTEXT:
                one, state = given["tool_call"], given["state"]
        messages = messages_of(state)
        at = max(at for at, message in enumerate(messages) if kind_of(message) == "ai")
        asked, answers = messages[at], messages[at + 1 :]
        turn = Turn(input, state, messages[:at], asked, answers)
        done = {message.tool_call_id for message in answers if kind_of(message) == "tool"}
        left = [call for call in asked.tool_calls if call["id"] not in done]
        if not any(destination_of(self._tools.get(call["name"])) for call in left):
            return turn
        if one is not None and one["id"] != left[0]["id"]:
            return None
        if answers or one is not None:
            open_ones = asked.model_copy(update={"tool_calls": left})
            turn.input = _with_messages(state, [*turn.before, open_ones])
        return turn


@dataclass(slots=True)
class Turn:
    """One message of a supervisor that calls tools."""

    input: Any
    """What the ToolNode is given."""
    state: Any
    """The supervisor's state."""
    before: list[Any]
    """The messages before it."""
    asked: Any
    """The message."""
    answers: list[Any]
    """What a hook has answered already."""

    def told(self, result: Any) -> Any:
        """The results of the tools; where some are handoffs, one Command with everything in it."""
        parts = cast("list[Any]", result) if isinstance(result, list) else [result]
        leaving = next((one for one in parts if self._leaves(one)), None)
        if leaving is None:
            return cast("Any", result)
        sends = _sends(leaving)
        answers = [*self.answers, *(send.arg["messages"][-1] for send in sends)]
        update = carried_along(self.state)
        for part in parts:
            held: Any = part.update if isinstance(part, Command) else part
            if isinstance(held, dict):
                update.update(cast("dict[str, Any]", held))
                answers += update.pop("messages", [])
        update["messages"] = [*self.before, *self._answered(answers)]
        leave: Command[Any] = Command(goto=leaving.goto, graph=Command.PARENT, update=update)
        return leave

    def _leaves(self, part: Any) -> bool:
        """Whether a result is a handoff that would leave something behind."""
        if not isinstance(part, Command) or part.graph != Command.PARENT:
            return False
        goto = cast("Any", part).goto
        return bool(_sends(part)) or (isinstance(goto, str) and goto != END and bool(self.answers))

    def _answered(self, answers: list[Any]) -> list[Any]:
        """The message with the calls that have an answer, and these, in the order of the calls."""
        by_call = {one.tool_call_id: one for one in answers if kind_of(one) == "tool"}
        for call_id, answer in by_call.items():
            if answer.id is None:  # an agent's memory that lacks it puts it behind this message
                answer.id = word_id(self.asked, call_id)
        calls = [call for call in self.asked.tool_calls if call["id"] in by_call]
        if not calls:
            return []
        told = self.asked.model_copy(update={"tool_calls": calls})
        return [told, *(by_call[call["id"]] for call in calls)]


def _sends(command: Any) -> list[Send]:
    """The Sends of a Command; none if it goes to one node by its name."""
    goto = command.goto
    items = cast("list[Any]", goto) if isinstance(goto, list) else []
    return [one for one in items if isinstance(one, Send)]


def _with_messages(state: Any, messages: list[Any]) -> Any:
    if isinstance(state, Mapping):
        return {**cast("Mapping[str, Any]", state), "messages": messages}
    return state.model_copy(update={"messages": messages})


__all__ = ["HandoffNode"]
