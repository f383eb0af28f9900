"""One shell per run: nothing hangs, nothing is left behind, output comes to the byte."""

import gc
import os
import shlex
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.agents import create_agent
from plait.agents.middleware import (
    HostExecutionPolicy,
    HumanInTheLoopMiddleware,
    RedactionRule,
    ShellToolMiddleware,
)
from plait.agents.middleware.shell_session import ShellSession
from plait.checkpoint.sqlite import SqliteSaver
from plait.errors import ConfigError
from plait.messages import AIMessage
from plait.testing import ScriptedChatModel
from plait.types import Command

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
