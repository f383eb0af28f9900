"""What callers of an executor get while it works: chunks of streams, steps, and its output."""

from collections.abc import Mapping
from typing import Any

from plait.agents.actions import AgentAction, AgentFinish, AgentStep
from plait.agents.classic.nodes import pairs
from plait.agents.classic.observing import EXCEPTION_TOOL
from plait.constants import INTERRUPT
from plait.runnables.addable import AddableDict

INTERMEDIATE_STEP = "intermediate_step"
"""Under which a turn has its actions, each with what came of it."""


class Progress:
    """Reads the states of one run as they come, and says what is new in each.

    Args:
        return_steps: The output holds the intermediate steps.
    """

    def __init__(self, return_steps: bool) -> None:
        self.state: Mapping[str, Any] = {}
        self.questions: list[Any] = []
        self._return_steps = return_steps

    def read(self, part: Mapping[str, Any]) -> "News":
        """What a part of the stream `values` tells."""
        if INTERRUPT in part:
            self.questions.extend(part[INTERRUPT])
            part = {name: value for name, value in part.items() if name != INTERRUPT}
            if not part:
                return News([], [], None)
        before, self.state = self.state, part
        if not before:  # what was there when the run began
            return News([], [], None)
        has_planned = part.get("turns", 0) > before.get("turns", 0)
        return News(
            list(part.get("actions", ())) if has_planned else [],
            list(part["steps"][len(before["steps"]) :]),
            part.get("finish") if before.get("finish") is None else None,
        )

    def output(self, only_outputs: bool = False) -> dict[str, Any]:
        """What the executor returns: inputs and return values; or inputs and open questions."""
        output = {} if only_outputs else dict(self.state.get("inputs", {}))
        if self.questions:
            return {**output, INTERRUPT: self.questions}
        finish = self.state.get("finish")
        return output if finish is None else {**output, **self.returned(finish)}

    def returned(self, finish: AgentFinish) -> dict[str, Any]:
        """The return values of the end."""
        values = dict(finish.return_values)
        if self._return_steps:
            values["intermediate_steps"] = pairs(self.state["steps"])
        return values

    def chunks(self, news: "News") -> list[AddableDict]:
        """What is new, as chunks of the executor's stream."""
        chunks = [
            AddableDict(actions=[one], messages=list(one.messages)) for one in news.told_actions
        ]
        chunks += [AddableDict(steps=[one], messages=list(one.messages)) for one in news.steps]
        return chunks + self._end(news)

    def turns(self, news: "News") -> list[AddableDict]:
        """What is new, a turn of the agent at a time."""
        steps = [AddableDict({INTERMEDIATE_STEP: pairs(news.steps)})] if news.steps else []
        return steps + self._end(news)

    def _end(self, news: "News") -> list[AddableDict]:
        if news.finish is None:
            return []
        messages = list(news.finish.messages)
        return [AddableDict({**self.returned(news.finish), "messages": messages})]


class News:
    """What one super-step of an executor brought."""

    def __init__(
        self, actions: list[AgentAction], steps: list[AgentStep], finish: AgentFinish | None
    ) -> None:
        self.actions = actions
        self.steps = steps
        self.finish = finish

    @property
    def told_actions(self) -> list[AgentAction]:
        """The actions that the agent itself chose."""
        return [
            one
            for one in self.actions
            if one.tool != EXCEPTION_TOOL or isinstance(one.tool_input, dict)
        ]


__all__ = ["INTERMEDIATE_STEP", "News", "Progress"]
