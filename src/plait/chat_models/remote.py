"""`RemoteChatModel`: what the models of all providers share: settings, clients, errors, the calls.

A provider's class says how a request is made, sent and read; this one asks, waits, translates
errors, and gives answers whole or in chunks, sync and async.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from importlib import import_module
from threading import Lock
from typing import Any, ClassVar, Protocol
from weakref import WeakKeyDictionary

from plait.chat_models.base import BaseChatModel
from plait.chat_models.failures import of_no_key
from plait.chat_models.language import LangSmithParams
from plait.chat_models.results import ChatGenerationChunk, ChatResult
from plait.errors import MissingExtraError, ModelConnectionError, ModelError
from plait.messages import AIMessageChunk
from plait.objects.fields import fields_of


class StreamReader(Protocol):
    """Turns the events of one stream into chunks."""

    def read(self, event: dict[str, Any]) -> AIMessageChunk | None:
        """The chunk that an event amounts to, if any."""
        ...

    def finished(self) -> bool:
        """Whether the stream was heard to its end."""
        ...


class RemoteChatModel(BaseChatModel):
    """A model of a provider.

    Args:
        model: Its name at the provider.
        temperature: How free its choice of words is.
        max_tokens: How long an answer may be.
        top_p: The share of likely words that it chooses from.
        stop: Texts at which an answer ends, unless the call says others.
        timeout: Seconds to wait for an answer, or for the next piece of a streamed one.
        max_retries: How often a request that failed for no fault of its own is repeated.
        api_key: The key; None: the provider's environment variable.
        base_url: Another server that speaks the provider's protocol.
        default_headers: Headers of each request.
        streaming: Stream answers that are asked for whole, too: for handlers that hear tokens, and
            servers that do nothing else. False: never stream.
        model_kwargs: Parameters of each request; unknown keyword arguments become such.
    """

    __plait_unwritten__ = ("api_key", "default_headers")

    model: str
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    stop: list[str] | None = None
    timeout: float | None = None
    max_retries: int = 2
    api_key: Any = None
    base_url: str | None = None
    default_headers: dict[str, str] | None = None
    streaming: bool = False
    model_kwargs: dict[str, Any] = {}  # noqa: RUF012 (a field; each instance gets its own)

    provider: ClassVar[str]
    extra: ClassVar[str]
    aliases: ClassVar[Mapping[str, str]] = {
        "model_name": "model",
        "request_timeout": "timeout",
        "stop_sequences": "stop",
    }

    def __init__(self, **values: Any) -> None:
        known = fields_of(type(self))
        named = {self.aliases.get(name, name): value for name, value in values.items()}
        rest = {name: value for name, value in named.items() if name not in known}
        own = {name: value for name, value in named.items() if name in known}
        super().__init__(**own)
        self.model_kwargs = {**self.model_kwargs, **rest}
        self._forget_clients()

    def _forget_clients(self) -> None:
        self._client: Any = None
        self._aclients: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        own = ("_client", "_aclients", "_lock")
        return {name: its for name, its in vars(self).items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget_clients()  # a copy may have another key or address: it makes its own

    def shown_fields(self) -> list[str]:
        """Which model it is; keys and addresses are not shown."""
        return [f"model={self.model!r}"]

    @property
    def profile(self) -> dict[str, Any]:
        """What the model can do. `structured_output`: its provider holds answers to a schema.

        Bind it in OpenAI's form: `model.bind(response_format={"type": "json_schema", ...})`.
        """
        return {"structured_output": self._holds_to_schemas()}

    def _holds_to_schemas(self) -> bool:
        return True

    @property
    def _identifying_params(self) -> dict[str, Any]:
        own = ("model", "temperature", "max_tokens", "top_p", "stop", "base_url", "model_kwargs")
        found = {name: getattr(self, name) for name in own}
        return {name: value for name, value in found.items() if value not in (None, {})}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return {**super()._get_ls_params(stop, **kwargs), "ls_provider": self.provider}

    # --- what a provider's class defines ---

    @abstractmethod
    def _request(
        self, messages: Sequence[Any], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """The arguments of the SDK's call."""

    def _asked(
        self, messages: Sequence[Any], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """The request of a call; whether it streams is settled by the method that was called."""
        kwargs.pop("stream", None)
        return self._request(messages, stop or self.stop, kwargs)

    def _settings(self, names: Sequence[str], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Settings for one call: the model's, unless its arguments name them, which then go."""
        for name in [name for name in kwargs if self.aliases.get(name) in names]:
            kwargs[self.aliases[name]] = kwargs.pop(name)
        return {name: kwargs.pop(name, getattr(self, name)) for name in names}

    @abstractmethod
    def _make_client(self, is_async: bool) -> Any:
        """A client of the SDK."""

    @abstractmethod
    def _send(self, client: Any, request: dict[str, Any]) -> Any:
        """The SDK's answer; with an async client, an awaitable."""

    @abstractmethod
    def _open(self, client: Any, request: dict[str, Any]) -> Any:
        """The SDK's iterator over a streamed answer; with an async client, an awaitable of it."""

    @abstractmethod
    def _plain(self, answer: Any) -> dict[str, Any]:
        """An answer or event of the SDK as plain data."""

    @abstractmethod
    def _read(self, answer: dict[str, Any], request: dict[str, Any]) -> ChatResult:
        """The result in an answer."""

    @abstractmethod
    def _reader(self, request: dict[str, Any]) -> StreamReader:
        """A reader for one streamed answer."""

    @abstractmethod
    def _translated(self, error: Exception) -> Exception | None:
        """plait's error for one of the SDK's; None for others."""

    # --- the calls ---

    def _generate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._asked(messages, stop, kwargs)
        try:
            answer = self._send(self.client, request)
        except Exception as error:
            self._raise(error)
            raise
        return self._result(answer, request)

    async def _agenerate(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._asked(messages, stop, kwargs)
        try:
            answer = await self._send(self.async_client, request)
        except Exception as error:
            self._raise(error)
            raise
        return self._result(answer, request)

    def _result(self, answer: Any, request: dict[str, Any]) -> ChatResult:
        """The result in what the SDK gave.

        Raises:
            ModelError: The SDK gave a text, or nothing: what a page answers that is no API.
        """
        if answer is None or isinstance(answer, str):
            where = f" at {self.base_url}" if self.base_url else ""
            raise ModelError(
                f"What answered{where} for {self.provider}:{self.model} is not the provider's API. "
                f"It said: {answer!r:.200}. Look at base_url, and at proxies.",
                provider=self.provider,
                model=self.model,
            )
        return self._read(self._plain(answer), request)

    def _stream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        request = self._asked(messages, stop, kwargs)
        reader = self._reader(request)
        events = self._events(request)
        try:
            for event in events:
                if (chunk := reader.read(event)) is not None:
                    yield ChatGenerationChunk(chunk)
        finally:
            events.close()
        self._check_end(reader)

    async def _astream(
        self,
        messages: list[Any],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        request = self._asked(messages, stop, kwargs)
        reader = self._reader(request)
        events = self._aevents(request)
        try:
            async for event in events:
                if (chunk := reader.read(event)) is not None:
                    yield ChatGenerationChunk(chunk)
        finally:
            await events.aclose()
        self._check_end(reader)

    def _events(self, request: dict[str, Any]) -> Generator[dict[str, Any], None, None]:
        """The events of a stream as plain data; the connection closes with the generator."""
        try:
            stream = self._open(self.client, request)
            try:
                for event in stream:
                    yield self._plain(event)
            finally:
                if hasattr(stream, "close"):
                    stream.close()
        except Exception as error:
            self._raise(error)
            raise

    async def _aevents(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """The async twin of `_events`."""
        try:
            stream = await self._open(self.async_client, request)
            try:
                async for event in stream:
                    yield self._plain(event)
            finally:
                close = getattr(stream, "close", None) or getattr(stream, "aclose", None)
                if close is not None:
                    await close()
        except Exception as error:
            self._raise(error)
            raise

    def _check_end(self, reader: StreamReader) -> None:
        if not reader.finished():
            raise ModelConnectionError(
                f"The answer of {self.provider}:{self.model} broke off: its stream ended without "
                "the provider's last event. Ask again.",
                provider=self.provider,
                model=self.model,
            )

    def _raise(self, error: Exception) -> None:
        """Raises plait's error for one of the SDK's; leaves others to the caller."""
        translated = self._translated(error) or of_no_key(error, self.provider, self.model)
        if translated is not None:
            raise translated from error

    # --- clients ---

    @property
    def client(self) -> Any:
        """The SDK's sync client, made with the first call."""
        if self._client is None:
            with self._lock:
                if self._client is None:
                    self._client = self._make_client(is_async=False)
        return self._client

    @property
    def async_client(self) -> Any:
        """The SDK's async client of the running event loop (its connections belong to one)."""
        loop = asyncio.get_running_loop()
        client = self._aclients.get(loop)
        if client is None:
            client = self._aclients[loop] = self._make_client(is_async=True)
        return client

    def _sdk(self, module: str) -> Any:
        """The provider's SDK.

        Raises:
            MissingExtraError: It is not installed.
        """
        try:
            return import_module(module)
        except ImportError as error:
            raise MissingExtraError(
                f"{self.provider}:{self.model} needs the package {module!r}, which is not "
                f"installed. Install it: pip install 'plait[{self.extra}]'."
            ) from error

    def _secret(self) -> Any:
        """The key as text; pydantic's SecretStr is opened."""
        reveal = getattr(self.api_key, "get_secret_value", None)
        return self.api_key if reveal is None else reveal()


__all__ = ["RemoteChatModel", "StreamReader"]
