"""`Secret`: a key, by the name of an environment variable or as it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plait.errors import ConfigError
from plait.haystack.errors import DeserializationError


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
        """
        return Secret((env_vars,) if isinstance(env_vars, str) else tuple(env_vars), strict)

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
            DeserializationError: It is of another kind.
        """
        if data.get("type") != "env_var":
            raise DeserializationError(f"Unknown kind of secret: {data.get('type')!r}")
        return cls(tuple(data["env_vars"]), data.get("strict", True))


def deserialize_secrets_inplace(data: dict[str, Any], keys: Iterable[str]) -> None:
    """Read the secrets under some keys of serialized data, and put them there.

    Raises:
        DeserializationError: One is of another kind.
    """
    for key in keys:
        if data.get(key) is not None:
            data[key] = Secret.from_dict(data[key])


__all__ = ["Secret", "deserialize_secrets_inplace"]
