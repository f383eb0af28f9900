"""Handlers: what a user subclasses to hear the events of a run.

Event names and arguments are the field's, so that handlers written for langchain_core work here
unchanged, and need not derive from these classes.
"""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from plait.callbacks.mixins import (
    SILENT,
    CallbackManagerMixin,
    ChainManagerMixin,
    LLMManagerMixin,
    RetrieverManagerMixin,
    RunManagerMixin,
    ToolManagerMixin,
)

if TYPE_CHECKING:
    from uuid import UUID

H = TypeVar("H")


class BaseCallbackHandler(
    LLMManagerMixin,
    ChainManagerMixin,
    ToolManagerMixin,
    RetrieverManagerMixin,
    CallbackManagerMixin,
    RunManagerMixin,
):
    """Hears the events of runs. Override the methods of those you care about.

    Every event gets `run_id` and `parent_run_id`; start events also get `tags`, `metadata` and
    `name`. Class attributes steer delivery:

    - `raise_error`: an exception of the handler fails the run; else it is logged.
    - `run_inline`: an async manager calls the handler on the event loop, in order with the run,
      instead of on a thread.
    - `wants_tokens`: a chat model that can stream does so even when it is only invoked, so that
      the handler hears each token (`on_llm_new_token`).
    - `ignore_*`: the events of that kind are not delivered. Properties may say so too.

    >>> class Names(BaseCallbackHandler):
    ...     def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
    ...         print("start", name)
    >>> from plait.runnables import RunnableLambda
    >>> RunnableLambda(str.upper, name="shout").invoke("hi", {"callbacks": [Names()]})
    start shout
    'HI'
    """

    raise_error: bool = False
    run_inline: bool = False
    wants_tokens: bool = False
    if TYPE_CHECKING:  # Any: a class may define a property in their place, as LangChain has them
        ignore_llm: Any
        ignore_chat_model: Any
        ignore_chain: Any
        ignore_agent: Any
        ignore_retriever: Any
        ignore_retry: Any
        ignore_custom_event: Any
    else:  # no annotations: a handler that is a pydantic model too would take them for its fields
        ignore_llm = ignore_chat_model = ignore_chain = ignore_agent = False
        ignore_retriever = ignore_retry = ignore_custom_event = False


class TokenListener(BaseCallbackHandler):
    """A handler that wants tokens: models that can stream do so, langchain_core's too.

    Besides the other events it may define `on_chain_stream(chunk, *, run_id, ...)`: a run yielded a
    chunk of its output.
    """

    wants_tokens = True

    def tap_output_iter(self, run_id: "UUID", output: Any) -> Any:
        """What langchain_core knows such a handler by; the output goes on as it is."""
        return output

    def tap_output_aiter(self, run_id: "UUID", output: Any) -> Any:
        """The async twin of `tap_output_iter`."""
        return output


def _awaitable(kind: type[H]) -> type[H]:
    """The class with its silent events as coroutines, for subclasses that await `super()`.

    Each says that it is silent: nobody starts a loop or a thread to call it. A chat model's start
    stays as it is: it sends who calls it to `on_llm_start`.
    """
    for name in dir(kind):
        if name.startswith("on_") and name != "on_chat_model_start":
            setattr(kind, name, _coroutine(getattr(kind, name)))
    return kind


def _coroutine(event: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(event)
    async def silent(self: Any, *args: Any, **kwargs: Any) -> Any:
        return event(self, *args, **kwargs)

    setattr(silent, SILENT, True)
    return silent


@_awaitable
class AsyncCallbackHandler(BaseCallbackHandler):
    """A handler whose events are coroutines: override any method with `async def`.

    A sync run awaits them too, on an event loop of its own.

    >>> class Ends(AsyncCallbackHandler):
    ...     async def on_chain_end(self, outputs, **kwargs):
    ...         await super().on_chain_end(outputs, **kwargs)
    ...         print("end", outputs)
    >>> from plait.runnables import RunnableLambda
    >>> RunnableLambda(str.upper).invoke("hi", {"callbacks": [Ends()]})
    end HI
    'HI'
    """
