"""The console script `plait check-deploy`, in a process of its own, on a real file."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plait import SqliteSaver

from .test_deploy import fill

SCRIPT = Path(sys.executable).with_name("plait")
HERE = Path(__file__).parent


def plait(*arguments: str, cwd: Path = HERE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("db") / "threads.db"
    with SqliteSaver(path) as saver:
        fill(saver)
    return path


def test_it_fails_where_a_thread_breaks_and_says_why(database: Path) -> None:
    ran = plait("check-deploy", "shop:new", "--db", str(database))
    assert ran.returncode == 1, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0] == "migrates done (at its end)"
    assert "migrates renamed (next: ask, waits for 1 answer)" in lines
    at = lines.index("breaks gone (next: check, waits for 1 answer)")
    assert any("Did you mean 'checks'?" in line for line in lines[at:])
    assert lines[-1] == "4 threads: 0 resume, 2 migrate, 2 break"


def test_it_succeeds_where_every_thread_resumes(database: Path) -> None:
    ran = plait("check-deploy", "shop:same", "--db", str(database))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "4 threads: 4 resume, 0 migrate, 0 break\n"
    every = plait("check-deploy", "shop:same", "--db", str(database), "--all")
    assert every.stdout.startswith("resumes done (at its end)\n")


def test_a_thread_that_cannot_be_read_is_at_no_end(tmp_path: Path, database: Path) -> None:
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(database.read_bytes())
    with sqlite3.connect(damaged) as conn:
        conn.execute("UPDATE checkpoints SET record = x'00' WHERE lane = 1")
    conn.close()
    ran = plait("check-deploy", "shop:same", "--db", str(damaged))
    assert ran.returncode == 1
    assert ran.stdout.startswith("breaks done (unreadable)\n  breaks: it cannot be read: ")


def test_of_several_graphs_in_one_database_each_finds_its_own(database: Path) -> None:
    arguments = ("check-deploy", "shop:new", "--db", str(database))
    ran = plait(*arguments, "--threads", "ren*", "--threads", "done")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "2 threads: 0 resume, 2 migrate, 0 break"
    assert plait(*arguments, "--threads", "gone").returncode == 1
    assert plait(*arguments, "--threads", "Gone").stdout.startswith("0 threads")


def test_json_has_everything(database: Path) -> None:
    ran = plait("check-deploy", "shop:new", "--db", str(database), "--json")
    assert ran.returncode == 1
    told: Any = json.loads(ran.stdout)
    assert told["counts"] == {"resumes": 0, "migrates": 2, "breaks": 2}
    assert (told["ok"], told["version"]) == (False, 2)
    gone = next(each for each in told["threads"] if each["thread_id"] == "gone")
    assert gone["verdict"] == "breaks"
    assert gone["findings"][-1]["name"] == "check"


def test_strict_also_fails_where_something_gets_out_of_reach(
    tmp_path: Path, database: Path
) -> None:
    (tmp_path / "fewer.py").write_text(
        "from typing import TypedDict\n"
        "from plait import START, StateGraph\n"
        "class Fewer(TypedDict, total=False):\n"
        "    total: str\n"
        "graph = StateGraph(Fewer)\n"
        "for name in ('pack', 'ask', 'check'):\n"
        "    graph.add_node(name, lambda state: None).add_edge(START, name)\n"
    )
    arguments = ("check-deploy", "fewer:graph", "--db", str(database))
    assert plait(*arguments, cwd=tmp_path).returncode == 0
    assert plait(*arguments, "--strict", cwd=tmp_path).returncode == 1
    assert plait(*arguments, "--strict", "--app-dir", str(tmp_path)).returncode == 1


def test_the_database_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with SqliteSaver(path) as saver:
        fill(saver)
    before = path.read_bytes()
    assert plait("check-deploy", "shop:new", "--db", str(path)).returncode == 1
    assert path.read_bytes() == before


def test_threads_of_a_running_program_are_read(tmp_path: Path) -> None:
    with SqliteSaver(tmp_path / "threads.db") as saver:
        fill(saver)  # the connection is open, and what it wrote may still be in the log
        ran = plait("check-deploy", "shop:same", "--db", str(tmp_path / "threads.db"))
    assert ran.stdout == "4 threads: 4 resume, 0 migrate, 0 break\n"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("shop", "no `module:attribute`"),
        ("shopp:new", "There is no module 'shopp'"),
        ("shop:news", "Did you mean 'new'?"),
        ("shop:ask", "no graph"),
    ],
)
def test_a_wrong_target_is_told_in_one_line(database: Path, target: str, message: str) -> None:
    ran = plait("check-deploy", target, "--db", str(database))
    assert ran.returncode == 2
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_database_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.db"
    ran = plait("check-deploy", "shop:new", "--db", str(path))
    assert ran.returncode == 2
    assert "There is no database" in ran.stderr
    assert not path.exists()


def test_help_lists_the_commands_and_an_unknown_one_is_refused() -> None:
    assert "check-deploy" in plait("--help").stdout
    assert plait("chek-deploy").returncode == 2
    module = subprocess.run(
        [sys.executable, "-m", "plait.cli", "--version"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert module.stdout.startswith("plait, version")
