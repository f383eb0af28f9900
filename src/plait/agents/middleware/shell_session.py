"""One shell that runs commands one after the other and remembers: folder, variables, functions.

A command runs by `eval`, so that it changes the shell itself, without an input of its own. Behind
it the shell writes a mark that nobody can guess, to both of its streams: what stands before the
marks is the command's, to the byte, and what stands in the mark is its exit code.
"""

import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any, cast

from plait.agents.middleware.execution_policies import OWN_PREFIX, BaseExecutionPolicy
from plait.errors import ConfigError

BASH = ("/bin/bash",)
_CHUNK = 65_536
_KEPT = 1_000_000
"""How many bytes of a stream are kept where the policy names no number."""


@dataclass(frozen=True)
class CommandResult:
    """What a command did."""

    output: str
    """What it wrote, as far as it is kept: first to its output, then to its errors."""
    exit_code: int | None
    """None if it took too long."""
    total_lines: int = 0
    total_bytes: int = 0
    timed_out: bool = False
    cut_bytes: bool = False
    ended: bool = False
    """Whether the shell ended with it (`exit`)."""


@dataclass(slots=True)
class _Stream:
    """One stream of the shell while a command runs: what was read, up to its mark."""

    mark: bytes
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    rest: bytes = b""
    size: int = 0
    lines: int = 0
    is_open: bool = False
    """Whether the last line has not ended yet."""
    code: int | None = None
    done: bool = False

    def feed(self, data: bytes) -> None:
        """Take what was read; nothing means that the stream has ended."""
        if not data:
            self._take(self.rest)
            self.done = True
            return
        found = self.rest + data
        place = found.find(self.mark)
        cut = place if place >= 0 else max(len(found) - len(self.mark) + 1, 0)
        self._take(found[:cut])
        self.rest = found[cut:]
        if place >= 0 and self.rest.endswith(b"\n") and len(self.rest) > len(self.mark):
            self.code = int(self.rest[len(self.mark) :])
            self.done = True

    def _take(self, data: bytes) -> None:
        if not data:
            return
        self.size += len(data)
        self.lines += data.count(b"\n") - self.is_open
        self.is_open = not data.endswith(b"\n")
        self.lines += self.is_open
        self.kept += data[: self.limit - len(self.kept)]

    def text(self) -> str:
        """What is kept of it."""
        return self.kept.decode("utf-8", "replace")


class ShellSession:
    """A shell that is started at once and ends with `close`, or when nobody holds it any more.

    What is closed starts no other one.

    Args:
        policy: how it is run.
        workspace: the folder to start in (None: a new one, which goes with the shell).
        env: its environment (None: what is usual for the policy).
        command: the shell, which reads commands from its input.

    Raises:
        ConfigError: the shell does not start; also where it has to be started anew.

    >>> from plait.agents.middleware import HostExecutionPolicy
    >>> shell = ShellSession(HostExecutionPolicy())
    >>> shell.run("X=tea").exit_code, shell.run("printf $X").output
    (0, 'tea')
    >>> shell.close()
    """

    def __init__(
        self,
        policy: BaseExecutionPolicy,
        workspace: Path | None = None,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = BASH,
    ) -> None:
        self.policy = policy
        self.env = env
        self.command = tuple(command)
        own = None if workspace else tempfile.TemporaryDirectory(prefix=OWN_PREFIX)
        self.workspace = Path(workspace or cast("Any", own).name)
        self.workspace.mkdir(parents=True, exist_ok=True)
        # A folder that is dropped warns that nobody has cleaned up: the session does.
        self._clean = None if own is None else weakref.finalize(self, own.cleanup)
        self._lock = Lock()
        self._is_closed = False
        self._start()

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """Run a command; calls from several threads wait for each other.

        Args:
            command: any text that the shell can evaluate.
            timeout: how many seconds it may take (default: the policy's).
        """
        seconds = self.policy.command_timeout if timeout is None else timeout
        with self._held():
            if self._process.poll() is not None:  # what an earlier command left behind ended it
                self._restart()
            result = self._asked(command, seconds)
            if result.timed_out or result.ended:
                self._restart()
            return result

    def restart(self) -> None:
        """End the shell and start a new one in its place."""
        with self._held():
            self._restart()

    def close(self) -> None:
        """End the shell and what it started, also a command that another thread waits for."""
        self._is_closed = True
        self._end()
        self._tidy()

    @contextmanager
    def _held(self) -> Generator[None, None, None]:
        """For one thread at a time."""
        try:
            with self._lock:
                self._check_open()
                yield
        finally:
            self._tidy()

    def _tidy(self) -> None:
        """Drop what a session that is closed has left, unless another thread holds it: it will."""
        if self._is_closed and self._lock.acquire(blocking=False):
            try:
                self._drop()
            finally:
                self._lock.release()

    def _drop(self) -> None:
        self._end()
        self._shut()
        if self._clean is not None:
            self._clean()

    # --- the process -----------------------------------------------------------------------------

    def _start(self) -> None:
        """Start the shell, and wait until it answers."""
        self._check_open()
        policy = self.policy
        self._process = policy.spawn(workspace=self.workspace, env=self.env, command=self.command)
        is_group = os.getpgid(self._process.pid) == self._process.pid
        self._shut = weakref.finalize(self, _shut, self._process)
        self._end = weakref.finalize(self, _end, self._process, policy, is_group)
        self._check_open()  # who closes the session meanwhile may have ended the shell before
        said = self._asked(policy.limits() or ":", policy.startup_timeout)
        if said.exit_code != 0 or said.ended:
            self._drop()
            why = said.output.strip() or f"exit code {said.exit_code}"
            if said.timed_out:
                why = (
                    f"no answer in {policy.startup_timeout} s. Give the policy a longer "
                    "startup_timeout; an image that has to be fetched first takes its time"
                )
            raise ConfigError(
                f"The shell {shlex.join(self.command)!r} of {type(policy).__name__} did not start: "
                f"{why}"
            )

    def _check_open(self) -> None:
        if self._is_closed:
            self._end()
            raise ConfigError("This shell has ended, and the run that it belonged to.")

    def _restart(self) -> None:
        self._end()
        self._shut()
        self._start()

    def _asked(self, command: str, seconds: float) -> CommandResult:
        """Send a command and read until it is done, the shell has ended, or time is up."""
        deadline = time.monotonic() + seconds
        half = token_hex(8)  # so that `set -x`, which shows the line, does not show the mark
        tell = f"printf '\\n%s%s %s\\n' {half} {half} $_plait_code"
        line = f"eval {shlex.quote(command)} </dev/null; _plait_code=$?; {tell}; {tell} >&2\n"
        mark, limit = f"\n{half}{half} ".encode(), self.policy.max_output_bytes or _KEPT
        out, err = _Stream(mark, limit), _Stream(mark, limit)
        with suppress(BrokenPipeError):  # it has ended; its streams are read to their ends
            cast("Any", self._process.stdin).write(line.encode())
        try:
            self._read(out, err, deadline)
            code = self._process.wait(_left(deadline)) if out.code is None else out.code
        except (TimeoutError, subprocess.TimeoutExpired):
            return CommandResult("", None, timed_out=True)
        errors = "".join(f"[stderr] {line}\n" for line in err.text().splitlines())
        text = out.text()
        joint = "\n" if errors and text and not text.endswith("\n") else ""
        return CommandResult(
            f"{text}{joint}{errors}",
            code,
            out.lines + err.lines,
            out.size + err.size,
            cut_bytes=max(out.size, err.size) > limit,
            ended=out.code is None,
        )

    def _read(self, out: _Stream, err: _Stream, deadline: float) -> None:
        """Read both streams to their marks or ends.

        Raises:
            TimeoutError: time is up before.
        """
        with selectors.DefaultSelector() as waiting:
            waiting.register(cast("Any", self._process.stdout), selectors.EVENT_READ, out)
            waiting.register(cast("Any", self._process.stderr), selectors.EVENT_READ, err)
            while not (out.done and err.done):
                ready = waiting.select(_left(deadline))
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    key.data.feed(os.read(key.fd, _CHUNK))
                    if key.data.done:
                        waiting.unregister(key.fileobj)


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0)


def _end(process: subprocess.Popen[bytes], policy: BaseExecutionPolicy, is_group: bool) -> None:
    """End a shell: ask it, and kill it if it does not listen."""
    policy.end(process)
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number) if is_group else process.send_signal(number)
        except ProcessLookupError:
            pass
        try:
            process.wait(policy.termination_timeout if number == signal.SIGTERM else None)
        except subprocess.TimeoutExpired:
            continue
        if not is_group:
            break


def _shut(process: subprocess.Popen[bytes]) -> None:
    """Close the pipes to a shell. Nobody may read them: whoever did would wait for ever, or read
    what is opened next."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


__all__ = ["BASH", "CommandResult", "ShellSession"]
