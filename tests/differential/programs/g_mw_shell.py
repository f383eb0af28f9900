"""ShellToolMiddleware: one shell per run, its limits, and what the model is told."""

import os
import re
import shutil
import signal
import time
from contextlib import contextmanager
from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import (
    CodexSandboxExecutionPolicy,
    DockerExecutionPolicy,
    HostExecutionPolicy,
    RedactionRule,
    ShellToolMiddleware,
)
from langchain_core.messages import AIMessage

from .scripted import model_of


def agent_of(commands, name="shell", **options):
    script = []
    for id, command in enumerate(commands):
        args = command if isinstance(command, dict) else {"command": command}
        call = {"name": name, "args": args, "id": str(id), "type": "tool_call"}
        script.append(AIMessage("", tool_calls=[call]))
    given = {"execution_policy": HostExecutionPolicy(command_timeout=20)} | options
    return create_agent(model_of(*script, "done"), middleware=[ShellToolMiddleware(**given)])


def told(result):
    return [
        (m.content, m.status, m.name, m.artifact) for m in result["messages"] if m.type == "tool"
    ]


def run(commands, **options):
    result = agent_of(commands, **options).invoke({"messages": [("user", "go")]})
    return sorted(result), told(result)


def case_a_shell_remembers(env):
    return run(["echo hi", "cd /tmp; X=5", "echo $X; pwd", "f() { echo F$1; }", "f 2", "true"])


def case_a_shell_started_anew(env):
    return run(["X=5", {"restart": True}, "echo [$X]"])


def case_commands_that_fail(env):
    return run(["false", "(exit 3)", "echo out; false"])


def case_errors(env):
    return [content for content, *_ in run(["echo e >&2", "echo e >&2; (exit 4)"])[1]]


def case_a_command_that_takes_too_long(env):
    policy = HostExecutionPolicy(command_timeout=2.0, termination_timeout=0.5)
    return run(["sleep 30", "echo alive"], execution_policy=policy)


def case_much_output(env):
    def cut(**limits):
        policy = HostExecutionPolicy(command_timeout=20, **limits)
        ((content, status, _, facts),) = run(["seq 1 300"], execution_policy=policy)[1]
        return content.splitlines()[0], len(content) < 200, status, facts

    return cut(max_output_lines=10), cut(max_output_lines=1000, max_output_bytes=20)


def case_folder_environment_and_startup(env):
    folder = env.tmp_path / "work"
    folder.mkdir()
    result = run(
        ["basename $PWD; ls; echo $A [$HOME]"],
        workspace_root=str(folder),
        startup_commands=["touch one", "touch two"],
        shutdown_commands="touch three",
        env={"A": 1, "PATH": "/usr/bin:/bin"},
    )
    return result, sorted(path.name for path in folder.iterdir())


def case_a_startup_command_that_fails(env):
    return env.error(lambda: run(["echo"], startup_commands="false"))


def case_another_name(env):
    middleware = ShellToolMiddleware(tool_name="bash", tool_description="Runs.")
    tool = middleware.tools[0]
    return (
        tool.name,
        tool.description,
        list(tool.tool_call_schema.model_json_schema()["properties"]),
        run(["echo x"], name="bash", tool_name="bash"),
    )


def case_hidden_output(env):
    rules = [RedactionRule("email"), RedactionRule("key", "mask", r"sk-\d+")]
    told = run(["echo a@x.org sk-12345678"], redaction_rules=rules)[1]
    return [(content, status) for content, status, *_ in told]


def case_places_of_hidden_output(env):
    return run(["echo a@x.org"], redaction_rules=[RedactionRule("email")])


def case_blocked_output(env):
    told = run(["echo a@x.org"], redaction_rules=[RedactionRule("email", "block")])[1]
    return [(content, status) for content, status, *_ in told]


def case_a_shell_that_ends(env):
    policy = HostExecutionPolicy(command_timeout=2)
    try:
        return [status for _, status, *_ in run(["exit 0", "echo on"], execution_policy=policy)[1]]
    except RuntimeError as error:  # one side may see the end of the shell before its next command
        return type(error).__name__


def case_output_without_an_end_of_line(env):
    policy = HostExecutionPolicy(command_timeout=2)
    return run(["printf text"], execution_policy=policy)


def case_wrong_limits(env):
    return [
        env.error(lambda: HostExecutionPolicy(max_output_lines=0)),
        env.error(lambda: HostExecutionPolicy(memory_bytes=0)),
    ]


async def case_in_an_async_agent(env):
    agent = agent_of(["X=5", "echo $X"])
    return told(await agent.ainvoke({"messages": [("user", "go")]}))


# --- in containers and sandboxes: programs that stand in note what they are called with -----------

STANDING_IN = Path("tests/agents/programs").absolute()


@contextmanager
def programs_of(env):
    """Stand-ins for docker and codex, first on the PATH; gives their folder."""
    folder = Path(shutil.copytree(STANDING_IN, env.tmp_path / "programs"))
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}:{path}"
    try:
        yield folder
    finally:
        os.environ["PATH"] = path


def noted(program):
    """The command lines that a program was called with, but for names of containers."""
    lines = program.with_suffix(".args").read_text()
    return [
        re.sub(r"^--name\n.*\n", "", line, flags=re.M).splitlines()
        for line in lines.split("--\n")
        if line and not line.startswith("kill")
    ]


def case_in_a_container(env):
    folder = env.tmp_path / "work"
    with programs_of(env) as programs:
        told = run(["X=5", "echo $X"], execution_policy=DockerExecutionPolicy())
        everything = DockerExecutionPolicy(
            remove_container_on_exit=False,
            network_enabled=True,
            memory_bytes=50_000_000,
            cpus="1.5",
            read_only_rootfs=True,
            user="me:us",
            extra_run_args=["--pids-limit", "5"],
        )
        env_given = {"A": 1, "B": "two words"}
        run(["pwd"], execution_policy=everything, workspace_root=str(folder), env=env_given)
        small = DockerExecutionPolicy(memory_bytes=50_000_000)
        run(["pwd"], execution_policy=small, shell_command=["/bin/sh", "-x"])
        said = [
            [word.replace(str(folder), "FOLDER") for word in line]
            for line in noted(programs / "docker")
        ]
    return told, said


def case_in_a_sandbox(env):
    overrides = {"s": 'say "x"', "b": True, "a.n": 5, "f": 1.5, "l": ["x", 1, False]}
    with programs_of(env) as programs:
        policy = CodexSandboxExecutionPolicy(config_overrides=overrides, platform="macos")
        told = run(["X=5", "echo $X"], execution_policy=policy)
        run(["pwd"], execution_policy=CodexSandboxExecutionPolicy(), shell_command="/bin/sh")
        return told, noted(programs / "codex")


def case_tables_in_overrides(env):
    with programs_of(env) as programs:
        policy = CodexSandboxExecutionPolicy(config_overrides={"d": {"k": "v", "b": False}})
        run(["pwd"], execution_policy=policy)
        return noted(programs / "codex")


def case_containers_of_commands_that_take_too_long(env):
    policy = DockerExecutionPolicy(command_timeout=1, termination_timeout=1)
    with programs_of(env) as programs:
        run(["sleep 600"], execution_policy=policy)
        containers = [path for path in programs.glob("docker.*") if path.suffix != ".args"]
        left = [int(path.read_text()) for path in containers]
        until = time.monotonic() + 3  # who was killed may take a moment to go
        while (left := [*filter(goes_on, left)]) and time.monotonic() < until:
            time.sleep(0.05)
    for pid in left:
        os.killpg(pid, signal.SIGKILL)
    return bool(left)


def goes_on(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def case_programs_that_are_not_there(env):
    docker = DockerExecutionPolicy(binary="no-such-docker")
    codex = CodexSandboxExecutionPolicy(binary="no-such-codex")
    return [
        env.error(lambda one=one: run(["pwd"], execution_policy=one)) for one in (docker, codex)
    ]


def case_wrong_containers(env):
    return [
        env.error(lambda: DockerExecutionPolicy(cpus=" ")),
        env.error(lambda: DockerExecutionPolicy(user="")),
        env.error(lambda: DockerExecutionPolicy(memory_bytes=0)),
        env.error(lambda: DockerExecutionPolicy(cpu_time_seconds=5)),
        env.error(lambda: DockerExecutionPolicy(max_output_lines=0)),
    ]
