"""Where the nodes of an agent lead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plait.graph.branch import untold
from plait.messages.foreign import kind_of
from plait.prebuilt.verdict import Verdict
from plait.types import Send


@dataclass(frozen=True)
class Called:
    """The tools that a message of the model's calls.

    Args:
        names: By the ids of the calls.
        known: How many of the calls are of tools that there are.
        on: How many of those are of tools after which the model goes on.
    """

    names: Mapping[Any, str]
    known: int
    on: int


@dataclass
class Routes:
    """The way through an agent.

    Args:
        turn: The node that a turn of the model begins with.
        finish: Where the agent goes when the model is done.
        has_tools: Whether there is a node for tools.
        direct: The tools whose result ends the loop.
        known: All tools of the agent's node for tools.
        answers: The tools by which the model gives its structured response.
    """

    turn: str
    finish: str
    has_tools: bool
    direct: frozenset[str]
    known: frozenset[str]
    answers: frozenset[str]
    _called: Verdict[Called] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def called(calls: Sequence[Any]) -> Called:
            names = [call["name"] for call in calls if call["name"] in self.known]
            on = sum(name not in self.direct for name in names)
            return Called({call["id"]: call["name"] for call in calls}, len(names), on)

        self._called = Verdict(called)

    def jumps(self) -> dict[str, str]:
        """Where a `jump_to` leads."""
        targets = {"model": self.turn, "end": self.finish}
        return {**targets, "tools": "tools"} if self.has_tools else targets

    def jump(self, targets: Mapping[str, str], otherwise: str) -> Callable[[Any], Any]:
        """The path of a hook that may jump.

        Args:
            targets: Where it may jump: names of places, and their nodes.
            otherwise: Where it leads without a jump.
        """

        @untold
        def jump_edge(state: Any) -> Any:
            to = targets.get(state.get("jump_to"), otherwise)
            return self._to_tools(state) or otherwise if to == "tools" else to

        return jump_edge

    def _to_tools(self, state: Any) -> Any:
        """To the tools; of calls that are answered in part, to those that are left."""
        message, answered = _last_turn(state["messages"])
        calls = () if message is None else message.tool_calls
        left = [call for call in calls if call["id"] not in answered]
        return "tools" if len(left) == len(calls) else [Send("tools", [call]) for call in left]

    @untold
    def after_model(self, state: Any) -> Any:
        """To the tools that the model has called; on if all calls are answered; else to the end."""
        message, answered = _last_turn(state["messages"])
        calls = () if message is None else message.tool_calls
        if not calls:
            return self.turn if self._is_told(message, answered) else self.finish
        self._called.forget()
        if self.has_tools:
            sends = [
                Send("tools", [call])
                for call in calls
                if call["id"] not in answered and call["name"] not in self.answers
            ]
            if sends:
                return sends
        return self.finish if self._is_answered(state) else self.turn

    def _is_told(self, message: Any, answered: Mapping[str, Any]) -> bool:
        """Whether the model was told that its structured response cannot be read."""
        unread = () if message is None else message.invalid_tool_calls
        return any(one["id"] in answered and one["name"] in self.answers for one in unread)

    @untold
    def after_hook(self, state: Any) -> Any:
        """Where the last hook after the model jumps, else where the model leads."""
        jump = state.get("jump_to")
        if jump == "tools" and self.has_tools:
            return self._to_tools(state) or self.after_model(state)
        return self.after_model(state) if jump is None else self.jumps()[jump]

    @untold
    def after_tools(self, state: Any) -> str:
        """To the end after tools that return directly, or a structured response; else on.

        A `structured_response` that a tool has written is none of the model's, which goes on.
        """
        is_answered = self._is_answered(state)
        if not (is_answered or self.direct):
            return self.turn
        message, answers = _last_turn(state["messages"])
        if is_answered and not self.answers.isdisjoint(answers.values()):
            return self.finish
        return self.finish if self.direct and self._are_direct(message, answers) else self.turn

    def _are_direct(self, message: Any, answers: Mapping[str, Any]) -> bool:
        """Whether all of the tools that there are return directly.

        An answer says by its name which tool really ran: a person or an interceptor may have put
        it in the place of the one that was called.
        """
        called = self._called.on(message)
        known, on = called.known, called.on
        for call_id, ran in answers.items():
            name = called.names.get(call_id)
            if ran != name and name is not None and ran in self.known:
                known += name not in self.known
                on += (ran not in self.direct) - (name in self.known and name not in self.direct)
        return known > 0 and on == 0

    def _is_answered(self, state: Any) -> bool:
        """Whether the model has given its structured response (each turn writes whether)."""
        return bool(self.answers) and state.get("structured_response") is not None


def _last_turn(messages: Any) -> tuple[Any, dict[str, Any]]:
    """The model's last message, and by the ids of its calls the names of the answers since."""
    answered: dict[str, Any] = {}
    for message in reversed(messages):
        kind = kind_of(message)
        if kind == "ai":
            return message, answered
        if kind == "tool":
            answered[message.tool_call_id] = message.name
    return None, answered


__all__ = ["Routes"]
