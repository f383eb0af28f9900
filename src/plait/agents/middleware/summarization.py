"""`SummarizationMiddleware`: what was said long ago is replaced by a summary of it."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any
from warnings import warn

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.internal_call_transformer import (
    InternalCallTransformer,
    internal_call,
)
from plait.agents.middleware.options import check_functions, check_limits, check_texts
from plait.agents.middleware.retrying import default_retry_on
from plait.agents.middleware.sizes import (
    ContextSize,
    TokenCounter,
    Trigger,
    TriggerClause,
    checked_size,
    clauses_of,
    reported_tokens,
    tokens_of,
    tuned,
    unscaled,
    window_of,
)
from plait.chat_models.base import BaseChatModel
from plait.chat_models.guests import as_chat_model, is_langchain_model, is_overflow
from plait.common.ids import new_id
from plait.errors import ConfigError, nearest
from plait.graph.message import REMOVE_ALL_MESSAGES
from plait.messages import HumanMessage, RemoveMessage
from plait.messages.buffer import get_buffer_string
from plait.messages.foreign import kind_of
from plait.messages.tokens import count_tokens_approximately
from plait.messages.trim import trim_messages
from plait.runnables.base import coerce_to_runnable
from plait.runnables.retry import RunnableRetry
from plait.runtime import Runtime

_CALL = internal_call("summarization")

DEFAULT_SUMMARY_PROMPT = """\
The conversation below is about to be dropped. Your notes will stand in its place, and are all \
that whoever goes on with the work will know of it. Write down, under these headings, what is \
needed to go on; write "none" where there is nothing:

GOAL: what the user wants.
FACTS: what was found out, decided and agreed, with the reasons; names, numbers and paths as they \
were said.
DONE: what has been done and must not be done again; files and other things that were made or \
changed.
NEXT: what is left to do.

Reply with the notes alone.

<conversation>
{messages}
</conversation>"""
PREFIX = "Summary of the conversation so far:\n\n"
KEEP: ContextSize = ("messages", 20)
_ATTEMPTS = 3
_CUT = "\n\n[... left out: too long ...]\n\n"
_OLDER = {
    "max_tokens_before_summary": ("trigger", "tokens"),
    "messages_to_keep": ("keep", "messages"),
}


class SummarizationMiddleware(AgentMiddleware[Any, Any, Any]):
    """Replaces older messages by a summary when the conversation gets long.

    A tool call and its results stay together. Errors of the summary's model are tried again, up to
    three attempts; an error that stays is raised, and the messages remain as they were.

    Args:
        model: whose window matters, and who writes the summary: a chat model or "provider:name".
        trigger: when to summarize: a size, ("messages", 50), ("tokens", 3000) or ("fraction", 0.8)
            of the model's window; a dict of sizes that must all be reached; or a list of these, of
            which one is enough (None: never).
        keep: how much of the newest messages stays.
        token_counter: counts the tokens of messages (default: an estimate, tuned to the model, and
            scaled by what its last answer cost).
        summary_prompt: with the place `{messages}`; other braces are doubled.
        trim_tokens_to_summarize: how many tokens of the older messages are read, the newest of them
            first (None: all).
        summarizer: who writes the summary instead: another chat model or "provider:name", or a
            function or runnable that takes the older messages and returns the summary.
        older: the deprecated `max_tokens_before_summary` and `messages_to_keep`.

    Raises:
        ConfigError: a size or another option is none, or a fraction of a window whose size the
            model does not say; or the prompt has no place for the messages, or another one.
        TypeError: an unknown argument.

    >>> from plait.chat_models.fake import FakeListChatModel
    >>> from plait.messages import AIMessage
    >>> middleware = SummarizationMiddleware(
    ...     FakeListChatModel(responses=["They said hello."]),
    ...     trigger=("messages", 3),
    ...     keep=("messages", 1),
    ... )
    >>> talk = [HumanMessage("hi"), AIMessage("hello"), HumanMessage("and now?")]
    >>> [m.text for m in middleware.before_model({"messages": talk}, None)["messages"][1:]]
    ['Summary of the conversation so far:\\n\\nThey said hello.', 'and now?']
    """

    transformers = (InternalCallTransformer,)

    def __init__(
        self,
        model: Any,
        *,
        trigger: Trigger | None = None,
        keep: ContextSize = KEEP,
        token_counter: TokenCounter = count_tokens_approximately,
        summary_prompt: str = DEFAULT_SUMMARY_PROMPT,
        trim_tokens_to_summarize: int | None = 4000,
        summarizer: Any = None,
        **older: Any,
    ) -> None:
        super().__init__()
        check_texts(summary_prompt=summary_prompt)
        check_functions(token_counter=token_counter)
        check_limits(trim_tokens_to_summarize=trim_tokens_to_summarize)
        _check_prompt(summary_prompt)
        given = _renamed(older)
        self.model = as_chat_model(model)
        wanted = trigger if trigger is not None else given.get("trigger")
        self._clauses = clauses_of(wanted)
        self.trigger = deepcopy(wanted)
        self.keep = checked_size(given.get("keep", keep) if keep == KEEP else keep, "keep")
        self.token_counter = tuned(token_counter, self.model)
        self.summary_prompt = summary_prompt
        self.trim_tokens_to_summarize = trim_tokens_to_summarize
        for size in (self.keep, *(size for clause in self._clauses for size in clause)):
            tokens_of(size, self.model)  # a fraction of what nobody knows is told here
        self._is_prompted = summarizer is None or _is_model(summarizer)
        self._window: int | None = None
        self.summarizer = None if self._is_prompted else coerce_to_runnable(summarizer)
        """Who writes the summary and is given the messages; None: a model that is prompted."""
        if self._is_prompted:
            writer = self.model if summarizer is None else as_chat_model(summarizer)
            self._window = window_of(writer)
            self._writer: Any = RunnableRetry(
                writer, retry_exception_types=_may_pass, max_attempt_number=_ATTEMPTS
            )
        else:
            self._writer = self.summarizer

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Summarize if the conversation is long."""
        split = self._split(state["messages"])
        if split is None:
            return None
        older, newer = split
        asked = self._asked(older)
        try:
            said = self._writer.invoke(asked, _CALL)
        except Exception as error:
            if not (self._is_prompted and is_overflow(error)):
                raise
            said = self._writer.invoke(self._asked(older, cut=True), _CALL)
        return self._update(said, newer)

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The async twin of `before_model`."""
        split = self._split(state["messages"])
        if split is None:
            return None
        older, newer = split
        asked = self._asked(older)
        try:
            said = await self._writer.ainvoke(asked, _CALL)
        except Exception as error:
            if not (self._is_prompted and is_overflow(error)):
                raise
            said = await self._writer.ainvoke(self._asked(older, cut=True), _CALL)
        return self._update(said, newer)

    # --- when, and what --------------------------------------------------------------------------

    def _split(self, messages: list[Any]) -> tuple[list[Any], list[Any]] | None:
        """The messages to summarize and those to keep; None if it is not time."""
        if not self._is_time(messages):
            return None
        for message in messages:
            message.id = message.id or new_id()
        place = _whole(messages, self._place(messages))
        return (messages[:place], messages[place:]) if place > 0 else None

    def _is_time(self, messages: Sequence[Any]) -> bool:
        if not self._clauses:
            return False
        needs_tokens = any(size[0] != "messages" for clause in self._clauses for size in clause)
        counted = self.token_counter(messages) if needs_tokens else 0
        reported = reported_tokens(messages, self.model) if needs_tokens else 0

        def reached(size: ContextSize) -> bool:
            limit = tokens_of(size, self.model)
            return len(messages) >= size[1] if limit is None else max(counted, reported) >= limit

        return any(all(map(reached, clause)) for clause in self._clauses)

    def _place(self, messages: Sequence[Any]) -> int:
        """Where the messages that stay begin."""
        limit = tokens_of(self.keep, self.model)
        if limit is None:
            return len(messages) - int(self.keep[1])
        count = unscaled(self.token_counter)
        low, high = 0, len(messages) - 1  # the last message stays, however long
        while low < high:
            middle = (low + high) // 2
            if count(messages[middle:]) <= limit:
                high = middle
            else:
                low = middle + 1
        return low

    # --- the summary -----------------------------------------------------------------------------

    def _asked(self, older: list[Any], *, cut: bool = False) -> Any:
        """What the writer of the summary is given; if `cut`, without the middle."""
        found = self._trimmed(older)
        if not self._is_prompted:
            return found
        text = get_buffer_string(found, format="xml")
        if cut:
            end = min(len(text) // 4, len(text) if self._window is None else self._window)
            text = f"{text[:end]}{_CUT}{text[-end:]}"  # of the window, about half
        return self.summary_prompt.format(messages=text).rstrip()

    def _trimmed(self, older: list[Any]) -> list[Any]:
        """The newest of the messages that fit, from one of the user's on if that can be."""
        if self.trim_tokens_to_summarize is None:
            return older
        for start_on in ("human", None):
            found = trim_messages(
                older,
                max_tokens=self.trim_tokens_to_summarize,
                token_counter=self.token_counter,
                start_on=start_on,
                include_system=True,
                allow_partial=True,
            )
            if found:
                return found
        return older[-1:]

    def _update(self, said: Any, newer: list[Any]) -> dict[str, Any]:
        text = said.text if self._is_prompted else said
        if not isinstance(text, str):
            raise TypeError(
                f"The summarizer must return the summary as a str, got {type(said).__name__}."
            )
        summary = HumanMessage(
            PREFIX + text.strip(), additional_kwargs={"lc_source": "summarization"}
        )
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *newer]}


def _renamed(older: dict[str, Any]) -> dict[str, Any]:
    """The arguments that older spellings stand for.

    Raises:
        TypeError: a spelling is unknown.
    """
    found: dict[str, Any] = {}
    for name, value in older.items():
        if name not in _OLDER:
            raise TypeError(
                f"SummarizationMiddleware has no argument {name!r}. "
                f"{nearest(name, ['trigger', 'keep', 'summary_prompt', 'summarizer'])}"
            )
        argument, unit = _OLDER[name]
        warn(
            f"{name}= is deprecated: use {argument}=({unit!r}, {value!r}).",
            DeprecationWarning,
            stacklevel=3,
        )
        if value is not None or argument == "keep":
            found[argument] = (unit, value)
    return found


def _check_prompt(prompt: str) -> None:
    """Refuse a prompt that could not be filled, or would not show the messages."""
    there = "the messages"
    try:
        filled = prompt.format(messages=there)
    except (LookupError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"summary_prompt has a brace that is no place {{messages}} ({error}). Write {{{{ and "
            "}} for the signs themselves."
        ) from error
    if there not in filled:
        raise ConfigError(
            "summary_prompt has no place {messages}: the model would not see what it is to "
            "summarize."
        )


def _is_model(summarizer: Any) -> bool:
    """Whether it is prompted, and not just called with the messages."""
    return isinstance(summarizer, (str, BaseChatModel)) or is_langchain_model(summarizer)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, Exception) and default_retry_on(error)


def _whole(messages: Sequence[Any], place: int) -> int:
    """A place that parts no results from their calls: at the calls, or behind the results."""
    if place <= 0 or kind_of(messages[place]) != "tool":
        return place
    end = place
    while end < len(messages) and kind_of(messages[end]) == "tool":
        end += 1
    wanted = {message.tool_call_id for message in messages[place:end]}
    for at in range(place - 1, -1, -1):
        message = messages[at]
        if kind_of(message) == "ai" and wanted & {call["id"] for call in message.tool_calls}:
            return at
    return end


__all__ = ["DEFAULT_SUMMARY_PROMPT", "SummarizationMiddleware", "TriggerClause"]
