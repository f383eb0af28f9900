"""`OpenAIChatGenerator`: OpenAI's models, and all that speak its protocol, as a chat generator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

from plait.chat_models.openai import ChatOpenAI
from plait.chat_models.openai.model import schema_form
from plait.errors import NotSupportedError
from plait.haystack.components import default_to_dict, reading_component
from plait.haystack.generators import ChatModelGenerator, reply_of
from plait.haystack.messages import ChatMessage
from plait.haystack.secrets import Secret, deserialize_secrets_inplace
from plait.haystack.streaming import StreamingCallbackT
from plait.haystack.tools import (
    ToolsType,
    write_parameters,
)

KEY = Secret.from_env_var("OPENAI_API_KEY")


class OpenAIChatGenerator(ChatModelGenerator):
    """A model of OpenAI, by the official SDK.

    Args:
        api_key: The key; by default what `OPENAI_API_KEY` holds.
        model: The model.
        streaming_callback: Hears the answer as it comes.
        api_base_url: Another server that speaks the protocol.
        organization: The organization that pays.
        generation_kwargs: Arguments of each call: `temperature`, `max_completion_tokens`, ...;
            `response_format` may be a pydantic class.
        timeout: Seconds; by default `OPENAI_TIMEOUT`, or 30.
        max_retries: By default `OPENAI_MAX_RETRIES`, or 5.
        tools: Tools that it may call.
        tools_strict: Make arguments fit their schema.
        http_client_kwargs: Not supported; here since Haystack's data has it.

    Raises:
        ConfigError: There is no key.
        ToolDefinitionError: Two tools have the same name, or something is no tool.
        NotSupportedError: There are http_client_kwargs.
    """

    def __init__(
        self,
        api_key: Secret = KEY,
        model: str = "gpt-4o-mini",
        streaming_callback: StreamingCallbackT | None = None,
        api_base_url: str | None = None,
        organization: str | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        tools: ToolsType | None = None,
        tools_strict: bool = False,
        http_client_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if http_client_kwargs:
            raise NotSupportedError(
                "OpenAIChatGenerator takes no http_client_kwargs: the SDK makes its own client. "
                "It reads proxies and certificates from HTTPS_PROXY and SSL_CERT_FILE."
            )
        self.api_key = api_key
        self.api_base_url = api_base_url
        self.organization = organization
        self.timeout = timeout
        self.max_retries = max_retries
        self.tools_strict = tools_strict
        wait = float(os.environ.get("OPENAI_TIMEOUT", 30)) if timeout is None else timeout
        again = int(os.environ.get("OPENAI_MAX_RETRIES", 5)) if max_retries is None else max_retries
        chat_model = ChatOpenAI(
            model=model,
            api_key=api_key.resolve_value(),
            base_url=api_base_url,
            organization=organization,
            timeout=wait,
            max_retries=again,
            stream_usage=False,  # as Haystack's: some servers refuse what they do not know
        )
        super().__init__(chat_model, streaming_callback, generation_kwargs, tools)
        self.model = model

    def run(
        self,
        messages: Sequence[ChatMessage],
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        *,
        tools: ToolsType | None = None,
        tools_strict: bool | None = None,
    ) -> dict[str, Any]:
        """Answer a conversation.

        Args:
            messages: The conversation.
            streaming_callback: Instead of the generator's.
            generation_kwargs: Added to the generator's.
            tools: Instead of the generator's.
            tools_strict: Instead of the generator's.

        Returns:
            `replies`.
        """
        one = super(OpenAIChatGenerator, self._with_strict(tools_strict))
        return one.run(messages, streaming_callback, generation_kwargs, tools=tools)

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        streaming_callback: StreamingCallbackT | None = None,
        generation_kwargs: dict[str, Any] | None = None,
        *,
        tools: ToolsType | None = None,
        tools_strict: bool | None = None,
    ) -> dict[str, Any]:
        """The async twin of `run`."""
        one = super(OpenAIChatGenerator, self._with_strict(tools_strict))
        return await one.run_async(messages, streaming_callback, generation_kwargs, tools=tools)

    def _with_strict(self, tools_strict: bool | None) -> OpenAIChatGenerator:
        if tools_strict is None or tools_strict == self.tools_strict:
            return self
        other = copy(self)
        other.tools_strict = tools_strict
        return other

    def _asked(
        self, tools: ToolsType | None, generation_kwargs: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        model, asked = super()._asked(tools, generation_kwargs)
        return model, _with_form(asked)

    def _with_tools(self, specs: list[dict[str, Any]]) -> Any:
        return self._chat_model.bind_tools(specs, strict=True if self.tools_strict else None)

    def _answers(self, model: Any, given: list[Any], asked: dict[str, Any]) -> list[ChatMessage]:
        if asked.get("n", 1) == 1:
            return super()._answers(model, given, asked)
        bound = getattr(model, "kwargs", {})
        return _candidates(self._chat_model.generate([given], **bound, **asked))

    async def _aanswers(
        self, model: Any, given: list[Any], asked: dict[str, Any]
    ) -> list[ChatMessage]:
        if asked.get("n", 1) == 1:
            return await super()._aanswers(model, given, asked)
        bound = getattr(model, "kwargs", {})
        return _candidates(await self._chat_model.agenerate([given], **bound, **asked))

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        Raises:
            ConfigError: The key is no environment variable's.
            SerializationError: A tool or the callback has no such form.
        """
        return default_to_dict(
            self,
            model=self.model,
            api_base_url=self.api_base_url,
            organization=self.organization,
            generation_kwargs=_with_form(self.generation_kwargs),
            api_key=self.api_key.to_dict(),
            timeout=self.timeout,
            max_retries=self.max_retries,
            **write_parameters(self.tools, self.streaming_callback),
            tools_strict=self.tools_strict,
            http_client_kwargs=None,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """From plain data.

        Raises:
            DeserializationError: It is damaged, or names something that is not registered.
        """
        with reading_component(cls, data):
            init = dict(data.get("init_parameters", {}))
            deserialize_secrets_inplace(init, ["api_key"])
        return super().from_dict({**data, "init_parameters": init})


def _with_form(generation_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a call whose response format is plain data, of a class its schema."""
    if not isinstance(form := generation_kwargs.get("response_format"), type):
        return generation_kwargs
    return {**generation_kwargs, "response_format": schema_form(form)}


def _candidates(result: Any) -> list[ChatMessage]:
    return [reply_of(one.message, index) for index, one in enumerate(result.generations[0])]


__all__ = ["OpenAIChatGenerator"]
