"""`ShellToolMiddleware`: the model works in one shell, which lasts as long as the agent's run."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from plait.agents.middleware.base import AgentMiddleware
from plait.agents.middleware.execution_policies import (
    BaseExecutionPolicy,
    CodexSandboxExecutionPolicy,
    DockerExecutionPolicy,
    HostExecutionPolicy,
)
from plait.agents.middleware.options import check_list, check_texts
from plait.agents.middleware.redaction import RedactionRule, ResolvedRedactionRule
from plait.agents.middleware.shell_session import BASH, CommandResult, ShellSession
from plait.common.belongings import Belongings
from plait.errors import ConfigError, ConfigTypeError, PIIDetectionError
from plait.messages import ToolMessage
from plait.prebuilt.injection import ToolRuntime
from plait.runnables.config import run_in_executor
from plait.runtime import Runtime
from plait.scope import current_scope
from plait.tools import StructuredTool

DESCRIPTION = """\
Run a command in a shell. The shell stays open from call to call: the folder, variables and \
functions are kept. A command gets no input and has a limit of time; when it takes longer, the \
shell is started anew. Lines of its error stream begin with [stderr]. Pass restart=true for a \
fresh shell."""


class ShellToolMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives the model a shell.

    By default, what the model writes is run as this process's user: take a policy that keeps it in
    a container or a sandbox, or let a person approve each command (`HumanInTheLoopMiddleware`). The
    shell starts with the agent's run and ends with it, however that ends: a run that is resumed
    begins with a fresh one.

    Args:
        workspace_root: the folder it starts in (None: a new one, which goes with the shell).
        startup_commands: commands that are run first.
        shutdown_commands: commands that are run when the agent has done its work: not where its run
            fails, is stopped, or waits for somebody.
        execution_policy: where the shell runs, and its limits: `HostExecutionPolicy` (the default),
            `DockerExecutionPolicy`, `CodexSandboxExecutionPolicy`.
        redaction_rules: what is hidden in the output, before the model reads it.
        tool_description: what the model reads about the tool.
        tool_name: its name.
        shell_command: the shell, which reads commands from its input (default: bash).
        env: its environment (None: that of this process; in a container, none).

    Raises:
        ConfigTypeError: a name in `env` is no text.
        ConfigError: the shell, or what is to start it, is not there; while an agent runs: the shell
            does not start, or a startup command failed.

    >>> ShellToolMiddleware(tool_name="bash").tools[0].name
    'bash'
    """

    def __init__(
        self,
        workspace_root: str | Path | None = None,
        *,
        startup_commands: Sequence[str] | str | None = None,
        shutdown_commands: Sequence[str] | str | None = None,
        execution_policy: BaseExecutionPolicy | None = None,
        redaction_rules: Sequence[RedactionRule] | None = None,
        tool_description: str | None = None,
        tool_name: str = "shell",
        shell_command: Sequence[str] | str | None = None,
        env: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.workspace_root = None if workspace_root is None else Path(workspace_root)
        self.startup_commands = _several("startup_commands", startup_commands)
        self.shutdown_commands = _several("shutdown_commands", shutdown_commands)
        self.execution_policy = _checked(execution_policy or HostExecutionPolicy())
        self.shell_command = _shell_command(shell_command)
        self.env = None if env is None else _variables(env)
        self._rules = [_rule(one) for one in redaction_rules or ()]
        check_texts(tool_name=tool_name, tool_description=tool_description)
        self.tool_name = tool_name
        self.execution_policy.check(self.shell_command)
        self.tools = [
            StructuredTool.from_function(
                self._shell, name=tool_name, description=tool_description or DESCRIPTION
            )
        ]

    # --- the life of the shell -------------------------------------------------------------------

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Start the shell."""
        self._begin()

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The async twin of `before_agent`."""
        await run_in_executor(None, self._begin)

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """End the shell."""
        self._finish()

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The async twin of `after_agent`."""
        await run_in_executor(None, self._finish)

    def _begin(self) -> None:
        run = _run()
        if run is not None:
            run.shared(id(self), self._opened)

    def _finish(self) -> None:
        run = _run()
        session: ShellSession | None = None if run is None else run.get(id(self))
        if run is None or session is None:
            return
        try:
            for command in self.shutdown_commands:
                session.run(command)
        finally:
            run.end(id(self))

    def _opened(self) -> ShellSession:
        policy = self.execution_policy
        session = ShellSession(policy, self.workspace_root, self.env, self.shell_command)
        for command in self.startup_commands:
            result = session.run(command, policy.startup_timeout)
            if result.exit_code != 0:
                session.close()
                raise ConfigError(
                    f"The startup command {command!r} of {self.name} failed with exit code "
                    f"{result.exit_code}: {result.output.strip() or 'no output'}"
                )
        return session

    # --- the tool --------------------------------------------------------------------------------

    def _shell(
        self,
        runtime: ToolRuntime[Any, Any],
        command: str | None = None,
        restart: bool | None = None,
    ) -> Any:
        """Run a command in the shell, or start it anew."""
        run = _run()
        if run is None:
            with closing(self._opened()) as session:
                return self._done(session, runtime, command, restart)
        return self._done(run.shared(id(self), self._opened), runtime, command, restart)

    def _done(
        self,
        session: ShellSession,
        runtime: ToolRuntime[Any, Any],
        command: str | None,
        restart: bool | None,
    ) -> ToolMessage:
        if restart:
            session.restart()
            return self._message(runtime, "Shell session restarted.", {})
        if command is None:
            return self._message(runtime, "Error: pass a command, or restart=true.", None, "error")
        return self._told(runtime, session.run(command))

    def _told(self, runtime: ToolRuntime[Any, Any], result: CommandResult) -> ToolMessage:
        """What the model is told of a command."""
        if result.timed_out:
            seconds = float(self.execution_policy.command_timeout)
            text = f"Error: Command timed out after {seconds} seconds."
            return self._message(runtime, text, {"timed_out": True, "exit_code": None}, "error")
        facts: dict[str, Any] = {"timed_out": False, "exit_code": result.exit_code}
        try:
            text, found = self._redacted(result.output)
        except PIIDetectionError as error:
            facts["matches"] = {error.pii_type: _places(error.matches)}
            text = f"Output blocked: detected {error.pii_type}."
            return self._message(runtime, text, facts, "error")
        most = self.execution_policy.max_output_lines
        lines = text.splitlines(keepends=True)
        facts |= {
            "truncated_by_lines": len(lines) > most,
            "truncated_by_bytes": result.cut_bytes,
            "total_lines": result.total_lines,
            "total_bytes": result.total_bytes,
            "redaction_matches": found,
        }
        text = "".join(lines[:most]) or "<no output>"
        if len(lines) > most or result.cut_bytes:
            text = f"{text.rstrip()}\n\n[Cut: of {result.total_lines} lines in all.]"
        if result.ended:
            text = f"{text.rstrip()}\n\n[The shell has ended; a fresh one was started.]"
        if result.exit_code != 0:
            text = f"{text.rstrip()}\n\nExit code: {result.exit_code}"
        return self._message(runtime, text, facts, "error" if result.exit_code else "success")

    def _redacted(self, text: str) -> tuple[str, dict[str, Any]]:
        """A text after all rules, and where each found something.

        Raises:
            PIIDetectionError: a rule that blocks found something.
        """
        found: dict[str, Any] = {}
        for rule in self._rules:
            text, matches = rule.apply(text)
            if matches:
                found[rule.pii_type] = _places(matches)
        return text, found

    def _message(
        self, runtime: ToolRuntime[Any, Any], text: str, facts: Any, status: Any = "success"
    ) -> ToolMessage:
        return ToolMessage(
            text,
            tool_call_id=str(runtime.tool_call_id),
            name=self.tool_name,
            status=status,
            artifact=facts,
        )


def _run() -> Belongings | None:
    """What the run shares whose code this is."""
    scope = current_scope.get()
    return None if scope is None else scope.belongings()


def _several(name: str, commands: Sequence[str] | str | None) -> tuple[str, ...]:
    if isinstance(commands, str):
        return (commands,)
    check_list(name, commands or (), "texts")
    return tuple(commands or ())


def _shell_command(given: Sequence[str] | str | None) -> tuple[str, ...]:
    if given is None:
        return BASH
    command = _several("shell_command", given)
    if not all(command) or not command:
        raise ConfigError(
            f"shell_command={given!r} starts no shell. Leave it out, or write ['/bin/bash']."
        )
    return command


def _variables(env: Mapping[Any, Any]) -> dict[str, str]:
    for name in env:
        if not isinstance(name, str):
            raise ConfigTypeError(f"env has the name {name!r}: names of variables are texts.")
    return {name: str(value) for name, value in env.items()}


def _rule(given: Any) -> ResolvedRedactionRule:
    if isinstance(given, RedactionRule):
        return given.resolve()
    raise ConfigTypeError(f"redaction_rules has {given!r:.200}: give RedactionRule(...) objects.")


def _checked(policy: Any) -> BaseExecutionPolicy:
    if isinstance(policy, BaseExecutionPolicy):
        return policy
    raise ConfigError(
        "execution_policy must be one of plait.agents.middleware (HostExecutionPolicy, ...) or "
        f"derived from BaseExecutionPolicy, got {policy!r}."
    )


def _places(matches: Sequence[Any]) -> list[dict[str, Any]]:
    """Where something was found, without what it was: artifacts are stored."""
    return [{name: match[name] for name in ("type", "start", "end")} for match in matches]


__all__ = [
    "CodexSandboxExecutionPolicy",
    "DockerExecutionPolicy",
    "HostExecutionPolicy",
    "RedactionRule",
    "ShellToolMiddleware",
]
