"""`plait check-deploy`: which stored threads resume, migrate or break under new code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import Any

import click

from plait.cli.database import open_to_read
from plait.cli.target import load_graph
from plait.cli.telling import in_one_line, line, progress
from plait.deploy import UNREAD, DeployReport, ThreadReport, Verdict, check

COLORS: dict[Verdict, str] = {"resumes": "green", "migrates": "yellow", "breaks": "red"}


@click.command("check-deploy", short_help="Tell which stored threads new code breaks.")
@click.argument("target", metavar="MODULE:GRAPH")
@click.option("--db", "database", required=True, metavar="DB", help="The database to read.")
@click.option(
    "--threads",
    "patterns",
    metavar="PATTERN",
    multiple=True,
    help="Check the threads whose ids match: 'support-*'. May be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--all", "every", is_flag=True, help="Also list threads that simply resume.")
@click.option("--strict", is_flag=True, help="Fail, too, where something stored is out of reach.")
@click.option("--app-dir", default=".", show_default=True, help="Where MODULE is looked for first.")
def command(
    target: str,
    database: str,
    patterns: tuple[str, ...],
    as_json: bool,
    every: bool,
    strict: bool,
    app_dir: str,
) -> None:
    """Tell what the code of MODULE:GRAPH makes of the threads in a database.

    Reads the newest checkpoint of each thread; claims and writes nothing. Migration functions run
    on copies. Where several graphs keep their threads in one database, --threads says which are
    this one's. The exit code is 1 if a thread breaks, 2 if the check could not be done.
    """
    graph = load_graph(target, app_dir)
    with open_to_read(database, graph) as saver, progress("checking") as told:
        report = check(graph, saver, threads=_matching(patterns), progress=told)
    if as_json:
        click.echo(json.dumps(as_data(report), indent=2))
    else:
        tell(report, every)
    if not report.ok or (strict and any(thread.loses for thread in report.threads)):
        sys.exit(1)


def _matching(patterns: tuple[str, ...]) -> Callable[[str], bool] | None:
    """Whether a thread's id matches one of the patterns; None: there are none."""
    if not patterns:
        return None
    return lambda id: any(fnmatchcase(id, pattern) for pattern in patterns)


def as_data(report: DeployReport) -> dict[str, Any]:
    """A report as JSON knows it."""
    return {
        "graph": report.graph,
        "version": report.version,
        "ok": report.ok,
        "counts": {verdict: len(report.of(verdict)) for verdict in COLORS},
        "threads": [{**asdict(thread), "verdict": thread.verdict} for thread in report.threads],
    }


def tell(report: DeployReport, every: bool) -> None:
    """Print a report for people: what breaks comes last, next to the sums."""
    shown: list[Verdict] = ["resumes", "migrates", "breaks"] if every else ["migrates", "breaks"]
    for verdict in shown:
        for thread in report.of(verdict):
            tell_thread(thread)
    sums = ", ".join(f"{len(report.of(verdict))} {_verb(verdict, report)}" for verdict in COLORS)
    number = len(report.threads)
    line(f"{number} thread{'' if number == 1 else 's'}: {sums}")


def _verb(verdict: Verdict, report: DeployReport) -> str:
    return verdict if len(report.of(verdict)) == 1 else verdict.removesuffix("s")


def tell_thread(thread: ThreadReport) -> None:
    """Print one thread with its findings."""
    verdict = click.style(thread.verdict, fg=COLORS[thread.verdict])
    name = click.style(in_one_line(thread.thread_id), bold=True)
    click.echo(f"{verdict} {name} ({in_one_line(_standing(thread))})")
    for finding in thread.findings:
        inside = f" [in {finding.ns}]" if finding.ns else ""
        line(f"  {finding.effect}: {finding.what}{inside}")


def _standing(thread: ThreadReport) -> str:
    """Where a thread stands, in words."""
    if thread.checkpoint_id == UNREAD:
        return "unreadable"
    if not thread.next:
        return "at its end"
    waits = f", waits for {thread.questions} answer" + "s" * (thread.questions != 1)
    return f"next: {', '.join(thread.next)}{waits if thread.questions else ''}"
