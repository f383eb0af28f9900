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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any, cast

from plait.errors import ConfigError

BASH = ("/bin/bash", "--noprofile", "--norc")
_CHUNK = 65_536
_KEPT = 1_000_000
"""How many bytes of a stream are kept where the policy names no number."""


@dataclass(frozen=True, kw_only=True)
class HostExecutionPolicy:
    """Runs the shell as this process's user, with nothing between it and the machine.

    Args:
        command_timeout: seconds that a command may take; then the shell is started anew.
        startup_timeout: seconds that each startup command may take.
        termination_timeout: seconds that the shell has to end by itself before it is killed.
        max_output_lines: how many lines of a command's output are kept.
        max_output_bytes: how many bytes of each of its streams (default: 1,000,000).
        cpu_time_seconds: how much processor time the shell and what it starts may use each.
        memory_bytes: how much memory each may have.
        create_process_group: give the shell a process group, so that what it started ends with it.

    Raises:
        ConfigError: a number is not positive.
    """

    command_timeout: float = 30.0
    startup_timeout: float = 30.0
    termination_timeout: float = 10.0
    max_output_lines: int = 100
    max_output_bytes: int | None = None
    cpu_time_seconds: int | None = None
    memory_bytes: int | None = None
    create_process_group: bool = True

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not isinstance(value, bool) and value <= 0:
                raise ConfigError(f"{name} must be more than 0, got {value!r}.")

    def spawn(
        self, workspace: Path, env: Mapping[str, str], command: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        """Start the shell in a folder."""
        return subprocess.Popen(
            list(command),
            cwd=workspace,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=self.create_process_group,
        )

    def limits(self) -> str:
        """The command that sets the limits of a shell."""
        cpu, memory = self.cpu_time_seconds, self.memory_bytes
        set_cpu = "" if cpu is None else f"ulimit -t {cpu}; "
        return set_cpu + ("" if memory is None else f"ulimit -v {max(1, memory // 1024)}; ")


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

    Args:
        policy: how it is run.
        workspace: the folder to start in (None: a new one, which goes with the shell).
        env: its environment (None: that of this process).
        command: the shell, which reads commands from its input.

    >>> shell = ShellSession(HostExecutionPolicy())
    >>> shell.run("X=tea").exit_code, shell.run("printf $X").output
    (0, 'tea')
    >>> shell.close()
    """

    def __init__(
        self,
        policy: HostExecutionPolicy,
        workspace: Path | None = None,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = BASH,
    ) -> None:
        self.policy = policy
        self.env = dict(os.environ) if env is None else dict(env)
        self.command = tuple(command)
        self._own = tempfile.TemporaryDirectory(prefix="plait-shell-") if not workspace else None
        self.workspace = Path(self._own.name) if self._own else Path(workspace or ".")
        self.workspace.mkdir(parents=True, exist_ok=True)
        self._lock = Lock()
        self._start()

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """Run a command; calls from several threads wait for each other.

        Args:
            command: any text that the shell can evaluate.
            timeout: how many seconds it may take (default: the policy's).
        """
        seconds = self.policy.command_timeout if timeout is None else timeout
        with self._lock:
            mark = f"\n{token_hex(16)} "
            tell = f"printf '%s%s\\n' {shlex.quote(mark)} $_plait_code"
            line = f"eval {shlex.quote(command)} </dev/null; _plait_code=$?; {tell}; {tell} >&2\n"
            return self._finish(line, mark.encode(), time.monotonic() + seconds)

    def restart(self) -> None:
        """End the shell and start a new one in its place."""
        with self._lock:
            self._restart()

    def close(self) -> None:
        """End the shell and what it started."""
        self._end()
        if self._own is not None:
            self._own.cleanup()

    # --- the process -----------------------------------------------------------------------------

    def _start(self) -> None:
        self._process = self.policy.spawn(self.workspace, self.env, self.command)
        self._end = weakref.finalize(
            self,
            _end,
            self._process,
            self.policy.create_process_group,
            self.policy.termination_timeout,
        )
        self._send(f"{self.policy.limits()}\n")

    def _restart(self) -> None:
        self._end()
        self._start()

    def _send(self, text: str) -> None:
        cast("Any", self._process.stdin).write(text.encode())

    def _finish(self, line: str, mark: bytes, deadline: float) -> CommandResult:
        """Send a command and read until it is done, the shell has ended, or time is up."""
        limit = self.policy.max_output_bytes or _KEPT
        out, err = _Stream(mark, limit), _Stream(mark, limit)
        try:
            self._send(line)
        except BrokenPipeError:  # what was left behind by an earlier command ended the shell
            self._restart()
            self._send(line)
        if not self._read(out, err, deadline):
            self._restart()
            return CommandResult("", None, timed_out=True)
        code = out.code
        if code is None:
            code = self._process.wait()
            self._restart()
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

    def _read(self, out: _Stream, err: _Stream, deadline: float) -> bool:
        """Read both streams to their marks or ends; False if time is up before."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(cast("Any", self._process.stdout), selectors.EVENT_READ, out)
            waiting.register(cast("Any", self._process.stderr), selectors.EVENT_READ, err)
            while not (out.done and err.done):
                ready = waiting.select(max(deadline - time.monotonic(), 0))
                if not ready:
                    return False
                for key, _ in ready:
                    key.data.feed(os.read(key.fd, _CHUNK))
                    if key.data.done:
                        waiting.unregister(key.fileobj)
        return True


def _end(process: subprocess.Popen[bytes], is_group: bool, patience: float) -> None:
    """End a shell: ask it, and kill it if it does not listen."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number) if is_group else process.send_signal(number)
        except ProcessLookupError:
            pass
        try:
            process.wait(patience if number == signal.SIGTERM else None)
        except subprocess.TimeoutExpired:
            continue
        if not is_group:
            break
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


__all__ = ["BASH", "CommandResult", "HostExecutionPolicy", "ShellSession"]
