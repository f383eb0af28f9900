"""Which provider a name of a model means, and which class serves it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from plait.errors import ConfigError, nearest

CLASSES = {
    "openai": ("plait.chat_models.openai.model", "ChatOpenAI"),
    "anthropic": ("plait.chat_models.anthropic.model", "ChatAnthropic"),
    "google": ("plait.chat_models.google.model", "ChatGoogle"),
}
SPELLINGS = {
    "google_genai": "google",
    "google-genai": "google",
    "gemini": "google",
    "google_vertexai": "google",
}
"""Other names of a provider, by what LangChain calls it."""

PREFIXES = (
    (("gpt-", "o1", "o3", "o4", "chatgpt", "text-davinci"), "openai"),
    (("claude",), "anthropic"),
    (("gemini", "gemma"), "google"),
)
"""How the names of a provider's models begin."""


class UnknownProviderError(ConfigError):
    """A model's name says no provider that plait knows."""


def split_name(model: str, provider: str | None = None) -> tuple[str, str]:
    """The provider and the model that a name means.

    Args:
        model: "provider:model", or a model whose name shows its provider.
        provider: The provider, if it is known apart.

    Raises:
        UnknownProviderError: Neither says which provider (a ValueError, too).

    >>> split_name("openai:gpt-5"), split_name("claude-sonnet-4-5")
    (('openai', 'gpt-5'), ('anthropic', 'claude-sonnet-4-5'))
    """
    head, colon, tail = model.partition(":")
    if provider is None and colon and canonical(head) in CLASSES:
        provider, model = head, tail
    elif provider is not None and colon and canonical(head) == canonical(provider):
        model = tail
    if provider is None:
        lowered = model.lower()
        provider = next((p for starts, p in PREFIXES if lowered.startswith(starts)), None)
    if provider is None:
        hint = nearest(head, CLASSES) if colon else f"Known: {', '.join(CLASSES)}."
        raise UnknownProviderError(
            f"Unable to infer the model provider of {model!r}. Write 'provider:model', or give "
            f"model_provider=... {hint}"
        )
    found = canonical(provider)
    if found not in CLASSES:
        raise UnknownProviderError(
            f"Unsupported model provider {provider!r} (of the model {model!r}). "
            f"{nearest(provider, CLASSES)} A server that speaks OpenAI's protocol is "
            "'openai:<model>' with base_url=..."
        )
    return found, model


def canonical(provider: str) -> str:
    """The one spelling of a provider."""
    lowered = provider.lower()
    return SPELLINGS.get(lowered, lowered.replace("-", "_"))


def make(model: str, provider: str | None, kwargs: dict[str, Any]) -> Any:
    """The chat model of a name.

    Raises:
        UnknownProviderError: The name says no provider that plait knows.
    """
    found, name = split_name(model, provider)
    module, kind = CLASSES[found]
    if (provider is not None and "vertex" in provider.lower()) or model.startswith(
        "google_vertexai:"
    ):
        kwargs = {"vertexai": True, **kwargs}
    return getattr(import_module(module), kind)(model=name, **kwargs)


__all__ = ["UnknownProviderError", "split_name"]
