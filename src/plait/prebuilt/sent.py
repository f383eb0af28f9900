"""`SentCall`: what a `Send` to a ToolNode carries; the state that goes with it is not stored.

A checkpoint holds the state already. Stored with each call, it would be written once more for every
tool call of a conversation, which then takes space by the square of its length.
"""

from typing import Any, Self

from plait.prebuilt.injection import state_around

WITH_CONTEXT = "tool_call_with_context"


class SentCall(dict[str, Any]):
    """One tool call with the state of the graph, as a dict of the documented keys.

    Read back from a checkpoint it lacks the state, and takes that of the graph around.

    >>> sent = SentCall.of({"name": "add", "args": {}, "id": "1"}, {"messages": []})
    >>> sorted(sent), sorted(sent.__plait_state__())
    (['__type', 'state', 'tool_call'], ['__type', 'tool_call'])
    """

    @classmethod
    def of(cls, call: Any, state: Any) -> Self:
        """A call with the state that its sender saw."""
        return cls({"__type": WITH_CONTEXT, "tool_call": call, "state": state})

    def __missing__(self, key: str) -> Any:
        if key == "state":
            return state_around()
        raise KeyError(key)

    def __plait_state__(self) -> dict[str, Any]:
        """What is stored: a state that is a dict can be read from the graph, another goes along."""
        if isinstance(self.get("state"), dict):
            return {key: value for key, value in self.items() if key != "state"}
        return dict(self)

    @classmethod
    def __plait_restore__(cls, state: dict[str, Any]) -> Self:
        return cls(state)


__all__ = ["WITH_CONTEXT", "SentCall"]
