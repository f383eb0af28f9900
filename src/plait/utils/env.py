"""Settings and secrets from the environment, and what is said when they are not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plait.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import SecretStr

_REQUIRED: Any = object()


def env_var_is_set(env_var: str) -> bool:
    """Whether an environment variable says yes: anything but nothing, 0 and false."""
    return os.environ.get(env_var, "") not in ("", "0", "false", "False")


def get_from_env(key: str, env_key: str, default: str | None = None) -> str:
    """The value of an environment variable.

    Args:
        key: What callers know it by, for the error.
        env_key: The variable; an empty one counts as not set.
        default: The value where it is not set.

    Raises:
        ConfigError: It is not set, and there is no default.

    >>> get_from_env("model", "NO_SUCH_VARIABLE", "tiny")
    'tiny'
    """
    value = os.environ.get(env_key) or default
    if value is None:
        raise ConfigError(
            f"There is no {key}. Set the environment variable {env_key}, or pass {key}=..."
        )
    return value


def get_from_dict_or_env(
    data: Mapping[str, Any], key: str | Sequence[str], env_key: str, default: str | None = None
) -> str:
    """The first value in a dict under one of the keys, else that of an environment variable.

    Raises:
        ConfigError: There is neither, and no default.

    >>> get_from_dict_or_env({"name": "tiny"}, ["model", "name"], "NO_SUCH_VARIABLE")
    'tiny'
    """
    keys = [key] if isinstance(key, str) else list(key)
    found = next((data[one] for one in keys if data.get(one)), None)
    return found if found is not None else get_from_env(keys[0], env_key, default)


def from_env(
    key: str | Sequence[str],
    /,
    *,
    default: str | None = _REQUIRED,
    error_message: str | None = None,
) -> Callable[[], str | None]:
    """A function that looks a value up when it is called: a `default_factory` of pydantic fields.

    Args:
        key: The environment variable, or several of which the first that is set counts.
        default: The value where none is set.
        error_message: What is said where none is set and there is no default.

    >>> from_env(["NO_SUCH_VARIABLE", "NOR_THIS"], default="tiny")()
    'tiny'
    """
    keys = [key] if isinstance(key, str) else list(key)

    def look_up() -> str | None:
        """The value.

        Raises:
            ConfigError: There is none.
        """
        found = next((os.environ[one] for one in keys if one in os.environ), default)
        if found is _REQUIRED:
            several = " or ".join(keys)
            raise ConfigError(
                error_message or f"No value: set the environment variable {several}, or pass one."
            )
        return found

    return look_up


def secret_from_env(
    key: str | Sequence[str],
    /,
    *,
    default: str | None = _REQUIRED,
    error_message: str | None = None,
) -> Callable[[], SecretStr | None]:
    """`from_env` whose value is a secret: it does not show when it is printed.

    >>> secret_from_env("NO_SUCH_VARIABLE", default="hush")()
    SecretStr('**********')
    """
    look_up = from_env(key, default=default, error_message=error_message)

    def look_up_secret() -> SecretStr | None:
        """The secret."""
        found = look_up()
        return None if found is None else convert_to_secret_str(found)

    return look_up_secret


def convert_to_secret_str(value: SecretStr | str) -> SecretStr:
    """A text as pydantic's `SecretStr`; one that is a secret stays as it is."""
    from pydantic import SecretStr  # loaded by who has secrets

    return value if isinstance(value, SecretStr) else SecretStr(value)


__all__ = [
    "convert_to_secret_str",
    "env_var_is_set",
    "from_env",
    "get_from_dict_or_env",
    "get_from_env",
    "secret_from_env",
]
