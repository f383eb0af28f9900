"""How an agent's shell is run: on this machine, in a container of Docker's, in Codex's sandbox.

A policy has the limits and starts the process; what is said to it is `ShellSession`'s.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, cast

from plait.errors import ConfigError
from plait.objects.abstract import Abstract

OWN_PREFIX = "plait-shell-"
"""Begins the names of folders that sessions make for themselves, and of containers."""


@dataclass(frozen=True)
class BaseExecutionPolicy(Abstract):
    """How a shell is run. Derive from it and define `spawn` for another way.

    Args:
        command_timeout: seconds that a command may take; then the shell is started anew.
        startup_timeout: seconds that the shell, and each startup command, may take.
        termination_timeout: seconds that the shell has to end by itself before it is killed.
        max_output_lines: how many lines of a command's output are kept.
        max_output_bytes: how many bytes of each of its streams (default: 1,000,000).

    Raises:
        ConfigError: a number is not positive.
    """

    command_timeout: float = 30.0
    startup_timeout: float = 30.0
    termination_timeout: float = 10.0
    max_output_lines: int = 100
    max_output_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value <= 0:
                raise ConfigError(f"{name} must be more than 0, got {value!r}.")

    @abstractmethod
    def spawn(
        self, *, workspace: Path, env: Mapping[str, str] | None, command: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        """Start the shell, with a pipe to each of its streams.

        Args:
            workspace: the folder it starts in.
            env: its environment (None: what the policy holds to be usual).
            command: the shell, which reads commands from its input.
        """

    def check(self, command: Sequence[str]) -> None:
        """Look whether the shell can be started here.

        Raises:
            ConfigError: what starts it is not there.
        """

    def limits(self) -> str:
        """The command that sets the limits of a shell; none is the empty text."""
        return ""

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End what the process started where no signal reaches; the process itself ends next."""


@dataclass(frozen=True)
class HostExecutionPolicy(BaseExecutionPolicy):
    """Runs the shell as this process's user, with nothing between it and the machine.

    Args:
        cpu_time_seconds: how much processor time the shell and what it starts may use each.
        memory_bytes: how much memory each may have.
        create_process_group: give the shell a process group, so that what it started ends with it.
        command_timeout: as in `BaseExecutionPolicy`, and so the others.
    """

    cpu_time_seconds: int | None = None
    memory_bytes: int | None = None
    create_process_group: bool = True

    def spawn(
        self, *, workspace: Path, env: Mapping[str, str] | None, command: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        """Start the shell in a folder, by default in this process's environment."""
        return _started(command, workspace, env, self.create_process_group)

    def check(self, command: Sequence[str]) -> None:
        """Look whether there is such a shell."""
        if shutil.which(command[0]) is None:
            raise ConfigError(f"There is no shell {command[0]!r} on this machine.")

    def limits(self) -> str:
        """The command that sets the limits of a shell."""
        cpu, memory = self.cpu_time_seconds, self.memory_bytes
        kilobytes = None if memory is None else max(1, memory // 1024)
        given = {"-t": cpu, "-v": kilobytes}
        return " && ".join(f"ulimit {name} {n}" for name, n in given.items() if n is not None)


@dataclass(frozen=True)
class DockerExecutionPolicy(BaseExecutionPolicy):
    """Runs the shell in a container of its own, which ends with it.

    The container has no network, and of this machine's files only `workspace_root`, if one is
    given; of the environment it has what `env` names.

    Args:
        binary: the program, by name or path.
        image: what the container is made of. It needs the shell: give the default image
            `shell_command="/bin/sh"`.
        remove_container_on_exit: whether the container is removed when it has ended.
        network_enabled: whether it has a network.
        extra_run_args: more arguments of `docker run`.
        memory_bytes: how much memory the container may have.
        cpu_time_seconds: refused: a container has `cpus` instead.
        cpus: how many processors, as a text: "0.5".
        read_only_rootfs: whether its own files cannot be changed.
        user: who runs the shell.
        command_timeout: as in `BaseExecutionPolicy`, and so the others.

    Raises:
        ConfigError: an argument is empty or none that a container can have.
    """

    binary: str = "docker"
    image: str = "python:3.12-alpine3.19"
    remove_container_on_exit: bool = True
    network_enabled: bool = False
    extra_run_args: Sequence[str] | None = None
    memory_bytes: int | None = None
    cpu_time_seconds: Any | None = None
    cpus: str | None = None
    read_only_rootfs: bool = False
    user: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cpu_time_seconds is not None:
            raise ConfigError("A container has no cpu_time_seconds. Give it cpus instead.")
        for name in ("binary", "image", "cpus", "user"):
            value = getattr(self, name)
            if value is not None and not value.strip():
                raise ConfigError(f"{name} is empty. Leave it out, or say which.")
        if isinstance(self.extra_run_args, str):
            raise ConfigError(
                f"extra_run_args must be a list of arguments, got {self.extra_run_args!r}."
            )
        extra = tuple(self.extra_run_args or ())
        object.__setattr__(self, "extra_run_args", extra)  # the caller's list may change
        if any(one.split("=")[0] == "--name" for one in extra):
            raise ConfigError(
                "extra_run_args give the container a --name, which is how the shell's container "
                "is ended. Give it a --label instead."
            )

    def spawn(
        self, *, workspace: Path, env: Mapping[str, str] | None, command: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        """Start the shell in a new container, by default in the environment of its image."""
        return _started(self._command(workspace.absolute(), env or {}, command), workspace)

    def check(self, command: Sequence[str]) -> None:
        """Look whether there is a Docker here; whether its image has the shell, a start shows."""
        _program(self.binary, self)

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End the container, which would outlive its client."""
        if process.poll() is not None:
            return
        args = cast("list[str]", process.args)
        name = args[args.index("--name") + 1]
        ask, seconds = [args[0], "kill", name], self.termination_timeout
        try:
            subprocess.run(ask, capture_output=True, timeout=seconds, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            if process.poll() is not None:  # it has just ended by itself
                return
            said = getattr(error, "stderr", None) or b""
            warnings.warn(
                f"The container {name!r} of a shell may go on, since it could not be ended: "
                f"{error} {said.decode(errors='replace').strip()}",
                RuntimeWarning,
                stacklevel=2,
            )

    def _command(
        self, workspace: Path, env: Mapping[str, str], command: Sequence[str]
    ) -> list[str]:
        program, name = _program(self.binary, self), f"{OWN_PREFIX}{token_hex(8)}"
        made = [program, "run", "-i", "--name", name]
        made += ["--rm"] * self.remove_container_on_exit
        made += ["--network", "none"] * (not self.network_enabled)
        made += _option("--memory", self.memory_bytes)
        shared = ["-v", f"{workspace}:{workspace}", "-w", f"{workspace}"]
        made += ["-w", "/"] if _is_own(workspace) else shared
        made += ["--read-only"] * self.read_only_rootfs
        for key, value in env.items():
            made += ["-e", f"{key}={value}"]
        made += [*_option("--cpus", self.cpus), *_option("--user", self.user)]
        return [*made, *(self.extra_run_args or ()), self.image, *command]


@dataclass(frozen=True)
class CodexSandboxExecutionPolicy(BaseExecutionPolicy):
    """Runs the shell on this machine in the sandbox of the Codex CLI.

    What is forbidden there, Codex's own configuration says.

    Args:
        binary: the program, by name or path.
        platform: whose sandbox, "linux" or "macos" ("auto": this machine's).
        config_overrides: what the configuration has otherwise, by dotted keys.
        command_timeout: as in `BaseExecutionPolicy`, and so the others.

    Raises:
        ConfigError: there is no such platform, or Codex has no sandbox for this one; a value is
            none that a configuration can have.
    """

    binary: str = "codex"
    platform: Literal["auto", "macos", "linux"] = "auto"
    config_overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        super().__post_init__()
        self._arguments()

    def spawn(
        self, *, workspace: Path, env: Mapping[str, str] | None, command: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        """Start the shell in a folder, by default in this process's environment."""
        program = _program(self.binary, self)
        return _started([program, *self._arguments(), "--", *command], workspace, env)

    def check(self, command: Sequence[str]) -> None:
        """Look whether there is a Codex here; whether it lets the shell run, a start shows."""
        _program(self.binary, self)

    def _arguments(self) -> list[str]:
        found = {"linux": "linux", "darwin": "macos"}.get(sys.platform)
        platform = found if self.platform == "auto" else self.platform
        if platform not in ("linux", "macos"):
            raise ConfigError(
                f"Codex has no sandbox for platform={self.platform!r} here ({sys.platform}). "
                "Take 'linux' or 'macos', or another policy."
            )
        made = ["sandbox", platform]
        for key, value in sorted(self.config_overrides.items()):
            made += ["-c", f"{key}={_toml(key, value)}"]
        return made


def _started(
    command: Sequence[str],
    workspace: Path,
    env: Mapping[str, str] | None = None,
    is_group: bool = True,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(command),
        cwd=workspace,
        env=None if env is None else dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=is_group,
    )


def _program(name: str, policy: BaseExecutionPolicy) -> str:
    """The path of a program that a policy needs."""
    found = shutil.which(name)
    if found is None:
        raise ConfigError(
            f"{type(policy).__name__} runs the shell by {name!r}, which is not on this machine's "
            "PATH. Install it, say where it is with binary=..., or take another policy."
        )
    return str(Path(found).absolute())


def _is_own(folder: Path) -> bool:
    """Whether a session has made the folder for itself."""
    return folder.parent == Path(tempfile.gettempdir()) and folder.name.startswith(OWN_PREFIX)


def _option(name: str, value: object) -> list[str]:
    return [] if value is None else [name, str(value)]


def _toml(key: str, value: Any) -> str:
    """A value of Codex's configuration, which is written in TOML.

    >>> _toml("key", {"on": True, "paths": ["/a", "b"]})
    '{"on" = true, "paths" = ["/a", "b"]}'
    """
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        pairs = [f"{_toml(key, str(name))} = {_toml(key, one)}" for name, one in held.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(key, one) for one in cast('Sequence[Any]', value))}]"
    if isinstance(value, (str, int, float)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Path):
        return _toml(key, str(value))
    raise ConfigError(f"config_overrides[{key!r}] has {value!r}, which no configuration can hold.")


__all__ = [
    "OWN_PREFIX",
    "BaseExecutionPolicy",
    "CodexSandboxExecutionPolicy",
    "DockerExecutionPolicy",
    "HostExecutionPolicy",
]
