"""`Secret`: a key, by the name of an environment variable or as it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, cast

from plait.errors import ConfigError
from plait.haystack.errors import DeserializationError, reading


class SecretType(Enum):
    """How a secret is held."""

    TOKEN = "token"
    ENV_VAR = "env_var"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Secret:
    """A key. Made by `from_env_var` or `from_token`; only the former can be serialized.

    >>> Secret.from_env_var("OPENAI_API_KEY").to_dict()["env_vars"]
    ['OPENAI_API_KEY']
    """

    env_vars: tuple[str, ...] = ()
    strict: bool = True
    token: str | None = field(default=None, repr=False)

    @staticmethod
    def from_token(token: str) -> Secret:
        """The key itself.

        Raises:
            ConfigError: It is empty.
        """
        if not token:
            raise ConfigError("Authentication token cannot be empty.")
        return Secret(token=token)

    @staticmethod
    def from_env_var(env_vars: str | Sequence[str], *, strict: bool = True) -> Secret:
        """The key that the first of these environment variables that is set holds.

        Args:
            env_vars: Their names.
            strict: Raise if none is set.

        Raises:
            ConfigError: No name is given.
        """
        names = (env_vars,) if isinstance(env_vars, str) else tuple(env_vars)
        if not names:
            raise ConfigError("Secret.from_env_var needs the name of an environment variable.")
        return Secret(names, strict)

    @property
    def type(self) -> SecretType:
        """Whether it is the key itself, or where the key is."""
        return SecretType.ENV_VAR if self.token is None else SecretType.TOKEN

    def resolve_value(self) -> str | None:
        """The key.

        Raises:
            ConfigError: No variable is set, and one must be.
        """
        if self.token is not None:
            return self.token
        found = next((value for name in self.env_vars if (value := os.getenv(name))), None)
        if found is None and self.strict:
            raise ConfigError(
                f"None of the following authentication environment variables are set: "
                f"{self.env_vars}"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain data.

        Raises:
            ConfigError: It is the key itself, which must not be written anywhere.
        """
        if self.token is not None:
            raise ConfigError(
                "Cannot serialize token-based secret. Use Secret.from_env_var instead."
            )
        return {"type": "env_var", "env_vars": list(self.env_vars), "strict": self.strict}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Secret:
        """From plain data.

        Raises:
            DeserializationError: It is damaged, or of another kind.
        """
        with reading(cls):
            if data.get("type") != "env_var":
                raise DeserializationError(f"Unknown kind of secret: {data.get('type')!r}")
            return cls(tuple(data["env_vars"]), data.get("strict", True))


def deserialize_secrets_inplace(
    data: dict[str, Any], keys: Iterable[str], *, recursive: bool = False
) -> None:
    """Read the secrets under some keys of serialized data, and put them there.

    Args:
        data: The data.
        keys: Where secrets are.
        recursive: Look into the dicts inside, too.

    Raises:
        DeserializationError: One is of another kind.
    """
    wanted = set(keys)
    for key, value in data.items():
        if key in wanted and value is not None:
            data[key] = Secret.from_dict(value)
        elif recursive and isinstance(value, dict):
            deserialize_secrets_inplace(cast("dict[str, Any]", value), wanted, recursive=True)


__all__ = ["Secret", "SecretType", "deserialize_secrets_inplace"]
