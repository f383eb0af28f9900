"""`BaseLanguageModel`: what chat models and text models share: fields, token counts, what is told.

Handlers hear of a run through a manager; it is made only when somebody listens.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, cast
from warnings import warn

from plait.callbacks.context import has_listeners, inherited_config, is_heard_here
from plait.errors import MissingExtraError, UncountedToolsWarning
from plait.objects.fields import AnnotatedFields
from plait.runnables.base import Output, Runnable
from plait.runnables.config import RunnableConfig

if TYPE_CHECKING:
    from plait.callbacks import BaseCallbackManager

M = TypeVar("M", bound="BaseCallbackManager")


class LangSmithParams(TypedDict, total=False):
    """What tracers are told of a model: what `_get_ls_params` gives, and a subclass may add to."""

    ls_provider: str
    ls_model_name: str
    ls_model_type: Literal["chat", "llm"]
    ls_temperature: float | None
    ls_max_tokens: int | None
    ls_stop: list[str] | None
    ls_integration: str


LS_PARAMS = {
    "ls_model_name": ("model", "model_name"),
    "ls_temperature": ("temperature",),
    "ls_max_tokens": ("max_tokens",),
}
"""What tracers ask for, and the fields or arguments that may hold it."""


class BaseLanguageModel(AnnotatedFields, Runnable[Any, Output], init=False):
    """A model of language. Annotated fields of a subclass are its keyword arguments.

    Args:
        name: The name that handlers see.
        cache: A `BaseCache` for this model's answers; True: the one of `set_llm_cache`, which must
            be there; False: none; None: the one of `set_llm_cache`, if there is one.
        verbose: Kept for programs written for the peer; nothing reads it.
        callbacks: Handlers that hear this model's own runs.
        tags: Tags of this model's runs.
        metadata: Metadata of this model's runs.
        custom_get_token_ids: A function from text to token ids, for `get_token_ids`.
    """

    __plait_unwritten__ = (
        *("cache", "callbacks", "custom_get_token_ids", "metadata", "tags", "verbose"),
    )

    name: str | None = None
    cache: Any = None
    verbose: bool = False
    callbacks: Any = None
    tags: list[str] | None = None
    metadata: builtins.dict[str, Any] | None = None  # `dict` is a method here
    custom_get_token_ids: Callable[[str], list[int]] | None = None

    @property
    def InputType(self) -> Any:
        """A text, a prompt, or messages."""
        from plait.messages import AnyMessage
        from plait.prompt_values import ChatPromptValueConcrete, StringPromptValue

        return str | StringPromptValue | ChatPromptValueConcrete | list[AnyMessage]

    @property
    def OutputType(self) -> Any:
        """A message."""
        from plait.messages import AnyMessage  # only schemas ask

        return AnyMessage

    _run_type = "chat"

    @property
    def _llm_type(self) -> str:
        """What kind of model this is, for handlers."""
        return type(self).__name__

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        """What tells this model from others of its kind, for handlers and caches."""
        return {}

    def get_token_ids(self, text: str) -> list[int]:
        """The token ids of a text.

        Raises:
            MissingExtraError: The model has no tokenizer of its own, and none was given.
        """
        if self.custom_get_token_ids is not None:
            return self.custom_get_token_ids(text)
        raise MissingExtraError(
            f"{type(self).__name__} knows no tokenizer. Give it one (custom_get_token_ids=...), or "
            "estimate with plait.messages.count_tokens_approximately."
        )

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[Any, Any]:
        """This model, made to answer in a form: chat models can be.

        Raises:
            NotImplementedError: This one answers with text.
        """
        raise NotImplementedError(
            f"{type(self).__name__} answers with text, so it cannot be made to answer in a form. "
            "Use a chat model, or put an output parser after it: model | JsonOutputParser()."
        )

    def get_num_tokens(self, text: str) -> int:
        """How many tokens a text is."""
        return len(self.get_token_ids(text))

    def get_num_tokens_from_messages(
        self, messages: Sequence[Any], tools: Sequence[Any] | None = None
    ) -> int:
        """How many tokens messages are, each as its text with the role before it.

        Args:
            messages: What to count.
            tools: Not counted: an `UncountedToolsWarning` says so.

        Raises:
            MissingExtraError: The model has no tokenizer (see `get_token_ids`).
        """
        from plait.messages.buffer import get_buffer_string  # few programs count

        if tools is not None:
            warn(
                f"{type(self).__name__}.get_num_tokens_from_messages(tools=...) counts the "
                "messages alone. plait.messages.count_tokens_approximately(messages, tools=...) "
                "estimates both.",
                UncountedToolsWarning,
                stacklevel=2,
            )
        return sum(self.get_num_tokens(get_buffer_string([message])) for message in messages)

    def asdict(self) -> dict[str, Any]:
        """What identifies the model, with its type under `_type`."""
        return {**self._identifying_params, "_type": self._llm_type}

    def _get_invocation_params(
        self, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """What a call is made with, for handlers and caches."""
        return {**self.asdict(), "stop": stop, **kwargs}

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        """The part of a cache's key that says which model answers, and how it is asked."""
        return str(sorted(self._get_invocation_params(stop, **kwargs).items()))

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        """What tracers want to know of the model, by the field's names (`ls_model_name`, ...)."""
        name = type(self).__name__
        if self._run_type == "llm":
            provider = name.removesuffix("LLM")
        else:
            provider = name.removeprefix("Chat").removesuffix("Chat")
        found: dict[str, Any] = {"ls_provider": provider.lower(), "ls_model_type": self._run_type}
        if stop:
            found["ls_stop"] = stop
        for key, names in LS_PARAMS.items():
            for name in names:
                value = kwargs.get(name, getattr(self, name, None))
                if isinstance(value, (str, int, float)):
                    found[key] = value
                    break
        return cast("LangSmithParams", found)

    def _is_heard(self, config: Mapping[str, Any]) -> bool:
        return bool(self.callbacks) or has_listeners(config)

    def _is_heard_under(self, config: Mapping[str, Any] | None) -> bool:
        """Whether anybody hears a call with this config, or with what it inherits."""
        if config is None:
            return bool(self.callbacks) or is_heard_here()
        if self.callbacks or has_listeners(config):
            return True
        around = inherited_config()
        return around is not config and has_listeners(around)

    def _model_manager(
        self,
        kind: type[M],
        config: RunnableConfig,
        stop: list[str] | None,
        kwargs: dict[str, Any],
    ) -> M:
        return kind.configure(
            config.get("callbacks"),
            self.callbacks,
            inheritable_tags=config.get("tags"),
            local_tags=self.tags,
            inheritable_metadata={
                **config.get("metadata", {}),
                **self._get_ls_params(stop=stop, **kwargs),
            },
            local_metadata=self.metadata,
        )

    def _model_details(
        self,
        config: RunnableConfig,
        stop: list[str] | None,
        kwargs: dict[str, Any],
        batch_size: int = 1,
    ) -> dict[str, Any]:
        return {
            "invocation_params": self._get_invocation_params(stop, **kwargs),
            "options": {"stop": stop},
            "name": config.get("run_name"),
            "batch_size": batch_size,
        }

    def _serialized(self) -> dict[str, Any]:
        kind = type(self)
        return {
            "lc": 1,
            "type": "not_implemented",
            "id": [*kind.__module__.split("."), kind.__qualname__],
            "repr": repr(self),
            "name": self.get_name(),
        }

    # The last one: in a class, annotations after it would take `dict` for this method.
    def dict(self, **_kwargs: Any) -> Mapping[str, Any]:
        """`asdict`, under its older name."""
        return self.asdict()


def listening_config(
    callbacks: Any,
    tags: list[str] | None,
    metadata: Mapping[str, Any] | None,
    run_name: str | None,
) -> RunnableConfig:
    """The config that the arguments of `generate` amount to."""
    config: dict[str, Any] = {
        "callbacks": callbacks,
        "tags": tags,
        "metadata": dict(metadata or {}),
    }
    if run_name is not None:
        config["run_name"] = run_name
    return {key: value for key, value in config.items() if value}  # pyright: ignore[reportReturnType]


LanguageModelLike: TypeAlias = Runnable[Any, Any]
"""A model, or a chain that does for one."""

__all__ = ["BaseLanguageModel", "LangSmithParams", "LanguageModelLike"]
