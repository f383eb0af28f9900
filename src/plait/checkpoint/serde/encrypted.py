"""`EncryptedSerializer`: values encrypted with AES-256-GCM, under keys that have ids.

    from plait.checkpoint.serde.encrypted import EncryptedSerializer
    saver = SqliteSaver("threads.db", serde=EncryptedSerializer.from_keys({"2026": key}))

Every saver takes it. plait's own savers encrypt whole records: values of channels, writes of tasks,
metadata, how they hang together. What stays readable: ids, names of channels, sizes and times. The
place of a record (thread, namespace, checkpoint, channel) and its kind are the cipher's associated
data, so that a ciphertext that was moved opens nowhere. A record that was changed or moved, that
was encrypted under a key that is not known, or that was never encrypted, is refused.

Other savers, and LangGraph's interface, know no places: there it encrypts single values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, cast

from plait.checkpoint.serde.base import CipherProtocol, SerializerProtocol, allowing
from plait.checkpoint.serde.jsonplus import JsonPlusSerializer
from plait.common.reflection import signature
from plait.errors import ConfigError, ConfigTypeError, CorruptCheckpointError, MissingExtraError

if TYPE_CHECKING:
    from typing import Self

_NONCE = 12
_PRINT = 32
"""Bytes of the digest of what a record is bound to, for ciphers that take no associated data."""
_SIZES = (16, 24, 32)
_MOST_OF_ID = 60
"""Characters: the cipher's name with the id has room for 255 bytes in a record."""
_ID = re.compile(rf"[^:+\ud800-\udfff]{{1,{_MOST_OF_ID}}}", re.DOTALL)
ENVIRONMENT = "PLAIT_AES_KEY"
"""Where `from_env` finds the key; the peer's `LANGGRAPH_AES_KEY` is read as well."""


class AesGcmCipher:
    """AES-GCM under the newest of several keys; the ciphertext's name says which.

    Args:
        keys: Key id to 16, 24 or 32 bytes. The last one encrypts; all decrypt. To rotate, add a
            key at the end, and drop the old one when nothing stored under it is needed any more.

    Raises:
        ConfigError: No key, what is none or has another size, or an id with ":" or "+" in it.
        MissingExtraError: The package cryptography is not installed.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                "AesGcmCipher, and so EncryptedSerializer, needs cryptography, which is not "
                "installed. Install it: pip install 'plait[encrypt]'."
            ) from error

        if not keys:
            raise ConfigError('AesGcmCipher needs a key: {"1": os.urandom(32)}.')
        _check_keys(keys)
        self._keys = {id: AESGCM(key) for id, key in keys.items()}
        self._newest = list(keys)[-1]

    def encrypt(self, plaintext: bytes, bound: bytes = b"") -> tuple[str, bytes]:
        """The cipher's name, with the key's id, and the nonce with the ciphertext.

        Args:
            plaintext: What to encrypt.
            bound: What the ciphertext belongs to; `decrypt` must be given the same.
        """
        name = f"aesgcm:{self._newest}"
        nonce = os.urandom(_NONCE)
        sealed = self._keys[self._newest].encrypt(nonce, plaintext, _associated(name, bound))
        return name, nonce + sealed

    def decrypt(self, ciphername: str, ciphertext: bytes, bound: bytes = b"") -> bytes:
        """The plaintext.

        Raises:
            CorruptCheckpointError: The key is unknown, or the ciphertext is not what it made.
        """
        from cryptography.exceptions import InvalidTag

        kind, _, id = ciphername.partition(":")
        key = self._keys.get(id)
        if kind != "aesgcm" or key is None:
            raise CorruptCheckpointError(
                f"A stored value was encrypted by {ciphername!r}; this serializer has the keys "
                f"{list(self._keys)}. Add the key it names."
            )
        try:
            associated = _associated(ciphername, bound)
            return key.decrypt(ciphertext[:_NONCE], ciphertext[_NONCE:], associated)
        except (InvalidTag, ValueError) as error:
            raise CorruptCheckpointError(
                f"A stored value cannot be decrypted with key {id!r}: it is damaged, was changed, "
                "was moved here from another place, or the key is not the one that encrypted it."
            ) from error


def _check_keys(keys: Any) -> None:
    """Refuse what are no keys with ids. Neither is shown: a key may stand where an id belongs."""
    if not isinstance(keys, Mapping):
        raise ConfigTypeError(
            f"AesGcmCipher takes a dict from key ids to keys, not a value of type "
            f'{type(keys).__name__}: {{"1": os.urandom(32)}}.'
        )
    for place, (id, key) in enumerate(cast("Mapping[Any, Any]", keys).items(), 1):
        if not isinstance(id, str) or not isinstance(key, (bytes, bytearray, memoryview)):
            raise ConfigTypeError(
                f"Key {place} is of type {type(key).__name__} and its id of type "
                f'{type(id).__name__}; ids are texts and keys bytes: {{"1": os.urandom(32)}}.'
            )
        if (size := len(bytes(cast("bytes", key)))) not in _SIZES:
            raise ConfigError(
                f"Key {place} has {size} bytes; AES takes 16, 24 or 32, such as os.urandom(32)."
            )
        if not _ID.fullmatch(id):
            raise ConfigError(
                f"The id of key {place}: use 1 to {_MOST_OF_ID} letters and digits, without ':' "
                "and '+'."
            )


def _associated(name: str, bound: bytes) -> bytes:
    """What a ciphertext is bound to: no two pairs give the same bytes."""
    raw = name.encode()
    return raw if not bound else raw + b"\0" + bound


class RecordGuard:
    """Encrypts whole records, each bound to its kind and place (see `envelope.Guard`).

    Its payloads begin with the cipher's name: one byte of length, then the name.
    """

    def __init__(self, cipher: CipherProtocol) -> None:
        self._cipher: Any = cipher
        self._binds = all(
            "bound" in signature(f).parameters for f in (cipher.encrypt, cipher.decrypt)
        )

    def close(self, payload: bytes, bound: bytes) -> bytes:
        """The payload, encrypted.

        Raises:
            ConfigError: The cipher's name is too long.
        """
        if self._binds:
            name, sealed = self._cipher.encrypt(payload, bound)
        else:
            name, sealed = self._cipher.encrypt(_fingerprint(bound) + payload)
        raw = name.encode()
        if len(raw) > 255:
            raise ConfigError(f"The cipher's name {name!r:.40} is longer than 255 bytes.")
        return bytes([len(raw)]) + raw + sealed

    def open(self, payload: bytes, bound: bytes) -> bytes:
        """The payload of what `close` gave.

        Raises:
            CorruptCheckpointError: It was changed or moved, or its key is unknown.
        """
        size = payload[0] + 1 if payload else 1
        try:
            name = payload[1:size].decode()
        except UnicodeDecodeError as error:
            raise _moved() from error
        if self._binds:
            return self._cipher.decrypt(name, payload[size:], bound)
        plain: bytes = self._cipher.decrypt(name, payload[size:])
        if not compare_digest(plain[:_PRINT], _fingerprint(bound)):
            raise _moved()
        return plain[_PRINT:]


def _fingerprint(bound: bytes) -> bytes:
    return blake2b(bound, digest_size=_PRINT, person=b"plait place").digest()


def _moved() -> CorruptCheckpointError:
    return CorruptCheckpointError(
        "A stored record cannot be decrypted: it is damaged, or was moved here from another place. "
        "Restore the database from a backup."
    )


class EncryptedSerializer:
    """Encrypts what another serializer gives.

    Args:
        cipher: Encrypts and decrypts bytes.
        serde: What values become before they are encrypted (None: plait's codec).

    >>> serde = EncryptedSerializer.from_keys({"1": bytes(32)})
    >>> tag, data = serde.dumps_typed({"secret": 1})
    >>> tag, b"secret" in data, serde.loads_typed((tag, data))
    ('plait+aesgcm:1', False, {'secret': 1})
    """

    def __init__(self, cipher: CipherProtocol, serde: SerializerProtocol | None = None) -> None:
        self.cipher = cipher
        self.serde: SerializerProtocol = JsonPlusSerializer() if serde is None else serde
        self.guard = RecordGuard(cipher)
        """What plait's own savers encrypt by."""

    @classmethod
    def from_keys(
        cls, keys: Mapping[str, bytes], serde: SerializerProtocol | None = None
    ) -> EncryptedSerializer:
        """A serializer over AES-GCM: key id to key, the newest last (see `AesGcmCipher`)."""
        return cls(AesGcmCipher(keys), serde)

    @classmethod
    def from_env(cls, serde: SerializerProtocol | None = None) -> EncryptedSerializer:
        """A serializer with the key of the environment: `id=hex` pairs, newest last, separated by
        commas, in PLAIT_AES_KEY; or the peer's one raw key in LANGGRAPH_AES_KEY.

        Raises:
            ConfigError: There is none, or it cannot be read.
        """
        text = os.environ.get(ENVIRONMENT)
        if text is None:
            raw = os.environ.get("LANGGRAPH_AES_KEY")
            if raw is None:
                raise ConfigError(f"Set {ENVIRONMENT}, such as 1={'00' * 4}... (64 hex digits).")
            return cls.from_keys({"1": raw.encode()}, serde)
        keys: dict[str, bytes] = {}
        for place, pair in enumerate(text.split(","), 1):
            id, _, digits = pair.strip().partition("=")
            try:
                key = bytes.fromhex(digits)
            except ValueError:
                key = b""
            if not (id and key):  # not shown: there may be a key in it
                raise ConfigError(
                    f"{ENVIRONMENT} holds id=hex pairs, separated by commas, such as "
                    f"1={'00' * 4}... (64 hex digits). Pair {place} is not one."
                )
            if id in keys:
                raise ConfigError(
                    f"{ENVIRONMENT} holds two keys under the id {id!r}. Give each its own: what "
                    "the other has encrypted could not be read."
                )
            keys[id] = key
        return cls.from_keys(keys, serde)

    @classmethod
    def from_pycryptodome_aes(
        cls, serde: SerializerProtocol | None = None, **kwargs: Any
    ) -> EncryptedSerializer:
        """The peer's name: `key=` is the key, else the environment's.

        The bytes are not the peer's, and the library is `cryptography`.

        Raises:
            ConfigError: Another argument than `key`, or no key.
        """
        key = kwargs.pop("key", None)
        if kwargs:
            raise ConfigError(
                f"from_pycryptodome_aes() takes key=; {list(kwargs)} would have no effect: the "
                "mode is GCM, and each value has a nonce of its own."
            )
        return cls.from_env(serde) if key is None else cls.from_keys({"1": key}, serde)

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[Any]) -> Self:
        """A copy whose serializer also knows these classes (see `JsonPlusSerializer`); this one
        where there are none, or what it encrypts comes from a serializer of another kind."""
        return allowing(self, extra_allowlist)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The value, encrypted; the tag names its format, the cipher and the key."""
        tag, data = self.serde.dumps_typed(obj)
        name, sealed = self.cipher.encrypt(data)
        return f"{tag}+{name}", sealed

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of what `dumps_typed` gave.

        Raises:
            CorruptCheckpointError: It is not encrypted, is damaged, or its key is unknown.
        """
        tag, plus, name = data[0].partition("+")
        if not plus:
            raise CorruptCheckpointError(
                f"A stored value ({tag!r}) is not encrypted, and this serializer reads nothing "
                "else. It was stored before encryption was turned on, or put there by somebody."
            )
        return self.serde.loads_typed((tag, self.cipher.decrypt(name, data[1])))


__all__ = ["AesGcmCipher", "CipherProtocol", "EncryptedSerializer"]
