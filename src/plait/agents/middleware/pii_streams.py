"""Streams of version "v3" without the personal data that `PIIMiddleware` hides in the state.

Hooks run when a message is complete; what is streamed has been read by then. So the events of the
run are rewritten before anybody is told. Personal data may come in several pieces: of a text that
grows, the end is kept back until it can be no part of something that is still to come. When the
block is complete it is told as a whole, rewritten.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from plait.agents.middleware.redaction import PIIMatch, ResolvedRedactionRule, apply_strategy
from plait.messages.foreign import is_message, kind_of
from plait.stream.base import ProtocolEvent, Scope, StreamTransformer
from plait.types import Command

LOOKBACK = 128
"""How many characters at the end of a text that grows are kept back."""
_GROWING = {"text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "args"}
_SPOKEN = ("text", "reasoning", "args")
"""What of a block is words; the rest is data, such as images."""
_TOLD_OF_TOOLS = ("input", "output", "message")
_STATES = ("values", "updates")


@dataclass(slots=True)
class Growing:
    """A text that comes in pieces, told with its rule applied, its end as late as needed.

    >>> from plait.agents.middleware.redaction import RedactionRule
    >>> text = Growing(RedactionRule("email").resolve(), lookback=8)
    >>> [text.add(piece) for piece in ("Write to ann", "@x.org, or call us, ", "or not.")]
    ['Writ', 'e to [REDACTED_EMAIL], or c', 'all us,']
    """

    rule: ResolvedRedactionRule
    lookback: int = LOOKBACK
    _before: str = ""
    """The end of what was told, for what looks at the signs before it."""
    _held: str = ""

    def add(self, piece: str) -> str:
        """What can be told now that this piece has come."""
        self._held += piece
        if self.rule.strategy == "block":  # told when it is complete, and has been found clean
            return ""
        text, begin = self._before + self._held, len(self._before)
        found = [one for one in self.rule.detector(text) if one["end"] > begin]
        end = _end_of_safe(found, max(begin, len(text) - self.lookback), begin)
        told = [_moved(one, -begin) for one in found if one["start"] < end]
        self._before, self._held = text[max(0, end - self.lookback) : end], text[end:]
        return apply_strategy(text[begin:end], told, self.rule.strategy)


def _end_of_safe(found: Sequence[PIIMatch], end: int, begin: int) -> int:
    """The last place up to which no match is cut in two."""
    for one in sorted(found, key=lambda one: one["start"], reverse=True):
        if one["start"] < end < one["end"]:
            end = max(begin, one["start"])
    return end


def _moved(match: PIIMatch, by: int) -> PIIMatch:
    """A match in a text that begins elsewhere; what came before it is left out."""
    start, end = max(0, match["start"] + by), match["end"] + by
    return {**match, "start": start, "end": end}


@dataclass(frozen=True, slots=True)
class Checked:
    """Whose words a middleware checks; strategies but "block" hide those of all."""

    rule: ResolvedRedactionRule
    output: bool
    tool_results: bool

    def covers(self, kind: str) -> bool:
        """Whether the words of such a message are rewritten."""
        if self.rule.strategy != "block":
            return True
        return {"ai": self.output, "tool": self.tool_results}.get(kind, False)


class PIIStreamTransformer(StreamTransformer):
    """Rewrites the events of a run, and of those nested in it, by the rule of a `PIIMiddleware`.

    With the strategy "block" the run fails where `invoke` would, and before anything is told.

    Args:
        scope: The namespace of the run.
        checked: The rule, and whose words it is for.
    """

    required_stream_modes: ClassVar[tuple[str, ...]] = ("messages", "tools")
    before_builtins = True

    def __init__(self, scope: Scope = (), *, checked: Checked) -> None:
        super().__init__(scope)
        self._checked = checked
        self._is_outermost = True
        self._growing: dict[tuple[Any, ...], Growing] = {}

    def init(self) -> dict[str, Any]:
        """It offers nothing of its own."""
        return {}

    def attached(self, mux: Any) -> None:
        """The events of nested runs come by the outermost one first, which has rewritten them."""
        self._is_outermost = mux.outer is None

    def process(self, event: ProtocolEvent) -> bool:
        """Rewrite what is told."""
        if not self._is_outermost:
            return True
        params = event["params"]
        if event["method"] == "messages":
            told, about = params["data"]
            place = (*params["namespace"], about.get("run_id"))
            params["data"] = self._message(told, place), about
        elif event["method"] == "tools":
            params["data"] = self._tool(params["data"], tuple(params["namespace"]))
        elif event["method"] in _STATES and self._checked.rule.strategy != "block":
            params["data"] = self._rewritten(params["data"])
        return True

    def finalize(self) -> None:
        """Nothing more comes."""
        self._growing.clear()

    def fail(self, err: BaseException) -> None:
        """Nothing more comes."""
        self._growing.clear()

    # --- messages --------------------------------------------------------------------------------

    def _message(self, told: Any, place: tuple[Any, ...]) -> Any:
        """A message, or an event of one that comes in pieces."""
        if not isinstance(told, dict):
            return self._rewritten(told)
        said = cast("dict[str, Any]", told)
        if not self._checked.covers("ai"):
            return said
        if said["event"] == "content-block-delta":
            return {**said, "delta": self._delta(said["delta"], (*place, said["index"]))}
        if said["event"] in ("content-block-start", "content-block-finish"):
            return {**said, "content": self._block(said["content"])}
        if said["event"] == "message-finish":
            for key in [key for key in self._growing if key[:-1] == place]:
                del self._growing[key]
        return said

    def _delta(self, delta: Mapping[str, Any], place: tuple[Any, ...]) -> Any:
        key = _GROWING.get(delta["type"])
        return delta if key is None else {**delta, key: self._grown(place, delta[key])}

    def _grown(self, place: tuple[Any, ...], piece: str) -> str:
        if place not in self._growing:
            self._growing[place] = Growing(self._checked.rule)
        return self._growing[place].add(piece)

    def _block(self, block: Any) -> Any:
        """A block with its words rewritten."""
        if not isinstance(block, dict):
            return self._rewritten(block)
        known = cast("dict[str, Any]", block)
        return _changed(
            known, {key: self._rewritten(known[key]) for key in _SPOKEN if key in known}
        )

    # --- tools -----------------------------------------------------------------------------------

    def _tool(self, data: dict[str, Any], place: Scope) -> dict[str, Any]:
        """What is told of a tool call."""
        key = (*place, "tool", data["tool_call_id"])
        asks = data["event"] == "tool-started"
        if not self._checked.covers("ai" if asks else "tool"):
            return data
        if data["event"] == "tool-output-delta":
            piece = data["delta"]
            grown = self._grown(key, piece) if isinstance(piece, str) else self._rewritten(piece)
            return {**data, "delta": grown}
        if not asks:
            self._growing.pop(key, None)
        return {
            **data,
            **{one: self._rewritten(data[one]) for one in _TOLD_OF_TOOLS if one in data},
        }

    # --- values ----------------------------------------------------------------------------------

    def _rewritten(self, value: Any) -> Any:
        """A value with the texts in it rewritten; itself, if there is nothing to hide."""
        if isinstance(value, str):
            return self._checked.rule.apply(value)[0]
        if isinstance(value, dict):
            known = cast("dict[Any, Any]", value)
            return _changed(known, {key: self._rewritten(one) for key, one in known.items()})
        if isinstance(value, list):
            items = cast("list[Any]", value)
            made = [self._rewritten(one) for one in items]
            return made if _differ(made, items) else items
        if isinstance(value, tuple) and type(cast("object", value)) is tuple:
            old = cast("tuple[Any, ...]", value)
            new = tuple(self._rewritten(one) for one in old)
            return new if _differ(new, old) else old
        if isinstance(value, Command):
            command = cast("Command[Any]", value)
            update = self._rewritten(command.update)
            return command if update is command.update else replace(command, update=update)
        return self._rewritten_message(value)

    def _rewritten_message(self, message: Any) -> Any:
        """A message with its content and its tool calls rewritten; other objects as they are."""
        if not is_message(message) or not self._checked.covers(kind_of(message) or ""):
            return message
        content = message.content
        new = self._rewritten(content) if isinstance(content, str) else self._blocks(content)
        update = {} if new is content else {"content": new}
        for name in ("tool_calls", "invalid_tool_calls"):
            calls = getattr(message, name, None)
            if calls:
                made = self._blocks(calls)
                update |= {} if made is calls else {name: made}
        return message.model_copy(update=update) if update else message

    def _blocks(self, blocks: list[Any]) -> list[Any]:
        made = [self._block(one) for one in blocks]
        return made if _differ(made, blocks) else blocks


def _differ(made: Sequence[Any], given: Sequence[Any]) -> bool:
    return any(new is not old for new, old in zip(made, given, strict=True))


def _changed(given: dict[Any, Any], made: dict[Any, Any]) -> dict[Any, Any]:
    """A dict with what was made of some of its values; itself, if nothing was."""
    changed = any(new is not given[key] for key, new in made.items())
    return {**given, **made} if changed else given


__all__ = ["LOOKBACK", "Checked", "Growing", "PIIStreamTransformer"]
