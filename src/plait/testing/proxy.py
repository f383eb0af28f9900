"""`PostgresProxy`: stands between a program and its Postgres server, and cuts, hangs or delays.

A network that fails cannot be had on request; this can. It speaks just enough of the protocol to
count what the program sends, and runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, Final, Literal, TypeAlias, TypeVar

from plait.common.closing import ClosedAtEnd
from plait.errors import ConfigError, StorageUnavailableError, nearest
from plait.postgres import conninfo_to_dict, make_conninfo, psycopg

T = TypeVar("T")
NetworkFault: TypeAlias = Literal["cut", "cut after", "hang"]
"""What happens at a command: see `PostgresProxy.fail_at`."""

FAULTS: Final = ("cut", "cut after", "hang")
_COMMANDS = frozenset(b"QS")
"""Messages that ask the server for an answer: a simple query, the end of a pipeline."""
_BEFORE_STARTUP = frozenset({80877103, 80877104})
"""Requests for encryption, which come before the startup message and have its form."""
_CHUNK = 65536


class PostgresProxy(ClosedAtEnd):
    """A TCP proxy before a Postgres server.

    Give your program `proxy.url` instead of the server's, and let things happen:

    | call | what the program meets |
    |---|---|
    | `cut()` | all connections are gone |
    | `with down():` | they are gone, and new ones are refused |
    | `with hung():` | connections stand, and nothing passes |
    | `delay = 0.05` | each message takes so many seconds longer |
    | `fail_at(n, fault)` | the nth command from now on is `"cut"` before it reaches the server, `"cut after"` the server has done it, or `"hang"`s |
    | `cut_after(size)` | the connection that passes so many bytes is cut there, within a message |

    A command is what the program waits for an answer to: a query, or a pipeline of them.

    Args:
        url: The server: a URL or connection string, also one that names a Unix socket.

    Raises:
        ConfigError: That is no connection string of one server.
        StorageUnavailableError: No port can be opened.
    """  # noqa: E501

    delay: float = 0.0
    """Seconds that each message takes longer, either way."""

    def __init__(self, url: str) -> None:
        try:
            given = conninfo_to_dict(url)
            self._server_port = int(given.get("port") or 5432)
        except (psycopg.Error, ValueError, AttributeError) as error:
            raise ConfigError(
                "PostgresProxy takes the connection string of one server, such as "
                f"postgresql://localhost/shop ({str(error).strip()})."
            ) from error
        self._host = str(given.get("host") or given.get("hostaddr") or "localhost")
        self._given = given
        self._loop = asyncio.new_event_loop()
        self._open: set[_Connection] = set()
        self._gate = asyncio.Event()
        self._gate.set()
        self._refuses = False
        self._fault: tuple[int, NetworkFault] | None = None
        self._bytes_left: int | None = None
        self._happened = Event()
        self.commands = 0
        """How many commands the program has sent."""
        self.accepted = 0
        """How many connections it has made."""
        self._thread = Thread(target=self._loop.run_forever, name="plait-proxy", daemon=True)
        self._thread.start()
        try:
            self._port: int = self._do(self._listen())
        except OSError as error:
            self._end()
            raise StorageUnavailableError(f"The proxy cannot open a port: {error}.") from error

    @property
    def url(self) -> str:
        """The connection string that leads through the proxy."""
        kept: dict[str, Any] = {k: each for k, each in self._given.items() if k != "hostaddr"}
        kept |= {"host": "127.0.0.1", "port": self._port, "sslmode": "disable",
                 "gssencmode": "disable"}  # fmt: skip
        return make_conninfo(**kept)

    @property
    def connections(self) -> int:
        """How many connections stand."""
        return len(self._open)

    def close(self) -> None:
        """Cut all connections, and stop."""
        if not self._loop.is_closed():
            self._do(self._stop())
            self._end()

    # --- faults ----------------------------------------------------------------------------------

    def cut(self) -> int:
        """Cut all connections. Returns how many they were."""
        return self._do(self._cut_all())

    @contextmanager
    def down(self) -> Generator[None]:
        """The server is gone: connections are cut, and new ones refused, until the block ends."""
        self._refuses = True
        self.cut()
        try:
            yield
        finally:
            self._refuses = False

    @contextmanager
    def hung(self) -> Generator[None]:
        """Nothing passes, either way, until the block ends; then everything does."""
        self._loop.call_soon_threadsafe(self._gate.clear)
        try:
            yield
        finally:
            self.go_on()

    def go_on(self) -> None:
        """Let pass what was held back by a `"hang"`."""
        self._loop.call_soon_threadsafe(self._gate.set)

    def fail_at(self, command: int, fault: NetworkFault = "cut") -> None:
        """Have the nth command from now on fail, once.

        Args:
            command: Which one, from 1.
            fault: `"cut"`: it never reaches the server. `"cut after"`: the server does it, and
                nobody hears. `"hang"`: nothing passes any more, until `go_on()`.

        Raises:
            ConfigError: The fault is unknown, or would never come.
        """
        if fault not in FAULTS:
            raise ConfigError(f"Unknown fault {fault!r}. {nearest(fault, FAULTS)}")
        _check_whole(command, "command", 1)
        self._happened.clear()
        self._fault = (self.commands + command, fault)

    def cut_after(self, size: int) -> None:
        """Have the connection that passes `size` more bytes to the server cut there, once.

        Raises:
            ConfigError: That is no number of bytes.
        """
        _check_whole(size, "size", 0)
        self._happened.clear()
        self._bytes_left = size

    def happened(self, timeout: float | None = None) -> bool:
        """Wait for the fault of `fail_at` or `cut_after`; whether it has happened."""
        return self._happened.wait(timeout)

    # --- connections -----------------------------------------------------------------------------

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the proxy's thread, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> int:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self._listener.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._refuses = True
        self._listener.close()
        self._gate.set()
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            await self._cut_all()  # also those that are just being made
            await asyncio.wait(tasks, timeout=0.1)

    async def _cut_all(self) -> int:
        connections = list(self._open)
        for each in connections:
            each.cut()
        return len(connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the program's, from its first byte to its end."""
        if self._refuses:
            writer.transport.abort()
            return
        self.accepted += 1
        try:
            upstream = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(writer, upstream[1])
        self._open.add(connection)
        pumps = [
            asyncio.ensure_future(self._to_server(connection, reader)),
            asyncio.ensure_future(self._to_client(connection, upstream[0])),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.discard(connection)
            connection.cut()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._host.startswith("/"):
            path = f"{self._host}/.s.PGSQL.{self._server_port}"
            return await asyncio.open_unix_connection(path)
        return await asyncio.open_connection(self._host, self._server_port)

    async def _to_server(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        messages = _Messages()
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                for kind, message in messages.feed(data):
                    if kind in _COMMANDS and self._count(connection):
                        return
                    await self._pass(connection.server, self._cut_short(message))
                    if self._bytes_left == 0:
                        self._bytes_left = None
                        self._happened.set()
                        return

    async def _to_client(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                if connection.deaf:
                    self._happened.set()
                    return
                await self._pass(connection.client, data)

    async def _pass(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        await self._gate.wait()
        if self.delay:
            await asyncio.sleep(self.delay)
        writer.write(data)
        await writer.drain()

    def _count(self, connection: _Connection) -> bool:
        """Count a command; whether the connection is to be cut before it."""
        self.commands += 1
        if self._fault is None or self._fault[0] != self.commands:
            return False
        fault, self._fault = self._fault[1], None
        if fault == "cut after":
            connection.deaf = True
            return False
        if fault == "hang":
            self._gate.clear()
        self._happened.set()
        return fault == "cut"

    def _cut_short(self, message: bytes) -> bytes:
        """As much of a message as `cut_after` lets pass."""
        if self._bytes_left is None:
            return message
        message = message[: self._bytes_left]
        self._bytes_left -= len(message)
        return message


class _Connection:
    """Both ends of one connection."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client = client
        self.server = server
        self.deaf = False
        """Whether the next answer of the server is lost, and the connection with it."""

    def cut(self) -> None:
        """End it without a word, as a network does."""
        self.client.transport.abort()
        self.server.transport.abort()


def _check_whole(number: Any, name: str, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ConfigError(f"{name}={number!r}: give a whole number of at least {least}.")


class _Messages:
    """Splits what a program sends into messages."""

    def __init__(self) -> None:
        self._rest = b""
        self._started = False

    def feed(self, data: bytes) -> Generator[tuple[int, bytes]]:
        """(type, bytes) of each whole message; those of the start have no type (0)."""
        self._rest += data
        while (size := self._size()) is not None and len(self._rest) >= size:
            message, self._rest = self._rest[:size], self._rest[size:]
            kind = message[0] if self._started else 0
            if not self._started:
                self._started = int.from_bytes(message[4:8], "big") not in _BEFORE_STARTUP
            yield kind, message

    def _size(self) -> int | None:
        """How long the next message is, if that is known yet."""
        head = 1 if self._started else 0
        if len(self._rest) < head + 4:
            return None
        return head + int.from_bytes(self._rest[head : head + 4], "big")


__all__ = ["NetworkFault", "PostgresProxy"]
