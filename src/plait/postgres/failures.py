"""What went wrong at the server, in our words: which errors are drops, which may be tried again."""

from __future__ import annotations

from typing import Any

import psycopg
import psycopg_pool
from psycopg import errors

from plait.common.sql import no_text
from plait.errors import ConfigError, StorageError, StorageUnavailableError

_ROLLED_BACK = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)
_TIME_LIMITS = {"57014", "55P03", "25P03", "25P04", "57P05"}
"""The server's codes for what it gives up after a statement_timeout, lock_timeout and the like."""


def dropped(error: BaseException, conn: Any) -> bool:
    """Whether the connection broke, so that nobody knows what the server still did."""
    return isinstance(error, psycopg.Error) and conn.closed


def rolled_back(error: BaseException) -> bool:
    """Whether the server gave up a transaction because of another one; trying again may do."""
    return isinstance(error, _ROLLED_BACK)


def explain(error: Exception, where: str) -> Exception:
    """An error of psycopg as one of ours, with what to do next."""
    text = " ".join(str(error).split())
    if isinstance(error, UnicodeEncodeError):
        return no_text(error, where)
    if isinstance(error, psycopg_pool.PoolTimeout):
        return StorageUnavailableError(
            f"{where}: no connection came free in time ({text}). Either the server cannot be "
            "reached, or all connections are in use: then give the saver a larger pool "
            "(`max_connections`). Nothing of this call was stored."
        )
    if isinstance(error, psycopg_pool.PoolClosed):
        return StorageUnavailableError(
            f"{where}: {text}. Open the pool that was given before the first call (`with pool:`, "
            "`async with pool:`, or `open()`), and keep it open as long as what it was given to is "
            "used. Nothing of this call was stored."
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return StorageUnavailableError(
            f"{where}: {text}. Let a role that may create tables call `setup()` once, then grant "
            "this one the use of the tables and functions whose names begin with plait_."
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StorageUnavailableError(
            f"{where} can only be read ({text}): it is a standby, or default_transaction_read_only "
            "is set. Nothing of this call was stored. Connect to the primary; in a connection "
            "string with several hosts, target_session_attrs=read-write finds it."
        )
    if isinstance(error, errors.InvalidSchemaName):
        return StorageUnavailableError(
            f"{where}: {text}. No schema of its search_path exists. Create one, or name another; a "
            "connection string does so by ?options=-csearch_path%3Dagents."
        )
    if isinstance(error, errors.UntranslatableCharacter | errors.CharacterNotInRepertoire):
        return StorageError(
            f"{where} cannot hold a text ({text}). Nothing of this call was stored. Names of "
            "threads, namespaces and keys may be any text in a database with ENCODING 'UTF8'."
        )
    if getattr(error, "sqlstate", None) in _TIME_LIMITS:
        return StorageUnavailableError(
            f"{where} gave up a call ({text}). Nothing of it was stored. Where this was a limit of "
            "time, give the role more, for example by ALTER ROLE agent SET statement_timeout = "
            "'1min'; others are lock_timeout, transaction_timeout, "
            "idle_in_transaction_session_timeout and idle_session_timeout."
        )
    if isinstance(error, errors.ProgramLimitExceeded):
        return StorageError(
            f"{where} cannot hold something of that size ({text}). Nothing was stored. "
            "The name of a thread, namespace or key may have 2,500 bytes, or more where it can be "
            "compressed; all that is stored at once may have 1 GB. Keep what is larger in files, "
            "and their names in the state."
        )
    if isinstance(error, errors.DiskFull | errors.OutOfMemory):
        return StorageUnavailableError(f"{where}: {text}. Nothing of this call was stored.")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StorageUnavailableError(
            f"{where} cannot be used ({text}). Check that the server runs and that the connection "
            "string is right; then go on with the thread: what was acknowledged is stored."
        )
    return StorageError(f"{where} refused a statement ({type(error).__name__}: {text}).")


def unreadable(why: str) -> ConfigError:
    """The error of what is no connection string; it may hold a password, so it is not shown."""
    return ConfigError(
        f"The Postgres connection string cannot be used: {why}. Write "
        "postgresql://user:password@host:5432/database (of SQLAlchemy's postgresql+psycopg:// "
        "leave out the +psycopg, and its own options), or host=... dbname=... user=...; in a URL, "
        "write the password as urllib.parse.quote(password, safe='') does. It is not shown here, "
        "since it may hold a password."
    )


def other_encoding(where: str, encoding: bytes | None) -> ConfigError:
    """The error of a connection given by the user whose texts are not in UTF-8."""
    name = (encoding or b"no encoding").decode()
    return ConfigError(
        f"{where}: the connection that was given speaks {name}, and names of threads and keys are "
        "UTF-8. Open it with client_encoding='UTF8', or give a connection string."
    )


def transaction_open(where: str) -> ConfigError:
    """The error of a connection given by the user that is in a transaction of his."""
    return ConfigError(
        f"{where}: the connection that was given has a transaction open, so nothing stored here "
        "would last. Commit it or roll it back first, or give a connection with autocommit=True, "
        "a pool, or a connection string."
    )


def pipeline_open(where: str) -> ConfigError:
    """The error of a connection given by the user that is in pipeline mode."""
    return ConfigError(
        f"{where}: the connection that was given is in pipeline mode, where no answer comes before "
        "the pipeline ends. Call graphs outside of `with conn.pipeline()`, or give another "
        "connection, a pool, or a connection string."
    )
