"""Embeddings of providers, by their official SDKs: `init_embeddings("openai:...")`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from plait.chat_models.openai.address import address
from plait.embeddings import Embeddings
from plait.errors import InvalidStoreOpError, MissingExtraError, nearest

Vectors = list[list[float]]


class RemoteEmbeddings(Embeddings):
    """Embeddings of a provider.

    Args:
        model: The model's name at the provider.
        dimensions: How long a vector is, where the model lets one choose.
        batch_size: How many texts one request carries.
        timeout: Seconds to wait for an answer.
        max_retries: How often a failed request is repeated.
        api_key: The key; None: the provider's environment variable.
        base_url: Another server that speaks the provider's protocol.
    """

    provider: ClassVar[str]
    sdk: ClassVar[str]

    def __init__(
        self,
        model: str,
        *,
        dimensions: int | None = None,
        batch_size: int = 100,
        timeout: float | None = None,
        max_retries: int = 2,
        api_key: str | None = None,
        base_url: str | None = None,
    ) -> None:
        self.model = model
        self.dimensions = dimensions
        self.batch_size = batch_size
        self.timeout = timeout
        self.max_retries = max_retries
        self.api_key = api_key
        self.base_url = base_url
        self._client: Any = None
        self._aclients: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r})"

    def _make_client(self, sdk: Any, is_async: bool) -> Any:
        raise NotImplementedError

    def _send(self, client: Any, texts: Sequence[str], query: bool) -> Any:
        raise NotImplementedError

    def _vectors(self, answer: Any) -> Vectors:
        raise NotImplementedError

    def embed_documents(self, texts: list[str]) -> Vectors:
        """One vector for each text that will be searched."""
        return self._embed(texts, query=False)

    def embed_query(self, text: str) -> list[float]:
        """The vector of what is searched for."""
        return self._embed([text], query=True)[0]

    async def aembed_documents(self, texts: list[str]) -> Vectors:
        """The async twin of `embed_documents`."""
        return await self._aembed(texts, query=False)

    async def aembed_query(self, text: str) -> list[float]:
        """The async twin of `embed_query`."""
        return (await self._aembed([text], query=True))[0]

    def _embed(self, texts: list[str], query: bool) -> Vectors:
        if self._client is None:
            self._client = self._make_client(self._load(), is_async=False)
        found: Vectors = []
        for part in self._parts(texts):
            found += self._vectors(self._send(self._client, part, query))
        return found

    async def _aembed(self, texts: list[str], query: bool) -> Vectors:
        loop = asyncio.get_running_loop()
        client = self._aclients.get(loop)
        if client is None:
            client = self._aclients[loop] = self._make_client(self._load(), is_async=True)
        found: Vectors = []
        for part in self._parts(texts):
            found += self._vectors(await self._send(client, part, query))
        return found

    def _parts(self, texts: list[str]) -> list[list[str]]:
        size = self.batch_size
        return [texts[start : start + size] for start in range(0, len(texts), size)]

    def _load(self) -> Any:
        try:
            return import_module(self.sdk)
        except ImportError as error:
            raise MissingExtraError(
                f"{self.provider}:{self.model} needs a package that is not installed: "
                f"pip install 'plait[{self.provider}]'."
            ) from error


class OpenAIEmbeddings(RemoteEmbeddings):
    """Embeddings of OpenAI, or of a server that speaks its protocol."""

    provider: ClassVar[str] = "openai"
    sdk: ClassVar[str] = "openai"

    def _make_client(self, sdk: Any, is_async: bool) -> Any:
        where = address(self.base_url)
        settings = {"api_key": self.api_key, "base_url": where, "timeout": self.timeout}
        given = {name: value for name, value in settings.items() if value is not None}
        make = sdk.AsyncOpenAI if is_async else sdk.OpenAI
        return make(max_retries=self.max_retries, **given)

    def _send(self, client: Any, texts: Sequence[str], query: bool) -> Any:
        more = {} if self.dimensions is None else {"dimensions": self.dimensions}
        return client.embeddings.create(
            model=self.model, input=list(texts), encoding_format="float", **more
        )

    def _vectors(self, answer: Any) -> Vectors:
        return [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]


class GoogleEmbeddings(RemoteEmbeddings):
    """Embeddings of Google; what is searched for and what is searched are embedded apart."""

    provider: ClassVar[str] = "google"
    sdk: ClassVar[str] = "google.genai"

    def _make_client(self, sdk: Any, is_async: bool) -> Any:
        http: dict[str, Any] = {"retry_options": {"attempts": self.max_retries + 1}}
        if self.base_url is not None:
            http["base_url"] = self.base_url
        if self.timeout is not None:
            http["timeout"] = int(self.timeout * 1000)
        key = {} if self.api_key is None else {"api_key": self.api_key}
        client = sdk.Client(http_options=http, **key)
        return client.aio if is_async else client

    def _send(self, client: Any, texts: Sequence[str], query: bool) -> Any:
        config: dict[str, Any] = {"task_type": "RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT"}
        if self.dimensions is not None:
            config["output_dimensionality"] = self.dimensions
        return client.models.embed_content(model=self.model, contents=list(texts), config=config)

    def _vectors(self, answer: Any) -> Vectors:
        return [item.values for item in answer.embeddings]


CLASSES: dict[str, type[RemoteEmbeddings]] = {
    "openai": OpenAIEmbeddings,
    "google": GoogleEmbeddings,
    "google_genai": GoogleEmbeddings,
}


def init_embeddings(model: str, *, provider: str | None = None, **kwargs: Any) -> Embeddings:
    """Embeddings by their name. The provider's SDK is imported with the first text.

    Args:
        model: "provider:name", with a provider of openai or google (or google_genai).
        provider: The provider, if the name does not say it.
        kwargs: `dimensions`, `batch_size`, `timeout`, `max_retries`, `api_key`, `base_url`.

    Raises:
        InvalidStoreOpError: No provider that plait knows (a ValueError, too).

    >>> init_embeddings("openai:text-embedding-3-small")
    OpenAIEmbeddings(model='text-embedding-3-small')
    """
    if provider is None:
        provider, colon, name = model.partition(":")
        if not colon:
            raise InvalidStoreOpError(
                f"Embeddings {model!r} have no provider. Write 'provider:model'. "
                f"Known: {', '.join(CLASSES)}."
            )
    else:
        name = model.removeprefix(f"{provider}:")
    kind = CLASSES.get(provider)
    if kind is None or not name:
        raise InvalidStoreOpError(
            f"Embeddings {model!r}: provider {provider!r} is not supported. "
            f"{nearest(provider, CLASSES)} Or give the embeddings themselves, or a function."
        )
    return kind(name, **kwargs)


__all__ = ["GoogleEmbeddings", "OpenAIEmbeddings", "RemoteEmbeddings", "init_embeddings"]
