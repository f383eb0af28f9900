"""One shell per run: nothing hangs, nothing is left behind, output comes to the byte."""

import asyncio
import gc
import os
import shlex
import shutil
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.agents import create_agent
from plait.agents.middleware import (
    CodexSandboxExecutionPolicy,
    DockerExecutionPolicy,
    HostExecutionPolicy,
    HumanInTheLoopMiddleware,
    RedactionRule,
    ShellToolMiddleware,
)
from plait.agents.middleware.shell_session import ShellSession
from plait.checkpoint.memory import InMemorySaver
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError
from plait.graph import START, MessagesState, StateGraph
from plait.messages import AIMessage
from plait.testing import ScriptedChatModel
from plait.tools import tool
from plait.types import Command, interrupt

PATIENT = HostExecutionPolicy(command_timeout=20)


def call(id: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "shell", "args": args, "id": id}])


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for_the_end_of(pid: int) -> None:
    """A killed process is gone a moment after the kill."""
    deadline = time.monotonic() + 20
    while alive(pid):
        assert time.monotonic() < deadline, f"process {pid} was left behind"
        time.sleep(0.001)


@pytest.fixture
def shell() -> Any:
    session = ShellSession(PATIENT)
    yield session
    session.close()


SHARED: list[ShellSession] = []


@settings(max_examples=40)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
def test_output_comes_as_it_was_written(text: str):
    if not SHARED:
        SHARED.append(ShellSession(PATIENT))
    result = SHARED[0].run(f"printf %s {shlex.quote(text)}")
    assert (result.output, result.exit_code) == (text, 0)
    assert result.total_bytes == len(text.encode())


@pytest.mark.parametrize(
    "command", ["if", "echo )", "'", 'echo "', "cat <<EOF\nx", "done", "exec 2>&-", "cat", "read x"]
)
def test_no_command_makes_the_next_one_wait(shell: ShellSession, command: str):
    shell.run(command, timeout=20)
    assert shell.run("echo on").output == "on\n"


def test_a_shell_without_an_output_is_replaced(shell: ShellSession):
    assert shell.run("exec >&-", timeout=0.2).timed_out
    assert shell.run("echo on").output == "on\n"


def test_a_shell_that_shows_its_commands_is_understood():
    session = ShellSession(PATIENT, command=("/bin/sh",))
    assert session.run("set -x; echo 1").output.startswith("1\n")
    assert session.run("echo 2").output.startswith("2\n")
    session.close()


@pytest.mark.parametrize("command", ["exit 7", "kill -9 $$", "set -e; (exit 7)", "exec true"])
def test_a_shell_that_ends_is_replaced(shell: ShellSession, command: str):
    assert shell.run(command).ended
    assert shell.run("echo on").output == "on\n"


def test_a_command_that_takes_too_long_ends_with_all_that_was_started():
    session = ShellSession(HostExecutionPolicy(command_timeout=20, termination_timeout=0.2))
    stubborn = "sh -c 'trap \"\" TERM; sleep 600; sleep 600' >/dev/null 2>&1 & echo $!"
    pid = int(session.run(stubborn).output)
    assert session.run("sleep 600", timeout=0.05).timed_out
    wait_for_the_end_of(pid)
    assert session.run("echo on").output == "on\n"
    session.close()


def test_what_runs_in_the_background_ends_with_the_shell(tmp_path: Path):
    session = ShellSession(PATIENT, tmp_path)
    session.run("sleep 600 >/dev/null 2>&1 & echo $! > pid")
    pid = int((tmp_path / "pid").read_text())
    assert alive(pid)
    session.close()
    wait_for_the_end_of(pid)


@pytest.mark.filterwarnings("error")
def test_a_shell_that_nobody_holds_ends():
    session = ShellSession(PATIENT)
    pid, folder = int(session.run("echo $$").output), session.workspace
    del session
    gc.collect()
    wait_for_the_end_of(pid)
    assert not folder.exists()


def test_calls_from_several_threads_wait_for_each_other(shell: ShellSession):
    found: dict[int, str] = {}

    def work(n: int) -> None:
        found[n] = shell.run(f"X={n}; echo $X; echo $X").output

    threads = [Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: f"{n}\n{n}\n" for n in range(8)}


def test_only_so_much_output_is_kept(shell: ShellSession):
    result = shell.run("head -c 5000000 /dev/zero | tr '\\0' x")
    assert len(result.output) == 1_000_000
    assert result.total_bytes == 5_000_000
    assert result.cut_bytes


def test_limits_of_the_system_hold():
    session = ShellSession(HostExecutionPolicy(command_timeout=20, memory_bytes=200_000_000))
    assert session.run("ulimit -v").output == "195312\n"
    session.close()
    with pytest.raises(ConfigError, match="command_timeout"):
        HostExecutionPolicy(command_timeout=0)


def test_hidden_output_is_in_no_part_of_the_message():
    agent = create_agent(
        ScriptedChatModel([call("1", command="echo a@x.org; echo b@x.org >&2"), "done"]),
        middleware=[
            ShellToolMiddleware(execution_policy=PATIENT, redaction_rules=[RedactionRule("email")])
        ],
    )
    told = agent.invoke({"messages": "go"})["messages"][2]
    assert told.artifact["redaction_matches"]["email"][0] == {"type": "email", "start": 0, "end": 7}
    assert "@x.org" not in repr(told)


def test_an_approved_command_runs_in_a_process_that_never_saw_the_question(tmp_path: Path):
    config: Any = {"configurable": {"thread_id": "1"}}
    script = [call("1", command="echo approved"), "done"]

    def agent(saver: Any, left: list[Any]) -> Any:
        return create_agent(
            ScriptedChatModel(left),
            middleware=[
                ShellToolMiddleware(execution_policy=PATIENT),
                HumanInTheLoopMiddleware(interrupt_on={"shell": True}),
            ],
            checkpointer=saver,
        )

    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        asked = agent(saver, script).invoke({"messages": "go"}, config)
        assert asked["__interrupt__"]
    with SqliteSaver.from_conn_string(str(tmp_path / "db")) as saver:
        answer = Command(resume={"decisions": [{"type": "approve"}]})
        result = agent(saver, script[1:]).invoke(answer, config)
    assert [message.text for message in result["messages"]][2:] == ["approved\n", "done"]
    assert "shell_session_resources" not in result


def test_a_shell_that_is_not_there_is_told_at_once():
    with pytest.raises(ConfigError, match="no shell 'nosuchshell'"):
        ShellToolMiddleware(shell_command="nosuchshell")


def test_signals_of_a_command_are_told(shell: ShellSession):
    assert shell.run("sh -c 'kill -TERM $$'").exit_code == 128 + signal.SIGTERM


# --- in containers and sandboxes: programs stand in, the shell is real ------------------------

DOCKER = DockerExecutionPolicy(command_timeout=20, termination_timeout=5)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "programs"
    shutil.copytree(Path(__file__).parent / "programs", folder)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def called(program: Path) -> list[list[str]]:
    """The command lines that a program was called with."""
    return [line.splitlines() for line in Path(f"{program}.args").read_text().split("--\n")[:-1]]


def test_a_container_ends_with_its_shell(programs: Path):
    session = ShellSession(DOCKER)
    pid = int(session.run("X=tea; sleep 600 >/dev/null & echo $!").output)
    assert session.run("echo $X").output == "tea\n"
    session.close()
    wait_for_the_end_of(pid)
    run, kill = called(programs / "docker")
    name = run[run.index("--name") + 1]
    assert name.startswith("plait-shell-")
    assert kill == ["kill", name]


def test_a_command_that_takes_too_long_ends_with_its_container(programs: Path, tmp_path: Path):
    session = ShellSession(DOCKER, tmp_path)
    assert session.run("echo $$ > pid; sleep 600", timeout=1).timed_out
    wait_for_the_end_of(int((tmp_path / "pid").read_text()))
    assert session.run("echo on").output == "on\n"
    session.close()
    names = [run[run.index("--name") + 1] for run in called(programs / "docker")[::2]]
    assert len(set(names)) == 2


def test_a_container_that_has_ended_is_not_ended_again(programs: Path):
    session = ShellSession(DOCKER)
    assert session.run("exit 3").exit_code == 3
    session.close()
    assert [line[0] for line in called(programs / "docker")] == ["run", "run", "kill"]


def test_a_container_that_cannot_be_ended_is_told(programs: Path):
    session = ShellSession(DOCKER)
    pid = int(session.run("echo $$").output)
    (programs / "docker").write_text("#!/bin/sh\necho no daemon >&2; exit 1\n")
    with pytest.warns(RuntimeWarning, match=r"plait-shell-\w+' of a shell may go on.* no daemon"):
        session.close()
    os.kill(pid, signal.SIGKILL)


def test_a_container_that_does_not_start_says_why(programs: Path):
    (programs / "docker").write_text("#!/bin/sh\necho no daemon >&2; exit 125\n")
    agent = create_agent(
        ScriptedChatModel([]), middleware=[ShellToolMiddleware(execution_policy=DOCKER)]
    )
    with pytest.raises(
        ConfigError, match=r"DockerExecutionPolicy did not start: \[stderr\] no dae"
    ):
        agent.invoke({"messages": "go"})


def test_a_shell_that_never_answers_says_what_to_do():
    policy = HostExecutionPolicy(startup_timeout=0.2)
    with pytest.raises(ConfigError, match=r"'sleep 600' .* no answer in 0\.2 s.* startup_timeout"):
        ShellSession(policy, command=["sleep", "600"])


def test_only_a_folder_that_was_given_is_shared(programs: Path, tmp_path: Path, monkeypatch: Any):
    monkeypatch.chdir(tmp_path)
    for folder in (None, Path("work")):
        ShellSession(DOCKER, folder).close()
    alone, shared = called(programs / "docker")[::2]
    work = f"{tmp_path}/work"
    assert "-v" not in alone
    assert alone[alone.index("-w") + 1] == "/"
    assert (shared[shared.index("-v") + 1], shared[shared.index("-w") + 1]) == (
        f"{work}:{work}",
        work,
    )


def test_a_container_has_the_environment_that_was_given(programs: Path):
    ShellSession(DOCKER).close()
    ShellSession(DOCKER, env={"A": "1 2"}).close()
    bare, given = called(programs / "docker")[::2]
    assert "-e" not in bare
    assert given[given.index("-e") + 1] == "A=1 2"


def test_a_sandbox_has_the_usual_environment_and_what_was_configured(programs: Path):
    policy = CodexSandboxExecutionPolicy(
        platform="linux", config_overrides={"t": {"on": True, "at": Path("/é")}, "a": [1, "x"]}
    )
    session = ShellSession(policy)
    assert session.run("echo $HOME").output == f"{os.environ['HOME']}\n"
    session.close()
    config = ["-c", 'a=[1, "x"]', "-c", 't={"on" = true, "at" = "/é"}']
    assert called(programs / "codex")[0] == ["sandbox", "linux", *config]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (DockerExecutionPolicy(binary="nosuchdocker"), "DockerExecutionPolicy .*'nosuchdocker'"),
        (CodexSandboxExecutionPolicy(binary="nosuchcodex"), "Codex.*'nosuchcodex'.* Install it"),
    ],
)
def test_a_program_that_is_not_there_is_told_at_once(policy: Any, words: str):
    with pytest.raises(ConfigError, match=words):
        ShellToolMiddleware(execution_policy=policy)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (DockerExecutionPolicy, {"cpu_time_seconds": 5}, "Give it cpus"),
        (DockerExecutionPolicy, {"cpus": " "}, "cpus is empty"),
        (DockerExecutionPolicy, {"image": ""}, "image is empty"),
        (DockerExecutionPolicy, {"memory_bytes": 0}, "memory_bytes must be more"),
        (DockerExecutionPolicy, {"extra_run_args": "--init"}, "must be a list"),
        (DockerExecutionPolicy, {"extra_run_args": ["--name=x"]}, "Give it a --label"),
        (CodexSandboxExecutionPolicy, {"platform": "windows"}, "no sandbox for .*'windows'"),
        (CodexSandboxExecutionPolicy, {"config_overrides": {"a": [None]}}, r"\['a'\] has None"),
    ],
)
def test_what_no_policy_can_hold_is_refused(kind: Any, options: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        kind(**options)


def test_what_is_no_policy_is_refused():
    with pytest.raises(ConfigError, match="execution_policy must be"):
        ShellToolMiddleware(execution_policy=cast("Any", object()))


ENDS = ["finished", "waits", "fails", "closed", "cancelled", "cancelled in a command"]


@pytest.fixture
def no_collector() -> Any:
    gc.disable()
    yield
    gc.enable()


def written(file: Path) -> str:
    """What a command writes to a file, once it has."""
    deadline = time.monotonic() + 20
    while not file.exists() or not file.read_text().endswith("\n"):
        assert time.monotonic() < deadline, f"{file} was not written"
        time.sleep(0.001)
    return file.read_text()


def agent_that(ends: str, folder: Path) -> Any:
    """An agent that writes the process of its shell to a file, and then ends in some way."""

    @tool
    def then(how: str) -> str:
        """End."""
        if how == "waits":
            interrupt("?")
        if how == "fails":
            raise RuntimeError("It fails.")
        return "on"

    @tool("then")
    async def athen(how: str) -> str:
        """End."""
        if how == "cancelled":
            cast("Any", asyncio.current_task()).get_loop().cancel_the_run()
            await asyncio.Event().wait()
        return str(then.invoke({"how": how}))

    last = AIMessage("", tool_calls=[{"name": "then", "args": {"how": ends}, "id": "2"}])
    if ends == "cancelled in a command":
        script: list[Any] = [call("1", command="echo $$ > pid; sleep 600")]
    elif ends == "finished":
        script = [call("1", command="echo $$ > pid"), "done"]
    else:
        script = [call("1", command="echo $$ > pid"), last, "done"]
    return create_agent(
        ScriptedChatModel(script),
        [athen if ends == "cancelled" else then],
        middleware=[ShellToolMiddleware(folder, execution_policy=PATIENT)],
        checkpointer=InMemorySaver(),
    )


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside"])
@pytest.mark.parametrize("ends", ENDS[:4])
def test_a_shell_ends_with_its_run(ends: str, inside: bool, tmp_path: Path, no_collector: Any):
    agent, config = agent_that(ends, tmp_path), cast("Any", {"configurable": {"thread_id": "1"}})
    if inside:
        builder = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent")
        agent = builder.compile(checkpointer=InMemorySaver())
    kept: Any = None  # an error, with all that its frames hold
    stream = agent.stream({"messages": "go"}, config, stream_mode="updates", subgraphs=True)
    try:
        for _, update in stream:
            if ends == "closed" and "tools" in update:
                stream.close()
    except RuntimeError as error:
        kept = error
    assert (kept is not None) == (ends == "fails")
    assert not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("ends", ENDS)
def test_a_shell_ends_with_its_run_in_an_event_loop(ends: str, tmp_path: Path, no_collector: Any):
    agent, config = agent_that(ends, tmp_path), cast("Any", {"configurable": {"thread_id": "1"}})

    async def main() -> Any:
        stream = agent.astream({"messages": "go"}, config, stream_mode="updates")
        async for update in stream:
            if ends == "closed" and "tools" in update:
                await stream.aclose()

    async def around() -> int:
        run = asyncio.create_task(main())
        loop = cast("Any", asyncio.get_running_loop())
        loop.cancel_the_run = lambda: loop.call_soon(run.cancel)
        if ends == "cancelled in a command":
            await asyncio.to_thread(written, tmp_path / "pid")
            run.cancel()
        await asyncio.wait([run])
        pid = int((tmp_path / "pid").read_text())
        assert not alive(pid)
        assert run.cancelled() == ends.startswith("cancelled")
        return 0 if run.cancelled() else len(repr(run.exception()))

    asyncio.run(around())


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_calls_approved_together_share_one_shell(
    mode: Any, is_async: bool, tmp_path: Path, no_collector: Any
):
    calls = [{"name": "shell", "args": {"command": "echo $$"}, "id": id} for id in "abcd"]
    shell = ShellToolMiddleware(tmp_path, startup_commands="echo begun >> log")
    people = HumanInTheLoopMiddleware({"shell": True}, interrupt_mode=mode)
    agent = create_agent(
        ScriptedChatModel([AIMessage("", tool_calls=calls), "done"]),
        middleware=[shell, people],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}

    def invoke(given: Any) -> Any:
        return (
            asyncio.run(agent.ainvoke(given, config)) if is_async else agent.invoke(given, config)
        )

    approve: Any = {"type": "approve"}
    asked = invoke({"messages": "go"})["__interrupt__"]
    answer = approve if mode == "per_call" else {"decisions": [approve] * 4}
    told = invoke(Command(resume={one.id: answer for one in asked}))["messages"][2:6]
    (pid,) = {int(message.text) for message in told}
    assert not alive(pid)
    assert (tmp_path / "log").read_text() == "begun\n" * 2, "one shell for each run"


def test_a_shell_that_was_closed_starts_no_other(tmp_path: Path):
    session, told = ShellSession(PATIENT, tmp_path), list[BaseException]()

    def work() -> None:
        try:
            session.run("echo $$ > pid; sleep 600")
        except ConfigError as error:
            told.append(error)

    thread = Thread(target=work)
    thread.start()
    pid = int(written(tmp_path / "pid"))
    session.close()
    thread.join()
    wait_for_the_end_of(pid)
    assert "has ended" in str(told[0])
    with pytest.raises(ConfigError, match="has ended"):
        session.restart()
