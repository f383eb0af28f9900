"""`PIIMiddleware`: sensitive text is found in a conversation and hidden, or the run is refused."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from plait.agents.middleware.base import AgentMiddleware, hook_config
from plait.agents.middleware.options import check_texts
from plait.agents.middleware.pii_streams import Checked, PIIStreamTransformer
from plait.agents.middleware.redaction import (
    Detector,
    PIIMatch,
    RedactionRule,
    RedactionStrategy,
    detect_credit_card,
    detect_email,
    detect_ip,
    detect_mac_address,
    detect_url,
)
from plait.errors import PIIDetectionError
from plait.messages.foreign import kind_of
from plait.runtime import Runtime


class PIIMiddleware(AgentMiddleware[Any, Any, Any]):
    """Hides one type of personal data in messages, or refuses runs that hold it.

    Of the user's messages, those since the model's last one are checked; of the results of tools,
    the newest; of the model's messages, the last. Texts of content blocks are checked, too.

    Where it checks what the model says or what tools give, streams of version "v3" tell nothing of
    what is hidden, whoever has said it: what is told in pieces comes some 128 characters late.
    Streams of other kinds tell tokens before they are checked.

    Args:
        pii_type: "email", "credit_card", "ip", "mac_address", "url", or a name of your own.
        strategy: "redact" puts `[REDACTED_EMAIL]` in its place, "mask" leaves a part to know it by,
            "hash" puts a digest, equal for equal values, "block" raises.
        detector: what finds it: a regular expression, or a function from a text to a list of
            dicts of `start` and `end` (default: what is known to find the type).
        apply_to_input: check what the user says, before the model reads it.
        apply_to_output: check what the model says.
        apply_to_tool_results: check what tools give, before the model reads it.

    Raises:
        ConfigError: The type is unknown and has no detector, the detector is none, or the strategy
            is unknown.
        PIIDetectionError: While an agent runs: something was found, and the strategy is "block".

    >>> from plait.messages import HumanMessage
    >>> hide = PIIMiddleware("email", strategy="mask")
    >>> hide.before_model({"messages": [HumanMessage("I am ann@x.org")]}, None)["messages"][0].text
    'I am ann@****.org'
    """

    def __init__(
        self,
        pii_type: str,
        *,
        strategy: RedactionStrategy = "redact",
        detector: Detector | str | None = None,
        apply_to_input: bool = True,
        apply_to_output: bool = False,
        apply_to_tool_results: bool = False,
    ) -> None:
        super().__init__()
        check_texts(pii_type=pii_type)
        self.rule = RedactionRule(pii_type, strategy, detector).resolve()
        self.pii_type = pii_type
        self.detector = self.rule.detector
        self.strategy = strategy
        self.apply_to_input = apply_to_input
        self.apply_to_output = apply_to_output
        self.apply_to_tool_results = apply_to_tool_results
        if apply_to_output or apply_to_tool_results:
            checked = Checked(self.rule, apply_to_output, apply_to_tool_results)
            self.transformers = (partial(PIIStreamTransformer, checked=checked),)

    @property
    def name(self) -> str:
        """The name, with the type: an agent may have one of these for each."""
        return f"{type(self).__name__}[{self.pii_type}]"

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Check what the user says and what tools gave."""
        messages = state["messages"]
        places: list[int] = []
        if self.apply_to_input:
            asked = _last(messages, "human")
            said = _last(messages[:asked], "ai") if asked >= 0 else -1
            places += _of(messages, "human", said + 1)
        if self.apply_to_tool_results:
            places += _of(messages, "tool", _last(messages, "ai") + 1)
        return self._checked(messages, places)

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The async twin of `before_model`."""
        return self.before_model(state, runtime)

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Check what the model says."""
        messages = state["messages"]
        said = _last(messages, "ai")
        return self._checked(messages, [said] if self.apply_to_output and said >= 0 else [])

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The async twin of `after_model`."""
        return self.after_model(state, runtime)

    def _checked(self, messages: Sequence[Any], places: list[int]) -> dict[str, Any] | None:
        """The messages, those at some places rewritten; None if nothing was found there."""
        rewritten = {place: self._rewritten(messages[place]) for place in places}
        if all(new is messages[place] for place, new in rewritten.items()):
            return None
        return {"messages": [rewritten.get(place, old) for place, old in enumerate(messages)]}

    def _rewritten(self, message: Any) -> Any:
        """A message without what was found in it; itself if there is nothing."""
        content = message.content
        if isinstance(content, str):
            new: Any = self._text(content)
        else:
            new = [self._block(block) for block in content]
        return message if new == content else message.model_copy(update={"content": new})

    def _block(self, block: Any) -> Any:
        if isinstance(block, str):
            return self._text(block)
        known = cast("dict[str, Any]", block) if isinstance(block, dict) else {}
        text = known.get("text")
        return {**known, "text": self._text(text)} if isinstance(text, str) else cast("Any", block)

    def _text(self, text: str) -> str:
        return self.rule.apply(text)[0]


def _last(messages: Sequence[Any], kind: str) -> int:
    """The place of the last message of a kind, or -1."""
    places = range(len(messages) - 1, -1, -1)
    return next((place for place in places if kind_of(messages[place]) == kind), -1)


def _of(messages: Sequence[Any], kind: str, start: int) -> list[int]:
    """The places of the messages of a kind, from a place on."""
    return [place for place in range(start, len(messages)) if kind_of(messages[place]) == kind]


__all__ = [
    "PIIDetectionError",
    "PIIMatch",
    "PIIMiddleware",
    "detect_credit_card",
    "detect_email",
    "detect_ip",
    "detect_mac_address",
    "detect_url",
]
