"""`init_chat_model`: a chat model by its name, fixed now or chosen by each call's config."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload
from warnings import warn

from plait.chat_models.names import make
from plait.errors import ConfigError
from plait.runnables.base import Runnable
from plait.runnables.config import RunnableConfig, ensure_config, merge_configs

if TYPE_CHECKING:
    from plait.chat_models.base import BaseChatModel

QUEUED = ("bind_tools", "with_structured_output")
KEPT = 16
"""How many of the models that configs asked for are kept, with their connections."""


@overload
def init_chat_model(
    model: str,
    *,
    model_provider: str | None = None,
    configurable_fields: None = None,
    config_prefix: str | None = None,
    **kwargs: Any,
) -> BaseChatModel: ...
@overload
def init_chat_model(
    model: None = None,
    *,
    model_provider: str | None = None,
    configurable_fields: Literal["any"] | Sequence[str] | None = None,
    config_prefix: str | None = None,
    **kwargs: Any,
) -> ConfigurableModel: ...
@overload
def init_chat_model(
    model: str | None = None,
    *,
    model_provider: str | None = None,
    configurable_fields: Literal["any"] | Sequence[str],
    config_prefix: str | None = None,
    **kwargs: Any,
) -> ConfigurableModel: ...
def init_chat_model(
    model: str | None = None,
    *,
    model_provider: str | None = None,
    configurable_fields: Literal["any"] | Sequence[str] | None = None,
    config_prefix: str | None = None,
    **kwargs: Any,
) -> BaseChatModel | ConfigurableModel:
    """A chat model by its name. The provider's SDK is imported with the first call.

    Args:
        model: "provider:name" with a provider of openai, anthropic, google (or google_genai); or a
            name that shows its provider ("gpt-...", "claude-...", "gemini-...").
        model_provider: The provider, if the name does not say it.
        configurable_fields: What a call may choose under `config["configurable"]`: names, or "any".
            "any" lets whoever writes the config choose `api_key` and `base_url`, too: never with
            configs from outside. Without a model, its name and provider.
        config_prefix: Their names in the config begin with it and an underscore.
        kwargs: Of the model: `temperature`, `max_tokens`, `timeout`, `max_retries`, `base_url`,
            `rate_limiter`, ... (see `RemoteChatModel`).

    Returns:
        The chat model; with configurable fields, a Runnable that makes it for each call.

    Raises:
        TypeError: `model` is no text.
        UnknownProviderError: No provider that plait knows (a ValueError, too).

    >>> init_chat_model("openai:gpt-5", temperature=0)
    ChatOpenAI(model='gpt-5')
    >>> chosen = init_chat_model()
    >>> chosen.model_for({"configurable": {"model": "anthropic:claude-sonnet-4-5"}})
    ChatAnthropic(model='claude-sonnet-4-5')
    """
    if model is not None and not isinstance(cast("object", model), str):
        raise TypeError(
            f"`model` is a text such as 'openai:gpt-5', not {type(model).__name__}. A model that "
            "is made already is used as it is."
        )
    if not model and not configurable_fields:
        configurable_fields = ("model", "model_provider")
    if not configurable_fields:
        if config_prefix:
            warn(
                f"config_prefix={config_prefix!r} changes nothing: no field can be chosen. Say "
                "which by configurable_fields=(...).",
                stacklevel=2,
            )
        return make(cast("str", model), model_provider, kwargs)
    if model:
        kwargs["model"] = model
    if model_provider:
        kwargs["model_provider"] = model_provider
    prefix = config_prefix or ""
    if prefix and not prefix.endswith("_"):
        prefix += "_"
    return ConfigurableModel(kwargs, configurable_fields, prefix)


class ConfigurableModel(Runnable[Any, Any]):
    """A model that each call's config chooses (see `init_chat_model`).

    Args:
        defaults: What the model is made with unless the config says otherwise.
        fields: What a config may say; "any": all.
        prefix: How their names begin in the config.
        queued: What is asked of the model once it is made: (method, args, kwargs).
        config: What the model's runs have besides (tags, metadata, ...).
    """

    def __init__(
        self,
        defaults: Mapping[str, Any],
        fields: Literal["any"] | Sequence[str],
        prefix: str = "",
        queued: Sequence[tuple[str, Any, dict[str, Any]]] = (),
        config: RunnableConfig | None = None,
    ) -> None:
        self._defaults = dict(defaults)
        self._fields: Any = fields if isinstance(fields, str) else tuple(fields)
        self._prefix = prefix
        self._queued = list(queued)
        self._config = config
        self._made: dict[tuple[Any, ...], Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in QUEUED:
            if not name.startswith("_") and self._defaults.get("model"):
                return getattr(self.model_for(None), name)
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}: which model it is says "
                "the config of each call."
            )

        def queue(*args: Any, **kwargs: Any) -> ConfigurableModel:
            queued = [*self._queued, (name, args, kwargs)]
            return ConfigurableModel(
                self._defaults, self._fields, self._prefix, queued, self._config
            )

        return queue

    def model_for(self, config: RunnableConfig | None) -> Any:
        """The model that a config chooses.

        Raises:
            ConfigError: Neither the config nor the defaults name a model.
        """
        chosen = self._chosen(config)
        key = tuple((name, repr(chosen[name])) for name in sorted(chosen))
        made = self._made.get(key)
        if made is None:
            made = self._make({**self._defaults, **chosen})
            if len(self._made) >= KEPT:
                self._made.pop(next(iter(self._made)), None)
            self._made[key] = made
        return made

    def _make(self, params: dict[str, Any]) -> Any:
        name = params.pop("model", None)
        if name is None:
            raise ConfigError(
                "No model was chosen. Say which in the call's config: "
                f"{{'configurable': {{{self._prefix + 'model'!r}: 'openai:gpt-5'}}}}, or give "
                "init_chat_model a default."
            )
        made = make(name, params.pop("model_provider", None), params)
        for method, args, kwargs in self._queued:
            made = getattr(made, method)(*args, **kwargs)
        return made.with_config(self._config) if self._config else made

    def _chosen(self, config: RunnableConfig | None) -> dict[str, Any]:
        said: dict[str, Any] = ensure_config(config).get("configurable") or {}
        length = len(self._prefix)
        named = {key[length:]: said[key] for key in said if key.startswith(self._prefix)}
        if self._fields == "any":
            # Without a prefix, keys of the engine stand beside those of the model.
            own = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")
            return {k: v for k, v in named.items() if k not in own and not k.startswith("__")}
        return {key: value for key, value in named.items() if key in self._fields}

    def with_config(self, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """This model with a config of its own; what it chooses becomes the default."""
        given: dict[str, Any] = {**(config or {}), **kwargs}
        said: dict[str, Any] = given.get("configurable") or {}
        chosen = self._chosen(given) if said else {}
        defaults = {**self._defaults, **chosen}
        names = {self._prefix + name for name in chosen}
        rest = {k: v for k, v in said.items() if k not in names}
        given = {k: v for k, v in given.items() if k != "configurable"}
        if rest:
            given["configurable"] = rest
        own = merge_configs(self._config, given) if given else self._config
        return ConfigurableModel(defaults, self._fields, self._prefix, self._queued, own)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Invoke the chosen model."""
        return self.model_for(config).invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Invoke the chosen model."""
        return await self.model_for(config).ainvoke(input, config, **kwargs)

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Stream the chosen model."""
        yield from self.model_for(config).stream(input, config, **kwargs)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Stream the chosen model."""
        async for chunk in self.model_for(config).astream(input, config, **kwargs):
            yield chunk


__all__ = ["ConfigurableModel", "init_chat_model"]
