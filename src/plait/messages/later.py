"""Functions over messages that, called without messages, become a step to be called later."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


def later(function: Callable[..., list[Any]], options: dict[str, Any]) -> Any:
    """A function over messages with its options bound, as a Runnable.

    >>> from plait.messages import HumanMessage, filter_messages, merge_message_runs
    >>> chain = filter_messages(include_types="human") | merge_message_runs()
    >>> [message.text for message in chain.invoke([HumanMessage("a"), HumanMessage("b")])]
    ['a\\nb']
    """
    from plait.runnables.functions import RunnableLambda

    return RunnableLambda(partial(function, **options), name=function.__name__)
