"""`RunnableWithMessageHistory`: a runnable that sees, and adds to, the messages of a session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from plait.common.closing import aclose
from plait.errors import InvalidValueError, MissingVariablesError
from plait.messages import AIMessage, BaseMessage, HumanMessage
from plait.messages.foreign import is_message
from plait.runnables.addable import add_chunks
from plait.runnables.base import Runnable, coerce_to_runnable
from plait.runnables.binding import RunnableBindingBase
from plait.runnables.calling import takes_keyword, takes_nothing
from plait.runnables.config import RunnableConfig, with_entries
from plait.runnables.fields import ConfigurableFieldSpec, get_unique_config_specs
from plait.runnables.functions import RunnableLambda
from plait.runnables.parallel import RunnableParallel
from plait.runnables.passthrough import RunnableAssign

if TYPE_CHECKING:
    from pydantic import BaseModel

_SESSION = ConfigurableFieldSpec(
    id="session_id",
    annotation=str,
    name="Session ID",
    description="Unique identifier for a session.",
    default="",
    is_shared=True,
)


_HISTORY = "message_history"
"""Under this key of the config's `configurable`, what runs inside finds the history."""
_EACH_ALONE: Any = Runnable
"""Its batches invoke with each input, its transforms stream the sum of the chunks."""


class RunnableWithMessageHistory(RunnableBindingBase[Any, Any]):
    """A runnable that gets the messages of a session before its input, and whose output is kept.

    Args:
        runnable: Takes messages, or a dict with messages in it; gives messages, text or a dict.
        get_session_history: From the session's id (or the values of `history_factory_config`, by
            name) to a `plait.chat_history.BaseChatMessageHistory`. One without parameters gives
            the same session to all.
        input_messages_key: The key of the new messages, if the input is a dict.
        output_messages_key: The key of the new messages, if the output is a dict.
        history_messages_key: The key under which the dict gets the earlier messages; without it
            they come before the new ones.
        history_factory_config: What names a session, if not `session_id` alone.
        binding: The other arguments of a binding.

    Raises:
        ValueError: At each call: the config lacks what names the session, or the input or output
            holds no messages where they are looked for.

    >>> from plait.chat_history import InMemoryChatMessageHistory
    >>> from plait.messages import AIMessage
    >>> sessions = {}
    >>> def session(session_id):
    ...     return sessions.setdefault(session_id, InMemoryChatMessageHistory())
    >>> count = RunnableLambda(lambda messages: AIMessage(f"{len(messages)} so far"))
    >>> chat = RunnableWithMessageHistory(count, session)
    >>> ann = {"configurable": {"session_id": "ann"}}
    >>> chat.invoke("hi", ann).content, chat.invoke("hi again", ann).content
    ('1 so far', '3 so far')
    """

    __plait_fields__ = (
        *RunnableBindingBase.__plait_fields__,
        *("get_session_history", "input_messages_key", "output_messages_key"),
        *("history_messages_key", "history_factory_config"),
    )

    def __init__(
        self,
        runnable: Any,
        get_session_history: Callable[..., Any],
        *,
        input_messages_key: str | None = None,
        output_messages_key: str | None = None,
        history_messages_key: str | None = None,
        history_factory_config: Sequence[ConfigurableFieldSpec] | None = None,
        **binding: Any,
    ) -> None:
        if not callable(get_session_history):
            raise InvalidValueError(
                f"get_session_history={get_session_history!r:.200}: give a function that gives "
                "the history of a session."
            )
        self.get_session_history = get_session_history
        self.input_messages_key = input_messages_key
        self.output_messages_key = output_messages_key
        self.history_messages_key = history_messages_key
        self.history_factory_config = list(history_factory_config or [_SESSION])
        self._runnable = coerce_to_runnable(runnable)
        load = RunnableLambda(self._load, self._aload, name="load_history")
        key = history_messages_key or input_messages_key
        first: Runnable[Any, Any] = load
        if key:
            first = RunnableAssign(RunnableParallel({key: load})).with_config(
                run_name="insert_history"
            )
        chain = first | self._runnable
        super().__init__(chain.with_config(run_name="RunnableWithMessageHistory"), **binding)

    def _arguments(self) -> dict[str, Any]:
        own = super()._arguments()
        del own["bound"]
        return {
            **own,
            "runnable": self._runnable,
            "get_session_history": self.get_session_history,
            "input_messages_key": self.input_messages_key,
            "output_messages_key": self.output_messages_key,
            "history_messages_key": self.history_messages_key,
            "history_factory_config": self.history_factory_config,
        }

    def with_config(
        self, config: RunnableConfig | None = None, **kwargs: Any
    ) -> RunnableWithMessageHistory:
        """The same with more config."""
        return self._changed(config={**self.config, **with_entries(config, kwargs)})

    # --- what it says about itself ---------------------------------------------------------------

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What names a session, and what can be configured in the runnable."""
        return get_unique_config_specs([*super().config_specs, *self.history_factory_config])

    @property
    def OutputType(self) -> Any:
        """That of the runnable."""
        return self._runnable.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Messages under their key; without keys, messages or what the runnable takes."""
        from plait.runnables.schemas import fields_model, root_model

        messages = str | BaseMessage | Sequence[BaseMessage]
        name = "RunnableWithChatHistoryInput"
        if self.input_messages_key and self.history_messages_key:
            return fields_model(name, {self.input_messages_key: (messages, ...)})
        if self.input_messages_key:
            return fields_model(name, {self.input_messages_key: (Sequence[BaseMessage], ...)})
        return root_model(name, Sequence[BaseMessage])

    # --- the session -----------------------------------------------------------------------------

    def _session(self, config: RunnableConfig) -> Any:
        """The history that the config names."""
        if takes_nothing(self.get_session_history):
            return self.get_session_history()  # one session, whatever the config names
        given = config.get("configurable", {})
        expected = [spec.id for spec in self.history_factory_config]
        missing = sorted(key for key in expected if key not in given)
        if missing:
            example = dict.fromkeys(missing, "[your-value-here]")
            raise ValueError(
                f"Missing keys {missing} in config['configurable']. Expected keys are "
                f"{sorted(expected)}. Pass a config, such as {{'configurable': {example}}}."
            )
        if len(expected) == 1:
            return self.get_session_history(given[expected[0]])
        unknown = [key for key in expected if not takes_keyword(self.get_session_history, key)]
        if unknown:
            raise ValueError(
                f"get_session_history takes no {', '.join(unknown)}, by which "
                f"history_factory_config names a session: its parameters are to be "
                f"{', '.join(expected)}."
            )
        return self.get_session_history(**{key: given[key] for key in expected})

    def _opened(self, config: RunnableConfig | None) -> tuple[Any, RunnableConfig]:
        """The history of a call, which its config hands on: it is made once, and may hold a
        connection."""
        config = self._config(config)
        session = self._session(config)
        configurable = {**config.get("configurable", {}), _HISTORY: session}
        return session, {**config, "configurable": configurable}

    def _load(self, given: Any, config: RunnableConfig) -> list[BaseMessage]:
        return self._with_history(given, list(_history(config).messages))

    async def _aload(self, given: Any, config: RunnableConfig) -> list[BaseMessage]:
        return self._with_history(given, list(await _history(config).aget_messages()))

    def _with_history(self, given: Any, earlier: list[BaseMessage]) -> list[BaseMessage]:
        return earlier if self.history_messages_key else [*earlier, *self._asked(given)]

    def _asked(self, given: Any) -> list[BaseMessage]:
        return _messages(_part(given, self.input_messages_key, "input"), HumanMessage, "input")

    def _said(self, output: Any) -> list[BaseMessage]:
        return _messages(_part(output, self.output_messages_key, "output"), AIMessage, "output")

    # --- calls -----------------------------------------------------------------------------------

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Invoke the runnable, then keep what was asked and said."""
        session, config = self._opened(config)
        output = self.bound.invoke(input, config, **{**self.kwargs, **kwargs})
        session.add_messages([*self._asked(input), *self._said(output)])
        return output

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Invoke the runnable, then keep what was asked and said."""
        session, config = self._opened(config)
        output = await self.bound.ainvoke(input, config, **{**self.kwargs, **kwargs})
        await session.aadd_messages([*self._asked(input), *self._said(output)])
        return output

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Stream the runnable; keep what was asked and said when the stream ends."""
        session, config = self._opened(config)
        total: Any = None
        for chunk in self.bound.stream(input, config, **{**self.kwargs, **kwargs}):
            total = add_chunks(total, chunk)
            yield chunk
        session.add_messages([*self._asked(input), *self._said(total)])

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Stream the runnable; keep what was asked and said when the stream ends."""
        session, config = self._opened(config)
        total: Any = None
        chunks = self.bound.astream(input, config, **{**self.kwargs, **kwargs})
        try:
            async for chunk in chunks:
                total = add_chunks(total, chunk)
                yield chunk
        finally:
            await aclose(chunks)
        await session.aadd_messages([*self._asked(input), *self._said(total)])

    def transform(
        self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """`stream`, with the sum of the chunks."""
        return _EACH_ALONE.transform(self, input, config, **kwargs)

    def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """`astream`, with the sum of the chunks."""
        return _EACH_ALONE.atransform(self, input, config, **kwargs)

    def batch(self, inputs: Any, config: Any = None, **kwargs: Any) -> list[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Invoke with each input."""
        return _EACH_ALONE.batch(self, inputs, config, **kwargs)

    async def abatch(self, inputs: Any, config: Any = None, **kwargs: Any) -> list[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Invoke with each input."""
        return await _EACH_ALONE.abatch(self, inputs, config, **kwargs)

    def batch_as_completed(self, inputs: Any, config: Any = None, **kwargs: Any) -> Iterator[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Invoke with each input."""
        return _EACH_ALONE.batch_as_completed(self, inputs, config, **kwargs)

    def abatch_as_completed(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, inputs: Any, config: Any = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Invoke with each input."""
        return _EACH_ALONE.abatch_as_completed(self, inputs, config, **kwargs)


def _history(config: RunnableConfig) -> Any:
    return config.get("configurable", {})[_HISTORY]


def _part(whole: Any, key: str | None, usual: str) -> Any:
    """What holds the messages: `whole`, or a value of it if it is a dict."""
    if not isinstance(whole, dict):
        return whole
    parts = cast("dict[str, Any]", whole)
    looked = key or (next(iter(parts)) if len(parts) == 1 else usual)
    if looked not in parts:
        option = f"{usual}_messages_key"
        raise MissingVariablesError(
            f"The {usual} has no key {looked!r}, where messages are looked for; it has "
            f"{', '.join(parts)}. "
            + (f"Pass {option}." if key is None else f"{option}={key!r} says so: name another.")
        )
    return parts[looked]


def _messages(value: Any, kind: Any, what: str) -> list[BaseMessage]:
    if isinstance(value, str):
        return [kind(content=value)]
    if is_message(value):
        return [value]
    if isinstance(value, (list, tuple)):
        items: list[Any] = [*cast("Sequence[Any]", value)]
        if len(items) == 1 and isinstance(items[0], list):
            return _messages(items[0], kind, what)
        if all(map(is_message, items)):
            return items
    raise ValueError(
        f"The {what} holds no messages to keep: expected text, a message or a list of messages, "
        f"got {value!r}"
    )


__all__ = ["RunnableWithMessageHistory"]
