"""How long a conversation is and may be: in messages, tokens, or shares of a model's window."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from typing_extensions import TypedDict

from plait.agents.middleware.options import check_counts, check_numbers
from plait.errors import ConfigError, ConfigTypeError, nearest
from plait.messages.foreign import kind_of
from plait.messages.tokens import count_tokens_approximately

ContextSize: TypeAlias = (
    tuple[Literal["fraction"], float]
    | tuple[Literal["tokens"], int]
    | tuple[Literal["messages"], int]
)
"""A size: ("messages", 50), ("tokens", 3000), or ("fraction", 0.8) of the model's window."""

TokenCounter = Callable[[Sequence[Any]], int]
UNITS = ("tokens", "messages", "fraction")


class TriggerClause(TypedDict, total=False):
    """Sizes that must all be reached."""

    tokens: int
    messages: int
    fraction: float


Trigger: TypeAlias = ContextSize | TriggerClause | list[ContextSize | TriggerClause]


def checked_size(size: Any, what: str) -> ContextSize:
    """A size, if it is one.

    Args:
        size: what was given.
        what: the name of the argument, for errors.

    Raises:
        ConfigError: it is none.

    >>> checked_size(("tokens", 100), "keep")
    ('tokens', 100)
    """
    if not isinstance(size, tuple) or len(cast("tuple[Any, ...]", size)) != 2:
        raise ConfigTypeError(
            f"{what} must be a pair such as ('messages', 20), ('tokens', 3000) or "
            f"('fraction', 0.3), got {size!r:.200}."
        )
    unit, value = cast("tuple[Any, Any]", size)
    if unit not in UNITS:
        raise ConfigError(f"{what}: unknown unit {unit!r}. {nearest(unit, UNITS)}")
    check_numbers(**{f"{what}, {unit}": value})
    if unit == "fraction" and not 0 < value <= 1:
        raise ConfigError(f"{what}: a fraction is more than 0 and at most 1, got {value!r}.")
    if value <= 0:
        raise ConfigError(f"{what}: {unit} must be more than 0, got {value!r}.")
    return cast("ContextSize", (unit, value))


def clauses_of(trigger: Trigger | None) -> list[list[ContextSize]]:
    """A trigger as clauses, of which any may hold; in each, all sizes must be reached.

    Raises:
        ConfigError: it is no trigger.

    >>> clauses_of([("tokens", 9), {"tokens": 5, "messages": 3}])
    [[('tokens', 9)], [('tokens', 5), ('messages', 3)]]
    """
    if trigger is None:
        return []
    return [_clause(one) for one in (trigger if isinstance(trigger, list) else [trigger])]


def _clause(given: ContextSize | TriggerClause) -> list[ContextSize]:
    if not isinstance(given, Mapping):
        return [checked_size(given, "trigger")]
    if not given:
        raise ConfigError(f"A clause of a trigger needs at least one of {', '.join(UNITS)}.")
    counts = {f"trigger, {unit}": size for unit, size in given.items() if unit != "fraction"}
    sizes = [checked_size(size, "trigger") for size in given.items()]
    check_counts(**counts)
    return sizes


def window_of(model: Any) -> int | None:
    """How many tokens a model takes, as far as its `profile` says."""
    profile = getattr(model, "profile", None)
    size = cast("Any", profile).get("max_input_tokens") if isinstance(profile, Mapping) else None
    return size if isinstance(size, int) else None


def tokens_of(size: ContextSize, model: Any) -> int | None:
    """A size in tokens, at least 1; None for a number of messages.

    Raises:
        ConfigError: it is a fraction, and the model does not say how much it takes.
    """
    unit, value = size
    if unit == "messages":
        return None
    if unit == "tokens":
        return max(1, int(value))
    window = window_of(model)
    if window is None:
        raise ConfigError(
            f"A fraction ({value}) needs to know how many tokens the model takes, and "
            f"{type(model).__name__} does not say. Set its profile={{'max_input_tokens': ...}}, or "
            "give a number of tokens."
        )
    return max(1, int(window * value))


def reported_tokens(messages: Sequence[Any], model: Any) -> int:
    """How many tokens the model's own last answer says that it used; 0 if it does not say."""
    last = next((one for one in reversed(messages) if kind_of(one) == "ai"), None)
    if last is None or last.usage_metadata is None:
        return 0
    provider = last.response_metadata.get("model_provider")
    told = getattr(model, "_get_ls_params", dict[str, Any])().get("ls_provider")
    return last.usage_metadata["total_tokens"] if provider and _is_of(told, provider) else 0


def _is_of(told: str | None, provider: str) -> bool:
    """Whether a model that calls its provider so gives messages that call it otherwise."""
    own = (told or "").removesuffix("-mantle")  # Amazon's endpoints for the models of others
    return provider in (told, own, _IN_MESSAGES.get(own))


_IN_MESSAGES = {"amazon_bedrock": "bedrock_converse"}
"""What messages call a provider, where its models call it otherwise."""


def tuned(counter: TokenCounter, model: Any) -> TokenCounter:
    """An estimate of tokens, tuned to a model; a counter of one's own stays as it is.

    It is scaled up by what the last answer really cost, and counts with the signs of a token that
    the model's provider tells.
    """
    if counter is not count_tokens_approximately:
        return counter
    signs = _SIGNS_PER_TOKEN.get(str(getattr(model, "_llm_type", "")))
    own = {} if signs is None else {"chars_per_token": signs}
    return partial(count_tokens_approximately, use_usage_metadata_scaling=True, **own)


def unscaled(counter: TokenCounter) -> TokenCounter:
    """The counter for a part of a conversation: what the whole has cost says nothing of it."""
    if getattr(counter, "func", None) is not count_tokens_approximately:
        return counter
    return partial(cast("Any", counter), use_usage_metadata_scaling=False)


_SIGNS_PER_TOKEN = {"anthropic-chat": 3.3, "anthropic-chat-vertexai": 3.3}


__all__ = [
    "ContextSize",
    "TokenCounter",
    "Trigger",
    "TriggerClause",
    "checked_size",
    "clauses_of",
    "reported_tokens",
    "tokens_of",
    "tuned",
    "unscaled",
    "window_of",
]
