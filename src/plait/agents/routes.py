"""Where the nodes of an agent lead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plait.graph.branch import untold
from plait.messages.foreign import kind_of
from plait.prebuilt.verdict import Verdict
from plait.types import Send


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
    _are_direct: Verdict = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def are_direct(calls: Sequence[Any]) -> bool:
            """Whether all of the tools that there are return directly."""
            names = [call["name"] for call in calls if call["name"] in self.known]
            return bool(names) and self.direct.issuperset(names)

        self._are_direct = Verdict(are_direct)

    def jumps(self) -> dict[str, str]:
        """Where a `jump_to` leads."""
        targets = {"model": self.turn, "end": self.finish}
        return {**targets, "tools": "tools"} if self.has_tools else targets

    def jump(self, targets: Mapping[str, str], otherwise: str) -> Callable[[Any], str]:
        """The path of a hook that may jump.

        Args:
            targets: Where it may jump: names of places, and their nodes.
            otherwise: Where it leads without a jump.
        """

        @untold
        def jump_edge(state: Any) -> str:
            return targets.get(state.get("jump_to"), otherwise)

        return jump_edge

    @untold
    def after_model(self, state: Any) -> Any:
        """To the tools that the model has called; on if all calls are answered; else to the end."""
        message, answered = _last_turn(state["messages"])
        calls = () if message is None else message.tool_calls
        if not calls:
            return self.finish
        self._are_direct.forget()
        if self.has_tools:
            sends = [
                Send("tools", [call])
                for call in calls
                if call["id"] not in answered and call["name"] not in self.answers
            ]
            if sends:
                return sends
        return self.finish if self._is_answered(state) else self.turn

    @untold
    def after_hook(self, state: Any) -> Any:
        """Where the last hook after the model jumps, else where the model leads."""
        jump = state.get("jump_to")
        return self.after_model(state) if jump is None else self.jumps()[jump]

    @untold
    def after_tools(self, state: Any) -> str:
        """To the end after tools that return directly, or a structured response; else on."""
        if self._is_answered(state):
            return self.finish
        if not self.direct:
            return self.turn
        message, _ = _last_turn(state["messages"])
        return self.finish if self._are_direct.on(message) else self.turn

    def _is_answered(self, state: Any) -> bool:
        """Whether the model has given its structured response (each turn writes whether)."""
        return bool(self.answers) and state.get("structured_response") is not None


def _last_turn(messages: Any) -> tuple[Any, set[str]]:
    """The model's last message, and the ids of the calls that were answered since."""
    answered: set[str] = set()
    for message in reversed(messages):
        kind = kind_of(message)
        if kind == "ai":
            return message, answered
        if kind == "tool":
            answered.add(message.tool_call_id)
    return None, answered


__all__ = ["Routes"]
