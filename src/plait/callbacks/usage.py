"""Counting the tokens that models use, by the name of the model."""

from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from plait.callbacks.handlers import BaseCallbackHandler
from plait.callbacks.within import listening
from plait.messages import add_usage


class UsageMetadataCallbackHandler(BaseCallbackHandler):
    """Adds up the tokens of every model that it hears, by the model's name.

    An answer that says no usage, or not which model gave it, is left out.

    >>> from plait.chat_models.fake import GenericFakeChatModel
    >>> from plait.messages import AIMessage
    >>> usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    >>> said = AIMessage("hi", usage_metadata=usage, response_metadata={"model_name": "m"})
    >>> handler = UsageMetadataCallbackHandler()
    >>> _ = GenericFakeChatModel(messages=iter([said])).invoke("?", {"callbacks": [handler]})
    >>> handler.usage_metadata
    {'m': {'input_tokens': 1, 'output_tokens': 2, 'total_tokens': 3}}
    """

    run_inline = True

    def __init__(self) -> None:
        self._lock = Lock()
        self.usage_metadata: dict[str, Any] = {}

    def __repr__(self) -> str:
        return repr(self.usage_metadata)

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        """Add the usage of an answer."""
        candidates: list[Any] = response.generations[0] if response.generations else []
        message = getattr(candidates[0], "message", None) if candidates else None
        usage = getattr(message, "usage_metadata", None)
        model = getattr(message, "response_metadata", {}).get("model_name")
        if usage and model:
            with self._lock:
                self.usage_metadata[model] = add_usage(self.usage_metadata.get(model), usage)


@contextmanager
def get_usage_metadata_callback(
    name: str = "usage_metadata_callback",
) -> Generator[UsageMetadataCallbackHandler, None, None]:
    """Add up the tokens of all models that run inside the `with` block.

    Args:
        name: Accepted for compatibility.
    """
    handler = UsageMetadataCallbackHandler()
    with listening(handler):
        yield handler
