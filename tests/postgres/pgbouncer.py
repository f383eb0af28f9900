"""A real PgBouncer before a server of the tests: it lends a connection for each transaction."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from .server import NoServer, Server, name_of, new_name

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
CONNECTIONS = 3
"""How many connections to the server all clients of a database share."""

_CONFIG = """
[databases]
* = {server}
[pgbouncer]
pool_mode = transaction
default_pool_size = {connections}
auth_type = any
listen_port = 6432
unix_socket_dir = {folder}
logfile = {folder}/log
"""


class PgBouncer(Server):
    """A server behind a PgBouncer, as tests see it.

    Each test gets a database of its own, not a schema: a pooler passes no `search_path` on.
    """

    def __init__(self, server: Server) -> None:
        super().__init__(server.url)
        if PROGRAM is None:
            raise NoServer("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
        self._folder = Path(mkdtemp(prefix="plait-pgbouncer-"))
        config = self._folder / "pgbouncer.ini"
        config.write_text(
            _CONFIG.format(server=_target(server.url), connections=CONNECTIONS, folder=self._folder)
        )
        self._user = server.user or ("nobody" if os.getuid() == 0 else None)  # it refuses root
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        assert PROGRAM is not None
        process = subprocess.Popen([PROGRAM, "-q", "pgbouncer.ini"], cwd=self._folder,
                                   user=self._user, stderr=subprocess.DEVNULL)  # fmt: skip
        deadline = monotonic() + 60
        while True:
            try:
                psycopg.connect(self._through("postgres")).close()
            except psycopg.OperationalError as error:
                if process.poll() is not None or monotonic() > deadline:
                    log = self._folder / "log"
                    told = log.read_text() if log.exists() else ""
                    raise NoServer(f"no pgbouncer starts here: {error}\n{told}") from error
                sleep(0.02)
            else:
                return process

    def _through(self, name: str) -> str:
        folder = quote(str(self._folder))
        return f"postgresql://tester@/{name}?host={folder}&port=6432&application_name={name}"

    @property
    def restarts(self) -> bool:
        """Tests may stop the pooler."""
        return True

    def past(self, url: str) -> str:
        """The URL of the same database, not through the pooler."""
        return make_conninfo(self.url, dbname=name_of(url))

    def connections(self, url: str) -> int:
        """How many connections a database has, on the server's side of the pooler."""
        name = name_of(url)
        return self.execute(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'")[0][0]

    def restart(self) -> None:
        """Stop the pooler, cutting all connections, and start it again."""
        self._end()
        self._process = self._start()

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new and empty database, through the pooler."""
        name = new_name()
        self.execute(f"CREATE DATABASE {name}")
        yield self._through(name)
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def stop(self) -> None:
        """End the pooler; the server is its maker's."""
        super().stop()
        self._end()
        shutil.rmtree(self._folder)

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait()


def _target(url: str) -> str:
    """What a PgBouncer must know of a server, for any database of it."""
    known = conninfo_to_dict(url)
    names = ("host", "port", "user", "password")
    return make_conninfo(**{name: known[name] for name in names if known.get(name)})
