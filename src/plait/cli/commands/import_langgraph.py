"""`plait import-langgraph`: threads that LangGraph has stored become plait's."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import Any

import click

from plait.checkpoint.sqlite import SqliteSaver
from plait.cli.database import POSTGRES, serde_of
from plait.cli.target import load_graph
from plait.cli.telling import line, progress, size_of, table, tell_json
from plait.errors import ConfigError
from plait.importing import ImportReport, import_langgraph
from plait.pregel.main import Pregel


@click.command("import-langgraph", short_help="Import threads that LangGraph stored.")
@click.argument("source")
@click.option("--db", "database", metavar="DB", help="Where to: a SQLite file, a Postgres URL.")
@click.option("--thread", "threads", multiple=True, metavar="ID", help="Only this one (repeat).")
@click.option("--graph", "target", metavar="MODULE:ATTR", help="The graph whose types are known.")
@click.option("--app-dir", default=".", show_default=True, help="Where the graph's module is.")
@click.option("--module", "modules", multiple=True, metavar="OLD=NEW", help="A renamed module.")
@click.option("--dry-run", is_flag=True, help="Write nothing: tell what would be.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    source: str,
    database: str | None,
    threads: tuple[str, ...],
    target: str | None,
    app_dir: str,
    modules: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import the threads of SOURCE, a database of LangGraph's: a SQLite file or a Postgres URL.

    Nothing in it is executed, and it is only read. Repeat the command to take up what was cut off,
    or to add what LangGraph has stored since. Exits with 1 if a thread could not be imported.
    """
    graph = None if target is None else load_graph(target, app_dir)
    renamed = dict(_pair(each) for each in modules)
    with _target(database, source, dry_run, graph) as saver, progress("importing") as tell:
        report = import_langgraph(
            source,
            saver,
            threads=[*dict.fromkeys(threads)] or None,
            graph=graph,
            modules=renamed,
            dry_run=dry_run,
            progress=tell,
        )
    if as_json:
        tell_json(as_data(report))
    else:
        _tell(report)
    sys.exit(bool(report.of("refused", "busy")))


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise ConfigError(f"--module takes OLD=NEW, such as __main__=shop.state, not {text!r}.")
    return old, new


def _target(database: str | None, source: str, dry_run: bool, graph: Pregel | None) -> Any:
    """The saver to write to, unless it is a dry run: what is not there yet is made."""
    if database is None and not dry_run:
        raise ConfigError("Say where to with --db, or look first with --dry-run.")
    if database in ("", ":memory:"):
        raise ConfigError(
            f"--db is {database!r}, which SQLite forgets when the command ends. Name the file that "
            "the threads are to be in."
        )
    if database is not None and os.path.abspath(database) == os.path.abspath(source):
        raise ConfigError(
            "--db is the file to import from. Give another one: both programs have a table named "
            "checkpoints."
        )
    if database is None or dry_run:
        return nullcontext()
    if database.startswith(POSTGRES):
        from plait.checkpoint.postgres import PostgresSaver  # needs psycopg, an extra

        return PostgresSaver.from_conn_string(database, serde=serde_of(graph))
    return SqliteSaver(database, serde=serde_of(graph))


def as_data(report: ImportReport) -> dict[str, Any]:
    """A report as JSON knows it."""
    return {
        "dry_run": report.dry_run,
        "before": report.before._asdict(),
        "after": report.after._asdict(),
        "threads": [
            {
                "thread_id": each.thread_id,
                "outcome": each.outcome,
                "checkpoints": each.checkpoints,
                "problem": each.problem or None,
                "notes": each.notes,
                "before": each.before._asdict(),
                "after": each.after._asdict(),
            }
            for each in report.threads
        ],
    }


def _tell(report: ImportReport) -> None:
    table(
        ("thread", "outcome", "checkpoints", "rows", "bytes", "rows here", "bytes here"),
        [
            (t.thread_id, t.outcome, t.checkpoints, t.before.rows, size_of(t.before.bytes),
             t.after.rows or "", size_of(t.after.bytes) if t.after.rows else "")
            for t in report.threads
        ],
        ("checkpoints", "rows", "bytes", "rows here", "bytes here"),
    )  # fmt: skip
    for each in report.threads:
        if each.problem:
            line(f"{each.thread_id}: {each.problem}")
        for note in each.notes:
            line(f"{each.thread_id}: {note}")
    before, after = report.before, report.after
    done = len(report.of("imported"))
    would = "would be " if report.dry_run else ""
    line(f"{done} of {len(report.threads)} threads {would}imported")
    if after.rows:
        line(
            f"{before.rows} rows and {size_of(before.bytes)} there, {after.rows} rows and "
            f"{size_of(after.bytes)} here"
        )
