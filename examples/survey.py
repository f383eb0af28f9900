"""A survey of a project's documents, as a durable graph: every document is one task.

    python examples/survey.py             survey this project, ask, write demo-run/report.md
    python examples/survey.py FOLDER      survey another one
    python examples/survey.py --demo      first kill it halfway, resume, and count (kill.py)

Stop it wherever you like (Ctrl-C, kill -9, a closed laptop) and type the same command again: it
goes on from demo-run/survey.sqlite. `--yes` answers the question for you.

The graph is in workflow.py, the work on one document in inspection.py.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
from pathlib import Path

from ending import told
from inspection import KINDS, documents
from kill import demonstrate
from workflow import Place, build, database, go_on

from plait.graph.state import CompiledStateGraph
from plait.types import Command

PROJECT = Path(__file__).resolve().parent.parent
WIDTH = 80


def main() -> None:
    """Read the command line, run, ask, and print the history."""
    parser = argparse.ArgumentParser(description="Survey the documents of a project.")
    parser.add_argument("root", nargs="?", type=Path, default=PROJECT, help="the project's folder")
    parser.add_argument("--out", type=Path, default=Path("demo-run"), help="where results go")
    parser.add_argument("--yes", action="store_true", help="approve without asking")
    parser.add_argument("--demo", action="store_true", help="kill it halfway, resume, and count")
    given = parser.parse_args()
    if not given.root.is_dir():
        parser.error(f"there is no folder {given.root}")
    place = Place(given.root.resolve(), given.out.resolve())
    place.out.mkdir(parents=True, exist_ok=True)
    if not documents(place.root, place.out):
        sys.exit(f"Nothing to survey: {given.root} has no documents ({', '.join(KINDS.values())}).")
    if given.demo:
        demonstrate(place)
    with database(place) as saver:
        graph = build(saver)
        if not given.demo:
            print(f"A survey of {_short(place.root)}")
            for _ in go_on(graph, place):
                print(".", end="", flush=True)
        answer(graph, place, given.yes)
        print_history(graph, place)


def answer(graph: CompiledStateGraph, place: Place, yes: bool) -> None:
    """Show the draft, ask, and let the graph finish with the answer."""
    for question in graph.get_state(place.thread).interrupts:
        print("\nThe draft, as the database kept it\n")
        for line in question.value["report"].splitlines():
            print(textwrap.indent(shorten(line, WIDTH - 3), "   "))
        approved = ask(f"\n{question.value['question']} [y/n] ", yes)
        done = graph.invoke(Command(resume={question.id: approved}), place.thread, context=place)
        print(f"Written: {_short(Path(done['written']))}" if approved else "Nothing was written.")


def ask(question: str, yes: bool) -> bool:
    """A person's answer. Without a person (`--yes`, or no terminal) it is yes, and says so."""
    if yes or not sys.stdin.isatty():
        why = "--yes was given" if yes else "standard input is no terminal"
        print(f"{question}y   (answered by itself: {why})")
        return True
    while (typed := input(question).strip().lower()[:1]) not in ("y", "n"):
        pass
    return typed == "y"


def print_history(graph: CompiledStateGraph, place: Place) -> None:
    """Every checkpoint of the thread, oldest first."""
    print("\nThe history, from the database\n\n   step   made at (UTC)     runs next")
    for snapshot in reversed(list(graph.get_state_history(place.thread))):
        count = len(snapshot.next)
        following = f"{snapshot.next[0]}{f' x {count}' if count > 1 else ''}" if count else "-"
        made = (snapshot.created_at or "")[11:26]
        print(f"   {snapshot.metadata['step']:4}   {made}   {following}")


def shorten(line: str, width: int) -> str:
    """The line, cut where the terminal would break it."""
    return line if len(line) <= width else line[: width - 3] + "..."


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


if __name__ == "__main__":
    again = shlex.join(["python", *(each for each in sys.argv if each != "--demo")])
    with told(f"Stopped. To go on from here: {again}"):
        main()
