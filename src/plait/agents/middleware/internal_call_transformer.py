"""What tells the calls of a model that a middleware makes for itself from those of the agent.

Such a call carries a mark in its metadata. `InternalCallTransformer` keeps what is marked out of
streams of version "v3": a summary, or the choice of tools, is no answer of the agent's. The mark
is made anew for each process, so that metadata that a caller passes on cannot hide an answer.
"""

from secrets import token_hex
from typing import Any, ClassVar, Literal

from plait.runnables.config import RunnableConfig
from plait.stream.base import ProtocolEvent, StreamTransformer

INTERNAL_CALL_METADATA_KEY = "lc_internal_call"
"""The key of the mark in the metadata of a call."""
_MARK = token_hex(16)
_UNTOLD = "internal_call"
"""The method of an event that nobody is told: no projection listens for it."""


def internal_call_metadata() -> dict[str, Any]:
    """The metadata that mark a call as the middleware's own.

    >>> list(internal_call_metadata())
    ['lc_internal_call']
    """
    return {INTERNAL_CALL_METADATA_KEY: _MARK}


def internal_call(
    source: Literal["summarization", "tool_emulation", "tool_selection"],
) -> RunnableConfig:
    """The config of such a call: marked, and `lc_source` in the metadata says what it is for.

    >>> internal_call("summarization")["metadata"]["lc_source"]
    'summarization'
    """
    return {"metadata": {"lc_source": source, **internal_call_metadata()}}


class InternalCallTransformer(StreamTransformer):
    """Keeps what models say to middleware out of `run.messages`, and of the events of the run.

    List it among the `transformers` of a middleware that asks a model for itself, and give those
    calls the metadata of `internal_call_metadata`. Other streams, and handlers, are told of them.

    >>> from plait.agents.middleware import AgentMiddleware
    >>> class Judge(AgentMiddleware):
    ...     transformers = (InternalCallTransformer,)
    """

    required_stream_modes: ClassVar[tuple[str, ...]] = ("messages",)
    before_builtins = True

    def init(self) -> dict[str, Any]:
        """It offers nothing of its own."""
        return {}

    def process(self, event: ProtocolEvent) -> bool:
        """Drop what is marked, also in runs nested in this one."""
        params = event["params"]
        if event["method"] != "messages":
            return event["method"] != _UNTOLD
        about = params["data"][1]
        if about.get(INTERNAL_CALL_METADATA_KEY) != _MARK:
            return True
        event["method"] = _UNTOLD  # the transformers after this one see each event, kept or not
        return False


__all__ = [
    "INTERNAL_CALL_METADATA_KEY",
    "InternalCallTransformer",
    "internal_call",
    "internal_call_metadata",
]
